"""Writing samples and their hierarchies to files, in bounded memory and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from shoal.errors import InputError, OutputError
from shoal.support.filenames import file_names
from shoal.support.files import whole_path
from shoal.table.samples.catalog import find_sample, make_blocks, resolve_sample

Progress = Callable[[int, int], object]

ROW_GROUP_ROWS = 250_000  # large enough to compress well, small enough for memory


def write_sample(
    name: str,
    path: str | os.PathLike[str],
    rows: int | None = None,
    seed: int | None = None,
    on_progress: Progress | None = None,
) -> None:
    """Make a sample straight into a file; memory does not grow with the number of rows.

    Parameters
    ----------
    name
        A name in ``SAMPLES``.
    path
        Where to write: ``.csv`` or ``.parquet``. The file appears whole or not at all.
    rows, seed
        As for ``sample``.
    on_progress
        Called as ``on_progress(done_rows, rows)`` while rows are made, from another thread than the caller's.

    Raises
    ------
    InputError
        For an unknown sample, fewer than one row, or another kind of file.
    OutputError
        If the file cannot be written.
    """
    chosen, rows, seed = resolve_sample(name, rows, seed)
    target = Path(path)
    sink = _sink_for(target)

    # polars passes columns, a filter and a limit; a sink of all rows needs none of them.
    def make_frames(*_: object) -> Iterator[pl.DataFrame]:
        done = 0
        for block in make_blocks(chosen, rows, seed):
            yield block
            # Counted after the block was taken, so that progress never runs ahead of the file.
            done += len(block)
            if on_progress is not None:
                on_progress(done, rows)

    with whole_path(target) as temporary:
        _run_sink(sink, register_io_source(make_frames, schema=dict(chosen.schema)), temporary)


def write_hierarchies(name: str, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the hierarchies of a sample into ``folder``, made if need be: one ``<column>.csv`` each.

    The files have the ARX layout: no header, ``;`` between the levels, the original value first.
    """
    every = find_sample(name).hierarchies()
    into = Path(folder)
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder '{into}': {error.strerror}") from error
    paths = {column: into / name for column, name in file_names(every).items()}
    for column, rows in every.items():
        with whole_path(paths[column]) as temporary:
            temporary.write_text(
                "".join(";".join(row) + "\n" for row in rows), encoding="utf-8", newline="\n"
            )
    return list(paths.values())


def _sink_csv(frame: pl.LazyFrame, path: Path) -> None:
    # Costs are amounts, always with two decimals: 12.50, not 12.5.
    frame.sink_csv(path, float_precision=2)


def _sink_parquet(frame: pl.LazyFrame, path: Path) -> None:
    frame.sink_parquet(path, row_group_size=ROW_GROUP_ROWS)


_Sink = Callable[[pl.LazyFrame, Path], None]
_SINKS: dict[str, _Sink] = {".csv": _sink_csv, ".parquet": _sink_parquet}


def _sink_for(path: Path) -> _Sink:
    if path.suffix.lower() not in _SINKS:
        raise InputError(
            f"cannot tell the kind of file from '{path.name}': use a name that ends in .csv or .parquet"
        )
    return _SINKS[path.suffix.lower()]


def _run_sink(sink: _Sink, frame: pl.LazyFrame, path: Path) -> None:
    # On Ctrl-C polars raises a KeyboardInterrupt of its own besides Python's; in one thread the second would
    # break into the clean-up that the first has started.
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(sink, frame, path).result()
