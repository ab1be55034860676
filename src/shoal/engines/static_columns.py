"""Which columns are the same in all rows of a person, found by counting, and what is told of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.people import count_varying_people
from shoal.support.warning_codes import CodedWarning

_FEW = 0.1  # share of the people who have several rows, up to which values that change look like mistakes


@dataclass(frozen=True, slots=True)
class VaryingColumns:
    """Which quasi-identifiers are static, the same in all rows of every person, and which are not."""

    varying: Mapping[str, int]
    """By column, for how many people it has several values."""
    several: int
    """People who have several rows."""

    @classmethod
    def from_codes(
        cls, names: Sequence[str], codes: Sequence[NDArray[np.integer]], person: NDArray[np.int64]
    ) -> VaryingColumns:
        """Count, given the codes of each column and the person of each row."""
        varying = count_varying_people(codes, person).tolist()
        several = int(np.count_nonzero(np.bincount(person) > 1))
        return cls(dict(zip(names, varying, strict=True)), several)

    @property
    def static(self) -> list[str]:
        """The static columns."""
        return [name for name, people in self.varying.items() if people == 0]

    def describe(self) -> str:
        """Both kinds of columns, for the report."""
        static = ", ".join(self.static) or "none"
        others = [f"{name} ({people:,})" for name, people in self.varying.items() if people]
        told = f"others, and for how many of the {self.several:,} people with several rows they change: "
        return (
            f"static columns, the same in all rows of every person: {static}; "
            f"{told + ', '.join(others) if others else 'others: none'}"
        )

    def warn(self) -> Iterator[str]:
        """Name columns that are the same in all rows of nearly everybody, and for how many they are not."""
        for name, people in self.varying.items():
            if 0 < people <= _FEW * self.several:
                yield CodedWarning(
                    "W13",
                    f"'{name}' is the same in all rows of a person, but not for {people:,} of the "
                    f"{self.several:,} people who have several: it is taken for a column that changes, "
                    "unless you mend them",
                )
