"""The report in sentences, for people who have not heard of any of it before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import getdoc

from shoal.privacy import MODELS
from shoal.report.figures import Report
from shoal.report.tallies import Evidence

_LIMIT = re.compile(r"^(?:It d|D)oes not|^Nor\b|^From a release only")


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"


def counted(number: int, one: str, many: str) -> str:
    """A number and what it counts."""
    return f"{number:,} {one if number == 1 else many}"


def share(value: float) -> str:
    """A share as a percentage, with no more digits than matter."""
    return f"{100 * value:.1f}".removesuffix(".0") + "\N{NO-BREAK SPACE}%"


def chance(risk: float) -> str:
    """A risk as odds."""
    if risk in (0.0, 1.0):
        return "certainty" if risk else "none"
    return f"1 in {1 / risk:,.1f}".removesuffix(".0")


def meaning(model: str) -> str:
    """What a privacy model asks for: the first paragraph of its documentation."""
    return " ".join((getdoc(MODELS[model]) or "").partition("\n\n")[0].split())


def limits(model: str) -> str:
    """What a privacy model does not give: the sentences of its documentation that say so."""
    text = (getdoc(MODELS[model]) or "").partition("References")[0]
    sentences = re.split(r"(?<=[.])\s+(?=[A-Z])", " ".join(text.split()))
    return " ".join(sentence for sentence in sentences if _LIMIT.match(sentence))


def summary(report: Report, evidence: Evidence | None = None) -> list[str]:
    """Sentences that say what was done, what it protects from and what it cost."""
    left_out = report.rows - report.released_rows
    told = [
        (
            f"Of {report.rows:,} rows {report.released_rows:,} are released and {left_out:,} left out. "
            if left_out
            else f"All {report.rows:,} rows are released. "
        )
        + f"In {listed(report.quasi)} values were made coarser until rows look the same: they form "
        f"{counted(report.classes, 'class', 'classes')}, of which the smallest has "
        f"{counted(report.smallest_class, 'row', 'rows')}."
    ]
    if evidence is not None:
        told.append(_risk(evidence))
    if report.identifier:
        told.append(f"Not in the release at all: {listed(report.identifier)}.")
    told.append(
        f"This cost {share(report.ncp)} of the detail in these columns, where 0 % would be the table as it "
        "was and 100 % a table that says nothing about them."
    )
    if all(model.holds for model in report.models):
        told.append(
            "Everything that was promised has been counted again in the released values, by a "
            "checker that knows nothing of how they were found."
        )
    return told


def _risk(evidence: Evidence) -> str:
    before, after = evidence.before.risk(), evidence.after.risk()
    told = (
        f"Before, {share(before.unique)} of the rows stood alone: whoever knew these values of a person "
        f"could point at the row. Now {share(after.unique)} do"
    )
    if after.highest == 1:
        return f"{told}; somebody who knows that one of these is in the release can still find the row."
    return (
        f"{told}, and whoever looks for a person in the release is left with a chance of at most "
        f"{chance(after.highest)} to pick the right row ({chance(after.average)} on average)."
    )


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def not_covered(report: Report, evidence: Evidence) -> list[str]:
    """What no model of this release protects from, whatever it is called."""
    recipe = evidence.recipe
    named = {*recipe.quasi, *recipe.sensitive, *recipe.identifier}
    kept = [name for name in evidence.released.names if name not in named]
    told = [
        f"Only {listed(report.quasi)} {_are(report.quasi)} taken as known to an attacker. Somebody who knows "
        "more about a person, or other columns, may still find the row."
    ]
    if report.sensitive:
        told.append(
            f"The values of {listed(report.sensitive)} are released as they are. What all rows of a class "
            "have in common is learned about everybody in it, and so is what holds for the whole table."
        )
    if kept:
        told.append(f"Released as they are, and protected by nothing: {', '.join(kept)}.")
    return [
        *told,
        "Rows are counted, not people: somebody with several rows is hidden among fewer people than rows.",
        "Another release of the same people, or one made later, can be combined with this one.",
        "This page is no part of the release. It tells how the original was distributed and how many of its "
        "rows stood alone, so it is for those who may know that.",
    ]
