"""The layout of anjana: one array of labels per level, all with one entry per value; as a file, plain CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shoal.errors import InputError
from shoal.table.hierarchies.hierarchy import Hierarchy


def from_anjana(levels: Mapping[int, Iterable[object]], source: str = "hierarchy") -> Hierarchy:
    """Read the levels of one column, as anjana takes them: ``{0: values, 1: groups, ...}``.

    Labels of any type become text. What anjana reads from a file, ``dict(pd.read_csv(path, header=None))``,
    is such a mapping.
    """
    if not levels or sorted(levels) != list(range(len(levels))):
        raise InputError(f"{source}: the levels are numbered 0, 1, 2, ..., not {list(levels)}")
    # Arrays of pandas and numpy hold labels of any type.
    columns = [[str(label) for label in levels[level]] for level in range(len(levels))]
    if len({len(column) for column in columns}) > 1:
        sizes = ", ".join(str(len(column)) for column in columns)
        raise InputError(f"{source}: every level has one label per value, but they have {sizes}")
    return Hierarchy.from_rows(list(zip(*columns, strict=True)), source)


def to_anjana(hierarchy: Hierarchy) -> dict[int, list[str]]:
    """The levels of a hierarchy, as anjana takes them."""
    return {level: list(labels) for level, labels in enumerate(zip(*hierarchy.to_rows(), strict=True))}
