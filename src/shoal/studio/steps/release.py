"""Step 6: the release, to take away with all that is needed to check it and to make it again."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from nicegui import events, ui

from shoal.equivalent import command_line, python_snippet
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.studio.steps.run import settings

_ABOUT = {
    ".csv": "the release as text, for every program",
    ".tsv": "the release as text, for every program",
    ".parquet": "the release with types, for large tables",
    ".html": "the report: what was promised, found and lost",
    ".toml": "the recipe: the same bytes again, anywhere",
    ".zip": "the hierarchies, one file each",
}


def show(page: Page) -> None:
    """Draw the step."""
    workspace, run = page.workspace, page.workspace.run()
    assert run is not None
    theme.heading(
        "Release", "The table to give away, checked as an outsider would, and how to make it again."
    )
    done = {
        each.number: f"Run {each.number}: {settings(each.recipe)}"
        for each in workspace.runs
        if each.state == "done"
    }
    if len(done) > 1:

        def take(event: events.ValueChangeEventArguments[int]) -> None:
            workspace.shown = event.value
            page.changed()

        chosen = ui.select(done, label="Which run", value=run.number, on_change=take).props(
            "outlined dense options-dense"
        )
        chosen.style("margin-bottom: 18px")
    _verified(page, run)
    _files(run)
    _again(run)
    theme.forward("explore", "Try another goal", "goal", True)


def _verified(page: Page, run: Run) -> None:
    """What a count of the files found, not what the run promised."""
    with theme.card("Is it safe to give away?"):
        if not run.verified:
            with theme.box("rowed"):
                ui.spinner(size="22px")
                theme.text("Counting again in the files", "soft", role="status")
            ui.timer(
                0.05,
                lambda: page.workspace.once(f"verify {run.number}", run.verify, lambda _: None),
                once=True,
            )
            return
        held = all(each.holds for each in run.verified.values())
        files = " and ".join(run.verified)
        if held:
            theme.note(f"Every promise holds: counted again in {files}.", "good")
        else:
            theme.note(
                f"Not every promise holds in {files}: do not give it away, and please report this.", "bad"
            )
        found = next(iter(run.verified.values()))
        theme.table(
            ("promised", "found", ""),
            [
                (_asked(m.name, m.asked), _achieved(m.achieved), "✓ holds" if m.holds else "✗ does not hold")
                for m in found.models
            ],
        )
        theme.text(_NOT, "soft small").style("margin-top: 10px")


_NOT = (
    "This holds for the columns you marked as recognisable. It does not protect from somebody who knows more "
    "about a person, or from another release of the same people. The report says what else is not covered."
)


def _asked(name: str, asked: dict[str, object]) -> str:
    return f"{name}: " + ", ".join(f"{key} = {value}" for key, value in asked.items())


def _achieved(achieved: object) -> str:
    if isinstance(achieved, dict):
        return ", ".join(f"{name} = {value:.4g}" for name, value in achieved.items())
    return f"{achieved:.4g}" if isinstance(achieved, float) else str(achieved)


def _files(run: Run) -> None:
    with theme.card("Files"), theme.box("files"):
        for name, path in run.files().items():
            with theme.box("file"):
                ui.icon("description").props("aria-hidden=true")
                with theme.box():
                    theme.text(name, "strong")
                    theme.text(f"{_size(path)}; {_ABOUT[path.suffix]}", "soft small")
                link = f"/download/{run.number}/{quote(name)}"
                if path.suffix == ".html":
                    theme.text("Look", "link-button", "a", href=f"{link}?look=1", target="_blank")
                theme.text(
                    "Download", "link-button", "a", href=link, download=name, aria_label=f"Download {name}"
                )


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{max(size / 1e3, 0.1):,.1f} kB"


def _again(run: Run) -> None:
    recipe = run.recipe
    with theme.card("Make it again", f"In a folder with {recipe.input}. All three give the same bytes."):
        if recipe.trees:
            theme.note(
                "The hierarchies are in the recipe; the other two read them from hierarchies.zip, unpacked."
            )
        with theme.box("stacked"):
            theme.code("shoal run recipe.toml", "With the recipe")
            theme.code(command_line(recipe), "On the command line")
            theme.code(python_snippet(recipe), "In Python")
