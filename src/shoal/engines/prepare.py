"""From columns to a search problem: what every engine does before it searches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import Problem
from shoal.algorithms.linked.goal import LinkedGoal, SetProblem
from shoal.codespace.encoding import EncodedColumn, build_dictionary, encode_column
from shoal.codespace.frequency import CodedRows, FrequencyTable
from shoal.engines.checks import check_loss, check_reach
from shoal.engines.static_columns import VaryingColumns
from shoal.errors import quote
from shoal.privacy import ValueScale, for_columns, number_distinct_values, population_of
from shoal.privacy.groups import GroupAnonymity
from shoal.privacy.population import PopulationTable
from shoal.recipes.defaults import choose_category_order, list_weights
from shoal.recipes.recipe import Recipe
from shoal.recipes.schema import collect_hierarchies, has_own_types, keeps_unchanged_types
from shoal.support.warning_codes import CodedWarning
from shoal.table import Column

Codes = NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTable:
    """A table made ready for search."""

    problem: Problem
    encoded: tuple[EncodedColumn, ...]
    columns: Mapping[str, Column]
    """What is known of the quasi-identifiers and the sensitive columns."""
    warnings: tuple[str, ...] = ()
    rows: NDArray[np.int64] | None = None
    """Positions of the rows that take part, or None if all do."""
    people: PopulationTable | None = None
    """The population, if a model compares with one."""
    person: NDArray[np.int64] | None = None
    """The person of each row that takes part, where some have several."""
    group: NDArray[np.int64] | None = None
    """The group of each row's person, where groups are counted."""
    everybody: int | None = None
    """How many people the rows that take part are of, where people are counted."""
    varying: VaryingColumns | None = None
    """Which quasi-identifiers change between the rows of a person, where people are counted in memory."""
    pseudonym: pl.Series | None = None
    """The pseudonym of each row of the table, if it is to be released."""
    keyed: Mapping[str, pl.Series] = field(default_factory=dict)
    """By identifier that is kept, the pseudonym of each row of the table."""
    linked: LinkedGoal | None = None
    """What an attacker may know, where pseudonyms keep several rows of a person together."""
    sets: SetProblem | None = None
    """The items of columns of sets, where there are any."""

    @property
    def static(self) -> tuple[str, ...]:
        """The quasi-identifiers that are the same in all rows of every person, where rows are linked."""
        return () if self.linked is None else tuple(self.problem.domains[j].name for j in self.linked.static)

    def drop_rows(self) -> PreparedTable:
        """What is known of the table but for its rows: to describe what was found takes no more."""
        nothing = self.problem.rows.drop_rows()
        problem = replace(self.problem, rows=nothing, person=None, group=None)
        encoded = tuple(
            replace(each, codes=codes) for each, codes in zip(self.encoded, nothing.quasi, strict=True)
        )
        return replace(self, problem=problem, encoded=encoded, person=None, group=None)

    def list_typed_columns(self) -> dict[str, Column]:
        """What is known of the columns, with the types that were inferred."""
        types = {each.domain.name: each.type for each in self.encoded}
        return {
            name: replace(column, type=types.get(name, column.type)) for name, column in self.columns.items()
        }


@dataclass(frozen=True, slots=True, eq=False)
class DistinctValues:
    """The distinct values of a column, where an engine counts rows instead of holding them."""

    raw: Any
    """A column of polars or Arrow: as the table has them, to find the codes of its rows by."""
    series: pl.Series
    """The same, with null for what is missing."""
    count: NDArray[np.int64]
    """In how many rows each occurs."""


