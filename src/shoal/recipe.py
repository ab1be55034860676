"""A run is a value: `Recipe` holds everything that a run depends on, and can be written down as TOML."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Literal, get_args

import tomli_w

from shoal.algorithms import ALGORITHMS, Algorithm
from shoal.encoding import CategoryOrder
from shoal.errors import InputError, RecipeError, quote, unknown
from shoal.files import as_utf8, read_small
from shoal.hierarchies import Hierarchy, from_toml, is_ready, to_toml
from shoal.loss import LOSSES
from shoal.parameters import build, byte_count, check, describe, name_of
from shoal.privacy import Model, model_text, parse_model, relocated
from shoal.recoding import Render
from shoal.table import Column, ColumnType, ReadOptions, check_delimiter

_MEGABYTES = 16  # of a recipe, with the hierarchies in it
ROLES = ("quasi", "sensitive", "identifier", "plain")
Missing = Literal["category", "drop", "error"]
Engine = Literal["local", "spark"]
DRIVER_ROWS = 4_000_000


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a run depends on, apart from the table itself."""

    quasi: tuple[str, ...]
    """Columns that someone could recognise a person by."""
    models: tuple[Model, ...]
    """The privacy goal; all of them must hold."""
    sensitive: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()
    """Columns left out of the release."""
    plain: tuple[str, ...] = ()
    """Columns kept as they are; so is any column without a role, but with a warning."""
    input: str | None = None
    output: str | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    missing: Missing = "category"
    """What a missing value is: a value of its own, a reason to drop the row, or an error."""
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    """Types of columns that should not be inferred."""
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Values of ordered columns in their order."""
    hierarchies: tuple[str, ...] = ()
    """Files and folders with hierarchies, and ready-made ones as ``column=@name``."""
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Hierarchies given as values."""
    algorithm: Algorithm = field(default_factory=ALGORITHMS["auto"])
    loss: str = "ncp"
    weights: Mapping[str, float] = field(default_factory=dict)
    """How much each quasi-identifier matters; 1 where it is not named."""
    category_order: CategoryOrder | None = None
    """The order of flat categories; what the algorithm is made for where None."""
    suppress: float = 0.0
    """Largest share of rows that may be suppressed."""
    render: Render = "label"
    delimiter: str | None = None
    """Delimiter of the release; the input's where None."""
    safe_csv: bool = False
    """Whether cells that a spreadsheet would run as a formula are neutralised."""
    seed: int = 0
    threads: int = 0
    """Number of threads, 0 for one per core; the result does not depend on it."""
    memory: str | None = None
    """Memory to get along with, as ``2GB``: rows then stay on disk. Without a limit where None."""
    engine: Engine = "local"
    """Whether one machine carries it out, or a Spark cluster."""
    master: str | None = None
    """The cluster, as ``spark://host:7077``; this machine's cores where None."""
    driver_rows: int = DRIVER_ROWS
    """With Spark: the most different rows that the driver, or one executor, searches at once."""

    def __post_init__(self) -> None:
        check(self)
        if not self.quasi:
            raise RecipeError(
                "no quasi-identifiers: name the columns that someone could recognise a person by"
            )
        if not self.models:
            raise RecipeError("no privacy goal: say what must hold, for example k = 5")
        self._check_roles()
        self._check_columns()
        self._check_numbers()
        if self.loss not in LOSSES:
            raise RecipeError(unknown("loss", self.loss, LOSSES))
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", check_delimiter(self.delimiter))

    def _check_numbers(self) -> None:
        if not 0 <= self.suppress <= 1:
            raise RecipeError(f"suppress is a share of the rows, from 0 to 1, not {self.suppress}")
        if self.memory is not None:
            byte_count("memory", self.memory)
        if self.driver_rows < 1:
            raise RecipeError(f"driver_rows must be 1 or more, not {self.driver_rows}")
        if self.master is not None and self.engine != "spark":
            raise RecipeError("a master is the address of a Spark cluster: it goes with engine 'spark'")
        if self.memory is not None and self.engine == "spark":
            raise RecipeError("a memory limit is for one machine: leave it out, or take engine 'local'")
        for name in ("seed", "threads"):
            if getattr(self, name) < 0:
                raise RecipeError(f"{name} must be 0 or more, not {getattr(self, name)}")

    def _check_columns(self) -> None:
        for column, type in self.types.items():
            if type not in get_args(ColumnType):
                raise RecipeError(f"column '{column}': {unknown('type', str(type), get_args(ColumnType))}")
        for column, weight in self.weights.items():
            if not isinstance(weight, Real) or not isfinite(weight):
                raise RecipeError(f"the weight of '{column}' must be a finite number, not {weight!r}")
        # A sensitive column may have a hierarchy too: some models measure distances in it.
        kept = (*self.quasi, *self.sensitive)
        for what, named, among in (("weight", self.weights, self.quasi), ("hierarchy", self.trees, kept)):
            if strange := [column for column in named if column not in among]:
                raise RecipeError(f"a {what} is given for {quote(strange)}: not among {quote(among)}")

    def _check_roles(self) -> None:
        seen: dict[str, str] = {}
        for role in ROLES:
            for column in getattr(self, role):
                if column in seen:
                    twice = "twice" if seen[column] == role else f"both {seen[column]} and {role}"
                    raise RecipeError(f"column '{column}' is named {twice}: give each column one role")
                seen[column] = role

    def columns(self, trees: Mapping[str, Hierarchy]) -> dict[str, Column]:
        """What it knows of quasi-identifiers and sensitive columns, with the hierarchies that were read."""
        return {
            name: Column(name, self.types.get(name), self.orders.get(name), trees.get(name), self.reading.na)
            for name in (*self.quasi, *self.sensitive)
        }

    @classmethod
    def from_toml(cls, source: str | Path) -> Recipe:
        """Read a recipe from a file; paths in it are relative to its folder."""
        path = Path(source)
        try:
            text = as_utf8(path, read_small(path, _MEGABYTES))
        except OSError as error:
            raise InputError(f"{path}: cannot read the recipe: {error.strerror}") from error
        except InputError as error:
            raise RecipeError(f"not a recipe: {error}") from None
        return cls.from_text(text, path)

    @classmethod
    def from_text(cls, text: str, path: Path) -> Recipe:
        """Read a recipe from TOML that stands in the file ``path``, whose folder paths in it start from."""
        try:
            return cls.from_dict(tomllib.loads(text), path.parent)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise RecipeError(f"{path}: not a recipe: {error}") from error
        except InputError as error:
            raise RecipeError(f"{path}: {error}") from error

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], folder: Path) -> Recipe:
        """The recipe of which `to_dict` made ``content``; paths in it are relative to ``folder``."""
        return _from_sections(content, folder)

    def to_toml(self, folder: str | Path | None = None) -> str:
        """The recipe as TOML text; paths relative to ``folder``, or as they are."""
        return tomli_w.dumps(self.to_dict(folder))

    def to_dict(self, folder: str | Path | None = None) -> dict[str, Any]:
        """The recipe as nested tables of plain values."""
        sections = {section: {} for section in _SECTIONS}  # type: dict[str, dict[str, Any]]
        for section, names in _SECTIONS.items():
            for name in names:
                value = _to_plain(self, name, folder)
                if value not in (None, "", (), [], {}):
                    sections[section][name] = value
        trees = {column: to_toml(tree) for column, tree in self.trees.items()}
        return {**{k: v for k, v in sections.items() if v}, **({"trees": trees} if trees else {})}


