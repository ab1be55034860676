"""Levels that are drawn by the exponential mechanism: a search that costs a part of epsilon.

The proof that a draw is private rests on three things, each of which is a function here: what a row can
change in a score at most (`ExpectedRows.sensitivity`), scores that are whole numbers and so have no rounding
that depends on the order of rows (`score_schemes`), and a draw whose probabilities are exact (`draw_index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.frequency import rank_rows
from shoal.errors import RecipeError
from shoal.privacy.counts import sum_by_place
from shoal.table.formats import import_optional

MOST_SCHEMES = 200_000
"""More schemes than this are not scored one by one."""
_MOST_SIZES = 10_000_000
FULL_DETAIL = 1000
"""Detail of a row that is released as it is, and what one row that is surely released counts."""

Below = Callable[[int], int]
"""Draws a whole number from 0 to below its argument, all of them with the same probability."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelledColumn:
    """A quasi-identifier on all levels on which it may be released, from the lowest of them on."""

    name: str
    first: int
    """The lowest level."""
    codes: NDArray[np.int64]
    """[rows] what each row becomes there."""
    above: tuple[NDArray[np.int64], ...]
    """From each level to the next: [codes] what a code of that level becomes."""
    detail: tuple[NDArray[np.int64], ...]
    """By level, [codes]: how much of its detail a value keeps, in thousandths of what all columns have."""


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedRows:
    """How many rows of a class of n are released in the mean, in thousandths, by n.

    Each of n rows is drawn with the same probability, and the class is dropped if fewer than k of them are.
    That is n P(at least k - 1 of the n - 1 others are drawn), over the rate.
    """

    values: NDArray[np.int64]
    """[n]; beyond the last of them each further row counts as one."""

    @classmethod
    def from_parameters(cls, rate: float, k: int) -> ExpectedRows:
        """For a rate and a k."""
        special = import_optional("scipy.special", "shoal[scipy]")

        # Neither k nor the rate depends on the table, so an error may name them.
        if (last := 2 * k / rate) > _MOST_SIZES:
            raise RecipeError(
                f"a private search for levels takes k of {int(_MOST_SIZES * rate / 2):,} at most with this "
                f"epsilon, not {k:,}"
            )
        size = np.arange(int(last) + 100, dtype=np.float64)
        share = np.zeros(size.size)
        share[k:] = special.betainc(k - 1, size[k:] - k + 1, rate) if k > 1 else 1.0
        # Rounding may not make a class lose by a further row: the proof needs that it does not.
        return cls(np.maximum.accumulate(np.rint(FULL_DETAIL * size * share).astype(np.int64)))

    @property
    def sensitivity(self) -> int:
        """What one row more can change in a score at most: that of its class, by the largest step."""
        return FULL_DETAIL * max(FULL_DETAIL, int(np.diff(self.values).max(initial=0)))

    def look_up(self, size: NDArray[np.int64]) -> NDArray[np.int64]:
        """For classes of these sizes."""
        last = self.values.size - 1
        inside = np.minimum(size, last)
        return np.asarray(self.values[inside] + FULL_DETAIL * (size - inside), np.int64)


def check_number_of_schemes(levels: Sequence[range]) -> None:
    """Refuse more schemes than can be scored; how many there are does not depend on the table."""
    if (schemes := prod(map(len, levels))) > MOST_SCHEMES:
        raise RecipeError(
            f"{schemes:,} combinations of levels cannot be searched, at most {MOST_SCHEMES:,} can: narrow "
            "them, as in levels=age=1..3,sex=0, without looking at the table"
        )


def score_schemes(
    columns: Sequence[LevelledColumn], expected: ExpectedRows
) -> tuple[list[tuple[int, ...]], list[int]]:
    """All schemes, and for each the detail that is expected to be released under it.

    That is the sum over classes of the rows that are expected to be released, times the detail that each of
    these keeps.
    """
    count = np.ones(columns[0].codes.size, np.int64)
    found = list(_walk(columns, expected, [column.codes for column in columns], count, ()))
    return [scheme for scheme, _ in found], [score for _, score in found]


def _walk(
    columns: Sequence[LevelledColumn],
    expected: ExpectedRows,
    codes: list[NDArray[np.int64]],
    count: NDArray[np.int64],
    chosen: tuple[int, ...],
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Take every level of the next column in turn; rows that became equal go on as one."""
    at = len(chosen)
    if at == len(columns):
        kept = sum(
            (column.detail[level][code] for column, level, code in zip(columns, chosen, codes, strict=True)),
            np.zeros(count.size, np.int64),
        )
        levels = tuple(column.first + step for column, step in zip(columns, chosen, strict=True))
        yield levels, int((kept * expected.look_up(count)).sum())
        return
    column = columns[at]
    for step in range(len(column.detail)):
        if step:
            codes = [*codes[:at], column.above[step - 1][codes[at]], *codes[at + 1 :]]
        codes, count = _merge_equal_rows(codes, count)
        yield from _walk(columns, expected, codes, count, (*chosen, step))


def _merge_equal_rows(
    codes: list[NDArray[np.int64]], count: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    if not count.size:
        return codes, count
    number = rank_rows(codes, [int(code.max()) + 1 for code in codes])
    some = np.empty(int(number.max()) + 1, np.int64)
    some[number] = np.arange(number.size)
    return [code[some] for code in codes], sum_by_place(number, count)


def draw_index(scores: Sequence[int], epsilon: Fraction, sensitivity: int, below: Below) -> int:
    """The exponential mechanism: draw ``i`` with a probability proportional to e^(epsilon score_i / s).

    No factor of 2 is needed in the exponent, because a further row never lowers a score.

    References
    ----------
    F. McSherry, K. Talwar, "Mechanism design via differential privacy", FOCS 2007.
    """
    best = max(scores)
    # Rejection, so that only probabilities e^-x are needed, which whole numbers give exactly.
    while True:
        at = below(len(scores))
        if happens(epsilon * (best - scores[at]) / sensitivity, below):
            return at


def happens(exponent: Fraction, below: Below) -> bool:
    """True with the probability e^-exponent, exactly.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
    algorithm 1.
    """
    whole, rest = divmod(exponent, 1)
    return all(_happens_below_one(Fraction(1), below) for _ in range(whole)) and _happens_below_one(
        rest, below
    )


def _happens_below_one(exponent: Fraction, below: Below) -> bool:
    """For exponents from 0 to 1: by the alternating series of e^-x."""
    turn = 1
    while below(exponent.denominator * turn) < exponent.numerator:
        turn += 1
    return turn % 2 == 1
