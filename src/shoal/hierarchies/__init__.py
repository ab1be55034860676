"""Trees over the values of one column: the value type, builders, ready-made ones, and their files."""

from shoal.hierarchies.anjana import from_anjana, to_anjana
from shoal.hierarchies.arx import read_hierarchy, write_hierarchy
from shoal.hierarchies.builders import (
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
from shoal.hierarchies.formats import FORMATS, save_hierarchy
from shoal.hierarchies.hierarchy import Hierarchy, NewValues, uncovered
from shoal.hierarchies.outline import from_outline, outline_text
from shoal.hierarchies.ready import READY, is_ready
from shoal.hierarchies.sources import read_hierarchies, read_source
from shoal.hierarchies.toml import from_toml, to_toml

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
    "outline_text",
    "read_hierarchies",
    "read_hierarchy",
    "read_source",
    "save_hierarchy",
    "to_anjana",
    "to_toml",
    "uncovered",
    "write_hierarchy",
]
