"""The engine on disk: the rows stay there, and what is held in memory are the distinct ones, counted.

A first pass over the file finds the values of every column, so that they get the codes they would have in
memory. A second one turns rows into codes, which DuckDB counts within the memory limit, spilling to disk. The
search sees the counted rows only. A third pass writes the release, row after row in the order of the input or
of the released values. What was written is then read and counted again by DuckDB, by which the release is
judged as a whole, too, before it takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.algorithms import Progress, silent
from shoal.codespace.recoding import Proposal, Recoding
from shoal.engines.base import Engine, RecodedTable, build_recoding, carry_out
from shoal.engines.checks import check_counted, check_names, check_people, refuse_unmet_goal
from shoal.engines.disk_counting import BUFFERS, QUERIES, DiskWorkspace, count_values
from shoal.engines.disk_levels import search_on_disk
from shoal.engines.inputs import choose_source
from shoal.engines.packing import CodePacking
from shoal.engines.people import PersonCoder, describe_missing_ids, describe_people
from shoal.engines.prepare import (
    PreparedTable,
    encode_distinct,
    prepare_rows,
    read_known_columns,
)
from shoal.engines.release import Release
from shoal.engines.release_batches import ReleaseBatches
from shoal.engines.verifier import DatabaseVerifier
from shoal.engines.witness import DiskWitness
from shoal.errors import InputError, InternalError, OutputError, RecipeError
from shoal.recipes.recipe import Recipe
from shoal.recipes.release_rows import describe_release
from shoal.report.build import measure_column_loss
from shoal.support.addresses import is_address, names_database
from shoal.support.files import remove_if_killed, scratch_folder, whole_path
from shoal.support.memory import return_free_memory
from shoal.table import Origin, TableStream, check_streamable, choose_layout, open_stream, write_batches
from shoal.table.addresses import load_address, refuse_query
from shoal.table.formats import ensure_unchanged, import_optional
from shoal.table.sources import write_spool
from shoal.verification.findings import Finding, judge_by_witness
from shoal.verification.verifier import Verification

_COUNTED = 24  # bytes that the verifier takes for a value of a class, while it judges


def run_on_disk(recipe: Recipe, source: object = None, on_progress: Progress = silent) -> Release:
    """Carry out a recipe that states a ``memory`` limit, on a file; its output is written, or nothing is.

    The release is the one that `run_in_memory` would make of the same file. Its ``frame`` is
    lazy: it reads the file that was written.
    """
    return carry_out(DiskEngine(recipe), source, on_progress)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WrittenTable(RecodedTable):
    """A release in a file beside the output."""

    layout: Origin
    """How it is written."""
    schema: pl.DataFrame
    """The released columns with their types, without rows."""
    file: DatabaseVerifier
    witness: DiskWitness
    keeps_order: bool
    """Whether rows stand in the order of the input."""


class DiskEngine(Engine[TableStream, PreparedTable, WrittenTable]):
    """Keeps to a memory limit: takes a file, counts its rows by DuckDB, and writes a file."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self._unfinished = ExitStack()  # the file and the database of a release that is not verified yet
        self._workspace: DiskWorkspace
        self._words: Any  # the database with what is known of the rows that are written
        self._people: int | None = None  # how many there are, where somebody has several rows
        self._path: Path  # of the table, or of a copy of what is no single file
        self._check_input: Callable[[], None]

    def check_recipe(self) -> None:
        """Refuse what takes the rows in memory."""
        if self.recipe.output is None:
            raise RecipeError("with a memory limit the release is written as it is made: name an output")
        check_counted(
            self.recipe,
            "with a memory limit",
            "which takes them all in memory",
            "in memory: leave memory out",
        )
        super().check_recipe()

    @contextmanager
    def open_run(self, source: object) -> Iterator[None]:
        """Hold a scratch folder, in which the rows are counted."""
        chosen, output = choose_source(self.recipe, source), Path(str(self.recipe.output))
        duckdb = import_optional("duckdb", "shoal[scale]")
        # Beside the output, where there has to be space for the release anyway.
        with super().open_run(source):
            check_streamable(output)
            with (
                scratch_folder(output) as folder,
                self._hold_input(chosen, folder),
                _explain_errors(duckdb, output),
                self._unfinished,
            ):
                self._workspace = DiskWorkspace(self.recipe, folder, duckdb)
                yield

    @contextmanager
    def _hold_input(self, chosen: object, folder: Path) -> Iterator[None]:
        """Find the file that is read, which nobody may change meanwhile."""
        self._path = _find_file(chosen, folder / "input.parquet", self.recipe.reading.query)
        with ensure_unchanged(self._path) as self._check_input:
            yield

    def read(self, source: object) -> TableStream:
        """Look at the file, without reading its rows."""
        return open_stream(self._path, self.recipe.reading, self.recipe.left_out)

    def prepare(self, table: TableStream) -> PreparedTable:
        """Count the values of every column, then the rows."""
        recipe = self.recipe
        check_names(recipe, table.make_table())
        known = read_known_columns(recipe, table.names)
        person = () if recipe.person is None else (recipe.person,)
        values = count_values(table, (*recipe.quasi, *recipe.sensitive, *person))
        people = PersonCoder.from_values(values.pop(*person)) if person else None
        told = () if people is None else describe_missing_ids(recipe, people.missing)
        if people is not None and people.is_needed:
            check_people(recipe)
            self._people = people.people
        codes = encode_distinct(recipe, known, values)
        # A row of codes as few 64-bit words, by which DuckDB groups and rows are found again.
        packing = CodePacking.from_sizes(codes.sizes)
        counted = people if self._people is not None else None
        rows, whose = self._workspace.count_equal_rows(table, values, codes, packing, counted)
        subject = prepare_rows(recipe, table.names, known, codes, rows, whose)
        return replace(subject, everybody=self._people, warnings=(*subject.warnings, *told))

    def search(self, subject: PreparedTable, on_progress: Progress = silent) -> Proposal:
        """The search in memory, on the distinct rows; or level by level, if they are too many."""
        stored = self._workspace.stored
        if stored is None:
            return super().search(subject, on_progress)
        if self.recipe.bound_seconds is not None:
            raise RecipeError("a bound takes all distinct rows in memory: leave it out, or name more memory")
        return search_on_disk(self.recipe, subject.problem, stored, on_progress)

    def finish_search(self, subject: PreparedTable, proposal: Proposal) -> tuple[PreparedTable, Proposal]:
        """Keep the distinct rows and their classes, but not the counted rows that they were made of."""
        lean = subject.drop_rows(), replace(proposal, table=proposal.table.drop_rows())
        return_free_memory()
        return lean

    def recode(self, table: TableStream, subject: PreparedTable, proposal: Proposal) -> WrittenTable:
        """Write the release beside its place, as the rows come."""
        recipe, output = self.recipe, Path(str(self.recipe.output))
        recoding = build_recoding(recipe, subject, proposal)
        packing = CodePacking.from_sizes(subject.problem.rows.sizes)
        batches = ReleaseBatches(recipe, table, recoding, packing, self._workspace, self._people)
        temporary = self._unfinished.enter_context(whole_path(output))
        self._unfinished.enter_context(remove_if_killed(temporary))
        # The database that counted rows is closed by now: each has its share in turn.
        self._words = self._unfinished.enter_context(self._workspace.open_database("words"))
        witness = batches.make_witness(self._words, subject)
        layout = _choose_layout(recipe, output, table)
        write_batches(batches.iterate_batches(witness, self._words), temporary, layout)
        order = None if batches.rows_of is None else self._workspace.order
        return WrittenTable(
            table=table.make_table(),
            rows=table.rows,
            subject=subject,
            proposal=proposal,
            recoding=recoding,
            warnings=batches.warn_of_formulas(),
            notes=(_describe_run(recipe, recoding), *_describe_people(recipe, batches)),
            layout=layout,
            schema=pl.DataFrame(schema={name: table.schema[name] for name in batches.names}),
            file=DatabaseVerifier(self._words, temporary, layout, batches.names, recipe.reading.na, order),
            witness=witness,
            keeps_order=batches.keeps_order,
        )

    def verify(self, recoded: WrittenTable) -> Verification:
        """Count what is in the file."""
        recipe, columns = self.recipe, recoded.subject.columns
        # What found the classes of rows is gone by now, and what counts them takes memory as well.
        reads = QUERIES if recoded.layout.format == "parquet" else BUFFERS
        self._workspace.fit_database(self._words, reads + self._workspace.entries * _COUNTED)
        found = recoded.file.verify_release(recipe.quasi, recipe.sensitive, recipe.models, columns)
        # Rows that get lost on the way would go unnoticed: the classes left may still hold.
        if found.rows != recoded.rows - recoded.recoding.suppressed_rows:
            raise InternalError(f"{found.rows} rows were written, which is not as many as there should be")
        refuse_unmet_goal(found)
        self._workspace.fit_database(self._words, reads)
        found = replace(found, findings=self._judge_whole(recoded))
        # The input was read three times, and must have been the same each time.
        self._check_input()
        return found

    def _judge_whole(self, recoded: WrittenTable) -> tuple[Finding, ...]:
        """What all released columns give away together."""
        recoded.witness.read_release(recoded.file, self.recipe.quasi)
        judged = describe_release(
            self.recipe,
            recoded.schema,
            recoded.subject.columns,
            lost=measure_column_loss(recoded.recoding),
            keeps_order=recoded.keeps_order,
        )
        return judge_by_witness(judged, recoded.witness, self.recipe.accept)

    def write(self, recoded: WrittenTable, release: Release) -> Release:
        """Give the file its name."""
        self._unfinished.close()
        frame = _scan_release(Path(str(self.recipe.output)), recoded.layout)
        return replace(release, frame=frame, solutions=(frame,))


