"""The report on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoal.privacy import achieved_text
from shoal.recipes.later_rows import Applied
from shoal.report.audit import Check
from shoal.report.figures import Report
from shoal.report.search import search_parts
from shoal.report.terminal_parts import format_loss, format_percent, indent_block, plain_table
from shoal.verification.findings import Finding
from shoal.verification.verifier import Verdict, Verification

__all__ = [
    "columns_table",
    "draw_bar",
    "format_percent",
    "indent_block",
    "models_table",
    "plain_table",
    "seconds_line",
    "show_applied",
    "show_checks",
    "show_findings",
    "show_report",
    "show_verification",
]

_MOST_COLUMNS = 40  # as on the page


def show_report(console: Console, report: Report, tables: Sequence[object] = (), every: bool = False) -> None:
    """Print what a run did: the promise, the loss, what to watch, and where the release is.

    ``tables`` are released ones that share the loss; they are shown where the search was for the least, a few
    of them or ``every`` one.
    """
    console.print(_format_headline(report))
    # Before all figures: a goal that holds must not read as if all were well.
    if report.open_findings:
        console.print(_format_warning(report))
    console.print()
    console.print(indent_block(models_table(report.models)))
    console.print()
    console.print(indent_block(columns_table(report)))
    console.print()
    if report.tables:
        console.print(indent_block(tables_table(report)))
        console.print()
    for part in search_parts(report, tables, every):
        console.print(indent_block(part))
        console.print()
    show_findings(console, report.findings)
    for note in report.notes:
        console.print(_format_item(" ", note, "dim"))
    for warning in report.warnings:
        console.print(_format_item("!", warning, "yellow"))
    console.print(_format_item(" ", seconds_line(report.seconds), "dim"))
    # Not wrapped, so that a path can be copied whole.
    where = f"written to {report.output}" if report.output else "not written; -o FILE would keep the release"
    console.print(Text(f"  {where}"), soft_wrap=True)


_SEVERITY = {"high": "bold red", "medium": "yellow", "low": "dim"}


def show_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print what a release as a whole gives away, and what to do about it."""
    if not findings:
        return
    console.print("  what all released columns give away together")
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        mark = Text("accepted" if finding.accepted else finding.severity, _SEVERITY[finding.severity])
        table.add_row(Text("   ") + mark, Text(f"{finding.message} [{finding.id}]"))
        then = f"accepted: {finding.accepted}" if finding.accepted else finding.remedy
        table.add_row("", Text(then, "dim"))
    console.print(table)
    console.print()


def show_verification(console: Console, source: str, found: Verification) -> None:
    """Print what an outsider finds in a release."""
    verdict = Text("holds", "bold green") if found.holds else Text("does not hold", "bold red")
    people = "" if found.people is None else f" of {_format_count(found.people, 'person', 'people')}"
    size = f"{_format_count(found.rows, 'row', 'rows')}{people} in {_format_classes(found)}"
    console.print(Text.assemble(f"{source}: the goal ", verdict, f"; {size}"), soft_wrap=True)
    console.print()
    console.print(indent_block(models_table(found.models)))
    for note in found.notes:
        console.print()
        console.print(indent_block(Text(note, "yellow")))
    if found.findings:
        console.print()
    show_findings(console, found.findings)


def show_applied(
    console: Console, source: str, applied: Applied, output: Path | None, held_back: Path | None = None
) -> None:
    """Print what became of later rows."""
    kept, gone = applied.rows - applied.suppressed_rows, applied.suppressed_rows
    console.print(f"{source}: {kept:,} of {applied.rows:,} rows fit the classes", soft_wrap=True)
    # Suppressed rows have two reasons, which call for different remedies.
    fate = "suppressed" if held_back is None else "held back"
    if gone > applied.broken:
        console.print(f"  {fate} because no class stands for them: {gone - applied.broken:,}")
    for name, values in applied.uncovered.items():
        console.print(Text(f"    new in '{name}': {', '.join(values)}"), soft_wrap=True)
    if applied.broken:
        console.print(f"  {fate} because they would have broken the goal: {applied.broken:,}")
    console.print()
    console.print(indent_block(models_table(applied.verification.models)))
    console.print()
    show_findings(console, applied.verification.findings)
    if output is not None:
        console.print(f"wrote {output}", soft_wrap=True)
    if held_back is not None:
        console.print(
            f"wrote {gone:,} rows to {held_back}, as they came: give them again with the next ones",
            soft_wrap=True,
        )


def show_checks(console: Console, page: str, checks: Sequence[Check]) -> None:
    """Print how what a page states compares with the release."""
    if not checks:
        return
    same = all(check.is_same for check in checks)
    verdict = Text("is about this release", "bold green") if same else Text("does not fit", "bold red")
    console.print()
    console.print(Text.assemble(f"{page}: the report ", verdict), soft_wrap=True)
    console.print()
    table = plain_table("", "stated", "found", "")
    for check in checks:
        mark = Text("✓ same", "green") if check.is_same else Text("✗ different", "red")
        table.add_row(
            Text(check.what), *(Text(_format_figure(value)) for value in (check.stated, check.found)), mark
        )
    console.print(indent_block(table))


