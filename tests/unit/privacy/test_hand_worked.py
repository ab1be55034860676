"""Each model on tables small enough to work out by hand; the arithmetic is in the comments."""

from math import inf, log, log2, sqrt

import numpy as np
import pytest

from shoal.errors import RecipeError
from shoal.privacy import (
    AlphaK,
    AverageRisk,
    BasicBeta,
    DeltaDisclosure,
    DistinctL,
    EnhancedBeta,
    EntropyL,
    KAnonymity,
    MaxRisk,
    PSensitive,
    RecursiveCL,
    TCloseness,
    Uniqueness,
    ValueScale,
)


def test_k_is_the_smallest_class(table):
    counts = table("aaa", "ab", "abcd")
    assert KAnonymity(2).achieved(counts) == 2
    assert KAnonymity(3).holds(counts).tolist() == [True, False, True]


def test_alpha_is_the_largest_share_of_a_value(table):
    # a has 2 of 3, 1 of 2, 1 of 4: the shares are 2/3, 1/2, 1/4.
    counts = table("aab", "ab", "abcd")
    assert AlphaK(0.5, 2, "s").achieved(counts) == {"alpha": 2 / 3, "k": 2}
    assert AlphaK(0.5, 2, "s").holds(counts).tolist() == [False, True, True]
    assert AlphaK(0.5, 3, "s").holds(counts).tolist() == [False, False, True]


def test_a_share_equal_to_alpha_is_allowed(table):
    # 29 of 100 rows: 0.29 * 100 is 28.999999999999996 in floating point, and 29 is not above 0.29 of 100.
    counts = table("a" * 29 + "b" * 28 + "c" * 22 + "d" * 21)
    assert AlphaK(0.29, 2, "s").holds(counts).all()


def test_distinct_l_and_p_count_values(table):
    counts = table("aaab", "abc", "cc")
    for model in (DistinctL(2, "s"), PSensitive(2, "s")):
        assert model.achieved(counts) == 1
        assert model.holds(counts).tolist() == [True, True, False]


def test_entropy_of_unequal_frequencies(table):
    # p = 1/2, 1/4, 1/4: entropy = 1/2 log 2 + 2 * 1/4 log 4 = 3/2 log 2, so l = 2^(3/2) = 2.828...
    counts = table("aabc")
    assert EntropyL(2, "s").achieved(counts) == pytest.approx(2 * sqrt(2), rel=1e-15)
    assert EntropyL(2.82, "s").holds(counts).all()
    assert not EntropyL(2.83, "s").holds(counts).any()


@pytest.mark.parametrize("number", [2, 3, 4, 5, 6, 7, 11, 13, 20])
@pytest.mark.parametrize("times", [1, 3, 7])
def test_l_equally_frequent_values_have_exactly_l(table, number, times):
    # The entropy is log l, however the logarithms are rounded.
    counts = table("abcdefghijklmnopqrst"[:number] * times)
    assert EntropyL(2, "s").achieved(counts) == number
    assert EntropyL(number, "s").holds(counts).all()


def test_recursive_diversity_of_one_class(table):
    # Counts 8, 2. With l = 2: r1 = 8 < c * r2 = 2 c, so c must exceed 4.
    counts = table("a" * 8 + "b" * 2)
    assert RecursiveCL(1, 2, "s").achieved(counts) == 4
    assert not RecursiveCL(4, 2, "s").holds(counts).any()
    assert RecursiveCL(4.01, 2, "s").holds(counts).all()
    # With l = 3 there is nothing from the third on: no c will do.
    assert RecursiveCL(1, 3, "s").achieved(counts) == inf
    assert not RecursiveCL(1e300, 3, "s").holds(counts).any()


def test_recursive_diversity_is_that_of_the_worst_class(table):
    # (5, 5) needs c > 1 and (9, 1) needs c > 9; with counts 4, 3, 2, 1 and l = 3 it is 4 / (2 + 1).
    assert RecursiveCL(1, 2, "s").achieved(table("aaaaabbbbb", "aaaaaaaaab")) == 9
    assert RecursiveCL(1, 3, "s").achieved(table("aaaabbbccd")) == 4 / 3


# Salaries of 3 to 11 thousand, one each, here a to i, are the example of Li et al., ICDE 2007.


