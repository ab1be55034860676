"""Data as scikit-learn's users have it, in and out: frames and arrays, one-hot columns, dtypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from shoal.codespace.encoding import EncodedColumn, encode_column
from shoal.errors import InputError, RecipeError, unknown
from shoal.table import Column, ColumnType, Table, parse_values, read_table
from shoal.table.formats import import_optional
from shoal.table.frames import use_safe_name

_SEEDS = 2**31 - 1  # seeds that are drawn are below this, so that every generator takes them
_MARKS = "_=.: -"  # between the name of a category and one of its values

Columns: TypeAlias = Sequence[str | int]
"""Columns by name, or by position."""


@dataclass(frozen=True, slots=True)
class OneHotGroup:
    """One-hot columns that are one category together."""

    name: str
    columns: tuple[str, ...]


def read_data(estimator: Any, data: Any, reset: bool) -> Table:
    """Check data as scikit-learn does and return it as a table; arrays get columns x0, x1, ...

    Missing values and strings are accepted, infinite numbers are not.
    """
    if isinstance(data, pl.LazyFrame):
        raise InputError("a lazy frame is not read twice: collect it first")
    if has_names(data):
        table = read_table(
            data, with_index=False
        )  # the index is how rows and targets are matched, no feature
        # Only names are checked: the array check would convert the frame.
        validate_data(estimator, data, reset=reset, skip_check_array=True)
        _check_finite(table)
        return table
    array = validate_data(estimator, data, reset=reset, dtype=None, ensure_all_finite="allow-nan")
    return read_table(pl.DataFrame([_make_series(f"x{at}", array[:, at]) for at in range(array.shape[1])]))


def choose_seed(random_state: Any) -> int:
    """The seed of a run: the number given, or one that is drawn where None or a generator is."""
    if (
        isinstance(random_state, int | np.integer)
        and not isinstance(random_state, bool)
        and random_state >= 0
    ):
        return int(random_state)
    if random_state is None:
        return int(np.random.default_rng().integers(_SEEDS))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(_SEEDS))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_SEEDS))
    raise RecipeError(
        f"random_state must be a whole number from 0 on, a generator of numpy or None, not {random_state!r}"
    )


def read_labels(labels: Any) -> NDArray[Any]:
    """The target as one value for each row."""
    values = np.asarray(labels)
    if values.ndim == 2 and values.shape[1] > 1:
        raise InputError(f"y has {values.shape[1]} columns, and one target is predicted: give one of them")
    return np.asarray(column_or_1d(values, warn=True))


def read_several_labels(labels: Any) -> list[NDArray[Any]]:
    """The targets, each as one value for each row; one, unless there are several columns."""
    values = np.asarray(labels)
    if values.ndim != 2 or values.shape[1] < 2:
        return [read_labels(labels)]
    if has_names(labels):  # columns may differ in their types
        return [np.asarray(labels[name]) for name in labels.columns]
    return [values[:, at] for at in range(values.shape[1])]


class LabelError(InputError, ValueError):
    """Labels that no estimator can be trained or scored by; scikit-learn's users expect a ValueError."""


