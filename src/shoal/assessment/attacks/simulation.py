"""Attack a release: all attacks, one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.assessment.attacks.attack_data import AttackData
from shoal.assessment.attacks.combinations import Combinations, count_combinations
from shoal.assessment.attacks.kinds import ATTACKS, COUNT_ROWS, SimulatedAttacker
from shoal.assessment.attacks.outcome import Outcome
from shoal.assessment.attacks.people import (
    KnownRowsAttack,
    attack_people,
    check_people_apart,
    describe_known_rows_attack,
)
from shoal.engines import safepub
from shoal.engines.api import Hierarchies, known_columns, name_events
from shoal.engines.memory import run_in_memory
from shoal.engines.prepare import known_to_all
from shoal.engines.release import Release
from shoal.engines.released_tables import read_released_tables
from shoal.errors import InputError, RecipeError
from shoal.privacy.people import read_people
from shoal.recipes.recipe import Recipe
from shoal.support.notebooks import draw_grid, draw_note, draw_words, follow_progress
from shoal.support.progress import Progress, silent
from shoal.support.rates import CONFIDENCE, Estimate
from shoal.table import Column, ColumnType, Origin, ReadOptions, Table, read_table
from shoal.verification.tables import EVENT_TABLE, join_events


@dataclass(frozen=True, slots=True)
class Attacks:
    """What came of all attacks on a release."""

    rows: int
    """Released rows."""
    people: int
    """People of the original who were attacked."""
    control: int
    """People of the control group who were attacked."""
    seed: int
    outcomes: tuple[Outcome, ...]
    combinations: Combinations | None
    """What can be read off the cells without any attack; None where people have several rows."""
    columns: tuple[str, ...]
    """Released columns that people are described by to single them out."""
    before: tuple[KnownRowsAttack, ...] = ()
    """Where a column says whose row it is: what known rows of people achieve on the original itself."""
    after: tuple[KnownRowsAttack, ...] = ()
    """And what they achieve on the release; the outcomes have it as well."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "rows": self.rows,
            "people": self.people,
            "control": self.control,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "family": self.family,
            "columns": list(self.columns),
            "attacks": [outcome.to_dict() for outcome in self.outcomes],
            "combinations": None if self.combinations is None else self.combinations.to_dict(),
            **({"known_rows": self._list_known_rows()} if self.after else {}),
        }

    def _repr_html_(self) -> str:
        """In notebooks: how often each attack succeeds, also on people who are not in the release."""
        rows = [
            (
                each.name if each.column is None else f"{each.name}: {each.column}",
                _format_estimate(each.rate.estimate()),
                "" if each.control is None else f"{each.control.share:.1%}",
                "" if each.risk is None else _format_estimate(each.risk),
                each.verdict,
            )
            for each in self.outcomes
        ]
        parts = [draw_grid(("attack", "succeeds", "control", "risk", "which means"), rows, most=100)]
        parts.append(draw_words(f"In brackets: {CONFIDENCE:.0%} confidence intervals.", "soft"))
        if self.combinations is not None:
            parts.append(draw_words(self.combinations.verdict))
        others = f", {self.control:,} who are not in it" if self.control else ", no control group"
        return draw_note(f"{self.people:,} people of the original were attacked{others}", parts)

    @property
    def family(self) -> int:
        """How many risks are judged together: the confidence is that all of their intervals hold."""
        return _count_family(self.outcomes)

    def _list_known_rows(self) -> list[dict[str, Any]]:
        """What known rows achieve on the original and on the release."""
        return [
            {"known": one.known, "before": one.to_dict(), "after": two.to_dict()}
            for one, two in zip(self.before, self.after, strict=True)
        ]


