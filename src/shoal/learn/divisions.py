"""How rows are divided: for training and testing, and whole classes for minimising and scoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedShuffleSplit,
    check_cv,
)

from shoal.errors import InputError, RecipeError

Ints = NDArray[np.int64]
_FITTED = 0.6  # share of the rows that a minimizer is fitted on, where classes cannot be divided
_STRATA = 4  # groups of classes with near numbers


@dataclass(frozen=True, slots=True)
class Division:
    """Which classes are minimised and which are scored, time and again.

    Classes stay whole, so that what holds for each of them holds for the scored part as well.
    """

    times: int
    share: float
    """Of the classes that are scored."""
    seed: int
    disjoint: bool = False
    """Whether every class is scored once, as in cross-validation."""


@dataclass(frozen=True, slots=True, eq=False)
class DividedRows:
    """Positions of rows."""

    fitting: Ints
    """Those that a minimizer is fitted on."""
    scored: Ints
    overlaps: bool = False
    """Whether some are both."""


def divide_classes(
    division: Division, number: int, class_of: Ints, predicted: NDArray[Any], numeric: bool
) -> DividedRows | None:
    """Whole classes to minimise on, and others to score; None where they are too few for so many parts.

    Classes for which the model predicts the same are on both sides, or a minimizer would never see what it
    has to tell apart. If they are too few for that, all rows are scored, and most are minimised on.
    """
    of_row = np.unique(class_of, return_inverse=True)[1]
    stratum = _group_classes(of_row, predicted, numeric)
    rng = np.random.default_rng([division.seed, 0 if division.disjoint else number])
    if np.bincount(stratum).min() < 2:
        fitting = np.sort(rng.permutation(class_of.size)[: max(3, round(_FITTED * class_of.size))])
        only_once = division.disjoint and number > 0
        return None if only_once else DividedRows(fitting, np.arange(class_of.size), overlaps=True)
    # By stratum, and by chance within each.
    order = np.lexsort((rng.permutation(stratum.size), stratum))
    is_scored = np.zeros(stratum.size, np.bool_)
    if division.disjoint:
        parts = min(division.times, stratum.size)
        if number >= parts:
            return None
        is_scored[order[number::parts]] = True
    else:
        ends = np.cumsum(np.bincount(stratum))
        for classes in np.split(order, ends[:-1]):
            # At least one class of each on either side.
            many = min(max(1, round(division.share * classes.size)), classes.size - 1)
            is_scored[classes[:many]] = True
    return DividedRows(np.flatnonzero(~is_scored[of_row]), np.flatnonzero(is_scored[of_row]))


def _group_classes(of_row: Ints, predicted: NDArray[Any], numeric: bool) -> Ints:
    """[classes] a number, the same where the model predicts alike: mostly the same class, or near numbers."""
    classes = int(of_row.max()) + 1
    if numeric:
        mean = np.bincount(of_row, predicted.astype(np.float64)) / np.bincount(of_row)
        rank = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
        return rank * max(1, min(_STRATA, classes // 2)) // classes
    names, value = np.unique(predicted, return_inverse=True)
    votes = np.zeros((classes, names.size), np.int64)
    np.add.at(votes, (of_row, value), 1)
    return np.unique(votes.argmax(axis=1), return_inverse=True)[1].astype(np.int64)


def plan_division(cv: Any, splits: int, share: float, seed: int) -> Division:
    """How the classes of the rows of a fitted model are divided."""
    if cv is None:
        return Division(splits, share, seed)
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise RecipeError(f"cv is a number of parts from 2 on, not {cv}")
        return Division(int(cv), 0.0, seed, disjoint=True)
    raise RecipeError(
        "with a fitted model cv is a number of parts: whole classes are divided, which are known only after "
        "anonymizing"
    )


def split_rows(
    cv: Any,
    splits: int,
    share: float,
    labels: NDArray[Any],
    numeric: bool,
    person: Ints | None,
    seed: int,
) -> list[tuple[Ints, Ints]]:
    """Rows to train on and to test on, time and again; all rows of a person stay together."""
    try:
        # Drawn once, so that all configurations are compared on the same rows.
        parts = _choose_splitter(cv, splits, share, labels, numeric, person is not None, seed)
        found = list(parts.split(np.zeros((labels.size, 1)), labels, person))
    except (TypeError, ValueError) as error:
        raise InputError(f"the rows cannot be divided for training and testing: {error}") from error
    return [(np.asarray(train), np.asarray(test)) for train, test in found]


def _choose_splitter(
    cv: Any, splits: int, share: float, labels: NDArray[Any], numeric: bool, people: bool, seed: int
) -> Any:
    is_number = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    if people and is_number:
        kind = GroupKFold if numeric else StratifiedGroupKFold
        return kind(int(cv), shuffle=True, random_state=seed)
    if cv is not None:
        return check_cv(cv, labels, classifier=not numeric)
    if people:
        return GroupShuffleSplit(splits, test_size=share, random_state=seed)
    # A label that is there once cannot be on both sides.
    alone = not numeric and np.unique(labels, return_counts=True)[1].min() < 2
    kind = ShuffleSplit if numeric or alone else StratifiedShuffleSplit
    return kind(splits, test_size=share, random_state=seed)
