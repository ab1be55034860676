"""What a privacy search tries: configurations, and what became of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import RecipeError, unknown
from shoal.privacy import Model, model_text
from shoal.support.sweep import find_pareto_front

CHOOSE = "choose"
"""Stands for `CANDIDATES`, of which each goal takes the one that the estimator loses least by."""
CANDIDATES = (
    "auto",
    "tree",
    "tree(gain=64,distance=effect)",
    "tree(gain=64,sweeps=4,guide=predictions,distance=effect)",
)
"""From what loses least detail to what follows the target most, with mixtures between them."""
REPRESENTATIVES, DRAWS = "representatives", "draws"
TRAINING = (REPRESENTATIVES, DRAWS)
"""What an estimator is trained on: a value for each class and column, or rows drawn from its values, too."""
OVERLAP, TOO_DIVERSE = "a column is both quasi and sensitive", "l is above k"


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to anonymize."""

    k: int
    l: int | None  # noqa: E741
    models: tuple[Model | str, ...]
    algorithm: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    training: str = REPRESENTATIVES
    """What an estimator is trained on, see `TRAINING`."""

    @property
    def diversity(self) -> int | None:
        """The l to ask for; every class has one value, so that 1 asks for nothing."""
        return None if self.l == 1 else self.l

    @property
    def key(self) -> str:
        """What tells it from others, in a file."""
        return json.dumps(self.to_row())

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
            "training": self.training,
        }


