"""The verifier on a cluster: groups what was released, and counts.

Like `shoal.verify` it shares nothing with the search. Executors look at classes a batch at a time; of every
batch the driver gets the sizes, counted, and for each model the class that comes nearest to violating it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.level_workers import as_arrow
from shoal.engines.spark.coding import join_codes
from shoal.engines.spark.session import load_functions
from shoal.engines.spark.source import PERSON, SparkSource
from shoal.engines.spark.witness import render_cell
from shoal.engines.verifier import number_sensitive_values, pick_suppressed_class
from shoal.privacy import Counts, Model, SensitiveCounts, ValueScale, for_columns
from shoal.privacy.counts import sum_by_place
from shoal.table import Column
from shoal.verification.verifier import Verdict, Verification, judge_model

_SCHEMA = "model int, size bigint, classes bigint, value array<int>, times array<bigint>"
_SIZES = -1  # in place of a model: sizes of classes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedVerification(Verification):
    """What was found, with the sizes of all classes, in no order."""

    class_sizes: NDArray[np.int64]


def verify_release(
    released: SparkSource,
    spark: Any,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    columns: Mapping[str, Column],
) -> CountedVerification:
    """Check a release against models; people are counted if the frame says whose each row is."""
    every = for_columns(models, sensitive)
    verdicts: dict[int, Verdict] = {}
    size: NDArray[np.int64] | None = None
    rows_of = None
    for name in sensitive:
        about = {at: model for at, model in enumerate(every) if _find_column(model) == name}
        if about:
            size, found = _verify_column(released, spark, quasi, name, about, columns[name])
            verdicts |= found
    people = None
    if PERSON in released.frame.columns:
        size, rows_of = _count_class_people(released, quasi)
        people = released.frame.select(PERSON).distinct().count()
    # No model is about a sensitive column, so one pass for the sizes is enough.
    elif size is None:
        size = _count_class_sizes(released, quasi)
    assert size is not None
    suppressed = None
    if any(model.averages for model in every):
        suppressed = pick_suppressed_class(size, rows_of, *_count_suppressed(released, quasi))
    counts = Counts(size, {}, rows_of=rows_of, suppressed=suppressed)
    verdicts |= {at: judge_model(model, counts) for at, model in enumerate(every) if at not in verdicts}
    holds = all(verdict.holds for verdict in verdicts.values())
    verdict = tuple(verdicts[at] for at in range(len(every)))
    figures = (counts.rows, size.size, int(size.min()))
    return CountedVerification(holds, *figures, verdict, class_sizes=size, people=people)


def _find_column(model: Model) -> str | None:
    return getattr(model, "column", None) if model.sensitive else None


def _build_keys(released: SparkSource, quasi: Sequence[str]) -> list[Any]:
    """The released quasi-identifiers; zero and minus zero are equal numbers, but not to a reader."""
    kinds = dict(zip(released.names, released.kinds, strict=True))
    cells = [render_cell(released.column_name(name), kinds[name]) for name in quasi]
    return [cell.alias(f"q{j}") for j, cell in enumerate(cells)]


def _count_class_sizes(released: SparkSource, quasi: Sequence[str]) -> NDArray[np.int64]:
    """The sizes of all classes."""
    f = load_functions()

    classes = released.frame.groupBy(*_build_keys(released, quasi)).agg(f.count(f.lit(1)).alias("size"))
    return _repeat_sizes(
        pl.from_arrow(classes.groupBy("size").agg(f.count(f.lit(1)).alias("classes")).toArrow())
    )


def _count_suppressed(released: SparkSource, quasi: Sequence[str]) -> tuple[int, int]:
    """How many rows or people have every quasi-identifier suppressed, and how many rows these are."""
    hidden = reduce(and_, (key.cast("string") == "*" for key in _build_keys(released, quasi)))
    found = released.frame.where(hidden)
    rows = found.count()
    return found.select(PERSON).distinct().count() if PERSON in found.columns else rows, rows


def _count_class_people(
    released: SparkSource, quasi: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many people all classes have, and how many rows."""
    f = load_functions()

    keys = [f"q{j}" for j in range(len(quasi))]
    units = released.frame.groupBy(*_build_keys(released, quasi), PERSON).agg(f.count(f.lit(1)).alias("n"))
    classes = units.groupBy(*keys).agg(f.count(f.lit(1)).alias("size"), f.sum("n").alias("rows"))
    found: Any = pl.from_arrow(
        classes.groupBy("size", "rows").agg(f.count(f.lit(1)).alias("classes")).toArrow()
    )
    return _repeat_sizes(found), _repeat_sizes(found, "rows")


