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

_ABOUT = {
    ".csv": "the release as text, for every program",
    ".tsv": "the release as text, for every program",
    ".parquet": "the release with types, for large tables",
    ".xlsx": "the release as a workbook",
    ".html": "the report: what was promised, found and lost",
    ".toml": "the recipe: what was done, to do it again",
    ".zip": "the hierarchies, one file each",
}


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace, run = page.workspace, page.workspace.find_run()
    assert run is not None
    theme.draw_heading(
        "Release", "The table to give away, checked as an outsider would, and how to make it again."
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

        chosen = ui.select(done, label="Which run", value=run.number, on_change=choose_run).props(
            "outlined dense options-dense"
        )
        chosen.style("margin-bottom: 18px")
    draw_stale_note(page, run)
    _draw_verification(page, run)
    if run.verified:
        with theme.card("What the release as a whole gives away", _WHOLE):
            show_findings(page, run)
        if workspace.hand_over is not None and run.is_checked:
            _draw_return(workspace.hand_over, run)
        _draw_files(run)
        if not run.recipe.events and run.is_checked and (run.folder / REPORT).is_file():
            draw_dossier_card(page, run)
        if run.recipe.events:
            theme.note(
                "A report as a page is not available for several tables: Run shows the figures."
            ).style("margin-bottom: 18px")
        if run.recipe.pseudonym:
            _draw_key(run)
    _draw_reproduction(run)
    theme.draw_step_buttons("explore", "Try another goal", "goal", True)


def _draw_verification(page: Page, run: Run) -> None:
    """What a count of the files found, not what the run promised."""
    with theme.card("Is it safe to give away?"):
        if run.unchecked:
            theme.note(f"The files cannot be checked, so that none is offered: {run.unchecked}", "bad")
            return
        if not run.verified:
            with theme.box("rowed"):
                ui.spinner(size="22px").props('aria-hidden="true"')
                theme.text(
                    "Counting again in the files. They can be downloaded once every promise holds in them.",
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
        holds = "✓ holds" if is_calm else "holds"
        theme.draw_table(
            ("promised", "found", "result"),
            [
                (
                    describe_asked(m.name, m.asked),
                    format_achieved(m.achieved),
                    holds if m.holds else "✗ does not hold",
                )
                for m in found.models
            ],
        )
        for note in found.notes:
            theme.text(f"{capitalize_sentence(note)}.", "soft small").style("margin-top: 10px")
        told = _NOT if run.recipe.events else f"{_NOT} The report says what else is not covered."
        theme.text(told, "soft small").style("margin-top: 10px")


def _draw_headline(run: Run) -> None:
    """Whether the release can be given away, in a sentence."""
    told, files = build_headline(run), " and ".join(run.verified)
    counted = f"Every promise holds: counted again in {files}."
    if any(file.notes for file in run.verified.values()):
        counted = f"Every promise held when the run counted people in {files}. Here rows were counted again."
    if told.kind == "good":
        theme.note(counted, "good")
    elif told.kind == "decided":
        theme.note(f"{counted} What it gives away as a whole was accepted: see below.")
    elif told.kind == "warn":
        theme.note(f"{told.text}. Read the findings below before you give the files away.", "warn")
    else:
        theme.note(f"Not every promise holds in {files}: do not give it away, and please report this.", "bad")


_WHOLE = (
    "A goal is about the recognisable columns. Anyone who has the release sees all columns, and the order of "
    "its rows."
)

_NOT = (
    "This holds for the columns you marked as recognisable. It does not protect from somebody who knows more "
    "about a person, or from another release of the same people."
)


def _draw_files(run: Run) -> None:
    with theme.card("Files"), theme.box("files"):
        for name, path in run.list_files().items():
            with theme.box("file"):
                ui.icon("description").props("aria-hidden=true")
                with theme.box():
                    theme.text(name, "strong")
                    theme.text(f"{_format_size(path)}; {_describe_file(run, path)}", "soft small")
                # Relative: the key stands before it, and only the guard knows the key.
                link = f"download/{run.number}/{quote(name)}"
                if path.suffix == ".html":
                    theme.text("Look", "link-button", "a", href=f"{link}?look=1", target="_blank")
                theme.text(
                    "Download", "link-button", "a", href=link, download=name, aria_label=f"Download {name}"
                )


def _draw_return(hand_over: Callable[[Path], object], run: Run) -> None:
    """Give the release to the program that opened the studio."""
    with theme.card("Back to Python", "A program opened this studio and waits for a release.", id="return"):
        if run.released_only:
            theme.note("safepub draws another sample in every run: download the file instead.")
            return

        def return_release() -> None:
            hand_over(run.folder)
            ui.notify("Returned. This page can be closed.", type="positive", timeout=0)

        theme.button("Return this release", return_release, icon="keyboard_return")


def _describe_file(run: Run, path: Path) -> str:
    if path.name == PACK:
        return "all tables of the release in one file"
    if run.recipe.events and path.parent.name == RELEASE:
        return "a table of the release, in the format of your file"
    return _ABOUT[path.suffix]


def _draw_key(run: Run) -> None:
    with theme.card("The secret key", "For you alone. Never give it away with the release.", data_part="key"):
        theme.text(
            "Whoever has the key can find out which pseudonym is whose. It is in none of the files above. "
            "Keep it only if people must have the same pseudonyms in a later release: then bring it along in "
            "Goal. Without it nobody can make these pseudonyms again, not even you. When the studio ends, it "
            "deletes the key.",
            "small",
        ).style("margin-bottom: 12px")
        draw_key_link(f"key/{run.number}", "Download the key")


def _format_size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{max(size / 1e3, 0.1):,.1f} kB"


def _draw_reproduction(run: Run) -> None:
    recipe = run.recipe
    same = (
        "Another run draws another sample, and if both are released, they add up."
        if recipe.uses_safepub
        else "All three give the same bytes."
    )
    files = join_names([str(recipe.input), *recipe.events.values()])
    with theme.card("Make it again", f"In a folder with {files}. {same}"):
        if recipe.trees:
            theme.note(
                "The hierarchies are in the recipe; the other two read them from hierarchies.zip, unpacked."
            )
        with theme.box("stacked"):
            theme.draw_code("shoal run recipe.toml", "With the recipe")
            theme.draw_code(command_line(recipe), "On the command line")
            theme.draw_code(python_snippet(recipe), "In Python")