@dataclass(frozen=True, slots=True, eq=False)
class RoleCodes:
    """The columns that have a part in the search, in code space: of every row, or of distinct values."""

    quasi: tuple[EncodedColumn, ...]
    sensitive: Mapping[str, NDArray[np.uint32]]
    scales: Mapping[str, ValueScale]
    """How the values of sensitive columns lie to each other."""
    population: FrequencyTable | None = None
    """The people that some models compare with, in the same code space."""
    population_person: NDArray[np.int64] | None = None
    """The person of each row of the population, where some have several."""
    beside: Mapping[str, EncodedColumn] = field(default_factory=dict)
    """Further columns that the algorithm asks to see."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each quasi-identifier."""
        return tuple(column.domain.size for column in self.quasi)

    @property
    def sensitive_sizes(self) -> tuple[int, ...]:
        """Number of codes of each sensitive column."""
        return tuple(int(codes.max(initial=0)) + 1 for codes in self.sensitive.values())

    def collect_codes(self) -> dict[str, Codes]:
        """The codes by column, quasi-identifiers first."""
        return {**{column.domain.name: column.codes for column in self.quasi}, **self.sensitive}

    def as_rows(self) -> CodedRows:
        """The codes as rows, where they are codes of every row."""
        quasi = tuple(column.codes for column in self.quasi)
        return CodedRows(quasi, self.sizes, tuple(self.sensitive.values()), self.sensitive_sizes)


def encode_roles(
    recipe: Recipe,
    columns: Mapping[str, Column],
    values: Mapping[str, pl.Series],
    counts: Mapping[str, NDArray[np.int64]] | None = None,
    people: PopulationTable | None = None,
) -> RoleCodes:
    """Give the values of quasi-identifiers and sensitive columns their codes.

    Parameters
    ----------
    values, counts : mappings by column
        The values of every row; or the distinct ones, and in how many rows each occurs.
    people : PopulationTable, optional
        The population, which is brought into the same code space.
    """
    sensitive = {name: _encode_sensitive(values[name], columns[name]) for name in recipe.sensitive}
    encoded, people_codes = [], []
    for name in recipe.quasi:
        rows = len(values[name])
        # One dictionary for both, so that a code means the same value on either side, and what stands for
        # everything stands for everybody.
        both = values[name] if people is None else pl.concat([values[name], people.table.column(name)])
        count = None if counts is None else counts[name]
        column = encode_column(both, columns[name], choose_category_order(recipe), count)
        # To lose the column is a gain then, and even its only value must be something that can be lost.
        if recipe.weights.get(name, 1.0) < 0 and column.domain.size == 1:
            column = replace(column, domain=column.domain.add_unused_code())
        encoded.append(column if people is None else replace(column, codes=column.codes[:rows]))
        people_codes.append(column.codes[rows:])
    found = RoleCodes(
        tuple(encoded),
        {name: codes for name, (codes, _) in sensitive.items()},
        {name: scale for name, (_, scale) in sensitive.items()},
    )
    if people is None:
        return found
    rows_of_people = CodedRows(tuple(people_codes), found.sizes).collapse_rows()
    return replace(found, population=rows_of_people, population_person=people.person)


def encode_distinct(
    recipe: Recipe, columns: Mapping[str, Column], values: Mapping[str, DistinctValues]
) -> RoleCodes:
    """The same for an engine that has the distinct values of every column."""
    series = {name: each.series for name, each in values.items()}
    return encode_roles(recipe, columns, series, {name: each.count for name, each in values.items()})


def _encode_sensitive(series: pl.Series, column: Column) -> tuple[NDArray[np.uint32], ValueScale]:
    """Codes of a sensitive column, where a missing value is a value of its own."""
    if series.dtype == pl.String:
        series = series.replace("", None)  # to a reader an empty text is missing too, and so to the verifier
    distinct, codes, missing = build_dictionary(series)
    number, scale = number_distinct_values(distinct, missing, column)
    return number.astype(np.uint32)[codes], scale


