"""Recipes, saved classes and releases that earlier versions wrote: the same bytes come out today.

``0.1.0/`` was written by that version, from the first 240 patients of the sample and the 60 after them::

    shoal anonymize patients.csv -q age,sex,postcode -s diagnosis --identifier patient_id,name \\
        -k 5 --l 3 -a mondrian -o mondrian.csv --recipe-out mondrian.toml --recoding-out classes.json
    shoal apply classes.json later.csv --earlier mondrian.csv --suppress 1 -o later-release.csv

and the other recipes by the goals and algorithms that stand in them.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

FOLDERS = sorted(path for path in Path(__file__).parent.iterdir() if (path / "classes.json").exists())
RECIPES = [recipe for folder in FOLDERS for recipe in sorted(folder.glob("*.toml"))]


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*line: str) -> str:
    """What a command says."""
    done = subprocess.run([sys.executable, "-m", "shoal", *line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recipe_gives_the_same_release(recipe, place):
    shutil.copytree(recipe.parent, place, dirs_exist_ok=True)
    released = place / f"{recipe.stem}.csv"
    released.unlink()
    warned = call("run", recipe.name)
    assert released.read_bytes() == (recipe.parent / released.name).read_bytes()
    assert "W01" in warned  # columns without a role are kept, as they were then


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_saved_classes_take_later_rows_as_they_did(folder, place):
    line = ("apply", "classes.json", "later.csv", "--earlier", "mondrian.csv", "--suppress", "1")
    shutil.copytree(folder, place, dirs_exist_ok=True)
    call(*line, "--others", "keep", "-o", "again.csv")
    assert (place / "again.csv").read_bytes() == (folder / "later-release.csv").read_bytes()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_release_still_verifies(recipe):
    found = shoal.Recipe.from_toml(recipe)
    released = recipe.with_suffix(".csv")
    assert shoal.verify(released, quasi=found.quasi, sensitive=found.sensitive, models=found.models).holds
