"""The level vectors of Adult that lose least, as ARX finds them: levels, loss, suppressed rows, classes."""

from dataclasses import replace

import numpy as np
import pytest

from shoal.algorithms.fulldomain import FullDomain
from shoal.algorithms.lattice import Lattice
from shoal.engines.memory import make_release, prepare_table, run_in_memory
from shoal.errors import GoalNotMet
from shoal.privacy import KAnonymity, parse_model
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

COLUMNS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
EIGHT = tuple(name for name in COLUMNS if name != "occupation")


@pytest.fixture(scope="module")
def adult(shared_data):
    return read_table(shared_data / "adult" / "adult_9col.csv")


@pytest.fixture(scope="module")
def recipe(shared_data):
    trees = (str(shared_data / "adult" / "hierarchies"),)
    search = {"hierarchies": trees, "algorithm": Lattice(), "loss": "generalised"}
    return Recipe(COLUMNS, (KAnonymity(5),), others="keep", **search)


# Levels in the order of COLUMNS.
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("loss", "limit", "levels", "value", "digits", "suppressed", "classes"),
    [
        ("generalised", 0, "041132210", 0.5732, 4, 0, 24),
        ("generalised", 0.02, "030221120", 0.3137, 4, 506, 222),
        ("generalised", 0.05, "030021120", 0.2419, 4, 1346, 397),
        ("generalised", 1, "030021110", 0.2204, 4, 2553, 602),
        ("class-size", 0, "121132211", 628.4, 1, 0, 48),
        ("class-size", 0.02, "101232201", 47.35, 2, 419, 636),
        ("class-size", 0.05, "101132201", 28.81, 2, 906, 1046),
        ("class-size", 1, "001112201", 16.32, 2, 7185, 1847),
        ("entropy", 0, "121132211", 407289.5, 1, 0, 48),
        ("entropy", 0.02, "001132211", 285604.7, 1, 309, 599),
        ("entropy", 0.05, "001122211", 264341.9, 1, 1285, 998),
        ("entropy", 1, "001132200", 249855.1, 1, 3659, 1623),
    ],
)
def test_nine_columns(adult, recipe, loss, limit, levels, value, digits, suppressed, classes):
    report = run_in_memory(replace(recipe, loss=loss, suppress=limit), adult).report
    assert "".join(str(column["level"]) for column in report.levels.values()) == levels
    assert round(report.loss["value"], digits) == value
    assert (report.suppressed_rows, report.classes) == (suppressed, classes)
    assert report.optimal
    assert report.lower_bound == pytest.approx(report.loss["value"])
    assert sum(report.states.values()) == report.search_space == 12_960


@pytest.mark.parametrize(("limit", "value"), [(0, 0.5422), (0.02, 0.2465), (0.05, 0.1701), (1, 0.1621)])
def test_eight_columns(adult, recipe, limit, value):
    report = run_in_memory(replace(recipe, quasi=EIGHT, suppress=limit), adult).report
    assert round(report.loss["value"], 4) == value
    assert report.optimal
    assert report.search_space == 4_320


LIMITS = (0, 0.02, 0.05, 1)
WITH_MODELS = {
    "distinct-l(l=3)": (0.5422, 0.2469, 0.1717, 0.1667),
    "recursive-cl(c=4,l=3)": (0.5422, 0.2555, 0.2094, 0.1809),
    "entropy-l(l=3)": (0.6132, 0.2752, 0.2153, 0.1903),
    # To ARX three values that are equally frequent fall short of three, by rounding.
    "entropy-l(l=3.0000001)": (0.6132, 0.2752, 0.2154, 0.1905),
    "t(t=0.2)": (0.9184, 0.8150, 0.8150, None),
    "t(t=0.2,distance=hierarchical)": (0.7592, 0.7351, None, None),
}
AT_TWO_PERCENT = {
    "distinct-l(l=3)": (522, 219),
    "entropy-l(l=3)": (518, 152),
    "recursive-cl(c=4,l=3)": (573, 193),
    "t(t=0.2)": (235, 6),
    "t(t=0.2,distance=hierarchical)": (151, 9),
}


def with_model(recipe, model, limit):
    models = (KAnonymity(5), parse_model(model))
    return replace(recipe, quasi=EIGHT, sensitive=("occupation",), models=models, suppress=limit)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("model", "limit", "value"),
    [
        (model, limit, value)
        for model, values in WITH_MODELS.items()
        for limit, value in zip(LIMITS, values, strict=True)
        if value is not None
    ],
)
def test_eight_columns_with_a_model_on_occupation(adult, recipe, model, limit, value):
    report = run_in_memory(with_model(recipe, model, limit), adult).report
    assert round(report.loss["value"], 4) == value
    assert report.optimal
    if limit == 0.02 and model in AT_TWO_PERCENT:
        assert (report.suppressed_rows, report.classes) == AT_TWO_PERCENT[model]


# ARX compares classes with a table of which the suppressed rows are a part. To somebody who has the release
# only, what it finds here is not what was asked for: the verifier does not pass it.
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("model", "limit", "value", "here"),
    [
        ("t(t=0.2)", 1, 0.6042, 0.6283),
        ("t(t=0.2,distance=hierarchical)", 0.05, 0.6128, 0.6968),
        ("t(t=0.2,distance=hierarchical)", 1, 0.5050, 0.5870),
    ],
)
def test_t_closeness_where_many_rows_are_suppressed(adult, recipe, monkeypatch, model, limit, value, here):
    asked = with_model(recipe, model, limit)
    report = run_in_memory(asked, adult).report
    assert round(report.loss["value"], 4) == here
    assert report.models[1].holds
    monkeypatch.setattr(FullDomain, "_release_differs", lambda self, figures: False)
    subject = prepare_table(asked, adult)
    proposal = Lattice().search(subject.problem)
    assert proposal.lower_bound == pytest.approx(value, abs=5e-5)
    with pytest.raises(GoalNotMet, match="t asked"):
        make_release(asked, adult, subject, proposal)


def test_when_time_is_over_there_is_a_release_and_an_honest_gap(adult, recipe):
    hurried = replace(recipe, suppress=0.05, loss="class-size", algorithm=Lattice(seconds=1e-9))
    report = run_in_memory(hurried, adult).report
    assert report.states["left open"] > 12_000
    assert report.optimal is False
    assert 0 < report.lower_bound <= 28.81 < report.loss["value"]
    assert np.isclose(report.gap, 1 - report.lower_bound / report.loss["value"])
