"""Iceberg tables: the current snapshot of a catalogue is read, and not every file of the folder."""

import json

import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import InputError, OutputError, RecipeError

sql = pytest.importorskip("pyiceberg.catalog.sql")
PEOPLE = pl.DataFrame({"age": [21, 24, 28, 30, 33, 39], "day": ["a", "a", "a", "b", "b", "b"]})
GOAL = {"quasi": ["age"], "others": "keep", "k": 3}
ADDRESS = "iceberg://clinic/wards.visits"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A catalogue in a file, named by the environment alone, with a table of two snapshots."""
    place = {"uri": f"sqlite:///{tmp_path / 'catalogue.db'}", "warehouse": f"file://{tmp_path}"}
    catalogue = sql.SqlCatalog("clinic", **place)
    catalogue.create_namespace("wards")
    old = PEOPLE.with_columns(age=pl.col("age") + 100)
    table = catalogue.create_table("wards.visits", schema=old.to_arrow().schema)
    table.append(old.to_arrow())
    table.overwrite(PEOPLE.to_arrow())
    catalogue.close()
    # pyiceberg reads the environment when it is loaded, so that its settings are asked instead.
    from pyiceberg import catalog

    config = {"catalog": {"clinic": {"type": "sql", **place}}}
    monkeypatch.setattr(catalog._ENV_CONFIG, "config", config)
    return tmp_path / "wards" / "visits"


def test_rows_of_earlier_snapshots_are_not_read(folder, tmp_path):
    release = shoal.anonymize(ADDRESS, **GOAL)
    assert release.frame["age"].unique().sort().to_list() == ["[21-28]", "[30-39]"]
    assert release.recipe.input is None or "catalogue.db" not in release.recipe.to_toml()
    out = tmp_path / "out.parquet"
    assert shoal.anonymize(ADDRESS, **GOAL, memory="500MB", output=out).report.rows == 6


def test_on_the_command_line(folder, tmp_path, capsys):
    line = ["anonymize", ADDRESS, "-q", "age", "-k", "3", "--others", "keep", "--json"]
    assert run_to_end(run_command_line, [*line, "-o", str(tmp_path / "out.csv")])[0] == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 6


def test_the_folder_does_not_say_which_snapshot_is_the_current_one(folder):
    with pytest.raises(InputError, match="iceberg://CATALOG"):
        shoal.anonymize(folder, **GOAL)


def test_what_is_not_there_is_an_error_of_ours(folder):
    for address in (f"{ADDRESS}s", "iceberg://nowhere/wards.visits", "iceberg://clinic/visits", "iceberg://"):
        with pytest.raises(InputError, match="iceberg"):
            shoal.verify(address, quasi=["age"], k=3)
    with pytest.raises(InputError, match="a query is for a database"):
        shoal.run(
            shoal.Recipe.from_dict({**_make_recipe().to_dict(), "table": {"query": "select 1"}}), ADDRESS
        )


def test_such_tables_are_only_read(folder):
    with pytest.raises(OutputError, match="only read"):
        shoal.anonymize(PEOPLE, **GOAL).write(ADDRESS)
    with pytest.raises(OutputError, match="only read"):
        shoal.anonymize(PEOPLE, **GOAL, output=ADDRESS)


def test_a_password_of_the_catalogue_is_not_told(folder, monkeypatch):
    from pyiceberg import catalog

    place = {"type": "sql", "uri": "sqlite:////nowhere/me:hunter2@host/c.db", "warehouse": "file:///nowhere"}
    monkeypatch.setattr(catalog._ENV_CONFIG, "config", {"catalog": {"clinic": place}})
    with pytest.raises(InputError) as told:
        shoal.verify(ADDRESS, quasi=["age"], k=3)
    assert "hunter2" not in str(told.value)


def test_an_address_may_have_no_secret():
    with pytest.raises(RecipeError, match="password"):
        shoal.verify("iceberg://me:hunter2@clinic/wards.visits", quasi=["age"], k=3)


def _make_recipe() -> shoal.Recipe:
    return shoal.Recipe(("age",), (shoal.KAnonymity(3),), others="keep")
