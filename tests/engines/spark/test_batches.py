"""Thirty daily batches, read back as one table by Spark."""

from tests.engines.batches import QUASI, K, release_days


def test_spark_finds_k_rows_in_every_class_of_all_days(spark, tmp_path):
    came, waiting = release_days(tmp_path)
    sizes = [row["count"] for row in spark.read.parquet(str(tmp_path)).groupBy(*QUASI).count().collect()]
    assert min(sizes) >= K
    assert sum(sizes) == came - waiting
