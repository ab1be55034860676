"""Step 3: what must hold, in plain words first, and every dial for those who ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

from nicegui import events, ui

from shoal.algorithms import ALGORITHMS
from shoal.errors import ShoalError
from shoal.loss import LOSSES
from shoal.privacy import MODELS
from shoal.recipe import Missing
from shoal.recoding import Render
from shoal.report import svg
from shoal.studio import theme
from shoal.studio.dials import dials, form, words_of
from shoal.studio.page import Page
from shoal.studio.presets import PRESETS, Preset
from shoal.studio.state import Chosen, Goal, Now, Workspace
from shoal.studio.steps.describe import count_now

_SHORT = ("k", "distinct-l", "t")  # models that have a sentence of their own
_SIZES = (2, 3, 5, 11, 20, 50)


def show(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.heading("Choose a goal", "How well should people be hidden? More hiding costs more detail.")
    if workspace.goal.preset:  # the columns may have changed since it was taken
        _take(workspace, PRESETS[workspace.goal.preset])
    presets = ui.refreshable(lambda: _presets(page))
    presets()
    with theme.box("two"):
        _tuned(page)
        has_now = ui.refreshable(lambda: _has_now(workspace))
        with theme.card("What the table has now", "Without any protection, by the columns you marked."):
            has_now()
    _advanced(page)
    verdict = ui.refreshable(lambda: _verdict(page))
    verdict()

    def counted() -> None:
        presets.refresh()
        has_now.refresh()

    def changed() -> None:
        presets.refresh()
        verdict.refresh()

    page.on_counted, page.on_change = counted, changed


def _verdict(page: Page) -> None:
    """Whether this can be run."""
    problem = _problem(page.workspace)
    if problem:
        theme.note(problem, "warn")
    theme.forward("describe", "On to the run", "run", not problem)


def _problem(workspace: Workspace) -> str:
    """What is wrong with the goal; empty if nothing is."""
    try:
        workspace.recipe()
    except ShoalError as error:
        return f"{str(error)[:1].upper()}{str(error)[1:]}"
    return ""


# Presets.


def _take(workspace: Workspace, preset: Preset) -> None:
    models = preset.models(bool(workspace.of_role("sensitive")))
    workspace.goal = replace(workspace.goal, preset=preset.key, models=models)


def _presets(page: Page) -> None:
    now = page.workspace.known_now()
    with theme.box("presets", role="group", aria_label="Goals"):
        for preset in PRESETS.values():
            _preset(page, preset, now if isinstance(now, Now) else None)


def _preset(page: Page, preset: Preset, now: Now | None) -> None:
    chosen = page.workspace.goal.preset == preset.key
    kind = f"preset {'chosen' if chosen else ''}"
    with theme.box(kind, "button", aria_pressed=str(chosen).lower(), data_key=preset.key) as made:
        with theme.box("name", "span"):
            theme.text(preset.name, "", "span")
            if chosen:
                theme.text("✓", "", "span", aria_hidden="true")
        theme.text(preset.words, "words", "span")
        theme.text(preset.why, "why", "span")
        if now is not None:
            theme.text(f"Now {theme.percent(now.below(preset.k))} are in smaller groups", "now", "span")

    def take() -> None:
        _take(page.workspace, preset)
        page.changed()

    made.on("click", take)


# The usual dials, as sentences.


def _tuned(page: Page) -> None:
    workspace = page.workspace
    sensitive = workspace.of_role("sensitive")
    named = " and ".join(sensitive)
    with theme.card("In your own numbers", "The goal that you chose above, to be changed as you like."):
        with theme.box("sentences"):
            _sentence(_number(page, "k", "k"), "people at least look alike in every group")
            if sensitive:
                _sentence(
                    _number(page, "distinct-l", "l"), f"different values of {named} at least in every group"
                )
                far = "away at most from the mix of the whole table: 0 is the same mix, 1 is any"
                _sentence(_number(page, "t", "t"), f"{far}, for {named}")
            _sentence(_suppress(page), "percent of the rows may be left out where they stand in the way")
        if not sensitive:
            theme.text(
                "No column is sensitive, so that nothing is asked of what a group has in common.",
                "soft small",
            )


def _sentence(control: ui.number, words: str) -> None:
    with theme.box("sentence") as line:
        control.move(line)
        control.props["for"] = f"input-{control.id}"
        theme.text(words, "", "label", for_=f"input-{control.id}")


def _number(page: Page, model: str, parameter: str) -> ui.number:
    """An input for the only parameter of a model; empty where the model is not asked for."""
    goal = page.workspace.goal
    value = next((each.values.get(parameter) for each in goal.models if each.name == model), None)
    low, jump = (0, 0.05) if model == "t" else (2, 1)

    def change(event: events.ValueChangeEventArguments[float | None]) -> None:
        number = event.value if model == "t" or event.value is None else int(event.value)
        _set(page, _with(page.workspace.goal, model, parameter, number))

    return ui.number(value=value, min=low, step=jump, placeholder="not asked", on_change=change).props(
        "outlined dense debounce=250"
    )


def _with(goal: Goal, model: str, parameter: str, value: float | None) -> Goal:
    """The goal with a model's parameter set, or without the model."""
    others = [each for each in goal.models if each.name != model]
    made = [] if value is None else [Chosen(model, {parameter: value})]
    place = {name: at for at, name in enumerate(_SHORT)}
    models = sorted([*others, *made], key=lambda each: place.get(each.name, len(place)))
    return replace(goal, models=tuple(models), preset="")


