"""Survey weights, strata and wildcards: published values, numeric integration, and counting pair by pair."""

import json
from itertools import product
from math import log

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.special import hyp2f1

import shoal
from shoal.assessment.risks.survey import estimate_individual_risk
from shoal.assessment.risks.wildcards import sum_fitting
from shoal.errors import InputError, RecipeError

QUASI = ["A", "B", "C"]
TABLE = pl.DataFrame(
    {
        "A": [2, 3, 2, 2, 3, 3, 1, 2],
        "B": [3, 3, 3, 3, 3, 3, 4, 3],
        "C": [1, 3, 1, 2, 1, 1, 1, 1],
        "weight": [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51],
    }
)
WITH_GAPS = TABLE.with_columns(
    A=pl.Series([2, 3, 2, 2, 3, 3, 1, None]), C=pl.Series([1, 3, None, 2, 1, 1, None, 1])
)


def test_the_values_of_sdcmicro():
    """As its own tests have them (test_indivRisk.R, exact)."""
    found = shoal.risk(TABLE, QUASI, weight_column="weight")
    published = [
        0.01355297,
        0.08579129,
        0.01355297,
        0.17707583,
        0.01877883,
        0.01877883,
        0.03931625,
        0.01355297,
    ]
    assert found.records["journalist_risk"].to_list() == pytest.approx(published, abs=5e-9)
    assert found.records["weighted_frequency"].to_list() == [108.0, 45.5, 108.0, 17.0, 100, 100, 123.5, 108]
    assert found.expected == pytest.approx(sum(published), abs=5e-8)
    assert found.marketer == pytest.approx(sum(published) / 8, abs=5e-9)
    assert (found.known_by, found.survey.people, found.survey.smallest) == ("weights", 394, 17)
    assert found.survey.unique_people == pytest.approx(1 / 45.5 + 1 / 17 + 1 / 123.5)


def test_the_values_of_sdcmicro_where_missing_cells_match_anything():
    found = shoal.risk(WITH_GAPS, QUASI, weight_column="weight", wildcards=[""])
    published = [0.013552968, 0.085791288, 0.010504889, 0.032466112, 0.009756889, 0.009756889, 0.039316254]
    assert found.records["journalist_risk"].to_list() == pytest.approx([*published, 0.005962551], abs=5e-10)
    assert found.records["fitting_rows"].to_list() == [3, 1, 4, 2, 3, 3, 1, 5]
    assert found.records["class_size"].to_list() == [1, 1, 1, 1, 2, 2, 1, 1]
    assert found.unique_rows == 2
    assert found.prosecutor.average == pytest.approx((1 / 3 + 1 + 1 / 4 + 1 / 2 + 2 / 3 + 1 + 1 / 5) / 8)


@pytest.mark.parametrize("weight", [1.01, 1.5, 2.5, 40, 1e5])
@pytest.mark.parametrize("size", [1, 2, 3, 10, 63, 64, 200])
def test_the_individual_risk_is_the_integral(size, weight):
    """E(1/F | f) is the integral of the generating function of F over s, divided by s, from 0 to 1."""
    p = 1 / weight
    risk = estimate_individual_risk(np.array([size]), np.array([size * weight]))[0]
    if size < 200:  # where scipy has an answer
        assert risk == pytest.approx(p / size * hyp2f1(1, 1, size + 1, 1 - p), rel=1e-10)
    # With t = p s / (1 - (1 - p) s), which has no peak.
    smooth, _ = quad(lambda t: p * t ** (size - 1) / (p + (1 - p) * t), 0, 1, epsabs=0, limit=500)
    assert risk == pytest.approx(smooth, rel=1e-8)
    if weight < 3:
        direct, _ = quad(lambda s: s ** (size - 1) * (p / (1 - (1 - p) * s)) ** size, 0, 1, epsabs=0)
        assert risk == pytest.approx(direct, rel=1e-7)


def test_small_classes_in_closed_form():
    p = 0.2
    q = 1 - p
    found = estimate_individual_risk(np.array([1, 2]), np.array([5.0, 10.0]))
    assert found[0] == pytest.approx(p / q * log(1 / p))
    assert found[1] == pytest.approx(p / q - (p / q) ** 2 * log(1 / p))


def test_all_people_are_in_the_table_where_weights_are_no_larger_than_1():
    assert estimate_individual_risk(np.array([1, 3, 4]), np.array([1.0, 3.0, 2.0])).tolist() == [
        1,
        1 / 3,
        1 / 4,
    ]


def test_rows_with_wildcards_are_those_that_fit_pair_by_pair():
    rng = np.random.default_rng(0)
    for columns in (1, 3, 6):
        cells = rng.integers(0, 3, (80, columns))
        hidden = rng.random((80, columns)) < 0.3
        amounts = [rng.integers(1, 5, 80).astype(float), rng.random(80)]
        fits = ((cells[:, None] == cells) | hidden[:, None] | hidden).all(axis=2)
        assert (fits.sum(axis=1) > 1).any()
        for found, amount in zip(sum_fitting(cells, hidden, amounts), amounts, strict=True):
            assert found == pytest.approx(fits @ amount)


def test_many_wide_columns_are_still_told_apart():
    # Their numbers together are far beyond 64 bits.
    cells = np.arange(4000)[:, None].repeat(9, axis=1)
    cells[1::2, :8] = cells[::2, :8]  # every second row differs from the one before in the last column only
    hidden = np.zeros(cells.shape, np.bool_)
    ones = np.ones(4000)
    assert (sum_fitting(cells, hidden, [ones])[0] == 1).all()
    hidden[::2, 8] = True
    assert (sum_fitting(cells, hidden, [ones])[0] == 2).all()


