"""Where a release goes: a folder of Parquet files that appears whole, or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.errors import OutputError
from shoal.files import check_target, whole_path


def check_output(path: str) -> None:
    """Refuse what cannot be written, before long work begins."""
    if "://" in path:
        return
    target = Path(path)
    if target.exists():
        raise OutputError(f"{path} exists: Spark writes a folder of Parquet files, so name one that does not")
    if target.suffix.lower() not in ("", ".parquet"):
        raise OutputError(
            f"{path}: Spark writes a folder of Parquet files; name it with .parquet or no suffix"
        )
    check_target(target)


def address(path: str | Path) -> str:
    """A path as all of Spark understands it, whose own folder and file system may be others than ours."""
    return path if isinstance(path, str) and "://" in path else f"file://{Path(path).resolve()}"


@contextmanager
def committed(spark: Any, path: str) -> Iterator[str]:
    """Lend a place beside ``path``; what is written there takes its place at the end, or is removed."""
    check_output(path)
    if "://" in path:
        with _remote(spark, path) as temporary:
            yield temporary
    else:
        with whole_path(path) as local:
            yield address(local)


@contextmanager
def _remote(spark: Any, path: str) -> Iterator[str]:
    """The same in a file system of Hadoop."""
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs.Path
    target = hadoop(path)
    files = target.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    if files.exists(target):
        raise OutputError(f"{path} exists: Spark writes a folder of Parquet files, so name one that does not")
    temporary = hadoop(target.getParent(), f".{target.getName()}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary.toString()
        if not files.rename(temporary, target):
            raise OutputError(f"{path} cannot be written: what was made could not be moved there")
    finally:
        files.delete(temporary, True)
