"""People who are told apart by their rows together, where pseudonyms keep these together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.verification.findings.base import HIGH, Finding, JudgedRelease, Severity, format_percent


def check_linked_rows(judged: JudgedRelease) -> Iterator[Finding]:
    """Find people who have company by the rows that an attacker may know, but not by all of their rows."""
    # Where all rows may be known, the goal itself says that nobody is alone by them.
    if judged.person is None or judged.knows in ("", "all") or judged.k < 2:
        return
    class_of = judged.cells.number_rows(judged.quasi)
    rows = pl.DataFrame({"person": judged.person, "row": class_of}).sort("person", "row", maintain_order=True)
    people = rows.group_by("person", maintain_order=True).agg(
        pl.len().alias("count"), pl.col("row").cast(pl.String).str.join(" ")
    )
    known = "one row" if judged.knows == "1" else f"{judged.knows} rows"
    alone = _find_share_of_few(people["row"], judged.k)
    if alone:
        yield Finding(
            "linked-rows",
            _rate_severity(alone),
            f"{format_percent(alone)} of the people have released rows that fewer than {judged.k} people "
            f"have all of: whoever knows more than {known} of such a person may find the pseudonym, and then "
            "sees all rows of it",
            alone,
            "protect from those who know more rows, with --knows all or a larger number, or leave out "
            "--pseudonym",
        )
    counted = _find_share_of_few(people["count"], judged.k)
    if counted:
        yield Finding(
            "row-counts",
            _rate_severity(counted),
            f"{format_percent(counted)} of the people have a number of rows that fewer than {judged.k} "
            "people have: whoever knows how many rows a person has may find the pseudonym",
            counted,
            "protect whole histories, with --knows all and as much --suppress as it asks for, or leave out "
            "--pseudonym",
        )


def _find_share_of_few(column: pl.Series, k: int) -> float:
    """The share of people who have something in common with fewer than k people, themselves included."""
    number: NDArray[np.int64] = column.rank("dense").to_numpy().astype(np.int64) - 1
    return float((np.bincount(number)[number] < k).mean())


def _rate_severity(share: float) -> Severity:
    return "high" if share > HIGH else "medium"
