"""``shoal attack``."""

import json

import numpy as np
import pytest

ROLES = ("-q", "age,sex", "-s", "ill")


@pytest.fixture
def tables(write):
    """An original, and people who are not in it."""
    rng = np.random.default_rng(0)

    def rows(count):
        lines = zip(
            rng.integers(20, 80, count), rng.choice(["f", "m"], count), rng.integers(0, 3, count), strict=True
        )
        return "age,sex,ill\n" + "".join(f"{age},{sex},ill {ill}\n" for age, sex, ill in lines)

    return write("own.csv", rows(300)), write("others.csv", rows(200))


@pytest.fixture
def released(shoal, tables):
    shoal.succeeds(
        "anonymize", tables[0], *ROLES, "-k", 10, "-o", "r.csv", "--recipe-out", "recipe.toml", "--quiet"
    )
    return "r.csv"


@pytest.mark.slow
def test_figures_and_verdicts(shoal, tables, released):
    out = shoal.succeeds("attack", released, "--original", tables[0], "--control", tables[1], *ROLES)
    assert "r.csv under attack: 300 people of the original, 200 who are not in it" in out
    for name in (
        "linkage",
        "partial linkage",
        "singling out",
        "homogeneity: ill",
        "inference: ill",
        "membership",
    ):
        assert out.count(f"  {name} ") >= 2
    assert "95% confidence intervals" in out
    assert "being in the release adds" in out or "no sign" in " ".join(out.split())


def test_json(shoal, tables, released):
    arguments = (
        "attack",
        released,
        "--original",
        tables[0],
        "--control",
        tables[1],
        "--recipe",
        "recipe.toml",
    )
    out = shoal.succeeds(*arguments, "--attacks", 50, "--seed", 3, "--json")
    found = json.loads(out)
    assert list(found) == [
        "rows",
        "people",
        "control",
        "seed",
        "confidence",
        "family",
        "columns",
        "attacks",
        "combinations",
    ]
    assert found["columns"] == ["age", "sex", "ill"]
    shown = found["combinations"]
    assert (shown["quasi"], shown["of_people"], shown["of_control"]) == (["age", "sex"], 300, 200)
    assert 0 < shown["alone"] <= shown["exact"] == shown["shown"] <= shown["people"] <= 300
    assert (found["rows"], found["people"], found["control"], found["seed"]) == (300, 50, 50, 3)
    linkage = found["attacks"][0]
    assert linkage["name"] == "linkage"
    assert linkage["rate"]["low"] <= linkage["rate"]["value"] <= linkage["rate"]["high"] < 0.6
    assert set(linkage["risk"]) == {"value", "low", "high"}
    assert linkage["verdict"].startswith("succeeds")
    assert shoal.succeeds(*arguments, "--attacks", 50, "--seed", 3, "--json") == out


def test_exact_combinations_are_counted_on_the_terminal(shoal, tables, released):
    arguments = ("attack", released, "--original", tables[0], "--control", tables[1], *ROLES)
    shown = json.loads(shoal.succeeds(*arguments, "--json"))["combinations"]
    out = " ".join(shoal.succeeds(*arguments).split())
    assert f"without an attack: {shown['exact']:,} exact combinations of age, sex can be read off" in out
    assert f"{shown['people']} ({shown['people'] / 3:.1f} %) of 300 people of the original" in out
    assert f"{shown['control']} ({shown['control'] / 2:.1f} %) of 200 people of the control group" in out
    assert "k hides which row is whose, not who is in the table" in out


@pytest.fixture
def with_cost(shoal, write):
    """A release with a plain column in which everybody has a value of their own."""
    rows = "".join(f"{20 + i % 7},{'fm'[i % 2]},ill {i % 3},{i}.50\n" for i in range(200))
    write("own.csv", f"age,sex,ill,cost\n{rows}")
    shoal.succeeds("anonymize", "own.csv", *ROLES, "--plain", "cost", "-k", 5, "-o", "r.csv", "--quiet")
    return ("attack", "r.csv", "--original", "own.csv", *ROLES)


@pytest.mark.slow
def test_singling_out_looks_at_all_released_columns(shoal, with_cost):
    def share(*more):
        found = json.loads(shoal.succeeds(*with_cost, *more, "--json"))
        outcome = next(each for each in found["attacks"] if each["name"] == "singling out")
        return found["columns"], outcome["rate"]["value"]

    columns, every = share()
    assert columns == ["age", "sex", "ill", "cost"]
    assert every > 0.5
    assert share("--columns", "cost") == (["cost"], 1.0)
    columns, few = share("--columns", "age,sex,ill")
    assert columns == ["age", "sex", "ill"]
    assert few == 0.0
    assert "cells are those of age, sex, ill, cost" in " ".join(shoal.succeeds(*with_cost).split())


def test_without_control_it_says_what_is_missing(shoal, tables, released):
    out = shoal.succeeds("attack", released, "--original", tables[0], *ROLES)
    assert "no control group" in out
    assert "--control FILE" in out


def test_a_part_held_out(shoal, tables, released):
    out = shoal.succeeds(
        "attack", "--original", tables[0], "--recipe", "recipe.toml", "--holdout", 0.3, "--json"
    )
    found = json.loads(out)
    assert (found["rows"], found["control"]) == (210, 90)


def test_quiet(shoal, tables, released):
    assert shoal.succeeds("attack", released, "--original", tables[0], *ROLES, "--quiet") == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("r.csv", *ROLES), "--original FILE"),
        (("--original", "own.csv", *ROLES), "name the release to attack"),
        (("r.csv", "--original", "own.csv"), "say which columns"),
        (("r.csv", "--original", "own.csv", *ROLES, "--recipe", "recipe.toml"), "not both"),
        (("r.csv", "--original", "own.csv", *ROLES, "--holdout", 0.2), "give --recipe, but neither"),
        (("--original", "own.csv", "--recipe", "recipe.toml", "--holdout", 2), "between 0 and 1"),
        (("r.csv", "--original", "own.csv", *ROLES, "--attacks", 0), "1 or more"),
        (("r.csv", "--original", "nothing.csv", *ROLES), "nothing.csv"),
        (("r.csv", "--original", "own.csv", "-q", "age,sey"), "did you mean 'sex'"),
        (("own.csv", "--original", "r.csv", *ROLES), "cannot tell which values"),
        (("r.csv", "--original", "own.csv", *ROLES, "--columns", "agee"), "did you mean 'age'"),
    ],
)
def test_bad_usage(shoal, tables, released, arguments, said):
    assert said in shoal.fails(2, "attack", *arguments)
