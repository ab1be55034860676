"""Losses by survey weights, beside a table in which every row is as often as its weight says."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli import app
from shoal.codespace.loss import LOSSES
from shoal.errors import InputError, RecipeError
from shoal.report.weighted import count_people

QUASI = ["age", "job", "size"]


def survey(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 60, rows),
            "job": rng.choice(["mason", "smith", "clerk", None], rows).tolist(),
            "size": rng.integers(150, 200, rows),
            "weight": rng.integers(1, 9, rows),
        }
    )


# A loss of the original values' frequencies sees other ones; its classes are then others, too.
@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("suppress", [0.0, 0.2])
def test_a_row_counts_as_often_as_its_weight_says(loss, suppress):
    table = survey()
    often = table[np.repeat(np.arange(table.height), table["weight"].to_numpy())]
    settings = {"quasi": QUASI, "others": "keep", "loss": loss, "suppress": suppress}
    made = shoal.anonymize(table, k=3, algorithm="lattice", **settings).report.evidence.recoding
    same = count_people(made, table["weight"].to_numpy().astype(float))
    expected = _recode_in_the_same_way(made, often, table, settings)
    ones = np.ones(3)
    found = LOSSES[loss]().measure(same, ones)
    assert found.value == pytest.approx(LOSSES[loss]().measure(expected, ones).value, rel=1e-9)
    assert same.table.rows == often.height


def _recode_in_the_same_way(made, often, table, settings):
    """The recoding of the repeated rows in which each goes where the one row goes."""
    repeat = np.repeat(np.arange(table.height), table["weight"].to_numpy())
    of_row = made.table.of_row[repeat]
    weight = np.bincount(of_row, minlength=made.table.weight.size)
    size = np.bincount(made.class_of[of_row] + 1, minlength=made.size.size + 1)[1:]
    return replace(made, table=replace(made.table, of_row=of_row, weight=weight), size=size)


def test_fractions_add_up_to_all_people():
    table = survey().with_columns(weight=pl.Series(np.random.default_rng(1).gamma(2, 3.3, 60)))
    made = shoal.anonymize(table, quasi=QUASI, others="keep", k=3).report.evidence.recoding
    found = count_people(made, table["weight"].to_numpy())
    assert found.table.rows == round(table["weight"].sum())
    assert found.suppressed_rows == 0


def test_compare_tells_it():
    table = survey()
    found = shoal.compare(
        table, quasi=QUASI, algorithms=["mondrian"], k=[3], weight_column="weight"
    ).results.row(0, named=True)
    classes = shoal.anonymize(table, quasi=QUASI, others="keep", k=3, algorithm="mondrian")
    # By hand: the mean over rows of what each cell has lost, each row as often as its weight says.
    recoding = classes.report.evidence.recoding
    lost = np.mean([cells.compute_widths()[cells.of_class] for cells in recoding.cells], axis=0)
    each = lost[recoding.class_of[recoding.table.of_row]]
    assert found["weighted_loss"] == pytest.approx(np.average(each, weights=table["weight"]))
    assert found["loss"] == pytest.approx(each.mean())
    plain = shoal.compare(table, quasi=QUASI, algorithms=["mondrian"], k=[3]).results
    assert plain["weighted_loss"].to_list() == [None]


WEIGHTED = {"quasi": QUASI, "others": "keep", "k": 3, "weight_column": "weight"}


@pytest.mark.parametrize("missing", ["category", "drop"])
@pytest.mark.parametrize("loss", ["ncp", "discernibility"])
def test_a_report_tells_it(missing, loss):
    table = survey().with_columns(age=pl.when(pl.int_range(60) % 7 > 0).then("age"))
    settings = {"quasi": QUASI, "others": "keep", "k": 3, "missing": missing, "loss": loss}
    plain = shoal.anonymize(table, **settings)
    report = shoal.anonymize(table, **settings, weight_column="weight").report
    taken = table if missing == "category" else table.drop_nulls(QUASI)
    same = count_people(plain.report.evidence.recoding, taken["weight"].to_numpy().astype(float))
    assert same.table.rows == taken["weight"].sum()
    expected = LOSSES[loss]().measure(same, np.ones(3)).value
    assert report.weighted_loss == report.to_dict()["weighted_loss"] == pytest.approx(expected)
    assert report.loss == plain.report.loss  # the search did not look at the weights
    assert plain.report.weighted_loss is None
    assert "weighted_loss" not in plain.report.to_dict()


@pytest.mark.parametrize(("loss", "unit"), [("ncp", "% "), ("entropy", "")])
def test_the_command_tells_it(tmp_path, loss, unit):
    survey().write_csv(tmp_path / "table.csv")
    files = [str(tmp_path / "table.csv"), "-o", str(tmp_path / "out.csv"), "--json"]
    asked = [
        "-q",
        ",".join(QUASI),
        "--others",
        "drop",
        "-k",
        "3",
        "--loss",
        loss,
        "--weight-column",
        "weight",
    ]
    told = CliRunner().invoke(app, ["anonymize", *files[:3], *asked])
    assert told.exit_code == 0
    assert f"{unit}by survey weights" in " ".join(told.output.split())
    plain = json.loads(CliRunner().invoke(app, ["anonymize", *files, *asked]).output)
    assert 0 < plain["weighted_loss"] != plain["loss"]["value"]


def test_the_page_tells_it(tmp_path):
    report = shoal.anonymize(survey(), **WEIGHTED).report
    report.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f"the loss ncp is {report.weighted_loss:.6g}" in page


def test_what_is_refused(tmp_path):
    table = survey()
    for bad in (0, -1.5, None):
        wrong = table.with_columns(weight=pl.lit(bad, pl.Float64))
        with pytest.raises(InputError, match="weight"):
            shoal.anonymize(wrong, **WEIGHTED)
        with pytest.raises(InputError, match="weight"):
            shoal.compare(wrong, quasi=QUASI, algorithms=["mondrian"], weight_column="weight")
    with pytest.raises(RecipeError, match="wieght"):
        shoal.anonymize(table, **{**WEIGHTED, "weight_column": "wieght"})
    table.write_csv(tmp_path / "table.csv")
    there = {"memory": "500MB", "output": tmp_path / "out.csv", "algorithm": "mondrian"}
    with pytest.raises(RecipeError, match="no place for the weights in 'weight'"):
        shoal.anonymize(tmp_path / "table.csv", **WEIGHTED, **there)
    safepub = {"k": None, "models": ["safepub(epsilon=1,delta=0.001)"], "algorithm": "safepub"}
    others = {
        "columns of sets": {"sets": {"job": ";"}},
        "event tables": {"events": {"visits": table}, "person": "size"},
        "safepub": {**safepub, "identifier": ["job", "size", "weight"]},
    }
    for name, other in others.items():
        with pytest.raises(RecipeError, match=f"'weight' is for one table without sets, not for {name}"):
            shoal.anonymize(table, **{**WEIGHTED, "quasi": ["age"], **other})
