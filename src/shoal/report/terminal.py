"""The report on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shoal.report.figures import Report
from shoal.verify import Verdict, Verification


def show_report(console: Console, report: Report) -> None:
    """Print what a run did: the promise, the loss, what to watch, and where the release is."""
    console.print(_headline(report))
    console.print(Padding(models_table(report.models), (1, 0, 0, 2)))
    console.print(Padding(columns_table(report), (1, 0, 1, 2)))
    for note in report.notes:
        console.print(f"  {escape(note)}", style="dim")
    for warning in report.warnings:
        console.print(f"  [yellow]![/] {escape(warning)}")
    console.print(f"  {seconds_line(report.seconds)}", style="dim")
    if report.output:
        console.print(f"  written to [bold]{escape(report.output)}[/]")
    else:
        console.print("  nothing was written: name a file with -o to keep the release")


def show_verification(console: Console, source: str, found: Verification) -> None:
    """Print what an outsider finds in a release."""
    verdict = "[green]holds[/]" if found.holds else "[red]does not hold[/]"
    console.print(
        f"{escape(source)}: [bold]{verdict}[/], {found.rows:,} rows in {found.classes:,} classes, "
        f"the smallest of {found.smallest_class:,}"
    )
    console.print(Padding(models_table(found.models), (1, 0, 1, 2)))


def models_table(models: Sequence[Verdict]) -> Table:
    """What was asked of every model and what the release reaches."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("verified", "asked", "reached", ""):
        table.add_column(name)
    for model in models:
        asked = ", ".join(f"{key} = {value}" for key, value in model.asked.items())
        mark = Text("✓ holds", "green") if model.holds else Text("✗ does not hold", "red")
        table.add_row(Text(model.name), Text(asked), Text(f"{model.achieved:g}"), mark)
    return table


def columns_table(report: Report) -> Table:
    """The loss of every quasi-identifier."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("column", "type", "values", "lost", ""):
        table.add_column(name, justify="right" if name in ("values", "lost") else "left")
    for name, column in report.columns.items():
        kind = "tree" if column["kind"] == "tree" else column["type"]
        table.add_row(Text(name), kind, f"{column['values']:,}", percent(column["ncp"]), bar(column["ncp"]))
    table.add_row(Text("all columns", "bold"), "", "", Text(percent(report.ncp), "bold"), bar(report.ncp))
    return table


def percent(share: float) -> str:
    """A share as a percentage with two decimals."""
    return f"{100 * share:.2f} %"


def bar(share: float, width: int = 24) -> Text:
    """A share as a bar."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    blocks = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return Text(blocks, "cyan")


def seconds_line(seconds: Mapping[str, float]) -> str:
    """How long every step took."""
    steps = ", ".join(f"{name} {spent:.2f}" for name, spent in seconds.items() if name != "total")
    return f"{seconds.get('total', 0.0):.2f} seconds: {steps}"


def _headline(report: Report) -> str:
    gone = [
        f"{count:,} {what}"
        for count, what in ((report.dropped_rows, "dropped"), (report.suppressed_rows, "suppressed"))
        if count
    ]
    left_out = f" ({', '.join(gone)})" if gone else ""
    algorithm = _call(report.algorithm)
    return (
        f"[bold]{report.released_rows:,}[/] of {report.rows:,} rows released{left_out} in "
        f"[bold]{report.classes:,}[/] classes, the smallest of {report.smallest_class:,}; "
        f"[bold]{percent(report.ncp)}[/] of the detail lost{_other_loss(report)} ({escape(algorithm)})"
    )


def _other_loss(report: Report) -> str:
    return "" if report.loss["name"] == "ncp" else f", {report.loss['name']} {report.loss['value']:.4f}"


def _call(algorithm: Mapping[str, Any]) -> str:
    parameters = ", ".join(f"{key} {value}" for key, value in algorithm["parameters"].items())
    return f"{algorithm['name']}{': ' + parameters if parameters else ''}"
