"""A Spark session: made for a run on a file, or the one of a frame that somebody gave."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from shoal.errors import InputError
from shoal.table.formats import import_optional

_OLDEST = 4  # the first version whose frames turn into Arrow and back
_SETTINGS = {
    "spark.app.name": "shoal",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
}
_running: list[Any] = []


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Leave out Spark's warnings about versions of pandas, which has no part in this."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def load_functions() -> Any:
    """The functions on Spark's columns, which only a machine with Spark has."""
    from pyspark.sql import functions  # noqa: PLC0415

    return functions


def import_pyspark() -> Any:
    """The package, if it is there, new enough and has a Java to run on."""
    with silence_warnings():
        package = import_optional("pyspark", "shoal[spark]")
        import_optional("pyspark.sql", "shoal[spark]")
    check_version(str(package.__version__))
    return package


def check_version(version: str) -> None:
    """Refuse a Spark that is too old."""
    if int(version.split(".", maxsplit=1)[0]) < _OLDEST:
        raise InputError(f"this is Spark {version}, but it takes Spark 4 or newer: pip install shoal[spark]")


def check_java() -> None:
    """Refuse to start Spark without a Java."""
    home = os.environ.get("JAVA_HOME")
    found = os.path.exists(os.path.join(home, "bin", "java")) if home else shutil.which("java")  # noqa: PTH110, PTH118
    if not found:
        where = f"JAVA_HOME is {home}, which has none" if home else "there is none on the PATH"
        raise InputError(f"Spark runs on Java 17 or newer, and {where}: install one, or set JAVA_HOME")


@contextmanager
def open_session(master: str | None, more: dict[str, str] | None = None) -> Iterator[Any]:
    """Lend a session on a cluster, or on this machine where no master is named; it is stopped at the end."""
    package = import_pyspark()
    # A process has one context of Spark, so a session that is there is used.
    if (active := package.sql.SparkSession.getActiveSession()) is not None:
        yield active  # somebody else's, who goes on with it
        return
    check_java()
    # Workers have to find what this process has found.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = package.sql.SparkSession.builder.master(master or "local[*]")
    for name, value in {**_SETTINGS, **(more or {})}.items():
        builder = builder.config(name, value)
    try:
        with silence_warnings():
            spark = builder.getOrCreate()
    except Exception as error:
        raise InputError(f"Spark does not start on {master or 'local[*]'}: {_first_line(error)}") from error
    _running.append(spark)
    try:
        yield spark
    finally:
        _running.remove(spark)
        spark.stop()


def find_session(frame: Any) -> Any:
    """The session that a Spark frame belongs to."""
    import_pyspark()
    spark = frame.sparkSession
    # Spark Connect has no access to the JVM, which the output to Hadoop needs.
    if not hasattr(frame, "_jdf"):
        raise InputError("frames of Spark Connect are not taken: run this where the driver is")
    check_version(str(spark.version))
    return spark


def cancel_jobs() -> None:
    """End all that runs on a cluster for this process, when it is about to be left."""
    # A copy: the thread of the session may remove it meanwhile.
    for spark in tuple(_running):
        with suppress(Exception):
            spark.sparkContext.cancelAllJobs()


@contextmanager
def explain_errors(spark: Any) -> Iterator[None]:
    """Say in our words what stopped Spark, and end what is still running there."""
    errors = import_optional("pyspark.errors", "shoal[spark]")
    protocol = import_optional("py4j.protocol", "shoal[spark]")
    try:
        with silence_warnings():
            yield
    except KeyboardInterrupt:
        with suppress(Exception):
            spark.sparkContext.cancelAllJobs()
        raise
    except (errors.PySparkException, protocol.Py4JError) as error:
        raise InputError(f"Spark gave up: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1] if lines[0].endswith(":") else lines[0]  # of a trace what is at its end
