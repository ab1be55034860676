"""What a privacy model may demand of the sensitive values in a class, as data.

Apart from the kernels that test it, so that models can be read, and releases verified, without those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Kinds of rules. In a class of n rows a value has c of them; in the whole table of N rows it has q.
DISTINCT, SHARE, ENTROPY, RECURSIVE, TRANSPORT, ORDERED, LIKENESS, DISCLOSURE, MAPPED, PRESENCE, PEOPLE = (
    range(11)
)

POPULATION = "\0population"
"""In place of a sensitive column: two values, of which a class has as many as it has rows, and as there are
people in the population who equal one of its rows."""

PERSON = "\0person"
"""In place of a sensitive column: one value, of which a class has as many as it has people."""

GROUP = "\0group"
"""The same for groups of people, such as households."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """What a class must satisfy, about a sensitive column, or the `POPULATION`, a `PERSON` or a `GROUP`.

    Where people are counted, c and q are people who have the value, n and N are the sums of these; but SHARE
    compares with the number of people, and DISTINCT forbids a value that all people of a class have.

    =========== =====================================================================================
    kind        condition
    =========== =====================================================================================
    DISTINCT    number of values >= limit
    SHARE       c / n <= limit for every value
    ENTROPY     exp(entropy) >= limit; with ``option`` by Grassberger's estimate, and so many values
    RECURSIVE   the largest c / the sum of all but the ``option - 1`` largest < limit
    TRANSPORT   mean over ``option`` levels of half the sum over nodes of abs(c / n - q / N) <= limit
    ORDERED     sum over values of abs(sum so far of c / n - q / N), over ``option`` steps, <= limit
    LIKENESS    (c / n) / (q / N) - 1 <= the value's ``bound``
    DISCLOSURE  c / n and q / N are less than ``limit`` times each other; absent values count if ``option``
    MAPPED      number of people >= limit
    PRESENCE    ``bound[0]`` <= n / number of people <= limit
    PEOPLE      number of different people, or groups, among the rows >= limit
    =========== =====================================================================================
    """

    kind: int
    column: str
    limit: float
    option: int = 0
    bound: NDArray[np.float64] | None = None
    """[values]"""
    levels: NDArray[np.integer] | None = None
    """[levels, values] number of the node above each value."""
