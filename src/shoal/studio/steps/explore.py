"""Step 5: what a run cost and what it gives."""

from __future__ import annotations

from shoal.studio import theme
from shoal.studio.exploring import attacks, frontier, risks, rows, shapes
from shoal.studio.findings import build_headline
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.studio.steps.run import describe_settings, released_tile

_SECTIONS = {
    "risk": "Risk",
    "rows": "Rows",
    "columns": "Columns",
    "groups": "Groups",
    "sensitive": "Sensitive values",
    "attacks": "Attacks",
}


def draw_step(page: Page) -> None:
    """Draw the step."""
    run = page.workspace.find_run()
    assert run is not None
    theme.draw_heading(f"Explore run {run.number}", "What the release costs, and what it gives.")
    frontier.draw_frontier(page, run, lambda chosen: _open_run(page, chosen))
    _draw_summary(run)
    # Both compare with the original table, of which a run with safepub must not tell.
    if not run.released_only:
        risks.draw_risks(page, run)
        rows.draw_rows(page, run)
    shapes.draw_columns(run)
    shapes.draw_groups(run)
    shapes.draw_sensitive_values(run)
    attacks.draw_attacks(page, run)
    shapes.draw_limits(run)
    theme.draw_step_buttons("run", "Take the release", "release", True)


def _open_run(page: Page, run: Run) -> None:
    page.workspace.shown = run.number
    page.mark_changed()


def _draw_summary(run: Run) -> None:
    report = run.report
    with theme.card(f"Run {run.number} in short"):
        if (told := build_headline(run)).kind == "warn":
            theme.note(f"{told.text}. Release says what to do about it.", "warn")
        theme.draw_tiles(
            [
                (theme.format_percent(report["ncp"]), "of the detail lost"),
                (f"{report['smallest_class']:,}", f"rows in the smallest of {report['classes']:,} groups"),
                released_tile(report),
            ]
        )
        for sentence in run.figures["explore"]["summary"]:
            theme.text(sentence, "summary")
        theme.text(f"Settings: {describe_settings(run.recipe)}.", "soft small")
        with theme.box("sections", "nav", aria_label="Sections of this page"):
            for name, title in _SECTIONS.items():
                drawn = not run.released_only or name not in ("risk", "rows")
                if drawn and (name != "sensitive" or report["sensitive"]):
                    theme.text(title, "section-link", "a", href=f"#{name}")
