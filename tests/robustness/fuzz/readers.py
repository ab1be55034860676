"""Bytes against the readers: coverage-guided, by Atheris, where that is installed.

``python -m tests.robustness.fuzz.readers TARGET [examples] [options of libFuzzer]``.
A reader may read the bytes or refuse them by an InputError. Anything else ends the run, and Atheris writes
the bytes down.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")


def table(path: Path) -> None:
    """A table in delimited text, or in what its first bytes say."""
    from shoal.table import read_table

    read_table(path)


def recipe(path: Path) -> None:
    """A recipe."""
    from shoal.recipes.recipe import Recipe

    Recipe.from_toml(path).to_toml()


def hierarchy(path: Path) -> None:
    """A hierarchy in the ARX layout."""
    from shoal.table.hierarchies import read_source

    read_source(path, "age")


def saved(path: Path) -> None:
    """Classes for later rows."""
    from shoal.recipes.saved_recoding import SavedRecoding

    SavedRecoding.load(path)


TARGETS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "csv": ("x.csv", table),
    "jsonl": ("x.jsonl", table),
    "recipe": ("x.toml", recipe),
    "arx": ("x.csv", hierarchy),
    "tree": ("x.tree", hierarchy),
    "domains": ("x.txt", hierarchy),
    "toml": ("x.toml", hierarchy),
    "saved": ("x.json", saved),
}


def attack(target: str, folder: Path) -> Callable[[bytes], None]:
    """What takes bytes to a reader; passes over what the reader refuses."""
    from shoal.errors import InputError

    name, read = TARGETS[target]
    path = folder / name

    def one(data: bytes) -> None:
        path.write_bytes(data)
        with suppress(InputError):
            read(path)

    return one


def main() -> None:
    """Attack one reader until a failure or the end of the time."""
    import atheris

    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        raise SystemExit(
            f"python -m tests.robustness.fuzz.readers {'|'.join(TARGETS)} [folder] [-max_total_time=60]"
        )
    target = sys.argv.pop(1)
    import shoal.kernels.scan  # first, since numba cannot compile what Atheris has put its counters into

    with atheris.instrument_imports(include=["shoal"]):
        import shoal.recipes.recipe
        import shoal.recipes.saved_recoding
        import shoal.table  # noqa: F401
    with tempfile.TemporaryDirectory() as folder:
        atheris.Setup(sys.argv, attack(target, Path(folder)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
