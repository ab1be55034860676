"""Charts of a run, from what was counted: for the page of the report and for the studio."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from shoal.privacy.known_rows import format_known
from shoal.report import svg
from shoal.report.figures import Report
from shoal.report.prose import format_count, format_share
from shoal.report.statistics import (
    MISSING,
    OTHERS,
    ClassSizes,
    Closeness,
    Distribution,
    GeneralizationLevels,
    KnownRowsCurve,
)
from shoal.report.svg import Bar, Stack
from shoal.support.language import format_number
from shoal.support.language import translate as _

# Bounds the size of a page; the columns that lost least are left out first.
MOST_COLUMNS, MOST_SENSITIVE = 40, 8


def list_sides() -> tuple[tuple[str, str], ...]:
    """What the colours of before and after mean, for `shoal.report.svg.draw_legend`."""
    return (("before", _("before")), ("after", _("after")))


def find_costliest_columns(report: Report) -> list[str]:
    """The columns that lost most, in the order of the table."""
    by_loss = sorted(report.columns, key=lambda name: report.columns[name]["ncp"], reverse=True)
    # A stable sort: of columns that lost alike, the first ones of the table are kept.
    chosen = set(by_loss[:MOST_COLUMNS])
    return [name for name in report.columns if name in chosen]


def losses_chart(report: Report) -> str:
    """What every column lost."""
    names = find_costliest_columns(report)
    lines = [
        Bar(name, (report.columns[name]["ncp"],), format_share(report.columns[name]["ncp"])) for name in names
    ]
    return svg.draw_bars(_("Loss of every column"), lines, ["after"], svg.WIDE)


def levels_chart(found: Sequence[GeneralizationLevels]) -> str:
    """How far values were generalised, with what the colours mean."""
    lines = [
        Stack(
            each.name,
            tuple(
                (part, _choose_shade(level, len(each.levels)), name)
                for level, (part, name) in enumerate(zip(each.shares, each.levels, strict=True))
            ),
            format_count(int(each.typical), "value", "values"),
        )
        for each in found
    ]
    keys = [
        ("l0", _("as it was")),
        ("l1", _("generalised a little")),
        ("l3", _("far")),
        ("l4", _("anything (*)")),
    ]
    drawn = svg.draw_stacks(_("How far values were generalised"), lines)
    return f"{svg.draw_legend(keys)}<figure>{drawn}</figure>"


def _choose_shade(level: int, of: int) -> str:
    """From the value itself over the levels between to what stands for anything."""
    if level in (0, of - 1):
        return "l4" if level else "l0"
    # The style sheet has three shades for all levels between, so neighbouring levels may share one.
    return f"l{1 + (level - 1) * 3 // (of - 2)}"


def sizes_chart(after: ClassSizes) -> str:
    """Rows by the size of their class."""
    names, rows = after.bin_rows()
    return svg.draw_columns(
        _("Rows by the size of their class"),
        names,
        rows,
        kind="after",
        width=svg.WIDE,
        below=_("rows in the class"),
    )


def curve_chart(before: ClassSizes, after: ClassSizes) -> str:
    """Share of the rows that look like so many or fewer."""
    series = [("before", before.compute_curve()), ("after", after.compute_curve())]
    # The mark is the smallest class: no row of the release lies to the left of it.
    return svg.draw_curves(
        _("Rows by how many look the same, before and after"), series, float(after.size[0])
    )


def known_rows_chart(found: KnownRowsCurve) -> str:
    """Share of the people who are unique by so many known rows."""
    lines = list(found.list_lines())
    return svg.draw_columns(
        _("People who are unique by known rows, before and after"),
        [format_known(line.before.known) for line in lines],
        [line.before.unique.value for line in lines],
        [line.unique for line in lines],
        width=svg.WIDE,
        below=_("rows that somebody knows of a person"),
    )


def describe_known_rows(found: KnownRowsCurve) -> list[str]:
    """What the curve means, and how it was counted."""
    told = [
        _(
            "Whoever knows some rows of a person, drawn at random, is left with the people who have "
            "such rows. "
            "Before, the table says which rows are of one person."
        )
    ]
    if found.linked:
        told.append(_("The release says it as well, by a pseudonym."))
    else:
        told.append(
            _(
                "The release does not: each known row can only be looked for by itself, and the figures for "
                "several rows are of people of whom any row is found."
            )
        )
    if drawn := [each.looked_at for each in found.before if not each.is_exact]:
        told.append(
            _("Shares with an interval are estimated from {drawn:,} people drawn at random.", drawn=drawn[0])
        )
    return told


def distribution_chart(each: Distribution) -> str:
    """A quasi-identifier before and after, or only after."""
    # safepub: the distribution of the input is itself a secret.
    if each.before is None:
        after = [
            Bar(label, (two,), format_share(two))
            for label, two in zip(each.labels, each.after.tolist(), strict=True)
        ]
        return svg.draw_bars(_("{name} in the release", name=each.name), after, ("after",))
    title = _("{name} before and after", name=each.name)
    # Values with an order stand side by side as on an axis; names need the width of a line each.
    if each.kind == "line":
        return svg.draw_columns(title, each.labels, each.before.tolist(), each.after.tolist())
    lines = [
        Bar(label, (one, two), f"{format_share(one)}, {format_share(two)}")
        for label, one, two in zip(each.labels, each.before.tolist(), each.after.tolist(), strict=True)
    ]
    return svg.draw_bars(title, lines, ("before", "after"))


def closeness_chart(found: Closeness) -> str:
    """A sensitive column in some classes and in the whole, and how far all classes are from the whole."""
    kinds = [_choose_colour(i, value) for i, value in enumerate(found.values)]
    lines = [
        Stack(
            text,
            tuple(zip(shares.tolist(), kinds, found.values, strict=True)),
            _("{far:.3f}, {rows}", far=far, rows=format_count(rows, "row", "rows"))
            if i
            else format_count(rows, "row", "rows"),
        )
        for i, (text, rows, far, shares) in enumerate(found.lines)
    ]
    asked = "" if found.asked is None else _("; t = {asked:g} was asked for", asked=found.asked)
    histogram = svg.draw_columns(
        _("Rows by the distance of their class in {name}", name=found.name),
        [format_number(edge, ".2f") for edge in found.bins[:-1].tolist()],
        found.rows.tolist(),
        kind="after",
        width=svg.WIDE,
        below=_(
            "distance of the class from the whole ({distance} distance{asked})",
            distance=found.distance,
            asked=asked,
        ),
    )
    stacked = svg.draw_stacks(_("{name} in classes and in the whole", name=found.name), lines)
    legend = svg.draw_legend(zip(kinds, found.values, strict=True))
    return f"<h3>{escape(found.name)}</h3>{legend}<figure>{stacked}</figure><figure>{histogram}</figure>"


def _choose_colour(place: int, value: str) -> str:
    return "cm" if value == _(MISSING) else "c7" if value.startswith(_(OTHERS)) else f"c{place}"