def _suppress(page: Page) -> ui.number:
    def change(event: events.ValueChangeEventArguments[float | None]) -> None:
        _set(page, replace(page.workspace.goal, suppress=(event.value or 0) / 100))

    value = 100 * page.workspace.goal.suppress
    return ui.number(value=value, min=0, max=100, step=1, on_change=change).props(
        "outlined dense debounce=250"
    )


def _set(page: Page, goal: Goal) -> None:
    """Change the goal without drawing everything anew, which would take the cursor away."""
    page.workspace.goal = goal
    page.changed(redraw=False)


# What the table has now.


def _has_now(workspace: Workspace) -> None:
    now = workspace.known_now()
    if now is None:
        theme.text("Counting", "soft", role="status")
        count_now(workspace)
        return
    if isinstance(now, str):
        theme.note(now, "bad")
        return
    found = now.measures
    theme.tiles(
        [
            (f"{found.k:,}", "is the size of the smallest group"),
            (theme.percent(found.uniqueness), "stand alone"),
            (theme.percent(found.average_risk), "are found by somebody who guesses for all"),
        ]
    )
    lines = [svg.Bar(f"under {k}", (now.below(k),), theme.percent(now.below(k))) for k in _SIZES]
    theme.text("People in groups that are smaller than", "small strong")
    theme.drawing(svg.bars("People in small groups", lines, ["before"]))
    for name, each in found.sensitive.items():
        theme.text(f"{name}: {_diversity(each.distinct_l)}.", "small soft")


def _diversity(least: int) -> str:
    return (
        "some group shares one value, so that all of it is known"
        if least == 1
        else f"at least {least} values per group"
    )


# Everything else.


def _advanced(page: Page) -> None:
    with ui.expansion("Advanced: models, algorithm and every parameter", icon="tune").classes(
        "card advanced"
    ) as made:
        made.props("header-class=strong")
        made.value = page.workspace.unfolded
        made.on_value_change(lambda event: setattr(page.workspace, "unfolded", bool(event.value)))
        _models(page)
        ui.separator()
        _algorithm(page)
        ui.separator()
        _rest(page)


def _models(page: Page) -> None:
    workspace = page.workspace
    theme.text("Privacy models", "", "h3")
    theme.text("All of them must hold together.", "soft small")
    known = {"column": workspace.of_role("sensitive")}
    for at, chosen in enumerate(workspace.goal.models):
        with theme.box("dial-card"):
            with theme.box("rowed spread"):
                theme.text(chosen.name, "strong mono")
                theme.button("Remove", _removing(page, at), "flat", icon="close")
            theme.text(words_of(MODELS[chosen.name]), "soft small")
            form(MODELS[chosen.name], chosen.values, _changing(page, at), known)
            if "population" in (dial.name for dial in dials(MODELS[chosen.name])):
                _population(page, at)
    add = ui.select(list(MODELS), label="Add a model", on_change=lambda event: _add(page, event.value))
    add.props("outlined dense options-dense").style("min-width: 240px; max-width: 320px")


