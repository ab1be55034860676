"""Strategies by name: dataclasses whose fields are the parameters, filled from text.

Models, losses and algorithms are frozen dataclasses in plain tables. What the command line, a recipe and
the web form know of them is read off their fields.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from shoal.errors import RecipeError, quote, unknown
from shoal.support.extensions import ExtensionTable

T = TypeVar("T")

_CALL = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_PART = re.compile(r'((?:"[^"]*"|[^,"])*)(?:,|$)')  # up to a comma that is not in quotes
_BYTES = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt])b\s*", re.IGNORECASE)
_UNCLEAR = re.compile(r'[,"]|^\s|\s$')
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_KINDS: dict[type, tuple[type, str]] = {
    bool: (bool, "true or false"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "text"),
}
_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)  # which takes long for what it does
_LISTS = {str: "texts", int: "whole numbers", float: "numbers"}


def byte_count(name: str, text: str) -> int:
    """The number of bytes in a text such as ``2GB`` or ``500 MB``."""
    match = _BYTES.fullmatch(text)
    if match is None or float(match[1]) == 0:
        raise RecipeError(f"{name} is a number with KB, MB, GB or TB, as 2GB, not '{text}'")
    return int(float(match[1]) * 1000 ** ("KMGT".index(match[2].upper()) + 1))


def parse_call(text: str) -> tuple[str, dict[str, str]]:
    """Split ``name(a=1,b=x)`` into its name and parameters; a bare ``name`` has none.

    A value with a comma in it is put in quotes, and a quote inside of those is written twice.
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise RecipeError(f"cannot read '{text}': write name(parameter=value, ...), for example k(k=5)")
    name, inside = match.groups()
    parameters = {}
    for part in filter(str.strip, _split_parts(inside or "", text)):
        key, equals, value = part.partition("=")
        if not equals:
            raise RecipeError(f"cannot read '{part.strip()}' in '{text}': write parameter=value")
        parameters[key.strip()] = _unquote_value(value.strip())
    return name, parameters


def build_entry(what: str, table: Mapping[str, type[T]], name: str, parameters: Mapping[str, Any]) -> T:
    """Make the entry ``name`` of ``table`` with ``parameters``, given as text or as values."""
    if name not in table:
        raise RecipeError(unknown(what, name, table))
    kind = table[name]
    hints = _hints(kind)
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    values = {}
    for key, value in parameters.items():
        if key not in known:
            raise RecipeError(unknown(f"parameter of {what} {name}", key, known))
        # Strings come from the command line and forms, values from recipes and Python.
        values[key] = _convert_value(value, hints[key], f"{key} of {what} {name}")
    required = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]  # type: ignore[arg-type]
    if absent := [key for key in required if key not in values]:
        example = ",".join(f"{key}=..." for key in required)
        raise RecipeError(f"{what} {name} needs {quote(absent)}: write {name}({example})")
    return kind(**values)


def describe_parameters(entry: object) -> dict[str, Any]:
    """The parameters of an entry with their values, leaving out what is None."""
    values = {field.name: getattr(entry, field.name) for field in fields(entry)}  # type: ignore[arg-type]
    return {key: value for key, value in values.items() if value is not None}


def call_text(name: str, entry: object) -> str:
    """Write an entry as ``name(a=1,b=x)``, which `parse_call` reads back."""
    parameters = describe_parameters(entry).items()
    return f"{name}({','.join(f'{key}={_quote_value(str(value))}' for key, value in parameters)})"


def name_of(table: Mapping[str, type[Any]], entry: object) -> str:
    """The name under which the type of ``entry`` stands in ``table``."""
    if isinstance(table, ExtensionTable):
        return table.find_name(type(entry))
    return next(name for name, kind in table.items() if kind is type(entry))


def check_fields(entry: object, hints: Mapping[str, Any] | None = None) -> None:
    """Refuse an entry with a field that is not what its annotation says; for ``__post_init__``.

    Numbers of other libraries become Python's own, and lists of texts or numbers tuples. ``hints`` are the
    annotations where the module of the entry does not have all their names.
    """
    hints = _hints(type(entry)) if hints is None else hints
    for field in fields(entry):  # type: ignore[arg-type]
        value = _check_value(getattr(entry, field.name), hints[field.name], field.name)
        # Entries are frozen dataclasses; this is still their construction.
        object.__setattr__(entry, field.name, value)


def _check_value(value: Any, hint: Any, name: str) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        return None if value is None else _check_value(value, options[0], name)
    if get_origin(hint) is Literal:
        return _convert_value(value, hint, name)
    # Lists become tuples, so that nobody can change an entry after it was checked.
    if get_origin(hint) is tuple and get_args(hint)[0] in _LISTS:
        return _check_list(value, get_args(hint)[0], name)
    if hint in _KINDS:
        kind, wanted = _KINDS[hint]
        # In Python True is an Integral: k=True must not pass as k=1.
        if not isinstance(value, kind) or (isinstance(value, bool) and hint is not bool):
            raise RecipeError(f"{name} must be {wanted}, not {value!r}")
        return hint(value)
    return value


def _check_list(value: Any, hint: Any, name: str) -> tuple[Any, ...]:
    try:
        return tuple(
            _check_value(each, hint, name) for each in ((None,) if isinstance(value, str) else value)
        )
    except (RecipeError, TypeError):
        raise RecipeError(f"{name} must be a list of {_LISTS[hint]}, not {value!r}") from None


def _split_parts(inside: str, text: str) -> list[str]:
    """What stands between the commas."""
    parts = [match for match in _PART.finditer(inside) if match[0]]
    # The pattern passes over what it cannot read, so what it read must be everything.
    if sum(len(match[0]) for match in parts) != len(inside):
        raise RecipeError(f"cannot read '{text}': a quote is not closed")
    return [match[1] for match in parts]


def _quote_value(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if _UNCLEAR.search(value) else value


def _unquote_value(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] == '"'
    return value[1:-1].replace('""', '"') if quoted else value


def _convert_value(value: Any, hint: Any, where: str) -> Any:
    """Turn text into what a field's annotation asks for; values that are not text pass."""
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        return None if value in (None, "", "none") else _convert_value(value, options[0], where)
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise RecipeError(unknown(where, str(value), get_args(hint)))
        return value
    if not isinstance(value, str) or hint is str:
        return value
    if get_origin(hint) is tuple:
        parts = filter(None, map(str.strip, value.split(",")))
        return tuple(_convert_value(part, get_args(hint)[0], where) for part in parts)
    try:
        return _WORDS[value.lower()] if hint is bool else hint(value)
    except (KeyError, ValueError):
        wanted = _KINDS[hint][1] if hint in _KINDS else hint.__name__
        raise RecipeError(f"{where} must be {wanted}, not '{value}'") from None
