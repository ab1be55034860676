"""Trees over the values of one column: the value type, its checks, and the files it is read from."""

from shoal.hierarchies.arx import read_hierarchy, write_hierarchy
from shoal.hierarchies.hierarchy import Hierarchy, uncovered
from shoal.hierarchies.sources import read_hierarchies
from shoal.hierarchies.toml import from_toml, to_toml

__all__ = [
    "Hierarchy",
    "from_toml",
    "read_hierarchies",
    "read_hierarchy",
    "to_toml",
    "uncovered",
    "write_hierarchy",
]
