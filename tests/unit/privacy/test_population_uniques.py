"""Estimators of population uniques, against direct numeric solutions."""

from math import comb, lgamma, log

import numpy as np
import pytest
from scipy.optimize import brute

from shoal.errors import RecipeError
from shoal.privacy.population_uniques import (
    estimate_by_pitman,
    estimate_by_shlosser,
    estimate_by_snb,
    estimate_by_zayatz,
    estimate_population_uniques,
    fit_pitman,
    fit_snb,
    snb_expected,
)

SIZE = np.array([1, 2, 3, 6, 12])
MANY = np.array([60, 12, 5, 3, 2])
ROWS = int((SIZE * MANY).sum())


def test_zayatz_is_bayes_rule_with_hypergeometric_chances():
    population = 300

    def one_of(j: int) -> float:
        return j * comb(population - j, ROWS - 1) / comb(population, ROWS)

    share = MANY / MANY.sum()
    known = share[0] * one_of(1) / sum(p * one_of(int(j)) for p, j in zip(share, SIZE, strict=True))
    assert estimate_by_zayatz(SIZE, MANY, population) == pytest.approx(60 * known * population / ROWS)


def likelihood(theta: float, alpha: float) -> float:
    """Logarithm of Pitman's formula, factor by factor."""
    classes = int(MANY.sum())
    value = sum(log(theta + i * alpha) for i in range(1, classes))
    value -= sum(log(theta + i) for i in range(1, ROWS))
    return value + sum(
        many * sum(log(i - alpha) for i in range(1, size)) for size, many in zip(SIZE, MANY, strict=True)
    )


def test_pitman_has_the_greatest_likelihood_there_is():
    theta, alpha = fit_pitman(SIZE, MANY)
    best = likelihood(theta, alpha)
    # No point of a fine grid is better, and a step in any direction is worse.
    ranges = ((0.05, 100), (0.01, 0.99))
    grid = brute(lambda x, *_: -likelihood(x[0], x[1]), ranges, Ns=40, full_output=True, finish=None)
    assert -grid[1] <= best <= -grid[1] + 0.5
    for step in ((1e-3, 0), (-1e-3, 0), (0, 1e-4), (0, -1e-4)):
        assert likelihood(theta + step[0], alpha + step[1]) < best


def test_pitman_expects_singles_by_his_formula():
    """The chance to be alone: none of the N - 1 others joins, one after another (the Chinese restaurant)."""
    population = 400
    theta, alpha = fit_pitman(SIZE, MANY)
    alone = 1.0
    for there in range(1, population):
        alone *= 1 - (1 - alpha) / (theta + there)
    assert estimate_by_pitman(SIZE, MANY, population) == pytest.approx(population * alone)
    # What published programs take is the limit for large populations.
    large = 10**9
    limit = np.exp(lgamma(theta + 1) - lgamma(theta + alpha) + alpha * log(large))
    assert estimate_by_pitman(SIZE, MANY, large) == pytest.approx(limit, rel=1e-4)


@pytest.mark.parametrize(("alpha", "beta", "fraction"), [(0.3, 0.2, 0.5), (2.0, 0.6, 0.1), (1.0, 0.5, 0.9)])
def test_snb_expects_what_thinning_leaves(alpha, beta, fraction):
    """The distribution of class sizes summed up, each person being in the table by chance."""
    sizes = np.arange(1, 3000)
    log_chance = np.array([lgamma(alpha + j - 1) - lgamma(alpha) - lgamma(j) for j in sizes])
    chance = np.exp(log_chance + alpha * log(beta) + (sizes - 1) * log(1 - beta))
    one = (chance * sizes * fraction * (1 - fraction) ** (sizes - 1)).sum()
    two = (chance * sizes * (sizes - 1) / 2 * fraction**2 * (1 - fraction) ** (sizes - 2.0)).sum()
    assert snb_expected(alpha, beta, 1000, fraction) == pytest.approx([1000 * one, 1000 * two])
    # And back: from what is expected the parameters follow.
    found = fit_snb(1000, fraction, 1000 * one, 1000 * two)
    assert found is not None
    assert 1000 * found[1] ** found[0] == pytest.approx(1000 * beta**alpha, rel=1e-5)


