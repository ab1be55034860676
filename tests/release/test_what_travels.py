"""What goes along with a release: report, recipe and JSON name no value that no released cell has."""

import json
import random
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli import app

ROWS = 400


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    draw = random.Random(5)
    towns = [f"Town{draw.randrange(60):03d}unq" for _ in range(ROWS)]
    return pl.DataFrame(
        {
            "name": [f"Name{i:04d}qx" for i in range(ROWS)],
            # Long enough not to stand by chance in a checksum or among the decimals of a duration.
            "age": [*(draw.randrange(18, 95) for _ in range(ROWS - 1)), 987_654_321],
            "town": [*towns[:-1], "Solitaryville"],
            "job": [draw.choice(["smithery", "farmwork", "lawyering", "nursing"]) for _ in range(ROWS)],
            "income": [round(draw.gauss(30_000, 8_000), 2) for _ in range(ROWS)],
            "illness": [draw.choice(["influenza", "common cold"]) for _ in range(ROWS)],
        }
    )


JOBS = "smithery;crafts;*\nfarmwork;crafts;*\nlawyering;office;*\nnursing;office;*\n"


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--suppress", "0.1"],
        ["-a", "lattice", "--suppress", "0.3"],
        ["-a", "lattice", "--set", "levels=job=1..2", "--suppress", "0.3"],
        ["--render", "representative"],
        ["-a", "mondrian", "--render", "set"],
    ],
    ids=" ".join,
)
def test_no_value_that_is_not_released(patients, tmp_path: Path, options: list[str]) -> None:
    patients.write_csv(tmp_path / "patients.csv")
    (tmp_path / "job.csv").write_text(JOBS)
    release, report, recipe = tmp_path / "release.csv", tmp_path / "report.html", tmp_path / "recipe.toml"
    command = ["anonymize", str(tmp_path / "patients.csv"), "-q", "age,town,job,income", "-s", "illness"]
    command += ["--identifier", "name", "--hierarchies", f"job={tmp_path / 'job.csv'}", "-k", "5"]
    command += ["-o", str(release), "--report", str(report), "--recipe-out", str(recipe), "--json"]
    ended = CliRunner().invoke(app, [*command, *options])
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.stdout)["released_rows"] > 0
    cells = release.read_text()
    values = {str(value) for name in patients.columns for value in patients[name].unique()}
    hidden = [value for value in values if len(value) > 3 and value not in cells]
    assert len(hidden) >= ROWS  # all names at least
    for told in (report.read_text(), recipe.read_text(), ended.output):
        assert [value for value in hidden if value in told] == []
