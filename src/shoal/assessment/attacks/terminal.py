"""Attacks on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoal.assessment.attacks.combinations import Combinations
from shoal.assessment.attacks.outcome import Outcome
from shoal.assessment.attacks.simulation import Attacks
from shoal.privacy.known_rows import format_known
from shoal.report.terminal import draw_bar
from shoal.report.terminal_parts import indent_block, plain_table
from shoal.support.rates import CONFIDENCE, Estimate

_ADVICE = (
    "--control FILE with people who are not in the release, or --holdout, would tell leakage from what is "
    "true of everybody."
)


def show_attacks(console: Console, source: str, found: Attacks) -> None:
    """Print what every attack came to, as figures and as a sentence."""
    others = f"{found.control:,} who are not in it" if found.control else "no control group"
    console.print(
        Text(f"{source} under attack: {found.people:,} people of the original, {others}"), soft_wrap=True
    )
    console.print()
    console.print(indent_block(_draw_figures(found)))
    console.print()
    console.print(indent_block(_draw_verdicts(found)))
    if found.after:
        console.print()
        console.print(indent_block(_draw_known_rows(found)))
    if found.combinations is not None:
        console.print()
        console.print(indent_block(_draw_combinations(found.combinations)))
    if not found.control:
        console.print()
        console.print(indent_block(Text(_ADVICE, "yellow")))


def _draw_figures(found: Attacks) -> Table:
    table = plain_table("attack", "succeeds", "control", "risk")
    for column in table.columns[1:]:
        column.justify = "right"
    for outcome in found.outcomes:
        control = "" if outcome.control is None else f"{outcome.control.share:.1%}"
        risk = "" if outcome.risk is None else _format_interval(outcome.risk)
        table.add_row(Text(_format_name(outcome)), _format_interval(outcome.rate.estimate()), control, risk)
    table.caption = f"In brackets: {CONFIDENCE:.0%} confidence intervals; those of all risks hold together"
    table.caption_style, table.caption_justify = "dim", "left"
    return table


def _draw_verdicts(found: Attacks) -> Table:
    table = plain_table()
    # Of the attacks by known rows, which come first, the one that knows most speaks for all.
    for outcome in found.outcomes[max(len(found.after) - 1, 0) :]:
        text = Text(f"{outcome.about}: {outcome.verdict}")
        for note in outcome.notes:
            text.append(f"; {note}", "dim")
        table.add_row(Text(_format_name(outcome), "bold"), text)
    return table


def _draw_known_rows(found: Attacks) -> Table:
    """What known rows achieve on the original and on the release, as bars."""
    table = plain_table("known of a person", "original", "", "release", "", "control")
    for number in (1, 3, 5):
        table.columns[number].justify = "right"
    for one, two in zip(found.before, found.after, strict=True):
        control = "" if two.control is None else f"{two.control.share:.1%}"
        shares = one.rate.share, two.rate.share
        cells = [cell for share in shares for cell in (f"{share:.1%}", draw_bar(share, 12))]
        table.add_row(format_known(one.known), *cells, control)
    table.caption = "People who are linked rightly, if the table itself were released, and by the release"
    table.caption_style, table.caption_justify = "dim", "left"
    return table


def _draw_combinations(found: Combinations) -> Text:
    text = Text("without an attack: ", "bold")
    text.append(found.verdict, "not bold")
    if found.meaning:
        text.append(f"; {found.meaning}", "not bold dim")
    return text


def _format_name(outcome: Outcome) -> str:
    return outcome.name if outcome.column is None else f"{outcome.name}: {outcome.column}"


def _format_interval(found: Estimate) -> str:
    return f"{found.value:.1%} ({100 * found.low:.1f}..{100 * found.high:.1f})"
