"""What a privacy model looks at: the sizes of the classes and the sensitive values in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.fitting import Fitting


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """How the values of a sensitive column lie to each other, where that is known."""

    ordered: bool = False
    """Whether values are numbered in their order."""
    levels: NDArray[np.integer] | None = None
    """[height, values] number of the hierarchy's node above each value, from level 0 to below the root."""


@dataclass(frozen=True, slots=True, eq=False)
class Sensitive:
    """Values of one sensitive column, sparse: ``count`` rows of the class ``class_of`` have ``value``.

    No class has two entries for one value.
    """

    class_of: NDArray[np.integer]
    value: NDArray[np.integer]
    count: NDArray[np.integer]
    scale: Scale = field(default_factory=Scale)
    reference: NDArray[np.int64] | None = None
    """How often each value occurs in the whole table, with which some models compare classes; None where
    these classes are the whole table."""

    @classmethod
    def of_rows(
        cls,
        class_of: NDArray[np.integer],
        value: NDArray[np.integer],
        scale: Scale | None = None,
        times: NDArray[np.int64] | None = None,
    ) -> Sensitive:
        """Count the values of rows, given the class and the value of each, and how often it is there."""
        width = int(value.max(initial=0)) + 1
        pair = class_of.astype(np.int64) * width + value
        if times is None:
            key, count = np.unique(pair, return_counts=True)
        else:
            key, number = np.unique(pair, return_inverse=True)
            count = sums(number, times)
        return cls(key // width, key % width, count, scale or Scale())

    @classmethod
    def of_whole(
        cls,
        value: NDArray[np.integer],
        scale: Scale | None = None,
        times: NDArray[np.int64] | None = None,
    ) -> Sensitive:
        """Count the values of rows that are one class."""
        count = np.bincount(value) if times is None else sums(value, times)
        present = np.flatnonzero(count)
        return cls(np.zeros_like(present), present, count[present], scale or Scale())

    def distinct(self, classes: int) -> NDArray[np.int64]:
        """Number of different values in each class."""
        return np.bincount(self.class_of, minlength=classes)

    def largest(self, classes: int) -> NDArray[np.int64]:
        """How often the commonest value of each class occurs."""
        largest = np.zeros(classes, np.int64)
        np.maximum.at(largest, self.class_of, self.count)
        return largest

    def whole(self) -> NDArray[np.int64]:
        """How often each value occurs in the whole table."""
        return sums(self.value, self.count) if self.reference is None else self.reference


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The classes of a table."""

    size: NDArray[np.integer]
    """[classes] number of rows."""
    sensitive: Mapping[str, Sensitive]
    fitting: Fitting | None = None
    """How the population fits the classes, where a model compares with one."""

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.size.size

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.size.sum())

    def column(self, name: str | None) -> Sensitive:
        """The values of a sensitive column, which a model must have been given by now."""
        assert name is not None
        return self.sensitive[name]

    def people(self) -> Fitting:
        """How the population fits, which must be known by now."""
        assert self.fitting is not None
        return self.fitting


def sums(place: NDArray[np.integer], amount: NDArray[np.integer], places: int = 0) -> NDArray[np.int64]:
    """Sums of whole amounts by place."""
    return np.rint(np.bincount(place, amount, places)).astype(np.int64)
