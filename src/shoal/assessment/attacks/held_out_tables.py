"""Attack a release of several tables that is made of some of the people; the others are the control group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.assessment.attacks.simulation import Attacks, attack_joined_tables
from shoal.engines.base import carry_out
from shoal.engines.prepare import known_to_all
from shoal.engines.tables import TablesEngine, TableSources
from shoal.errors import InputError, RecipeError
from shoal.privacy.people import number_people
from shoal.recipes.event_tables import join_column
from shoal.recipes.recipe import Recipe
from shoal.support.progress import Progress, silent
from shoal.table import Table, read_table, to_strings


def attack_held_out_tables(
    recipe: Recipe,
    tables: Mapping[str, Table],
    share: float,
    attacks: int = 1000,
    seed: int = 0,
    on_progress: Progress = silent,
) -> Attacks:
    """The same as `attack_held_out` for a table of people, which comes first, and event tables."""
    if not 0 < share < 1:
        raise RecipeError(f"the share to hold out lies between 0 and 1, not {share:g}")
    if not recipe.pseudonym:
        raise RecipeError(
            "without a pseudonym nobody can join the tables of a release: attack each of them by itself"
        )
    person = str(recipe.person)
    number, _ = number_people(pl.concat([to_strings(table.column(person)) for table in tables.values()]))
    whose = np.split(number, np.cumsum([table.rows for table in tables.values()])[:-1])
    people = np.unique(whose[0])
    order = np.random.default_rng(seed).permutation(people)
    held = round(share * people.size)
    if not 0 < held < people.size:
        raise InputError(f"{people.size} people are too few to hold {share:g} of them out")
    control, rest = (
        {
            name: replace(
                table,
                frame=table.frame[np.flatnonzero(np.isin(own, part))],
                origin=replace(table.origin, kind="path", native=None),
            )
            for (name, table), own in zip(tables.items(), whose, strict=True)
        }
        for part in (order[:held], order[held:])
    )
    first, *events = rest
    source = TableSources(rest[first], {name: rest[name] for name in events})
    made = carry_out(TablesEngine(replace(recipe, output=None, strict=False)), source, on_progress)
    release = {name: read_table(frame) for name, frame in made.frames.items()}
    names = [join_column(name, column) for name, table in tables.items() for column in table.names]
    columns = known_to_all(recipe, names, always=True)
    roles = (recipe.quasi, recipe.sensitive)
    return attack_joined_tables((release, rest, control), roles, columns, attacks, seed, on_progress, person)
