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

from shoal.files import whole_file
from shoal.privacy import achieved_text
from shoal.report import svg
from shoal.report.audit import checksums_table, embedded, record
from shoal.report.charts import (
    BEFORE_AFTER,
    MOST_COLUMNS,
    MOST_SENSITIVE,
    closeness_chart,
    costliest,
    curve_chart,
    distribution_chart,
    levels_chart,
    losses_chart,
    sizes_chart,
)
from shoal.report.figures import Report
from shoal.report.tallies import (
    Evidence,
    ShownClass,
    closeness,
    distributions,
    excerpt,
    levels,
)
from shoal.report.words import chance, counted, limits, listed, meaning, not_covered, share, summary

_LONGEST = 160  # characters of a cell in an excerpt
# A browser that is told so fetches nothing and runs nothing, whatever stands in a cell.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_page(report: Report, evidence: Evidence, path: Path, original: bool = False) -> None:
    """Write the report of a run; ``original`` shows a few rows as they were beside what they became."""
    text = page(report, evidence, path.resolve().parent, original)
    with whole_file(path) as stream:
        stream.write(text.encode())


def page(report: Report, evidence: Evidence, folder: Path | None = None, original: bool = False) -> str:
    """The page as text; paths in its recipe start from ``folder``."""
    plain = record(report, evidence, folder)
    name = plain["input"]["name"] or "a table in memory"
    body = "\n".join(_sections(report, evidence, plain, name, original))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Anonymization report: {escape(name)}</title>\n<style>\n{style()}</style>\n</head>\n"
        f'<body class="shoal shoal-page">\n<main>\n{body}\n</main>\n{embedded(plain)}\n</body>\n</html>\n'
    )


def _sections(
    report: Report, evidence: Evidence, plain: dict[str, Any], name: str, original: bool
) -> list[str]:
    return [
        _heading(report, name),
        *_summary(report, evidence),
        *_promises(report),
        *_excerpt(evidence, original),
        *_costs(report, evidence),
        *_classes(evidence),
        *_columns(report, evidence),
        *_sensitive(report, evidence),
        *_remarks(report),
        *_limits(report, evidence),
        *_reproduce(plain),
    ]


def fragment(report: Report) -> str:
    """The figures for a notebook: what was promised, what was found, what it cost."""
    parts = [_heading(report, "", level=3), *_summary(report), _verdicts(report), _losses(report)]
    return f'<div class="shoal"><style>{style()}</style>{"".join(parts)}</div>'


def style() -> str:
    """The style sheet."""
    return files("shoal.report").joinpath("page.css").read_text("utf-8")


def _heading(report: Report, name: str, level: int = 1) -> str:
    held = all(model.holds for model in report.models)
    mark = ("good", "✓ every promise verified") if held else ("bad", "✗ not every promise holds")
    about = f"<p class=soft>{escape(name)}</p>" if name else ""
    title = f"<h{level}>Anonymization report</h{level}>"
    return f'<header>{title}{about}<p><span class="badge {mark[0]}">{mark[1]}</span></p></header>'


def _summary(report: Report, evidence: Evidence | None = None) -> Iterator[str]:
    yield f"<p class=lead>{escape(' '.join(summary(report, evidence)))}</p>"
    tiles = [
        (f"{report.released_rows:,}", f"of {counted(report.rows, 'row', 'rows')} released"),
        (f"{report.smallest_class:,}", f"rows in the smallest of {report.classes:,} classes"),
        (share(report.ncp), "of the detail lost"),
    ]
    if evidence is not None:
        before, after = evidence.before.risk(), evidence.after.risk()
        arrow = f"{share(before.highest)} → {share(after.highest)}"
        tiles += [(arrow, "highest risk of a row to be found")]
        tiles += [(f"{share(before.unique)} → {share(after.unique)}", "of the rows stand alone")]
    drawn = "".join(
        f"<div class=tile><b>{escape(big)}</b><span>{escape(what)}</span></div>" for big, what in tiles
    )
    yield f"<div class=tiles>{drawn}</div>"


