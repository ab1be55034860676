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
from shoal.support.language import format_number, mark, translate_count, translate_message
from shoal.support.language import translate as _
from shoal.support.parameters import name_of

_KINDS = {"running": "", "waiting": "", "done": "good", "failed": "bad", "cancelled": "warn", "saved": ""}
_WORDS = {
    "running": mark("running"),
    "waiting": mark("waiting"),
    "done": mark("✓ done and verified"),
    "failed": mark("failed"),
    "cancelled": mark("cancelled"),
    "saved": mark("from the project"),
}
_PHASES = {
    "waiting": mark("Waiting for the run before it"),
    "starting": mark("Starting"),
    "read": mark("Reading the table"),
    "search": mark("Searching"),
    "recode": mark("Writing the released values"),
    "verify": mark("Checking the release as an outsider would"),
    "write": mark("Writing the files"),
    "report": mark("Drawing the report"),
}
_ITEMS = {"1": mark("one of them"), "2": mark("two"), "3": mark("three"), "all": mark("all")}
_MOST_CHANGES = 4  # that are told of
_LADDER = (3, 5, 10, 20)  # values of k


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.draw_heading(
        _("Run"), _("Shoal searches for a release that meets the goal and loses little, and then checks it.")
    )
    with theme.card(_("What will be run")):
        problem = find_goal_problem(workspace)
        _draw_settings(page, problem)
        with theme.box("rowed").style("margin-top: 14px"):
            start = theme.button(_("Start a run"), lambda: _start_run(page), icon="play_arrow")
            start.set_enabled(not problem)
            theme.button(
                _("Try several group sizes"),
                lambda: _start_several_runs(page),
                "outline",
                icon="stacked_line_chart",
            ).tooltip(
                _("The same goal with groups of at least {str} to compare", str=", ".join(map(str, _LADDER)))
            )
    done = [run for run in workspace.runs if run.state == "done"]
    if len(done) > 1:
        _draw_comparison(done)
    for run in reversed(workspace.runs):
        _draw_run(page, run)
    theme.draw_step_buttons("goal", _("Explore the result"), "explore", bool(done))


def _draw_settings(page: Page, problem: str) -> None:
    """The settings in a line, or what is wrong with them."""
    if problem:
        theme.note(problem, "bad")
        return
    recipe = page.workspace.build_recipe()
    with theme.box("rowed"):
        for model in recipe.models:
            theme.badge(describe_model(model), "good")
        theme.badge(_("algorithm {algorithms}", algorithms=name_of(ALGORITHMS, recipe.algorithm)))
        theme.badge(_("{count} recognisable columns", count=len(recipe.quasi)), "quasi")
        if recipe.trees:
            theme.badge(_("{count} hierarchies", count=len(recipe.trees)))
        for told in _list_unusual_settings(recipe):
            theme.badge(told)


def _list_unusual_settings(recipe: Recipe) -> Iterator[str]:
    """Settings about what all columns give away together, where they are not the usual ones."""
    if recipe.row_order == "released":
        yield _("rows sorted by what is released")
    if recipe.strict:
        yield _("no severe findings")
    if recipe.accept:
        yield _("{count} accepted", count=len(recipe.accept))
    if recipe.identifier:
        yield _("left out: {identifier}", identifier=", ".join(recipe.identifier))
    if recipe.person is not None:
        yield _("people counted by: {person}", person=recipe.person)
    if recipe.events:
        yield _("further tables: {events}", events=", ".join(recipe.events))
    if recipe.group is not None:
        yield _("groups counted by: {group}", group=recipe.group)
    if recipe.sets:
        known = _(_ITEMS.get(recipe.knows, recipe.knows))
        yield _(
            "several values in a cell: {sets}; {known} may be known", sets=", ".join(recipe.sets), known=known
        )
    if recipe.pseudonym:
        known = {"1": _("one row"), "all": _("all rows")}.get(
            recipe.knows, _("{count} rows", count=recipe.knows)
        )
        yield _("rows of a person stay together, and {known} may be known", known=known)
    if recipe.relative is not None:
        yield _("days since the first row: {relative}", relative=recipe.relative)


def _start_run(page: Page) -> None:
    before = len(page.workspace.runs)
    try:
        run = page.workspace.start_run()
    except ShoalError as error:
        ui.notify(translate_message(str(error)), type="negative", multi_line=True)
        return
    if len(page.workspace.runs) == before:
        ui.notify(
            _("{title} has the same settings, and so the same release.", title=run.title), multi_line=True
        )
    page.mark_changed()


def _start_several_runs(page: Page) -> None:
    """Run the goal with several group sizes; each waits for the one before."""
    goal = page.workspace.goal
    try:
        for k in _LADDER:
            others = tuple(each for each in goal.models if each.name != "k")
            page.workspace.start_run(replace(goal, models=(ComponentSettings("k", {"k": k}), *others)))
    except ShoalError as error:
        ui.notify(translate_message(str(error)), type="negative", multi_line=True)
    page.mark_changed()


