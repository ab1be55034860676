"""Exact combinations that released cells show: by hand, and against all tables that have the same cells."""

import csv
from collections import Counter
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest
from tests.cases import thin_out

import shoal
from shoal.assessment.attacks.attack_data import AttackData
from shoal.assessment.attacks.combinations import (
    Combinations,
    count_combinations,
    read_cell,
    read_combinations,
)
from shoal.table import Column, read_table
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "clerks": ["clerk"]})
ORIGINAL = pl.DataFrame(
    {
        "age": ["20", "20", "31", "38", "38", "50", None],
        "job": ["mason", "smith", "clerk", "clerk", "clerk", "mason", "smith"],
        "town": ["Ulm", "Ulm", "Bonn, old", "Kiel", "Kiel", "Rome", "Kiel"],
    }
)
RELEASE = pl.DataFrame(
    {
        "age": ["20", "20", "[31-38]", "[31-38]", "[31-38]", "50", None],
        "job": ["manual", "manual", "clerks", "clerks", "clerks", "mason", "smith"],
        "town": ["Ulm", "Ulm", '{"Bonn, old", Kiel}', '{"Bonn, old", Kiel}', "Kiel", "*", "{Kiel}"],
    }
)


def scene(release, original, control=None, columns=None, quasi=("age", "job", "town")):
    tables = [None if frame is None else read_table(frame) for frame in (release, original, control)]
    return AttackData.from_tables(*tables, quasi, (), columns or {}, 100, np.random.default_rng(0))


def test_by_hand():
    jobs = {"job": Column("job", hierarchy=JOBS)}
    made = scene(RELEASE, ORIGINAL, ORIGINAL[:3], jobs)
    assert set(read_combinations(made).rows()) == {
        # Nothing from 20, manual, Ulm: the node says nothing of the two jobs below it. Nothing where two
        # cells stand for several values, or one is suppressed. "clerks" stands for one job only.
        ("31", "clerk", "Kiel"),
        ("38", "clerk", "Kiel"),
        ("", "smith", "Kiel"),
    }
    # Nobody of 31 is from Kiel: the range of that row was not made of the values of its class.
    assert count_combinations(made) == Combinations(("age", "job", "town"), 3, 2, 1, 3, 7, 0, 3)
    assert count_combinations(scene(RELEASE, ORIGINAL, ORIGINAL[3:5], jobs)).control == 2
    alone = count_combinations(scene(RELEASE, ORIGINAL, None, jobs))
    assert (alone.control, alone.of_control) == (None, None)


@pytest.mark.parametrize(
    ("label", "hierarchy", "shown"),
    [
        ("", None, ("",)),
        ("34", None, ("34",)),
        ("*", None, ()),
        ("{a}", None, ("a",)),
        ('{a, "b, c", ""}', None, ("a", "b, c", "")),
        ("[20-25]", None, ("20", "25")),
        ("[-5..3]", None, ("-5", "3")),
        ("[2020-01-01..2020-06-30]", None, ("2020-01-01", "2020-06-30")),
        ("[20-99]", None, ()),  # 99 is nobody's, so that this is no range of values that occur
        ("[odd]", None, ("[odd]",)),  # a value that looks like a range
        ("mason", JOBS, ("mason",)),
        ("manual", JOBS, ()),
        ("clerks", JOBS, ("clerk",)),
        ("{mason, smith}", JOBS, ("mason", "smith")),
        ("[mason-smith]", JOBS, ()),
    ],
)
def test_what_a_cell_shows(label, hierarchy, shown):
    occurring = {"20", "25", "-5", "3", "2020-01-01", "2020-06-30", "[odd]", "mason", "smith"}
    assert read_cell(label, Column("c", hierarchy=hierarchy), occurring) == shown


def cells_of(rows):
    """What a class is released as: the range of ages, and the sets of what else there is."""
    ages, sexes, towns = (sorted(set(values)) for values in zip(*rows, strict=True))
    age = ages[0] if len(ages) == 1 else f"[{ages[0]}-{ages[-1]}]"
    sets = [each[0] if len(each) == 1 else f"{{{', '.join(each)}}}" for each in (sexes, towns)]
    return (age, *sets)


