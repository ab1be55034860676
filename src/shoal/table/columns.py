"""What a user may know of a column."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.hierarchies import Hierarchy
from shoal.table.types import ColumnType


@dataclass(frozen=True, slots=True)
class Column:
    """What is known of a column beyond its values."""

    name: str
    type: ColumnType | None = None
    """Inferred from the values where None."""
    order: tuple[str, ...] | None = None
    """The stated order of an ordered column."""
    hierarchy: Hierarchy | None = None
    na: tuple[str, ...] = ()
    """Markers that stand for a missing value; a damaged number that contains one counts as missing too."""
