"""What attackers could do before, and what they can do now, as gauges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from nicegui import events, ui

from shoal.assessment.risks import THRESHOLDS, Attacker, estimate_population_uniques
from shoal.assessment.risks.attackers import estimate_journalist_risk, measure_prosecutor_risk
from shoal.report import svg
from shoal.report.charts import list_sides
from shoal.report.prose import format_odds
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.support.language import mark
from shoal.support.language import translate as _

_LIMIT = 9.0  # percent: what medicines agencies ask of clinical data
_FRACTION = "share of the people"  # the key in `StudioWorkspace.looks`; its value is in percent


@dataclass(frozen=True, slots=True)
class RiskGauge:
    """A risk before and after."""

    name: str
    words: str
    before: float
    after: float
    expert: str = ""
    """What experts call it."""


def draw_risks(page: Page, run: Run) -> None:
    """Draw the risks of a run."""
    with theme.card(
        _("The risk that somebody is found"),
        _("Grey is the table as it was, colour is the release. Shorter is safer."),
        id="risk",
    ):
        with theme.box("gauges"):
            for gauge in build_gauges(run):
                draw_gauge(gauge)
        _draw_known_rows(run)
        limits = _draw_limits(page, run)
        _draw_outsider(page, run, limits)


def _draw_known_rows(run: Run) -> None:
    """People who are found by rows that somebody knows of them, where people have several rows."""
    # Runs of an earlier version were kept without it.
    found = run.drawn.get("known_rows")
    if found is None:
        return
    with theme.box("stacked known-rows"):
        theme.text(_("People who are unique by rows that somebody knows of them"), "", "h3")
        for sentence in found["words"]:
            theme.text(sentence, "small")
        theme.draw_chart(svg.draw_legend(list_sides()))
        theme.draw_chart(found["chart"])


_SIDES = {"before": mark("before"), "after": mark("after")}


def draw_gauge(gauge: RiskGauge) -> None:
    """A gauge: two bars, their figures, and what they mean."""
    with theme.box("gauge"):
        with theme.box("rowed spread").style("gap: 4px 10px"):
            theme.text(gauge.name, "", "h3")
            if gauge.expert:
                theme.text(_(gauge.expert), "soft small", "span")
        for kind, share in (("before", gauge.before), ("after", gauge.after)):
            with theme.box("gauge-line"):
                theme.text(_(_SIDES[kind]), "soft small", "span")
                with theme.box("gauge-track", "span", aria_hidden="true"):
                    theme.box(f"gauge-bar {kind}", "span").style(f"width: {format_width(share)}")
                theme.text(theme.format_percent(share), "strong small gauge-figure", "span")
        theme.text(gauge.words, "small")


def format_width(share: float) -> str:
    """How long the bar of a share is; what is not nothing can be seen."""
    return f"max({100 * share:.2f}%, {3 if share else 0}px)"


def expand_class_sizes(run: Run, side: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Rows per class."""
    size, classes = run.figures["explore"]["sizes"][side]
    # Stored as sizes and how many classes have each; the risk functions take one entry per class.
    return np.repeat(np.array(size, np.int64), classes)


def build_gauges(run: Run) -> list[RiskGauge]:
    """What somebody can do who knows that a person is in the table, and somebody who guesses for all."""
    before, after = run.figures["before"], run.figures["after"]
    # By the same functions as `shoal risk`, before and after the release.
    one, two = (
        Attacker.from_class_risks(measure_prosecutor_risk(s), s, THRESHOLDS)
        for s in (expand_class_sizes(run, "before"), expand_class_sizes(run, "after"))
    )
    odds = format_odds(two.maximum)
    return [
        RiskGauge(
            _("Highest risk of a row"),
            _(
                "Somebody who knows that a person is in the table picks the right row: {odds} at most.",
                odds=odds,
            )
            if odds != "certainty"
            else _("Somebody who knows that a person is in the table can be certain of the row."),
            one.maximum,
            two.maximum,
            mark("prosecutor"),
        ),
        RiskGauge(
            _("Rows that stand alone"),
            _("Nobody else looks the same: anyone who knows these values of a person has the row."),
            before["unique"],
            after["unique"],
            mark("unique"),
        ),
        RiskGauge(
            _("Found if all are guessed"),
            _("Somebody who guesses for everybody, to match the table with another, is right so often."),
            one.average,
            two.average,
            mark("marketer"),
        ),
        RiskGauge(
            _("Rows in small groups"),
            _("In groups of fewer than 5, which is a risk above 20 % for each of them."),
            before["below_5"],
            after["below_5"],
            mark("risk above 0.2"),
        ),
    ]


# Limits that somebody sets.


