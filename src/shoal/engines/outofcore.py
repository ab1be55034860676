"""Out of core: the rows stay on disk, and what is held in memory are the different ones, counted.

A first pass over the file finds the values of every column, so that they get the codes they would have in
memory. A second one turns rows into codes, which DuckDB counts within the memory limit, spilling to disk. The
search sees the counted rows only. A third pass writes the release, row after row in the order of the input;
what was written is then counted again by DuckDB before it takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import Progress, silent
from shoal.encoding import encode
from shoal.engines.counted import check_counted
from shoal.engines.packing import Packing
from shoal.engines.recount import Recount
from shoal.errors import GoalNotMet, InputError, InternalError, OutputError, RecipeError
from shoal.files import scratch_folder, whole_path
from shoal.frequency import CodedRows
from shoal.parameters import byte_count
from shoal.privacy import Scale
from shoal.recipe import Recipe
from shoal.recoding import Recoding
from shoal.run import (
    Clock,
    Release,
    Subject,
    cautions,
    check_names,
    check_reach,
    check_rendering,
    formula_warning,
    inputs,
    known_columns,
    problem_of,
    recoding_of,
    report_of,
    sensitive_codes,
    shortfall,
)
from shoal.table import (
    Origin,
    Stream,
    check_streamable,
    check_writable,
    formula_cells,
    formula_rows,
    neutralised,
    open_stream,
    write_batches,
    written_as,
)
from shoal.table.formats import needs, unchanged
from shoal.table.frames import unpatterned
from shoal.verify import Verification

_MERGE = 1 << 16  # values that wait before they are counted together with those before them
_FETCHED = 1 << 17  # counted rows that come from DuckDB at once
_SHARE = 0.5  # of the memory goes to DuckDB, which rests while the search works
_AT_REST = 75, 8, 60  # bytes that a different row takes, each quasi-identifier and each sensitive value


def run(recipe: Recipe, source: object = None, on_progress: Progress = silent) -> Release:
    """Carry out a recipe that states a ``memory`` limit, on a file; its output is written, or nothing is.

    The release is the one that `shoal.run.run` would make of the same file. Its ``frame`` is lazy: it reads
    the file that was written.
    """
    clock = Clock(on_progress)
    check(recipe)
    path, output = _paths(recipe, source)
    duckdb = needs("duckdb", "shoal[scale]")
    check_writable(output, inputs(recipe, path))
    check_streamable(output)
    with scratch_folder(output) as folder, unchanged(path) as check_input, _explained(duckdb, output):
        work = _Work(recipe, folder, duckdb)
        with clock("read"):
            stream = open_stream(path, recipe.reading)
            subject, packing = work.prepare(stream)
        with clock("search"):
            proposal = recipe.algorithm.search(subject.problem, on_progress)
        recoding = recoding_of(recipe, subject, proposal)
        released = _Released(recipe, stream, recoding, packing)
        with whole_path(output) as temporary:
            with clock("write"):
                form = written_as(output, stream.origin, recipe.delimiter)
                write_batches(released.batches(work.keys), temporary, form)
            with clock("verify"):
                found = work.verify(temporary, form, stream, subject, released)
            check_input()
    report = report_of(recipe, stream.rows, subject, proposal, recoding, found)
    report = replace(
        report,
        warnings=(*report.warnings, *released.warnings()),
        notes=(*report.notes, _note(recipe, recoding)),
        seconds=clock.seconds(),
    )
    frame = _lazy(output, form)
    return Release(frame, report, recipe, stream.table(), (frame,), recoding, subject.typed())


def _paths(recipe: Recipe, source: object) -> tuple[Path, Path]:
    source = recipe.input if source is None else source
    if source is None:
        raise RecipeError("there is nothing to anonymize: the recipe names no input, and none was given")
    if not isinstance(source, str | os.PathLike):
        raise RecipeError("with a memory limit the table is a file: give its path, or leave memory out")
    return Path(source), Path(str(recipe.output))


def check(recipe: Recipe) -> None:
    """Refuse what takes the rows in memory."""
    if recipe.output is None:
        raise RecipeError("with a memory limit the release is written as it is made: name an output")
    check_counted(
        recipe, "with a memory limit", "which takes them all in memory", "in memory: leave memory out"
    )
    check_rendering(recipe)


@contextmanager
def _explained(duckdb: Any, output: Path) -> Iterator[None]:
    """Say in our words what stopped DuckDB."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise InputError(f"the memory limit is too small for this table: {_first_line(error)}") from error
    except duckdb.IOException as error:
        raise OutputError(f"{output} cannot be written: {_first_line(error)}") from error
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror or error}") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


