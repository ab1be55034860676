"""Builders: each makes the hierarchy of a column from its values. `BUILDERS` has them by name."""

from __future__ import annotations

from typing import Protocol

from shoal.table.hierarchies.builders.dates import Dates
from shoal.table.hierarchies.builders.groups import OrderedGroups, RareTogether
from shoal.table.hierarchies.builders.intervals import Boundaries, EqualFrequency, EqualWidth
from shoal.table.hierarchies.builders.learned import Learned
from shoal.table.hierarchies.builders.mask import Masking
from shoal.table.hierarchies.builders.values import Values
from shoal.table.hierarchies.hierarchy import Hierarchy

__all__ = [
    "BUILDERS",
    "Boundaries",
    "Builder",
    "Dates",
    "EqualFrequency",
    "EqualWidth",
    "Learned",
    "Masking",
    "OrderedGroups",
    "RareTogether",
    "Values",
]


class Builder(Protocol):
    """What makes a hierarchy of the values of a column."""

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy; every value is a leaf."""


BUILDERS: dict[str, type[Builder]] = {
    "intervals": EqualWidth,
    "quantiles": EqualFrequency,
    "boundaries": Boundaries,
    "mask": Masking,
    "dates": Dates,
    "order": OrderedGroups,
    "frequency": RareTogether,
    "learned": Learned,
}
