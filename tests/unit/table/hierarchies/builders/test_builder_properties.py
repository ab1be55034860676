"""Every builder on random columns: all values covered, levels nested, no label with two meanings."""

import re
from collections import defaultdict
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.table.hierarchies import (
    Boundaries,
    Dates,
    EqualFrequency,
    EqualWidth,
    Learned,
    Masking,
    OrderedGroups,
    RareTogether,
    Values,
)

WHOLE = st.integers(-1000, 1000) | st.integers(-(2**62), 2**62)
FLOAT = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-10, 10)
TEXT = st.text(max_size=6) | st.text("ab1*. (2)", max_size=4)
DAY = st.dates(date(1, 1, 1), date(9999, 12, 31))
NUMBERS = (
    EqualWidth(),
    EqualWidth(factor=10),
    EqualFrequency(),
    EqualFrequency(3, 3),
    Boundaries((-10, 0.5, 18)),
)
ANY = (
    Masking(),
    Masking((3, 1), "left", "#"),
    OrderedGroups(),
    OrderedGroups((3, 2)),
    RareTogether((1, 2, 5)),
)
DATES = (Dates(), Dates(("week",)), Dates(("weekday",)), Dates(("day", "month", "quarter", "year", "decade")))


# Every builder has its turn on every kind of column, so each needs fewer examples than usual.
few = settings(max_examples=40)


def columns(values):
    """Columns with missing values; often of one value, and often with the same value again."""
    several = st.lists(st.none() | values, min_size=1, max_size=12)
    repeated = st.lists(st.tuples(values, st.integers(1, 9)), min_size=1, max_size=6).map(
        lambda parts: [value for value, times in parts for _ in range(times)]
    )
    return st.one_of(several, repeated, values.map(lambda value: [value]))


def values_of(column, dtype):
    values = [each for each in column if each is not None and str(each).strip()]
    assume(values)
    return Values.of(pl.Series(column, dtype=dtype)), values


def check(tree, values):
    assert sorted(tree.leaves) == sorted(set(values.leaves))
    rows = tree.to_rows()
    for level in range(tree.height):
        parents = defaultdict(set)
        for row in rows:
            parents[row[level]].add(row[level + 1])
        assert all(len(above) == 1 for above in parents.values())
    assert len({row[-1] for row in rows}) == 1
    meant = defaultdict(set)
    for level in range(tree.height):
        for label in {row[level] for row in rows}:
            meant[label].add(frozenset(row[0] for row in rows if row[level] == label))
    assert all(len(parts) == 1 for parts in meant.values())


@pytest.mark.slow
@pytest.mark.parametrize("builder", [*NUMBERS, *ANY], ids=repr)
@few
@given(column=columns(WHOLE))
def test_whole_numbers(builder, column):
    values, _ = values_of(column, pl.Int64)
    tree = builder.build(values)
    check(tree, values)
    if builder in NUMBERS and max(map(abs, values.value)) < 2**53:
        check_inside(tree)


@pytest.mark.slow
@pytest.mark.parametrize("builder", [*NUMBERS, *ANY], ids=repr)
@few
@given(column=columns(FLOAT))
def test_numbers_with_fractions(builder, column):
    values, _ = values_of(column, pl.Float64)
    tree = builder.build(values)
    check(tree, values)
    if builder in NUMBERS:
        check_inside(tree)


INTERVAL = re.compile(r"(\[?)(-?[\d.e+-]+?)(?:-|\.\.|, )(-?[\d.e+-]+?)([\])]?)(?: \(\d+\))?")


def slack(*ends):
    return 1e-8 * max(map(abs, ends))


def check_inside(tree):
    """Every number lies in the intervals that it becomes, up to the digits that a label shows."""
    for leaf, *labels in tree.to_rows():
        number = float(leaf)
        for label in labels[:-1]:
            if label.startswith("<"):
                assert number < float(label[1:]) + slack(float(label[1:]))
            elif label.startswith(">="):
                assert number >= float(label[2:]) - slack(float(label[2:]))
            elif found := INTERVAL.fullmatch(label):
                low, high = float(found[2]), float(found[3])
                assert low - slack(low, high) <= number <= high + slack(low, high)
            else:
                assert float(label) == number


@pytest.mark.slow
@pytest.mark.parametrize("builder", [*DATES, *ANY], ids=repr)
@few
@given(column=columns(DAY))
def test_dates(builder, column):
    values, _ = values_of(column, pl.Date)
    check(builder.build(values), values)


@pytest.mark.slow
@pytest.mark.parametrize("builder", ANY, ids=repr)
@few
@given(column=columns(TEXT))
def test_texts(builder, column):
    values, _ = values_of(column, pl.String)
    check(builder.build(values), values)


@pytest.mark.parametrize("builder", [Learned(), Learned((5, 2))], ids=repr)
@few
@given(column=columns(TEXT), seed=st.integers(0, 9))
def test_learned(builder, column, seed):
    values, _ = values_of(column, pl.String)
    profile = np.random.default_rng(seed).integers(0, 4, (len(values.text), 3))
    check(builder.build(replace(values, profile=profile)), values)


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=20), st.integers(1, 9), st.integers(2, 4))
def test_given_widths_are_those_of_the_intervals(column, width, ratio):
    widths = (width, width * ratio, width * ratio * 2)
    tree = EqualWidth(widths).build(Values.of(column))
    for leaf, *labels in tree.to_rows():
        low = [int(leaf) // size * size for size in widths]
        dash = "-" if min(column) >= 0 else ".."
        ends = [
            f"{a}{dash}{a + size - 1}" if size > 1 else str(a) for a, size in zip(low, widths, strict=True)
        ]
        assert labels == [*ends, "*"]