def test_ordered_distance_as_in_the_paper(table):
    # {3k, 4k, 5k} against all nine is 0.375, {6k, 8k, 11k} is 0.167: the two examples of the paper.
    # First one, in ninths: differences 2 2 2 -1 -1 -1 -1 -1 -1, sums so far 2 4 6 5 4 3 2 1 0, together 27;
    # 27 / 9 / 8 = 0.375. Second: -1 -1 -1 2 -1 2 -1 -1 2, sums 1 2 3 1 2 0 1 2 0 = 12, 12 / 72 = 1/6.
    counts = table("abc", "dfi", "egh", scale=ValueScale(ordered=True))
    # Third: -1 -1 -1 -1 2 -1 2 2 -1, sums 1 2 3 4 2 3 1 1 0 = 17, 17 / 72.
    assert TCloseness(0.375, "ordered", "s").achieved(counts) == 0.375
    assert TCloseness(0.3, "ordered", "s").holds(counts).tolist() == [False, True, True]
    assert TCloseness(1 / 6, "ordered", "s").holds(counts).tolist() == [False, True, False]


def test_equal_distance(table):
    # Whole: a 4/8, b 2/8, c 2/8. aab: 2/3, 1/3, 0: (1/6 + 1/12 + 1/4) / 2 = 1/4.
    # aabcc: 2/5, 1/5, 2/5: (1/10 + 1/20 + 3/20) / 2 = 3/20.
    counts = table("aab", "aabcc")
    assert TCloseness(0.2, "equal", "s").achieved(counts) == 0.25
    assert TCloseness(0.15, "equal", "s").holds(counts).tolist() == [False, True]


def test_hierarchical_distance(table):
    # Two groups, ab and cd, so the height is 2: from a to b it is 1/2, from a to c it is 1.
    # Whole: 3 of 12 each. abb has 1/12 of a and 5/12 of b too much, and lacks 1/4 of c and of d: half the
    # rows must go to the other group at 1, and none within a group: 1/2.
    # The rest: 2/9 a, 1/9 b, 3/9 c, 3/9 d. In 36ths: -1 -5 +3 +3, so 6/36 must change groups: 1/6.
    levels = np.array([[0, 1, 2, 3], [0, 0, 1, 1]])
    counts = table("abb", "aabcccddd", scale=ValueScale(levels=levels))
    assert TCloseness(1, "hierarchical", "s").achieved(counts) == 0.5
    assert TCloseness(1 / 6, "hierarchical", "s").holds(counts).tolist() == [False, True]
    # ac against a quarter each moves a to b and c to d, half the rows, at 1/2: 1/4.
    # With equal distances the same rows move at 1.
    counts = table("ac", "bd", scale=ValueScale(levels=levels))
    assert TCloseness(1, "hierarchical", "s").achieved(counts) == 0.25
    assert TCloseness(1, "equal", "s").achieved(counts) == 0.5


def test_a_distance_that_the_column_cannot_have(table):
    with pytest.raises(RecipeError, match="needs an order, but column 's' has neither numbers nor dates"):
        TCloseness(0.2, "ordered", "s").achieved(table("ab"))
    with pytest.raises(RecipeError, match="needs a hierarchy for column 's'"):
        TCloseness(0.2, "hierarchical", "s").holds(table("ab"))


def test_basic_beta_is_the_largest_relative_gain(table):
    # Whole: a 4/8, b 4/8. In aaab a has 3/4, a gain of (3/4 - 1/2) / (1/2) = 1/2; so has b in the other.
    counts = table("aaab", "abbb")
    assert BasicBeta(1, "s").achieved(counts) == 0.5
    assert BasicBeta(0.5, "s").holds(counts).all()
    # Whole: a 4/6, b 2/6. aa: gain 1/2 for a. aabb: a loses, b gains (1/2 - 1/3) / (1/3) = 1/2.
    assert BasicBeta(0.49, "s").holds(table("aa", "aabb")).tolist() == [False, False]


def test_enhanced_beta_bounds_common_values_more(table):
    # Whole: a 1/2; -ln 1/2 = 0.693. In aaab a gains 1/2: allowed for any beta from there on.
    assert EnhancedBeta(1, "s").achieved(table("aaab", "abbb")) == 0.5
    # In aaaa a gains 1, more than 0.693: no beta will do, though the basic form is content with beta = 1.
    counts = table("aaaa", "bbbb")
    assert EnhancedBeta(1, "s").achieved(counts) == inf
    assert not EnhancedBeta(1e9, "s").holds(counts).any()
    assert BasicBeta(1, "s").holds(counts).all()
    assert log(2) < 1


