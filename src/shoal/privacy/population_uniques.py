"""How many people are unique in the population that a table is a sample of: estimates.

A row that is unique in the table need not be so among everybody. What is estimated is the number of people
who are; all that is known are the sizes of the classes in the table and the share of people who are in it.

References
----------
F. K. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of clinical data sets",
BMC Medical Informatics and Decision Making 12:66, 2012: the three estimators compared, and the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.support.arithmetic import digamma, exp, log, log_gamma, power, weighted_sum
from shoal.table.formats import import_optional

Estimator = Literal["zayatz", "pitman", "snb"]
_LOW = 0.1  # up to this sampling fraction the rule takes Pitman's estimate
_LOWEST = -12.0  # the power of e from which on theta + alpha is looked for
_LARGEST_ALPHA = 1 - 1e-9
_MOST_STEPS = 200
_NEAR = 1e-13  # steps that are smaller end a search
_STARTS = ((0.5, 0.5), (0.1, 0.1), (2.0, 0.05), (0.02, 0.5), (10.0, 0.5), (0.5, 0.01))


@dataclass(frozen=True, slots=True)
class PopulationUniques:
    """Estimates of how many people of the population are unique; None where an estimator has no answer."""

    population: int
    """Size of the population."""
    sampling_fraction: float
    zayatz: float
    pitman: float | None
    snb: float | None
    chosen: Estimator
    """Which of them Dankar's rule takes."""

    @property
    def uniques(self) -> float:
        """The estimate that the rule takes."""
        found = getattr(self, self.chosen)
        assert isinstance(found, float)
        return found

    @property
    def share(self) -> float:
        """The share of the population that is unique by it."""
        return self.uniques / self.population

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self) | {"uniques": self.uniques, "share": self.share}


def estimate_population_uniques(sizes: NDArray[np.integer], fraction: float) -> PopulationUniques:
    """Estimate from the sizes of the classes, where the rows are the given share of the population.

    Dankar's rule: with up to a tenth of the population Pitman's estimate; with more the lower one of the
    slide negative binomial's and Zayatz's. Zayatz's also stands in where another has no answer.
    """
    check_fraction(fraction)
    size, many = np.unique(sizes, return_counts=True)
    population = max(round(int(sizes.sum()) / fraction), int(sizes.sum()))
    by_zayatz = estimate_by_zayatz(size, many, population)
    by_pitman, by_snb = estimate_by_pitman(size, many, population), estimate_by_snb(size, many, fraction)
    return PopulationUniques(
        population,
        fraction,
        by_zayatz,
        by_pitman,
        by_snb,
        _choose_estimator(fraction, by_zayatz, by_pitman, by_snb),
    )


def estimate_unique_share(
    sizes: NDArray[np.integer], fraction: float, estimator: Estimator | Literal["dankar"]
) -> float:
    """The share of the population that is unique by one estimator, or by the one that Dankar's rule takes.

    Zayatz's estimate stands in where the estimator has no answer.
    """
    if estimator == "dankar":
        return estimate_population_uniques(sizes, fraction).share
    size, many = np.unique(sizes, return_counts=True)
    population = max(round(int(sizes.sum()) / fraction), int(sizes.sum()))
    found = (
        estimate_by_pitman(size, many, population)
        if estimator == "pitman"
        else estimate_by_snb(size, many, fraction)
        if estimator == "snb"
        else None
    )
    return (estimate_by_zayatz(size, many, population) if found is None else found) / population


def check_fraction(fraction: float) -> None:
    """Refuse what is no share of a population."""
    if not 0 < fraction <= 1:
        raise RecipeError(
            "the sampling fraction is the share of the population that is in the table, above 0 and up to "
            f"1, not {fraction:g}"
        )


def _choose_estimator(fraction: float, zayatz: float, pitman: float | None, snb: float | None) -> Estimator:
    if fraction <= _LOW:
        return "zayatz" if pitman is None else "pitman"
    return "snb" if snb is not None and snb <= zayatz else "zayatz"


