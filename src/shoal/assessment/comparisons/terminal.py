"""What `shoal compare` shows on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoal.assessment.comparisons.comparison import Comparison, describe_budget
from shoal.report.terminal_parts import format_percent, indent_block, plain_table


def show_comparison(console: Console, source: str, found: Comparison, utility: bool = False) -> None:
    """Print a line for every setting; those that no other one beats stand out.

    With ``utility`` there is a second table, of what the releases are still good for.
    """
    results, front = found.results, set(found.front.select("algorithm", "k", "l").iter_rows())
    tried = results.filter(results["status"] != "not done").height
    console.print(
        Text(f"{source}: {tried} of {results.height} settings tried, by {', '.join(found.base.quasi)}"),
        soft_wrap=True,
    )
    console.print()
    console.print(indent_block(_build_table(found, front)))
    if front:
        text = "* no other setting has both less risk (or a higher l) and less loss"
        console.print(indent_block(Text(text, "dim")))
    if found.budget is not None:
        console.print(indent_block(Text(describe_budget(found.budget), "dim")))
    if utility and found.done.height:
        console.print()
        console.print(indent_block(_build_utility_table(found)))
    # After an interrupt nothing is known about the settings that were not tried.
    if not found.done.height and tried == results.height:
        console.print(indent_block(Text("no goal can be met: ask for less, or allow --suppress", "bold red")))


def _build_table(found: Comparison, front: set[tuple[Any, ...]]) -> Table:
    columns = list(_list_columns(found))
    table = plain_table(*(heading for heading, _ in columns), "")
    for column in table.columns[1:-1]:
        column.justify = "right"
    for row in found.results.iter_rows(named=True):
        best = (row["algorithm"], row["k"], row["l"]) in front
        cells = [Text(shown(row), "bold" if best else "") for _, shown in columns]
        # A setting that is not done has no reason.
        why = f"{row['status']}: {row['reason']}".removesuffix(": ")
        table.add_row(*cells, "*" if best else Text("" if row["status"] == "done" else why, "dim"))
    return table


_UTILITY = {
    "kl_divergence": "KL divergence",
    "ambiguity": "ambiguity",
    "propensity": "propensity",
    "correlation": "correlation",
    "contingency": "contingency",
    "disclosure": "disclosure",
}
"""Measures of utility, and their headings."""


def _build_utility_table(found: Comparison) -> Table:
    """What each release is still good for; what there is nothing to measure of is left out."""
    done = found.done
    shown = {name: heading for name, heading in _UTILITY.items() if done[name].null_count() < done.height}
    table = plain_table("algorithm", "k", "l", *shown.values())
    for column in table.columns[1:]:
        column.justify = "right"
    for row in done.iter_rows(named=True):
        table.add_row(
            row["algorithm"], str(row["k"]), str(row["l"] or ""), *(f"{row[name]:.4g}" for name in shown)
        )
    return table


def _list_columns(found: Comparison) -> Iterator[tuple[str, Callable[[Mapping[str, Any]], str]]]:
    """Headings, and how a result is shown below each; what is the same in all rows is left out."""
    yield "algorithm", lambda row: str(row["algorithm"])
    yield "k", lambda row: str(row["k"])
    if found.results["l"].null_count() < found.results.height:
        yield "l", lambda row: str(row["l"] or "")
    if found.base.loss != "ncp":
        yield found.base.loss, lambda row: "" if row["loss"] is None else f"{row['loss']:.4f}"
    yield "detail lost", lambda row: _format_share(row["ncp"])
    if found.base.weight_column is not None:
        heading = f"{found.base.loss} by weights"
        yield heading, lambda row: "" if row["weighted_loss"] is None else f"{row['weighted_loss']:.4f}"
    if found.base.suppress > 0:
        yield "rows suppressed", lambda row: _format_share(row["suppressed"])
    if found.results["payout"].null_count() < found.results.height:
        yield "payout", lambda row: "" if row["payout"] is None else f"{row['payout']:,.2f}"
    yield "classes", lambda row: "" if row["classes"] is None else f"{row['classes']:,}"
    yield "greatest risk", lambda row: _format_share(row["max_risk"])
    yield "average risk", lambda row: _format_share(row["average_risk"])
    yield "seconds", lambda row: "" if row["seconds"] is None else f"{row['seconds']:.2f}"


def _format_share(value: float | None) -> str:
    return "" if value is None else format_percent(value)
