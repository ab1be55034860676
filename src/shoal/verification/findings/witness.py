"""Findings on a release whose rows are not in memory: an engine is asked for counts and for small samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import polars as pl

from shoal.verification.findings.base import Finding, JudgedRelease
from shoal.verification.findings.determination import SampledRows, find_determination
from shoal.verification.findings.order import Steps, find_row_order
from shoal.verification.findings.people import find_repeated_identifiers, list_identifiers
from shoal.verification.findings.spelling import find_spelling
from shoal.verification.findings.uniqueness import RowCounter, find_unique_rows


class Witness(Protocol):
    """What an engine tells about a release and the table that it was made from."""

    @property
    def counter(self) -> RowCounter:
        """Counts the rows that are unique in some released columns, as they were written."""
        ...

    @property
    def left_out(self) -> Sequence[str]:
        """Columns of the table that are not released."""
        ...

    @property
    def people(self) -> int | None:
        """How many people the released rows are of, where people are counted."""
        ...

    def sample_rows(self, other: str, hidden: Sequence[str], most: int) -> SampledRows | None:
        """About ``most`` rows by the values of a column; None if it has one value."""
        ...

    def count_repeated(self, name: str, k: int) -> tuple[int, int]:
        """Rows in classes with fewer than ``k`` distinct values of a column, and its distinct values."""
        ...

    def steps_of(self, name: str) -> Steps:
        """How the values of a hidden column change from row to row, as the rows are released."""
        ...

    def list_distinct_values(self, name: str) -> pl.Series:
        """The different released values of a sensitive column."""
        ...


def find_by_witness(judged: JudgedRelease, witness: Witness) -> list[Finding]:
    """All that is found on a release, of which ``judged`` has the roles, and a frame without rows."""
    counter = witness.counter

    names = list_identifiers(judged, witness.left_out)

    def count_repeated(name: str) -> tuple[int, int]:
        return witness.count_repeated(name, judged.k)

    return [
        *find_unique_rows(counter, judged),
        *find_determination(judged, witness.sample_rows),
        *find_repeated_identifiers(judged, names, counter.rows, count_repeated, witness.people),
        *find_row_order(judged, witness.left_out, witness.steps_of),
        *find_spelling(judged, witness.list_distinct_values),
    ]
