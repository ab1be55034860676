"""Released columns, made anew from the values of the released rows.

A column that is filtered keeps more than it shows: strings of other rows in a shared buffer, categories that
no row has any more, an index, attributes. So a release is built from copies of its own cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.table.formats import import_optional
from shoal.table.native import state_nested_type

Rows = NDArray[np.integer[Any]]


def copy_column(series: pl.Series) -> pl.Series:
    """The same values in buffers of their own, with no category that does not occur."""
    return copy_columns([series])[0]


def copy_columns(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Copies of many columns, made together: one by one thousands of them take far longer."""
    # Under their positions: polars takes a name like '^a$' for a pattern.
    frame = pl.DataFrame([series.alias(str(at)) for at, series in enumerate(columns)])
    nested = [series for series in frame.get_columns() if series.dtype.is_nested()]
    single = frame.drop(series.name for series in nested)
    plain = single.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    views = plain.select(pl.col(pl.String, pl.Binary))
    others = plain.select(pl.exclude(pl.String, pl.Binary))
    copied = [*(others[np.arange(frame.height)] if others.width else ()), *map(_copy_nested, nested)]
    copied += _copy_views(views) if views.width else []
    copies = {copy.name: copy for copy in copied}
    return [
        _restore_categories(copies[str(at)], series.dtype).alias(series.name)
        for at, series in enumerate(columns)
    ]


