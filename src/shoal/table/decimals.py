"""Numbers that are written with a decimal comma, as in 1.234,50."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, cast, get_args

import polars as pl

from shoal.errors import InputError, unknown
from shoal.table.frames import use_safe_name
from shoal.table.types import MISSING_MARKERS

Decimal = Literal[".", ","]

# Points, blanks and apostrophes stand between groups of three digits.
_SEPARATORS = r"[.' \u00a0\u202f]"
_NUMBER = rf"^[+-]?(?:[0-9]+|[0-9]{{1,3}}(?:{_SEPARATORS}[0-9]{{3}})+)(?:,[0-9]+)?$"
_WITH_COMMA = r",[0-9]+$"
# 1,234 may be a thousand and more just as well as one and a bit.
_CLEAR = rf"^[+-]?(?:[0-9]+,(?:[0-9]{{1,2}}|[0-9]{{4,}})|[0-9]+{_SEPARATORS}.*,[0-9]+)$"


def check_decimal(decimal: str) -> Decimal:
    """Return the sign before decimals, if it is one that numbers are read with."""
    if decimal not in (signs := get_args(Decimal)):
        raise InputError(unknown("decimal sign", decimal, signs))
    return cast("Decimal", decimal)


def read_decimal_commas(frame: pl.DataFrame, na: Collection[str]) -> pl.DataFrame:
    """Rewrite columns of numbers with a decimal comma, so that they are numbers for everything that follows.

    A column is one of numbers if all of its cells are, apart from missing ones. Numbers are written without
    separators between thousands and with a point: 1.234,50 becomes 1234.50.
    """
    texts = [column for column in frame if column.dtype == pl.String]
    changed = {column.name: _write_points(column) for column in texts if _has_numbers(column, na)}
    return pl.DataFrame([changed.get(column.name, column) for column in frame]) if changed else frame


def has_decimal_commas(values: pl.Series) -> bool:
    """Whether distinct values are clearly numbers with a decimal comma, which were read as text."""
    present = _strip_present(values, ())
    if present.is_empty() or not present.str.contains(_NUMBER).all():
        return False
    return bool(present.str.contains(_CLEAR).any())


def _has_numbers(column: pl.Series, na: Collection[str]) -> bool:
    present = _strip_present(column.unique(maintain_order=True), na)
    if present.is_empty() or not present.str.contains(_NUMBER).all():
        return False
    return bool(present.str.contains(rf"{_WITH_COMMA}|{_SEPARATORS}").any())


def _strip_present(values: pl.Series, na: Collection[str]) -> pl.Series:
    """What is neither missing nor damaged: markers count as missing among numbers, said or not."""
    text = use_safe_name(values).drop_nulls().str.strip_chars()
    text = text.filter(~text.is_in(["", *MISSING_MARKERS]))
    return text.filter(~text.str.contains_any([marker for marker in na if marker])) if any(na) else text


def _write_points(column: pl.Series) -> pl.Series:
    plain = use_safe_name(column)
    is_number = plain.str.strip_chars().str.contains(_NUMBER).fill_null(False)
    points = plain.str.strip_chars().str.replace_all(_SEPARATORS, "").str.replace(",", ".", literal=True)
    return points.zip_with(is_number, plain).alias(column.name)
