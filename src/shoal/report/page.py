"""The report as one HTML file: no script, nothing from elsewhere, light and dark, fit for paper.

Decision: charts are SVG text that this package writes, see docs/decisions/report-charts.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from shoal.privacy import achieved_text
from shoal.privacy.known_rows import SMALL, format_known
from shoal.report import svg
from shoal.report.audit import build_audit_record, checksums_table, embed_json
from shoal.report.charts import (
    MOST_COLUMNS,
    MOST_SENSITIVE,
    closeness_chart,
    curve_chart,
    describe_known_rows,
    distribution_chart,
    find_costliest_columns,
    known_rows_chart,
    levels_chart,
    list_sides,
    losses_chart,
    sizes_chart,
)
from shoal.report.figures import Report
from shoal.report.prose import (
    explain_limits,
    explain_model,
    format_count,
    format_odds,
    format_share,
    join_names,
    list_uncovered_risks,
    summarize_report,
)
from shoal.report.statistics import (
    Evidence,
    KnownRowsLine,
    ShownClass,
    build_excerpt,
    estimate_distributions,
    measure_closeness,
    measure_levels,
)
from shoal.report.whole_release import IN_MEMORY, draw_findings, draw_heading, draw_recipe
from shoal.support.files import whole_file
from shoal.support.language import current_language, format_number, mark, speaking, translate_message
from shoal.support.language import translate as _

_ON_REQUEST = mark(" How some of them looked before is shown only on request (--excerpt).")
_LONGEST = 160  # characters of a cell in an excerpt
# A browser that is told so fetches nothing and runs nothing, whatever stands in a cell.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_page(report: Report, evidence: Evidence, path: Path, original: bool = False) -> None:
    """Write the report of a run; ``original`` shows a few rows as they were beside what they became."""
    with speaking(evidence.recipe.language):
        text = draw_page(report, evidence, path.resolve().parent, original)
    # Private: the page shows how the original was distributed, with an excerpt some of its rows.
    with whole_file(path, private=True) as stream:
        stream.write(text.encode())


def draw_page(report: Report, evidence: Evidence, folder: Path | None = None, original: bool = False) -> str:
    """The page as text; paths in its recipe start from ``folder``."""
    plain = build_audit_record(report, evidence, folder)
    name = plain["input"]["name"] or _(IN_MEMORY)
    body = "\n".join(_draw_sections(report, evidence, plain, name, original))
    return (
        '<!doctype html>\n<html lang="' + current_language() + '">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_('Anonymization report')}: "
        f"{escape(name)}</title>\n<style>\n{read_style_sheet()}</style>\n</head>\n"
        f'<body class="shoal shoal-page">\n<main>\n{body}\n</main>\n{embed_json(plain)}\n</body>\n</html>\n'
    )


def _draw_sections(
    report: Report, evidence: Evidence, plain: dict[str, Any], name: str, original: bool
) -> list[str]:
    return [
        _draw_page_heading(report, name),
        *_draw_summary(report, evidence),
        *_draw_promises(report),
        draw_findings(report.findings, report.released_only),
        # safepub may release nothing, and then no chart has anything to scale by.
        *(_draw_pictures(report, evidence, original) if report.released_rows else ()),
        *_draw_remarks(report),
        *_draw_limits(report, evidence),
        *_draw_recipe_and_audit(plain, report.released_only),
    ]


def _draw_pictures(report: Report, evidence: Evidence, original: bool) -> Iterator[str]:
    """What can be drawn of a release that has rows."""
    yield from _draw_excerpt(evidence, original)
    yield from _draw_costs(report, evidence)
    yield from _draw_classes(evidence)
    yield from _draw_known_rows(evidence)
    yield from _draw_columns(report, evidence)
    yield from _draw_sensitive_columns(report, evidence)


def draw_fragment(report: Report) -> str:
    """The figures for a notebook: what was promised, what was found, what it cost."""
    parts = [
        _draw_page_heading(report, "", level=3),
        *_draw_summary(report),
        _draw_verdicts(report),
        _draw_losses(report),
    ]
    if report.findings or report.evidence is not None:  # without the table nothing was looked for
        parts.append(draw_findings(report.findings, report.released_only, level=4))
    return f'<div class="shoal"><style>{read_style_sheet()}</style>{"".join(parts)}</div>'


def read_style_sheet() -> str:
    """The style sheet."""
    return files("shoal.report").joinpath("page.css").read_text("utf-8")


def _draw_page_heading(report: Report, name: str, level: int = 1) -> str:
    return draw_heading(all(model.holds for model in report.models), report.findings, name, level)


def _draw_summary(report: Report, evidence: Evidence | None = None) -> Iterator[str]:
    yield f"<p class=lead>{escape(' '.join(summarize_report(report, evidence)))}</p>"
    of = (
        _("rows released")
        if report.rows is None
        else _("of {rows} released", rows=format_count(report.rows, "row", "rows"))
    )
    unit = (
        _("rows in the smallest of {classes:,} classes", classes=report.classes)
        if report.people is None
        else _("people in the smallest of {classes:,} classes", classes=report.classes)
    )
    tiles = [
        (format_number(report.released_rows, ","), of),
        (
            format_number(report.smallest_class, ","),
            unit,
        ),
        (format_share(report.ncp), _("of the detail lost")),
    ]
    if evidence is not None and report.released_only:
        # No arrow from before to after: the risk in the input may not be told.
        tiles += [
            (
                format_share(evidence.sizes_after.compute_risk().highest),
                _("highest risk of a row to be found"),
            )
        ]
    elif evidence is not None:
        before, after = evidence.sizes_before.compute_risk(), evidence.sizes_after.compute_risk()
        arrow = f"{format_share(before.highest)} → {format_share(after.highest)}"
        tiles += [(arrow, _("highest risk of a row to be found"))]
        alone = f"{format_share(before.unique)} → {format_share(after.unique)}"
        tiles += [(alone, _("of the rows stand alone in these columns"))]
    drawn = "".join(
        f"<div class=tile><b>{escape(big)}</b><span>{escape(what)}</span></div>" for big, what in tiles
    )
    yield f"<div class=tiles>{drawn}</div>"


def _draw_promises(report: Report) -> Iterator[str]:
    yield _draw_title(_("What was promised, and what a count of the released values finds"))
    yield _draw_verdicts(report)


def _draw_verdicts(report: Report) -> str:
    # No green tick beside a severe finding, whatever somebody decided about it.
    is_calm = all(finding.severity != "high" for finding in report.findings)
    holds = f"<span class=good>{_('✓ holds')}</span>" if is_calm else _("holds")
    rows = []
    for model in report.models:
        asked = ", ".join(f"{key} = {value}" for key, value in model.asked.items())
        verdict = holds if model.holds else f"<span class=bad>{_('✗ does not hold')}</span>"
        cells = (model.name, asked, achieved_text(model.achieved))
        rows.append(
            (*map(escape, cells), verdict, f"<span class=soft>{escape(explain_model(model.name))}</span>")
        )
    heads = (_("model"), _("asked"), _("found"), "", _("which means"))
    return f'<div class="keep">{_draw_table(heads, rows)}</div>'


def _draw_excerpt(evidence: Evidence, original: bool) -> Iterator[str]:
    found = build_excerpt(evidence)
    yield _draw_title(_("Before and after") if original else _("A look at the release"))
    yield _draw_paragraph(
        _(
            "A few classes, drawn at random: all rows of a class look the same in {quasi}.",
            quasi=join_names(evidence.recipe.quasi),
        )
        + ("" if original or evidence.released_only else _(_ON_REQUEST))
    )
    heads = [
        "",
        *(_("class of {size}", size=format_count(each.size, "row", "rows")) for each in found.classes),
    ]
    rows = []
    for i, name in enumerate(found.names):
        cells = [_draw_cell(each, i, original) for each in found.classes]
        rows.append((f"<b>{escape(name)}</b>", *cells))
    yield _draw_table(heads, rows)


def _draw_cell(shown: ShownClass, column: int, original: bool) -> str:
    """One column of a class: what it is released as, and what some of its rows have or had."""
    values = ", ".join(_draw_value(row[column]) for row in shown.rows)
    more = ", ..." if shown.size > len(shown.rows) else ""
    # Sensitive columns come after the quasi-identifiers and are released as they are.
    if column >= len(shown.released):
        return f"{values}{more}"
    was = f'<br><span class="soft">{_("was {values}", values=values)}{more}</span>' if original else ""
    return f"{_draw_value(shown.released[column])}{was}"


def _draw_value(text: str) -> str:
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    # Cut before escaping, so that no character reference is cut in two.
    return escape(text) if text else f"<i>{_('missing')}</i>"


def _draw_costs(report: Report, evidence: Evidence) -> Iterator[str]:
    yield _draw_title(_("What it cost"))
    yield _draw_paragraph(
        _(
            "{ncp} of the detail is lost over all quasi-identifiers. A value that stays costs "
            "nothing; one that becomes a range, a set or a node of a hierarchy costs more, the "
            "more that covers.",
            ncp=format_share(report.ncp),
        )
    )
    yield _draw_losses(report)
    if report.loss["name"] != "ncp":
        yield _draw_paragraph(
            _(
                "The loss that was minimised is {name}: {value:.6g}.",
                name=report.loss["name"],
                value=report.loss["value"],
            )
        )
    if report.weighted_loss is not None:
        yield _draw_paragraph(
            _(
                "By survey weights, as if every row were there as often as its weight says, the loss "
                "{name} is {value:.6g}. The search did not look at the weights.",
                name=report.loss["name"],
                value=report.weighted_loss,
            )
        )
    yield f"<h3>{_('How far values were generalised')}</h3>{_draw_levels(report, evidence)}"


def _draw_losses(report: Report) -> str:
    return f"<figure>{losses_chart(report)}</figure>{_note_columns_left_out(report)}"


def _draw_levels(report: Report, evidence: Evidence) -> str:
    # A list, because the chart and the table below it both go through it.
    found = list(measure_levels(evidence, find_costliest_columns(report)))
    note = _("At the end of a line: how many values a released one stands for, in the median over the rows.")
    rows = [
        (
            each.name,
            ", ".join(
                f"{level} {format_share(part)}" for level, part in zip(each.levels, each.shares, strict=True)
            ),
        )
        for each in found
        # Without a hierarchy 'generalised' is the only level between; the chart shows that already.
        if each.tree
    ]
    table = _draw_table(
        (_("hierarchy"), _("share of the rows at each level")), [map(escape, row) for row in rows]
    )
    return f"{levels_chart(found)}{_draw_note(note)}{table if rows else ''}"


def _draw_classes(evidence: Evidence) -> Iterator[str]:
    after = evidence.sizes_after
    yield _draw_title(_("Classes, and the risk of being found"))
    yield _draw_paragraph(
        _(
            "The more rows look the same, the harder it is to tell which is whose. Somebody who knows that a "
            "person is in the table, and all quasi-identifiers of that person, picks the right one of s rows "
            "with a chance of 1/s."
        )
    )
    yield f"<h3>{_('Rows of the release by the size of their class')}</h3>"
    yield f"<figure>{sizes_chart(after)}</figure>"
    if evidence.released_only:
        return
    before = evidence.sizes_before
    yield f"<h3>{_('Share of the rows that look like so many or fewer')}</h3>"
    yield svg.draw_legend(list_sides())
    yield f"<figure>{curve_chart(before, after)}</figure>"
    one, two = before.compute_risk(), after.compute_risk()
    yield _draw_table(
        (_("risk"), _("before"), _("after")),
        [
            (
                _("highest"),
                *(f"{format_share(risk.highest)} ({format_odds(risk.highest)})" for risk in (one, two)),
            ),
            (
                _("average"),
                *(f"{format_share(risk.average)} ({format_odds(risk.average)})" for risk in (one, two)),
            ),
            (_("rows that stand alone"), format_share(one.unique), format_share(two.unique)),
            (_("rows with a risk above 20 %"), format_share(one.below_5), format_share(two.below_5)),
            (_("rows with a risk above 5 %"), format_share(one.below_20), format_share(two.below_20)),
        ],
    )


def _draw_known_rows(evidence: Evidence) -> Iterator[str]:
    """What rows that somebody knows of a person tell, where people have several."""
    found = evidence.known_rows
    if found is None:
        return
    yield _draw_title(_("People who are found by rows that somebody knows"))
    yield _draw_paragraph(" ".join(describe_known_rows(found)))
    yield svg.draw_legend(list_sides())
    yield f"<figure>{known_rows_chart(found)}</figure>"
    heads = (
        _("known"),
        _("unique before"),
        _("after"),
        _("fewer than {small} people before", small=SMALL),
        _("after"),
    )
    yield _draw_table(heads, [_draw_known_line(line) for line in found.list_lines()])


def _draw_known_line(line: KnownRowsLine) -> tuple[str, ...]:
    was = line.before
    sure = (
        ""
        if was.is_exact
        else _(" ({low} to {high})", low=format_share(was.unique.low), high=format_share(was.unique.high))
    )
    return (
        format_known(was.known),
        f"{format_share(was.unique.value)}{sure}",
        format_share(line.unique),
        format_share(was.below.value),
        format_share(line.below),
    )


def _draw_columns(report: Report, evidence: Evidence) -> Iterator[str]:
    spread = _(
        "as somebody would estimate it who has only the release, each row spread evenly over the values that "
        "its released value stands for."
    )
    if evidence.released_only:
        yield _draw_title(_("Every quasi-identifier in the release"))
        yield _draw_paragraph(_("It is drawn {spread}", spread=spread))
    else:
        # The bound that the bars below were counted with: rarer values could be found by their bar.
        least = format_count(int(evidence.sizes_after.size[0]), "row", "rows")
        yield _draw_title(_("Every quasi-identifier, before and after"))
        yield _draw_paragraph(
            _(
                "After: {spread} Before: the original, without bars for fewer than {least}.",
                spread=spread,
                least=least,
            )
        )
        yield svg.draw_legend(list_sides())
    found = estimate_distributions(evidence, find_costliest_columns(report))
    drawn = "".join(
        f"<figure><h3>{escape(each.name)}</h3>{distribution_chart(each)}</figure>" for each in found
    )
    yield f"<div class=grid>{drawn}</div>{_note_columns_left_out(report)}"


def _draw_sensitive_columns(report: Report, evidence: Evidence) -> Iterator[str]:
    if not report.sensitive:
        return
    yield _draw_title(_("What a class tells about sensitive values"))
    yield _draw_paragraph(
        _(
            "Anyone who finds the class of a person learns how sensitive values are distributed in it. The "
            "nearer that is to the whole release, the less is learned. A distance of 0 means alike, 1 as "
            "different as can be."
        )
    )
    for name in report.sensitive[:MOST_SENSITIVE]:
        yield closeness_chart(measure_closeness(evidence, name))
    if rest := len(report.sensitive) - MOST_SENSITIVE:
        yield _draw_note(_("{rest} further sensitive columns are not drawn.", rest=rest)) if rest > 0 else ""


def _draw_remarks(report: Report) -> Iterator[str]:
    if report.warnings or report.notes:
        yield _draw_title(_("Remarks"))
        items = [
            f"<li><span class=warn>{_('Warning:')}</span> {escape(translate_message(text))}</li>"
            for text in report.warnings
        ]
        items += [f"<li>{escape(translate_message(text))}</li>" for text in report.notes]
        yield f"<ul>{''.join(items)}</ul>"


def _draw_limits(report: Report, evidence: Evidence) -> Iterator[str]:
    yield _draw_title(_("What the guarantee does not cover"))
    items = [escape(text) for text in list_uncovered_risks(report, evidence)]
    # Once per kind of model, in the order of the recipe; a goal may ask for several t.
    names = dict.fromkeys(model.name for model in report.models)
    items += [f"<b>{escape(name)}:</b> {escape(text)}" for name in names if (text := explain_limits(name))]
    yield f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _draw_recipe_and_audit(plain: dict[str, Any], drawn: bool) -> Iterator[str]:
    yield _draw_title(_("To do it again"))
    again = (
        _("Another run draws another sample, and if that is released as well, both add up.")
        if drawn
        else _("The same recipe and the same input give the same bytes.")
    )
    yield _draw_paragraph(_("The recipe of this run, for 'shoal run'. {again}", again=again))
    yield draw_recipe(plain["recipe"])
    yield _draw_title(_("For the auditor"))
    yield _draw_paragraph(
        _(
            "Anyone who has the release can check this page: the command below counts the released "
            "values again "
            "and compares them, and the checksum, with what is written here."
        )
    )
    name = plain["release"]["name"] or "RELEASE"
    yield f"<pre>shoal verify {escape(name)} --report THIS-PAGE.html</pre>"
    versions = ", ".join(f"{package} {number}" for package, number in plain["versions"].items())
    made = f"<tr><th>{_('made by')}</th><td>Shoal {escape(plain['shoal'])} ({escape(versions)})</td></tr>"
    # UTC, so that the page does not tell in which part of the world it was made.
    when = f"<tr><th>{_('made at')}</th><td>{datetime.now(UTC):%Y-%m-%d %H:%M} UTC</td></tr>"
    yield _wrap_table("", f"{made}{when}{checksums_table(plain)}")
    yield _draw_note(
        _(
            "Checksums are SHA-256. That of the content is of the rows as CSV in UTF-8, however "
            "they are stored."
        )
    )


def _note_columns_left_out(report: Report) -> str:
    rest = len(report.columns) - MOST_COLUMNS
    return _draw_note(_("{rest} columns that lost less are not drawn.", rest=rest)) if rest > 0 else ""


def _draw_title(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def _draw_paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _draw_note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _draw_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML."""
    # Heads are plain strings; cells are HTML, escaped where they were made.
    # A head without a word would be announced as one.
    head = "".join(f"<th>{escape(name)}</th>" if name else "<td></td>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return _wrap_table(head, body)


def _wrap_table(head: str, body: str) -> str:
    heads = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<div class=scroll><table>{heads}<tbody>{body}</tbody></table></div>"