def _repeat_sizes(sizes: Any, which: str = "size") -> NDArray[np.int64]:
    return np.repeat(sizes[which].to_numpy().astype(np.int64), sizes["classes"].to_numpy())


def _verify_column(
    released: SparkSource,
    spark: Any,
    quasi: Sequence[str],
    name: str,
    models: Mapping[int, Model],
    column: Column,
) -> tuple[NDArray[np.int64], dict[int, Verdict]]:
    """The sizes of all classes, and what becomes of models about one sensitive column."""
    f = load_functions()

    place = released.column_name(name)
    known = released.frame.groupBy(place).agg(f.count(f.lit(1)).alias("n")).toArrow()
    raw: Any = pl.from_arrow(known.column(0))
    code, scale = number_sensitive_values(raw, column, released.origin, released.na)
    # Models compare a class with all that was released, so executors need the whole counts.
    whole = sum_by_place(code, known["n"].to_numpy())
    coded = join_codes(released.frame, place, spark, known.column(0), code, "code")
    keys = [f"q{j}" for j in range(len(quasi))]
    # Sorted, since collect_list gives them in any order.
    entries = f.array_sort(f.collect_list(f.struct("code", "n"))).alias("entries")
    counts_people = PERSON in released.frame.columns
    if counts_people:
        units = coded.select(*_build_keys(released, quasi), "code", PERSON).distinct()
        whole = _count_people_of_values(coded)
        counted = units.groupBy(*keys, "code").agg(f.count(f.lit(1)).alias("n"))
        # Somebody may have several values, so that people are counted apart from these.
        size = units.groupBy(*keys).agg(f.count_distinct(PERSON).alias("size"))
        classes = _join_classes(counted.groupBy(*keys).agg(entries), size, keys)
    else:
        counted = coded.groupBy(*_build_keys(released, quasi), "code").agg(f.count(f.lit(1)).alias("n"))
        classes = counted.groupBy(*keys).agg(f.sum("n").alias("size"), entries)
    judge = _ClassJudge(tuple(models.items()), scale, whole, name, counts_people)
    slim = classes.select("size", f.col("entries.code").alias("value"), f.col("entries.n").alias("times"))
    judged = slim.mapInArrow(judge.__call__, _SCHEMA)
    found: Any = pl.from_arrow(judged.toArrow())
    size = _repeat_sizes(found.filter(pl.col("model") == _SIZES))
    verdicts = {}
    for at, model in models.items():
        worst = found.filter(pl.col("model") == at)
        verdict = judge_model(model, judge.build_counts(worst))
        # What is achieved comes from the worst classes; whether it holds, from all of them.
        verdicts[at] = replace(verdict, holds=verdict.holds and worst["classes"].sum() == 0)
    return size, verdicts


def _count_people_of_values(coded: Any) -> NDArray[np.int64]:
    """How many people of the whole release have each value."""
    counted = coded.select("code", PERSON).distinct().groupBy("code").count().toArrow()
    return sum_by_place(counted["code"].to_numpy(), counted["count"].to_numpy())


def _join_classes(left: Any, right: Any, keys: Sequence[str]) -> Any:
    """Two frames with a row for each class, side by side; a missing cell is a cell like others."""
    right = right.toDF(*(f"r{name}" if name in keys else name for name in right.columns))
    same = [left[key].eqNullSafe(right[f"r{key}"]) for key in keys]
    return left.join(right, reduce(and_, same))


