"""What became of the columns, of the groups and of the sensitive values, as charts."""

from __future__ import annotations

from nicegui import ui

from shoal.report import svg
from shoal.report.charts import list_sides
from shoal.studio import theme
from shoal.studio.running import Run
from shoal.support.language import translate as _

_AT_ONCE = 4  # charts of columns before somebody asks for more


def draw_columns(run: Run) -> None:
    """How far every column was generalised, and its distribution before and after."""
    found = run.drawn
    with theme.card(
        _("What became of the columns"),
        _("How far values went. At the end of a line: how many values a released one stands for, typically."),
        id="columns",
    ):
        theme.draw_chart(found["levels"])
        heading = _("In the release") if run.released_only else _("Before and after")
        theme.text(heading, "", "h3").style("margin-top: 18px")
        theme.text(
            _(
                "After is what a reader of the release would think, each row spread evenly over "
                "what it may be."
            ),
            "soft small",
        )
        if not run.released_only:
            theme.draw_chart(svg.draw_legend(list_sides()))
        drawn = found["columns"]
        with theme.box("charts"):
            for name, chart in drawn[:_AT_ONCE]:
                _draw_chart(name, chart)
        if len(drawn) > _AT_ONCE:
            _offer_more_charts(drawn[_AT_ONCE:])


def _offer_more_charts(drawn: list[tuple[str, str]]) -> None:
    """The other columns, drawn when somebody asks for them."""
    # Charts of many columns make the page large, so the rest is sent only when asked for.
    charts = theme.box("charts")

    def draw_rest() -> None:
        asking.delete()
        with charts:
            for name, chart in drawn:
                _draw_chart(name, chart)

    names = ", ".join(name for name, _ in drawn)
    asking = theme.button(
        _("Show {count} more", count=len(drawn)), draw_rest, "outline", icon="expand_more"
    ).tooltip(names)


def _draw_chart(name: str, chart: str) -> None:
    with theme.box("", "figure"):
        theme.text(name, "", "h3")
        theme.draw_chart(chart)


def draw_groups(run: Run) -> None:
    """How many rows look the same."""
    found = run.drawn
    with theme.card(
        _("Groups of rows that look the same (equivalence classes)"),
        _("The larger the group, the harder it is to tell whose row is whose."),
        id="groups",
    ):
        theme.text(_("Rows of the release, by the size of their group"), "", "h3")
        theme.draw_chart(found["classes"])
        if run.released_only:
            return
        theme.text(_("Share of the rows that look like so many or fewer"), "", "h3").style("margin-top: 16px")
        theme.draw_chart(svg.draw_legend(list_sides()))
        theme.draw_chart(found["curve"])


def draw_sensitive_values(run: Run) -> None:
    """What a group tells about sensitive values."""
    found = run.drawn["sensitive"]
    if not found:
        return
    with theme.card(
        _("What a group tells about sensitive values"),
        _(
            "Anyone who finds the group of a person learns what its rows have. The nearer that is "
            "to the whole "
            "release, the less is learned: a distance of 0 means alike, 1 as different as can be."
        ),
        id="sensitive",
    ):
        for chart in found:
            theme.draw_chart(chart).classes("sensitive-chart")


def draw_limits(run: Run) -> None:
    """What no goal of this run protects from."""
    with (
        ui.expansion(_("What this does not protect from"), icon="shield").classes("card advanced"),
        theme.box("limits", "ul"),
    ):
        for sentence in run.drawn["limits"]:
            theme.text(sentence, "small", "li")
