"""The rows before and after, cells tinted by what they lost."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from shoal.studio import theme
from shoal.studio.grid import Grid, shown_columns
from shoal.studio.insight import RecodedRows, Side, source_name
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.support.language import mark
from shoal.support.language import translate as _

_SIDES: dict[Side, str] = {"both": mark("Before → after"), "after": mark("After"), "before": mark("Before")}
_STEPS = (0.05, 0.3, 0.6, 1.0)  # shares of loss in the legend
_ROLES = {
    "quasi": mark("made coarser"),
    "sets": mark("items grouped"),
    "sensitive": mark("sensitive"),
    "plain": mark("as it was"),
}


def draw_rows(page: Page, run: Run) -> None:
    """Draw the table of a run."""
    workspace = page.workspace
    source = workspace.source
    assert source is not None
    left_out = run.report["rows"] - run.report["released_rows"]
    with theme.card(_("Row by row"), _describe_rows(left_out), id="rows"):
        looks = workspace.looks

        @ui.refreshable
        def draw_grid() -> None:
            side, grouped = looks.get("side", "both"), looks.get("grouped", False)
            rows = RecodedRows.from_folder(run.folder).rows
            name = source_name(run.number, side, grouped)
            Grid(
                name,
                rows,
                _build_heads(run, shown_columns(source.table, run)),
                height=min(14, rows) * 30 + 8,  # a row has 30 pixels in grid.js, the frame has 8
                bare=True,
            )

        def set_option(what: str, value: Any) -> None:
            looks[what] = value
            draw_grid.refresh()

        with theme.box("rowed spread").style("margin-bottom: 12px"):
            with theme.box("rowed"):
                toggle = ui.toggle(
                    {side: _(words) for side, words in _SIDES.items()},
                    value=looks.get("side", "both"),
                    on_change=lambda event: set_option("side", event.value),
                )
                toggle.props("no-caps unelevated toggle-color=chosen toggle-text-color=chosen")
                toggle.props["aria-label"] = _("What the cells show")
                toggle.classes("segmented")
                ui.switch(
                    _("Groups together"),
                    value=looks.get("grouped", False),
                    on_change=lambda event: set_option("grouped", event.value),
                )
            _draw_legend()
        draw_grid()


def _describe_rows(left_out: int) -> str:
    told = _(
        "The more a value lost, the stronger its colour. The first column says how many rows look the same."
    )
    return (
        told
        if not left_out
        else _("{told} {left_out:,} rows are left out of the release.", told=told, left_out=left_out)
    )


def _draw_legend() -> None:
    with theme.box("tint-legend", role="img", aria_label=_("From no colour, as it was, to full, anything")):
        theme.text(_("as it was"), "soft small", "span")
        for share in (0.0, *_STEPS):
            # The formula of grid.js, or the legend would show other colours than the cells.
            percent = 8 + 42 * share if share else 0
            tint = f"background: color-mix(in srgb, var(--tint) {percent:.0f}%, transparent)"
            theme.box("tint-step", "span").style(tint)
        theme.text(_("says nothing any more"), "soft small", "span")


def _build_heads(run: Run, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The heads of the columns: what was done with each, and what it lost."""
    heads: list[dict[str, Any]] = [{"name": "alike", "type": _("rows in the group")}]
    for name in names:
        roles = ("quasi", "sensitive", "sets")
        role = next((role for role in roles if name in getattr(run.recipe, role)), "plain")
        lost = run.report["columns"].get(name)
        told = _(_ROLES[role]) if lost is None else _("{share} lost", share=theme.format_percent(lost["ncp"]))
        heads.append({"name": name, "type": told, "role": role})
    return heads
