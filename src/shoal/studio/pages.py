"""The pages: a rail of six steps, and one of the steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from nicegui import Client, app, events, ui
from nicegui.context import context
from starlette.responses import RedirectResponse

from shoal.studio import theme
from shoal.studio.findings import count_open
from shoal.studio.journal import Journal
from shoal.studio.page import Page
from shoal.studio.presets import renew_preset
from shoal.studio.projects import draw_project_buttons
from shoal.studio.running import Run
from shoal.studio.state import STEPS, StudioWorkspace
from shoal.studio.steps import describe, explore, goal, open_table, release, run
from shoal.studio.uploader import draw_uploader
from shoal.studio.words import summarize_goal, summarize_models
from shoal.support.language import (
    LANGUAGES,
    choose_language,
    current_language,
    mark,
    translate_count,
    use_language,
)
from shoal.support.language import translate as _

_SHOW: dict[str, Callable[[Page], None]] = {
    "open": open_table.draw_step,
    "describe": describe.draw_step,
    "goal": goal.draw_step,
    "run": run.draw_step,
    "explore": explore.draw_step,
    "release": release.draw_step,
}
_LOGO = "studio-logo.svg"
_QUASAR: dict[str, Literal["en-US", "de"]] = {"en": "en-US", "de": "de"}
_THEMES = {
    None: ("brightness_auto", mark("system")),
    False: ("light_mode", mark("light")),
    True: ("dark_mode", mark("dark")),
}


def register_pages(workspace: StudioWorkspace, journal: Journal) -> None:
    """Register the pages of a workspace."""
    app.add_static_file(local_file=Path(__file__).with_name("favicon.svg"), url_path=f"/{_LOGO}")

    @ui.page("/")
    def redirect_home() -> RedirectResponse:
        return RedirectResponse(f"/{workspace.step}")

    for step in STEPS:
        _register_step(workspace, journal, step)


def _register_step(workspace: StudioWorkspace, journal: Journal, step: str) -> None:
    @ui.page(f"/{step}")
    def show_page() -> None:
        _speak_with(workspace, context.client)
        ui.page_title(f"{_(_NAMES[step])} - Shoal Studio")
        workspace.step = step
        here = Page(workspace, context.client.id, journal)
        theme.apply_style()
        ui.dark_mode(workspace.dark)
        ui.add_body_html(_KEEP_FOCUS)
        body = ui.refreshable(lambda: _draw_body(here, step))
        body()
        _accept_drops(here)
        client = context.client  # what was pressed may be gone once the page is drawn anew

        def redraw_page() -> None:
            # The old ones refresh elements that the redraw removes; the step sets new ones.
            here.on_change = here.on_counted = lambda: None
            body.refresh()
            client.run_javascript("setTimeout(keepFocus, 50)")

        here.draw = redraw_page
        # Changes of other tabs redraw the page; a finished count redraws what waits for it.
        seen = workspace.count_foreign_changes(here.id), workspace.counted

        def check_for_changes() -> None:
            nonlocal seen
            before, seen = seen, (workspace.count_foreign_changes(here.id), workspace.counted)
            if seen[0] != before[0]:
                here.draw()
            elif seen[1] != before[1]:
                here.on_counted()

        ui.timer(0.5, check_for_changes)


def _speak_with(workspace: StudioWorkspace, client: Client) -> None:
    """Speak the language that was chosen or, in the first page, the one that the browser prefers."""
    if workspace.language is None:
        workspace.language = choose_language(client.request.headers.get("accept-language", ""))
    use_language(workspace.language)
    # What the browser is told, and the words of Quasar's own controls.
    client.page.language = _QUASAR[workspace.language]


# Gives the keyboard focus back to the element that had it before a page was redrawn.
_KEEP_FOCUS = """<script>
addEventListener("focusin", event => { window.focused = event.target.closest("[data-key]")?.dataset.key; });
function keepFocus() {
  if (window.focused && document.activeElement === document.body)
    document.querySelector(`[data-key="${CSS.escape(window.focused)}"]`)?.focus();
}
</script>"""


def _accept_drops(page: Page) -> None:
    """Take a file that is dropped anywhere on the page, but for places that take files themselves."""
    made = draw_uploader(page.workspace, lambda path: open_table.receive_file(page, path))
    made.add_slot("header", "<span></span>")  # without an input, which nobody could see
    made.style("display: none")
    ui.add_body_html(_DROP % made.id)


_DROP = """<script>
addEventListener("dragover", event => {
  if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
});
addEventListener("drop", event => {
  const files = event.dataTransfer?.files;
  if (!files?.length || event.target.closest?.(".q-uploader")) return;
  event.preventDefault();
  getElement(%d).$refs.qRef.addFiles(files);
});
</script>"""


def _draw_body(page: Page, step: str) -> None:
    if page.workspace.goal.models or step == "goal":
        renew_preset(page.workspace)  # the columns may have changed since it was taken
    with theme.box("studio"):
        theme.text(_("Skip to the step"), "skip", "a", href="#step")
        rail = ui.refreshable(lambda: _draw_rail(page, step))
        with theme.box("rail", "header"):
            rail()
        page.draw_rail = rail.refresh
        # Quasar's page is a <main> around all of this, and a page has one.
        with theme.box("main", id="step", tabindex="-1"), theme.box("inner"):
            missing = find_missing_step(page.workspace, step)
            if missing is None:
                _SHOW[step](page)
            else:
                _draw_not_yet(page, *missing)


def _draw_not_yet(page: Page, step: str, why: str) -> None:
    theme.draw_heading(_("Not yet"), why)
    theme.button(_("Go to {step}", step=_(_NAMES[step])), lambda: page.open_step(step))


def find_missing_step(workspace: StudioWorkspace, step: str) -> tuple[str, str] | None:
    """The step to take before this one, and why; None if this one can be taken."""
    if step != "open" and workspace.source is None:
        return "open", _("There is no table yet. Open one first.")
    if step in ("goal", "run") and not workspace.of_role("quasi"):
        return "describe", _("No column is marked as recognisable yet. Say first what the columns are.")
    if step == "run" and not workspace.goal.models:
        return "goal", _("There is no goal yet. Choose one first.")
    if step in ("explore", "release") and workspace.find_run() is None:
        return "run", _("There is no finished run yet. Start one first.")
    return None


_NAMES = {
    "open": mark("Open"),
    "describe": mark("Describe"),
    "goal": mark("Goal"),
    "run": mark("Run"),
    "explore": mark("Explore"),
    "release": mark("Release"),
}


def _draw_rail(page: Page, here: str) -> None:
    workspace = page.workspace
    page.journal.note_changes()
    with theme.box("brand"):
        theme.box("", "img", src=_LOGO, alt="")
        theme.text(_("Shoal Studio"), "", "span")
    with theme.box("", "nav", aria_label=_("Steps")):
        for number, step in enumerate(STEPS, 1):
            _draw_step_link(workspace, number, step, here)
    with theme.box("foot"):
        theme.text(_("Everything stays on this computer."), "local")
        icon, words = _THEMES[workspace.dark]
        draw_project_buttons(page)
        theme.button(_("Theme: {words}", words=_(words)), lambda: _switch_theme(page), "flat", icon=icon)
        _draw_language_choice(page)


def _draw_step_link(workspace: StudioWorkspace, number: int, step: str, here: str) -> None:
    told = _describe_progress(workspace, step)
    state = (
        "here" if step == here else "shut" if find_missing_step(workspace, step) else "done" if told else ""
    )
    # No tick for a release with severe findings, although there is a release.
    warned = step == "release" and bool(told)
    state = f"{state.removesuffix('done')} warned" if warned else state
    current = {"aria_current": "step"} if step == here else {}
    with theme.box(f"step-link {state}", "a", href=step, **current):
        mark = "✓" if state == "done" else "!" if warned else str(number)
        theme.text(mark, "mark", "span", aria_hidden="true")
        theme.text(_(_NAMES[step]), "name", "span")
        theme.text(told or _(_ABOUT[step]), "state", "span")


_ABOUT = {
    "open": mark("a table"),
    "describe": mark("its columns"),
    "goal": mark("what must hold"),
    "run": mark("find a release"),
    "explore": mark("what it costs and gives"),
    "release": mark("take it with you"),
}


def _describe_progress(workspace: StudioWorkspace, step: str) -> str:
    """What has been done in a step, in a few words."""
    run = workspace.find_run()
    if run is not None and step in ("explore", "release"):
        return _describe_shown_run(workspace, run, step)
    if step == "open" and workspace.source is not None:
        return workspace.source.name
    if step == "describe" and workspace.of_role("quasi"):
        return _("{count} recognisable columns", count=len(workspace.of_role("quasi")))
    if step == "goal" and workspace.goal.models:
        return summarize_goal({chosen.name: chosen.values for chosen in workspace.goal.models})
    if step == "run" and workspace.runs:
        done = [run for run in workspace.runs if run.state == "done"]
        return _("{count} of {count2} done", count=len(done), count2=len(workspace.runs))
    return ""


def _describe_shown_run(workspace: StudioWorkspace, run: Run, step: str) -> str:
    """Which run the last two steps are about, and whether something is to be done about it."""
    if step == "explore":
        since = _(" · changed since") if workspace.list_changes_since(run) else ""
        return _(
            "run {number}: {recipe}{since}",
            number=run.number,
            recipe=summarize_models(run.recipe),
            since=since,
        )
    severe = count_open(run)
    return translate_count("{number} severe finding", "{number} severe findings", severe) if severe else ""


def _draw_language_choice(page: Page) -> None:
    def switch_language(event: events.ValueChangeEventArguments[str]) -> None:
        page.workspace.language = event.value
        use_language(event.value)
        page.workspace.record_change(page.id)  # other tabs draw themselves in it
        ui.navigate.reload()

    made = ui.select(LANGUAGES, value=current_language(), on_change=switch_language)
    made.props("borderless dense options-dense").classes("language")
    theme.label_control(made, _("Language"))


_DARK = {None: "'auto'", False: "false", True: "true"}


def _switch_theme(page: Page) -> None:
    order: list[bool | None] = [None, False, True]  # system, light, dark
    workspace = page.workspace
    workspace.dark = order[(order.index(workspace.dark) + 1) % 3]
    ui.run_javascript(f"Quasar.Dark.set({_DARK[workspace.dark]})")
    page.draw()
