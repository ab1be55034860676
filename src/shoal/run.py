"""Run a recipe: read, encode, search, recode, verify, write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import ALGORITHMS, Problem, Progress, SafePubScheme, TreeGuided, settled, silent
from shoal.domain import Domain
from shoal.encoding import CategoryOrder, Encoded, dictionary, encode, missing_rows
from shoal.errors import GoalNotMet, InputError, InternalError, RecipeError, quote, unknown
from shoal.frequency import CodedRows, FrequencyTable
from shoal.hierarchies import Hierarchy, read_hierarchies
from shoal.loss import LOSSES
from shoal.parameters import describe, name_of
from shoal.privacy import (
    KAnonymity,
    SafePub,
    Scale,
    achieved_text,
    aligned,
    for_columns,
    matching,
    population_of,
    read_population,
    safepub,
    scaled,
)
from shoal.recipe import Recipe, hierarchy_files
from shoal.recoding import Proposal, Recoding
from shoal.report import Evidence, Report
from shoal.saved import SavedRecoding
from shoal.table import Column, Table, as_text, check_writable, formula_cells, formula_names, read, write
from shoal.verify import Verdict, Verification, in_the_way, verify_table


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A verified release."""

    frame: Any
    """The same kind of frame as came in."""
    report: Report
    recipe: Recipe
    table: Table = field(repr=False)
    """What was anonymized."""
    solutions: tuple[Any, ...] = field(default=(), repr=False)
    """All tables of least loss that an exact search listed; the first is ``frame``, and all are verified."""
    recoding: Recoding | None = field(default=None, repr=False)
    """The classes and their cells."""
    columns: Mapping[str, Column] = field(default_factory=dict, repr=False)
    """What is known of the quasi-identifiers and the sensitive columns."""

    def saved_recoding(self) -> SavedRecoding:
        """The classes, to be saved to a file, and to put later rows into."""
        if self.recoding is None or _by_matching(self.recipe) or _by_scheme(self.recipe):
            raise RecipeError("only a release in classes, without safepub, has a recoding for later rows")
        return SavedRecoding.of(self.recipe, self.recoding, self.columns)

    def write(self, path: str | Path) -> None:
        """Write the release to a file, whole or not at all; the format follows the suffix."""
        check_writable(path, inputs(self.recipe, self.table.origin.path))
        write(
            self.frame,
            path,
            like=self.table.origin,
            delimiter=self.recipe.delimiter,
            safe_csv=self.recipe.safe_csv,
        )


def run(recipe: Recipe, source: object = None, on_progress: Progress = silent) -> Release:
    """Carry out a recipe in memory, on a table or its own input; write the release if it names an output.

    Whatever ``recipe.memory`` says: `shoal.api.run` chooses between this and other engines.
    """
    clock = Clock(on_progress)
    if recipe.output is not None:
        check_writable(recipe.output, inputs(recipe, _path(source)))
    with clock("read"):
        table = _table(recipe, source)
        subject = prepare(recipe, table)
    check_rendering(recipe)
    with clock("search"):
        proposal = settled(recipe.algorithm.search(subject.problem, on_progress), subject.problem)
    release = released(recipe, table, subject, proposal, clock)
    report, frame = release.report, release.frame
    if recipe.output is not None:
        with clock("write"):
            release.write(recipe.output)
    warnings = (*report.warnings, *_formula_warning(recipe, frame))
    return replace(release, report=replace(report, warnings=warnings, seconds=clock.seconds()))


def released(
    recipe: Recipe, table: Table, subject: Subject, proposal: Proposal, clock: Clock | None = None
) -> Release:
    """Recode the table as an algorithm proposes, and let the verifier decide."""
    clock = clock or Clock(silent)
    with clock("recode"):
        recoding = recoding_of(recipe, subject, proposal)
        frame = _recode(recipe, table, subject, recoding)
    with clock("verify"):
        verification = _verified(recipe, subject, recoding, frame)
        others = tuple(_others(recipe, table, subject, proposal))
    report = report_of(recipe, table.rows, subject, proposal, recoding, verification)
    evidence = Evidence(recipe, table, recoding, frame, subject.columns, subject.rows)
    report = replace(report, evidence=evidence)
    return Release(frame, report, recipe, table, (frame, *others), recoding, subject.typed())


