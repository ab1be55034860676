"""Step 4: runs, each in a process of its own, kept in a list and set side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from nicegui import ui

from shoal.algorithms import ALGORITHMS
from shoal.errors import ShoalError
from shoal.privacy import model_text
from shoal.recipes.recipe import Recipe
from shoal.studio import theme
from shoal.studio.findings import build_headline, count_open, show_findings
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.studio.state import ComponentSettings
from shoal.support.parameters import name_of

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
_LADDER = (3, 5, 10, 20)  # values of k


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.draw_heading(
        "Run", "Shoal searches for a release that meets the goal and loses little, and then checks it."
    )
    with theme.card("What will be run"):
        _draw_settings(page)
        with theme.box("rowed").style("margin-top: 14px"):
            theme.button("Start a run", lambda: _start_run(page), icon="play_arrow")
            theme.button(
                "Try several group sizes",
                lambda: _start_several_runs(page),
                "outline",
                icon="stacked_line_chart",
            ).tooltip(f"The same goal with groups of at least {', '.join(map(str, _LADDER))} to compare")
    done = [run for run in workspace.runs if run.state == "done"]
    if len(done) > 1:
        _draw_comparison(done)
    for run in reversed(workspace.runs):
        _draw_run(page, run)
    theme.draw_step_buttons("goal", "Explore the result", "explore", bool(done))


def _draw_settings(page: Page) -> None:
    """The settings in a line, or what is wrong with them."""
    try:
        recipe = page.workspace.build_recipe()
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
        for told in _list_unusual_settings(recipe):
            theme.badge(told)


def _list_unusual_settings(recipe: Recipe) -> Iterator[str]:
    """Settings about what all columns give away together, where they are not the usual ones."""
    if recipe.row_order == "released":
        yield "rows sorted by what is released"
    if recipe.strict:
        yield "no severe findings"
    if recipe.accept:
        yield f"{len(recipe.accept)} accepted"
    if recipe.identifier:
        yield f"left out: {', '.join(recipe.identifier)}"
    if recipe.person is not None:
        yield f"people counted by: {recipe.person}"
    if recipe.group is not None:
        yield f"groups counted by: {recipe.group}"
    if recipe.pseudonym:
        known = {"1": "one row", "all": "all rows"}.get(recipe.knows, f"{recipe.knows} rows")
        yield f"rows of a person stay together, and {known} may be known"
    if recipe.relative is not None:
        yield f"days since the first row: {recipe.relative}"


def _start_run(page: Page) -> None:
    try:
        page.workspace.start_run()
    except ShoalError as error:
        ui.notify(str(error), type="negative", multi_line=True)
        return
    page.mark_changed()


def _start_several_runs(page: Page) -> None:
    """Run the goal with several group sizes; each waits for the one before."""
    goal = page.workspace.goal
    try:
        for k in _LADDER:
            others = tuple(each for each in goal.models if each.name != "k")
            page.workspace.start_run(replace(goal, models=(ComponentSettings("k", {"k": k}), *others)))
    except ShoalError as error:
        ui.notify(str(error), type="negative", multi_line=True)
    page.mark_changed()


def _draw_run(page: Page, run: Run) -> None:
    with theme.card(data_run=str(run.number)):
        with theme.box("rowed spread"):
            with theme.box("rowed"):
                theme.text(f"Run {run.number}", "", "h2")
                theme.badge(*_describe_state(run))
            _draw_actions(page, run)
        theme.text(describe_settings(run.recipe), "soft small")
        if run.state in ("running", "waiting"):
            _draw_progress(page, run)
        elif run.refused:  # such a run has failed as well, but for a reason that can be accepted
            _draw_refusal(page, run)
        elif run.state == "failed":
            theme.note(_capitalize_sentence(run.error), "bad").style("margin-top: 10px")
        elif run.state == "done":
            _draw_figures(run)
            _draw_findings(page, run)


def _describe_state(run: Run) -> tuple[str, str]:
    """How a run stands, and how good that is."""
    # No tick beside severe findings that nobody has accepted.
    if run.state == "done" and count_open(run):
        return "done; see the findings", "warn"
    return _WORDS[run.state], _KINDS[run.state]


def _draw_refusal(page: Page, run: Run) -> None:
    """Why nothing was released although the goal holds, and what can be done about it."""
    if count_open(run):
        what = f"{build_headline(run).text}, and severe findings are not to be released: nothing was written."
    else:
        what = "The findings are accepted by now. Start another run to make the release."
    theme.note(what, "warn").style("margin: 10px 0")
    show_findings(page, run)


def _draw_findings(page: Page, run: Run) -> None:
    found = run.findings
    if not found:
        return
    told = build_headline(run)
    if told.kind == "warn":
        theme.note(f"{told.text}.", "warn").style("margin-top: 10px")
    count = "1 finding" if len(found) == 1 else f"{len(found)} findings"
    with ui.expansion(f"{count} about the release as a whole", icon="visibility") as made:
        made.value = told.kind == "warn"  # unfolded only if something is left to decide
        show_findings(page, run)


def _draw_actions(page: Page, run: Run) -> None:
    with theme.box("rowed"):
        if run.state in ("running", "waiting"):
            theme.button("Cancel", _make_handler(page, run.cancel), "outline", icon="stop")
        else:
            theme.button(
                "Take these settings", _make_handler(page, lambda: page.workspace.adopt_settings(run)), "flat"
            ).tooltip("Set the goal and the columns as they were in this run")
        if run.state == "done":
            theme.button("Explore", lambda: _explore_run(page, run), "outline")


def _make_handler(page: Page, what: Callable[[], object]) -> Callable[[], None]:
    def act_and_redraw() -> None:
        what()
        page.mark_changed()

    return act_and_redraw


def _explore_run(page: Page, run: Run) -> None:
    page.workspace.shown = run.number
    page.mark_changed(redraw=False)  # for the other tabs; this page is left
    page.open_step("explore")


def _draw_progress(page: Page, run: Run) -> None:
    doing = theme.text(_describe_activity(run), "small", role="status")
    bar = ui.linear_progress(run.done, show_value=False).props('rounded aria-label="How much is done"')

    # The run is followed by a thread, from which nothing can be drawn: the page polls it.
    def update_progress() -> None:
        if run.state not in ("running", "waiting"):
            page.workspace.record_change("")  # every tab shows what became of it
            timer.deactivate()
            page.draw()
            return
        doing.text = _describe_activity(run)
        bar.set_value(run.done)

    timer = ui.timer(0.3, update_progress)


def _describe_activity(run: Run) -> str:
    told = _PHASES.get(run.doing, _capitalize_sentence(run.doing))
    best = (
        "" if run.best is None else f"; the best so far loses {theme.format_percent(run.best)} of the detail"
    )
    return f"{told}{best} · {run.seconds:.0f} s" if run.seconds >= 1 else f"{told}{best}"


def _draw_figures(run: Run) -> None:
    report = run.report
    theme.draw_tiles(
        [
            (theme.format_percent(report["ncp"]), "of the detail lost"),
            (f"{report['smallest_class']:,}", f"people in the smallest of {report['classes']:,} groups"),
            released_tile(report),
            (f"{report['seconds']['total']:.1f} s", "taken"),
        ]
    )
    if report["warnings"]:
        with ui.expansion(f"{len(report['warnings'])} to know", icon="info").classes("small"):
            for warning in report["warnings"]:
                theme.note(_capitalize_sentence(warning), "warn").style("margin-bottom: 6px")


def released_tile(report: dict[str, Any]) -> tuple[str, str]:
    """How many rows are released, and of how many if that may be told."""
    # None with safepub: how many rows the table has is part of what it protects.
    of = "rows released" if report["rows"] is None else f"of {report['rows']:,} rows released"
    return f"{report['released_rows']:,}", of


def describe_settings(recipe: Recipe) -> str:
    """The settings of a run in a line."""
    parts = [" and ".join(model_text(model) for model in recipe.models)]
    parts.append(f"algorithm {name_of(ALGORITHMS, recipe.algorithm)}")
    parts.append(f"by {', '.join(recipe.quasi)}")
    if recipe.row_order == "released":
        parts.append("rows sorted by what is released")
    if recipe.suppress:
        parts.append(f"up to {theme.format_percent(recipe.suppress)} of the rows left out")
    if recipe.trees:
        parts.append(f"hierarchies for {', '.join(recipe.trees)}")
    return "; ".join(parts)


def _draw_comparison(done: list[Run]) -> None:
    with theme.card("Side by side", "The runs that are done; Explore draws them as loss against risk."):
        theme.draw_table(
            (
                "run",
                "goal",
                "algorithm",
                "detail lost",
                "smallest group",
                "highest risk",
                "severe findings",
                "rows",
                "time",
            ),
            [
                (
                    str(run.number),
                    " and ".join(model_text(model) for model in run.recipe.models),
                    str(run.report["algorithm"]["name"]),
                    theme.format_percent(run.report["ncp"]),
                    f"{run.report['smallest_class']:,}",
                    theme.format_percent(run.figures["after"]["highest"]),
                    str(sum(finding.severity == "high" for finding in run.findings)),
                    f"{run.report['released_rows']:,}",
                    f"{run.report['seconds']['total']:.1f} s",
                )
                for run in done
            ],
        )


def _capitalize_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
