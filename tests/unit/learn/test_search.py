"""PrivacySearch: every configuration is kept, scored honestly, and what cannot be says why."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import shoal
from shoal.errors import InputError, RecipeError
from shoal.learn import PrivacySearch, TreeAnonymizer
from shoal.learn.configurations import SCHEMA, select_pareto_front

IRIS, KIND = load_iris(return_X_y=True, as_frame=True)
SEPAL = ["sepal length (cm)", "sepal width (cm)"]
PETAL = "petal width (cm)"
TREE = DecisionTreeClassifier(random_state=0)


def search(estimator=TREE, **settings):
    wanted = {"k": (5, 20), "l": (1, 3), "quasi": SEPAL, "sensitive": [PETAL], "splits": 2}
    return PrivacySearch(estimator, **{**wanted, **settings})


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers, for all of its clones, what it was trained on and what it was asked."""

    seen: list = []  # noqa: RUF012

    def fit(self, data, y):
        self.classes_ = np.unique(y)
        self.seen.append(("fit", data))
        return self

    def predict(self, data):
        self.seen.append(("predict", data))
        return np.full(len(data), self.classes_[0])


def test_every_configuration_is_kept():
    found = search().fit(IRIS, KIND)
    results = found.results_
    assert results.columns == list(SCHEMA)
    assert results.select("k", "l").rows() == [(5, 1), (5, 3), (20, 1), (20, 3)]
    assert (results["status"] == "done").all()
    assert (results["smallest_class"] >= results["k"]).all()
    assert (results["deletion_ratio"] == 0).all()
    assert results["ncp"].is_between(0, 1).all()
    assert (results["splits"] == 2).all()
    assert found.score_name_ == "accuracy"
    assert 0.2 < found.baseline_score_ < 0.4 < found.raw_score_
    assert found.best_["score"] == results["score"].max()
    assert not found.interrupted_


def test_only_the_training_part_is_anonymized_and_scores_are_on_raw_rows():
    Spy.seen.clear()
    search(Spy(), k=20, l=None, splits=1).fit(IRIS, KIND)
    raw, held_out, released, again = (frame for _, frame in Spy.seen)
    assert [what for what, _ in Spy.seen] == ["fit", "predict"] * 2
    pd.testing.assert_frame_equal(held_out, IRIS.loc[held_out.index])
    pd.testing.assert_frame_equal(again, held_out)
    assert set(released.index).isdisjoint(again.index)
    assert released[SEPAL].value_counts().min() >= 20
    pd.testing.assert_frame_equal(raw, IRIS.loc[released.index])


def test_what_cannot_be_says_why():
    results = search(k=(5, 40), l=(3, 35)).fit(IRIS, KIND).results_
    assert results["status"].to_list() == ["done", "done", "infeasible"]
    last = results.row(2, named=True)
    assert "l = 35, but the sensitive column 'petal width (cm)' has" in last["reason"]
    assert (last["score"], last["holds"]) == (None, False)


def test_other_models_algorithms_and_choices_of_columns_are_searched():
    found = search(
        k=5,
        l=None,
        models=[["t(t=0.5)"], ["entropy-l(l=2)"]],
        algorithm=["tree(split=no,gain=2)", "mondrian"],
        quasi=[SEPAL, SEPAL[:1]],
        splits=1,
    ).fit(IRIS, KIND)
    assert found.results_.height == 8
    assert found.results_["status"].unique().to_list() == ["done"]
    assert found.results_["quasi"].n_unique() == 2
    everything = search(quasi=None, k=5, l=None, splits=1).fit(IRIS, KIND)
    assert PETAL not in everything.results_["quasi"][0]


@pytest.mark.parametrize("kind", ["polars", "numpy", "mixed"])
@pytest.mark.parametrize("algorithm", ["tree", "mondrian"])
def test_any_kind_of_data(kind, algorithm):
    settings = {"k": 5, "l": 2, "algorithm": algorithm, "splits": 1}
    if kind == "numpy":
        found = search(**settings | {"quasi": [0, 1], "sensitive": [3]}).fit(IRIS.to_numpy(), KIND)
    elif kind == "polars":
        found = search("decision-tree", **settings).fit(pl.from_pandas(IRIS), KIND)
    else:
        frame = IRIS.assign(word=np.where(IRIS[SEPAL[0]] > 6, "long", None))
        frame.loc[::9, SEPAL[1]] = np.nan
        names = {"quasi": [*SEPAL, "word"]}
        found = search("random-forest", **settings | names).fit(frame, KIND.map({0: "a", 1: "b", 2: "c"}))
    assert found.results_["status"].to_list() == ["done"]
    assert found.best_["score"] > 0.6


def test_a_regressor_has_a_score_by_its_own_name():
    data, y = load_diabetes(return_X_y=True, as_frame=True)
    settings = {"k": 10, "l": None, "quasi": ["age", "bmi"], "sensitive": None, "splits": 1}
    found = search(DecisionTreeRegressor(max_depth=3, random_state=0), **settings).fit(data, y)
    assert found.score_name_ == "r2"
    named = search("linear", **settings, scoring="neg_mean_absolute_error").fit(data, y)
    assert named.score_name_ == "neg_mean_absolute_error"
    assert named.best_["score"] < -10


