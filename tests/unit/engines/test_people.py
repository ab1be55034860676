"""Whose each row is, where rows come batch by batch: as if the column were there as a whole."""

import numpy as np
import polars as pl
import pytest

from shoal.engines.people import PersonCoder, describe_missing_ids, describe_people
from shoal.engines.prepare import DistinctValues
from shoal.errors import InputError
from shoal.privacy import KAnonymity
from shoal.privacy.people import number_people
from shoal.recipes.recipe import Recipe

RECIPE = Recipe(("age",), (KAnonymity(2),), person="id")


def make_coder(column: pl.Series) -> PersonCoder:
    distinct = column.unique(maintain_order=True)
    count = np.array([int(column.eq_missing(value).sum()) for value in distinct])
    return PersonCoder.from_values(DistinctValues(distinct, distinct, count))


@pytest.mark.parametrize(
    "ids",
    [
        ["b", "a", "b", "c"],
        ["P1", "p1 ", None, "P2", None, " ", "P1"],
        [7, 3, 7, None],
        [1.5, 1.50, -0.0, 0.0],
    ],
    ids=["texts", "spellings and missing ones", "numbers", "fractions"],
)
def test_batches_are_numbered_as_the_whole_column(ids):
    column = pl.Series(ids)
    coder = make_coder(column)
    found = np.concatenate([coder(column[:3]), coder(column[3:])])
    number, missing = number_people(column)
    assert found.tolist() == number.tolist()
    assert (coder.missing, coder.people, coder.rows) == (missing, np.unique(number).size, len(ids))
    assert coder.is_needed == (np.unique(number).size < len(ids))


def test_an_id_that_was_not_there_before_is_no_new_person():
    coder = make_coder(pl.Series(["a", "b", "a"]))
    with pytest.raises(InputError, match="the table changed while it was read"):
        coder(pl.Series(["a", "c"]))


def test_what_is_told():
    assert describe_missing_ids(RECIPE, 0) == ()
    assert describe_missing_ids(RECIPE, 1200)[0].startswith("'id' is missing in 1,200 rows")
    counted, sorted_rows = describe_people(RECIPE, 5000, 1000, 40)
    assert counted.endswith("the 5,000 released rows are of 1,000 people by 'id', of whom one has 40")
    assert sorted_rows.startswith("'id' was left out, and the rows are sorted by what is released")
