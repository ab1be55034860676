"""The report in sentences, for people who have not heard of any of it before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import getdoc

from shoal.privacy import find_model_kind
from shoal.report.figures import Report
from shoal.report.statistics import Evidence
from shoal.support.language import format_number, mark, translate_count, translate_message
from shoal.support.language import translate as _

_ABOUT_PAGE = mark(
    "This page is no part of the release. It tells how the original was distributed and how many of its rows "
    "stood alone, so it is for those who may know that."
)
_SCHEME = mark(
    "Whatever an attacker knows, little is learned of anybody from the release, if levels, types and "
    "hierarchies were fixed without looking at the table."
)
_ROWS = mark(
    "Rows are counted, not people: somebody with several rows is hidden among fewer people than rows."
)
_PEOPLE = mark(
    "People are counted, by a column that is not in the release. So nobody who has only the release can "
    "count them again. A rare value that is the same in all rows of a person still tells which are theirs."
)
_LINKED = mark(
    "The rows of a person stay together under a pseudonym. Whoever finds it sees all of these rows, with "
    "everything in them. Who has the key of the pseudonyms can find everybody."
)
_KNOWN = {"1": mark("one row of a person"), "all": mark("all rows of a person")}
# How sentences begin that state a limit in the docstrings of the models. A test checks that every
# model has such a sentence.
_LIMIT = re.compile(r"^(?:It d|D)oes not|^Nor\b|^From a release only")


def join_names(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return (
        names[0]
        if len(names) == 1
        else _("{names} and {last}", names=", ".join(names[:-1]), last=names[-1])
        if names
        else _("nothing")
    )


def format_count(number: int, one: str, many: str) -> str:
    """A number and what it counts."""
    return translate_count(f"{{number:,}} {one}", f"{{number:,}} {many}", number)


def format_share(value: float) -> str:
    """A share as a percentage with one decimal, or none where that is 0."""
    # The space does not break, so that a number and its sign stay on one line.
    return (
        format_number(100 * value, ".0f" if f"{100 * value:.1f}".endswith(".0") else ".1f")
        + "\N{NO-BREAK SPACE}%"
    )


def format_odds(risk: float) -> str:
    """A risk as odds."""
    # There are no odds to tell: 1 / 0 is no number, and '1 in 1' no chance.
    if risk in (0.0, 1.0):
        return _("certainty") if risk else _("none")
    odds = f"{1 / risk:,.1f}"
    return _("1 in {odds}", odds=format_number(1 / risk, ",.0f" if odds.endswith(".0") else ",.1f"))


def explain_model(model: str) -> str:
    """What a privacy model asks for: the first paragraph of its documentation."""
    return translate_message(" ".join((getdoc(find_model_kind(model)) or "").partition("\n\n")[0].split()))


def explain_limits(model: str) -> str:
    """What a privacy model does not give: the sentences of its documentation that say so."""
    return " ".join(map(translate_message, split_limits(model)))


def split_limits(model: str) -> list[str]:
    """The sentences of the documentation of a model that state a limit."""
    # Titles of papers may contain full stops, so they are cut off before sentences are split.
    text = (getdoc(find_model_kind(model)) or "").partition("References")[0]
    sentences = re.split(r"(?<=[.])\s+(?=[A-Z])", " ".join(text.split()))
    return [sentence for sentence in sentences if _LIMIT.match(sentence)]


def summarize_report(report: Report, evidence: Evidence | None = None) -> list[str]:
    """Sentences that say what was done, what it protects from and what it cost."""
    told = [
        _(
            "{released} In {quasi} values were made coarser until rows look the same: they form "
            "{classes}, of which the smallest has {members}.",
            released=_describe_released_rows(report),
            quasi=join_names(report.quasi),
            classes=format_count(report.classes, "class", "classes"),
            members=_format_members(report),
        )
    ]
    if report.people is not None:
        told.append(
            _(
                "The rows are of {people}, and people are counted: several rows of one person count as one.",
                people=format_count(report.people, "person", "people"),
            )
        )
    if evidence is not None and evidence.recipe.pseudonym:
        found = format_count(report.smallest_class, "person", "people")
        told.append(
            _(
                "The rows of a person stay together under a pseudonym. Somebody who knows {known} "
                "finds {found} or more.",
                known=_describe_known_rows(evidence),
                found=found,
            )
        )
    if report.sets:
        told = [_describe_set_release(report)]
    # The risk by the other columns would understate that of somebody who knows items as well.
    elif evidence is not None and report.released_rows:
        told.append(_describe_remaining_risk(evidence) if report.released_only else _describe_risk(evidence))
    recipe = None if evidence is None else evidence.recipe
    person = None if recipe is None or recipe.pseudonym else recipe.person
    if absent := (*report.identifier, *(() if person is None else (person,))):
        told.append(_("Not in the release at all: {absent}.", absent=join_names(absent)))
    told.append(
        _(
            "This cost {ncp} of the detail in these columns, where 0 % would be the table as it "
            "was and 100 % a table that says nothing about them.",
            ncp=format_share(report.ncp),
        )
    )
    if all(model.holds for model in report.models):
        told.append(
            _(
                "Everything that was promised has been counted again in the released values, by a "
                "checker that knows nothing of how they were found."
            )
        )
    return told


def _describe_set_release(report: Report) -> str:
    """What was done in a release with columns of sets, and what it protects from."""
    items = sum(each.items for each in report.sets.values())
    left_out = sum(each.left_out for each in report.sets.values())
    found = format_count(report.smallest_class, "person", "people")
    return _(
        "{released} In {quasi} values were made coarser until rows look the same. Of the "
        "{items:,} items in {sets} some were grouped and {left_out:,} left out: somebody who "
        "knows the other columns and as many items of a person as the goal says finds "
        "{found} or more.",
        released=_describe_released_rows(report),
        quasi=join_names(report.quasi),
        items=items,
        sets=join_names(tuple(report.sets)),
        left_out=left_out,
        found=found,
    )


def _describe_known_rows(evidence: Evidence) -> str:
    knows = evidence.recipe.knows
    return _(_KNOWN[knows]) if knows in _KNOWN else _("{knows} rows of a person", knows=knows)


def _format_members(report: Report) -> str:
    """What the smallest class has."""
    if report.people is None:
        return format_count(report.smallest_class, "row", "rows")
    return _(
        "rows of {smallest_class}", smallest_class=format_count(report.smallest_class, "person", "people")
    )


def _describe_released_rows(report: Report) -> str:
    """How many rows are released, and of how many if that may be told."""
    if report.rows is None:
        return _(
            "{released_rows} released, of a sample that was drawn at random; how many there were "
            "is not told.",
            released_rows=format_count(report.released_rows, "row is", "rows are"),
        )
    left_out = report.rows - report.released_rows
    if not left_out:
        return _("All {rows:,} rows are released.", rows=report.rows)
    return _(
        "Of {rows:,} rows {released_rows:,} are released and {left_out:,} left out.",
        rows=report.rows,
        released_rows=report.released_rows,
        left_out=left_out,
    )


def _describe_remaining_risk(evidence: Evidence) -> str:
    risk = evidence.sizes_after.compute_risk()
    return _(
        "Anyone who looks for a person in the release is left with a chance of at most "
        "{highest} to pick the right row ({average} on average), and cannot be sure that "
        "there is one.",
        highest=format_odds(risk.highest),
        average=format_odds(risk.average),
    )


def _describe_risk(evidence: Evidence) -> str:
    before, after = evidence.sizes_before.compute_risk(), evidence.sizes_after.compute_risk()
    told = _(
        "Before, {unique} of the rows stood alone in these columns: anyone who knew them of "
        "a person could point at the row. Now {alone} do",
        unique=format_share(before.unique),
        alone=format_share(after.unique),
    )
    # A release may have rows that stand alone, for example under a bound on the average risk.
    if after.highest == 1:
        return _(
            "{told}; somebody who knows that one of these is in the release can still find the row.",
            told=told,
        )
    return _(
        "{told}, and anyone who looks for a person by these columns is left with a chance of "
        "at most {highest} to pick the right row ({average} on average).",
        told=told,
        highest=format_odds(after.highest),
        average=format_odds(after.average),
    )


def capitalize_sentence(text: str) -> str:
    """A text as the beginning of a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def _describe_attacker_knowledge(report: Report) -> str:
    known = (*report.quasi, *(_("items of {name}", name=name) for name in report.sets))
    return translate_count(
        "Only {known} is taken as known to an attacker. Somebody who knows more about a person, or other "
        "columns, may still find the row.",
        "Only {known} are taken as known to an attacker. Somebody who knows more about a person, or other "
        "columns, may still find the row.",
        len(known),
        known=join_names(known),
    )


