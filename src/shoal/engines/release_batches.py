"""The release of a table on disk, batch by batch, as it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.recoding import Recoding
from shoal.engines.disk_counting import DiskWorkspace
from shoal.engines.packing import CodePacking
from shoal.engines.prepare import PreparedTable
from shoal.engines.sorting import sort_rows
from shoal.engines.witness import DiskWitness
from shoal.kernels.kinds import PERSON
from shoal.privacy.counts import sum_by_place
from shoal.recipes.recipe import Recipe
from shoal.recipes.schema import choose_cell_types
from shoal.report.build import warn_of_formulas
from shoal.table import (
    TableStream,
    choose_layout,
    count_formula_cells,
    count_formula_rows,
    neutralize_formulas,
)
from shoal.table.frames import use_safe_name
from shoal.table.rebuild import copy_column
from shoal.verification.outsider import number_cells


@dataclass(frozen=True, slots=True, eq=False)
class ClassCells:
    """The released cells of one column, class by class; of millions of classes most are equal."""

    distinct: pl.Series
    of_class: NDArray[np.int32]

    @classmethod
    def from_series(cls, series: pl.Series) -> ClassCells:
        """Keep every distinct cell once."""
        number, first, of_class = np.unique(number_cells(series)[0], return_index=True, return_inverse=True)
        del number
        # A copy, free of buffers that hold values which are not released.
        return cls(copy_column(series.gather(first)), of_class.astype(np.int32))

    def gather(self, class_of: NDArray[np.integer]) -> pl.Series:
        """The cells of some rows, by their classes."""
        return self.distinct.gather(self.of_class[class_of])


class ReleaseBatches:
    """The release, batch by batch.

    Where people are counted, the file ``people`` tells whose each row of the table is; in the same way the
    file ``order`` comes to tell whose each released row is.
    """

    def __init__(
        self,
        recipe: Recipe,
        stream: TableStream,
        recoding: Recoding,
        packing: CodePacking,
        workspace: DiskWorkspace,
        people: int | None = None,
    ) -> None:
        self.recipe, self.stream, self.recoding, self.packing = recipe, stream, recoding, packing
        self._keys, self._people, self._order = workspace.keys, workspace.people, workspace.order
        self.rows_of = None if people is None else np.zeros(people, np.int64)
        """How many released rows each person has, where people are counted."""
        native = choose_cell_types(recipe, (stream.schema[name] for name in recipe.quasi))
        values = recoding.render_classes(native, recipe.render)
        self.values = {name: ClassCells.from_series(use_safe_name(values.pop(name))) for name in [*values]}
        self.left_out = recipe.left_out(stream.names)
        self.names = [name for name in stream.names if name not in self.left_out]
        self.kept = [name for name in self.names if name not in self.values]
        self._place = packing.make_finder(recoding.table.codes)
        self._formulas: dict[str, int] = {}

    def make_witness(self, connection: Any, subject: PreparedTable) -> DiskWitness:
        """What takes note of the rows as they are written."""
        return DiskWitness(
            connection,
            self.stream,
            subject.encoded,
            self.packing,
            {name: values.of_class for name, values in self.values.items()},
            self.kept,
            self.left_out,
            self.keeps_order,
        )

    @property
    def keeps_order(self) -> bool:
        """Whether rows keep their order: never where a person has several, for those often stand together."""
        return self.recipe.row_order == "keep" and self.rows_of is None

    def iterate_batches(self, witness: DiskWitness, connection: Any) -> Iterator[pl.DataFrame]:
        """Yield the released rows, in the order of the input or of the released values."""
        # Only text is opened by spreadsheets as formulas.
        text = choose_layout(Path(str(self.recipe.output)), self.stream.origin, None).format != "parquet"
        frames = self._recode_batches(witness)
        if not self.keeps_order:
            frames = sort_rows(connection, frames, self.recipe.quasi, [PERSON])
        for frame in frames if self.rows_of is None else self._note_people(frames):
            self._count_formulas(frame, self.kept)
            yield neutralize_formulas(frame) if self.recipe.safe_csv and text else frame

    def _note_people(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield rows without the column of people, which goes to a file of its own."""
        with self._order.open("wb") as file:
            for frame in frames:
                person = frame.get_column(PERSON).to_numpy()
                file.write(np.ascontiguousarray(person).data)
                assert self.rows_of is not None
                self.rows_of += np.bincount(person, minlength=self.rows_of.size)
                yield frame.drop(PERSON)

    def _recode_batches(self, witness: DiskWitness) -> Iterator[pl.DataFrame]:
        """Yield the released rows in the order of the input, of which the witness takes note."""
        kinds = self._prune_categories()
        for batch, class_of, key in self._read_released_rows(witness.columns):
            whose = [] if self.rows_of is None else [batch.get_column(PERSON)]
            witness.add_rows(batch, class_of, key)
            columns = {name: values.gather(class_of) for name, values in self.values.items()}
            for name in self.kept:
                series = batch.get_column(name)
                # Not from one Enum to another, but by their texts, which are all that they have in common.
                columns[name] = series.cast(pl.String).cast(kinds[name]) if name in kinds else series
            yield pl.DataFrame([*(columns[name].alias(name) for name in self.names), *whose])

    def _prune_categories(self) -> dict[str, pl.Enum]:
        """Enums that are released as they are, with no category that occurs in no released row."""
        stated = {name: dtype for name in self.kept if isinstance(dtype := self.stream.schema[name], pl.Enum)}
        present: dict[str, set[str]] = {name: set() for name in stated}
        for batch, _, _ in self._read_released_rows(list(stated)) if stated else ():
            for name, seen in present.items():
                seen.update(set(batch.get_column(name).cast(pl.String).drop_nulls().unique()))
        return {
            name: pl.Enum([each for each in dtype.categories if each in present[name]])
            for name, dtype in stated.items()
        }

    def _read_released_rows(
        self, columns: Sequence[str]
    ) -> Iterator[tuple[pl.DataFrame, NDArray[np.int32], list[NDArray[np.uint64]]]]:
        """Yield some columns of the rows that are released, with their classes and their packed codes.

        Where people are counted, they are one more column.
        """
        words = self.packing.words
        with self._keys.open("rb") as file, self._people.open("rb") as people:
            # Without any column there would be no batches to tell the number of rows.
            for whole in self.stream.iterate_batches(columns or self.recipe.quasi[:1]):
                if self.rows_of is not None:
                    person = np.fromfile(people, np.int64, whole.height)
                    whole = whole.with_columns(pl.Series(PERSON, person))  # noqa: PLW2901
                # Keys were written row by row, so batches of any size find theirs.
                key = list(np.fromfile(file, np.uint64, whole.height * words).reshape(-1, words).T)
                class_of = self.recoding.class_of[self._place(key)]
                rows = class_of >= 0
                if rows.all():
                    yield whole, class_of, key
                else:
                    yield whole.filter(pl.Series(rows)), class_of[rows], [word[rows] for word in key]

    def _count_formulas(self, frame: pl.DataFrame, kept: Sequence[str]) -> None:
        for name, count in count_formula_cells(frame, kept).items():
            self._formulas[name] = self._formulas.get(name, 0) + count

    def warn_of_formulas(self) -> tuple[str, ...]:
        """Warn of cells that a spreadsheet would run."""
        return () if self.recipe.safe_csv else warn_of_formulas(self._total_formulas(), self.names)

    def _total_formulas(self) -> dict[str, int]:
        """How many cells of each column a spreadsheet would run."""
        for name, values in self.values.items():
            times = sum_by_place(values.of_class, self.recoding.size)
            if each := count_formula_rows(values.distinct, times):
                self._formulas[name] = each
        return {name: self._formulas[name] for name in self.names if name in self._formulas}
