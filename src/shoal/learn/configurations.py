"""What a privacy search tries: configurations, and what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import RecipeError
from shoal.privacy import Model, model_text
from shoal.support.sweep import find_pareto_front


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to anonymize."""

    k: int
    l: int | None  # noqa: E741
    models: tuple[Model | str, ...]
    algorithm: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]

    @property
    def diversity(self) -> int | None:
        """The l to ask for; every class has one value, so that 1 asks for nothing."""
        return None if self.l == 1 else self.l

    def to_row(self) -> dict[str, Any]:
        """As plain values, for a table of results."""
        texts = [each if isinstance(each, str) else model_text(each) for each in self.models]
        return {
            "k": self.k,
            "l": self.l,
            "models": "; ".join(texts),
            "algorithm": self.algorithm,
            "quasi": ", ".join(self.quasi),
            "sensitive": ", ".join(self.sensitive),
        }


@dataclass(slots=True)
class ConfigurationOutcome:
    """What became of a configuration, split by split."""

    scores: list[float] = field(default_factory=list)
    deletion: list[float] = field(default_factory=list)
    ncp: list[float] = field(default_factory=list)
    smallest: list[int] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)
    seconds: float = 0.0
    reason: str = ""
    """Why it cannot be; empty if it can."""

    @property
    def mean_score(self) -> float:
        """Mean score; nothing is below everything."""
        # So a configuration without a score ranks last when halving.
        return float(np.mean(self.scores)) if self.scores else -np.inf

    def to_row(self, target: float | None) -> dict[str, Any]:
        """As plain values."""
        # One infeasible split is enough: a goal that holds only for some splits is no result.
        done = bool(self.scores) and not self.reason
        mean = float(np.mean(self.scores)) if done else None
        return {
            "score": mean,
            "score_std": float(np.std(self.scores)) if done else None,
            "splits": len(self.scores),
            "deletion_ratio": float(np.mean(self.deletion)) if done else None,
            "ncp": float(np.mean(self.ncp)) if done else None,
            "classes": float(np.mean(self.classes)) if done else None,
            "smallest_class": min(self.smallest) if done else None,
            "holds": done,
            "target_met": None if target is None or mean is None else mean >= target,
            "seconds": self.seconds,
            "status": "done" if done else "infeasible" if self.reason else "not done",
            "reason": self.reason,
        }


SCHEMA: dict[str, Any] = {
    "k": pl.Int64,
    "l": pl.Int64,
    "models": pl.String,
    "algorithm": pl.String,
    "quasi": pl.String,
    "sensitive": pl.String,
    "score": pl.Float64,
    "score_std": pl.Float64,
    "splits": pl.Int64,
    "deletion_ratio": pl.Float64,
    "ncp": pl.Float64,
    "classes": pl.Float64,
    "smallest_class": pl.Int64,
    "holds": pl.Boolean,
    "target_met": pl.Boolean,
    "seconds": pl.Float64,
    "status": pl.String,
    "reason": pl.String,
}
"""The columns of a table of results."""


def build_grid(
    k: Any,
    l: Any,  # noqa: E741
    models: Sequence[Any],
    algorithm: Any,
    quasi: Sequence[tuple[str, ...]],
    sensitive: Sequence[tuple[str, ...]],
) -> list[Configuration]:
    """Every combination in which l is at most k and no column is both quasi and sensitive."""
    every = product(as_tuple(k), as_tuple(l), models, as_tuple(algorithm), quasi, sensitive)
    made = [
        Configuration(size, diverse, tuple(more), how, tuple(n for n in known if n not in secret), secret)
        for size, diverse, more, how, known, secret in every
        if diverse is None or diverse <= size
    ]
    if not made:
        raise RecipeError("there is nothing to search: every l is above every k")
    # Lists of columns that differ only in a sensitive one are equal once it is left out.
    return list(dict.fromkeys(made))


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One value or many, as many."""
    if value is None or isinstance(value, str | int | float | np.number):
        return (value,)
    return tuple(value)


def select_pareto_front(results: pl.DataFrame) -> pl.DataFrame:
    """Configurations than which no other is at least as good in k, l, loss and score, and better in one."""
    done = results.filter(pl.col("status") == "done")
    if done.is_empty():
        return done
    # Rows deleted are lost altogether, which the loss counts as 1 already.
    better = done.select(
        pl.col("k").cast(pl.Float64),
        pl.col("l").fill_null(1).cast(pl.Float64),
        -pl.col("ncp"),
        pl.col("score"),
    ).to_numpy()
    return done.filter(pl.Series(find_pareto_front(better)))
