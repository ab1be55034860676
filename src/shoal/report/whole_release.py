"""What a release as a whole gives away: the headline of a page, and a section of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from shlex import quote as shell
from typing import Any, Literal, NamedTuple

from shoal.errors import InputError
from shoal.recipes.recipe import Recipe
from shoal.report.audit import BLOCK, MEGABYTES, embed_json
from shoal.report.prose import capitalize_sentence
from shoal.support.files import read_small, whole_file
from shoal.support.language import (
    ENGLISH,
    format_number,
    mark,
    speaking,
    translate_count,
    translate_message,
    translate_number,
)
from shoal.support.language import translate as _
from shoal.verification.findings import Finding, accept_findings
from shoal.verification.findings.base import format_percent

Kind = Literal["good", "decided", "warn", "bad"]

LANGUAGE = re.compile('<html lang="([a-z]+)">')
"""The language of a page."""
IN_MEMORY = mark("a table in memory")
"""What a table without a file is called."""
_BADGES = {"high": "bad", "medium": "warn", "low": "soft"}
SEVERITIES = {"high": mark("high"), "medium": mark("medium"), "low": mark("low")}
_READ = mark("Read what the release as a whole gives away before you give it to anybody.")
_ABOUT = mark(
    "A privacy goal is about the columns that were named as quasi-identifiers. Anyone who has the release "
    "sees all of its columns, and the order of its rows. So these were looked at together as well."
)
_LOOKED_FOR = mark(
    "Nothing was found. This was looked for: rows that are unique in all released columns together, columns "
    "that tell what a quasi-identifier hides, an order of the rows that tells something, identifiers that "
    "repeat, so that classes have fewer people than rows, and sensitive values that differ only in spelling."
)
_LOOKED_FOR_IN_SAMPLE = mark(
    "Nothing was found: no released row is unique in all released columns together. Only the released rows "
    "were looked at, since nothing may be told of the others."
)


class Headline(NamedTuple):
    """What a reader has to know before anything else."""

    kind: Kind
    """``decided`` where severe findings were accepted."""
    text: str


def sum_up(holds: bool, findings: Sequence[Finding]) -> Headline:
    """The headline of a release: the goal may hold, and still not be enough."""
    severe = [finding for finding in findings if finding.severity == "high"]
    # Open ones outrank accepted ones, and a goal that fails outranks both.
    still_open = [finding for finding in severe if finding.is_open]
    if not holds:
        return Headline("bad", _("✗ not every promise holds"))
    if still_open:
        return Headline(
            "warn", _("The goal holds, but {headline}", headline=translate_message(still_open[0].headline))
        )
    if severe:
        accepted = translate_count(
            "{number} severe finding was", "{number} severe findings were", len(severe)
        )
        return Headline("decided", _("every promise verified; {accepted} accepted", accepted=accepted))
    return Headline("good", _("✓ every promise verified"))


def looked_for(released_only: bool) -> str:
    """What was looked for where nothing was found; in a private sample that is less."""
    return _(_LOOKED_FOR_IN_SAMPLE if released_only else _LOOKED_FOR)


def figure_text(finding: Finding) -> str:
    """The figure of a finding: a number of values for spellings, a share for all others."""
    return (
        format_number(finding.figure, ",.0f")
        if finding.id.startswith("spelling:")
        else translate_number(format_percent(finding.figure))
    )


def draw_heading(holds: bool, findings: Sequence[Finding], name: str, level: int = 1) -> str:
    """The head of a page, with its headline."""
    told = sum_up(holds, findings)
    about = f"<p class=soft>{escape(name)}</p>" if name else ""
    title = f"<h{level}>{_('Anonymization report')}</h{level}>"
    if told.kind != "warn":
        badge = f'<p><span class="badge {told.kind}">{escape(told.text)}</span></p>'
    else:
        # The first open finding is the headline itself.
        more = sum(finding.is_open for finding in findings) - 1
        others = (
            translate_count(
                "There is {number} more of high severity. ",
                "There are {number} more of high severity. ",
                more,
            )
            if more
            else ""
        )
        badge = (
            f'<div class="alert warn"><p class=lead><b>{escape(told.text)}.</b></p>'
            f"<p>{others}{_(_READ)}</p></div>"
        )
    return f"<header>{title}{about}{badge}</header>"


def draw_findings(findings: Sequence[Finding], released_only: bool = False, level: int = 2) -> str:
    """The section with every finding, or what was looked for."""
    title = f"<h{level}>{_('What the release as a whole gives away')}</h{level}>"
    if findings:
        told = f"<ul class=findings>{''.join(map(_draw_finding, findings))}</ul>"
    else:
        told = f"<p>{looked_for(released_only)}</p>"
    return f'<section id="shoal-findings">{title}<p>{_(_ABOUT)}</p>{told}</section>'


def _draw_finding(finding: Finding) -> str:
    badge = f'<span class="badge {_BADGES[finding.severity]}">{_(SEVERITIES[finding.severity])}</span>'
    if finding.accepted is not None:
        badge += f' <span class="badge decided">{_("accepted")}</span>'
        then = f"<p><b>{_('Accepted:')}</b> {escape(finding.accepted)}</p>"
    else:
        then = f"<p><b>{_('What to do:')}</b> {escape(translate_message(finding.remedy))}.</p>"
    if finding.is_open:
        option = f"--accept {shell(f'{finding.id}=REASON')}"
        then += (
            f"<p class=note>{_('To release all the same, and have the reason stand here:')} "
            f"<code>{escape(option)}</code></p>"
        )
    figure = f"<b class=figure>{escape(figure_text(finding))}</b>"
    told = escape(capitalize_sentence(translate_message(finding.message)))
    return f"<li>{figure}<div><p>{badge} {told}.</p>{then}</div></li>"


def draw_recipe(recipe: str) -> str:
    """The recipe of a page."""
    # A long line is scrolled, with the keyboard only where it can have the focus.
    return f'<pre id="shoal-recipe" tabindex="0">{escape(recipe)}</pre>'


def accept_in_page(path: Path, accept: Mapping[str, str]) -> None:
    """Write the page of a run anew with other findings accepted; the release is the same."""
    text = read_small(path, MEGABYTES).decode()
    found = BLOCK.search(text)
    if found is None:
        raise InputError(f"{path} is no report of Shoal")
    plain = json.loads(found[1])
    figures = plain["figures"]
    # From the page itself: the rows may be gone by now, and to accept a finding changes no figure
    # that was counted from them.
    findings = accept_findings([Finding.from_dict(each) for each in figures["findings"]], accept)
    figures["findings"] = [finding.to_dict() for finding in findings]
    recipe = Recipe.from_text(plain["recipe"], Path(path.name))  # without a folder, paths stay as they are
    plain["recipe"] = replace(recipe, accept=dict(accept)).to_toml()
    language = LANGUAGE.search(text)
    with speaking(language[1] if language else ENGLISH):  # that of the rest of the page
        parts = _redraw_parts(plain, findings)
    for pattern, drawn in parts.items():
        # No text of a table can be taken for a tag, so that each of these is found once, where it was drawn.
        # A function, since re.sub would read a backslash in a replacement string as an escape.
        text = re.sub(pattern, lambda _, new=drawn: new, text, count=1, flags=re.DOTALL)  # type: ignore[misc]
    with whole_file(path, private=True) as stream:
        stream.write(text.encode())


def _redraw_parts(plain: dict[str, Any], findings: Sequence[Finding]) -> dict[str, str]:
    """The parts of a page that depend on what was accepted, by how they are found in it."""
    holds = all(model["holds"] for model in plain["figures"]["models"])
    return {
        r"<header>.*?</header>": draw_heading(holds, findings, plain["input"]["name"] or _(IN_MEMORY)),
        r'<section id="shoal-findings">.*?</section>': draw_findings(
            findings, plain["figures"]["rows"] is None
        ),
        r'<pre id="shoal-recipe"[^>]*>.*?</pre>': draw_recipe(plain["recipe"]),
        BLOCK.pattern: embed_json(plain),
    }
