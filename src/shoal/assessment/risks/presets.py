"""Common demands on a release: what each asks, where it is from, and what it does not promise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.assessment.risks.roles import ProposedColumn
from shoal.table import Table, to_strings
from shoal.table.personal import simplify_name

_OLDEST = 89
_YEARS = (1800, 2200)  # whole numbers in between are years, which may stay
_LARGE_AREA = 3  # digits of a US postcode that may stay


@dataclass(frozen=True, slots=True)
class Preset:
    """A demand, and whether a table meets it."""

    name: str
    asks: str
    holds: bool
    found: str
    source: str
    not_promised: str

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


_SIZES: tuple[tuple[str, int, str, str], ...] = (
    (
        "k = 5",
        5,
        "the usual smallest cell of statistical offices and health registries; K. El Emam, F. K. Dankar, "
        "JAMIA 15(5), 2008",
        "that the rows of a class differ in what is sensitive, nor anything about columns that do not count",
    ),
    (
        "k = 11",
        11,
        "cell size suppression policy of the US Centers for Medicare & Medicaid Services: no cell of 1 to 10",
        "that the rows of a class differ in what is sensitive; the policy is about counts, not about rows",
    ),
    (
        "k = 20",
        20,
        "K. El Emam, Guide to the De-Identification of Personal Health Information, CRC Press 2013: a risk "
        "of 0.05 for public releases",
        "that the rows of a class differ in what is sensitive: a large class hides who, not what all share",
    ),
    (
        # 1/11 is 0.0909, so that a class of 11 is what 0.09 means.
        "EMA / Health Canada 0.09",
        11,
        "European Medicines Agency, External guidance on the implementation of Policy 0070 (2016, revised "
        "since), and Health Canada, Public Release of Clinical Information: guidance document (2019); both "
        "take 0.09 as 1/11",
        "safety by itself: both also ask to assess text and all that is known otherwise, and let the "
        "risk be counted over similar trials instead of the table",
    ),
)


def check_presets(
    table: Table, columns: Sequence[ProposedColumn], size: NDArray[np.integer]
) -> tuple[Preset, ...]:
    """What a table with classes of these sizes meets; ``columns`` are those that would be released."""
    smallest, rows = int(size.min()), int(size.sum())
    return (
        *(
            _check_class_size(name, k, smallest, rows, size, source, lacks)
            for name, k, source, lacks in _SIZES
        ),
        _check_safe_harbor(table, columns),
    )


def _check_class_size(
    name: str, k: int, smallest: int, rows: int, size: NDArray[np.integer], source: str, lacks: str
) -> Preset:
    small = int(size[size < k].sum())
    found = f"the smallest class has {smallest:,}" + (
        f"; {small:,} of {rows:,} rows are in smaller ones" if small else ""
    )
    return Preset(name, f"every class has at least {k} rows", smallest >= k, found, source, lacks)


def _check_safe_harbor(table: Table, columns: Sequence[ProposedColumn]) -> Preset:
    found = [
        f"{column.name} ({column.safe_harbor or 'all elements of dates (except year)'})"
        for column in columns
        if _is_listed(table, column)
    ]
    return Preset(
        "HIPAA Safe Harbor",
        "none of 18 kinds of identifiers is left in the table",
        not found,
        "; ".join(found) or "no such column was found by its name or values",
        "45 CFR 164.514(b)(2)",
        "that no row is unique: it never looks at combinations. Anyone who releases must also know of no way "
        "to identify somebody. Columns were told by name and pattern only, and free text was not read",
    )


def _is_listed(table: Table, column: ProposedColumn) -> bool:
    """Whether a column holds what the list forbids, in the detail that it forbids."""
    if column.kind == "age":
        return _largest_number(table, column.name) > _OLDEST
    if column.kind in ("date or year of birth", "date of an event") or column.type in ("date", "datetime"):
        return not _are_years(table, column)
    if column.kind == "postcode":
        # The list allows three digits; stars that hide the others are not counted.
        texts = to_strings(table.column(column.name)).drop_nulls()
        return bool((texts.str.replace_all(r"\*+$", "").str.len_chars() > _LARGE_AREA).any())
    if column.kind == "place":
        # A state may stay: the list names what is smaller.
        return not re.search(r"\b(?:state|bundesland|canton|kanton)\b", simplify_name(column.name))
    return bool(column.safe_harbor) and column.values > 1


def _largest_number(table: Table, name: str) -> float:
    """The largest number in the texts of a column, as released ranges have two."""
    texts = to_strings(table.column(name).drop_nulls().unique(maintain_order=True))
    numbers = texts.str.extract_all(r"[0-9]+").explode().cast(float, strict=False)
    return float(numbers.max() or 0.0)  # type: ignore[arg-type]


def _are_years(table: Table, column: ProposedColumn) -> bool:
    if column.type != "integer":
        return False
    years = to_strings(table.column(column.name)).cast(int, strict=False)
    return bool(years.is_between(*_YEARS).all())
