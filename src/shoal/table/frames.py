"""A table in memory, and the way back to the kind of frame it came as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, InternalError, quote, unknown
from shoal.table.arrowless import has_pyarrow, write_arrowless
from shoal.table.formats import Compression, Format, import_optional
from shoal.table.native import (
    LeftOut,
    from_pandas,
    from_pyarrow,
    gather_stream,
    holds_values,
    is_beyond_calendar,
    is_pandas_frame,
    is_pyarrow_table,
    leave_nothing_out,
    write_categories,
    write_integers,
    write_objects,
)
from shoal.table.rebuild import (
    build_pandas,
    build_pyarrow,
    copy_column,
    copy_columns,
    prune_pandas,
    split_pandas,
)

Kind = Literal["path", "pandas", "polars", "lazy", "pyarrow", "spark"]
_SHORT = 1 << 12  # rows up to which texts are compared one by one


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
    metadata
        What the footer of a Parquet file says besides its columns.
    delimiter, encoding, bom, newline, header
        How delimited text was written.
    is_stream
        Whether Arrow data is a stream, not a file.
    index
        Columns that were the index of a pandas frame. An index that only counts rows is not among them.
    attached
        What else came with the frame or the file, in words: it is released only if that is asked for.
    address
        What was named, if it was no file of this machine.
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
    is_stream: bool = False
    index: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()
    metadata: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    address: str | None = None

    def __str__(self) -> str:
        if self.address is not None:
            return self.address
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
    flattened
        Columns that held no single values and were read as texts, with their types. They can be left out, or
        released as they are, and nothing else.
    nested
        The values of those that can be released.
    """

    frame: pl.DataFrame
    origin: Origin
    na: tuple[str, ...] = ()
    flattened: Mapping[str, str] = field(default_factory=dict)
    nested: Mapping[str, pl.Series] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.frame.height

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return self.frame.columns

    def strip_values(self, *, keep_metadata: bool = False) -> Table:
        """The names of the columns and how the table was written, without any value, for what is pickled."""
        metadata = self.origin.metadata if keep_metadata else None
        origin = replace(self.origin, native=None, path=None, metadata=metadata)
        # Names only: even the type of a column may list values.
        return Table(pl.DataFrame(schema=dict.fromkeys(self.names, pl.Null)), origin, self.na)

    def check_single_values(self, names: Iterable[str]) -> None:
        """Raise an error unless columns that are to be counted hold single values."""
        if not self.flattened:
            return
        if bad := [name for name in names if name in self.flattened]:
            raise refuse_nested(str(self.origin), self.flattened[bad[0]], bad)

    def column(self, name: str) -> pl.Series:
        """Return a column with null for what is missing: markers, NaN, empty cells of delimited text."""
        try:  # not by the schema, which is made anew whenever it is asked for
            series = use_safe_name(self.frame.get_column(name))
        except pl.exceptions.ColumnNotFoundError:
            raise InputError(unknown("column", name, self.names)) from None
        if series.dtype.is_float():
            series = series.fill_nan(None)
        return _clear_markers(series, self._markers) if self._markers else series

    def gather_columns(self, names: Sequence[str], rows: NDArray[np.integer[Any]]) -> dict[str, pl.Series]:
        """Some rows of many columns, which are as `column` gives them."""
        place = {name: at for at, name in enumerate(self.names)}
        old = self.frame.get_columns()
        # Texts all at once, since to ask polars for each of thousands of columns takes longer.
        text = [name for name in names if old[place[name]].dtype == pl.String]
        found = dict(zip(text, self._clear_texts([old[place[name]] for name in text]), strict=True))
        columns = [found[name] if name in found else self.column(name) for name in names]
        return dict(zip(names, _gather_rows(columns, rows), strict=True))

    def _clear_texts(self, columns: Sequence[pl.Series]) -> list[pl.Series]:
        frame = _number_names(columns)
        found = frame.select(pl.all().is_in(self._markers).any())
        marked = [name for name in frame.columns if found.item(0, name)]
        return frame.with_columns(
            _clear_markers(frame.get_column(name), self._markers) for name in marked
        ).get_columns()

    @property
    def _markers(self) -> tuple[str, ...]:
        # Delimited text cannot tell an empty string from a missing value; typed files can.
        return (*self.na, "") if self.origin.format == "text" else self.na

    def build_release(
        self,
        columns: Mapping[str, pl.Series],
        rows: NDArray[np.integer[Any]] | None,
        drop: Sequence[str],
        *,
        keep_index: bool = False,
        keep_metadata: bool = False,
        own_types: bool = False,
    ) -> Any:
        """Build a frame of the kind that came in, of the released cells and nothing else.

        Parameters
        ----------
        columns
            New columns by name, each with one value per released row; they take the place of the old ones.
        rows
            Positions of the rows to release, in that order; all of them when None.
        drop
            Names of the columns to leave out.
        keep_index, keep_metadata
            Whether the index of a pandas frame is one again, and attributes and metadata go along.
        own_types
            Whether new columns have the types of the old ones, and so those of a pandas frame its types.
        """
        rows = np.arange(self.rows) if rows is None else rows
        if wrong := [name for name, series in columns.items() if len(series) != len(rows)]:
            raise InternalError(f"{len(rows)} rows are released, but not so many in {quote(wrong)}")
        left_out = set(drop)
        kept = [at for at, name in enumerate(self.names) if name not in left_out]
        if self.origin.kind == "pandas":
            # The columns of the index come first, so that a number tells which they are.
            index = sum(name not in left_out for name in self.origin.index) if keep_index else 0
            new = self._pandas_arrays(columns, own_types)
            native = self.origin.native
            frame = build_pandas(native, new, rows, kept, index=index, attributes=keep_metadata)
            if keep_index and not self.origin.index:  # it counts rows, but somebody wants it
                frame.index = native.index.take(rows)
            return frame
        place = {name: at for at, name in enumerate(self.names)}
        if self.origin.kind == "pyarrow":
            by_place = {place[name]: copy_column(series) for name, series in columns.items()}
            return build_pyarrow(self.origin.native, by_place, rows, kept, attributes=keep_metadata)
        frame = self._build_polars(columns, rows, kept)
        return frame.lazy() if self.origin.kind == "lazy" else frame

    def split_columns(self, pairs: Mapping[str, tuple[str, str]]) -> Table:
        """The table with some columns twice, side by side and under two names, for two values each."""
        if not pairs:
            return self
        names = [each for name in self.names for each in pairs.get(name, (name,))]
        places = [at for at, name in enumerate(self.names) for _ in pairs.get(name, (name,))]
        series = self.frame.get_columns()
        frame = pl.DataFrame([series[at].alias(name) for at, name in zip(places, names, strict=True)])
        native = self.origin.native
        if self.origin.kind == "pandas":
            native = split_pandas(native, [self.names.index(name) for name in pairs], places, names)
        elif self.origin.kind == "pyarrow":
            native = native.select(places).rename_columns(names)
        return replace(self, frame=frame, origin=replace(self.origin, native=native))

    def _build_polars(
        self, columns: Mapping[str, pl.Series], rows: NDArray[np.integer[Any]], kept: Sequence[int]
    ) -> pl.DataFrame:
        old = [self.nested.get(series.name, series) for series in self.frame.get_columns()]
        names = [old[at].name for at in kept]
        unchanged = [at for at in kept if old[at].name not in columns]
        taken = _gather_rows([old[at] for at in unchanged], rows)
        chosen = {**columns, **{old[at].name: each for at, each in zip(unchanged, taken, strict=True)}}
        copies = copy_columns([chosen[name] for name in names])
        return pl.DataFrame([copy.alias(name) for copy, name in zip(copies, names, strict=True)])

    def _pandas_arrays(self, columns: Mapping[str, pl.Series], own_types: bool) -> dict[int, Any]:
        """New columns as pandas arrays, by their places."""
        native, place = self.origin.native, {name: at for at, name in enumerate(self.names)}
        arrays = {}
        for name, series in columns.items():
            dtype = native.dtypes.iloc[place[name]]
            # Numbers, dates and truth values that stay what they are keep their pandas type, and missing
            # ones beside whole numbers do not turn these into floats. Text may be new text: it has no type.
            kept = own_types or series.dtype == self.frame.to_series(place[name]).dtype != pl.String
            if kept and str(dtype) == "object" and series.dtype != pl.String:
                arrays[place[name]] = write_objects(series)
                continue
            same = kept and str(dtype) != "object"
            if same and hasattr(dtype, "categories"):
                arrays[place[name]] = prune_pandas(write_categories(series, dtype))
                continue
            if not same and series.dtype.is_integer():
                arrays[place[name]] = write_integers(series)
                continue
            values = _as_pandas(copy_column(series.alias("")), same)
            # Bare values, since a Series would be aligned on an index that need not be unique.
            restored = _restore_type(values, native.iloc[:, place[name]]) if same else values
            arrays[place[name]] = prune_pandas(restored.array)
        return arrays


