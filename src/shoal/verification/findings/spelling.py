"""Sensitive values that differ only in their spelling."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from shoal.privacy import fold_text
from shoal.table import Column, to_strings
from shoal.table.frames import use_safe_name
from shoal.verification.findings.base import Finding, JudgedRelease

_SHOWN = 3


def check_spelling(judged: JudgedRelease) -> Iterator[Finding]:
    """Find sensitive values that a reader takes for one and a count of texts does not."""
    return find_spelling(judged, lambda name: use_safe_name(judged.frame[name]).unique(maintain_order=True))


def find_spelling(judged: JudgedRelease, distinct: Callable[[str], pl.Series]) -> Iterator[Finding]:
    """Find sensitive values that differ in spelling only, among the ``distinct`` ones of each column."""
    for name in judged.sensitive:
        if judged.frame.schema[name] not in (pl.String, pl.Categorical, pl.Enum):
            continue
        # A reader of a file sees no difference between null and an empty string.
        text = to_strings(distinct(name)).fill_null("")
        groups = (
            pl.DataFrame({"text": text, "folded": fold_text(text)})
            .sort("text", maintain_order=True)
            .group_by("folded", maintain_order=True)
            .agg("text")
            .filter(pl.col("text").list.len() > 1)
        )
        if groups.height:
            yield _make_finding(name, groups["text"].to_list(), judged.columns.get(name, Column(name)).fold)


def _make_finding(name: str, groups: list[list[str]], folded: bool) -> Finding:
    surplus = sum(len(texts) - 1 for texts in groups)
    examples = " and ".join(", ".join(repr(text) for text in texts[:4]) for texts in groups[:_SHOWN])
    values = "1 value that differs" if surplus == 1 else f"{surplus} values that differ"
    counted = "they count as one value each" if folded else "they count as distinct values"
    return Finding(
        f"spelling:{name}",
        "low" if folded else "high",
        f"'{name}' has {values} only in spelling from others; {counted}; such as {examples}",
        float(surplus),
        f"spell them alike in the table{'' if folded else f', or count them as one with --fold {name}'}",
        columns=(name,),
    )
