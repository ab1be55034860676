"""How many people are unique in the population that a table is a sample of: estimates.

A row that is unique in the table need not be so among everybody. What is estimated is the number of people
who are; all that is known are the sizes of the classes in the table and the share of people who are in it.

References
----------
F. K. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of clinical data sets",
BMC Medical Informatics and Decision Making 12:66, 2012: the three estimators compared, and the rule.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError

Estimator = Literal["zayatz", "pitman", "snb"]
_LOW = 0.1  # up to this sampling fraction the rule takes Pitman's estimate
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


def population_uniques(sizes: NDArray[np.integer], fraction: float) -> PopulationUniques:
    """Estimate from the sizes of the classes, where the rows are the given share of the population.

    Dankar's rule: with up to a tenth of the population Pitman's estimate; with more the lower one of the
    slide negative binomial's and Zayatz's. Zayatz's also stands in where another has no answer.
    """
    check_fraction(fraction)
    size, many = np.unique(sizes, return_counts=True)
    population = max(round(int(sizes.sum()) / fraction), int(sizes.sum()))
    by_zayatz = zayatz(size, many, population)
    by_pitman, by_snb = pitman(size, many, population), snb(size, many, fraction)
    return PopulationUniques(
        population, fraction, by_zayatz, by_pitman, by_snb, _chosen(fraction, by_zayatz, by_pitman, by_snb)
    )


def check_fraction(fraction: float) -> None:
    """Refuse what is no share of a population."""
    if not 0 < fraction <= 1:
        raise RecipeError(
            "the sampling fraction is the share of the population that is in the table, above 0 and up to "
            f"1, not {fraction:g}"
        )


def _chosen(fraction: float, zayatz: float, pitman: float | None, snb: float | None) -> Estimator:
    if fraction <= _LOW:
        return "zayatz" if pitman is None else "pitman"
    return "snb" if snb is not None and snb <= zayatz else "zayatz"


def zayatz(size: NDArray[np.integer], many: NDArray[np.integer], population: int) -> float:
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
    from scipy.stats import hypergeom  # noqa: PLC0415  slow to load

    rows = int((size * many).sum())
    single = float(many[size == 1].sum())
    if single == 0:
        return 0.0
    # Of a population class with j people, the chance that just one is in the table.
    one = hypergeom.pmf(1, population, size, rows)
    return float(single * single * one[0] / (many * one).sum() * population / rows)


def pitman(size: NDArray[np.integer], many: NDArray[np.integer], population: int) -> float | None:
    """Pitman's estimate: his sampling formula fitted by maximum likelihood, and the singles that it expects.

    The expectation is the formula's own for a population of N; published code takes its limit for large N,
    N to the power of alpha times gamma(theta + 1) / gamma(theta + alpha).

    References
    ----------
    N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment", Journal of
    Official Statistics 17(4), 2001.
    """
    from scipy.special import gammaln  # noqa: PLC0415  slow to load

    single = float(many[size == 1].sum())
    rows = int((size * many).sum())
    if single == 0:
        return 0.0
    if single == rows:
        return float(population)  # nothing speaks against everybody being unique
    fitted = pitman_parameters(size, many)
    if fitted is None:
        return None
    theta, alpha = fitted
    log = gammaln(theta + 1) - gammaln(theta + alpha)
    log += gammaln(population + theta + alpha - 1) - gammaln(population + theta)
    return float(min(np.exp(log), 1.0) * population)


def pitman_parameters(size: NDArray[np.integer], many: NDArray[np.integer]) -> tuple[float, float] | None:
    """Theta and alpha of greatest likelihood, with alpha from 0 to 1; None if none are found."""
    from scipy.optimize import minimize  # noqa: PLC0415  slow to load

    rows, classes = int((size * many).sum()), int(many.sum())
    large = size > 1

    def worse(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Minus the log-likelihood and its slope, with theta + alpha = e^x and alpha = 1 / (1 + e^-y)."""
        above, alpha = np.exp(point[0]), 1 / (1 + np.exp(-point[1]))
        value, by_theta, by_alpha = _likelihood(above - alpha, alpha, rows, classes, size[large], many[large])
        slope = [by_theta * above, (by_alpha - by_theta) * alpha * (1 - alpha)]
        return -value / rows, -np.array(slope) / rows

    bounds = [(-12.0, 40.0), (-16.0, 16.0)]
    starts = [(np.log(spread * classes + 1), np.log(alpha / (1 - alpha))) for spread, alpha in _STARTS[:3]]
    tight = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-11}
    found = [
        minimize(worse, start, jac=True, method="L-BFGS-B", bounds=bounds, options=tight) for start in starts
    ]
    good = [each for each in found if np.isfinite(each.fun)]
    if not good:
        return None
    best = min(good, key=lambda each: float(each.fun)).x
    alpha = 1 / (1 + np.exp(-best[1]))
    return float(np.exp(best[0]) - alpha), float(alpha)


def _likelihood(
    theta: float,
    alpha: float,
    rows: int,
    classes: int,
    size: NDArray[np.integer],
    many: NDArray[np.integer],
) -> tuple[float, float, float]:
    """Logarithm of Pitman's formula without what does not depend on its parameters, and its two slopes."""
    from scipy.special import digamma, gammaln  # noqa: PLC0415  slow to load

    above = theta + alpha * np.arange(1, classes)
    value = np.log(above).sum() - (gammaln(theta + rows) - gammaln(theta + 1))
    value += (many * (gammaln(size - alpha) - gammaln(1 - alpha))).sum()
    by_theta = (1 / above).sum() - (digamma(theta + rows) - digamma(theta + 1))
    by_alpha = (np.arange(1, classes) / above).sum()
    by_alpha -= (many * (digamma(size - alpha) - digamma(1 - alpha))).sum()
    return float(value), float(by_theta), float(by_alpha)


def snb(size: NDArray[np.integer], many: NDArray[np.integer], fraction: float) -> float | None:
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
    classes = shlosser(size, many, fraction)
    fitted = snb_parameters(classes, fraction, single, double)
    return None if fitted is None else float(classes * fitted[1] ** fitted[0])


def shlosser(size: NDArray[np.integer], many: NDArray[np.integer], fraction: float) -> float:
    """Number of classes in the population, by Shlosser's estimator as Haas and Stokes modified it."""
    q, size = fraction, size.astype(np.float64)
    single = float(many[size == 1].sum())
    unseen = (many * (1 - q) ** size).sum()
    if unseen == 0:  # even the smallest class is so large that no class is likely to be missed
        return float(many.sum())
    first = (many * size * q**2 * (1 - q**2) ** (size - 1)).sum()
    second = (many * (1 - q) ** size * ((1 + q) ** size - 1)).sum()
    third = unseen / (many * size * q * (1 - q) ** (size - 1)).sum()
    return float(many.sum() + single * first / second * third**2)


def snb_parameters(
    classes: float, fraction: float, single: float, double: float
) -> tuple[float, float] | None:
    """Alpha and beta by which ``single`` and ``double`` classes of one and two rows are expected."""
    from scipy.optimize import least_squares  # noqa: PLC0415  slow to load

    def missed(point: NDArray[np.float64]) -> NDArray[np.float64]:
        expected = snb_expected(np.exp(point[0]), 1 / (1 + np.exp(-point[1])), classes, fraction)
        return np.log(np.maximum(expected, 1e-300)) - np.log([single, double])

    starts = [(np.log(alpha), np.log(beta / (1 - beta))) for alpha, beta in _STARTS]
    found = [
        least_squares(missed, start, xtol=1e-14, ftol=1e-14, gtol=1e-14, bounds=(-30, 30)) for start in starts
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
