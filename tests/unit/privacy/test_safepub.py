"""SafePub: the accounting against direct sums, and what the mode demands."""

from fractions import Fraction
from math import comb, exp, floor

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy.safepub import delta_for, least_k, sampling_rate, tails

AGES = shoal.Hierarchy.from_tree(
    {"young": [str(age) for age in range(20, 40)], "old": [str(age) for age in range(40, 60)]}
)


def gamma(epsilon):
    """As in the theorem, with the largest sampling rate."""
    beta = 1 - exp(-epsilon)
    return (exp(epsilon) - 1 + beta) / exp(epsilon)


def tail(epsilon, n):
    """The sum over j > gamma n of f(j; n, beta), term by term in exact fractions."""
    beta = Fraction(1 - exp(-epsilon))
    first = floor(gamma(epsilon) * n) + 1
    return float(sum(comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(first, n + 1)))


def direct_delta(epsilon, k, last):
    """The largest tail from ceil(k/gamma - 1) on."""
    first = -floor(-(k / gamma(epsilon) - 1))
    return max(tail(epsilon, n) for n in range(first, last))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
def test_tails_are_sums_of_binomial_probabilities(epsilon):
    trials = np.array([1, 2, 3, 7, 20, 50, 101])
    assert tails(epsilon, trials) == pytest.approx([tail(epsilon, int(n)) for n in trials], rel=1e-9)


def test_the_tail_by_hand():
    # epsilon = log 2: beta = 1/2, gamma = 1 - 1/4 = 3/4. Of 4 rows more than 3 are drawn with probability
    # 1/16; 3/4 of 4 is a whole number, which rounding could make less, and then 5/16 is what is safe to say.
    assert sampling_rate(np.log(2)) == pytest.approx(0.5)
    assert gamma(np.log(2)) == pytest.approx(0.75)
    assert tails(float(np.log(2)), np.array([3]))[0] == pytest.approx(1 / 8)
    assert tails(float(np.log(2)), np.array([4]))[0] in (pytest.approx(1 / 16), pytest.approx(5 / 16))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-3), (1.0, 1e-2), (0.5, 1e-3), (2.0, 1e-2), (0.7, 0.3), (1.3, 0.9)]
)
def test_k_is_the_least_that_does(epsilon, delta):
    k = least_k(epsilon, delta)
    last = floor(k / gamma(epsilon)) + 60
    assert direct_delta(epsilon, k, last) <= delta
    assert k == 1 or direct_delta(epsilon, k - 1, last) > delta
    assert delta_for(epsilon, k) == pytest.approx(direct_delta(epsilon, k, last), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 1.0, 3.0, 8.0])
def test_accounting_at_the_ends_of_what_is_accepted(epsilon):
    assert 0 < sampling_rate(epsilon) < 1
    ks = [least_k(epsilon, delta) for delta in (0.5, 1e-3, 1e-6, 1e-12)]
    assert ks == sorted(ks)
    for k, delta in zip(ks, (0.5, 1e-3, 1e-6, 1e-12), strict=True):
        assert delta_for(epsilon, k) <= delta


def table(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": range(rows),
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m", "x"], rows, p=[0.49, 0.49, 0.02]),
        }
    )


def release(frame, levels="age=1,sex=0", models=("safepub(epsilon=1,delta=0.001)",), **more):
    settings = {"quasi": ["age", "sex"], "identifier": ["id"], "hierarchies": {"age": AGES}, **more}
    scheme = more.pop("algorithm", shoal.SafePubScheme(levels))
    return shoal.anonymize(frame, models=models, **{**settings, "algorithm": scheme})


def test_a_release_is_a_generalised_sample_without_small_classes():
    frame, k = table(1000), least_k(1.0, 0.001)
    found = release(frame, seed=7)
    drawn = np.random.default_rng(7).random(1000) < 1 - exp(-1)
    kept = frame.filter(pl.Series(drawn)).select(
        age=pl.when(pl.col("age") < 40).then(pl.lit("young")).otherwise(pl.lit("old")), sex="sex"
    )
    expected = kept.filter(pl.len().over("age", "sex") >= k).sort("age", "sex")
    assert found.frame.equals(expected)
    assert found.frame["sex"].n_unique() == 2  # those with x are too few
    assert found.report.suppressed_rows == 1000 - expected.height
    assert any(f"{drawn.sum()} rows were drawn" in note for note in found.report.notes)
    assert any("secret" in warning for warning in found.report.warnings)
    assert found.report.models[0].achieved["k"] >= k
    assert shoal.verify(found.frame, quasi=["age", "sex"], models=["safepub(epsilon=1,delta=0.001)"]).holds
    assert not shoal.verify(
        found.frame, quasi=["age", "sex"], models=["safepub(epsilon=1,delta=1e-80)"]
    ).holds


def test_neither_order_nor_labels_of_rows_are_released():
    frame = table(400)
    one, two = release(frame.to_pandas(), seed=1).frame, release(frame.to_pandas(), seed=2).frame
    assert one.index.tolist() == list(range(len(one)))
    assert one.to_numpy().tolist() == sorted(one.to_numpy().tolist())
    assert len(one) != len(two)
    assert release(frame.to_pandas(), seed=1).frame.equals(one)


def test_what_is_written_does_not_depend_on_other_rows():
    # As numbers, 1 and 1.0 would be one value that is written as either.
    frame = pl.DataFrame({"age": ["1"] * 200 + ["1.0"] * 200, "sex": ["f"] * 400})
    found = release(frame, "age=0,sex=0", identifier=[], hierarchies=None)
    assert found.frame["age"].unique().sort().to_list() == ["1", "1.0"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"levels": "age=1"}, "levels says nothing of 'sex'"),
        ({"levels": "age=1,sx=0"}, "unknown quasi-identifier in levels 'sx'"),
        ({"levels": "age=3,sex=0"}, "level 3 of 'age', which has a hierarchy of levels 0 to 2"),
        ({"levels": "age=1,sex=1"}, "level 1 of 'sex', which has no hierarchy"),
        ({"identifier": []}, "every released column is a quasi-identifier, but 'id' is not"),
        ({"algorithm": "mondrian"}, "kept by the algorithm safepub only"),
        ({"models": ["k(k=5)"]}, "takes one model safepub; the goal has 0"),
        ({"models": ["safepub(epsilon=1,delta=0.1)", "max-risk(risk=0.5)"]}, "together with k only"),
        ({"render": "set"}, "takes render 'label' or 'interval', not 'set'"),
    ],
)
def test_what_the_mode_refuses(settings, says):
    with pytest.raises(RecipeError, match=says):
        release(table(200), **settings)


@pytest.mark.parametrize("levels", ["age", "age=x", "age=-1"])
def test_levels_that_cannot_be_read(levels):
    with pytest.raises(RecipeError, match=f"cannot read '{levels}' in levels"):
        shoal.SafePubScheme(levels)


def test_goals_out_of_reach():
    with pytest.raises(
        GoalNotMet, match=r"needs classes of \d+ rows, but the table has 20; ask for a larger"
    ):
        release(table(20))
    with pytest.raises(GoalNotMet, match=r"drops classes of fewer than \d+ rows.*take higher levels"):
        release(table(300), "age=0,sex=0")


def test_a_larger_k_may_be_asked_for():
    assert (
        release(table(1000), models=["safepub(epsilon=1,delta=0.1)", "k(k=100)"]).report.smallest_class >= 100
    )
