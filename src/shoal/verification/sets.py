"""The verifier for columns of sets: whom an attacker finds who knows some items of a person.

It reads the release alone, takes the cells apart by itself, and counts every choice of items; none is
estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, RecipeError, quote, unknown
from shoal.privacy import MODELS, Counts, KAnonymity, MaxRisk, Model, model_text, population_of
from shoal.privacy.groups import GroupAnonymity
from shoal.privacy.people import count_people, has_repeated_people
from shoal.support.parameters import name_of
from shoal.table import Column, Table, to_strings
from shoal.table.frames import use_safe_name
from shoal.verification.findings import JudgedRelease, judge_release
from shoal.verification.linked import count_fewest_people
from shoal.verification.outsider import number_rows
from shoal.verification.verifier import Verification, check_columns, judge_counts, row_classes, verify_table

Ints: TypeAlias = NDArray[np.int64]
Owners: TypeAlias = tuple[Ints | None, Ints | None]
"""The person of each row, and the group of that person, where these are counted."""

_NOTHING_KNOWN: Mapping[str, Column] = MappingProxyType({})
_NOTHING_ACCEPTED: Mapping[str, str] = MappingProxyType({})
_CLASS, _SETS = "\0class", "\0sets"  # no column has such a name


@dataclass(frozen=True, slots=True)
class KnownSets:
    """The columns of sets in a release, and what an attacker may know."""

    separators: Mapping[str, str]
    """By column, what stands between items."""
    knows: int | None
    """How many items of a person an attacker may know; None for the whole sets."""

    @property
    def told(self) -> str:
        """What an attacker may know, as options say it."""
        return "all" if self.knows is None else str(self.knows)


def verify_sets(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    sets: KnownSets,
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    owners: Owners = (None, None),
) -> Verification:
    """Check a release with columns of sets that has been read.

    Whoever knows all quasi-identifiers of a row and any choice of up to ``knows`` of its items must find as
    many people as the models say. A row is a person, unless ``owners`` say whose row each is, and of which
    group that person is.
    """
    if not models:
        raise RecipeError("no privacy goal: say what must hold, for example k = 5")
    check_set_models(models, sets.knows)
    _check_names(table, quasi, sensitive, sets.separators)
    class_of = row_classes(table, quasi) if quasi else np.zeros(table.rows, np.int64)
    row, item = number_items(table, sets.separators)
    if sets.knows is None:
        cells = [pl.Series(_CLASS, class_of), write_sets(row, item, table.rows).alias(_SETS)]
        frame = pl.DataFrame([*cells, *(use_safe_name(table.column(name)).alias(name) for name in sensitive)])
        # Without the path, so that nothing reads the file again.
        whole = replace(table, frame=frame, origin=replace(table.origin, path=None))
        return verify_table(whole, (_CLASS, _SETS), sensitive, models, columns, None, *owners)
    person, group = owners
    if group is not None:
        models = (*models, GroupAnonymity.from_goal(models))
    elif person is not None and not has_repeated_people(person):
        person = None
    least = max(model.least_size() for model in models)
    fewest, groups = (
        np.array([_count_fewest_owners(class_of, row, item, sets.knows, least, owner)])
        for owner in (person, group)
    )
    counts = Counts(
        fewest,
        {},
        rows_of=None if person is None else np.array([table.rows]),
        groups=None if group is None else groups,
    )
    found = judge_counts(counts, sensitive, models)
    people = None if person is None else int(np.count_nonzero(np.bincount(person)))
    return replace(found, rows=table.rows, classes=int(class_of.max(initial=-1)) + 1, people=people)


def _count_fewest_owners(
    class_of: Ints, row: Ints, item: Ints, knows: int, least: int, owner: Ints | None
) -> int:
    """The fewest people, or groups, whom anybody finds who knows a class and some items of a row in it."""
    if class_of.size == 0:
        return 0
    fewest = int((np.bincount(class_of) if owner is None else count_people(class_of, owner)).min())
    if row.size == 0:
        return fewest
    known = np.unique(class_of[row] * (int(item.max()) + 1) + item, return_inverse=True)[1]
    having, number = np.unique(row, return_inverse=True)
    whose = None if owner is None else owner[having]
    return min(fewest, count_fewest_people(known, number, knows, least, whose))


def verify_sets_whole(
    table: Table,
    roles: tuple[Sequence[str], Sequence[str]],
    models: Sequence[Model],
    sets: KnownSets,
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    accept: Mapping[str, str] = _NOTHING_ACCEPTED,
    owners: Owners = (None, None),
) -> Verification:
    """The same, and what all columns give away together; ``roles`` are quasi-identifiers and sensitive."""
    found = verify_sets(table, *roles, models, sets, columns, owners)
    judged = JudgedRelease(
        table.frame,
        *roles,
        models,
        columns,
        person=owners[0],
        sets=dict(sets.separators),
        knows=sets.told,
    )
    return replace(found, findings=judge_release(judged, accept))


def check_set_models(models: Sequence[Model], knows: int | None) -> None:
    """Refuse models that are about classes, where people who share some items are in no classes."""
    if population_of(models) is not None:
        raise RecipeError("models that compare with a population do not look at sets: take other models")
    for model in models:
        if model.is_about_some_columns:
            raise RecipeError(
                f"{model_text(model)} is about some of the columns, and whoever knows items of a set knows "
                "the other columns, too: take k for all columns"
            )
        if knows is not None and not isinstance(model, KAnonymity | MaxRisk):
            raise RecipeError(
                f"{name_of(MODELS, model)} is about classes, and people who share up to {knows} items are in "
                "no classes: take k or max-risk, or knows = all, where people with equal sets are a class"
            )


def number_items(table: Table, separators: Mapping[str, str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The items of all rows, each once: its row, and a number that equal items of a column share."""
    parts = []
    for place, (name, separator) in enumerate(separators.items()):
        text = to_strings(table.column(name)).fill_null("")
        rows = text.str.split(separator).to_frame("item").with_row_index("row").explode("item")
        item = rows["item"].str.strip_chars()
        parts.append(
            pl.DataFrame(
                {
                    "row": rows["row"].cast(pl.Int64),
                    "item": item,
                    "place": pl.repeat(place, len(item), eager=True),
                }
            ).filter(pl.col("item").is_not_null() & (pl.col("item") != ""))
        )
    items = pl.concat(parts).unique(maintain_order=True)
    if items.height == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    number = number_rows([items["place"], items["item"]])
    return items["row"].to_numpy(), np.unique(number, return_inverse=True)[1].astype(np.int64)


def write_sets(row: NDArray[np.int64], item: NDArray[np.int64], rows: int) -> pl.Series:
    """The items of each row as one text, equal where the sets are."""
    found = (
        pl.DataFrame({"row": row, "item": item})
        .sort("row", "item", maintain_order=True)
        .group_by("row", maintain_order=True)
        .agg(pl.col("item").cast(pl.String).str.join(" "))
    )
    cells = np.full(rows, "", object)
    cells[found["row"].to_numpy()] = found["item"].to_numpy()
    return pl.Series(cells.tolist(), dtype=pl.String)


def _check_names(table: Table, quasi: Sequence[str], sensitive: Sequence[str], sets: Iterable[str]) -> None:
    """Refuse roles that do not fit a table."""
    for name in sets:
        if name not in table.names:
            raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
    if both := [name for name in sets if name in (*quasi, *sensitive)]:
        raise RecipeError(f"{quote(both)} is named as a set and with another role: give each column one role")
    if quasi:
        check_columns(table, quasi, sensitive)
