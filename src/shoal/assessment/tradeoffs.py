"""What a goal costs for several sizes of classes: roughly and at once, or exactly and one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms.mondrian import Mondrian
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Recoding
from shoal.engines.checks import check_reach
from shoal.engines.memory import make_release, prepare_table
from shoal.engines.prepare import PreparedTable
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import KAnonymity, Model, for_columns
from shoal.recipes.recipe import Recipe
from shoal.support.arithmetic import exp, log
from shoal.table import Table

SIZES = (2, 3, 5, 8, 11, 15, 20, 30, 50, 100)
"""Sizes of classes that a curve has, where nothing else is said."""
ROWS = 100_000
"""So many rows of a table are looked at, at most, for a rough curve."""
_ACCURATE = 3  # a class of fewer sampled rows says little about the size of the class that it stands for
NOT_FOR = "a curve is for one table without sets, pseudonyms, groups of people and safepub"


@dataclass(frozen=True, slots=True)
class TradeoffPoint:
    """What classes of at least ``k`` cost."""

    k: int
    loss: float
    exact: bool
    """Whether the algorithm of the goal found it on the whole table; else a quick search estimates it."""

    @property
    def risk(self) -> float:
        """The chance to pick the right row in the smallest class."""
        return 1 / self.k


def set_size(models: Sequence[Model], k: int) -> tuple[Model, ...]:
    """A goal with another k, or with one if it has none."""
    others = tuple(model for model in models if not isinstance(model, KAnonymity))
    return (KAnonymity(k), *others)


def check_curve(recipe: Recipe) -> None:
    """Refuse a recipe for which no curve can be drawn."""
    linked = recipe.pseudonym or recipe.group is not None or recipe.relative is not None
    if recipe.sets or recipe.events or recipe.uses_safepub or linked:
        raise RecipeError(NOT_FOR)


def list_sizes(rows: int, chosen: int | None = None) -> list[int]:
    """The sizes that a curve of so many rows has, with the one that is chosen."""
    sizes = {*SIZES, *([] if chosen is None else [chosen])}
    return sorted(k for k in sizes if 2 <= k <= max(rows // 2, 2))


def estimate_losses(recipe: Recipe, table: Table, sizes: Iterable[int], rows: int = ROWS) -> dict[int, float]:
    """What a quick search loses, by k; sizes that cannot be reached or estimated are left out.

    A large table is sampled. A class of k rows is then one of as many rows as the sample has of it, on
    average; sizes of which the sample has too few are left out.
    """
    check_curve(recipe)
    sample = _sample_table(table, recipe, rows)
    share = sample.rows / table.rows
    plain = replace(recipe, algorithm=Mondrian(), models=set_size(recipe.models, 1), bound=None)
    subject = prepare_table(plain, sample)
    found = {}
    for k in sizes:
        scaled = max(round(k * share), 1)
        if share < 1 and scaled < _ACCURATE:
            continue
        try:
            found[k] = _measure_quick_loss(plain, subject, scaled)
        except GoalNotMet:
            continue
    return found


def _sample_table(table: Table, recipe: Recipe, rows: int) -> Table:
    """Some rows of a large table, or all rows of some of its people."""
    if table.rows <= rows:
        return table
    if recipe.person is None:
        return replace(table, frame=table.frame.sample(rows, seed=recipe.seed))
    person = table.frame[recipe.person]
    people = person.unique(maintain_order=True)
    taken = people.sample(max(len(people) * rows // table.rows, 1), seed=recipe.seed)
    return replace(table, frame=table.frame.filter(person.is_in(taken.implode())))


def _measure_quick_loss(recipe: Recipe, subject: PreparedTable, k: int) -> float:
    models = for_columns(set_size(recipe.models, k), recipe.sensitive)
    problem = replace(subject.problem, models=models)
    check_reach(models, problem.table_counts)
    proposal = recipe.algorithm.search(problem, lambda doing, done: None)
    if (proposal.class_of < 0).all():
        raise GoalNotMet("every row would be suppressed")
    recoding = Recoding.from_proposal(proposal, problem.domains)
    return float(LOSSES["ncp"]().measure(recoding, np.ones(len(recipe.quasi))).value)


def measure_losses(recipe: Recipe, table: Table, sizes: Iterable[int]) -> Iterator[tuple[int, float | None]]:
    """What the algorithm of the recipe loses on the whole table, by k, verified; None if out of reach.

    Losses come one by one, in the order of the sizes.
    """
    check_curve(recipe)
    for k in sizes:
        asked = replace(recipe, models=set_size(recipe.models, k), output=None, strict=False)
        try:
            subject = prepare_table(asked, table)
            proposal = asked.algorithm.search(subject.problem, lambda doing, done: None)
            yield k, make_release(asked, table, subject, proposal).report.ncp
        except GoalNotMet:
            yield k, None


def join_curves(rough: Mapping[int, float], exact: Mapping[int, float | None]) -> list[TradeoffPoint]:
    """One curve: exact points, and between them the rough ones moved to where the exact ones lie.

    A rough loss is multiplied by how much the exact search loses of the rough loss at its neighbours, in
    proportion to how near they are on a logarithmic scale of k.
    """
    ratios = {
        k: loss / rough[k] for k, loss in sorted(exact.items()) if loss is not None and rough.get(k, 0.0) > 0
    }
    found = [TradeoffPoint(k, loss, True) for k, loss in exact.items() if loss is not None]
    found += [
        TradeoffPoint(k, min(loss * _interpolate(ratios, k), 1.0), False)
        for k, loss in rough.items()
        if k not in exact
    ]
    return sorted(found, key=lambda point: point.k)


def _interpolate(ratios: Mapping[int, float], k: int) -> float:
    below = max((each for each in ratios if each <= k), default=None)
    above = min((each for each in ratios if each >= k), default=None)
    if below is None or above is None:
        return ratios[below or above] if (below or above) else 1.0  # type: ignore[index]
    if below == above:
        return ratios[below]
    place = (log(k) - log(below)) / (log(above) - log(below))
    return exp((1 - place) * log(ratios[below]) + place * log(ratios[above]))


def sort_by_use(sizes: Sequence[int], chosen: int) -> list[int]:
    """The order in which exact losses tell most: what is chosen, the ends, and then what is in the middle."""
    left, order = sorted(sizes), []
    for first in (chosen, left[0], left[-1]) if left else ():
        if first in left and first not in order:
            order.append(first)
    while rest := [k for k in left if k not in order]:
        # The one that is farthest from all that is known.
        order.append(max(rest, key=lambda k: min(abs(log(k) - log(each)) for each in order)))
    return order
