"""All runs on one picture: what each loses against what risk it leaves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.risk_plane import Place, draw_choice, draw_risk_plane, place_element
from shoal.studio.running import Run
from shoal.studio.words import summarize_models
from shoal.support.language import translate as _
from shoal.support.sweep import find_pareto_front


def draw_frontier(page: Page, shown: Run, open_run: Callable[[Run], None]) -> None:
    """Draw the runs that are done; choosing one opens it."""
    # Runs of several tables have no risk that could be compared.
    done = [run for run in page.workspace.runs if run.state == "done" and not run.recipe.events]
    with theme.card(
        _("Loss against risk"),
        _(
            "Every point is a run: further down keeps more detail, further left is safer. Choose "
            "one to open it."
        ),
        id="runs",
    ):
        if len(done) < 2:
            with theme.box("rowed spread"):
                theme.text(
                    _(
                        "There is one run so far. Run the goal with other group sizes to see what "
                        "safety costs."
                    ),
                    "small",
                )
                theme.button(
                    _("Try others in Run"), lambda: page.open_step("run"), "outline", icon="play_arrow"
                )
            return
        _draw_chart(done, shown, open_run)


def _draw_chart(done: list[Run], shown: Run, open_run: Callable[[Run], None]) -> None:
    points = [get_risk_and_loss(run) for run in done]

    # Points are buttons, which the keyboard reaches; those that lie on each other would hide each other.
    def draw_points(places: list[Place]) -> None:
        for run, at in zip(done, separate_points(places), strict=True):
            _draw_point(run, at, run is shown, open_run)

    draw_risk_plane(
        _("Loss against risk, one point per run"),
        points,
        find_front(points),
        draw_points,
        [partial(_draw_list_item, run, run is shown, open_run) for run in done],
        role="group",
        aria_label=_("Runs"),
    )
    theme.text(_("The dashed line joins the runs that no other run beats in both."), "soft small")


def _draw_list_item(run: Run, here: bool, open_run: Callable[[Run], None]) -> None:
    risk, lost = get_risk_and_loss(run)
    goal = summarize_models(run.recipe)
    told = _("{lost} lost, risk {risk}", lost=theme.format_percent(lost), risk=theme.format_percent(risk))

    def draw_words() -> None:
        theme.text(f"{run.name}: {goal}" if run.name else goal, "small strong", "span")
        theme.text(told, "small soft", "span")

    key = _("run {number}", number=run.number)
    draw_choice(run.number, here, key, lambda: open_run(run), draw_words)


def _draw_point(run: Run, at: Place, here: bool, open_run: Callable[[Run], None]) -> None:
    risk, lost = get_risk_and_loss(run)
    told = _(
        "{title}: {recipe}; risk {risk}, {lost} of detail lost",
        title=run.title,
        recipe=summarize_models(run.recipe),
        risk=theme.format_percent(risk),
        lost=theme.format_percent(lost),
    )
    made = theme.text(
        str(run.number),
        f"point {'here' if here else ''}",
        "button",
        aria_label=told,
        title=told,
        aria_pressed=str(here).lower(),
    )
    place_element(made, at)
    made.on("click", lambda: open_run(run))


def get_risk_and_loss(run: Run) -> tuple[float, float]:
    """The highest risk of a run, and what it lost."""
    return float(run.figures["after"]["highest"]), float(run.report["ncp"])


def find_front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one beats, from the safest on."""
    # `unbeaten` takes more for better, while less risk and less loss are better here.
    kept = find_pareto_front(-np.array(points, np.float64))
    return sorted({point for point, best in zip(points, kept.tolist(), strict=True) if best})


def separate_points(places: list[tuple[float, float]], gap: float = 0.034) -> list[tuple[float, float]]:
    """Places, those that would cover an earlier one moved to the right."""
    taken: list[tuple[float, float]] = []
    for x, y in places:
        # Places are shares of a drawing that is over twice as wide as high, and points are round.
        while any(abs(x - a) < gap and abs(y - b) < 2 * gap for a, b in taken):
            x += gap  # noqa: PLW2901
        taken.append((x, y))
    return taken