def check_labels(labels: NDArray[Any], kind: str | None) -> None:
    """Refuse labels that are missing, and numbers for a classifier that tells classes apart."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise LabelError("y has missing or infinite values: leave these rows out")
    if kind == "classifier" and type_of_target(labels).startswith("continuous"):
        raise LabelError("y is continuous, and the estimator is a classifier: give classes, or a regressor")


def convert_types(table: Table, types: Mapping[str, ColumnType], na: Sequence[str] = ()) -> pl.DataFrame:
    """The columns in their types, as an estimator takes them: numbers, dates and times, the rest as text."""
    columns = []
    for name in table.names:
        column = encode_column(table.column(name), Column(name, types.get(name), na=tuple(na)))
        domain = column.domain
        values = domain.labels
        if domain.kind == "number":
            first = int(domain.missing is not None)
            known = domain.values.slice(first)
            known = parse_values(known, column.type, name, None) if known.dtype == pl.String else known
            # clear(1) is one null: the missing value has code 0 in front of the numbers.
            values = pl.concat([known.clear(first), known])
        columns.append(values.gather(column.codes).alias(name))
    return pl.DataFrame(columns)


def convert_to_floats(series: pl.Series, column: EncodedColumn) -> NDArray[np.float64]:
    """Numbers, dates and times as floats; NaN where they are missing."""
    value = (
        series if series.dtype != pl.String else parse_values(series, column.type, column.domain.name, None)
    )
    if value.dtype.is_temporal():
        value = value.cast(pl.Int64)
    return value.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def rebuild_data(
    data: Any,
    table: Table,
    columns: Mapping[str, pl.Series],
    rows: NDArray[np.int64] | None,
    real: bool = True,
) -> Any:
    """The data with some columns replaced, as the kind of thing that it was.

    Where the new values are ``real``, that is of the kind of the old ones, columns keep their dtypes.
    """
    frame = table.build_release(columns, rows, ())
    if table.origin.kind == "pandas":
        frame.index = data.index if rows is None else data.index.take(rows)
        for at, name in enumerate(table.names):
            dtype = data.dtypes.iloc[at]
            if real and name in columns:
                # An array, since pandas would align a series by its index.
                frame.isetitem(at, frame.iloc[:, at].astype(dtype).array)
        return frame
    if has_names(data):
        return frame
    values = frame.to_numpy()
    kind = np.asarray(data).dtype
    # Generalised values are text, and text beside numbers fits only an array of objects.
    return values.astype(kind) if all(dtype.is_numeric() for dtype in frame.dtypes) else values.astype(object)


class RowStack:
    """Rows with some columns replaced in many ways, all below each other, for a model to be asked at once."""

    def __init__(self, data: Any, table: Table, rows: NDArray[np.int64]) -> None:
        self.data, self.table, self.rows = data, table, rows
        self._dtypes = _list_dtypes(data, table)
        self._base = {name: use_safe_name(table.frame[name]).gather(rows) for name in table.names}

    def build(self, now: Mapping[str, pl.Series], changed: Sequence[Mapping[str, pl.Series]]) -> Any:
        """The rows once for each entry of ``changed``, whose columns take the place of those of ``now``."""
        base = {**self._base, **now}
        series = [each for columns in (base, *changed) for each in columns.values()]
        if self._dtypes is None or not all(each.dtype.is_numeric() for each in series):
            return self._rebuild(base, changed)
        is_polars = isinstance(self.data, pl.DataFrame)
        if is_polars and any(each.has_nulls() for each in series):  # which numpy cannot hold
            return self._rebuild(base, changed)
        names, many = self.table.names, np.tile(self.rows, len(changed))
        if is_polars:
            columns = _stack_columns(names, base, changed, self._dtypes)
            return pl.DataFrame(dict(zip(names, columns, strict=True)), schema=self.data.schema)
        # One array is many times as fast as one for each column, for those who make it and for models.
        whole = _stack_whole(names, base, changed, self._dtypes[0]) if len(set(self._dtypes)) == 1 else None
        if not hasattr(self.data, "iloc"):
            return whole
        pandas = import_optional("pandas", "pandas")
        given = (
            dict(enumerate(_stack_columns(names, base, changed, self._dtypes))) if whole is None else whole
        )
        frame = pandas.DataFrame(given, copy=False)
        frame.columns, frame.index = self.data.columns, self.data.index.take(many)
        return frame

    def _rebuild(self, base: Mapping[str, pl.Series], changed: Sequence[Mapping[str, pl.Series]]) -> Any:
        columns = {name: pl.concat([each.get(name, old) for each in changed]) for name, old in base.items()}
        return rebuild_data(self.data, self.table, columns, np.tile(self.rows, len(changed)))


def _stack_whole(
    names: Sequence[str],
    base: Mapping[str, pl.Series],
    changed: Sequence[Mapping[str, pl.Series]],
    dtype: Any,
) -> NDArray[Any]:
    """[rows, columns] of one dtype."""
    place = {name: at for at, name in enumerate(names)}
    rows = len(base[names[0]])
    stacked = np.empty((len(changed), rows, len(names)), dtype)
    stacked[:] = np.column_stack([base[name].to_numpy() for name in names])
    for part, columns in zip(stacked, changed, strict=True):
        for name, series in columns.items():
            part[:, place[name]] = series.to_numpy()
    return stacked.reshape(-1, len(names))


def _stack_columns(
    names: Sequence[str],
    base: Mapping[str, pl.Series],
    changed: Sequence[Mapping[str, pl.Series]],
    dtypes: Sequence[Any],
) -> list[NDArray[Any]]:
    """The columns, each of its own dtype."""
    stacked = {
        name: np.empty((len(changed), len(base[name])), dtype)
        for name, dtype in zip(names, dtypes, strict=True)
    }
    for name, values in stacked.items():
        values[:] = base[name].to_numpy()
    for at, columns in enumerate(changed):
        for name, series in columns.items():
            stacked[name][at] = series.to_numpy()
    return [values.ravel() for values in stacked.values()]


def _list_dtypes(data: Any, table: Table) -> list[Any] | None:
    """The dtype of each column, if all are numbers of numpy without gaps among whole ones; else None."""
    if hasattr(data, "iloc"):
        dtypes = [data.dtypes.iloc[at] for at in range(data.shape[1])]
    elif isinstance(data, pl.DataFrame):
        dtypes = [
            data.schema[name].is_numeric() and data[name].clear().to_numpy().dtype for name in data.columns
        ]
    elif has_names(data) or not isinstance(data, np.ndarray):
        return None
    else:
        dtypes = [data.dtype] * len(table.names)
    plain = all(isinstance(dtype, np.dtype) and dtype.kind in "fiu" for dtype in dtypes)
    return dtypes if plain else None


def has_names(data: Any) -> bool:
    """Whether data is a frame, whose columns have names."""
    return hasattr(data, "columns") or hasattr(data, "column_names")


def take_rows(data: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of data, as the kind of thing that it is."""
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    if hasattr(data, "column_names"):
        return data.take(rows)
    return data[rows] if isinstance(data, pl.DataFrame) else np.asarray(data)[rows]


