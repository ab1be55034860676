"""What kind of frame somebody gave, told without importing its package."""

from __future__ import annotations


def is_spark_frame(source: object) -> bool:
    """Whether something is a frame of Spark, of whatever kind."""
    kind = type(source)
    return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"