def test_suppressed_cells_match_anything():
    release = pl.DataFrame({"age": ["30", "30", "*", "*", "40"], "sex": ["f", "*", "f", "*", "m"]})
    as_written = shoal.risk(release, ["age", "sex"])
    found = shoal.risk(release, ["age", "sex"], wildcards=["*"])
    assert as_written.unique_rows == 5
    assert found.unique_rows == 0
    assert found.records["fitting_rows"].to_list() == [4, 4, 4, 5, 2]
    assert found.prosecutor.maximum == 1 / 2


def test_a_population_table_and_wildcards():
    release = pl.DataFrame({"age": ["30", "*"], "sex": ["f", "f"]})
    population = pl.DataFrame({"age": ["30"] * 3 + ["40"] * 2, "sex": ["f"] * 5})
    found = shoal.risk(release, ["age", "sex"], population=population, wildcards=["*"])
    assert found.records["journalist_risk"].to_list() == [1 / 3, 1 / 5]


def test_strata_by_hand(people):
    found = shoal.risk(people, ["age", "sex"], strata=["town"])
    assert [(each.values, each.rows, each.unique_rows) for each in found.strata] == [
        (("A",), 3, 1),
        (("B",), 2, 0),
        (("C",), 1, 0),
    ]
    first, second, third = found.strata
    # Classes are those of the whole table, of 2, 1 and 3 rows.
    assert (first.prosecutor, first.highest) == (pytest.approx((1 / 2 + 1 + 1 / 3) / 3), 1.0)
    assert (second.prosecutor, second.journalist) == (pytest.approx((1 / 2 + 1 / 3) / 2), None)
    assert third.expected == pytest.approx(1 / 3)
    assert found.expected == pytest.approx(sum(each.expected for each in found.strata)) == pytest.approx(3)


def test_strata_of_several_columns_with_weights(people):
    weighted = people.with_columns(w=pl.Series([2, 4, 10, 1, 1, 1]))
    found = shoal.risk(weighted, ["age", "sex"], weight_column="w", strata=["sex", "town"])
    risks = dict(zip(people["age"], found.records["journalist_risk"], strict=True))
    expected = {("f", "A"): [21], ("f", "B"): [21], ("m", "A"): [22, 30], ("m", "B"): [30], ("m", "C"): [30]}
    assert {each.values for each in found.strata} == set(expected)
    for each in found.strata:
        assert each.expected == pytest.approx(sum(risks[age] for age in expected[each.values]))
        assert each.highest == max(risks[age] for age in expected[each.values])


def test_missing_values_are_a_stratum(people):
    some = people.with_columns(town=pl.Series(["A", None, "A", None, "B", "B"]))
    found = shoal.risk(some, ["age"], strata=["town"])
    assert [each.values for each in found.strata] == [("A",), ("B",), (None,)]


def test_equal_weights_are_a_sampling_fraction_by_the_model_of_mu_argus():
    found = shoal.risk(TABLE.with_columns(weight=pl.lit(10.0)), QUASI, weight_column="weight")
    p = 0.1
    assert found.records["journalist_risk"][1] == pytest.approx(p / (1 - p) * log(1 / p))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2, 3, 4, 5, 6, 7, None], "missing in 1 rows"),
        ([1.0, 2, 3, 4, 5, 6, 7, 0], "above 0, but here it has 0"),
        ([1.0, 2, 3, 4, 5, 6, 7, -3], "above 0, but here it has -3"),
        ([1.0, 2, 3, 4, 5, 6, 7, float("inf")], "above 0, but here it has inf"),
        (list("abcdefgh"), "weight"),
    ],
)
def test_bad_weights(weights, message):
    table = TABLE.with_columns(weight=pl.Series(weights, strict=False))
    with pytest.raises(InputError, match=message):
        shoal.risk(table, QUASI, weight_column="weight")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"weight_column": "w"}, "'w'"),
        ({"strata": ["region"]}, "'region'"),
        ({"weight_column": "weight", "sampling_fraction": 0.1}, "survey weights tell the population"),
        ({"weight_column": "weight", "population": TABLE}, "survey weights tell the population"),
        ({"wildcards": ["*"], "sampling_fraction": 0.1}, "fitted to classes"),
        ({"person": "weight", "strata": ["B"]}, "leave out the person"),
        ({"wildcards": "*"}, "a list of texts"),
        ({"strata": "B"}, "lists of column names, not one text"),
    ],
)
def test_what_does_not_go_together(asked, message):
    with pytest.raises((RecipeError, InputError), match=message):
        shoal.risk(TABLE, QUASI, **asked)


def test_a_weight_is_no_quasi_identifier():
    with pytest.raises(RecipeError, match="give it no other role"):
        shoal.risk(TABLE, [*QUASI, "weight"], weight_column="weight")


def test_all_is_written_as_json():
    found = shoal.risk(WITH_GAPS, QUASI, weight_column="weight", strata=["B"], wildcards=[""]).to_dict()
    assert json.loads(json.dumps(found))["survey"]["people"] == 394
    assert [each["values"] for each in found["strata"]] == [["3"], ["4"]]
    assert {each["expected_reidentifications"] for each in found["strata"]} != {0}
    assert found["population"] == "weights"


def test_every_pattern_of_two_columns():
    rows = list(product("ab*", "xy*"))
    table = pl.DataFrame(rows, schema=["p", "q"], orient="row")
    found = shoal.risk(table, ["p", "q"], wildcards=["*"]).records["fitting_rows"].to_list()
    expected = [
        sum(all(a == b or "*" in (a, b) for a, b in zip(row, other, strict=True)) for other in rows)
        for row in rows
    ]
    assert found == expected
