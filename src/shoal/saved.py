"""A recoding that is kept: the classes of a release, into which later rows can be put."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import GoalNotMet, InputError, RecipeError, quote, unknown
from shoal.files import as_utf8, read_small, whole_file
from shoal.privacy import population_of
from shoal.privacy.labels import covers
from shoal.recipe import Recipe
from shoal.recoding import Recoding
from shoal.table import Column, Origin, Table, as_text, read
from shoal.verify import Verification, verify_table, violating_rows, who_fits

_FORMAT = "shoal recoding 1"
_MEGABYTES = 1024  # millions of classes
_EXAMPLES = 5  # values that are named where many are new


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """Later rows, put into the classes of an earlier release, and verified."""

    frame: Any
    """The rows that are released, as the same kind of frame as came in."""
    rows: int
    suppressed_rows: int
    """Rows that no class covers, or that would have broken the goal."""
    uncovered: Mapping[str, tuple[str, ...]]
    """Values by column, some of them, that no released value stands for."""
    broken: int
    """How many rows were suppressed because their classes would not have satisfied the goal."""
    verification: Verification
    """What the verifier found, of the rows together with the earlier release if that was given."""

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, as plain values."""
        return {
            "rows": self.rows,
            "released_rows": self.rows - self.suppressed_rows,
            "suppressed_rows": self.suppressed_rows,
            "broken_rows": self.broken,
            "uncovered": {name: list(values) for name, values in self.uncovered.items()},
            **self.verification.to_dict(),
        }


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

    @classmethod
    def of(cls, recipe: Recipe, recoding: Recoding, columns: Mapping[str, Column]) -> SavedRecoding:
        """What was released by a recipe, with what was known of its ``columns``."""
        domains = [cells.domain for cells in recoding.cells]
        texts = (pl.String(),) * len(domains)
        kept = replace(
            recipe,
            input=None,
            output=None,
            hierarchies=(),
            trees={name: column.hierarchy for name, column in columns.items() if column.hierarchy},
            types={name: column.type for name, column in columns.items() if column.type},
            orders={
                **recipe.orders,
                **{d.name: tuple(d.labels.drop_nulls()) for d in domains if d.kind == "ordered"},
            },
        )
        return cls(
            kept,
            pl.DataFrame(recoding.values(texts, "interval" if recipe.render == "interval" else "label")),
            pl.DataFrame(recoding.values(texts, recipe.render)),
            np.sum([cells.width()[cells.of_class] for cells in recoding.cells], axis=0),
            tuple(cells.domain.name for cells in recoding.cells if (cells.covered() == 1).all()),
        )

    def save(self, path: str | Path) -> None:
        """Write it to a file (JSON), whole or not at all."""
        same = self.written.equals(self.cells)
        content = {
            "format": _FORMAT,
            "recipe": self.recipe.to_dict(),
            "unchanged": self.unchanged,
            "loss": self.loss.round(9).tolist(),
            "cells": self.cells.to_dict(as_series=False),
            **({} if same else {"written": self.written.to_dict(as_series=False)}),
        }
        with whole_file(Path(path)) as stream:
            stream.write(json.dumps(content, ensure_ascii=False).encode())

    @classmethod
    def load(cls, path: str | Path) -> SavedRecoding:
        """Read what `save` wrote."""
        path = Path(path)
        try:
            content = json.loads(as_utf8(path, read_small(path, _MEGABYTES)))
        except OSError as error:
            raise InputError(f"{path}: cannot read the recoding: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: not a saved recoding: {error}") from error
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise InputError(f"{path}: not a saved recoding; 'shoal anonymize --recoding-out' writes one")
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
        )

    def apply(self, source: object, *, earlier: object = None, suppress: float | None = None) -> Applied:
        """Recode later rows as those of the release were, and verify them.

        A row goes to the class whose values stand for its own; where several do, to the one that loses least.
        A row for which there is none gets, column by column, the one released value that stands for its own,
        if there is just one. Rows for which that fails, and rows whose classes would not satisfy the goal,
        are suppressed; if these are more than ``suppress`` permits, nothing is released.

        Parameters
        ----------
        source : path or frame
            The later rows, with the columns of the table that was anonymized.
        earlier : path or frame, optional
            The earlier release: the goal has to hold for both together. Without it the rows have to satisfy
            the goal by themselves.
        suppress : float, optional
            Largest share of the rows that may be suppressed; by default what the recipe says.
        """
        recipe = self.recipe if suppress is None else replace(self.recipe, suppress=suppress)
        if population_of(recipe.models) is not None:
            raise RecipeError("a goal that compares with a population cannot be checked on later rows")
        table = source if isinstance(source, Table) else read(source, recipe.reading)
        for name in (*recipe.quasi, *recipe.sensitive):
            if name not in table.names:
                raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
        known = recipe.columns(recipe.trees)
        texts, covered = self._texts(table)
        texts |= {name: table.frame[name] for name in self.unchanged}
        before = None if earlier is None else read(earlier, recipe.reading)
        kept, uncovered = np.flatnonzero(covered), self._uncovered(table, covered)
        missed = table.rows - kept.size
        while True:
            gone = table.rows - kept.size
            if gone > recipe.suppress * table.rows or kept.size == 0:
                raise GoalNotMet(_shortfall(table.rows, missed, gone, uncovered, recipe.suppress))
            columns = {name: series.gather(kept) for name, series in texts.items()}
            frame = table.release(columns, kept, recipe.identifier)
            both = self._together(before, read(frame, recipe.reading))
            roles = (recipe.quasi, recipe.sensitive, recipe.models, known)
            found = verify_table(both, *roles)
            if found.holds:
                return Applied(frame, table.rows, gone, uncovered, gone - missed, found)
            good = ~violating_rows(both, *roles)[-kept.size :]
            if good.all():
                raise GoalNotMet("the earlier release does not satisfy the goal, whatever rows are added")
            kept = kept[good]

    def _together(self, earlier: Table | None, later: Table) -> Table:
        """What an outsider sees of the columns that count."""
        names = (*self.recipe.quasi, *self.recipe.sensitive)
        parts = [
            pl.DataFrame([as_text(part.column(name)) for name in names])
            for part in (earlier, later)
            if part is not None
        ]
        return Table(pl.concat(parts), Origin("polars"))

    def _texts(self, table: Table) -> tuple[dict[str, pl.Series], NDArray[np.bool_]]:
        """What is written for every row, and which rows there is something for."""
        quasi = self.recipe.quasi
        people = Table(pl.DataFrame([table.column(name) for name in quasi]), Origin("polars"))
        classes = Table(self.cells, Origin("polars"))
        fits = who_fits(
            classes, quasi, people, self.recipe.columns(self.recipe.trees), every_value_occurs=False
        )
        order = np.lexsort((fits.class_of, self.loss[fits.class_of], fits.person))
        best = np.full(fits.people, -1, np.int64)
        best[fits.person[order][::-1]] = fits.class_of[order][::-1]
        class_of = best[fits.person_of]
        texts = {name: self.written[name].gather(np.maximum(class_of, 0)) for name in quasi}
        covered = class_of >= 0
        if covered.all() or not self.written.equals(self.cells):
            return texts, covered
        alone = [fits.alone(j)[fits.person_of] for j in range(len(quasi))]
        composed = ~covered & np.logical_and.reduce([label >= 0 for label in alone])
        for j, name in enumerate(quasi):
            other = fits.labels[j].gather(np.maximum(alone[j], 0))
            texts[name] = pl.select(
                pl.when(pl.Series(composed)).then(other).otherwise(texts[name])
            ).to_series()
        return texts, covered | composed

    def _uncovered(self, table: Table, covered: NDArray[np.bool_]) -> dict[str, tuple[str, ...]]:
        """Values, by column, that no released value stands for."""
        rows, known = np.flatnonzero(~covered), self.recipe.columns(self.recipe.trees)
        found = {}
        for name in self.recipe.quasi if rows.size else ():
            values = table.column(name).gather(rows).unique(maintain_order=True)
            standing = covers(self.cells[name].unique(), values, known[name], every_value_occurs=False)
            if not (stood_for := standing.any(axis=0)).all():
                new = as_text(values).filter(pl.Series(~stood_for)).fill_null("")
                found[name] = tuple(new.head(_EXAMPLES))
        return found


def _shortfall(rows: int, uncovered: int, gone: int, values: Mapping[str, Sequence[str]], most: float) -> str:
    reasons = []
    if uncovered:
        new = "; ".join(f"'{name}': {quote(some)}" for name, some in values.items())
        reasons.append(f"no class stands for {uncovered}" + (f" (new in column {new})" if new else ""))
    if gone > uncovered:
        reasons.append(f"{gone - uncovered} are in classes that would not satisfy the goal")
    return (
        f"of {rows} rows {', and '.join(reasons)}; a share of {most:g} may be suppressed, so nothing is "
        "released: permit more, give the earlier release, which the rows may join, or anonymize all rows anew"
    )
