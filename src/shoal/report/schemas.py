"""JSON Schemas of what programs read and write: recipes, and what ``--json`` prints.

Keys may be added at any time, so that further ones are allowed in what is printed. In a recipe an unknown
key is an error, and its schema says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from shoal.errors import RecipeError, unknown
from shoal.recipes.recipe import read_setting_types
from shoal.recipes.settings import EDITION, GROUPS, ROLES, DeclaredSetting, list_settings
from shoal.table import ColumnType

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}
ANY: Schema = {}
"""Anything."""


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object that may have further keys."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def _list(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _by_column(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema}


_MODEL = _object({"name": TEXT, "asked": ANY, "achieved": ANY, "holds": FLAG})
_FINDING = _object(
    {
        "id": TEXT,
        "severity": {"enum": ["low", "medium", "high"]},
        "message": TEXT,
        "figure": ANY,
        "remedy": TEXT,
        "accepted": _or_null(TEXT),
    }
)
_MADE_BY = _object({"version": TEXT, "schema": {"const": 1}})
_SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_CHECKSUMS = {"type": "object", "additionalProperties": _or_null(_SHA256)}
_COUNTED = {
    "rows": COUNT,
    "classes": COUNT,
    "smallest_class": COUNT,
    "models": _list(_MODEL),
    "findings": _list(_FINDING),
}


def _describe_report() -> Schema:
    phases = ("read", "search", "recode", "verify", "write", "total")
    of_search = ("optimal", "lower_bound", "solutions", "nodes", "search_space", "bound", "gap")
    return _object(
        {
            **_COUNTED,
            "released_rows": COUNT,
            "suppressed_rows": COUNT,
            "dropped_rows": COUNT,
            "quasi": TEXTS,
            "sensitive": TEXTS,
            "algorithm": _object({"name": TEXT, "parameters": {"type": "object"}}),
            "loss": _object({"name": TEXT, "value": _or_null(NUMBER)}),
            "ncp": SHARE,
            "warnings": TEXTS,
            "warning_codes": _list(_or_null({"type": "string", "pattern": "^W[0-9]{2}$"})),
            "notes": TEXTS,
            "seconds": _object({phase: {"type": "number", "minimum": 0} for phase in phases}),
            **dict.fromkeys((*of_search, "seed", "output"), ANY),
        },
        # The command adds these, and not `Report.to_dict`.
        {"shoal": _MADE_BY, "checksums": _CHECKSUMS, "weighted_loss": NUMBER},
    )


def _describe_risk() -> Schema:
    return _object(
        {
            **dict.fromkeys(("rows", "classes", "smallest_class", "suppressed_rows", "unique_rows"), COUNT),
            "uniqueness": SHARE,
            "quasi": TEXTS,
            "sensitive": TEXTS,
            "class_sizes": _list(_object({"size": COUNT, "classes": COUNT})),
            "prosecutor": _object({"maximum": SHARE, "average": SHARE, "above": _list({"type": "object"})}),
            "journalist": ANY,
            "marketer": SHARE,
            "warnings": TEXTS,
        }
    )


def _describe_error() -> Schema:
    told = _object(
        {
            "code": TEXT,
            "message": TEXT,
            "retry": FLAG,
            "exit_code": {"enum": [1, 2, 3, 4, 130, 143]},
        },
        {"kind": {"enum": ["files", "usage", "goal", "internal"]}, "findings": _list(_FINDING)},
    )
    return _object({"error": told})


_PLAIN: dict[str, Schema] = {"bool": FLAG, "int": WHOLE, "float": NUMBER, "str": TEXT}
# Settings that TOML has in another form than the recipe.
_WRITTEN: dict[str, Schema] = {
    "algorithm": TEXT,
    "parameters": {"type": "object"},
    "models": TEXTS,
    "types": _by_column({"enum": list(get_args(ColumnType))}),
    "orders": _by_column(TEXTS),
    "weights": _by_column(NUMBER),
    "knows": {"anyOf": [{"type": "integer", "minimum": 1}, TEXT]},
    "header": FLAG,
    "na": TEXTS,
    "quasi_line": {"type": "integer", "minimum": 1},
    "suppress": SHARE,
    **dict.fromkeys(("delimiter_in", "encoding", "sheet", "decimal", "query"), TEXT),
}


def _describe_setting(key: str, each: DeclaredSetting) -> Schema:
    if key in _WRITTEN:
        return _WRITTEN[key]
    said = each.annotation.removesuffix(" | None")
    if said.startswith("tuple["):
        return TEXTS
    if said.startswith("Mapping["):
        return _by_column(TEXT)
    if said in _PLAIN:
        return _PLAIN[said]
    options = _list_options(read_setting_types()[each.name])
    return {"enum": options} if options else TEXT


def _list_options(kind: Any) -> list[str]:
    """The texts of a literal, also of one that may be None."""
    found = [each for part in get_args(kind) for each in (_list_options(part) or [part])]
    return [each for each in found if isinstance(each, str)]


def _describe_recipe() -> Schema:
    sections: dict[str, Schema] = {}
    for group in GROUPS:
        keys = {key: _describe_setting(key, each) for each in list_settings(group) for key in each.keys}
        keys.pop("events", None)
        sections[group] = {"type": "object", "properties": keys, "additionalProperties": False}
    events = {key: TEXT if key in ("name", "input") else TEXTS for key in ("name", "input", *ROLES)}
    return {
        "type": "object",
        "properties": {
            "extends": TEXT,
            "shoal": {
                "type": "object",
                "properties": {"recipe": {"type": "integer", "minimum": 1, "maximum": EDITION}},
            },
            **sections,
            "made": {"type": "object"},
            "sets": _by_column(TEXT),
            "trees": {"type": "object"},
            "events": _list({"type": "object", "properties": events, "additionalProperties": False}),
        },
        "additionalProperties": False,
    }


_SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "recipe": ("A recipe, in TOML", _describe_recipe),
    "report": ("What anonymize and run print with --json, and Report.to_dict gives", _describe_report),
    "verification": (
        "What verify prints with --json, and Verification.to_dict gives",
        lambda: _object({"holds": FLAG, **_COUNTED}),
    ),
    "risk": ("What risk prints with --json, and Risk.to_dict gives", _describe_risk),
    "error": ("What every command prints with --json if it fails", _describe_error),
}
SCHEMA_NAMES = tuple(_SCHEMAS)


def describe_json(name: str) -> Schema:
    """The JSON Schema of that name."""
    if name not in _SCHEMAS:
        raise RecipeError(unknown("schema", name, SCHEMA_NAMES))
    title, make = _SCHEMAS[name]
    return {"$schema": _DRAFT, "title": title, **make()}
