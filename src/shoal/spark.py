"""Anonymize Spark frames: the public names of the engine for tables too large for one machine."""

from __future__ import annotations

from typing import Any, cast

from shoal.engines import api
from shoal.engines.frames import is_spark_frame
from shoal.engines.spark.engine import SparkRelease
from shoal.errors import InputError

__all__ = ["SparkRelease", "anonymize"]


def anonymize(spark_frame: Any, **settings: Any) -> SparkRelease:
    """Anonymize a Spark frame where its rows are.

    The classes are those that one machine would have made of the same rows.

    Parameters
    ----------
    spark_frame : pyspark.sql.DataFrame
        A frame of a classic session. It is read several times: cache it if it is costly.
    **settings
        Those of `shoal.anonymize`: ``quasi``, ``sensitive``, ``k``, ``algorithm``, ``hierarchies`` and so on.
        Of these, ``driver_rows`` is for Spark: with more distinct rows than that, the driver keeps the top
        of the tree only, and executors finish parts of at most so many. ``output`` is a folder.

    Returns
    -------
    SparkRelease
        With ``frame`` (a Spark frame), ``report``, ``recipe``, ``write(path)`` and ``unpersist()``.
    """
    if not is_spark_frame(spark_frame):
        raise InputError(f"this takes a frame of Spark, not {type(spark_frame).__name__}")
    return cast("SparkRelease", api.anonymize(spark_frame, **settings))
