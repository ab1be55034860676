"""The search with a fitted model: no training, whole classes scored, the goal counted again at the end."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import shoal
from shoal.errors import InputError, RecipeError
from shoal.learn import PrivacySearch
from shoal.learn.divisions import Division, divide_classes

DATA, ILL = load_breast_cancer(return_X_y=True, as_frame=True)
TRAIN, TEST, ILL_TRAIN, ILL_TEST = train_test_split(DATA.iloc[:, :5], ILL, test_size=0.5, random_state=14)
MODEL = DecisionTreeClassifier(random_state=10).fit(TRAIN, ILL_TRAIN)
QUASI = ["mean texture", "mean perimeter", "mean smoothness"]
ROLES = {"quasi": QUASI, "sensitive": ["mean radius"]}


def search(**settings):
    wanted = {"fitted": MODEL, "protocol": "minimize", "k": 5, "l": 3, "splits": 1, "refit": False}
    return PrivacySearch(**{**wanted, **ROLES, **settings})


class Watched:
    """Predicts as the model does, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def predict(self, rows):
        self.asked.append(rows)
        return MODEL.predict(rows)


def test_the_goal_is_counted_on_the_final_rows_and_on_the_scored_part():
    model = Watched()
    found = search(fitted=model, k=(5, 20), l=(1, 3, 5)).fit(TEST, ILL_TEST)
    results = found.results_
    assert results["status"].to_list() == ["done"] * 6
    for name in ("smallest_class", "scored_smallest_class"):
        assert (results[name] >= results["k"]).all()
    for name in ("distinct", "scored_distinct"):
        assert (results[name] >= results["l"]).all()
    assert results["scored_holds"].all()
    assert (results["score_all"] == results["score"]).all()  # nothing was deleted
    # By somebody else: the last rows that the model was asked about are a scored part.
    asked = [rows for rows in model.asked if 0 < len(rows) < len(TEST)]
    counted = shoal.verify(asked[-1], **ROLES, k=20, l=5)
    assert counted.holds
    assert asked[-1]["mean radius"].isin(TEST["mean radius"]).all()


def test_cells_are_guided_by_predictions_and_never_by_the_labels():
    settings = {"k": 10, "scoring": lambda estimator, rows, y: 0.0}
    one = search(**settings).fit(TEST, ILL_TEST).results_
    other = search(**settings).fit(TEST, ILL_TEST.sample(frac=1, random_state=1).to_numpy()).results_
    assert one.drop("seconds").equals(other.drop("seconds"))


def test_goals_with_the_same_cells_are_minimised_once():
    model = Watched()
    search(fitted=model, k=10, l=1).fit(TEST, ILL_TEST)
    alone = len(model.asked)
    model.asked.clear()
    found = search(fitted=model, k=10, l=(1, 2, 3)).fit(TEST, ILL_TEST)
    assert found.results_["ncp"].n_unique() == 1
    assert len(model.asked) == alone


def test_every_class_is_scored_once_by_cv():
    found = search(cv=3, k=20).fit(TEST, ILL_TEST)
    assert found.results_["scored_rows"].to_list() == [len(TEST)]
    assert found.results_["splits"].to_list() == [3]


def test_classes_stay_whole_and_are_on_both_sides_for_each_prediction():
    rng = np.random.default_rng(0)
    class_of = rng.integers(12, size=300)
    predicted = np.where(class_of < 3, "a", "b")
    for number in range(4):
        parts = divide_classes(Division(4, 1 / 3, 0), number, class_of, predicted, False)
        assert set(class_of[parts.fitting]).isdisjoint(class_of[parts.scored])
        assert parts.fitting.size + parts.scored.size == 300
        assert set(predicted[parts.fitting]) == set(predicted[parts.scored]) == {"a", "b"}
    again = [
        divide_classes(Division(4, 0, 0, disjoint=True), n, class_of, predicted, False) for n in range(4)
    ]
    assert np.array_equal(np.sort(np.concatenate([parts.scored for parts in again])), np.arange(300))
    numbers = divide_classes(Division(1, 1 / 3, 0), 0, class_of, class_of * 1.5, True)
    assert set(class_of[numbers.fitting]).isdisjoint(class_of[numbers.scored])


def test_too_few_classes_are_scored_as_a_whole_and_that_is_said():
    (row,) = search(k=120, l=1).fit(TEST, ILL_TEST).results_.to_dicts()
    assert row["scored_rows"] == len(TEST)
    assert row["scored_smallest_class"] >= 120
    assert "some of the scored rows were minimised on" in row["note"]


