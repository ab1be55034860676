"""The hook for repositories, and the action for pipelines."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from shoal.cli.hook import verify_files

ROOT = Path(__file__).parents[2]
RECIPE = '[shoal]\nrecipe = 2\n[columns]\nquasi = ["age"]\n[goal]\nmodels = ["k(k=2)"]\n'


@pytest.fixture
def releases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("recipe.toml").write_text(RECIPE)
    for name, ages in (("good", ["a", "a"]), ("better", ["b"] * 3), ("bad", ["a", "b"])):
        pl.DataFrame({"age": ages}).write_csv(f"{name}.csv")


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (["good.csv"], 0),
        (["good.csv", "better.csv"], 0),
        (["good.csv", "bad.csv", "better.csv"], 3),
        (["nowhere.csv", "good.csv"], 2),
        ([], 0),
    ],
)
def test_every_file_is_counted(releases, files, code, capsys):
    assert verify_files(["--recipe", "recipe.toml", "--quiet", "--", *files]) == code
    said = capsys.readouterr().err
    assert ("bad.csv: the goal does not hold" in said) == ("bad.csv" in files)


def test_options_end_with_two_strokes(capsys):
    assert verify_files(["--recipe", "recipe.toml", "good.csv"]) == 2
    assert "end the options with --" in capsys.readouterr().err


def test_the_hook_is_one_that_pre_commit_takes(releases):
    pytest.importorskip("pre_commit")
    from pre_commit.clientlib import load_manifest

    (hook,) = load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))
    line = [sys.executable, *hook["entry"].split()[1:], "--recipe", "recipe.toml", "--quiet", "--", "bad.csv"]
    assert subprocess.run(line, check=False, capture_output=True).returncode == 3


@pytest.mark.slow
@pytest.mark.parametrize(("files", "code"), [("good.csv better.csv", 0), ("good.csv\nbad.csv", 3)])
def test_the_steps_of_the_action(releases, files, code):
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    given = {"releases": files, "recipe": "recipe.toml", "options": "--quiet", "install": ""}
    assert set(action["inputs"]) == set(given)
    for step in action["runs"]["steps"]:
        texts = {name: text.removeprefix("${{ inputs.") for name, text in step["env"].items()}
        named = {name: given[text.removesuffix(" }}")] for name, text in texts.items()}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], env={**os.environ, **named, "PATH": path}, check=False
        )
    assert done.returncode == code
