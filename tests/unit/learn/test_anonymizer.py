"""TreeAnonymizer: the conventions of scikit-learn, and a goal that holds on what comes out."""

import pickle
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shoal.errors import GoalNotMet, InputError, RecipeError
from shoal.learn import TreeAnonymizer
from shoal.table.hierarchies import Hierarchy

IRIS, KIND = load_iris(return_X_y=True, as_frame=True)
SEPAL = ["sepal length (cm)", "sepal width (cm)"]
PETAL = "petal width (cm)"


def mixed(rows=80):
    rng = np.random.default_rng(0)
    age = pd.array(rng.integers(18, 90, rows), dtype="Int64")
    age[3] = pd.NA
    frame = pd.DataFrame(
        {
            "age": age,
            "size": rng.normal(170, 9, rows).astype("float32"),
            "town": rng.choice(["Oslo", "Rome", "Bern", None], rows),
            "group": pd.Categorical(rng.choice(["u", "v", "w"], rows)),
            "colour_red": 0,
            "colour_blue": 0,
            "colour_grey": 0,
            "illness": rng.choice(["flu", "gout", "cold"], rows),
        },
        index=pd.Index([f"r{i}" for i in range(rows)], name="row"),
    )
    frame[["colour_red", "colour_blue", "colour_grey"]] = np.eye(3, dtype=int)[rng.integers(0, 3, rows)]
    return frame, rng.integers(0, 2, rows)


MIXED, LABEL = mixed()
QUASI = [name for name in MIXED if name != "illness"]


def smallest(frame, quasi):
    return min(Counter(map(tuple, frame[quasi].astype(str).to_numpy())).values())


def diversity(frame, quasi, sensitive):
    return (
        frame.assign(illness=frame[sensitive].astype(str))
        .groupby([frame[name].astype(str) for name in quasi])["illness"]
        .nunique()
        .min()
    )


def test_a_release_keeps_k_l_index_and_dtypes():
    anonymizer = TreeAnonymizer(k=6, l=3, sensitive=["illness"], quasi=QUASI)
    before = MIXED.copy()
    released = anonymizer.fit_transform(MIXED, LABEL)
    pd.testing.assert_frame_equal(MIXED, before)
    assert released.index.equals(MIXED.index)
    assert (released.dtypes == MIXED.dtypes).all()
    assert released["illness"].equals(MIXED["illness"])
    assert smallest(released, QUASI) >= 6
    assert diversity(released, QUASI, "illness") >= 3
    colours = released[["colour_red", "colour_blue", "colour_grey"]]
    assert (colours.sum(axis=1) == 1).all()
    assert anonymizer.valid_rows_.all()
    assert anonymizer.deletion_ratio_ == 0
    assert anonymizer.cells_["rows"].sum() == len(MIXED)
    assert "colour" in anonymizer.cells_.columns


def test_rows_of_fit_go_where_they_went_and_new_ones_to_a_cell_that_exists():
    anonymizer = TreeAnonymizer(k=6, sensitive=["illness"]).fit(MIXED, LABEL)
    released = anonymizer.fit_transform(MIXED, LABEL)
    pd.testing.assert_frame_equal(anonymizer.transform(MIXED), released)
    new = MIXED.assign(town="Atlantis", size=MIXED["size"] + 1.5).iloc[::-1]
    new["age"] = new["age"].fillna(500)
    there = {tuple(map(str, row)) for row in released[QUASI].to_numpy()}
    assert {tuple(map(str, row)) for row in anonymizer.transform(new)[QUASI].to_numpy()} <= there


def test_a_new_number_goes_to_the_nearest_class():
    x = np.array([[1.0], [2], [3], [11], [12], [13], [21], [22], [23]])
    anonymizer = TreeAnonymizer(k=3).fit(x)
    assert anonymizer.transform([[5.0], [9], [100], [-4]]).ravel().tolist() == [2, 12, 22, 2]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, np.asarray], ids=["pandas", "polars", "numpy"])
def test_the_kind_that_goes_in_comes_out(kind):
    data = kind(IRIS) if kind is not pl.DataFrame else pl.from_pandas(IRIS)
    columns = [0, 1] if kind is np.asarray else SEPAL
    anonymizer = TreeAnonymizer(k=10, quasi=columns)
    released = anonymizer.fit_transform(data, KIND)
    assert type(released) is type(data)
    assert smallest(pd.DataFrame(np.asarray(released)), [0, 1]) >= 10
    again = pickle.loads(pickle.dumps(clone(anonymizer).fit(data, KIND)))
    assert np.array_equal(np.asarray(again.transform(data)), np.asarray(released))
    for wanted, made in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        assert type(anonymizer.set_output(transform=wanted).transform(data)) is made
    assert len(anonymizer.get_feature_names_out()) == 4


