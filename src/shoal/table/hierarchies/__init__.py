"""Trees over the values of one column: the value type, builders, ready-made ones, and their files."""

from shoal.table.hierarchies.anjana import from_anjana, to_anjana
from shoal.table.hierarchies.arx import read_hierarchy, write_hierarchy
from shoal.table.hierarchies.builders import (
    BUILDERS,
    Boundaries,
    Builder,
    Dates,
    EqualFrequency,
    EqualWidth,
    Learned,
    Masking,
    OrderedGroups,
    RareTogether,
    Values,
)
from shoal.table.hierarchies.formats import FORMATS, save_hierarchy
from shoal.table.hierarchies.hierarchy import Hierarchy, NewValues, uncovered
from shoal.table.hierarchies.outline import from_outline, render_outline
from shoal.table.hierarchies.ready import READY, is_ready
from shoal.table.hierarchies.sources import read_hierarchies, read_source
from shoal.table.hierarchies.toml import from_toml, to_toml

__all__ = [
    "BUILDERS",
    "FORMATS",
    "READY",
    "Boundaries",
    "Builder",
    "Dates",
    "EqualFrequency",
    "EqualWidth",
    "Hierarchy",
    "Learned",
    "Masking",
    "NewValues",
    "OrderedGroups",
    "RareTogether",
    "Values",
    "from_anjana",
    "from_outline",
    "from_toml",
    "is_ready",
    "read_hierarchies",
    "read_hierarchy",
    "read_source",
    "render_outline",
    "save_hierarchy",
    "to_anjana",
    "to_toml",
    "uncovered",
    "write_hierarchy",
]
