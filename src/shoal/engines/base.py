"""The way of one value from file to release, in six steps; every engine takes them in the same order.

An engine says how each step is done: with the rows in memory, on disk, on a cluster, or read one by one for a
private sample. `carry_out` says in which order, and what happens between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Generic, TypeVar

from shoal.algorithms import Progress, repair_proposal, silent
from shoal.codespace.recoding import Proposal, Recoding
from shoal.engines.checks import check_rendering, refuse_open_findings
from shoal.engines.inputs import check_output
from shoal.engines.people import describe_people_left_out
from shoal.engines.prepare import PreparedTable
from shoal.engines.release import Release
from shoal.errors import GoalNotMet, InternalError, RecipeError
from shoal.recipes.recipe import Recipe
from shoal.report import Evidence, Report
from shoal.report.build import build_report, describe_left_behind
from shoal.support.logs import log_event, log_warning
from shoal.table import Table
from shoal.verification.verifier import Verification


@dataclass(frozen=True, slots=True, eq=False)
class RecodedTable:
    """Rows as they are to be released, where an outsider could read them; nobody has verified them yet."""

    table: Table
    """What was anonymized; its columns only, where the rows are not in memory."""
    rows: int
    """How many rows it has."""
    subject: PreparedTable
    proposal: Proposal
    recoding: Recoding
    frame: Any = None
    """The rows, unless they are in a file that has no name yet."""
    others: tuple[Any, ...] = ()
    """Further tables of the same loss that the search listed."""
    evidence: Evidence | None = None
    """What a page can be drawn from."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def recoding_as_counted(self, loss: str, found: Verification) -> Recoding:
        """The recoding on which a loss is measured, after the verifier has counted the classes."""
        return self.recoding


TableT = TypeVar("TableT")
SubjectT = TypeVar("SubjectT", bound=PreparedTable)
RecodedT = TypeVar("RecodedT", bound=RecodedTable)