def recoding_of(recipe: Recipe, subject: Subject, proposal: Proposal) -> Recoding:
    """The recoding that an algorithm proposes, if it leaves enough rows."""
    if (proposal.class_of < 0).all():
        raise GoalNotMet(
            "the goal was not met: every row would be suppressed, so nothing is left to release; ask for "
            "less, or take another algorithm"
        )
    recoding = Recoding.of(proposal, subject.problem.domains)
    hidden, rows = recoding.suppressed, recoding.table.rows
    if hidden > recipe.suppress * rows + 1e-9 and not _by_scheme(recipe):
        # An algorithm that leaves out more than it may is wrong, whatever the rest is worth.
        raise InternalError(
            f"{hidden} of {rows} rows would be suppressed, and {recipe.suppress:g} of them may be"
        )
    return recoding


def inputs(recipe: Recipe, source: Path | None = None) -> list[Path]:
    """The files that a run of ``recipe`` on ``source`` reads and must not overwrite."""
    people = population_of(recipe.models)
    named = (recipe.input, source, None if people is None else people.path)
    tables = [Path(path) for path in named if path is not None]
    return [*tables, *(file for text in recipe.hierarchies for file in hierarchy_files(text))]


def _path(source: object) -> Path | None:
    """The file that a table is read from, or was."""
    if isinstance(source, Table):
        return source.origin.path
    return Path(source) if isinstance(source, str | os.PathLike) else None


class Clock:
    """Times the phases of a run and announces them."""

    def __init__(self, on_progress: Progress) -> None:
        self._announce = on_progress
        self._begin = perf_counter()
        self._spent = dict.fromkeys(("read", "search", "recode", "verify", "write"), 0.0)

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Time a phase."""
        self._announce(phase, 0.0)
        begin = perf_counter()
        yield
        self._spent[phase] += perf_counter() - begin
        self._announce(phase, 1.0)

    def seconds(self) -> dict[str, float]:
        """What every phase took, and all together."""
        return {**self._spent, "total": perf_counter() - self._begin}


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A table made ready for search."""

    problem: Problem
    encoded: tuple[Encoded, ...]
    columns: Mapping[str, Column]
    """What is known of the quasi-identifiers and the sensitive columns."""
    rows: NDArray[np.int64] | None
    """Positions of the rows that take part, or None if all do."""
    warnings: tuple[str, ...]
    people: Table | None
    """The population, if a model compares with one."""

    def typed(self) -> dict[str, Column]:
        """What is known of the columns, with the types that were inferred."""
        types = {each.domain.name: each.type for each in self.encoded}
        return {
            name: replace(column, type=types.get(name, column.type)) for name, column in self.columns.items()
        }


def _table(recipe: Recipe, source: object) -> Table:
    source = recipe.input if source is None else source
    if source is None:
        raise RecipeError("there is nothing to anonymize: the recipe names no input, and none was given")
    table = source if isinstance(source, Table) else read(source, recipe.reading)
    if table.rows == 0:
        raise InputError(f"{table.origin} has no rows")
    return table