@dataclass(frozen=True, slots=True, eq=False)
class _ClassJudge:
    """Finds the classes that matter to models about one sensitive column."""

    models: tuple[tuple[int, Model], ...]
    scale: ValueScale
    whole: NDArray[np.int64]
    name: str
    counts_people: bool = False

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Judge classes by batches; ``classes`` counts those of a size, or those that violate a model."""
        for batch in batches:
            frame: Any = pl.from_arrow(batch)
            if frame.height:
                yield from as_arrow(self._judge_classes(frame)).to_batches()

    def _judge_classes(self, frame: pl.DataFrame) -> pl.DataFrame:
        sizes = frame.group_by("size").agg(pl.len().cast(pl.Int64).alias("classes"))
        found = [sizes.with_columns(model=pl.lit(_SIZES), value=pl.lit(None), times=pl.lit(None))]
        counts = self.build_counts(frame)
        for at, model in self.models:
            # The class that decides the figure of a batch is all that the driver needs of it.
            worst = frame[sorted(_find_worst_classes(model, counts))]
            violating = int(np.count_nonzero(~model.holds(counts)))
            found.append(worst.with_columns(model=pl.lit(at), classes=pl.lit(violating)))
        kinds: dict[str, Any] = {
            "model": pl.Int32,
            "size": pl.Int64,
            "classes": pl.Int64,
            "value": pl.List(pl.Int32),
            "times": pl.List(pl.Int64),
        }
        return pl.concat(
            [each.select(pl.col(name).cast(kind) for name, kind in kinds.items()) for each in found]
        )

    def build_counts(self, classes: pl.DataFrame) -> Counts:
        """Classes as models see them, which compare with all that was released."""
        entries = (
            classes.select("value", "times")
            .with_row_index("class")
            .explode("value", "times")
            .drop_nulls("value")
        )
        values = SensitiveCounts(
            entries["class"].to_numpy().astype(np.int64),
            entries["value"].to_numpy().astype(np.int64),
            entries["times"].to_numpy().astype(np.int64),
            self.scale,
            self.whole,
        )
        size = classes["size"].to_numpy().astype(np.int64)
        # How many rows a class has does not matter to models about values: that people count, does.
        return Counts(size, {self.name: values}, rows_of=size if self.counts_people else None)


def _find_worst_classes(model: Model, counts: Counts) -> set[int]:
    """Some classes that by themselves reach no more under a model than all of them do."""
    reached = model.achieved(counts)
    parts = list(reached) if isinstance(reached, dict) else [None]
    return {_bisect_worst_class(model, counts, part) for part in parts}


def _bisect_worst_class(model: Model, counts: Counts, part: str | None) -> int:
    """The class that decides what is reached, found in halves."""
    first, last = 0, counts.classes
    reached = _read_achieved(model, counts, part)
    while last - first > 1:
        middle = (first + last) // 2
        # What all classes reach is the worst of both halves, so one of them reaches the same.
        if _read_achieved(model, _slice_classes(counts, first, middle), part) == reached:
            last = middle
        else:
            first = middle
    return first


def _read_achieved(model: Model, counts: Counts, part: str | None) -> float:
    reached = model.achieved(counts)
    return reached[part] if isinstance(reached, dict) and part is not None else reached  # type: ignore[return-value]


def _slice_classes(counts: Counts, first: int, last: int) -> Counts:
    """Some classes that follow each other."""
    columns = {}
    for name, values in counts.sensitive.items():
        begin, end = np.searchsorted(values.class_of, (first, last))
        columns[name] = replace(
            values,
            class_of=values.class_of[begin:end] - first,
            value=values.value[begin:end],
            count=values.count[begin:end],
        )
    rows_of = None if counts.rows_of is None else counts.rows_of[first:last]
    return Counts(counts.size[first:last], columns, rows_of=rows_of)
