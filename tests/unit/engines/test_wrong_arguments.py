"""Whatever somebody passes, the error is one of ours: it says what is accepted."""

import polars as pl
import pytest

import shoal
from shoal.errors import RecipeError, ShoalError
from shoal.recipes.settings import list_settings

PEOPLE = pl.DataFrame({"age": [21, 24, 28, 30, 33, 39], "sex": list("mfmfmf")})
RECIPE = shoal.Recipe(("age",), (shoal.KAnonymity(3),), others="keep")
ODD = (
    5,
    -1,
    2.5,
    True,
    None,
    "x",
    "",
    b"x",
    (),
    [],
    ["x"],
    [5],
    [None],
    {},
    {"x": 1},
    {"age": None},
    {5: 5},
    object(),
)


class MyGoal(shoal.KAnonymity):
    pass


class MySearch(shoal.Mondrian):
    pass


@pytest.mark.parametrize(
    "call",
    [
        lambda: shoal.run("nowhere.toml"),
        lambda: shoal.run(RECIPE, None),
        lambda: shoal.run(None),
        lambda: shoal.run(5),
        lambda: shoal.run(RECIPE, 5),
        lambda: shoal.run(RECIPE, [1, 2]),
        lambda: shoal.run(RECIPE, {"age": [1, 2, 3]}),
        lambda: shoal.anonymize(PEOPLE, quasi="age", k=2),
        lambda: shoal.anonymize(PEOPLE, quasi=["age"], models=[{"k": 5}]),
        lambda: shoal.anonymize(PEOPLE, quasi=["age"], models=[MyGoal(2)], others="keep"),
        lambda: shoal.anonymize(PEOPLE, quasi=["age"], k=2, algorithm=shoal.Mondrian),
        lambda: shoal.anonymize(PEOPLE, quasi=["age"], k=2, algorithm=MySearch(), others="keep"),
        lambda: shoal.anonymize(PEOPLE, quasi=["age"], k=2, on_progress=5),
        lambda: shoal.Recipe(("age",), models="k(k=5)"),
        lambda: shoal.Recipe(("age",), models=shoal.KAnonymity(3)),
        lambda: shoal.Recipe(("age",), models=[shoal.KAnonymity]),
        lambda: shoal.Recipe.from_dict(5),
        lambda: shoal.Recipe.load("nowhere.toml"),
        lambda: RECIPE.schema({"age": "int"}),
        lambda: RECIPE.schema(None),
    ],
)
def test_the_list_of_what_was_untyped(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ShoalError):
        call()


@pytest.mark.parametrize("name", sorted(each.name for each in list_settings() if each.name != "edition"))
def test_a_recipe_takes_a_value_or_says_what_is_wrong_with_it(name):
    for value in ODD:
        try:
            made = shoal.Recipe(**{"quasi": ("age",), "models": ("k(k=2)",), **{name: value}})
        except ShoalError:
            continue
        assert hash(made) == hash(made)
        assert made.to_toml()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(set(shoal.anonymize.__kwdefaults__) - {"output", "engine", "on_progress"})
)
def test_an_argument_is_taken_or_refused_by_name(name):
    for value in ODD:
        given = {"quasi": ["age"], "k": 2, "others": "keep", "algorithm": "mondrian", name: value}
        try:
            shoal.anonymize(PEOPLE, **given)
        except ShoalError:
            continue


def test_texts_of_models_and_algorithms_are_accepted():
    recipe = shoal.Recipe(("age",), models=["k(k=5)"], algorithm="mondrian(cut=nearest)")
    assert recipe == shoal.Recipe(("age",), (shoal.KAnonymity(5),), algorithm=shoal.Mondrian(cut="nearest"))


def test_there_is_no_module_that_is_called_as_a_function():
    with pytest.raises(ModuleNotFoundError):
        __import__("shoal.run")
    assert callable(shoal.run)


def test_settings_cannot_be_changed_afterwards():
    weights = {"age": 2.0}
    recipe = shoal.Recipe(("age",), (shoal.KAnonymity(3),), weights=weights)
    weights["age"] = 3.0
    assert dict(recipe.weights) == {"age": 2.0}
    with pytest.raises((TypeError, RecipeError)):
        recipe.weights["age"] = 3.0  # type: ignore[index]