def _number_names(columns: Sequence[pl.Series]) -> pl.DataFrame:
    """A frame whose columns are called 0, 1, ...: polars takes a name like '^a$' for a pattern."""
    return pl.DataFrame([series.alias(str(at)) for at, series in enumerate(columns)])


def _gather_rows(columns: Sequence[pl.Series], rows: NDArray[np.integer[Any]]) -> list[pl.Series]:
    """Some rows of many columns: together, since one by one thousands of them take far longer."""
    # Mostly all rows are taken as they stand; in one piece, as they are when they are gathered.
    if not columns or (rows.size == len(columns[0]) and np.array_equal(rows, np.arange(rows.size))):
        return [series.rechunk() for series in columns]
    return _number_names(columns)[rows].get_columns()


def _as_pandas(series: pl.Series, same: bool) -> Any:
    if has_pyarrow():
        return series.to_pandas(use_pyarrow_extension_array=same)
    return write_arrowless(series, import_optional("pandas", "pandas"))


def _restore_type(values: Any, before: Any) -> Any:
    """A pandas column in the type that it had; as it is, where pyarrow can only read that type."""
    try:
        return values.astype(before.dtype)
    except NotImplementedError:
        return values
    except (TypeError, ValueError):  # intervals and the like, which were read as their texts
        known = {str(each): each for each in before.dropna().unique()}
        found = [None if each is None else known.get(str(each)) for each in values.array]
        return values if None in found else type(values)(found, dtype=before.dtype)


