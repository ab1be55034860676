"""Step 6: the release, to take away with all that is needed to check it and to make it again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from nicegui import events, ui

from shoal.recipes.equivalent import command_line, python_snippet
from shoal.report.prose import capitalize_sentence, join_names
from shoal.studio import theme
from shoal.studio.dossiers import draw_dossier_card
from shoal.studio.findings import build_headline, show_findings
from shoal.studio.page import Page
from shoal.studio.people import draw_key_link
from shoal.studio.running import PACK, Run
from shoal.studio.steps.run import describe_settings, draw_stale_note
from shoal.studio.words import describe_asked, format_achieved
from shoal.studio.worker import RELEASE, REPORT
from shoal.support.language import mark, translate_message
from shoal.support.language import translate as _

_ABOUT = {
    ".csv": mark("the release as text, for every program"),
    ".tsv": mark("the release as text, for every program"),
    ".parquet": mark("the release with types, for large tables"),
    ".xlsx": mark("the release as a workbook"),
    ".html": mark("the report: what was promised, found and lost"),
    ".toml": mark("the recipe: what was done, to do it again"),
    ".zip": mark("the hierarchies, one file each"),
}


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace, run = page.workspace, page.workspace.find_run()
    assert run is not None
    theme.draw_heading(
        _("Release"), _("The table to give away, checked as an outsider would, and how to make it again.")
    )
    done = {
        each.number: f"{each.title}: {describe_settings(each.recipe)}"
        for each in workspace.runs
        if each.state == "done"
    }
    if len(done) > 1:

        def choose_run(event: events.ValueChangeEventArguments[int]) -> None:
            workspace.shown = event.value
            page.mark_changed()

        chosen = ui.select(done, label=_("Which run"), value=run.number, on_change=choose_run).props(
            "outlined dense options-dense"
        )
        chosen.style("margin-bottom: 18px")
    draw_stale_note(page, run)
    _draw_verification(page, run)
    if run.verified:
        with theme.card(_("What the release as a whole gives away"), _(_WHOLE)):
            show_findings(page, run)
        if workspace.hand_over is not None and run.is_checked:
            _draw_return(workspace.hand_over, run)
        _draw_files(run)
        if not run.recipe.events and run.is_checked and (run.folder / REPORT).is_file():
            draw_dossier_card(page, run)
        if run.recipe.events:
            theme.note(
                _("A report as a page is not available for several tables: Run shows the figures.")
            ).style("margin-bottom: 18px")
        if run.recipe.pseudonym:
            _draw_key(run)
    _draw_reproduction(run)
    theme.draw_step_buttons("explore", _("Try another goal"), "goal", True)


def _draw_verification(page: Page, run: Run) -> None:
    """What a count of the files found, not what the run promised."""
    with theme.card(_("Is it safe to give away?")):
        if run.unchecked:
            theme.note(
                _(
                    "The files cannot be checked, so that none is offered: {unchecked}",
                    unchecked=translate_message(run.unchecked),
                ),
                "bad",
            )
            return
        if not run.verified:
            with theme.box("rowed"):
                ui.spinner(size="22px").props('aria-hidden="true"')
                theme.text(
                    _(
                        "Counting again in the files. They can be downloaded once every promise "
                        "holds in them."
                    ),
                    "soft",
                    role="status",
                )
            # Only when this step is shown: to read large files again takes a while.
            ui.timer(
                0.05,
                lambda: page.workspace.run_once(f"verify {run.number}", run.check_files, lambda _: None),
                once=True,
            )
            return
        _draw_headline(run)
        # The figures of one file for all formats; the headline says whether all of them hold.
        found = next(iter(run.verified.values()))
        # No tick beside a severe finding, whatever somebody decided about it.
        is_calm = all(finding.severity != "high" for finding in run.findings)
        holds = _("✓ holds") if is_calm else _("holds")
        theme.draw_table(
            (_("promised"), _("found"), _("result")),
            [
                (
                    describe_asked(m.name, m.asked),
                    format_achieved(m.achieved),
                    holds if m.holds else _("✗ does not hold"),
                )
                for m in found.models
            ],
        )
        for note in found.notes:
            theme.text(f"{capitalize_sentence(translate_message(note))}.", "soft small").style(
                "margin-top: 10px"
            )
        told = (
            _(_NOT)
            if run.recipe.events
            else _("{limit} The report says what else is not covered.", limit=_(_NOT))
        )
        theme.text(told, "soft small").style("margin-top: 10px")


def _draw_headline(run: Run) -> None:
    """Whether the release can be given away, in a sentence."""
    told, files = build_headline(run), _(" and ").join(run.verified)
    counted = _("Every promise holds: counted again in {files}.", files=files)
    if any(file.notes for file in run.verified.values()):
        counted = _(
            "Every promise held when the run counted people in {files}. Here rows were counted again.",
            files=files,
        )
    if told.kind == "good":
        theme.note(counted, "good")
    elif told.kind == "decided":
        theme.note(_("{counted} What it gives away as a whole was accepted: see below.", counted=counted))
    elif told.kind == "warn":
        theme.note(
            _("{text}. Read the findings below before you give the files away.", text=told.text), "warn"
        )
    else:
        theme.note(
            _(
                "Not every promise holds in {files}: do not give it away, and please report this.",
                files=files,
            ),
            "bad",
        )


_WHOLE = mark(
    "A goal is about the recognisable columns. Anyone who has the release sees all columns, and the order of "
    "its rows."
)

_NOT = mark(
    "This holds for the columns you marked as recognisable. It does not protect from somebody who knows more "
    "about a person, or from another release of the same people."
)


def _draw_files(run: Run) -> None:
    with theme.card(_("Files")), theme.box("files"):
        for name, path in run.list_files().items():
            with theme.box("file"):
                ui.icon("description").props("aria-hidden=true")
                with theme.box():
                    theme.text(name, "strong")
                    theme.text(f"{_format_size(path)}; {_describe_file(run, path)}", "soft small")
                # Relative: the key stands before it, and only the guard knows the key.
                link = f"download/{run.number}/{quote(name)}"
                if path.suffix == ".html":
                    theme.text(_("Look"), "link-button", "a", href=f"{link}?look=1", target="_blank")
                theme.text(
                    _("Download"),
                    "link-button",
                    "a",
                    href=link,
                    download=name,
                    aria_label=_("Download {name}", name=name),
                )


def _draw_return(hand_over: Callable[[Path], object], run: Run) -> None:
    """Give the release to the program that opened the studio."""
    with theme.card(
        _("Back to Python"), _("A program opened this studio and waits for a release."), id="return"
    ):
        if run.released_only:
            theme.note(_("safepub draws another sample in every run: download the file instead."))
            return

        def return_release() -> None:
            hand_over(run.folder)
            ui.notify(_("Returned. This page can be closed."), type="positive", timeout=0)

        theme.button(_("Return this release"), return_release, icon="keyboard_return")


def _describe_file(run: Run, path: Path) -> str:
    if path.name == PACK:
        return _("all tables of the release in one file")
    if run.recipe.events and path.parent.name == RELEASE:
        return _("a table of the release, in the format of your file")
    return _(_ABOUT[path.suffix])


def _draw_key(run: Run) -> None:
    with theme.card(
        _("The secret key"), _("For you alone. Never give it away with the release."), data_part="key"
    ):
        theme.text(
            _(
                "Whoever has the key can find out which pseudonym is whose. It is in none of the "
                "files above. "
                "Keep it only if people must have the same pseudonyms in a later release: then "
                "bring it along in "
                "Goal. Without it nobody can make these pseudonyms again, not even you. When the "
                "studio ends, it "
                "deletes the key."
            ),
            "small",
        ).style("margin-bottom: 12px")
        draw_key_link(f"key/{run.number}", _("Download the key"))


def _format_size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{max(size / 1e3, 0.1):,.1f} kB"


def _draw_reproduction(run: Run) -> None:
    recipe = run.recipe
    same = (
        _("Another run draws another sample, and if both are released, they add up.")
        if recipe.uses_safepub
        else _("All three give the same bytes.")
    )
    files = join_names([str(recipe.input), *recipe.events.values()])
    with theme.card(_("Make it again"), _("In a folder with {files}. {same}", files=files, same=same)):
        if recipe.trees:
            theme.note(
                _(
                    "The hierarchies are in the recipe; the other two read them from "
                    "hierarchies.zip, unpacked."
                )
            )
        with theme.box("stacked"):
            theme.draw_code("shoal run recipe.toml", _("With the recipe"))
            theme.draw_code(command_line(recipe), _("On the command line"))
            theme.draw_code(python_snippet(recipe), _("In Python"))
