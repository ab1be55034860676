"""What a cluster tells about a release, for the findings on all of it: counts, and samples of words.

As on one machine, a cell is a word of 64 bits, which is the same for equal cells. No rows come to the driver,
but words of some thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.packing import CodePacking
from shoal.engines.prepare import PreparedTable
from shoal.engines.spark.session import load_functions
from shoal.engines.spark.source import PERSON, PLAIN, SparkSource
from shoal.engines.steps import ColumnSteps, StepCounter
from shoal.recipes.recipe import Recipe
from shoal.table import Origin, Table
from shoal.verification.findings import SAMPLE_ROWS, OriginalColumn, SampledRows, Steps
from shoal.verification.findings.order import choose_reading
from shoal.verification.findings.readings import BY_NAME

_SHARE = 4  # times the rows that a sample should have, it may have because its last group is large


def render_cell(column: str, kind: str) -> Any:
    """A cell as its reader sees it; zero and minus zero are equal numbers, but not to a reader."""
    f = load_functions()

    whole = kind in PLAIN and kind not in ("float", "double")
    return (
        f.col(column) if whole or kind.startswith(("decimal(", "timestamp")) else f.col(column).cast("string")
    )


def _hash_cells(cells: Sequence[Any], number: int) -> Any:
    """One word for some cells; columns differ in their ``number``, so that equal cells have other words."""
    f = load_functions()

    # Spark's hash passes over what is missing, so that is said beside it.
    parts = [part for cell in cells for part in (cell.isNull(), cell)]
    return f.xxhash64(f.lit(number), *parts)


class SparkCounter:
    """Counts rows by their words."""

    def __init__(
        self, words: Any, rows: int, quasi: Sequence[str], others: Sequence[str], most: int = SAMPLE_ROWS
    ) -> None:
        self._words, self._quasi, self._others, self._most = words, list(quasi), list(others), most
        self.rows = rows

    def count_unique(self, columns: Sequence[str]) -> int:
        """How many rows no other row equals in ``columns``: all quasi-identifiers or none, and others.

        Or, where people are counted, no row of anybody else.
        """
        return self.count_each([columns])[0]

    def count_each(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """The same for several sets of columns, in one pass."""
        f = load_functions()

        keys = [
            f.struct(f.lit(at).alias("at"), self._combine_words(columns).alias("key"))
            for at, columns in enumerate(sets)
        ]
        # One row per set: a single shuffle answers all of them.
        people = [name for name in self._words.columns if name == PERSON]
        each = self._words.select(f.explode(f.array(*keys)).alias("of"), *people)
        # Rows that equal only rows of the same person bring these together.
        ends = [f.min(PERSON).alias("first"), f.max(PERSON).alias("last")] if people else []
        grouped = each.groupBy("of.at", "of.key").agg(f.count(f.lit(1)).alias("n"), *ends)
        alone = f.col("first") == f.col("last") if people else f.col("n") == 1
        found = grouped.where(alone).groupBy("at").agg(f.sum("n").alias("n")).collect()
        counted = {row["at"]: int(row["n"]) for row in found}
        return [counted.get(at, 0) for at in range(len(sets))]

    def _combine_words(self, columns: Sequence[str]) -> Any:
        f = load_functions()

        names = [f"w{self._others.index(name)}" for name in columns if name in self._others]
        first, *rest = [*names, *(["class"] if len(names) < len(columns) else [])]
        # xor of independent words gives a key for any set of columns.
        key = f.col(first)
        for name in rest:
            key = key.bitwiseXOR(f.col(name))
        return key

    def sample_classes(self, quasi: Sequence[str]) -> SparkCounter:
        """Some of the rows, with all the rows that equal them in ``quasi``."""
        f = load_functions()

        if self.rows <= self._most:
            return self
        bound = _bound(self._words, "class", self._most)
        part = self._words.where(f.col("class") <= bound)
        return SparkCounter(part, int(part.count()), quasi, self._others, self._most)


def _bound(words: Any, word: str, most: int) -> int:
    """The largest word such that about ``most`` rows have it or a smaller one."""
    groups = words.groupBy(word).count().orderBy(word).limit(most + 1).toArrow()
    at = int(np.searchsorted(np.cumsum(groups["count"].to_numpy()), most))
    return int(groups[word][min(at, groups.num_rows - 1)].as_py())


Hold = Callable[[Any], Any]


class SparkWitness:
    """What is known of released rows and of the rows that they were made from."""

    def __init__(
        self,
        recipe: Recipe,
        source: SparkSource,
        joined: Any,
        subject: PreparedTable,
        packing: CodePacking,
        hold: Hold,
    ) -> None:
        """Watch a release.

        Parameters
        ----------
        joined
            Spark frame: the columns of the source, packed codes ``k0``, ..., and released values ``v0``, ...
        hold
            Keeps a Spark frame for as long as the run takes.
        """
        self._recipe, self._source, self._joined, self._hold = recipe, source, joined, hold
        self._subject = subject
        self._encoded = {each.domain.name: each for each in subject.encoded}
        self._packing = packing
        self.left_out = recipe.left_out(source.names)
        self._others = [name for name in source.names if name not in (*recipe.quasi, *self.left_out)]
        self._known: Any = None
        self._fetched: pl.DataFrame | None = None
        self._released: SparkSource | None = None
        self._counter: SparkCounter | None = None
        self._counted: dict[str, dict[str, StepCounter]] | None = None
        self.people: int | None = None
        """How many people the released rows are of, where people are counted."""

    def read_release(self, released: SparkSource, rows: int) -> None:
        """Take note of what is released: so many rows, by the names that their columns have."""
        cells = {
            name: render_cell(released.column_name(name), kind)
            for name, kind in zip(released.names, released.kinds, strict=True)
        }
        words = [_hash_cells([cells[name] for name in self._recipe.quasi], -1).alias("class")]
        words += [_hash_cells([cells[name]], j).alias(f"w{j}") for j, name in enumerate(self._others)]
        self._released = released
        people = [name for name in released.frame.columns if name == PERSON]
        held = self._hold(released.frame.select(*words, *people))
        self.people = held.select(*people).distinct().count() if people else None
        self._counter = SparkCounter(held, rows, self._recipe.quasi, self._others)

    @property
    def counter(self) -> SparkCounter:
        """Counts the rows that are released."""
        assert self._counter is not None
        return self._counter

    def list_distinct_values(self, name: str) -> pl.Series:
        """The different released values of a column."""
        assert self._released is not None
        values = self._released.frame.select(self._released.column_name(name)).distinct().toArrow()
        return pl.DataFrame(pl.from_arrow(values)).to_series()

    def _hold_words(self) -> Any:
        """What only the maker of the release knows: codes, and words of columns that are left out."""
        if self._known is None:
            kinds = dict(zip(self._source.names, self._source.kinds, strict=True))
            shown = {f"v{j}": dict(self._joined.dtypes)[f"v{j}"] for j in range(len(self._encoded))}
            quasi = [render_cell(column, kind) for column, kind in shown.items()]
            # Numbers below 0 are for quasi-identifiers: they never meet those of others.
            chosen = [*self._key_columns, _hash_cells(quasi, -1).alias("class")]
            chosen += [_hash_cells([cell], -2 - j).alias(f"q{j}") for j, cell in enumerate(quasi)]
            chosen += [
                _hash_cells([self._render_source_cell(name, kinds[name])], j).alias(f"w{j}")
                for j, name in enumerate((*self._others, *self.left_out))
            ]
            self._known = self._hold(self._joined.select(*chosen))
        return self._known

    def _render_source_cell(self, name: str, kind: str) -> Any:
        """A cell of the source; of a column that is left out, null for what is missing."""
        f = load_functions()

        cell = render_cell(self._source.column_name(name), kind)
        if name in self._others or not self._source.na:
            return cell
        return f.when(~cell.cast("string").isin(list(self._source.na)), cell)

    @property
    def _key_columns(self) -> list[str]:
        return [f"k{i}" for i in range(self._packing.words)]

    def _word_of(self, name: str) -> str:
        return f"w{[*self._others, *self.left_out].index(name)}"

    def sample_rows(self, other: str, hidden: Sequence[str], most: int) -> SampledRows | None:
        """About ``most`` rows by the values of a column."""
        word = self._word_of(other)
        found = self._fetch_sampled_words(word, most) if self.counter.rows > most else self._fetch_all_words()
        distinct, given = np.unique(found[word].to_numpy(), return_inverse=True)
        if distinct.size < 2:
            return None
        packed = [found[key].to_numpy().astype(np.uint64) for key in self._key_columns]
        codes = dict(zip(self._encoded, self._packing.unpack_codes(packed), strict=True))
        known = {
            name: OriginalColumn(codes[name].astype(np.int64), self._encoded[name].domain.axis)
            for name in hidden
        }
        places = {name: f"q{j}" for j, name in enumerate(self._encoded) if name in hidden}
        cells = {name: np.unique(found[at].to_numpy(), return_inverse=True)[1] for name, at in places.items()}
        return SampledRows(given, cells, known)

    def _fetch_all_words(self) -> pl.DataFrame:
        """The words of all rows, where they are few."""
        if self._fetched is None:
            found = pl.DataFrame(pl.from_arrow(self._hold_words().toArrow()))
            self._fetched = found.sort(found.columns, maintain_order=True)  # since Spark has no order
        return self._fetched

    def _fetch_sampled_words(self, word: str, most: int) -> pl.DataFrame:
        """The words of rows that have some of the values of a column."""
        f = load_functions()

        words = self._hold_words()
        columns = [word, *self._key_columns, *(f"q{j}" for j in range(len(self._encoded)))]
        some = words.where(f.col(word) <= _bound(words, word, most)).select(*columns)
        # Some order that tells nothing and is always the same.
        chosen = some.orderBy(f.xxhash64(*columns), *columns).limit(_SHARE * most)
        return pl.DataFrame(pl.from_arrow(chosen.toArrow()))

    def count_repeated(self, name: str, k: int) -> tuple[int, int]:
        """Rows in classes with fewer than ``k`` distinct values of a column, and its distinct values."""
        f = load_functions()

        word, words = self._word_of(name), self._hold_words()
        pairs = words.groupBy("class", word).agg(f.count(f.lit(1)).alias("n"))
        classes = pairs.groupBy("class").agg(f.sum("n").alias("n"), f.count(f.lit(1)).alias("people"))
        few = classes.where(f.col("people") < k).agg(f.sum("n")).collect()[0][0] or 0
        return int(few), int(words.select(word).distinct().count()) if few else 0

    def steps_of(self, name: str) -> Steps:
        """How the values of a hidden column change from row to row, as the rows lie in their partitions."""
        if self._counted is None:
            self._counted = self._count_steps()
        counters = self._counted[name].items()
        return choose_reading(
            [each.build_steps(lambda: self._sum_squares(name), how) for how, each in counters]
        )

    def _sum_squares(self, name: str) -> float:
        f = load_functions()

        if name in self.left_out:
            counted = self._hold_words().groupBy(self._word_of(name)).agg(f.count(f.lit(1)).alias("n"))
            return float(counted.agg(f.sum(f.col("n").cast("double") * f.col("n"))).collect()[0][0])
        # Suppressed rows are counted with the others here: of their codes no more is known than of others.
        rows = self._subject.problem.rows
        times = np.bincount(rows.quasi[list(self._encoded).index(name)], rows.count)
        return float(np.square(times * (self.counter.rows / rows.rows)).sum())

    def _count_steps(self) -> dict[str, dict[str, StepCounter]]:
        """Of every column that is hidden, wholly or in part, by every reading that all its texts fit."""
        watched = [self._source.column_name(name) for name in self.left_out]
        origin = replace(self._source.origin, native=None)
        places = tuple(each.domain.axis for each in self._encoded.values())
        names = [*self._encoded, *self.left_out]
        walk = PartitionStepCounter(tuple(watched), origin, self._source.na, self._packing, places)
        rows = self._joined.select(*watched, *self._key_columns).mapInArrow(walk.__call__, walk.schema)
        found: Any = pl.from_arrow(rows.toArrow())
        return {name: _add_partitions(found.filter(pl.col("of") == at)) for at, name in enumerate(names)}


def _add_partitions(parts: pl.DataFrame) -> dict[str, StepCounter]:
    """The steps of a column in all partitions, by the readings that it has in every one of them."""
    counted = {}
    partitions = parts.filter(pl.col("reading") == BY_NAME).height
    for (reading,), chosen in parts.group_by(["reading"], maintain_order=True):
        # In one partition texts may be numbers by chance.
        if chosen.height < partitions:
            continue
        counted[str(reading)] = StepCounter()
        # Steps from one partition to the next are not counted; they are few.
        for field in ("up", "down", "beside", "rows"):
            setattr(counted[str(reading)], field, int(chosen[field].sum()))
    return counted


@dataclass(frozen=True, slots=True, eq=False)
class PartitionStepCounter:
    """Counts, in one partition, how columns change from row to row."""

    left_out: tuple[str, ...]
    origin: Origin
    na: tuple[str, ...]
    packing: CodePacking
    places: tuple[NDArray[np.float64] | None, ...]
    """By quasi-identifier, where each of its codes lies, if they are ordered."""
    schema = "of int, reading string, up bigint, down bigint, beside bigint, rows bigint"

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Count one partition."""
        codes = [StepCounter() for _ in self.places]
        columns = [ColumnSteps() for _ in self.left_out]
        for batch in batches:
            frame = pl.DataFrame(pl.from_arrow(batch))
            table = Table(frame, self.origin, self.na)
            for name, steps in zip(self.left_out, columns, strict=True):
                steps.add_rows(table.column(name))
            packed = [frame[f"k{i}"].to_numpy().astype(np.uint64) for i in range(self.packing.words)]
            for counter, code, place in zip(
                codes, self.packing.unpack_codes(packed), self.places, strict=True
            ):
                counter.add_rows(pl.Series(code if place is None else place[code]))
        found = [_list_counts(at, BY_NAME, each) for at, each in enumerate(codes)]
        for at, column in enumerate(columns, len(codes)):
            found += [_list_counts(at, reading, each) for reading, each in column.counters.items()]
        if found:
            kinds = {"of": pl.Int32, "reading": pl.String}
            kinds |= dict.fromkeys(("up", "down", "beside", "rows"), pl.Int64)
            yield from pl.DataFrame(found, schema=kinds).to_arrow().to_batches()


def _list_counts(at: int, reading: str, counted: StepCounter) -> dict[str, Any]:
    counts = {name: getattr(counted, name) for name in ("up", "down", "beside", "rows")}
    return {"of": at, "reading": reading, **counts}
