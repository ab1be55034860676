"""Frames of pandas and pyarrow as frames of polars, whatever their columns hold.

A column that polars has no type for is read as one that it has, if no value is lost by that; else it is
refused by name. A column that is left out of the release is never refused: its values become texts, by which
rows of one person can still be told.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, quote
from shoal.table.arrowless import has_pyarrow, read_arrowless
from shoal.table.formats import import_optional

LeftOut = Callable[[Sequence[str]], Collection[str]]
"""Says which of the columns of a table are left out of its release."""

_DECIMAL = 38  # digits that polars has
_FARTHEST = 95_026_236  # days between 1970 and the last that polars can write
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_Failed = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    ValueError,  # also what pyarrow raises
    TypeError,
    ArithmeticError,  # also what decimal numbers raise that are signals
    NotImplementedError,
    AttributeError,
)


def leave_nothing_out(_: Sequence[str]) -> Collection[str]:
    """No column is left out."""
    return ()


def leave_everything_out(names: Sequence[str]) -> Collection[str]:
    """Every column may hold anything: who reads the table refuses those that matter."""
    return names


def holds_values(dtype: pl.DataType) -> bool:
    """Whether a type is one of single values."""
    plain = (pl.String, pl.Boolean, pl.Categorical, pl.Enum, pl.Null)
    return dtype.is_numeric() or dtype.is_temporal() or dtype in plain


def is_beyond_calendar(series: pl.Series) -> bool:
    """Whether there are days which polars cannot write, such as the infinite ones of some databases."""
    if series.dtype not in (pl.Date, pl.Datetime):
        return False
    unit = getattr(series.dtype, "time_unit", None)
    number = series.alias("").to_physical()  # polars takes a name like '^a$' for a pattern
    ends = pl.Series([number.min(), number.max()], dtype=pl.Int64)
    days = ends if unit is None else ends // _PER_DAY[unit]
    return not days.is_between(-_FARTHEST, _FARTHEST).fill_null(True).all()


def flatten_left_out(frame: pl.DataFrame, left_out: LeftOut) -> pl.DataFrame:
    """Columns that are left out and hold no single values, as texts."""
    names = set(left_out(frame.columns))
    odd = [name for name, dtype in frame.schema.items() if name in names and not holds_values(dtype)]
    far = [each.name for each in frame.get_columns() if each.name in names and is_beyond_calendar(each)]
    texts = [flatten_column(frame.get_column(name)) for name in odd]
    texts += [write_values(frame.get_column(name).alias("").to_physical(), name) for name in far]
    return frame.with_columns(texts) if texts else frame


def find_nested(frame: pl.DataFrame, names: LeftOut) -> dict[str, pl.Series]:
    """Those of some columns that hold lists, structures or bytes; categories in them as texts.

    A type of categories lists all that there are, also those of rows that are not released.
    """
    odd = [each for each in frame.get_columns() if each.dtype.is_nested() or each.dtype == pl.Binary]
    # Mostly there are none, and then nobody needs the names of all columns.
    among = set(names(frame.columns)) if odd else set()
    return {each.name: each.cast(state_nested_type(each.dtype)) for each in odd if each.name in among}


def state_nested_type(dtype: Any) -> Any:
    """A type of lists, structures or single values with texts in place of categories."""
    if isinstance(dtype, pl.List):
        return pl.List(state_nested_type(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.Array(state_nested_type(dtype.inner), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct({each.name: state_nested_type(each.dtype) for each in dtype.fields})
    return pl.String() if dtype in (pl.Categorical, pl.Enum) else dtype


def flatten_column(series: pl.Series) -> pl.Series:
    """Values of any kind as texts."""
    return write_values(_list_values(series.to_list, len(series)), series.name)


def write_values(values: Iterable[Any], name: str) -> pl.Series:
    """Values of any kind as texts."""
    # What no encoding has, such as half a character, is spelt out.
    texts = [
        None if value is None else str(value).encode(errors="backslashreplace").decode() for value in values
    ]
    return pl.Series(name, texts, pl.String)


def _list_values(listed: Callable[[], list[Any]], rows: int) -> list[Any]:
    try:
        return listed()
    except Exception:  # some types cannot be given as values of Python
        return [None] * rows


def refuse_type(source: str, column: str, kind: object) -> InputError:
    """That a column cannot be read."""
    return InputError(
        f"{source}: column '{column}' has the type {kind}, which cannot be read; convert it to text, numbers "
        "or dates, or leave it out as an identifier"
    )


def is_pandas_frame(source: object) -> bool:
    """Whether somebody gave a frame of pandas, which is loaded then."""
    return _is_instance(source, "pandas", "DataFrame")


def is_pyarrow_table(source: object) -> bool:
    """Whether somebody gave a table of pyarrow, which is loaded then."""
    return _is_instance(source, "pyarrow", "Table")


def find_stream(source: object) -> object | None:
    """What gives the rows of something as an Arrow stream, as relations of databases do; None if nothing."""
    if hasattr(source, "__arrow_c_stream__"):
        return source
    # Data sets of pyarrow give a reader instead.
    reader = getattr(source, "to_reader", None) or getattr(_call(source, "scanner"), "to_reader", None)
    return reader() if callable(reader) else None


def _call(source: object, method: str) -> object | None:
    found = getattr(source, method, None)
    return found() if callable(found) else None


def gather_stream(source: object) -> Any:
    """The rows of an Arrow stream: as a table of pyarrow if they come from there, and else as a polars frame.

    None of what is no stream.
    """
    stream = find_stream(source)
    if stream is None:
        return None
    with explain_failure("the Arrow stream"):
        if type(source).__module__.startswith("pyarrow"):
            return sys.modules["pyarrow"].table(stream)
        rows: Any = stream
        return pl.DataFrame(rows)


@contextmanager
def explain_failure(what: str) -> Iterator[None]:
    """Say in one paragraph what failed inside of somebody else's frame."""
    try:
        yield
    except InputError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # it may be a query, which fails in any way
        raise InputError(f"{what} cannot be read: {error}") from error