def test_the_best_estimator_is_the_model_behind_a_minimizer():
    found = search(refit=True, agreement=0.9).fit(TEST, ILL_TEST)
    assert np.mean(found.predict(TEST) == MODEL.predict(TEST)) > 0.85
    assert found.score(TEST, ILL_TEST) > 0.8
    assert found.classes_.tolist() == [0, 1]
    assert found.generalizations_[0]["mean radius"] == {"how": "untouched"}
    coarse = found.best_estimator_[0].transform(TEST)
    assert coarse.drop_duplicates().shape[0] <= TEST.shape[0]


def test_a_model_that_predicts_numbers():
    data, y = load_diabetes(return_X_y=True, as_frame=True)
    data = data[["age", "bmi", "bp", "s4", "s5"]]
    model = LinearRegression().fit(data[:200], y[:200])
    roles = {"quasi": ["age", "bmi"], "sensitive": ["s4"]}
    found = search(fitted=model, k=5, l=2, splits=2, **roles).fit(data[200:], y[200:])
    assert found.score_name_ == "r2"
    assert found.results_["score_all"].to_list() == [None]
    assert found.results_["scored_holds"].to_list() == [True]


def test_clones_and_parameters_keep_the_fitted_model():
    copied = clone(search())
    assert copied.fitted is MODEL
    assert copied.fit(TEST, ILL_TEST).results_["status"].to_list() == ["done"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"protocol": "holdout"}, "it needs protocol='minimize'"),
        ({"fitted": "model"}, "fitted must be a fitted estimator"),
        ({"cv": 1}, "cv is a number of parts from 2 on"),
        ({"cv": [([0], [1])]}, "with a fitted model cv is a number of parts"),
    ],
)
def test_what_a_fitted_model_cannot_have(settings, message):
    with pytest.raises(RecipeError, match=message):
        search(**settings).fit(TEST, ILL_TEST)


def test_a_search_continues_from_its_file(tmp_path):
    path = tmp_path / "search.jsonl"

    def interrupt(doing, done):
        if done > 0.3:
            raise KeyboardInterrupt

    first = search(k=(5, 10, 20), resume=path).fit(TEST, ILL_TEST, interrupt)
    assert first.interrupted_
    assert first.results_["status"].to_list() == ["done", "not done", "not done"]
    assert path.stat().st_mode & 0o077 == 0
    with path.open("a") as file:
        file.write('{"configuration": ')  # as an interrupt may leave it
    model = Watched()
    second = search(k=(5, 10, 20), resume=path).fit(TEST, ILL_TEST)
    assert second.results_["status"].to_list() == ["done"] * 3
    assert second.results_[0].equals(first.results_[0])
    assert second.generalizations_[0] == json.loads(json.dumps(first.generalizations_[0]))
    # All is done, so that the model is asked only about the raw rows; further goals can be added.
    search(fitted=model, k=(5, 10, 20), resume=path).fit(TEST, ILL_TEST)
    assert all(len(rows) == len(TEST) for rows in model.asked)
    more = search(k=(5, 40), resume=path).fit(TEST, ILL_TEST)
    assert more.results_[0].equals(first.results_[0])


def test_a_file_of_another_search_is_refused(tmp_path):
    path = tmp_path / "search.jsonl"
    search(resume=path).fit(TEST, ILL_TEST)
    with pytest.raises(InputError, match="other rows, or with another model or other settings"):
        search(resume=path).fit(TEST.iloc[1:], ILL_TEST.iloc[1:])
    with pytest.raises(InputError, match="other rows, or with another model or other settings"):
        search(resume=path, agreement=0.9).fit(TEST, ILL_TEST)
    path.write_text("{}\n")
    with pytest.raises(InputError, match="not the file of a search"):
        search(resume=path).fit(TEST, ILL_TEST)


def make_visits(people=80):
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(people), 4)
    age = np.repeat(rng.integers(20, 80, people), 4)
    frame = pd.DataFrame({"who": person, "age": age, "dose": rng.integers(1, 30, age.size)})
    frame["illness"] = rng.choice(list("abcdef"), age.size)
    return frame, pd.Series((age > 50).astype(int), name="old")


