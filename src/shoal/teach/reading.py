"""Reading a small table for the lessons: any file or frame, or the people that ship with Shoal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, get_args

import polars as pl

from shoal.errors import InputError, quote, unknown
from shoal.table import ColumnType, Table, infer_type, parse_values, read_table, to_strings
from shoal.table.hierarchies import Hierarchy, read_hierarchies, read_source
from shoal.teach.people import JOBS, PEOPLE
from shoal.teach.tables import CellOption, TeachingTable

_MOST_ROWS = 100  # more, nobody watches; and what is counted of them has thousands of digits

LossName: TypeAlias = Literal["certainty", "distortion"]


class ColumnSettings(TypedDict, total=False):
    """What may be said about the columns of a table; every lesson takes it."""

    quasi: Sequence[str] | None
    sensitive: str | None
    hierarchies: Mapping[str, Any] | str | Path | None
    types: Mapping[str, ColumnType] | None
    weights: Mapping[str, float] | None
    loss: LossName
    rows: int | None


def read_teaching_table(
    source: Any = None,
    *,
    quasi: Sequence[str] | None = None,
    sensitive: str | None = None,
    hierarchies: Mapping[str, Any] | str | Path | None = None,
    types: Mapping[str, ColumnType] | None = None,
    weights: Mapping[str, float] | None = None,
    loss: LossName = "certainty",
    rows: int | None = None,
) -> TeachingTable:
    """Read a small table; without a ``source``, the people that ship with Shoal.

    Parameters
    ----------
    source : path, frame or TeachingTable, optional
    quasi : sequence of str, optional
        Its quasi-identifiers; by default every column but the sensitive one.
    sensitive : str, optional
    hierarchies : mapping or path, optional
        By column, or a file or folder that has them.
    types, weights : mapping, optional
        By column. Types are inferred by default, and a weight is 1.
    loss : {"certainty", "distortion"}
        `distortion` counts changed cells. `certainty` is 1 for a suppressed cell, (b - a)/(max - min) for a
        range, and the number of sibling groups over the number of distinct values for a group.
    rows : int, optional
        Only the first rows.
    """
    if isinstance(source, TeachingTable):
        return source
    if rows is not None and rows < 1:
        raise InputError(f"take 1 row at least, not {rows}")
    if loss not in get_args(LossName):
        raise InputError(unknown("loss of a lesson", str(loss), get_args(LossName)))
    shipped = source is None
    table = source if isinstance(source, Table) else read_table(pl.DataFrame(PEOPLE) if shipped else source)
    if min(table.rows, rows or table.rows) > _MOST_ROWS:
        raise InputError(
            f"the table has {table.rows:,} rows, and a lesson takes {_MOST_ROWS} at most: take the first "
            "ones with rows or --rows, or let 'shoal anonymize' have them all"
        )
    names = tuple(quasi or (name for name in table.names if name != sensitive))
    columns = {name: table.column(name)[:rows] for name in (*names, *([sensitive] if sensitive else []))}
    texts = {name: to_strings(series).fill_null("?").to_list() for name, series in columns.items()}
    trees = _read_trees({"job": JOBS} if shipped and hierarchies is None else hierarchies, names)
    if strange := set(weights or ()) - set(names):
        raise InputError(f"{quote(sorted(strange))} has a weight, but is no quasi-identifier")
    numbers = [_find_numbers(name, columns[name], trees, (types or {}).get(name)) for name in names]
    priced = [
        {
            value: list(_list_options(value, texts[name], places, trees.get(name)))
            for value in set(texts[name])
        }
        for name, places in zip(names, numbers, strict=True)
    ]
    prices = [Fraction(str((weights or {}).get(name, 1))) for name in names]

    def find_loss(column: int, loss_of_option: Fraction) -> Fraction:
        return prices[column] * (loss_of_option > 0 if loss == "distortion" else loss_of_option)

    every = [find_loss(j, cost) for j, by in enumerate(priced) for each in by.values() for _, _, cost in each]
    unit = lcm(*(cost.denominator for cost in every))
    people = tuple(zip(*(texts[name] for name in names), strict=True))
    options = tuple(
        tuple(
            tuple(
                CellOption(label, held, int(find_loss(j, cost) * unit))
                for label, held, cost in priced[j][value]
            )
            for j, value in enumerate(person)
        )
        for person in people
    )
    secret = tuple(texts[sensitive]) if sensitive else ()
    others = len(table.names) - len(names)
    return TeachingTable(names, people, options, unit, tuple(numbers), secret, sensitive or "", others)


def read_for_lesson(table: Any, shipped: ColumnSettings, columns: ColumnSettings) -> TeachingTable:
    """Read the table of a lesson; ``shipped`` says which part of the shipped people it takes without one."""
    return read_teaching_table(table, **({**shipped, **columns} if table is None else columns))


def _read_trees(given: Mapping[str, Any] | str | Path | None, names: Sequence[str]) -> dict[str, Hierarchy]:
    if isinstance(given, str | Path):
        return read_hierarchies(given, names)
    return {
        name: tree if isinstance(tree, Hierarchy) else read_source(tree, name)
        for name, tree in (given or {}).items()
    }


def _find_numbers(
    name: str, series: pl.Series, trees: Mapping[str, Hierarchy], type: ColumnType | None
) -> tuple[Fraction | None, ...] | None:
    """Where the values of a column stand on a line; a tree has no line, and neither have other categories."""
    found = type or infer_type(series.unique(maintain_order=True)).type
    if name in trees or found in ("string", "boolean"):
        return None
    places = parse_values(series, found, name).to_physical().to_list()
    return tuple(None if place is None else Fraction(str(place)) for place in places)


def _list_options(
    value: str, column: Sequence[str], places: Sequence[Fraction | None] | None, tree: Hierarchy | None
) -> Iterator[tuple[str, frozenset[str], Fraction]]:
    """Every way to write a value: its label, what it could stand for, and its certainty loss."""
    yield tree.root if tree else "*", frozenset(column), Fraction(1)
    yield value, frozenset([value]), Fraction(0)
    if tree is not None and value in tree.leaves:
        yield from _list_groups(value, column, tree)
    known = (
        {} if places is None else {p: text for text, p in zip(column, places, strict=True) if p is not None}
    )
    mine = next((place for place, text in known.items() if text == value), None)
    if mine is None:
        return
    line = sorted(known)
    # The full range says no more than the suppressed cell, unless that could also be a missing value.
    whole = (line[0], line[-1]) if places is not None and None not in places else None
    for low in (place for place in line if place <= mine):
        for high in (place for place in line if place >= mine and place > low):
            if (low, high) != whole:
                held = frozenset(known[place] for place in line if low <= place <= high)
                yield f"[{known[low]}-{known[high]}]", held, (high - low) / (line[-1] - line[0])


def _list_groups(
    value: str, column: Sequence[str], tree: Hierarchy
) -> Iterator[tuple[str, frozenset[str], Fraction]]:
    paths = {path[0]: path for path in tree.to_rows()}
    siblings = tree.sibling_counts()[:, tree.leaves.index(value)]
    # A group of the same values as the one below it is no other way to write them.
    known = [{value}, *([set(paths)] if set(column) <= set(paths) else [])]
    for level in range(1, tree.height):
        label = paths[value][level]
        leaves = {leaf for leaf, path in paths.items() if path[level] == label}
        if leaves not in known:
            known.append(leaves)
            held = frozenset(text for text in column if text in leaves)
            yield label, held, Fraction(int(siblings[level]), len(set(column)))
