"""Columns that are released as means of classes, beside columns that are generalised."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli import app
from shoal.errors import RecipeError
from shoal.recipes.equivalent import command_line, python_snippet
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})


def people(rows: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "income": rng.lognormal(10, 1, rows).round(2),
            "born": [date(1950, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 9000, rows)],
            "job": rng.choice(JOBS.leaves, rows),
            "ill": rng.choice(["flu", "gout", "cold"], rows),
        }
    )


def release(frame, **given):
    asked = {"quasi": ["age", "income", "job"], "sensitive": ["ill"], "others": "drop", "k": 5}
    return shoal.anonymize(frame, **{**asked, "hierarchies": {"job": JOBS}, "mean": ["income"], **given})


@pytest.mark.parametrize("algorithm", ["mondrian", "auto", "cluster", "hilbert", "peel", "suppress"])
def test_numbers_are_means_of_the_rows_that_look_alike(algorithm):
    frame = people()
    made = release(frame, algorithm=algorithm)
    assert made.frame.schema["income"] == pl.Float64
    assert made.frame.schema["age"] == made.frame.schema["job"] == pl.String
    assert made.frame["job"].is_in(["manual", "office", "*", *JOBS.leaves]).all()
    # By the release alone: rows that are equal have the mean of what they had.
    both = made.frame.with_columns(frame["income"].alias("was"))
    classes = both.group_by("age", "income", "job").agg(pl.len(), pl.col("was").mean())
    assert classes["len"].min() >= 5
    np.testing.assert_allclose(classes["income"], classes["was"], rtol=1e-9)
    assert made.frame["income"].mean() == pytest.approx(frame["income"].mean())
    asked = {"quasi": ["age", "income", "job"], "k": 5, "hierarchies": {"job": JOBS}}
    assert shoal.verify(made.frame, **asked).holds
    assert not shoal.verify(made.frame, **{**asked, "k": made.report.smallest_class + 1}).holds


def test_all_models_and_full_domain_recoding():
    asked = {"algorithm": "lattice", "models": ["distinct-l(l=2)"], "suppress": 0.2, "loss": "squared-error"}
    made = release(people(), quasi=["income", "job"], **asked)
    assert 0 < made.report.loss["value"] < 1
    assert all(model.holds for model in made.report.models)


def test_types_and_dates():
    frame = people()
    quasi = ["age", "born", "job"]
    made = release(frame, quasi=quasi, mean=["age", "born"])
    assert dict(made.frame.schema) == {
        "age": pl.Int64, "born": pl.Date, "job": pl.String, "ill": pl.String
    }  # fmt: skip
    recipe = made.recipe
    assert shoal.Recipe.from_dict(recipe.to_dict()).mean == ("age", "born")
    assert made.recipe.schema(frame.schema) == made.frame.schema


def test_on_the_command_line(tmp_path):
    people().write_csv(tmp_path / "in.csv")
    arguments = [
        "anonymize", str(tmp_path / "in.csv"), "-q", "age,income,job", "-s", "ill", "--others", "drop",
        "-k", "5", "--mean", "income", "--mean", "age", "-o", str(tmp_path / "out.csv"), "--quiet",
        "--recipe-out", str(tmp_path / "r.toml"),
    ]  # fmt: skip
    assert CliRunner().invoke(app, arguments).exit_code == 0
    out = pl.read_csv(tmp_path / "out.csv")
    assert out.schema["income"] == pl.Float64 and out.schema["age"] == pl.Int64
    assert out.group_by("age", "income", "job").len()["len"].min() >= 5
    recipe = shoal.Recipe.load(tmp_path / "r.toml")
    assert recipe.mean == ("income", "age")
    assert "--mean income --mean age" in " ".join(command_line(recipe).replace("\\", "").split())
    assert "mean=['income', 'age']" in python_snippet(recipe)


def test_it_is_microaggregation_if_every_column_is_a_mean():
    frame = people().select("age", "income")
    asked = {"quasi": ["age", "income"], "k": 3, "loss": "squared-error"}
    ranges = shoal.anonymize(frame, **asked, algorithm="cluster")
    means = shoal.anonymize(frame, **asked, algorithm="cluster", mean=["age", "income"])
    assert means.report.loss["value"] < ranges.report.loss["value"]
    same = shoal.anonymize(frame, **asked, algorithm="microaggregate")
    again = shoal.anonymize(frame, **asked, algorithm="microaggregate", mean=["age"])
    assert same.frame.equals(again.frame)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"mean": ["ill"]}, "not among 'age'"),
        ({"mean": ["job"]}, "'job' has no mean"),
        ({"mean": ["income"], "top": {"income": "5%"}}, "beyond an edge"),
        ({"render": "representative"}, "render is 'label'"),
        ({"k": None, "models": ["k-of-any(m=2,k=5)"]}, "goals about some of the columns"),
        ({"k": None, "models": [shoal.KMap(2, people())]}, "a population"),
        ({"person": "ill", "sensitive": [], "pseudonym": True}, "pseudonyms"),
        ({"mean": "income"}, "mean"),
    ],
)
def test_what_is_refused(given, why):
    with pytest.raises(RecipeError, match=why):
        release(people(), **given)


def test_missing_values_have_no_mean(tmp_path):
    frame = people().with_columns(
        pl.when(pl.col("age") > 80).then(None).otherwise(pl.col("income")).alias("income")
    )
    with pytest.raises(RecipeError, match="has missing values"):
        release(frame)
    assert release(frame, missing="drop").frame["income"].null_count() == 0
    with pytest.raises(RecipeError, match="which later rows would change"):
        release(people()).saved_recoding()
