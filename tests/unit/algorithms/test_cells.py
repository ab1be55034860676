"""Cells: what is divided, what stays together, and what it does with goals that are about classes."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import shoal
from shoal.kernels.cells import settle_division


def count_equal(cell, part, rows, columns):
    """How many rows of a division are equal in a part and in other columns."""
    keys = [(int(part[i]), *(int(cell[j, row]) for j in columns)) for i, row in enumerate(rows)]
    return [keys.count(key) for key in keys]


@pytest.mark.parametrize("seed", range(6))
def test_after_a_division_rows_are_equal_to_enough_others_or_to_none(seed):
    random = np.random.default_rng(seed)
    cell = random.integers(0, 3, (4, 200)).astype(np.int32)
    cell[0] = 0
    rows = np.arange(200)
    part = random.integers(0, 3, 200).astype(np.int32)
    known = np.array(list(combinations((1, 2, 3), 2)))
    least = np.array([4, 3, 5])
    wanted = part.copy()
    settle_division(cell, rows, part, np.array([0.0, 1.0, 1.0]), known, least, 0.0, 50)
    assert ((part == wanted) | (part == 0)).all()
    for columns, k in zip(known, least, strict=True):
        # What was too rare before the division stays as rare as it was.
        before = count_equal(cell, np.zeros(200, np.int32), rows, columns)
        after = count_equal(cell, part, rows, columns)
        assert all(there >= min(k, all_there) for there, all_there in zip(after, before, strict=True))


def test_a_division_that_gains_too_little_is_left():
    cell = np.zeros((2, 6), np.int32)
    cell[1] = [0, 0, 0, 1, 1, 1]
    known, least = np.array([[1]]), np.array([3])
    part = np.array([1, 1, 2, 1, 2, 2], np.int32)
    assert settle_division(cell, np.arange(6), part, np.array([0.0, 1, 1]), known, least, 1.0, 9) == 0
    part = np.array([1, 1, 1, 2, 2, 2], np.int32)
    assert settle_division(cell, np.arange(6), part, np.array([0.0, 1, 1]), known, least, 1.0, 9) == 1
    assert_array_equal(part, [1, 1, 1, 2, 2, 2])


def test_columns_that_tell_each_other_apart_keep_what_the_other_does_not_need():
    # By either column alone there are four equal rows; by both there is one.
    frame = pl.DataFrame({"a": [v for v in range(4) for _ in range(4)], "b": list(range(4)) * 4})
    alone = shoal.anonymize(frame, quasi=["a", "b"], models=["k-of-any(m=1,k=4)"], algorithm="cells")
    assert alone.frame.equals(frame.cast(pl.String))
    both = shoal.anonymize(frame, quasi=["a", "b"], models=["k-of-any(m=2,k=4)"], algorithm="cells")
    assert both.report.ncp > 0.3


def test_a_tree_is_divided_into_its_nodes():
    tree = {"north": ["ayr", "bude"], "south": ["carn", "dent"]}
    frame = pl.DataFrame({"town": ["ayr"] * 5 + ["bude"] * 2 + ["carn"] * 3 + ["dent"] * 2, "x": [1] * 12})
    release = shoal.anonymize(
        frame,
        quasi=["town", "x"],
        models=["k-of-any(m=1,k=3)"],
        algorithm="cells",
        hierarchies={"town": shoal.Hierarchy.from_tree(tree)},
    )
    names = release.frame["town"].to_list()
    assert set(names) <= {"ayr", "bude", "carn", "dent", "north", "south", "*"}
    assert min(map(names.count, names)) >= 3
    # Two of bude and two of dent cannot stand alone.
    assert names.count("ayr") >= 3


@pytest.mark.parametrize("goal", [{"k": 3, "l": 2}, {"k": 4}])
def test_goals_about_classes_are_kept_by_classes(goal):
    random = np.random.default_rng(0)
    frame = pl.DataFrame({"a": random.integers(0, 30, 90), "s": random.integers(0, 4, 90)})
    release = shoal.anonymize(frame, quasi=["a"], sensitive=["s"], algorithm="cells", **goal)
    assert release.report.smallest_class >= goal["k"]


def test_a_budget_ends_the_search_with_a_release_that_keeps_the_goal():
    random = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{j}": random.integers(0, 50, 400) for j in range(4)})
    goal = {"quasi": frame.columns, "models": ["k-of-any(m=2,k=5)"]}
    little = shoal.anonymize(frame, **goal, algorithm="cells(seconds=0.0002)")
    much = shoal.anonymize(frame, **goal, algorithm="cells")
    assert much.report.ncp < little.report.ncp < 1
    assert any("was used up" in note for note in little.report.notes)
    assert all(model.holds for model in little.report.models)