@dataclass(frozen=True, slots=True)
class SplitResult:
    """One configuration on one division of the rows."""

    scores: Mapping[str, float] = field(default_factory=dict)
    """The scores by name, the one that decides first."""
    score_all: float | None = None
    deletion: float = 0.0
    ncp: float = 0.0
    smallest: int = 0
    distinct: int | None = None
    classes: int = 0
    scored_rows: int = 0
    scored_smallest: int | None = None
    scored_distinct: int | None = None
    scored_holds: bool | None = None
    seconds: float = 0.0
    status: str = "done"
    """``done``, ``infeasible`` or ``error``."""
    reason: str = ""
    """Why it is not done."""
    note: str = ""
    generalizations: Mapping[str, Any] | None = None
    """What the minimizer does to each column."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return asdict(self)


@dataclass(slots=True)
class ConfigurationOutcome:
    """What became of a configuration, split by split."""

    of_split: dict[int, SplitResult] = field(default_factory=dict)

    @property
    def splits(self) -> list[SplitResult]:
        """What is done, in the order of the splits: sums must not depend on what was ready first."""
        return [self.of_split[number] for number in sorted(self.of_split)]

    @property
    def failed(self) -> SplitResult | None:
        """The first split that could not be; one is enough, for a goal that holds only sometimes is none."""
        return next((each for each in self.splits if each.status != "done"), None)

    @property
    def mean_score(self) -> float:
        """Mean score; nothing is below everything."""
        # So a configuration without a score ranks last when halving.
        if self.failed or not self.of_split:
            return -np.inf
        return _mean([next(iter(each.scores.values())) for each in self.splits])

    def to_row(self, target: float | None, names: Sequence[str], error_score: float) -> dict[str, Any]:
        """As plain values."""
        failed, done = self.failed, self.splits
        row = {
            "splits": sum(each.status == "done" for each in done),
            "seconds": sum(each.seconds for each in done),
            "status": failed.status if failed else "done" if done else "not done",
            "reason": failed.reason if failed else "",
            "holds": bool(done) and failed is None,
        }
        if failed or not done:
            given = failed is not None and failed.status == "error" and not np.isnan(error_score)
            return row | ({"score": error_score} if given else {})
        scores = {name: [each.scores[name] for each in done] for name in names}
        main = scores[names[0]]
        return row | {
            "score": _mean(main),
            "score_std": float(np.std(main)),
            **{f"score_{name}": _mean(found) for name, found in scores.items() if len(names) > 1},
            **{f"score_std_{name}": float(np.std(found)) for name, found in scores.items() if len(names) > 1},
            "score_all": _mean_known([each.score_all for each in done]),
            "deletion_ratio": _mean([each.deletion for each in done]),
            "ncp": _mean([each.ncp for each in done]),
            "classes": _mean([each.classes for each in done]),
            "smallest_class": min(each.smallest for each in done),
            "distinct": _least([each.distinct for each in done]),
            "scored_rows": sum(each.scored_rows for each in done),
            "scored_smallest_class": _least([each.scored_smallest for each in done]),
            "scored_distinct": _least([each.scored_distinct for each in done]),
            "scored_holds": None if done[0].scored_holds is None else all(each.scored_holds for each in done),
            "target_met": None if target is None else _mean(main) >= target,
            "note": next((each.note for each in done if each.note), ""),
        }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _mean_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known else None


def _least(values: Sequence[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


GOAL = ["k", "l", "models", "quasi", "sensitive"]
"""The columns of a table of results that say what is asked for."""
SCHEMA: dict[str, Any] = {
    "k": pl.Int64,
    "l": pl.Int64,
    "models": pl.String,
    "algorithm": pl.String,
    "quasi": pl.String,
    "sensitive": pl.String,
    "training": pl.String,
    "score": pl.Float64,
    "score_std": pl.Float64,
    "score_all": pl.Float64,
    "splits": pl.Int64,
    "deletion_ratio": pl.Float64,
    "ncp": pl.Float64,
    "classes": pl.Float64,
    "smallest_class": pl.Int64,
    "distinct": pl.Int64,
    "scored_rows": pl.Int64,
    "scored_smallest_class": pl.Int64,
    "scored_distinct": pl.Int64,
    "scored_holds": pl.Boolean,
    "holds": pl.Boolean,
    "target_met": pl.Boolean,
    "seconds": pl.Float64,
    "status": pl.String,
    "reason": pl.String,
    "note": pl.String,
}
"""The columns of a table of results."""


def extend_schema(names: Sequence[str]) -> dict[str, Any]:
    """The columns of a table of results with several scores."""
    if len(names) == 1:
        return SCHEMA
    more = {f"{what}_{name}": pl.Float64 for name in names for what in ("score", "score_std")}
    at = list(SCHEMA).index("score_all")
    return dict([*list(SCHEMA.items())[:at], *more.items(), *list(SCHEMA.items())[at:]])


@dataclass(frozen=True, slots=True)
class SearchGrid:
    """What is tried, and how many combinations are not."""

    configurations: list[Configuration]
    skipped: dict[str, int]
    """By the reason."""


def build_grid(
    k: Any,
    l: Any,  # noqa: E741
    models: Sequence[Any],
    algorithm: Any,
    quasi: Sequence[tuple[str, ...] | None],
    sensitive: Sequence[tuple[str, ...]],
    every: Sequence[str],
    training: Any = None,
) -> SearchGrid:
    """Every combination in which l is at most k and no column is both quasi and sensitive.

    Where quasi is None, it is every column but the sensitive ones. Where training is, candidates that are
    chosen among are tried in every way, and other algorithms by their representatives.
    """
    made, skipped = [], Counter[str]()
    for size, diverse, more, (how, trained), known, secret in product(
        as_tuple(k), as_tuple(l), models, _list_algorithms(algorithm, training), quasi, sensitive
    ):
        names = tuple(n for n in every if n not in secret) if known is None else known
        if diverse is not None and diverse > size:
            skipped[TOO_DIVERSE] += 1
        elif set(names) & set(secret):
            skipped[OVERLAP] += 1
        else:
            made.append(Configuration(size, diverse, tuple(more), how, names, secret, trained))
    if not made:
        why = "every l is above every k" if skipped else "k, l, models, algorithm or columns are empty"
        if skipped[OVERLAP]:
            why = "in every combination a column is both quasi and sensitive, or l is above k"
        raise RecipeError(f"there is nothing to search: {why}")
    return SearchGrid(list(dict.fromkeys(made)), dict(skipped))


def _list_algorithms(algorithm: Any, training: Any) -> list[tuple[str, str]]:
    """The algorithms to try, with the candidates in place of the word that stands for them, and what an
    estimator is trained on.
    """
    found = []
    for named in as_tuple(algorithm):
        default = TRAINING if named == CHOOSE else (REPRESENTATIVES,)
        ways = default if training is None else as_tuple(training)
        found += list(product(CANDIDATES if named == CHOOSE else (named,), ways))
    return found


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


def choose_best(results: pl.DataFrame, target: float | None) -> dict[str, Any]:
    """Of those that meet a target the strictest in k, then l; without one the best score."""
    done, order = results.filter(pl.col("status") == "done"), ["score", "k", "l"]
    if target is not None:
        done, order = done.filter(pl.col("target_met")), ["k", "l", "score"]
    ordered = done.sort(order, descending=True, nulls_last=True, maintain_order=True)
    return next(ordered.iter_rows(named=True), {})


def choose_algorithms(results: pl.DataFrame) -> pl.DataFrame:
    """Of every goal the algorithm with the best score; of equal ones the one that loses less detail."""
    done = results.filter(pl.col("status") == "done")
    ordered = done.sort(["score", "ncp"], descending=[True, False], nulls_last=True, maintain_order=True)
    return ordered.unique(GOAL, keep="first", maintain_order=True).sort(GOAL, maintain_order=True)


def check_filters(max_deletion: float | None) -> None:
    """Refuse a share that is none, before anything is tried."""
    if max_deletion is not None and not 0 <= max_deletion <= 1:
        raise RecipeError(f"the largest share of deleted rows is between 0 and 1, not {max_deletion:g}")


def select_results(
    results: pl.DataFrame,
    *,
    min_score: float | None = None,
    max_deletion: float | None = None,
    deleted_only: bool = False,
    sort: str | None = None,
    descending: bool = True,
) -> pl.DataFrame:
    """Results filtered by score and deletion ratio, sorted by any column; those without a figure go."""
    if sort is not None and sort not in results.columns:
        raise RecipeError(unknown("column of the results", sort, results.columns))
    check_filters(max_deletion)
    if min_score is not None:
        results = results.filter(pl.col("score") >= min_score)
    if max_deletion is not None:
        results = results.filter(pl.col("deletion_ratio") <= max_deletion)
    if deleted_only:
        results = results.filter(pl.col("deletion_ratio") > 0)
    if sort is None:
        return results
    return results.sort(sort, descending=descending, nulls_last=True, maintain_order=True)
