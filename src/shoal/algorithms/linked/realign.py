"""Put the rows of people in other places of their histories, where they widen the class less."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.base import Rows
from shoal.algorithms.problem import Problem
from shoal.codespace.domain import Domain

_LARGEST = 1 << 26  # costs that are computed at a time; where one class needs more, rows stay where they are
_LEAST = 1e-9  # what a change has to save at least


def realign_rows(
    problem: Problem, events: Sequence[int], rows: Rows, length: int, class_of: NDArray[np.int64]
) -> Rows:
    """The rows of each person in other places, so that the cells of the classes are narrower.

    One person of every class at a time: two rows change places if that saves most, again and again. Behind
    the first ``length`` places are rows that are left out, with which others can change places, too.

    Parameters
    ----------
    events : sequence of int
        The columns that vary between the rows of a person.
    rows : int64[people, most]
        -1 where a person has fewer.
    """
    most = rows.shape[1]
    classes = int(class_of.max()) + 1
    if not events or most < 2 or classes * most * most * len(events) > _LARGEST:
        return rows
    codes = np.stack([problem.rows.quasi[j][rows].astype(np.int64) for j in events], axis=-1)
    members = _list_members(class_of)
    place = np.tile(np.arange(most), (rows.shape[0], 1))
    at = np.arange(rows.shape[0])[:, None]
    for turn in range(members.shape[1]):
        here = np.flatnonzero(members[:, turn] >= 0)
        mover = members[here, turn]
        others = np.where(np.arange(members.shape[1]) == turn, -1, members[here])
        # Those of whom nobody else is in the class have nobody to be aligned with.
        low, high = _find_boxes(codes, place, others, length)
        cost = _compute_costs(problem, events, codes[mover][:, :, :], low, high, most)
        cost[(rows[mover] < 0)[:, None, :] & (np.arange(most) < length)[None, :, None]] = np.inf
        place[mover] = _swap_places(cost, place[mover])
    return rows[at, place]


def _list_members(class_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """[classes, most] the people of each class; -1 where a class has fewer."""
    size = np.bincount(class_of)
    order = np.argsort(class_of, kind="stable")
    members = np.full((size.size, int(size.max())), -1, np.int64)
    turn = np.arange(order.size) - (np.cumsum(size) - size)[class_of[order]]
    members[class_of[order], turn] = order
    return members


def _find_boxes(
    codes: NDArray[np.int64], place: NDArray[np.int64], others: NDArray[np.int64], length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[classes, length, columns] the least and the greatest code of the others in each place."""
    low = high = None
    for turn in range(others.shape[1]):
        who = others[:, turn]
        shown = codes[who[:, None], place[who][:, :length]]
        there = (who >= 0)[:, None, None]
        least = np.where(there, shown, np.iinfo(np.int64).max)
        greatest = np.where(there, shown, -1)
        low = least if low is None else np.minimum(low, least)
        high = greatest if high is None else np.maximum(high, greatest)
    assert low is not None and high is not None
    return low, high


def _compute_costs(
    problem: Problem,
    events: Sequence[int],
    codes: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    most: int,
) -> NDArray[np.float64]:
    """[classes, places, rows] how wide the cells of each place are with each row of the person in it.

    Places of rows that are left out cost nothing.
    """
    classes, length = low.shape[:2]
    cost = np.zeros((classes, most, most))
    for at, j in enumerate(events):
        least = np.minimum(low[:, :, None, at], codes[:, None, :, at])
        greatest = np.maximum(high[:, :, None, at], codes[:, None, :, at])
        width = _compute_widths(problem.domains[j], least.ravel(), greatest.ravel())
        cost[:, :length] += problem.weights[j] * width.reshape(least.shape)
    return cost


def _compute_widths(domain: Domain, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
    """Widths of the smallest permitted cells; of sets, what they span, which is enough to compare by."""
    return domain.compute_widths(*domain.snap(low, high))


def _swap_places(cost: NDArray[np.float64], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """[classes, places] the row for each place, after pairs changed places while that saved something."""
    classes, most = place.shape
    every = np.arange(classes)
    place = place.copy()
    # A row that is not there costs everything but in its own place, which infinity would make undefined.
    cost = np.where(np.isinf(cost), 1e12, cost)
    for _ in range(most * most):
        now = np.take_along_axis(cost, place[:, :, None], axis=2)[:, :, 0]
        # [classes, p, q]: what place p costs with the row that is in place q.
        with_other = np.take_along_axis(cost, place[:, None, :].repeat(most, axis=1), axis=2)
        saved = now[:, :, None] + now[:, None, :] - with_other - with_other.transpose(0, 2, 1)
        best = saved.reshape(classes, -1).argmax(axis=1)
        p, q = best // most, best % most
        pays = saved[every, p, q] > _LEAST
        if not pays.any():
            break
        who = every[pays]
        p, q = p[pays], q[pays]
        place[who, p], place[who, q] = place[who, q], place[who, p]
    return place
