"""What Explore shows of a run beyond its report: drawn and counted once, by the process that made the run.

Drawings come back as ``Run.figures["explore"]``. What became of every row is in two files beside the
release: the class of each row, and what each class is released as; so a page of rows is a look into both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.report.charts import (
    MOST_SENSITIVE,
    closeness_chart,
    costliest,
    curve_chart,
    distribution_chart,
    levels_chart,
    sizes_chart,
)
from shoal.report.tallies import ClassSizes, Evidence, closeness, distributions, levels
from shoal.report.words import not_covered, summary
from shoal.run import Release
from shoal.table import Table, as_text
from shoal.table.frames import unpatterned

ROWS, CLASSES = "explored-rows.parquet", "explored-classes.parquet"

Side = Literal["both", "after", "before"]


def explored(release: Release) -> dict[str, Any]:
    """What there is to say and to draw, as texts and plain values."""
    report, evidence = release.report, release.report.evidence
    assert evidence is not None
    names = costliest(report)
    return {
        "summary": summary(report, evidence),
        "limits": not_covered(report, evidence),
        "sizes": {"before": _sizes(evidence.before), "after": _sizes(evidence.after)},
        "classes": sizes_chart(evidence.after),
        "curve": curve_chart(evidence.before, evidence.after),
        "levels": levels_chart(list(levels(evidence, names))),
        "columns": [(each.name, distribution_chart(each)) for each in distributions(evidence, names)],
        "sensitive": [closeness_chart(closeness(evidence, n)) for n in report.sensitive[:MOST_SENSITIVE]],
    }


def _sizes(found: ClassSizes) -> list[list[int]]:
    return [found.size.tolist(), found.classes.tolist()]


def write_rows(release: Release, folder: Path) -> None:
    """Write what became of every row."""
    evidence = release.report.evidence
    assert evidence is not None
    recoding, rows = evidence.recoding, evidence.rows
    of_row = recoding.class_of[recoding.table.of_row]
    kept = np.flatnonzero(of_row >= 0)
    row = kept if rows is None else rows[kept]
    frame = pl.DataFrame({"row": row.astype(np.uint32), "class": of_row[kept].astype(np.uint32)})
    frame.write_parquet(folder / ROWS)
    _classes(evidence).write_parquet(folder / CLASSES)


def _classes(evidence: Evidence) -> pl.DataFrame:
    """For every class its size, and per quasi-identifier the released text and what it lost, from 0 to 1."""
    recoding, recipe = evidence.recoding, evidence.recipe
    native = tuple(evidence.table.frame.schema[name] for name in recipe.quasi)
    texts = recoding.values(native, recipe.render)
    made = {"size": pl.Series(recoding.size.astype(np.uint32))}
    for j, (name, cells) in enumerate(zip(recipe.quasi, evidence.cells(), strict=True)):
        made[f"text {j}"] = as_text(unpatterned(texts[name]))
        made[f"lost {j}"] = pl.Series(cells.width()[cells.of_class].astype(np.float32))
    return pl.DataFrame(made)


@dataclass(frozen=True, slots=True, eq=False)
class Recoded:
    """Every row of a run, before and after."""

    row: NDArray[np.uint32]
    """Where in the table each released row stood."""
    of: NDArray[np.uint32]
    """Its class."""
    classes: pl.DataFrame
    grouped: NDArray[np.int64]
    """The released rows in the order of their classes."""

    @classmethod
    def read(cls, folder: Path) -> Recoded:
        """Read what `write_rows` wrote."""
        return _read(folder)

    @property
    def rows(self) -> int:
        """How many rows are released."""
        return self.row.size

    def part(
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
        columns = [self.classes["size"].gather(of).cast(pl.String)]
        lost = [np.zeros(at.size)]
        for name in shown:
            old = as_text(unpatterned(table.column(name)).gather(row))
            if name in quasi:
                j = quasi.index(name)
                columns.append(_told(old, self.classes[f"text {j}"].gather(of), side))
                lost.append(self.classes[f"lost {j}"].gather(of).to_numpy() * (side != "before"))
            else:
                columns.append(old)
                lost.append(np.zeros(at.size))
        return columns, np.round(np.stack(lost, axis=1).astype(float), 3).tolist()


@lru_cache(maxsize=2)
def _read(folder: Path) -> Recoded:
    rows, classes = pl.read_parquet(folder / ROWS), pl.read_parquet(folder / CLASSES)
    of = rows["class"].to_numpy()
    return Recoded(rows["row"].to_numpy(), of, classes, np.argsort(of, kind="stable"))


def _told(old: pl.Series, new: pl.Series, side: Side) -> pl.Series:
    if side != "both":
        return old if side == "before" else new
    same = old.eq_missing(new)
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
    if kind != "run" or not number.isdecimal() or side not in get_args(Side):
        return None
    return int(number), side, grouped == "grouped"  # type: ignore[return-value]
