"""``shoal sample`` and ``shoal demo``."""

import re
import shlex

import polars as pl
import pytest
from tests.cases import thin_out

from shoal.cli.commands import demo
from shoal.table.samples import SAMPLES, sample, sample_hierarchies


def test_list(shoal):
    assert shoal.succeeds("sample") == shoal.succeeds("sample", "list")
    assert re.match(r"hospital  5,000 rows by default: \w+", shoal.succeeds("sample", "list"))


@pytest.mark.parametrize("name", ["made.csv", "made.parquet"])
def test_rows_and_seed(shoal, name):
    out = shoal.succeeds("sample", "hospital", "-o", name, "--rows", 300, "--seed", 5)
    assert out == f"wrote {name}\n"
    made = sample("hospital", rows=300, seed=5)
    if name.endswith("parquet"):
        assert pl.read_parquet(shoal.folder / name).equals(made)
    else:
        # Numbers are written with two decimals, and read back as text.
        found = pl.read_csv(shoal.folder / name, infer_schema=False)
        assert found["name"].equals(made["name"])
        assert found["age"].equals(made["age"].cast(pl.String))


def test_the_same_sample_is_the_same_bytes(shoal):
    for name in ("one.csv", "two.csv"):
        shoal.succeeds("sample", "hospital", "-o", name, "--rows", 50, "--quiet")
    shoal.succeeds("sample", "hospital", "-o", "other.csv", "--rows", 50, "--seed", 1, "--quiet")
    one, two, other = [(shoal.folder / name).read_bytes() for name in ("one.csv", "two.csv", "other.csv")]
    assert one == two != other


def test_hierarchies(shoal):
    out = shoal.succeeds("sample", "hospital", "--hierarchies", "trees")
    names = {f"{column}.csv" for column in sample_hierarchies("hospital")}
    assert {path.name for path in (shoal.folder / "trees").iterdir()} == names
    assert sorted(out.splitlines()) == sorted(f"wrote trees/{name}" for name in names)


def test_quiet(shoal):
    assert shoal.succeeds("sample", "hospital", "-o", "made.csv", "--rows", 10, "--quiet") == ""


def test_a_sample_can_be_anonymized_with_its_hierarchies(shoal):
    shoal.succeeds("sample", "hospital", "-o", "made.csv", "--rows", 400, "--hierarchies", "trees")
    shoal.succeeds(
        *("anonymize", "made.csv", "-q", "age,sex,postcode,occupation", "-s", "diagnosis", "-k", 4),
        *("--hierarchies", "trees", "-o", "release.csv"),
    )
    shoal.succeeds("verify", "release.csv", "-q", "age,sex,postcode,occupation", "-k", 4)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("hospitl", "-o", "made.csv"), "unknown sample 'hospitl': did you mean 'hospital'?"),
        (("hospitl",), "unknown sample 'hospitl': did you mean 'hospital'?"),
        (("hospital",), "say where to write the table, for example -o hospital.csv"),
        (("hospital", "-o", "made.txt"), "use a name that ends in .csv or .parquet"),
        (("hospital", "-o", "made.csv", "--rows", 0), "a sample needs at least 1 row, not 0"),
        (("hospital", "-o", "made.csv", "--seed", -1), "must be 0 or more, not -1"),
        (("hospital", "-o", "nowhere/made.csv"), "there is no folder nowhere"),
        (("hospital", "-o", "made.csv", "--rows", "many"), "--rows"),
    ],
)
def test_samples_that_cannot_be_made(shoal, given, says):
    assert says in shoal.fails(2, "sample", *given)


@pytest.mark.slow
@pytest.mark.parametrize("width", thin_out([80, 120], 2))
def test_the_demo_shows_every_step(shoal, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(demo, "seconds_compiling", lambda: 12.5)
    out = shoal.succeeds("demo", "--folder", "made/here")
    assert max(map(len, out.splitlines())) <= width
    flat = " ".join(out.split())
    spec = SAMPLES["hospital"]
    roles = {**spec.roles, "cost": "quasi"}  # it singles people out, as the suggestion warns
    whys = {**spec.why, "cost": "Anyone who saw the bill knows it, and hardly two are alike."}
    parts = {
        "what the table is": [f"{spec.rows:,} rows", "11 columns", spec.description],
        "the roles": [f"{column} {role} " for column, role in roles.items()],
        "before and after": ["person 1 released as", "person 2", "left out"],
        "promised and verified": ["k k = 5 5 ✓ holds", "distinct-l l = 3, column = diagnosis 3 ✓ holds"],
        "what is given away": ["what all released columns give away together", "[unique-rows]"],
        "the loss": ["% of the detail", "all columns"],
        "times": ["seconds: read", "search", "recode", "verify", "write", "12.50 of them passed while"],
        "files": ["made/here/hospital.csv", "made/here/release.csv", "made/here/recipe.toml"],
    }
    assert {what: [text for text in texts if text not in flat] for what, texts in parts.items()} == {
        what: [] for what in parts
    }
    if width == 120:
        assert [name for name, why in whys.items() if f"{name} {roles[name]} {why}" not in flat] == []
    assert " high " not in flat  # no finding of high severity
    for column in (name for name, role in roles.items() if role == "quasi"):
        assert re.search(rf"  {column} +\w+ +[\d,]+ +[\d.]+ %", out), f"no loss of {column}"


@pytest.mark.slow
@pytest.mark.parametrize("folder", thin_out(["a [red] place", "shoal-demo"], 2))
def test_what_the_demo_says_to_try_works(shoal, monkeypatch, folder):
    monkeypatch.setattr(demo, "seconds_compiling", lambda: 0.0)
    out = shoal.succeeds("demo", *(("--folder", folder) if " " in folder else ()))
    assert "were compiled" not in out
    names = {"hospital.csv", "release.csv", "recipe.toml", "report.html", "hierarchies"}
    assert {path.name for path in (shoal.folder / folder).iterdir()} == names
    assert all(f"  {folder}/{name}" in out for name in names)
    commands = [shlex.split(line) for line in re.findall(r"^  shoal (.*)$", out, re.MULTILINE)]
    assert [command[0] for command in commands] == ["verify", "run"]
    before = (shoal.folder / folder / "release.csv").read_bytes()
    for command in commands:
        shoal.succeeds(*command)
    assert (shoal.folder / folder / "release.csv").read_bytes() == before


def test_a_demo_that_has_no_place_to_go(shoal, people):
    assert "cannot make the folder" in shoal.fails(2, "demo", "--folder", f"{people.name}/demo")