def prepare(recipe: Recipe, table: Table) -> Subject:
    """Check the recipe against the table and bring the table into code space."""
    if any(isinstance(model, SafePub) for model in recipe.models) and not _by_scheme(recipe):
        raise RecipeError(
            "the model safepub is kept by the algorithm safepub only, with the levels that are to be "
            "released: --algorithm safepub --set levels=age=2,sex=0"
        )
    check_names(recipe, table)
    if by_scheme := _by_scheme(recipe):
        _check_scheme(recipe, table)
    known = known_columns(recipe, table.names)
    if by_scheme:  # what a value is written as may not depend on the other rows, as numbers would
        known = {name: replace(column, type="string") for name, column in known.items()}
    columns = {name: known[name] for name in recipe.quasi}
    rows = _complete_rows(recipe, table, columns)
    models = for_columns(recipe.models, recipe.sensitive)
    sensitive = {name: sensitive_codes(_of(table, name, rows), known[name]) for name in recipe.sensitive}
    order = recipe.category_order or recipe.algorithm.category_order
    people = read_population(models, recipe.quasi, recipe.reading)
    quasi = {name: _of(table, name, rows) for name in columns}
    people = None if people is None else aligned(people, quasi, columns)
    encoded, population = _encode(quasi, columns, order, people)
    coded = CodedRows(
        tuple(column.codes for column in encoded),
        tuple(column.domain.size for column in encoded),
        tuple(codes for codes, _ in sensitive.values()),
        tuple(int(codes.max(initial=0)) + 1 for codes, _ in sensitive.values()),
    )
    scales = {name: scale for name, (_, scale) in sensitive.items()}
    problem = problem_of(recipe, encoded, coded, scales)
    problem = replace(problem, population=population, beside=_beside(recipe, table, rows))
    check_reach(problem)
    return Subject(problem, encoded, known, rows, cautions(recipe, table.names, encoded, coded.rows), people)


def check_names(recipe: Recipe, table: Table) -> None:
    """Refuse a recipe that names columns which the table does not have."""
    roles = (*recipe.quasi, *recipe.sensitive, *recipe.identifier, *recipe.plain)
    for name in (*roles, *recipe.types, *recipe.orders):
        if name not in table.names:
            raise RecipeError(f"{table.origin}: {unknown('column', name, table.names)}")


def problem_of(
    recipe: Recipe, encoded: Sequence[Encoded], rows: CodedRows, scales: Mapping[str, Scale]
) -> Problem:
    """What a recipe asks of rows in code space."""
    return Problem(
        domains=tuple(column.domain for column in encoded),
        rows=rows,
        sensitive=recipe.sensitive,
        models=for_columns(recipe.models, recipe.sensitive),
        loss=recipe.loss,
        weights=np.array([float(recipe.weights.get(name, 1.0)) for name in recipe.quasi]),
        suppress=recipe.suppress,
        seed=recipe.seed,
        threads=recipe.threads or os.cpu_count() or 1,
        scales=scales,
    )


def check_reach(problem: Problem) -> None:
    """Refuse a goal that not even all rows as one class meet."""
    for model in problem.models:
        if reason := model.within_reach(problem.whole):
            raise GoalNotMet(f"the goal cannot be met: {reason}")


def _beside(recipe: Recipe, table: Table, rows: NDArray[np.int64] | None) -> dict[str, Encoded]:
    """Columns that are no quasi-identifiers, but that the algorithm asks to see."""
    if not isinstance(recipe.algorithm, TreeGuided):
        return {}
    known = [name for name in table.names if name not in recipe.identifier]
    wanted = recipe.algorithm.beside(recipe.quasi, recipe.sensitive, known)
    types, orders, na = recipe.types, recipe.orders, recipe.reading.na
    return {
        name: encode(_of(table, name, rows), Column(name, types.get(name), orders.get(name), None, na))
        for name in wanted
    }


def _encode(
    quasi: Mapping[str, pl.Series], columns: Mapping[str, Column], order: CategoryOrder, people: Table | None
) -> tuple[tuple[Encoded, ...], FrequencyTable | None]:
    """The quasi-identifiers in code space, and in the same one the population.

    So its values are values of the columns, too: what stands for everything stands for everybody.
    """
    if people is None:
        return tuple(encode(series, columns[name], order) for name, series in quasi.items()), None
    encoded, codes = [], []
    for name, series in quasi.items():
        both = encode(pl.concat([series, people.column(name)]), columns[name], order)
        encoded.append(replace(both, codes=both.codes[: len(series)]))
        codes.append(both.codes[len(series) :])
    rows = CodedRows(tuple(codes), tuple(column.domain.size for column in encoded))
    return tuple(encoded), rows.collapsed()