def test_the_protocol_of_the_reference_keeps_the_goal_on_the_final_rows():
    found = search(k=(5, 10), l=2, protocol="minimize", splits=1, test_size=0.5).fit(IRIS, KIND)
    assert found.results_["status"].to_list() == ["done", "done"]
    assert (found.results_["smallest_class"] >= found.results_["k"]).all()


BREAST = ["mean texture", "mean perimeter", "mean smoothness"]


def search_breast_cancer(**settings):
    data, y = load_breast_cancer(return_X_y=True, as_frame=True)
    data = data.iloc[:, :6]
    wanted = {"k": (5, 13), "l": (2, 3), "quasi": BREAST, "sensitive": ["mean radius"], "splits": 1}
    found = PrivacySearch(TREE, protocol="minimize", **{**wanted, **settings}).fit(data, y)
    return found, data, y


@pytest.mark.slow
def test_minimising_keeps_sensitive_columns_and_with_them_l():
    found, data, y = search_breast_cancer()
    assert found.results_["status"].to_list() == ["done"] * 4
    assert (found.results_["smallest_class"] >= found.results_["k"]).all()
    # By position, in data without names.
    positions = [list(data.columns).index(name) for name in BREAST]
    settings = {"k": 5, "l": 3, "quasi": positions, "sensitive": [0], "protocol": "minimize", "splits": 1}
    array = PrivacySearch(TREE, **settings).fit(data.to_numpy(), y)
    assert array.results_.select("status", "ncp").rows() == [("done", found.results_["ncp"][1])]


@pytest.mark.parametrize("algorithm", ["tree", "mondrian"])
def test_the_loss_of_minimising_is_that_of_both_steps(algorithm):
    found, data, y = search_breast_cancer(k=13, l=2, algorithm=algorithm)
    (_, test), *_ = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0).split(data, y)
    rows, labels = data.iloc[test], y.iloc[test]
    if algorithm == "tree":
        alone = TreeAnonymizer(13, 2, quasi=BREAST, sensitive=["mean radius"]).fit(rows, labels).report_
    else:
        alone = shoal.anonymize(
            rows, quasi=BREAST, sensitive=["mean radius"], k=13, l=2, algorithm="mondrian", others="keep"
        ).report
    assert alone.ncp <= found.results_["ncp"][0] <= 1


def test_the_target_is_a_score_and_the_agreement_the_minimizers():
    settings = {"k": 5, "l": None, "protocol": "minimize", "splits": 1, "test_size": 0.5}
    strict, loose = (
        search(**settings, target_score=target).fit(IRIS, KIND).results_ for target in (0.99, 0.3)
    )
    assert strict.drop("target_met", "seconds").equals(loose.drop("target_met", "seconds"))
    assert (strict["target_met"][0], loose["target_met"][0]) == (False, True)
    settings |= {"quasi": ["petal length (cm)", PETAL], "sensitive": None}
    exact, rough = (
        search(**settings, agreement=agreement).fit(IRIS, KIND).results_ for agreement in (1.0, 0.3)
    )
    assert exact["ncp"][0] < rough["ncp"][0]


class Fragile(DecisionTreeClassifier):
    """Fails on what is not spread widely enough."""

    def fit(self, data, y):
        if data[SEPAL[0]].nunique() < 8:
            raise ValueError("too few values\nto learn from")
        return super().fit(data, y)


def test_an_error_of_the_estimator_is_kept_with_its_configuration():
    results = search(Fragile(random_state=0), k=(2, 40), l=None).fit(IRIS, KIND).results_
    assert results["status"].to_list() == ["done", "infeasible"]
    assert results["reason"][1] == "training the estimator failed: ValueError: too few values"


def test_an_estimator_that_fails_on_raw_rows_is_refused():
    with pytest.raises(InputError, match="training the estimator failed: ValueError: too few values"):
        search(Fragile(), k=5, l=None).fit(IRIS.assign(**{SEPAL[0]: 1.0}), KIND)


@pytest.mark.parametrize("protocol", ["holdout", "minimize"])
def test_a_seed_may_be_drawn_and_is_told(protocol):
    settings = {"k": 5, "l": None, "splits": 1, "protocol": protocol}
    found = search(**settings, random_state=None).fit(IRIS, KIND)
    assert found.results_["status"].to_list() == ["done"]
    again = search(**settings, random_state=found.random_state_).fit(IRIS, KIND)
    assert again.results_.drop("seconds").equals(found.results_.drop("seconds"))


def test_several_targets_are_refused():
    with pytest.raises(InputError, match="y has 2 columns"):
        search().fit(IRIS, np.stack([KIND, KIND], axis=1))


