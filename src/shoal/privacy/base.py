"""What every privacy model offers."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.kinds import Rule
from shoal.privacy.counts import Counts
from shoal.support.arithmetic import first_digit

Achieved: TypeAlias = float | dict[str, float]
"""The parameter that a table reaches; by name where a model has several."""


class KnownColumns(NamedTuple):
    """Columns that somebody may know of a person, and how many rows have to be equal in them."""

    names: tuple[str, ...]
    k: int


class Model(Protocol):
    """A condition on the classes of a release.

    Models are frozen dataclasses whose fields are their parameters. One that looks at sensitive values has a
    field ``column`` and is about all sensitive columns where that is None.
    """

    __slots__ = ()

    sensitive: ClassVar[bool] = False
    """Whether it looks at sensitive values."""
    by_class: ClassVar[bool] = True
    """Whether it is a condition on each class by itself. If not, a search asks something stricter of
    each class, see `suffices`."""
    lasting: ClassVar[bool] = False
    """Whether a class that satisfies it still does with further rows, whatever they are: so that rows which
    have to be suppressed have to be on every lower level, too."""
    compares_people: ClassVar[bool] = False
    """Whether it compares how many people a class has with another number of people."""
    averages: ClassVar[bool] = False
    """Whether it is an average over the classes, of which rows without any value are none, see
    `Counts.shown`."""
    known_to_search: ClassVar[bool] = True
    """Whether `least_size` and `rule` say all that it demands of a class. Where they do not, a search that
    works with rules knows only a part of it, and classes that do not satisfy it are merged afterwards."""

    @property
    def is_about_some_columns(self) -> bool:
        """Whether it asks for rows that are equal in some of the quasi-identifiers only."""
        return False

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The columns that it names, where it names some."""
        return ()

    @property
    def monotone(self) -> bool:
        """Whether merging two classes that satisfy it gives one that does: top-down search prunes on that."""
        return True

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Which classes do not stand in the way; the table satisfies the model if none does."""
        ...

    def suffices(self, counts: Counts) -> NDArray[np.bool_]:
        """Which classes satisfy it whatever the other classes are: what a search may build on."""
        return self.holds(counts)

    def achieved(self, counts: Counts) -> Achieved:
        """The strictest parameter that the table as a whole reaches."""
        ...

    def least_size(self) -> int:
        """A class of fewer rows does not suffice, whatever its values."""
        return 1

    def least_people(self) -> int:
        """A class of fewer people does not suffice, where people are counted and not rows."""
        # A person can have several values, so that values need rows, but not as many people.
        return 1 if self.sensitive else self.least_size()

    def rule(self, whole: Counts) -> Rule | None:
        """What the search demands of the sensitive values in a class, given the whole table as one class."""
        return None

    def list_column_sets(self, quasi: Sequence[str]) -> list[KnownColumns] | None:
        """What it demands, if that is only that rows are equal in some columns; None if it is more."""
        return None

    def within_reach(self, whole: Counts) -> str | None:
        """Why not even the whole table as one class satisfies it, and what would; None if it does."""
        return None


def at_least(value: float) -> str:
    """A positive bound in four digits, rounded up: what is advised must do."""
    # Read from a string: a power of ten is then the nearest float on every processor.
    digits = float(f"1e{3 - first_digit(value)}")
    return f"{ceil(value * digits) / digits:.4g}"


def at_most(value: float) -> str:
    """A positive bound in four digits, rounded down."""
    digits = float(f"1e{3 - first_digit(value)}")
    return f"{floor(value * digits) / digits:.4g}"