def _promises(report: Report) -> Iterator[str]:
    yield _title("What was promised, and what a count of the released values finds")
    yield _verdicts(report)


def _verdicts(report: Report) -> str:
    rows = []
    for model in report.models:
        asked = ", ".join(f"{key} = {value}" for key, value in model.asked.items())
        mark = "<span class=good>✓ holds</span>" if model.holds else "<span class=bad>✗ does not hold</span>"
        cells = (model.name, asked, achieved_text(model.achieved))
        rows.append((*map(escape, cells), mark, f"<span class=soft>{escape(meaning(model.name))}</span>"))
    return f'<div class="keep">{_table(("model", "asked", "found", "", "which means"), rows)}</div>'


def _excerpt(evidence: Evidence, original: bool) -> Iterator[str]:
    found = excerpt(evidence)
    yield _title("Before and after" if original else "A look at the release")
    yield _paragraph(
        "A few classes, drawn at random: all rows of a class look the same in "
        f"{listed(evidence.recipe.quasi)}."
        + ("" if original else " How some of them looked before is shown only on request (--excerpt).")
    )
    heads = ["", *(f"class of {counted(each.size, 'row', 'rows')}" for each in found.classes)]
    rows = []
    for i, name in enumerate(found.names):
        cells = [_cell(each, i, original) for each in found.classes]
        rows.append((f"<b>{escape(name)}</b>", *cells))
    yield _table(heads, rows)


def _cell(shown: ShownClass, column: int, original: bool) -> str:
    """One column of a class: what it is released as, and what some of its rows have or had."""
    values = ", ".join(_value(row[column]) for row in shown.rows)
    more = ", ..." if shown.size > len(shown.rows) else ""
    if column >= len(shown.released):
        return f"{values}{more}"
    was = f'<br><span class="soft">was {values}{more}</span>' if original else ""
    return f"{_value(shown.released[column])}{was}"


def _value(text: str) -> str:
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    return escape(text) if text else "<i>missing</i>"


def _costs(report: Report, evidence: Evidence) -> Iterator[str]:
    yield _title("What it cost")
    yield _paragraph(
        f"{share(report.ncp)} of the detail is lost over all quasi-identifiers. A value that stays costs "
        "nothing; one that becomes a range, a set or a node of a hierarchy costs more, the more that covers."
    )
    yield _losses(report)
    if report.loss["name"] != "ncp":
        yield _paragraph(f"The loss that was minimised is {report.loss['name']}: {report.loss['value']:.6g}.")
    yield f"<h3>How far values were generalised</h3>{_levels(report, evidence)}"


def _losses(report: Report) -> str:
    return f"<figure>{losses_chart(report)}</figure>{_left_out(report)}"


def _levels(report: Report, evidence: Evidence) -> str:
    found = list(levels(evidence, costliest(report)))
    note = "At the end of a line: how many values a released one stands for, in the median over the rows."
    rows = [
        (
            each.name,
            ", ".join(f"{level} {share(part)}" for level, part in zip(each.levels, each.shares, strict=True)),
        )
        for each in found
        if each.tree
    ]
    table = _table(("hierarchy", "share of the rows at each level"), [map(escape, row) for row in rows])
    return f"{levels_chart(found)}{_note(note)}{table if rows else ''}"


def _classes(evidence: Evidence) -> Iterator[str]:
    before, after = evidence.before, evidence.after
    yield _title("Classes, and the risk of being found")
    yield _paragraph(
        "The more rows look the same, the harder it is to tell which is whose. Somebody who knows that a "
        "person is in the table, and all quasi-identifiers of that person, picks the right one of s rows "
        "with a chance of 1/s."
    )
    yield f"<h3>Rows of the release by the size of their class</h3><figure>{sizes_chart(after)}</figure>"
    yield "<h3>Share of the rows that look like so many or fewer</h3>"
    yield svg.legend(BEFORE_AFTER)
    yield f"<figure>{curve_chart(before, after)}</figure>"
    one, two = before.risk(), after.risk()
    yield _table(
        ("risk", "before", "after"),
        [
            ("highest", *(f"{share(risk.highest)} ({chance(risk.highest)})" for risk in (one, two))),
            ("average", *(f"{share(risk.average)} ({chance(risk.average)})" for risk in (one, two))),
            ("rows that stand alone", share(one.unique), share(two.unique)),
            ("rows with a risk above 20 %", share(one.below_5), share(two.below_5)),
            ("rows with a risk above 5 %", share(one.below_20), share(two.below_20)),
        ],
    )