def known_columns(recipe: Recipe, names: Sequence[str]) -> dict[str, Column]:
    """What the recipe knows of quasi-identifiers and sensitive columns of a table with columns ``names``."""
    return recipe.columns(_hierarchies(recipe, names))


def _of(table: Table, name: str, rows: NDArray[np.int64] | None) -> pl.Series:
    series = table.column(name)
    return series if rows is None else series.gather(rows)


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
    return recipe.columns(_hierarchies(recipe, names) if needed else {})


def _hierarchies(recipe: Recipe, names: Sequence[str]) -> Mapping[str, Hierarchy]:
    found: dict[str, Hierarchy] = {}
    for source in recipe.hierarchies:
        found |= read_hierarchies(source, names)
    return {**found, **recipe.trees}


def _complete_rows(recipe: Recipe, table: Table, columns: Mapping[str, Column]) -> NDArray[np.int64] | None:
    """The rows that take part, after the recipe's policy on missing values.

    Without the rows that are dropped a column may have another type, under which more is missing.
    """
    rows: NDArray[np.int64] | None = None
    while recipe.missing != "category":
        lost = {
            name: missing_rows(_of(table, name, rows), columns.get(name, Column(name)))
            for name in table.names
        }
        lost = {name: mask for name, mask in lost.items() if mask.any()}
        if not lost:
            break
        if recipe.missing == "error":
            first = next(iter(lost))
            raise InputError(
                f"{table.origin}: values are missing in {quote(lost)}, first in row "
                f"{int(np.argmax(lost[first])) + 1} of '{first}'; take --missing category or drop to go on"
            )
        kept = np.flatnonzero(~np.logical_or.reduce(list(lost.values())))
        if kept.size == 0:
            raise InputError(
                f"{table.origin}: every row has a missing value ({quote(lost)}), so none is left"
            )
        rows = kept if rows is None else rows[kept]
    return rows


def sensitive_codes(series: pl.Series, column: Column) -> tuple[NDArray[np.uint32], Scale]:
    """Codes of a sensitive column, where a missing value is a value of its own."""
    if series.dtype == pl.String:
        series = series.replace("", None)  # to a reader an empty text is missing too, and so to the verifier
    distinct, codes, missing = dictionary(series)
    number, scale = scaled(distinct, missing, column)
    return number.astype(np.uint32)[codes], scale


def cautions(recipe: Recipe, names: Sequence[str], encoded: Sequence[Encoded], rows: int) -> tuple[str, ...]:
    """What the user should know about the columns."""
    warnings = [warning for column in encoded for warning in column.warnings]
    named = {*recipe.quasi, *recipe.sensitive, *recipe.identifier, *recipe.plain}
    if loose := [name for name in names if name not in named]:
        warnings.append(
            f"no role was given for {quote(loose)}: kept as they are, so check that they identify nobody"
        )
    for column in encoded:
        values = np.count_nonzero(np.bincount(column.codes))  # of a tree not every leaf occurs
        if values == 1:
            warnings.append(f"column '{column.domain.name}' has one value only")
        elif values == rows:
            warnings.append(
                f"column '{column.domain.name}' has a different value in every row: is it an identifier?"
            )
    return tuple(warnings)


def _recode(recipe: Recipe, table: Table, subject: Subject, recoding: Recoding) -> Any:
    """Apply a recoding to the original frame."""
    rows, kept = subject.rows, recoding.released_rows()
    if kept is not None:
        rows = kept if rows is None else rows[kept]
    native = tuple(table.frame.schema[name] for name in recipe.quasi)
    columns = recoding.columns(native, recipe.render)
    if not _by_scheme(recipe):
        return table.release(columns, rows, recipe.identifier)
    return _unordered(table, columns, np.arange(table.rows) if rows is None else rows, recipe.identifier)


def _by_scheme(recipe: Recipe) -> bool:
    return isinstance(recipe.algorithm, SafePubScheme)


