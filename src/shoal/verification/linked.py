"""The verifier for linked releases: whom an attacker finds who knows some rows of a person.

It reads the release alone: the pseudonyms say which rows are of one person, and the written cells which rows
are equal. Every choice of rows is counted, none is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import GoalNotMet, RecipeError, quote
from shoal.privacy import MODELS, Counts, KAnonymity, MaxRisk, Model, model_text, population_of
from shoal.privacy.groups import GroupAnonymity
from shoal.privacy.people import count_people, count_varying_people, has_repeated_people
from shoal.support.parameters import name_of
from shoal.table import Column, Table
from shoal.table.frames import use_safe_name
from shoal.verification.findings import JudgedRelease, judge_release
from shoal.verification.outsider import number_cells
from shoal.verification.verifier import (
    Verification,
    check_columns,
    count_values_of_people,
    judge_counts,
    row_classes,
    verify_table,
)

_NOTHING_KNOWN: Mapping[str, Column] = MappingProxyType({})
_NOTHING_ACCEPTED: Mapping[str, str] = MappingProxyType({})
_LARGEST = 1 << 22  # choices of rows that are counted at a time, unless they begin with the same rows


@dataclass(frozen=True, slots=True, eq=False)
class LinkedRows:
    """Whose row each is in a release that says it, and what an attacker may know."""

    person: NDArray[np.int64]
    """[rows] the person of each row."""
    knows: int | None
    """How many rows of a person an attacker may know; None for all of them."""
    static: tuple[str, ...] = ()
    """Columns that an attacker knows to be the same in all rows of a person; they have to stay so."""
    group: NDArray[np.int64] | None = None
    """[rows] the group of each row's person, where those who are found have to be of as many groups."""

    def __post_init__(self) -> None:
        # Without gaps, which people leave none of whose rows are here.
        number = np.unique(self.person, return_inverse=True)[1].astype(np.int64)
        object.__setattr__(self, "person", number)

    @property
    def told(self) -> str:
        """What an attacker may know, as options say it."""
        return "all" if self.knows is None else str(self.knows)


def verify_linked(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    linked: LinkedRows,
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
) -> Verification:
    """Check a linked release that has been read: every choice of rows that may be known leads to k people."""
    if not has_repeated_people(linked.person):  # with one row each there is nothing to choose
        owners = (None, linked.person, linked.group) if linked.group is not None else ()
        return verify_table(table, quasi, sensitive, models, columns, *owners)
    if not models:
        raise RecipeError("no privacy goal: say what must hold, for example k = 5")
    check_linked_models(models, linked.knows)
    models = add_groups(models, linked)
    check_columns(table, quasi, sensitive)
    _check_static_columns(table, linked)
    class_of = row_classes(table, quasi)
    if linked.knows is None:
        found = _judge_histories(table, sensitive, models, linked, columns, class_of)
    else:
        counts = count_linked_people(class_of, linked, max(model.least_size() for model in models))
        found = replace(judge_counts(counts, (), models), rows=table.rows, classes=int(class_of.max()) + 1)
    return replace(found, people=np.unique(linked.person).size)


def add_groups(models: Sequence[Model], linked: LinkedRows) -> tuple[Model, ...]:
    """The goal, and as many groups as it asks for people where groups are counted."""
    return tuple(models) if linked.group is None else (*models, GroupAnonymity.from_goal(models))


def _judge_histories(
    table: Table,
    sensitive: Sequence[str],
    models: Sequence[Model],
    linked: LinkedRows,
    columns: Mapping[str, Column],
    class_of: NDArray[np.int64],
) -> Verification:
    """Judge people with the same released rows by the values that they have in any row.

    And people with an equal row by the values in these rows: who knows a person's rows knows each of them.
    """
    person = linked.person
    counts = count_linked_people(class_of, linked)
    group = number_histories(class_of, person)[person]
    by_group, by_row = {}, {}
    for name in sensitive:
        known = columns.get(name, Column(name))
        by_group[name] = count_values_of_people(table.column(name), known, group, person)
        by_row[name] = count_values_of_people(table.column(name), known, class_of, person)
    rows = Counts(
        count_people(class_of, person),
        by_row,
        rows_of=np.bincount(class_of),
        groups=None if linked.group is None else count_people(class_of, linked.group),
    )
    found = judge_counts(replace(counts, sensitive=by_group), sensitive, models)
    beside = judge_counts(rows, sensitive, models)
    # The verdict that is worse is the one to tell.
    pairs = zip(found.models, beside.models, strict=True)
    worse = tuple(one if not one.holds or other.holds else other for one, other in pairs)
    return replace(found, holds=found.holds and beside.holds, models=worse)


