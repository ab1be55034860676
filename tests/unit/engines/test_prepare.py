"""Columns become the same problem, whether an engine has every row or distinct values with their counts."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.codespace.frequency import CodedRows
from shoal.engines.prepare import (
    DistinctValues,
    encode_distinct,
    encode_roles,
    prepare_rows,
    read_known_columns,
)
from shoal.errors import GoalNotMet
from shoal.privacy import KAnonymity
from shoal.privacy.population import PopulationTable
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

RECIPE = Recipe(("age", "job"), (KAnonymity(2),), ("illness",), weights={"job": 3})
TABLE = pl.DataFrame(
    {
        "age": [30, 20, 30, 25, None],
        "job": ["smith", "mason", "smith", "clerk", "smith"],
        "illness": ["flu", "", "cold", None, "flu"],
    }
)


def test_rows_and_counted_values_get_the_same_codes():
    known = read_known_columns(RECIPE, TABLE.columns)
    rows = encode_roles(RECIPE, known, {name: TABLE[name] for name in known})
    counts = {name: TABLE[name].value_counts(sort=False) for name in known}
    values = {
        name: DistinctValues(each[name], each[name], each["count"].cast(pl.Int64).to_numpy())
        for name, each in counts.items()
    }
    distinct = encode_distinct(RECIPE, known, values)
    assert (rows.sizes, rows.sensitive_sizes) == (distinct.sizes, distinct.sensitive_sizes) == ((4, 3), (3,))
    for name, code in distinct.collect_codes().items():
        by_value = dict(zip(values[name].series, code.tolist(), strict=True))
        assert [by_value[value] for value in TABLE[name]] == rows.collect_codes()[name].tolist()


def test_an_empty_and_a_missing_sensitive_value_have_one_code():
    known = read_known_columns(RECIPE, TABLE.columns)
    codes = encode_roles(RECIPE, known, {name: TABLE[name] for name in known}).sensitive["illness"]
    assert codes[1] == codes[3]
    assert len(set(codes.tolist())) == 3


def test_the_population_is_in_the_code_space_of_the_table():
    known = read_known_columns(RECIPE, TABLE.columns)
    people = PopulationTable(read_table(pl.DataFrame({"age": [30, 99], "job": ["smith", "judge"]})))
    codes = encode_roles(RECIPE, known, {name: TABLE[name] for name in known}, people=people)
    assert [len(column.codes) for column in codes.quasi] == [5, 5]
    assert codes.sizes == (5, 4)
    assert codes.population.weight.tolist() == [1, 1]
    first = [column.codes[0] for column in codes.quasi]
    assert first in codes.population.codes.tolist()


def test_counted_rows_take_the_place_of_rows():
    known = read_known_columns(RECIPE, TABLE.columns)
    codes = encode_roles(RECIPE, known, {name: TABLE[name] for name in known})
    some = np.array([0, 1], np.uint32)
    rows = CodedRows((some, some), codes.sizes, (some,), codes.sensitive_sizes, np.array([3, 2]))
    subject = prepare_rows(RECIPE, TABLE.columns, known, codes, rows)
    assert subject.problem.rows.rows == 5
    assert subject.problem.weights.tolist() == [1.0, 3.0]
    assert [column.codes.tolist() for column in subject.encoded] == [[0, 1], [0, 1]]
    with pytest.raises(GoalNotMet, match="the goal cannot be met"):
        prepare_rows(replace(RECIPE, models=(KAnonymity(6),)), TABLE.columns, known, codes, rows)
