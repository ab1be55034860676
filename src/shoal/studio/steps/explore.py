"""Step 5: what a run cost and what it gives."""

from __future__ import annotations

from shoal.report.prose import capitalize_sentence
from shoal.studio import theme
from shoal.studio.exploring import analysis, attacks, frontier, risks, rows, shapes
from shoal.studio.findings import build_headline
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.studio.steps.run import describe_settings, draw_stale_note, draw_tables, released_tile
from shoal.support.language import format_number, mark, translate_message
from shoal.support.language import translate as _

_SECTIONS = {
    "risk": mark("Risk"),
    "rows": mark("Rows"),
    "columns": mark("Columns"),
    "groups": mark("Groups"),
    "sensitive": mark("Sensitive values"),
    "analysis": mark("For analysts"),
    "attacks": mark("Attacks"),
}


def draw_step(page: Page) -> None:
    """Draw the step."""
    run = page.workspace.find_run()
    assert run is not None
    theme.draw_heading(
        _("Explore {title}", title=run.title_within), _("What the release costs, and what it gives.")
    )
    draw_stale_note(page, run)
    if run.recipe.events:
        _draw_several_tables(page, run)
        return
    frontier.draw_frontier(page, run, lambda chosen: _open_run(page, chosen))
    _draw_summary(run)
    # Both compare with the original table, of which a run with safepub must not tell.
    if not run.released_only:
        risks.draw_risks(page, run)
        rows.draw_rows(page, run)
    shapes.draw_columns(run)
    shapes.draw_groups(run)
    shapes.draw_sensitive_values(run)
    if not run.released_only:
        analysis.draw_analysis(page, run)
    attacks.draw_attacks(page, run)
    shapes.draw_limits(run)
    theme.draw_step_buttons("run", _("Take the release"), "release", True)


def _draw_several_tables(page: Page, run: Run) -> None:
    """What is known of a release of several tables."""
    report = run.report
    with theme.card(_("{title} in short", title=run.title)):
        _draw_short_figures(run)
        draw_tables(run)
        with theme.box("summaries"):
            for note in report["notes"]:
                theme.text(f"{capitalize_sentence(translate_message(note))}.", "summary")
        theme.text(_("Settings: {recipe}.", recipe=describe_settings(run.recipe)), "soft small")
    with theme.card(_("What is lost, column by column")):
        theme.draw_table(
            (_("column"), _("detail lost")),
            [(name, theme.format_percent(each["ncp"])) for name, each in report["columns"].items()],
            "columns",
        )
    theme.note(
        _(
            "Rows before and after, pictures of risk and simulated attacks are not available for "
            "several tables "
            "in the studio: on the command line, use shoal risk and shoal attack."
        )
    )
    theme.draw_step_buttons("run", _("Take the release"), "release", True)


def _open_run(page: Page, run: Run) -> None:
    page.workspace.shown = run.number
    page.mark_changed()


def _draw_short_figures(run: Run) -> None:
    """What the release gives away, if that is severe, and three figures."""
    report = run.report
    if (told := build_headline(run)).kind == "warn":
        theme.note(_("{text}. Release says what to do about it.", text=told.text), "warn")
    theme.draw_tiles(
        [
            (theme.format_percent(report["ncp"]), _("of the detail lost")),
            (
                format_number(report["smallest_class"], ","),
                _("people in the smallest of {classes:,} groups", classes=report["classes"]),
            ),
            released_tile(report),
        ]
    )


def _draw_summary(run: Run) -> None:
    report = run.report
    with theme.card(_("{title} in short", title=run.title)):
        _draw_short_figures(run)
        with theme.box("summaries"):
            for sentence in run.drawn["summary"]:
                theme.text(sentence, "summary")
        theme.text(_("Settings: {recipe}.", recipe=describe_settings(run.recipe)), "soft small")
        with theme.box("sections", "nav", aria_label=_("Sections of this page")):
            for name, title in _SECTIONS.items():
                drawn = not run.released_only or name not in ("risk", "rows", "analysis")
                if drawn and (name != "sensitive" or report["sensitive"]):
                    theme.text(_(title), "section-link", "a", href=f"#{name}")
