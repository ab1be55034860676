"""A run is a value: `Recipe` holds everything that a run depends on, and can be written down as TOML."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, get_args, get_type_hints

import polars as pl
import tomli_w

from shoal.algorithms import ALGORITHMS, Algorithm, read_algorithm
from shoal.algorithms.safepub import SafePubScheme
from shoal.codespace.edges import read_share
from shoal.codespace.encoding import CategoryOrder
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Render
from shoal.errors import InputError, OutputError, RecipeError, quote, unknown
from shoal.privacy import (
    Model,
    SafePub,
    model_text,
    move_population,
    parse_model,
    population_of,
    read_models,
)
from shoal.privacy.groups import GroupAnonymity
from shoal.recipes.event_tables import (
    check_event_tables,
    read_sections,
    select_columns,
    sort_columns,
    write_sections,
)
from shoal.recipes.project import SUFFIX, Project
from shoal.recipes.roles import check_no_overlap, read_annotations
from shoal.recipes.schema import describe_schema
from shoal.recipes.settings import (
    EDITION,
    GROUPS,
    ROLES,
    RecipeSettings,
    list_settings,
)
from shoal.support.addresses import check_address, is_address
from shoal.support.files import as_path, as_utf8, read_small, whole_file
from shoal.support.frozen import freeze_mapping
from shoal.support.language import check_language
from shoal.support.notebooks import draw_grid, draw_note, draw_text, fold
from shoal.support.parameters import (
    build_entry,
    byte_count,
    call_text,
    check_fields,
    describe_parameters,
    name_of,
)
from shoal.table import Column, ColumnType, ReadOptions, check_delimiter
from shoal.table.hierarchies import Hierarchy, from_toml, is_ready, to_toml
from shoal.table.sets import check_separator

_MEGABYTES = 16  # of a recipe, with the hierarchies in it
# What annotations in the table of settings name, and the table itself does not load.
_SLOW_TYPES = {
    "Algorithm": Algorithm,
    "CategoryOrder": CategoryOrder,
    "ColumnType": ColumnType,
    "Hierarchy": Hierarchy,
    "Model": Model,
    "ReadOptions": ReadOptions,
    "Render": Render,
}
_DRAWN_ANEW = "# safepub draws another sample in every run: this recipe does not give the same bytes again.\n"


@dataclass(frozen=True, slots=True)
class Recipe(RecipeSettings):
    """Everything that a run depends on, apart from the table itself."""

    def __post_init__(self) -> None:
        self._read_entries()
        # Types first: the checks below compare numbers and look up names.
        check_fields(self, read_setting_types())
        if not self.quasi and not self.sets:
            raise RecipeError(
                "no quasi-identifiers: name the columns that someone could recognise a person by"
            )
        if not self.models:
            raise RecipeError("no privacy goal: say what must hold, for example k = 5")
        self._check_quasi_line()
        if self.all_solutions:
            self.algorithm.list_every_solution()  # for its error
        for address in filter(is_address, (self.input, self.output)):
            check_address(str(address))
        check_event_tables(self)
        for role in ROLES if self.events else ():  # in the order in which a recipe file has them
            object.__setattr__(self, role, sort_columns(tuple(self.events), getattr(self, role)))
        self._check_roles()
        self._check_people()
        self._check_columns()
        self._check_edges()
        self._check_means()
        self._check_keyed()
        self._check_numbers()
        # A model that only one algorithm can keep must not be taken for granted with another.
        self._check_safepub()
        check_language(self.language)
        if self.loss not in LOSSES:
            raise RecipeError(unknown("loss", self.loss, LOSSES))
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", check_delimiter(self.delimiter))
        if strange := [name for name in self.fold or () if name not in self.sensitive]:
            raise RecipeError(f"fold names {quote(strange)}: not among the sensitive {quote(self.sensitive)}")
        if empty := [name for name, reason in self.accept.items() if not str(reason).strip()]:
            raise RecipeError(f"{quote(empty)} is accepted without a reason: say why, as in accept ID=REASON")

    def _read_entries(self) -> None:
        """Take models, the algorithm and knows as people write them, and keep mappings from being changed."""
        written: dict[str, Any] = {
            "models": read_models(self.models),
            "algorithm": read_algorithm(self.algorithm),
        }
        if isinstance(self.knows, int) and not isinstance(self.knows, bool):
            written["knows"] = str(self.knows)
        for each in list_settings():
            if each.annotation.startswith("Mapping["):
                value = getattr(self, each.name)
                if not isinstance(value, Mapping):
                    raise RecipeError(f"{each.name} must be a mapping by column, not {value!r}")
                _check_values(each.name, value)
                written[each.name] = freeze_mapping(value)
        if not isinstance(self.reading, ReadOptions):
            raise RecipeError(f"reading must be ReadOptions, not {self.reading!r}")
        for name, value in written.items():
            object.__setattr__(self, name, value)  # frozen from here on

    @property
    def bound_seconds(self) -> float | None:
        """How long to look for a bound; None where nobody asked for one."""
        if self.bound is None:
            return None
        said = re.fullmatch(r"seconds=(\d+(?:\.\d*)?|\.\d+)", str(self.bound).replace(" ", ""))
        if said is None or not float(said[1]) > 0:
            raise RecipeError(f"bound is a number of seconds above 0, as seconds=60, not {self.bound!r}")
        if self.pseudonym or self.sets or self.events:
            raise RecipeError("bound is for one table without a pseudonym and without columns of sets")
        return float(said[1])

    def _check_numbers(self) -> None:
        _ = self.bound_seconds
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

    def _check_safepub(self) -> None:
        if not self.uses_safepub and any(isinstance(model, SafePub) for model in self.models):
            raise RecipeError(
                "the model safepub is kept by the algorithm safepub only, with the levels that are to be "
                "released: --algorithm safepub --set levels=age=2,sex=0"
            )
        if self.uses_safepub and self.seed:
            raise RecipeError(
                f"safepub takes no seed, and so not {self.seed}: anyone who knows it knows who was drawn. "
                "Leave it out; for a test that is to be repeated, and is not private, there is --set seed=1"
            )

    @property
    def uses_safepub(self) -> bool:
        """Whether it draws a random sample that promises differential privacy."""
        return isinstance(self.algorithm, SafePubScheme)

    def _check_columns(self) -> None:
        for column, type in self.types.items():
            if type not in get_args(ColumnType):
                raise RecipeError(f"column '{column}': {unknown('type', str(type), get_args(ColumnType))}")
        for column, weight in self.weights.items():
            if not isinstance(weight, Real) or not isfinite(weight):
                raise RecipeError(f"the weight of '{column}' must be a finite number, not {weight!r}")
        if typed := [name for name in (*self.types, *self.orders) if name in self.sets]:
            raise RecipeError(f"{quote(typed)} is a column of sets, of which items have no type and no order")
        # A sensitive column may have a hierarchy too: some models measure distances in it.
        kept = (*self.quasi, *self.sensitive)
        known = (*self.quasi, *self.sets)
        for what, named, among in (
            ("weight", self.weights, known),
            ("hierarchy", self.trees, (*kept, *self.sets)),
        ):
            if strange := [column for column in named if column not in among]:
                raise RecipeError(f"a {what} is given for {quote(strange)}: not among {quote(among)}")

    def _check_means(self) -> None:
        """Refuse means of what is no quasi-identifier, and where a mean would not be that of a class."""
        if not self.mean:
            return
        if strange := [name for name in self.mean if name not in self.quasi]:
            raise RecipeError(
                f"a mean is asked for {quote(strange)}: not among {quote(self.quasi)}; columns that are no "
                "quasi-identifiers are released as they are"
            )
        if coded := [name for name in self.mean if name in self.top or name in self.bottom]:
            raise RecipeError(f"{quote(coded)} has a top or bottom, and beyond an edge there is no mean")
        if self.render not in ("label", "interval", "set"):
            raise RecipeError(
                f"with mean, render is 'label', 'interval' or 'set', not '{self.render}': it says how the "
                "other columns are written"
            )

    def _check_keyed(self) -> None:
        """Refuse pseudonyms of what is no identifier, and where they are not made."""
        if strange := [name for name in self.keyed if name not in self.identifier]:
            raise RecipeError(
                f"keyed names {quote(strange)}: not among the identifiers {quote(self.identifier)}; the "
                "person has a pseudonym of its own"
            )

    def _check_edges(self) -> None:
        """Refuse top and bottom coding of what has no edges, and where a text such as >70 cannot stand."""
        for name, edges in (("top", self.top), ("bottom", self.bottom)):
            if strange := [column for column in edges if column not in self.quasi]:
                raise RecipeError(
                    f"a {name} is given for {quote(strange)}: not among {quote(self.quasi)}; columns that "
                    "are no quasi-identifiers are released as they are"
                )
            if odd := [
                column for column, edge in edges.items() if not isinstance(edge, str) or not edge.strip()
            ]:
                raise RecipeError(f"the {name} of '{odd[0]}' is a value or a share, as '70' or '5%'")
        if not (coded := list(dict.fromkeys([*self.top, *self.bottom]))):
            return
        if self.render in ("representative", "bounds") or self.algorithm.releases_one_value:
            raise RecipeError(
                f"{quote(coded)} has a top or bottom, which is written as >70 or <18, but here numbers are "
                "released: leave out top and bottom, or take --render label and another algorithm"
            )
        if self.uses_safepub:
            raise RecipeError(
                f"safepub releases levels that are stated: put the top of {quote(coded)} into its hierarchy"
            )
        shares = [
            edge for edge in (*self.top.values(), *self.bottom.values()) if read_share(edge) is not None
        ]
        if shares and population_of(self.models) is not None:
            raise RecipeError(
                f"beside a population edges are those of neither table: name values instead of {shares[0]}"
            )

    def _check_quasi_line(self) -> None:
        """A line with numbers of columns is for one table that is read whole."""
        elsewhere = self.memory or self.engine == "spark" or self.uses_safepub
        if self.reading.quasi_line is not None and (elsewhere or population_of(self.models) is not None):
            raise RecipeError(
                "a file with a line of column numbers is read whole, in memory: without --memory, Spark, "
                "safepub or a population"
            )

    def _check_roles(self) -> None:
        seen: dict[str, str] = {} if self.person is None else {self.person: "person"}
        if self.group is not None:
            self._check_group(self.group)
            # It is left out as identifiers are, so that it may be named as one.
            seen |= {} if self.group in self.identifier else {self.group: "group"}
        for column, separator in self.sets.items():
            if column in seen:
                raise RecipeError(
                    f"column '{column}' is named both person and set: give each column one role"
                )
            seen[column] = "set"
            check_separator(column, separator)
        for role in ROLES:
            for column in getattr(self, role):
                if column in seen:
                    twice = "twice" if seen[column] == role else f"both {seen[column]} and {role}"
                    raise RecipeError(f"column '{column}' is named {twice}: give each column one role")
                seen[column] = role

    def _check_people(self) -> None:
        """Refuse what needs to be told whose row each is, and what only linked rows give anybody to know."""
        read_knows(self.knows)
        for name, given in (("pseudonym", self.pseudonym), ("relative", self.relative is not None)):
            if given and self.person is None:
                raise RecipeError(f"{name} needs a person: name the column that says whose row it is")
        if self.relative is not None and self.relative == self.person:
            raise RecipeError(f"relative names '{self.relative}', which says whose row it is: name a date")
        if self.pseudonym and self.sets:
            raise RecipeError(
                f"a pseudonym and columns of sets ({quote(self.sets)}) cannot be combined: knows is about "
                "rows with the one and about items with the other; leave out one of them"
            )
        if self.pseudonym:
            return
        if self.knows != "1" and not self.sets:
            raise RecipeError(
                f"knows = {self.knows}, but without a pseudonym the rows of a person cannot be brought "
                "together, whatever an attacker knows: leave out knows, or ask for a pseudonym"
            )
        if (self.key_file is not None and not self.keyed) or self.align is not None:
            name = "key_file" if self.align is None else "align"
            raise RecipeError(f"{name} is for rows that a pseudonym keeps together: ask for a pseudonym")

    @property
    def known_rows(self) -> int | None:
        """How many rows of a person an attacker may know; None for all of them."""
        return read_knows(self.knows)

    def _check_group(self, group: str) -> None:
        if self.person is None:
            raise RecipeError(
                f"the group '{group}' is one of people: name the person as well, or, if every row is another "
                f"person's, count groups alone with person '{group}'"
            )
        if group == self.person:
            raise RecipeError(f"column '{group}' is named both person and group: give each column one role")
        GroupAnonymity.from_goal(self.models)  # for its error: the goal must ask for a number of people

    def columns(self, trees: Mapping[str, Hierarchy]) -> dict[str, Column]:
        """What it knows of quasi-identifiers and sensitive columns, with the hierarchies that were read."""
        return {
            name: Column(
                name,
                None if name == self.relative else self.types.get(name),  # days, whatever it was
                self.orders.get(name),
                trees.get(name),
                self.reading.na,
                self.fold is None or name in self.fold,
                self.bottom.get(name),
                self.top.get(name),
            )
            for name in (*self.quasi, *self.sensitive, *self.sets)
        }

    def without_role(self, names: Sequence[str]) -> list[str]:
        """The columns among ``names`` that have no role."""
        roles = {*self.quasi, *self.sensitive, *self.identifier, *self.plain, *self.sets}
        named = {*roles, self.person, self.group}
        return [name for name in names if name not in named]

    def left_out(self, names: Sequence[str]) -> list[str]:
        """The columns among ``names`` that are not released."""
        others = self.without_role(names) if self.others == "drop" else ()
        # What is kept under a pseudonym is released, if not as it was.
        identifiers = [name for name in self.identifier if name not in self.keyed]
        left_out = {*identifiers, *others, None if self.pseudonym else self.person, self.group}
        return [name for name in names if name in left_out]

    def list_uncounted(self, names: Sequence[str]) -> list[str]:
        """The columns among ``names`` that are released as they are, and counted nowhere."""
        counted = {*self.quasi, *self.sensitive, *self.sets, *self.types, *self.orders, self.align}
        hidden = {*self.left_out(names), self.person, self.group, self.relative}
        return [name for name in names if name not in counted and name not in hidden]

    def schema(self, source: Any) -> pl.Schema:
        """The columns of a release by this recipe and their types, as polars names them.

        They follow from the columns of the table alone, whatever its rows hold.

        Parameters
        ----------
        source : mapping, schema of polars or pyarrow, path or frame
            The columns of the table and their types; of a table nothing else matters.

        Examples
        --------
        >>> recipe = Recipe(quasi=("age",), models=("k(k=5)",), others="keep")
        >>> recipe.schema({"age": pl.Int64, "cost": pl.Float64})
        Schema([('age', String), ('cost', Float64)])
        """
        return describe_schema(self, source)

    @classmethod
    def from_annotations(cls, model: type, **settings: Any) -> Recipe:
        """The recipe of a class whose annotations name roles, with further settings such as ``models``.

        Parameters
        ----------
        model
            A dataclass, a model of pydantic or pandera, or any other class with annotations such as
            ``age: Annotated[int, shoal.Quasi()]``. Types are stated as annotated.

        Examples
        --------
        >>> from dataclasses import dataclass
        >>> from typing import Annotated
        >>> from shoal import Quasi, Sensitive
        >>> @dataclass
        ... class Patient:
        ...     age: Annotated[int, Quasi(weight=2)]
        ...     illness: Annotated[str, Sensitive()]
        >>> recipe = Recipe.from_annotations(Patient, models=("k(k=5)", "distinct-l(l=2)"))
        >>> recipe.quasi, recipe.sensitive, dict(recipe.types), dict(recipe.weights)
        (('age',), ('illness',), {'age': 'integer'}, {'age': 2.0})
        """
        found = read_annotations(model)
        check_no_overlap(found, settings)
        return cls(**{"quasi": (), "models": (), **found, **settings})

    @classmethod
    def from_toml(cls, source: str | Path) -> Recipe:
        """Read a recipe from a file, or that of a project; paths in it are relative to its folder."""
        path = as_path(source)
        if path.suffix == SUFFIX:
            return cls.from_text(Project.load(path).require_recipe(path), path)
        return cls._from_content(path, _read_toml(path))

    @classmethod
    def load(cls, path: str | Path) -> Recipe:
        """Read a recipe from a file that `save` wrote, or somebody; the same as `from_toml`."""
        return cls.from_toml(path)

    def save(self, path: str | Path, made: Mapping[str, str] | None = None) -> None:
        """Write the recipe to a file, whole or not at all; paths in it are relative to its folder.

        Only its owner can read the file, because hierarchies in it can contain values of the table. ``made``
        is kept in a section of its own, for people: what a run was made with and of. Nobody reads it back.
        """
        path = as_path(path)
        told = "\n" + tomli_w.dumps({_MADE: dict(made)}) if made else ""
        with whole_file(path, private=True) as stream:
            stream.write((self.to_toml(path.parent) + told).encode())

    @classmethod
    def from_text(cls, text: str, path: Path) -> Recipe:
        """Read a recipe from TOML that stands in the file ``path``, whose folder paths in it start from."""
        return cls._from_content(path, _parse_toml(text, path))

    @classmethod
    def _from_content(cls, path: Path, content: Mapping[str, Any]) -> Recipe:
        try:
            return cls.from_dict(content, path.parent)
        except InputError as error:
            raise RecipeError(f"{path}: {error}") from error

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], folder: str | Path = "") -> Recipe:
        """The recipe of which `to_dict` made ``content``; paths in it are relative to ``folder``."""
        if not isinstance(content, Mapping):
            raise RecipeError(f"a recipe is nested tables, as to_dict gives them, not {content!r}")
        return _from_sections(content, Path(folder))

    def to_toml(self, folder: str | Path | None = None) -> str:
        """The recipe as TOML text; paths relative to ``folder``, or as they are."""
        return (_DRAWN_ANEW if self.uses_safepub else "") + tomli_w.dumps(self.to_dict(folder))

    def _repr_html_(self) -> str:
        """In notebooks: the goal and the roles, and the recipe as a file has it."""
        names = {role: getattr(self, role) for role in ROLES} | {"sets": tuple(self.sets)}
        rows = [("goal", "; ".join(map(model_text, self.models)))]
        rows += [(role, ", ".join(columns)) for role, columns in names.items() if columns]
        rows += [(name, value) for name in ("person", "group") if (value := getattr(self, name)) is not None]
        rows += [
            ("algorithm", call_text(name_of(ALGORITHMS, self.algorithm), self.algorithm)),
            ("loss", self.loss),
        ]
        parts = [draw_grid(("what", "chosen"), rows), fold("As a file", draw_text(self.to_toml()))]
        return draw_note("Recipe", parts)

    def to_dict(self, folder: str | Path | None = None) -> dict[str, Any]:
        """The recipe as nested tables of plain values."""
        sections = {section: {} for section in _SECTIONS}  # type: dict[str, dict[str, Any]]
        for section, names in _SECTIONS.items():
            for name in names:
                value = _to_plain(self, name, folder)
                # None is the default here, and an empty list is not: an empty fold says "fold nothing".
                if value not in (None, "", {}) and (value != [] or name == "fold"):
                    sections[section][name] = value
        trees = {column: to_toml(tree) for column, tree in self.trees.items()}
        # What has a section of its own.
        sections |= {"sets": dict(self.sets), "trees": trees}
        given: dict[str, Any] = {section: values for section, values in sections.items() if values}
        if self.events:
            inputs = {name: path and _make_relative(path, folder) for name, path in self.events.items()}
            given["events"] = write_sections(self, inputs)
        return {"shoal": {"recipe": self.edition}, **given}


def _check_values(name: str, given: Mapping[Any, Any]) -> None:
    """Refuse names that are no texts, and values of which a setting can make nothing."""
    kinds: dict[str, tuple[Any, str]] = {
        "accept": (str, "a reason"),
        "sets": (str, "a text"),
        "trees": (Hierarchy, "a Hierarchy"),
        "orders": ((list, tuple), "a list of texts"),
    }
    kind, wanted = kinds.get(name, (object, ""))
    for key, value in given.items():
        if not isinstance(key, str):
            raise RecipeError(f"{name} names things by texts, not by {key!r}")
        if not isinstance(value, kind) or (name == "orders" and not all(isinstance(x, str) for x in value)):
            raise RecipeError(f"{name} of '{key}' must be {wanted}, not {value!r}")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        text = as_utf8(path, read_small(path, _MEGABYTES))
    except OSError as error:
        raise InputError(f"{path}: cannot read the recipe: {error.strerror}") from error
    except InputError as error:
        raise RecipeError(f"not a recipe: {error}") from None
    return _parse_toml(text, path)


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecipeError(f"{path}: not a recipe: {error}") from error


def read_recipe(given: Recipe | str | Path) -> Recipe:
    """A recipe, given as one or as the file that it is in."""
    if isinstance(given, str | os.PathLike):
        return Recipe.load(given)
    if not isinstance(given, Recipe):
        raise RecipeError(f"a recipe is a Recipe or the path of its file, not {given!r}")
    return given


def read_knows(text: str) -> int | None:
    """How many rows of a person an attacker may know, from ``1``, ``2``, ... or ``all``; None for all."""
    if text == "all":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise RecipeError(f"knows is a number of rows, 1 or more, or 'all', not '{text}'")
    return int(text)


@cache
def read_setting_types() -> dict[str, Any]:
    """The types of all settings."""
    return get_type_hints(Recipe, localns=_SLOW_TYPES)


def check_private(recipe: Recipe) -> None:
    """Refuse to write a sample by a stated seed: a person who knows the seed can draw it again."""
    if isinstance(recipe.algorithm, SafePubScheme) and recipe.algorithm.seed is not None:
        raise OutputError(
            "a sample by a stated seed is not private and never written: leave out the output or the seed"
        )


_MADE = "made"  # the section that says what a run was made with
_BY_COLUMN = ("sets", "trees")  # sections with an entry per column
_BY_TABLE = "events"  # a section for each table
_EVENT_ROLES = "event_roles"  # the roles that stand in these
_WHOLE = ("parameters", _BY_TABLE, _EVENT_ROLES)  # replaced by a recipe that extends another, not joined
_SECTIONS = {
    group: tuple(key for each in list_settings(group) for key in each.keys if key != _BY_TABLE)
    for group in GROUPS
}
# What TOML has to hold for a setting to be made of it; what is wrong inside of that is found later.
_WANTED = {"tuple[": (list, "a list of texts"), "Mapping[": (dict, "a table"), "str": (str, "text")}
_KINDS: dict[str, tuple[type, str]] = {
    each.name: kind
    for each in list_settings()
    for begin, kind in _WANTED.items()
    if each.annotation.startswith(begin)
} | {
    "algorithm": (str, "text"),
    "parameters": (dict, "a table"),
    "delimiter_in": (str, "text"),
    "encoding": (str, "text"),
    "header": (bool, "true or false"),
    "na": (list, "a list of texts"),
    "quasi_line": (int, "a whole number"),
    "sheet": (str, "text"),
    "decimal": (str, "text"),
    "query": (str, "text"),
    "knows": (object, ""),  # a number or a text, as is checked later
}
_READING = {
    "delimiter_in": "delimiter",
    "encoding": "encoding",
    "header": "header",
    "na": "na",
    "quasi_line": "quasi_line",
    "sheet": "sheet",
    "decimal": "decimal",
    "query": "query",
}
_PATHS = ("input", "output", "key_file")
_DEFAULTS = {each.name: each.default for each in list_settings()}


def _to_plain(recipe: Recipe, name: str, folder: str | Path | None) -> Any:
    """One setting as TOML holds it; None where it is the default."""
    written: dict[str, Callable[[], Any]] = {
        "models": lambda: [
            model_text(move_population(model, lambda path: _make_relative(path, folder)))
            for model in recipe.models
        ],
        "algorithm": lambda: name_of(ALGORITHMS, recipe.algorithm),
        "parameters": lambda: describe_parameters(recipe.algorithm),
        "hierarchies": lambda: [_relative_source(source, folder) for source in recipe.hierarchies],
        "loss": lambda: recipe.loss,
        "seed": lambda: None if recipe.uses_safepub else recipe.seed,
    }
    if name in written:
        return written[name]()
    if name in _READING:
        value, usual = (getattr(each, _READING[name]) for each in (recipe.reading, ReadOptions()))
    else:
        value, usual = getattr(recipe, name), _DEFAULTS[name]
    # Defaults are left out, so that a recipe shows what was decided.
    if value == usual:
        return None
    if name in ROLES and recipe.events:  # those of event tables have sections of their own
        return list(select_columns(recipe.events, "", value)) or None
    if name == "knows":
        return recipe.known_rows or value
    if isinstance(value, Mapping):
        return {key: _list_tuple(each) for key, each in value.items()}
    return _make_relative(value, folder) if name in _PATHS else _list_tuple(value)


def _list_tuple(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _make_relative(path: str, folder: str | Path | None) -> str:
    return path if folder is None or is_address(path) else os.path.relpath(path, folder)


def hierarchy_files(source: str) -> list[Path]:
    """The files that a hierarchy source reads: one, those of a folder, or none where it is ready-made."""
    name = _split_source(source, Path())[1]
    if is_ready(name):
        return []
    path = Path(name)
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _relative_source(source: str, folder: str | Path | None) -> str:
    column, path = _split_source(source, Path())
    return source if is_ready(path) else f"{column}{_make_relative(path, folder)}"


def _split_source(source: str, folder: Path) -> tuple[str, str]:
    """A hierarchy source is a path, or ``column=path``; the first part with its equals sign."""
    # A file whose own name has an equals sign is taken as a path.
    column, equals, path = ("", "", source) if (folder / source).exists() else source.rpartition("=")
    return column + equals, path


def _from_sections(content: Mapping[str, Any], folder: Path) -> Recipe:
    settings = {"quasi": (), **_read_settings(content, folder)}
    # Both the input and the release have a delimiter: in a file the former is delimiter_in.
    reading = {_READING[name]: settings.pop(name) for name in list(settings) if name in _READING}
    for role, columns in settings.pop(_EVENT_ROLES, {}).items():
        settings[role] = (*settings.get(role, ()), *columns)
    name, parameters = settings.pop("algorithm", "auto"), settings.pop("parameters", {})
    settings["algorithm"] = build_entry("algorithm", ALGORITHMS, name, parameters)
    try:
        return Recipe(**{"models": (), **settings}, reading=ReadOptions(**reading))
    except TypeError as error:
        raise RecipeError(f"a setting has the wrong kind of value: {error}") from error


def _read_settings(
    content: Mapping[str, Any], folder: Path, extended: tuple[Path, ...] = ()
) -> dict[str, Any]:
    """The settings in the tables of a recipe file, and of the file that it extends; paths start anywhere."""
    inherited = _read_base(content["extends"], folder, extended) if "extends" in content else {}
    content = {section: values for section, values in content.items() if section not in ("extends", _MADE)}
    # A file that extends another without a heading of its own is of the same edition.
    heading = content.pop("shoal", None)
    edition = inherited["edition"] if heading is None and inherited else _read_edition(heading or {})
    settings: dict[str, Any] = {"edition": edition}
    for section, values in content.items():
        if section == _BY_TABLE:
            settings[_BY_TABLE], settings[_EVENT_ROLES] = read_sections(values)
            continue
        if section not in (*_SECTIONS, *_BY_COLUMN):
            raise RecipeError(unknown("section", section, [*_SECTIONS, *_BY_COLUMN, _BY_TABLE]))
        if not isinstance(values, Mapping):
            raise RecipeError(f"'{section}' must be a section, written [{section}]")
        if section in _BY_COLUMN:
            settings[section] = dict(values)
            continue
        for name, value in values.items():
            if name not in _SECTIONS[section]:
                raise RecipeError(unknown(f"setting in [{section}]", name, _SECTIONS[section]))
            _check_kind(section, name, value)
            settings[name] = tuple(value) if isinstance(value, list) else value
    for name, read in _READERS.items():
        if name in settings:
            settings[name] = read(settings[name], folder)
    return _extend_settings(inherited, settings)


_READERS: dict[str, Callable[[Any, Path], Any]] = {
    **dict.fromkeys(_PATHS, lambda path, folder: path if is_address(path) else str(folder / path)),
    "hierarchies": lambda sources, folder: tuple(_absolute_source(each, folder) for each in sources),
    "models": lambda texts, folder: tuple(
        move_population(parse_model(text), lambda path: str(folder / path)) for text in texts
    ),
    "orders": lambda orders, _: {name: _values_in_order(name, values) for name, values in orders.items()},
    "trees": lambda trees, _: {name: from_toml(tree, f"trees.{name}") for name, tree in trees.items()},
    _BY_TABLE: lambda events, folder: {name: path and str(folder / path) for name, path in events.items()},
}
"""What is made of a setting in a file whose folder is known."""


def _read_base(name: Any, folder: Path, extended: tuple[Path, ...]) -> dict[str, Any]:
    """The settings of the file that a recipe extends, which may itself extend another."""
    if not isinstance(name, str):
        raise RecipeError(f"extends is the path of a recipe, not {name!r}")
    path = folder / name
    if path.resolve() in extended:
        raise RecipeError(f"{path} extends itself, by way of {quote(extended)}")
    return _read_settings(_read_toml(path), path.parent, (*extended, path.resolve()))


def _extend_settings(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Settings over those that they extend: mappings by column are joined, all else is replaced."""
    together = {**base, **own}
    # Parameters are those of one algorithm.
    if "algorithm" in own and own["algorithm"] != base.get("algorithm", "auto"):
        together["parameters"] = own.get("parameters", {})
    for name, value in own.items():
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping) and name not in _WHOLE:
            together[name] = {**base[name], **value}
    return together


def _read_edition(heading: Any) -> int:
    """The edition of a recipe file; those of version 0.1 do not say it."""
    found = heading.get("recipe", 1) if isinstance(heading, Mapping) else None
    # A newer edition may mean something else by a known setting, so it is not guessed.
    if not isinstance(found, int) or not 1 <= found <= EDITION:
        raise RecipeError(
            f"this recipe is of edition {found!r}, and this version of Shoal reads up to {EDITION}: use a "
            "newer one"
        )
    return found


def _values_in_order(column: str, values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise RecipeError(f"the order of '{column}' must be a list of its values, not {values!r}")
    return tuple(map(str, values))


def _absolute_source(source: str, folder: Path) -> str:
    column, path = _split_source(source, folder)
    return source if is_ready(path) else f"{column}{folder / path}"


def _check_kind(section: str, name: str, value: Any) -> None:
    """Refuse a value of which nothing can be made; what is wrong inside of it is found later."""
    kind, wanted = _KINDS.get(name, (object, ""))
    texts = kind is not list or (isinstance(value, list) and all(isinstance(each, str) for each in value))
    if not isinstance(value, kind) or not texts:
        raise RecipeError(f"{name} in [{section}] must be {wanted}, not {value!r}")