class _Work:
    """What is done in a scratch folder."""

    def __init__(self, recipe: Recipe, folder: Path, duckdb: Any) -> None:
        self.recipe, self.folder, self.duckdb = recipe, folder, duckdb
        self.memory = byte_count("memory", str(recipe.memory))
        self.keys = folder / "keys"
        """The packed codes of every row, in the order of the input."""

    @contextmanager
    def database(self) -> Iterator[Any]:
        """A database that keeps to its share of the memory; closed, it gives it back."""
        settings = {
            "memory_limit": f"{int(self.memory * _SHARE)}B",
            "temp_directory": str(self.folder / "spill"),
            "threads": self.recipe.threads or os.cpu_count() or 1,
            "preserve_insertion_order": False,
        }
        with self.duckdb.connect(":memory:", config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")  # on a terminal there is one already
            yield connection

    def prepare(self, stream: Stream) -> tuple[Subject, Packing]:
        """Bring the table into code space: its different rows, and how many there are of each."""
        recipe, outline = self.recipe, stream.table()
        check_names(recipe, outline)
        known = known_columns(recipe, stream.names)
        values = _values_of(stream, (*recipe.quasi, *recipe.sensitive))
        order = recipe.category_order or recipe.algorithm.category_order
        encoded = [
            encode(values[name].seen(stream), known[name], order, values[name].count) for name in recipe.quasi
        ]
        sensitive = {
            name: sensitive_codes(values[name].seen(stream), known[name]) for name in recipe.sensitive
        }
        packing = Packing.of([column.domain.size for column in encoded])
        codes = {name: column.codes for name, column in zip(recipe.quasi, encoded, strict=True)}
        codes |= {name: found for name, (found, _) in sensitive.items()}
        coders = {name: _Coder(values[name].raw, of_value) for name, of_value in codes.items()}
        with self.database() as connection:
            rows = self._collapsed(connection, stream, coders, packing)
        encoded = [replace(column, codes=rows.quasi[j]) for j, column in enumerate(encoded)]
        scales: dict[str, Scale] = {name: scale for name, (_, scale) in sensitive.items()}
        problem = problem_of(recipe, encoded, rows, scales)
        check_reach(problem)
        warnings = cautions(recipe, stream.names, encoded, rows.rows)
        return Subject(problem, tuple(encoded), known, None, warnings, None), packing

    def _collapsed(
        self, connection: Any, stream: Stream, coders: Mapping[str, _Coder], packing: Packing
    ) -> CodedRows:
        """Count equal rows of codes, sensitive values included."""
        pyarrow = needs("pyarrow", "shoal[scale]")
        words = [f"k{i}" for i in range(packing.words)]
        values = [f"s{i}" for i in range(len(self.recipe.sensitive))]
        kinds = dict.fromkeys(words, pyarrow.uint64()) | dict.fromkeys(values, pyarrow.uint32())
        with self.keys.open("wb") as file:
            batches = (
                pyarrow.record_batch(columns, names=[*words, *values])
                for columns in self._coded(stream, coders, packing, file)
            )
            reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema(kinds), batches)
            connection.register("rows", reader)
            connection.execute("CREATE TABLE counted AS SELECT *, count(*) AS n FROM rows GROUP BY ALL")
        ((different,),) = connection.execute("SELECT count(*) FROM counted").fetchall()
        self._check_size(different)
        sizes = [int(coder.of_value.max(initial=0)) + 1 for coder in list(coders.values())]
        return _fetched(connection, different, packing, sizes[len(self.recipe.quasi) :])

    def _coded(
        self, stream: Stream, coders: Mapping[str, _Coder], packing: Packing, file: IO[bytes]
    ) -> Iterator[list[NDArray[Any]]]:
        """Packed codes and codes of sensitive values, batch by batch; the former go to ``file`` as well."""
        quasi, sensitive = self.recipe.quasi, self.recipe.sensitive
        for batch in stream.batches(list(coders)):
            codes = {name: coders[name](batch.get_column(name)) for name in coders}
            words = packing.pack([codes[name] for name in quasi])
            file.write(np.stack(words, axis=1).data)  # and not by tofile, which keeps a full disk to itself
            yield [*words, *(codes[name] for name in sensitive)]

    def _check_size(self, different: int) -> None:
        """Refuse more different rows than the search can have in memory."""
        each, quasi, sensitive = _AT_REST
        columns = quasi * len(self.recipe.quasi) + sensitive * len(self.recipe.sensitive)
        needed = different * (each + columns)
        if needed > self.memory:
            raise InputError(
                f"the table has {different:,} different rows, for which the search needs about "
                f"{needed / 1e9:.1f} GB, more than the memory of {self.recipe.memory}: give more, or round "
                "columns that have a value of their own in nearly every row"
            )

    def verify(
        self, path: Path, form: Origin, stream: Stream, subject: Subject, released: _Released
    ) -> Verification:
        """Count what was written, as an outsider would; nothing goes out that does not pass."""
        recipe = self.recipe
        with self.database() as connection:
            recount = Recount(connection, path, form, released.names, recipe.reading.na)
            found = recount.verify(recipe.quasi, recipe.sensitive, recipe.models, subject.columns)
        if found.rows != stream.rows - released.recoding.suppressed:
            raise InternalError(f"{found.rows} rows were written, which is not as many as there should be")
        if not found.holds:
            raise GoalNotMet(shortfall(found))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """The different values of a column, in the order in which the rows bring them."""

    raw: pl.Series
    count: NDArray[np.int64]
    """In how many rows each occurs."""

    def seen(self, stream: Stream) -> pl.Series:
        """With null for what is missing."""
        return stream.table(pl.DataFrame([self.raw])).column(self.raw.name)


