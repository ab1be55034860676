"""What each column adds to the risk, against the same share counted for every set of columns by itself."""

import random

import polars as pl
import pytest

from shoal.privacy.people import read_people
from shoal.studio.contributions import measure_contributions
from shoal.table import read_table

QUASI = ("age", "town", "sex")


@pytest.fixture
def table():
    rng = random.Random(5)
    rows = 300
    return read_table(
        pl.DataFrame(
            {
                "id": [f"P{i // 3}" for i in range(rows)],
                "age": [rng.choice([None, *range(20, 60)]) for _ in range(rows)],
                "town": [rng.choice(["Ulm", "Bonn", "Kiel"]) for _ in range(rows)],
                "sex": [rng.choice("mf") for _ in range(rows)],
                "pay": [rng.randrange(9) for _ in range(rows)],
            }
        )
    )


def count_unique(table, names, person=None):
    """The share of people who are alone in their class, row by row."""
    classes = {}
    for at, row in enumerate(table.frame.select(names).rows() if names else [()] * table.rows):
        classes.setdefault(row, set()).add(at if person is None else person[at])
    members = [len(each) for each in classes.values()]
    return sum(size == 1 for size in members) / sum(members)


@pytest.mark.parametrize("person", [None, "id"])
def test_a_column_adds_what_the_others_do_not_tell(table, person):
    whose = read_people(table, person)
    found = measure_contributions(table, QUASI, ("pay",), whose)
    every = count_unique(table, QUASI, whose)
    for name in QUASI:
        rest = [each for each in QUASI if each != name]
        assert found[name].without == pytest.approx(count_unique(table, rest, whose))
        assert found[name].together == pytest.approx(every)
    assert found["pay"].without == pytest.approx(every)
    assert found["pay"].together == pytest.approx(count_unique(table, [*QUASI, "pay"], whose))
    assert found["pay"].added > 0


def test_the_only_column_adds_all_of_it_and_no_column_nothing(table):
    found = measure_contributions(table, ("age",), ())
    assert (found["age"].without, found["age"].together) == (0, pytest.approx(count_unique(table, ["age"])))
    assert measure_contributions(table, (), ("age",)) == {}
