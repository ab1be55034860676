"""Step 4: runs, each in a process of its own, kept in a list and set side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nicegui import ui

from shoal.algorithms import ALGORITHMS
from shoal.errors import ShoalError
from shoal.parameters import name_of
from shoal.privacy import model_text
from shoal.recipe import Recipe
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.studio.state import Chosen

_KINDS = {"running": "", "waiting": "", "done": "good", "failed": "bad", "cancelled": "warn"}
_WORDS = {
    "running": "running",
    "waiting": "waiting",
    "done": "✓ done and verified",
    "failed": "failed",
    "cancelled": "cancelled",
}
_PHASES = {
    "starting": "Starting",
    "read": "Reading the table",
    "search": "Searching",
    "recode": "Writing the released values",
    "verify": "Checking the release as an outsider would",
    "write": "Writing the files",
    "report": "Drawing the report",
}
_LADDER = (3, 5, 10, 20)


def show(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.heading(
        "Run", "Shoal searches for a release that meets the goal and loses little, and then checks it."
    )
    with theme.card("What will be run"):
        _told(page)
        with theme.box("rowed").style("margin-top: 14px"):
            theme.button("Start a run", lambda: _start(page), icon="play_arrow")
            theme.button(
                "Try several group sizes", lambda: _ladder(page), "outline", icon="stacked_line_chart"
            ).tooltip(f"The same goal with groups of at least {', '.join(map(str, _LADDER))} to compare")
    done = [run for run in workspace.runs if run.state == "done"]
    if len(done) > 1:
        _compared(done)
    for run in reversed(workspace.runs):
        _run(page, run)
    theme.forward("goal", "Explore the result", "explore", bool(done))


def _told(page: Page) -> None:
    """The settings in a line, or what is wrong with them."""
    try:
        recipe = page.workspace.recipe()
    except ShoalError as error:
        theme.note(str(error), "bad")
        return
    with theme.box("rowed"):
        for model in recipe.models:
            theme.badge(model_text(model), "good")
        theme.badge(f"algorithm {name_of(ALGORITHMS, recipe.algorithm)}")
        theme.badge(f"{len(recipe.quasi)} recognisable columns", "quasi")
        if recipe.trees:
            theme.badge(f"{len(recipe.trees)} hierarchies")


def _start(page: Page) -> None:
    try:
        page.workspace.start()
    except ShoalError as error:
        ui.notify(str(error), type="negative", multi_line=True)
        return
    page.changed()


def _ladder(page: Page) -> None:
    """Run the goal with several group sizes; each waits for the one before."""
    goal = page.workspace.goal
    try:
        for k in _LADDER:
            others = tuple(each for each in goal.models if each.name != "k")
            page.workspace.start(replace(goal, models=(Chosen("k", {"k": k}), *others)))
    except ShoalError as error:
        ui.notify(str(error), type="negative", multi_line=True)
    page.changed()


def _run(page: Page, run: Run) -> None:
    with theme.card(data_run=str(run.number)):
        with theme.box("rowed spread"):
            with theme.box("rowed"):
                theme.text(f"Run {run.number}", "", "h2")
                theme.badge(_WORDS[run.state], _KINDS[run.state])
            _actions(page, run)
        theme.text(settings(run.recipe), "soft small")
        if run.state in ("running", "waiting"):
            _progress(page, run)
        elif run.state == "failed":
            theme.note(_capital(run.error), "bad").style("margin-top: 10px")
        elif run.state == "done":
            _figures(run)


def _actions(page: Page, run: Run) -> None:
    with theme.box("rowed"):
        if run.state in ("running", "waiting"):
            theme.button("Cancel", _doing(page, run.cancel), "outline", icon="stop")
        else:
            theme.button(
                "Take these settings", _doing(page, lambda: page.workspace.adopt(run)), "flat"
            ).tooltip("Set the goal and the columns as they were in this run")
        if run.state == "done":
            theme.button("Explore", lambda: _explore(page, run), "outline")


def _doing(page: Page, what: Callable[[], object]) -> Callable[[], None]:
    def do() -> None:
        what()
        page.changed()

    return do


def _explore(page: Page, run: Run) -> None:
    page.workspace.shown = run.number
    page.changed(redraw=False)
    page.go("explore")


def _progress(page: Page, run: Run) -> None:
    doing = theme.text(_doing_now(run), "small", role="status")
    bar = ui.linear_progress(run.done, show_value=False).props('rounded aria-label="How much is done"')

    def look() -> None:
        if run.state not in ("running", "waiting"):
            page.workspace.changed("")  # every tab shows what became of it
            timer.deactivate()
            page.draw()
            return
        doing.text = _doing_now(run)
        bar.set_value(run.done)

    timer = ui.timer(0.3, look)


def _doing_now(run: Run) -> str:
    told = _PHASES.get(run.doing, _capital(run.doing))
    best = "" if run.best is None else f"; the best so far loses {theme.percent(run.best)} of the detail"
    return f"{told}{best} · {run.seconds:.0f} s" if run.seconds >= 1 else f"{told}{best}"


def _figures(run: Run) -> None:
    report = run.report
    theme.tiles(
        [
            (theme.percent(report["ncp"]), "of the detail lost"),
            (f"{report['smallest_class']:,}", f"people in the smallest of {report['classes']:,} groups"),
            (f"{report['released_rows']:,}", f"of {report['rows']:,} rows released"),
            (f"{report['seconds']['total']:.1f} s", "taken"),
        ]
    )
    if report["warnings"]:
        with ui.expansion(f"{len(report['warnings'])} to know", icon="info").classes("small"):
            for warning in report["warnings"]:
                theme.note(_capital(warning), "warn").style("margin-bottom: 6px")


def settings(recipe: Recipe) -> str:
    """The settings of a run in a line."""
    parts = [" and ".join(model_text(model) for model in recipe.models)]
    parts.append(f"algorithm {name_of(ALGORITHMS, recipe.algorithm)}")
    parts.append(f"by {', '.join(recipe.quasi)}")
    if recipe.suppress:
        parts.append(f"up to {theme.percent(recipe.suppress)} of the rows left out")
    if recipe.trees:
        parts.append(f"hierarchies for {', '.join(recipe.trees)}")
    return "; ".join(parts)


def _compared(done: list[Run]) -> None:
    with theme.card("Side by side", "The runs that are done; Explore draws them as loss against risk."):
        theme.table(
            ("run", "goal", "algorithm", "detail lost", "smallest group", "highest risk", "rows", "time"),
            [
                (
                    str(run.number),
                    " and ".join(model_text(model) for model in run.recipe.models),
                    str(run.report["algorithm"]["name"]),
                    theme.percent(run.report["ncp"]),
                    f"{run.report['smallest_class']:,}",
                    theme.percent(run.figures["after"]["highest"]),
                    f"{run.report['released_rows']:,}",
                    f"{run.report['seconds']['total']:.1f} s",
                )
                for run in done
            ],
        )


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
