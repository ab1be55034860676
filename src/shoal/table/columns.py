"""What a user may know of a column."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.table.hierarchies import Hierarchy
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
    fold: bool = True
    """Whether spellings of one sensitive value (case, blanks, Unicode form, markers of a missing value) count
    as one value. What is written never changes."""
    bottom: str | None = None
    """Numbers or dates below this are one value; or, with ``%``, so large a share of the rows at most."""
    top: str | None = None
    """The same for those above."""
