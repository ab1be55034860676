"""Where a release goes: a folder of Parquet files that appears whole, or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.errors import OutputError
from shoal.support.files import check_target, scratch_folder


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


def make_uri(path: str | Path) -> str:
    """A path as all of Spark understands it, whose own folder and file system may be others than ours."""
    return path if isinstance(path, str) and "://" in path else f"file://{Path(path).resolve()}"


@contextmanager
def commit_folder(spark: Any, path: str) -> Iterator[str]:
    """Lend a place beside ``path``; what is written there takes its place at the end, or is removed."""
    check_output(path)
    if "://" in path:
        with _commit_remote_folder(spark, path) as temporary:
            yield temporary
    else:
        with _commit_local_folder(Path(path)) as temporary:
            yield make_uri(temporary)


@contextmanager
def _commit_local_folder(target: Path) -> Iterator[Path]:
    """The same on this machine, within a folder that nobody else can enter before all is judged."""
    with scratch_folder(target) as folder:
        yield folder / "release"
        try:
            (folder / "release").replace(target.resolve())
        except OSError as error:
            raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error


@contextmanager
def _commit_remote_folder(spark: Any, path: str) -> Iterator[str]:
    """The same in a file system of Hadoop."""
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs.Path
    target = hadoop(path)
    files = target.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    if files.exists(target):
        raise OutputError(f"{path} exists: Spark writes a folder of Parquet files, so name one that does not")
    # Hidden by the dot: readers of Hadoop pass over such names while it is written.
    temporary = hadoop(target.getParent(), f".{target.getName()}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary.toString()
        if not files.rename(temporary, target):
            raise OutputError(f"{path} cannot be written: what was made could not be moved there")
    finally:
        # After a rename there is nothing left, and this does nothing.
        files.delete(temporary, True)
