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


@pytest.mark.slow
@pytest.mark.parametrize("knows", [1, 2, 3])
def test_less_is_lost_than_by_the_published_method(knows, monkeypatch):
    folder = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("bench_sets", folder / "bench_sets.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    baskets = bench.make_baskets(500, 16, seed=knows)
    published = bench.AprioriMethod(baskets, 16, 5).anonymize(knows)
    table = pl.DataFrame({"basket": ["|".join(f"i{item:03}" for item in each) for each in baskets]})
    tree = [[f"i{item:03}", *names[1:]] for item, names in enumerate(bench.name_nodes(16))]
    ours = anonymize(table, sets={"basket": "|"}, knows=knows, k=5, hierarchies={"basket": tree})
    assert ours.report.ncp <= published
