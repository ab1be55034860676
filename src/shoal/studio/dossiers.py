"""The dossier in the step Release: what people state, the threshold that follows, and the document."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nicegui import events, ui

from shoal.errors import ShoalError
from shoal.report.audit import read_record
from shoal.report.context import QUESTIONS, Question, propose_threshold
from shoal.report.dossier import Dossier, list_overridden
from shoal.studio import theme
from shoal.studio.journal import Journal
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.studio.state import ComponentSettings
from shoal.studio.worker import REPORT
from shoal.support.language import mark, translate_message
from shoal.support.language import translate as _

_FIELDS = {
    "purpose": mark("Purpose"),
    "recipient": mark("Recipient"),
    "legal_ground": mark("Legal ground"),
    "retention": mark("Retention"),
    "threshold_reason": mark("Why another threshold than the proposed one"),
}
_ABOUT = mark(
    "The report as a document to sign. What you write stands in it as you wrote it; nobody checks it. "
    "Projects keep it."
)
_LONGEST = 2000


def draw_dossier_card(page: Page, run: Run) -> None:
    """Draw the form and the buttons."""
    journal = page.journal
    with theme.card(_("Dossier"), _(_ABOUT), data_part="dossier"):
        with theme.box("two"):
            with theme.box("stacked"):
                for name, label in _FIELDS.items():
                    _draw_field(journal, name, _(label))
                signers = ui.input(
                    _("Who signs, divided by commas"), value=", ".join(map(_, journal.statement.signers))
                )
                signers.props("outlined dense").on_value_change(lambda e: _store_signers(journal, e.value))
            with theme.box("stacked"):
                proposal = ui.refreshable(lambda: _draw_proposal(page, run))
                for question in QUESTIONS:
                    _draw_question(journal, question, proposal.refresh)
                proposal()
        with theme.box("rowed").style("margin-top: 14px"):
            for kind in ("PDF", "HTML", "JSON"):
                theme.button(
                    _("Dossier as {kind}", kind=kind),
                    _make_download(journal, run, kind),
                    "outline",
                    icon="draw",
                )


def _draw_field(journal: Journal, name: str, label: str) -> None:
    def store(event: events.ValueChangeEventArguments[str | None]) -> None:
        text: dict[str, Any] = {name: (event.value or "")[:_LONGEST]}
        journal.statement = replace(journal.statement, **text)

    made = ui.textarea(label, value=getattr(journal.statement, name), on_change=store)
    made.props("outlined dense autogrow rows=1")


def _store_signers(journal: Journal, text: str | None) -> None:
    names = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    journal.statement = replace(journal.statement, signers=names)


def _draw_question(journal: Journal, question: Question, redraw: Callable[[], object]) -> None:
    def store(event: events.ValueChangeEventArguments[str]) -> None:
        others = {key: each for key, each in journal.statement.context.items() if key != question.key}
        answered = {question.key: event.value} if event.value else {}
        journal.statement = replace(journal.statement, context=others | answered)
        redraw()

    options = {"": _("not answered"), **{key: _(words) for key, words in question.answers.items()}}
    value = journal.statement.context.get(question.key, "")
    made = ui.select(options, label=_(question.words), value=value, on_change=store)
    made.props("outlined dense options-dense")


def _draw_proposal(page: Page, run: Run) -> None:
    """The threshold that follows from the answers, why, and whether the run keeps it."""
    found = propose_threshold(page.journal.statement.context)
    if found is None:
        theme.text(_("Answer all five, and a threshold is proposed."), "soft small")
        return
    kept = run.report["smallest_class"] >= found.k
    told = _(
        "Proposed: a risk of at most {risk:g}, groups of at least {k} (k = {k}).", risk=found.risk, k=found.k
    )
    reached = _(
        "{title} has groups of at least {smallest_class:,}.",
        title=run.title,
        smallest_class=run.report["smallest_class"],
    )
    theme.note(f"{told} {reached}", "good" if kept else "warn")
    for reason in (*found.reasons, _("Scale: {source}.", source=found.source)):
        theme.text(reason, "soft small")
    if not kept:
        theme.button(_("Ask for k = {k}", k=found.k), lambda: _take_threshold(page, found.k), "outline")


def _take_threshold(page: Page, k: int) -> None:
    workspace = page.workspace
    others = tuple(each for each in workspace.goal.models if each.name != "k")
    models = (ComponentSettings("k", {"k": k}), *others)
    workspace.goal = replace(workspace.goal, preset="", models=models)
    page.mark_changed(redraw=False)  # for the other tabs; this page is left
    page.open_step("run")


def build_dossier(journal: Journal, run: Run) -> Dossier:
    """The dossier of a run, with what was stated and decided."""
    journal.note_changes()
    log = journal.decisions[: journal.position + 1]
    roles = [{name: asdict(each) for name, each in entry.state.choices.items()} for entry in log]
    decisions: list[dict[str, Any]] = [
        {"when": each.when, "who": each.who, "what": list(each.what)} for each in log
    ]
    return Dossier(
        read_record(run.folder / REPORT),
        journal.statement,
        (run.attack.found or None) if run.attack is not None else None,
        decisions,
        list_overridden(roles[0], roles[-1]) if roles else [],
    )


def _make_download(journal: Journal, run: Run, kind: str) -> Callable[[], Awaitable[None]]:
    async def download() -> None:
        try:
            content = await asyncio.to_thread(build_dossier(journal, run).to_bytes, f".{kind.lower()}")
        except ShoalError as error:
            ui.notify(translate_message(str(error)), type="negative", multi_line=True)
            return
        name = Path(str(run.recipe.input)).stem
        ui.download.content(content, f"{name}-dossier.{kind.lower()}")

    return download
