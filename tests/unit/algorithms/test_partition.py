"""Classes that are refined in several regions at once: by place, so that threads change nothing."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.algorithms import partition
from shoal.algorithms.auto import Auto
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.partition import Partition
from shoal.algorithms.portfolio import measure_loss
from shoal.algorithms.space import ClusteringSpace, start_worker
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


def test_a_geometric_mean_is_searched_by_what_columns_add_to_it(problem, monkeypatch):
    asked = replace(problem, loss="generalised", models=(KAnonymity(20),))
    tilted = measure_loss(asked, Auto(seconds=1.0).search(asked))
    monkeypatch.setattr(
        "shoal.codespace.loss.certainty.Generalised.compute_slopes", lambda self, columns: 1.0
    )
    assert tilted < measure_loss(asked, Auto(seconds=1.0).search(asked))