class Engine(ABC, Generic[TableT, SubjectT, RecodedT]):
    """Carries out one recipe: `read`, `prepare`, `search`, `recode`, `verify`, `write`, each of them once."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def check_recipe(self) -> None:
        """Refuse a recipe that this engine cannot carry out, before the table is looked at."""
        # Before the search, which may take long, and not when the release is written.
        check_rendering(self.recipe)

    @contextmanager
    def open_run(self, source: object) -> Iterator[None]:
        """Hold what the run needs, such as a scratch folder or a session; give it back in the end."""
        check_output(self.recipe, source)
        yield

    @abstractmethod
    def read(self, source: object) -> TableT:
        """Open the table: ``source``, or else the input that the recipe names."""

    @abstractmethod
    def prepare(self, table: TableT) -> SubjectT:
        """Check the recipe against the table and bring the table into code space."""

    def search(self, subject: SubjectT, on_progress: Progress = silent) -> Proposal:
        """Let the algorithm propose classes."""
        algorithm = self.recipe.algorithm
        if self.recipe.all_solutions:
            algorithm = algorithm.list_every_solution()
        proposal = algorithm.search(subject.problem, on_progress)
        # Classes are merged that a population does not fit as asked, or that a model of a plugin refuses.
        proposal = repair_proposal(proposal, subject.problem)
        seconds = self.recipe.bound_seconds
        if seconds is None:
            return proposal
        if algorithm.is_cell_level:
            raise RecipeError("a bound is about classes of equal cells, and this algorithm makes none")
        from shoal.algorithms.bounds import add_bound  # noqa: PLC0415  loads kernels

        return add_bound(proposal, subject.problem, seconds, on_progress)

    def finish_search(self, subject: SubjectT, proposal: Proposal) -> tuple[SubjectT, Proposal]:
        """Let go of what only the search needed, where memory is short."""
        return subject, proposal

    @abstractmethod
    def recode(self, table: TableT, subject: SubjectT, proposal: Proposal) -> RecodedT:
        """Turn the proposal into released values, in the original rows, where an outsider could read them.

        That is a frame, or a file beside the output that has no name of its own yet.
        """

    @abstractmethod
    def verify(self, recoded: RecodedT) -> Verification:
        """Count the released values as an outsider would, and find what they give away together.

        Raises
        ------
        GoalNotMet
            When a model does not hold.
        """

    @abstractmethod
    def write(self, recoded: RecodedT, release: Release) -> Release:
        """Give a release that was verified its place, which the recipe names."""

    def build_report(self, recoded: RecodedT, found: Verification) -> Report:
        """What was done and lost, and what the verifier found."""
        subject, recoding = recoded.subject, recoded.recoding
        counted = recoded.recoding_as_counted(self.recipe.loss, found)
        report = build_report(
            self.recipe, recoded.rows, subject.encoded, recoded.proposal, recoding, found, counted
        )
        notes = (*report.notes, *describe_left_behind(self.recipe, recoded.table), *recoded.notes)
        gone, people = None, found.people
        if subject.everybody is not None:
            # Where everybody was left with one row, people were not counted apart from rows.
            people = found.rows if people is None else people
            gone = subject.everybody - people
            notes = (*notes, *describe_people_left_out(gone))
        return replace(
            report,
            warnings=(*subject.warnings, *report.warnings, *recoded.warnings),
            notes=notes,
            people=people,
            people_left_out=gone,
            evidence=recoded.evidence,
        )

    def build_release(self, recoded: RecodedT, report: Report) -> Release:
        """What the user gets."""
        return Release(
            recoded.frame,
            report,
            self.recipe,
            recoded.table,
            (recoded.frame, *recoded.others),
            recoded.recoding,
            recoded.subject.list_typed_columns(),
        )


def carry_out(
    engine: Engine[TableT, SubjectT, RecodedT], source: object = None, on_progress: Progress = silent
) -> Release:
    """Carry out the recipe of an engine on a table, or on the recipe's own input.

    Nothing is returned, and nothing gets its name in a file system, that the engine did not verify.
    """
    clock = Clock(on_progress)
    engine.check_recipe()
    with engine.open_run(source):
        with clock("read"):
            table = engine.read(source)
            subject = engine.prepare(table)
        with clock("search"):
            proposal = engine.search(subject, on_progress)
            subject, proposal = engine.finish_search(subject, proposal)
        recoded, release = recode_and_verify(engine, table, subject, proposal, clock)
        if engine.recipe.output is not None:
            with clock("write"):
                release = engine.write(recoded, release)
    release = replace(release, report=replace(release.report, seconds=clock.collect_seconds()))
    _log_report(release.report)
    return release


def _log_report(report: Report) -> None:
    """Log what a run did: figures, names of columns, and no rows."""
    for warning in report.warnings:
        log_warning(warning)
    log_event(
        "released",
        f"{report.released_rows} rows in {report.classes} classes",
        rows=report.rows,
        released_rows=report.released_rows,
        suppressed_rows=report.suppressed_rows,
        classes=report.classes,
        smallest_class=report.smallest_class,
        ncp=report.ncp,
        algorithm=report.algorithm["name"],
        findings=[finding.id for finding in report.findings],
        output=report.output,
        seconds=report.seconds.get("total"),
    )


def recode_and_verify(
    engine: Engine[TableT, SubjectT, RecodedT],
    table: TableT,
    subject: SubjectT,
    proposal: Proposal,
    clock: Clock,
) -> tuple[RecodedT, Release]:
    """Recode a table as an algorithm proposes, and let the verifier decide."""
    # The verifier sees the finished rows only: what the search believed does not count.
    with clock("recode"):
        recoded = engine.recode(table, subject, proposal)
    with clock("verify"):
        found = engine.verify(recoded)
        refuse_open_findings(engine.recipe, found.findings)
        report = engine.build_report(recoded, found)
    return recoded, engine.build_release(recoded, report)


def build_recoding(recipe: Recipe, subject: PreparedTable, proposal: Proposal) -> Recoding:
    """The recoding that an algorithm proposes, if it leaves enough rows."""
    if (proposal.class_of < 0).all():
        raise GoalNotMet(
            "the goal was not met: every row would be suppressed, so nothing is left to release; ask for "
            "less, or take another algorithm"
        )
    recoding = set_means(recipe, Recoding.from_proposal(proposal, subject.problem.domains))
    hidden, rows = recoding.suppressed_rows, recoding.table.rows
    # The small term: a share of rows as a float may fall just below a whole number.
    if hidden > recipe.suppress * rows + 1e-9:
        # An algorithm that leaves out more than it may is wrong, whatever the rest is worth.
        raise InternalError(
            f"{hidden} of {rows} rows would be suppressed, and {recipe.suppress:g} of them may be"
        )
    return recoding


def set_means(recipe: Recipe, recoding: Recoding) -> Recoding:
    """The same, with the means that the recipe asks for."""
    return replace(recoding, means=tuple(recipe.quasi.index(name) for name in recipe.mean))


class Clock:
    """Times the phases of a run and announces them."""

    def __init__(self, on_progress: Progress = silent) -> None:
        self._announce = on_progress
        self._begin = perf_counter()
        self._spent = dict.fromkeys(("read", "search", "recode", "verify", "write"), 0.0)

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Time a phase."""
        self._announce(phase, 0.0)
        begin = perf_counter()
        yield
        self._spent[phase] = perf_counter() - begin
        log_event("phase", f"{phase} done", phase=phase, seconds=round(self._spent[phase], 6))
        self._announce(phase, 1.0)

    def collect_seconds(self) -> dict[str, float]:
        """What every phase took, and all together."""
        return {**self._spent, "total": perf_counter() - self._begin}
