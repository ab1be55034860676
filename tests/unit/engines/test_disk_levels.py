"""With more distinct rows than memory holds, the release is that of the search in memory, byte for byte."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.cases import thin_out

from shoal.algorithms.mondrian import Mondrian
from shoal.engines import disk_counting, disk_levels, duckdb
from shoal.engines.memory import run_in_memory
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