def drop_column(data: Any, table: Table, name: str) -> Any:
    """The data without a column, as the kind of thing that it is."""
    at = table.names.index(name)
    if hasattr(data, "iloc"):
        return data.drop(columns=data.columns[at])
    if hasattr(data, "column_names"):
        return data.remove_column(at)
    return data.drop(name) if isinstance(data, pl.DataFrame) else np.delete(np.asarray(data), at, axis=1)


def find_person(table: Table, person: str | int | None) -> str | None:
    """The name of the column that says whose row it is, given by name or position."""
    return None if person is None else _resolve_name(table, "person", person)


def measure_deletion(kept: NDArray[np.bool_], person: NDArray[np.int64] | None) -> float:
    """Share of rows that are not kept; of people none of whose rows is, where people are counted."""
    if person is None:
        return float(1 - kept.mean())
    everybody = np.unique(person).size
    return 1 - np.unique(person[kept]).size / everybody


def column_names(table: Table, role: str, columns: Columns | None) -> tuple[str, ...]:
    """Columns by name, given by name or by position."""
    if isinstance(columns, str):
        raise RecipeError(f"{role} is a list of columns; write [{columns!r}] for one")
    return tuple(_resolve_name(table, role, column) for column in columns or ())


def _resolve_name(table: Table, role: str, column: str | int) -> str:
    # In Python True is an int, and would be column 1.
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if not 0 <= column < len(table.names):
            raise RecipeError(f"{role} has no column {column}: there are {len(table.names)}, from 0")
        return table.names[column]
    if column not in table.names:
        raise RecipeError(f"{role}: {unknown('column', str(column), table.names)}")
    return str(column)


def one_hot_groups(
    table: Table, among: Sequence[str], given: Sequence[Columns] | None
) -> tuple[OneHotGroup, ...]:
    """Groups of columns of which every row has exactly one 1: those given, or those recognised.

    Recognised are neighbours of 0 and 1 whose names begin alike, as ``sex_female`` and ``sex_male``; columns
    of an array have no such names, so that there being neighbours is enough.
    """
    if given is not None:
        groups = [column_names(table, "one_hot", columns) for columns in given]
        for columns in groups:
            if not (_count_ones(table, columns) == 1).all():
                raise InputError(f"one_hot: not every row has exactly one 1 in {', '.join(columns)}")
        return tuple(_build_group(table, columns) for columns in groups)
    found, at = [], 0
    while at < len(among):
        stop = _group_end(table, among, at)
        if stop - at > 1:
            found.append(_build_group(table, tuple(among[at:stop])))
        # A group that was found is passed over; otherwise the next column is tried as a start.
        at = max(stop, at + 1)
    return tuple(found)


