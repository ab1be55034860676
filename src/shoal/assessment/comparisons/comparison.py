"""Algorithms times goals on one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms import Algorithm, read_algorithm
from shoal.algorithms.auto import Auto
from shoal.algorithms.portfolio import HURRY
from shoal.assessment.comparisons.pictures import draw_by_k, draw_comparison
from shoal.assessment.comparisons.utility import measure_utility
from shoal.engines.api import Hierarchies, known_columns
from shoal.engines.memory import run_in_memory
from shoal.errors import GoalNotMet, RecipeError, ShoalError
from shoal.kernels.compiled import working_time
from shoal.privacy import DistinctL, KAnonymity, Model, Profitability, read_models
from shoal.recipes.recipe import Recipe
from shoal.report import Report
from shoal.report.pictures import Picture, format_cell, write_page
from shoal.support.files import whole_file
from shoal.support.notebooks import draw_grid, draw_note, draw_words, follow_progress
from shoal.support.progress import Progress, silent
from shoal.support.sweep import find_pareto_front, run_in_parallel
from shoal.table import ColumnType, ReadOptions, Table, read_table, read_weights

# Fast ones that take any table; others need hierarchies, a target or much time.
ALGORITHMS_COMPARED = ("mondrian", "hilbert", "auto")
KS = (5, 10, 25, 50)

SCHEMA: dict[str, Any] = {
    "algorithm": pl.String,
    "k": pl.Int64,
    "l": pl.Int64,
    "loss": pl.Float64,
    "ncp": pl.Float64,
    "classes": pl.Int64,
    "smallest_class": pl.Int64,
    "max_risk": pl.Float64,
    "average_risk": pl.Float64,
    "suppressed": pl.Float64,
    "kl_divergence": pl.Float64,
    "ambiguity": pl.Float64,
    "propensity": pl.Float64,
    "correlation": pl.Float64,
    "contingency": pl.Float64,
    "disclosure": pl.Float64,
    "payout": pl.Float64,
    "weighted_loss": pl.Float64,
    "seconds": pl.Float64,
    "status": pl.String,
    "reason": pl.String,
}
"""The columns of a table of results."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One algorithm with one goal."""

    algorithm: str
    k: int
    l: int | None = None  # noqa: E741

    def build_recipe(self, base: Recipe) -> Recipe:
        """A recipe in which it is carried out, by one thread: several are at work beside each other."""
        diverse = () if self.l is None else (DistinctL(self.l),)
        return replace(
            base,
            # The first model of the base is a k that stands for the one of the setting.
            models=(KAnonymity(self.k), *diverse, *base.models[1:]),
            algorithm=self._build_algorithm(),
            output=None,
            threads=1,
        )

    @property
    def is_hurried(self) -> bool:
        """Whether its budget is that of a comparison: many settings are tried, and no budget was said."""
        chosen = read_algorithm(self.algorithm)
        return isinstance(chosen, Auto) and chosen.seconds is None

    def _build_algorithm(self) -> Algorithm:
        return Auto(HURRY) if self.is_hurried else read_algorithm(self.algorithm)