def _columns(report: Report, evidence: Evidence) -> Iterator[str]:
    yield _title("Every quasi-identifier, before and after")
    least = counted(int(evidence.after.size[0]), "row", "rows")
    yield _paragraph(
        "After: as somebody would estimate it who has only the release, each row spread evenly over the "
        f"values that its released value stands for. Before: the original, without bars for fewer than "
        f"{least}."
    )
    yield svg.legend(BEFORE_AFTER)
    found = distributions(evidence, costliest(report))
    drawn = "".join(
        f"<figure><h3>{escape(each.name)}</h3>{distribution_chart(each)}</figure>" for each in found
    )
    yield f"<div class=grid>{drawn}</div>{_left_out(report)}"


def _sensitive(report: Report, evidence: Evidence) -> Iterator[str]:
    if not report.sensitive:
        return
    yield _title("What a class tells about sensitive values")
    yield _paragraph(
        "Whoever finds the class of a person learns how sensitive values are distributed in it. The nearer "
        "that is to the whole release, the less is learned. A distance of 0 means alike, 1 as different "
        "as can be."
    )
    for name in report.sensitive[:MOST_SENSITIVE]:
        yield closeness_chart(closeness(evidence, name))
    if rest := len(report.sensitive) - MOST_SENSITIVE:
        yield _note(f"{rest} further sensitive columns are not drawn.") if rest > 0 else ""


def _remarks(report: Report) -> Iterator[str]:
    if report.warnings or report.notes:
        yield _title("Remarks")
        items = [f"<li><span class=warn>Warning:</span> {escape(text)}</li>" for text in report.warnings]
        yield f"<ul>{''.join([*items, *(f'<li>{escape(text)}</li>' for text in report.notes)])}</ul>"


def _limits(report: Report, evidence: Evidence) -> Iterator[str]:
    yield _title("What the guarantee does not cover")
    items = [escape(text) for text in not_covered(report, evidence)]
    names = dict.fromkeys(model.name for model in report.models)
    items += [f"<b>{escape(name)}:</b> {escape(text)}" for name in names if (text := limits(name))]
    yield f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _reproduce(plain: dict[str, Any]) -> Iterator[str]:
    yield _title("To do it again")
    yield _paragraph(
        "The recipe of this run, for 'shoal run'. The same recipe and the same input give the same bytes."
    )
    yield f"<pre>{escape(plain['recipe'])}</pre>"
    yield _title("For the auditor")
    yield _paragraph(
        "Whoever has the release can check this page: the command below counts the released values again "
        "and compares them, and the checksum, with what is written here."
    )
    name = plain["release"]["name"] or "RELEASE"
    yield f"<pre>shoal verify {escape(name)} --report THIS-PAGE.html</pre>"
    versions = ", ".join(f"{package} {number}" for package, number in plain["versions"].items())
    made = f"<tr><th>made by</th><td>Shoal {escape(plain['shoal'])} ({escape(versions)})</td></tr>"
    when = f"<tr><th>made at</th><td>{datetime.now(UTC):%Y-%m-%d %H:%M} UTC</td></tr>"
    yield _scrolled("", f"{made}{when}{checksums_table(plain)}")
    yield _note(
        "Checksums are SHA-256. That of the content is of the rows as CSV in UTF-8, however they are stored."
    )


def _left_out(report: Report) -> str:
    rest = len(report.columns) - MOST_COLUMNS
    return _note(f"{rest} columns that lost less are not drawn.") if rest > 0 else ""


def _title(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return _scrolled(head, body)


def _scrolled(head: str, body: str) -> str:
    heads = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<div class=scroll><table>{heads}<tbody>{body}</tbody></table></div>"
