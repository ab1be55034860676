"""Minimizer: as coarse as the estimator bears, and what it publishes is what it does."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.tree import DecisionTreeClassifier

from shoal.codespace.encoding import Column, encode_column
from shoal.errors import InputError, RecipeError
from shoal.learn import Minimizer
from shoal.learn.estimators import named_estimator
from shoal.learn.generalization import GeneralizedColumn
from shoal.learn.sklearn_io import RowStack
from shoal.table import read_table
from shoal.table.hierarchies import Hierarchy

IRIS, KIND = load_iris(return_X_y=True, as_frame=True)
TREE = DecisionTreeClassifier(random_state=0).fit(IRIS, KIND)


class Rule(BaseEstimator):
    """Predicts from one column alone."""

    def fit(self, data, y=None):
        self.fitted_ = True
        return self

    def predict(self, data):
        return np.where(np.asarray(data["x"], float) > 5, "high", "low")

    def score(self, data, y):
        return float(np.mean(self.predict(data) == y))


class OnlyPredict:
    """No estimator of scikit-learn: nothing but predictions, as a service gives them."""

    def predict(self, data):
        return ["high" if value > 5 else "low" for value in data["x"]]


class OnlyProbabilities:
    """No predictions, only probabilities, with or without the names of classes."""

    def predict_proba(self, data):
        high = np.clip(np.asarray(data["x"], float) / 11 + 0.01, 0, 1)
        return np.stack([1 - high, high], axis=1)


class Disagreeing(OnlyPredict, OnlyProbabilities):
    """Predicts something else than its likeliest class, as with a threshold of its own."""

    classes_ = np.array(["high", "low"])


class Named(OnlyProbabilities):
    classes_ = np.array(["low", "high"], object)


def call(data):
    return OnlyPredict().predict(data)


def table(rows=120):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "x": rng.integers(0, 11, rows),
            "noise": rng.normal(size=rows),
            "word": rng.choice(["a", "b", "c"], rows),
        }
    )


def by_hand(published, values):
    """The published generalisation of a column, applied with nothing but Python."""
    out = []
    for value in values:
        missing = value is None or value != value
        if published["how"] == "untouched" or (published["how"] == "ranges" and missing):
            out.append(value)
        elif published["how"] == "suppressed":
            out.append(published["values"][0])
        elif published["how"] == "ranges":
            out.append(published["values"][sum(value > end for end in published["ends"])])
        else:
            cells = [
                at for at, group in enumerate(published["groups"]) if (None if missing else value) in group
            ]
            out.append(published["values"][cells[0] if cells else published["other"]])
    return out


def test_what_is_not_used_is_not_needed():
    rule = Rule().fit(None)
    minimizer = Minimizer(rule, 1.0, confidence=None).fit(table())
    how = {name: each["how"] for name, each in minimizer.generalizations_.items()}
    assert how == {"x": "ranges", "noise": "suppressed", "word": "suppressed"}
    assert minimizer.generalizations_["x"]["ends"] == [5.0]
    assert minimizer.score_ == minimizer.agreement(table(300)) == 1.0
    assert "x      one of up to 5; above 5" in minimizer.describe()
    assert "noise  not needed" in minimizer.describe()
    (bars,) = minimizer.plot().drawings
    assert bars.count("<title>") == 1 + 3  # of the picture, and of each column
    assert "<title>noise: 0.0%</title>" in bars


def test_the_loss_is_that_of_the_notes():
    column = encode_column(pl.Series(range(11)), Column("x"))
    cells = np.array([0] * 4 + [1] * 4 + [2] * 3)
    three = GeneralizedColumn.from_column(column).with_cells(cells)
    nothing = GeneralizedColumn.from_column(column).with_cells(np.zeros(11, int))
    assert three.ncp == pytest.approx(0.336, abs=5e-4)
    assert np.mean([three.ncp, nothing.ncp]) == pytest.approx(0.668, abs=5e-4)
    assert nothing.ncp == 1
    assert GeneralizedColumn.from_column(column).ncp == 0


def test_missing_numbers_take_no_part_in_the_width():
    column = encode_column(pl.Series([None, 0, 5, 10]), Column("x"))
    cells = GeneralizedColumn.from_column(column).with_cells(np.array([0, 1, 1, 2]))
    assert cells.ncp == pytest.approx((0 + 0.5 + 0.5 + 0.5) / 4)


def stand_by_hand(column, cell_of, rows):
    """The median or the commonest code of each cell, by plain Python."""
    standing, domain = [], column.domain
    for cell in range(max(cell_of) + 1):
        inside = [code for code in range(domain.size) if cell_of[code] == cell]
        if len(inside) > 1:
            inside = [code for code in inside if code != domain.missing or domain.kind != "number"]
        found = sorted(code for code in column.codes[rows] if code in inside)
        found = found or sorted(code for code in column.codes if code in inside)
        middle = found[(len(found) - 1) // 2]
        standing.append(middle if domain.has_ranges else max(inside, key=found.count))
    return standing


@pytest.mark.parametrize("seed", range(8))
def test_the_median_or_the_commonest_value_stands_for_a_cell(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, 40).tolist()
    values = [None if seed % 2 and value < 2 else value for value in values]
    if seed % 4 > 1:
        values = [value if value is None else f"v{value}" for value in values]
    column = encode_column(pl.Series(values), Column("x"))
    for cells in (1, 2, 4):
        cell_of = np.arange(column.domain.size) * cells // column.domain.size
        made = GeneralizedColumn.from_column(column).with_cells(cell_of)
        for rows in (np.arange(40), rng.integers(0, 40, 5)):
            assert made.choose_representatives(rows).tolist() == stand_by_hand(column, cell_of, rows)


@pytest.mark.parametrize("target", [0.8, 0.9])
def test_a_target_is_claimed_by_a_bound_on_rows_that_took_part_in_nothing(target):
    minimizer = Minimizer(TREE, target).fit(IRIS)
    claim = minimizer.guarantee_
    assert claim.claimed
    assert minimizer.score_ == claim.score >= claim.bound >= target
    assert 0 < minimizer.ncp_ <= 1
    assert "kept on unseen rows with a confidence of 95%" in minimizer.describe()


class Recorder(OnlyPredict):
    """Remembers the rows that it was asked about."""

    def __init__(self):
        self.asked = []

    def predict(self, data):
        self.asked.append(data)
        return super().predict(data)


def test_guard_rows_take_part_in_nothing():
    data = table(400).assign(row=np.arange(400))
    found = Minimizer(OnlyPredict(), 0.9, keep=["row"]).fit(data)
    recorder = Recorder()
    Minimizer(recorder, 0.9, keep=["row"]).fit(data)
    asked = [set(each["row"]) for each in recorder.asked]
    guard = asked[-1]
    assert len(guard) == found.guarantee_.rows
    # After the rows as they are, guards are asked about once, in the end.
    assert asked[0] == set(range(400))
    assert all(guard.isdisjoint(each) for each in asked[1:-1])
    # Other cuts, orders or stand-ins would show that these values were looked at.
    strange = data.copy()
    inside = strange["row"].isin(guard)
    strange.loc[inside, "x"] = np.where(strange.loc[inside, "x"] > 5, 900, -900)
    strange.loc[inside, "word"] = "never seen"
    again = Minimizer(OnlyPredict(), 0.9, keep=["row"]).fit(strange)
    assert again.generalizations_ == found.generalizations_
    assert again.ncp_ == found.ncp_


def test_a_result_that_fails_the_test_is_not_returned():
    data = table(400).assign(row=np.arange(400))
    recorder = Recorder()
    Minimizer(recorder, 0.9, keep=["row"]).fit(data)
    guard = set(recorder.asked[-1]["row"])

    class Elsewhere(OnlyPredict):
        """Uses another column for the rows of the guard, so that no other row can tell."""

        def predict(self, rows):
            usual = np.array(super().predict(rows))
            return np.where(rows["row"].isin(guard), np.where(rows["noise"] > 0, "a", "b"), usual)

    minimizer = Minimizer(Elsewhere(), 0.9, keep=["row"]).fit(data)
    claim = minimizer.guarantee_
    assert not claim.claimed
    assert claim.bound <= claim.score < 0.9
    assert claim.needed_rows is None
    assert {each["how"] for each in minimizer.generalizations_.values()} == {"untouched"}
    assert (minimizer.ncp_, minimizer.score_) == (0, 1)
    assert minimizer.transform(data).equals(data)
    assert "the target 0.9 is not claimed: on" in minimizer.describe()


def test_too_few_rows_for_a_claim_say_how_many_it_needs():
    rule = Rule().fit(None)
    few = Minimizer(rule, 0.98).fit(table(297))
    assert not few.guarantee_
    assert few.guarantee_.needed_rows == 298  # 149 rows without a miss, and as many to search with
    assert few.ncp_ == 0
    enough = Minimizer(rule, 0.98).fit(table(298))
    assert enough.guarantee_.rows == 149
    assert enough.guarantee_
    never = Minimizer(rule, 1.0).fit(table())
    assert "no number of rows can show" in never.guarantee_.text()


def test_without_a_confidence_nothing_is_claimed():
    minimizer = Minimizer(Rule().fit(None), 0.98, confidence=None).fit(table())
    assert minimizer.ncp_ > 0.8
    assert not minimizer.guarantee_
    assert "no confidence was asked for" in minimizer.describe()


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_published_generalisation_reproduces_transform(kind):
    rng = np.random.default_rng(3)
    rows = 200
    frame = pl.DataFrame(
        {
            "age": pl.Series(rng.integers(18, 80, rows)).set(pl.Series(rng.random(rows) < 0.1), None),
            "pay": rng.normal(100, 30, rows),
            "town": pl.Series(rng.choice(["a", "b", "c", "d", "e"], rows)).set(
                pl.Series(rng.random(rows) < 0.1), None
            ),
        }
    )
    y = (
        frame["pay"].to_numpy() + 20 * frame["town"].is_in(["a", "b"]).fill_null(False).to_numpy() > 105
    ).astype(int)
    data = frame if kind == "polars" else frame.to_pandas()
    estimator = named_estimator("decision-tree", False, 0).fit(data, y)
    minimizer = Minimizer(estimator, 0.8).fit(data)
    after = minimizer.transform(data)
    for name in frame.columns:
        want = by_hand(minimizer.generalizations_[name], frame[name].to_list())
        got = [None if value is None or value != value else value for value in after[name]]
        assert got == [None if value is None or value != value else value for value in want], name
    assert {each["how"] for each in minimizer.generalizations_.values()} != {"untouched"}


def test_one_hot_columns_go_together_and_hierarchies_by_their_nodes():
    rng = np.random.default_rng(4)
    town = rng.choice(["oslo", "bergen", "rome", "milan"], 160)
    frame = pd.DataFrame({"town": town, "x": rng.integers(0, 11, 160)})
    frame[["k_a", "k_b", "k_c"]] = np.eye(3, dtype=int)[rng.integers(0, 3, 160)]
    y = np.isin(town, ["rome", "milan"]).astype(int)
    estimator = named_estimator("decision-tree", False, 0).fit(frame, y)
    trees = {"town": Hierarchy.from_tree({"north": ["oslo", "bergen"], "south": ["rome", "milan"]})}
    minimizer = Minimizer(estimator, 1.0, confidence=None, hierarchies=trees).fit(frame)
    after = minimizer.transform(frame)
    assert (after[["k_a", "k_b", "k_c"]].sum(axis=1) == 1).all()
    assert after[["k_a", "k_b", "k_c"]].drop_duplicates().shape[0] == 1
    assert after["town"].nunique() == 2
    assert list(after.dtypes) == list(frame.dtypes)


def test_columns_can_be_left_alone_and_the_estimator_trained_anew():
    data = table()
    y = Rule().fit(None).predict(data)
    minimizer = Minimizer(Rule().fit(None), 0.95, keep=["noise"], retrain=True).fit(data, y)
    assert minimizer.transform(data)["noise"].equals(data["noise"])
    assert minimizer.generalizations_["noise"] == {"how": "untouched"}
    assert (minimizer.raw_score_, minimizer.retrained_score_) == (1.0, 1.0)


def test_a_regressor_is_judged_by_r_squared():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    line = LinearRegression().fit(x, 5 * x[:, 0] + 0.01 * x[:, 1])
    minimizer = Minimizer(line, 0.8).fit(x)
    how = [each["how"] for each in minimizer.generalizations_.values()]
    assert how == ["ranges", "suppressed", "suppressed"]
    assert minimizer.agreement(rng.normal(size=(300, 3))) >= 0.75


@pytest.mark.parametrize(
    "model", [OnlyPredict(), OnlyProbabilities(), Named(), Disagreeing(), call, Rule().fit(None)]
)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_any_black_box_is_asked(model, kind):
    data = table() if kind == "pandas" else pl.from_pandas(table())
    minimizer = Minimizer(model, 0.9).fit(data)
    how = {name: each["how"] for name, each in minimizer.generalizations_.items()}
    assert how == {"x": "ranges", "noise": "suppressed", "word": "suppressed"}
    assert minimizer.agreement(data) >= 0.9
    assert clone(minimizer).fit(data).generalizations_ == minimizer.generalizations_


def test_a_function_may_predict_numbers():
    minimizer = Minimizer(lambda data: 2.5 * np.asarray(data["x"]), 0.9).fit(table(400))
    how = {name: each["how"] for name, each in minimizer.generalizations_.items()}
    assert how == {"x": "ranges", "noise": "suppressed", "word": "suppressed"}
    # Labels of a classifier are classes, even if they are floats.
    labels = DecisionTreeClassifier(random_state=0).fit(IRIS, KIND.astype(float))
    found = Minimizer(labels, 0.9, confidence=None).fit(IRIS)
    agreed = found.score_ * found.guarantee_.rows
    assert agreed == pytest.approx(round(agreed))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda data: np.zeros((len(data), 2, 2)), "predicts 480 values for 120 rows"),
        (lambda data: np.zeros(3), "predicts 3 values for 120 rows"),
        (lambda data: np.full(len(data), np.nan), "missing or infinite"),
    ],
)
def test_predictions_that_cannot_be_compared_are_refused(model, message):
    with pytest.raises(InputError, match=message):
        Minimizer(model).fit(table())


@pytest.mark.parametrize("numeric", [False, True])
def test_several_outputs_agree_together(numeric):
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.uniform(0, 10, (600, 3)), columns=["x", "y", "z"])
    outputs = data[["x", "y"]].to_numpy()
    if numeric:
        model = LinearRegression().fit(data, outputs)
    else:
        model = DecisionTreeClassifier(random_state=0).fit(data, outputs > 5)
    minimizer = Minimizer(model, 0.9).fit(data)
    # Both columns are needed for some output, and the third for none.
    assert minimizer.generalizations_["z"]["how"] == "suppressed"
    assert {minimizer.generalizations_[name]["how"] for name in "xy"} <= {"ranges", "untouched"}
    assert minimizer.guarantee_.claimed
    before, after = model.predict(data), model.predict(minimizer.transform(data))
    if numeric:
        assert minimizer.agreement(data) == pytest.approx(r2_score(before, after))
    else:
        assert minimizer.agreement(data) == pytest.approx((before == after).all(axis=1).mean())


def test_any_score_of_predictions_can_be_the_target():
    rng = np.random.default_rng(4)
    data = pd.DataFrame(rng.uniform(0, 10, (600, 2)), columns=["x", "y"])

    def is_rare(rows):
        return np.where(np.asarray(rows["x"]) > 9.5, "rare", "often")

    by_share = Minimizer(is_rare, 0.8).fit(data)
    # Predicting the common class alone agrees in more than nine of ten rows.
    assert by_share.generalizations_["x"]["how"] == "suppressed"
    for scoring in ("f1_macro", balanced_accuracy_score):
        fair = Minimizer(is_rare, 0.8, scoring=scoring).fit(data)
        assert fair.generalizations_["x"]["how"] != "suppressed"
        assert fair.generalizations_["y"]["how"] == "suppressed"
        assert fair.guarantee_.claimed
        assert fair.guarantee_.bound <= fair.guarantee_.score == fair.score_


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("f1_makro", "unknown score 'f1_makro'"),
        ("roc_auc", "needs probabilities"),
        ("neg_mean_squared_error", "must be 1 where predictions agree"),
        (lambda before, after: before.nothing, "scoring failed on the predictions: AttributeError"),
    ],
)
def test_a_score_that_is_no_agreement_is_refused(scoring, message):
    model = LinearRegression().fit(IRIS, IRIS[["petal width (cm)"]])
    with pytest.raises(RecipeError, match=message):
        Minimizer(model, scoring=scoring).fit(IRIS)


@pytest.mark.parametrize("state", [None, np.random.RandomState(3), np.random.default_rng(3)])
def test_a_seed_may_be_drawn_and_is_told(state):
    found = Minimizer(TREE, 0.9, random_state=state).fit(IRIS)
    again = Minimizer(TREE, 0.9, random_state=found.random_state_).fit(IRIS)
    assert again.generalizations_ == found.generalizations_


def test_the_conventions_of_scikit_learn():
    minimizer = clone(Minimizer(TREE, 0.9, keep=["petal width (cm)"]).set_output(transform="pandas"))
    assert minimizer.estimator is TREE
    before = minimizer.get_params()
    after = minimizer.fit_transform(IRIS)
    assert minimizer.get_params() == before
    assert "petal width (cm)" in minimizer.get_feature_names_out()
    assert after.equals(pickle.loads(pickle.dumps(minimizer)).transform(IRIS))
    assert isinstance(minimizer.set_output(transform="polars").transform(IRIS), pl.DataFrame)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"estimator": DecisionTreeClassifier()}, NotFittedError, "not fitted"),
        ({"estimator": None}, RecipeError, "a fitted estimator"),
        ({"target_score": 1.5}, RecipeError, "target_score must be above 0 and at most 1, not 1.5"),
        ({"keep": ["nope"]}, RecipeError, "unknown column 'nope'"),
        ({"retrain": True}, RecipeError, "give y to fit"),
        ({"estimator": DecisionTreeClassifier}, RecipeError, "not the class DecisionTreeClassifier"),
        ({"confidence": 95}, RecipeError, "confidence must be between 0 and 1"),
        ({"cells": "cubes"}, RecipeError, "unknown cells 'cubes'"),
        ({"target_score": 0.8, "costs": {0: "dear"}}, RecipeError, "must cost 0 or more, not 'dear'"),
        ({"random_state": -1}, RecipeError, "random_state must be a whole number from 0 on"),
    ],
)
def test_what_cannot_be_is_said_clearly(settings, error, message):
    with pytest.raises(error, match=message):
        Minimizer(**{"estimator": TREE, **settings}).fit(IRIS)


def test_only_an_estimator_can_be_trained_anew():
    with pytest.raises(RecipeError, match="retrain needs an estimator of scikit-learn"):
        Minimizer(call, retrain=True).fit(table(), call(table()))


def test_too_few_rows_are_refused():
    with pytest.raises(RecipeError, match="too few"):
        Minimizer(TREE).fit(IRIS.head(1))


def test_dear_columns_are_given_up_first():
    rng = np.random.default_rng(0)
    # Both columns say as much about the class.
    rows = rng.normal(size=(900, 2))
    models = {}
    ask = lambda given: (np.asarray(given, float).sum(axis=1) > 0).astype(int)  # noqa: E731
    for costs in ({0: 9.0}, {1: 9.0}, {0: 0.0, 1: 0.0}):
        models[str(costs)] = Minimizer(ask, 0.8, costs=costs).fit(rows)
    first, second, none = models.values()
    assert first.column_ncp_["x0"] > first.column_ncp_["x1"]
    assert second.column_ncp_["x1"] > second.column_ncp_["x0"]
    assert none.ncp_ == 0
    with pytest.raises(RecipeError, match="'x1' must cost 0 or more, not -1"):
        Minimizer(ask, 0.9, costs={1: -1}).fit(rows)
    with pytest.raises(RecipeError, match="costs has no column 7"):
        Minimizer(ask, 0.9, costs={7: 1}).fit(rows)


@pytest.mark.parametrize("kind", ["pandas", "array", "floats", "text", "polars", "whole"])
def test_stacked_rows_are_those_that_a_frame_would_have(kind):
    frame = pd.DataFrame({"a": [1, 2, 3, 4, 5], "b": [0.5, np.nan, 1.5, 2.5, 3.5]}, index=list("vwxyz"))
    if kind == "text":
        frame["b"] = ["s", None, "t", "u", "v"]
    made = {"array": frame.to_numpy, "floats": lambda: frame.astype(np.float32)}
    made["whole"] = lambda: pl.from_pandas(frame.fillna(7.5).astype({"b": np.float32}))
    made["polars"] = lambda: pl.from_pandas(frame.reset_index(drop=True), nan_to_null=True)
    data = made.get(kind, lambda: frame)()
    table = read_table(data, with_index=False) if kind != "array" else read_table(pl.DataFrame(data))
    stack = RowStack(data, table, np.array([3, 0, 1]))
    first, second = table.names
    now = {first: table.frame[first].gather([4, 4, 4])}
    changed = [{second: table.frame[second].gather([0, 0, 0])}, {first: table.frame[first].gather([1, 1, 1])}]
    found = stack.build(now, changed)
    known = stack._rebuild({**stack._base, **now}, changed)
    assert type(found) is type(known) is type(data)
    if isinstance(found, pd.DataFrame):
        pd.testing.assert_frame_equal(found, known)
        assert list(found.index) == list("yvwyvw")
    else:
        np.testing.assert_array_equal(np.asarray(found), np.asarray(known))
    assert found.shape == (6, 2)


@pytest.fixture(scope="module")
def interacting():
    """Rows of which a model needs b only where a is small, and never c."""
    rng = np.random.default_rng(5)
    a, b = rng.uniform(0, 10, 1200), rng.uniform(0, 10, 1200)
    b[::40] = np.nan
    text = rng.choice(["u", "v", "w", "x"], 1200)
    frame = pd.DataFrame({"a": a, "b": b, "c": rng.normal(size=1200), "d": text})

    def predict(rows):
        return np.where(rows["a"] < 4, rows["b"] > 5, rows["d"].isin(["u", "x"])).astype(int)

    return frame, predict


def test_boxes_release_less_than_cells_of_single_columns(interacting):
    frame, predict = interacting
    given, unseen = frame[:800], frame[800:]
    by_cells = {
        cells: Minimizer(predict, 0.9, cells=cells).fit(given) for cells in ("columns", "boxes", "best")
    }
    assert all(each.guarantee_.claimed for each in by_cells.values())
    assert by_cells["boxes"].ncp_ > by_cells["columns"].ncp_ + 0.05
    assert by_cells["best"].ncp_ == by_cells["boxes"].ncp_
    assert by_cells["columns"].boxes_ is None
    boxed = by_cells["boxes"]
    assert boxed.agreement(unseen) >= 0.9
    assert set(boxed.generalizations_["a"]) == {"how"}
    assert len(boxed.transform(unseen).drop_duplicates()) == len(boxed.boxes_)
    assert boxed.column_ncp_["c"] == 1
    assert "a above" in boxed.describe()
    with pytest.raises(RecipeError, match="depends on other columns"):
        boxed.published_[0].applied(pl.Series([1.0]))


def is_inside(part, value):
    if "among" in part:
        return value in part["among"]
    if value is None or value != value:
        return part.get("missing", False)
    if not part.get("numbers", True):
        return False
    return value > part.get("above", -np.inf) and value <= part.get("up_to", np.inf)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_published_boxes_reproduce_transform(interacting, kind):
    frame, predict = interacting
    shown = frame if kind == "pandas" else pl.from_pandas(frame, nan_to_null=True)
    model = predict if kind == "pandas" else lambda rows: predict(rows.to_pandas())
    minimizer = Minimizer(model, 0.9, cells="boxes").fit(shown[:800])
    coarse = minimizer.transform(shown[800:])
    again = pickle.loads(pickle.dumps(clone(minimizer).set_params(estimator=None)))
    assert again.cells == "boxes"
    assert len(minimizer.boxes_) > 2
    rows = frame[800:].to_dict("records")
    done = coarse.to_dict("records") if kind == "pandas" else coarse.to_dicts()
    for row, after in zip(rows, done, strict=True):
        fits = [
            box
            for box in minimizer.boxes_
            if all(is_inside(p, row[name]) for name, p in box["where"].items())
        ]
        assert len(fits) == 1
        assert after == fits[0]["values"]


def test_boxes_leave_columns_alone_that_are_kept_or_free(interacting):
    frame, predict = interacting
    minimizer = Minimizer(predict, 0.8, cells="boxes", keep=["d"], costs={"b": 0}).fit(frame)
    assert minimizer.boxes_
    pd.testing.assert_frame_equal(minimizer.transform(frame)[["b", "d"]], frame[["b", "d"]])
    assert {"b", "d"} & set(minimizer.boxes_[0]["values"]) == set()
    assert minimizer.column_ncp_["b"] == minimizer.column_ncp_["d"] == 0


def test_boxes_take_one_hot_columns_several_outputs_and_numbers():
    rng = np.random.default_rng(2)
    kind = rng.choice(list("pqr"), 900)
    frame = pd.get_dummies(pd.DataFrame({"x": rng.uniform(size=900), "kind": kind}))

    def two_outputs(rows):
        return np.column_stack([rows["kind_p"].to_numpy() == 1, rows["x"].to_numpy() > 0.5]).astype(int)

    minimizer = Minimizer(two_outputs, 0.95, cells="boxes").fit(frame[:700])
    assert minimizer.guarantee_.claimed
    assert minimizer.agreement(frame[700:]) >= 0.95
    coarse = minimizer.transform(frame[700:])
    assert (coarse[["kind_p", "kind_q", "kind_r"]].sum(axis=1) == 1).all()

    def number(rows):
        return np.where(rows["kind_p"].to_numpy() == 1, 3.0, 0.0) + (rows["x"].to_numpy() > 0.5)

    minimizer = Minimizer(number, 0.9, cells="boxes").fit(frame[:700])
    assert minimizer.guarantee_.claimed
    assert minimizer.agreement(frame[700:]) >= 0.9


def test_a_search_tells_how_far_it_is():
    told = []
    Minimizer(TREE, 0.9, random_state=0, cells="columns").fit(
        IRIS, None, lambda doing, done: told.append((doing, done))
    )
    assert told[0] == ("minimising, 0 steps taken", 0.0)
    shares = [done for _, done in told]
    assert len(told) > 1
    assert shares == sorted(shares)
    assert shares[-1] <= 1


def test_a_minimizer_without_columns_to_change_describes_itself(interacting):
    frame, predict = interacting
    minimizer = Minimizer(predict, 0.9, cells="best", keep=list(frame.columns)).fit(frame)
    assert minimizer.describe().startswith("0.0%")
    assert minimizer.ncp_ == 0


def test_rows_that_are_no_guards_may_decide(interacting, monkeypatch):
    frame, predict = interacting
    measure, sizes = Minimizer._measure_candidates, []

    def watch(self, rows, candidates):
        sizes.append(rows.size)
        return measure(self, rows, candidates)

    monkeypatch.setattr(Minimizer, "_measure_candidates", watch)
    Minimizer(predict, 0.9, confidence=None).fit(frame[:300])
    assert set(sizes) == {75}  # a quarter are guards, and a third of the others decide
    sizes.clear()
    careful = Minimizer(predict, 1.0, confidence=None)
    careful._class_of = np.arange(300)  # each row by itself
    careful.fit(frame[:300])
    assert set(sizes[:-1]) == {150}
    deciding = np.random.default_rng(0).permutation(300)[:150]
    assert careful.agreement(frame.iloc[deciding]) == 1


def test_rows_of_one_class_either_place_cells_or_decide(interacting):
    frame, predict = interacting
    asked = []

    def watch(rows):
        asked.append(set(rows["row"]))
        return predict(rows)

    careful = Minimizer(watch, 1.0, confidence=None, keep=["row"])
    careful._class_of = np.arange(240) // 12
    careful.fit(frame[:240].assign(row=np.arange(240)))
    everything, placing, deciding = asked[0], asked[1], asked[-2]  # guards are asked about at the end
    assert len(everything) == 240
    assert placing | deciding == everything
    assert not {row // 12 for row in placing} & {row // 12 for row in deciding}
    # Where all rows are of one class, rows are divided as they come.
    careful._class_of = np.zeros(240, int)
    assert 0 < careful.fit(frame[:240].assign(row=np.arange(240))).ncp_ < 1
