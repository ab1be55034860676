"""The pages: a rail of six steps, and one of the steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nicegui import app, ui
from nicegui.context import context
from starlette.responses import RedirectResponse

from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.state import STEPS, Workspace
from shoal.studio.steps import describe, explore, goal, open_table, release, run

_SHOW: dict[str, Callable[[Page], None]] = {
    "open": open_table.show,
    "describe": describe.show,
    "goal": goal.show,
    "run": run.show,
    "explore": explore.show,
    "release": release.show,
}
_LOGO = "/studio-logo.svg"
_THEMES = {None: ("brightness_auto", "system"), False: ("light_mode", "light"), True: ("dark_mode", "dark")}


def build(workspace: Workspace) -> None:
    """Register the pages of a workspace."""
    app.add_static_file(local_file=Path(__file__).with_name("favicon.svg"), url_path=_LOGO)

    @ui.page("/")
    def home() -> RedirectResponse:
        return RedirectResponse(f"/{workspace.step}")

    for step in STEPS:
        _register(workspace, step)


def _register(workspace: Workspace, step: str) -> None:
    @ui.page(f"/{step}", title=f"{step.title()} - Shoal Studio")
    def page() -> None:
        workspace.step = step
        here = Page(workspace, context.client.id)
        theme.apply()
        ui.dark_mode(workspace.dark)
        ui.add_body_html(_KEEP_FOCUS)
        body = ui.refreshable(lambda: _body(here, step))
        body()
        client = context.client  # what was pressed may be gone once the page is drawn anew

        def draw() -> None:
            here.on_change = here.on_counted = lambda: None
            body.refresh()
            client.run_javascript("setTimeout(keepFocus, 50)")

        here.draw = draw
        seen = workspace.foreign(here.id), workspace.counted

        def look() -> None:
            nonlocal seen
            before, seen = seen, (workspace.foreign(here.id), workspace.counted)
            if seen[0] != before[0]:
                here.draw()
            elif seen[1] != before[1]:
                here.on_counted()

        ui.timer(0.5, look)


# Whoever uses the keyboard goes on where they were when a page draws itself anew.
_KEEP_FOCUS = """<script>
addEventListener("focusin", event => { window.focused = event.target.closest("[data-key]")?.dataset.key; });
function keepFocus() {
  if (window.focused && document.activeElement === document.body)
    document.querySelector(`[data-key="${CSS.escape(window.focused)}"]`)?.focus();
}
</script>"""


def _body(page: Page, step: str) -> None:
    with theme.box("studio"):
        theme.text("Skip to the step", "skip", "a", href="#step")
        rail = ui.refreshable(lambda: _rail(page, step))
        with theme.box("rail", "header"):
            rail()
        page.draw_rail = rail.refresh
        with theme.box("main", "main", id="step"), theme.box("inner"):
            missing = lacks(page.workspace, step)
            if missing is None:
                _SHOW[step](page)
            else:
                _not_yet(page, *missing)


def _not_yet(page: Page, step: str, why: str) -> None:
    theme.heading("Not yet", why)
    theme.button(f"Go to {_NAMES[step]}", lambda: page.go(step))


def lacks(workspace: Workspace, step: str) -> tuple[str, str] | None:
    """The step to take before this one, and why; None if this one can be taken."""
    if step != "open" and workspace.source is None:
        return "open", "There is no table yet. Open one first."
    if step in ("goal", "run") and not workspace.of_role("quasi"):
        return "describe", "No column is marked as recognisable yet. Say first what the columns are."
    if step == "run" and not workspace.goal.models:
        return "goal", "There is no goal yet. Choose one first."
    if step in ("explore", "release") and workspace.run() is None:
        return "run", "There is no finished run yet. Start one first."
    return None


_NAMES = {
    "open": "Open",
    "describe": "Describe",
    "goal": "Goal",
    "run": "Run",
    "explore": "Explore",
    "release": "Release",
}


def _rail(page: Page, here: str) -> None:
    workspace = page.workspace
    with theme.box("brand"):
        theme.box("", "img", src=_LOGO, alt="")
        theme.text("Shoal Studio", "", "span")
    with theme.box("", "nav", aria_label="Steps"):
        for number, step in enumerate(STEPS, 1):
            _link(workspace, number, step, here)
    with theme.box("foot"):
        theme.text("Everything stays on this computer.", "local")
        icon, words = _THEMES[workspace.dark]
        theme.button(f"Theme: {words}", lambda: _turn(page), "flat", icon=icon)


def _link(workspace: Workspace, number: int, step: str, here: str) -> None:
    told = _told(workspace, step)
    state = "here" if step == here else "shut" if lacks(workspace, step) else "done" if told else ""
    current = {"aria_current": "step"} if step == here else {}
    with theme.box(f"step-link {state}", "a", href=f"/{step}", **current):
        theme.text("✓" if state == "done" else str(number), "mark", "span", aria_hidden="true")
        theme.text(_NAMES[step], "name", "span")
        theme.text(told or _ABOUT[step], "state", "span")


_ABOUT = {
    "open": "a table",
    "describe": "its columns",
    "goal": "what must hold",
    "run": "find a release",
    "explore": "what it costs and gives",
    "release": "take it with you",
}


def _told(workspace: Workspace, step: str) -> str:
    """What has been done in a step, in a few words."""
    done = [run for run in workspace.runs if run.state == "done"]
    if step == "open" and workspace.source is not None:
        return workspace.source.name
    if step == "describe" and workspace.of_role("quasi"):
        return f"{len(workspace.of_role('quasi'))} recognisable columns"
    if step == "goal" and workspace.goal.models:
        return ", ".join(_short(chosen.name, chosen.values) for chosen in workspace.goal.models)
    if step == "run" and workspace.runs:
        return f"{len(done)} of {len(workspace.runs)} done"
    return ""


def _short(name: str, values: object) -> str:
    first = next(iter(dict(values).items()), None)  # type: ignore[call-overload]
    return name if first is None else f"{first[0]} = {first[1]}"


_DARK = {None: "'auto'", False: "false", True: "true"}


def _turn(page: Page) -> None:
    order: list[bool | None] = [None, False, True]
    workspace = page.workspace
    workspace.dark = order[(order.index(workspace.dark) + 1) % 3]
    ui.run_javascript(f"Quasar.Dark.set({_DARK[workspace.dark]})")
    page.draw()
