"""What a release with pseudonyms promises, counted in plain Python over all choices of rows in the file."""

import csv
from collections import Counter, defaultdict
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from tests.cases import thin_out
from tests.contract.test_contract import ALGORITHM_LINES, JOBS, SIZES, mixed
from tests.contract.test_people import PEOPLE_CASES

from shoal.algorithms import ALGORITHMS
from shoal.engines.api import anonymize, verify
from shoal.errors import GoalNotMet, RecipeError
from shoal.support.parameters import parse_call

LINKING = [case for case in ALGORITHM_LINES if ALGORITHMS[parse_call(case.text)[0]].links_people]
QUASI = ["born", "town", "age", "job", "size"]
STATIC = ["born", "town"]
KNOWS = [1, 2, 3, "all"]
OUT_OF_REACH = ("alpha-k", "delta-disclosure")  # of people who have several values each


def visits(people: int, seed: int) -> pl.DataFrame:
    """One to four rows of each person, and many of one; two static columns; some ids spelt in two ways."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 5, people)
    rows[0] = 2 * people // 3
    person = np.repeat(np.arange(people), rows)
    table = mixed(person.size)
    known = {"born": rng.integers(1950, 1980, people)[person], "town": np.array(list("ABC"))[person % 3]}
    names = [f"P{who}" if at % 2 else f"p{who} " for at, who in enumerate(person)]
    return table.select("age", "job", "size", "illness").with_columns(
        pl.Series("id", names), *(pl.Series(name, values) for name, values in known.items())
    )


def settings_of(**more):
    known = {"hierarchies": {"job": JOBS}, "orders": {"size": SIZES}, "key_file": more.pop("key")}
    asked = {"quasi": QUASI, "sensitive": ["illness"], "person": "id", "pseudonym": True, "k": 3, "seed": 5}
    return {**known, **asked, **more}


def read(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def count_fewest(written, knows):
    """The fewest people who have some choice of rows that somebody has; and all people."""
    rows = defaultdict(list)
    for row in written:
        rows[row["id"]].append(tuple(row[name] for name in QUASI))
    if knows == "all":
        return min(Counter(tuple(sorted(mine)) for mine in rows.values()).values()), len(rows)
    found = Counter()
    for mine in rows.values():
        for size in range(1, knows + 1):
            found.update({tuple(sorted(choice)) for choice in combinations(mine, size)})
    return min(found.values()), len(rows)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "knows"), thin_out(product([case.text for case in LINKING], KNOWS), 5))
def test_every_choice_of_rows_leads_to_k_people(algorithm, knows, tmp_path):
    table = visits(45, 7)
    suppress = {} if knows == 1 else {"suppress": 0.35}
    asked = settings_of(key=tmp_path / "key", algorithm=algorithm, knows=knows, **suppress)
    release = anonymize(table, output=tmp_path / "out.csv", **asked)
    written = read(tmp_path / "out.csv")
    fewest, people = count_fewest(written, knows)
    assert fewest == release.report.smallest_class >= 3
    assert (people, len(written)) == (release.report.people, release.report.released_rows)
    assert release.report.suppressed_rows == table.height - len(written) <= 0.35 * table.height

    # what was the same in all rows of a person still is, and every value is in its cell
    for name in STATIC:
        cells = defaultdict(set)
        for row in written:
            cells[row["id"]].add(row[name])
        assert set(map(len, cells.values())) == {1}

    known = {"quasi": QUASI, "sensitive": ["illness"], "person": "id"}
    found = verify(tmp_path / "out.csv", k=3, knows=knows, **known)
    assert found.holds
    assert (found.smallest_class, found.people) == (fewest, people)
    assert not verify(tmp_path / "out.csv", k=fewest + 1, knows=knows, **known)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "knows"), thin_out(product([case.text for case in LINKING], KNOWS), 5))
def test_every_choice_of_rows_leads_to_k_households(algorithm, knows, tmp_path):
    """Two people share a home, but for every ninth, who has none; somebody moved to another."""
    table = visits(60, 11).with_row_index("row")
    number = [int(who.strip()[1:]) for who in table["id"].to_list()]
    moved = max(at for at, who in enumerate(number) if who == 20)
    home = [
        "H0" if at == moved else None if who % 9 == 8 else f"H{who // 2}" for at, who in enumerate(number)
    ]
    table = table.with_columns(home=pl.Series(home, dtype=pl.String))
    asked = settings_of(key=tmp_path / "key", algorithm=algorithm, knows=knows, suppress=0.5)
    release = anonymize(table, output=tmp_path / "out.csv", plain=["row"], group="home", **asked)
    own = {"H0": {0, 1, 20, 21}}  # one home of four, because of the move
    own |= {f"H{at // 2}": {at, at + 1} for at in range(2, 60, 2) if at != 20}
    of = {who: name for name, people in own.items() for who in people if who % 9 != 8}
    found, mine = defaultdict(set), defaultdict(list)
    for row in read(tmp_path / "out.csv"):
        mine[row["id"]].append((tuple(row[name] for name in QUASI), number[int(row["row"])]))
    for rows in mine.values():
        ((who,),) = ({who for _, who in rows},)
        cells = sorted(each for each, _ in rows)
        for size in [len(cells)] if knows == "all" else range(1, knows + 1):
            for choice in combinations(cells, size):
                found[choice].add(of.get(who, who))
    assert min(map(len, found.values())) >= 3
    assert {each.name: each.holds for each in release.report.models} == {"k": True, "groups": True}
    assert any("groups were counted by 'home'" in note for note in release.report.notes)


def list_groups(written):
    """People with the same released rows, and people with an equal row, with the values of each there."""
    mine = defaultdict(list)
    for row in written:
        mine[row["id"]].append((tuple(row[name] for name in QUASI), row["illness"]))
    groups, rows = defaultdict(dict), defaultdict(lambda: defaultdict(set))
    for who, each in mine.items():
        groups[tuple(sorted(cells for cells, _ in each))][who] = {illness for _, illness in each}
        for cells, illness in each:
            rows[cells][who].add(illness)
    return [*groups.values()], [*rows.values()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "model"),
    thin_out([(algorithm, case) for algorithm in ("auto", "mondrian") for case in PEOPLE_CASES], 3),
    ids=lambda each: each if isinstance(each, str) else "+".join(each.models),
)
def test_sensitive_values_of_whole_histories(algorithm, model, tmp_path):
    table = visits(60, 11).filter(pl.col("id").str.strip_chars().str.to_lowercase() != "p0")
    asked = settings_of(key=tmp_path / "key", algorithm=algorithm, knows="all", models=model.models)
    del asked["k"]
    if model.models[0].startswith(OUT_OF_REACH):
        with pytest.raises(GoalNotMet):
            anonymize(table, output=tmp_path / "out.csv", **asked)
        assert not (tmp_path / "out.csv").exists()
        return
    anonymize(table, output=tmp_path / "out.csv", **asked)
    written = read(tmp_path / "out.csv")
    every = [value for _, value in sorted({(row["id"], row["illness"]) for row in written})]
    for found in list_groups(written):
        for people in found:
            values = [value for who in sorted(people) for value in sorted(people[who])]
            assert model.holds(len(people), values, every)


@pytest.mark.parametrize("knows", [2, 3, "all"])
@pytest.mark.parametrize("seed", range(12))
def test_the_verifier_counts_as_plain_python_does(seed, knows, tmp_path):
    """On tables that keep no promise at all."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(5, 60))
    person = rng.integers(0, max(rows // int(rng.integers(1, 6)), 1), rows)
    table = pl.DataFrame(
        {"id": [f"p{who}" for who in person], **{n: rng.integers(0, 3, rows) for n in QUASI[:2]}}
    ).with_columns(pl.lit("x").alias(name) for name in QUASI[2:])
    table.write_csv(tmp_path / "out.csv")
    fewest, people = count_fewest(read(tmp_path / "out.csv"), knows)
    # k = 2 is the least that can be asked for; up to it, counting may stop early
    found = verify(table, quasi=QUASI, person="id", knows=knows, k=2)
    assert found.holds == (fewest >= 2)
    assert min(found.smallest_class, 2) == min(fewest, 2)
    assert found.people in (people, None)


def test_whole_histories_need_as_many_people_with_as_many_rows(tmp_path):
    table = visits(45, 7)
    with pytest.raises(GoalNotMet, match=r"number of rows that fewer than 3 people have.*--suppress 0\.173"):
        anonymize(table, **settings_of(key=tmp_path / "key", knows="all"))


@pytest.mark.parametrize(
    "algorithm",
    # A tree is made for a column that only the table of the other contract has.
    [case for case in ALGORITHM_LINES if case not in LINKING and not case.text.startswith("tree")],
    ids=lambda case: case.text,
)
def test_what_cannot_link_people_is_refused(algorithm, tmp_path):
    with pytest.raises(RecipeError, match=r"makes no release with pseudonyms|counts rows only"):
        anonymize(visits(45, 7), **settings_of(key=tmp_path / "key", algorithm=algorithm.text))


@pytest.mark.parametrize("knows", KNOWS)
def test_the_same_bytes_again(knows, tmp_path):
    table = visits(45, 3)
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    for name, source, threads in (("one", table, 1), ("two", table, 3), ("three", shuffled, 1)):
        asked = settings_of(key=tmp_path / "key", knows=knows, threads=threads, suppress=0.35)
        anonymize(source, output=tmp_path / f"{name}.csv", **asked)
    one, two, three = [(tmp_path / f"{name}.csv").read_bytes() for name in ("one", "two", "three")]
    assert one == two
    assert one == three, "the order of the table leaves a trace"
    assert count_fewest(read(tmp_path / "one.csv"), knows)[0] >= 3


def test_which_of_equal_rows_is_left_out_does_not_follow_their_order(tmp_path):
    """One person has two rows that differ in the illness alone, and all others have one."""
    table = pl.DataFrame(
        {
            "id": ["P0", "P0", "P1", "P2", "P3"],
            "age": [30] * 5,
            "illness": ["flu", "cold", "flu", "cold", "flu"],
        }
    )
    asked = {"quasi": ["age"], "sensitive": ["illness"], "person": "id", "pseudonym": True, "k": 3}
    told = {**asked, "knows": "all", "suppress": 0.3, "key_file": tmp_path / "key"}
    one, other = (anonymize(each, **told).frame for each in (table, table.reverse()))
    assert one.height == 4
    assert one.equals(other)