def _describe_counting(report: Report, evidence: Evidence) -> str:
    """What to know about what was counted."""
    if not evidence.recipe.pseudonym:
        return _(_ROWS if report.people is None else _PEOPLE)
    if evidence.recipe.knows == "all":
        return _(_LINKED)
    more = _(
        "Somebody who knows more than {known} may find the pseudonym.",
        known=_describe_known_rows(evidence),
    )
    return f"{_(_LINKED)} {more}"


def list_uncovered_risks(report: Report, evidence: Evidence) -> list[str]:
    """What no model of this release protects from, whatever it is called."""
    recipe = evidence.recipe
    # Plain columns are not among them: a role 'plain' protects nothing.
    named = {*recipe.quasi, *recipe.sensitive, *recipe.identifier, recipe.person}
    kept = [name for name in evidence.released_table.names if name not in named]
    told = [_(_SCHEME) if report.released_only else _describe_attacker_knowledge(report)]
    if report.sensitive:
        told.append(
            _(
                "The values of {sensitive} are released as they are. What all rows of a class have "
                "in common is learned about everybody in it, and so is what holds for the whole "
                "table.",
                sensitive=join_names(report.sensitive),
            )
        )
    if kept:
        told.append(_("Released as they are, and protected by nothing: {kept}.", kept=", ".join(kept)))
    return [
        *told,
        _describe_counting(report, evidence),
        _("Another release of the same people, or one made later, can be combined with this one."),
        *(() if report.released_only else (_(_ABOUT_PAGE),)),
    ]