def _find_file(chosen: object, copy: Path, query: str | None) -> Path:
    """The file that has the rows; what is no file, or several, is first written to the file ``copy``."""
    if is_address(chosen) and not names_database(chosen):
        refuse_query(chosen, query)
        chosen = load_address(str(chosen))
    if write_spool(chosen, copy, query):
        return copy
    if not isinstance(chosen, str | os.PathLike):
        raise RecipeError(
            "with a memory limit the table is a file, a lazy frame or an Arrow stream: give one of these, "
            "or leave memory out"
        )
    return Path(chosen)


def _choose_layout(recipe: Recipe, output: Path, stream: TableStream) -> Origin:
    """How the release is written."""
    layout = choose_layout(output, stream.origin, recipe.delimiter)
    return replace(layout, metadata=stream.origin.metadata) if recipe.keep_metadata else layout


@contextmanager
def _explain_errors(duckdb: Any, output: Path) -> Iterator[None]:
    """Say in our words what stopped DuckDB."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise _explain_full_memory(error) from error
    except (duckdb.IOException, OSError) as error:
        # What reads from the database in batches hands on in this way that its memory was full.
        if "out of memory" in str(error).lower():
            raise _explain_full_memory(error) from error
        reason = getattr(error, "strerror", None) or _first_line(error)
        raise OutputError(f"{output} cannot be written: {reason}") from error


def _explain_full_memory(error: Exception) -> InputError:
    return InputError(f"the memory limit is too small for this table: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _describe_run(recipe: Recipe, recoding: Recoding) -> str:
    return (
        f"rows stayed on disk, within {recipe.memory} of memory: the search had "
        f"{recoding.table.weight.size:,} distinct ones, counted"
    )


def _describe_people(recipe: Recipe, batches: ReleaseBatches) -> tuple[str, ...]:
    """What was done because people have several rows."""
    if batches.rows_of is None:
        return ()
    rows = batches.rows_of
    return describe_people(recipe, int(rows.sum()), int((rows > 0).sum()), int(rows.max()))


def _scan_release(path: Path, layout: Origin) -> pl.LazyFrame:
    """What was written, read when somebody asks for it."""
    if layout.format == "parquet":
        return pl.scan_parquet(path, glob=False)
    return pl.scan_csv(
        path, separator=layout.delimiter, has_header=layout.header, infer_schema=False, glob=False
    )