def test_delta_disclosure_looks_both_ways(table):
    # Whole: a 4/8. aaab: a has 3/4, log2(3/2) = 0.585; b has 1/4, log2(1/2) = -1: delta must exceed 1.
    counts = table("aaab", "abbb")
    assert DeltaDisclosure(2, "strict", "s").achieved(counts) == 1
    assert not DeltaDisclosure(1, "strict", "s").holds(counts).any()
    assert DeltaDisclosure(1.01, "strict", "s").holds(counts).all()


def test_a_value_that_a_class_lacks(table):
    # Whole: a 3/5, b 2/5. aaa lacks b: infinite by definition, log2(5/3) if absent values are passed over.
    counts = table("aaa", "bb")
    assert DeltaDisclosure(2, "strict", "s").achieved(counts) == inf
    assert DeltaDisclosure(2, "lenient", "s").achieved(counts) == pytest.approx(log2(5 / 2))
    assert DeltaDisclosure(1, "lenient", "s").holds(counts).tolist() == [True, False]


def test_the_lenient_form_is_not_monotone(table):
    # Whole: a 18/27, b 9/27. First class: a 1.5 times as likely, b passed over. Second: a 9/12 against 2/3,
    # 1.125 times; b 1/4 against 1/3, 0.75 times. Both are within 2^1.
    # Together b has 3/21 against 1/3, 0.43 times: no longer.
    model = DeltaDisclosure(1, "lenient", "s")
    assert model.holds(table("a" * 9, "a" * 9 + "b" * 3, "b" * 6))[:2].all()
    assert not model.holds(table("a" * 9 + "a" * 9 + "b" * 3, "b" * 6))[0]
    assert not model.monotone
    assert DeltaDisclosure(1, "strict", "s").monotone


def test_risks(table):
    # Classes of 1, 2, 5: risks 1, 1/2, 1/5; 3 classes of 8 rows; 1 of 8 rows stands alone.
    counts = table("a", "ab", "abcde")
    assert MaxRisk(0.2).achieved(counts) == 1
    assert MaxRisk(0.2).holds(counts).tolist() == [False, False, True]
    assert AverageRisk(0.2).achieved(counts) == 3 / 8
    assert Uniqueness(0.2).achieved(counts) == 1 / 8


def test_the_average_is_over_rows_and_not_over_classes(table):
    # One row alone and 99 together: the rows' risks are 1 and 99 times 1/99, on average 2/100; the mean of
    # the two classes' risks, 0.505, would say how a class fares and not how a person does.
    assert AverageRisk(0.5).achieved(table("a", "b" * 99)) == 0.02


def test_which_classes_stand_in_the_way_of_a_bound_on_the_whole(table):
    counts = table("a", "ab", "abcde")
    assert AverageRisk(0.375).holds(counts).all()
    # 3/8 is too much for 0.37; classes of at least 1/0.37 = 2.7 rows would have been no problem.
    assert AverageRisk(0.37).holds(counts).tolist() == [False, False, True]
    assert Uniqueness(0.125).holds(counts).all()
    assert Uniqueness(0.12).holds(counts).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("risk", "size"), [(0.2, 5), (0.05, 20), (0.09, 12), (0.091, 11), (1 / 3, 3), (1 / 49, 49), (0.5, 2)]
)
def test_a_risk_is_a_class_size(risk, size):
    # 0.09, as regulators write it, is 1/11 = 0.0909 rounded down; taken at its word it needs 12 rows.
    assert MaxRisk(risk).least_size() == size
    assert 1 / size <= risk < 1 / (size - 1)


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_a_constant_column_is_at_no_distance(table, distance):
    assert TCloseness(0, distance, "s").achieved(table("aa", "aaa", scale=ValueScale(ordered=True))) == 0


def test_no_rows(table):
    nothing = table(scale=ValueScale(True, np.zeros((1, 1), int)))
    for model in (KAnonymity(2), DistinctL(2, "s"), EntropyL(2, "s"), MaxRisk(0.5), AverageRisk(0.5)):
        assert model.achieved(nothing) == 0
        assert model.holds(nothing).size == 0
    for name in ("equal", "ordered", "hierarchical"):
        assert TCloseness(0.5, name, "s").achieved(nothing) == 0
    for model in (
        RecursiveCL(1, 2, "s"),
        BasicBeta(1, "s"),
        EnhancedBeta(1, "s"),
        DeltaDisclosure(1, "strict", "s"),
    ):
        assert model.achieved(nothing) == 0
        assert model.holds(nothing).size == 0
    assert AlphaK(0.5, 2, "s").achieved(nothing) == {"alpha": 0, "k": 0}
