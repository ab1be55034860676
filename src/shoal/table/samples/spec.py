"""What a sample is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from shoal.errors import InternalError

Role: TypeAlias = Literal["quasi", "sensitive", "identifier", "plain", "person", "set"]
HierarchyRows: TypeAlias = list[list[str]]
"""Rows of a hierarchy in ARX layout: the value, its ancestors from near to far, and at last the root."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A table that Shoal can make, at any size.

    Attributes
    ----------
    name
        What to ask for it by.
    description
        One line on what the table is.
    rows, seed
        Used where none is asked for.
    schema
        Column names and types, in order.
    roles
        The role of each column.
    why
        One sentence for each column: why it has that role.
    make
        ``make(start, count, rng)`` makes ``count`` rows, the first of them number ``start``.
    hierarchies
        Makes the hierarchies, by column.
    separators
        What stands between the items of a cell, by column of sets.
    """

    name: str
    description: str
    rows: int
    seed: int
    schema: Mapping[str, pl.DataType]
    roles: Mapping[str, Role]
    why: Mapping[str, str]
    make: Callable[[int, int, np.random.Generator], pl.DataFrame]
    hierarchies: Callable[[], dict[str, HierarchyRows]]
    separators: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not list(self.schema) == list(self.roles) == list(self.why):
            raise InternalError(
                f"sample '{self.name}': schema, roles and why must name the same columns in one order"
            )
