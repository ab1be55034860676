"""What a finding is, and what the checks look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.privacy import Model, for_columns
from shoal.table import Column
from shoal.verification.outsider import CellNumbers

Severity = Literal["low", "medium", "high"]
HIGH = 0.05
"""Share of the rows above which what was found is severe."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a release gives away although its privacy goal holds."""

    id: str
    """What `--accept` names it by."""
    severity: Severity
    message: str
    figure: float
    """The share of the rows that it is about, or a number of values where the message says so."""
    remedy: str
    """What to do about it, as options of the command that made the release."""
    accepted: str | None = None
    """Why somebody decided to release all the same."""
    columns: tuple[str, ...] = ()
    """The columns that the remedy is about."""

    @property
    def is_open(self) -> bool:
        """Whether it is severe and nobody has accepted it."""
        return self.severity == "high" and self.accepted is None

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self) | {"columns": list(self.columns)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Finding:
        """The finding of which `to_dict` made ``plain``."""
        return cls(**{**plain, "columns": tuple(plain.get("columns", ()))})

    @property
    def headline(self) -> str:
        """The first of what the message says, for a headline."""
        return ": ".join(self.message.split("; ")[:2])


@dataclass(frozen=True, slots=True, eq=False)
class OriginalColumn:
    """A column of the original table, for the released rows; only the maker of the release has it."""

    codes: NDArray[np.integer]
    """[released rows] the value of each row; equal values have equal codes."""
    position: NDArray[np.float64] | None
    """[codes] where each value lies on its axis, from 0 to 1, if values are ordered."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRelease:
    """A release as a whole, and what is known of the table that it was made from."""

    frame: pl.DataFrame
    """All released cells."""
    quasi: Sequence[str]
    sensitive: Sequence[str]
    models: Sequence[Model]
    columns: Mapping[str, Column]
    """What is known of columns beyond their values."""
    original: Mapping[str, OriginalColumn] = field(default_factory=dict)
    """Quasi-identifiers as they were."""
    lost: Mapping[str, float] = field(default_factory=dict)
    """Per quasi-identifier, the mean width of its released cells: 0 if nothing happened to it, at most 1."""
    left_out: Mapping[str, pl.Series] = field(default_factory=dict)
    """Columns that are not released, in the order of the released rows."""
    identifiers: Sequence[str] = ()
    """Those of them that point at a person."""
    names_person: bool = False
    """Whether somebody said which column says whose row each is, also where nobody has several."""
    person: NDArray[np.integer] | None = None
    """[released rows] the person of each row, where that is known."""
    knows: str = ""
    """How many rows of a person the goal takes an attacker to know, ``1``, ``2``, ... or ``all``, where
    pseudonyms keep the rows of a person together; empty where nothing does."""
    sets: Mapping[str, str] = field(default_factory=dict)
    """Columns of sets, by what separates their items; then ``knows`` is a number of items."""
    keeps_order: bool = True
    """Whether rows stand in the order in which the table had them."""
    numbers: CellNumbers | None = field(default=None, repr=False)
    """The cells of the frame, and maybe of further columns, where they were numbered before."""
    cells: CellNumbers = field(init=False, repr=False)
    """The released cells, numbered once for all checks."""

    def __post_init__(self) -> None:
        # The class is frozen: only this way a field can follow from another.
        object.__setattr__(self, "cells", self.numbers or CellNumbers(self.frame))

    def leave_out_sets(self) -> JudgedRelease:
        """The same without columns of sets, of which a goal is about single items."""
        frame = self.frame.drop(self.sets)
        return replace(self, frame=frame, sets={}, knows="") if self.sets else self

    @property
    def other_columns(self) -> list[str]:
        """Released columns that are not quasi-identifiers."""
        quasi = set(self.quasi)
        return [name for name in self.frame.columns if name not in quasi]

    @property
    def protected_columns(self) -> set[str]:
        """Sensitive columns that a model is about."""
        every = for_columns(self.models, self.sensitive)
        # Every model about sensitive values has its column by now.
        return {model.column for model in every if model.sensitive}  # type: ignore[attr-defined]

    @property
    def k(self) -> int:
        """The largest class that the goal asks for."""
        # Several models may ask for a size; the strictest decides.
        return max((model.least_size() for model in self.models), default=1)


Check = Callable[[JudgedRelease], Iterator[Finding]]


def format_percent(share: float) -> str:
    """A share for a sentence: whole percents, with digits only where they tell something."""
    if share and share < 0.1:
        return f"{100 * share:.2g} %"
    if 0.995 <= share < 1:
        return f"{min(100 * share, 99.9):.1f} %"  # a hundred is said only where it is all
    return f"{100 * share:.0f} %"


def list_names(names: Iterable[str]) -> str:
    """Names of columns for a sentence: 'a', 'b' and 'c'."""
    *first, last = [f"'{name}'" for name in names]
    return f"{', '.join(first)} and {last}" if first else last