def verify_linked_whole(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    linked: LinkedRows,
    pseudonym: str,
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    accept: Mapping[str, str] = _NOTHING_ACCEPTED,
) -> Verification:
    """The same, and what all columns but the pseudonym give away together."""
    found = verify_linked(table, quasi, sensitive, models, linked, columns)
    frame = table.frame.drop(pseudonym)
    judged = JudgedRelease(frame, quasi, sensitive, models, columns, person=linked.person, knows=linked.told)
    return replace(found, findings=judge_release(judged, accept))


def check_linked_models(models: Sequence[Model], knows: int | None) -> None:
    """Refuse models that nobody can keep, or count, where rows are linked."""
    if population_of(models) is not None:
        raise RecipeError(
            "models that compare with a population count people by one row, and with pseudonyms several rows "
            "of a person are known to be of one: leave out the pseudonym, or take other models"
        )
    for model in models:
        if model.is_about_some_columns:
            raise RecipeError(
                f"{model_text(model)} is about some of the columns, and with pseudonyms whoever finds a row "
                "sees all rows of its person: leave out the pseudonym, or take k for all columns"
            )
        if model.sensitive and knows is not None:
            raise RecipeError(
                f"{name_of(MODELS, model)} can be kept with pseudonyms only if knows is 'all', not {knows}: "
                "whoever finds a person's row sees the sensitive values of all rows of that person. Ask for "
                "knows = all, or leave out the pseudonym or the model"
            )
        if knows is not None and knows > 1 and not isinstance(model, KAnonymity | MaxRisk):
            raise RecipeError(
                f"{name_of(MODELS, model)} is about classes, and with knows = {knows} the people whom an "
                "attacker finds are in no classes: take k or max-risk, or knows = 1 or all"
            )


def count_linked_people(class_of: NDArray[np.int64], linked: LinkedRows, least: int = 0) -> Counts:
    """The people who cannot be told apart by what an attacker may know.

    For some known rows, that is the fewest people whom any choice of them leads to. Once they are fewer than
    ``least``, no further choices are counted.
    """
    person, group = linked.person, linked.group
    if linked.knows == 1:
        homes = None if group is None else count_people(class_of, group)
        return Counts(count_people(class_of, person), {}, rows_of=np.bincount(class_of), groups=homes)
    if linked.knows is None:
        history = number_histories(class_of, person)
        homes = None if group is None else count_people(history[person], group)
        return Counts(np.bincount(history), {}, rows_of=np.bincount(history[person]), groups=homes)
    fewest, homes = np.array([count_fewest_people(class_of, person, linked.knows, least)]), None
    if group is not None:
        owner = np.empty(int(person.max()) + 1, np.int64)
        owner[person] = group
        homes = np.array([count_fewest_people(class_of, person, linked.knows, least, owner)])
    return Counts(fewest, {}, rows_of=np.array([class_of.size]), groups=homes)


def number_histories(class_of: NDArray[np.int64], person: NDArray[np.int64]) -> NDArray[np.int64]:
    """[people] number the people so that only those with the same released rows share a number."""
    rows = pl.DataFrame({"person": person, "row": class_of}).sort("person", "row", maintain_order=True)
    histories = rows.group_by("person", maintain_order=True).agg(pl.col("row").cast(pl.String).str.join(" "))
    return histories["row"].rank("dense").to_numpy().astype(np.int64) - 1


