"""The part of the step Goal that shows what safety costs: a curve, and sliders that move along it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from nicegui import events, ui

from shoal.assessment.tradeoffs import SIZES, TradeoffPoint
from shoal.errors import ShoalError
from shoal.report.prose import capitalize_sentence
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.problems import find_goal_problem
from shoal.studio.risk_plane import Place, draw_choice, draw_risk_plane, place_element
from shoal.studio.state import ComponentSettings, GoalSettings
from shoal.studio.tradeoff import Tradeoff, renew_tradeoff
from shoal.support.language import mark
from shoal.support.language import translate as _

_WORDS = mark(
    "Every point is a size of groups: further left is safer, further down keeps more detail. The curve is "
    "rough at first, from a quick search; the exact points follow."
)
_MOST_L = 10
_MOST_LEFT_OUT = 20  # percent


def draw_tradeoff(page: Page) -> Callable[[], object]:
    """Draw the card; gives back what draws it anew after a change."""
    with theme.card(_("What safety costs"), _(_WORDS), id="tradeoff"):
        curve = ui.refreshable(lambda: _draw_curve(page))
        curve()
        with theme.box("sliders"):
            _draw_sliders(page)
    seen = _get_version(page)

    # The losses come in a thread, from which nothing can be drawn.
    def check_for_losses() -> None:
        nonlocal seen
        if seen != (now := _get_version(page)):
            seen = now
            curve.refresh()
            ui.run_javascript("setTimeout(keepFocus, 50)")

    ui.timer(0.3, check_for_losses)
    return curve.refresh


def _get_version(page: Page) -> tuple[int, int]:
    found = page.workspace.tradeoff
    return page.workspace.curves, -1 if found is None else found.version


def _draw_curve(page: Page) -> None:
    if problem := find_goal_problem(page.workspace):
        theme.text(_("There is no curve yet. {problem}", problem=problem), "soft small")
        return
    try:
        found = renew_tradeoff(page.workspace)
    except ShoalError as error:
        theme.text(_("There is no curve for this goal: {error}.", error=error), "soft small")
        return
    points = found.points
    if not points:
        waits = found.state in ("rough", "exact")
        told = (
            _("Counting") if waits else f"{capitalize_sentence(found.error or _('no size can be reached'))}."
        )
        theme.text(told, "soft small", role="status")
        return
    here = _get_chosen_size(page)
    _draw_chart(page, points, here)
    theme.text(_describe_state(found), "soft small", role="status")


def _draw_chart(page: Page, points: list[TradeoffPoint], here: int) -> None:
    found = [(point.risk, point.loss) for point in points]

    def draw_points(places: list[Place]) -> None:
        for point, at in zip(points, places, strict=True):
            kind = f"dot {'exact' if point.exact else ''} {'here' if point.k == here else ''}"
            place_element(theme.box(kind, "span"), at)

    draw_risk_plane(
        _("Loss against risk, one point per size of groups"),
        found,
        sorted(found),
        draw_points,
        [partial(_draw_choice, page, point, point.k == here) for point in points],
        aria_hidden="true",
    )


def _draw_choice(page: Page, point: TradeoffPoint, here: bool) -> None:
    told = _(
        "{about}{loss} lost, risk {risk}",
        about="" if point.exact else _("about "),
        loss=theme.format_percent(point.loss),
        risk=theme.format_percent(point.risk),
    )
    made = draw_choice(
        point.k,
        here,
        _("size {k}", k=point.k),
        lambda: _set_size(page, point.k),
        lambda: theme.text(told, "small", "span", data_size=str(point.k)),
    )
    made.props["aria-label"] = f"k = {point.k}: {told}"


def _describe_state(found: Tradeoff) -> str:
    if found.state == "done":
        return _(
            "All losses are exact: found by the algorithm of this goal on the whole table, and verified."
        )
    known = sum(loss is not None for loss in found.exact.values())
    told = _(
        "{known} of {count} losses are exact; the others are estimated by a quick search.",
        known=known,
        count=len(found.sizes),
    )
    if found.state == "ended":
        return f"{told} {capitalize_sentence(found.error)}." if found.error else told
    return _("{told} The exact ones follow, one by one.", told=told)


# The sliders.


def _get_chosen_size(page: Page) -> int:
    return int(_get_parameter(page.workspace.goal, "k", "k") or 2)


def _get_parameter(goal: GoalSettings, model: str, name: str) -> Any:
    return next((each.values.get(name) for each in goal.models if each.name == model), None)


def set_parameter(goal: GoalSettings, model: str, name: str, value: float | None) -> GoalSettings:
    """The goal with the only parameter of a model set, or without the model."""
    place = {"k": 0, "distinct-l": 1, "t": 2}
    others = [each for each in goal.models if each.name != model]
    made = [] if value is None else [ComponentSettings(model, {name: value})]
    # In a fixed order, whichever was set first: the same goal, the same recipe.
    models = sorted([*others, *made], key=lambda each: place.get(each.name, len(place)))
    return replace(goal, models=tuple(models), preset="")


def _set_size(page: Page, k: int) -> None:
    page.workspace.goal = set_parameter(page.workspace.goal, "k", "k", k)
    page.mark_changed()


def _draw_sliders(page: Page) -> None:
    workspace, goal = page.workspace, page.workspace.goal
    sizes = _list_slider_sizes(page)
    _draw_slider(
        _("Size of groups (k)"),
        (0, len(sizes) - 1, 1),
        sizes.index(_get_chosen_size(page)),
        lambda at: f"k = {sizes[int(at)]}",
        lambda at: _set_size(page, sizes[int(at)]),
    )
    if workspace.asks_sensitive:
        _draw_slider(
            _("Sensitive values in a group (l)"),
            (1, max(_MOST_L, int(_get_parameter(goal, "distinct-l", "l") or 1)), 1),
            _get_parameter(goal, "distinct-l", "l") or 1,
            lambda value: _("not asked") if value < 2 else f"l = {value:g}",
            lambda value: _set_model(page, "distinct-l", "l", int(value) if value >= 2 else None),
        )
        _draw_slider(
            _("Distance of their mix (t)"),
            (0, 1, 0.05),
            1 if (t := _get_parameter(goal, "t", "t")) is None else t,
            lambda value: _("not asked") if value >= 1 else f"t = {value:g}",
            lambda value: _set_model(page, "t", "t", round(value, 2) if value < 1 else None),
        )
    _draw_slider(
        _("Rows left out at most"),
        (0, max(_MOST_LEFT_OUT, round(100 * goal.suppress)), 1),
        100 * goal.suppress,
        lambda value: _("{value:g} %", value=value),
        lambda value: _set_left_out(page, value / 100),
    )


def _list_slider_sizes(page: Page) -> list[int]:
    return sorted({*SIZES, _get_chosen_size(page)})


def _set_model(page: Page, model: str, name: str, value: float | None) -> None:
    page.workspace.goal = set_parameter(page.workspace.goal, model, name, value)
    page.mark_changed()


def _set_left_out(page: Page, share: float) -> None:
    page.workspace.goal = replace(page.workspace.goal, suppress=share)
    page.mark_changed()


def _draw_slider(
    label: str,
    scale: tuple[float, float, float],
    value: float,
    describe: Callable[[float], str],
    choose: Callable[[float], object],
) -> None:
    low, high, step = scale
    with theme.box("slider"):
        with theme.box("rowed spread"):
            theme.text(label, "small", "span")
            told = theme.text(describe(value), "small strong", "span")
        made = ui.slider(min=low, max=high, step=step, value=value)
        made.props["aria-label"] = label
        made.props["data-key"] = label
        _follow_slider(made, told, describe, choose)


def _follow_slider(
    made: ui.slider,
    told: theme.PlainText,
    describe: Callable[[float], str],
    choose: Callable[[float], object],
) -> None:
    # While it is dragged only its own words change; the goal changes when it is let go.
    def show_value(event: events.ValueChangeEventArguments[float | None]) -> None:
        told.text = describe(event.value or 0.0)

    made.on_value_change(show_value)
    made.on("change", lambda: choose(made.value or 0.0))
