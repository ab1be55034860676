"""A table in memory, and the way back to the kind of frame it came as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import narwhals.dependencies as kinds
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, InternalError, quote, unknown
from shoal.table.formats import Compression, Format, needs

Kind = Literal["path", "pandas", "polars", "lazy", "pyarrow", "spark"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a table came from: all it takes to give the same kind of thing back.

    Parameters
    ----------
    kind
        The kind of source; a path is given back as a polars frame.
    native
        The caller's own frame, which is never modified; none for a path.
    path, format, compression
        Which file, and what it is.
    delimiter, encoding, bom, newline, header
        How delimited text was written.
    """

    kind: Kind
    native: Any = field(default=None, repr=False, compare=False)
    path: Path | None = None
    format: Format | None = None
    compression: Compression | None = None
    delimiter: str = ","
    encoding: str = "utf-8"
    bom: bool = False
    newline: str = "\n"
    header: bool = True

    def __str__(self) -> str:
        return str(self.path) if self.path is not None else f"the {self.kind} frame"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows and columns as they were read, with what counts as missing.

    Parameters
    ----------
    frame
        All columns. Those of delimited text hold the exact text of each cell; typed sources keep their types.
    origin
        Where the frame came from.
    na
        Markers that stand for a missing value. They stay in ``frame``: columns nobody touches pass through.
    """

    frame: pl.DataFrame
    origin: Origin
    na: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.frame.height

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return self.frame.columns

    def column(self, name: str) -> pl.Series:
        """Return a column with null for what is missing: markers, NaN, empty cells of delimited text."""
        if name not in self.frame.schema:
            raise InputError(unknown("column", name, self.names))
        series = unpatterned(self.frame.get_column(name))
        if series.dtype.is_float():
            series = series.fill_nan(None)
        markers = (*self.na, "") if self.origin.format == "text" else self.na
        return _without(series, markers) if markers else series

    def release(
        self, columns: Mapping[str, pl.Series], rows: NDArray[np.integer[Any]] | None, drop: Sequence[str]
    ) -> Any:
        """Return a frame of the kind that came in, with some columns replaced.

        Parameters
        ----------
        columns
            New columns by name, each with one value per released row; they take the place of the old ones.
        rows
            Positions of the rows to release, in that order; all of them when None.
        drop
            Names of the columns to leave out.
        """
        height = self.rows if rows is None else len(rows)
        if wrong := [name for name, series in columns.items() if len(series) != height]:
            raise InternalError(f"{height} rows are released, but not so many in {quote(wrong)}")
        if self.origin.kind == "pandas":
            return _release_pandas(self, columns, rows, drop)
        if self.origin.kind == "pyarrow":
            return _release_pyarrow(self, columns, rows, drop)
        chosen = self.frame if rows is None else self.frame[rows]
        # Column by column, since polars takes a name like '^a$' for a pattern.
        kept = [columns.get(old.name, old).alias(old.name) for old in chosen if old.name not in drop]
        return pl.LazyFrame(kept) if self.origin.kind == "lazy" else pl.DataFrame(kept)


def from_native(source: object) -> tuple[pl.DataFrame, Origin]:
    """Return a pandas, polars or pyarrow frame as a polars one."""
    kind = _kind(source)
    return _CONVERTERS[kind](source), Origin(kind, source)


def check_names(source: str, names: Sequence[str]) -> None:
    """Raise an error unless every column can be told by its name."""
    if not names:
        raise InputError(f"{source} has no columns")
    if "" in names:
        raise InputError(f"{source}: column {names.index('') + 1} has no name")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"{source}: more than one column is called {quote(twice)}; names must be unique")


def check_columns(source: str, frame: pl.DataFrame) -> None:
    """Raise an error unless ``frame`` has rows and all its columns hold single values."""
    check_schema(source, frame.schema)
    if frame.height == 0:
        raise InputError(f"{source} has columns but no rows")


def check_schema(source: str, schema: pl.Schema) -> None:
    """Raise an error unless all columns have names and hold single values."""
    check_names(source, schema.names())
    if bad := [name for name, dtype in schema.items() if not _holds_values(dtype)]:
        kind = schema[bad[0]]
        raise InputError(f"{source}: not plain values but {kind} in {quote(bad)}; flatten or leave that out")


def _holds_values(dtype: pl.DataType) -> bool:
    plain = (pl.String, pl.Boolean, pl.Categorical, pl.Enum, pl.Null)
    return dtype.is_numeric() or dtype.is_temporal() or dtype in plain


def _without(series: pl.Series, markers: Sequence[str]) -> pl.Series:
    """Return ``series`` with null in place of ``markers``, read as numbers where it holds numbers."""
    values: list[Any] = list(markers)
    seen = series
    if series.dtype.is_numeric():
        values = pl.Series(markers, dtype=pl.String).cast(series.dtype, strict=False).drop_nulls().to_list()
    elif series.dtype != pl.String:
        seen = as_text(series)
    found = seen.is_in(values).fill_null(False)
    return series.set(found, None) if found.any() else series


def unpatterned(series: pl.Series) -> pl.Series:
    """Return ``series`` under a harmless name: polars takes one like '^a$' for a pattern and fails."""
    return series.alias("") if series.name.startswith("^") else series


def as_text(series: pl.Series) -> pl.Series:
    """Return the values as text, one way for every type."""
    return series.dt.to_string("iso") if series.dtype == pl.Duration else series.cast(pl.String)


def _kind(source: object) -> Kind:
    if kinds.is_pandas_dataframe(source):
        return "pandas"
    if kinds.is_pyarrow_table(source):
        return "pyarrow"
    if isinstance(source, pl.LazyFrame):
        return "lazy"
    if isinstance(source, pl.DataFrame):
        return "polars"
    found = f"{type(source).__module__}.{type(source).__qualname__}"
    raise InputError(f"a table is a path or a pandas, polars or pyarrow frame, not a {found}")


def _from_lazy(frame: pl.LazyFrame) -> pl.DataFrame:
    try:
        return frame.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"the lazy frame cannot be collected: {error}") from error


def _from_pandas(frame: Any) -> pl.DataFrame:
    names = [str(name) for name in frame.columns]
    check_names("the pandas frame", names)
    needs("pyarrow", "pyarrow")
    return pl.DataFrame([_pandas_column(frame.iloc[:, at]).alias(name) for at, name in enumerate(names)])


def _pandas_column(column: Any) -> pl.Series:
    if hasattr(column, "cat"):
        return _categories(column.cat.categories.to_list(), column.cat.codes.to_numpy(), column.cat.ordered)
    try:
        series: Any = pl.from_pandas(column)
    except (ValueError, TypeError, OverflowError, NotImplementedError):
        series = None
    # Objects of several types, periods, intervals: their text is what a reader of the release would see.
    if series is None or not (
        _holds_values(series.dtype) or series.dtype.is_nested() or series.dtype == pl.Binary
    ):
        series = pl.from_pandas(column.astype("string"))
    return pl.Series(series)


def _categories(categories: list[Any], codes: NDArray[np.integer[Any]], ordered: bool) -> pl.Series:
    if ordered:
        labels = [str(category) for category in categories]
        values = pl.Series(labels, dtype=pl.Enum(labels))
    else:
        values = pl.Series(categories)
    return values.gather(pl.Series(codes, dtype=pl.Int64).replace(-1, None))


def _from_pyarrow(table: Any) -> pl.DataFrame:
    check_names("the pyarrow frame", table.column_names)
    frame = pl.DataFrame(pl.from_arrow(table))
    return frame.with_columns(
        frame.get_column(name).cast(pl.String).cast(pl.Enum(_dictionary(table.column(name))))
        for name in table.column_names
        if getattr(table.schema.field(name).type, "ordered", False)
    )


def _dictionary(column: Any) -> list[str]:
    chunk = column.unify_dictionaries().chunk(0)
    return [str(value) for value in chunk.dictionary.to_pylist()]


_CONVERTERS: dict[Kind, Callable[[Any], pl.DataFrame]] = {
    "pandas": _from_pandas,
    "pyarrow": _from_pyarrow,
    "lazy": _from_lazy,
    "polars": lambda frame: frame,
}


def _release_pandas(
    table: Table, columns: Mapping[str, pl.Series], rows: NDArray[np.integer[Any]] | None, drop: Sequence[str]
) -> Any:
    native, names = table.origin.native, table.names
    released = native.copy(deep=False) if rows is None else native.take(rows)
    for name, series in columns.items():
        at = names.index(name)
        dtype = native.dtypes.iloc[at]
        # Numbers, dates and truth values that stay what they are keep their pandas type, and missing ones
        # beside whole numbers do not turn these into floats. Text may be new text, so it has no type to keep.
        same = series.dtype == table.frame.schema[name] != pl.String and str(dtype) != "object"
        values = series.to_pandas(use_pyarrow_extension_array=same)
        # Bare values, since a Series would be aligned on an index that need not be unique.
        released.isetitem(at, (values.astype(dtype) if same else values).array)
    return released.iloc[:, [at for at, name in enumerate(names) if name not in drop]]


def _release_pyarrow(
    table: Table, columns: Mapping[str, pl.Series], rows: NDArray[np.integer[Any]] | None, drop: Sequence[str]
) -> Any:
    released = table.origin.native if rows is None else table.origin.native.take(rows)
    for name, series in columns.items():
        released = released.set_column(table.names.index(name), name, series.to_arrow())
    return released.drop_columns(list(drop)) if drop else released