def count_fewest_people(
    class_of: NDArray[np.int64],
    person: NDArray[np.int64],
    knows: int,
    least: int = 0,
    owner: NDArray[np.int64] | None = None,
) -> int:
    """The fewest people who have any choice of up to ``knows`` rows that somebody has.

    Where an ``owner`` has several of what is a person here, owners are counted.

    Choices are made row by row, from those that come first in an order of rows: so no choice is made twice,
    and equal ones, of all people, are counted together. A choice that begins another is made by at least as
    many people, so that only the longest would have to be counted; shorter ones are looked at to stop early.
    """
    items = (
        pl.DataFrame({"person": person, "row": class_of})
        .group_by("person", "row", maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("copies"))
    )
    width = int(class_of.max()) + 1
    begun = items.select(
        "person", pl.col("row").alias("choice"), pl.col("row").alias("last"), pl.lit(1, pl.Int64).alias("run")
    )
    fewest = _count_fewest_owners(begun, owner)
    waiting = [(1, begun)]
    while waiting and fewest >= least:
        length, begun = waiting.pop()
        if length == knows:
            continue
        parts = _divide_choices(begun, items)
        if len(parts) > 1:
            waiting += [(length, part) for part in parts]
            continue
        longer = _extend_choices(begun, items, width)
        if longer.height:
            fewest = min(fewest, _count_fewest_owners(longer, owner))
            waiting.append((length + 1, longer))
    return fewest


def _count_fewest_owners(begun: pl.DataFrame, owner: NDArray[np.int64] | None) -> int:
    """Of all choices, the fewest who make one."""
    choice = begun["choice"].to_numpy()
    if owner is None:  # every person makes a choice once, so that choices are people
        return int(np.bincount(choice).min())
    return int(count_people(choice, owner[begun["person"].to_numpy()]).min())


def _extend_choices(begun: pl.DataFrame, items: pl.DataFrame, width: int) -> pl.DataFrame:
    """Every choice with one more row of the same person, not before the last one in the order of rows."""
    pairs = begun.join(items, on="person").filter(
        (pl.col("row") > pl.col("last"))
        | ((pl.col("row") == pl.col("last")) & (pl.col("copies") > pl.col("run")))
    )
    again = pl.col("row") == pl.col("last")
    return pairs.select(
        "person",
        (pl.col("choice") * width + pl.col("row")).rank("dense").cast(pl.Int64).sub(1).alias("choice"),
        pl.col("row").alias("last"),
        pl.when(again).then(pl.col("run") + 1).otherwise(1).alias("run"),
    )


def _divide_choices(begun: pl.DataFrame, items: pl.DataFrame) -> list[pl.DataFrame]:
    """Choices in two parts, where one more row would make too many of them; equal ones stay together."""
    rows = items.group_by("person", maintain_order=True).agg(pl.len().alias("rows"))
    ahead = int(begun.join(rows, on="person", how="left")["rows"].sum())
    choice = begun["choice"]
    if ahead <= _LARGEST or choice.n_unique() < 2:
        return [begun]
    middle = int(choice.sort()[len(choice) // 2])
    middle = middle if bool((choice < middle).any()) else middle + 1
    return [_renumber(begun.filter(choice < middle)), _renumber(begun.filter(choice >= middle))]


def _renumber(begun: pl.DataFrame) -> pl.DataFrame:
    return begun.with_columns(pl.col("choice").rank("dense").cast(pl.Int64) - 1)


def _check_static_columns(table: Table, linked: LinkedRows) -> None:
    """Refuse a release in which a static column is not the same in all rows of a person.

    Who knows the value of the person could look into every row of it, and so would find fewer people than any
    choice of rows.
    """
    cells = [number_cells(use_safe_name(table.frame[name]))[0] for name in linked.static]
    varying = count_varying_people(cells, linked.person)
    if wrong := [name for name, people in zip(linked.static, varying, strict=True) if people]:
        raise GoalNotMet(
            f"the goal was not met: {quote(wrong)} must be the same in all rows of a person, and in the "
            f"release is not for {int(varying.max())} people"
        )