def test_an_array_of_objects_has_text_and_missing_values():
    data = np.array(
        [["a", 1.5], ["b", np.nan], [None, 2.5], ["a", 1.0], ["b", np.nan], [np.nan, 3.0]], object
    )
    released = TreeAnonymizer(k=3).fit_transform(data)
    assert released.shape == (6, 2)
    assert min(Counter(map(str, released)).values()) >= 3


def test_constructor_arguments_stay_as_they_are():
    settings = {"quasi": [*SEPAL], "sensitive": [PETAL], "models": ["entropy-l(l=2)"]}
    anonymizer = TreeAnonymizer(k=5, **settings)
    before = pickle.dumps(anonymizer.get_params())
    anonymizer.fit(IRIS, KIND)
    anonymizer.fit(IRIS, KIND)
    assert pickle.dumps(anonymizer.get_params()) == before


@pytest.mark.parametrize(
    "model", ["entropy-l(l=2)", "recursive-cl(c=3,l=2)", "t(t=0.4)", "alpha-k(alpha=0.6,k=4)"]
)
def test_every_class_based_model_is_enforced(model):
    anonymizer = TreeAnonymizer(k=4, sensitive=["illness"], models=[model]).fit(MIXED, LABEL)
    assert all(verdict.holds for verdict in anonymizer.report_.models)
    assert len(anonymizer.report_.models) == 2


def test_failing_cells_may_be_deleted():
    settings = {"k": 10, "l": 8, "quasi": SEPAL, "sensitive": [PETAL]}
    anonymizer = TreeAnonymizer(**settings, failing="delete", split=False, gain=0.0)
    with pytest.warns(UserWarning, match=r"labels of the others are y\[valid_rows_"):
        released = anonymizer.fit_transform(IRIS, KIND)
    assert 0 < anonymizer.deletion_ratio_ < 1
    with (
        pytest.warns(UserWarning, match="use failing='merge'"),
        pytest.raises(ValueError, match="Number of labels=150"),
    ):
        make_pipeline(clone(anonymizer), DecisionTreeClassifier()).fit(IRIS, KIND)
    assert released.index.tolist() == IRIS.index[anonymizer.valid_rows_].tolist()
    assert smallest(released, SEPAL) >= 10
    assert len(anonymizer.transform(IRIS)) == len(released)
    merged = TreeAnonymizer(**settings).fit(IRIS, KIND)
    assert merged.deletion_ratio_ == 0


def test_refinement_may_follow():
    plain, refined = (TreeAnonymizer(k=10, sweeps=sweeps).fit(IRIS, KIND) for sweeps in (0, 3))
    assert refined.report_.ncp < plain.report_.ncp
    released = refined.transform(IRIS)
    known = set(map(tuple, refined.fit_transform(IRIS, KIND).to_numpy()))
    assert set(map(tuple, released.to_numpy())) <= known
    assert np.array_equal(released, refined.transform(IRIS))


@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier(random_state=0), DecisionTreeRegressor(random_state=0)]
)
def test_predictions_may_guide_instead_of_labels(estimator):
    fitted = estimator.fit(IRIS, KIND)
    by_model = TreeAnonymizer(k=10, estimator=fitted).fit(IRIS)
    by_label = TreeAnonymizer(k=10).fit(IRIS, fitted.predict(IRIS))
    assert by_model.cells_.equals(by_label.cells_)
    by_function = clone(TreeAnonymizer(k=10, estimator=lambda rows: fitted.predict(rows).tolist())).fit(IRIS)
    assert by_function.cells_.equals(by_label.cells_)
    assert clone(by_model).fit(IRIS).cells_.equals(by_label.cells_)


def test_a_seed_may_be_drawn_and_is_told():
    found = TreeAnonymizer(k=10, random_state=None).fit(IRIS, KIND)
    again = TreeAnonymizer(k=10, random_state=found.random_state_).fit(IRIS, KIND)
    assert again.cells_.equals(found.cells_)


def test_it_is_a_step_of_a_pipeline():
    pipeline = make_pipeline(TreeAnonymizer(k=10), DecisionTreeClassifier(random_state=0))
    assert pipeline.fit(IRIS, KIND).score(IRIS, KIND) > 0.9


def test_other_renderings_are_text():
    frame = MIXED[["town", "size", "colour_red", "colour_blue", "colour_grey"]]
    trees = {"town": Hierarchy.from_tree({"north": ["Oslo"], "south": ["Rome", "Bern"]})}
    released = TreeAnonymizer(k=20, render="label", hierarchies=trees, gain=0.0).fit_transform(frame, LABEL)
    assert set(released["town"].dropna()) <= {"Oslo", "Rome", "Bern", "north", "south", "*"}
    assert released["size"].str.match(r"\[.+\]|\*").all()
    assert set(released["colour_red"]) <= {"0", "1", "*"}
    assert smallest(released, list(frame)) >= 20