@dataclass(slots=True, eq=False)
class Comparison:
    """Settings, and what became of those that were tried so far.

    An interrupt of `run` keeps what is done; so does a result that is looked at while others are under way.
    """

    base: Recipe
    """All that the settings share."""
    settings: tuple[Setting, ...]
    outcomes: list[Mapping[str, Any] | None] = field(default_factory=list)
    interrupted: bool = False

    def __post_init__(self) -> None:
        if not self.settings:
            raise RecipeError("there is nothing to compare: every l is above every k")
        for setting in self.settings:  # what no table can repair is said before anything is tried
            setting.build_recipe(self.base)
        self.outcomes = [None] * len(self.settings)

    def run(self, table: Table, jobs: int = 1, on_progress: Progress = silent) -> None:
        """Try every setting, ``jobs`` at once (-1 for one per core)."""
        if self.base.weight_column is not None:  # for its errors, before long work begins
            read_weights(table, self.base.weight_column)
        try:
            for done, (number, outcome) in enumerate(
                run_in_parallel(
                    self._try_setting, ((table, number) for number in range(len(self.settings))), jobs
                ),
                1,
            ):
                self.outcomes[number] = outcome
                on_progress("comparing", done / len(self.settings))
        # What is done stays done: the caller sees `interrupted` and all outcomes so far.
        except KeyboardInterrupt:
            self.interrupted = True

    @property
    def budget(self) -> float | None:
        """The seconds that `auto` has for each setting, where nobody said them; None if it is not there."""
        return HURRY if any(setting.is_hurried for setting in self.settings) else None

    @property
    def results(self) -> pl.DataFrame:
        """A row for every setting, with what it lost, the risk that is left and the time that it took."""
        waiting = {"status": "not done", "reason": ""}
        rows = [
            {"algorithm": setting.algorithm, "k": setting.k, "l": setting.l, **(outcome or waiting)}
            for setting, outcome in zip(self.settings, self.outcomes, strict=True)
        ]
        return pl.DataFrame(rows, schema=SCHEMA)

    @property
    def done(self) -> pl.DataFrame:
        """The settings that met their goal."""
        return self.results.filter(pl.col("status") == "done")

    @property
    def front(self) -> pl.DataFrame:
        """Settings that no other one beats in greatest risk, l and loss at once."""
        done = self.done
        # More is better in all three columns. Without l every class has at least one value.
        better = done.select(-pl.col("max_risk"), pl.col("l").fill_null(1).cast(float), -pl.col("loss"))
        return done.filter(pl.Series(find_pareto_front(better.to_numpy()), dtype=pl.Boolean))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "loss": self.base.loss,
            "quasi": list(self.base.quasi),
            "sensitive": list(self.base.sensitive),
            "results": self.results.to_dicts(),
            "front": self.front.to_dicts(),
            "interrupted": self.interrupted,
            "auto_seconds": self.budget,
        }

    def _repr_html_(self) -> str:
        """In notebooks: the settings, those that no other one beats marked, and the pictures."""
        front = set(self.front.select("algorithm", "k", "l").iter_rows())
        rows = [
            (
                each["algorithm"],
                each["k"],
                each["l"],
                *(format_cell(each[name]) for name in ("loss", "classes", "max_risk", "suppressed")),
                "*" if (each["algorithm"], each["k"], each["l"]) in front else each["reason"],
            )
            for each in self.results.iter_rows(named=True)
        ]
        heads = ("algorithm", "k", "l", self.base.loss, "classes", "greatest risk", "suppressed", "")
        parts = [draw_grid(heads, rows, most=100)]
        parts.append(
            draw_words("*: no other setting has both less risk (or a higher l) and less loss", "soft")
        )
        if self.budget is not None:
            parts.append(draw_words(describe_budget(self.budget), "soft"))
        parts += [self.plot()._repr_html_()] if self.done.height else []
        return draw_note(f"{self.done.height} of {len(self.settings)} settings meet their goal", parts)

    def plot(self) -> Picture:
        """Loss against k and against risk, with the front."""
        return draw_comparison(self.done, self.front, self.base.loss)

    def write_plot(self, path: str | Path, title: str) -> None:
        """Write the picture: a page that needs nothing from elsewhere (.html), or a drawing (.svg)."""
        if Path(path).suffix.lower() != ".svg":
            write_page(Path(path), title, self.plot(), self.results)
            return
        with whole_file(path) as stream:
            stream.write(draw_by_k(self.done, self.front, self.base.loss, title).encode())

    def _try_setting(self, table: Table, number: int) -> tuple[int, Mapping[str, Any]]:
        """Carry out one setting; a goal out of reach is a result too."""
        # Without the time that kernels take to compile, or the first setting would look slow.
        begin = working_time()
        try:
            report = run_in_memory(self.settings[number].build_recipe(self.base), table).report
        except ShoalError as error:
            status = "out of reach" if isinstance(error, GoalNotMet) else "refused"
            return number, {"status": status, "reason": str(error), "seconds": working_time() - begin}
        seconds = working_time() - begin
        # Private samples keep nothing of the table to compare with.
        utility = None if report.evidence is None else measure_utility(report.evidence.recoding)
        return number, {
            **({} if utility is None else utility.to_dict()),
            "weighted_loss": report.weighted_loss,
            "payout": self._compute_payout(report),
            "loss": float(report.loss["value"]),
            "ncp": report.ncp,
            "classes": report.classes,
            "smallest_class": report.smallest_class,
            "max_risk": 1 / report.smallest_class if report.smallest_class else 0.0,
            "average_risk": _measure_average_risk(report),
            # Both are None where only the release may be told of.
            "suppressed": (report.suppressed_rows or 0) / (report.rows or 1),
            "seconds": seconds,
            "status": "done",
            "reason": "",
        }

    def _compute_payout(self, report: Report) -> float | None:
        """What a release brings by row, if a model says what rows bring and what attacks cost."""
        for model in self.base.models:
            if isinstance(model, Profitability):
                reached = next(each.achieved for each in report.models if each.name == "profitability")
                assert isinstance(reached, dict)
                # Suppressed rows have lost all their detail: they bring nothing, and nobody attacks them.
                released = report.released_rows / (report.rows or 1)
                return model.benefit * (1 - report.ncp) - reached["lost"] * released
        return None


