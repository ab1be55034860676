"""People in every engine: the number of each row's person, and what is told about them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.prepare import DistinctValues
from shoal.errors import InputError
from shoal.privacy.people import number_ids
from shoal.recipes.recipe import Recipe
from shoal.support.warning_codes import CodedWarning
from shoal.table.frames import use_safe_name

_NOBODY = -1


@dataclass(slots=True, eq=False)
class PersonCoder:
    """Numbers the people of rows that come batch by batch, as `shoal.privacy.people.number_people` does."""

    raw: pl.Series
    """The different ids as the table has them, without null."""
    number: pl.Series
    """The person of each of them."""
    people: int
    """How many people there are; of these, the last have no id, and one row each."""
    missing: int
    """How many rows have no id."""
    rows: int
    _met: int = field(default=0, init=False)

    @classmethod
    def from_values(cls, values: DistinctValues) -> PersonCoder:
        """Number the different ids of a table."""
        number = number_ids(values.series)
        missing = int(values.count[number.is_null().to_numpy()].sum())
        present = values.raw.is_not_null()
        known = int(number.max() or 0) + 1 if number.count() else 0  # type: ignore[arg-type]
        return cls(
            use_safe_name(values.raw).filter(present),
            number.fill_null(_NOBODY).filter(present),
            known + missing,
            missing,
            int(values.count.sum()),
        )

    @property
    def is_needed(self) -> bool:
        """Whether anybody has several rows; if not, counting people is counting rows."""
        return self.people < self.rows

    def __call__(self, column: pl.Series) -> NDArray[np.int64]:
        """The person of each of the next rows; a row without an id is a person of its own."""
        column = use_safe_name(column)
        found = column.replace_strict(self.raw, self.number, default=None, return_dtype=pl.Int64)
        found = found.set(column.is_null(), _NOBODY)
        if found.has_nulls():
            raise InputError("the table changed while it was read: keep others from writing to it")
        person = found.to_numpy(writable=True)
        nobody = np.flatnonzero(person == _NOBODY)
        person[nobody] = self.people - self.missing + self._met + np.arange(nobody.size)
        self._met += nobody.size
        return person


def describe_missing_ids(recipe: Recipe, missing: int) -> tuple[str, ...]:
    """What is told where rows have no id."""
    if not missing:
        return ()
    text = f"'{recipe.person}' is missing in {missing:,} rows: each of them counts as a person of its own"
    return (CodedWarning("W12", text),)


def describe_people_left_out(gone: int) -> tuple[str, ...]:
    """What is told where people lost all their rows."""
    return (f"all rows of {'one person' if gone == 1 else f'{gone:,} people'} were left out",) if gone else ()


def describe_largest(recipe: Recipe, rows: int, most: int) -> tuple[str, ...]:
    """What is told where one person has half of all rows: that may be an id that stands for many."""
    if 2 * most < rows:
        return ()
    return (
        f"by '{recipe.person}' one person has {most:,} of the {rows:,} rows: if that id stands for nobody, "
        "as 'unknown' does, name it with --na",
    )


def describe_people(recipe: Recipe, rows: int, people: int, most: int) -> tuple[str, ...]:
    """What was done because people have several rows, of whom one has the ``most``."""
    return (
        *describe_largest(recipe, rows, most),
        f"people were counted, not rows: the {rows:,} released rows are of {people:,} people by "
        f"'{recipe.person}', of whom one has {most:,}",
        f"'{recipe.person}' was left out, and the rows are sorted by what is released, so that their order "
        "does not tell which of them are of one person",
    )