def _population(page: Page, at: int) -> None:
    """A place for the table of everybody: a run reads what was uploaded, and no other file."""

    async def uploaded(event: events.UploadEventArguments) -> None:
        path = page.workspace.place(event.file.name)
        await event.file.save(path)
        page.workspace.others[path.name] = path
        _changing(page, at)({**page.workspace.goal.models[at].values, "population": path.name})
        page.changed()

    ui.upload(label="Table of the population", auto_upload=True, max_files=1, on_upload=uploaded).props(
        "flat bordered"
    ).classes("drop")


def _removing(page: Page, at: int) -> Callable[[], None]:
    def remove() -> None:
        goal = page.workspace.goal
        models = tuple(each for i, each in enumerate(goal.models) if i != at)
        page.workspace.goal = replace(goal, models=models, preset="")
        page.changed()

    return remove


def _changing(page: Page, at: int) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        goal = page.workspace.goal
        models = [*goal.models]
        models[at] = replace(models[at], values=values)
        _set(page, replace(goal, models=tuple(models), preset=""))

    return change


def _add(page: Page, name: str | None) -> None:
    if name:
        goal = page.workspace.goal
        page.workspace.goal = replace(goal, models=(*goal.models, Chosen(name)), preset="")
        page.changed()


def _algorithm(page: Page) -> None:
    goal = page.workspace.goal
    theme.text("Algorithm", "", "h3")

    def take(event: events.ValueChangeEventArguments[str]) -> None:
        page.workspace.goal = replace(page.workspace.goal, algorithm=Chosen(event.value))
        page.changed()

    def change(values: dict[str, Any]) -> None:
        _set(page, replace(page.workspace.goal, algorithm=Chosen(goal.algorithm.name, values)))

    made = ui.select(list(ALGORITHMS), label="Algorithm", value=goal.algorithm.name, on_change=take)
    made.props("outlined dense options-dense aria-label=Algorithm").style(
        "min-width: 240px; max-width: 320px"
    )
    theme.text(words_of(ALGORITHMS[goal.algorithm.name]), "soft small")
    form(ALGORITHMS[goal.algorithm.name], goal.algorithm.values, change, {})


def _rest(page: Page) -> None:
    goal = page.workspace.goal
    theme.text("Measure and release", "", "h3")

    def turning(name: str) -> Callable[[events.ValueChangeEventArguments[Any]], None]:
        def turn(event: events.ValueChangeEventArguments[Any]) -> None:
            value: Any = int(event.value or 0) if name == "seed" else event.value
            changed: dict[str, Any] = {name: value}
            _set(page, replace(page.workspace.goal, **changed))

        return turn

    with theme.box("dials"):
        for name, options, label in (
            ("loss", list(LOSSES), "Loss that is kept small"),
            ("missing", list(get_args(Missing)), "A missing value is"),
            ("render", list(get_args(Render)), "Released values are written as"),
        ):
            made = ui.select(options, label=label, value=getattr(goal, name), on_change=turning(name))
            made.props("outlined dense options-dense")
        ui.number("Seed", value=goal.seed, min=0, step=1, on_change=turning("seed")).props("outlined dense")
        ui.switch(
            "Neutralise cells that a spreadsheet would run",
            value=goal.safe_csv,
            on_change=turning("safe_csv"),
        )
    theme.text("How much each column matters", "small strong")
    with theme.box("dials"):
        for name in page.workspace.of_role("quasi"):
            _weight(page, name)


def _weight(page: Page, name: str) -> None:
    def change(event: events.ValueChangeEventArguments[float | None]) -> None:
        page.workspace.choose(name, weight=1.0 if event.value is None else event.value)
        page.changed(redraw=False)

    value = page.workspace.choices[name].weight
    ui.number(name, value=value, step=0.5, on_change=change).props("outlined dense debounce=250")