def _draw_run(page: Page, run: Run) -> None:
    with theme.card(data_run=str(run.number)):
        with theme.box("rowed spread"):
            with theme.box("rowed"):
                theme.text(run.title, "", "h2")
                theme.badge(*_describe_state(run))
                if page.workspace.list_changes_since(run):
                    theme.badge(_("other settings than now"))
            _draw_actions(page, run)
        theme.text(describe_settings(run.recipe), "soft small")
        if run.state in ("running", "waiting"):
            _draw_progress(page, run)
        elif run.refused:  # such a run has failed as well, but for a reason that can be accepted
            _draw_refusal(page, run)
        elif run.state == "failed":
            theme.note(_capitalize_sentence(translate_message(run.error)), "bad").style("margin-top: 10px")
        elif run.state == "done":
            _draw_figures(run)
            _draw_findings(page, run)
        elif run.state == "saved":
            _draw_figures(run)
            theme.text(_("A project has no rows. Make this run again for its release."), "soft small")


def _describe_state(run: Run) -> tuple[str, str]:
    """How a run stands, and how good that is."""
    # No tick beside severe findings that nobody has accepted.
    if run.state == "done" and count_open(run):
        return _("done; see the findings"), "warn"
    return _(_WORDS[run.state]), _KINDS[run.state]


def _draw_refusal(page: Page, run: Run) -> None:
    """Why nothing was released although the goal holds, and what can be done about it."""
    if count_open(run):
        what = _(
            "{text}, and severe findings are not to be released: nothing was written.",
            text=build_headline(run).text,
        )
    else:
        what = _("The findings are accepted by now. Start another run to make the release.")
    theme.note(what, "warn").style("margin: 10px 0")
    show_findings(page, run)


def _draw_findings(page: Page, run: Run) -> None:
    found = run.findings
    if not found:
        return
    told = build_headline(run)
    if told.kind == "warn":
        theme.note(f"{told.text}.", "warn").style("margin-top: 10px")
    count = translate_count("{number} finding", "{number} findings", len(found))
    with ui.expansion(_("{count} about the release as a whole", count=count), icon="visibility") as made:
        made.value = told.kind == "warn"  # unfolded only if something is left to decide
        show_findings(page, run)


def _draw_actions(page: Page, run: Run) -> None:
    with theme.box("rowed"):
        if run.state in ("running", "waiting"):
            theme.button(_("Cancel"), _make_handler(page, run.cancel), "outline", icon="stop")
        else:
            theme.button(
                _("Take these settings"),
                _make_handler(page, lambda: page.workspace.adopt_settings(run)),
                "flat",
            ).tooltip(_("Set the goal and the columns as they were in this run"))
        for label, icon, do in (
            (_("Name"), "edit", lambda: _ask_name(page, run)),
            (_("Delete"), "delete", _make_handler(page, lambda: page.workspace.delete_run(run))),
        ):
            made = theme.button("", do, "flat", icon=icon).tooltip(_("{label} this run", label=label))
            made.props["aria-label"] = made.props["data-key"] = _(
                "{label} run {number}", label=label, number=run.number
            )
        if run.state == "saved":
            theme.button(_("Make it again"), lambda: _repeat_run(page, run), "outline", icon="replay")
        if run.state == "done":
            theme.button(_("Explore"), lambda: _explore_run(page, run), "outline")


def _repeat_run(page: Page, run: Run) -> None:
    try:
        page.workspace.repeat_run(run)
    except ShoalError as error:
        ui.notify(translate_message(str(error)), type="negative", multi_line=True)
    page.mark_changed()


def _ask_name(page: Page, run: Run) -> None:
    """Ask what the user calls a run."""
    # Outside the part that redraws: a change in another tab must not close the dialog.
    with context.client.content, ui.dialog() as dialog, theme.box("q-card reason"):
        theme.text(_("A name for run {number}", number=run.number), "", "h2")
        name = ui.input(_("Name"), value=run.name).props("outlined dense autofocus")

        def store_name() -> None:
            run.name = (name.value or "").strip()
            dialog.close()
            page.mark_changed()

        name.on("keydown.enter", store_name)
        with theme.box("rowed spread"):
            theme.button(_("Cancel"), dialog.close, "flat")
            theme.button(_("Use this name"), store_name)
    dialog.props["aria-label"] = _("Name of run {number}", number=run.number)
    dialog.on("hide", dialog.delete)  # or closed dialogs would stay in the page
    dialog.open()


