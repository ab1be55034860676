"""The population that some models compare a release with: a table of everybody who could be in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, RecipeError, quote, unknown
from shoal.privacy.base import Model
from shoal.privacy.people import has_repeated_people, read_people
from shoal.table import Column, ReadOptions, Table, infer_type, parse_values, read_table, to_strings


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Population:
    """Where a population table is: a path, or a frame in memory."""

    source: object

    def __post_init__(self) -> None:
        if isinstance(self.source, Population):
            object.__setattr__(self, "source", self.source.source)
        elif isinstance(self.source, str | os.PathLike):
            object.__setattr__(self, "source", os.fspath(self.source))
        if self.source is None or self.path == "":
            raise RecipeError("the population is a table: give its path, or in Python a frame")

    @property
    def path(self) -> str | None:
        """The path, if it is a file."""
        return self.source if isinstance(self.source, str) else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Population):
            return NotImplemented
        # Frames are the same only if they are one object: comparing contents would read them both.
        return self.path == other.path if self.path is not None else self.source is other.source

    def __hash__(self) -> int:
        return hash(self.path if self.path is not None else id(self.source))

    def __repr__(self) -> str:
        return f"Population({str(self)!r})"

    def __str__(self) -> str:
        return self.path if self.path is not None else f"a {type(self.source).__module__.split('.')[0]} frame"


@dataclass(frozen=True, slots=True, eq=False)
class PopulationTable:
    """A population that has been read."""

    table: Table
    person: NDArray[np.int64] | None = None
    """The person of each row, where some have several; None where every row is a person of its own."""


def population_of(models: Iterable[Model]) -> Population | None:
    """The population that models compare with, if any does."""
    named = [model.population for model in models if hasattr(model, "population")]
    if any(other != named[0] for other in named):
        raise RecipeError(
            f"the models of one goal compare with one population, but {quote(dict.fromkeys(named))} are named"
        )
    return named[0] if named else None


def move_population(model: Model, move: Callable[[str], str]) -> Model:
    """The model with the path of its population, if it has one, moved."""
    if not hasattr(model, "population"):
        return model
    population: Population = model.population
    if population.path is None:
        raise RecipeError("a recipe names a population by its path, and this one is a frame: save it first")
    return replace(model, population=Population(move(population.path)))  # type: ignore[type-var]


def read_population(
    models: Iterable[Model], quasi: Sequence[str], options: ReadOptions, person: str | None = None
) -> PopulationTable | None:
    """Read the population that models compare with, if any does; it has all quasi-identifiers.

    Its delimiter and encoding are detected: they need not be those of the table. If it has the column
    ``person``, that says whose row each is; otherwise every row is a person of its own.
    """
    population = population_of(models)
    if population is None:
        return None
    try:
        people = read_table(population.source, replace(options, delimiter=None, encoding=None, query=None))
    except InputError as error:
        raise InputError(f"the population cannot be read: {error}") from error
    if absent := [name for name in quasi if name not in people.names]:
        raise InputError(
            f"the population, {people.origin}, lacks {quote(absent)}: it must have every quasi-identifier; "
            f"{unknown('column', absent[0], people.names)}"
        )
    whose = read_people(people, person) if person in people.names else None
    return PopulationTable(people, whose if whose is not None and has_repeated_people(whose) else None)


def align_population(
    people: PopulationTable, quasi: Mapping[str, pl.Series], columns: Mapping[str, Column]
) -> PopulationTable:
    """The population with the same kind of values as the table's quasi-identifiers have."""
    table = people.table
    like = [_align_column(table, series, columns[name]).alias(name) for name, series in quasi.items()]
    return replace(people, table=replace(table, frame=pl.DataFrame(like)))


def _align_column(people: Table, like: pl.Series, column: Column) -> pl.Series:
    series = people.column(column.name)
    where = f"the population, {people.origin}"
    if series.dtype != like.dtype:
        series = _cast_values(series, like.dtype, column, where)
    if column.hierarchy is None and series.dtype == pl.String:
        here, there = (each.drop_nulls().unique(maintain_order=True) for each in (series, like))
        _check_values(here, there, column, where)
    return series


def _cast_values(series: pl.Series, dtype: pl.DataType, column: Column, where: str) -> pl.Series:
    """The same values in another type."""
    if dtype == pl.String:
        return to_strings(series)
    kind = infer_type(pl.Series([], dtype=dtype)).type
    try:
        if kind not in ("string", "ordered"):
            parse_values(series.unique().sort(), kind, column.name)  # what is wrong is named once
        read = (
            to_strings(series) if kind in ("string", "ordered") else parse_values(series, kind, column.name)
        )
    except InputError as error:
        raise InputError(f"{where}: {error}, as in the table") from error
    # Not strict, so that all values that do not fit are named together.
    cast = read.cast(dtype, strict=False)
    if bad := to_strings(series.filter(cast.is_null() & series.is_not_null())).unique().sort().to_list():
        raise InputError(
            f"{where}: column '{column.name}' is {dtype} in the table, but here it has {quote(bad)}"
        )
    return cast


def _check_values(values: pl.Series, like: pl.Series, column: Column, where: str) -> None:
    """Refuse text that is not what the table's column holds: all of it would turn into mere text."""
    kind = column.type or ("ordered" if column.order else infer_type(like).type)
    if kind == "string" or values.is_empty():
        return
    missing = infer_type(values).extra_na
    try:
        parse_values(
            values.filter(~values.is_in(list(missing))),
            # A whole number may be written as 3.0 in another table.
            "float" if kind == "integer" else kind,
            column.name,
            column.order,
        )
    except InputError as error:
        raise InputError(f"{where}: {error}, as in the table") from error
