"""The risk of the rows of each stratum of a survey, such as a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.table import Table, to_strings
from shoal.verification.verifier import row_classes


@dataclass(frozen=True, slots=True)
class Stratum:
    """The rows with some values in the columns that make strata."""

    values: tuple[str | None, ...]
    """One for each of these columns; None where it is missing."""
    rows: int
    """Without rows of which every quasi-identifier is suppressed, which do not count in what follows."""
    unique_rows: int
    prosecutor: float
    """Average risk of its rows."""
    journalist: float | None
    """The same where the population is known."""
    highest: float
    """Risk of the row that is easiest to re-identify: the journalist's, where that is known."""
    expected: float
    """How many guesses are right if all its rows are guessed."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        found = asdict(self) | {"values": list(self.values)}
        return found | {"expected_reidentifications": found.pop("expected")}


def measure_strata(
    table: Table,
    names: Sequence[str],
    class_of: NDArray[np.int64],
    shown: NDArray[np.bool_],
    fitting: NDArray[np.int64],
    prosecutor: NDArray[np.float64],
    journalist: NDArray[np.float64] | None,
) -> tuple[Stratum, ...]:
    """The risk of the rows of each stratum, given how many rows fit each class, and the risks of classes."""
    if not names:
        return ()
    stratum_of = row_classes(table, names)
    example = np.unique(stratum_of, return_index=True)[1]
    texts = [to_strings(table.column(name)).gather(example).to_list() for name in names]
    counted = shown[class_of]
    strata, rows = stratum_of[counted], class_of[counted]
    many = np.bincount(strata, minlength=example.size)
    known = prosecutor if journalist is None else journalist

    def average(risk: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(strata, risk[rows], example.size) / np.maximum(many, 1), np.float64)

    highest = np.zeros(example.size)
    np.maximum.at(highest, strata, known[rows])
    alone = np.bincount(strata, fitting[rows] == 1, example.size)
    mine, theirs = average(prosecutor), None if journalist is None else average(journalist)
    found = [
        Stratum(
            tuple(text[at] for text in texts),
            int(many[at]),
            int(alone[at]),
            float(mine[at]),
            None if theirs is None else float(theirs[at]),
            float(highest[at]),
            float((mine if theirs is None else theirs)[at] * many[at]),
        )
        for at in range(example.size)
    ]
    return tuple(sorted(found, key=lambda each: [(value is None, value or "") for value in each.values]))