def prepare_rows(
    recipe: Recipe,
    names: Sequence[str],
    columns: Mapping[str, Column],
    codes: RoleCodes,
    rows: CodedRows,
    person: NDArray[np.int64] | None = None,
    group: NDArray[np.int64] | None = None,
    *,
    reach: bool = True,
) -> PreparedTable:
    """Rows in code space as a problem to search, once it is known that the goal is within reach.

    Parameters
    ----------
    names : sequence of str
        All columns of the table.
    codes : RoleCodes
        What the codes of ``rows`` stand for.
    person : int64[rows], optional
        The person of each row, where people are to be counted instead of rows.
    group : int64[rows], optional
        The group of each row's person, where a class must have as many groups as people.
    reach : bool
        Whether it can be asked by now if the goal is within reach: not before people are counted.
    """
    encoded = tuple(replace(column, codes=rows.quasi[j]) for j, column in enumerate(codes.quasi))
    problem = replace(
        build_problem(recipe, encoded, rows, codes.scales),
        population=codes.population,
        population_person=codes.population_person,
        beside=codes.beside,
        person=person,
        group=group,
    )
    if group is not None:
        problem = replace(problem, models=(*problem.models, GroupAnonymity.from_goal(problem.models)))
    if reach:  # last: it needs the counts of the whole table, and costs little beside the search
        check_reach(problem.models, problem.table_counts)
    warnings = _list_warnings(recipe, names, encoded, rows.rows)
    return PreparedTable(problem, encoded, columns, warnings, person=person, group=group)


def build_problem(
    recipe: Recipe, encoded: Iterable[EncodedColumn], rows: CodedRows, scales: Mapping[str, ValueScale]
) -> Problem:
    """What a recipe asks of rows in code space."""
    return Problem(
        domains=tuple(column.domain for column in encoded),
        rows=rows,
        sensitive=recipe.sensitive,
        models=for_columns(recipe.models, recipe.sensitive),
        loss=recipe.loss,
        weights=list_weights(recipe),
        suppress=recipe.suppress,
        seed=recipe.seed,
        threads=recipe.threads or os.cpu_count() or 1,
        scales=scales,
    )


def _list_warnings(
    recipe: Recipe, names: Sequence[str], encoded: Sequence[EncodedColumn], rows: int
) -> tuple[str, ...]:
    """What the user should know about the columns."""
    warnings: list[str] = [warning for column in encoded for warning in column.warnings]
    loose = recipe.without_role(names)
    if loose and recipe.others is None:
        warnings.append(
            CodedWarning(
                "W01",
                f"[W01] no role was given for {quote(loose)}: kept as they are, because this recipe was "
                'written for version 0.1; say others = "keep" or "drop" in it',
            )
        )
    typed = [each.domain.name for each in encoded if each.domain.values.dtype != pl.String]
    if typed and keeps_unchanged_types(recipe) and not has_own_types(recipe):
        warnings.append(
            CodedWarning(
                "W02",
                f"[W02] the types of {quote(typed)} depend on the rows, because this recipe was written for "
                "version 0.1: text if something is generalised, and else what they were; say recipe = 2 "
                "in it",
            )
        )
    if all(model.least_size() == 1 and not model.sensitive for model in recipe.models):
        warnings.append(CodedWarning("W03", "with k = 1 every row may stand alone: nobody is protected"))
    if uncounted := check_loss(recipe.loss, [column.domain for column in encoded]):
        warnings.append(
            CodedWarning(
                "W09",
                f"loss {recipe.loss} does not look at {quote(uncounted)}: to suppress them costs nothing, "
                "and a search may do so",
            )
        )
    for column in encoded:
        values = np.count_nonzero(np.bincount(column.codes))  # of a tree not every leaf occurs
        if values == 1:
            warnings.append(CodedWarning("W04", f"column '{column.domain.name}' has one value only"))
        elif values == rows:
            warnings.append(
                CodedWarning(
                    "W05",
                    f"column '{column.domain.name}' has a different value in every row: is it an identifier?",
                )
            )
    return tuple(warnings)


def read_known_columns(recipe: Recipe, names: Sequence[str]) -> dict[str, Column]:
    """What the recipe knows of quasi-identifiers and sensitive columns of a table with columns ``names``."""
    return recipe.columns(collect_hierarchies(recipe, names))


def known_to_all(recipe: Recipe, names: Sequence[str], always: bool = False) -> dict[str, Column]:
    """What a recipe tells an outsider of the columns of a table with columns ``names``.

    Hierarchies are read only if a model measures in them, or has to know whom their nodes stand for: an
    outsider need not have the others. ``always`` reads them all.
    """
    needed = (
        always
        or population_of(recipe.models) is not None
        or any(getattr(model, "distance", None) == "hierarchical" for model in recipe.models)
    )
    return recipe.columns(collect_hierarchies(recipe, names) if needed else {})
