"""Roles as annotations of dataclasses, models and typed dictionaries."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Optional, TypedDict

import polars as pl
import pytest

import shoal
from shoal.errors import RecipeError

GOAL = {"models": ("k(k=2)",), "others": "drop"}


@dataclass
class Patient:
    patient: Annotated[str, shoal.Person()]
    name: Annotated[str, shoal.Identifier]
    age: Annotated[int, shoal.Quasi(weight=2, top=90)]
    size: Annotated[str, shoal.Quasi(order=("S", "M", "L"))]
    job: Annotated[str | None, shoal.Quasi(hierarchy=[("a", "*"), ("b", "*")])]
    day: Annotated[Optional[date], shoal.Quasi()]  # noqa: UP045 both ways are written
    illness: Annotated[str, shoal.Sensitive()]
    cost: Annotated[float, shoal.Plain()]
    note: str


def test_all_that_a_class_says():
    recipe = shoal.Recipe.from_annotations(Patient, **GOAL)
    assert recipe.quasi == ("age", "size", "job", "day")
    assert (recipe.sensitive, recipe.identifier, recipe.plain) == (("illness",), ("name",), ("cost",))
    assert recipe.person == "patient"
    assert dict(recipe.types) == {"age": "integer", "day": "date"}
    assert dict(recipe.orders) == {"size": ("S", "M", "L")}
    assert (dict(recipe.weights), dict(recipe.top)) == ({"age": 2.0}, {"age": "90"})
    assert list(recipe.trees) == ["job"]
    assert shoal.Recipe.from_dict(recipe.to_dict()) == recipe


def test_a_recipe_of_annotations_runs():
    class Person(TypedDict):
        age: Annotated[int, shoal.Quasi()]
        cost: Annotated[float, shoal.Plain()]

    people = pl.DataFrame({"age": [20, 21, 40, 41], "cost": [1.0, 2.0, 3.0, 4.0], "more": list("abcd")})
    release = shoal.run(shoal.Recipe.from_annotations(Person, **GOAL), people)
    assert release.frame.columns == ["age", "cost"]
    assert release.report.smallest_class == 2


def test_a_model_of_pydantic():
    pydantic = pytest.importorskip("pydantic")

    class Person(pydantic.BaseModel):
        age: Annotated[int, shoal.Quasi(), pydantic.Field(ge=0)]
        town: Annotated[str, shoal.Quasi()] = "Alta"

    recipe = shoal.Recipe.from_annotations(Person, **GOAL)
    assert (recipe.quasi, dict(recipe.types)) == (("age", "town"), {"age": "integer", "town": "string"})


def test_a_model_of_pandera():
    pandera = pytest.importorskip("pandera.polars")

    class Person(pandera.DataFrameModel):
        age: Annotated[int, shoal.Quasi()]

    assert shoal.Recipe.from_annotations(Person, **GOAL).quasi == ("age",)


def two_roles():
    class Wrong:
        age: Annotated[int, shoal.Quasi(), shoal.Plain()]

    return Wrong


def two_people():
    class Wrong:
        one: Annotated[int, shoal.Person()]
        other: Annotated[int, shoal.Person()]

    return Wrong


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (two_roles(), "'age' has 2 roles"),
        (two_people(), "several persons"),
        (int, "no roles"),
        (5, "annotations of a class"),
        ("Patient", "annotations of a class"),
    ],
)
def test_what_says_no_roles_is_refused(model, said):
    with pytest.raises(RecipeError, match=said):
        shoal.Recipe.from_annotations(model, **GOAL)


def test_what_annotations_say_is_not_said_twice():
    with pytest.raises(RecipeError, match="follow from the annotations"):
        shoal.Recipe.from_annotations(Patient, **GOAL, quasi=("age",))
