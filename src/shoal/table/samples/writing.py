"""Writing samples and their hierarchies to files, in bounded memory and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import polars as pl

from shoal.errors import InputError, OutputError
from shoal.support.filenames import file_names
from shoal.support.files import scratch_folder, whole_path
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
        Called as ``on_progress(done_rows, rows)`` while rows are made.

    Raises
    ------
    InputError
        For an unknown sample, fewer than one row, or another kind of file.
    OutputError
        If the file cannot be written.
    """
    chosen, rows, seed = resolve_sample(name, rows, seed)
    target = Path(path)
    write_blocks = _writer_for(target)
    with whole_path(target) as temporary, ThreadPoolExecutor(max_workers=1) as pool:
        write_blocks(_follow(make_blocks(chosen, rows, seed), rows, on_progress), temporary, pool)


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


def _follow(
    blocks: Iterator[pl.DataFrame], rows: int, on_progress: Progress | None
) -> Iterator[pl.DataFrame]:
    """Hand blocks on, and report each as done when the next one is asked for: then it is written."""
    done = 0
    for block in blocks:
        yield block
        done += len(block)
        if on_progress is not None:
            on_progress(done, rows)


# polars writes in a thread of its own. On Ctrl-C it raises a KeyboardInterrupt besides Python's, and in one
# thread the second would break into the clean-up that the first has started. No thread of polars calls
# Python: Python aborts a process that ends while one does.
def _write_csv(blocks: Iterator[pl.DataFrame], path: Path, pool: ThreadPoolExecutor) -> None:
    with path.open("wb") as stream:
        for number, block in enumerate(blocks):
            # Costs are amounts, always with two decimals: 12.50, not 12.5.
            write = partial(block.write_csv, stream, include_header=number == 0, float_precision=2)
            pool.submit(write).result()


def _write_parquet(blocks: Iterator[pl.DataFrame], path: Path, pool: ThreadPoolExecutor) -> None:
    # polars cannot append to a Parquet file, but streams many files into one.
    with scratch_folder(path) as folder:
        parts = []
        for number, block in enumerate(blocks):
            parts.append(folder / f"{number}.arrow")
            pool.submit(block.write_ipc, parts[-1], compression="lz4").result()
        merge = partial(pl.scan_ipc(parts).sink_parquet, path, row_group_size=ROW_GROUP_ROWS)
        pool.submit(merge).result()


_Writer = Callable[[Iterator[pl.DataFrame], Path, ThreadPoolExecutor], None]
_WRITERS: dict[str, _Writer] = {".csv": _write_csv, ".parquet": _write_parquet}


def _writer_for(path: Path) -> _Writer:
    if path.suffix.lower() not in _WRITERS:
        raise InputError(
            f"cannot tell the kind of file from '{path.name}': use a name that ends in .csv or .parquet"
        )
    return _WRITERS[path.suffix.lower()]
