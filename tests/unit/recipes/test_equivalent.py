"""The command line and the snippet that stand for a recipe do what it does, byte for byte."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.mondrian import Mondrian
from shoal.cli import run_command_line
from shoal.engines.api import run
from shoal.privacy import DistinctL, KAnonymity, TCloseness
from shoal.recipes.equivalent import command_line, hierarchy_files, python_snippet
from shoal.recipes.recipe import Recipe
from shoal.table import ReadOptions
from shoal.table.hierarchies import Hierarchy, write_hierarchy

ROWS = [
    f"{20 + i % 30};{'abcd'[i % 4]};{['small', 'large', 'huge'][i % 3]};x{i % 5};n{i};{'dcba'[i % 4]}"
    for i in range(120)
]
BASE = Recipe(
    others="keep",
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
    "decisions": replace(
        BASE,
        others="drop",
        row_order="released",
        fold=(),
        strict=True,
        accept={"unique-rows": "they signed a contract", "spelling:illness": "checked"},
    ),
    "tree with a name that is a path": replace(
        BASE,
        quasi=("age", "../../jobs"),
        plain=("size", "job, now"),
        trees={"../../jobs": Hierarchy.from_tree({"low": ["a", "b"], "high": ["c", "d"]})},
    ),
    "hierarchy in a file": replace(
        BASE, hierarchies=("size=sizes.csv",), quasi=("age", "size"), plain=("job, now",)
    ),
    "formulas": replace(BASE, safe_csv=True, category_order="appearance", threads=1),
    "tree": replace(BASE, trees={"job, now": Hierarchy.from_tree({"low": ["a", "b"], "high": ["c", "d"]})}),
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("\n".join(["age;job, now;size;illness;name;../../jobs", *ROWS, ""]))
    Path("sizes.csv").write_text("small;any\nlarge;any\nhuge;any\n")
    return tmp_path


@pytest.mark.parametrize("name", RECIPES)
def test_they_give_the_same_bytes(folder, name):
    recipe = RECIPES[name]
    run(recipe)
    wanted = Path("out.csv").read_bytes()
    Path("hierarchies").mkdir()
    for column, path in hierarchy_files(recipe).items():
        write_hierarchy(recipe.trees[column], path)
    Path("out.csv").unlink()
    _, *arguments = shlex.split(command_line(recipe))
    with pytest.raises(SystemExit) as end:
        run_command_line([*arguments, "--quiet"])
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
        "--model 'distinct-l(l=2)' --others keep -o out.csv"
    )


def test_everything_that_is_said_is_written():
    recipe = replace(BASE, engine="spark", master="spark://head:7077", driver_rows=5, delimiter="|")
    options = "--out-delimiter '|' --engine spark --master spark://head:7077 --driver-rows 5 -o out.csv"
    assert command_line(recipe).endswith(options)
    arguments = "    engine='spark',\n    master='spark://head:7077',\n    driver_rows=5,\n"
    assert arguments in python_snippet(replace(recipe, delimiter=None))


def test_arguments_say_one_source_of_hierarchies():
    """Several, or some beside trees, are in the recipe's file."""
    one, several = (replace(BASE, hierarchies=sources) for sources in (("trees",), ("trees", "more")))
    assert "    hierarchies='trees',\n" in python_snippet(one)
    assert "from_toml" in python_snippet(several)
    tree = Hierarchy.from_tree({"low": ["a", "b"], "high": ["c", "d"]})
    assert "from_toml" in python_snippet(replace(one, trees={"job, now": tree}))
