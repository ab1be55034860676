"""Suggestions: types, roles, hierarchies and a recipe for a table that nobody has described yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from shlex import quote as shell
from typing import Any

import numpy as np
import polars as pl
import tomli_w

from shoal.assessment.risks.roles import GROUP, ProposedColumn, choose_group, choose_person, propose_role
from shoal.assessment.risks.subsets import (
    TELLING,
    ColumnSet,
    ColumnSets,
    measure_added_columns,
    measure_column_sets,
)
from shoal.errors import RecipeError
from shoal.privacy import DistinctL, KAnonymity, Model
from shoal.privacy.people import count_varying_people, number_people
from shoal.recipes.equivalent import command_line
from shoal.recipes.recipe import Recipe
from shoal.recipes.settings import ROLES
from shoal.support.filenames import file_names
from shoal.support.files import whole_file
from shoal.support.notebooks import draw_grid, draw_note, draw_text, draw_words, fold, follow_progress
from shoal.support.progress import Progress, silent
from shoal.table import ReadOptions, Table, read_table, to_strings
from shoal.table.decimals import has_decimal_commas
from shoal.table.formats import by_suffix
from shoal.table.frames import use_safe_name
from shoal.table.native import leave_everything_out
from shoal.table.personal import Role
from shoal.table.types import MISSING_MARKERS
from shoal.verification.outsider import number_cells

_K, _L = 5, 2
_PROOF = "a suggestion is no proof: somebody may know what no name or pattern tells, so go through the roles"
EQUIVALENT = "always go together: one of them is enough"
_LINE = 3  # columns in a set that is looked at for what singles people out
_DEEP = 6  # so many values of a category want a hierarchy


@dataclass(frozen=True, slots=True)
class ProposedHierarchy:
    """How the values of a quasi-identifier could be grouped."""

    column: str
    builder: str
    """The method that 'shoal hierarchy build' takes: intervals, mask, dates or frequency."""
    words: str
    command: str


@dataclass(frozen=True, slots=True, eq=False)
class Suggestion:
    """What a table is taken for, why, and what to do with it."""

    source: str
    rows: int
    columns: tuple[ProposedColumn, ...]
    hierarchies: tuple[ProposedHierarchy, ...]
    sets: ColumnSets = field(repr=False)
    """How the columns that are not identifiers tell rows apart."""
    recipe: Recipe | None
    """Runs as it is; None where no column is a quasi-identifier."""
    notes: tuple[str, ...]

    @property
    def quasi(self) -> tuple[str, ...]:
        """Columns that somebody could recognise a person by."""
        return self.of_role("quasi")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Columns that nobody should learn about a person."""
        return self.of_role("sensitive")

    @property
    def identifier(self) -> tuple[str, ...]:
        """Columns that name a person."""
        return self.of_role("identifier")

    @property
    def plain(self) -> tuple[str, ...]:
        """Columns that can stay as they are."""
        return self.of_role("plain")

    @property
    def person(self) -> str | None:
        """The column that says whose row it is, if there seems to be one."""
        return next(iter(self.of_role("person")), None)

    def of_role(self, role: Role) -> tuple[str, ...]:
        """Names of the columns with a role."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def command(self) -> str:
        """The command line that does what the recipe does; empty where there is no recipe."""
        return "" if self.recipe is None else command_line(self.recipe)

    def to_toml(self, folder: str | Path | None = None) -> str:
        """The recipe with the reasons as comments.

        With a ``folder``, paths are relative to it, and the release goes there.
        """
        if self.recipe is None:
            raise RecipeError(
                "no column was found by which somebody could recognise a person, so there is no recipe: name "
                "some with --quasi if you know better"
            )
        recipe = self.recipe
        if folder is not None and recipe.output is not None:
            recipe = replace(recipe, output=str(Path(folder) / recipe.output))
        # Names of columns are somebody's input: no line break may end a comment early.
        preface = map(_on_one_line, _write_preface(self))
        return "\n".join([*preface, *_add_reasons(self, recipe.to_toml(folder)), ""])

    def _repr_html_(self) -> str:
        """In notebooks: the roles with their reasons, and the recipe."""
        rows = [
            (each.name, each.type, f"{each.values:,}", each.role if each.sure else f"{each.role}?", each.why)
            for each in self.columns
        ]
        parts = [draw_grid(("column", "type", "values", "role", "why"), rows, most=100)]
        parts += [draw_words(note, "soft") for note in self.notes]
        if self.recipe is not None:
            parts.append(fold("The recipe", draw_text(self.to_toml())))
        return draw_note(f"{self.rows:,} rows, {len(self.columns)} columns", parts)

    def write(self, path: str | Path) -> None:
        """Write the recipe with its comments to a file."""
        text = self.to_toml(Path(path).parent)
        with whole_file(path, private=True) as stream:
            stream.write(text.encode())

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "rows": self.rows,
            **{role: list(self.of_role(role)) for role in ROLES},  # type: ignore[arg-type]
            **({} if self.person is None else {"person": self.person}),
            "columns": [column.to_dict() for column in self.columns],
            "hierarchies": [
                {"column": each.column, "builder": each.builder, "words": each.words, "command": each.command}
                for each in self.hierarchies
            ],
            "telling_sets": [each.to_dict() for each in self.sets.telling],
            "command": self.command,
            "recipe": None if self.recipe is None else self.to_toml(),
            "notes": list(self.notes),
        }


def suggest(
    source: object, *, options: ReadOptions | None = None, on_progress: Progress | None = None
) -> Suggestion:
    """Propose types, roles and hierarchies for a table, a goal, and a recipe that runs as it is.

    Parameters
    ----------
    source : path or frame
        The table.
    options : ReadOptions, optional
        How to read it.
    on_progress : callable, optional
        Called with what is being done and how much of it is (0 to 1).

    Notes
    -----
    Nothing here is a proof. Names of columns are compared with a vocabulary in four languages, values with
    patterns; a column that neither knows is judged by how it tells rows apart. What somebody else knows about
    the people in a table, no table can tell.
    """
    table = read_table(source, options or ReadOptions(), left_out=leave_everything_out)
    with follow_progress(on_progress) as tell:
        return suggest_for_table(table, options or ReadOptions(), tell)


def suggest_for_table(table: Table, options: ReadOptions, on_progress: Progress = silent) -> Suggestion:
    """`suggest` for a table that has been read."""
    alone = measure_column_sets(table, table.names, largest=1).columns
    columns = choose_group(choose_person([propose_role(table, each) for each in alone], table.rows))
    open_columns = [column.name for column in columns if column.role not in ("identifier", "person")]
    # Sets of what may be released; a table of nothing but identifiers is looked at as it is.
    sets = measure_column_sets(table, open_columns or table.names, largest=_LINE, on_progress=on_progress)
    recipe = _build_recipe(table, columns, options)
    quasi = [column for column in columns if column.role == "quasi"]
    files = file_names(column.name for column in quasi)
    trees = tuple(filter(None, (_propose_hierarchy(table, column, files[column.name]) for column in quasi)))
    notes = (
        *_list_notes(columns, recipe),
        *_describe_person(table, columns),
        *_describe_sets(columns),
        *(f"{a} and {b} {EQUIVALENT}" for a, b in find_equivalent_columns(table, alone)),
        *_describe_missing_markers(find_missing_markers(table, columns)),
        *_describe_decimal_commas(table, columns),
        _PROOF,
    )
    return Suggestion(str(table.origin), table.rows, columns, trees, sets, recipe, notes)


def _build_recipe(table: Table, columns: tuple[ProposedColumn, ...], options: ReadOptions) -> Recipe | None:
    roles = {role: tuple(each.name for each in columns if each.role == role) for role in ROLES}
    # A single row has no other to be alike with.
    if (
        not roles["quasi"]
        or min([table.rows, *(each.values for each in columns if each.role == "person")]) < 2
    ):
        return None
    path = table.origin.path
    return Recipe(
        quasi=roles["quasi"],
        sensitive=roles["sensitive"],
        identifier=roles["identifier"],
        plain=roles["plain"],
        person=next((each.name for each in columns if each.role == "person"), None),
        group=next((each.name for each in columns if each.kind == GROUP), None),
        models=_choose_goal(table, columns),
        input=None if path is None else str(path),
        output=None if path is None else _name_release(path),
        reading=options,
        types={each.name: each.type for each in columns if each.state_type},
    )


def _choose_goal(table: Table, columns: tuple[ProposedColumn, ...]) -> tuple[Model, ...]:
    """Classes of five, and two values of what is sensitive; less where the table is too small for that."""
    people = [each.values for each in columns if each.role == "person" or each.kind == GROUP]
    k = min([_K, table.rows, *people])
    # A column of one value cannot have two of them in a class.
    diverse = [DistinctL(_L, each.name) for each in columns if each.role == "sensitive" and each.values >= _L]
    return (KAnonymity(k), *diverse)


def _name_release(path: Path) -> str:
    """A name for the release, in the current folder; text that was compressed is not."""
    format, compression = by_suffix(path)
    inner = path.with_suffix("") if compression else path
    suffix = inner.suffix if format != "text" or inner.suffix.lower() == ".tsv" else ".csv"
    return f"{inner.stem}-released{suffix}"


def _list_notes(columns: tuple[ProposedColumn, ...], recipe: Recipe | None) -> Iterator[str]:
    if recipe is None:
        yield "no column was found by which somebody could recognise a person; look before you believe that"
    if not any(each.role == "sensitive" for each in columns):
        yield (
            "no sensitive column was found: if there is one, name it, or all rows of a class may share what "
            "nobody should learn"
        )
    if bare := [each.name for each in columns if each.role in ("plain", "sensitive") and _is_telling(each)]:
        yield (
            f"{', '.join(bare)} alone singles out most rows and is released as it is: anyone who knows a "
            "value knows the row"
        )
    if unsure := [each.name for each in columns if not each.sure]:
        yield f"decide yourself about {', '.join(unsure)}: only the distribution of the values speaks there"


def _describe_person(table: Table, columns: Sequence[ProposedColumn]) -> Iterator[str]:
    """Which columns are the same in all rows of a person: they can tell which rows are of one person."""
    for person in (each for each in columns if each.role == "person"):
        others = [each.name for each in columns if each.role not in ("identifier", "person")]
        whose = number_people(table.column(person.name))[0]
        cells = [number_cells(use_safe_name(table.column(name)))[0] for name in others]
        varying = dict(zip(others, count_varying_people(cells, whose).tolist(), strict=True))
        if same := [name for name, people in varying.items() if not people]:
            yield f"the same in all rows of each value of {person.name}: {', '.join(same)}"
        if changing := [f"{name} (of {people:,})" for name, people in varying.items() if people]:
            several = int(np.count_nonzero(np.bincount(whose) > 1))
            yield (
                f"different in some rows of one value of {person.name}, of {several:,} with several rows: "
                f"{', '.join(changing)}"
            )


def _describe_sets(columns: Sequence[ProposedColumn]) -> Iterator[str]:
    """Columns with several values in a cell, whose items can be protected one by one."""
    for each in (column for column in columns if column.separator):
        yield (
            f"{each.name} looks like a column of sets: {each.items}. If somebody could know some of them of "
            f"a person, protect them with --set {shell(f'{each.name}={each.separator}')} instead of a role"
        )


def find_equivalent_columns(table: Table, alone: Sequence[ColumnSet]) -> Iterator[tuple[str, str]]:
    """Columns that say the same, as a code and its text do: each value of one has its own of the other."""
    # A key goes with everything, and two values go together too easily.
    for one, other in combinations((each for each in alone if 2 < each.classes < table.rows), 2):
        (first,), (second,) = one.columns, other.columns
        if one.classes == other.classes == measure_added_columns(table, [first], [second])[second].classes:
            yield first, second


def find_missing_markers(table: Table, columns: Sequence[ProposedColumn]) -> dict[str, list[str]]:
    """Texts that elsewhere stand for a missing value, by the columns that have any."""
    texts = [each.name for each in columns if each.type == "string" and each.role != "identifier"]
    found = {name: sorted(_find_values(table, name, MISSING_MARKERS)) for name in texts}
    return {name: markers for name, markers in found.items() if markers}


def _describe_missing_markers(found: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if found:
        options = " ".join(f"--na {shell(marker)}" for marker in sorted(set().union(*found.values())))
        yield f"values of {', '.join(found)} look like missing ones: if they are, say so with {options}"


def _describe_decimal_commas(table: Table, columns: Sequence[ProposedColumn]) -> Iterator[str]:
    texts = [each.name for each in columns if table.column(each.name).dtype == pl.String]
    if found := [
        name for name in texts if has_decimal_commas(table.column(name).unique(maintain_order=True))
    ]:
        yield f"{', '.join(found)}: text that looks like numbers with a decimal comma; --decimal , reads them"


def _find_values(table: Table, name: str, values: Sequence[str]) -> list[str]:
    """Those of some values that a column has."""
    column = to_strings(table.column(name))
    return column.filter(column.is_in(values)).unique(maintain_order=True).to_list()


def _is_telling(column: ProposedColumn) -> bool:
    return column.uniqueness >= TELLING


def _propose_hierarchy(table: Table, column: ProposedColumn, file: str) -> ProposedHierarchy | None:
    """The builder that suits a quasi-identifier, if it is worth one."""
    found = _choose_builder(column)
    if found is None:
        return None
    builder, words = found
    path = table.origin.path
    parts = ["shoal hierarchy build", shell(str(path)) if path else "TABLE", shell(column.name)]
    parts += [f"--method {builder}", f"-o {shell(f'hierarchies/{file}')}"]
    return ProposedHierarchy(column.name, builder, words, " ".join(parts))


def _choose_builder(column: ProposedColumn) -> tuple[str, str] | None:
    if column.type in ("date", "datetime"):
        return "dates", "day, month, year"
    if column.kind == "postcode":
        return "mask", "the first digits of the code, one digit less at every level"
    if column.type in ("integer", "float"):
        return ("intervals", "ranges that double in width at every level") if column.values > _DEEP else None
    if column.type == "string" and column.values > _DEEP:
        return "frequency", "rare values together; better, if you can, values that mean something similar"
    return None


def _write_preface(suggestion: Suggestion) -> Iterator[str]:
    yield f"# A recipe for {suggestion.source}, as 'shoal suggest' proposes it: run it with 'shoal run'."
    yield "# Read the reasons and change what you know better."
    for note in suggestion.notes:
        yield f"# - {note}"
    if suggestion.hierarchies:
        yield "#"
        yield "# Hierarchies would make released values easier to read. Make a folder, 'mkdir hierarchies',"
        yield '# run these commands, and name the folder as hierarchies = ["hierarchies"] under [columns]:'
        for each in suggestion.hierarchies:
            yield f"# - {each.column}: {each.words}"
            yield f"#   {each.command}"
    yield ""


def _add_reasons(suggestion: Suggestion, toml: str) -> Iterator[str]:
    """The lines of a recipe, those that name a column in a role with the reason behind them."""
    why = {_quote_toml(column.name): column.why for column in suggestion.columns}
    inside = False
    for line in toml.removesuffix("\n").split("\n"):
        # Only inside lists of roles: other lists may hold the same strings.
        if line.endswith("= [") or line == "]":
            inside = line.removesuffix(" = [") in ROLES
        reason = why.get(line.strip().removesuffix(",")) if inside else None
        for owner in ("person = ", "group = "):
            reason = why.get(line.removeprefix(owner)) if line.startswith(owner) else reason
        yield line if reason is None else f"{line}  # {_on_one_line(reason)}"


def _on_one_line(text: str) -> str:
    """A text with its line breaks and the like spelt out: a column's name cannot leave a comment."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _quote_toml(name: str) -> str:
    """A text as TOML has it."""
    return tomli_w.dumps({"x": name}).strip().removeprefix("x = ")
