"""How dangerous a table is: class sizes, attackers, the population, columns, and common demands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.api import Hierarchies, known_columns
from shoal.errors import InputError, RecipeError, quote, unknown
from shoal.privacy import Counts, KMap, Measures, measures, read_population
from shoal.progress import Progress, silent
from shoal.risk.attackers import (
    THRESHOLDS,
    Attacker,
    check_thresholds,
    journalist,
    prosecutor,
    sampled_journalist,
)
from shoal.risk.personal import Role
from shoal.risk.presets import Preset, presets
from shoal.risk.roles import proposed
from shoal.risk.subsets import ColumnSet, ColumnSets, added, column_sets
from shoal.risk.suggestion import suggest_for
from shoal.risk.uniqueness import PopulationUniques, check_fraction, population_uniques
from shoal.table import Column, ColumnType, ReadOptions, Table, read, write
from shoal.verify import count_classes, row_classes

_ROLES: tuple[Role, ...] = ("quasi", "sensitive", "identifier")
CLASS_SIZE, RISK, POPULATION_RISK = "class_size", "prosecutor_risk", "journalist_risk"


@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """How re-identifiable the rows of a table are."""

    rows: int
    classes: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    """Sizes of classes, and how many classes have each."""
    unique_rows: int
    prosecutor: Attacker
    """Somebody who knows that a person is in the table."""
    journalist: Attacker | None
    """Somebody who does not; None where nothing is known of the population."""
    marketer: float
    """Share of rows that are re-identified by somebody who guesses for all of them, among the population
    where it is known."""
    known_by: Literal["table", "fraction"] | None
    """How the population is known."""
    uniques: PopulationUniques | None
    """Estimated uniques of the population, where the sampling fraction is known."""
    measures: Measures
    """What every privacy model finds."""
    sets: ColumnSets
    """How columns, and sets of them, tell rows apart."""
    added: tuple[tuple[str, ColumnSet], ...]
    """Columns beyond the quasi-identifiers, and what becomes of these if one is known as well."""
    presets: tuple[Preset, ...]
    warnings: tuple[str, ...]
    records: pl.DataFrame = field(repr=False)
    """For each row the size of its class and its risks."""
    table: Table = field(repr=False)

    @property
    def smallest_class(self) -> int:
        """Size of the smallest class."""
        return self.sizes[0][0]

    @property
    def uniqueness(self) -> float:
        """Share of rows that stand alone."""
        return self.unique_rows / self.rows

    def write(self, path: str | Path) -> None:
        """Write the table with the risk of every row beside it."""
        write(_beside(self.table, self.records), path, like=self.table.origin)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; without the risks of single rows."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "unique_rows": self.unique_rows,
            "uniqueness": self.uniqueness,
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "class_sizes": [{"size": size, "classes": many} for size, many in self.sizes],
            "prosecutor": self.prosecutor.to_dict(),
            "journalist": None if self.journalist is None else self.journalist.to_dict(),
            "marketer": self.marketer,
            "population": self.known_by,
            "population_uniques": None if self.uniques is None else self.uniques.to_dict(),
            "measures": self.measures.to_dict(),
            "sets": self.sets.to_dict(),
            "added": [{"column": name, **found.to_dict()} for name, found in self.added],
            "presets": [each.to_dict() for each in self.presets],
            "warnings": list(self.warnings),
        }


def risk(
    source: object,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    *,
    identifier: Sequence[str] = (),
    population: object = None,
    sampling_fraction: float | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    largest: int | None = None,
    hierarchies: Hierarchies = None,
    types: Mapping[str, ColumnType] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    options: ReadOptions | None = None,
    on_progress: Progress | None = None,
) -> Risk:
    """How re-identifiable the rows of a table are, raw or released.

    Parameters
    ----------
    source : path or frame
        The table.
    quasi, sensitive : sequences of column names
        What somebody could recognise a person by, and what nobody should learn. Without quasi-identifiers
        the roles that `suggest` proposes are taken, which a warning says.
    identifier : sequence of column names
        Columns that are left out before the table is given away, and so do not count.
    population : path or frame, optional
        A table of everybody who could be in the table.
    sampling_fraction : float, optional
        Instead: which share of them is in the table.
    thresholds : sequence of float
        Risks above which rows are counted.
    largest : int, optional
        Sets of up to so many columns are looked at; 1 for single columns only.
    hierarchies, types, orders : as in `shoal.verify`

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [21, 21, 22, 30], "sex": ["f", "f", "m", "m"]})
    >>> found = risk(people, ["age", "sex"])
    >>> found.unique_rows, found.prosecutor.maximum, found.prosecutor.average
    (2, 1.0, 0.75)
    >>> found.records["prosecutor_risk"].to_list()
    [0.5, 0.5, 1.0, 1.0]
    """
    options = options or ReadOptions()
    table = read(source, options)
    if isinstance(quasi, str) or isinstance(sensitive, str) or isinstance(identifier, str):
        raise RecipeError("quasi, sensitive and identifier are lists of column names, not one text")
    names = (*(quasi or ()), *sensitive)
    question = Question(
        tuple(quasi or ()),
        tuple(sensitive),
        tuple(identifier),
        population,
        sampling_fraction,
        check_thresholds(thresholds),
        largest,
        known_columns(names, hierarchies, types, orders),
    )
    return risk_of(table, question, options, on_progress or silent)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked about a table."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()
    population: object = None
    fraction: float | None = None
    thresholds: tuple[float, ...] = THRESHOLDS
    largest: int | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.population is not None and self.fraction is not None:
            raise RecipeError("give the population as a table or as a sampling fraction, not both")
        if self.fraction is not None:
            check_fraction(self.fraction)
        if self.largest is not None and self.largest < 1:
            raise RecipeError(f"largest is a number of columns, at least 1, not {self.largest}")


def risk_of(table: Table, question: Question, options: ReadOptions, on_progress: Progress = silent) -> Risk:
    """`risk` for a table that has been read."""
    for name in question.identifier:
        if name not in table.names:
            raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
    said: tuple[str, ...] = ()
    if not question.quasi:
        question, warning = _proposed(table, question, options)
        said = (warning,)
    quasi = question.quasi
    counts, class_of = _counted(table, question, options)
    size = counts.size
    by_class = _risks(counts, question)
    left = [name for name in table.names if name not in question.identifier]
    sets = column_sets(table, left, largest=question.largest, on_progress=on_progress)
    columns = [proposed(table, each) for each in sets.columns]
    spread, many = np.unique(size, return_counts=True)
    theirs = by_class.get(POPULATION_RISK)
    mine = Attacker.of(by_class[RISK], size, question.thresholds)
    theirs_summed = None if theirs is None else Attacker.of(theirs, size, question.thresholds)
    return Risk(
        rows=counts.rows,
        classes=counts.classes,
        quasi=quasi,
        sensitive=question.sensitive,
        sizes=tuple(zip(spread.tolist(), many.tolist(), strict=True)),
        unique_rows=int(np.count_nonzero(size == 1)),
        prosecutor=mine,
        journalist=theirs_summed,
        marketer=(theirs_summed or mine).average,
        known_by="table" if counts.fitting is not None else "fraction" if question.fraction else None,
        uniques=population_uniques(size, question.fraction) if question.fraction else None,
        measures=measures(counts),
        sets=sets,
        added=_beyond(table, quasi, left),
        presets=presets(table, columns, size),
        warnings=(*said, *_warnings(table, counts, sets, quasi)),
        records=pl.DataFrame(
            {CLASS_SIZE: size[class_of], **{name: risks[class_of] for name, risks in by_class.items()}}
        ),
        table=table,
    )


def _proposed(table: Table, asked: Question, options: ReadOptions) -> tuple[Question, str]:
    """The same question with the roles that `suggest` proposes where nobody has named them, and a warning."""
    found = suggest_for(table, options)
    taken = {*asked.sensitive, *asked.identifier}
    roles = {
        role: getattr(asked, role) or tuple(name for name in found.of_role(role) if name not in taken)
        for role in _ROLES
    }
    if not roles["quasi"]:
        raise RecipeError(
            f"say which columns someone could recognise a person by, as --quasi {','.join(table.names[:2])}; "
            f"none was found by its name or values among {quote(table.names, 20)}"
        )
    said = "; ".join(f"{role} {', '.join(names)}" for role, names in roles.items() if names)
    named = replace(asked, quasi=roles["quasi"], sensitive=roles["sensitive"], identifier=roles["identifier"])
    return named, f"roles that nobody named are those of 'shoal suggest': {said}"


def _counted(table: Table, question: Question, options: ReadOptions) -> tuple[Counts, NDArray[np.int64]]:
    people = None
    if question.population is not None:
        model = KMap(2, question.population)  # type: ignore[arg-type]
        people = read_population([model], question.quasi, options)
    counts = count_classes(table, question.quasi, question.sensitive, question.columns, people)
    return counts, row_classes(table, question.quasi)


def _risks(counts: Counts, question: Question) -> dict[str, NDArray[np.float64]]:
    """The risk of the rows of each class, to everybody of whom enough is known."""
    found = {RISK: prosecutor(counts.size)}
    if counts.fitting is not None:
        found[POPULATION_RISK] = journalist(counts.size, counts.fitting.rows)
    elif question.fraction is not None:
        found[POPULATION_RISK] = sampled_journalist(counts.size, question.fraction)
    return found


def _beyond(table: Table, quasi: Sequence[str], left: Sequence[str]) -> tuple[tuple[str, ColumnSet], ...]:
    """The other columns, those first that would single out most."""
    others = [name for name in left if name not in quasi]
    if not others:
        return ()
    found = added(table, quasi, others)
    return tuple(sorted(((name, found[name]) for name in others), key=lambda each: -each[1].unique_rows))


def _warnings(table: Table, counts: Counts, sets: ColumnSets, quasi: Sequence[str]) -> Iterator[str]:
    keys = [each.columns[0] for each in sets.columns if each.uniqueness == 1 and table.rows > 1]
    if loose := [name for name in keys if name not in quasi]:
        yield (
            f"{quote(loose)} differs in every row and is no quasi-identifier here: if it is released, "
            "whoever knows it knows the row; name it --identifier if it is left out"
        )
    if counts.fitting is not None and (short := counts.size > counts.fitting.rows).any():
        yield (
            f"{int(counts.size[short].sum()):,} rows are in classes that fewer people of the population fit "
            "than there are rows: the population table does not hold everybody, so their class counts instead"
        )


def _beside(table: Table, records: pl.DataFrame) -> pl.DataFrame:
    if taken := [name for name in records.columns if name in table.names]:
        raise InputError(f"{table.origin} has columns called {quote(taken)} already: rename them first")
    return pl.DataFrame([*table.frame.get_columns(), *records.get_columns()])
