"""How the values of a sensitive column lie to each other: their order, and the hierarchy above them."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.hierarchies import Hierarchy
from shoal.privacy.counts import Scale
from shoal.table import Column, as_text, infer_type, ordered_values, parse


def scaled(distinct: pl.Series, missing: bool, column: Column) -> tuple[NDArray[np.int64], Scale]:
    """Number the distinct values of a sensitive column.

    Numbers, dates and values with a stated order are numbered in that order, and different texts of one
    number are one value; others are numbered by name. All that stands for a missing value (null, an empty
    text, a marker among numbers) is number 0, if there is any.

    Parameters
    ----------
    distinct : Series
        Without null.
    missing : bool
        Whether the column has null, too.

    Returns
    -------
    the number of each distinct value, and then that of null; how the values lie to each other
    """
    stated = list(column.order) if column.order else ordered_values(distinct)
    found = infer_type(distinct)
    kind = column.type or ("ordered" if stated else found.type)
    lost = ("", *found.extra_na) if kind in ("integer", "float") else ("",)
    present = ~distinct.is_in(list(lost)) if distinct.dtype == pl.String else distinct.is_not_null()
    ordered = kind not in ("string", "boolean")
    values = distinct.filter(present)
    rank = (parse(values, kind, column.name, stated) if ordered else as_text(values)).rank("dense")
    missing = missing or not present.all()
    number = np.zeros(len(distinct) + 1, np.int64)
    number[np.flatnonzero(present.to_numpy())] = rank.to_numpy() - (not missing)
    if column.hierarchy is None:
        return number, Scale(ordered)
    return number, Scale(ordered, _levels(column.hierarchy, as_text(distinct), number, missing))


def _levels(
    hierarchy: Hierarchy, text: pl.Series, number: NDArray[np.int64], missing: bool
) -> NDArray[np.int32]:
    """The nodes above each value, level by level; what the hierarchy does not have stands below the root."""
    names = dict(zip(number.tolist(), text, strict=False)) | ({0: ""} if missing else {})
    tree = hierarchy.with_values(names.values())
    leaf = {name: at for at, name in enumerate(tree.leaves)}
    return tree.nodes[:-1, [leaf[names[value]] for value in range(len(names))]]
