"""Column types: found from the distinct values of a column, and values parsed to what can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from shoal.errors import InputError, quote, unknown
from shoal.table.frames import to_strings, use_safe_name

ColumnType = Literal["string", "integer", "float", "date", "datetime", "ordered", "boolean"]

TYPE_CODES: dict[str, ColumnType] = {
    "s": "string",
    "i": "integer",
    "f": "float",
    "d": "date",
    "o": "ordered",
    "b": "boolean",
}

_INTEGER = r"^[+-]?[0-9]+$"
NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
# As numbers, codes such as 01067 would lose their zero.
LEADING_ZERO = r"^[+-]?0[0-9]"
MISSING_MARKERS = ("NA", "N/A", "NaN", "nan", "null", "None", "?", "-", ".")

_DATES = {
    "%Y-%m-%d": r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$",
    "%Y/%m/%d": r"^[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}$",
    "%d.%m.%Y": r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}$",
    "%d/%m/%Y": r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}$",
    "%m/%d/%Y": r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}$",
}
_DATETIME = (
    r"^(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ](?P<time>[0-9]{2}:[0-9]{2})"
    r"(?:(?P<second>:[0-9]{2})(?P<fraction>\.[0-9]+)?)?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)

_MICROSECONDS = 7  # characters of a fraction of a second with six digits and its point

TRUE_WORDS, FALSE_WORDS = ("true", "yes", "t", "y", "1"), ("false", "no", "f", "n", "0")


@dataclass(frozen=True, slots=True)
class Inference:
    """The type of a column, and the values in it that must then count as missing."""

    type: ColumnType
    extra_na: tuple[str, ...] = ()


def infer_type(values: pl.Series) -> Inference:
    """Find the type of a column from its distinct ``values``.

    Text is a number, date, time or truth value only if all of it is. Codes with leading zeros stay text, and
    so do dates like 03/04/2020 when nothing in the column tells the day from the month. A column of numbers
    may hold markers such as ``NA`` or ``?``; these are given back as ``extra_na``.
    """
    if values.dtype != pl.String:
        return Inference(_type_of(values.dtype))
    present = use_safe_name(values).drop_nulls()
    if present.is_empty():
        return Inference("string")
    text = present.str.strip_chars()
    # Numbers first: only among them may markers of missing values stand.
    return _infer_number(present, text) or Inference(_infer_other(text))


def ordered_values(series: pl.Series) -> list[str] | None:
    """Return the categories in their stated order, or None where the type of ``series`` states none."""
    return series.dtype.categories.to_list() if isinstance(series.dtype, pl.Enum) else None


def parse_values(
    values: pl.Series, type: ColumnType, column: str, order: Sequence[str] | None = None
) -> pl.Series:
    """Turn the distinct values of a column into values that compare as ``type`` does.

    Parameters
    ----------
    values
        Text or typed values; nulls stay null.
    type
        What to read them as. Ordered values become their rank.
    column
        Its name, for the error.
    order
        The categories of an ordered column from first to last; by default the order that its type states.

    Raises
    ------
    InputError
        When some value is not of that type; names the first few.
    """
    if type not in _PARSERS and type != "ordered":
        raise InputError(unknown("type", type, [*_PARSERS, "ordered"]))
    plain = use_safe_name(values)
    parsed = _rank_ordered(plain, column, order) if type == "ordered" else _PARSERS[type](plain)
    bad = plain.filter(parsed.is_null() & plain.is_not_null())
    if len(bad):
        raise InputError(
            f"column '{column}' has values that are not {_EXPECTED[type]}: {quote(to_strings(bad), 5)}"
        )
    return parsed.alias(values.name)


_EXPECTED: dict[ColumnType, str] = {
    "integer": "integers",
    "float": "finite numbers",
    "date": "dates that can be read in one way only, all like 2020-12-31, 31.12.2020 or 12/31/2020",
    "datetime": "times like 2020-12-31T23:59:59, all or none with a time zone",
    "boolean": "true or false, yes or no",
    "ordered": "in the stated order",
    "string": "text",
}


def _type_of(dtype: pl.DataType) -> ColumnType:
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "float"
    # Times of day and durations have no type of their own here: they are told apart, not compared.
    named: dict[type[pl.DataType], ColumnType] = {
        pl.Boolean: "boolean",
        pl.Date: "date",
        pl.Datetime: "datetime",
        pl.Enum: "ordered",
    }
    return named.get(dtype.base_type(), "string")


def _infer_other(text: pl.Series) -> ColumnType:
    if _is_boolean(text):
        return "boolean"
    if len(_fitting_dates(text)) == 1:
        return "date"
    is_datetime = not _is_unlike(text, _DATETIME) and not _parse_datetimes(text).null_count()
    return "datetime" if is_datetime else "string"


def _infer_number(present: pl.Series, text: pl.Series) -> Inference | None:
    is_number = text.str.contains(NUMBER)
    others, numbers = present.filter(~is_number), text.filter(is_number)
    # Of distinct values: where most are markers, the column is not one of numbers.
    if 2 * len(others) > len(text) or not others.str.strip_chars().is_in(MISSING_MARKERS).all():
        return None
    if numbers.str.contains(LEADING_ZERO).any():
        return Inference("string")
    whole = numbers.str.contains(_INTEGER).all()
    if (_parse_integers(numbers) if whole else _parse_floats(numbers)).null_count():
        return Inference("string")
    return Inference("integer" if whole else "float", tuple(others.sort()))


def _is_boolean(text: pl.Series) -> bool:
    # A lone 'F' or 'N' is more often female or north than false, so letters must come in pairs.
    words = set(text.str.to_lowercase().unique())
    return words in ({"t", "f"}, {"y", "n"}) or words <= {"true", "false"} or words <= {"yes", "no"}


def _parse_integers(values: pl.Series) -> pl.Series:
    if not values.dtype.is_numeric():
        text = to_strings(values).str.strip_chars()
        values = text.set(~text.str.contains(_INTEGER), None)
    elif not values.dtype.is_integer():
        values = values.set(values != values.floor(), None)
    large = values.cast(pl.Int128, strict=False)
    # 64 bits where no value is lost by that.
    small = large.cast(pl.Int64, strict=False)
    return small if small.null_count() == large.null_count() else large


def _parse_floats(values: pl.Series) -> pl.Series:
    if not values.dtype.is_numeric():
        text = to_strings(values).str.strip_chars()
        values = text.set(~text.str.contains(NUMBER), None)
    numbers = values.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite(), None)


def _parse_dates(values: pl.Series) -> pl.Series:
    if values.dtype in (pl.Date, pl.Datetime):
        return values.cast(pl.Date)
    text = to_strings(values).str.strip_chars()
    fitting = _fitting_dates(text.drop_nulls())
    # Day or month first? Nothing is read then, and the error asks for dates that are clear.
    if len(fitting) > 1:
        return pl.Series([None] * len(text), dtype=pl.Date)
    # Where nothing fits, the error names what the nearest format cannot read. A time of day is cut off.
    readings = [_as_dates(text, format) for format in fitting or _DATES]
    return min((*readings, _parse_datetimes(text).dt.date()), key=pl.Series.null_count)


def _fitting_dates(text: pl.Series) -> list[str]:
    """Return the formats that read all of ``text``, one of those that read it as the same dates."""
    found: dict[str, pl.Series] = {}
    for format, pattern in _DATES.items():
        # The first value alone rules most formats out, at little cost.
        if _is_unlike(text, pattern) or _as_dates(text.head(1), format).null_count():
            continue
        read = _as_dates(text, format)
        if not read.null_count() and not any(read.equals(other) for other in found.values()):
            found[format] = read
    return list(found)


def _is_unlike(text: pl.Series, pattern: str) -> bool:
    """Whether already the first value does not fit: spares a column of text the search in all of it."""
    return len(text) > 0 and re.match(pattern, text[0]) is None


def _as_dates(text: pl.Series, format: str) -> pl.Series:
    return text.set(~text.str.contains(_DATES[format]), None).str.to_date(format, strict=False)


def _parse_datetimes(values: pl.Series) -> pl.Series:
    if values.dtype in (pl.Date, pl.Datetime):
        return values.cast(pl.Datetime("us")) if values.dtype == pl.Date else values
    parts = to_strings(values).str.strip_chars().str.extract_groups(_DATETIME).struct.unnest()
    # If one value has a zone, those without become null: the two cannot be compared.
    zoned = parts["zone"].null_count() < parts["day"].len() - parts["day"].null_count()
    filled = parts.with_columns(
        pl.col("time").fill_null("00:00"),
        pl.col("second").fill_null(":00"),
        pl.col("fraction").fill_null(".0"),
    )
    zone = pl.col("zone").str.replace("Z", "+00:00") if zoned else pl.lit("")
    full = filled.select(pl.concat_str("day", pl.lit("T"), "time", "second", "fraction", zone)).to_series()
    # Nanoseconds reach from 1677 to 2262 only, so they are used where there is something to tell apart.
    fine = (filled["fraction"].str.strip_chars_end("0").str.len_chars() > _MICROSECONDS).any()
    unit: Literal["ns", "us"] = "ns" if fine else "us"
    return full.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f" + "%z" * zoned, strict=False, time_unit=unit)


def _parse_booleans(values: pl.Series) -> pl.Series:
    if values.dtype == pl.Boolean:
        return values
    words = to_strings(values).str.strip_chars().str.to_lowercase()
    truth = dict.fromkeys(TRUE_WORDS, True) | dict.fromkeys(FALSE_WORDS, False)
    return words.replace_strict(truth, default=None, return_dtype=pl.Boolean)


_PARSERS: dict[ColumnType, Callable[[pl.Series], pl.Series]] = {
    "string": to_strings,
    "integer": _parse_integers,
    "float": _parse_floats,
    "date": _parse_dates,
    "datetime": _parse_datetimes,
    "boolean": _parse_booleans,
}


def _rank_ordered(values: pl.Series, column: str, order: Sequence[str] | None) -> pl.Series:
    stated = order if order is not None else ordered_values(values)
    if stated is None and (values.dtype.is_numeric() or values.dtype.is_temporal()):
        return values.rank("dense").cast(pl.Int64) - 1
    if stated is None:
        raise InputError(f"column '{column}' is ordered, but nothing states the order of its values")
    if len(set(stated)) != len(stated):
        raise InputError(f"the order of column '{column}' has a value twice: {quote(stated)}")
    ranks = dict(zip(stated, range(len(stated)), strict=True))
    return to_strings(values).replace_strict(ranks, default=None, return_dtype=pl.Int64)
