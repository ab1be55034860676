"""Models that are asked and never trained: boosters, ONNX, files, functions; whatever they are given."""

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shoal.errors import InputError, RecipeError
from shoal.learn import Minimizer, PrivacySearch, load_model
from shoal.learn.blackbox import BlackBox
from shoal.learn.fitted import TableModel, wrap_fitted

IRIS, KIND = load_iris(return_X_y=True, as_frame=True)
BREAST, ILL = load_breast_cancer(return_X_y=True, as_frame=True)
BREAST = BREAST.iloc[:, :6]
DIABETES, COURSE = load_diabetes(return_X_y=True, as_frame=True)
SILENT = {"verbose": -1}


def train_xgboost(data, y, **settings):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.train({"nthread": 1, **settings}, xgboost.DMatrix(data, y), 10)


def train_lightgbm(data, y, **settings):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.train({**SILENT, "num_threads": 1, **settings}, lightgbm.Dataset(data, y), 10)


CLASSIFIERS = {
    "xgboost binary": (train_xgboost, BREAST, ILL, {"objective": "binary:logistic"}),
    "xgboost margins": (train_xgboost, BREAST, ILL, {"objective": "binary:logitraw"}),
    "xgboost probabilities": (train_xgboost, IRIS, KIND, {"objective": "multi:softprob", "num_class": 3}),
    "xgboost classes": (train_xgboost, IRIS, KIND, {"objective": "multi:softmax", "num_class": 3}),
    "lightgbm binary": (train_lightgbm, BREAST, ILL, {"objective": "binary"}),
    "lightgbm several": (train_lightgbm, IRIS, KIND, {"objective": "multiclass", "num_class": 3}),
}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_boosters_predict_classes_for_any_kind_of_rows(name, named):
    train, data, y, settings = CLASSIFIERS[name]
    box = BlackBox(train(data if named else data.to_numpy(), y, **settings))
    first = box.predict(data)
    assert not box.predicts_numbers(first)
    assert np.mean(first == y) > 0.9
    for same in (pl.from_pandas(data), data.to_numpy()):
        np.testing.assert_array_equal(box.predict(same), first)
    sure = box.predict_probabilities(data)
    np.testing.assert_array_equal(box.name_likeliest(sure), first)
    np.testing.assert_allclose(sure.sum(axis=1), 1, atol=1e-5)
    with pytest.raises(InputError, match=f"takes {data.shape[1]} columns, and the rows have 2"):
        box.predict(data.to_numpy()[:, :2])


@pytest.mark.parametrize("train", [train_xgboost, train_lightgbm])
def test_boosters_predict_numbers_and_have_no_probabilities_then(train):
    box = BlackBox(train(DIABETES, COURSE))
    predicted = box.predict(DIABETES)
    assert box.predicts_numbers(predicted)
    assert np.corrcoef(predicted, COURSE)[0, 1] > 0.7
    assert box.predict_probabilities(DIABETES) is None


def test_boosters_take_their_columns_by_name_and_say_what_is_missing():
    box = BlackBox(train_lightgbm(BREAST, ILL, objective="binary"))
    turned = BREAST.iloc[:, ::-1].assign(more=1.0)
    np.testing.assert_array_equal(box.predict(turned), box.predict(BREAST))
    with pytest.raises(InputError, match="trained on a column 'mean_radius'"):
        box.predict(BREAST.drop(columns="mean radius"))
    with pytest.raises(InputError, match="takes numbers, and column 'mean radius' has others"):
        box.predict(BREAST.assign(**{"mean radius": "big"}))


@pytest.mark.parametrize("wrapper", ["XGBClassifier", "LGBMClassifier"])
def test_wrappers_for_scikit_learn_are_estimators_like_others(wrapper):
    made = {"XGBClassifier": "xgboost", "LGBMClassifier": "lightgbm"}[wrapper]
    more = SILENT if made == "lightgbm" else {}
    estimator = getattr(pytest.importorskip(made), wrapper)(n_estimators=5, n_jobs=1, **more)
    fitted = estimator.fit(BREAST.iloc[:400], ILL[:400])
    minimizer = Minimizer(fitted, 0.8, confidence=None).fit(BREAST.iloc[400:])
    assert minimizer.agreement(BREAST.iloc[400:]) > 0.8
    assert minimizer.ncp_ > 0


def convert_to_onnx(model, sample, **more):
    pytest.importorskip("onnxruntime")
    return pytest.importorskip("skl2onnx").to_onnx(model, sample, **more)


FOREST = RandomForestClassifier(5, random_state=0).fit(BREAST.to_numpy().astype(np.float32), ILL)
NARROW = BREAST.astype(np.float32)


@pytest.fixture
def onnx_file(tmp_path):
    path = tmp_path / "model.onnx"
    made = convert_to_onnx(FOREST, NARROW.to_numpy()[:1], options={"zipmap": False})
    path.write_bytes(made.SerializeToString())
    return path


def test_models_of_onnx_need_no_trust(onnx_file):
    model = load_model(onnx_file)
    expected = FOREST.predict(NARROW.to_numpy())
    for asked in (model, pickle.loads(pickle.dumps(model))):
        for data in (NARROW, pl.from_pandas(NARROW), NARROW.to_numpy()):
            np.testing.assert_array_equal(BlackBox(asked).predict(data), expected)
    np.testing.assert_allclose(
        model.predict_proba(NARROW), FOREST.predict_proba(NARROW.to_numpy()), atol=1e-5
    )
    with pytest.raises(InputError, match="takes 6 columns, and the rows have 5"):
        model.predict(NARROW.iloc[:, 1:])


