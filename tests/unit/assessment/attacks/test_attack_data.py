"""Who fits which released rows, by hand."""

import numpy as np
import polars as pl
import pytest

from shoal.assessment.attacks import attack_data
from shoal.assessment.attacks.attack_data import AttackData
from shoal.errors import InputError, RecipeError
from shoal.table import Column, read_table
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})
ORIGINAL = pl.DataFrame(
    {
        "age": ["20", "25", "31", "38", None],
        "job": ["mason", "smith", "clerk", "judge", "judge"],
        "town": ["Ulm", "Bonn, old", "Ulm", "Kiel", "Kiel"],
        "ill": ["a", "b", "a", "c", "c"],
    }
)
RELEASE = pl.DataFrame(
    {
        "age": ["[20-25]", "[20-25]", "[31-38]", "[31-38]", None],
        "job": ["manual", "manual", "office", "office", "judge"],
        "town": ['{"Bonn, old", Ulm}', '{"Bonn, old", Ulm}', "*", "*", "Kiel"],
        "ill": ["a", "b", "a", "c", "c"],
    }
)
OTHERS = pl.DataFrame(
    {"age": ["22", "90"], "job": ["smith", "mason"], "town": ["Ulm", "Rome"], "ill": ["z", "a"]}
)
QUASI = ("age", "job", "town")


def make_data(release=RELEASE, original=ORIGINAL, control=OTHERS, attacks=100):
    tables = [None if frame is None else read_table(frame) for frame in (release, original, control)]
    columns = {"job": Column("job", hierarchy=JOBS)}
    return AttackData.from_tables(*tables, QUASI, ("ill",), columns, attacks, np.random.default_rng(0))


def by_age(made, people, figures):
    """Figures of people by their age."""
    ages = made.known[0].values.gather(people.value[:, 0])
    return dict(zip(ages, figures, strict=True))


def test_rows_that_fit():
    made = make_data()
    found = made.find_matching_rows(made.members, np.random.default_rng(0))
    assert by_age(made, made.members, found.rows.tolist()) == {"20": 2, "25": 2, "31": 2, "38": 2, "": 1}
    found = made.find_matching_rows(made.control, np.random.default_rng(0))
    # At 22 a smith of Ulm fits the first class, though nobody of the original is 22; 90 fits nothing.
    assert by_age(made, made.control, found.rows.tolist()) == {"22": 2, "90": 0}
    assert by_age(made, made.control, found.picked.tolist())["90"] == -1


def test_sensitive_values_of_the_rows_that_fit():
    made = make_data()
    found = made.find_matching_rows(made.members, np.random.default_rng(0))
    names = made.secrets["ill"].values
    tally = by_age(made, made.members, found.tally["ill"].tolist())
    assert dict(zip(names, tally["20"], strict=True)) == {"a": 1, "b": 1, "c": 0}
    assert dict(zip(names, tally["38"], strict=True)) == {"a": 1, "b": 0, "c": 1}
    assert by_age(made, made.control, made.control.secret["ill"].tolist())["22"] == -1


def test_less_is_known():
    made = make_data()
    told = np.zeros((made.members.count, 3), np.bool_)
    assert made.find_matching_rows(made.members, np.random.default_rng(0), told).rows.tolist() == [5] * 5
    told[:, 1] = True
    found = made.find_matching_rows(made.members, np.random.default_rng(0), told)
    # A judge may be in the class of offices, or the one that is released as judge.
    assert by_age(made, made.members, found.rows.tolist()) == {"20": 2, "25": 2, "31": 2, "38": 3, "": 3}


def test_a_picked_row_fits_and_every_row_may_be_picked():
    made = make_data()
    told = np.zeros((made.members.count, 3), np.bool_)
    picks = [made.find_matching_rows(made.members, np.random.default_rng(i), told).picked for i in range(200)]
    share = np.bincount(np.concatenate(picks)) / 1000
    assert share == pytest.approx(made.size / 5, abs=0.06)
    assert set(np.concatenate(picks).tolist()) == {0, 1, 2}


def test_many_classes_are_looked_at_in_parts(monkeypatch):
    made = make_data()
    whole = made.find_matching_rows(made.members, np.random.default_rng(3))
    monkeypatch.setattr(attack_data, "_MOST_PAIRS", 3)
    parts = made.find_matching_rows(made.members, np.random.default_rng(3))
    assert parts.rows.tolist() == whole.rows.tolist()
    assert parts.tally["ill"].tolist() == whole.tally["ill"].tolist()


def test_ends_of_ranges():
    made = make_data()
    age = made.known[0]
    ends = dict(zip(age.labels, age.ends.tolist(), strict=True))
    assert [age.values[i] for i in ends["[20-25]"]] == ["20", "25"]
    assert ends[""] == [-1, -1]
    assert (made.known[2].ends == -1).all()


def test_a_label_that_none_of_the_people_has_is_still_a_value():
    made = make_data(RELEASE.with_columns(town=ORIGINAL["town"]), attacks=1)
    assert made.members.count == 1
    assert made.find_matching_rows(made.members, np.random.default_rng(0)).rows.tolist() == [1]


def test_numbers_among_sensitive_values_are_put_into_ranges():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": rng.integers(0, 9, 500), "cost": rng.random(500)}).with_columns(
        cost=pl.when(pl.int_range(500) < 50).then(None).otherwise("cost")
    )
    made = AttackData.from_tables(
        read_table(frame), read_table(frame), None, ("age",), ("cost",), {}, 100, rng
    )
    counts = np.bincount(made.secrets["cost"].of_row)
    assert counts[-1] == 50
    assert counts[:-1] == pytest.approx([45] * 10, abs=1)


def test_bad_input():
    with pytest.raises(InputError, match="unknown column 'job'"):
        make_data(control=OTHERS.drop("job"))
    with pytest.raises(InputError, match="give the hierarchy"):
        tables = (read_table(RELEASE), read_table(ORIGINAL), None)
        AttackData.from_tables(*tables, QUASI, (), {}, 9, np.random.default_rng(0))
    with pytest.raises(RecipeError, match="no quasi-identifiers"):
        AttackData.from_tables(
            read_table(RELEASE), read_table(ORIGINAL), None, (), (), {}, 9, np.random.default_rng(0)
        )