def from_native(
    source: object, *, with_index: bool = True, left_out: LeftOut = leave_nothing_out
) -> tuple[pl.DataFrame, Origin]:
    """Return a pandas, polars or pyarrow frame, or the rows of an Arrow stream, as a polars one.

    The index of a pandas frame becomes columns, unless it only counts rows or ``with_index`` is false.
    Columns that are ``left_out`` of the release may have any type.
    """
    kind = detect_kind(source)
    if kind is None:
        source = _gather_rows_of(source)
        kind = detect_kind(source) or "polars"
    index: tuple[str, ...] = ()
    if kind == "pandas" and with_index:
        source, index = _index_to_columns(source)
    frame = _CONVERTERS[kind](source, left_out)
    return frame, Origin(kind, source, index=index, attached=_list_attachments(kind, source))


def _index_to_columns(frame: Any) -> tuple[Any, tuple[str, ...]]:
    """A pandas frame whose index is columns, as it is data like any other; and their names."""
    index = frame.index
    # Whole numbers without a name count rows, also where rows were removed since.
    if index.nlevels == 1 and index.name is None and getattr(index.dtype, "kind", "") in "iu":
        return frame, ()
    unnamed = ["index"] if index.nlevels == 1 else [f"level_{at}" for at in range(index.nlevels)]
    names = [other if name is None else name for name, other in zip(index.names, unnamed, strict=True)]
    # Level by level in its own type: pandas would guess at objects anew, and fail on half a character.
    pandas = import_optional("pandas", "pandas")
    levels = (index.get_level_values(at) for at in range(index.nlevels))
    columns = [pandas.Series(level, dtype=level.dtype) for level in levels]
    whole = pandas.concat([*columns, frame.reset_index(drop=True)], axis=1)
    whole.columns = frame.iloc[:0].reset_index(names=names, allow_duplicates=True).columns
    whole.attrs = frame.attrs
    return whole, tuple(map(str, names))


