"""With more distinct rows than memory holds, the release is that of the search in memory, byte for byte."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cases import thin_out

from shoal.algorithms.mondrian import Mondrian
from shoal.engines import disk_counting, disk_levels, duckdb
from shoal.engines.level_workers import TUPLES, VALUE, WEIGHT, LeafCounter, RowLayout
from shoal.engines.memory import run_in_memory
from shoal.engines.packing import CodePacking
from shoal.kernels.sampled_cuts import CutTree
from shoal.privacy import DistinctL, KAnonymity, TCloseness
from shoal.recipes.recipe import Recipe
from shoal.table.samples import write_sample

RECIPE = Recipe(
    others="drop",
    quasi=("age", "sex", "postcode", "education", "occupation", "marital_status"),
    sensitive=("diagnosis", "cost"),
    models=(KAnonymity(10),),
    memory="2GB",
)
GOALS = {
    "k": (KAnonymity(10),),
    "l": (KAnonymity(5), DistinctL(3, "diagnosis")),
    "t": (KAnonymity(10), TCloseness(0.3, column="diagnosis")),
}
CASES = [
    (("diagnosis",), "l", "nearest", 40_000),
    ((), "k", "greedy", 3_000),
    (("diagnosis",), "t", "greedy", 20_000),
    (("diagnosis", "marital_status"), "l", "greedy", 5_000),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "sample.parquet"
    write_sample("hospital", path, 120_000)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("sensitive", "goal", "cut", "most"), thin_out(CASES, 2))
def test_releases_are_the_same(source, sensitive, goal, cut, most, tmp_path, monkeypatch):
    quasi = tuple(name for name in RECIPE.quasi if name not in sensitive)
    recipe = replace(
        RECIPE, quasi=quasi, sensitive=sensitive, models=GOALS[goal], algorithm=Mondrian(cut=cut)
    )
    paths = [str(tmp_path / f"{engine}.csv") for engine in ("memory", "disk")]
    expected = run_in_memory(replace(recipe, output=paths[0]), source)
    groups = []
    divide = disk_levels._group_nodes
    monkeypatch.setattr(
        disk_levels, "_group_nodes", lambda *given: groups.extend(divide(*given)) or [*groups]
    )
    monkeypatch.setattr(disk_counting.DiskWorkspace, "limit_search", lambda *_: 0.0)
    monkeypatch.setattr(disk_counting, "_LEAST_NODE", most)
    found = duckdb.run_on_disk(replace(recipe, output=paths[1]), source)
    assert any("searched level by level" in note for note in found.report.notes)
    assert len(groups) > 1  # several passes over the rows
    memory, disk = (Path(path).read_bytes() for path in paths)
    assert disk == memory
    assert found.report.ncp == pytest.approx(expected.report.ncp, rel=1e-12)


def test_without_new_leaves_nothing_is_counted(tmp_path):
    layout = RowLayout(CodePacking.from_sizes([4, 5]), (3,))
    rows = disk_levels.DiskRows(tmp_path / "rows", layout, distinct=3, most=10)
    table = pl.DataFrame(
        {"k0": [0, 1, 1], "s0": [0, 1, 2], "n": [1, 2, 3]},
        schema={"k0": pl.UInt64, "s0": pl.UInt32, "n": pl.Int64},
    ).to_arrow()
    rows.write_rows(table.to_batches(), table.schema)
    root = CutTree(*np.array([[-1], [0], [0], [0]], np.int64))
    assert rows.count_leaves(LeafCounter(layout, root, 1)).is_empty()
    counted = rows.count_leaves(LeafCounter(layout, root, 0)).filter(pl.col("what") != VALUE)
    assert sorted(counted.rows()) == [(0, TUPLES, 0, 2), (0, WEIGHT, 0, 6)]
