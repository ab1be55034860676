"""Thirty daily batches, counted by a ledger: k holds over all days, and anybody reads them as one table."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import InputError, OutputError, RecipeError
from shoal.recipes.ledger import Ledger
from shoal.support.files import hold_alone

DAYS = 30
RECIPE = """[shoal]
recipe = 2
[columns]
quasi = ["age", "town"]
sensitive = ["illness"]
plain = ["cost"]
[goal]
models = ["k(k=4)", "distinct-l(l=2)"]
[search]
algorithm = "lattice"
[trees.age]
young = ["18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29"]
old = ["30", "31", "32", "33", "34", "35", "36", "37", "38", "39", "40", "41"]
[release]
row_order = "released"
"""


def draw_day(day: int, rows: int = 25) -> pl.DataFrame:
    draw = np.random.default_rng(day)
    age = draw.integers(18, 42, rows)
    town = draw.choice(["Alta", "Bree", "Corn"], rows, p=[0.6, 0.3, 0.1])
    # On the first day nobody young lives in Corn: those who come later wait until there are enough.
    return pl.DataFrame(
        {
            "age": age,
            "town": np.where((age < 30) & (town == "Corn"), "Bree", town) if day == 0 else town,
            "illness": draw.choice(["a", "b", "c"], rows),
            "cost": draw.integers(1, 99, rows),
        }
    )


def call(*line: str) -> None:
    assert run_to_end(run_command_line, [*line])[0] == 0


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """Releases of thirty days, with what was told of each, made on the command line."""
    folder = tmp_path_factory.mktemp("month")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("recipe.toml").write_text(RECIPE)
        for name in ("released", "incoming"):
            Path(name).mkdir()
        draw_day(0, 200).write_parquet("day_00.parquet")
        call("run", "recipe.toml", "-i", "day_00.parquet", "-o", "released/day_00.parquet", "--quiet")
        release = shoal.run("recipe.toml", "day_00.parquet")
        release.saved_recoding().save("classes.json")
        told = []
        for day in range(1, DAYS):
            draw_day(day).write_parquet(f"incoming/{day:02}.parquet")
            line = ["apply", "classes.json", "incoming", "--ledger", "ledger.json"]
            line += ["--hold-back", "wait.parquet", *(["--earlier", "released"] if day == 1 else [])]
            call(*line, "-o", f"released/day_{day:02}.parquet", "--quiet")
            told.append(pl.read_parquet("wait.parquet").height)
            # What waits is given again with the rows of the next day.
            Path(f"incoming/{day:02}.parquet").unlink()
            Path("wait.parquet").replace("incoming/wait.parquet")
        yield folder, told


@pytest.mark.slow
def test_k_holds_over_all_days_and_no_row_is_lost(month):
    folder, waiting = month
    whole = shoal.verify(folder / "released", recipe=folder / "recipe.toml")
    assert whole.holds
    assert whole.smallest_class >= 4
    rows = 200 + 25 * (DAYS - 1)
    assert whole.rows + waiting[-1] == rows
    assert max(waiting) > waiting[-1]  # some waited, and were released when enough had come
    # A day alone would not keep the goal: the days before are what it stands among.
    alone = [
        shoal.verify(path, recipe=folder / "recipe.toml").holds
        for path in sorted((folder / "released").iterdir())[1:]
    ]
    assert not all(alone)


@pytest.mark.slow
def test_the_ledger_counts_what_the_files_have(month):
    folder, _ = month
    ledger = Ledger.load(folder / "ledger.json")
    assert [Path(entry.name).name for entry in ledger.entries] == [
        f"day_{day:02}.parquet" for day in range(DAYS)
    ]
    there = pl.read_parquet(folder / "released/*.parquet").select("age", "town", "illness")
    counted = ledger.make_table().frame
    assert counted.sort(counted.columns).equals(there.sort(there.columns))
    assert ledger.rows == there.height


@pytest.mark.slow
def test_everybody_reads_the_days_as_one_table(month):
    duckdb = pytest.importorskip("duckdb")
    folder, _ = month
    pattern = str(folder / "released" / "*.parquet")
    of_polars = pl.scan_parquet(pattern).collect()
    texts = dict.fromkeys(("age", "town", "illness"), pl.String)
    assert dict(of_polars.schema) == {**texts, "cost": pl.Int64}
    of_pandas = pd.read_parquet(folder / "released")
    of_duckdb = duckdb.read_parquet(pattern)
    classes = "select count(*) as n from of_duckdb group by age, town"
    (smallest,) = duckdb.sql(f"select min(n) from ({classes})").fetchall()
    assert smallest[0] == of_polars.group_by("age", "town").len()["len"].min() >= 4
    assert of_pandas.groupby(["age", "town"]).size().min() == smallest[0]
    assert len(of_pandas) == of_polars.height == of_duckdb.shape[0]


# A ledger by itself


@pytest.fixture
def saved():
    return shoal.run(read_recipe(), draw_day(0, 200)).saved_recoding()


def read_recipe() -> shoal.Recipe:
    return shoal.Recipe.from_text(RECIPE, Path("recipe.toml"))


def test_a_ledger_gives_what_the_earlier_releases_give(saved):
    first = shoal.run(read_recipe(), draw_day(0, 200)).frame
    by_release = saved.apply(draw_day(1), earlier=first, hold_back=True)
    ledger = saved.open_ledger("nowhere.json", first)
    by_ledger = saved.apply(draw_day(1), ledger=ledger, hold_back=True)
    assert by_ledger.frame.equals(by_release.frame)
    assert by_ledger.verification.smallest_class == by_release.verification.smallest_class
    assert by_ledger.add_to_ledger("day 1").rows == first.height + by_release.frame.height


def test_whole_numbers_are_alike_in_every_type():
    ledger = Ledger.begin(["n"]).add("a", pl.DataFrame({"n": [1, 2]}))
    ledger = ledger.add("b", pl.DataFrame({"n": [1.0, 2.5]}))
    assert sorted(ledger.counts.rows()) == [("1", 2), ("2", 1), ("2.5", 1)]


def test_a_release_is_counted_once(saved):
    first = shoal.run(read_recipe(), draw_day(0, 200)).frame
    ledger = saved.open_ledger("nowhere.json", first)
    with pytest.raises(RecipeError, match="counts already"):
        ledger.add("again", first)


def test_a_ledger_replaces_the_earlier_releases(saved, tmp_path):
    first = shoal.run(read_recipe(), draw_day(0, 200)).frame
    saved.open_ledger("nowhere.json", first).save(tmp_path / "ledger.json")
    with pytest.raises(RecipeError, match="leave out the earlier"):
        saved.apply(draw_day(1), ledger=tmp_path / "ledger.json", earlier=first)
    with pytest.raises(RecipeError, match="that of other releases"):
        saved.apply(draw_day(1), ledger=Ledger.begin(["age"]))
    with pytest.raises(RecipeError, match="without a ledger"):
        saved.apply(draw_day(1), earlier=first, hold_back=True).add_to_ledger("a")


@pytest.mark.parametrize("damage", ["text", "[]", "{}", "rows", "class"])
def test_a_damaged_ledger_is_refused(saved, damage, tmp_path):
    path = tmp_path / "ledger.json"
    Ledger.begin(["n"]).add("a", pl.DataFrame({"n": [1, 2]})).save(path)
    content = json.loads(path.read_text())
    if damage == "rows":
        content["releases"][0]["rows"] = 5
    if damage == "class":
        content["classes"][0] = [1]
    path.write_text(damage if damage in ("text", "[]", "{}") else json.dumps(content))
    with pytest.raises(InputError, match=r"ledger"):
        Ledger.load(path)


def test_missing_values_keep_their_place(tmp_path):
    ledger = Ledger.begin(["n", "s"]).add("a", pl.DataFrame({"n": [None, "x", None], "s": ["", None, ""]}))
    ledger.save(tmp_path / "ledger.json")
    again = Ledger.load(tmp_path / "ledger.json")
    assert again.counts.equals(ledger.counts)
    assert sorted(again.make_table().frame.rows(), key=str) == [("x", None), (None, ""), (None, "")]


def test_a_ledger_needs_an_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shoal.run(read_recipe(), draw_day(0, 200)).saved_recoding().save("classes.json")
    draw_day(1).write_parquet("day.parquet")
    code, said = run_to_end(run_command_line, ["apply", "classes.json", "day.parquet", "--ledger", "l.json"])
    assert (code, "name an output" in said) == (2, True)


def test_a_release_is_counted_once_in_any_order_of_its_rows():
    rows = pl.DataFrame({"^n$": [1, 2, None], "s": ["a", None, ""]})
    ledger = Ledger.begin(["^n$", "s"]).add("day 1", rows)
    with pytest.raises(RecipeError, match="counts already"):
        ledger.add("again", rows.reverse())
    ledger.add("another", rows.with_columns(s=pl.Series(["a", "", None])))


def test_a_ledger_that_somebody_added_to_meanwhile_is_not_lost(tmp_path):
    path = tmp_path / "ledger.json"
    begun = Ledger.begin(["n"]).add("day 1", pl.DataFrame({"n": [1]}))
    begun.save(path)
    mine, other = (begun.add(name, pl.DataFrame({"n": [at]})) for at, name in enumerate(("mine", "other"), 5))
    other.save(path)
    with pytest.raises(OutputError, match="'other'"):
        mine.save(path)
    assert [each.name for each in Ledger.load(path).entries] == ["day 1", "other"]


def test_one_process_at_a_time_uses_a_ledger(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shoal.run(read_recipe(), draw_day(0, 200)).saved_recoding().save("classes.json")
    shoal.run(read_recipe(), draw_day(0, 200)).write("day_0.csv")
    draw_day(1).write_csv("day.csv")
    line = ["apply", "classes.json", "day.csv", "--ledger", "l.json", "--earlier", "day_0.csv"]
    line += ["--hold-back", "wait.csv", "-o", "day_1.csv", "--json"]
    with hold_alone(Path("l.json")):
        assert run_to_end(run_command_line, line)[0] == 2
        told = json.loads(capsys.readouterr().out)["error"]
        assert (told["retry"], told["kind"]) == (True, "files")
        assert not Path("day_1.csv").exists()
    assert run_to_end(run_command_line, line)[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "classes.json",
        "day.csv",
        "day_0.csv",
        "day_1.csv",
        "l.json",
        "wait.csv",
    ]