def _group_end(table: Table, names: Sequence[str], start: int) -> int:
    """Where a group that begins at ``start`` ends; ``start`` if none does."""
    hot = np.zeros(table.rows, np.int64)
    for at in range(start, len(names)):
        series = use_safe_name(table.frame[names[at]])
        if not _is_binary(series) or (at > start and not _has_common_prefix(names[start], names[at])):
            return start
        hot += series.cast(pl.Int64).to_numpy()
        # Sums only grow: with two 1s in a row no longer group can be right either.
        if (hot > 1).any():
            return start
        # The shortest group that works, and never a single column: one of ones is a constant.
        if at > start and (hot == 1).all():
            return at + 1
    return start


def _has_common_prefix(first: str, second: str) -> bool:
    """Whether two names could be of one category: something common in front, up to a separator."""
    common = _find_common_prefix((first, second))
    return any(mark in common for mark in _MARKS) or (first[0] == "x" and first[1:].isdigit())


def _find_common_prefix(names: Sequence[str]) -> str:
    """What all names begin with."""
    # In sorted order all names lie between these two and share what they share.
    first, last = min(names), max(names)
    same = [a == b for a, b in zip(first, last, strict=False)]
    return first[: same.index(False) if False in same else len(same)]


def _is_binary(series: pl.Series) -> bool:
    if series.dtype == pl.Boolean:
        return not series.has_nulls()
    return series.dtype.is_numeric() and bool(((series == 0) | (series == 1)).fill_null(False).all())


def _count_ones(table: Table, columns: Sequence[str]) -> NDArray[np.int64]:
    """How many 1s every row has in some columns; -1 where there is something else."""
    if not all(_is_binary(use_safe_name(table.frame[name])) for name in columns):
        return np.full(table.rows, -1)
    return np.asarray(sum(use_safe_name(table.frame[name]).cast(pl.Int64).to_numpy() for name in columns))


def _build_group(table: Table, columns: tuple[str, ...]) -> OneHotGroup:
    """A group under a name that no column has; those of arrays begin alike, so the first is in it."""
    stem = _find_common_prefix(columns).rstrip(_MARKS)
    name = stem if len(stem) > 1 else f"{columns[0]}..{columns[-1]}"
    while name in table.names:
        name += "_"
    return OneHotGroup(name, columns)


def collapse_one_hot(table: Table, groups: Sequence[OneHotGroup]) -> Table:
    """The table with each one-hot group as one column: the name of the column that is 1, null if none is."""
    if not groups:
        return table
    frame = table.frame
    inside = {name for group in groups for name in group.columns}
    columns = [frame[name] for name in frame.columns if name not in inside]
    for group in groups:
        hot = np.stack(
            [use_safe_name(frame[name]).cast(pl.Float64).fill_null(0).to_numpy() for name in group.columns]
        )
        # Only rows that come after fit() can have none or several: fit() requires exactly one.
        number = np.where((hot == 1).sum(axis=0) == 1, hot.argmax(axis=0), len(group.columns))
        columns.append(pl.Series([*group.columns, None], dtype=pl.String).gather(number).alias(group.name))
    return replace(table, frame=pl.DataFrame(columns))


def expand_one_hot(
    table: Table, group: OneHotGroup, holds: NDArray[np.bool_], plain: bool
) -> dict[str, pl.Series]:
    """One-hot columns class by class, from which of them ``holds`` [columns, classes] a class may have.

    ``plain`` gives numbers as the table has them; else a column that may be 0 or 1 is written ``*``.
    """
    # Where a class allows one column only, that is surely 1; otherwise each may be 0 or 1.
    alone = holds.sum(axis=0) == 1
    released = {}
    for name, may in zip(group.columns, holds, strict=True):
        if plain:
            released[name] = pl.Series(may.astype(np.int8)).cast(table.frame.schema[name])
        else:
            text = np.where(~may, "0", np.where(alone, "1", "*"))
            released[name] = pl.Series(text.tolist(), dtype=pl.String)
    return released


def _check_finite(table: Table) -> None:
    for series in table.frame:
        if series.dtype.is_float() and use_safe_name(series).is_infinite().any():
            raise InputError(
                f"column '{series.name}' has infinite values; give finite ones, or NaN for missing"
            )


def _make_series(name: str, values: NDArray[Any]) -> pl.Series:
    if values.dtype != object:
        return pl.Series(name, values)
    values = values.copy()
    values[values != values] = None  # noqa: PLR0124  what is unlike itself is NaN
    return pl.Series(name, values.tolist(), strict=False)
