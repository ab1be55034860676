"""What a release with columns of sets promises, counted in plain Python over all choices in the file."""

import csv
import importlib.util
import json
import random
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

from shoal.engines.api import anonymize, run, verify
from shoal.errors import GoalNotMet, RecipeError
from shoal.recipes.recipe import Recipe
from shoal.table.samples import sample, sample_hierarchies

ITEMS = [f"{letter}{number}" for letter in "ABCD" for number in range(4)]
TREE = [[item, f"group {item[0]}", "left" if item[0] in "AB" else "right", "any"] for item in ITEMS]
GROUPS = {name: {row[0] for row in TREE if name in row} for row in TREE for name in row}


def people(rows, seed):
    """Sets of up to five items, few of them common; some empty, with an item twice or with blanks."""
    draw = random.Random(seed)
    weights = [1 / (place + 1) for place in range(len(ITEMS))]
    sets = [draw.choices(ITEMS, weights, k=draw.randrange(6)) for _ in range(rows)]
    cells = [draw.choice(["|", " | "]).join(each) for each in sets]
    return pl.DataFrame(
        {
            "age": [draw.randrange(20, 60) for _ in range(rows)],
            "town": [draw.choice("xyz") for _ in range(rows)],
            "dx": cells,
            "job": [draw.choice(["smith", "clerk", "mason", "cook"]) for _ in range(rows)],
        }
    )


def read(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def split(cell):
    return frozenset(part for part in cell.split("|") if part)


def count_fewest(rows, quasi, knows):
    """The fewest people whom anybody finds who knows the quasi-identifiers and so many items."""
    found = Counter()
    for row in rows:
        static, mine = tuple(row[name] for name in quasi), sorted(split(row["dx"]))
        if knows == "all":
            found[static, tuple(mine)] += 1
            continue
        for size in range(knows + 1):
            found.update((static, choice) for choice in combinations(mine, size))
    return min(found.values())


def stands_for(name):
    """The items that a released text stands for."""
    if name == "*":
        return set(ITEMS)
    return set(name[1:-1].split(", ")) if name.startswith("{") else GROUPS[name]


def check_truth(before, after):
    """Every released item stands for one that the person has; the others were left out."""
    left = 0
    for cell, released in zip(before, after, strict=True):
        mine = {part.strip() for part in cell.split("|") if part.strip()}
        cells = [stands_for(name) for name in split(released)]
        assert all(each & mine for each in cells)
        assert released == "|".join(sorted(split(released)))
        left += sum(not any(item in each for each in cells) for item in mine)
    return left


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("knows", [1, 2, 3, "all"])
@pytest.mark.parametrize("tree", [True, False], ids=["tree", "flat"])
@pytest.mark.parametrize("quasi", [(), ("age", "town")], ids=["sets alone", "beside others"])
def test_every_choice_of_items_leads_to_k_people(quasi, tree, knows, seed, tmp_path):
    table = people(90, seed)
    asked = {"quasi": quasi, "sets": {"dx": "|"}, "knows": knows, "k": 4, "others": "drop"}
    trees = {"hierarchies": {"dx": TREE}} if tree else {}
    release = anonymize(table, **asked, **trees, output=tmp_path / "out.csv")
    written = read(tmp_path / "out.csv")
    assert len(written) == table.height
    assert count_fewest(written, quasi, knows) == release.report.smallest_class >= 4
    left = check_truth(table["dx"], [row["dx"] for row in written])
    figures = release.report.sets["dx"]
    # An item that was left out can still be covered by a group that another one is released as.
    assert left <= figures.left_out
    known = {"quasi": quasi, "sets": {"dx": "|"}, "knows": knows}
    assert verify(tmp_path / "out.csv", **known, k=4).holds
    assert not verify(tmp_path / "out.csv", **known, k=release.report.smallest_class + 1).holds


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "xlsx"])
def test_other_formats_are_counted_as_they_are_written(suffix, tmp_path):
    table = people(60, 9)
    asked = {"quasi": ["town"], "sets": {"dx": "|"}, "knows": 2}
    path = tmp_path / f"out.{suffix}"
    release = anonymize(table, **asked, k=3, others="drop", output=path)
    assert verify(path, **asked, k=3).smallest_class == release.report.smallest_class
    if suffix == "jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert count_fewest(rows, ["town"], 2) == release.report.smallest_class


def test_the_verifier_is_not_fooled_by_blanks_order_or_repeated_items():
    same = pl.DataFrame({"q": ["x"] * 3, "dx": ["a|b", " b | a", "b|a|a"]})
    assert verify(same, quasi=["q"], sets={"dx": "|"}, knows="all", k=3).holds
    alone = same.vstack(pl.DataFrame({"q": ["x"], "dx": ["a|c"]}))
    assert verify(alone, quasi=["q"], sets={"dx": "|"}, knows=1, k=3).smallest_class == 1
    pairs = pl.DataFrame({"dx": ["a|b", "a|c", "b|c"]})
    assert verify(pairs, sets={"dx": "|"}, knows=1, k=2).holds
    assert not verify(pairs, sets={"dx": "|"}, knows=2, k=2).holds


