"""Average risk, uniqueness and population uniqueness where rows are released with all cells suppressed."""

import polars as pl
import pytest

import shoal

# Two classes of five rows, four single rows, and ninety rows of which nothing is told.
RELEASE = pl.DataFrame(
    {
        "age": ["30"] * 5 + ["40"] * 5 + ["51", "52", "53", "54"] + ["*"] * 90,
        "sex": ["f"] * 5 + ["m"] * 5 + ["f", "m", "f", "m"] + ["*"] * 90,
    }
)


@pytest.mark.parametrize(
    ("model", "reached"),
    [
        ("average-risk(risk={})", 6 / 14),
        ("uniqueness(share={})", 4 / 14),
    ],
)
def test_rows_without_any_value_lower_no_average(model, reached):
    for limit, holds in ((reached + 0.001, True), (reached - 0.001, False)):
        found = shoal.verify(RELEASE, quasi=["age", "sex"], models=[model.format(limit)])
        assert found.models[0].achieved == pytest.approx(reached)
        assert found.holds == holds
    measured = shoal.measure(RELEASE, quasi=["age", "sex"])
    assert (measured.average_risk, measured.uniqueness) == (pytest.approx(6 / 14), pytest.approx(4 / 14))


def test_population_uniqueness_is_estimated_without_them():
    told = RELEASE.filter(pl.col("age") != "*")
    goal = ["population-uniqueness(share=0.5,fraction=0.1,estimator=zayatz)"]
    found, expected = (
        shoal.verify(each, quasi=["age", "sex"], models=goal).models[0] for each in (RELEASE, told)
    )
    assert found.achieved == expected.achieved > 0


def test_a_table_of_nothing_else_has_one_class():
    stars = RELEASE.tail(90)
    found = shoal.verify(stars, quasi=["age", "sex"], models=["average-risk(risk=0.1)"])
    assert found.models[0].achieved == pytest.approx(1 / 90)
