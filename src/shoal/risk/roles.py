"""The roles of columns, proposed with reasons: by name, by values, and by how they tell rows apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from shoal.risk.patterns import revealed
from shoal.risk.personal import Kind, Role, kind_of
from shoal.risk.subsets import ColumnSet
from shoal.table import ColumnType, Table, as_text, infer_type, ordered_values

SEPARATING = 0.5
"""A column that tells apart more than this share of the pairs of rows may single people out with others."""
_NEARLY_ALL = 0.9  # values over rows, of a column whose values are as good as different
_SOME = 0.2  # of a column that is called a number, to be one of a person
_FEW = 20  # different values of an outcome, and of numbers that are codes
_LONG = 40  # mean length of free text


@dataclass(frozen=True, slots=True)
class ProposedColumn:
    """What a column is taken for, and why."""

    name: str
    type: ColumnType
    role: Role
    why: str
    """In words for whoever has to decide."""
    sure: bool
    """Whether name or values say it; if not, it follows from how the values are distributed."""
    kind: str = ""
    """The kind of personal data; empty if unknown."""
    safe_harbor: str = ""
    """What HIPAA's Safe Harbor list calls that; empty if it is not on the list."""
    values: int = 0
    """Different ones."""
    distinction: float = 0.0
    separation: float = 0.0
    uniqueness: float = 0.0
    state_type: bool = False
    """Whether the type has to be said, because it would be inferred otherwise."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def proposed(table: Table, alone: ColumnSet) -> ProposedColumn:
    """The role of a column, given how it tells rows apart."""
    (name,) = alone.columns
    column = table.column(name)
    distinct = column.drop_nulls().unique(maintain_order=True)
    type = "ordered" if ordered_values(column) else infer_type(distinct).type
    kind = kind_of(name)
    codes = kind is not None and kind.category and type == "integer" and len(distinct) <= _FEW
    role, why, sure, found = _role(alone, distinct, type, kind)
    return ProposedColumn(
        name,
        "string" if codes else type,
        role,
        why,
        sure,
        found.name if found else "",
        found.safe_harbor if found else "",
        len(distinct),
        alone.distinction,
        alone.separation,
        alone.uniqueness,
        state_type=codes,
    )


Decision = tuple[Role, str, bool, Kind | None]


def _role(alone: ColumnSet, distinct: pl.Series, type: ColumnType, kind: Kind | None) -> Decision:
    if len(distinct) < 2:
        nothing = "has no value" if distinct.is_empty() else "has the same value in every row"
        return "plain", f"{nothing}, so it tells nothing about anybody", True, None
    if (seen := revealed(distinct, type)) is not None and (kind is None or kind.role != "identifier"):
        pattern, by_value = seen
        return by_value.role, f"values look like {pattern.what}: {by_value.why}", True, by_value
    if kind is not None and (not kind.generic or _agrees(alone, distinct, type, kind)):
        return kind.role, _by_name(alone, distinct, kind), True, kind
    return _by_values(alone, distinct, type)


def _by_name(alone: ColumnSet, distinct: pl.Series, kind: Kind) -> str:
    text = f"{kind.name}, by its name: {kind.why}"
    if kind.role == "identifier" and alone.uniqueness == 1:
        return f"{text}; a different value in every row"
    if kind.name == "outcome":
        return f"{text}; {len(distinct)} different values"
    if kind.name == "amount of money":
        return f"{text}; if somebody could know it, make it quasi"
    return text


def _agrees(alone: ColumnSet, distinct: pl.Series, type: ColumnType, kind: Kind) -> bool:
    """Whether the values are what a name that says little would make them."""
    if kind.role == "identifier":
        return alone.distinction >= _SOME and type in ("integer", "string")
    return len(distinct) <= _FEW


def _by_values(alone: ColumnSet, distinct: pl.Series, type: ColumnType) -> Decision:
    """What is to be done about a column whose name says nothing."""
    telling = f"alone it tells {alone.separation:.0%} of all pairs of rows apart"
    if type == "string" and _mean_length(distinct) > _LONG:
        return (
            "identifier",
            "long texts, in which people may be named: leave them out or read them",
            False,
            None,
        )
    if type in ("string", "integer") and alone.uniqueness == 1:
        return "identifier", "a different value in every row points at one person", False, None
    if type == "string" and alone.distinction >= _NEARLY_ALL:
        return "identifier", f"{len(distinct):,} different values, nearly one for every row", False, None
    if type == "float":
        return "plain", f"a measured number; {telling}: if somebody could know it, make it quasi", False, None
    if alone.separation >= SEPARATING:
        return (
            "quasi",
            f"name unknown, but {telling}: together with others it may single people out",
            False,
            None,
        )
    return "plain", f"name unknown; {telling}, which is little", False, None


def _mean_length(distinct: pl.Series) -> float:
    return float(as_text(distinct.head(500)).str.len_chars().mean() or 0)  # type: ignore[arg-type]
