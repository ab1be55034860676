"""What guides a tree: targets as they are, or as a model predicts them; and distances by their effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.features import Target
from shoal.algorithms.problem import Problem
from shoal.codespace.domain import Domain
from shoal.codespace.encoding import EncodedColumn
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.recoding import Proposal

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FOLDS = 3  # what is predicted for a row comes from a model that has not seen it
_ROUNDS = 60  # trees of that model
_SURE = 1e-3  # no chance is taken to be below this, or above its complement
_BINS = 16  # parts of a column whose effects are told apart
_VALUES = 50  # categories whose effects are told apart, the commonest
_PRIOR = 5.0  # rows by which an effect is drawn to none
_SHARE = 0.25  # of the distance of two values, what they have by themselves, whatever the target is
_LEAST = 0.05  # the least weight of a column, beside the one that matters most
_DIGITS = 6  # beyond them processors differ


def read_targets(columns: Sequence[EncodedColumn]) -> Target:
    """One column as a target, or several as one: each counts as much as any other."""
    targets = [Target.from_column(column) for column in columns]
    if len(targets) == 1:
        return targets[0]
    return Target(np.hstack([_scale_parts(target.to_numbers()) for target in targets]), 0)


def predict_targets(
    problem: Problem, table: FrequencyTable, columns: Sequence[EncodedColumn], others: Sequence[EncodedColumn]
) -> Target:
    """What a model predicts for every row by its columns, trained on other rows.

    Chances are given as log-odds. Labels have chance in them, which a tree would follow; these have less.
    """
    domains = [*problem.domains, *(column.domain for column in others)]
    # Raw codes: means of the target would tell a row its own label.
    seen = np.column_stack([*table.codes.T, *(column.codes for column in others)]).astype(np.float64)
    named = [not domain.has_ranges and domain.size < 255 for domain in domains]
    settings = {
        "categorical_features": named if any(named) else None,
        "max_iter": _ROUNDS,
        "early_stopping": False,
        "random_state": problem.seed,
    }
    # By weighted rows, so that equal rows are in one fold, and their order does not matter.
    fold = np.random.default_rng(problem.seed).permutation(table.weight.size) % _FOLDS
    folds = _OutOfFold(seen, settings, fold, table)
    parts = []
    for target in map(Target.from_column, columns):
        found = folds.predict_odds(target) if target.classes else folds.predict_numbers(target)
        parts.append(_scale_parts(found[table.of_row]))
    return Target(np.hstack(parts), 0)


@dataclass(frozen=True, slots=True, eq=False)
class _OutOfFold:
    """Rows in folds: what is predicted for one comes from a model that was trained on the others."""

    seen: Floats
    """[u, d]"""
    settings: dict[str, Any]
    fold: Ints
    """[u]"""
    table: FrequencyTable

    def predict_numbers(self, target: Target) -> Floats:
        """[u, 1] predictions for weighted rows."""
        weight = self.table.weight
        mean = np.bincount(self.table.of_row, target.value, weight.size) / weight
        found = np.zeros((weight.size, 1))
        for given, asked in self._list_folds():
            model = self._make_model("HistGradientBoostingRegressor")
            model.fit(self.seen[given], mean[given], sample_weight=weight[given])
            found[asked, 0] = model.predict(self.seen[asked])
        return _round(found)

    def predict_odds(self, target: Target) -> Floats:
        """[u, m] log-odds of the commonest classes for weighted rows."""
        shown = target.to_numbers()
        # 0 is any other class.
        of_row = np.where(shown.any(axis=1), shown.argmax(axis=1) + 1, 0)
        classes = int(of_row.max()) + 1
        pair, times = np.unique(self.table.of_row.astype(np.int64) * classes + of_row, return_counts=True)
        row, label = np.divmod(pair, classes)
        # A class that nobody in the other folds has gets the least chance.
        chance = np.full((self.table.weight.size, classes), _SURE)
        for given, asked in self._list_folds():
            inside = given[row]
            kinds = np.unique(label[inside])
            if kinds.size == 1:
                chance[asked, kinds[0]] = 1 - _SURE
                continue
            model = self._make_model("HistGradientBoostingClassifier")
            model.fit(self.seen[row[inside]], label[inside], sample_weight=times[inside])
            chance[np.ix_(asked, kinds)] = model.predict_proba(self.seen[asked])
        chance = np.clip(chance, _SURE, 1 - _SURE)
        odds = _round(np.log(chance / (1 - chance)))
        # The chances of two classes say the same.
        return odds[:, 1:] if classes == 2 else odds

    def _make_model(self, name: str) -> Any:
        from sklearn import ensemble  # noqa: PLC0415  slow to load

        return getattr(ensemble, name)(**self.settings)

    def _list_folds(self) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Which rows train, and which are asked."""
        for each in range(_FOLDS):
            given, asked = self.fold != each, self.fold == each
            if given.any() and asked.any():
                yield given, asked