def test_a_sensitive_column_is_protected_where_whole_sets_are_known(tmp_path):
    table = people(120, 3)
    asked = {"quasi": ["town"], "sensitive": ["job"], "sets": {"dx": "|"}, "knows": "all", "k": 4, "l": 2}
    anonymize(table, **asked, others="drop", output=tmp_path / "out.csv")
    values = defaultdict(set)
    for row in read(tmp_path / "out.csv"):
        values[row["town"], split(row["dx"])].add(row["job"])
    assert min(map(len, values.values())) >= 2
    with pytest.raises(RecipeError, match=r"distinct-l is about classes.*knows = all"):
        anonymize(table, **{**asked, "knows": 2}, others="drop")


def test_several_columns_of_sets_are_one_knowledge(tmp_path):
    table = people(80, 5).with_columns(pl.Series("drug", people(80, 6)["dx"].str.replace_all(r"\|", ",")))
    sets = {"dx": "|", "drug": ","}
    anonymize(table, sets=sets, knows=2, k=3, others="drop", output=tmp_path / "out.csv")
    found = Counter()
    for row in read(tmp_path / "out.csv"):
        mine = [("dx", each) for each in split(row["dx"])]
        mine += [("drug", each) for each in row["drug"].split(",") if each]
        for size in (1, 2):
            found.update(combinations(sorted(mine), size))
    assert min(found.values()) >= 3


def test_a_recipe_does_the_same(tmp_path):
    table = people(60, 2)
    release = anonymize(table, quasi=["town"], sets={"dx": "|"}, knows=2, k=3, others="drop")
    path = tmp_path / "recipe.toml"
    path.write_text(release.recipe.to_toml(), "utf-8")
    assert '[sets]\ndx = "|"' in path.read_text("utf-8")
    recipe = Recipe.from_toml(path)
    assert recipe == release.recipe
    assert run(recipe, table).frame.equals(release.frame)
    assert verify(release.frame, recipe=recipe).holds


def test_the_order_of_rows_and_items_does_not_matter():
    table = people(70, 8)
    turned = table.reverse().with_columns(
        pl.col("dx").str.split("|").list.eval(pl.element().str.strip_chars()).list.reverse().list.join("|")
    )
    one, other = (
        anonymize(each, sets={"dx": "|"}, knows=2, k=3, others="drop").frame for each in (table, turned)
    )
    assert one.equals(other.reverse())


def test_what_is_left_out_is_counted_and_told():
    table = pl.DataFrame({"dx": ["a"] * 6 + ["a|b", "c", ""]})
    report = anonymize(
        table, sets={"dx": "|"}, k=3, hierarchies={"dx": [["a", "*"], ["b", "*"], ["c", "*"]]}
    ).report
    # b and c are rare: they become "any", or are left out, which costs as much
    assert report.sets["dx"].items == 9
    assert report.ncp == pytest.approx(2 / 9)
    assert report.to_dict()["sets"]["dx"]["items"] == 9
    assert any("left out" in note for note in report.notes)
    assert "sets" not in anonymize(people(20, 1), quasi=["age"], k=2, others="drop").report.to_dict()


def test_a_goal_out_of_reach_is_refused():
    with pytest.raises(GoalNotMet, match="10"):
        anonymize(pl.DataFrame({"dx": ["a|b"] * 5}), sets={"dx": "|"}, k=10)


