"""The verifier on a cluster: groups what was released, and counts.

Like `shoal.verify` it shares nothing with the search. Executors look at classes a batch at a time; of every
batch the driver gets the sizes, counted, and for each model the class that comes nearest to violating it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.recount import value_codes
from shoal.engines.spark.coding import looked_up
from shoal.engines.spark.source import Source
from shoal.engines.spark.workers import as_arrow
from shoal.privacy import Counts, Model, Scale, Sensitive, for_columns
from shoal.privacy.counts import sums
from shoal.table import Column
from shoal.verify import Verdict, Verification, verdict_on

_SCHEMA = "model int, size bigint, classes bigint, value array<int>, times array<bigint>"
_SIZES = -1  # in place of a model: sizes of classes


def verify(
    released: Source,
    spark: Any,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    columns: Mapping[str, Column],
) -> tuple[Verification, NDArray[np.int64]]:
    """Check a release against models; the sizes of its classes come along."""
    every = for_columns(models, sensitive)
    verdicts: dict[int, Verdict] = {}
    size: NDArray[np.int64] | None = None
    for name in sensitive:
        about = {at: model for at, model in enumerate(every) if _column(model) == name}
        if about:
            size, found = _of_column(released, spark, quasi, name, about, columns[name])
            verdicts |= found
    if size is None:
        size = _sizes(released, quasi)
    counts = Counts(size, {})
    verdicts |= {at: verdict_on(model, counts) for at, model in enumerate(every) if at not in verdicts}
    holds = all(verdict.holds for verdict in verdicts.values())
    verdict = tuple(verdicts[at] for at in range(len(every)))
    return Verification(holds, int(size.sum()), size.size, int(size.min()), verdict), size


def _column(model: Model) -> str | None:
    return getattr(model, "column", None) if model.sensitive else None


def _keys(released: Source, quasi: Sequence[str]) -> list[Any]:
    """The released quasi-identifiers; zero and minus zero are equal numbers, but not to a reader."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    keys = []
    for name in quasi:
        cell = f.col(released.column(name))
        number = released.kinds[released.names.index(name)] in ("float", "double")
        keys.append(cell.cast("string") if number else cell)
    return [key.alias(f"q{j}") for j, key in enumerate(keys)]


def _sizes(released: Source, quasi: Sequence[str]) -> NDArray[np.int64]:
    """The sizes of all classes."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    classes = released.frame.groupBy(*_keys(released, quasi)).agg(f.count(f.lit(1)).alias("size"))
    return _repeated(pl.from_arrow(classes.groupBy("size").agg(f.count(f.lit(1)).alias("classes")).toArrow()))


def _repeated(sizes: Any) -> NDArray[np.int64]:
    return np.repeat(sizes["size"].to_numpy().astype(np.int64), sizes["classes"].to_numpy())


def _of_column(
    released: Source,
    spark: Any,
    quasi: Sequence[str],
    name: str,
    models: Mapping[int, Model],
    column: Column,
) -> tuple[NDArray[np.int64], dict[int, Verdict]]:
    """The sizes of all classes, and what becomes of models about one sensitive column."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    place = released.column(name)
    known = released.frame.groupBy(place).agg(f.count(f.lit(1)).alias("n")).toArrow()
    raw: Any = pl.from_arrow(known.column(0))
    code, scale = value_codes(raw, column, released.origin, released.na)
    whole = sums(code, known["n"].to_numpy())
    coded = looked_up(released.frame, place, spark, known.column(0), code, "code")
    keys = [f"q{j}" for j in range(len(quasi))]
    counted = coded.groupBy(*_keys(released, quasi), "code").agg(f.count(f.lit(1)).alias("n"))
    entries = f.array_sort(f.collect_list(f.struct("code", "n")))
    classes = counted.groupBy(*keys).agg(f.sum("n").alias("size"), entries.alias("entries"))
    judge = _Judge(tuple(models.items()), scale, whole, name)
    slim = classes.select("size", f.col("entries.code").alias("value"), f.col("entries.n").alias("times"))
    judged = slim.mapInArrow(judge.__call__, _SCHEMA)
    found: Any = pl.from_arrow(judged.toArrow())
    size = _repeated(found.filter(pl.col("model") == _SIZES))
    verdicts = {}
    for at, model in models.items():
        worst = found.filter(pl.col("model") == at)
        verdict = verdict_on(model, judge.counts(worst))
        verdicts[at] = replace(verdict, holds=verdict.holds and worst["classes"].sum() == 0)
    return size, verdicts


@dataclass(frozen=True, slots=True, eq=False)
class _Judge:
    """Finds the classes that matter to models about one sensitive column."""

    models: tuple[tuple[int, Model], ...]
    scale: Scale
    whole: NDArray[np.int64]
    name: str

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Judge classes by batches; ``classes`` counts those of a size, or those that violate a model."""
        for batch in batches:
            frame: Any = pl.from_arrow(batch)
            if frame.height:
                yield from as_arrow(self._judged(frame)).to_batches()

    def _judged(self, frame: pl.DataFrame) -> pl.DataFrame:
        sizes = frame.group_by("size").agg(pl.len().cast(pl.Int64).alias("classes"))
        found = [sizes.with_columns(model=pl.lit(_SIZES), value=pl.lit(None), times=pl.lit(None))]
        counts = self.counts(frame)
        for at, model in self.models:
            worst = frame[sorted(_worst(model, counts))]
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

    def counts(self, classes: pl.DataFrame) -> Counts:
        """Classes as models see them, which compare with all that was released."""
        entries = (
            classes.select("value", "times")
            .with_row_index("class")
            .explode("value", "times")
            .drop_nulls("value")
        )
        values = Sensitive(
            entries["class"].to_numpy().astype(np.int64),
            entries["value"].to_numpy().astype(np.int64),
            entries["times"].to_numpy().astype(np.int64),
            self.scale,
            self.whole,
        )
        return Counts(classes["size"].to_numpy().astype(np.int64), {self.name: values})


def _worst(model: Model, counts: Counts) -> set[int]:
    """Some classes that by themselves reach no more under a model than all of them do."""
    reached = model.achieved(counts)
    parts = list(reached) if isinstance(reached, dict) else [None]
    return {_halved(model, counts, part) for part in parts}


def _halved(model: Model, counts: Counts, part: str | None) -> int:
    """The class that decides what is reached, found in halves."""
    first, last = 0, counts.classes
    reached = _reached(model, counts, part)
    while last - first > 1:
        middle = (first + last) // 2
        if _reached(model, _slice(counts, first, middle), part) == reached:
            last = middle
        else:
            first = middle
    return first


def _reached(model: Model, counts: Counts, part: str | None) -> float:
    reached = model.achieved(counts)
    return reached[part] if isinstance(reached, dict) and part is not None else reached  # type: ignore[return-value]


def _slice(counts: Counts, first: int, last: int) -> Counts:
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
    return Counts(counts.size[first:last], columns)