def attack(
    release: object,
    original: object,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    control: object = None,
    columns: Sequence[str] | None = None,
    hierarchies: Hierarchies = None,
    types: Mapping[str, ColumnType] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    attacks: int = 1000,
    seed: int = 0,
    options: ReadOptions | None = None,
    on_progress: Progress | None = None,
    person: str | None = None,
    events: Mapping[str, object] | Sequence[str | Path] | None = None,
) -> Attacks:
    """Attack a release with what an attacker may know of people, and count how often that succeeds.

    Parameters
    ----------
    release, original : path or frame
        The release, and the table that it was made from.
    quasi, sensitive : sequences of column names
        What the attacker knows of people, and is after.
    control : path or frame, optional
        People like those of the original who are not in the release. What succeeds on them as well is no
        leakage, but what the release is for.
    columns : sequence of column names, optional
        Released columns that people are described by to single them out: quasi-identifiers, sensitive and
        plain ones alike. All that release, original and control group have under the same name, if not said.
    hierarchies, types, orders
        As for `anonymize`; the hierarchies whose nodes were released are needed to read them.
    attacks : int
        How many people of each table are attacked, at most.
    on_progress : callable, optional
        Called with what is being done and how much of it is (0 to 1).
    person : str, optional
        The column of original and control group that says whose row it is, where people have several. People
        are attacked then, by one, two and more rows that are known of them, on the original and on the
        release. The release need not have it.
    events : mapping or sequence, optional
        Event tables, as in `anonymize`; ``original`` is then the table of people, and the release, and the
        control group as well, is a folder, or a mapping from names to frames such as ``Release.frames``. All
        are joined by ``person``, and the rows that are known of people are events.
    """
    options = options or ReadOptions()
    if events:
        named = name_events(events)
        groups = (
            read_released_tables(release, named, options.for_releases()),
            read_released_tables(original, named, options),
            None if control is None else read_released_tables(control, named, options),
        )
        names = (*quasi, *sensitive)
        known = known_columns(names, hierarchies, types, orders)
        with follow_progress(on_progress) as tell:
            return attack_joined_tables(groups, (quasi, sensitive), known, attacks, seed, tell, person)
    people = read_table(original, options)
    # All columns of the original: people may be described by any of them.
    names = tuple(dict.fromkeys((*quasi, *sensitive, *people.names)))
    with follow_progress(on_progress) as tell:
        return attack_tables(
            read_table(release, options.for_releases()),
            people,
            None if control is None else read_table(control, options),
            (tuple(quasi), tuple(sensitive)),
            known_columns(names, hierarchies, types, orders),
            attacks,
            seed,
            tell,
            columns,
            person,
        )


def attack_joined_tables(
    groups: tuple[Mapping[str, Table], Mapping[str, Table], Mapping[str, Table] | None],
    roles: tuple[Sequence[str], Sequence[str]],
    columns: Mapping[str, Column],
    attacks: int,
    seed: int,
    on_progress: Progress,
    person: str | None,
) -> Attacks:
    """Attack people by their events in several tables: those of the release, the original and the control."""
    if person is None:
        raise RecipeError("event tables are joined by a person: name the column that says whose row it is")
    release, original, control = (
        None if tables is None else join_events(tables, person)[0] for tables in groups
    )
    assert release is not None
    assert original is not None
    if len(groups[1]) > 2:  # whoever knows an event knows its table
        roles = ((*roles[0], EVENT_TABLE), roles[1])
    return attack_tables(
        release, original, control, roles, columns, attacks, seed, on_progress, person=person
    )