def _measure_average_risk(report: Report) -> float:
    """Classes over rows; or over people, each counted in every class, where people are counted."""
    rows = report.released_rows
    if report.people is not None and report.evidence is not None:
        rows = report.evidence.counts.members
    return report.classes / rows if rows else 0.0


def describe_budget(seconds: float) -> str:
    """How long `auto` searches here, and how to give it what it has elsewhere."""
    return (
        f"auto has {seconds:g} s of an ordinary core for each setting here, and more in anonymize; say "
        "another budget as 'auto(seconds=5)'"
    )


def combine_settings(
    algorithms: Sequence[str],
    k: Sequence[int],
    l: Sequence[int] = (),  # noqa: E741
) -> tuple[Setting, ...]:
    """Every combination in which l is at most k; an l of 1 asks for nothing."""
    diverse = [None if value == 1 else value for value in l] or [None]
    made = [
        Setting(*each) for each in product(algorithms, k, diverse) if each[2] is None or each[2] <= each[1]
    ]
    return tuple(dict.fromkeys(made))


def compare(
    source: object,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    identifier: Sequence[str] = (),
    algorithms: Sequence[str] = ALGORITHMS_COMPARED,
    k: Sequence[int] = KS,
    l: Sequence[int] = (),  # noqa: E741
    models: Sequence[Model | str] = (),
    hierarchies: Hierarchies = None,
    types: Mapping[str, ColumnType] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    loss: str = "ncp",
    suppress: float = 0.0,
    seed: int = 0,
    jobs: int = 1,
    options: ReadOptions | None = None,
    on_progress: Progress | None = None,
    person: str | None = None,
    weight_column: str | None = None,
) -> Comparison:
    """Try several algorithms and several k (and l) on a table, side by side.

    Parameters are those of `anonymize`, with several ``k`` and ``l``; ``algorithms`` are names, or texts such
    as ``"mondrian(cut=classic)"``; ``auto`` has 0.6 seconds for each setting unless a text says others, as
    ``"auto(seconds=5)"``. ``models`` hold in every setting. ``jobs`` are tried at once. With
    ``weight_column``, a column of survey weights, ``weighted_loss`` tells the loss as if every row were there
    as often as its weight says.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [21, 22, 35, 38, 51, 55]})
    >>> found = compare(people, quasi=["age"], algorithms=["mondrian"], k=[2, 3])
    >>> found.results.select("k", "classes", "smallest_class").rows()
    [(2, 3, 2), (3, 2, 3)]
    """
    # A string is a sequence of letters, and would be taken for so many columns.
    for name, given in (("quasi", quasi), ("sensitive", sensitive), ("algorithms", algorithms)):
        if isinstance(given, str):
            raise RecipeError(f"{name} is a list; write [{given!r}] for one")
    table = read_table(source, options or ReadOptions())
    known = known_columns((*quasi, *sensitive), hierarchies, types, orders)
    base = Recipe(
        quasi=tuple(quasi),
        sensitive=tuple(sensitive),
        identifier=tuple(identifier),
        plain=tuple(n for n in table.names if n not in (*quasi, *sensitive, *identifier, person)),
        # The k of 2 is replaced by that of each setting; a recipe needs a goal to be valid.
        models=(KAnonymity(2), *read_models(models)),
        reading=options or ReadOptions(),
        types=dict(types or {}),
        orders={name: column.order for name, column in known.items() if column.order},
        trees={name: column.hierarchy for name, column in known.items() if column.hierarchy is not None},
        loss=loss,
        suppress=suppress,
        seed=seed,
        person=person,
        weight_column=weight_column,
    )
    settings = combine_settings(algorithms, tuple(map(int, np.atleast_1d(k))), l)
    found = Comparison(base, settings)
    with follow_progress(on_progress) as tell:
        found.run(table, jobs, tell)
    return found
