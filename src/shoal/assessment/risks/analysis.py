"""How dangerous a table is: class sizes, attackers, the population, columns, and common demands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from shlex import quote as shell
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.assessment.risks.attackers import (
    THRESHOLDS,
    Attacker,
    check_thresholds,
    estimate_journalist_risk,
    measure_journalist_risk,
    measure_prosecutor_risk,
)
from shoal.assessment.risks.people import PeopleRisk, measure_people_risk
from shoal.assessment.risks.presets import Preset, check_presets
from shoal.assessment.risks.roles import propose_role
from shoal.assessment.risks.special import SpecialUniques, find_special_uniques
from shoal.assessment.risks.strata import Stratum, measure_strata
from shoal.assessment.risks.subsets import (
    ColumnSet,
    ColumnSets,
    measure_added_columns,
    measure_column_sets,
)
from shoal.assessment.risks.suggestion import suggest_for_table
from shoal.assessment.risks.survey import (
    SurveyFigures,
    estimate_individual_risk,
    measure_survey,
)
from shoal.assessment.risks.wildcards import sum_fitting_classes
from shoal.engines.api import Hierarchies, known_columns, name_events
from shoal.engines.released_tables import read_released_tables
from shoal.errors import InputError, OutputError, RecipeError, quote, unknown
from shoal.privacy import Counts, KMap, Measures, measure_classes, read_population
from shoal.privacy.known_rows import SMALL, check_small
from shoal.privacy.people import number_people
from shoal.privacy.population_uniques import (
    PopulationUniques,
    check_fraction,
    estimate_population_uniques,
)
from shoal.support.notebooks import draw_grid, draw_note, draw_words, follow_progress
from shoal.support.pickling import PartlyPickled
from shoal.support.progress import Progress, silent
from shoal.support.warning_codes import CodedWarning
from shoal.table import Column, ColumnType, ReadOptions, Table, read_table, read_weights, write_table
from shoal.table.personal import Role, announces_person
from shoal.verification.tables import EVENT_TABLE, join_events
from shoal.verification.verifier import count_classes, row_classes

_FEWEST = 0.01  # values per row of what may name people: what has fewer, such as a clinic, does not
_REPEATING = 0.05  # share of the rows that repeat a value, where people have several rows
_ROLES: tuple[Role, ...] = ("quasi", "sensitive", "identifier")
CLASS_SIZE, RISK, POPULATION_RISK = "class_size", "prosecutor_risk", "journalist_risk"
SCORE, DIS_SCORE = "suda_score", "dis_suda_score"
FITTING, WEIGHTED = "fitting_rows", "weighted_frequency"


@dataclass(frozen=True, slots=True, eq=False)
class Risk(PartlyPickled):
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
    known_by: Literal["table", "fraction", "weights"] | None
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
    people: int | None = None
    """How many people there are, where people are counted and not rows."""
    people_risk: PeopleRisk | None = None
    """How many of them are found by what is known of them, where a column says whose row it is."""
    suppressed_rows: int = 0
    """Rows of which every quasi-identifier is suppressed: they do not count in averages and shares."""
    special: SpecialUniques | None = None
    """Rows that few quasi-identifiers single out, if asked for."""
    expected: float = 0.0
    """How many guesses are right if all rows are guessed, one each: the global risk is its share of them."""
    survey: SurveyFigures | None = None
    """What survey weights tell of the population, if there are any."""
    strata: tuple[Stratum, ...] = ()
    """The risk of the rows of each stratum, if asked for."""

    @property
    def smallest_class(self) -> int:
        """Size of the smallest class."""
        return self.sizes[0][0]

    @property
    def uniqueness(self) -> float:
        """Share of rows that stand alone, of those that have some value."""
        return self.unique_rows / (self.rows - self.suppressed_rows)

    def _repr_html_(self) -> str:
        """In notebooks: how many rows are found, by whom, by which columns, and which demands are met."""
        return draw_note(f"{self.unique_rows:,} of {self.rows:,} rows stand alone", self._draw_parts())

    def _draw_parts(self) -> Iterator[str]:
        unit = "rows" if self.people is None else "people"
        yield draw_words(
            f"By {', '.join(self.quasi)}: {self.classes:,} classes, the smallest of {self.smallest_class:,} "
            f"{unit}."
        )
        known = {"prosecutor": self.prosecutor}
        if self.journalist is not None:
            known["journalist"] = self.journalist
        limits = [f"above {limit:g}" for limit, _ in self.prosecutor.above]
        yield draw_grid(
            ("attacker", "worst row", "average", *limits),
            [
                (name, *map(_format_share, (each.maximum, each.average, *(share for _, share in each.above))))
                for name, each in known.items()
            ],
        )
        yield draw_words(f"Marketer: {_format_share(self.marketer)} of all guesses are right.")
        yield draw_grid(
            ("column", "values", "rows that it singles out"),
            [
                (", ".join(each.columns), f"{each.classes:,}", _format_share(each.uniqueness))
                for each in self.sets.columns
            ],
            most=12,
        )
        yield draw_grid(
            ("demand", "met", "found"),
            [(each.name, "met" if each.holds else "not met", each.found) for each in self.presets],
        )
        yield from (draw_words(each, "soft") for each in self.warnings)

    def write(self, path: str | Path) -> None:
        """Write the table with the risk of every row beside it, for its owner alone."""
        if self.table.rows != self.rows:
            raise OutputError("the table did not go along when its risk was pickled: write it before")
        write_table(_append_risks(self.table, self.records), path, like=self.table.origin, private=True)

    def _collect_kept_state(self) -> dict[str, Any]:
        """What is kept when it is pickled or copied: its figures, not the rows that they are of."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {
            "table": self.table.strip_values()
        }

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; without the risks of single rows."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "suppressed_rows": self.suppressed_rows,
            "unique_rows": self.unique_rows,
            "uniqueness": self.uniqueness,
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "class_sizes": [{"size": size, "classes": many} for size, many in self.sizes],
            "prosecutor": self.prosecutor.to_dict(),
            "journalist": None if self.journalist is None else self.journalist.to_dict(),
            "marketer": self.marketer,
            "expected_reidentifications": self.expected,
            "population": self.known_by,
            "population_uniques": None if self.uniques is None else self.uniques.to_dict(),
            "measures": self.measures.to_dict(),
            "sets": self.sets.to_dict(),
            "added": [{"column": name, **found.to_dict()} for name, found in self.added],
            "presets": [each.to_dict() for each in self.presets],
            "warnings": list(self.warnings),
            **({} if self.survey is None else {"survey": self.survey.to_dict()}),
            **({"strata": [each.to_dict() for each in self.strata]} if self.strata else {}),
            **({} if self.special is None else {"special_uniques": self.special.to_dict()}),
            **({} if self.people is None else {"people": self.people}),
            **({} if self.people_risk is None else {"people_risk": self.people_risk.to_dict()}),
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
    person: str | None = None,
    k: int = SMALL,
    seed: int = 0,
    group: str | None = None,
    suda: int | None = None,
    weight_column: str | None = None,
    strata: Sequence[str] = (),
    wildcards: Sequence[str] = (),
    events: Mapping[str, object] | Sequence[str | Path] | None = None,
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
    person : str, optional
        The column that says whose row it is, where people have several. Classes, attackers and models then
        count people, and ``people_risk`` says how many are found by one, two and more rows that somebody
        knows of them. How sets of columns tell rows apart is still counted by rows.
    k : int
        Groups of fewer people are counted there.
    seed : int
        People are drawn by it where not all of them can be looked at.
    group : str, optional
        Beside ``person``, the column that says which group, such as a household, the person is in:
        ``people_risk`` then says what a known row of one member tells about the others.
    suda : int, optional
        Find special uniques (SUDA2): rows that up to so many of the quasi-identifiers single out, with a
        score for each row. With a sampling fraction also the chance that a match is right (DIS-SUDA).
    weight_column : str, optional
        The column of survey weights: how many people of the population each row stands for. The journalist's
        risk is then the individual risk of Benedetti and Franconi.
    strata : sequence of column names
        The risk is told for the rows of each of their combinations, too. Classes are those of the table.
    wildcards : sequence of str
        Texts of cells that match anything, such as ``*`` for suppressed ones; an empty text stands for
        missing cells. Risks are then those among all rows that fit, and not only among equal ones.
    events : mapping or sequence, optional
        Event tables, as in `shoal.anonymize`; ``source`` is then the table of people, or the folder of a
        release. All tables are joined by ``person``, and the rows are the events.

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
    if any(isinstance(each, str) for each in (quasi, sensitive, identifier, strata)):
        raise RecipeError("quasi, sensitive, identifier and strata are lists of column names, not one text")
    if isinstance(wildcards, str):
        raise RecipeError("wildcards is a list of texts, not one text")
    single = [name for name in (person, group, weight_column) if name is not None]
    names = (*(quasi or ()), *sensitive, *strata, *single)
    question = RiskQuestion(
        tuple(quasi or ()),
        tuple(sensitive),
        tuple(identifier),
        population,
        sampling_fraction,
        check_thresholds(thresholds),
        largest,
        known_columns(names, hierarchies, types, orders),
        person,
        k,
        seed,
        group,
        suda,
        weight_column,
        tuple(strata),
        tuple(wildcards),
    )
    if events:
        tables = read_released_tables(source, name_events(events), options)
        with follow_progress(on_progress) as tell:
            return analyze_tables(tables, question, options, tell)
    # What is not counted may hold anything.
    table = read_table(source, options, left_out=lambda every: [name for name in every if name not in names])
    with follow_progress(on_progress) as tell:
        return analyze_risk(table, question, options, tell)


