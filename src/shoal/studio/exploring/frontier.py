"""All runs on one picture: what each loses against what risk it leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.report import svg
from shoal.studio import theme
from shoal.studio.page import Page
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
    # The drawing has no points: they are buttons of the page, which the keyboard reaches.
    drawn, places = svg.draw_plane(
        _("Loss against risk, one point per run"),
        points,
        find_front(points),
        _("highest risk that a person is found"),
        _("detail lost"),
    )
    with theme.box("frontier-box"):
        with theme.box("frontier"):
            theme.draw_chart(drawn)
            with theme.box("frontier-points", role="group", aria_label=_("Runs")):
                # Points that lie on each other would hide each other.
                for run, at in zip(done, separate_points(places), strict=True):
                    _draw_point(run, at, run is shown, open_run)
        with theme.box("frontier-list", "ul"):
            for run in done:
                _draw_list_item(run, run is shown, open_run)
    theme.text(_("The dashed line joins the runs that no other run beats in both."), "soft small")


def _draw_list_item(run: Run, here: bool, open_run: Callable[[Run], None]) -> None:
    risk, lost = get_risk_and_loss(run)
    kind = f"run-choice {'here' if here else ''}"
    with theme.box("", "li"), theme.box(kind, "button", aria_pressed=str(here).lower()) as made:
        theme.text(str(run.number), "number", "span")
        with theme.box("", "span"):
            goal = summarize_models(run.recipe)
            theme.text(f"{run.name}: {goal}" if run.name else goal, "small strong", "span")
            told = _(
                "{lost} lost, risk {risk}", lost=theme.format_percent(lost), risk=theme.format_percent(risk)
            )
            theme.text(told, "small soft", "span")
    # By this key the focus is found again after a redraw.
    made.props["data-key"] = _("run {number}", number=run.number)
    made.on("click", lambda: open_run(run))


def _draw_point(run: Run, at: tuple[float, float], here: bool, open_run: Callable[[Run], None]) -> None:
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
    made.style(f"left: {100 * at[0]:.2f}%; top: {100 * at[1]:.2f}%")
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