def test_one_hot_groups_may_be_named_or_refused():
    frame = MIXED[["colour_red", "colour_blue", "colour_grey", "size"]]
    named = TreeAnonymizer(k=5, one_hot=[["colour_red", "colour_blue", "colour_grey"]]).fit(frame)
    assert named.cells_.columns == ["rows", "size", "colour"] or set(named.cells_.columns) == {
        "rows",
        "size",
        "colour",
    }
    assert "colour_red" in TreeAnonymizer(k=5, one_hot=[]).fit(frame).cells_.columns
    with pytest.raises(InputError, match="exactly one 1"):
        TreeAnonymizer(k=5, one_hot=[["colour_red", "size"]]).fit(frame)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"l": 40, "k": 50, "sensitive": [PETAL]},
            GoalNotMet,
            "l = 40, but the sensitive column 'petal width",
        ),
        ({"quasi": SEPAL, "sensitive": [SEPAL[0]]}, RecipeError, "both quasi and sensitive"),
        ({"k": 0}, RecipeError, "k must be at least 1, not 0"),
        ({"k": 5, "l": 6, "sensitive": [PETAL]}, RecipeError, "l = 6 is above k = 5"),
        ({"quasi": ["sepal"]}, RecipeError, "unknown column 'sepal'"),
        ({"sensitive": [9]}, RecipeError, "no column 9"),
        ({"quasi": "sepal"}, RecipeError, "is a list of columns"),
        ({"estimator": DecisionTreeClassifier()}, NotFittedError, "not fitted yet"),
        ({"failing": "ignore"}, RecipeError, "unknown failing 'ignore'"),
        ({"k": 200}, GoalNotMet, "k = 200"),
        # As shoal.verify does.
        ({"l": 1, "sensitive": [PETAL]}, RecipeError, "l must be at least 2, not 1"),
        ({"random_state": "7"}, RecipeError, "random_state must be a whole number from 0 on"),
    ],
)
def test_what_cannot_be_is_said_clearly(settings, error, message):
    with pytest.raises(error, match=message):
        TreeAnonymizer(**settings).fit(IRIS, KIND)


def test_infinite_numbers_and_unfitted_use_are_refused():
    with pytest.raises(InputError, match="infinite"):
        TreeAnonymizer().fit(IRIS.assign(x=np.inf))
    with pytest.raises(NotFittedError):
        TreeAnonymizer().transform(IRIS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TreeAnonymizer().fit(IRIS, KIND)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_odd_columns_and_odd_names(kind, seed):
    rng = np.random.default_rng(seed)
    rows = 40
    frame = pd.DataFrame(
        {
            "rows": rng.integers(0, 9, rows),
            "^a$": rng.choice(["u", "", None], rows),
            "target": rng.normal(size=rows),
            "leaf": pd.Series(pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, rows), "D")),
            "flag": rng.random(rows) < 0.4,
            "const": 3,
            "nothing": np.nan,
            "size": pd.Categorical(rng.choice(["S", "M"], rows), categories=["S", "M", "L"], ordered=True),
        }
    )
    frame.loc[rng.random(rows) < 0.1, ["target", "leaf"]] = None
    names = list(rng.permutation(frame.columns))[: rng.integers(2, 8)]
    data = frame[names] if kind == "pandas" else pl.from_pandas(frame[names])
    y = rng.integers(0, 2, rows)
    anonymizer = TreeAnonymizer(k=4, grow=["quasi", "all"][seed % 2], gain=0.0, split=seed % 3 > 0)
    released = anonymizer.fit_transform(data, y)
    assert anonymizer.transform(data).equals(released)
    assert smallest(released if kind == "pandas" else released.to_pandas(), names) >= 4
    assert list(released.dtypes) == list(data.dtypes)


def test_several_targets_guide_together():
    numbers = pd.DataFrame({"kind": KIND.astype(str), "size": IRIS[PETAL]})
    both = TreeAnonymizer(10, quasi=SEPAL, guide="predictions", distance="effect").fit(IRIS, numbers)
    assert both.report_.smallest_class >= 10
    assert both._router.guided.targets == 2
    new = both.transform(IRIS.iloc[:7])
    assert new.shape == (7, 4)
    array = TreeAnonymizer(10, quasi=SEPAL).fit(IRIS, np.column_stack([KIND, IRIS[PETAL]]))
    alone = TreeAnonymizer(10, quasi=SEPAL).fit(IRIS, KIND)
    assert array._router.guided.targets == 2
    assert not array.cells_.equals(alone.cells_)
