"""The command line and the snippet that stand for a recipe do what it does, byte for byte."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.algorithms import Hilbert, Mondrian
from shoal.api import run
from shoal.cli import command
from shoal.equivalent import command_line, python_snippet
from shoal.hierarchies import Hierarchy, write_hierarchy
from shoal.privacy import DistinctL, KAnonymity, TCloseness
from shoal.recipe import Recipe
from shoal.table import ReadOptions

ROWS = [
    f"{20 + i % 30};{'abcd'[i % 4]};{['small', 'large', 'huge'][i % 3]};x{i % 5};n{i}" for i in range(120)
]
BASE = Recipe(
    quasi=("age", "job, now"),
    sensitive=("illness",),
    identifier=("name",),
    plain=("size",),
    models=(KAnonymity(4), DistinctL(2)),
    input="people.csv",
    output="out.csv",
    algorithm=Mondrian(),
)
RECIPES = {
    "plain": BASE,
    "parameters": replace(BASE, algorithm=Mondrian(mode="relaxed", cut="nearest"), loss="certainty", seed=3),
    "models": replace(BASE, models=(KAnonymity(3), TCloseness(0.6, column="illness")), suppress=0.1),
    "columns": replace(
        BASE,
        quasi=("age", "size"),
        plain=("job, now",),
        types={"age": "integer", "size": "ordered"},
        orders={"size": ("small", "large", "huge")},
        weights={"age": 2.0},
        algorithm=Hilbert(),
    ),
    "reading": replace(
        BASE, reading=ReadOptions(delimiter=";", na=("a",)), missing="drop", render="interval", delimiter=","
    ),
    "tree": replace(BASE, trees={"job, now": Hierarchy.from_tree({"low": ["a", "b"], "high": ["c", "d"]})}),
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("\n".join(["age;job, now;size;illness;name", *ROWS, ""]))
    return tmp_path


@pytest.mark.parametrize("name", RECIPES)
def test_they_give_the_same_bytes(folder, name):
    recipe = RECIPES[name]
    run(recipe)
    wanted = Path("out.csv").read_bytes()
    Path("hierarchies").mkdir()
    for column, tree in recipe.trees.items():
        write_hierarchy(tree, Path("hierarchies") / f"{column}.csv")
    Path("out.csv").unlink()
    _, *arguments = shlex.split(command_line(recipe))
    with pytest.raises(SystemExit) as end:
        command([*arguments, "--quiet"])
    assert end.value.code == 0
    assert Path("out.csv").read_bytes() == wanted
    Path("out.csv").unlink()
    Path("recipe.toml").write_text(recipe.to_toml())
    exec(python_snippet(recipe), {})
    assert Path("out.csv").read_bytes() == wanted


def test_only_what_is_said_is_written():
    text = command_line(
        replace(BASE, quasi=("age",), plain=(), algorithm=Recipe(("a",), (KAnonymity(2),)).algorithm)
    )
    assert text == (
        "shoal anonymize people.csv --quasi age --sensitive illness --identifier name -k 4 "
        "--model 'distinct-l(l=2)' -o out.csv"
    )
