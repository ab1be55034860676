"""Whole histories: which rows are left out, and which of them stand side by side."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from tests.unit.conftest import code

from shoal.algorithms.auto import Auto
from shoal.algorithms.linked.goal import LinkedGoal
from shoal.algorithms.linked.histories import choose_lengths, search_histories
from shoal.algorithms.linked.realign import realign_rows
from shoal.codespace.recoding import Recoding


def list_kept(counts, targets):
    return [max((each for each in targets if each <= count), default=0) for count in counts]


@pytest.mark.parametrize("seed", range(40))
def test_as_few_rows_are_left_out_as_can_be(seed):
    rng = np.random.default_rng(seed)
    counts, k = rng.integers(1, 8, rng.integers(1, 15)), int(rng.integers(2, 5))
    kept = choose_lengths(counts, k)
    assert (kept <= counts).all()
    assert all(people >= k for people in np.bincount(kept)[1:] if people)
    every = sorted(set(counts.tolist()))
    possible = [
        sum(list_kept(counts, targets))
        for size in range(len(every) + 1)
        for targets in combinations(every, size)
        if all(list_kept(counts, targets).count(each) in (0, *range(k, 99)) for each in targets)
    ]
    assert kept.sum() == max(possible)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("may_vanish", [True, False])
def test_as_few_rows_are_left_out_as_can_be_where_owners_count(seed, may_vanish):
    rng = np.random.default_rng(seed)
    counts, k = rng.integers(0 if not may_vanish else 1, 7, rng.integers(4, 13)), int(rng.integers(2, 4))
    owner = rng.integers(0, 5, counts.size)

    def is_enough(kept):
        told = np.unique(kept) if not may_vanish else np.unique(kept[kept > 0])
        return all(np.unique(owner[kept == each]).size >= k for each in told)

    every = sorted({0, *counts.tolist()})
    possible = [
        np.array(list_kept(counts, targets))
        for size in range(len(every) + 1)
        for targets in combinations(every, size)
    ]
    enough = [kept.sum() for kept in possible if is_enough(kept)]
    if not enough:  # too few owners there are
        return
    kept = choose_lengths(counts, k, may_vanish, owner)
    assert (kept <= counts).all()
    assert is_enough(kept)
    assert kept.sum() == max(enough)


def make_problem(columns, person):
    return replace(code(pl.DataFrame(columns)), person=np.array(person))


def test_rows_change_places_where_classes_get_narrower():
    problem = make_problem({"x": [1, 9, 9, 1, 1, 9]}, [0, 0, 1, 1, 2, 2])
    rows = np.array([[0, 1], [2, 3], [4, 5]])
    moved = realign_rows(problem, range(len(problem.domains)), rows, 2, np.zeros(3, np.int64))
    values = np.array([1, 9, 9, 1, 1, 9])[moved]
    assert (values == values[0]).all()
    assert sorted(moved.ravel()) == [0, 1, 2, 3, 4, 5]


def test_a_row_that_is_left_out_can_change_places_too():
    problem = make_problem({"x": [5, 1, 1, 1]}, [0, 0, 1, 2])
    rows = np.array([[0, 1], [2, -1], [3, -1]])
    moved = realign_rows(problem, range(len(problem.domains)), rows, 1, np.zeros(3, np.int64))
    assert moved.tolist() == [[1, 0], [2, -1], [3, -1]]


def test_histories_that_are_equal_in_another_order_lose_nothing():
    values = [3, 1, 2, 1, 2, 3, 7, 8, 9, 9, 8, 7]
    problem = make_problem({"x": values}, np.repeat(np.arange(4), 3))
    proposal = search_histories(Auto(), problem, LinkedGoal(None, ()))
    recoding = Recoding.from_proposal(proposal, problem.domains)
    assert recoding.size.tolist() == [2] * 6
    assert (recoding.cells[0].lo == recoding.cells[0].hi).all()


def test_a_column_can_say_in_which_order_rows_are_compared():
    problem = make_problem({"x": [1, 2, 2, 1], "y": [1, 2, 1, 2]}, [0, 0, 1, 1])
    by_x = search_histories(Auto(), problem, LinkedGoal(None, ()))
    assert by_x.class_of[0] != by_x.class_of[1]
    by_y = search_histories(Auto(), problem, LinkedGoal(None, (), np.array([0, 1, 0, 1])))
    assert by_y.class_of[0] != by_y.class_of[1]