def _is_instance(source: object, package: str, name: str) -> bool:
    loaded = sys.modules.get(package)
    return loaded is not None and isinstance(source, getattr(loaded, name, ()))


# pandas


def from_pandas(frame: Any, names: Sequence[str], left_out: LeftOut) -> pl.DataFrame:
    """A pandas frame, whose columns are called ``names``."""
    hidden = set(left_out(names))
    return pl.DataFrame(
        [_named_column(frame.iloc[:, at], name, name in hidden) for at, name in enumerate(names)]
    )


def _named_column(column: Any, name: str, hidden: bool) -> pl.Series:
    try:
        found = read_column(column)
    except InputError:
        raise
    except _Failed as error:
        if not hidden:
            raise refuse_type("the pandas frame", name, _pandas_type(column)) from error
        return write_values(_list_values(column.to_list, len(column)), name)
    return found.alias(name)


def _pandas_type(column: Any) -> str:
    """The type of a column, and of what is in it."""
    if str(column.dtype) not in ("object", "category"):
        return str(column.dtype)
    values = column.cat.categories if hasattr(column, "cat") else column
    inside = dict.fromkeys(type(value).__name__ for value in values if value is not None)
    return f"{column.dtype} of {', '.join(inside)}"


def read_column(column: Any) -> pl.Series:
    """A column of pandas."""
    if hasattr(column, "cat"):
        codes = pl.Series(column.cat.codes.to_numpy(), dtype=pl.Int64)
        return read_categories(column.cat).gather(codes.replace(-1, None))
    if getattr(column.dtype, "tz", None) is not None and str(column.dt.tz).startswith(("UTC+", "UTC-")):
        column = column.dt.tz_convert("UTC")  # polars has the zones that have names
    if hasattr(column.dtype, "pyarrow_dtype"):
        return _read_arrow(column.array.__arrow_array__())
    return _read_objects(column)


def _read_objects(column: Any) -> pl.Series:
    series: Any = None
    read = pl.from_pandas if has_pyarrow() else read_arrowless
    if not _has_long_decimals(column):
        try:
            series = read(column)
        except _Failed:
            series = None
    # Objects of several types, periods, intervals: their text is what a reader of the release would see.
    if series is None or not (
        holds_values(series.dtype) or series.dtype.is_nested() or series.dtype == pl.Binary
    ):
        series = read(column.astype("string"))
    return pl.Series(series)


