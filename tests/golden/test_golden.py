"""Recipes on the shipped sample, and the reports they must give: every word, and every digit of every figure.

A change of any figure is a change of behaviour. Where it is meant, write the reports anew with::

    python tests/golden/test_golden.py
"""

import json
from pathlib import Path
from typing import Any

import pytest

from shoal.engines.memory import run_in_memory
from shoal.recipes.recipe import Recipe
from shoal.table.samples import sample

FOLDER = Path(__file__).parent
RECIPES = sorted(FOLDER.glob("*.toml"))


def report_of(recipe: Path) -> Any:
    """What a recipe gives, as JSON holds it, without what differs from run to run."""
    plain = run_in_memory(Recipe.from_toml(recipe), sample("hospital")).report.to_dict()
    del plain["seconds"]
    return json.loads(json.dumps(plain))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_gives_its_report(recipe):
    assert report_of(recipe) == json.loads(recipe.with_suffix(".json").read_text("utf-8"))


def test_every_report_has_its_recipe():
    assert {path.stem for path in FOLDER.glob("*.json")} == {path.stem for path in RECIPES} != set()


if __name__ == "__main__":
    for path in RECIPES:
        text = json.dumps(report_of(path), indent=2, ensure_ascii=False)
        path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
