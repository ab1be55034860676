"""Linear and integer programmes, solved by HiGHS through scipy."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact.budget import Budget
from shoal.support.progress import SearchFigures
from shoal.table.formats import import_optional

Floats = NDArray[np.float64]

_DEAREST = 1e4  # what the largest cost is to HiGHS, which ends 1e-6 from the optimum, whatever the costs


@dataclass(frozen=True, slots=True, eq=False)
class Programme:
    """Minimise ``cost @ x`` with ``low <= rows @ x <= high`` and ``0 <= x <= upper``."""

    cost: Floats
    rows: Any
    """A sparse matrix of scipy."""
    low: Floats
    high: Floats
    upper: Floats
    whole: NDArray[np.bool_]
    """Which variables are integers."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What the solver found and proved."""

    x: Floats | None
    bound: float
    nodes: int
    proved: bool
    """Whether ``x`` is optimal, or it is certain that there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """The optimum without integrality."""

    value: float
    price: Floats
    """[rows] by how much the value rises with the limit of each row."""
    reduced: Floats
    """[variables] by how much it rises with each."""
    x: Floats


def solve_programme(programme: Programme, budget: Budget, known: SearchFigures) -> Answer:
    """Solve with integers, within the budget.

    Through scipy HiGHS says nothing before it ends: until then what was ``known`` before is told.
    """
    optimize = import_optional("scipy.optimize", "shoal[scipy]")

    scale = _DEAREST / (float(np.abs(programme.cost).max(initial=0.0)) or 1.0)
    options: dict[str, Any] = {"mip_rel_gap": 0.0, "presolve": False}
    if budget.seconds is not None:
        options["time_limit"] = max(budget.seconds_left, 0.01)
    if budget.iterations is not None:
        options["node_limit"] = budget.nodes_left
    result = _run_in_thread(
        lambda: optimize.milp(
            programme.cost * scale,
            integrality=programme.whole.astype(np.int64),
            bounds=optimize.Bounds(np.zeros(programme.cost.size), programme.upper),
            constraints=optimize.LinearConstraint(programme.rows, programme.low, programme.high),
            options=options,
        ),
        lambda: budget.report_progress("solving (HiGHS tells no bound yet)", known),
    )
    nodes = int(result.get("mip_node_count") or 0)
    bound = result.get("mip_dual_bound")
    budget.count_states(nodes)
    return Answer(
        result.x, -np.inf if bound is None else float(bound) / scale, nodes, result.status in (0, 2)
    )


def relax_programme(programme: Programme, seconds: float = np.inf) -> Relaxation:
    """Solve without integers; what the time does not suffice for is worth minus infinity."""
    optimize = import_optional("scipy.optimize", "shoal[scipy]")
    sparse = import_optional("scipy.sparse", "shoal[scipy]")

    equal = programme.low == programme.high
    above, under = ~equal & np.isfinite(programme.high), ~equal & np.isfinite(programme.low)
    result = optimize.linprog(
        programme.cost,
        A_ub=sparse.vstack([programme.rows[above], -programme.rows[under]])
        if (above | under).any()
        else None,
        b_ub=np.concatenate([programme.high[above], -programme.low[under]])
        if (above | under).any()
        else None,
        A_eq=programme.rows[equal],
        b_eq=programme.low[equal],
        bounds=np.stack([np.zeros(programme.upper.size), programme.upper], axis=1),
        method="highs",
        options={"time_limit": max(seconds, 0.01)} if np.isfinite(seconds) else None,
    )
    if result.x is None:  # it ran out of time, or the numbers were too much for it
        nothing = np.zeros(programme.cost.size)
        return Relaxation(-np.inf, np.zeros(programme.low.size), nothing, nothing)
    price = np.zeros(programme.low.size)
    price[equal] = result.eqlin.marginals
    many = np.count_nonzero(above)
    price[above] += result.ineqlin.marginals[:many]
    price[under] -= result.ineqlin.marginals[many:]
    return Relaxation(float(result.fun), price, result.lower.marginals, result.x)


@contextmanager
def _silence_output() -> Iterator[None]:
    """Keep standard output clean: HiGHS now and then prints a line there that no option turns off."""
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # there is no standard output
        yield
        return
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        yield
    finally:
        with suppress(OSError, TypeError, AttributeError):  # what it printed is still in a buffer of C
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(null)


def _run_in_thread(work: Callable[[], Any], tell: Callable[[], None]) -> Any:
    """Do the work in a thread, so that progress is told and an interrupt answered meanwhile."""
    outcome: list[Any] = []

    def run_work() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # carried over to the thread that waits
            outcome.append(error)

    thread = Thread(target=run_work, daemon=True)
    thread.start()
    while thread.is_alive():
        with _silence_output():
            thread.join(0.1)
        tell()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
