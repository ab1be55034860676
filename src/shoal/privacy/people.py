"""People instead of rows: what a class counts where a person can have several rows.

This is the one definition. A class has as many people as there are different persons in its rows. Of the
people of a class, as many have a sensitive value as have it in any of their rows there. So a *unit*, which is
a person together with a value, counts once in a class, however many of its rows say so. Models get the counts
that follow from it here; the search has the units in its rules, and its kernels count each once as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.base import Model
from shoal.privacy.counts import SensitiveCounts, ValueScale
from shoal.privacy.distinct_l import DistinctL, PSensitive
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.risk import MaxRisk
from shoal.privacy.scale import fold_spelling
from shoal.table import Table, to_strings


def number_people(column: pl.Series) -> tuple[NDArray[np.int64], int]:
    """The number of the person of each row, in the order of their ids; and how many rows have none.

    A missing id is nobody else's: each such row is a person of its own. Spellings of one id are one person,
    as `P1` and `p1 `, and a marker such as `unknown` is one person, too: the fewer people, the more careful.
    """
    cells = column if column.dtype.is_integer() else to_strings(column)
    # Few ids have many rows: spellings are looked at once for each.
    distinct = cells.drop_nulls().unique(maintain_order=True)
    number = cells.replace_strict(distinct, number_ids(distinct), default=None, return_dtype=pl.Int64)
    known = number.is_not_null().to_numpy()
    found = number.fill_null(-1).to_numpy(writable=True)
    missing = int(np.count_nonzero(~known))
    found[~known] = np.arange(missing) + int(found.max(initial=-1)) + 1
    return found, missing


def number_ids(distinct: pl.Series) -> pl.Series:
    """The number of the person of each of the different ids of a table; null for an id of blanks only."""
    return fold_ids(distinct).rank("dense").cast(pl.Int64) - 1


def fold_ids(ids: pl.Series) -> pl.Series:
    """By what people are told apart, for each of some ids; null for an id of blanks only."""
    text = fold_spelling(to_strings(ids))
    return text.set(text == "", None)


def count_varying_people(
    columns: Sequence[NDArray[np.integer]], person: NDArray[np.integer]
) -> NDArray[np.int64]:
    """For how many people each column has several values; 0 for a static column, the same in all their rows.

    ``columns`` are codes, or any numbers that are equal where values are.
    """
    first = np.zeros(int(person.max(initial=-1)) + 1, np.int64)
    first[person[::-1]] = np.arange(person.size)[::-1]
    before = first[person]
    varying = [np.count_nonzero(np.bincount(person[column != column[before]])) for column in columns]
    return np.array(varying, np.int64)


def read_people(table: Table, name: str | None) -> NDArray[np.int64] | None:
    """The number of the person of each row of a table, by the column that says it; None without one."""
    return None if name is None else number_people(table.column(name))[0]


def number_units(person: NDArray[np.integer], value: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number the different pairs of a person and a value, of every row."""
    width = int(value.max(initial=0)) + 1
    return np.unique(person.astype(np.int64) * width + value, return_inverse=True)[1].astype(np.int64)


def list_counted(
    class_of: NDArray[np.integer], unit: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What counts: each class with each of its units once, in this order."""
    width = int(unit.max(initial=0)) + 1
    key = class_of.astype(np.int64) * width + unit
    key.sort()
    key = key[np.concatenate(([True], key[1:] != key[:-1]))] if key.size else key
    return np.divmod(key, width)


def count_people(
    class_of: NDArray[np.integer], person: NDArray[np.integer], classes: int = 0
) -> NDArray[np.int64]:
    """Number of different people in each class, given the class and the person of each row."""
    return np.bincount(list_counted(class_of, person)[0], minlength=classes)


def count_people_by_value(
    class_of: NDArray[np.integer],
    value: NDArray[np.integer],
    person: NDArray[np.integer],
    scale: ValueScale | None = None,
) -> SensitiveCounts:
    """How many people of each class have each value, and how many of the whole table do."""
    unit = number_units(person, value)
    value_of = np.empty(int(unit.max(initial=-1)) + 1, np.int64)
    value_of[unit] = value
    counted, units = list_counted(class_of, unit)
    found = SensitiveCounts.of_rows(counted, value_of[units], scale)
    # A person counts once in the whole as well, also one whose rows are in several classes.
    return replace(found, reference=np.bincount(value_of))


def list_countable_models(models: Iterable[Model]) -> Iterator[Model]:
    """What of a goal about people can be checked by counting rows, which are never fewer than people.

    Models that compare how many have a value are left out: rows tell nothing about them.
    """
    for model in models:
        if isinstance(model, AlphaK) and model.k > 1:
            yield KAnonymity(model.k)
        elif not model.compares_people and (not model.sensitive or isinstance(model, DistinctL | PSensitive)):
            yield model


def count_needed_people(models: Iterable[Model]) -> int | None:
    """How many different people of a class have to be known to judge it; None if it takes all of them."""
    needed = [model.least_people() if isinstance(model, KAnonymity | MaxRisk) else None for model in models]
    return None if None in needed else max((each for each in needed if each is not None), default=None)


def has_repeated_people(person: NDArray[np.integer]) -> bool:
    """Whether anybody has several rows; if nobody has, people are counted by counting rows."""
    return bool(np.bincount(person).max(initial=0) > 1)
