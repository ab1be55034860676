"""Standard input and standard output in place of files, for pipes: both are called ``-``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cli.process import shown_names
from shoal.errors import InputError, RecipeError, unknown
from shoal.support.addresses import is_address
from shoal.support.files import private_folder

if TYPE_CHECKING:
    from shoal.recipes.recipe import Recipe

DASH = Path("-")
SUFFIXES = {"csv": ".csv", "tsv": ".tsv", "jsonl": ".jsonl", "parquet": ".parquet", "arrow": ".arrows"}
"""What can be written to standard output, by name; Arrow data is a stream there."""

_CHUNK = 1 << 20


def from_standard_input(path: Path | None) -> Path | None:
    """The path itself; of ``-`` a private file with what standard input holds, until the process ends."""
    if path != DASH:
        return path
    if any(Path(spooled).exists() for spooled in shown_names):
        raise InputError("standard input can be read once: give one file only as -")
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("standard input is a terminal: send a table through a pipe, or name a file")
    folder = private_folder()
    raw = folder / "standard-input"
    shown_names[str(raw)] = "standard input"
    with sys.stdin.buffer as stream, raw.open("xb") as file:
        shutil.copyfileobj(stream, file, _CHUNK)
    from shoal.table.formats import choose_suffix  # noqa: PLC0415  the help needs no table

    target = folder / f"table{choose_suffix(raw)}"
    raw.rename(target)
    shown_names[str(target)] = "standard input"
    return target


def is_standard_input(path: Path | None) -> bool:
    """Whether a path stands for what came through standard input."""
    return str(path) in shown_names


def named_files_only(recipe: Recipe, source: Path, output: Path | None) -> Recipe:
    """A recipe that names no file which is gone when the process ends."""
    return replace(
        recipe,
        input=None if is_standard_input(source) else recipe.input,
        output=None if output == DASH else str(output) if is_address(output) else recipe.output,
    )


def check_standard_output(output: Path | None, as_json: bool, every: bool = False) -> None:
    """Refuse to put two things on standard output, or ``every`` table of least loss."""
    if output == DASH and every:
        raise RecipeError("--all-solutions writes several files: give an output with a name, not -o -")
    if output == DASH and as_json:
        raise RecipeError("-o - and --json would both go to standard output: leave one of them out")


@contextmanager
def to_standard_output(output: Path | None, source: Path, format: str | None) -> Iterator[Path | None]:
    """Lend a path to write to; of ``-`` a private file that goes to standard output at the end.

    Nothing is sent before the whole release was written and judged. It has the ``format``, or that of the
    ``source``.
    """
    named = None if format is None else _find_suffix(format)
    if is_address(output) and format is None:
        from shoal.table.addresses import deliver_to  # noqa: PLC0415  the help needs no table

        with deliver_to(str(output)) as path:
            shown_names[str(path)] = str(output)
            yield path
        return
    if output != DASH:
        if format is not None:
            raise RecipeError("--out-format is for -o -: elsewhere the name of the file says the format")
        yield output
        return
    target = private_folder() / f"standard-output{named or _choose_suffix(source)}"
    yield target
    with target.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer, _CHUNK)
    # Here, where a closed pipe still has its exit code.
    sys.stdout.buffer.flush()


def _find_suffix(format: str) -> str:
    """The suffix of a format that can be written to standard output."""
    if format in SUFFIXES:
        return SUFFIXES[format]
    from shoal.table.formats import FORMATS  # noqa: PLC0415 loads polars, which help does without

    if format not in FORMATS:
        raise RecipeError(unknown("format", format, (*SUFFIXES, *FORMATS)))
    return f".{format}"


def _choose_suffix(source: Path) -> str:
    """The suffix for a release of ``source``: the same format, uncompressed, and Arrow data as a stream."""
    from shoal.table.formats import detect_format  # noqa: PLC0415  the help needs no table

    format, _ = detect_format(source)
    return {"text": ".csv", "excel": ".csv", "arrow": ".arrows"}.get(format, f".{format}")