def _round(numbers: Floats) -> Floats:
    return np.asarray(np.round(numbers, _DIGITS), np.float64)


def _scale_parts(numbers: Floats) -> Floats:
    """Numbers of which the variances add up to 1; those of a constant to 0."""
    spread = float(np.sqrt(np.var(numbers, axis=0).sum()))
    return np.asarray((numbers - numbers.mean(axis=0)) / (spread or 1.0), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class EffectSpace:
    """A problem in which values are near if they have nearly the same effect on a target.

    Categories stand in the order of their effects. Of a line the order stays as it is, and the distance of
    two values is how far the effect moves between them.
    """

    original: Problem
    problem: Problem
    moved: tuple[NDArray[np.unsignedinteger] | None, ...]
    """Of each column [codes] the code in the other space; None where that is the same."""

    @classmethod
    def from_target(cls, problem: Problem, table: FrequencyTable, target: Target) -> EffectSpace:
        """The space of the effects that columns have on a target, each beside the others."""
        bins = [_divide_codes(d, table.codes[:, j], table.weight) for j, d in enumerate(problem.domains)]
        effects = _measure_effects(table, bins, target)
        parts = zip(effects, bins, table.codes.T, strict=True)
        spread = [_measure_spread(effect[part[codes]], table.weight) for effect, part, codes in parts]
        most = max([*spread, np.finfo(float).tiny])
        domains, moved, widths = [], [], []
        for domain, effect, place, own in zip(problem.domains, effects, bins, spread, strict=True):
            other, codes, width = _move_domain(domain, effect[place], _SHARE * max(own, _LEAST * most))
            domains.append(other)
            moved.append(codes)
            widths.append(max(width, _LEAST * most))
        weights = np.round(np.array(widths) / max(widths), _DIGITS) * problem.weights
        rows = problem.rows
        quasi = tuple(
            each if codes is None else codes[each].astype(each.dtype)
            for each, codes in zip(rows.quasi, moved, strict=True)
        )
        shown = replace(
            problem, domains=tuple(domains), rows=replace(rows, quasi=quasi), weights=weights, loss="ncp"
        )
        return cls(problem, shown, tuple(moved))

    def move_table(self, table: FrequencyTable) -> FrequencyTable:
        """The same weighted rows with their codes in this space, in the same order."""
        codes = table.codes.copy()
        for j, moved in enumerate(self.moved):
            if moved is not None:
                codes[:, j] = moved[table.codes[:, j]]
        return replace(table, codes=codes)

    def restore_proposal(self, proposal: Proposal) -> Proposal:
        """Classes that were found in this space, of rows in the original one, in lexicographic order."""
        table = proposal.table
        codes = table.codes.copy()
        for j, moved in enumerate(self.moved):
            if moved is not None:
                codes[:, j] = np.argsort(moved, kind="stable")[table.codes[:, j]]
        order = np.lexsort(codes.T[::-1])
        place = np.empty(order.size, np.int32)
        place[order] = np.arange(order.size, dtype=np.int32)
        histograms = table.histograms
        count = np.diff(histograms.start)[order]
        start = np.concatenate(([0], np.cumsum(count)))
        entry = np.arange(start[-1]) + np.repeat(histograms.start[:-1][order] - start[:-1], count)
        histograms = replace(
            histograms, start=start, value=histograms.value[entry], count=histograms.count[entry]
        )
        back = FrequencyTable(codes[order], table.weight[order], place[table.of_row], histograms)
        return replace(proposal, table=back, class_of=proposal.class_of[order], cells=None)


def _divide_codes(domain: Domain, codes: NDArray[np.unsignedinteger], weight: Ints) -> Ints:
    """[codes] the part of the column that each value belongs to, whose effects are told apart."""
    rows = np.bincount(codes, weight, domain.size)
    if not domain.has_ranges:
        rank = np.argsort(np.argsort(-rows, kind="stable"), kind="stable")
        return np.minimum(rank, _VALUES).astype(np.int64)
    # About as many rows in each; a value of many rows is a part of its own, and so is the missing one.
    middle = (np.cumsum(rows) - rows / 2) / rows.sum()
    part = np.minimum((middle * _BINS).astype(np.int64), _BINS - 1)
    heavy = rows > rows.sum() / _BINS
    if domain.missing is not None:
        heavy[domain.missing] = True
    change = np.diff(part) > 0
    change |= heavy[1:] | heavy[:-1]
    if heavy.any():
        # Where one value has most rows, the others would be a part or two: they get parts of their own.
        rest = np.where(heavy, 0.0, rows)
        of_rest = np.minimum((np.cumsum(rest) / max(rest.sum(), 1.0) * _BINS).astype(np.int64), _BINS - 1)
        change |= (np.diff(of_rest) > 0) & ~heavy[1:]
    return np.concatenate(([0], np.cumsum(change))).astype(np.int64)


def _measure_effects(table: FrequencyTable, bins: Sequence[Ints], target: Target) -> list[Floats]:
    """[parts] of each column: what each adds to the target, by least squares over all columns.

    A target of several numbers is seen along the direction in which the effects of a column differ most.
    """
    shown = target.to_numbers()
    shown = shown - shown.mean(axis=0)
    code = [part[codes].astype(np.int64) for part, codes in zip(bins, table.codes.T, strict=True)]
    sizes = [int(part.max()) + 1 for part in bins]
    first = np.concatenate(([0], np.cumsum(sizes)))
    pairs = np.zeros((first[-1], first[-1]))
    for i, j in combinations_with_replacement(range(len(code)), 2):
        both = np.bincount(code[i] * sizes[j] + code[j], table.weight, sizes[i] * sizes[j])
        pairs[first[i] : first[i + 1], first[j] : first[j + 1]] = both.reshape(sizes[i], sizes[j])
        pairs[first[j] : first[j + 1], first[i] : first[i + 1]] = both.reshape(sizes[i], sizes[j]).T
    sums = np.vstack(
        [
            np.column_stack([np.bincount(each[table.of_row], number, size) for number in shown.T])
            for each, size in zip(code, sizes, strict=True)
        ]
    )
    found = np.linalg.solve(pairs + _PRIOR * np.eye(first[-1]), sums)
    effects = []
    for j, begin in enumerate(first[:-1]):
        effect, rows = found[begin : first[j + 1]], np.diag(pairs)[begin : first[j + 1]]
        effect = effect - (rows[:, None] * effect).sum(axis=0) / rows.sum()
        if effect.shape[1] > 1:
            direction = np.linalg.eigh((effect * rows[:, None]).T @ effect)[1][:, -1]
            # Which way it points is for the machine to say otherwise.
            effect = (effect @ (direction * np.sign(direction[np.abs(direction).argmax()] or 1.0)))[:, None]
        effects.append(np.round(effect[:, 0], _DIGITS))
    return effects


def _measure_spread(effect: Floats, weight: Ints) -> float:
    mean = np.average(effect, weights=weight)
    return float(np.sqrt(np.average((effect - mean) ** 2, weights=weight)))


def _move_domain(
    domain: Domain, effect: Floats, own: float
) -> tuple[Domain, NDArray[np.unsignedinteger] | None, float]:
    """A column in the space of effects: its domain, its new codes if they change, and its extent.

    ``own`` is the distance that the ends of the column have, whatever their effects are.
    """
    if domain.kind == "tree":
        # Nodes stay nodes: only how much the column matters changes.
        return domain, None, float(np.ptp(effect)) + own
    order = np.arange(domain.size) if domain.has_ranges else np.argsort(effect, kind="stable")
    first = int(domain.has_ranges and domain.missing is not None)
    far = np.abs(np.diff(effect[order][first:], prepend=effect[order][first : first + 1])).cumsum()
    detail = domain.position[first:] if domain.has_ranges else np.linspace(0.0, 1.0, domain.size)
    place = far + own * detail
    span = float(np.ptp(place)) if place.size else 0.0
    scaled = (place - place[:1]) / (span or 1.0)
    position = np.concatenate((np.full(first, -1.0), np.round(scaled, _DIGITS)))
    if domain.has_ranges:
        return replace(domain, position=position), None, span
    moved = np.empty(domain.size, np.uint32)
    moved[order] = np.arange(domain.size, dtype=np.uint32)
    labels, values = (series.gather(pl.Series(order)) for series in (domain.labels, domain.values))
    # On a line: kernels then see distances, and not how many categories a set has.
    shown = replace(domain, kind="ordered", labels=labels, values=values, position=position, missing=None)
    return shown, moved, span
