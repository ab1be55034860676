"""Classes that are refined in several regions at once: by place, so that threads change nothing."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.algorithms import partition, portfolio
from shoal.algorithms.auto import Auto
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.partition import Annealing, Partition
from shoal.algorithms.portfolio import measure_loss
from shoal.algorithms.space import ClusteringSpace, start_worker
from shoal.kernels.anneal import note_near_rows
from shoal.privacy import DistinctL, KAnonymity
from shoal.table.hierarchies import Hierarchy

GROUPS = Hierarchy.from_rows([[f"c{i}", f"g{i // 4}", "*"] for i in range(64)])


@pytest.fixture
def problem(code):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "n": rng.integers(0, 400, 1500),
            "flat": rng.choice(list("abcdefgh"), 1500),
            "tree": rng.choice([f"c{i}" for i in range(64)], 1500, p=np.arange(1, 65) / 2080),
            "s": rng.choice(list("pqr"), 1500),
        }
    )
    coded = code(frame, ["s"], hierarchy={"tree": GROUPS})
    return replace(coded, models=(KAnonymity(5), DistinctL(2, "s")))


@pytest.mark.parametrize(
    ("rows", "regions"), [(1, 1), (8192, 1), (16_383, 1), (16_384, 2), (30_162, 2), (63_441, 4), (10**7, 16)]
)
def test_regions_are_a_power_of_two(rows, regions):
    assert partition._count_regions(rows) == regions


def test_a_class_is_in_the_region_of_most_of_its_rows():
    class_of = np.array([0, 0, 0, 1, 1, -1, 2])
    region_of = np.array([1, 0, 1, 0, 1, 0, 1])
    assert partition._locate_classes(class_of, region_of, 4, 2).tolist() == [1, 0, 1, 0]


def test_threads_change_nothing(problem, monkeypatch):
    monkeypatch.setattr(partition, "_REGION", 256)
    space = ClusteringSpace.from_table(problem, problem.table)
    start = Mondrian().search(problem)
    found = []
    for threads in (1, 2, 4):
        refined = Partition(space, start.class_of, seed=0)
        assert len(refined._rooms) == 4
        with start_worker(threads=threads) as run:
            refined.refine_classes(3, 1.0, run)
        found.append(refined.class_of())
    assert all(np.array_equal(found[0], other) for other in found[1:])
    assert refined.loss < 0.95 * Partition(space, start.class_of, seed=0).loss
    sick = problem.table.histograms
    for c in range(found[0].max() + 1):
        rows = np.flatnonzero(found[0] == c)
        values = {int(v) for row in rows for v in sick.value[sick.start[row] : sick.start[row + 1]]}
        assert problem.table.weight[rows].sum() >= 5
        assert len(values) >= 2


def test_annealing_is_the_same_for_any_threads_and_keeps_the_goal(problem, monkeypatch):
    monkeypatch.setattr(partition, "_REGION", 256)
    space = ClusteringSpace.from_table(problem, problem.table)
    start = Mondrian().search(problem)
    found = []
    for threads in (1, 2, 4):
        annealed = Partition(space, start.class_of, seed=0)
        with start_worker(threads=threads) as run:
            annealed.refine_classes(2, 1.0, run)
            refined = annealed.loss
            annealed.anneal_classes(Annealing(hot=0.2, cooling=0.7, rounds=8), annealed.spent + 0.1, run)
            assert not np.array_equal(annealed.class_of(), start.class_of)
            annealed.refine_classes(2, 2.0, run)
        annealed.return_to_best()
        assert annealed.loss <= refined
        assert annealed.loss == pytest.approx(Partition(space, annealed.class_of(), seed=0).loss)
        found.append(annealed.class_of())
    assert all(np.array_equal(found[0], other) for other in found[1:])
    sick = problem.table.histograms
    for c in range(found[0].max() + 1):
        rows = np.flatnonzero(found[0] == c)
        values = {int(v) for row in rows for v in sick.value[sick.start[row] : sick.start[row + 1]]}
        assert problem.table.weight[rows].sum() >= 5
        assert len(values) >= 2


def test_near_rows_are_the_nearest_ones_where_all_are_looked_at(problem):
    space = ClusteringSpace.from_table(problem, problem.table)
    order = np.arange(space.ident.size)[:200]
    near = np.full((space.ident.size, 6), -1, np.int32)
    apart = np.full(near.shape, np.inf, np.float32)
    halt = np.zeros(1, np.bool_)
    for _ in range(2):  # the second time there is nothing new
        note_near_rows(space.points, space.measure, order, 0, order.size, order.size, near, apart, halt)
    codes = problem.table.codes[:200].astype(np.int64)
    for row in range(0, 200, 20):
        cost = np.zeros(200)
        for j, domain in enumerate(problem.domains):
            ends = np.minimum(codes[row, j], codes[:, j]), np.maximum(codes[row, j], codes[:, j])
            width = domain.compute_widths(*domain.snap(*ends))
            if domain.kind == "flat":
                width = (codes[row, j] != codes[:, j]) / (domain.size - 1)
            cost += problem.weights[j] * width
        cost[row] = np.inf
        assert np.allclose(apart[row], np.sort(cost)[:6])
        assert np.allclose(cost[near[row]], apart[row])
        assert len(set(near[row].tolist())) == 6


def test_auto_goes_on_where_descent_has_stalled(problem, monkeypatch):
    def find(most):
        monkeypatch.setattr(portfolio, "_MOST_SECONDS", most)
        said = []
        found = Auto(seconds=0.6).search(problem, lambda doing, done: said.append(str(doing)))
        return measure_loss(problem, found), [loss for _, loss in found.curve], set(said)

    (before, _, _), (after, curve, said) = find(5.0), find(0.1)
    assert "annealing" in said
    assert after < before
    # The first is that of the start, the second that after a trial; from then on nothing is given up.
    assert curve[1:] == sorted(curve[1:], reverse=True)
    assert curve[-1] == pytest.approx(after)


def test_a_geometric_mean_is_searched_by_what_columns_add_to_it(problem, monkeypatch):
    asked = replace(problem, loss="generalised", models=(KAnonymity(20),))
    tilted = measure_loss(asked, Auto(seconds=1.0).search(asked))
    monkeypatch.setattr(
        "shoal.codespace.loss.certainty.Generalised.compute_slopes", lambda self, columns: 1.0
    )
    assert tilted < measure_loss(asked, Auto(seconds=1.0).search(asked))
