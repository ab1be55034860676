"""Models on the command line."""

import json

import pytest
from typer.testing import CliRunner

from shoal.cli import app

AGES = [21, 22, 23, 24, 35, 36, 37, 38]
ILLNESSES = ["flu", "flu", "cold", "cold", "flu", "ulcer", "flu", "cold"]


@pytest.fixture
def people(tmp_path):
    rows = zip(AGES, ILLNESSES, strict=True)
    lines = ["age,illness,pay", *(f"{age},{illness},{pay}" for pay, (age, illness) in enumerate(rows))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "illness.csv").write_text("flu;lungs;*\ncold;lungs;*\nulcer;stomach;*\n")
    return tmp_path


def shoal(*arguments) -> dict:
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code in (0, 3), done.output
    return json.loads(done.stdout) | {"exit": done.exit_code}


ROLES = ("--quasi", "age", "--sensitive", "illness")


def test_t_has_a_short_form(people):
    table, release = people / "people.csv", people / "release.csv"
    made = shoal("anonymize", table, "-o", release, *ROLES, "--plain", "pay", "-k", 2, "--t", 0.4)
    assert [(model["name"], model["asked"]) for model in made["models"]] == [
        ("k", {"k": 2}),
        ("t", {"t": 0.4, "distance": "equal", "column": "illness"}),
    ]
    found = shoal("verify", release, *ROLES, "--t", 0.4)
    assert (found["exit"], found["models"]) == (0, made["models"][1:])
    assert shoal("verify", release, *ROLES, "--t", 0.01)["exit"] == 3


def test_verify_takes_what_a_distance_needs(people):
    table, release, recipe = (people / name for name in ("people.csv", "release.csv", "recipe.toml"))
    goal = ("--model", "t(t=0.3,distance=hierarchical)")
    trees = ("--hierarchies", people / "illness.csv")
    made = shoal(
        "anonymize", table, "-o", release, *ROLES, "--plain", "pay", *goal, *trees, "--recipe-out", recipe
    )
    assert shoal("verify", release, *ROLES, *goal, *trees)["models"] == made["models"]
    assert shoal("verify", release, "--recipe", recipe)["models"] == made["models"]
    ordered = ("--model", "t(t=0.9,distance=ordered)", "--order", "illness=cold,flu,ulcer")
    assert shoal("verify", release, *ROLES, *ordered)["holds"]


def test_an_infinite_parameter_is_null(people):
    found = shoal("verify", people / "people.csv", *ROLES, "--model", "delta-disclosure(delta=9)")
    assert found["models"][0]["achieved"] is None
