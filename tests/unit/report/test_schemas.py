"""JSON Schemas: what is written satisfies them, and what is wrong does not."""

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.report.schemas import SCHEMA_NAMES, describe_json

jsonschema = pytest.importorskip("jsonschema")
ROOT = Path(__file__).parents[3]
PEOPLE = pl.DataFrame({"age": [21, 24, 28, 30, 33, 39], "s": list("ababab")})


def make_validator(name: str):
    schema = describe_json(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("people.csv")


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_a_schema_is_one_and_the_command_prints_it(name, capsys):
    make_validator(name)
    assert run_to_end(run_command_line, ["--schema", name])[0] == 0
    assert json.loads(capsys.readouterr().out) == describe_json(name)


def test_an_unknown_schema_is_wrong_usage(capsys):
    assert run_to_end(run_command_line, ["--schema", "nothing"])[0] == 2


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "report",
            ("anonymize", "people.csv", "-q", "age", "-s", "s", "-k", "3", "--l", "2", "-o", "out.csv"),
        ),
        ("report", ("anonymize", "people.csv", "-q", "age", "-s", "s", "-k", "2", "-a", "mingen")),
        ("verification", ("verify", "people.csv", "-q", "age", "-s", "s", "-k", "3")),
        ("risk", ("risk", "people.csv", "-q", "age,s")),
        ("error", ("anonymize", "people.csv", "-q", "age", "-s", "s", "-k", "99")),
        ("error", ("anonymize", "nowhere.csv", "-q", "age", "-k", "2")),
        ("error", ("anonymize", "people.csv", "-q", "agee", "-k", "2")),
        ("error", ("anonymize", "people.csv", "--nonsense")),
        ("error", ("verify", "people.csv", "-q", "age")),
    ],
)
def test_what_is_printed_satisfies_its_schema(name, line, table, capsys):
    run_to_end(run_command_line, [*line, "--json"])
    printed = json.loads(capsys.readouterr().out)
    make_validator(name).validate(printed)
    for other in set(SCHEMA_NAMES) - {name, "recipe"}:
        if (other, name) != ("verification", "report"):
            assert not make_validator(other).is_valid(printed), other


def list_recipes() -> list[Path]:
    return sorted((ROOT / "tests/compatibility").glob("*/*.toml"))


@pytest.mark.parametrize("path", list_recipes(), ids=lambda path: path.stem)
def test_recipes_of_earlier_versions_satisfy_the_schema(path):
    make_validator("recipe").validate(tomllib.loads(path.read_text("utf-8")))


def test_the_recipe_with_every_setting_satisfies_the_schema():
    page = (ROOT / "docs/recipes.md").read_text("utf-8")
    text = page.split('title="recipe.toml"', 1)[1].split("\n", 1)[1].split("```", 1)[0]
    make_validator("recipe").validate(tomllib.loads(text))


@pytest.mark.parametrize(
    "change",
    [
        {"nonsense": {}},
        {"goal": {"models": "k(k=5)"}},
        {"goal": {"suppress": 2}},
        {"columns": {"quasi": "age"}},
        {"columns": {"others": "perhaps"}},
        {"table": {"headr": True}},
        {"shoal": {"recipe": 99}},
    ],
)
def test_a_wrong_recipe_does_not_satisfy_it(change):
    recipe = shoal.Recipe(("age",), (shoal.KAnonymity(3),), others="keep").to_dict()
    validator = make_validator("recipe")
    validator.validate(recipe)
    assert not validator.is_valid({**recipe, **change})