def _has_long_decimals(column: Any) -> bool:
    """Whether there are decimal numbers that together need more digits than polars has."""
    if str(column.dtype) != "object" or not has_pyarrow():
        return False
    pyarrow = import_optional("pyarrow", "shoal[arrow]")
    try:
        kind = pyarrow.array(column, from_pandas=True).type
    except _Failed:
        return False
    return bool(pyarrow.types.is_decimal256(kind))


def read_categories(of: Any) -> pl.Series:
    """The categories of a pandas column, or of its type, as values that polars can compare."""
    categories = of.categories.to_list()
    if of.ordered:
        labels = _label_categories(categories)
        return pl.Series(labels, dtype=pl.Enum(labels))
    try:
        return pl.Series(categories)
    except _Failed:
        return pl.Series(_label_categories(categories), dtype=pl.String)


def _label_categories(categories: list[Any]) -> list[str]:
    labels = [str(category) for category in categories]
    if len(set(labels)) < len(labels):
        twice = sorted({label for label in labels if labels.count(label) > 1})
        raise ValueError(f"categories that are the same as text: {quote(twice)}")
    return labels


def write_categories(series: pl.Series, dtype: Any) -> Any:
    """Values that are categories of a pandas type, as an array of that type."""
    pandas = import_optional("pandas", "pandas")
    known = read_categories(dtype)
    place = {value: at for at, value in enumerate(known.to_list())}
    codes: NDArray[np.int64] = np.array([place.get(value, -1) for value in series.to_list()], np.int64)
    return pandas.Categorical.from_codes(codes, dtype=dtype)


def write_integers(series: pl.Series) -> Any:
    """Whole numbers as a pandas array of a type that does not depend on whether some are missing."""
    pandas = import_optional("pandas", "pandas")
    missing = series.is_null().to_numpy()
    return pandas.arrays.IntegerArray(series.fill_null(0).to_numpy().copy(), missing)


def write_objects(series: pl.Series) -> Any:
    """Dates and other values that pandas has no type for, as objects."""
    pandas = import_optional("pandas", "pandas")
    values = np.empty(len(series), object)
    values[:] = series.to_list()
    return pandas.array(values, dtype=object)


# pyarrow


def from_pyarrow(table: Any, left_out: LeftOut) -> pl.DataFrame:
    """A table of pyarrow."""
    names = table.column_names
    hidden = set(left_out(names))
    columns = []
    for at, name in enumerate(names):
        column = table.column(at)
        try:
            found = _read_arrow(column)
        except _Failed as error:
            if name not in hidden:
                raise refuse_type("the pyarrow frame", name, column.type) from error
            found = write_values(_list_values(column.to_pylist, len(column)), name)
        columns.append(found.alias(name))
    return pl.DataFrame(columns)


def _read_arrow(column: Any) -> pl.Series:
    readable = _to_readable_type(column)
    series = pl.Series(pl.from_arrow(readable)).alias("")
    if getattr(readable.type, "ordered", False):
        return series.cast(pl.String).cast(pl.Enum(_list_dictionary(readable)))
    return series


def _to_readable_type(column: Any) -> Any:
    """The same values in a type that polars has; an error of pyarrow where there is none."""
    pyarrow = import_optional("pyarrow", "shoal[arrow]")
    kind, types = column.type, pyarrow.types
    if types.is_run_end_encoded(kind):
        compute = import_optional("pyarrow.compute", "shoal[arrow]")
        decoded = [compute.run_end_decode(chunk) for chunk in column.chunks]
        return _to_readable_type(pyarrow.chunked_array(decoded, kind.value_type))
    if types.is_decimal(kind) and (types.is_decimal256(kind) or kind.scale < 0):
        return column.cast(pyarrow.decimal128(_DECIMAL, max(kind.scale, 0)))
    if types.is_timestamp(kind) and kind.unit == "s":
        # polars has milliseconds; of seconds too far away it would silently make others
        return _to_readable_type(column.cast(pyarrow.timestamp("ms", kind.tz)))
    if types.is_timestamp(kind) and kind.tz is not None and kind.tz[0] in "+-":
        return column.cast(pyarrow.timestamp(kind.unit, "UTC"))  # polars has the zones that have names
    return column


def _list_dictionary(column: Any) -> list[str]:
    chunk = column.unify_dictionaries().chunk(0)
    return [str(value) for value in chunk.dictionary.to_pylist()]
