"""The examples for other tools run, where these tools are installed."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet

TOOLS = Path(__file__).parents[2] / "examples" / "tools"
VISITS = pl.DataFrame(
    {
        "age": list(range(20, 40)),
        "ward": ["a", "b"] * 10,
        "illness": list("xyzxy") * 4,
        "patient": [f"p{number}" for number in range(20)],
    }
)


def load_example(name: str):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_recipe() -> shoal.Recipe:
    goal = (shoal.KAnonymity(5),)
    return shoal.Recipe(("age", "ward"), goal, sensitive=("illness",), identifier=("patient",))


@pytest.mark.slow
def test_pandera():
    pandera = pytest.importorskip("pandera.polars")
    example = load_example("pandera_check")
    released = example.release_visits(VISITS)
    assert shoal.verify(released, quasi=["age", "ward"], k=5).holds
    with pytest.raises(pandera.errors.SchemaError):
        example.release_visits(VISITS.with_columns(age=pl.lit(-1)))
    recipe = shoal.Recipe.from_annotations(example.Visit, models=("k(k=5)",))
    with pytest.raises(GoalNotMet):
        example.is_anonymous(VISITS, recipe)


@pytest.mark.slow
def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file:{tmp_path / 'runs'}")
    folder = tmp_path / "kept"
    folder.mkdir()
    release = load_example("mlflow_run").log_release(make_recipe(), VISITS, folder)
    (run,) = mlflow.MlflowClient().search_runs(["0"])
    assert run.data.metrics["smallest_class"] == release.report.smallest_class >= 5
    assert run.data.tags["holds.k"] == "True"
    assert "p1" not in str(run.data.to_dictionary())


@pytest.mark.slow
def test_dagster(tmp_path, monkeypatch):
    dagster = pytest.importorskip("dagster")
    example = load_example("dagster_job")
    monkeypatch.setattr(example, "FOLDER", tmp_path)
    VISITS.write_parquet(tmp_path / "visits.parquet")
    make_recipe().save(tmp_path / "recipe.toml")
    done = dagster.materialize([example.release, example.goal_holds])
    assert done.success
    (check,) = done.get_asset_check_evaluations()
    assert check.passed
    assert pl.read_parquet(tmp_path / "release.parquet").columns == ["age", "ward", "illness"]
