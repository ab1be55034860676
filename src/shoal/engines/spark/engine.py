"""The engine on Spark: a cluster carries out a recipe, with the release that one machine would make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.algorithms import Progress, silent
from shoal.codespace.loss import LOSSES, ClassSize, Discernibility
from shoal.codespace.recoding import Proposal, Recoding
from shoal.engines.base import Engine, RecodedTable, build_recoding
from shoal.engines.checks import check_counted, refuse_unmet_goal
from shoal.engines.frames import is_spark_frame
from shoal.engines.inputs import choose_source
from shoal.engines.people import describe_people
from shoal.engines.release import Release
from shoal.engines.spark.coding import CodedFrame
from shoal.engines.spark.output import check_output, commit_folder, make_uri
from shoal.engines.spark.people import describe_rows, sum_rows
from shoal.engines.spark.search import LevelProposal, label_by_class, search_by_levels
from shoal.engines.spark.session import explain_errors, find_session, load_functions, open_session
from shoal.engines.spark.source import PERSON, SparkSource, read_path, wrap_frame
from shoal.engines.spark.verifier import CountedVerification, verify_release
from shoal.engines.spark.witness import SparkWitness
from shoal.errors import InputError, RecipeError
from shoal.recipes.recipe import Recipe
from shoal.recipes.release_rows import describe_release
from shoal.report import Report
from shoal.report.build import measure_column_loss
from shoal.table import Origin
from shoal.verification.findings import Finding, judge_by_witness
from shoal.verification.verifier import Verification

_Check = Callable[[Any], CountedVerification]
"""Counts a Spark frame; raises unless it satisfies the goal."""


@dataclass(frozen=True, slots=True, eq=False)
class SparkRelease(Release[Any]):
    """A verified release of a Spark frame, which is one itself."""

    check: _Check | None = field(default=None, repr=False)
    """What verified it."""
    held: tuple[Any, ...] = field(default=(), repr=False)
    """Spark frames that the cluster holds in memory, or on disk, for ``frame``."""

    def write(self, path: str | Path) -> None:
        """Write the release to a folder of Parquet files, which are counted again before it gets its name."""
        assert self.check is not None
        spark = self.frame.sparkSession
        # An exception of the check removes what was written.
        with commit_folder(spark, str(path)) as temporary:
            write_parquet(self.frame, temporary)
            self.check(spark.read.parquet(temporary))

    def unpersist(self) -> None:
        """Let the cluster forget what it holds for this release; ``frame`` is worked out anew if needed."""
        for frame in self.held:
            frame.unpersist()

    def _collect_kept_state(self) -> dict[str, Any]:
        """The same as of other releases; what the cluster holds stays there."""
        # Not by super() without arguments: slots make another class than the one that is written here.
        return Release._collect_kept_state(self) | {"check": None, "held": ()}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecodedSparkFrame(RecodedTable):
    """A release on a cluster: a frame that is worked out when it is asked for, or read from a folder."""

    source: SparkSource
    coded: CodedFrame
    joined: Any
    """Spark frame: the released rows, with what they were and what they become."""

    def recoding_as_counted(self, loss: str, found: Verification) -> Recoding:
        """With the sizes of classes, where a loss depends on them: only the verifier has counted these."""
        if self.coded.is_on_driver or LOSSES[loss] not in (Discernibility, ClassSize):
            return self.recoding
        assert isinstance(found, CountedVerification)
        return replace(self.recoding, size=found.class_sizes)


class SparkEngine(Engine[SparkSource, CodedFrame, RecodedSparkFrame]):
    """Counts on the cluster, and searches on the driver or, with many distinct rows, on executors.

    A frame is anonymized in its own session; a file in a session that ends with the run. Of a file the
    release is written, and its ``frame`` is a lazy polars one that reads what was written.
    """

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self._spark: Any = None
        self._unfinished = ExitStack()  # the folder of a release that is not verified yet
        self._held: list[Any] = []
        self._watched: list[Any] = []

    def check_recipe(self) -> None:
        """Refuse what a cluster cannot do as one machine does."""
        recipe = self.recipe
        check_counted(recipe, "with Spark", "which no cluster shares out", "on one machine")
        if recipe.safe_csv:
            raise RecipeError("--safe-csv is about delimited text, and Spark writes Parquet")
        if recipe.keep_index or recipe.keep_metadata:
            raise RecipeError(
                "Spark keeps neither an index nor metadata: leave keep_index and keep_metadata out"
            )
        if recipe.output is not None:
            check_output(recipe.output)
        super().check_recipe()

    @contextmanager
    def open_run(self, source: object) -> Iterator[None]:
        """Hold a session, and on any error give the cluster its memory back."""
        with self._open_session(source) as self._spark, explain_errors(self._spark), ExitStack() as kept:
            kept.callback(_forget_frames, self._held)
            kept.callback(_forget_frames, self._watched)
            kept.enter_context(self._unfinished)
            yield
            _forget_frames(self._watched)
            if self.recipe.output is None:
                kept.pop_all()  # the frame is used after the run, and is faster with what is held

    @contextmanager
    def _open_session(self, source: object) -> Iterator[Any]:
        if is_spark_frame(source):
            yield find_session(source)
            return
        self._find_path(source)
        if self.recipe.output is None:
            raise RecipeError("with Spark the release of a file is written by the cluster: name an output")
        with open_session(self.recipe.master) as spark:
            yield spark

    def _find_path(self, source: object) -> Path:
        chosen = choose_source(self.recipe, source)
        if not isinstance(chosen, str | Path):
            raise RecipeError("with Spark the table is a path or a Spark frame")
        return Path(chosen)

    def read(self, source: object) -> SparkSource:
        """Name the frame, or the files that the cluster will read."""
        if is_spark_frame(source):
            return wrap_frame(source, self.recipe.reading)
        return read_path(self._spark, self._find_path(source), self.recipe.reading)

    def prepare(self, table: SparkSource) -> CodedFrame:
        """Give values their codes, and count the rows of codes on the cluster."""
        coded = CodedFrame.from_source(self.recipe, table, self._spark)
        counted = self._hold_frame(coded.count_rows())
        # Fills the held frame as well: the search finds the counts ready.
        coded = replace(coded, counted=counted, distinct=counted.count())
        if coded.distinct > self.recipe.driver_rows:
            if coded.counts_people:
                raise RecipeError(
                    f"there are {coded.distinct:,} distinct rows of people, more than the "
                    f"{self.recipe.driver_rows:,} that the driver takes (--driver-rows), and people are "
                    "counted there"
                )
            return coded
        return coded.fetch_rows()

    def search(self, subject: CodedFrame, on_progress: Progress = silent) -> Proposal:
        """The search of one machine, on the distinct rows; or level by level, if they are too many."""
        if subject.is_on_driver:
            return super().search(subject, on_progress)
        return search_by_levels(self.recipe, subject, self._spark, self._hold_frame, on_progress)

    def recode(self, table: SparkSource, subject: CodedFrame, proposal: Proposal) -> RecodedSparkFrame:
        """Join every row with what it becomes, and write it beside its place if there is an output."""
        recipe, spark = self.recipe, self._spark
        if isinstance(proposal, LevelProposal):
            recoding = proposal.recoding
            joined = proposal.label_rows(recipe, subject, spark)
        else:
            recoding = build_recoding(recipe, subject, proposal)
            joined = label_by_class(recipe, subject, recoding, spark)
        return RecodedSparkFrame(
            table=table.make_table(),
            rows=subject.problem.rows.rows,
            subject=subject,
            proposal=proposal,
            recoding=recoding,
            frame=self._place_frame(_select_released(recipe, table, subject, joined)),
            notes=(*_describe_run(subject), *_describe_people(recipe, subject, joined)),
            source=table,
            coded=subject,
            joined=joined,
        )

    def _place_frame(self, frame: Any) -> Any:
        """Where the released rows can be read: held by the cluster, or in a folder beside the output."""
        if self.recipe.output is None:
            # Read at least twice: to be verified now, and by whoever asked for them.
            return self._hold_frame(frame)
        temporary = self._unfinished.enter_context(commit_folder(self._spark, self.recipe.output))
        write_parquet(frame, temporary)
        return self._spark.read.parquet(temporary)

    def verify(self, recoded: RecodedSparkFrame) -> CountedVerification:
        """Count the rows on the cluster."""
        found = self._make_check(recoded)(recoded.frame)
        return replace(found, findings=self._judge_whole(recoded, found.rows))

    def _make_check(self, recoded: RecodedSparkFrame) -> _Check:
        """What verifies a frame of this release, now or when it is written later."""
        recipe, source, spark = self.recipe, recoded.source, self._spark
        # Spark reads its input again for every job; a source that changes shows in the count.
        rows = recoded.rows - recoded.recoding.suppressed_rows
        columns = recoded.subject.columns

        def verify_frame(frame: Any) -> CountedVerification:
            released = _as_source(recipe, source, frame)
            known = _add_released_people(recipe, recoded, released)
            found = verify_release(known, spark, recipe.quasi, recipe.sensitive, recipe.models, columns)
            # People are counted in rows that are known to be those of the frame, which does not tell them.
            if found.rows != rows or (known is not released and sum_rows(known) != sum_rows(released)):
                raise InputError(
                    f"{source.origin} has other rows each time that it is read ({found.rows:,} where there "
                    f"were {rows:,}): cache it, or write it to a file first"
                )
            refuse_unmet_goal(found)
            return found

        return verify_frame

    def _judge_whole(self, recoded: RecodedSparkFrame, rows: int) -> tuple[Finding, ...]:
        """What all released columns give away together."""
        recipe, coded = self.recipe, recoded.coded
        released = _as_source(recipe, recoded.source, recoded.frame)
        released = _add_released_people(recipe, recoded, released)
        witness = SparkWitness(
            recipe, recoded.source, recoded.joined, coded, coded.layout.packing, self._watch_frame
        )
        witness.read_release(released, rows)
        text = dict(zip(released.names, map(_is_text, released.kinds), strict=True))
        schema = {name: pl.String if is_text else pl.Int64 for name, is_text in text.items()}
        judged = describe_release(
            recipe,
            pl.DataFrame(schema=schema),
            coded.columns,
            lost=measure_column_loss(recoded.recoding),
            keeps_order=_keeps_order(recipe, coded),
        )
        return judge_by_witness(judged, witness, recipe.accept)

    def write(self, recoded: RecodedSparkFrame, release: Release) -> Release:
        """Give the folder its name; what was verified is the folder, so that is what the frame reads."""
        self._unfinished.close()
        output = str(self.recipe.output)
        if is_spark_frame(recoded.source.origin.native):
            frame = self._spark.read.parquet(make_uri(output))
        else:  # the session ends with the run
            frame = pl.scan_parquet(f"{output}/*.parquet")
        return replace(release, frame=frame, solutions=(frame,))

    def build_release(self, recoded: RecodedSparkFrame, report: Report) -> SparkRelease:
        """A release that can be written later, and is then checked in the same way."""
        # Level by level, which cells go together stays on the cluster: there are no classes to save.
        recoding = recoded.recoding if recoded.coded.is_on_driver else None
        return SparkRelease(
            recoded.frame,
            report,
            self.recipe,
            recoded.table,
            (recoded.frame,),
            recoding,
            recoded.subject.list_typed_columns(),
            check=self._make_check(recoded),
            held=tuple(self._held),
        )

    def _hold_frame(self, frame: Any) -> Any:
        self._held.append(frame.persist())
        return frame

    def _watch_frame(self, frame: Any) -> Any:
        self._watched.append(frame.persist())
        return frame


def _describe_run(coded: CodedFrame) -> tuple[str, ...]:
    """Who searched, unless the search says so itself."""
    if not coded.is_on_driver:
        return ()
    return (f"Spark counted the rows, and the driver searched {coded.distinct:,} distinct ones",)


def _forget_frames(frames: list[Any]) -> None:
    while frames:
        frames.pop().unpersist()


def _keeps_order(recipe: Recipe, coded: CodedFrame) -> bool:
    """Whether rows keep their order: never where a person has several, for those often stand together."""
    return recipe.row_order == "keep" and not coded.counts_people


def _describe_people(recipe: Recipe, coded: CodedFrame, joined: Any) -> tuple[str, ...]:
    """What was done because people have several rows."""
    return describe_people(recipe, *describe_rows(joined)) if coded.counts_people else ()


def _add_released_people(recipe: Recipe, recoded: RecodedSparkFrame, released: SparkSource) -> SparkSource:
    """Released rows with whose each is, where people are counted; made anew, since the release has no ids."""
    f = load_functions()

    if not recoded.coded.counts_people:
        return released
    place = _place_columns(recipe, recoded.source)
    cells = [f.col(place[name]).alias(released.column_name(name)) for name in released.names]
    return replace(released, frame=recoded.joined.select(*cells, PERSON))


def _place_columns(recipe: Recipe, source: SparkSource) -> dict[str, str]:
    """Where joined rows have each column of the release."""
    value = {name: f"v{j}" for j, name in enumerate(recipe.quasi)}
    return {
        name: value.get(name) or source.column_name(name) for name in _list_released_names(recipe, source)
    }


def _select_released(recipe: Recipe, source: SparkSource, coded: CodedFrame, joined: Any) -> Any:
    """The rows as they are released."""
    f = load_functions()

    place = _place_columns(recipe, source)
    if not _keeps_order(recipe, coded):
        first = [place[name] for name in recipe.quasi]
        others = [column for name, column in place.items() if name not in recipe.quasi]
        joined = joined.orderBy(
            # As strings, which is how engines on one machine sort.
            *(f.col(each).cast("string").asc_nulls_last() for each in (*first, *others))
        )
    # Metadata of a column may list values of it; and names are given last, as Spark takes some for paths.
    return joined.select(*(f.col(column).alias(name, metadata={}) for name, column in place.items()))


def _is_text(kind: str) -> bool:
    return kind == "string" or kind.startswith(("char(", "varchar("))


def _as_source(recipe: Recipe, source: SparkSource, released: Any) -> SparkSource:
    """A released frame as what can be counted."""
    origin = Origin("spark", released, format=source.origin.format)
    return SparkSource.from_frame(released, origin, recipe.reading.na, _list_released_names(recipe, source))


def _list_released_names(recipe: Recipe, source: SparkSource) -> list[str]:
    """Columns of the release."""
    left_out = recipe.left_out(source.names)
    return [name for name in source.names if name not in left_out]


def write_parquet(frame: Any, path: str) -> None:
    """Let the cluster write a folder of Parquet files."""
    frame.write.parquet(path)
