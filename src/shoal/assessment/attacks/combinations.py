"""Exact combinations of quasi-identifiers that released cells show.

A class is released as ``74``, ``female``, ``{01021, 21011}``. The set has the values that occur in the class,
so somebody is 74, female and from 01021, and somebody is 74, female and from 21011. The ends of a range occur
in the class, too. Where two cells of a row stand for several values, no combination is certain: for each of
them there is a class with the same cells in which nobody has it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.assessment.attacks.attack_data import AttackData, Ints, KnownColumn
from shoal.privacy.labels import split_range, split_set, split_side
from shoal.table import Column, Table, to_strings
from shoal.table.hierarchies import Hierarchy

# 34.0 and 34, 1.50 and 1.5 are the same number: frames and files spell them differently.
_ZEROS = (r"^([+-]?[0-9]+)\.0*$", r"^([+-]?[0-9]*\.[0-9]*[1-9])0+$")
_MEANING = (
    "anyone who knows such a combination knows that somebody with it is there: k hides which row is whose, "
    "not who is in the table"
)


@dataclass(frozen=True, slots=True)
class Combinations:
    """How many combinations of quasi-identifiers can be read off a release, and whose they are."""

    quasi: tuple[str, ...]
    shown: int
    """Distinct combinations that the cells show."""
    exact: int
    """Those of them that somebody of the original has."""
    alone: int
    """Those that exactly one person of the original has."""
    people: int
    """People of the original who have one of them."""
    of_people: int
    control: int | None = None
    """People of the control group who have one of them; None without a control group."""
    of_control: int | None = None

    @property
    def verdict(self) -> str:
        """The figures in plain words."""
        columns = ", ".join(self.quasi)
        if not self.exact:
            return f"no exact combination of {columns} can be read off the released cells"
        some = "combination" if self.exact == 1 else "combinations"
        told = [
            f"{self.exact:,} exact {some} of {columns} can be read off the released cells",
            f"{_format_part(self.people, self.of_people)} people of the original have one of them",
            f"people who are alone with theirs: {self.alone:,}",
        ]
        if self.control is not None and self.of_control is not None:
            told.append(
                f"{_format_part(self.control, self.of_control)} people of the control group have one, too"
            )
        if self.shown > self.exact:
            told.append(f"{self.shown - self.exact:,} more can be read off, but nobody has them")
        return "; ".join(told)

    @property
    def meaning(self) -> str:
        """What somebody learns from it; empty where nothing can be read off."""
        return _MEANING if self.exact else ""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        words = {"verdict": self.verdict, "meaning": self.meaning}
        return asdict(self) | {"quasi": list(self.quasi)} | words


def count_combinations(data: AttackData) -> Combinations:
    """Count the exact combinations that a release shows, in all rows of its tables."""
    shown = read_combinations(data)
    owners = _count_people(data, data.original).join(shown, on=shown.columns, nulls_equal=True)
    control = None
    if data.others is not None:
        having = _count_people(data, data.others).join(shown, on=shown.columns, nulls_equal=True)
        control = int(having["people"].sum())
    return Combinations(
        tuple(known.column.name for known in data.known),
        shown.height,
        owners.height,
        int((owners["people"] == 1).sum()),
        int(owners["people"].sum()),
        data.original.rows,
        control,
        None if data.others is None else data.others.rows,
    )


def read_combinations(data: AttackData) -> pl.DataFrame:
    """The distinct combinations that the cells show, one column of strings per quasi-identifier.

    They are those of classes in which every cell can be read, and at most one stands for several values.
    """
    read = [_read_labels(known, data.original) for known in data.known]
    # How many values the cell of each class shows; 0 where the label says nothing certain.
    width = np.stack([np.diff(start)[data.cell[:, j]] for j, (_, start) in enumerate(read)], axis=1)
    # With two open cells the values can be combined in several ways, and none of them is certain.
    sure = (width > 0).all(axis=1) & ((width > 1).sum(axis=1) <= 1)
    cell, width = data.cell[sure], width[sure]
    count = width.max(axis=1, initial=1)
    of = np.repeat(np.arange(count.size), count)
    place = np.arange(of.size) - np.repeat(np.cumsum(count) - count, count)
    # A cell of one value gives it to every combination: the minimum stays at its only place.
    columns = {
        str(j): values.gather(start[cell[of, j]] + np.minimum(place, width[of, j] - 1))
        for j, (values, start) in enumerate(read)
    }
    return pl.DataFrame(columns).unique(maintain_order=True)


def _read_labels(known: KnownColumn, original: Table) -> tuple[pl.Series, Ints]:
    """The values that the labels of a column show, laid end to end, and where those of each label start."""
    occurring = set(_spell_values(original, known.column).unique(maintain_order=True))
    read = [read_cell(label, known.column, occurring) for label in known.labels]
    values = pl.Series([value for values in read for value in values], dtype=pl.String)
    return values, np.cumsum([0, *map(len, read)])


def read_cell(label: str, column: Column, occurring: Collection[str]) -> tuple[str, ...]:
    """The values of which a released cell says that they occur in its class; none where it says nothing.

    Parameters
    ----------
    label
        What is released; empty for a missing value.
    column
        With its hierarchy, if there is one: a node says nothing of the values below it, unless it is one.
    occurring
        The values of the column in the original, which decide where a range is divided.
    """
    value = _spell_value(label, column)
    # Values of the original first: a value such as '1-2' looks like a range and is none.
    if not label or value in occurring:
        return (value,)
    below = _find_leaves(label, column.hierarchy)
    if below is not None:
        # A node above several values says that one of them occurs, but not which.
        return below if len(below) == 1 else ()
    listed = split_set(label)
    if listed is not None:
        return tuple(dict.fromkeys(_spell_value(each, column) for each in listed))
    sign, edge = split_side(label)
    if sign and (edge := _spell_value(edge, column)) in occurring:
        # A class up to an edge has it, and something else that is not said: `<=30`, but not `<30`.
        return (edge, edge) if "=" in sign else ()
    divided = [(_spell_value(low, column), _spell_value(high, column)) for low, high in split_range(label)]
    if not divided:
        return (value,)
    # A range over a hierarchy ends with nodes, which do not say what occurs below them.
    occur = (pair for pair in divided if column.hierarchy is None and all(end in occurring for end in pair))
    return next(occur, ())


def _spell_value(text: str, column: Column) -> str:
    """A value with numbers spelt in one way."""
    for zeros in _ZEROS if column.type in ("integer", "float") else ():
        text = re.sub(zeros, r"\1", text)
    return text


def _spell_values(table: Table, column: Column) -> pl.Series:
    """The values of a column with numbers spelt in one way, a missing value empty."""
    texts = to_strings(table.column(column.name)).fill_null("")
    for zeros in _ZEROS if column.type in ("integer", "float") else ():
        texts = texts.str.replace(zeros, "$1")
    return texts


def _find_leaves(label: str, tree: Hierarchy | None) -> tuple[str, ...] | None:
    """The values below a node; none for what stands for everything, None if it is no node."""
    if label == "*" or (tree is not None and label == tree.root):
        return ()
    for level, names in enumerate(tree.names if tree is not None else ()):
        if label in names:
            assert tree is not None
            inside = np.flatnonzero(tree.nodes[level] == names.index(label))
            return tuple(tree.leaves[leaf] for leaf in inside)
    return None


def _count_people(data: AttackData, table: Table) -> pl.DataFrame:
    """The distinct combinations of a table, and how many people have each."""
    columns = [_spell_values(table, known.column).alias(str(j)) for j, known in enumerate(data.known)]
    return pl.DataFrame(columns).group_by(pl.all(), maintain_order=True).agg(pl.len().alias("people"))


def _format_part(part: int, whole: int) -> str:
    share = part / whole if whole else 0.0
    return f"{part:,} ({100 * share:.1f} %) of {whole:,}"
