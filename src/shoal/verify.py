"""The verifier: reads a release as an outsider would, groups the released values and counts.

It shares no code with the search: not the codes, not the frequency table, not the recoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError, RecipeError, unknown
from shoal.parameters import name_of
from shoal.privacy import MODELS, Counts, Model, Sensitive, asked, for_columns
from shoal.table import ReadOptions, Table, read


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one privacy model."""

    name: str
    asked: dict[str, Any]
    achieved: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """What an outsider finds in a release."""

    holds: bool
    rows: int
    classes: int
    smallest_class: int
    models: tuple[Verdict, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self) | {"models": [asdict(model) for model in self.models]}


def verify(
    source: object,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    models: Sequence[Model],
    options: ReadOptions | None = None,
) -> Verification:
    """Check a release, in a file or a frame, against privacy models.

    Values are compared as they are written; a missing value is a value of its own.
    """
    table = read(source, options or ReadOptions())
    return verify_table(table, quasi, sensitive, models)


def verify_table(
    table: Table, quasi: Sequence[str], sensitive: Sequence[str], models: Sequence[Model]
) -> Verification:
    """Check a table that has been read."""
    for name in (*quasi, *sensitive):
        if name not in table.names:
            raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
    if not quasi:
        raise RecipeError("no quasi-identifiers: name the columns that someone could recognise a person by")
    if not models:
        raise RecipeError("no privacy goal: say what must hold, for example k = 5")
    concrete = for_columns(models, sensitive)
    counts = count_classes(table, quasi, sensitive)
    verdicts = tuple(_verdict(model, counts) for model in concrete)
    return Verification(
        holds=all(verdict.holds for verdict in verdicts),
        rows=int(counts.size.sum()),
        classes=counts.classes,
        smallest_class=int(counts.size.min()) if counts.classes else 0,
        models=verdicts,
    )


def count_classes(table: Table, quasi: Sequence[str], sensitive: Sequence[str]) -> Counts:
    """Group rows with equal quasi-identifiers; count the rows and the sensitive values of each group.

    Quasi-identifiers count as written. All kinds of missing sensitive values (a marker, an empty
    text, NaN) are one, because to a reader they are.
    """
    keys = [table.frame[name].alias(f"quasi {i}") for i, name in enumerate(quasi)]
    values = [_one_missing(table.column(name)).alias(f"sensitive {i}") for i, name in enumerate(sensitive)]
    group = pl.LazyFrame([*keys, *values]).group_by([key.name for key in keys], maintain_order=True)
    histograms = [pl.col(value.name).value_counts(name="count") for value in values]
    classes = group.agg(pl.len().alias("size"), *histograms).collect()
    return Counts(
        size=classes["size"].to_numpy().astype(np.int64),
        sensitive={name: _spread(classes[f"sensitive {i}"]) for i, name in enumerate(sensitive)},
    )


def _one_missing(values: pl.Series) -> pl.Series:
    return values.replace("", None) if values.dtype == pl.String else values


def _spread(histograms: pl.Series) -> Sensitive:
    """Lists of (value, count), one per class, as one sparse table."""
    entries = histograms.list.len().to_numpy()
    flat = histograms.explode().struct.unnest()
    value = flat.to_series(0)
    return Sensitive(
        class_of=np.repeat(np.arange(entries.size), entries),
        value=value.rank("dense").fill_null(0).to_numpy().astype(np.int64),
        count=flat["count"].to_numpy().astype(np.int64),
    )


def _verdict(model: Model, counts: Counts) -> Verdict:
    return Verdict(
        name_of(MODELS, model), asked(model), model.achieved(counts), bool(model.holds(counts).all())
    )
