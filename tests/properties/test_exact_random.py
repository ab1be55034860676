"""The exact search on random tables, against all tables that there are."""

from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest
from tests.properties.brute_force import TREE, SmallTable, draw_table, find_optimum
from tests.properties.test_exact_properties import GOALS

from shoal.algorithms.exact import classes, matching
from shoal.algorithms.mingen import MinGen
from shoal.engines.api import anonymize
from shoal.errors import GoalNotMet
from shoal.table.hierarchies import Hierarchy

CASES = 3000
BLOCK = 100


def solve(table: SmallTable, limit: int):
    names = [f"q{j}" for j in range(len(table.kinds))]
    columns = [pl.Series(name, column) for name, column in zip(names, table.columns, strict=True)]
    named = list(zip(names, table.kinds, table.weights, strict=True))
    return anonymize(
        pl.DataFrame([*columns, pl.Series("s", table.sensitive)]),
        quasi=names,
        sensitive=["s"],
        k=table.k,
        models=[table.model] if table.model else [],
        hierarchies={name: Hierarchy.from_tree(TREE) for name, kind, _ in named if kind == "tree"},
        loss=table.loss,
        weights={name: weight for name, _, weight in named},
        algorithm=MinGen(semantics=table.semantics, sets=table.sets, limit=limit),
    )


def check(seed: int) -> None:
    table = draw_table(seed, sorted(GOALS))
    goal = GOALS[table.model] if table.model else lambda values, whole: True
    best, count = find_optimum(table, goal)
    limit = (1, 2, 100)[seed % 3]
    if best is None:
        with pytest.raises(GoalNotMet):
            solve(table, limit)
        return
    release = solve(table, limit)
    report = release.report
    assert (report.optimal, report.gap, report.solutions) == (True, 0.0, count), (seed, table)
    # What cancels out is measured in floats: to the digits of the largest part of the sum.
    largest = max(float(abs(best)), 1e-4 * float(max(map(abs, table.weights), default=0)))
    scale = Fraction(1) / table.worst
    assert report.loss["value"] == pytest.approx(
        float(best * scale), rel=1e-9, abs=1e-9 * largest * float(scale)
    )
    assert report.lower_bound == report.loss["value"]
    assert len({tuple(frame.rows()) for frame in release.solutions}) == min(count, limit)


@pytest.mark.parametrize(
    "first",
    [pytest.param(0), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(BLOCK, CASES, BLOCK))],
)
def test_value_and_number_of_tables_against_brute_force(first):
    for seed in range(first, first + BLOCK):
        check(seed)


@pytest.mark.parametrize("first", [pytest.param(0), pytest.param(25, marks=pytest.mark.exhaustive)])
def test_what_larger_tables_are_solved_by_against_brute_force(first, monkeypatch):
    """Column generation and the solver, on tables that all tables can be tried of."""
    monkeypatch.setattr(classes, "FEW", 2)
    monkeypatch.setattr(matching, "SMALL", 2)
    proved = 0
    for seed in range(first, first + 25):
        table = replace(draw_table(seed, sorted(GOALS)), model=None)
        best, count = find_optimum(table)
        report = solve(table, 1).report
        least = float(best / table.worst)
        room = 1e-9 * max(abs(least), float(max(map(abs, table.weights)) / table.worst))
        assert report.loss["value"] >= least - room, (seed, table)
        assert report.lower_bound <= least + room, (seed, table)
        if report.optimal:
            proved += 1
            assert report.gap == 0.0
            assert report.loss["value"] == pytest.approx(least, rel=1e-9, abs=room), (seed, table)
            assert report.solutions in (None, count), (seed, table)
    assert proved >= 15