_SECTIONS: dict[str, tuple[str, ...]] = {
    "table": ("input", "delimiter_in", "encoding", "header", "na", "missing"),
    "columns": (*ROLES, "types", "orders", "hierarchies"),
    "goal": ("models", "suppress"),
    "search": (
        "algorithm",
        "parameters",
        "loss",
        "weights",
        "category_order",
        "seed",
        "threads",
        "memory",
        "engine",
        "master",
        "driver_rows",
    ),
    "release": ("output", "render", "delimiter", "safe_csv"),
}
_KINDS: dict[tuple[type, str], tuple[str, ...]] = {
    (list, "a list of texts"): (*ROLES, "hierarchies", "models", "na"),
    (dict, "a table"): ("types", "orders", "weights", "parameters"),
    (str, "text"): ("input", "output", "algorithm", "delimiter_in", "encoding", "memory", "master"),
    (bool, "true or false"): ("header",),
}
_READING = {"delimiter_in": "delimiter", "encoding": "encoding", "header": "header", "na": "na"}
_PATHS = ("input", "output")
_DEFAULTS = {f.name: f.default for f in fields(Recipe)} | {
    "delimiter_in": None,
    "encoding": None,
    "header": True,
    "na": (),
}


def _to_plain(recipe: Recipe, name: str, folder: str | Path | None) -> Any:
    """One setting as TOML holds it; None where it is the default."""
    written: dict[str, Callable[[], Any]] = {
        "models": lambda: [
            model_text(relocated(model, lambda path: _relative(path, folder))) for model in recipe.models
        ],
        "algorithm": lambda: name_of(ALGORITHMS, recipe.algorithm),
        "parameters": lambda: describe(recipe.algorithm),
        "hierarchies": lambda: [_relative_source(source, folder) for source in recipe.hierarchies],
        "loss": lambda: recipe.loss,
        "seed": lambda: recipe.seed,
    }
    if name in written:
        return written[name]()
    owner, attribute = (recipe.reading, _READING[name]) if name in _READING else (recipe, name)
    value = getattr(owner, attribute)
    if value == _DEFAULTS.get(name):
        return None
    return _relative(value, folder) if name in _PATHS else value


