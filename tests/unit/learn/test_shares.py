"""Training on rows drawn from a release: they depend on nothing but what was released and counted."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import shoal
from shoal.algorithms import read_algorithm
from shoal.errors import RecipeError
from shoal.learn import PrivacySearch
from shoal.learn.shares import ClassShares, ColumnShares

IRIS, KIND = load_iris(return_X_y=True, as_frame=True)
SEPAL = ["sepal length (cm)", "sepal width (cm)"]
TREE = DecisionTreeClassifier(random_state=0)
PEOPLE = shoal.sample("hospital", rows=600).select("age", "sex", "education", "marital_status")
PEOPLE = PEOPLE.with_columns(pl.all().exclude("age").fill_null("none"), age=pl.col("age").fill_null(40))
MARRIED = (PEOPLE["marital_status"] == "married").cast(pl.Int8).to_numpy()
QUASI = ["age", "sex", "education"]


def search(estimator=TREE, **settings):
    wanted = {"k": 10, "quasi": SEPAL, "training": "draws", "splits": 1, "refit": False, "verbose": 0}
    return PrivacySearch(estimator, **{**wanted, **settings})


def release(data, labels, **settings):
    return search(**settings).fit(data, labels).release(data, labels)


def list_by_class(frame, class_of):
    """Of each class and column the sorted values."""
    return frame.assign(c=class_of).groupby("c").agg(lambda values: tuple(sorted(values)))


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers, for all of its clones, what it was trained on."""

    seen: list = []  # noqa: RUF012

    def fit(self, data, y):
        self.classes_ = np.unique(y)
        self.seen.append(data)
        return self

    def predict(self, data):
        return np.full(len(data), self.classes_[0])


@pytest.mark.parametrize("algorithm", ["auto", "tree", "tree(distance=effect)"])
def test_values_are_dealt_within_classes_and_columns(algorithm):
    found = release(IRIS, KIND, algorithm=algorithm)
    assert found.kept.all()
    assert np.array_equal(found.training_rows, np.tile(np.arange(150), 2))
    drawn = found.training[150:]
    pd.testing.assert_frame_equal(found.training[:150], found.data)
    pd.testing.assert_frame_equal(
        list_by_class(drawn[SEPAL], found.class_of), list_by_class(IRIS[SEPAL], found.class_of)
    )
    pd.testing.assert_frame_equal(drawn.drop(columns=SEPAL), IRIS.drop(columns=SEPAL))
    assert (drawn.dtypes == IRIS.dtypes).all()
    # Which values belong together is lost.
    assert (drawn[SEPAL] == IRIS[SEPAL]).all(axis=1).mean() < 0.5


def test_the_release_that_rows_are_drawn_from_is_counted():
    found = release(IRIS, KIND, algorithm="tree")
    counts = found.shares.group_by(SEPAL).len()["len"]
    assert counts.min() == found.smallest >= 10
    assert counts.len() == found.classes == np.unique(found.class_of).size
    row = found.shares.row(0, named=True)
    same = IRIS[found.class_of == found.class_of[0]]
    for name in SEPAL:
        times = same[name].value_counts().sort_index()
        assert row[name] == "{" + ", ".join(f'"{value}": {count}' for value, count in times.items()) + "}"


def test_what_fails_the_count_is_not_released(monkeypatch):
    real = ClassShares.render_columns

    def tell_rows_apart(self):
        number = pl.Series([f"{at}" for at in range(self.class_of.size)])
        return {name: values + number for name, values in real(self).items()}

    monkeypatch.setattr(ClassShares, "render_columns", tell_rows_apart)
    row = search().fit(IRIS, KIND).results_.row(0, named=True)
    assert row["status"] == "infeasible"
    assert "not met by the shares" in row["reason"]