def _draw_limits(page: Page, run: Run) -> Callable[[], object]:
    """Limits of the risk, which attackers keep them, and which rows do not; gives back what draws it anew."""
    looks = page.workspace.looks

    @ui.refreshable
    def draw_verdicts() -> None:
        share = looks.get(_FRACTION)
        found = judge_limits(
            run, looks.get("limit", _LIMIT) / 100, looks.get("above", 0) / 100, share and share / 100
        )
        rows = [
            (
                each.attacker,
                theme.format_percent(each.before),
                theme.format_percent(each.after),
                _("✓ kept") if each.holds else _("✗ not kept"),
            )
            for each in found
        ]
        theme.draw_table((_("of"), _("before"), _("after"), _("limit")), rows, "limits")

    def set_limit(name: str, value: float | None, most: float) -> None:
        if value is not None and 0 <= value <= most:  # somebody may still be typing
            looks[name] = value
            draw_verdicts.refresh()

    theme.text(_("Your own limits"), "", "h3").style("margin-top: 18px")
    with theme.box("rowed"):
        for name, label, usual in (
            ("limit", _("Highest risk of a row, in %"), _LIMIT),
            ("above", _("Rows that may be above it, in %"), 0),
        ):
            made = ui.number(
                label,
                value=looks.get(name, usual),
                min=0,
                max=100,
                on_change=lambda event, name=name: set_limit(name, event.value, 100),
            )
            made.props("outlined dense debounce=400").style("min-width: 250px")
    draw_verdicts()
    return draw_verdicts.refresh


@dataclass(frozen=True, slots=True)
class LimitVerdict:
    """Whether what an attacker achieves is within a limit."""

    attacker: str
    before: float
    after: float
    holds: bool


def judge_limits(run: Run, limit: float, above: float, fraction: float | None = None) -> list[LimitVerdict]:
    """Which limits are kept: by rows above the limit, and on average by somebody who guesses for all.

    Parameters
    ----------
    limit, above : float
        The highest risk of a row, and the share of the rows that may be above it.
    fraction : float, optional
        Which share of all people the table has: the journalist is judged, too.
    """
    measures = {_("prosecutor: rows above the limit"): measure_prosecutor_risk}
    if fraction is not None:
        measures[_("journalist: rows above the limit")] = lambda size: estimate_journalist_risk(
            size, fraction
        )
    found = []
    for name, measure in measures.items():
        one, two = (
            Attacker.from_class_risks(measure(size), size, (limit,))
            for size in (expand_class_sizes(run, "before"), expand_class_sizes(run, "after"))
        )
        before, after = one.above[0][1], two.above[0][1]
        found.append(LimitVerdict(name, before, after, after <= above))
        if measure is measure_prosecutor_risk:
            average = one.average, two.average
    found.append(LimitVerdict(_("marketer: right guesses"), *average, average[1] <= limit))
    return found


def _draw_outsider(page: Page, run: Run, redraw_limits: Callable[[], object]) -> None:
    """Somebody who does not know whether the person is in the table: what share of all people is, tells."""
    looks = page.workspace.looks

    @ui.refreshable
    def draw_estimate() -> None:
        share = looks.get(_FRACTION)
        if share is None:
            theme.text(
                _("Say how many of them, and the risk to such an attacker is estimated."), "soft small"
            )
            return
        draw_gauge(build_outsider_gauge(run, share / 100))
        draw_gauge(build_uniques_gauge(run, share / 100))

    def set_share(event: events.ValueChangeEventArguments[float | None]) -> None:
        share = event.value
        # Somebody may still be typing, so an impossible share is not an error.
        looks[_FRACTION] = share if share is not None and 0 < share <= 100 else None
        draw_estimate.refresh()
        redraw_limits()

    with theme.box("gauge-outsider"):
        with theme.box("stacked"):
            theme.text(_("And somebody who does not know whether the person is in the table?"), "", "h3")
            theme.text(_("That is safer, the smaller a part of all such people the table holds."), "small")
            # The input stays where it is, and with it the cursor.
            ui.number(
                _("The table holds this share of them, in %"),
                value=looks.get(_FRACTION),
                min=0,
                max=100,
                on_change=set_share,
            ).props("outlined dense debounce=400").style("max-width: 320px")
        with theme.box(""):
            draw_estimate()


def build_outsider_gauge(run: Run, fraction: float) -> RiskGauge:
    """The highest risk to somebody who knows only which share of the people is in the table."""
    one, two = (
        Attacker.from_class_risks(estimate_journalist_risk(s, fraction), s, THRESHOLDS)
        for s in (expand_class_sizes(run, "before"), expand_class_sizes(run, "after"))
    )
    words = _(
        "Estimated from the sizes of the groups; {average} on average.",
        average=theme.format_percent(two.average),
    )
    return RiskGauge(_("Highest risk to an outsider"), words, one.maximum, two.maximum, mark("journalist"))


def build_uniques_gauge(run: Run, fraction: float) -> RiskGauge:
    """The share of all people who are unique among them, estimated from the sizes of the groups."""
    one, two = (
        estimate_population_uniques(size, fraction)
        for size in (expand_class_sizes(run, "before"), expand_class_sizes(run, "after"))
    )
    words = _(
        "About {uniques:,.0f} of {population:,} people, and {uniques2:,.0f} before; by the "
        "estimator {chosen}, which Dankar's rule takes.",
        uniques=two.uniques,
        population=two.population,
        uniques2=one.uniques,
        chosen=two.chosen,
    )
    return RiskGauge(_("Unique among all people"), words, one.share, two.share, mark("population uniques"))
