"""``shoal teach``: the textbook on small tables, step by step."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.screen import make_console, print_if_json, progress
from shoal.cli.standard import from_standard_input
from shoal.errors import InputError, RecipeError, unknown
from shoal.report.terminal import indent_block, plain_table
from shoal.table import read_table
from shoal.teach import LESSONS, Lesson
from shoal.teach.lessons.lesson import show_count, show_loss
from shoal.teach.people import PEOPLE

_BRUTE, _EVOLUTION, _OTHER = "Brute force", "Evolution", "Other lessons"
_MOST_TABLES = 10


def teach(
    lesson: Annotated[
        str, typer.Argument(metavar="LESSON", help="Which lesson, or 'list' to see what there is.")
    ] = "list",
    input: Annotated[
        Path | None,
        typer.Argument(
            metavar="INPUT",
            callback=from_standard_input,
            help="A small table of your own; without one, people who ship with Shoal.",
        ),
    ] = None,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    roles: o.Roles = None,
    lenient: o.Lenient = False,
    types: o.Types = None,
    type: o.Type = None,
    hierarchies: o.Hierarchies = None,
    weights: o.Weights = None,
    weight: o.Weight = None,
    rows: Annotated[
        int | None,
        option("--rows", panel=o.ROLES, metavar="N", help="Take the first N rows only; try 4 to begin with."),
    ] = None,
    k: Annotated[
        int | None,
        option(
            "--k",
            "-k",
            panel=o.GOAL,
            metavar="N",
            help="How many people each row could be: 2 if not said, 3 for mondrian.",
        ),
    ] = None,
    l: Annotated[  # noqa: E741
        int | None,
        option("--l", panel=o.GOAL, metavar="N", help="diversity: how many sensitive values a class has."),
    ] = None,
    t: Annotated[
        float | None,
        option(
            "--t", panel=o.GOAL, metavar="SHARE", help="diversity: how far a class may be from everybody."
        ),
    ] = None,
    meaning: Annotated[
        str | None,
        option(
            "--meaning",
            panel=o.GOAL,
            metavar="NAME",
            help="What k means: matching (each row could be k people; if not said) or classes (each row "
            "equals k - 1 others).",
        ),
    ] = None,
    loss: Annotated[
        str | None,
        option(
            "--loss",
            panel=o.GOAL,
            metavar="NAME",
            help="What is lost: certainty (if not said) or distortion, which counts changed cells.",
        ),
    ] = None,
    prune: Annotated[
        str | None,
        option(
            "--prune",
            panel=_BRUTE,
            metavar="WHICH",
            help="Cut branches by score, k, both (if not said) or none, and compare the states visited.",
        ),
    ] = None,
    no_prune: Annotated[bool, o.flag("--no-prune", _BRUTE, "The same as --prune none.")] = False,
    cache: Annotated[
        bool,
        o.flag("--cache", _BRUTE, "Remember rows; shows hits, misses and the time that this saved."),
    ] = False,
    iterations: Annotated[
        int | None,
        option(
            "--iterations",
            panel=_BRUTE,
            metavar="N",
            help="Stochastic search: options in random order, and stop after N states.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        option(
            "--limit", panel=_BRUTE, metavar="N", help="Refuse more states than N; 3,000,000 if not said."
        ),
    ] = None,
    population: Annotated[
        int | None,
        option("--population", panel=_EVOLUTION, metavar="N", help="Tables per generation: 100 if not said."),
    ] = None,
    generations: Annotated[
        int | None,
        option("--generations", panel=_EVOLUTION, metavar="N", help="How many: 1000 if not said."),
    ] = None,
    mutation_rate: Annotated[
        float | None,
        option(
            "--mutation-rate",
            panel=_EVOLUTION,
            metavar="M",
            help="A cell is drawn anew with the chance M/(M + 100); 10 if not said. Try 0.",
        ),
    ] = None,
    no_doubling: Annotated[
        bool, o.flag("--no-doubling", _EVOLUTION, "M stays as it is, and does not double every tenth.")
    ] = False,
    seed: Annotated[
        int | None,
        option("--seed", panel=_EVOLUTION, metavar="N", help="Of all that is random, in --iterations too."),
    ] = None,
    row: Annotated[
        int | None, option("--row", panel=_OTHER, metavar="N", help="dominance: which row, from 1.")
    ] = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=o.SHOWN,
            metavar="FILE.html",
            help="Write the player: a page that shows every step, and needs no network.",
        ),
    ] = None,
    trace: Annotated[bool, o.flag("--trace", o.SHOWN, "Print every step that is kept.")] = False,
    steps: Annotated[
        int | None,
        option("--steps", panel=o.SHOWN, metavar="N", help="How many steps are kept for player and trace."),
    ] = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Watch textbook algorithms at work on a small table: brute force, evolution, and what follows.

    [bold]shoal teach brute-force -o page.html[/bold]

    Without INPUT a lesson takes people who ship with Shoal. These algorithms are written to be read, not to
    be fast: to anonymize a table, use 'shoal anonymize'.
    """
    if lesson == "list":
        listed = {name: entry.help for name, entry in LESSONS.items()}
        if print_if_json(lambda: {"lessons": listed}, as_json, quiet):
            typer.echo("\n".join(f"{name:12} {help}" for name, help in listed.items()))
        return
    if lesson not in LESSONS:
        raise InputError(unknown("lesson", lesson, [*LESSONS, "list"]))
    a.check_page(output, [input] if input else [])
    settings = {
        "k": k,
        "l": l,
        "t": t,
        "meaning": meaning,
        "prune": _read_prune(prune, no_prune),
        "cache": cache or None,
        "iterations": iterations,
        "limit": limit,
        "population": population,
        "generations": generations,
        "mutation_rate": mutation_rate,
        "doubling": False if no_doubling else None,
        "seed": seed,
        "row": row,
        "steps": steps,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    _refuse_strange_settings(lesson, given)
    reading = a.reading_options(delimiter, encoding, no_header, na)
    table = read_table(pl.DataFrame(PEOPLE) if input is None else input, reading)
    role = a.roles_of(table, roles, quasi, sensitive, None, None, needed=False, lenient=lenient)
    # Weights by position are those of the columns that the lesson will take.
    quasi_names = role["quasi"] or tuple(n for n in table.names if n not in role["sensitive"])
    said = {
        "quasi": role["quasi"],
        "sensitive": "".join(role["sensitive"][:1]),
        "types": a.types_of(table, types, type, lenient),
        "hierarchies": a.trees_of(table, hierarchies),
        "weights": a.weights_of(quasi_names, weights, weight, lenient),
        "rows": rows,
        "loss": loss,
    }
    columns = {name: value for name, value in said.items() if value not in (None, (), {}, "")}
    with progress(quiet) as on_progress:
        on_progress(lesson, 0.0)
        found = LESSONS[lesson].run(None if input is None else table, **columns, **given)
    if output is not None:
        found.to_html(output)
    if print_if_json(lambda: found.to_dict(trace), as_json, quiet):
        _show_lesson(make_console(), found, trace, output)


def _read_prune(prune: str | None, no_prune: bool) -> bool | str | None:
    meanings: dict[str, bool | str] = {"both": True, "none": False, "score": "score", "k": "k"}
    if prune is not None and no_prune:
        raise RecipeError("give --prune or --no-prune, not both")
    if prune is not None and prune not in meanings:
        raise RecipeError(unknown("pruning", prune, meanings))
    return False if no_prune else None if prune is None else meanings[prune]


def _refuse_strange_settings(lesson: str, given: dict[str, Any]) -> None:
    """An option that means nothing to this lesson is an error that says to which it belongs."""
    for name in given:
        if name not in inspect.signature(LESSONS[lesson].run).parameters:
            others = [
                other for other, entry in LESSONS.items() if name in inspect.signature(entry.run).parameters
            ]
            option_name = "--no-doubling" if name == "doubling" else f"--{name.replace('_', '-')}"
            raise RecipeError(f"{option_name} means nothing to {lesson}: it is for {', '.join(others)}")


def _show_lesson(console: Console, found: Lesson, trace: bool, output: Path | None) -> None:
    if trace:
        for number, step in enumerate(found.steps, 1):
            console.print(Text(f"{number:5}  {step.kind:12}  {step.text}"), soft_wrap=True)
        console.print()
    figures = plain_table()
    for name, value in _list_figures(found.figures):
        figures.add_row(name.replace("_", " "), Text(value))
    console.print(indent_block(figures))
    for number, cells in enumerate(found.tables[:_MOST_TABLES], 1):
        console.print(f"\n  table {number} of {len(found.tables)}")
        console.print(indent_block(_build_table(found, cells)))
    if len(found.tables) > _MOST_TABLES:
        console.print(f"\n  and {len(found.tables) - _MOST_TABLES} more, which --json lists")
    if output is not None:
        console.print(Text(f"\nThe player is in {output}: open it in a browser."), soft_wrap=True)


def _list_figures(figures: dict[str, Any]) -> list[tuple[str, str]]:
    found = []
    for name, value in figures.items():
        if isinstance(value, dict):
            found += [(f"{name}, {inner}", text) for inner, text in _list_figures(value)]
        elif name != "history":
            found.append((name, _show_value(value)))
    return found


def _show_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return show_count(value)
    if isinstance(value, float):
        return show_loss(value)
    return "none" if value is None else str(value)


def _build_table(found: Lesson, cells: tuple[tuple[str, ...], ...]) -> Table:
    """A table with what has changed in colour."""
    table = plain_table("row", *found.table.names)
    for number, (row, person) in enumerate(zip(cells, found.table.people, strict=True), 1):
        texts = [Text(cell, "" if cell == old else "yellow") for cell, old in zip(row, person, strict=True)]
        table.add_row(str(number), *texts)
    return table
