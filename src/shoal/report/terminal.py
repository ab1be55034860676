"""The report on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoal.privacy import achieved_text
from shoal.report.audit import Check
from shoal.report.figures import Report
from shoal.report.pieces import indented, percent, plain_table
from shoal.report.search import search_parts
from shoal.saved import Applied
from shoal.verify import Verdict, Verification

__all__ = [
    "bar",
    "columns_table",
    "indented",
    "models_table",
    "percent",
    "plain_table",
    "seconds_line",
    "show_applied",
    "show_checks",
    "show_report",
    "show_verification",
]

_MOST_COLUMNS = 40


def show_report(console: Console, report: Report, tables: Sequence[object] = ()) -> None:
    """Print what a run did: the promise, the loss, what to watch, and where the release is.

    ``tables`` are released ones that share the loss; they are shown where the search was for the least.
    """
    console.print(_headline(report))
    console.print()
    console.print(indented(models_table(report.models)))
    console.print()
    console.print(indented(columns_table(report)))
    console.print()
    for part in search_parts(report, tables):
        console.print(indented(part))
        console.print()
    for note in report.notes:
        console.print(_item(" ", note, "dim"))
    for warning in report.warnings:
        console.print(_item("!", warning, "yellow"))
    console.print(_item(" ", seconds_line(report.seconds), "dim"))
    # Not wrapped, so that a path can be copied whole.
    where = f"written to {report.output}" if report.output else "not written; -o FILE would keep the release"
    console.print(Text(f"  {where}"), soft_wrap=True)


def show_verification(console: Console, source: str, found: Verification) -> None:
    """Print what an outsider finds in a release."""
    verdict = Text("holds", "bold green") if found.holds else Text("does not hold", "bold red")
    size = f"{_count(found.rows, 'row', 'rows')} in {_classes(found)}"
    console.print(Text.assemble(f"{source}: the goal ", verdict, f"; {size}"), soft_wrap=True)
    console.print()
    console.print(indented(models_table(found.models)))


def show_applied(console: Console, source: str, applied: Applied, output: Path | None) -> None:
    """Print what became of later rows."""
    kept, gone = applied.rows - applied.suppressed_rows, applied.suppressed_rows
    console.print(f"{source}: {kept:,} of {applied.rows:,} rows fit the classes", soft_wrap=True)
    if gone > applied.broken:
        console.print(f"  suppressed because no class stands for them: {gone - applied.broken:,}")
    for name, values in applied.uncovered.items():
        console.print(Text(f"    new in '{name}': {', '.join(values)}"), soft_wrap=True)
    if applied.broken:
        console.print(f"  suppressed because they would have broken the goal: {applied.broken:,}")
    console.print()
    console.print(indented(models_table(applied.verification.models)))
    if output is not None:
        console.print(f"\nwrote {output}", soft_wrap=True)


def show_checks(console: Console, page: str, checks: Sequence[Check]) -> None:
    """Print how what a page states compares with the release."""
    if not checks:
        return
    same = all(check.same for check in checks)
    verdict = Text("is about this release", "bold green") if same else Text("does not fit", "bold red")
    console.print()
    console.print(Text.assemble(f"{page}: the report ", verdict), soft_wrap=True)
    console.print()
    table = plain_table("", "stated", "found", "")
    for check in checks:
        mark = Text("✓ same", "green") if check.same else Text("✗ different", "red")
        table.add_row(
            Text(check.what), *(Text(_stated(value)) for value in (check.stated, check.found)), mark
        )
    console.print(indented(table))


def _stated(value: object) -> str:
    """A figure or, shortened, a checksum."""
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
    shown = _costliest(report)
    for name in shown:
        column = report.columns[name]
        kind = "tree" if column["kind"] == "tree" else column["type"]
        table.add_row(Text(name), kind, f"{column['values']:,}", percent(column["ncp"]), bar(column["ncp"]))
    if rest := len(report.columns) - len(shown):
        table.add_row(Text(f"{rest} that lost less", "dim"))
    table.add_row(Text("all columns", "bold"), "", "", Text(percent(report.ncp), "bold"), bar(report.ncp))
    return table


def _costliest(report: Report) -> list[str]:
    """The columns that lost most, in the order of the table."""
    by_loss = sorted(report.columns, key=lambda name: report.columns[name]["ncp"], reverse=True)
    return [name for name in report.columns if name in set(by_loss[:_MOST_COLUMNS])]


def bar(share: float, width: int = 24) -> Text:
    """A share as a bar."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    blocks = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return Text(blocks, "cyan")


def seconds_line(seconds: Mapping[str, float]) -> str:
    """How long every step took."""
    steps = ", ".join(f"{name} {spent:.2f}" for name, spent in seconds.items() if name != "total")
    return f"{seconds.get('total', 0.0):.2f} seconds: {steps}"


def _item(mark: str, text: str, style: str) -> Table:
    """A line with a mark before it; where it is too long for one, the others start under the first."""
    table = Table.grid(padding=(0, 1))
    table.add_row(Text(mark, style), Text(text, style if mark.isspace() else ""))
    return table


def _headline(report: Report) -> Text:
    gone = [
        f"{count:,} {what}"
        for count, what in ((report.dropped_rows, "dropped"), (report.suppressed_rows, "suppressed"))
        if count
    ]
    left_out = f" ({', '.join(gone)})" if gone else ""
    return Text.assemble(
        (f"{report.released_rows:,}", "bold"),
        f" of {_count(report.rows, 'row', 'rows')} released{left_out} in {_classes(report)}; ",
        (percent(report.ncp), "bold"),
        f" of the detail lost{_other_loss(report)} ({_call(report.algorithm)})",
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _classes(found: Report | Verification) -> str:
    return f"{_count(found.classes, 'class', 'classes')}, the smallest of {found.smallest_class:,}"


def _other_loss(report: Report) -> str:
    return "" if report.loss["name"] == "ncp" else f", {report.loss['name']} {report.loss['value']:.4f}"


def _call(algorithm: Mapping[str, Any]) -> str:
    parameters = ", ".join(f"{key} {value}" for key, value in algorithm["parameters"].items())
    return f"{algorithm['name']}{': ' + parameters if parameters else ''}"