def _relative(path: str, folder: str | Path | None) -> str:
    return path if folder is None else os.path.relpath(path, folder)


def hierarchy_files(source: str) -> list[Path]:
    """The files that a hierarchy source reads: one, those of a folder, or none where it is ready-made."""
    name = _split_source(source, Path())[1]
    if is_ready(name):
        return []
    path = Path(name)
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _relative_source(source: str, folder: str | Path | None) -> str:
    column, path = _split_source(source, Path())
    return source if is_ready(path) else f"{column}{_relative(path, folder)}"


def _split_source(source: str, folder: Path) -> tuple[str, str]:
    """A hierarchy source is a path, or ``column=path``; the first part with its equals sign."""
    column, equals, path = ("", "", source) if (folder / source).exists() else source.rpartition("=")
    return column + equals, path


def _from_sections(content: Mapping[str, Any], folder: Path) -> Recipe:
    settings: dict[str, Any] = {}
    trees = content.get("trees", {})
    for section, values in content.items():
        if section not in (*_SECTIONS, "trees"):
            raise RecipeError(unknown("section", section, [*_SECTIONS, "trees"]))
        if not isinstance(values, Mapping):
            raise RecipeError(f"'{section}' must be a section, written [{section}]")
        for name, value in values.items() if section != "trees" else ():
            if name not in _SECTIONS[section]:
                raise RecipeError(unknown(f"setting in [{section}]", name, _SECTIONS[section]))
            _check_kind(section, name, value)
            settings[name] = tuple(value) if isinstance(value, list) else value
    reading = {_READING[name]: settings.pop(name) for name in list(settings) if name in _READING}
    for name in _PATHS:
        if name in settings:
            settings[name] = str(folder / settings[name])
    settings["hierarchies"] = tuple(
        _absolute_source(source, folder) for source in settings.get("hierarchies", ())
    )
    settings["models"] = tuple(
        relocated(parse_model(text), lambda path: str(folder / path)) for text in settings.get("models", ())
    )
    name, parameters = settings.pop("algorithm", "auto"), settings.pop("parameters", {})
    settings["algorithm"] = build("algorithm", ALGORITHMS, name, parameters)
    settings["orders"] = {
        column: _values_in_order(column, values) for column, values in settings.get("orders", {}).items()
    }
    settings["trees"] = {column: from_toml(tree, f"trees.{column}") for column, tree in trees.items()}
    try:
        return Recipe(**{"quasi": (), **settings}, reading=ReadOptions(**reading))
    except TypeError as error:
        raise RecipeError(f"a setting has the wrong kind of value: {error}") from error


def _values_in_order(column: str, values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise RecipeError(f"the order of '{column}' must be a list of its values, not {values!r}")
    return tuple(map(str, values))


def _absolute_source(source: str, folder: Path) -> str:
    column, path = _split_source(source, folder)
    return source if is_ready(path) else f"{column}{folder / path}"


def _check_kind(section: str, name: str, value: Any) -> None:
    """Refuse a value of which nothing can be made; what is wrong inside of it is found later."""
    kind, wanted = next((kind for kind, names in _KINDS.items() if name in names), (object, ""))
    texts = kind is not list or (isinstance(value, list) and all(isinstance(each, str) for each in value))
    if not isinstance(value, kind) or not texts:
        raise RecipeError(f"{name} in [{section}] must be {wanted}, not {value!r}")