def estimate_by_zayatz(size: NDArray[np.integer], many: NDArray[np.integer], population: int) -> float:
    """Zayatz's estimate: Bayes' rule, as if classes were distributed in the population as in the table.

    Parameters
    ----------
    size, many
        Sizes of classes in the table, and how many classes have each.
    population
        Number of people.

    References
    ----------
    L. V. Zayatz, "Estimation of the number of unique population elements using a sample", Proc. Survey
    Research Methods Section, ASA 1991.
    """
    rows = int((size * many).sum())
    single = float(many[size == 1].sum())
    if single == 0:
        return 0.0
    # Of a population class with j people, the chance that just one is in the table.
    others = np.arange(int(size.max()) - 1)
    missed = np.cumprod(np.append(1.0, (population - rows - others) / (population - 1 - others)))
    one = size * missed[size - 1]
    return float(single * single * one[0] / (many * one).sum() * population / rows)


def estimate_by_pitman(size: NDArray[np.integer], many: NDArray[np.integer], population: int) -> float:
    """Pitman's estimate: his sampling formula fitted by maximum likelihood, and the singles that it expects.

    The expectation is the formula's own for a population of N; published code takes its limit for large N,
    N to the power of alpha times gamma(theta + 1) / gamma(theta + alpha).

    References
    ----------
    N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment", Journal of
    Official Statistics 17(4), 2001.
    """
    single = float(many[size == 1].sum())
    rows = int((size * many).sum())
    if single == 0:
        return 0.0
    if single == rows:
        return float(population)  # nothing speaks against everybody being unique
    theta, alpha = fit_pitman(size, many)
    alone = log_gamma(theta + 1) - log_gamma(theta + alpha)
    alone += log_gamma(population + theta + alpha - 1) - log_gamma(population + theta)
    return float(min(exp(alone), 1.0) * population)


def fit_pitman(size: NDArray[np.integer], many: NDArray[np.integer]) -> tuple[float, float]:
    """Theta and alpha of greatest likelihood, with alpha from 0 up to 1."""
    slopes = _PitmanSlopes(int((size * many).sum()), int(many.sum()), size[size > 1], many[size > 1])

    def measure_slope(alpha: float) -> float:
        return (1 - alpha) * slopes.by_alpha(slopes.best_theta(alpha), alpha)

    alpha = find_root(measure_slope, 0.0, _LARGEST_ALPHA)
    return slopes.best_theta(alpha), alpha


@dataclass(frozen=True, slots=True, eq=False)
class _PitmanSlopes:
    """The slopes of the logarithm of Pitman's formula, given the classes of more than one row."""

    rows: int
    classes: int
    size: NDArray[np.integer]
    many: NDArray[np.integer]

    def best_theta(self, alpha: float) -> float:
        """Theta of greatest likelihood for an alpha; it is above minus alpha, and below the rows squared."""
        highest = 2 * log(self.rows) + 2
        power = find_root(lambda x: exp(x) * self.by_theta(exp(x) - alpha, alpha), _LOWEST, highest)
        return float(exp(power) - alpha)

    def by_theta(self, theta: float, alpha: float) -> float:
        """The slope along theta."""
        rising = (1 / (theta + alpha * np.arange(1, self.classes))).sum()
        return float(rising - (digamma(theta + self.rows) - digamma(theta + 1)))

    def by_alpha(self, theta: float, alpha: float) -> float:
        """The slope along alpha."""
        each = np.arange(1, self.classes)
        falling = weighted_sum(digamma(self.size - alpha) - digamma(1 - alpha), self.many)
        return float((each / (theta + alpha * each)).sum() - falling)


