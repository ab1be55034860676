"""Thirty days of releases, read by Spark as one table."""

import numpy as np
import polars as pl
import pytest

import shoal


@pytest.mark.spark
def test_spark_reads_thirty_days_as_one_table(spark, tmp_path):
    draw = np.random.default_rng(1)
    recipe = shoal.Recipe(("age",), (shoal.KAnonymity(3),), sensitive=("illness",), others="keep")
    for day in range(30):
        # On some days nothing has to be generalised, and on others all of it.
        age = np.full(6, 30) if day % 3 == 0 else draw.integers(18, 90, 6)
        rows = pl.DataFrame({"age": age, "illness": draw.choice(["a", "b"], 6), "cost": draw.random(6)})
        shoal.run(recipe, rows).write(tmp_path / f"day_{day:02}.parquet")
    table = spark.read.parquet(str(tmp_path))
    assert dict(table.dtypes) == {"age": "string", "illness": "string", "cost": "double"}
    assert table.count() == 180
    counts = {row["age"]: row["count"] for row in table.groupBy("age").count().collect()}
    there = pl.scan_parquet(tmp_path / "*.parquet").collect()["age"].value_counts()
    assert counts == dict(there.iter_rows())
    assert min(counts.values()) >= 3
