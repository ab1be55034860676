"""Step 3: what must hold, in plain words first; every parameter is in the advanced part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nicegui import events, ui

from shoal.algorithms import ALGORITHMS
from shoal.codespace.loss import LOSSES
from shoal.privacy import MODELS
from shoal.report import svg
from shoal.studio import theme
from shoal.studio.goal_settings import describe_component, draw_form, draw_settings, list_form_fields
from shoal.studio.goal_tradeoff import draw_tradeoff, set_parameter
from shoal.studio.page import Page
from shoal.studio.people import PEOPLE, draw_people, has_people
from shoal.studio.presets import PRESETS, GoalPreset, apply_preset
from shoal.studio.problems import find_goal_problem
from shoal.studio.state import ComponentSettings, CurrentMeasures, GoalSettings, StudioWorkspace
from shoal.studio.steps.describe import count_now
from shoal.studio.teaching import draw_lessons
from shoal.studio.uploader import draw_uploader
from shoal.support.language import format_number, translate_message
from shoal.support.language import translate as _

_SIZES = (2, 3, 5, 11, 20, 50)


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.draw_heading(
        _("Choose a goal"), _("How well should people be hidden? More hiding costs more detail.")
    )
    presets = ui.refreshable(lambda: _draw_presets(page))
    presets()
    with theme.box("two"):
        _draw_usual_settings(page)
        has_now = ui.refreshable(lambda: _draw_current_measures(workspace))
        whose = _(" of the table of people") if workspace.events else ""
        about = _("Without any protection, by the columns{whose} that you marked.", whose=whose)
        with theme.card(_("What the table has now"), about):
            has_now()
    redraw_curve = draw_tradeoff(page)
    if has_people(page):
        draw_people(page)
    _draw_advanced(page)
    draw_lessons(page)
    verdict = ui.refreshable(lambda: _draw_verdict(page))
    verdict()

    # Neither redraws the inputs, which would lose the cursor.
    def redraw_counts() -> None:
        presets.refresh()
        has_now.refresh()
        redraw_curve()
        verdict.refresh()

    def redraw_verdict() -> None:
        presets.refresh()
        redraw_curve()
        verdict.refresh()

    page.on_counted, page.on_change = redraw_counts, redraw_verdict


def _draw_verdict(page: Page) -> None:
    """Whether this can be run."""
    problem = find_goal_problem(page.workspace)
    if problem:
        theme.note(problem, "warn")
    theme.draw_step_buttons("describe", _("On to the run"), "run", not problem)


# Presets.


def _draw_presets(page: Page) -> None:
    now = page.workspace.get_current_measures()
    with theme.box("presets", role="group", aria_label=_("Goals")):
        for preset in PRESETS.values():
            _draw_preset(page, preset, now if isinstance(now, CurrentMeasures) else None)


def _draw_preset(page: Page, preset: GoalPreset, now: CurrentMeasures | None) -> None:
    chosen = page.workspace.goal.preset == preset.key
    kind = f"preset {'chosen' if chosen else ''}"
    with theme.box(kind, "button", aria_pressed=str(chosen).lower(), data_key=preset.key) as made:
        with theme.box("name", "span"):
            theme.text(_(preset.name), "", "span")
            if chosen:
                theme.text("✓", "", "span", aria_hidden="true")
        theme.text(_(preset.words), "words", "span")
        theme.text(_(preset.why), "why", "span")
        if now is not None:
            theme.text(
                _(
                    "Now {share} are in smaller groups",
                    share=theme.format_percent(now.compute_share_below(preset.k)),
                ),
                "now",
                "span",
            )

    def choose_preset() -> None:
        apply_preset(page.workspace, preset)
        page.mark_changed()

    made.on("click", choose_preset)


# The usual dials, as sentences.


def _draw_usual_settings(page: Page) -> None:
    workspace = page.workspace
    sensitive = workspace.of_role("sensitive")
    named = _(" and ").join(sensitive)
    with theme.card(_("In your own numbers"), _("The goal that you chose above, to be changed as you like.")):
        with theme.box("sentences"):
            _draw_sentence(
                _make_number_input(page, "k", "k"),
                _("people at least look alike in every group (k-anonymity)"),
            )
            if sensitive:
                _draw_sentence(
                    _make_number_input(page, "distinct-l", "l"),
                    _("distinct values of {named} at least in every group (l-diversity)", named=named),
                )
                _draw_sentence(
                    _make_number_input(page, "t", "t"),
                    _(
                        "is the farthest that the mix of {named} in a group may be from that of the whole "
                        "table: 0 is the same mix, 1 is any (t-closeness)",
                        named=named,
                    ),
                )
            _draw_sentence(
                _make_suppress_input(page),
                _("percent of the rows may be left out where they stand in the way"),
            )
        _draw_strict_switch(page)
        if not workspace.asks_sensitive:
            why = (
                _("Where single rows or items are known")
                if sensitive
                else _("No column is sensitive, so that")
            )
            theme.text(_("{why} nothing is asked of what a group has in common.", why=why), "soft small")


def _draw_strict_switch(page: Page) -> None:
    """Whether the goal is enough, or what all columns give away together counts as well."""

    def set_strict(event: events.ValueChangeEventArguments[bool | None]) -> None:
        _store_goal(page, replace(page.workspace.goal, strict=bool(event.value)))

    ui.switch(
        _("Release nothing while all columns together give people away"),
        value=page.workspace.goal.strict,
        on_change=set_strict,
    ).tooltip(_("A run then fails if it has a severe finding that nobody accepted"))


def _draw_sentence(control: ui.number, words: str) -> None:
    with theme.box("sentence") as line:
        control.move(line)
        # The words after an input are its label, which screen readers need to be told.
        control.props["for"] = f"input-{control.id}"
        theme.text(words, "", "label", for_=f"input-{control.id}")


def _make_number_input(page: Page, model: str, parameter: str) -> ui.number:
    """An input for the only parameter of a model; empty where the model is not asked for."""
    goal = page.workspace.goal
    value = next((each.values.get(parameter) for each in goal.models if each.name == model), None)
    # t is a distance from 0 to 1. The others are counts, and less than 2 asks for nothing.
    low, jump = (0, 0.05) if model == "t" else (2, 1)

    def set_number(event: events.ValueChangeEventArguments[float | None]) -> None:
        number = event.value if model == "t" or event.value is None else int(event.value)
        _store_goal(page, set_parameter(page.workspace.goal, model, parameter, number))

    return ui.number(value=value, min=low, step=jump, placeholder=_("not asked"), on_change=set_number).props(
        "outlined dense debounce=250"
    )


def _make_suppress_input(page: Page) -> ui.number:
    def set_suppress(event: events.ValueChangeEventArguments[float | None]) -> None:
        _store_goal(page, replace(page.workspace.goal, suppress=(event.value or 0) / 100))

    value = 100 * page.workspace.goal.suppress  # percent on the page, a share in the recipe
    return ui.number(value=value, min=0, max=100, step=1, on_change=set_suppress).props(
        "outlined dense debounce=250"
    )


def _store_goal(page: Page, goal: GoalSettings) -> None:
    """Change the goal without drawing everything anew, which would take the cursor away."""
    page.workspace.goal = goal
    page.mark_changed(redraw=False)


# What the table has now.


def _draw_current_measures(workspace: StudioWorkspace) -> None:
    now = workspace.get_current_measures()
    if now is None:
        theme.text(_("Counting"), "soft", role="status")
        count_now(workspace)
        return
    if isinstance(now, str):
        theme.note(now, "bad")
        return
    found = now.measures
    theme.draw_tiles(
        [
            (format_number(found.k, ","), _("is the size of the smallest group")),
            (theme.format_percent(found.uniqueness), _("stand alone")),
            (theme.format_percent(found.average_risk), _("are found by somebody who guesses for all")),
        ]
    )
    lines = [
        svg.Bar(
            _("under {k}", k=k),
            (now.compute_share_below(k),),
            theme.format_percent(now.compute_share_below(k)),
        )
        for k in _SIZES
    ]
    theme.text(_("People in groups that are smaller than"), "small strong")
    with theme.box("narrow-chart"):
        theme.draw_chart(svg.draw_bars(_("People in small groups"), lines, ["before"]))
    for name, each in found.sensitive.items():
        theme.text(f"{name}: {_describe_diversity(each.distinct_l)}.", "small soft")


def _describe_diversity(least: int) -> str:
    return (
        _("some group shares one value, so that all of it is known")
        if least == 1
        else _("at least {least} values per group", least=least)
    )


# Everything else.


def _draw_advanced(page: Page) -> None:
    with ui.expansion(_("Advanced: models, algorithm and every parameter"), icon="tune").classes(
        "card advanced"
    ) as made:
        made.props("header-class=strong")
        made.value = page.workspace.unfolded  # or every redraw would fold it
        made.on_value_change(lambda event: setattr(page.workspace, "unfolded", bool(event.value)))
        _draw_models(page)
        ui.separator()
        _draw_algorithm(page)
        ui.separator()
        _draw_other_settings(page)


def _draw_models(page: Page) -> None:
    workspace = page.workspace
    theme.text(_("Privacy models"), "", "h3")
    theme.text(_("All of them must hold together."), "soft small")
    known = {"column": workspace.of_role("sensitive")}
    for at, chosen in enumerate(workspace.goal.models):
        with theme.box("dial-card"):
            with theme.box("rowed spread"):
                theme.text(chosen.name, "strong mono")
                theme.button(_("Remove"), _make_remover(page, at), "flat", icon="close")
            theme.text(translate_message(describe_component(MODELS[chosen.name])), "soft small")
            draw_form(MODELS[chosen.name], chosen.values, _make_changer(page, at), known)
            if "population" in (dial.name for dial in list_form_fields(MODELS[chosen.name])):
                _draw_population_upload(page, at)
    add = ui.select(
        list(MODELS), label=_("Add a model"), on_change=lambda event: _add_model(page, event.value)
    )
    add.props("outlined dense options-dense").style("min-width: 240px; max-width: 320px")


def _draw_population_upload(page: Page, at: int) -> None:
    """A place for the table of everybody: a run reads what was uploaded, and no other file."""
    workspace = page.workspace

    async def add_population(path: Path) -> None:
        workspace.add_table(path)
        _make_changer(page, at)({**workspace.goal.models[at].values, "population": path.name})
        page.mark_changed()

    made = draw_uploader(
        workspace, add_population, _("Table of the population"), name=workspace.name_of_other
    )
    made.props("bordered")


def _make_remover(page: Page, at: int) -> Callable[[], None]:
    def remove_model() -> None:
        goal = page.workspace.goal
        models = tuple(each for i, each in enumerate(goal.models) if i != at)
        page.workspace.goal = replace(goal, models=models, preset="")
        page.mark_changed()

    return remove_model


def _make_changer(page: Page, at: int) -> Callable[[dict[str, Any]], None]:
    def change_model(values: dict[str, Any]) -> None:
        goal = page.workspace.goal
        models = [*goal.models]
        models[at] = replace(models[at], values=values)
        _store_goal(page, replace(goal, models=tuple(models), preset=""))

    return change_model


def _add_model(page: Page, name: str | None) -> None:
    if name:
        goal = page.workspace.goal
        page.workspace.goal = replace(goal, models=(*goal.models, ComponentSettings(name)), preset="")
        page.mark_changed()


def _draw_algorithm(page: Page) -> None:
    goal = page.workspace.goal
    theme.text(_("Algorithm"), "", "h3")

    def choose_algorithm(event: events.ValueChangeEventArguments[str]) -> None:
        # Without values: the parameters of another algorithm do not fit.
        page.workspace.goal = replace(page.workspace.goal, algorithm=ComponentSettings(event.value))
        page.mark_changed()

    def change_parameters(values: dict[str, Any]) -> None:
        _store_goal(
            page, replace(page.workspace.goal, algorithm=ComponentSettings(goal.algorithm.name, values))
        )

    made = ui.select(
        list(ALGORITHMS), label=_("Algorithm"), value=goal.algorithm.name, on_change=choose_algorithm
    )
    made.props("outlined dense options-dense").style("min-width: 240px; max-width: 320px")
    theme.text(translate_message(describe_component(ALGORITHMS[goal.algorithm.name])), "soft small")
    draw_form(ALGORITHMS[goal.algorithm.name], goal.algorithm.values, change_parameters, {})


def _list_weight_columns(page: Page) -> list[str]:
    """Columns that can be survey weights: numbers by which nobody is recognised."""
    workspace = page.workspace
    roles = {name: choice.role for name, choice in workspace.choices.items()}
    others = [name for name, role in roles.items() if role not in ("quasi", "identifier", "person", "group")]
    return [name for name in others if workspace.type_of(name) in ("integer", "float")]


def _draw_other_settings(page: Page) -> None:
    goal = page.workspace.goal
    theme.text(_("Measure and release"), "", "h3")

    def change_setting(name: str, value: Any) -> None:
        _store_goal(page, page.workspace.goal.change_form(**{name: value}))

    known = {"loss": list(LOSSES), "weight_column": _list_weight_columns(page)}
    draw_settings(goal.form, change_setting, known, without=PEOPLE)
    theme.text(_("How much each column matters"), "small strong")
    with theme.box("dials"):
        for name in (*page.workspace.of_role("quasi"), *page.workspace.of_role("set")):
            _draw_weight(page, name)


def _draw_weight(page: Page, name: str) -> None:
    def set_weight(event: events.ValueChangeEventArguments[float | None]) -> None:
        page.workspace.change_choice(name, weight=1.0 if event.value is None else event.value)
        page.mark_changed(redraw=False)

    value = page.workspace.choices[name].weight
    ui.number(name, value=value, step=0.5, on_change=set_weight).props("outlined dense debounce=250")