def find_root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function is 0, or the end that is nearer to it (regula falsi, after Illinois)."""
    above, below = falling(low), falling(high)
    if above <= 0 or below >= 0:
        return low if above <= 0 else high
    middle, side = low, 0
    for _ in range(_MOST_STEPS):
        before, middle = middle, low + (high - low) * (above / (above - below))
        here = falling(middle)
        if here == 0 or abs(middle - before) <= _NEAR * max(1.0, abs(middle)):
            break
        if here > 0:
            low, above, below, side = middle, here, below / 2 if side > 0 else below, 1
        else:
            high, below, above, side = middle, here, above / 2 if side < 0 else above, -1
    return middle


def estimate_by_snb(size: NDArray[np.integer], many: NDArray[np.integer], fraction: float) -> float | None:
    """The slide negative binomial's estimate: a class is one person and a negative binomial number more.

    Its parameters are those by which as many classes of one and of two rows are expected in the table as
    there are; the number of classes in the population is Shlosser's estimate. None if no parameters do.

    References
    ----------
    G. Chen, S. Keller-McNulty, "Estimation of identification disclosure risk in microdata", Journal of
    Official Statistics 14(1), 1998. P. J. Haas, L. Stokes, "Estimating the number of classes in a finite
    population", JASA 93(444), 1998, for Shlosser's estimate in its modified form.
    """
    single, double = float(many[size == 1].sum()), float(many[size == 2].sum())
    if single == 0:
        return 0.0
    if fraction == 1:
        return single
    if double == 0:
        return None  # then nothing determines them
    classes = estimate_by_shlosser(size, many, fraction)
    fitted = fit_snb(classes, fraction, single, double)
    # What the solver finds differs in the last digits from processor to processor.
    return None if fitted is None else float(f"{classes * power(fitted[1], fitted[0]):.6g}")


def estimate_by_shlosser(size: NDArray[np.integer], many: NDArray[np.integer], fraction: float) -> float:
    """Number of classes in the population, by Shlosser's estimator as Haas and Stokes modified it."""
    q, size = fraction, size.astype(np.float64)
    single = float(many[size == 1].sum())
    unseen = (many * power(1 - q, size)).sum()
    if unseen == 0:  # even the smallest class is so large that no class is likely to be missed
        return float(many.sum())
    first = (many * size * q**2 * power(1 - q**2, size - 1)).sum()
    second = (many * (power(1 - q**2, size) - power(1 - q, size))).sum()  # no power of 1 + q: that overflows
    third = unseen / (many * size * q * power(1 - q, size - 1)).sum()
    return float(many.sum() + single * first / second * third**2)


def fit_snb(classes: float, fraction: float, single: float, double: float) -> tuple[float, float] | None:
    """Alpha and beta by which ``single`` and ``double`` classes of one and two rows are expected."""
    optimize = import_optional("scipy.optimize", "shoal[scipy]")

    def compute_residuals(point: NDArray[np.float64]) -> NDArray[np.float64]:
        expected = snb_expected(np.exp(point[0]), 1 / (1 + np.exp(-point[1])), classes, fraction)
        return np.log(np.maximum(expected, 1e-300)) - np.log([single, double])

    starts = [(np.log(alpha), np.log(beta / (1 - beta))) for alpha, beta in _STARTS]
    found = [
        optimize.least_squares(compute_residuals, start, xtol=1e-14, ftol=1e-14, gtol=1e-14, bounds=(-30, 30))
        for start in starts
    ]
    best = min(found, key=lambda each: float(each.cost))
    if not best.cost < 1e-12:
        return None
    return float(np.exp(best.x[0])), float(1 / (1 + np.exp(-best.x[1])))


def snb_expected(alpha: float, beta: float, classes: float, fraction: float) -> NDArray[np.float64]:
    """How many classes of one and of two rows a table has on average, each person being in it by chance."""
    gone = (1 - fraction) * (1 - beta)
    power = np.exp(alpha * (np.log(beta) - np.log1p(-gone)))
    one = classes * fraction * power * (1 + alpha * gone / (1 - gone))
    two = classes * fraction**2 / 2 * power * alpha * (1 - beta) * (2 - (1 - alpha) * gone) / (1 - gone) ** 2
    return np.array([one, two])