@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy"])
@pytest.mark.parametrize("protocol", ["holdout", "minimize"])
def test_people_are_counted_and_stay_on_one_side(kind, protocol):
    visits, old = make_visits()
    roles = {"quasi": ["age", "dose"], "sensitive": ["illness"], "person": "who"}
    data = visits.assign(illness=visits["illness"].map(ord))
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    if kind == "polars":
        data = pl.from_pandas(data)
    if kind == "numpy":
        data, roles = data.to_numpy(), {"quasi": [1, 2], "sensitive": [3], "person": 0}
    found = PrivacySearch(model, k=6, l=2, protocol=protocol, splits=1, **roles).fit(data, old)
    (row,) = found.results_.to_dicts()
    assert row["status"] == "done"
    # 27 people have 108 rows; classes of 6 people have more rows than that.
    assert row["smallest_class"] >= 6
    assert row["deletion_ratio"] == 0
    assert "who" not in row["quasi"]
    assert found.best_estimator_.n_features_in_ == 3  # no model sees whose row it is
    assert found.predict(data).shape == (320,)


def test_rows_of_one_person_are_not_divided():
    visits, old = make_visits(30)
    seen = []

    class Spy(DecisionTreeClassifier):
        def fit(self, data, y):
            seen.append(data.index)
            return super().fit(data, y)

    settings = {"quasi": ["age"], "sensitive": [], "person": "who", "k": 2, "l": None, "refit": False}
    PrivacySearch(Spy(), splits=2, **settings).fit(visits.drop(columns="illness"), old)
    PrivacySearch(Spy(), cv=3, **settings).fit(visits.drop(columns="illness"), old)
    for trained in seen:
        assert visits["who"][trained].value_counts().eq(4).all()


def test_deletion_is_of_people_and_deleted_rows_are_wrong():
    visits, _ = make_visits(60)
    # Large doses have one illness only: they are deleted, and nobody has only large doses.
    large = visits.index[:120:4]
    visits.loc[large, "dose"] += 1000
    visits.loc[large, "illness"] = "a"
    settings = {"quasi": ["dose"], "sensitive": ["illness"], "k": 5, "l": 2, "refit": False, "splits": 1}
    settings |= {"algorithm": "tree(failing=delete,split=no,gain=0)", "protocol": "minimize"}
    target = (visits["dose"] > 500).astype(int)
    settings["fitted"] = lambda rows: (np.asarray(rows)[:, 1] > 500).astype(int)
    (row,) = PrivacySearch(**settings).fit(visits.drop(columns="who"), target).results_.to_dicts()
    assert (row["deletion_ratio"], row["score"], row["score_all"]) == (0.125, 1, 0.875)
    (row,) = PrivacySearch(person="who", **settings).fit(visits, target).results_.to_dicts()
    assert (row["deletion_ratio"], row["score"], row["score_all"]) == (0, 1, 0.875)


@pytest.mark.parametrize("given", [float("nan"), None, {"a": 1.0}], ids=["nan", "none", "dict"])
def test_a_score_that_is_no_number_is_never_the_best(given):
    count = iter(range(100))
    # The first two are those of the rows as they are and of the commonest class.
    found = search(k=[5, 20], splits=1, scoring=lambda *_: given if next(count) == 2 else 0.5)
    found.fit(TEST, ILL_TEST)
    assert found.results_["status"].to_list() == ["error", "done"]
    assert "the score <lambda> is" in found.results_["reason"][0]
    assert found.best_["k"] == 20


def test_a_model_that_fails_at_the_end_leaves_the_results():
    answers = iter([True] * 500)

    def ask(rows):
        if not next(answers, False):
            raise ConnectionError("down")
        return MODEL.predict(rows)

    def stop(doing, done):
        if doing == "training on all rows":
            list(answers)

    made = search(fitted=ask, k=20, refit=True)
    with pytest.warns(RuntimeWarning, match="no best estimator: minimising for the estimator failed"):
        made.fit(TEST, ILL_TEST, stop)
    assert made.results_["status"].to_list() == ["done"]
    with pytest.raises(RecipeError, match="one failed on all rows"):
        made.predict(TEST)


def test_a_model_that_fails_on_the_rows_as_they_are_is_an_error_of_its_own():
    def fail(rows):
        raise ZeroDivisionError("no")

    with pytest.raises(InputError, match="asking the estimator failed: ZeroDivisionError: no"):
        PrivacySearch(fitted=fail, protocol="minimize").fit(TEST, ILL_TEST)
    with pytest.raises(RecipeError, match="not the class DecisionTreeClassifier"):
        PrivacySearch(fitted=DecisionTreeClassifier, protocol="minimize").fit(TEST, ILL_TEST)
