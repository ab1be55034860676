"""What attackers could do before, and what they can do now, as gauges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from nicegui import events, ui

from shoal.report.words import chance
from shoal.risk import THRESHOLDS, Attacker
from shoal.risk.attackers import prosecutor, sampled_journalist
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.running import Run

_FRACTION = "share of the people"


@dataclass(frozen=True, slots=True)
class Gauge:
    """A risk before and after."""

    name: str
    words: str
    before: float
    after: float
    expert: str = ""
    """What experts call it."""


def show(page: Page, run: Run) -> None:
    """Draw the risks of a run."""
    with theme.card(
        "The risk that somebody is found",
        "Grey is the table as it was, colour is the release. Shorter is safer.",
        id="risk",
    ):
        with theme.box("gauges"):
            for gauge in gauges(run):
                draw(gauge)
        _outsider(page, run)


def draw(gauge: Gauge) -> None:
    """A gauge: two bars, their figures, and what they mean."""
    with theme.box("gauge"):
        with theme.box("rowed spread").style("gap: 4px 10px"):
            theme.text(gauge.name, "", "h3")
            if gauge.expert:
                theme.text(gauge.expert, "soft small", "span")
        for kind, share in (("before", gauge.before), ("after", gauge.after)):
            with theme.box("gauge-line"):
                theme.text(kind, "soft small", "span")
                with theme.box("gauge-track", "span", aria_hidden="true"):
                    theme.box(f"gauge-bar {kind}", "span").style(f"width: {width(share)}")
                theme.text(theme.percent(share), "strong small gauge-figure", "span")
        theme.text(gauge.words, "small")


def width(share: float) -> str:
    """How long the bar of a share is; what is not nothing can be seen."""
    return f"max({100 * share:.2f}%, {3 if share else 0}px)"


def sizes(run: Run, side: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Rows per class."""
    size, classes = run.figures["explore"]["sizes"][side]
    return np.repeat(np.array(size, np.int64), classes)


def gauges(run: Run) -> list[Gauge]:
    """What somebody can do who knows that a person is in the table, and somebody who guesses for all."""
    before, after = run.figures["before"], run.figures["after"]
    one, two = (
        Attacker.of(prosecutor(s), s, THRESHOLDS) for s in (sizes(run, "before"), sizes(run, "after"))
    )
    odds = chance(two.maximum)
    return [
        Gauge(
            "Highest risk of a row",
            f"Somebody who knows that a person is in the table picks the right row: {odds} at most."
            if odds != "certainty"
            else "Somebody who knows that a person is in the table can be certain of the row.",
            one.maximum,
            two.maximum,
            "prosecutor",
        ),
        Gauge(
            "Rows that stand alone",
            "Nobody else looks the same: whoever knows these values of a person has the row.",
            before["unique"],
            after["unique"],
            "unique",
        ),
        Gauge(
            "Found if all are guessed",
            "Somebody who guesses for everybody, to match the table with another, is right so often.",
            one.average,
            two.average,
            "marketer",
        ),
        Gauge(
            "Rows in small groups",
            "In groups of fewer than 5, which is a risk above 20 % for each of them.",
            before["below_5"],
            after["below_5"],
            "risk above 0.2",
        ),
    ]


def _outsider(page: Page, run: Run) -> None:
    """Somebody who does not know whether the person is in the table: what share of all people is, tells."""
    looks = page.workspace.looks

    @ui.refreshable
    def told() -> None:
        share = looks.get(_FRACTION)
        if share is None:
            theme.text("Say how many of them, and the risk to such an attacker is estimated.", "soft small")
            return
        draw(outsider(run, share / 100))

    def take(event: events.ValueChangeEventArguments[float | None]) -> None:
        share = event.value
        looks[_FRACTION] = share if share is not None and 0 < share <= 100 else None
        told.refresh()

    with theme.box("gauge-outsider"):
        with theme.box("stacked"):
            theme.text("And somebody who does not know whether the person is in the table?", "", "h3")
            theme.text("That is safer, the smaller a part of all such people the table holds.", "small")
            # The input stays where it is, and with it the cursor.
            ui.number(
                "The table holds this share of them, in %",
                value=looks.get(_FRACTION),
                min=0,
                max=100,
                on_change=take,
            ).props("outlined dense debounce=400").style("max-width: 320px")
        with theme.box(""):
            told()


def outsider(run: Run, fraction: float) -> Gauge:
    """The highest risk to somebody who knows only which share of the people is in the table."""
    one, two = (
        Attacker.of(sampled_journalist(s, fraction), s, THRESHOLDS)
        for s in (sizes(run, "before"), sizes(run, "after"))
    )
    words = f"Estimated from the sizes of the groups; {theme.percent(two.average)} on average."
    return Gauge("Highest risk to an outsider", words, one.maximum, two.maximum, "journalist")
