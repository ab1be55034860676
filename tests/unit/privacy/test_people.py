"""Counting people instead of rows, on classes small enough to count by hand."""

import numpy as np
import polars as pl
import pytest

from shoal.privacy import (
    AlphaK,
    Counts,
    DistinctL,
    EntropyL,
    KAnonymity,
    MaxRisk,
    PSensitive,
    TCloseness,
    Uniqueness,
    measure_classes,
)
from shoal.privacy.people import (
    count_people,
    count_people_by_value,
    has_repeated_people,
    list_countable_models,
    number_people,
    number_units,
)

# Class 0: Ada twice with flu, once with gout; Bob with flu. Class 1: Ada with gout; Cem with flu and cold.
CLASS = np.array([0, 0, 0, 0, 1, 1, 1])
PERSON = np.array([0, 0, 0, 1, 0, 2, 2])
FLU, GOUT, COLD = 0, 1, 2
VALUE = np.array([FLU, FLU, GOUT, FLU, GOUT, FLU, COLD])


def counts() -> Counts:
    found = count_people_by_value(CLASS, VALUE, PERSON)
    return Counts(count_people(CLASS, PERSON), {"ill": found}, rows_of=np.bincount(CLASS))


def test_a_person_counts_once_in_a_class_and_once_for_each_value():
    found = counts()
    assert (found.size.tolist(), found.rows, found.members) == ([2, 2], 7, 4)
    values = found.sensitive["ill"]
    entries = zip(values.class_of.tolist(), values.value.tolist(), values.count.tolist(), strict=True)
    assert sorted(entries) == [(0, FLU, 2), (0, GOUT, 1), (1, FLU, 1), (1, GOUT, 1), (1, COLD, 1)]
    # Of the whole table Ada, Bob and Cem have flu, Ada gout, Cem a cold: Ada's gout counts once.
    assert values.count_in_table().tolist() == [3, 1, 1]
    assert found.sum_values("ill").tolist() == [3, 3]


def test_a_value_that_everybody_has_is_known_of_everybody():
    found = counts()
    # In class 0 there are two values, but both people have flu.
    assert DistinctL(2, "ill").holds(found).tolist() == [False, True]
    assert PSensitive(2, "ill").holds(found).tolist() == [False, True]
    assert DistinctL(2, "ill").achieved(found) == 1
    assert AlphaK(0.5, 2, "ill").holds(found).tolist() == [False, True]
    assert AlphaK(0.5, 2, "ill").achieved(found) == {"alpha": 1.0, "k": 2}


def test_distributions_are_of_people_with_a_value():
    found = counts()
    assert EntropyL(3, "ill").holds(found).tolist() == [False, True]
    # Class 0: 2/3 flu, 1/3 gout, against 3/5, 1/5, 1/5. Class 1: a third each.
    assert TCloseness(1, "equal", "ill").distances(found) == pytest.approx([1 / 5, 4 / 15])


def test_sizes_are_people():
    found = counts()
    assert KAnonymity(3).holds(found).tolist() == [False, False]
    whole = Counts(np.array([3]), {}, rows_of=np.array([7]))
    said = "k = 4, but the table has 3 people; ask for k of 3 or less"
    assert KAnonymity(4).within_reach(whole) == said
    assert MaxRisk(0.25).within_reach(whole).startswith("risk = 0.25 needs 4 people, but the table has 3")
    measured = measure_classes(found)
    assert (measured.rows, measured.classes, measured.k) == (7, 2, 2)
    assert (measured.max_risk, measured.average_risk, measured.uniqueness) == (0.5, 0.5, 0.0)
    alone = Counts(count_people(CLASS, np.array([0, 0, 0, 0, 1, 1, 2])), {}, rows_of=np.bincount(CLASS))
    assert Uniqueness(0).achieved(alone) == 1 / 3


def test_with_one_row_each_everything_is_as_with_rows():
    rng = np.random.default_rng(1)
    class_of, value = rng.integers(0, 9, 200), rng.integers(0, 4, 200)
    person = rng.permutation(200)
    assert not has_repeated_people(person)
    people = Counts(
        count_people(class_of, person),
        {"ill": count_people_by_value(class_of, value, person)},
        rows_of=np.bincount(class_of),
    )
    rows = Counts(np.bincount(class_of), {"ill": count_people_by_value(class_of, value, np.arange(200))})
    assert measure_classes(people) == measure_classes(rows)


def test_units_are_pairs():
    unit = number_units(PERSON, VALUE)
    assert len(set(unit.tolist())) == len(set(zip(PERSON.tolist(), VALUE.tolist(), strict=True))) == 5


@pytest.mark.parametrize(
    ("ids", "numbers", "missing"),
    [
        (pl.Series(["b", "a", "b", "c"]), [1, 0, 1, 2], 0),
        (pl.Series(["b", None, "", "b"]), [0, 1, 2, 0], 2),
        (pl.Series([7, 3, 7, None]), [1, 0, 1, 2], 1),
        (pl.Series([None, None], dtype=pl.String), [0, 1], 2),
        (pl.Series(["P1", "p1 ", "P\u200b1", "\uff301", "P2"]), [0, 0, 0, 0, 1], 0),
        (pl.Series(["unknown", "P1", "Unknown", " "]), [1, 0, 1, 2], 1),
        (pl.Series(["01", "1", "1.0"]), [0, 1, 1], 0),
    ],
    ids=["texts", "empty ones", "numbers", "nobody", "spellings", "markers", "spelt numbers"],
)
def test_people_are_numbered_and_a_missing_id_is_nobody_elses(ids, numbers, missing):
    number, without = number_people(ids)
    assert (number.tolist(), without) == (numbers, missing)


def test_rows_tell_only_some_models():
    models = [KAnonymity(3), AlphaK(0.5, 4), AlphaK(0.5, 1), DistinctL(2), TCloseness(0.2), MaxRisk(0.1)]
    assert list(list_countable_models(models)) == [KAnonymity(3), KAnonymity(4), DistinctL(2), MaxRisk(0.1)]
