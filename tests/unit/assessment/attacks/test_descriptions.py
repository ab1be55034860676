"""Descriptions of people by all that is released."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.assessment.attacks.attack_data import AttackData
from shoal.assessment.attacks.descriptions import (
    find_described,
    find_fitting_rows,
    to_comparable_strings,
)
from shoal.errors import InputError
from shoal.table import Column, read_table
from shoal.table.hierarchies import Hierarchy

ROWS = 300
PARTS = Hierarchy.from_tree({"north": ["a", "b"], "south": ["c", "d"]})


def people(seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 50, rows),
            "ill": rng.choice(["x", "y", "z"], rows),
            "part": rng.choice(list("abcd"), rows),
            "cost": rng.integers(0, 100, rows),
        }
    )


OWN, OTHERS = people(), people(1)
HIDDEN = OWN.with_columns(age=pl.format("[{}-{}]", pl.col("age") // 10 * 10, pl.col("age") // 10 * 10 + 9))


def single_out(release, original=OWN, control=None, **settings):
    given = {"quasi": ["age"], "sensitive": ["ill"], "control": control}
    found = shoal.attack(release, original, **(given | settings))
    return found, next((each for each in found.outcomes if each.name == "singling out"), None)


def scene(release, original=OWN, control=None, columns=None, described=None):
    tables = [None if frame is None else read_table(frame) for frame in (release, original, control)]
    return AttackData.from_tables(
        *tables, ("age",), ("ill",), columns or {}, 100, np.random.default_rng(0), described=described
    )


def test_all_released_columns_are_used():
    found, outcome = single_out(HIDDEN)
    assert found.columns == ("age", "ill", "part", "cost")
    assert found.to_dict()["columns"] == list(found.columns)
    assert "cells are those of age, ill, part, cost" in outcome.notes
    assert single_out(HIDDEN.drop("cost"))[0].columns == ("age", "ill", "part")
    renamed, _ = single_out(HIDDEN.rename({"cost": "price"}))
    assert renamed.columns == ("age", "ill", "part")  # the original has no price


def test_a_plain_column_singles_out():
    """Everybody has a cost of their own: a description gets it sooner or later, and then fits one person."""
    own = pl.DataFrame({"age": [1] * 1000, "ill": ["x"] * 1000, "cost": range(1000)})
    _, outcome = single_out(own, own, own.with_columns(cost=pl.col("cost") + 1000))
    assert outcome.rate.share == 1.0
    assert outcome.control.share == 0.0
    assert outcome.grade == "serious"
    _, outcome = single_out(own.drop("cost"), own, own)
    assert outcome.rate.share == 0.0


def test_columns_can_be_chosen():
    found, _ = single_out(HIDDEN, columns=["cost", "age"])
    assert found.columns == ("age", "cost")
    assert single_out(HIDDEN, columns=["ill"])[1].rate.share == 0.0  # of three values each has many people
    with pytest.raises(InputError, match="did you mean 'cost'"):
        single_out(HIDDEN, columns=["cots"])
    with pytest.raises(InputError, match="unknown column 'cost'"):
        single_out(HIDDEN.drop("cost"), columns=["cost"])


def test_what_the_control_group_lacks_is_left_out():
    found, outcome = single_out(HIDDEN, control=OTHERS.drop("cost"))
    assert found.columns == ("age", "ill", "part")
    assert "not in the control group, and left out: cost" in outcome.notes


def by_hand(release, original, rows, told, fits):
    """One description after another, one person after another."""
    alone = []
    for sources, known in zip(rows, told, strict=True):
        said = {
            name: release[int(row)][name]
            for name, row, is_told in zip(fits, sources, known, strict=True)
            if is_told
        }
        matches = [
            person for person in original if all(fits[name](said[name], person[name]) for name in said)
        ]
        alone.append(len(matches) == 1)
    return alone


def in_range(cell, value):
    low, high = cell[1:-1].split("-")
    return int(low) <= value <= int(high)


@pytest.mark.parametrize("table", [OWN, OTHERS], ids=["original", "control"])
def test_who_fits_by_hand(table):
    made = scene(HIDDEN, OWN, OTHERS)
    rng = np.random.default_rng(3)
    rows, told = rng.integers(0, ROWS, (200, 4)), rng.random((200, 4)) < 0.8
    told[:, 0] = True
    fits = {"age": in_range} | dict.fromkeys(("ill", "part", "cost"), lambda cell, value: cell == value)
    found = find_fitting_rows(made, read_table(table), find_described(made)[0], rows, told).count == 1
    expected = by_hand(HIDDEN.to_dicts(), table.to_dicts(), rows, told, fits)
    assert found.tolist() == expected
    assert 5 < sum(expected) < 195


def test_a_column_without_a_role_that_was_generalised():
    """It is read as it would be with a role: ranges and sets always, nodes if their hierarchy is given."""
    ranges = HIDDEN.with_columns(cost=pl.format("[{}-{}]", pl.col("cost"), pl.col("cost")))
    assert single_out(ranges)[1].rate == single_out(HIDDEN)[1].rate
    place = pl.when(pl.col("part").is_in(["a", "b"])).then(pl.lit("north")).otherwise(pl.lit("south"))
    nodes = HIDDEN.with_columns(part=place)
    found, outcome = single_out(nodes)
    assert found.columns == ("age", "ill", "cost")
    assert "not released as values of the original, and left out: part" in outcome.notes
    found, outcome = single_out(nodes, hierarchies={"part": PARTS})
    assert found.columns == ("age", "ill", "part", "cost")
    made = scene(nodes, columns={"part": Column("part", hierarchy=PARTS)}, described=["part", "cost"])
    rows, told = np.repeat(np.arange(ROWS)[:, None], 2, 1), np.ones((ROWS, 2), np.bool_)
    fits = {
        "part": lambda cell, value: value in ("ab" if cell == "north" else "cd"),
        "cost": lambda cell, value: cell == value,
    }
    found = find_fitting_rows(made, read_table(OWN), find_described(made)[0], rows, told).count == 1
    assert found.tolist() == by_hand(nodes.to_dicts(), OWN.to_dicts(), rows, told, fits)


def test_values_of_another_spelling_are_the_same():
    """Costs are floats in one table and text in the other; a column that is all different fits nobody."""
    text = HIDDEN.with_columns(cost=pl.format("{}.00", "cost"))
    assert single_out(text)[1].rate == single_out(HIDDEN)[1].rate
    pseudonyms = HIDDEN.with_columns(part=pl.format("p{}", pl.int_range(ROWS)))
    assert single_out(pseudonyms)[0].columns == ("age", "ill", "cost")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.Series([30, 31, None]), pl.Series([30.0, 31.0, None])),
        (pl.Series(["1752.90", "7", None]), pl.Series([1752.9, 7.0, None])),
        (pl.Series(["2024-02-28"]).str.to_date(), pl.Series(["2024-02-28"])),
        (pl.Series([True, False]), pl.Series(["true", "false"])),
        (pl.Series(["a"], dtype=pl.Categorical), pl.Series(["a"])),
        (pl.Series([1, 2]), pl.Series(["1", "2"])),
    ],
)
def test_comparable_texts(one, other):
    first, second = to_comparable_strings(one, other)
    assert first.dtype == second.dtype == pl.String
    assert first.to_list() == second.to_list()


def test_texts_that_are_no_numbers_stay():
    first, second = to_comparable_strings(pl.Series(["[1-2]", "x"]), pl.Series([1, 2]))
    assert (first.to_list(), second.to_list()) == (["[1-2]", "x"], ["1", "2"])
