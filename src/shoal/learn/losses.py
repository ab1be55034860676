"""What is lost by anonymizing and minimising together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.frequency import rank_rows
from shoal.codespace.recoding import Proposal, Recoding
from shoal.support.arithmetic import weighted_sum
from shoal.table import Table, to_strings


def measure_final_loss(
    recoding: Recoding,
    released: Table,
    minimised: Table,
    sources: Mapping[str, Sequence[str]],
) -> float:
    """NCP of the quasi-identifiers after both steps, from 0 to 1; a deleted row counts as 1.

    Where minimising left a column as it was, a value stands for all that its class had in the table, with
    classes as they are in the end. Where minimising replaced values, a value stands for all that rows with
    that value had. So the loss is never below that of anonymizing alone.

    Parameters
    ----------
    released, minimised : Table
        The rows that are left after each step, in their order.
    sources : mapping
        The columns of a quasi-identifier in the frames, where it is a one-hot group.
    """
    of_row = recoding.class_of[recoding.table.of_row]
    # Minimising maps equal rows to equal rows, so that one row shows what became of its class.
    first = np.unique(of_row[of_row >= 0], return_index=True)[1]
    quasi = [cells.domain.name for cells in recoding.cells]
    columns = [sources.get(name, [name]) for name in quasi]
    every = [name for names in columns for name in names]
    before, after = (
        {name: to_strings(table.column(name).gather(first)) for name in every}
        for table in (released, minimised)
    )
    final = _rank_classes(after, every)
    kept = recoding.class_of >= 0
    lost = 0.0
    for j, names in enumerate(columns):
        is_same = all(before[name].equals(after[name]) for name in names)
        widths = np.maximum(
            _measure_widths(recoding, j),
            _measure_widths(_merge_classes(recoding, final if is_same else _rank_classes(after, names)), j),
        )
        lost += float(weighted_sum(widths[kept], recoding.table.weight[kept]))
    return (lost / len(columns) + recoding.suppressed_rows) / recoding.table.rows


def _rank_classes(shown: Mapping[str, pl.Series], names: Sequence[str]) -> NDArray[np.int32]:
    """[classes] a number for each, the same where all named columns are equal."""
    codes = [shown[name].rank("dense").fill_null(0).to_numpy().astype(np.int64) for name in names]
    return rank_rows(codes, [int(code.max()) + 1 for code in codes])


def _merge_classes(recoding: Recoding, group_of: NDArray[np.int32]) -> Recoding:
    """The tightest cells around groups of classes."""
    # The appended -1 is what index -1 finds: suppressed rows stay suppressed.
    merged = np.append(group_of, -1)[recoding.class_of].astype(np.int32)
    domains = tuple(cells.domain for cells in recoding.cells)
    return Recoding.from_proposal(Proposal(recoding.table, merged), domains)


def _measure_widths(recoding: Recoding, j: int) -> NDArray[np.float64]:
    """[u] width of the cell that each weighted row has in one column."""
    cells = recoding.cells[j]
    return np.asarray(cells.compute_widths()[cells.of_class][recoding.class_of])
