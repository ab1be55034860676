"""A table of any length in the page: only the rows in view are sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from nicegui.element import Element

from shoal.studio.insight import RecodedRows, Side, lists_released_sets, parse_source
from shoal.studio.running import Run
from shoal.studio.state import StudioWorkspace
from shoal.support.language import current_language
from shoal.support.language import translate as _
from shoal.table import Table, to_strings
from shoal.table.frames import use_safe_name

_MOST_ROWS, _LONGEST = 200, 120  # rows of one answer, characters of one cell


class Grid(Element, component="grid.js"):
    """Rows that are fetched as they come into view; cells are always plain text."""

    def __init__(
        self, source: str, rows: int, heads: list[dict[str, Any]], height: int = 420, bare: bool = False
    ) -> None:
        """Show a table.

        Parameters
        ----------
        source : str
            What `fetch_rows` knows the table by.
        rows : int
            How many there are.
        heads : list of dict
            One per column: ``name``, and if known ``type``, ``missing``, ``values``, ``bars``, ``ends``.
        bare : bool
            Whether the heads are low and show no bars.
        """
        super().__init__()
        self._props["source"] = f"rows/{source}"
        self._props["rows"] = rows
        self._props["heads"] = heads
        self._props["height"] = height
        self._props["bare"] = bare
        self._props["locale"] = current_language()
        self._props["words"] = _name_parts()

    def show_heads(self, heads: list[dict[str, Any]]) -> None:
        """Change the heads of the columns."""
        self._props["heads"] = heads
        self.update()


def _name_parts() -> dict[str, str]:
    """The words of the component; the places of numbers are filled by it."""
    return {
        "label": _("Rows of the table; scroll for more"),
        "row": _("row"),
        "missing": _("missing"),
        "manyMissing": _("{0} missing"),
        "values": _("{0} values"),
        "rows": _("{0} rows"),
        "ends": _("from {0} to {1}"),
        "different": _("all different"),
        "place": _("Rows {0} to {1} of {2}"),
        "jump": _("Go to row"),
        "go": _("Go"),
    }


def fetch_rows(workspace: StudioWorkspace, which: str, start: int, count: int) -> dict[str, Any]:
    """Some rows of a table that is open, as texts; None for what is missing."""
    source, of_run = workspace.source, parse_source(which)
    if source is not None and which == "table":
        return slice_frame(source.table.frame, start, count)
    # An unknown number gives the last run that is done, so the number is compared again below.
    run = None if of_run is None else workspace.find_run(of_run[0])
    if source is None or of_run is None or run is None or run.number != of_run[0] or run.state != "done":
        return {"start": 0, "rows": []}
    return _slice_recoded_rows(source.table, run, of_run[1], of_run[2], start, count)


def _slice_recoded_rows(
    table: Table, run: Run, side: Side, grouped: bool, start: int, count: int
) -> dict[str, Any]:
    """Some rows of a run, with how much each cell lost."""
    found = RecodedRows.from_folder(run.folder)
    # A request can ask for anything; what it gets stays inside the table.
    start = min(max(start, 0), max(found.rows - 1, 0))
    end = min(start + min(max(count, 0), _MOST_ROWS), found.rows)
    at = found.grouped[start:end] if grouped else np.arange(start, end)  # among released rows
    shown = shown_columns(table, run)
    columns, tints = found.select_rows(table, (run.recipe.quasi, shown), side, at)
    texts = [column.str.slice(0, _LONGEST).to_list() for column in columns]
    return {"start": start, "rows": [list(row) for row in zip(*texts, strict=True)], "tints": tints}


def shown_columns(table: Table, run: Run) -> tuple[str, ...]:
    """The columns that a run has released, in the order of the table."""
    sets = () if lists_released_sets(run.recipe) else run.recipe.sets
    hidden = (*run.recipe.identifier, run.recipe.person, run.recipe.group, *sets)
    return tuple(name for name in table.names if name not in hidden)


def slice_frame(frame: pl.DataFrame, start: int, count: int) -> dict[str, Any]:
    """Some rows of a frame, long texts cut short."""
    start = min(max(start, 0), max(frame.height - 1, 0))
    part = frame.slice(start, min(max(count, 0), _MOST_ROWS))
    columns = [to_strings(use_safe_name(series)).str.slice(0, _LONGEST).to_list() for series in part]
    return {"start": start, "rows": [list(row) for row in zip(*columns, strict=True)]}