def draw_stale_note(page: Page, run: Run) -> None:
    """Say that the columns or the goal were changed since a run, if they were."""
    changes = page.workspace.list_changes_since(run)
    if not changes:
        return
    told = "; ".join(changes[:_MOST_CHANGES]) + (
        _("; and {count} more", count=len(changes) - _MOST_CHANGES) if len(changes) > _MOST_CHANGES else ""
    )
    with theme.box("note warn stale", role="note"):
        ui.icon("history").props("aria-hidden=true")
        with theme.box("stacked"):
            theme.text(
                _("This is {title} as it was made. Since then: {told}.", title=run.title_within, told=told)
            )
            with theme.box("rowed"):
                theme.button(_("Run with what is chosen now"), lambda: page.open_step("run"), "outline")
                theme.button(
                    _("Take the settings of this run"),
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
    bar = ui.linear_progress(run.done, show_value=False).props("rounded")
    bar.props["aria-label"] = _("How much is done")

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
    told = _(_PHASES.get(run.doing, _capitalize_sentence(run.doing)))
    best = (
        ""
        if run.best is None
        else _("; the best so far loses {best} of the detail", best=theme.format_percent(run.best))
    )
    passed = f" · {format_number(run.seconds, '.0f')} s" if run.seconds >= 1 else ""
    return f"{told}{best}{passed}"


def _draw_figures(run: Run) -> None:
    report = run.report
    theme.draw_tiles(
        [
            (theme.format_percent(report["ncp"]), _("of the detail lost")),
            (
                format_number(report["smallest_class"], ","),
                _("people in the smallest of {classes:,} groups", classes=report["classes"]),
            ),
            released_tile(report),
            (_("{total:.1f} s", total=report["seconds"]["total"]), _("taken")),
        ]
    )
    draw_tables(run)
    if report["warnings"]:
        with ui.expansion(_("{count} to know", count=len(report["warnings"])), icon="info").classes("small"):
            for warning in report["warnings"]:
                theme.note(_capitalize_sentence(translate_message(warning)), "warn").style(
                    "margin-bottom: 6px"
                )


def draw_tables(run: Run) -> None:
    """What became of each table, where there are several, and what was reached."""
    if not run.recipe.events:
        return
    tables = run.report["tables"]
    head = (
        _("table"),
        _("rows"),
        _("released"),
        _("left out"),
        _("people"),
        _("people who lost all rows"),
        _("detail lost"),
    )
    lines = [
        (
            name,
            format_number(each["rows"], ","),
            format_number(each["released_rows"], ","),
            format_number(each["left_out"] + each["dropped_rows"], ","),
            format_number(each["people"], ","),
            format_number(each["people_left_out"], ","),
            theme.format_percent(each["ncp"]),
        )
        for name, each in tables.items()
    ]
    theme.draw_table(head, lines, "tables")
    theme.text(_("What was promised, and reached"), "small strong").style("margin-top: 16px")
    theme.draw_table(
        (_("promised"), _("reached")),
        [
            (describe_asked(each["name"], each["asked"]), format_achieved(each["achieved"]))
            for each in run.report["models"]
        ],
    )


def released_tile(report: dict[str, Any]) -> tuple[str, str]:
    """How many rows are released, and of how many if that may be told."""
    # None with safepub: how many rows the table has is part of what it protects.
    of = _("rows released") if report["rows"] is None else _("of {rows:,} rows released", rows=report["rows"])
    return format_number(report["released_rows"], ","), of


def describe_settings(recipe: Recipe) -> str:
    """The settings of a run in a line."""
    parts = [describe_goal(recipe)]
    parts.append(_("algorithm {algorithms}", algorithms=name_of(ALGORITHMS, recipe.algorithm)))
    parts.append(_("by {value}", value=", ".join((*recipe.quasi, *recipe.sets))))
    if recipe.pseudonym:
        parts.append(_("rows of a person together"))
    if recipe.row_order == "released":
        parts.append(_("rows sorted by what is released"))
    if recipe.suppress:
        parts.append(
            _("up to {suppress} of the rows left out", suppress=theme.format_percent(recipe.suppress))
        )
    if recipe.trees:
        parts.append(_("hierarchies for {trees}", trees=", ".join(recipe.trees)))
    return "; ".join(parts)


def _draw_comparison(done: list[Run]) -> None:
    with theme.card(_("Side by side"), _("The runs that are done; Explore draws them as loss against risk.")):
        theme.draw_table(
            (
                _("run"),
                _("goal"),
                _("algorithm"),
                _("detail lost"),
                _("smallest group"),
                _("highest risk"),
                _("severe findings"),
                _("rows"),
                _("time"),
            ),
            [
                (
                    f"{run.number} {run.name}".strip(),
                    summarize_models(run.recipe),
                    str(run.report["algorithm"]["name"]),
                    theme.format_percent(run.report["ncp"]),
                    format_number(run.report["smallest_class"], ","),
                    theme.format_percent(run.figures["after"]["highest"])
                    if run.figures
                    else _("not counted"),
                    str(sum(finding.severity == "high" for finding in run.findings)),
                    format_number(run.report["released_rows"], ","),
                    _("{total:.1f} s", total=run.report["seconds"]["total"]),
                )
                for run in done
            ],
            "runs",
        )


def _capitalize_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