def _copy_nested(series: pl.Series) -> pl.Series:
    """Lists or structures by way of Parquet, which has nothing below a missing value or beside a list."""
    memory = BytesIO()
    try:
        series.to_frame().write_parquet(memory, compression="uncompressed", statistics=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(
            f"values of the type {series.dtype} cannot be released as they are; flatten them, or leave the "
            f"column out as an identifier ({error})"
        ) from error
    memory.seek(0)
    return pl.read_parquet(memory).to_series().cast(series.dtype)


def _copy_views(frame: pl.DataFrame) -> list[pl.Series]:
    """Strings or bytes in one dense buffer of each column alone, where they were views into shared ones.

    By way of the oldest layout of Arrow, which has no views: it holds the bytes of these rows and no others.
    What stood in a cell before it became null stays below it, unless something else is put there.
    """
    memory = BytesIO()
    filled = frame.select(pl.col(pl.String).fill_null(""), pl.col(pl.Binary).fill_null(b""))
    filled.write_ipc(memory, compat_level=pl.CompatLevel.oldest())
    memory.seek(0)
    lost = {series.name: series.is_null() for series in frame if series.has_nulls()}
    return [
        series.set(lost[series.name], None) if series.name in lost else series
        for series in pl.read_ipc(memory)
    ]


def _restore_categories(text: pl.Series, kind: pl.DataType) -> pl.Series:
    """Copied texts in their type; an Enum has the categories that occur, in the order that was stated."""
    if not isinstance(kind, pl.Enum):
        return text.cast(pl.Categorical) if kind == pl.Categorical else text
    present = set(text.unique())
    return text.cast(pl.Enum([each for each in kind.categories if each in present]))


def build_pandas(
    native: Any, new: Mapping[int, Any], rows: Rows, kept: Sequence[int], *, index: int, attributes: bool
) -> Any:
    """A pandas frame of some columns and rows of ``native``.

    Parameters
    ----------
    new
        Arrays by position, which take the place of columns.
    kept
        Positions of the columns that are released.
    index
        How many of the released columns, from the first, become the index; a plain one counts rows.
    attributes
        Whether the attributes of the frame are asked for.
    """
    pandas = import_optional("pandas", "pandas")
    arrays = {at: new[at] if at in new else _copy_pandas(native.iloc[:, at], rows) for at in kept}
    # Under positions first: labels need not be unique nor strings.
    frame = pandas.DataFrame(arrays, index=pandas.RangeIndex(len(rows)), copy=False)
    frame.columns = _build_column_index(pandas, [native.columns[at] for at in kept])
    if index:
        frame = frame.set_index(list(frame.columns[:index]))
    if attributes:
        frame.attrs = dict(native.attrs)
    return frame


def split_pandas(native: Any, split: Sequence[int], places: Sequence[int], names: Sequence[str]) -> Any:
    """A pandas frame with columns at ``places`` under ``names``, those of ``split`` more than once.

    Whole numbers are split into such as can be missing, because the bounds of everything are.
    """
    twice = set(split)
    columns = {at: native.iloc[:, at] for at in set(places)}
    nullable = {
        at: column.astype(str(column.dtype).replace("int", "Int").replace("uI", "UI"))
        for at, column in columns.items()
        if at in twice and getattr(column.dtype, "kind", "") in "iu" and isinstance(column.dtype, np.dtype)
    }
    columns |= nullable
    pandas = import_optional("pandas", "pandas")
    frame = pandas.concat([columns[at] for at in places], axis=1)
    labels = [native.columns[at] if at not in twice else name for at, name in zip(places, names, strict=True)]
    frame.columns = _build_column_index(pandas, labels)
    frame.attrs = dict(native.attrs)
    return frame


def _build_column_index(pandas: Any, labels: list[Any]) -> Any:
    """Names of columns as an index of their own: a shared one would list the columns that are left out."""
    if labels and all(isinstance(label, tuple) for label in labels):
        return pandas.MultiIndex.from_tuples(labels)
    return pandas.Index(labels, tupleize_cols=False)


def _copy_pandas(column: Any, rows: Rows) -> Any:
    """The values of some rows, with the type of the column."""
    arrow, masked = getattr(column.dtype, "pyarrow_dtype", None), import_optional("pandas.arrays", "pandas")
    if isinstance(column.array, masked.IntegerArray | masked.FloatingArray | masked.BooleanArray):
        # A mask hides values, which stay below it: missing ones are filled instead of taken.
        return column.array.take(np.where(column.isna().to_numpy()[rows], -1, rows), allow_fill=True)
    if arrow is None:
        return prune_pandas(column.array.take(rows).copy())
    pyarrow = import_optional("pyarrow", "shoal[arrow]")
    where = pyarrow.array(rows, pyarrow.int64())
    return type(column.array)(_copy_arrow(pyarrow, column.array.__arrow_array__(), where))


def prune_pandas(values: Any) -> Any:
    """An array without categories that do not occur."""
    return values.remove_unused_categories() if hasattr(values, "remove_unused_categories") else values


def build_pyarrow(
    native: Any, new: Mapping[int, pl.Series], rows: Rows, kept: Sequence[int], *, attributes: bool
) -> Any:
    """A pyarrow table of some columns and rows of ``native``; ``new`` columns by position."""
    pyarrow = import_optional("pyarrow", "shoal[arrow]")
    where = pyarrow.array(rows, pyarrow.int64())
    columns, fields = [], []
    for at in kept:
        field = native.schema.field(at)
        column = new[at].to_arrow() if at in new else _copy_arrow(pyarrow, native.column(at), where)
        columns.append(column)
        fields.append(pyarrow.field(field.name, column.type, metadata=field.metadata if attributes else None))
    schema = pyarrow.schema(fields, metadata=native.schema.metadata if attributes else None)
    return pyarrow.Table.from_arrays(columns, schema=schema)


def _copy_arrow(pyarrow: Any, column: Any, rows: Any) -> Any:
    """Some rows of a column, with its type and in buffers of their own."""
    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        return _copy_dictionary(pyarrow, column, rows)
    # Runs are nested for pyarrow, and plain values for everybody else.
    if pyarrow.types.is_nested(kind) and not pyarrow.types.is_run_end_encoded(kind):
        return _copy_nested_arrow(pyarrow, column.take(rows))
    try:
        return column.take(rows)
    except pyarrow.ArrowNotImplementedError:  # views and runs cannot be taken from as they are
        taken = _plain_arrow(pyarrow, column).take(rows)
        if pyarrow.types.is_run_end_encoded(kind):
            compute = import_optional("pyarrow.compute", "shoal[arrow]")
            return compute.run_end_encode(taken, run_end_type=kind.run_end_type)
        return taken.cast(kind)


def _copy_nested_arrow(pyarrow: Any, taken: Any) -> Any:
    """Lists or structures in buffers of their own, with their type."""
    series = pl.Series("", pl.from_arrow(taken))
    plain = copy_column(series.cast(state_nested_type(series.dtype)))
    copied = plain.to_arrow(compat_level=pl.CompatLevel.oldest())
    try:
        return copied.cast(_strip_type(pyarrow, taken.type))
    except (pyarrow.ArrowNotImplementedError, pyarrow.ArrowInvalid) as error:
        raise InputError(
            f"values of the type {taken.type} cannot be released as they are; convert them, or leave the "
            "column out as an identifier"
        ) from error


def _strip_type(pyarrow: Any, kind: Any) -> Any:
    """A type of lists or structures without the metadata of its fields, which may list categories."""
    types = pyarrow.types

    def strip(field: Any) -> Any:
        return pyarrow.field(field.name, _strip_type(pyarrow, field.type), field.nullable)

    if types.is_struct(kind):
        return pyarrow.struct([strip(field) for field in kind])
    if types.is_map(kind):
        return pyarrow.map_(strip(kind.key_field), strip(kind.item_field), kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(strip(kind.value_field), kind.list_size)
    if types.is_large_list(kind):
        return pyarrow.large_list(strip(kind.value_field))
    return pyarrow.list_(strip(kind.value_field)) if types.is_list(kind) else kind


def _plain_arrow(pyarrow: Any, column: Any) -> Any:
    """A column whose type pyarrow cannot take rows from, in one from which it can."""
    kind = column.type
    if pyarrow.types.is_run_end_encoded(kind):
        compute = import_optional("pyarrow.compute", "shoal[arrow]")
        decoded = [compute.run_end_decode(chunk) for chunk in column.chunks]
        return pyarrow.chunked_array(decoded, kind.value_type)
    is_binary = pyarrow.types.is_binary_view(kind)
    return column.cast(pyarrow.large_binary() if is_binary else pyarrow.large_string())


def _copy_dictionary(pyarrow: Any, column: Any, rows: Any) -> Any:
    """Some rows of a dictionary column, with the entries that they have, in the order of the dictionary."""
    taken = column.unify_dictionaries().combine_chunks().take(rows)
    array = taken.combine_chunks() if hasattr(taken, "combine_chunks") else taken
    missing = array.indices.is_null().to_numpy(zero_copy_only=False)
    # Any code for a missing value: the mask hides it, and it is not counted as used.
    code = array.indices.fill_null(0).to_numpy(zero_copy_only=False)
    used = np.unique(code[~missing])
    place = pyarrow.array(np.searchsorted(used, code), column.type.index_type, mask=missing)
    entries = array.dictionary.take(pyarrow.array(used, pyarrow.int64()))
    return pyarrow.DictionaryArray.from_arrays(place, entries, ordered=column.type.ordered)