def attack_held_out(
    recipe: Recipe,
    original: Table,
    share: float,
    attacks: int = 1000,
    seed: int = 0,
    on_progress: Progress = silent,
    described: Sequence[str] | None = None,
) -> Attacks:
    """Hold a share of the original back as control group, anonymize the rest by a recipe, and attack that."""
    if not 0 < share < 1:
        raise RecipeError(f"the share to hold out lies between 0 and 1, not {share:g}")
    rng = np.random.default_rng(seed)
    # People are held out with all of their rows: others of theirs would say much about them.
    whose = read_people(original, recipe.person)
    if whose is None:
        whose = np.arange(original.rows)
    people = int(whose.max(initial=-1)) + 1
    order = rng.permutation(people)
    held = round(share * people)
    if not 0 < held < people:
        what = "rows" if recipe.person is None else "people"
        raise InputError(f"{original.origin}: {people} {what} are too few to hold {share:g} of them out")
    # As if read from a file: both parts are polars frames, whatever came in.
    origin = replace(original.origin, kind="path", native=None)
    control, rest = (
        # In the order of the original, as in a release of all of it.
        replace(original, frame=original.frame[np.flatnonzero(np.isin(whose, part))], origin=origin)
        for part in (order[:held], order[held:])
    )
    # No file is written, and a finding is no error: only the release is wanted.
    made = _run_recipe(replace(recipe, output=None, strict=False), rest, on_progress)
    release = Table(read_table(made.frame).frame, Origin("polars"), original.na)
    columns = known_to_all(recipe, original.names, always=True)
    roles = (recipe.quasi, recipe.sensitive)
    return attack_tables(
        release, rest, control, roles, columns, attacks, seed, on_progress, described, recipe.person
    )


def _run_recipe(recipe: Recipe, table: Table, on_progress: Progress) -> Release:
    """Make a release of a table that has been read."""
    if not recipe.uses_safepub:
        return run_in_memory(recipe, table, on_progress)
    # It draws from frames and files whose types are stated; for an attack they may be taken as read.
    types: dict[str, ColumnType] = dict.fromkeys(recipe.quasi, "string")
    return safepub.run_safepub(replace(recipe, types={**types, **recipe.types}), table.frame, on_progress)


def attack_tables(
    release: Table,
    original: Table,
    control: Table | None,
    roles: tuple[Sequence[str], Sequence[str]],
    columns: Mapping[str, Column],
    attacks: int,
    seed: int,
    on_progress: Progress,
    described: Sequence[str] | None = None,
    person: str | None = None,
) -> Attacks:
    """Attack tables that have been read; ``roles`` are the quasi-identifiers and the sensitive columns.

    ``described`` are the columns that people are described by; all that the tables share, if None.
    ``person`` says whose row it is, where people have several.
    """
    if attacks < 1:
        raise RecipeError(f"the number of attacks must be 1 or more, not {attacks}")
    if person is not None:
        check_people_apart(original, control, person)
    rng = np.random.default_rng(seed)
    on_progress("looking people up", 0.0)
    quasi, sensitive = roles
    data = AttackData.from_tables(
        release, original, control, quasi, sensitive, columns, attacks, rng, described, person
    )
    attacker = SimulatedAttacker.from_data(data, rng)
    # One generator for all attacks, always in this order: a seed repeats the whole run.
    outcomes: list[Outcome] = []
    kinds = {name: kind for name, kind in ATTACKS.items() if person is None or name not in COUNT_ROWS}
    for number, (name, kind) in enumerate(kinds.items()):
        on_progress(name, number / len(kinds))
        outcomes += kind(attacker)
    before: tuple[KnownRowsAttack, ...] = ()
    after: tuple[KnownRowsAttack, ...] = ()
    if person is not None:
        on_progress("known rows", 1.0)
        before, after = attack_people((release, original, control), quasi, columns, person, attacks, rng)
    outcomes = [*map(describe_known_rows_attack, after), *outcomes]
    family = max(_count_family(outcomes), 1)
    others = 0 if data.control is None else data.control.count
    return Attacks(
        release.rows,
        data.members.count,
        others,
        seed,
        tuple(replace(outcome, family=family) for outcome in outcomes),
        count_combinations(data) if person is None else None,
        tuple(each.column.name for each in attacker.described) if person is None else (),
        before,
        after,
    )


def _count_family(outcomes: Sequence[Outcome]) -> int:
    """How many outcomes have a risk."""
    return sum(outcome.control is not None and outcome.rate.attacks > 0 for outcome in outcomes)


def _format_estimate(found: Estimate) -> str:
    return f"{found.value:.1%} ({100 * found.low:.1f} to {100 * found.high:.1f})"