def _list_attachments(kind: Kind, source: Any) -> tuple[str, ...]:
    """What a frame brings along besides its columns, in words."""
    if kind == "pandas" and source.attrs:
        return ("the attributes of the frame (attrs)",)
    if kind == "pyarrow" and (source.schema.metadata or any(field.metadata for field in source.schema)):
        return ("the metadata of the schema",)
    return ()


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
    check_calendar(source, frame)
    if frame.height == 0:
        raise InputError(f"{source} has columns but no rows")


def check_calendar(source: str, frame: pl.DataFrame) -> None:
    """Raise an error if there are days too far away to be written."""
    if far := [each.name for each in frame.get_columns() if is_beyond_calendar(each)]:
        raise InputError(
            f"{source}: days of the type {frame.get_column(far[0]).dtype} in {quote(far)} are outside of the "
            "calendar, as infinite ones are; make them missing, or leave the column out as an identifier"
        )


def check_schema(source: str, schema: pl.Schema) -> None:
    """Raise an error unless all columns have names and hold single values."""
    check_names(source, schema.names())
    if bad := [name for name, dtype in schema.items() if not holds_values(dtype)]:
        raise refuse_nested(source, schema[bad[0]], bad)


def refuse_nested(source: str, kind: object, columns: Sequence[str]) -> InputError:
    """That columns hold no single values."""
    return InputError(
        f"{source}: not plain values but {kind} in {quote(columns)}; flatten that, release it as it is as a "
        "plain column, or leave it out as an identifier"
    )


def _clear_markers(series: pl.Series, markers: Sequence[str]) -> pl.Series:
    """Return ``series`` with null in place of ``markers``, read as numbers where it holds numbers."""
    values: list[Any] = list(markers)
    seen = series
    if series.dtype == pl.String and len(series) <= _SHORT and set(markers).isdisjoint(series.to_list()):
        return series  # found out here, since to ask polars for each of thousands of columns takes longer
    if series.dtype.is_numeric():
        values = pl.Series(markers, dtype=pl.String).cast(series.dtype, strict=False).drop_nulls().to_list()
    elif series.dtype != pl.String:
        seen = to_strings(series)
    found = seen.is_in(values).fill_null(False)
    return series.set(found, None) if found.any() else series


def use_safe_name(series: pl.Series) -> pl.Series:
    """Return ``series`` under a harmless name: polars takes one like '^a$' for a pattern and fails."""
    return series.alias("") if series.name.startswith("^") else series


def to_strings(series: pl.Series) -> pl.Series:
    """Return the values as text, one way for every type; values that differ have texts that differ."""
    # Cast to text, a time would lose its fraction of a second.
    is_short = series.dtype in (pl.Duration, pl.Time)
    if not is_short:
        return series.cast(pl.String)
    return use_safe_name(series).dt.to_string("iso").alias(series.name)