def test_models_of_onnx_with_an_input_for_each_column():
    pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame(
        {"size": NARROW["mean radius"], "word": np.where(NARROW["mean area"] > 600, "a", "b")}
    )
    encoder = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    fitted = make_pipeline(encoder, DecisionTreeClassifier(max_depth=2)).fit(frame, ILL)
    types = [("size", FloatTensorType([None, 1])), ("word", StringTensorType([None, 1]))]
    box = BlackBox(convert_to_onnx(fitted, None, initial_types=types))
    np.testing.assert_array_equal(box.predict(frame), fitted.predict(frame))
    with pytest.raises(InputError, match="has an input 'word', and the rows have no such column"):
        box.predict(frame[["size"]])


def test_a_session_of_onnxruntime_is_asked_too(onnx_file):
    session = pytest.importorskip("onnxruntime").InferenceSession(onnx_file)
    assert np.mean(BlackBox(session).predict(NARROW) == ILL) > 0.9


def test_what_is_no_model_of_onnx_says_so(tmp_path):
    pytest.importorskip("onnxruntime")
    wrong = tmp_path / "wrong.onnx"
    wrong.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="cannot be read as a model of ONNX"):
        load_model(wrong)


@pytest.mark.parametrize("name", ["model.joblib", "model.pkl", "model.pickle"])
def test_a_pickle_is_loaded_only_on_trust(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(pickle.dumps(FOREST))
    with pytest.raises(RecipeError, match="loading it runs whatever code"):
        load_model(path)
    assert load_model(path, trust=True).n_features_in_ == 6


class Boom:
    def __reduce__(self):
        return (sys.exit, (7,))


def test_without_trust_no_code_of_the_file_runs(tmp_path):
    path = tmp_path / "boom.pkl"
    path.write_bytes(pickle.dumps(Boom()))
    with pytest.raises(RecipeError):
        load_model(path)
    with pytest.raises(SystemExit):
        load_model(path, trust=True)


def test_boosters_come_from_their_own_files_without_trust(tmp_path):
    train_xgboost(BREAST, ILL, objective="binary:logistic").save_model(tmp_path / "model.json")
    train_lightgbm(BREAST, ILL, objective="binary").save_model(tmp_path / "model.txt")
    for name in ("model.json", "model.txt"):
        assert np.mean(BlackBox(load_model(tmp_path / name)).predict(BREAST) == ILL) > 0.9
    (tmp_path / "wrong.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be read as a booster of xgboost"):
        load_model(tmp_path / "wrong.json")


def test_functions_of_modules(tmp_path, monkeypatch):
    (tmp_path / "service_of_test.py").write_text("def ask(rows):\n    return [0] * len(rows)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert BlackBox(load_model("service_of_test:ask")).predict(IRIS).sum() == 0
    with pytest.raises(InputError, match="cannot be imported"):
        load_model("service_of_test:answer")


@pytest.mark.parametrize(("name", "message"), [("m.h5", "ends in .onnx"), ("absent.onnx", "no such file")])
def test_what_is_no_model_is_said(name, message):
    with pytest.raises((RecipeError, InputError), match=message):
        load_model(name)


def test_a_model_of_a_file_gets_the_rows_that_it_was_trained_on():
    rows = pl.from_pandas(IRIS)
    by_name = LogisticRegression(max_iter=500).fit(IRIS.iloc[:, [2, 0]], KIND)
    assert np.mean(TableModel(by_name).predict(rows) == KIND) > 0.9
    by_place = make_pipeline(StandardScaler(), LogisticRegression()).fit(IRIS.to_numpy(), KIND)
    assert np.mean(TableModel(by_place).predict(rows) == KIND) > 0.9
    with pytest.raises(InputError, match="takes 4 columns, and there are 3"):
        TableModel(by_place).predict(rows[:, 1:])
    with pytest.raises(InputError, match="trained on a column 'petal length"):
        TableModel(by_name).predict(rows[:, :2])


def test_labels_must_be_those_of_the_model():
    fitted = DecisionTreeClassifier().fit(IRIS, KIND)
    with pytest.raises(InputError, match="the model predicts '0', '1', '2' and the labels are 'a'"):
        wrap_fitted(fitted, IRIS, np.array(["a"] * 150))


def test_labels_take_the_type_of_the_predictions():
    by_text = DecisionTreeClassifier().fit(IRIS, KIND.astype(str).to_numpy())
    assert wrap_fitted(by_text, IRIS, KIND.to_numpy())[2].dtype.kind == "U"
    by_number = DecisionTreeClassifier().fit(IRIS, KIND)
    model, predicted, labels = wrap_fitted(by_number, IRIS, KIND.astype(str).to_numpy(object))
    assert labels.dtype == predicted.dtype
    assert model.score(IRIS, labels) == 1
    is_first = KIND == 0
    model, _, labels = wrap_fitted(
        DecisionTreeClassifier().fit(IRIS, is_first * 1), IRIS, is_first.to_numpy()
    )
    assert model.score(IRIS, labels) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["function", "xgboost", "onnx"])
def test_searching_with_any_black_box(kind, onnx_file):
    models = {
        "function": lambda: lambda rows: (np.asarray(rows)[:, 2] < 90).astype(int),
        "xgboost": lambda: train_xgboost(NARROW, ILL, objective="binary:logistic"),
        "onnx": lambda: load_model(onnx_file),
    }
    search = PrivacySearch(
        fitted=models[kind](),
        protocol="minimize",
        k=5,
        l=3,
        quasi=["mean texture", "mean perimeter"],
        sensitive=["mean radius"],
        splits=1,
    ).fit(NARROW.iloc[:250], ILL[:250])
    assert search.results_["status"].to_list() == ["done"]
    assert search.best_score_ > 0.8
    assert search.predict(NARROW).shape == (569,)
