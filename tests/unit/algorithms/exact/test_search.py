"""Budget, solver, matching and classes, where the tests of the algorithms do not reach."""

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.exact import branching, classes, coverage, matching
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.options import ColumnOptions, TableSpace
from shoal.algorithms.exact.solver import Programme, relax_programme, solve_programme
from shoal.codespace.encoding import Column, encode_column
from shoal.support.progress import SearchFigures, measure_gap


@pytest.fixture
def space():
    rng = np.random.default_rng(4)
    encoded = [encode_column(pl.Series(rng.integers(0, 9, 7)), Column("n")) for _ in range(2)]
    return TableSpace(
        tuple(ColumnOptions(e.domain, e.codes.astype(np.int64), "ncp", 1.0) for e in encoded), 1.0
    )


def rows_of(space, k=2):
    kind = np.arange(space.rows)
    return classes.PartitionProblem(
        space, lambda groups: np.array([len(g) >= k for g in groups]), k, True, True, kind
    )


def test_a_budget_counts_and_tells():
    said = []
    budget = Budget(None, 10, lambda doing, done: said.append((doing, done)), scale=2.0)
    assert budget.count_states(4)
    budget.report_progress("searching", SearchFigures(3.0, bound=2.0))
    budget.report_progress("searching", SearchFigures())  # too soon
    ((stage, done),) = said
    figures = stage.figures
    assert (stage, figures.best, figures.mean, figures.bound) == ("searching", 6.0, None, 4.0)
    assert (figures.states, figures.gap, done) == (4, pytest.approx(1 / 3), pytest.approx(1 - 1 / 3))
    assert figures.rate > 0
    budget.report_progress("evolving", SearchFigures(generation=7), done=0.25, every=0.0)
    assert (said[1][0].figures.generation, said[1][1]) == (7, 0.25)
    assert not budget.count_states(6)
    assert budget.is_over
    assert Budget(seconds=1e-9).is_over


def test_what_a_part_of_a_budget_does_is_done_by_the_whole():
    said = []
    budget = Budget(None, 10, lambda doing, done: said.append(doing))
    budget.count_states(4)
    part = budget.allot_share(0.5)
    assert (part.nodes_left, part.seconds_left) == (6, float("inf"))
    assert not part.count_states(6, cuts=3)
    part.report_progress("pricing", SearchFigures(1.0))
    assert (part.nodes, budget.nodes, budget.cuts, said[0].figures.states) == (6, 10, 3, 10)


def test_the_gap_is_a_share_of_the_best():
    assert measure_gap(10.0, 9.0) == pytest.approx(0.1)
    assert measure_gap(10.0, 11.0) == 0.0


def test_the_solver_and_its_relaxation():
    from scipy.sparse import csr_array

    # three overlapping pairs over three rows: half of each is cheaper than any whole cover
    rows = csr_array(np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]], float))
    ones = np.ones(3)
    programme = Programme(np.array([1.0, 1, 1, 2]), rows, ones, ones, np.ones(4), np.ones(4, np.bool_))
    assert relax_programme(programme).value == pytest.approx(1.5)
    assert relax_programme(programme, seconds=60).value == pytest.approx(1.5)
    answer = solve_programme(programme, Budget(), SearchFigures())
    assert answer.proved
    assert answer.bound == pytest.approx(2.0)
    assert np.rint(answer.x).tolist() == [0, 0, 0, 1]


def test_the_solver_passes_errors_on():
    programme = Programme(
        np.ones(2), np.ones((1, 3)), np.ones(1), np.ones(1), np.ones(2), np.ones(2, np.bool_)
    )
    with pytest.raises(ValueError, match="shape"):
        solve_programme(programme, Budget(), SearchFigures())


def test_a_stopped_search_by_matching_still_has_a_bound(space):
    rows = coverage.list_cover_options(space, 2, Budget())
    widest = np.array([row.cost.size - 1 for row in rows])
    exact = matching.find_optimum(rows, 2, widest, Budget())
    assert exact.is_proved
    for iterations in (1, 5, 20):
        stopped = matching.find_optimum(rows, 2, widest, Budget(iterations=iterations))
        assert stopped.bound <= exact.cost + 1e-9 <= stopped.cost + 2e-9
        assert not stopped.is_proved
        assert matching.all_optima(rows, 2, stopped, 10, Budget()) is stopped
    assert matching.lower_bound(rows, 2) <= exact.cost + 1e-9


def test_many_cycles_may_share_an_arc(space):
    """Four rows whose only way to be reached is one arc, which a cycle of each of their arcs needs."""
    k, rows = 5, 9
    chain = [{i, i + 1, 4 + i, 5 + i, 4 + (i + 3) % 5} for i in range(3)] + [{3, 4, 5, 6, 7}]
    block = [{4, 5, 6, 7, 8, 0}] + [{4, 5, 6, 7, 8}] * 4
    cover = coverage.pack_bits(np.array([[j in covered for j in range(rows)] for covered in chain + block]))
    every = coverage.pack_bits(np.ones((1, rows), np.bool_))
    options = [
        coverage.CoverOptions(np.stack([own, every[0]]), np.array([[1], [2]]), np.ones(2), space)
        for own in cover
    ]
    assert matching.has_k_matches(cover, k)
    best = matching.find_optimum(options, k, np.ones(rows, np.int64), Budget())
    assert best.amount == rows
    assert matching.lower_bound(options, k) <= best.cost + 1e-9


def test_bounds_of_classes_are_below_the_optimum(space):
    rows = rows_of(space)
    best, tables = classes.solve_by_subsets(rows, 10, Budget())
    assert rows.row_bound() <= best.cost + 1e-9
    assert sorted(row for group in best.groups for row in group) == list(range(7))
    assert sum(rows.compute_costs([group for group, _ in tables[0]])) == pytest.approx(best.cost)
    whole = rows.build_division([tuple(range(7))])
    for iterations in (1, 30):
        stopped = branching.solve_by_columns(rows, whole, Budget(iterations=iterations))
        assert stopped.bound <= best.cost + 1e-9 <= stopped.cost + 2e-9
    found = branching.solve_by_columns(rows, whole, Budget())
    assert found.is_proved
    assert found.cost == pytest.approx(best.cost)


def test_a_class_that_could_be_two_with_the_same_cells_counts_once():
    # all rows equal: one table, however the rows are divided
    column = ColumnOptions(
        encode_column(pl.Series([1] * 6 + [2] * 2), Column("n")).domain,
        np.array([0] * 6 + [1] * 2),
        "ncp",
        1.0,
    )
    best, tables = classes.solve_by_subsets(rows_of(TableSpace((column,), 1.0)), 10, Budget())
    assert (best.cost, best.count, len(tables)) == (0.0, 1.0, 1)
