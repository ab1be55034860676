"""A run is a value: the same recipe and input give the same bytes, from anywhere, with any threads."""

import tomllib

import polars as pl
import pytest

from shoal.table.samples import sample, write_hierarchies


def test_a_recipe_repeats_the_run(shoal, people, write):
    write("trees/zip.csv", "01001;01;*\n01002;01;*\n01003;01;*\n02001;02;*\n02002;02;*\n02003;02;*\n")
    settings = (
        *("-q", "age,sex,zip", "-s", "illness", "--identifier", "name", "-k", 2, "--l", 2),
        *("--hierarchies", "trees", "--type", "age=float", "--order", "sex=m,f", "--na", "?"),
        *("-a", "mondrian", "--set", "cut=nearest", "--loss", "certainty", "--weight", "sex=3"),
        *("--category-order", "appearance", "--render", "interval", "--out-delimiter", "|", "--safe-csv"),
        *("--seed", 7, "--threads", 1, "--missing", "drop", "--suppress", 0.1),
    )
    first = shoal("anonymize", people, *settings, "-o", "release.csv", "--recipe-out", "recipe.toml")
    assert first.code == 0, first.err
    wanted = (shoal.folder / "release.csv").read_bytes()
    (shoal.folder / "release.csv").unlink()
    shoal.succeeds("run", "recipe.toml", "--quiet")
    assert (shoal.folder / "release.csv").read_bytes() == wanted
    # Running it with another output says the same, and so does the recipe of that run.
    shoal.succeeds("run", "recipe.toml", "-o", "again.csv", "--quiet")
    assert (shoal.folder / "again.csv").read_bytes() == wanted


def test_a_recipe_runs_from_another_folder(shoal, people, write, monkeypatch):
    write("trees/sex.csv", "m;any\nf;any\n")
    (shoal.folder / "out").mkdir()
    shoal.succeeds(
        *("anonymize", people.name, "-q", "age,sex", "-k", 3, "--hierarchies", "sex=trees/sex.csv"),
        *("-o", "out/release.csv", "--recipe-out", "out/recipe.toml", "--quiet"),
    )
    wanted = (shoal.folder / "out/release.csv").read_bytes()
    (shoal.folder / "out/release.csv").unlink()
    elsewhere = shoal.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    shoal.succeeds("run", "../out/recipe.toml", "--quiet")
    assert (shoal.folder / "out/release.csv").read_bytes() == wanted
    assert list(elsewhere.iterdir()) == []


def test_a_recipe_moves_with_its_folder(shoal, people):
    shoal.succeeds(
        "anonymize", people, "-q", "age", "-k", 3, "-o", "release.csv", "--recipe-out", "recipe.toml"
    )
    content = tomllib.loads((shoal.folder / "recipe.toml").read_text())
    assert content["table"]["input"] == "people.csv"
    assert content["release"]["output"] == "release.csv"
    assert content["goal"]["models"] == ["k(k=3)"]


def test_another_table_with_the_same_recipe(shoal, people, write):
    shoal.succeeds(
        "anonymize", people, "-q", "age", "-k", 3, "-o", "release.csv", "--recipe-out", "recipe.toml"
    )
    write("others.csv", "age,sex\n" + "".join(f"{age},f\n" for age in (1, 2, 3)))
    shoal.succeeds("run", "recipe.toml", "-i", "others.csv", "-o", "others-release.csv", "--json")
    assert (shoal.folder / "others-release.csv").read_text() == "age,sex\n*,f\n*,f\n*,f\n"


def test_run_shows_what_anonymize_shows(shoal, people):
    goal = ("-q", "age", "-k", 3, "-o", "release.csv")
    shown = shoal.succeeds("anonymize", people.name, *goal, "--recipe-out", "recipe.toml")
    again = shoal.succeeds("run", "recipe.toml")
    untimed = [[line for line in text.splitlines() if "second" not in line] for text in (again, shown)]
    assert untimed[0] == untimed[1]


# Large enough to be divided between threads.
@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crowd")
    sample("hospital", rows=45_000).write_csv(folder / "crowd.csv")
    write_hierarchies("hospital", folder / "trees")
    return folder


@pytest.mark.exhaustive
def test_the_bytes_do_not_depend_on_threads(shoal, crowd):
    quasi = "age,sex,postcode,occupation,admission_date"
    settings = ("-q", quasi, "-k", 5, "-a", "mondrian", "--set", "cut=nearest", "--quiet")
    for threads in (1, 2, 3):
        shoal.succeeds(
            *("anonymize", crowd / "crowd.csv", *settings, "--hierarchies", crowd / "trees"),
            *("--threads", threads, "-o", f"{threads}.csv"),
        )
    one, two, three = [(shoal.folder / f"{threads}.csv").read_bytes() for threads in (1, 2, 3)]
    assert one == two == three


@pytest.mark.exhaustive
def test_the_bytes_do_not_depend_on_row_groups(shoal, crowd):
    frame = pl.read_csv(crowd / "crowd.csv", n_rows=3000, infer_schema=False)
    for size in (100, 3000):
        frame.write_parquet(shoal.folder / f"{size}.parquet", row_group_size=size)
        shoal.succeeds(
            "anonymize", f"{size}.parquet", "-q", "age,sex,postcode", "-k", 5, "-o", f"{size}.csv", "--quiet"
        )
    assert (shoal.folder / "100.csv").read_bytes() == (shoal.folder / "3000.csv").read_bytes()


@pytest.mark.slow
def test_the_same_command_in_two_processes_gives_the_same_bytes(process, people):
    for name in ("one.csv", "two.csv"):
        done = process("anonymize", people, "-q", "age,sex,zip", "-k", 3, "-o", name, "--quiet")
        assert done.returncode == 0, done.stderr
    assert (people.parent / "one.csv").read_bytes() == (people.parent / "two.csv").read_bytes()


def test_what_findings_and_errors_advise_can_be_said_to_run(shoal, people):
    settings = ("-q", "age,sex", "-s", "illness", "--others", "keep", "-k", 2, "-a", "mondrian")
    shoal.succeeds("anonymize", people, *settings, "-o", "a.csv", "--recipe-out", "recipe.toml", "--quiet")
    recipe = shoal.folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('others = "keep"\n', ""))
    assert "--others keep or --others drop" in shoal.fails(2, "run", "recipe.toml", "-o", "b.csv")
    run = ("run", "recipe.toml", "-o", "b.csv", "--quiet")
    assert "unique-rows" in shoal.fails(3, *run, "--others", "keep", "--strict")
    accepted = ("unique-rows=a test", "determines:zip:age=a test", "row-order:age=a test")
    reasons = [part for each in accepted for part in ("--accept", each)]
    shoal.succeeds(*run, "--others", "keep", "--strict", *reasons)
    assert pl.read_csv("b.csv").columns == ["name", "age", "sex", "zip", "illness"]
    shoal.succeeds(*run, "--others", "drop", "--row-order", "released")
    released = pl.read_csv("b.csv")
    assert released.columns == ["age", "sex", "illness"]
    assert released.equals(released.sort("age", "sex", "illness"))
    assert "unknown row_order 'up'" in shoal.fails(2, *run, "--others", "drop", "--row-order", "up")
