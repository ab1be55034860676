"""Step 4: runs, each in a process of its own, kept in a list and set side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from nicegui import ui
from nicegui.context import context

from shoal.algorithms import ALGORITHMS
from shoal.errors import ShoalError
from shoal.recipes.recipe import Recipe
from shoal.studio import theme
from shoal.studio.findings import build_headline, count_open, show_findings
from shoal.studio.page import Page
from shoal.studio.problems import find_goal_problem
from shoal.studio.running import Run
from shoal.studio.state import ComponentSettings
from shoal.studio.words import (
    describe_asked,
    describe_goal,
    describe_model,
    format_achieved,
    summarize_models,
)
from shoal.support.parameters import name_of

_KINDS = {"running": "", "waiting": "", "done": "good", "failed": "bad", "cancelled": "warn", "saved": ""}
_WORDS = {
    "running": "running",
    "waiting": "waiting",
    "done": "✓ done and verified",
    "failed": "failed",
    "cancelled": "cancelled",
    "saved": "from the project",
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
_ITEMS = {"1": "one of them", "2": "two", "3": "three", "all": "all"}
_MOST_CHANGES = 4  # that are told of
_LADDER = (3, 5, 10, 20)  # values of k


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.draw_heading(
        "Run", "Shoal searches for a release that meets the goal and loses little, and then checks it."
    )
    with theme.card("What will be run"):
        problem = find_goal_problem(workspace)
        _draw_settings(page, problem)
        with theme.box("rowed").style("margin-top: 14px"):
            start = theme.button("Start a run", lambda: _start_run(page), icon="play_arrow")
            start.set_enabled(not problem)
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


def _draw_settings(page: Page, problem: str) -> None:
    """The settings in a line, or what is wrong with them."""
    if problem:
        theme.note(problem, "bad")
        return
    recipe = page.workspace.build_recipe()
    with theme.box("rowed"):
        for model in recipe.models:
            theme.badge(describe_model(model), "good")
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
    if recipe.events:
        yield f"further tables: {', '.join(recipe.events)}"
    if recipe.group is not None:
        yield f"groups counted by: {recipe.group}"
    if recipe.sets:
        known = _ITEMS.get(recipe.knows, recipe.knows)
        yield f"several values in a cell: {', '.join(recipe.sets)}; {known} may be known"
    if recipe.pseudonym:
        known = {"1": "one row", "all": "all rows"}.get(recipe.knows, f"{recipe.knows} rows")
        yield f"rows of a person stay together, and {known} may be known"
    if recipe.relative is not None:
        yield f"days since the first row: {recipe.relative}"


def _start_run(page: Page) -> None:
    before = len(page.workspace.runs)
    try:
        run = page.workspace.start_run()
    except ShoalError as error:
        ui.notify(str(error), type="negative", multi_line=True)
        return
    if len(page.workspace.runs) == before:
        ui.notify(f"{run.title} has the same settings, and so the same release.", multi_line=True)
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
                theme.text(run.title, "", "h2")
                theme.badge(*_describe_state(run))
                if page.workspace.list_changes_since(run):
                    theme.badge("other settings than now")
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
        elif run.state == "saved":
            _draw_figures(run)
            theme.text("A project has no rows. Make this run again for its release.", "soft small")


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
        for label, icon, do in (
            ("Name", "edit", lambda: _ask_name(page, run)),
            ("Delete", "delete", _make_handler(page, lambda: page.workspace.delete_run(run))),
        ):
            made = theme.button("", do, "flat", icon=icon).tooltip(f"{label} this run")
            made.props["aria-label"] = made.props["data-key"] = f"{label} run {run.number}"
        if run.state == "saved":
            theme.button("Make it again", lambda: _repeat_run(page, run), "outline", icon="replay")
        if run.state == "done":
            theme.button("Explore", lambda: _explore_run(page, run), "outline")


def _repeat_run(page: Page, run: Run) -> None:
    try:
        page.workspace.repeat_run(run)
    except ShoalError as error:
        ui.notify(str(error), type="negative", multi_line=True)
    page.mark_changed()


def _ask_name(page: Page, run: Run) -> None:
    """Ask what the user calls a run."""
    # Outside the part that redraws: a change in another tab must not close the dialog.
    with context.client.content, ui.dialog() as dialog, theme.box("q-card reason"):
        theme.text(f"A name for run {run.number}", "", "h2")
        name = ui.input("Name", value=run.name).props("outlined dense autofocus")

        def store_name() -> None:
            run.name = (name.value or "").strip()
            dialog.close()
            page.mark_changed()

        name.on("keydown.enter", store_name)
        with theme.box("rowed spread"):
            theme.button("Cancel", dialog.close, "flat")
            theme.button("Use this name", store_name)
    dialog.props["aria-label"] = f"Name of run {run.number}"
    dialog.on("hide", dialog.delete)  # or closed dialogs would stay in the page
    dialog.open()


def draw_stale_note(page: Page, run: Run) -> None:
    """Say that the columns or the goal were changed since a run, if they were."""
    changes = page.workspace.list_changes_since(run)
    if not changes:
        return
    told = "; ".join(changes[:_MOST_CHANGES]) + (
        f"; and {len(changes) - _MOST_CHANGES} more" if len(changes) > _MOST_CHANGES else ""
    )
    with theme.box("note warn stale", role="note"):
        ui.icon("history").props("aria-hidden=true")
        with theme.box("stacked"):
            theme.text(f"This is {run.title.lower()} as it was made. Since then: {told}.")
            with theme.box("rowed"):
                theme.button("Run with what is chosen now", lambda: page.open_step("run"), "outline")
                theme.button(
                    "Take the settings of this run",
                    _make_handler(page, lambda: page.workspace.adopt_settings(run)),
                    "flat",
                )


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
    draw_tables(run)
    if report["warnings"]:
        with ui.expansion(f"{len(report['warnings'])} to know", icon="info").classes("small"):
            for warning in report["warnings"]:
                theme.note(_capitalize_sentence(warning), "warn").style("margin-bottom: 6px")


def draw_tables(run: Run) -> None:
    """What became of each table, where there are several, and what was reached."""
    if not run.recipe.events:
        return
    tables = run.report["tables"]
    head = ("table", "rows", "released", "left out", "people", "people who lost all rows", "detail lost")
    lines = [
        (
            name,
            f"{each['rows']:,}",
            f"{each['released_rows']:,}",
            f"{each['left_out'] + each['dropped_rows']:,}",
            f"{each['people']:,}",
            f"{each['people_left_out']:,}",
            theme.format_percent(each["ncp"]),
        )
        for name, each in tables.items()
    ]
    theme.draw_table(head, lines, "tables")
    theme.text("What was promised, and reached", "small strong").style("margin-top: 16px")
    theme.draw_table(
        ("promised", "reached"),
        [
            (describe_asked(each["name"], each["asked"]), format_achieved(each["achieved"]))
            for each in run.report["models"]
        ],
    )


def released_tile(report: dict[str, Any]) -> tuple[str, str]:
    """How many rows are released, and of how many if that may be told."""
    # None with safepub: how many rows the table has is part of what it protects.
    of = "rows released" if report["rows"] is None else f"of {report['rows']:,} rows released"
    return f"{report['released_rows']:,}", of


def describe_settings(recipe: Recipe) -> str:
    """The settings of a run in a line."""
    parts = [describe_goal(recipe)]
    parts.append(f"algorithm {name_of(ALGORITHMS, recipe.algorithm)}")
    parts.append(f"by {', '.join((*recipe.quasi, *recipe.sets))}")
    if recipe.pseudonym:
        parts.append("rows of a person together")
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
                    f"{run.number} {run.name}".strip(),
                    summarize_models(run.recipe),
                    str(run.report["algorithm"]["name"]),
                    theme.format_percent(run.report["ncp"]),
                    f"{run.report['smallest_class']:,}",
                    theme.format_percent(run.figures["after"]["highest"]) if run.figures else "not counted",
                    str(sum(finding.severity == "high" for finding in run.findings)),
                    f"{run.report['released_rows']:,}",
                    f"{run.report['seconds']['total']:.1f} s",
                )
                for run in done
            ],
            "runs",
        )


def _capitalize_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