def _check_scheme(recipe: Recipe, table: Table) -> None:
    """Differential privacy is for everything that is released: nothing may go past the scheme."""
    loose = [name for name in table.names if name not in (*recipe.quasi, *recipe.identifier)]
    if loose:
        raise RecipeError(
            f"with safepub every released column is a quasi-identifier, but {quote(loose)} is not: make it "
            "one, or leave it out as an identifier"
        )
    if strange := [type(m).__name__ for m in recipe.models if not isinstance(m, SafePub | KAnonymity)]:
        raise RecipeError(f"safepub goes together with k only, not with {quote(strange)}")
    if recipe.render not in ("label", "interval"):
        raise RecipeError(f"safepub takes render 'label' or 'interval', not '{recipe.render}'")


def _unordered(
    table: Table, columns: Mapping[str, pl.Series], rows: NDArray[np.int64], drop: Sequence[str]
) -> Any:
    """A release whose rows are sorted by their values: their places in the table would tell them apart."""
    texts = pl.DataFrame([as_text(series).alias(str(j)) for j, series in enumerate(columns.values())])
    order = texts.select(pl.arg_sort_by(texts.columns)).to_series().to_numpy()
    frame = table.release({name: series.gather(order) for name, series in columns.items()}, rows[order], drop)
    return frame.reset_index(drop=True) if table.origin.kind == "pandas" else frame


def _others(recipe: Recipe, table: Table, subject: Subject, proposal: Proposal) -> Iterator[Any]:
    """The other tables of least loss."""
    for other in proposal.alternatives:
        recoding = Recoding.of(other, subject.problem.domains)
        frame = _recode(recipe, table, subject, recoding)
        _verified(recipe, subject, recoding, frame)
        yield frame


def _verified(recipe: Recipe, subject: Subject, recoding: Recoding, frame: Any) -> Verification:
    """Let the verifier decide; nothing goes out that it does not pass."""
    released = read(frame, recipe.reading)
    verification = verify_table(
        released, recipe.quasi, recipe.sensitive, recipe.models, subject.columns, subject.people
    )
    if _by_matching(recipe):
        verification = _verified_by_matching(verification, subject.problem, recoding)
    if not verification.holds:
        raise GoalNotMet(shortfall(verification, _because(recipe, subject, released, verification)))
    return verification


def _because(recipe: Recipe, subject: Subject, released: Table, found: Verification) -> Iterator[str]:
    """For each verdict, which classes stand in its way, if any do."""
    models = for_columns(recipe.models, recipe.sensitive)
    for model, verdict in zip(models, found.models, strict=False):  # by matching there is one verdict for all
        roles = (recipe.quasi, recipe.sensitive, model, subject.columns, subject.people)
        yield "" if verdict.holds else f", because of {in_the_way(released, *roles)}"


def shortfall(found: Verification, because: Iterable[str] = ()) -> str:
    """Which models do not hold, how near they came and, verdict by verdict, because of what."""
    short = [
        f"{verdict.name} asked {verdict.asked}, reached {achieved_text(verdict.achieved)}{why}"
        for verdict, why in zip(found.models, chain(because, repeat("")), strict=False)
        if not verdict.holds
    ]
    return (
        f"the goal was not met, so nothing is released: {'; '.join(short)}; ask for what was reached, or "
        "take another algorithm"
    )


def check_rendering(recipe: Recipe) -> None:
    """A row that need not equal any other may not be written as what is present in its class: itself."""
    if recipe.render not in ("label", "interval") and population_of(recipe.models) is not None:
        raise RecipeError(
            f"with a population, render is 'label' or 'interval', not '{recipe.render}': that would not tell "
            "everybody whom a value stands for"
        )
    if _by_matching(recipe) and recipe.render not in ("label", "interval"):
        raise RecipeError(f"semantics=matching takes render 'label' or 'interval', not '{recipe.render}'")


def _by_matching(recipe: Recipe) -> bool:
    return getattr(recipe.algorithm, "semantics", "classes") == "matching"


