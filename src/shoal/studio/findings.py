"""What the release of a run gives away as a whole: how bad it is, what to do, and to accept it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from nicegui import ui
from nicegui.context import context

from shoal.report.prose import capitalize_sentence, join_names
from shoal.report.whole_release import Headline, figure_text, looked_for, sum_up
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.support.language import mark, translate_message
from shoal.support.language import translate as _
from shoal.verification.findings import Finding

_BADGES = {"high": "bad", "medium": "warn", "low": ""}
_WORDS = {"high": mark("severe"), "medium": mark("to consider"), "low": mark("to know")}


def build_headline(run: Run) -> Headline:
    """What a reader has to know before anything else; until the files are counted, by the run alone."""
    # True as long as no file is verified; then the findings of the run decide alone.
    held = all(each.holds for each in run.verified.values())
    return sum_up(held, run.findings)


def count_open(run: Run) -> int:
    """How many severe findings nobody has accepted."""
    return sum(finding.is_open for finding in run.findings)


def show_findings(page: Page, run: Run) -> None:
    """Draw every finding, with what can be done about it; or what was looked for."""
    found = run.findings
    if not found:
        theme.text(looked_for(run.released_only), "soft small")
    with theme.box("findings"):
        for finding in found:
            _draw_finding(page, run, finding)


def _draw_finding(page: Page, run: Run, finding: Finding) -> None:
    with theme.box("finding", data_finding=finding.id):
        theme.text(figure_text(finding), "figure")
        with theme.box("stacked"):
            with theme.box("rowed"):
                theme.badge(_(_WORDS[finding.severity]), _BADGES[finding.severity])
                if finding.accepted is not None:
                    theme.badge(_("accepted"))
            theme.text(f"{capitalize_sentence(translate_message(finding.message))}.")
            if finding.accepted is not None:
                theme.text(_("Accepted: {accepted}", accepted=finding.accepted), "strong small")
            else:
                theme.text(describe_remedy(finding), "soft small")
            with theme.box("rowed actions"):
                _draw_actions(page, run, finding)


# What to do about it.


_LINKS = mark(
    "In Goal, protect from somebody who knows more rows of a person, best from one who knows all, or do not "
    "keep the rows of a person together. Then start another run."
)
_LINKED = ("linked-rows", "row-counts")
_REMEDIES = {
    "linked-rows": _LINKS,
    "row-counts": _LINKS,
    "whole-sets": mark(
        "In Goal, protect from somebody who knows all items, or in Describe leave the column out. "
        "Then start another run."
    ),
    "row-order": mark("Sort the release by what it shows, and start another run."),
}


def describe_remedy(finding: Finding) -> str:
    """What to do about a finding, by the steps of the studio."""
    # Remedies in `shoal.verification.findings` name options of the command line; the studio has steps.
    kind, names = _get_kind(finding), join_names(finding.columns)
    if kind in ("unique-rows", "determines") and finding.columns:
        return _(
            "In Describe, mark {names} as Recognisable, so that values are made coarser, or as "
            "Names a person, so that they are left out. Then start another run.",
            names=names,
        )
    if kind == "unique-rows":
        return _(
            "In Goal, ask for larger groups. If only people who know nothing of the sensitive values will "
            "see the release, accept this finding."
        )
    if kind == "repeated" and finding.severity == "high":
        return _(
            "If {names} says whose row it is, mark it so in Describe: people are counted then, "
            "not rows. Then start another run.",
            names=names,
        )
    if kind in _REMEDIES:
        return _(_REMEDIES[kind])
    if kind == "spelling" and finding.severity == "high":
        return _("Spell them alike in the table, or count spellings of {names} as one.", names=names)
    return f"{capitalize_sentence(translate_message(finding.remedy))}."  # which names no option of a command


def _draw_actions(page: Page, run: Run, finding: Finding) -> None:
    kind = _get_kind(finding)
    if finding.accepted is not None:
        _draw_button(_("Accept it no longer"), finding, lambda: _record_decision(page, run, finding, ""))
        return
    if kind in ("unique-rows", "determines") and finding.columns:
        it = _("it") if len(finding.columns) == 1 else _("them")
        _draw_button(_("Make {it} coarser", it=it), finding, lambda: _give_role(page, finding, "quasi"))
        _draw_button(_("Leave {it} out", it=it), finding, lambda: _give_role(page, finding, "identifier"))
    elif kind == "repeated" and finding.severity == "high":
        _draw_button(_("Count people by it"), finding, lambda: _give_role(page, finding, "person"))
    elif kind in ("whole-sets", *_LINKED) and run.recipe.knows != "all":
        _draw_button(_("Protect from all that is known"), finding, lambda: _change_form(page, knows="all"))
        if kind in _LINKED:
            _draw_button(_("Do not link the rows"), finding, lambda: _change_form(page, pseudonym=False))
        else:
            _draw_button(_("Leave it out"), finding, lambda: _give_role(page, finding, "identifier"))
    elif kind == "row-order":
        _draw_button(_("Sort the rows"), finding, lambda: _change_form(page, row_order="released"))
    elif kind == "spelling" and finding.severity == "high":
        _draw_button(_("Count them as one"), finding, lambda: _fold_spellings(page, finding))
    if finding.severity != "low":
        _draw_button(_("Accept, because …"), finding, lambda: _ask_reason(page, run, finding), "flat")


def _draw_button(
    label: str, finding: Finding, do: Callable[[], object], look: Literal["outline", "flat"] = "outline"
) -> None:
    made = theme.button(label, do, look)
    # Many findings have the same buttons. The id tells them apart, for screen readers and for the
    # script that restores the focus after a redraw.
    made.props["aria-label"] = f"{label}: {finding.id}"
    made.props["data-key"] = f"{label}: {finding.id}"


def _give_role(page: Page, finding: Finding, role: str) -> None:
    for name in finding.columns:
        page.workspace.change_choice(name, role=role)
    _run_again(page)


def _fold_spellings(page: Page, finding: Finding) -> None:
    for name in finding.columns:
        page.workspace.change_choice(name, fold=True)
    _run_again(page)


def _change_form(page: Page, **values: object) -> None:
    page.workspace.goal = page.workspace.goal.change_form(**values)
    _run_again(page)


def _run_again(page: Page) -> None:
    """Show the step where another run starts, with what it will be."""
    page.mark_changed(redraw=False)
    page.open_step("run")


# To accept it.


def _ask_reason(page: Page, run: Run, finding: Finding) -> None:
    # Outside the part that redraws: a change in another tab must not close the dialog.
    with context.client.content, ui.dialog() as dialog, theme.box("q-card reason"):
        theme.text(_("Release all the same?"), "", "h2")
        theme.text(f"{capitalize_sentence(translate_message(finding.message))}.", "soft small")
        reason = ui.input(_("Why this may be released all the same")).props("outlined dense autofocus")

        def accept_finding() -> None:
            if not (why := (reason.value or "").strip()):
                reason.props("error")
                reason.props["error-message"] = _("Say why: the report shows it.")
                return
            dialog.close()
            _record_decision(page, run, finding, why)

        reason.on("keydown.enter", accept_finding)
        theme.text(_("The recipe keeps the reason, and the report shows it."), "soft small")
        with theme.box("rowed spread"):
            theme.button(_("Cancel"), dialog.close, "flat")
            theme.button(_("Accept the finding"), accept_finding)
    dialog.props["aria-label"] = _("Accept {id}", id=finding.id)
    dialog.on("hide", dialog.delete)  # or closed dialogs would stay in the page
    dialog.open()


def _record_decision(page: Page, run: Run, finding: Finding, reason: str) -> None:
    page.workspace.record_decision(run, finding.id, reason)
    page.mark_changed()


def _get_kind(finding: Finding) -> str:
    return finding.id.partition(":")[0]