def analyze_tables(
    tables: Mapping[str, Table],
    question: RiskQuestion,
    options: ReadOptions,
    on_progress: Progress = silent,
) -> Risk:
    """The risk of people and their events in several tables, joined as anybody can who has the ids."""
    if question.person is None:
        raise RecipeError("event tables are joined by a person: name the column that says whose row it is")
    if not question.quasi:
        raise RecipeError("say which columns someone could recognise a person by, of people and of events")
    if question.group is not None:
        raise RecipeError("event tables are looked at without a group: leave it out")
    joined, without = join_events(tables, question.person)
    if len(tables) > 2:  # whoever knows an event knows its table
        question = replace(question, quasi=(*question.quasi, EVENT_TABLE))
    found = analyze_risk(joined, question, options, on_progress)
    told = f"{without:,} people have no events, and are not counted here"
    return replace(found, warnings=(*found.warnings, told)) if without else found


@dataclass(frozen=True, slots=True, eq=False)
class RiskQuestion:
    """What is asked about a table."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()
    population: object = None
    fraction: float | None = None
    thresholds: tuple[float, ...] = THRESHOLDS
    largest: int | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    person: str | None = None
    k: int = SMALL
    seed: int = 0
    group: str | None = None
    suda: int | None = None
    weight: str | None = None
    strata: tuple[str, ...] = ()
    wildcards: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_rows()
        if self.suda is not None and self.suda < 1:
            raise RecipeError(f"suda is a number of columns, at least 1, not {self.suda}")
        if self.suda is not None and self.person is not None:
            raise RecipeError("special uniques are rows, not people: give suda or the person")
        if self.group is not None and self.person is None:
            raise RecipeError(f"the group '{self.group}' is one of people: name the person as well")
        check_small(self.k)
        if self.person is not None and self.fraction is not None:
            raise RecipeError(
                "a sampling fraction is one of rows, not of people: give the population as a table, or leave "
                "out the person"
            )
        if self.population is not None and self.fraction is not None:
            raise RecipeError("give the population as a table or as a sampling fraction, not both")
        if self.fraction is not None:
            check_fraction(self.fraction)
        if self.largest is not None and self.largest < 1:
            raise RecipeError(f"largest is a number of columns, at least 1, not {self.largest}")

    def _check_rows(self) -> None:
        """Refuse what is about rows where people are counted, and two ways to know the population."""
        if self.person is not None and (self.weight or self.strata or self.wildcards):
            raise RecipeError(
                "weights, strata and wildcards are about rows, not people: leave out the person"
            )
        if self.weight is not None and (self.population is not None or self.fraction is not None):
            raise RecipeError("survey weights tell the population: leave out its table and the fraction")
        if self.wildcards and self.fraction is not None:
            raise RecipeError(
                "a sampling fraction is fitted to classes, which rows with wildcards do not form: give "
                "survey weights, or the population as a table"
            )
        if self.weight is not None and self.weight in (*self.quasi, *self.sensitive):
            raise RecipeError(f"'{self.weight}' is named as the weight: give it no other role")


def analyze_risk(
    table: Table, question: RiskQuestion, options: ReadOptions, on_progress: Progress = silent
) -> Risk:
    """`risk` for a table that has been read."""
    owners = [name for name in (question.person, question.group) if name is not None]
    others = [] if question.weight is None else [question.weight]
    for name in (*question.identifier, *owners, *others, *question.strata):
        if name not in table.names:
            raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
    table.check_single_values((*question.quasi, *question.sensitive, *others, *question.strata))
    said: tuple[str, ...] = ()
    if not question.quasi:
        question, warning = _add_proposed_roles(table, question, options)
        said = (warning,)
    quasi = question.quasi
    person, told = _read_person(table, question.person)
    counts, class_of = _count_with_population(table, question, options, person)
    size = counts.size
    fitting = _count_fitting_rows(table, counts, class_of, question, on_progress)
    by_class = _measure_risks(counts, fitting, question)
    # Identifiers do not count: they are left out before the table is given away.
    hidden = {*question.identifier, *owners, *table.flattened}
    left = [name for name in table.names if name not in hidden]
    sets = measure_column_sets(table, left, largest=question.largest, on_progress=on_progress)
    special = (
        None
        if question.suda is None
        else find_special_uniques(table, quasi, question.suda, question.fraction, on_progress)
    )
    columns = [propose_role(table, each) for each in sets.columns]
    spread, many = np.unique(size, return_counts=True)
    theirs = by_class.get(POPULATION_RISK)
    unique = (size if counts.rows_of is None else counts.rows_of)[fitting.rows == 1]
    mine = Attacker.from_class_risks(by_class[RISK], size, question.thresholds, counts.shown)
    theirs_summed = (
        None if theirs is None else Attacker.from_class_risks(theirs, size, question.thresholds, counts.shown)
    )
    return Risk(
        rows=counts.rows,
        classes=counts.classes,
        quasi=quasi,
        sensitive=question.sensitive,
        sizes=tuple(zip(spread.tolist(), many.tolist(), strict=True)),
        unique_rows=int(unique.sum()),
        prosecutor=mine,
        journalist=theirs_summed,
        # Without a population the guess is among the rows of the table.
        marketer=(theirs_summed or mine).average,
        known_by=_find_how_known(counts, question),
        uniques=estimate_population_uniques(size[counts.shown], question.fraction)
        if question.fraction
        else None,
        measures=measure_classes(counts),
        sets=sets,
        added=_rank_further_columns(table, quasi, left),
        presets=check_presets(table, columns, size),
        warnings=(
            *said,
            *told,
            *_list_unnamed_people(table, question),
            *_list_warnings(table, counts, sets, quasi),
        ),
        # All rows of a class share its risk.
        records=pl.DataFrame(
            {
                CLASS_SIZE: size[class_of],
                **{name: values[class_of] for name, values in fitting.list_columns(question)},
                **{name: risks[class_of] for name, risks in by_class.items()},
                **_list_scores(special),
            }
        ),
        special=special,
        expected=float((by_class.get(POPULATION_RISK, by_class[RISK]) * size)[counts.shown].sum()),
        survey=fitting.measure_survey(counts.shown),
        strata=measure_strata(
            table, question.strata, class_of, counts.shown, fitting.rows, by_class[RISK], theirs
        ),
        table=table,
        people=np.unique(person).size if person is not None and counts.counts_people else None,
        people_risk=None
        if person is None
        else measure_people_risk(table, quasi, person, question.k, question.seed, question.group),
        suppressed_rows=0 if counts.suppressed is None else int(np.sum(class_of == counts.suppressed)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Fitting:
    """By class, the rows that could be of the same person, and what they stand for."""

    rows: NDArray[np.int64]
    """How many there are: those of the class, and with wildcards those of others."""
    weighted: NDArray[np.float64] | None = None
    """Sum of their weights, if there are any."""
    weights: NDArray[np.float64] | None = None
    """[rows] the weights."""
    column: str | None = None

    def list_columns(self, question: RiskQuestion) -> Iterator[tuple[str, NDArray[Any]]]:
        """What is told of every row beside the size of its class."""
        if question.wildcards:
            yield FITTING, self.rows
        if self.weighted is not None:
            yield WEIGHTED, self.weighted

    def measure_survey(self, shown: NDArray[np.bool_]) -> SurveyFigures | None:
        """What the weights tell, if there are any, of classes that have some value."""
        if self.weighted is None or self.weights is None or self.column is None:
            return None
        return measure_survey(self.column, self.weights, self.rows[shown], self.weighted[shown])


def _count_fitting_rows(
    table: Table,
    counts: Counts,
    class_of: NDArray[np.int64],
    question: RiskQuestion,
    on_progress: Progress,
) -> _Fitting:
    rows = counts.size.astype(np.int64)
    weights = None if question.weight is None else read_weights(table, question.weight)
    weighted: NDArray[np.float64] | None = None
    if weights is not None:
        weighted = np.bincount(class_of, weights, counts.classes).astype(np.float64)
    if question.wildcards:
        amounts = [rows.astype(float)] + ([] if weighted is None else [weighted])
        found = sum_fitting_classes(table, question.quasi, class_of, amounts, question.wildcards, on_progress)
        # Sums of floats, which are exact for whole numbers below 2^53.
        rows, weighted = np.rint(found[0]).astype(np.int64), found[1] if weights is not None else None
    return _Fitting(rows, weighted, weights, question.weight)


def _find_how_known(counts: Counts, question: RiskQuestion) -> Literal["table", "fraction", "weights"] | None:
    if counts.fitting is not None:
        return "table"
    return "weights" if question.weight is not None else "fraction" if question.fraction else None


def _read_person(table: Table, name: str | None) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    """The person of each row, and what is to be told of rows without one."""
    if name is None:
        return None, ()
    person, missing = number_people(table.column(name))
    told = f"'{name}' is missing in {missing:,} rows: each of them counts as a person of its own"
    return person, (CodedWarning("W12", told),) if missing else ()


def _add_proposed_roles(table: Table, asked: RiskQuestion, options: ReadOptions) -> tuple[RiskQuestion, str]:
    """The same question with the roles that `suggest` proposes where nobody has named them, and a warning."""
    found = suggest_for_table(table, options)
    # Columns that were named keep their role, whatever is proposed.
    taken = {*asked.sensitive, *asked.identifier, *(() if asked.weight is None else (asked.weight,))}
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
    # A sampling fraction is one of rows, see `RiskQuestion`.
    if asked.fraction is None and asked.person is None and found.person not in (None, *taken):
        named, said = replace(named, person=found.person), f"{said}; person {found.person}"
    return named, f"roles that nobody named are those of 'shoal suggest': {said}"


def _count_with_population(
    table: Table, question: RiskQuestion, options: ReadOptions, person: NDArray[np.int64] | None
) -> tuple[Counts, NDArray[np.int64]]:
    people = None
    if question.population is not None:
        # Any k will do: the model is only how a population is read.
        model = KMap(2, question.population)  # type: ignore[arg-type]
        people = read_population([model], question.quasi, options, question.person)
    counts = count_classes(table, question.quasi, question.sensitive, question.columns, people, person)
    return counts, row_classes(table, question.quasi)


def _measure_risks(
    counts: Counts, fitting: _Fitting, question: RiskQuestion
) -> dict[str, NDArray[np.float64]]:
    """The risk of the rows of each class, to everybody of whom enough is known."""
    found = {RISK: measure_prosecutor_risk(fitting.rows)}
    if counts.fitting is not None:
        found[POPULATION_RISK] = measure_journalist_risk(fitting.rows, counts.fitting.rows)
    elif fitting.weighted is not None:
        found[POPULATION_RISK] = estimate_individual_risk(fitting.rows, fitting.weighted)
    elif question.fraction is not None:
        # Everybody fits a row without any value, and it tells nothing of how classes are spread.
        found[POPULATION_RISK] = np.full(counts.classes, question.fraction / counts.rows)
        found[POPULATION_RISK][counts.shown] = estimate_journalist_risk(
            counts.size[counts.shown], question.fraction
        )
    return found


def _list_scores(special: SpecialUniques | None) -> dict[str, NDArray[np.float64]]:
    """The scores of all rows as columns, where special uniques were asked for."""
    if special is None:
        return {}
    chance = {} if special.chance is None else {DIS_SCORE: special.chance}
    return {SCORE: special.score, **chance}


def _rank_further_columns(
    table: Table, quasi: Sequence[str], left: Sequence[str]
) -> tuple[tuple[str, ColumnSet], ...]:
    """The other columns, those first that would single out most."""
    others = [name for name in left if name not in quasi]
    if not others:
        return ()
    found = measure_added_columns(table, quasi, others)
    return tuple(sorted(((name, found[name]) for name in others), key=lambda each: -each[1].unique_rows))


def _list_warnings(table: Table, counts: Counts, sets: ColumnSets, quasi: Sequence[str]) -> Iterator[str]:
    # In a table of one row every column is unique, which says nothing.
    keys = [each.columns[0] for each in sets.columns if each.uniqueness == 1 and table.rows > 1]
    if loose := [name for name in keys if name not in quasi]:
        yield (
            f"{quote(loose)} differs in every row and is no quasi-identifier here: if it is released, "
            "anyone who knows it knows the row; name it --identifier if it is left out"
        )
    if counts.suppressed is not None:
        yield (
            f"{int(counts.size[counts.suppressed]):,} {counts.unit} have no value but *: they do not count "
            "in averages and shares, which they would only lower"
        )
    # All are people of the population, so that a class cannot have more of them.
    if counts.fitting is not None and (short := counts.size > counts.fitting.rows).any():
        yield (
            f"{int(counts.size[short].sum()):,} {counts.unit} are in classes that fewer people of the "
            f"population fit than there are {counts.unit}: the population table does not hold everybody, so "
            "their class counts instead"
        )


def _list_unnamed_people(table: Table, question: RiskQuestion) -> Iterator[str]:
    """Say which columns seem to tell whose row each is, where nobody named one and people are not counted."""
    known = {*question.quasi, *question.sensitive, *table.flattened}
    for name in table.names if question.person is None else ():
        if name in known or not announces_person(name):
            continue
        values = table.column(name).n_unique()
        if _FEWEST * table.rows <= values < (1 - _REPEATING) * table.rows:
            yield (
                f"{quote([name])} repeats: {values:,} values in {table.rows:,} rows, and rows were counted; "
                f"if it says whose row it is, name it with --person {shell(name)}, so that people are counted"
            )


def _append_risks(table: Table, records: pl.DataFrame) -> pl.DataFrame:
    if taken := [name for name in records.columns if name in table.names]:
        raise InputError(f"{table.origin} has columns called {quote(taken)} already: rename them first")
    return pl.DataFrame([*table.frame.get_columns(), *records.get_columns()])


def _format_share(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.01 else f"{100 * share:.1f} %"
