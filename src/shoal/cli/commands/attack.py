"""``shoal attack``: how often attacks on a release succeed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from shoal.assessment.attacks import Attacks, attack_held_out
from shoal.assessment.attacks.held_out_tables import attack_held_out_tables
from shoal.assessment.attacks.simulation import attack_joined_tables, attack_tables
from shoal.assessment.attacks.terminal import show_attacks
from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.screen import make_console, progress
from shoal.cli.standard import from_standard_input
from shoal.engines.api import known_columns
from shoal.engines.memory import NO_SETS
from shoal.engines.prepare import known_to_all
from shoal.engines.released_tables import read_released_tables
from shoal.errors import RecipeError
from shoal.recipes.recipe import Recipe
from shoal.support.progress import Progress
from shoal.table import Column, ReadOptions, Table, read_table

_ATTACK = "The attack"


def attack(
    release: Annotated[
        Path | None,
        typer.Argument(
            metavar="RELEASE",
            callback=from_standard_input,
            help="A released table, in any format; - is standard input. With --holdout, none.",
        ),
    ] = None,
    original: Annotated[
        Path | None,
        option(
            "--original",
            panel=_ATTACK,
            metavar="FILE",
            callback=from_standard_input,
            help="The table that it was made from; - is standard input.",
        ),
    ] = None,
    control: Annotated[
        Path | None,
        option(
            "--control",
            panel=_ATTACK,
            metavar="FILE",
            help="People like those of the original who are not in the release: what succeeds on them, too, "
            "is no leakage.",
        ),
    ] = None,
    holdout: Annotated[
        float | None,
        option(
            "--holdout",
            panel=_ATTACK,
            metavar="SHARE",
            help="Hold this share of the original back as control group, anonymize the rest by --recipe, and "
            "attack that.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        option(
            "--columns",
            panel=_ATTACK,
            metavar="A,B",
            help="Released columns that people are described by to single them out; if not said, all that "
            "release, original and control group have.",
        ),
    ] = None,
    attacks: Annotated[
        int,
        option("--attacks", panel=_ATTACK, metavar="N", help="How many people of each group are attacked."),
    ] = 1000,
    seed: o.Seed = 0,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    person: Annotated[
        str | None,
        option(
            "--person",
            panel=o.ROLES,
            metavar="ID",
            help="The column of the original that says whose row it is, where people have several: they are "
            "attacked by rows that are known of them. The release need not have it.",
        ),
    ] = None,
    events: o.Events = None,
    roles: o.Roles = None,
    recipe: Annotated[
        Path | None,
        option(
            "--recipe", panel=o.ROLES, metavar="FILE", help="Take roles, types and hierarchies from a recipe."
        ),
    ] = None,
    type: o.Type = None,
    order: o.Order = None,
    hierarchies: o.Hierarchies = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    decimal: o.DecimalSign = ".",
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Attack a release as somebody would who knows people, and count how often that succeeds.

    [bold]shoal attack release.csv --original people.csv --control others.csv -q age,sex,zip -s illness[/bold]

    Linkage, singling out by all released columns, inference of sensitive values, membership, and guesses at
    the ends of ranges, each with a confidence interval, beside what the same attack achieves on people who
    are not in the release. A count says how many exact combinations of quasi-identifiers the cells show.
    With --person, somebody who knows one, two or more rows of a person looks for that person.
    """
    _check_options(release, original, control, holdout, recipe, bool(quasi or sensitive or roles or person))
    known = Recipe.from_toml(recipe) if recipe is not None else None
    if known is not None and known.sets:  # attacks do not look at items, so that they would find too little
        raise RecipeError(NO_SETS)
    if known is not None:
        no_header, na = no_header or not known.reading.header, [*known.reading.na, *(na or ())]
        decimal = known.reading.decimal
    options = a.reading_options(delimiter, encoding, no_header, na, sheet, decimal=decimal)
    tables = a.events_of(events) if known is None else known.events
    with progress(quiet) as on_progress:
        on_progress("read", 0.0)
        if tables:
            found = _attack_tables(
                (release, original, control, holdout),
                tables,
                known,
                (quasi, sensitive, roles, person),
                (type, order, hierarchies),
                options,
                (attacks, seed),
                on_progress,
            )
            _show(found, str(release or f"a release of {original}"), as_json, quiet)
            return
        people = read_table(original, options)
        described = tuple(a.names_of(people, columns)) if columns else None
        # The check above makes sure that a recipe comes with --holdout; mypy cannot know that.
        if holdout is not None and known is not None:
            found = attack_held_out(known, people, holdout, attacks, seed, on_progress, described)
        else:
            others = None if control is None else read_table(control, options)
            released = read_table(release, options.for_releases())
            by_role, told = _find_roles_and_columns(
                people, known, (quasi, sensitive, roles, person), (type, order, hierarchies)
            )
            whose = person if known is None else known.person
            found = attack_tables(
                released, people, others, by_role, told, attacks, seed, on_progress, described, whose
            )
    _show(found, str(release or f"a release of {original}"), as_json, quiet)


