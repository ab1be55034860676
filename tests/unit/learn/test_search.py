"""PrivacySearch: every configuration is kept, scored honestly, and what cannot be says why."""

import json
import pickle
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import shoal
from shoal.algorithms import read_algorithm
from shoal.errors import InputError, OutputError, RecipeError
from shoal.learn import PrivacySearch, TreeAnonymizer
from shoal.learn.configurations import CANDIDATES, SCHEMA, TRAINING, build_grid, select_pareto_front

IRIS, KIND = load_iris(return_X_y=True, as_frame=True)
SEPAL = ["sepal length (cm)", "sepal width (cm)"]
PETAL = "petal width (cm)"
TREE = DecisionTreeClassifier(random_state=0)


def search(estimator=TREE, **settings):
    wanted = {"k": (5, 20), "l": (1, 3), "quasi": SEPAL, "sensitive": [PETAL], "splits": 2, "refit": False}
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
    # Where minimising changes nothing, both are the same but for rounding.
    assert alone.ncp - 1e-12 <= found.results_["ncp"][0] <= 1


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
    assert results["status"].to_list() == ["done", "error"]
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


def test_results_are_written_as_tables_pictures_and_pages(tmp_path):
    found = search().fit(IRIS, KIND)
    for suffix in ("csv", "json", "svg", "html"):
        found.write(tmp_path / f"found.{suffix}", sort="ncp", descending=False)
    table = pl.read_csv(tmp_path / "found.csv")
    assert table["ncp"].to_list() == found.select(sort="ncp", descending=False)["ncp"].to_list()
    assert json.loads((tmp_path / "found.json").read_text("utf-8"))["results"][0]["ncp"] == table["ncp"][0]
    assert (tmp_path / "found.svg").read_text("utf-8").startswith("<svg")
    assert "<table>" in (tmp_path / "found.html").read_text("utf-8")
    found.write(tmp_path / "none.csv", deleted_only=True)
    assert pl.read_csv(tmp_path / "none.csv").is_empty()
    with pytest.raises(OutputError, match="results are written to files that end in"):
        found.write(tmp_path / "found.pdf")


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
        ({"sensitive": None, "l": [2]}, "l = 2 needs a sensitive column"),
        ({"k": []}, "k, l, models, algorithm or columns are empty"),
        ({"algorithm": "tree(target"}, "cannot read"),
        ({"algorithm": "tree(target=x)"}, "leave out the target"),
        ({"scoring": "nice"}, "unknown score 'nice'"),
        ({"scoring": ["accuracy", "nice"]}, "unknown score 'nice'"),
        ({"scoring": 7}, "scoring is a name"),
        ({"fitted": TREE}, "a fitted model is not trained"),
        ({"error_score": "worst"}, "error_score is 'raise' or a number"),
        ({"estimator": lambda rows: rows}, "estimator is trained on every split"),
        ({"random_state": "seven"}, "random_state must be a whole number from 0 on"),
        ({"agreement": 0.9}, "it needs protocol='minimize'"),
        ({"protocol": "minimize", "agreement": 98}, "agreement must be above 0 and at most 1, not 98"),
    ],
)
def test_what_cannot_be_is_said_clearly(settings, message):
    with pytest.raises(RecipeError, match=message):
        search(**settings).fit(IRIS, KIND)


# As searches of scikit-learn are.


def test_several_scores_of_which_one_decides():
    found = search(scoring=["accuracy", "f1_macro"], k=(5, 40), l=None).fit(IRIS, KIND)
    assert (found.score_name_, found.score_names_) == ("accuracy", ["accuracy", "f1_macro"])
    results = found.results_
    assert results["score"].equals(results["score_accuracy"], check_names=False)
    assert results["score_f1_macro"].null_count() == 0
    by_name = search(scoring={"good": "f1_macro", "right": "accuracy"}, refit="right", k=5, l=None)
    assert by_name.fit(IRIS, KIND).score_name_ == "right"
    with pytest.raises(RecipeError, match="unknown score to refit by 'god'"):
        search(scoring=["accuracy", "f1_macro"], refit="god").fit(IRIS, KIND)


def test_the_best_is_trained_on_all_rows_anonymized():
    Spy.seen.clear()
    found = search(Spy(), k=20, l=None, splits=1, refit=True).fit(IRIS, KIND)
    last = Spy.seen[-1]
    assert (last[0], len(last[1])) == ("fit", 150)
    assert last[1][SEPAL].value_counts().min() >= 20
    assert found.best_estimator_.predict(IRIS).shape == found.predict(IRIS).shape == (150,)
    real = search(k=(5, 20), l=None, refit=True).fit(IRIS, KIND)
    assert real.best_params_["k"] == real.best_["k"] == real.configurations_[real.best_index_].k
    assert real.best_score_ == real.cv_results_["mean_test_score"].max()
    assert real.cv_results_["rank_test_score"][real.best_index_] == 1
    assert real.predict_proba(IRIS).shape == (150, 3)
    assert real.score(IRIS, KIND) > 0.8
    assert real.classes_.tolist() == [0, 1, 2]
    assert not hasattr(search(refit=False).fit(IRIS, KIND), "predict")
    none = search(refit=True, target_score=1.01).fit(IRIS, KIND)
    with pytest.raises(RecipeError, match="there is no best estimator"):
        none.predict(IRIS)