def _values_of(stream: Stream, names: Sequence[str]) -> dict[str, _Values]:
    """The different values of some columns."""
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in names}
    start = 0
    for batch in stream.batches(names):
        row = pl.Series("row", np.arange(start, start + batch.height))
        for name, parts in found.items():
            part = pl.DataFrame([batch.get_column(name).alias("value"), row])
            parts.append(_merged([part.with_columns(count=pl.lit(1, pl.Int64))]))
            if sum(part.height for part in parts[1:]) > max(_MERGE, parts[0].height):
                found[name][:] = [_merged(parts)]
        start += batch.height
    whole = {name: _merged(parts).sort("row") for name, parts in found.items()}
    return {
        name: _Values(every["value"].alias(name), every["count"].to_numpy()) for name, every in whole.items()
    }


def _merged(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Values with their counts and first rows, each once."""
    return pl.concat(parts).group_by("value").agg(pl.col("row").min(), pl.col("count").sum())


class _Coder:
    """Gives the values of a column their codes."""

    def __init__(self, raw: pl.Series, of_value: NDArray[np.unsignedinteger]) -> None:
        self.of_value = of_value
        raw = unpatterned(raw)
        present = raw.is_not_null()
        self._raw, self._code = raw.filter(present), pl.Series(of_value, dtype=pl.UInt32).filter(present)
        missing = of_value[raw.is_null().to_numpy()]
        self._missing = int(missing[0]) if missing.size else None

    def __call__(self, series: pl.Series) -> NDArray[np.uint32]:
        code = unpatterned(series).replace_strict(self._raw, self._code, default=None, return_dtype=pl.UInt32)
        if self._missing is not None:
            code = code.fill_null(self._missing)
        if code.has_nulls():
            raise InputError("the table changed while it was read: keep others from writing to it")
        return code.to_numpy()


def _fetched(connection: Any, different: int, packing: Packing, sizes: Sequence[int]) -> CodedRows:
    """The counted rows out of the database."""
    quasi: list[NDArray[np.unsignedinteger]] = [
        np.empty(different, np.uint16 if size <= 1 << 16 else np.uint32) for size in packing.sizes
    ]
    sensitive = [np.empty(different, np.uint32) for _ in sizes]
    count = np.empty(different, np.int64)
    start = 0
    for batch in connection.sql("SELECT * FROM counted").to_arrow_reader(_FETCHED):
        part = slice(start, start + batch.num_rows)
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        for whole, codes in zip(quasi, packing.unpack(columns[: packing.words]), strict=True):
            whole[part] = codes
        for whole, codes in zip(sensitive, columns[packing.words : -1], strict=True):
            whole[part] = codes
        count[part] = columns[-1]
        start = part.stop
    return CodedRows(tuple(quasi), packing.sizes, tuple(sensitive), tuple(sizes), count)


class _Released:
    """The release, batch by batch."""

    def __init__(self, recipe: Recipe, stream: Stream, recoding: Recoding, packing: Packing) -> None:
        self.recipe, self.stream, self.recoding, self.packing = recipe, stream, recoding, packing
        native = tuple(stream.schema[name] for name in recipe.quasi)
        self.values = recoding.values(native, recipe.render)
        self.names = [name for name in stream.names if name not in recipe.identifier]
        self._formulas: dict[str, int] = {}

    def batches(self, keys: Path) -> Iterator[pl.DataFrame]:
        """Yield the released rows, in the order of the input."""
        place = self.packing.places(self.recoding.table.codes)
        kept = [name for name in self.names if name not in self.values]
        text = written_as(Path(str(self.recipe.output)), self.stream.origin, None).format != "parquet"
        with keys.open("rb") as file:
            for batch in self.stream.batches(kept or self.recipe.quasi[:1]):
                key = np.fromfile(file, np.uint64, batch.height * self.packing.words)
                class_of = self.recoding.class_of[place(list(key.reshape(-1, self.packing.words).T))]
                frame = self._frame(batch, class_of)
                self._count_formulas(frame, kept)
                yield neutralised(frame) if self.recipe.safe_csv and text else frame

    def _frame(self, batch: pl.DataFrame, class_of: NDArray[np.int32]) -> pl.DataFrame:
        rows = class_of >= 0
        if not rows.all():
            batch, class_of = batch.filter(pl.Series(rows)), class_of[rows]
        columns = {name: values.gather(class_of) for name, values in self.values.items()}
        chosen = (columns[name] if name in columns else batch.get_column(name) for name in self.names)
        return pl.DataFrame([series.alias(name) for series, name in zip(chosen, self.names, strict=True)])

    def _count_formulas(self, frame: pl.DataFrame, kept: Sequence[str]) -> None:
        for name, count in formula_cells(frame, kept).items():
            self._formulas[name] = self._formulas.get(name, 0) + count

    def warnings(self) -> tuple[str, ...]:
        """Warn of cells that a spreadsheet would run."""
        return () if self.recipe.safe_csv else formula_warning(self._found(), self.names)

    def _found(self) -> dict[str, int]:
        """How many cells of each column a spreadsheet would run."""
        for name, values in self.values.items():
            if each := formula_rows(values, self.recoding.size):
                self._formulas[name] = each
        return {name: self._formulas[name] for name in self.names if name in self._formulas}


def _note(recipe: Recipe, recoding: Recoding) -> str:
    return (
        f"rows stayed on disk, within {recipe.memory} of memory: the search had "
        f"{recoding.table.weight.size:,} different ones, counted"
    )


def _lazy(path: Path, form: Origin) -> pl.LazyFrame:
    """What was written, read when somebody asks for it."""
    if form.format == "parquet":
        return pl.scan_parquet(path, glob=False)
    return pl.scan_csv(path, separator=form.delimiter, has_header=form.header, infer_schema=False, glob=False)
