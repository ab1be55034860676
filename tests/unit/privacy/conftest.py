"""Small tables, and the models' definitions once more in plain Python, as directly as they can be written."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import exp, log, log2

import numpy as np
import pytest

from shoal.privacy import Counts, SensitiveCounts, ValueScale


def counts_of(*classes: str, scale: ValueScale | None = None) -> Counts:
    """Classes of rows whose sensitive values are letters: ``counts_of("aab", "bc")``."""
    values = sorted(set("".join(classes)))
    class_of = np.repeat(np.arange(len(classes)), [len(rows) for rows in classes])
    value = np.array([values.index(letter) for letter in "".join(classes)], np.int64)
    size = np.array([len(rows) for rows in classes], np.int64)
    return Counts(size, {"s": SensitiveCounts.of_rows(class_of, value, scale)})


@pytest.fixture
def table() -> Callable[..., Counts]:
    return counts_of


@lru_cache(4)
def shares(rows: tuple) -> dict:
    return {value: Fraction(count, len(rows)) for value, count in Counter(rows).items()}


def equal(rows, whole) -> Fraction:
    p, q = shares(rows), shares(whole)
    return sum(abs(p.get(v, 0) - q[v]) for v in q) / 2


def ordered(rows, whole) -> Fraction:
    p, q = shares(rows), shares(whole)
    order = sorted(q)
    steps = [sum(p.get(v, 0) - q[v] for v in order[: i + 1]) for i in range(len(order))]
    return sum(map(abs, steps)) / max(len(order) - 1, 1)


def recursive(rows, c, l) -> bool:  # noqa: E741
    r = sorted(Counter(rows).values(), reverse=True)
    return r[0] < Fraction(c) * sum(r[l - 1 :])


def effective(rows) -> float:
    return exp(-sum(p * log(p) for p in map(float, shares(rows).values())))


def gains(rows, whole) -> dict:
    p, q = shares(rows), shares(whole)
    return {v: float((p[v] - q[v]) / q[v]) for v in p}


def odds(rows, whole, strict) -> float:
    p, q = shares(rows), shares(whole)
    missing = [float("inf") for v in q if v not in p and strict]
    return max([abs(log2(p[v] / q[v])) for v in p] + missing)


NAIVE = {
    "k": lambda m, rows, whole: len(rows) >= m.k,
    "alpha-k": lambda m, rows, whole: (
        len(rows) >= m.k and max(shares(rows).values()) <= Fraction(str(m.alpha))
    ),
    "distinct-l": lambda m, rows, whole: len(set(rows)) >= m.l,
    "p-sensitive": lambda m, rows, whole: len(set(rows)) >= m.p,
    "entropy-l": lambda m, rows, whole: effective(rows) >= m.l - 1e-9,
    "recursive-cl": lambda m, rows, whole: recursive(rows, str(m.c), m.l),
    "t": lambda m, rows, whole: (
        {"equal": equal, "ordered": ordered}[m.distance](rows, whole) <= Fraction(str(m.t))
    ),
    "basic-beta": lambda m, rows, whole: max(gains(rows, whole).values()) <= m.beta,
    "enhanced-beta": lambda m, rows, whole: all(
        gain <= min(m.beta, -log(shares(whole)[v])) for v, gain in gains(rows, whole).items()
    ),
    "delta-disclosure": lambda m, rows, whole: odds(rows, whole, m.form == "strict") < m.delta,
    "max-risk": lambda m, rows, whole: Fraction(1, len(rows)) <= Fraction(str(m.risk)),
}
"""Whether a class satisfies a model: the model, the class's values, all values, each a tuple."""


@pytest.fixture(scope="session")
def naive() -> dict:
    return NAIVE