def test_draws_depend_on_the_release_alone():
    rng = np.random.default_rng(0)
    class_of = rng.integers(0, 5, 200)
    code = rng.integers(0, 7, (200, 2))
    order = np.lexsort((rng.random(200), class_of))
    mixed = np.empty_like(code)
    mixed[np.argsort(class_of, kind="stable")] = code[order]  # other rows of the same classes
    domain = shoal.codespace.encoding.encode_column(
        pl.Series("a", [f"{v}" for v in range(7)]), shoal.codespace.encoding.Column("a")
    ).domain
    both = [
        ClassShares(class_of, tuple(ColumnShares.from_codes(domain, class_of, each) for each in rows.T))
        for rows in (code, mixed)
    ]
    for one, other in zip(*(each.draw_codes(3) for each in both), strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(both[0].draw_codes(3)[0], both[0].draw_codes(4)[0])


def test_cells_that_differ_look_different():
    values = pl.Series("a", ["x", 'x": 1, "y', "y", None, "missing", ""])
    encoded = shoal.codespace.encoding.encode_column(values, shoal.codespace.encoding.Column("a"))
    classes = [["x", "y"], ['x": 1, "y'], [None], ["missing"], [""], ["x"], ["x", "x"]]
    code = {value: int(at) for value, at in zip(values, encoded.codes, strict=True)}
    of = np.repeat(np.arange(len(classes)), [len(each) for each in classes])
    codes = np.array([code[value] for each in classes for value in each])
    cells = ColumnShares.from_codes(encoded.domain, of, codes).render_cells()
    assert cells.n_unique() == len(classes)
    assert cells[6] == '{"x": 2}'


def test_estimators_are_trained_on_what_is_drawn():
    Spy.seen.clear()
    found = search(Spy(), training=("representatives", "draws"), algorithm="mondrian").fit(IRIS, KIND)
    _, released, both = Spy.seen
    plain, drawn = both[: len(released)], both[len(released) :]
    pd.testing.assert_frame_equal(plain, released)
    assert found.results_["training"].to_list() == ["representatives", "draws"]
    assert (found.results_["smallest_class"] >= 10).all()
    assert released[SEPAL].value_counts().min() >= 10 > drawn[SEPAL].value_counts().min()
    assert released.index.equals(drawn.index)
    # Without being asked for, nothing is drawn.
    assert release(IRIS, KIND, training=None).shares is None
    # What is trained at the end is trained on draws, too.
    Spy.seen.clear()
    found = search(Spy(), refit=True).fit(IRIS, KIND)
    pd.testing.assert_frame_equal(Spy.seen[-1], found.release(IRIS, KIND).training)


@pytest.mark.parametrize("kind", ["polars", "pandas", "numpy"])
def test_kinds_of_data_and_text(kind):
    data = {
        "polars": PEOPLE.drop("marital_status"),
        "pandas": PEOPLE.drop("marital_status").to_pandas(),
        "numpy": PEOPLE.select("age").with_columns(b=pl.int_range(pl.len()) % 7).to_numpy(),
    }[kind]
    found = release(data, MARRIED, estimator="decision-tree", quasi=None, algorithm=("tree",))
    assert type(found.training) is type(data)
    assert found.training.shape == (2 * len(data), data.shape[1])
    plain, released, drawn, given = (
        np.asarray(each).astype(str)
        for each in (found.training[: len(data)], found.data, found.training[len(data) :], data)
    )
    assert np.array_equal(plain, released)
    for j in range(drawn.shape[1]):
        for number in np.unique(found.class_of):
            inside = found.class_of == number
            assert sorted(drawn[inside, j]) == sorted(given[inside, j])


@pytest.mark.parametrize("algorithm", ["tree", "mondrian"])
def test_missing_values_sensitive_columns_and_people(algorithm):
    data = PEOPLE.to_pandas()
    data.loc[::5, "education"] = None
    data["who"] = np.arange(len(data)) // 2
    found = release(
        data,
        MARRIED,
        estimator="decision-tree",
        quasi=QUASI,
        sensitive=["marital_status"],
        person="who",
        l=2,
        algorithm=algorithm,
    )
    drawn = found.training[len(data) :]
    assert list(drawn.columns) == [*QUASI, "marital_status"]
    assert drawn["education"].isna().sum() == data["education"].isna().sum()
    pd.testing.assert_series_equal(drawn["marital_status"], data["marital_status"])
    assert "who" not in found.shares.columns
    shown = found.shares.with_columns(who=data["who"].to_numpy()).group_by(QUASI)
    people = shown.agg(pl.col("who").n_unique(), pl.col("marital_status").n_unique())
    assert people["who"].min() >= 10
    assert people["marital_status"].min() >= 2


def test_one_hot_columns_are_drawn_together():
    wide = pd.get_dummies(PEOPLE.drop("marital_status").to_pandas(), columns=["education"], dtype=int)
    names = [name for name in wide.columns if name.startswith("education_")]
    found = release(
        wide, MARRIED, estimator="decision-tree", quasi=[name for name in wide.columns if name != "sex"]
    )
    plain, drawn = found.training[: len(wide)], found.training[len(wide) :]
    pd.testing.assert_frame_equal(plain, found.data)
    assert (drawn[names].sum(axis=1) == 1).all()
    assert (drawn[names].sum() == wide[names].sum()).all()
    assert not drawn[names].equals(wide[names])
    assert found.shares.group_by("age", "education").len()["len"].min() >= 10


def test_what_cannot_be_trained_on():
    with pytest.raises(RecipeError, match="samples"):
        search(training="samples").fit(IRIS, KIND)
    with pytest.raises(RecipeError, match="nothing is trained"):
        search(protocol="minimize").fit(IRIS, KIND)
    assert search(protocol="minimize", training=None, algorithm="choose")._build_grid(
        shoal.table.read_table(IRIS)
    )


def test_the_best_of_both_is_chosen():
    found = search(algorithm="choose", training=None, k=(5, 20)).fit(IRIS, KIND)
    for row in found.chosen_.iter_rows(named=True):
        same = found.results_.filter(pl.col("k") == row["k"])
        assert set(same["training"]) == {"representatives", "draws"}
        assert row["score"] == same["score"].max()
        assert read_algorithm(row["algorithm"])
        assert (found.release(IRIS, KIND, k=row["k"]).shares is None) == (row["training"] != "draws")
