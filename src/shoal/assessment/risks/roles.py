"""The roles of columns, proposed with reasons: by name, by values, and by how they tell rows apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from shoal.assessment.risks.patterns import find_pattern
from shoal.assessment.risks.set_columns import find_set_column
from shoal.assessment.risks.subsets import ColumnSet
from shoal.table import ColumnType, Table, infer_type, ordered_values, to_strings
from shoal.table.personal import (
    PERSON_NUMBERS,
    PersonalDataKind,
    Role,
    find_kind,
    may_name_person,
    simplify_name,
)

SEPARATING = 0.5
"""A column that tells apart more than this share of the pairs of rows may single people out with others."""
_NEARLY_ALL = 0.9  # values over rows, of a column whose values are as good as different
_SOME = 0.2  # of a column that is called a number, to be one of a person
_FEW = 20  # distinct values of an outcome, and of numbers that are codes
_MANY = 1000  # distinct values of what is called a number, to be one however often it repeats
_REPEATING = 0.05  # share of the rows that repeat a number, for it to say whose row each is
GROUP = "household or family"
"""The kind of a column that says which group of people a person is in."""
_HOUSEHOLD = re.compile(
    r"(?:household|house hold|hh|family|fam|haushalts?|familien?|foyer|menage|famille|hogar|familia)"
    r" ?(?:id|ids|no|nr|num|number|nummer|key|code|identifier)"
    r"|(?:id|numero|num|no) (?:de |du |d )?(?:la )?(?:foyer|menage|famille|hogar|familia|household|family)"
    r"|householdid|hhid|famid"
)
_LONG = 40  # mean length of free text


@dataclass(frozen=True, slots=True)
class ProposedColumn:
    """What a column is taken for, and why."""

    name: str
    type: ColumnType
    role: Role
    why: str
    """In words, for the person who decides."""
    sure: bool
    """Whether name or values say it; if not, it follows from how the values are distributed."""
    kind: str = ""
    """The kind of personal data; empty if unknown."""
    safe_harbor: str = ""
    """What HIPAA's Safe Harbor list calls that; empty if it is not on the list."""
    values: int = 0
    """Number of distinct ones."""
    distinction: float = 0.0
    separation: float = 0.0
    uniqueness: float = 0.0
    state_type: bool = False
    """Whether the type has to be said, because it would be inferred otherwise."""
    separator: str = ""
    """What seems to separate the items of its cells; empty if it does not look like a column of sets."""
    items: str = ""
    """Why it looks like a column of sets, in words; empty if it does not."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def propose_role(table: Table, alone: ColumnSet) -> ProposedColumn:
    """The role of a column, given how it tells rows apart."""
    (name,) = alone.columns
    column = table.column(name)
    distinct = column.drop_nulls().unique(maintain_order=True)
    type = "ordered" if ordered_values(column) else infer_type(distinct).type
    kind = find_kind(name)
    codes = kind is not None and kind.category and type == "integer" and len(distinct) <= _FEW
    role, why, sure, found = _decide_role(alone, distinct, type, kind)
    sets = find_set_column(distinct) if role != "identifier" or not sure else None
    if name in table.flattened:
        why = f"holds {table.flattened[name]} and not single values, so that it cannot be counted"
        role, sure, found = "identifier", True, None
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
        separator="" if sets is None else sets.separator,
        items="" if sets is None else sets.reason,
    )


Decision = tuple[Role, str, bool, PersonalDataKind | None]


def _decide_role(
    alone: ColumnSet, distinct: pl.Series, type: ColumnType, kind: PersonalDataKind | None
) -> Decision:
    if len(distinct) < 2:
        nothing = "has no value" if distinct.is_empty() else "has the same value in every row"
        return "plain", f"{nothing}, so it tells nothing about anybody", True, None
    if (seen := find_pattern(distinct, type)) is not None and (kind is None or kind.role != "identifier"):
        pattern, by_value = seen
        return by_value.role, f"values look like {pattern.what}: {by_value.why}", True, by_value
    if kind is not None and (not kind.generic or _is_confirmed_by_values(alone, distinct, type, kind)):
        return kind.role, _explain_by_name(alone, distinct, kind), True, kind
    return _decide_by_values(alone, distinct, type)


def _explain_by_name(alone: ColumnSet, distinct: pl.Series, kind: PersonalDataKind) -> str:
    text = f"{kind.name}, by its name: {kind.why}"
    if kind.role == "identifier" and alone.uniqueness == 1:
        return f"{text}; a different value in every row"
    if kind.name == "outcome":
        return f"{text}; {len(distinct)} distinct values"
    if kind.name == "amount of money":
        return f"{text}; if somebody could know it, it is a quasi-identifier"
    return text


def _is_confirmed_by_values(
    alone: ColumnSet, distinct: pl.Series, type: ColumnType, kind: PersonalDataKind
) -> bool:
    """Whether the values are what a name that says little would make them."""
    if kind.role == "identifier":
        # Many values of a number are people or things, also where each has hundreds of rows.
        many = alone.distinction >= _SOME or len(distinct) >= _MANY
        return many and type in ("integer", "string")
    return len(distinct) <= _FEW


def _decide_by_values(alone: ColumnSet, distinct: pl.Series, type: ColumnType) -> Decision:
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
        return "identifier", f"{len(distinct):,} distinct values, nearly one for every row", False, None
    if type == "float":
        return (
            "plain",
            f"a measured number; {telling}: if somebody could know it, it is a quasi-identifier",
            False,
            None,
        )
    if alone.separation >= SEPARATING:
        return (
            "quasi",
            f"name unknown, but {telling}: together with others it may single people out",
            False,
            None,
        )
    return "plain", f"name unknown; {telling}, which is little", False, None


def choose_person(columns: Sequence[ProposedColumn], rows: int) -> tuple[ProposedColumn, ...]:
    """The columns, with the role of a person for the number that repeats and has the most values, if any."""
    repeating = [each for each in columns if _may_be_person(each) and each.values < (1 - _REPEATING) * rows]
    # Where every row has a person's number of its own, nobody has several rows. Where it has some number, one
    # that repeats may be a household's, unless its name says whose it is.
    alone = {each.kind for each in columns if each.kind in PERSON_NUMBERS and each.values == rows}
    if alone:
        repeating = [each for each in repeating if alone == {"number"} and each.kind != "number"]
    # Of several, such as a household and a person, the one with the most values tells the most people apart.
    found = max(repeating, key=lambda each: each.values, default=None)
    return tuple(_make_person(each, rows) if each is found else each for each in columns)


def choose_group(columns: Sequence[ProposedColumn]) -> tuple[ProposedColumn, ...]:
    """The columns, with the number of a household left out, and counted by, where there is a person."""
    people = max((each.values for each in columns if each.role == "person"), default=0)
    named = [each for each in columns if _HOUSEHOLD.fullmatch(simplify_name(each.name))]
    found = next((each for each in named if each.role != "person" and 1 < each.values <= people), None)
    return tuple(_make_group(each) if each is found else each for each in columns)


def _make_group(column: ProposedColumn) -> ProposedColumn:
    why = (
        f"{GROUP}, by its name: {column.values:,} values. A class needs people of several, so they are "
        "counted, and it is left out"
    )
    return replace(column, role="identifier", why=why, sure=True, kind=GROUP)


def _may_be_person(column: ProposedColumn) -> bool:
    return column.role == "identifier" and may_name_person(column.name, column.kind)


def _make_person(column: ProposedColumn, rows: int) -> ProposedColumn:
    why = (
        f"{column.kind}, by its name, and it repeats: {column.values:,} values in {rows:,} rows, so it seems "
        "to say whose row it is. People are counted by it, and it is left out"
    )
    return replace(column, role="person", why=why, sure=column.kind != "number")


def _mean_length(distinct: pl.Series) -> float:
    return float(to_strings(distinct.head(500)).str.len_chars().mean() or 0)  # type: ignore[arg-type]