def _verified_by_matching(counted: Verification, problem: Problem, recoding: Recoding) -> Verification:
    """The verdict on k by whom each released row could be, for which the original is needed.

    The rows of a class could all be each other, so that classes of k rows are enough.
    """
    k = max(verdict.asked["k"] for verdict in counted.models)
    reached = counted.smallest_class
    if not counted.holds and all(cells.members is None for cells in recoding.cells):
        of_row = recoding.class_of[recoding.table.of_row]
        lo = np.stack([cells.lo[cells.of_class[of_row]] for cells in recoding.cells], axis=1)
        hi = np.stack([cells.hi[cells.of_class[of_row]] for cells in recoding.cells], axis=1)
        reached = matching.reached(np.stack(problem.rows.quasi, axis=1), lo, hi, k)
    verdict = Verdict("k", {"k": k, "semantics": "matching"}, reached, reached >= k)
    return replace(counted, holds=verdict.holds, models=(verdict,))


def report_of(
    recipe: Recipe,
    rows: int,
    subject: Subject,
    proposal: Proposal,
    recoding: Recoding,
    verification: Verification,
) -> Report:
    """What a run on a table of so many ``rows`` did."""
    problem = subject.problem
    plain = LOSSES["ncp"]().measure(recoding, np.ones(len(recipe.quasi)))
    asked = LOSSES[recipe.loss]().measure(recoding, problem.weights)
    return Report(
        rows=rows,
        dropped_rows=rows - problem.rows.rows,
        suppressed_rows=recoding.suppressed,
        released_rows=verification.rows,
        classes=verification.classes,
        smallest_class=verification.smallest_class,
        quasi=recipe.quasi,
        sensitive=recipe.sensitive,
        identifier=recipe.identifier,
        models=verification.models,
        algorithm={"name": name_of(ALGORITHMS, recipe.algorithm), "parameters": describe(recipe.algorithm)},
        loss={"name": recipe.loss, "value": asked.value, "columns": asked.columns},
        ncp=plain.value,
        columns={
            column.domain.name: {
                "type": column.type,
                "kind": column.domain.kind,
                "values": column.domain.size,
                "ncp": (plain.columns or {})[column.domain.name],
            }
            for column in subject.encoded
        },
        seed=recipe.seed,
        nodes=proposal.nodes,
        cuts=proposal.cuts,
        optimal=proposal.optimal,
        lower_bound=proposal.lower_bound,
        solutions=proposal.solutions,
        search_space=proposal.search_space,
        search_space_log10=proposal.search_space_log10,
        history=proposal.history,
        tried=proposal.tried,
        levels={name: {"level": level, "highest": top} for name, level, top in proposal.levels},
        states=dict(proposal.states),
        warnings=(
            *subject.warnings,
            *((matching.WARNING,) if _by_matching(recipe) else ()),
            *((safepub.WARNING,) if _by_scheme(recipe) else ()),
        ),
        notes=(*_order_note(recipe, problem.domains), *proposal.notes),
        output=recipe.output,
    )


def _order_note(recipe: Recipe, domains: tuple[Domain, ...]) -> tuple[str, ...]:
    """Say how flat categories were ordered: it has an influence on which of them are grouped."""
    flat = [domain.name for domain in domains if domain.kind == "flat"]
    order = recipe.category_order or recipe.algorithm.category_order
    how = "frequency, the commonest first" if order == "frequency" else "first appearance"
    return (f"categories of {quote(flat)} were ordered by {how}",) if flat else ()


def _formula_warning(recipe: Recipe, frame: Any) -> tuple[str, ...]:
    """Warn of cells that a spreadsheet would run."""
    if recipe.safe_csv or recipe.output is None:
        return ()
    released = read(frame).frame
    return formula_warning(formula_cells(released, released.columns), released.columns)


def formula_warning(cells: Mapping[str, int], names: Sequence[str]) -> tuple[str, ...]:
    """Warn of so many cells per column, and of names of columns, that a spreadsheet would run."""
    parts = [f"{count} in '{name}'" for name, count in cells.items()]
    parts += [f"the name '{name}'" for name in formula_names(names)]
    if not parts:
        return ()
    where = ", ".join(parts)
    return (f"cells that a spreadsheet would run as a formula: {where}; --safe-csv neutralises them",)