def from_strings(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return the values of which `to_strings` made texts."""
    texts = use_safe_name(texts)
    try:
        if dtype == pl.Boolean:
            return texts == "true"
        if dtype == pl.Date:
            return texts.str.to_date("%Y-%m-%d")
        if dtype == pl.Time:
            return texts.str.to_time("%H:%M:%S%.f")
        if isinstance(dtype, pl.Datetime):
            return _read_times(texts, dtype)
        return texts.cast(dtype)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"released values cannot be written as {dtype}: {quote(texts.unique(maintain_order=True), 3)}"
        ) from error


def _read_times(texts: pl.Series, dtype: pl.Datetime) -> pl.Series:
    """Times of the type ``dtype``, of which each text with a zone says how far that is from UTC."""
    zone = "%:z" if dtype.time_zone else ""
    times = texts.str.to_datetime(f"%Y-%m-%d %H:%M:%S%.f{zone}", time_unit=dtype.time_unit)
    return times.dt.convert_time_zone(dtype.time_zone) if dtype.time_zone else times


def order_released(
    table: Table,
    classes: Mapping[str, pl.Series],
    class_of: NDArray[np.integer[Any]],
    rows: NDArray[np.int64],
    left_out: Sequence[str],
) -> NDArray[np.int64]:
    """The order of rows by their released values, in which their places in the table tell nothing.

    Quasi-identifiers come first, then the other columns; rows that are equal in all of them are the same.

    Parameters
    ----------
    classes : mapping by column
        The released quasi-identifiers, class by class.
    class_of, rows : int[released rows]
        The class of each released row, and its place in the table.
    """
    # There are fewer classes than rows, so these are sorted by the numbers of sorted classes.
    # Without quasi-identifiers, where there are sets alone, all rows are one class.
    rank = _rank_texts([*classes.values()])[class_of] if classes else np.zeros(class_of.size, np.int64)
    others = [name for name in table.names if name not in classes and name not in left_out]
    if not others:
        place: NDArray[np.int64] = rank * rank.size + np.arange(rank.size)
        place.sort()  # all different, so that one sort of numbers will do
        return place % np.int64(max(rank.size, 1))
    cells = [use_safe_name(table.frame[name]).gather(rows) for name in others]
    texts = [to_strings(series).alias(str(j)) for j, series in enumerate(cells)]
    keys = pl.DataFrame([pl.Series("rank", rank), *texts])
    return keys.select(pl.arg_sort_by(keys.columns, nulls_last=True)).to_series().to_numpy()


def _rank_texts(cells: Sequence[pl.Series]) -> NDArray[np.int64]:
    """The rank of each row of cells by their texts, from 0; equal rows have one rank."""
    # As strings, so that columns of all types can be sorted by.
    texts = pl.DataFrame([to_strings(series).alias(str(j)) for j, series in enumerate(cells)])
    order = texts.select(pl.arg_sort_by(texts.columns, nulls_last=True)).to_series().to_numpy()
    ordered = texts[order]
    new = ordered.select(pl.any_horizontal(pl.all().ne_missing(pl.all().shift(1)))).to_series().to_numpy()
    rank = np.empty(order.size, np.int64)
    rank[order] = np.cumsum(new)
    rank -= rank.min(initial=rank.size)  # whether the first of all is new makes no difference
    return rank


def _gather_rows_of(source: object) -> Any:
    """The rows of something that is no frame, but gives them as a stream."""
    if (found := gather_stream(source)) is not None:
        return found
    kind = f"{type(source).__module__}.{type(source).__qualname__}"
    raise InputError(
        f"a table is a path, an open file, an Arrow stream or a pandas, polars or pyarrow frame, not a {kind}"
    )


def detect_kind(source: object) -> Kind | None:
    """The kind of a frame; None for what is none."""
    if is_pandas_frame(source):
        return "pandas"
    if is_pyarrow_table(source):
        return "pyarrow"
    if isinstance(source, pl.LazyFrame):
        return "lazy"
    if isinstance(source, pl.DataFrame):
        return "polars"
    return None


def _from_lazy(frame: pl.LazyFrame) -> pl.DataFrame:
    try:
        return frame.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"the lazy frame cannot be collected: {error}") from error


def _from_pandas(frame: Any, left_out: LeftOut) -> pl.DataFrame:
    names = [str(name) for name in frame.columns]
    check_names("the pandas frame", names)
    return from_pandas(frame, names, left_out)


def _from_pyarrow(table: Any, left_out: LeftOut) -> pl.DataFrame:
    check_names("the pyarrow frame", table.column_names)
    return from_pyarrow(table, left_out)


_CONVERTERS: dict[Kind, Callable[[Any, LeftOut], pl.DataFrame]] = {
    "pandas": _from_pandas,
    "pyarrow": _from_pyarrow,
    "lazy": lambda frame, _: _from_lazy(frame),
    "polars": lambda frame, _: frame,
}


def convert_to_pandas(data: pl.DataFrame) -> Any:
    """A frame of pandas as its own reader would make it; that of polars where pandas is absent."""
    try:
        import pandas as pd  # noqa: PLC0415  optional
    except ModuleNotFoundError:
        return data
    columns = {
        series.name: series.to_list() if series.dtype == pl.String else series.to_numpy() for series in data
    }
    return pd.DataFrame(columns)
