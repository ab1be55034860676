"""Roles of columns as annotations of a class, from which a recipe is made.

The class may be a dataclass, a model of pydantic or pandera, a typed dictionary, or any other.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

from shoal.errors import RecipeError, quote

_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "float",
    Decimal: "float",
    datetime: "datetime",
    date: "date",
    str: "string",
}


@dataclass(frozen=True)
class ColumnRole:
    """What a column is, beside its type, as in ``Annotated[int, Quasi()]``."""

    setting: ClassVar[str] = ""
    """The setting of a recipe that names such columns."""


@dataclass(frozen=True)
class Quasi(ColumnRole):
    """A column that somebody could recognise a person by.

    Parameters
    ----------
    hierarchy
        A `Hierarchy`, or rows of ``(value, level 1, ...)``.
    order
        The values of an ordered column, from first to last.
    weight, top, bottom
        As the settings of those names.
    """

    setting: ClassVar[str] = "quasi"
    hierarchy: Any = None
    order: tuple[str, ...] | None = None
    weight: float | None = None
    top: Any = None
    bottom: Any = None


@dataclass(frozen=True)
class Sensitive(ColumnRole):
    """A column that nobody should learn about a person."""

    setting: ClassVar[str] = "sensitive"


@dataclass(frozen=True)
class Identifier(ColumnRole):
    """A column that names a person, and is left out."""

    setting: ClassVar[str] = "identifier"


@dataclass(frozen=True)
class Plain(ColumnRole):
    """A column that is kept as it is."""

    setting: ClassVar[str] = "plain"


@dataclass(frozen=True)
class Person(ColumnRole):
    """The column that says whose row it is."""

    setting: ClassVar[str] = "person"


@dataclass
class _Found:
    """Settings that annotations say."""

    named: dict[str, list[str]] = field(default_factory=dict)
    mapped: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_annotations(model: Any) -> dict[str, Any]:
    """The settings of a recipe that the annotations of a class say."""
    try:
        hints = get_type_hints(model, include_extras=True)
    except (TypeError, NameError) as error:
        raise RecipeError(f"roles are read from the annotations of a class: {error}") from error
    found = _Found()
    for name, hint in hints.items():
        roles = [_make_role(each) for each in _list_extras(hint) if _is_role(each)]
        if len(roles) > 1:
            raise RecipeError(f"column '{name}' has {len(roles)} roles: give each column one role")
        if roles:
            _add_column(found, name, roles[0], _find_type(hint))
    if not found.named:
        raise RecipeError(
            f"{getattr(model, '__name__', model)} has no roles: write them as in age: Annotated[int, Quasi()]"
        )
    people = found.named.pop("person", [])
    if len(people) > 1:
        raise RecipeError(f"{quote(people)} are several persons: one column says whose row it is")
    named: dict[str, Any] = {setting: tuple(names) for setting, names in found.named.items()}
    return {**named, **found.mapped, **({"person": people[0]} if people else {})}


def _add_column(found: _Found, name: str, role: ColumnRole, type_name: str | None) -> None:
    found.named.setdefault(role.setting, []).append(name)
    if not isinstance(role, Quasi):
        return
    known = {
        "trees": _make_tree(name, role.hierarchy),
        "orders": None if role.order is None else tuple(map(str, role.order)),
        "weights": role.weight,
        "top": None if role.top is None else str(role.top),
        "bottom": None if role.bottom is None else str(role.bottom),
        # An order or a hierarchy says more than a type.
        "types": type_name if role.order is None and role.hierarchy is None else None,
    }
    for setting, value in known.items():
        if value is not None:
            found.mapped.setdefault(setting, {})[name] = value


def _make_tree(name: str, given: Any) -> Any:
    from shoal.table.hierarchies import Hierarchy  # noqa: PLC0415  loads polars, which the help does without

    if given is None or isinstance(given, Hierarchy):
        return given
    return Hierarchy.from_rows(given, source=f"hierarchy of '{name}'")


def _is_role(extra: Any) -> bool:
    return isinstance(extra, ColumnRole) or (isinstance(extra, type) and issubclass(extra, ColumnRole))


def _make_role(extra: Any) -> ColumnRole:
    """The role; ``Quasi`` without parentheses is ``Quasi()``."""
    made: ColumnRole = extra() if isinstance(extra, type) else extra
    return made


def _list_extras(hint: Any) -> list[Any]:
    """What stands beside the type, wherever in it: in ``Series[Annotated[int, Quasi()]]`` as well."""
    inside = [
        extra for each in get_args(hint) if get_origin(each) is not None for extra in _list_extras(each)
    ]
    return (
        [*getattr(hint, "__metadata__", ()), *inside] if get_origin(hint) is Annotated or inside else inside
    )


def _find_type(hint: Any) -> str | None:
    """The type of a column by its annotation; None for one that says nothing."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _find_type(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        options = [each for each in get_args(hint) if each is not type(None)]
        return _find_type(options[0]) if len(options) == 1 else None
    if origin is not None and getattr(origin, "__name__", "") == "Series":
        return _find_type(get_args(hint)[0])
    return _TYPES.get(hint) if isinstance(hint, type) else None


def check_no_overlap(found: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse settings that annotations say already."""
    if twice := [name for name in given if name in found]:
        raise RecipeError(f"{quote(twice)} follow from the annotations: leave them out, or write no class")
