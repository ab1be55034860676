"""Top and bottom coding: all values beyond an edge become one value."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.errors import InputError, RecipeError
from shoal.support.warning_codes import CodedWarning
from shoal.table import Column, ColumnType, infer_type, parse_values

Ints = NDArray[np.int64]
Rows = NDArray[np.floating] | Ints

_NUMBERS: tuple[ColumnType, ...] = ("integer", "float", "date", "datetime")


def read_share(edge: str) -> float | None:
    """The share of the rows that an edge such as ``5%`` asks for; None for a value such as ``70``."""
    if not edge.strip().endswith("%"):
        return None
    try:
        share = float(edge.strip()[:-1]) / 100
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise RecipeError(f"a share of the rows is above 0% and below 100%, as 5%, not {edge!r}")
    return share


def check_edges(column: Column, kind: ColumnType) -> None:
    """Refuse edges for a column whose values cannot lie beyond one."""
    if column.bottom is None and column.top is None:
        return
    if column.hierarchy is not None:
        raise InputError(
            f"column '{column.name}' has a hierarchy, so it takes no top or bottom: make the groups in that"
        )
    if kind not in _NUMBERS:
        raise InputError(
            f"top and bottom are for numbers and dates, but column '{column.name}' is {kind}: leave them "
            f"out, or say what it is, as --type {column.name}=int"
        )


def code_ends(domain: Domain, codes: Ints, rows: Rows, column: Column) -> tuple[Domain, Ints, list[str]]:
    """Give all values below the bottom of a column one code, and all above its top.

    Parameters
    ----------
    codes : int64[values]
        The code of each distinct value.
    rows : [codes]
        How many rows have each code.

    Returns
    -------
    the domain, the new codes, and what the user should know
    """
    start = int(domain.missing is not None)
    known, whole = rows[start:], float(rows[start:].sum())
    first, bottom = _find_bottom(domain, column, known, start)
    last, top = _find_top(domain, column, known, start)
    if first > last + 1:
        raise InputError(
            f"column '{column.name}': values lie both below the bottom {column.bottom} "
            f"and above the top {column.top}"
        )
    # One code is kept on either side, for what lies beyond; none where nothing does.
    lowest, highest = max(first - 1, 0), min(last + 1, known.size - 1)
    told: list[str] = [
        CodedWarning(
            "W18",
            f"column '{column.name}': {int(part):,} of {int(whole):,} rows are {side} {edge} and are "
            f"released as '{sign}{edge}'{_explain_choice(given)}; the loss is counted from there on",
        )
        for part, side, sign, edge, given in (
            (known[:first].sum(), "below", "<", bottom, column.bottom),
            (known[last + 1 :].sum(), "above", ">", top, column.top),
        )
        if given is not None
    ]
    chosen = [*range(start), *range(start + lowest, start + highest + 1)]
    new = np.concatenate([np.arange(start), np.clip(np.arange(known.size), lowest, highest) - lowest + start])
    coded = _select_codes(domain, np.array(chosen))
    named = coded.name_ends(bottom if first > 0 else None, top if last < known.size - 1 else None)
    return named, new[codes], told


def _explain_choice(given: str | None) -> str:
    return f", the edge for {given} of the rows" if given is not None and read_share(given) else ""


def _select_codes(domain: Domain, chosen: Ints) -> Domain:
    """The domain of some of its codes, in their order."""
    assert domain.place is not None
    values, labels, place = (each.gather(chosen) for each in (domain.values, domain.labels, domain.place))
    return Domain.from_numbers(domain.name, values, labels, place, domain.missing is not None)


def _find_bottom(domain: Domain, column: Column, known: Rows, start: int) -> tuple[int, str]:
    """The first known value that stays, and the edge."""
    if column.bottom is None:
        return 0, ""
    share = read_share(column.bottom)
    if share is None:
        return _find_place(domain, column, column.bottom, False), column.bottom.strip()
    first = _count_within(known, share)
    return first, str(domain.labels[start + first])


def _find_top(domain: Domain, column: Column, known: Rows, start: int) -> tuple[int, str]:
    """The last known value that stays, and the edge."""
    if column.top is None:
        return known.size - 1, ""
    share = read_share(column.top)
    if share is None:
        return _find_place(domain, column, column.top, True) - 1, column.top.strip()
    last = known.size - 1 - _count_within(known[::-1], share)
    return last, str(domain.labels[start + last])


def _find_place(domain: Domain, column: Column, edge: str, or_equal: bool) -> int:
    """How many known values lie below an edge, or are equal to it."""
    labels = domain.labels.drop_nulls()
    kind: ColumnType = column.type or infer_type(labels).type
    # Between whole numbers an edge may be a fraction.
    if kind == "integer" and infer_type(pl.Series([edge.strip()])).type != "integer":
        kind = "float"
    # Together with the values, which tell how a date such as 03/04/2020 is to be read.
    parsed = parse_values(pl.concat([labels, pl.Series([edge.strip()])]), kind, column.name)
    known, at = parsed.head(len(labels)), parsed[-1]
    return int(((known <= at) if or_equal else (known < at)).sum())


def _count_within(rows: Rows, share: float) -> int:
    """How many of the first values together have no more than a share of the rows."""
    # A little more, for 29 % of 100 rows are 29.
    return int(np.searchsorted(np.cumsum(rows), share * rows.sum() * (1 + 1e-12), "right"))
