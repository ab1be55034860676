"""Executors compile nothing: the kernels that they call travel with the tasks."""

from dataclasses import replace

import pytest
from tests.engines.spark.test_same_classes import GOALS, HOSPITAL

import shoal
from shoal.table.samples import write_sample

pytestmark = pytest.mark.exhaustive


def test_executors_compile_nothing(spark, cluster, tmp_path):
    write_sample("hospital", tmp_path / "people.parquet", rows=60_000)
    recipe = replace(HOSPITAL, models=GOALS["l"], driver_rows=4_000)
    release = shoal.run(recipe, spark.read.parquet(str(tmp_path / "people.parquet")))
    assert release.frame.count() > 0
    release.unpersist()

    def tell(batches):
        """On an executor: where the kernels of this process came from."""
        import polars as pl

        from shoal.kernels.compiled import count_kernel_origins

        for _ in batches:
            pass
        found = pl.DataFrame({name: [number] for name, number in count_kernel_origins().items()})
        yield from found.to_arrow().to_batches()

    schema = "ready long, kept long, brought long, compiled long, here long"
    asked = spark.range(0, 64, 1, 8).mapInArrow(tell, schema).collect()
    assert len(asked) == 8
    assert max(row.brought for row in asked) > 0
    assert [row for row in asked if row.compiled or row.here] == []
    assert not (cluster.folder / "compiled-by-executors").exists()