@pytest.fixture
def bench(monkeypatch):
    """The benchmark, which has the published method."""
    folder = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("bench_sets", folder / "bench_sets.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("knows", [1, 2, 3])
def test_less_is_lost_than_by_the_published_method(knows, bench):
    baskets = bench.make_baskets(500, 16, seed=knows)
    published = bench.AprioriMethod(baskets, bench.name_nodes(16), 5).anonymize(knows)
    table = pl.DataFrame({"basket": ["|".join(f"i{item:03}" for item in each) for each in baskets]})
    tree = [[f"i{item:03}", *names[1:]] for item, names in enumerate(bench.name_nodes(16))]
    ours = anonymize(table, sets={"basket": "|"}, knows=knows, k=5, hierarchies={"basket": tree})
    assert ours.report.ncp <= published


def number_owners(frame, seed):
    """A person for every row, some of whom have many, and a household for every person."""
    draw = random.Random(seed)
    who = [draw.choice([0, draw.randrange(30), draw.randrange(60)]) for _ in range(frame.height)]
    return frame.with_columns(
        pl.Series("who", [f"p{each}" for each in who]),
        pl.Series("home", [f"h{each // 3}" for each in who]),
        pl.Series("row", range(frame.height)),
    )


def count_fewest_owners(rows, quasi, knows, owner):
    """The fewest owners whom anybody finds who knows the quasi-identifiers of a row and some of its items."""
    found = defaultdict(set)
    for row in rows:
        static, mine = tuple(row[name] for name in quasi), sorted(split(row["dx"]))
        sizes = [len(mine)] if knows == "all" else range(min(knows, len(mine)) + 1)
        for choice in [choice for size in sizes for choice in combinations(mine, size)]:
            found[static, choice].add(owner[int(row["row"])])
    return min(map(len, found.values()))


@pytest.mark.slow
@pytest.mark.parametrize("knows", [1, 2, "all"])
@pytest.mark.parametrize("quasi", [(), ("age", "town")], ids=["sets alone", "beside others"])
@pytest.mark.parametrize("group", [None, "home"], ids=["people", "households"])
def test_people_are_counted_where_they_have_several_rows(group, quasi, knows, tmp_path):
    table = number_owners(people(160, 11), 11)
    asked = {"quasi": quasi, "sets": {"dx": "|"}, "knows": knows, "k": 4, "person": "who", "group": group}
    release = anonymize(table, **asked, plain=["row"], others="drop", output=tmp_path / "out.csv")
    written = read(tmp_path / "out.csv")
    assert list(written[0]) == [
        name for name in ("age", "town", "dx", "row") if name in (*quasi, "dx", "row")
    ]
    assert count_fewest_owners(written, quasi, knows, table["who"]) == release.report.smallest_class >= 4
    check_truth([table["dx"][int(row["row"])] for row in written], [row["dx"] for row in written])
    if group is not None:
        verdict = release.report.models[-1]
        fewest = count_fewest_owners(written, quasi, knows, table["home"])
        assert (verdict.name, verdict.achieved) == ("groups", fewest)
        assert fewest >= 4
    if not quasi:
        return
    # The same rows hide fewer people if people are not counted.
    rows = anonymize(
        table, **{**asked, "person": None, "group": None}, plain=["row"], others="drop"
    ).frame.cast(pl.String)
    assert count_fewest_owners(rows.iter_rows(named=True), quasi, knows, table["who"]) < 4


@pytest.mark.parametrize("seed", [3, 6])
def test_the_order_of_rows_tells_nothing_about_people(seed):
    table = number_owners(people(90, seed), seed).drop("row", "home").with_columns(age=pl.col("age") // 8)
    asked = {"quasi": ["age", "town"], "sets": {"dx": "|"}, "k": 3, "person": "who", "others": "drop"}
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    one, other = (anonymize(each, **asked).frame for each in (table, shuffled))
    assert one.equals(other)


def test_the_verifier_counts_people_in_sets():
    twice = pl.DataFrame({"who": ["p", "p", "q"], "dx": ["a|b", "a|b", "a"]})
    asked = {"sets": {"dx": "|"}, "knows": 1, "k": 2}
    assert verify(twice, **asked).smallest_class == 2
    found = verify(twice, **asked, person="who")
    assert (found.holds, found.smallest_class, found.people) == (False, 1, 2)
    alone = verify(twice.with_columns(dx=pl.lit("a")), **asked, person="who")
    assert (alone.holds, alone.smallest_class) == (True, 2)
    homes = twice.with_columns(dx=pl.lit("a"), home=pl.lit("h"))
    assert not verify(homes, **asked, person="who", group="home").holds


def test_who_has_only_the_release_counts_rows(tmp_path):
    table = number_owners(people(80, 13), 13)
    release = anonymize(table, sets={"dx": "|"}, knows=2, k=3, person="who", group="home", others="drop")
    found = verify(release.frame, recipe=release.recipe)
    assert found.holds
    assert found.people is None
    assert "'who' is not in the release, so that people cannot be counted" in found.notes[0]
    assert found.notes[1] == "not checked, because it takes people: groups(k=3)"


@pytest.mark.slow
@pytest.mark.parametrize("knows", [1, 2, 3])
def test_diagnoses_of_stays_are_those_of_k_patients(knows, bench, tmp_path):
    """The sample of stays: a brute count over the file, and no more lost than by the published method."""
    stays = sample("visits", rows=600, seed=5).select("patient_id", "diagnoses").with_row_index("row")
    tree = sample_hierarchies("visits")["diagnoses"]
    release = anonymize(
        stays,
        sets={"diagnoses": "|"},
        person="patient_id",
        plain=["row"],
        knows=knows,
        k=5,
        hierarchies={"diagnoses": tree},
        output=tmp_path / "out.csv",
    )
    written = [{"row": row["row"], "dx": row["diagnoses"]} for row in read(tmp_path / "out.csv")]
    assert count_fewest_owners(written, (), knows, stays["patient_id"]) == release.report.smallest_class >= 5
    baskets, nodes = bench.read_stays(stays)
    owners = stays["patient_id"].rank("dense").to_list()
    published = bench.AprioriMethod(baskets, nodes, 5, owners).anonymize(knows)
    assert release.report.sets["diagnoses"].ncp <= published