@pytest.mark.parametrize(("protocol", "share"), [("holdout", 1 / 3), ("minimize", 2 / 3)])
def test_rows_may_be_deleted_with_their_labels(protocol, share):
    settings = {"algorithm": "tree(failing=delete,split=no,gain=0)", "splits": 1, "test_size": share}
    (found,) = search(k=10, l=6, protocol=protocol, **settings).fit(IRIS, KIND).results_.to_dicts()
    assert found["status"] == "done"
    assert 0 < found["deletion_ratio"] <= found["ncp"]


def test_halving_spends_less_on_the_worse_half():
    found = search(k=(2, 5, 20, 50), l=None, mode="halving", splits=3).fit(IRIS, KIND)
    assert sorted(found.results_["splits"].to_list()) == [1, 1, 2, 3]
    assert found.best_["splits"] == 3


def test_the_target_marks_results_and_chooses_the_strictest():
    found = search(k=(5, 50), l=None, target_score=0.5).fit(IRIS, KIND)
    assert found.results_["target_met"].to_list() == [True, True]
    assert found.best_["k"] == 50
    assert search(k=5, l=None, target_score=1.01).fit(IRIS, KIND).best_ == {}


def test_filters_and_sorting():
    found = search().fit(IRIS, KIND)
    assert found.select(sort="ncp", descending=False)["ncp"].is_sorted()
    most = found.results_["score"].max()
    assert found.select(min_score=most, max_deletion=0.0).height >= 1
    assert found.select(min_score=1.1).is_empty()
    with pytest.raises(RecipeError, match="unknown column of the results 'skore'"):
        found.select(sort="skore")


def test_the_front_is_what_nothing_beats():
    def row(k, ncp, score):
        blank = dict.fromkeys(SCHEMA)
        return {**blank, "k": k, "l": 2, "ncp": ncp, "score": score, "status": "done"}

    rows = [row(5, 0.1, 0.9), row(5, 0.2, 0.9), row(10, 0.2, 0.8), row(5, 0.05, 0.7), row(10, 0.2, 0.7)]
    front = select_pareto_front(pl.DataFrame(rows, schema=SCHEMA))
    assert front.select("k", "ncp", "score").rows() == [(5, 0.1, 0.9), (10, 0.2, 0.8), (5, 0.05, 0.7)]


def test_the_number_of_jobs_does_not_matter():
    one, two = (search(jobs=jobs, splits=1).fit(IRIS, KIND).results_.drop("seconds") for jobs in (1, 2))
    assert one.equals(two)


def test_progress_grows_and_an_interrupt_keeps_what_is_done():
    told = []
    search().fit(IRIS, KIND, lambda doing, done: told.append(done))
    assert told == sorted(told)
    assert told[-1] == 1

    def interrupt(doing, done):
        if done > 0.5:
            raise KeyboardInterrupt

    found = search(splits=1).fit(IRIS, KIND, interrupt)
    assert found.interrupted_
    assert found.results_["status"].to_list().count("done") == 3
    assert found.results_["status"].to_list().count("not done") == 1


def test_it_draws_and_clones():
    found = search(splits=1).fit(IRIS, KIND)
    by_k, by_loss = found.plot().drawings
    assert by_k.count("<circle") == found.results_.filter(status="done").height
    assert all(f">{name}</text>" in by_loss for name in ("all", "Pareto front", "raw", "baseline"))
    assert clone(found).get_params()["k"] == (5, 20)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0, "l": None}, "k must be at least 1, not 0"),
        ({"k": 5, "l": 6}, "every l is above every k"),
        ({"sensitive": [SEPAL[0]]}, "both quasi and sensitive"),
        ({"quasi": ["nope"]}, "unknown column 'nope'"),
        ({"sensitive": "petal"}, "sensitive is a list of columns"),
        ({"estimator": "florest"}, "unknown estimator 'florest'"),
        ({"protocol": "leaky"}, "unknown protocol 'leaky'"),
        ({"mode": "random"}, "unknown mode 'random'"),
        ({"splits": 0}, "splits must be at least 1"),
        ({"test_size": 2}, "test_size is a share"),
        ({"models": [["q(q=1)"]]}, "unknown privacy model 'q'"),
        ({"algorithm": "tree(target"}, "cannot read"),
        ({"algorithm": "tree(target=x)"}, "leave out the target"),
        ({"scoring": "nice"}, "unknown score 'nice'"),
        ({"scoring": ["accuracy", "f1_macro"]}, "scoring is one score"),
        ({"estimator": lambda rows: rows}, "estimator is trained on every split"),
        ({"random_state": "seven"}, "random_state must be a whole number from 0 on"),
        ({"agreement": 0.9}, "it needs protocol='minimize'"),
        ({"protocol": "minimize", "agreement": 98}, "agreement must be above 0 and at most 1, not 98"),
    ],
)
def test_what_cannot_be_is_said_clearly(settings, message):
    with pytest.raises(RecipeError, match=message):
        search(**settings).fit(IRIS, KIND)
