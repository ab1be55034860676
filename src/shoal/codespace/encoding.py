"""Columns to codes: the way into code space."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.codespace.edges import check_edges, code_ends
from shoal.errors import InputError, quote
from shoal.support.warning_codes import CodedWarning
from shoal.table import Column, ColumnType, infer_type, ordered_values, parse_values, to_strings
from shoal.table.decimals import has_decimal_commas
from shoal.table.hierarchies import uncovered
from shoal.table.types import NUMBER

CategoryOrder = Literal["frequency", "appearance"]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedColumn:
    """A column in code space."""

    domain: Domain
    codes: NDArray[np.unsignedinteger]
    type: ColumnType
    warnings: tuple[str, ...] = field(default=())


def build_dictionary(series: pl.Series) -> tuple[pl.Series, NDArray[np.uint32], bool]:
    """Number the distinct values of a column.

    Returns
    -------
    the distinct values without null, in order of appearance; for each row the number of its value, or their
    count where it is null; and whether there are nulls
    """
    if series.dtype == pl.String:
        # Categories of its own, so that strings of other columns are not among them.
        series = series.cast(pl.Categorical(pl.Categories.random()))
        distinct = series.drop_nulls().unique(maintain_order=True)
        physical = series.to_physical()
        # Physical codes need not follow the order of appearance, so they are looked up.
        at = np.empty(int(physical.max() or 0) + 1, np.uint32)  # type: ignore[arg-type]
        at[distinct.to_physical().to_numpy()] = np.arange(len(distinct), dtype=np.uint32)
        number = pl.Series(at).gather(physical)
        distinct = distinct.cast(pl.String)
    else:
        distinct = series.drop_nulls().unique(maintain_order=True)
        if distinct.dtype.is_float():
            # -0.0 equals 0.0, and which of them came first must not matter; polars would leave "+ 0.0" out.
            distinct = pl.Series(distinct.name, distinct.to_numpy() + 0.0, distinct.dtype)
        place = pl.Series(np.arange(len(distinct)), dtype=pl.UInt32)
        number = series.replace_strict(distinct, place).cast(pl.UInt32)  # untouched if there is nothing in it
    return (
        distinct,
        number.fill_null(len(distinct)).to_numpy().astype(np.uint32, copy=False),
        series.has_nulls(),
    )


def encode_column(
    series: pl.Series,
    column: Column,
    category_order: CategoryOrder = "frequency",
    count: NDArray[np.int64] | None = None,
) -> EncodedColumn:
    """Encode one quasi-identifier.

    Flat categories come in order of frequency, the commonest first and equally common ones by name, so that
    the order of rows does not matter; ``appearance`` keeps the order in which the rows bring them. ``count``
    tells how many rows each value of ``series`` stands for, where that is not one.
    """
    distinct, number, missing = build_dictionary(series)
    kind, order, lost = find_column_type(distinct, column)
    warnings: list[str] = []
    if lost:
        missing = True
        warnings.append(
            CodedWarning(
                "W06", f"column '{column.name}': {quote(lost)} counted as missing, since the rest are numbers"
            )
        )
    check_edges(column, kind)
    if column.hierarchy is not None:
        domain, codes = _encode_tree(distinct, column, missing, warnings)
    elif kind in ("string", "boolean"):
        domain, codes = _encode_flat(distinct, number, column.name, missing, category_order, count)
        if distinct.dtype == pl.String and has_decimal_commas(distinct):
            warnings.append(
                CodedWarning(
                    "W07",
                    f"column '{column.name}' is text that looks like numbers with a decimal comma: "
                    "--decimal , reads them as numbers",
                )
            )
    else:
        present = (~distinct.is_in(list(lost))).to_numpy() if lost else np.ones(len(distinct), np.bool_)
        domain, codes = _encode_ordered(distinct, present, kind, order, column.name, missing)
        if column.bottom is not None or column.top is not None:
            rows = np.bincount(codes[number], count, domain.size)
            domain, codes, told = code_ends(domain, codes, rows, column)
            warnings += told
    # The smallest type that holds all codes: there is one per cell of the table.
    dtype: type[np.unsignedinteger] = np.uint16 if domain.size <= 1 << 16 else np.uint32
    return EncodedColumn(domain, codes.astype(dtype)[number], kind, tuple(warnings))


def find_missing_rows(series: pl.Series, column: Column) -> NDArray[np.bool_]:
    """Which rows count as missing once the column has its type."""
    lost = find_column_type(series.unique(maintain_order=True).drop_nulls(), column)[2]
    missing = series.is_null() | series.is_in(lost) if lost else series.is_null()
    return missing.fill_null(True).to_numpy()


def find_column_type(
    distinct: pl.Series, column: Column
) -> tuple[ColumnType, list[str] | None, tuple[str, ...]]:
    """The column's type, its stated order, and the values that count as missing under that type.

    In a column with a hierarchy none do: there any text is a value.
    """
    order = list(column.order) if column.order else ordered_values(distinct)
    # Alphabetical order would be a guess, and a wrong one releases wrong ranges.
    if column.type == "ordered" and order is None:
        raise InputError(
            f"column '{column.name}' is ordered, but its order is not said: name its values in order"
        )
    if column.hierarchy is not None:
        return column.type or infer_type(distinct).type, order, ()
    damaged = _find_damaged_values(distinct, column.na)
    if column.type is not None:
        return column.type, order, damaged if column.type in ("integer", "float") else ()
    found = infer_type(distinct)
    if column.order:
        return "ordered", order, ()
    # A few damaged numbers must not turn a whole column of numbers into categories.
    if found.type == "string" and damaged:
        rest = infer_type(distinct.filter(~distinct.is_in(damaged)))
        if rest.type in ("integer", "float"):
            return rest.type, order, (*rest.extra_na, *damaged)
    return found.type, order, found.extra_na


def _find_damaged_values(distinct: pl.Series, markers: tuple[str, ...]) -> tuple[str, ...]:
    """Texts like ``?607``, which contain a marker of missing values and are no numbers."""
    if distinct.dtype != pl.String or not markers:
        return ()
    number = distinct.str.strip_chars().str.contains(NUMBER)
    return tuple(distinct.filter(distinct.str.contains_any(list(markers)) & ~number).sort())


# Each of the following gives a domain and the codes of the distinct values, null last.


def _encode_ordered(
    distinct: pl.Series,
    present: NDArray[np.bool_],
    kind: ColumnType,
    order: list[str] | None,
    name: str,
    missing: bool,
) -> tuple[Domain, NDArray[np.int64]]:
    """Numbers, dates and ordered categories.

    Different texts of one number ("1" and "1.0") share a code, and the release shows the first by name.
    """
    number = np.flatnonzero(present)
    raw = distinct.gather(number)
    value = parse_values(raw, kind, name, order)
    table = pl.DataFrame({"number": number, "raw": raw, "text": to_strings(raw), "value": value}).sort(
        "value", "text", maintain_order=True
    )
    codes = np.zeros(len(distinct) + 1, np.int64)
    # Code 0 is the missing value, where there is one.
    codes[table["number"].to_numpy()] = table["value"].rle_id().to_numpy() + int(missing)
    first = table.unique("value", keep="first", maintain_order=True)
    if missing:
        first = pl.concat([first.clear(1), first])
    if kind == "ordered":
        return Domain.from_ordered_categories(name, first["raw"], first["text"], missing), codes
    return Domain.from_numbers(name, first["raw"], first["text"], first["value"], missing), codes


def _encode_flat(
    distinct: pl.Series,
    number: NDArray[np.uint32],
    name: str,
    missing: bool,
    category_order: CategoryOrder,
    count: NDArray[np.int64] | None,
) -> tuple[Domain, NDArray[np.int64]]:
    """Flat categories; the missing value is one of them."""
    values = pl.concat([distinct, distinct.clear(1)]) if missing else distinct
    if category_order == "frequency":
        # Negative, because the sort is ascending and the commonest comes first.
        place = -np.bincount(number, count, len(values))
    else:
        place = np.full(len(values), number.size)
        # The first row in which each value occurs.
        np.minimum.at(place, number, np.arange(number.size))
    table = pl.DataFrame(
        {"value": values, "text": to_strings(values), "place": place, "number": np.arange(len(values))}
    )
    table = table.sort("place", "text", nulls_last=True, maintain_order=True)
    codes = np.zeros(len(distinct) + 1, np.int64)
    codes[table["number"].to_numpy()] = np.arange(len(table))
    return Domain.from_flat_categories(
        name, table["value"], table["text"], int(codes[-1]) if missing else None
    ), codes


def _encode_tree(
    distinct: pl.Series, column: Column, missing: bool, warnings: list[str]
) -> tuple[Domain, NDArray[np.int64]]:
    """The leaves of a hierarchy; values that it does not have may stay or be suppressed."""
    assert column.hierarchy is not None
    text = to_strings(distinct).to_list()
    extra = uncovered(column.hierarchy, text)
    if extra:
        warnings.append(
            CodedWarning(
                "W08",
                f"column '{column.name}': the hierarchy does not have {quote(extra)}; "
                f"{'they' if len(extra) > 1 else 'it'} can only stay or be suppressed",
            )
        )
    domain = Domain.from_hierarchy(column.name, column.hierarchy, distinct, text, extra, missing)
    assert domain.hierarchy is not None
    code = {leaf: at for at, leaf in enumerate(domain.hierarchy.leaves)}
    return domain, np.array([*(code[value] for value in text), code.get("", 0)])
