"""The examples for other tools run: in this environment, or in one of their own.

These tools are large, and some ask for other versions of what Shoal is tested with. So ``make test-all``
makes an environment for each, in ``out/tools``, and runs its test there.
"""

import importlib.util
import json
import os
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "examples" / "tools"
# What the tests below need besides Shoal, and what these packages install beside each other.
REQUIREMENTS = {
    "airflow": ("apache-airflow>=3.0",),
    "dagster": ("dagster>=1.10",),
    "dbt": ("dbt-duckdb>=1.9", "dbt-core<1.11"),  # the next one is downloaded from elsewhere
    "great_expectations": ("great-expectations>=1.4",),
    "mlflow": ("mlflow-skinny>=3.0",),
}
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


@pytest.mark.slow
def test_great_expectations(monkeypatch):
    monkeypatch.setenv("GX_ANALYTICS_ENABLED", "false")
    pytest.importorskip("great_expectations")
    example = load_example("great_expectations_check")
    visits = VISITS.to_pandas()
    released = example.release_visits(visits, make_recipe())
    assert shoal.verify(released, quasi=["age", "ward"], k=5).holds
    with pytest.raises(ValueError, match="column 'age'"):
        example.release_visits(visits.assign(age=-1), make_recipe())
    with pytest.raises(ValueError, match="column 'rows'"):
        example.expect_classes(visits, ["age", "ward"], 5)


# In a process of its own, as Airflow has a database and threads for the rest of a process.
RUN_AIRFLOW = """
import json, airflow_dag
done = airflow_dag.nightly.test()
tasks = {each.task_id: (each.state, each.try_number) for each in done.get_task_instances()}
print("DONE", json.dumps([done.state, tasks["make_release"]]))
"""


@pytest.mark.slow
def test_airflow(tmp_path, monkeypatch):
    if not importlib.util.find_spec("airflow"):
        pytest.skip("could not import 'airflow'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "dags"))
    shutil.copytree(TOOLS, tmp_path / "dags", ignore=lambda _, names: {*names} - {"airflow_dag.py"})
    visits = tmp_path / "visits"
    visits.mkdir()
    VISITS.write_parquet(visits / "visits.parquet")
    migrate = [Path(sys.executable).with_name("airflow"), "db", "migrate"]
    subprocess.run(migrate, check=True, capture_output=True)

    def run_dag():
        line = [sys.executable, "-c", RUN_AIRFLOW]
        told = subprocess.run(line, capture_output=True, text=True, check=False, timeout=1800)
        (found,) = [each for each in told.stdout.splitlines() if each.startswith("DONE ")]
        return json.loads(found.removeprefix("DONE "))

    make_recipe().save(visits / "recipe.toml")
    assert run_dag() == ["success", ["success", 1]]
    assert shoal.verify(visits / "release.parquet", quasi=["age", "ward"], k=5).holds
    # What another try does not mend is not tried again.
    shoal.Recipe(("age", "ward"), ("k(k=99)",), others="drop").save(visits / "recipe.toml")
    assert run_dag() == ["failed", ["failed", 1]]


@pytest.mark.slow
def test_dbt(tmp_path, monkeypatch):
    monkeypatch.setenv("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
    pytest.importorskip("dbt.adapters.duckdb")
    import duckdb
    from dbt.cli.main import dbtRunner

    folder = tmp_path / "dbt"
    shutil.copytree(TOOLS / "dbt", folder)
    monkeypatch.chdir(folder)
    done = dbtRunner().invoke(["build", "--profiles-dir", "."])
    assert done.success
    assert [str(each.status) for each in done.result] == ["success", "success", "pass"]
    with duckdb.connect("visits.duckdb") as database:
        released = database.sql("select * from release").pl()
    assert released.columns == ["age", "ward", "illness"]
    assert shoal.verify(released, quasi=["age", "ward"], k=5).holds


def make_environment(tool: str) -> Path:
    """The Python of an environment with a tool, and with all that this one has; made once, and kept."""
    folder = ROOT / "out" / "tools" / tool
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = " ".join(REQUIREMENTS[tool])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    venv.create(folder, with_pip=True, clear=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    lines = [f"import site; site.addsitedir({each!r})" for each in site.getsitepackages()]
    (packages / "shared.pth").write_text("\n".join(lines))
    line = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *REQUIREMENTS[tool]]
    told = subprocess.run(line, capture_output=True, text=True, check=False)
    if told.returncode:
        pytest.skip(f"NOT TESTED: pip could not install {wanted}: {told.stderr.strip().splitlines()[-1]}")
    stamp.write_text(wanted)
    return python


@pytest.mark.exhaustive
@pytest.mark.parametrize("tool", REQUIREMENTS)
def test_in_an_environment_of_its_own(tool):
    python = make_environment(tool)
    # Warnings of these tools are not about Shoal.
    line = [python, "-m", "pytest", "-q", "-o", "filterwarnings=default", "-p", "no:cacheprovider"]
    test = f"{Path(__file__).relative_to(ROOT)}::test_{tool}"
    path = os.pathsep.join((str(python.parent), os.environ["PATH"]))
    told = subprocess.run(
        [*line, test], cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout[-4000:]
    assert "1 passed" in told.stdout
