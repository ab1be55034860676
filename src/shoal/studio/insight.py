"""What Explore shows of a run beyond its report: drawn and counted once, by the process that made the run.

Drawings come back as ``Run.figures["explore"]``. What became of every row is in two files beside the
release: the class of each row, and what each class is released as; so a page of rows is a look into both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.assessment.usefulness import measure_every_loss
from shoal.engines.release import Release
from shoal.recipes.recipe import Recipe
from shoal.recipes.schema import choose_cell_types
from shoal.report.charts import (
    MOST_SENSITIVE,
    closeness_chart,
    curve_chart,
    describe_known_rows,
    distribution_chart,
    find_costliest_columns,
    known_rows_chart,
    levels_chart,
    sizes_chart,
)
from shoal.report.figures import Report
from shoal.report.prose import list_uncovered_risks, summarize_report
from shoal.report.statistics import (
    ClassSizes,
    Evidence,
    estimate_distributions,
    measure_closeness,
    measure_levels,
)
from shoal.support.language import LANGUAGES, speaking
from shoal.table import Table, to_strings
from shoal.table.frames import use_safe_name

ROWS, CLASSES = "explored-rows.parquet", "explored-classes.parquet"

Side = Literal["both", "after", "before"]


def build_explore_figures(release: Release) -> dict[str, Any]:
    """What there is to say and to draw, as texts and plain values."""
    evidence = release.report.evidence
    assert evidence is not None
    sides = {"after": evidence.sizes_after}
    if not evidence.released_only:
        sides["before"] = evidence.sizes_before
    found: dict[str, Any] = {"sizes": {side: _list_class_sizes(sizes) for side, sizes in sides.items()}}
    if not evidence.released_only:
        found["losses"] = measure_every_loss(release)
    # In every language, so that a page can switch between them while the table is long closed.
    for language in LANGUAGES:
        with speaking(language):
            found[language] = _draw_figures(release.report, evidence)
    return found


def _draw_figures(report: Report, evidence: Evidence) -> dict[str, Any]:
    """What has words in it."""
    names = find_costliest_columns(report)
    told = {
        "summary": summarize_report(report, evidence),
        "limits": list_uncovered_risks(report, evidence),
        "sensitive": [],
    }
    # safepub: a chart that compares with the original table would break the promise.
    if evidence.released_only:
        return told | _build_release_figures(evidence, names)
    return {
        **told,
        "classes": sizes_chart(evidence.sizes_after),
        "curve": curve_chart(evidence.sizes_before, evidence.sizes_after),
        "known_rows": _build_known_rows(evidence),
        "levels": levels_chart(list(measure_levels(evidence, names))),
        "columns": [
            (each.name, distribution_chart(each)) for each in estimate_distributions(evidence, names)
        ],
        "sensitive": [
            closeness_chart(measure_closeness(evidence, n)) for n in report.sensitive[:MOST_SENSITIVE]
        ],
    }


def _build_known_rows(evidence: Evidence) -> dict[str, Any] | None:
    """What known rows of a person tell, where people have several."""
    found = evidence.known_rows
    if found is None:
        return None
    return {"words": describe_known_rows(found), "chart": known_rows_chart(found)}


def _build_release_figures(evidence: Evidence, names: list[str]) -> dict[str, Any]:
    """What can be drawn without the table; nothing of a release without rows."""
    rows = evidence.sizes_after.rows
    columns = estimate_distributions(evidence, names) if rows else ()
    return {
        "classes": sizes_chart(evidence.sizes_after) if rows else "",
        "curve": "",
        "levels": levels_chart(list(measure_levels(evidence, names))) if rows else "",
        "columns": [(each.name, distribution_chart(each)) for each in columns],
    }


def _list_class_sizes(found: ClassSizes) -> list[list[int]]:
    return [found.size.tolist(), found.classes.tolist()]


def write_rows(release: Release, folder: Path) -> None:
    """Write what became of every row, unless nobody is to know."""
    evidence = release.report.evidence
    assert evidence is not None
    if evidence.released_only:
        return
    recoding, rows = evidence.recoding, evidence.rows
    # From a row to its distinct row, and from there to its class; -1 is suppressed.
    of_row = recoding.class_of[recoding.table.of_row]
    kept = np.flatnonzero(of_row >= 0)
    # Rows with missing values may have been dropped before, which shifts the positions.
    row = kept if rows is None else rows[kept]
    frame = pl.DataFrame({"row": row.astype(np.uint32), "class": of_row[kept].astype(np.uint32)})
    if lists_released_sets(release.recipe):
        frame = frame.with_columns(
            to_strings(use_safe_name(release.frame[name])).alias(f"set {name}")
            for name in release.recipe.sets
        )
    frame.write_parquet(folder / ROWS)
    _build_class_table(evidence).write_parquet(folder / CLASSES)


def lists_released_sets(recipe: Recipe) -> bool:
    """Whether released sets can be shown beside the original ones: only if both are in the same order."""
    return recipe.row_order == "keep" and recipe.person is None


def _build_class_table(evidence: Evidence) -> pl.DataFrame:
    """For every class its size, and per quasi-identifier the released text and what it lost, from 0 to 1."""
    recoding, recipe = evidence.recoding, evidence.recipe
    native = choose_cell_types(recipe, (evidence.table.frame.schema[name] for name in recipe.quasi))
    texts = recoding.render_classes(native, recipe.render)
    made = {"size": pl.Series(recoding.size.astype(np.uint32))}
    for j, (name, cells) in enumerate(zip(recipe.quasi, evidence.list_released_cells(), strict=True)):
        made[f"text {j}"] = to_strings(use_safe_name(texts[name]))
        made[f"lost {j}"] = pl.Series(cells.compute_widths()[cells.of_class].astype(np.float32))
    return pl.DataFrame(made)


@dataclass(frozen=True, slots=True, eq=False)
class RecodedRows:
    """Every row of a run, before and after."""

    row: NDArray[np.uint32]
    """Where in the table each released row stood."""
    of: NDArray[np.uint32]
    """Its class."""
    classes: pl.DataFrame
    grouped: NDArray[np.int64]
    """The released rows in the order of their classes."""
    sets: Mapping[str, pl.Series] = field(default_factory=dict)
    """The released cells of columns of sets."""

    @classmethod
    def from_folder(cls, folder: Path) -> RecodedRows:
        """Read what `write_rows` wrote."""
        return _read_recoded_rows(folder)

    @property
    def rows(self) -> int:
        """How many rows are released."""
        return self.row.size

    def select_rows(
        self, table: Table, names: tuple[tuple[str, ...], ...], side: Side, at: NDArray[np.integer]
    ) -> tuple[list[pl.Series], list[list[float]]]:
        """Some released rows as columns of texts, and how much each cell lost.

        Parameters
        ----------
        names : tuple of two tuples of str
            The quasi-identifiers, and all columns to be shown, in their order.
        at : array of int
            Which of the released rows.
        """
        quasi, shown = names
        of, row = self.of[at], self.row[at]
        # The first column of the grid is the size of the equivalence class.
        columns = [self.classes["size"].gather(of).cast(pl.String)]
        lost = [np.zeros(at.size)]
        for name in shown:
            old = to_strings(use_safe_name(table.column(name)).gather(row))
            if name in quasi:
                j = quasi.index(name)
                columns.append(_format_change(old, self.classes[f"text {j}"].gather(of), side))
                lost.append(self.classes[f"lost {j}"].gather(of).to_numpy() * (side != "before"))
            elif name in self.sets:
                new = self.sets[name].gather(at)
                columns.append(_format_change(old.fill_null(""), new, side))
                # How much an item lost is not known here, only that a cell is not what it was.
                lost.append((old.fill_null("") != new).to_numpy() * 0.5 * (side != "before"))
            else:
                columns.append(old)
                lost.append(np.zeros(at.size))
        return columns, np.round(np.stack(lost, axis=1).astype(float), 3).tolist()


# The grid asks for rows of the same run at every scroll. Few are kept, since each is as long as
# the table. They cannot be out of date: no two runs share a folder.
@lru_cache(maxsize=2)
def _read_recoded_rows(folder: Path) -> RecodedRows:
    rows, classes = pl.read_parquet(folder / ROWS), pl.read_parquet(folder / CLASSES)
    of = rows["class"].to_numpy()
    # Stable, so that the rows of a class stay in the order of the table.
    sets = {name.removeprefix("set "): rows[name] for name in rows.columns if name.startswith("set ")}
    return RecodedRows(rows["row"].to_numpy(), of, classes, np.argsort(of, kind="stable"), sets)


def _format_change(old: pl.Series, new: pl.Series, side: Side) -> pl.Series:
    if side != "both":
        return old if side == "before" else new
    same = old.eq_missing(new)  # a missing value that stays missing is no change
    moved = old.fill_null("missing") + " → " + new.fill_null("missing")
    return pl.select(pl.when(same).then(old).otherwise(moved)).to_series()


def source_name(number: int, side: Side, grouped: bool) -> str:
    """What the grid knows the rows of a run by."""
    return f"run-{number}-{side}{'-grouped' if grouped else ''}"


def parse_source(name: str) -> tuple[int, Side, bool] | None:
    """Number, side and order of `source_name`; None if it is none."""
    kind, _, rest = name.partition("-")
    number, _, how = rest.partition("-")
    side, _, grouped = how.partition("-")
    # The name is part of an address, so anything can come here.
    if kind != "run" or not number.isdecimal() or side not in get_args(Side):
        return None
    return int(number), side, grouped == "grouped"  # type: ignore[return-value]
