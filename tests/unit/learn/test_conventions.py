"""The conventions of scikit-learn, by its own checks; where one is not kept, the reason stands here."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from shoal.learn import Minimizer, PrivacySearch, TreeAnonymizer
from shoal.learn.estimators import named_estimator


def tell_sign(rows):
    """A model of any number of columns."""
    return (np.asarray(rows, float)[:, 0] > 0).astype(int)


ONE = "check_fit2d_1sample"
CASES = {
    "TreeAnonymizer": (TreeAnonymizer(k=2), {ONE: "k rows have to look alike"}),
    "Minimizer": (Minimizer(tell_sign), {ONE: "some rows search and others stop, so that three are needed"}),
    "PrivacySearch of classes": (
        PrivacySearch(DecisionTreeClassifier(random_state=0), k=2, splits=1),
        {ONE: "rows are divided for training and testing"},
    ),
    "PrivacySearch of numbers": (
        PrivacySearch(DecisionTreeRegressor(random_state=0), k=2, splits=1),
        {ONE: "rows are divided for training and testing"},
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES)
def test_scikit_learn_finds_nothing_else_to_complain_about(case):
    estimator, known = CASES[case]
    found = check_estimator(estimator, expected_failed_checks=known, on_skip=None, on_fail=None)
    wrong = {each["check_name"]: str(each["exception"]) for each in found if each["status"] == "failed"}
    assert wrong == {}
    assert len(found) > 40
    # An exception that is no longer needed is to be taken out.
    assert [each["check_name"] for each in found if each["status"] == "xfail"] == list(known)


def make_people(rows=240):
    """A table with numbers, text, a flag and missing values, and what is to be predicted."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 80, rows).astype(float)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(rows) < 0.1, np.nan, age),
            "town": rng.choice(["Oslo", "Rome", "Bern", None], rows),
            "pay": np.round(age * 10 + rng.normal(0, 60, rows)),
            "illness": rng.choice(["flu", "cold", "gout"], rows),
        }
    )
    return frame, np.where(age > 50, "old", "young")


PEOPLE, GROUP = make_people()
ROLES = {"quasi": ["age", "town"], "sensitive": ["illness"]}


def ask_pay(rows):
    pay = rows["pay"].to_numpy()
    return np.where(pay > 500, "old", "young")


def make_all():
    yield TreeAnonymizer(5, 2, **ROLES)
    yield Minimizer(ask_pay, 0.9, confidence=None)
    yield PrivacySearch("decision-tree", k=5, l=2, splits=1, **ROLES)
    yield PrivacySearch(fitted=ask_pay, protocol="minimize", k=5, l=2, splits=1, **ROLES)


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_with_text_and_missing_values_pickles_and_clones(at, kind):
    estimator = list(make_all())[at]
    data = PEOPLE if kind == "pandas" else pl.from_pandas(PEOPLE)
    fitted = clone(estimator).fit(data, GROUP)
    again = pickle.loads(pickle.dumps(fitted))
    method = "transform" if hasattr(fitted, "transform") else "predict"
    first, second = getattr(fitted, method)(data), getattr(again, method)(data)
    if method == "predict":
        assert np.array_equal(first, second)
        assert set(first) <= {"old", "young"}
    else:
        assert type(first) is type(data)
        assert first.equals(second)
        assert list(first.columns) == list(data.columns)
    assert list(fitted.feature_names_in_) == list(PEOPLE.columns)


@pytest.mark.parametrize("at", [0, 1])
def test_set_output_and_columns_of_a_transformer(at):
    estimator = list(make_all())[at]
    for wanted, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        assert type(clone(estimator).set_output(transform=wanted).fit_transform(PEOPLE, GROUP)) is kind
    part = TreeAnonymizer(5) if at == 0 else Minimizer(tell_sign, 0.9, confidence=None)
    mixed = ColumnTransformer([("some", part, ["pay", "age"]), ("rest", "passthrough", ["town"])])
    mixed.set_output(transform="pandas")
    out = mixed.fit_transform(PEOPLE, GROUP)
    assert list(out.columns) == ["some__pay", "some__age", "rest__town"]
    assert out.index.equals(PEOPLE.index)


def test_a_grid_search_over_a_pipeline_of_all_steps():
    steps = Pipeline(
        [("hide", TreeAnonymizer(**ROLES)), ("learn", named_estimator("decision-tree", False, 0))]
    )
    found = GridSearchCV(steps, {"hide__k": [3, 10], "hide__gain": [2.0, 16.0]}, cv=2).fit(PEOPLE, GROUP)
    assert set(found.best_params_) == {"hide__k", "hide__gain"}
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


@pytest.mark.slow
def test_a_grid_search_over_the_targets_of_a_minimizer_and_over_a_search():
    coarse = Pipeline(
        [
            ("less", Minimizer(ask_pay, confidence=None)),
            ("learn", named_estimator("decision-tree", False, 0)),
        ]
    )
    found = GridSearchCV(coarse, {"less__target_score": [0.8, 0.95]}, cv=2).fit(PEOPLE, GROUP)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    search = PrivacySearch("decision-tree", k=(3, 8), splits=1, **ROLES)
    outer = GridSearchCV(search, {"l": [1, 2]}, cv=2).fit(PEOPLE, GROUP)
    assert outer.best_estimator_.best_params_["l"] in (1, 2)
