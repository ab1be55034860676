"""On a terminal: what a search for the least loss proved, how it went, and the tables that it found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import polars as pl
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shoal.report.figures import Report
from shoal.report.terminal_parts import format_loss, format_percent, plain_table
from shoal.table import read_released

_MOST_TABLES, _MOST_ROWS, _MOST_COLUMNS = 10, 20, 10  # so that a report fits a few screens
_CURVE = 48  # characters
_WIDEST = 24  # characters of a cell before it is folded
_MARK = "≠ "


def search_parts(report: Report, tables: Sequence[object], every: bool = False) -> Iterator[RenderableType]:
    """What there is to show of a search, one thing below the other; nothing of one that claims nothing."""
    # Most algorithms claim nothing: neither a bound nor generations.
    if report.lower_bound is not None or report.history or _is_budget_named(report):
        yield search_table(report)
    if report.levels:
        yield levels_table(report)
    if report.tried and report.levels:
        yield runners_up(report)
    # With levels the runners-up above say the same in one line each.
    if report.optimal is not None and tables and not report.levels:
        yield draw_optimal_tables(report, tables, len(tables) if every else _MOST_TABLES)


def search_table(report: Report) -> Table:
    """The certificate, the statistics and the curve."""
    table = plain_table()
    table.add_column(style="dim")
    lines = [
        *_describe_certificate(report),
        *_describe_statistics(report),
        *_describe_evolution(report),
        *_describe_refinement(report),
    ]
    for name, text in lines:
        table.add_row(name, text)
    return table


def _describe_certificate(report: Report) -> Iterator[tuple[str, Text]]:
    loss, bound = report.loss["value"], report.lower_bound
    if report.optimal:
        least = (format_loss(loss), "bold")
        yield "least loss", Text.assemble(least, ", proved: ", ("optimal", "bold green"))
    elif bound is not None:
        gap = Text(format_percent(report.gap or 0.0), "bold yellow")
        found = (format_loss(loss), "bold")
        yield "loss", Text.assemble(found, ", not proved to be the least; gap up to ", gap)
        yield "lower bound", Text(format_loss(bound))
    if report.optimal and report.search_space_log10 is not None and not report.levels:
        count = "not counted: too many, or too large a table"
        yield "optimal tables", Text(count if report.solutions is None else f"{report.solutions:,}")


def _describe_statistics(report: Report) -> Iterator[tuple[str, Text]]:
    if report.states:
        yield "level vectors", Text(f"{report.search_space or 0:,.0f}")
        # A lattice counts level vectors; the figures below are those of other searches.
        yield from ((name, Text(f"{count:,}")) for name, count in report.states.items() if count)
        return
    if report.search_space_log10 is not None:
        yield "search space", Text(f"{format_power_of_ten(report.search_space_log10)} tables")
    if report.nodes:
        bred = "tables bred" if report.history else "classes measured"
        what = "states" if report.search_space_log10 is not None else bred
        seconds = report.seconds.get("search", 0.0)
        # A search may be too short for the clock.
        rate = f" in {seconds:.2f} s, {report.nodes / seconds:,.0f} per second" if seconds else ""
        yield what, Text(f"{report.nodes:,}{rate}")
    if report.reduction_log10 is not None:
        yield (
            "reduction",
            Text(f"{format_power_of_ten(report.reduction_log10)} times fewer states than tables"),
        )
    if report.cuts:
        yield "pruned", Text(f"{report.cuts:,} times a branch was cut off unseen")


def levels_table(report: Report) -> Table:
    """How far up every column goes."""
    table = plain_table("column", "level", "")
    for name, known in report.levels.items():
        level, highest = known["level"], known["highest"]
        bar = Text.assemble(("━━" * level, "cyan"), ("··" * (highest - level), "dim"))
        table.add_row(Text(name), f"{level} of {highest}", bar)
    return table


def runners_up(report: Report) -> Table:
    """The best level vectors, the best of them first."""
    table = plain_table("", report.loss["name"], "levels, of the columns above")
    for place, (name, lost) in enumerate(report.tried, start=1):
        table.add_row(Text(str(place), "dim"), format_loss(lost), name)
    return table


def format_power_of_ten(log10: float) -> str:
    """A number that is given by its decimal logarithm."""
    # The number itself may be too large for a float, so only its logarithm is known.
    if log10 < 6:
        return f"{10**log10:,.0f}"
    exponent = int(log10)
    return f"{10 ** (log10 - exponent):.1f}·10^{exponent}"


# Evolution.


def _describe_evolution(report: Report) -> Iterator[tuple[str, Text]]:
    if not report.history:
        return
    best, mean = zip(*report.history, strict=True)
    # One scale for both lines: the mean never falls below the best.
    low, high = min(best), max(mean)
    # The first entry is the population that the search starts with.
    yield "generations", Text(f"{len(report.history) - 1:,}")
    for name, losses in (("best loss", best), ("mean loss", mean)):
        line = (draw_curve(losses, low, high), "cyan")
        yield name, Text.assemble(f"{format_loss(losses[0])} ", line, f" {format_loss(losses[-1])}")


def _is_budget_named(report: Report) -> bool:
    """Whether somebody who named a budget can see what it brought."""
    return len(report.curve) > 2 and report.algorithm["parameters"].get("seconds") is not None


def _describe_refinement(report: Report) -> Iterator[tuple[str, Text]]:
    if _is_budget_named(report):
        (_, first), *_, (spent, last) = report.curve
        losses = [loss for _, loss in report.curve]
        line = (draw_curve(losses, min(losses), max(losses)), "cyan")
        after = f" {format_loss(last)} in {spent:.2g} s of the budget"
        yield "refinement", Text.assemble(f"{format_loss(first)} ", line, after)


def draw_curve(values: Sequence[float], low: float, high: float, width: int = _CURVE) -> str:
    """Values as a line of blocks, from ``low`` to ``high``; of very many, evenly spaced ones."""
    blocks = "▁▂▃▄▅▆▇█"
    last = len(values) - 1
    # The first and the last value are always among those shown.
    shown = values if last < width else [values[i * last // (width - 1)] for i in range(width)]
    # A search that never improves has a flat line, not a division by zero.
    span = (high - low) or 1.0
    return "".join(blocks[round((value - low) / span * (len(blocks) - 1))] for value in shown)


# Optimal tables.


def draw_optimal_tables(report: Report, tables: Sequence[object], most: int = _MOST_TABLES) -> RenderableType:
    """The tables side by side as far as they fit, with what differs from the first marked."""
    frames = [_convert_to_strings(table) for table in islice(tables, most)]
    names = _shown_columns(report, frames[0])
    # By position: a name such as '^a$' would be taken for a pattern.
    first = frames[0].select(pl.nth(names))
    # There may be more solutions than the search was asked to list.
    count = report.solutions or len(tables)
    found = "optimal table" if report.optimal else "best table found"
    drawn = []
    for number, frame in enumerate(frames, start=1):
        of = "" if count == 1 else f" {number} of {count:,}"
        drawn.append(_draw_table(frame.select(pl.nth(names)), first, f"{found}{of}"))
    left = Text(_describe_left_out(count, len(tables), len(frames), frames[0].width - len(names)), "dim")
    if len(drawn) == 1:
        return Group(drawn[0], left) if left else drawn[0]
    return Group(Columns([Padding(each, (0, 0, 1, 0)) for each in drawn], padding=(0, 4), equal=True), left)


def list_tables(tables: Sequence[object]) -> list[list[dict[str, str]]]:
    """Released tables as plain values, for JSON: the rows of each, by column, as they are written."""
    return [_convert_to_strings(table).to_dicts() for table in tables]


def _convert_to_strings(table: object) -> pl.DataFrame:
    """A released table as strings; a missing value is an empty one."""
    frame = read_released(table).frame
    return pl.DataFrame([column.cast(pl.String).fill_null("") for column in frame.get_columns()])


def _shown_columns(report: Report, frame: pl.DataFrame) -> list[int]:
    """Positions of the columns to show: quasi-identifiers before others, in the order of the table."""
    order = sorted(range(frame.width), key=lambda j: frame.columns[j] not in report.quasi)
    return sorted(order[:_MOST_COLUMNS])


def _draw_table(frame: pl.DataFrame, first: pl.DataFrame, title: str) -> Group:
    """One table; where there are many rows, of another table than the first only those that differ."""
    table = plain_table("row")
    table.columns[0].justify, table.columns[0].style = "right", "dim"
    for name in frame.columns:
        table.add_column(Text(name), max_width=_WIDEST, overflow="fold")
    rows = list(zip(frame.rows(), first.rows(), strict=True))
    chosen = [i for i, (row, other) in enumerate(rows) if len(rows) <= _MOST_ROWS or row != other]
    # The first table differs from itself nowhere, and is shown from its first row.
    chosen = chosen or list(range(len(rows)))
    for i in chosen[:_MOST_ROWS]:
        table.add_row(
            str(i + 1), *(_mark_difference(value, other) for value, other in zip(*rows[i], strict=True))
        )
    left = len(rows) - len(chosen[:_MOST_ROWS])
    # A title of the table itself would be folded to the width of the table.
    said = f"{left:,} {'row' if left == 1 else 'rows'} not shown"
    return Group(Text(title, "bold"), table, *([Text(said, "dim")] if left else []))


def _mark_difference(value: str, first: str) -> Text:
    return Text(value) if value == first else Text(f"{_MARK}{value}", "bold yellow")


def _describe_left_out(count: int, listed: int, shown: int, columns: int) -> str:
    """What the tables on the screen do not show."""
    parts = []
    if listed > 1:
        parts.append(f"{_MARK.strip()} marks what differs from the first table")
    if count > shown:
        tables = "table is" if count - shown == 1 else "tables are"
        parts.append(f"{count - shown:,} optimal {tables} not shown; --all-solutions shows them")
    if columns:
        parts.append(f"{columns:,} {'column is' if columns == 1 else 'columns are'} not shown")
    return "; ".join(parts)