def _show(found: Attacks, release: str, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    elif not quiet:
        show_attacks(make_console(), release, found)


def _attack_tables(
    paths: tuple[Path | None, Path | None, Path | None, float | None],
    events: Mapping[str, str],
    recipe: Recipe | None,
    roles: tuple[list[str] | None, list[str] | None, str | None, str | None],
    told: tuple[list[str] | None, list[str] | None, list[str] | None],
    options: ReadOptions,
    drawn: tuple[int, int],
    on_progress: Progress,
) -> Attacks:
    """Attack people by their events in several tables."""
    release, original, control, holdout = paths
    people = read_released_tables(original, events, options)
    if holdout is not None and recipe is not None:
        return attack_held_out_tables(recipe, people, holdout, *drawn, on_progress)
    named = None if recipe is None else recipe.input
    released = read_released_tables(release, events, options.for_releases(), named)
    others = None if control is None else read_released_tables(control, events, options, named)
    by_role, known = _find_roles_and_columns(a.name_columns(people), recipe, roles, told)
    person = roles[3] if recipe is None else recipe.person
    return attack_joined_tables((released, people, others), by_role, known, *drawn, on_progress, person)


def _check_options(
    release: Path | None,
    original: Path | None,
    control: Path | None,
    holdout: float | None,
    recipe: Path | None,
    roles: bool,
) -> None:
    """Refuse what contradicts itself."""
    if original is None:
        raise RecipeError("name the table that the release was made from: --original FILE")
    if recipe is not None and roles:
        raise RecipeError("give roles by --recipe or by --quasi, --sensitive, --person and --roles, not both")
    if holdout is None and release is None:
        raise RecipeError("name the release to attack, or give --holdout and --recipe to make one")
    if holdout is not None and (release is not None or control is not None or recipe is None):
        raise RecipeError(
            "--holdout makes a release and a control group by itself: give --recipe, but neither a release "
            "nor --control"
        )


def _find_roles_and_columns(
    people: Table,
    recipe: Recipe | None,
    roles: tuple[list[str] | None, list[str] | None, str | None, str | None],
    told: tuple[list[str] | None, list[str] | None, list[str] | None],
) -> tuple[tuple[Sequence[str], Sequence[str]], Mapping[str, Column]]:
    """The quasi-identifiers and sensitive columns, and what is known of all columns."""
    if recipe is not None:
        return (recipe.quasi, recipe.sensitive), known_to_all(recipe, people.names, always=True)
    quasi, sensitive, by_position, person = roles
    type, order, hierarchies = told
    by_name = a.roles_of(people, by_position, quasi, sensitive, None, None, person=person)
    trees, types = a.trees_of(people, hierarchies), a.types_of(people, None, type)
    columns = known_columns(people.names, trees, types, a.orders_of(order))
    return (by_name["quasi"], by_name["sensitive"]), columns
