"""``shoal verify``: count a release again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.screen import make_console
from shoal.engines.api import build_goal, choose_release_reading
from shoal.engines.api import verify as verify_release
from shoal.engines.released_tables import read_released_tables
from shoal.errors import RecipeError
from shoal.recipes.recipe import Recipe
from shoal.report.audit import Audit
from shoal.report.terminal import show_checks, show_verification
from shoal.table import read_released
from shoal.verification.verifier import Verification, may_release_nothing


def verify(
    release: o.ReleaseFile,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    person: o.Person = None,
    knows: o.Knows = None,
    group: o.Group = None,
    set: o.Sets = None,
    events: o.Events = None,
    roles: o.Roles = None,
    recipe: Annotated[
        Path | None,
        option(
            "--recipe",
            panel=o.ROLES,
            metavar="FILE",
            help="Take the roles and the goal from a recipe; a goal that is given as well must hold too.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        option(
            "--report",
            panel=o.ROLES,
            metavar="F.html",
            help="Take them from the page that --report of anonymize wrote, and check its figures and its "
            "checksum as well.",
        ),
    ] = None,
    type: o.Type = None,
    order: o.Order = None,
    hierarchies: o.Hierarchies = None,
    k: o.K = None,
    l: o.L = None,  # noqa: E741
    t: o.T = None,
    model: o.Models = None,
    fold: o.Fold = None,
    strict: o.Strict = False,
    accept: o.Accept = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    query: o.Query = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Re-check a released file as an outsider would: group equal rows and count.

    [bold]shoal verify release.csv -q age,sex,zip -s illness -k 5[/bold]

    It knows nothing of how the release was made. The exit code is 0 if everything holds, 3 if not; with
    --strict it is 3 as well where all columns together give people away. With --report, the release must also
    be the one that the page is about, and have the figures that it states.
    """
    if recipe is not None and report is not None:
        raise RecipeError("give --recipe or --report, not both: a report has its recipe in it")
    models = build_goal(k, l, model or (), t=t)
    audit = None if report is None else Audit.from_page(report)
    known = None if recipe is None else Recipe.from_toml(recipe)
    if audit is not None:
        known = audit.recipe
    if known is not None and (quasi or sensitive or person or knows or group or set or events or roles):
        given = "--recipe" if audit is None else "--report"
        raise RecipeError(
            f"give roles by {given} or by --quasi, --sensitive, --person, --knows, --set and --roles, "
            "not both"
        )
    options = a.reading_options(delimiter, encoding, no_header, na, sheet, query=query)
    judge = partial(
        verify_release, models=models, fold=a.folded_of(fold), accept=a.reasons_of(accept), options=options
    )
    tables = a.events_of(events) if known is None else known.events
    if tables and report is not None:
        raise RecipeError("there are no pages about several tables: give --recipe, or the roles")
    table = None
    if tables:
        found = (
            judge(release, recipe=known)
            if known is not None
            else _verify_tables(
                judge, release, tables, (quasi, sensitive, roles, person, knows), (type, order, hierarchies)
            )
        )
    elif known is not None:
        reading, asked = choose_release_reading(known, options), (*known.models, *models)
        table = read_released(release, reading, may_be_empty=may_release_nothing(asked))
        found = judge(table, recipe=known)
    else:
        table = read_released(release, options, may_be_empty=may_release_nothing(models))
        sets = a.separators_of(table, set)
        named = (roles, quasi, sensitive, None, None)
        role = a.roles_of(table, *named, needed=not sets, person=person, group=group, sets=sets)
        found = judge(
            table,
            quasi=role["quasi"],
            sensitive=role["sensitive"],
            person=person,
            knows=knows,
            group=group,
            sets=sets,
            hierarchies=a.trees_of(table, hierarchies),
            types=a.types_of(table, None, type),
            orders=a.orders_of(order),
        )
    checks = [] if audit is None or table is None else list(audit.check_release(release, table, found))
    same = all(check.is_same for check in checks)
    if as_json:
        plain = {"report": {"same": same, "checks": [check.to_dict() for check in checks]}} if audit else {}
        typer.echo(json.dumps({**found.to_dict(), **plain}))
    elif not quiet:
        show_verification(make_console(), str(release), found)
        show_checks(make_console(), str(report), checks)
    severe = strict and any(finding.is_open for finding in found.findings)
    raise typer.Exit(0 if found.holds and same and not severe else 3)


def _verify_tables(
    judge: Callable[..., Verification],
    release: Path,
    events: Mapping[str, str],
    roles: tuple[list[str] | None, list[str] | None, str | None, str | None, str | None],
    told: tuple[list[str] | None, list[str] | None, list[str] | None],
) -> Verification:
    """Check the folder of a release of several tables, or the table of people and event tables."""
    quasi, sensitive, by_position, person, knows = roles
    type, order, hierarchies = told
    tables = read_released_tables(release, events, judge.keywords["options"])  # type: ignore[attr-defined]
    every = a.name_columns(tables)
    role = a.roles_of(every, by_position, quasi, sensitive, None, None)
    return judge(
        tables.pop(""),
        events=tables,
        quasi=role["quasi"],
        sensitive=role["sensitive"],
        person=person,
        knows=knows,
        hierarchies=a.trees_of(every, hierarchies),
        types=a.types_of(every, None, type),
        orders=a.orders_of(order),
    )
