"""Fitting and transforming six float columns: TreeAnonymizer beside a decision tree of scikit-learn.

Three targets: one that two columns separate, which a tree learns soonest; one that depends on three columns,
with noise; and what scikit-learn makes for classification. ``bench_fitting.py 100000`` measures one size.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from measure import Figures
from shoal.learn import TreeAnonymizer

K = 10
SIZES = {100_000: 3, 1_000_000: 1}  # rows, and how many times the least of which counts
COLUMNS = 6


def main(only: str = "") -> None:
    TreeAnonymizer(K).fit_transform(*make_rows("separable", 2000, 0))  # kernels are compiled before
    figures = Figures(f"{COLUMNS} float columns, k = {K}, CPU")
    for size, times in SIZES.items():
        if only and int(only) != size:
            continue
        for kind in ("separable", "three columns", "make_classification"):
            measure_kind(figures, kind, size, times)
    figures.close()


def measure_kind(figures: Figures, kind: str, size: int, times: int) -> None:
    X, y = make_rows(kind, size, 0)  # noqa: N806
    unseen, _ = make_rows(kind, size, 1)
    anonymizer = TreeAnonymizer(K)
    theirs = least(lambda: DecisionTreeClassifier(min_samples_leaf=K, random_state=0).fit(X, y), times)
    ours = least(lambda: anonymizer.fit(X, y), times)
    label = f"{size:,} rows, {kind}"
    figures.add(f"{label}: scikit-learn's tree", theirs, "s")
    figures.add(f"{label}: fitting", ours, "s")
    figures.add(f"{label}: fitting, times scikit-learn's tree", ours / theirs, limit=3.0)
    moved = least(lambda: anonymizer.transform(unseen), times)
    figures.add(f"{label}: transforming as many unseen rows", moved, "s", limit=2.0 * size / 1_000_000)


def make_rows(kind: str, size: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    if kind == "make_classification":
        X, y = make_classification(2 * size, COLUMNS, n_informative=4, random_state=0)  # noqa: N806
        return X[seed::2], y[seed::2]
    X = rng.normal(size=(size, COLUMNS))  # noqa: N806
    if kind == "separable":
        return X, (X[:, 0] + X[:, 1] > 0).astype(np.int64)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=size) > 0).astype(np.int64)


def least(work: Callable[[], object], times: int) -> float:
    """CPU seconds, the least of several runs."""
    spent = []
    for _ in range(times):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return min(spent)


if __name__ == "__main__":
    main(*sys.argv[1:2])
