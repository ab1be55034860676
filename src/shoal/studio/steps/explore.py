"""Step 5: what a run cost and what it gives."""

from __future__ import annotations

from shoal.studio import theme
from shoal.studio.exploring import attacks, frontier, risks, rows, shapes
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.studio.steps.run import settings

_SECTIONS = {
    "risk": "Risk",
    "rows": "Rows",
    "columns": "Columns",
    "groups": "Groups",
    "sensitive": "Sensitive values",
    "attacks": "Attacks",
}


def show(page: Page) -> None:
    """Draw the step."""
    run = page.workspace.run()
    assert run is not None
    theme.heading(f"Explore run {run.number}", "What the release costs, and what it gives.")
    frontier.show(page, run, lambda chosen: _open(page, chosen))
    _summary(run)
    risks.show(page, run)
    rows.show(page, run)
    shapes.columns(run)
    shapes.groups(run)
    shapes.sensitive(run)
    attacks.show(page, run)
    shapes.limits(run)
    theme.forward("run", "Take the release", "release", True)


def _open(page: Page, run: Run) -> None:
    page.workspace.shown = run.number
    page.changed()


def _summary(run: Run) -> None:
    report = run.report
    with theme.card(f"Run {run.number} in short"):
        theme.tiles(
            [
                (theme.percent(report["ncp"]), "of the detail lost"),
                (f"{report['smallest_class']:,}", f"rows in the smallest of {report['classes']:,} groups"),
                (f"{report['released_rows']:,}", f"of {report['rows']:,} rows released"),
            ]
        )
        for sentence in run.figures["explore"]["summary"]:
            theme.text(sentence, "summary")
        theme.text(f"Settings: {settings(run.recipe)}.", "soft small")
        with theme.box("sections", "nav", aria_label="Sections of this page"):
            for name, title in _SECTIONS.items():
                if name != "sensitive" or report["sensitive"]:
                    theme.text(title, "section-link", "a", href=f"#{name}")
