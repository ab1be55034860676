"""What a privacy model looks at: the sizes of the classes and the sensitive values in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.fitting import PopulationFit

if TYPE_CHECKING:
    from shoal.privacy.equal_cells import EqualCells


@dataclass(frozen=True, slots=True, eq=False)
class ValueScale:
    """How the values of a sensitive column lie to each other, where that is known."""

    ordered: bool = False
    """Whether values are numbered in their order."""
    levels: NDArray[np.integer] | None = None
    """[height, values] number of the hierarchy's node above each value, from level 0 to below the root."""
    amounts: NDArray[np.float64] | None = None
    """[values] the number that each value is, in a column of numbers; NaN where it is none."""


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveCounts:
    """Values of one sensitive column, sparse: ``count`` rows of the class ``class_of`` have ``value``.

    Or so many people have it; see `Counts.size`. No class has two entries for one value.
    """

    class_of: NDArray[np.integer]
    value: NDArray[np.integer]
    count: NDArray[np.integer]
    scale: ValueScale = field(default_factory=ValueScale)
    reference: NDArray[np.int64] | None = None
    """How often each value occurs in the whole table, with which some models compare classes; None where
    these classes are the whole table, and rows are counted."""

    @classmethod
    def of_rows(
        cls,
        class_of: NDArray[np.integer],
        value: NDArray[np.integer],
        scale: ValueScale | None = None,
        times: NDArray[np.int64] | None = None,
    ) -> SensitiveCounts:
        """Count the values of rows, given the class and the value of each, and how often it is there."""
        # One number for class and value, so that a single sort counts the pairs.
        width = int(value.max(initial=0)) + 1
        pair = class_of.astype(np.int64) * width + value
        if times is None:
            key, count = np.unique(pair, return_counts=True)
        else:
            key, number = np.unique(pair, return_inverse=True)
            count = sum_by_place(number, times)
        return cls(key // width, key % width, count, scale or ValueScale())

    @classmethod
    def of_whole(
        cls,
        value: NDArray[np.integer],
        scale: ValueScale | None = None,
        times: NDArray[np.int64] | None = None,
    ) -> SensitiveCounts:
        """Count the values of rows that are one class."""
        count = np.bincount(value) if times is None else sum_by_place(value, times)
        present = np.flatnonzero(count)
        return cls(np.zeros_like(present), present, count[present], scale or ValueScale())

    def count_distinct(self, classes: int) -> NDArray[np.int64]:
        """Number of distinct values in each class."""
        # No class has two entries for one value, so entries are distinct values.
        return np.bincount(self.class_of, minlength=classes)

    def count_commonest(self, classes: int) -> NDArray[np.int64]:
        """How often the commonest value of each class occurs."""
        largest = np.zeros(classes, np.int64)
        np.maximum.at(largest, self.class_of, self.count)
        return largest

    def count_in_table(self) -> NDArray[np.int64]:
        """How often each value occurs in the whole table."""
        # Where these classes are a part of a table, they are compared with all of it.
        return sum_by_place(self.value, self.count) if self.reference is None else self.reference


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The classes of a table."""

    size: NDArray[np.integer]
    """[classes] number of rows; or of people, where some have several rows, see `shoal.privacy.people`."""
    sensitive: Mapping[str, SensitiveCounts]
    fitting: PopulationFit | None = None
    """How the population fits the classes, where a model compares with one."""
    rows_of: NDArray[np.integer] | None = None
    """[classes] number of rows, where ``size`` counts people."""
    groups: NDArray[np.integer] | None = None
    """[classes] number of groups of people, where these are counted, see `shoal.privacy.groups`."""
    suppressed: int | None = None
    """The class whose quasi-identifiers are all suppressed, if several of its rows and others are there; or
    another of the same size."""

    equal: EqualCells | None = None
    """What is written in the classes, where a model asks how many rows are equal in some columns."""

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.size.size

    @property
    def counts_people(self) -> bool:
        """Whether people are counted instead of rows."""
        return self.rows_of is not None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int((self.size if self.rows_of is None else self.rows_of).sum())

    @property
    def members(self) -> int:
        """Sum of the sizes: the rows, or the people, who count once in every class that they are in."""
        return int(self.size.sum())

    @property
    def shown(self) -> NDArray[np.bool_]:
        """[classes] those that averages are taken over: rows without any value would only lower them."""
        return np.asarray(np.arange(self.classes) != (-1 if self.suppressed is None else self.suppressed))

    @property
    def unit(self) -> str:
        """What is counted, for messages."""
        return "people" if self.counts_people else "rows"

    def describe_number(self, number: int) -> str:
        """A number of what is counted, for messages."""
        if number == 1:
            return "one person" if self.counts_people else "one row"
        return f"{number:,} {self.unit}"

    def sum_values(self, name: str | None) -> NDArray[np.integer]:
        """[classes] what the counts of a sensitive column add up to: people can have several values."""
        if not self.counts_people:
            return self.size
        values = self.sensitive_column(name)
        return sum_by_place(values.class_of, values.count, self.classes)

    def sensitive_column(self, name: str | None) -> SensitiveCounts:
        """The values of a sensitive column, which a model must have been given by now."""
        # `for_columns` has given every model its column.
        assert name is not None
        return self.sensitive[name]

    def population_fit(self) -> PopulationFit:
        """How the population fits, which must be known by now."""
        assert self.fitting is not None
        return self.fitting


def sum_by_place(
    place: NDArray[np.integer], amount: NDArray[np.integer], places: int = 0
) -> NDArray[np.int64]:
    """Sums of whole amounts by place."""
    # bincount sums floats, which are exact for whole numbers below 2^53.
    return np.rint(np.bincount(place, amount, places)).astype(np.int64)
