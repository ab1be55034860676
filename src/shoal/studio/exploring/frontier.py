"""All runs on one picture: what each loses against what risk it leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.parameters import describe, name_of
from shoal.privacy import MODELS
from shoal.report import svg
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.trials import unbeaten


def show(page: Page, shown: Run, open_run: Callable[[Run], None]) -> None:
    """Draw the runs that are done; choosing one opens it."""
    done = [run for run in page.workspace.runs if run.state == "done"]
    with theme.card(
        "Loss against risk",
        "Every point is a run: further down keeps more detail, further left is safer. Choose one to open it.",
        id="runs",
    ):
        if len(done) < 2:
            with theme.box("rowed spread"):
                theme.text(
                    "There is one run so far. Run the goal with other group sizes to see what safety costs.",
                    "small",
                )
                theme.button("Try others in Run", lambda: page.go("run"), "outline", icon="play_arrow")
            return
        _chart(done, shown, open_run)


def _chart(done: list[Run], shown: Run, open_run: Callable[[Run], None]) -> None:
    points = [place(run) for run in done]
    drawn, places = svg.plane(
        "Loss against risk, one point per run",
        points,
        front(points),
        "highest risk that a person is found",
        "detail lost",
    )
    with theme.box("frontier-box"):
        with theme.box("frontier"):
            theme.drawing(drawn)
            with theme.box("frontier-points", role="group", aria_label="Runs"):
                # Points that lie on each other would hide each other.
                for run, at in zip(done, apart(places), strict=True):
                    _point(run, at, run is shown, open_run)
        with theme.box("frontier-list", "ul"):
            for run in done:
                _line(run, run is shown)
    theme.text("The dashed line joins the runs that no other run beats in both.", "soft small")


def _line(run: Run, here: bool) -> None:
    risk, lost = place(run)
    with theme.box("here" if here else "", "li"):
        theme.text(str(run.number), "number", "span")
        with theme.box(""):
            theme.text(_goal(run), "small strong")
            theme.text(f"{theme.percent(lost)} lost, risk {theme.percent(risk)}", "small soft")


def _goal(run: Run) -> str:
    """What was asked for, in a few signs: the first parameter of every model."""
    found = [next(iter(describe(model).items()), None) for model in run.recipe.models]
    names = [name_of(MODELS, model) for model in run.recipe.models]
    pairs = zip(names, found, strict=True)
    return ", ".join(name if each is None else f"{each[0]} = {each[1]}" for name, each in pairs)


def _point(run: Run, at: tuple[float, float], here: bool, open_run: Callable[[Run], None]) -> None:
    risk, lost = place(run)
    told = f"Run {run.number}: {_goal(run)}; risk {theme.percent(risk)}, {theme.percent(lost)} of detail lost"
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


def place(run: Run) -> tuple[float, float]:
    """The highest risk of a run, and what it lost."""
    return float(run.figures["after"]["highest"]), float(run.report["ncp"])


def front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one beats, from the safest on."""
    kept = unbeaten(-np.array(points, np.float64))
    return sorted({point for point, best in zip(points, kept.tolist(), strict=True) if best})


def apart(places: list[tuple[float, float]], gap: float = 0.034) -> list[tuple[float, float]]:
    """Places, those that would cover an earlier one moved to the right."""
    taken: list[tuple[float, float]] = []
    for x, y in places:
        while any(abs(x - a) < gap and abs(y - b) < 2 * gap for a, b in taken):
            x += gap  # noqa: PLW2901
        taken.append((x, y))
    return taken