def test_shlosser_by_hand():
    # One class of one row and one of two, half of the people: the three sums of Haas and Stokes.
    first = 1 * 0.25 + 2 * 0.25 * 0.75
    second = 0.5 * (1.5 - 1) + 0.25 * (2.25 - 1)
    third = (0.5 + 0.25) / (0.5 + 2 * 0.5 * 0.5)
    assert estimate_by_shlosser(np.array([1, 2]), np.array([1, 1]), 0.5) == pytest.approx(
        2 + first / second * third**2
    )


def test_shlosser_takes_classes_of_any_size():
    """Large classes in a large part of the population say that hardly any class was missed."""
    found = estimate_by_shlosser(np.array([1, 2, 30_000]), np.array([5, 4, 1]), 0.9)
    assert found == pytest.approx(estimate_by_shlosser(np.array([1, 2]), np.array([5, 4]), 0.9) + 1)
    assert estimate_population_uniques(np.array([1, 1, 2, 2, 30_000]), 0.9).population == 33340


def test_dankars_rule():
    sizes = np.repeat(SIZE, MANY)
    low = estimate_population_uniques(sizes, 0.05)
    assert (low.chosen, low.uniques) == ("pitman", low.pitman)
    assert low.population == ROWS * 20
    high = estimate_population_uniques(sizes, 0.5)
    assert high.snb is not None
    assert high.uniques == min(high.snb, high.zayatz)
    assert high.share == high.uniques / high.population


def test_the_whole_population_is_counted_not_estimated():
    found = estimate_population_uniques(np.repeat(SIZE, MANY), 1.0)
    assert (found.zayatz, found.snb, found.uniques) == (60.0, 60.0, 60.0)


def test_without_unique_rows_nobody_is_unique():
    found = estimate_population_uniques(np.array([2, 2, 5]), 0.3)
    assert (found.zayatz, found.pitman, found.snb, found.uniques) == (0.0, 0.0, 0.0, 0.0)


def test_where_all_rows_are_unique_everybody_may_be():
    found = estimate_population_uniques(np.ones(50, np.int64), 0.1)
    assert (found.pitman, found.chosen, found.share) == (500.0, "pitman", 1.0)


def test_zayatz_stands_in_where_another_has_no_answer():
    # Without a class of two rows nothing determines a slide negative binomial, and a few large classes beside
    # many of two fit none.
    found = estimate_population_uniques(np.array([1, 1, 1, 1, 9]), 0.5)
    assert (found.snb, found.chosen, found.uniques) == (None, "zayatz", found.zayatz)
    assert estimate_by_snb(np.array([1, 2]), np.array([1, 500]), 0.9) is None


@pytest.mark.parametrize("fraction", [0, -0.5, 1.2])
def test_a_fraction_is_a_share(fraction):
    with pytest.raises(RecipeError, match="above 0 and up to 1"):
        estimate_population_uniques(np.array([1, 2]), fraction)


def test_a_sample_tells_about_the_people_it_is_from():
    """A made population with known uniques; every estimate within a quarter at these fractions."""
    rng = np.random.default_rng(1)
    people = np.minimum(rng.pareto(0.8, 20_000) * 40, 5e6).astype(np.int64)
    truth = np.count_nonzero(np.unique(people, return_counts=True)[1] == 1)
    for fraction in (0.1, 0.3, 0.7):
        sample = rng.permutation(people)[: int(fraction * people.size)]
        found = estimate_population_uniques(np.unique(sample, return_counts=True)[1], fraction)
        assert found.uniques == pytest.approx(truth, rel=0.25)