def test_cv_is_that_of_scikit_learn():
    folds = list(StratifiedKFold(4, shuffle=True, random_state=1).split(IRIS, KIND))
    by_pairs = search(cv=folds, k=5, l=None).fit(IRIS, KIND).results_
    by_splitter = search(cv=StratifiedKFold(4, shuffle=True, random_state=1), k=5, l=None)
    by_splitter = by_splitter.fit(IRIS, KIND).results_
    assert by_pairs.drop("seconds").equals(by_splitter.drop("seconds"))
    assert search(cv=4, k=5, l=None).fit(IRIS, KIND).results_["splits"].to_list() == [4]
    with pytest.raises(InputError, match="the rows cannot be divided"):
        search(cv="often").fit(IRIS, KIND)


def test_an_error_may_have_a_score_or_be_raised():
    fragile = {"estimator": Fragile(random_state=0), "k": (2, 40), "l": None}
    results = search(**fragile, error_score=0.0).fit(IRIS, KIND).results_
    assert (results["score"][1], results["status"][1]) == (0.0, "error")
    with pytest.raises(InputError, match="too few values"):
        search(**fragile, error_score="raise").fit(IRIS, KIND)


def test_weights_count_in_training_and_in_scores():
    rng = np.random.default_rng(0)
    turned = np.where(rng.random(150) < 0.4, (KIND + 1) % 3, KIND)
    weight = np.where(turned == KIND, 1.0, 0.0)
    settings = {"k": 5, "l": None, "quasi": SEPAL, "splits": 2}
    plain = search(**settings).fit(IRIS, turned).results_["score"][0]
    weighed = search(**settings).fit(IRIS, turned, sample_weight=weight).results_["score"][0]
    assert weighed > plain + 0.2
    named = search("decision-tree", **settings).fit(IRIS, turned, sample_weight=weight)
    assert named.results_["score"][0] > plain + 0.2
    with pytest.raises(RecipeError, match="takes no sample_weight in its fit"):
        search(KNeighborsClassifier(), **settings).fit(IRIS, turned, sample_weight=weight)


def test_overlaps_of_columns_are_skipped_and_counted():
    found = search(quasi=[SEPAL, [SEPAL[0], PETAL]], sensitive=[[PETAL], [SEPAL[1]]], k=5, l=(2, 9))
    results = found.fit(IRIS, KIND).results_
    assert results.select("quasi", "sensitive").rows() == [
        (", ".join(SEPAL), PETAL),
        (f"{SEPAL[0]}, {PETAL}", SEPAL[1]),
    ]
    assert found.skipped_ == {"a column is both quasi and sensitive": 2, "l is above k": 4}
    with pytest.raises(RecipeError, match="in every combination a column is both quasi and sensitive"):
        search(quasi=[SEPAL, SEPAL[:1]], sensitive=[[SEPAL[0]]], k=5, l=None).fit(IRIS, KIND)


def test_a_trained_search_continues_from_its_file(tmp_path):
    path = tmp_path / "search.jsonl"
    first = search(resume=path).fit(IRIS, KIND)
    Spy.seen.clear()
    again = search(resume=path).fit(IRIS, KIND)
    assert again.results_.equals(first.results_)  # seconds too: nothing was done again
    with pytest.raises(InputError, match="with another model"):
        search(DecisionTreeClassifier(max_depth=1), resume=path).fit(IRIS, KIND)


def test_lines_and_bars_are_for_those_who_look(capfd):
    search(splits=1).fit(IRIS, KIND)
    assert capfd.readouterr().err == ""  # no terminal, no bar
    search(splits=1, verbose=2, k=5, l=None).fit(IRIS, KIND)
    assert "k = 5, l = 1: done, accuracy 0." in capfd.readouterr().err


def test_a_bar_in_a_terminal(monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    search(splits=1, k=5, l=None).fit(IRIS, KIND)
    assert "trying configurations" in capfd.readouterr().err
    search(splits=1, k=5, l=None, verbose=0).fit(IRIS, KIND)
    assert capfd.readouterr().err == ""


def test_it_is_an_estimator_to_others():
    whole = search(k=5, l=None, refit=True)
    assert is_classifier(whole)
    assert cross_val_score(whole, IRIS, KIND, cv=2).min() > 0.7
    copied = pickle.loads(pickle.dumps(whole.fit(IRIS, KIND)))
    assert np.array_equal(copied.predict(IRIS), whole.predict(IRIS))
    assert copied.results_.equals(whole.results_)


def test_an_algorithm_is_chosen_for_every_goal_and_releases_by_it():
    several = ("mondrian", "tree(gain=4)", "tree(distance=effect)")
    found = search(k=(5, 20), l=None, algorithm=several, splits=1).fit(IRIS, KIND)
    results, chosen = found.results_, found.chosen_
    assert chosen["k"].to_list() == [5, 20]
    for row in chosen.iter_rows(named=True):
        of_goal = results.filter(pl.col("k") == row["k"])
        assert row["score"] == of_goal["score"].max()
        best = of_goal.filter(pl.col("score") == row["score"])
        assert row["ncp"] == best["ncp"].min()
    released = found.release(IRIS, KIND, k=20)
    assert released.kept.all()
    assert released.data[SEPAL].value_counts().min() >= 20
    assert found.release(IRIS, KIND, k=5).smallest >= 5
    with pytest.raises(RecipeError, match="no configuration with this goal"):
        found.release(IRIS, KIND, k=6)


def test_choose_stands_for_the_candidates():
    grid = build_grid(5, None, ((),), ("choose", "mondrian"), [None], [()], ["a", "b"])
    tried = [(each.algorithm, each.training) for each in grid.configurations]
    assert tried == [*product(CANDIDATES, TRAINING), ("mondrian", "representatives")]
    for each in CANDIDATES:
        assert read_algorithm(each)
