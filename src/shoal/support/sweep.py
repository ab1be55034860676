"""Many settings tried at once, and which of them no other one beats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def run_in_parallel(work: Callable[..., T], tasks: Iterable[tuple[Any, ...]], jobs: int) -> Iterator[T]:
    """Results of ``work`` on tasks as they come, ``jobs`` at once; -1 for one per core.

    In threads, for what takes long has no need of Python's lock: who stops listening keeps what came so far.
    """
    from joblib import Parallel, delayed  # noqa: PLC0415  slow to load

    # Unordered: a slow setting does not hold back results that are there.
    run = Parallel(n_jobs=jobs, return_as="generator_unordered", backend="threading")
    found: Iterator[T] = run(delayed(work)(*task) for task in tasks)
    return found


def find_pareto_front(better: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows no other row is at least as good as in every column, and better in one; more is better."""
    # [i, j] whether row i is nowhere worse than row j; rows are few, so all pairs fit.
    least = (better[:, None, :] >= better[None, :, :]).all(axis=2)
    more = (better[:, None, :] > better[None, :, :]).any(axis=2)
    return np.asarray(~(least & more).any(axis=0))
