"""A recoding that is kept: the classes of a release, into which later rows can be put."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.edges import read_share
from shoal.codespace.recoding import Recoding
from shoal.errors import InputError, RecipeError
from shoal.recipes.later_rows import Applied, LaterRows
from shoal.recipes.ledger import Ledger
from shoal.recipes.recipe import Recipe
from shoal.recipes.settings import Others, RowOrder
from shoal.support.addresses import is_address
from shoal.support.files import as_path, read_json_format, whole_file
from shoal.support.typed_frames import FrameT, PathLike
from shoal.table import Column, read_released
from shoal.table.sources import list_files

_FORMAT = "shoal recoding 1"
_MEGABYTES = 1024  # millions of classes


@dataclass(frozen=True, slots=True, eq=False)
class SavedRecoding:
    """The classes of a release: what stands for their values, and what is written for them.

    It tells no more than the release does, unless values were released as representatives: then it tells
    which ranges these stand for.
    """

    recipe: Recipe
    """The roles, the goal, types and hierarchies; no files."""
    cells: pl.DataFrame
    """[classes] the text that stands for the values of each quasi-identifier."""
    written: pl.DataFrame
    """[classes] what a release has for it."""
    loss: NDArray[np.float64]
    """[classes] how much each class loses: where several cover a row, it goes to the least."""
    unchanged: tuple[str, ...]
    """Columns that the release has as they were."""
    released: tuple[str, ...]
    """All columns that the release has: later rows may have no others."""

    @classmethod
    def of(
        cls, recipe: Recipe, recoding: Recoding, columns: Mapping[str, Column], released: Sequence[str]
    ) -> SavedRecoding:
        """What was released by a recipe, with what was known of its ``columns``."""
        domains = [cells.domain for cells in recoding.cells]
        texts = (pl.String(),) * len(domains)
        # Paths of this machine mean nothing to the reader of the file, so what they hold is kept.
        kept = replace(
            recipe,
            input=None,
            output=None,
            reading=replace(recipe.reading, query=None),
            hierarchies=(),
            trees={name: column.hierarchy for name, column in columns.items() if column.hierarchy},
            types={name: column.type for name, column in columns.items() if column.type},
            # Edges that were found once stay where they are.
            top=_keep_edges(recipe.top, {d.name: d.top for d in domains}),
            bottom=_keep_edges(recipe.bottom, {d.name: d.bottom for d in domains}),
            orders={
                **recipe.orders,
                # Later rows may lack values: their order cannot be inferred again.
                **{d.name: tuple(d.labels.drop_nulls()) for d in domains if d.kind == "ordered"},
            },
        )
        return cls(
            kept,
            pl.DataFrame(
                recoding.render_classes(texts, "interval" if recipe.render == "interval" else "label")
            ),
            pl.DataFrame(recoding.render_classes(texts, recipe.render)),
            np.sum([cells.compute_widths()[cells.of_class] for cells in recoding.cells], axis=0),
            tuple(
                cells.domain.name
                for cells in recoding.cells
                if (cells.count_covered() == 1).all() and not cells.domain.is_coded
            ),
            tuple(released),
        )

    def save(self, path: str | Path) -> None:
        """Write it to a file (JSON), whole or not at all."""
        # Only representatives differ; otherwise the column would be saved twice.
        same = self.written.equals(self.cells)
        content = {
            "format": _FORMAT,
            "recipe": self.recipe.to_dict(),
            "unchanged": self.unchanged,
            "released": self.released,
            # Used for comparison only: nine digits are enough, and the same on every machine.
            "loss": self.loss.round(9).tolist(),
            "cells": self.cells.to_dict(as_series=False),
            **({} if same else {"written": self.written.to_dict(as_series=False)}),
        }
        # Ranges behind representatives are not public, so the file is for its owner alone.
        with whole_file(Path(path), private=True) as stream:
            stream.write(json.dumps(content, ensure_ascii=False).encode())

    @classmethod
    def load(cls, path: str | Path) -> SavedRecoding:
        """Read what `save` wrote."""
        path = as_path(path)
        try:
            command = "shoal anonymize --recoding-out"
            content = read_json_format(path, _MEGABYTES, _FORMAT, "saved recoding", command)
        except OSError as error:
            raise InputError(f"{path}: cannot read the recoding: {error.strerror}") from error
        try:
            return cls._from_content(content, path.parent)
        except (KeyError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{path}: a damaged recoding: {error!r}") from error

    @classmethod
    def _from_content(cls, content: dict[str, Any], folder: Path) -> SavedRecoding:
        recipe = Recipe.from_dict(content["recipe"], folder)
        texts = dict.fromkeys(recipe.quasi, pl.String)
        cells = pl.DataFrame({name: content["cells"][name] for name in recipe.quasi}, schema=texts)
        written = content.get("written", content["cells"])
        return cls(
            recipe,
            cells,
            pl.DataFrame({name: written[name] for name in recipe.quasi}, schema=texts),
            np.array(content["loss"], np.float64),
            tuple(content["unchanged"]),
            # Version 0.1 did not write it: what had a role was released, and what else we cannot know.
            tuple(content.get("released", (*recipe.quasi, *recipe.sensitive, *recipe.plain))),
        )

    def open_ledger(self, ledger: Ledger | str | Path, earlier: object = None) -> Ledger:
        """A ledger, or that of a file; one that does not exist yet begins with the ``earlier`` releases."""
        if not isinstance(ledger, Ledger) and not as_path(ledger).exists():
            found = Ledger.begin((*self.recipe.quasi, *self.recipe.sensitive))
            for name, release in _list_releases(earlier):
                found = found.add(name, read_released(release, self.recipe.reading.for_releases()).frame)
            return found
        if earlier is not None:
            raise RecipeError("the ledger counts what was released so far: leave out the earlier releases")
        return ledger if isinstance(ledger, Ledger) else Ledger.load(ledger)

    @overload
    def apply(
        self,
        source: PathLike,
        *,
        earlier: object = None,
        suppress: float | None = None,
        others: Others | None = None,
        strict: bool | None = None,
        accept: Mapping[str, str] | None = None,
        row_order: RowOrder | None = None,
        hold_back: bool = False,
        ledger: Ledger | str | Path | None = None,
    ) -> Applied[pl.DataFrame]: ...

    @overload
    def apply(
        self,
        source: FrameT,
        *,
        earlier: object = None,
        suppress: float | None = None,
        others: Others | None = None,
        strict: bool | None = None,
        accept: Mapping[str, str] | None = None,
        row_order: RowOrder | None = None,
        hold_back: bool = False,
        ledger: Ledger | str | Path | None = None,
    ) -> Applied[FrameT]: ...

    def apply(
        self,
        source: object,
        *,
        earlier: object = None,
        suppress: float | None = None,
        others: Others | None = None,
        strict: bool | None = None,
        accept: Mapping[str, str] | None = None,
        row_order: RowOrder | None = None,
        hold_back: bool = False,
        ledger: Ledger | str | Path | None = None,
    ) -> Applied[Any]:
        """Recode later rows as those of the release were, and verify them.

        A row goes to the class whose values stand for its own; where several do, to the one that loses least.
        A row for which there is none gets, column by column, the one released value that stands for its own,
        if there is just one. Rows for which that fails, and rows whose classes would not satisfy the goal,
        are suppressed; if these are more than ``suppress`` permits, nothing is released.

        Parameters
        ----------
        source : path or frame
            The later rows, with the columns of the table that was anonymized.
        earlier : path or frame, or a list of them, optional
            The earlier release or releases: the goal has to hold for all together. A folder or a pattern is
            several files. Without it the rows have to satisfy the goal by themselves.
        suppress : float, optional
            Largest share of the rows that may be suppressed; by default what the recipe says.
        others : "keep" or "drop", optional
            What happens to columns that the earlier release does not have; an error where not said.
        strict, accept : bool, and reasons by the id of a finding
            Whether findings of high severity on the rows, together with the earlier release, keep them from
            being released, and which are accepted; by default what the recipe says.
        row_order : "keep" or "released", optional
            Whether rows keep their order or are sorted by what is released; by default what the recipe says.
        hold_back : bool
            Whether rows that cannot be released yet wait for later ones, see `Applied.held_back`. Then any
            number of them is permitted.
        ledger : Ledger or path, optional
            What was released so far, counted, in place of ``earlier``; see `Applied.add_to_ledger`. A file
            that does not exist yet begins with the releases of ``earlier``.
        """
        if hold_back and suppress is not None:
            raise RecipeError("rows that are held back are not suppressed: leave out suppress or hold_back")
        said = self.recipe
        recipe = replace(
            said,
            suppress=1.0 if hold_back else said.suppress if suppress is None else suppress,
            strict=said.strict if strict is None else strict,
            accept={**said.accept, **(accept or {})},
            row_order=said.row_order if row_order is None else row_order,
        )
        if ledger is not None:
            earlier = self.open_ledger(ledger, earlier)
        return LaterRows.read_source(self, recipe, source, earlier, others).recode_and_verify()


def _list_releases(earlier: Any) -> list[tuple[str, Any]]:
    """Earlier releases with their names, one by one."""
    if earlier is None:
        return []
    if isinstance(earlier, list | tuple):
        return [pair for each in earlier for pair in _list_releases(each)]
    if isinstance(earlier, str | os.PathLike) and not is_address(earlier):
        return [(path.name, path) for path in list_files(Path(earlier))]
    return [(str(earlier) if is_address(earlier) else "a frame", earlier)]


def _keep_edges(stated: Mapping[str, str], found: Mapping[str, str | None]) -> dict[str, str]:
    """Edges as they were stated; those that were asked for by a share, as they were found, if they were."""
    edges = {name: found.get(name) if read_share(edge) else edge for name, edge in stated.items()}
    return {name: edge for name, edge in edges.items() if edge is not None}
