"""Tables that are no single file: several files of a folder or a pattern, streams, and open files.

The files of a folder are parts of one table. Folders named ``column=value``, as partitioned Parquet has them,
add that column.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from shoal.errors import InputError, quote
from shoal.support.addresses import check_address, is_address, names_database
from shoal.support.files import private_folder
from shoal.table.databases import load_table
from shoal.table.formats import choose_suffix, detect_format, ensure_unchanged, import_optional
from shoal.table.frames import detect_kind
from shoal.table.iceberg import is_iceberg_folder, refuse_folder
from shoal.table.native import explain_failure, find_stream

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)
_PARTS = ("text", "parquet", "arrow")  # formats of which several files are one table


def list_parts(path: Path) -> list[Path] | None:
    """The files that a folder or a pattern stands for, sorted; None for a single file.

    Files whose name begins with a dot or an underscore, which programs leave beside tables, are no parts.
    """
    if is_address(path):
        return None
    if is_iceberg_folder(path):
        raise refuse_folder(path)
    if path.is_dir():
        found = [file for file in path.rglob("*") if file.is_file()]
    # A file may have brackets in its name.
    elif has_magic(str(path)) and not path.exists():
        # Path.glob takes no pattern that begins at the root.
        found = [Path(name) for name in glob(str(path), recursive=True) if Path(name).is_file()]  # noqa: PTH207
    else:
        return None
    parts = sorted(file for file in found if not file.name.startswith((".", "_")))
    if not parts:
        what = "is a folder without files" if path.is_dir() else "stands for no file"
        raise InputError(f"{path} {what}") from FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return parts


def list_files(path: Path) -> list[Path]:
    """The file at a path, or all files that a folder or a pattern stands for."""
    return list_parts(path) or [path]


def would_be_part(path: Path, file: Path) -> bool:
    """Whether a file, once it is written, would be a part of what a folder or a pattern stands for."""
    if path.is_dir():
        return file.resolve().is_relative_to(path.resolve())
    return has_magic(str(path)) and not path.exists() and file.resolve().match(str(path.absolute()))


def is_delta_table(path: Path) -> bool:
    """Whether a folder is a Delta table, of which not every file is a part."""
    return (path / "_delta_log").is_dir()


def open_delta_table(path: Path) -> Any:
    """The current version of a Delta table, as a data set of pyarrow."""
    library = import_optional("deltalake", "shoal[delta]")
    import_optional("pyarrow.dataset", "shoal[delta]")
    return library.DeltaTable(str(path)).to_pyarrow_dataset()


@contextmanager
def ensure_parts_unchanged(parts: Sequence[Path]) -> Iterator[None]:
    """Raise an InputError if a file is another one at the end."""
    with ExitStack() as stack:
        for part in parts:
            stack.enter_context(ensure_unchanged(part))
        yield


def join_parts(path: Path, parts: Sequence[Path], read_part: Callable[[Path], pl.DataFrame]) -> pl.DataFrame:
    """The rows of all parts below each other, which must have the same columns."""
    check_parts(parts)
    frames = [add_partition(read_part(part), path, part) for part in parts]
    first = frames[0]
    for part, frame in zip(parts, frames, strict=True):
        if frame.columns != first.columns:
            other = set(frame.columns) ^ set(first.columns)
            what = f"{quote(sorted(other))} is in one of them only" if other else "they are in another order"
            raise InputError(f"{part} does not have the columns of {parts[0]}: {what}")
        if odd := [name for name in first.columns if frame.schema[name] != first.schema[name]]:
            raise InputError(
                f"{part}: column '{odd[0]}' has the type {frame.schema[odd[0]]}, and in {parts[0]} it is "
                f"{first.schema[odd[0]]}; write the files with one type"
            )
    return pl.concat(frames)


def check_parts(parts: Sequence[Path]) -> None:
    """Refuse files that are not parts of one table."""
    formats = {detect_format(part)[0] for part in parts}
    if len(formats) > 1:
        raise InputError(f"{parts[0].parent} has files of several formats ({quote(sorted(formats))})")
    if not formats <= set(_PARTS):
        raise InputError(
            f"{parts[0]} is {formats.pop()}, of which several files are not read as one table: that is for "
            "delimited text, Parquet and Arrow files"
        )


def add_partition(frame: FrameT, path: Path, part: Path) -> FrameT:
    """A part with the columns that the folders between the table and the part name."""
    inside = part.relative_to(path) if path.is_dir() else part
    pairs = (folder.name.partition("=") for folder in reversed(inside.parents))
    return frame.with_columns(**{name: pl.lit(value) for name, equals, value in pairs if equals and name})


@contextmanager
def spool_file_object(source: Any) -> Iterator[Path]:
    """Lend a private file with what an object like an open file holds."""
    with explain_failure("the file object"):
        content = source.read()
    folder = private_folder()
    path = folder / "table"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    named = path.rename(folder / f"table{choose_suffix(path)}")
    try:
        yield named
    except InputError as error:
        raise InputError(str(error).replace(str(named), "the file object")) from error
    finally:
        named.unlink()  # the rows are in memory by now


def is_file_object(source: object) -> bool:
    """Whether something can be read as an open file is."""
    return callable(getattr(source, "read", None))


def write_spool(source: object, path: Path, query: str | None = None) -> bool:
    """Write a lazy frame, an Arrow stream or a folder of Parquet to one Parquet file, a batch at a time.

    Returns
    -------
    bool
        Whether it was one of these.
    """
    if names_database(source):
        check_address(str(source))
        load_table(str(source), query, path)
        return True
    if isinstance(source, str | os.PathLike) and is_delta_table(Path(source)):
        with explain_failure(f"the Delta table {source}"):
            source = open_delta_table(Path(source))
    if isinstance(source, str | os.PathLike):
        parts = list_parts(Path(source))
        if parts is None:
            return False
        check_parts(parts)
        if detect_format(parts[0])[0] != "parquet":
            raise InputError(f"{source}: with a memory limit several files have to be Parquet files")
        source = pl.concat(
            [add_partition(pl.scan_parquet(part, glob=False), Path(source), part) for part in parts]
        )
    if isinstance(source, pl.LazyFrame):
        with explain_failure("the lazy frame"):
            source.sink_parquet(path)
        return True
    # A frame is in memory already.
    stream = find_stream(source) if detect_kind(source) is None else None
    if stream is None:
        return False
    with explain_failure("the Arrow stream"):
        _write_stream(stream, path)
    return True


def _write_stream(source: object, path: Path) -> None:
    pyarrow = import_optional("pyarrow", "shoal[scale]")
    parquet = import_optional("pyarrow.parquet", "shoal[scale]")
    reader = pyarrow.RecordBatchReader.from_stream(source)
    with parquet.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
