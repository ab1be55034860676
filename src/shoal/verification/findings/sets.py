"""People who are told apart by their whole sets, where the goal protects from those who know some items."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from shoal.privacy.people import count_people
from shoal.table import to_strings
from shoal.table.frames import use_safe_name
from shoal.verification.findings.base import HIGH, Finding, JudgedRelease, format_percent, list_names
from shoal.verification.outsider import number_rows


def check_whole_sets(judged: JudgedRelease) -> Iterator[Finding]:
    """Find people who have company by the items that an attacker may know, but not by all of them."""
    # Where whole sets may be known, the goal itself says that nobody is alone by them.
    if not judged.sets or judged.knows == "all" or judged.k < 2:
        return
    # As they are written: equal sets that are spelt differently can be told apart, too.
    sets = [to_strings(use_safe_name(judged.frame[name])).fill_null("") for name in judged.sets]
    cells = [use_safe_name(judged.frame[name]) for name in judged.quasi]
    alone = _find_share_of_few([*cells, *sets], judged)
    if alone:
        known = "one item" if judged.knows == "1" else f"{judged.knows} items"
        counted = "rows" if judged.person is None else "people"
        yield Finding(
            "whole-sets",
            "high" if alone > HIGH else "medium",
            f"{format_percent(alone)} of the rows have sets in {list_names(judged.sets)} that fewer than "
            f"{judged.k} {counted} with the same quasi-identifiers have: whoever knows more than {known} of "
            "such a person may find the row, and then sees all items",
            alone,
            "protect from those who know more items, with --knows all or a larger number",
        )


def _find_share_of_few(columns: list[pl.Series], judged: JudgedRelease) -> float:
    """The share of rows of which fewer than k people have an equal one, their own included."""
    number = np.unique(number_rows(columns), return_inverse=True)[1]
    found = np.bincount(number) if judged.person is None else count_people(number, judged.person)
    return float((found[number] < judged.k).mean())
