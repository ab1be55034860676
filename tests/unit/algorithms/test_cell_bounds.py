"""Bounds of tables of trees: never above the least loss, which a program of their own finds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from shoal.algorithms import bounds, cell_bounds
from shoal.algorithms.bounds import find_lower_bound
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.portfolio import measure_loss
from shoal.engines.memory import prepare_table
from shoal.privacy import DistinctL, KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import read_table
from shoal.table.hierarchies import Hierarchy

ROWS = 9
TREES = {
    "town": [(f"{a}{b}{c}", f"{a}{b}", a, "any") for a in "xy" for b in "pq" for c in "12"],
    "job": [("baker", "food", "*"), ("cook", "food", "*"), ("smith", "metal", "*"), ("monk", "monk", "*")],
    # The group of the only town is the town over again.
    "land": [("mainland", "mainland", "all"), ("north", "isles", "all"), ("south", "isles", "all")],
}
WEIGHTS = {"town": 1.0, "job": 2.0, "land": 0.5}


def make_problem(seed, *models, suppress=0.0, loss="ncp", rows=ROWS):
    random = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {name: [tree[i][0] for i in random.integers(0, len(tree), rows)] for name, tree in TREES.items()}
    ).with_columns(ill=pl.Series(random.choice(["a", "b", "c"], rows)))
    trees = {name: Hierarchy.from_rows(tree) for name, tree in TREES.items()}
    recipe = Recipe(
        tuple(TREES),
        models,
        sensitive=("ill",),
        trees=trees,
        suppress=suppress,
        loss=loss,
        weights=WEIGHTS,
    )
    return frame, prepare_table(recipe, read_table(frame)).problem


def cost_of_class(frame, rows):
    """What the rows of one class lose, counted from the rows of the trees."""
    cost = 0.0
    for name, tree in TREES.items():
        values = set(frame[rows][name])
        paths = [path for path in tree if path[0] in values]
        level = next(i for i in range(len(tree[0])) if len({path[i] for path in paths}) == 1)
        below = sum(path[level] == paths[0][level] for path in tree)
        cost += WEIGHTS[name] * (below - 1) / (len(tree) - 1)
    return len(rows) * cost / sum(WEIGHTS.values())


def find_least_loss(frame, k, hidden=0, diverse=1):
    """The least loss of all divisions into classes: row 0 with every set of others, and so on."""
    ill = frame["ill"].to_list()

    @cache
    def cost(rows):
        members = [r for r in range(ROWS) if rows >> r & 1]
        if len(members) < k or len({ill[r] for r in members}) < diverse:
            return np.inf
        return cost_of_class(frame, members)

    @cache
    def best(left, hidden):
        if left == 0:
            return 0.0
        first = left & -left
        rest = part = left ^ first
        found = 1.0 + best(rest, hidden - 1) if hidden else np.inf
        while True:
            if cost(part | first) < found:
                found = min(found, cost(part | first) + best(rest ^ part, hidden))
            if part == 0:
                return found
            part = (part - 1) & rest

    return best((1 << ROWS) - 1, hidden) / ROWS


@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_release_of_a_small_table_loses_less(k):
    shares = []
    for seed in range(4):
        frame, problem = make_problem(10 * k + seed, KAnonymity(k))
        least = find_least_loss(frame, k)
        assert cell_bounds.is_for_cell_prices(problem, 0.01)
        quick, proved = (cell_bounds.find_bound_by_cells(problem, k, seconds) for seconds in (1e-9, 0.01))
        assert 0 <= quick <= proved <= least + 1e-12
        assert find_lower_bound(problem, 0.01) == proved
        shares.append(proved / least if least else 1.0)
    assert np.mean(shares) > 0.7  # a bound of 0 would never be above


@pytest.mark.parametrize("seed", range(3))
def test_nor_one_that_suppresses_rows_or_keeps_further_models(seed):
    frame, hidden = make_problem(seed, KAnonymity(3), suppress=0.3)
    assert find_lower_bound(hidden, 0.01) <= find_least_loss(frame, 3, hidden=2) + 1e-12
    frame, diverse = make_problem(seed, KAnonymity(2), DistinctL(2))
    assert find_lower_bound(diverse, 0.01) <= find_least_loss(frame, 2, diverse=2) + 1e-12


def test_it_proves_more_than_what_looks_around_rows(monkeypatch):
    _, problem = make_problem(0, KAnonymity(5), rows=400)
    proved = find_lower_bound(problem, 0.5)
    lost = measure_loss(problem, Mondrian().search(problem))
    monkeypatch.setattr(bounds, "is_for_cell_prices", lambda problem, seconds: False)
    assert find_lower_bound(problem, 0.5) <= proved <= lost


def test_too_many_cells_and_columns_without_trees_are_left_to_the_other_search(monkeypatch):
    _, problem = make_problem(0, KAnonymity(2))
    assert cell_bounds.is_for_cell_prices(problem, 1.0)
    assert not cell_bounds.is_for_cell_prices(problem, 1e-6)
    bare = replace(problem.domains[0], hierarchy=None, kind="flat")
    assert not cell_bounds.is_for_cell_prices(replace(problem, domains=(bare, *problem.domains[1:])), 1.0)
    monkeypatch.setattr(cell_bounds, "_VECTORS", 4 * 3 * 3 - 1)
    assert not cell_bounds.is_for_cell_prices(problem, 1.0)