@pytest.mark.slow
@pytest.mark.parametrize("size", thin_out([2, 3, 4], 3))
def test_what_is_read_is_what_is_certain(size):
    """In every class with these cells somebody has the combination, and no other one is in all of them."""
    people = list(product("123", "fm", "ab"))
    certain = {}
    for rows in combinations_with_replacement(people, size):
        cells = cells_of(rows)
        certain[cells] = certain.get(cells, set(rows)) & set(rows)
    everybody = pl.DataFrame(people, schema=["age", "job", "town"], orient="row")
    for cells, expected in certain.items():
        release = pl.DataFrame([cells] * size, schema=everybody.schema, orient="row")
        assert set(read_combinations(scene(release, everybody)).rows()) == expected, cells


def count_by_hand(release, original, quasi):
    """In plain Python, one row after another; for releases without hierarchies."""

    def values(text, occurring):
        if text in occurring:
            return [text]
        if text.startswith("{"):
            return next(csv.reader([text[1:-1]], skipinitialspace=True))
        return text[1:-1].split("..") if ".." in text else text[1:-1].split("-")

    people = Counter(tuple(str(value) for value in row) for row in original.select(quasi).iter_rows())
    occurring = [{person[j] for person in people} for j in range(len(quasi))]
    shown = set()
    for row in release.select(quasi).iter_rows():
        parts = [values(str(cell), occurring[j]) for j, cell in enumerate(row)]
        if sum(len(part) > 1 for part in parts) <= 1:
            shown |= set(product(*parts))
    having = shown & set(people)
    return len(shown), len(having), sum(people[each] for each in having)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("render", ["label", "set", "representative"])
def test_a_count_in_plain_python(seed, render):
    rng = np.random.default_rng(seed)
    own = pl.DataFrame(
        {
            "age": rng.integers(-5, 9, 400),
            "town": rng.choice(["Ulm", "Bonn, old", 'Kiel "north"'], 400),
            "sex": rng.choice(["f", "m"], 400),
        }
    )
    released = shoal.anonymize(own, quasi=own.columns, k=3, algorithm="mondrian", render=render).frame
    found = shoal.attack(released, own, quasi=own.columns, attacks=10).combinations
    assert (found.shown, found.exact, found.people) == count_by_hand(released, own, own.columns)
    assert found.exact > 10
    assert found.shown == found.exact or render == "representative"


def test_raw_and_suppressed_tables():
    own = pl.DataFrame({"age": [1, 1, 2, None], "town": ["a", "a", "b", "b"]})
    raw = shoal.attack(own, own, quasi=own.columns).combinations
    assert (raw.shown, raw.exact, raw.alone, raw.people, raw.of_people) == (3, 3, 2, 4, 4)
    hidden = own.with_columns(age=pl.lit("*"))
    none = shoal.attack(hidden, own, quasi=own.columns).combinations
    assert (none.shown, none.exact, none.people, none.meaning) == (0, 0, 0, "")
    assert none.verdict == "no exact combination of age, town can be read off the released cells"


def test_numbers_that_are_spelt_differently():
    """pandas spells whole numbers as floats where one is missing."""
    ages = ["31", "31", "36", "40", "40", None]
    own = pl.DataFrame({"age": ages, "height": ["1.50", "1.5", "1.75", "2", "2", "2"]})
    cells = {"age": ["[31.0-36.0]"] * 3 + ["40.0"] * 2 + [None], "height": ["1.5"] * 3 + ["2.0"] * 3}
    found = shoal.attack(pl.DataFrame(cells), own, quasi=["age", "height"], attacks=9).combinations
    assert (found.shown, found.exact, found.people) == (4, 3, 5)  # nobody is 36 and 1.5 tall
    codes = own.with_columns(age=pl.Series(["01.0", "01", "x", "x", "x", "x"]))
    raw = shoal.attack(codes, codes, quasi=["age"], attacks=9).combinations
    assert raw.exact == 3  # no numbers, so that these are two codes


def test_words():
    told = Combinations(("age", "town"), 1300, 1200, 1000, 1500, 2000, 20, 400)
    assert told.verdict == (
        "1,200 exact combinations of age, town can be read off the released cells; 1,500 (75.0 %) of 2,000 "
        "people of the original have one of them; people who are alone with theirs: 1,000; 20 (5.0 %) of 400 "
        "people of the control group have one, too; 100 more can be read off, but nobody has them"
    )
    assert "not who is in the table" in told.meaning
    assert told.to_dict() | {"quasi": ["age", "town"], "exact": 1200, "people": 1500} == told.to_dict()
