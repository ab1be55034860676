"""Rows to release, for every engine: their source, order and file, and what they give away together.

The engine in memory makes them of a table, and a saved recoding of later rows. Both do this alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.encoding import EncodedColumn
from shoal.errors import InternalError
from shoal.recipes.recipe import Recipe
from shoal.recipes.schema import find_released_quasi, name_bounds
from shoal.table import Column, Origin, Table, read_table
from shoal.table.frames import order_released
from shoal.verification.findings import JudgedRelease, OriginalColumn
from shoal.verification.outsider import read_release

Rows = NDArray[np.int64]
T = TypeVar("T")


def read_rows(recipe: Recipe, source: object) -> Table:
    """A table, which may have been read before; columns that are left out need not have a type we know."""
    if isinstance(source, Table):
        return source
    return read_table(source, recipe.reading, left_out=recipe.left_out, uncounted=recipe.list_uncounted)


def sort_released_rows(
    keeps_order: bool,
    table: Table,
    classes: Mapping[str, pl.Series],
    class_of: NDArray[np.integer],
    rows: Rows,
    left_out: Sequence[str],
) -> tuple[dict[str, pl.Series], Rows]:
    """The released quasi-identifiers and the rows of the table that they are of, in the order to release.

    Parameters
    ----------
    classes : mapping by column
        The released quasi-identifiers, class by class.
    class_of, rows : int[released rows]
        The class of each released row, and its place in the table.
    """
    if not keeps_order:
        # Sorted by what is released, so that the order tells nothing the cells do not.
        order = order_released(table, classes, class_of, rows, left_out)
        class_of, rows = class_of[order], rows[order]
    return {name: series.gather(class_of) for name, series in classes.items()}, rows


def read_written_rows(
    recipe: Recipe, path: Path, layout: Origin, names: Sequence[str], rows: int, *, as_spelt: bool = True
) -> Table:
    """What an outsider reads in a file that was written of so many ``rows``: the columns that count."""
    # Pseudonyms count as well, where there are some.
    person = (str(recipe.person),) if recipe.pseudonym else ()
    others = (*recipe.sensitive, *recipe.sets, *recipe.keyed, *person)
    quasi = find_released_quasi(recipe, names)
    cells = read_release(path, layout, names, quasi, others, as_spelt=as_spelt)
    if cells.height != rows:
        raise InternalError(f"{rows} rows are released, but {cells.height} were written")
    # Without the path, so that nothing reads the file a second time in another way.
    return Table(cells, replace(layout, path=None), recipe.reading.na)


def describe_release(
    recipe: Recipe, frame: pl.DataFrame, columns: Mapping[str, Column], **known: Any
) -> JudgedRelease:
    """A release as a whole, for the findings; ``known`` is what its maker alone knows of the table."""
    quasi = find_released_quasi(recipe, frame.columns)
    for name in ("original", "lost"):
        if name in known:
            known[name] = _spread_bounds(quasi, known[name])
    return JudgedRelease(
        frame,
        quasi,
        recipe.sensitive,
        recipe.models,
        _spread_bounds(quasi, columns),
        **{
            "identifiers": recipe.identifier,
            "keeps_order": recipe.row_order == "keep",
            "names_person": recipe.person is not None,
            **known,
        },
    )


def _spread_bounds(quasi: Sequence[str], known: Mapping[str, T]) -> dict[str, T]:
    """What is known by column, of those as well that were released as low and high."""
    pairs = {each: name for name in known for each in name_bounds(name)}
    return {**known, **{name: known[pairs[name]] for name in quasi if name not in known and name in pairs}}


def list_original_columns(
    encoded: Iterable[EncodedColumn], rows: Any = slice(None)
) -> dict[str, OriginalColumn]:
    """Quasi-identifiers as they were, of all coded rows or some."""
    return {each.domain.name: OriginalColumn(each.codes[rows], each.domain.axis) for each in encoded}