def _format_figure(value: object) -> str:
    """A figure or, shortened, a checksum."""
    # Dictionaries are parameters of models with several figures, such as SafePub.
    if isinstance(value, int | float | dict):
        return achieved_text(value)
    return "none" if value is None else f"{str(value)[:16]}..."


def models_table(models: Sequence[Verdict]) -> Table:
    """What was asked of every model and what the release reaches."""
    table = plain_table("model", "asked", "found", "")
    for model in models:
        asked = ", ".join(f"{key} = {value}" for key, value in model.asked.items())
        mark = Text("✓ holds", "green") if model.holds else Text("✗ does not hold", "red")
        table.add_row(model.name, Text(asked), achieved_text(model.achieved), mark)
    return table


def columns_table(report: Report) -> Table:
    """The loss of every quasi-identifier, or of those that lost most where there are very many."""
    table = plain_table("column", "type", "values", "lost", "")
    table.columns[2].justify = table.columns[3].justify = "right"
    shown = _find_costliest_columns(report)
    for name in shown:
        column = report.columns[name]
        # With a hierarchy the type of the values no longer decides how they are generalised.
        kind = "tree" if column["kind"] == "tree" else column["type"]
        table.add_row(
            Text(name), kind, f"{column['values']:,}", format_percent(column["ncp"]), draw_bar(column["ncp"])
        )
    if rest := len(report.columns) - len(shown):
        table.add_row(Text(f"{rest} that lost less", "dim"))
    table.add_row(
        Text("all columns", "bold"), "", "", Text(format_percent(report.ncp), "bold"), draw_bar(report.ncp)
    )
    return table


def tables_table(report: Report) -> Table:
    """What became of each table, where there are several."""
    names = ("table", "rows", "released", "left out", "people", "lost all rows", "lost", "")
    table = plain_table(*names)
    for column in table.columns[1:7]:
        column.justify = "right"
    for name, each in report.tables.items():
        counts = (each.rows, each.released_rows, each.left_out, each.people, each.people_left_out)
        shown = (*(f"{count:,}" for count in counts), format_percent(each.ncp))
        table.add_row(Text(name), *shown, draw_bar(each.ncp))
    return table


def _find_costliest_columns(report: Report) -> list[str]:
    """The columns that lost most, in the order of the table."""
    by_loss = sorted(report.columns, key=lambda name: report.columns[name]["ncp"], reverse=True)
    return [name for name in report.columns if name in set(by_loss[:_MOST_COLUMNS])]


def draw_bar(share: float, width: int = 24) -> Text:
    """A share as a bar."""
    # A cell of the terminal can be filled by eighths.
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    blocks = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return Text(blocks, "cyan")


def seconds_line(seconds: Mapping[str, float]) -> str:
    """How long every step took."""
    steps = ", ".join(f"{name} {spent:.2f}" for name, spent in seconds.items() if name != "total")
    return f"{seconds.get('total', 0.0):.2f} seconds: {steps}"


def _format_item(mark: str, text: str, style: str) -> Table:
    """A line with a mark before it; where it is too long for one, the others start under the first."""
    table = Table.grid(padding=(0, 1))
    table.add_row(Text(mark, style), Text(text, style if mark.isspace() else ""))
    return table


def _format_headline(report: Report) -> Text:
    gone = [
        f"{count:,} {what}"
        for count, what in ((report.dropped_rows, "dropped"), (report.suppressed_rows, "suppressed"))
        if count
    ]
    left_out = f" ({', '.join(gone)})" if gone else ""
    if report.rows is None:
        rows = " row" if report.released_rows == 1 else " rows"
    else:
        rows = f" of {_format_count(report.rows, 'row', 'rows')}"
    return Text.assemble(
        (f"{report.released_rows:,}", "bold"),
        f"{rows} released{left_out} in {_format_classes(report)}; ",
        (format_percent(report.ncp), "bold"),
        f" of the detail lost{_other_loss(report)} ({_format_algorithm(report.algorithm)})",
    )


def _format_warning(report: Report) -> Text:
    """What a reader has to know before anything else: the goal holds, and that is not enough."""
    # Findings come with the most severe first; what follows a semicolon is detail.
    first = report.open_findings[0].message.partition(";")[0]
    return Text(f"The goal holds, but {first}: read the findings before you give this away.", "bold red")


def _format_count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _format_classes(found: Report | Verification) -> str:
    smallest = found.smallest_class
    size = f"{smallest:,}" if found.people is None else _format_count(smallest, "person", "people")
    return f"{_format_count(found.classes, 'class', 'classes')}, the smallest of {size}"


def _other_loss(report: Report) -> str:
    name, value, weighted = report.loss["name"], report.loss["value"], report.weighted_loss
    found = "" if name == "ncp" else f", {name} {format_loss(value)}"
    if weighted is None:
        return found
    shown = format_percent(weighted) if name == "ncp" else format_loss(weighted)
    return f"{found}, {shown} by survey weights"


def _format_algorithm(algorithm: Mapping[str, Any]) -> str:
    parameters = ", ".join(f"{key} {value}" for key, value in algorithm["parameters"].items())
    return f"{algorithm['name']}{': ' + parameters if parameters else ''}"
