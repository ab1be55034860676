"""Databases as sources and targets: SQLite and DuckDB files, and a server of PostgreSQL."""

import json
import os
import sqlite3
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.postgres import PASSWORD, choose_user, find_programs, run_server

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import InputError, OutputError, RecipeError
from shoal.table import databases
from shoal.table.addresses import deliver_to, load_address

PEOPLE = pl.DataFrame(
    {
        "age": [21, 24, 28, 30, 33, 39, 61, 64],
        "sex": list("mfmfmfmf"),
        "cost": [10.5, 20, 10, 10, None, 10, 7, 8],
    }
)
GOAL = {"quasi": ["age", "sex"], "others": "keep", "k": 2}
CELLS = pl.DataFrame(
    {
        "whole": [1, None],
        "small": pl.Series([1, 255], dtype=pl.UInt8),
        "wide": pl.Series([1, 2**32 - 1], dtype=pl.UInt32),
        "part": [1.5, -0.1],
        "text": ["x", None],
        "odd'\" name": ["", "ä\n'\""],
        "true": [True, None],
        "day": [date(2020, 1, 31), None],
        "moment": [datetime(2020, 1, 31, 1, 2, 3, 456), None],
        "zone": pl.Series([datetime(2020, 1, 31, 1, 2, 3), None]).dt.replace_time_zone("Europe/Berlin"),
        "clock": [time(1, 2, 3), None],
        "length": [timedelta(days=1, seconds=2), None],
        "exact": [Decimal("1.50"), None],
        "kind": pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"])),
    }
)


@pytest.fixture(scope="session")
def server():
    pytest.importorskip("adbc_driver_postgresql")
    pytest.importorskip("pyarrow")
    if find_programs() is None or choose_user() is None:
        pytest.skip("there is no PostgreSQL to start")
    with run_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request, tmp_path, monkeypatch) -> str:
    """The address of an empty database."""
    monkeypatch.chdir(tmp_path)
    if request.param != "postgresql":
        return f"{request.param}:///clinic.{request.param}"
    address = request.getfixturevalue("server")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    execute(address, "drop schema public cascade", "create schema public")
    return address


def execute(address: str, *statements: str) -> list[tuple]:
    """What SQL finds, by the drivers themselves."""
    name = address.partition("?")[0].removeprefix("sqlite:///").removeprefix("duckdb:///")
    if address.startswith("sqlite"):
        connection = sqlite3.connect(name)
    elif address.startswith("duckdb"):
        connection = pytest.importorskip("duckdb").connect(name)
    else:
        connection = pytest.importorskip("adbc_driver_postgresql.dbapi").connect(address)
    try:
        cursor = connection.cursor()
        for each in statements:
            cursor.execute(each)
        found = cursor.fetchall() if cursor.description else []
        connection.commit()
        cursor.close()
    finally:
        connection.close()
    return found


def fill(address: str, frame: pl.DataFrame = PEOPLE) -> None:
    with deliver_to(f"{address}#people") as path:
        frame.write_parquet(path)


def test_a_table_is_released_into_another(database):
    fill(database)
    release = shoal.anonymize(f"{database}#people", **GOAL, output=f"{database}#released")
    assert release.report.output == release.recipe.output == f"{database}#released"
    assert release.recipe.input == f"{database}#people"
    found = execute(database, "select age, sex, cost from released")
    assert [tuple(row) for row in found] == release.frame.rows()
    assert shoal.verify(f"{database}#released", quasi=["age", "sex"], k=2).holds
    assert not shoal.verify(f"{database}#people", quasi=["age", "sex"], k=2).holds
    # The same as of a frame of these rows.
    assert release.frame.rows() == shoal.anonymize(PEOPLE, **GOAL).frame.rows()


def test_a_query_chooses_rows(database, capsys):
    fill(database)
    line = [
        "anonymize",
        database,
        "--query",
        "select age, sex from people where age < 60;",
        "-q",
        "age",
        "-k",
        "2",
    ]
    assert (
        run_to_end(run_command_line, [*line, "--plain", "sex", "-o", f"{database}#young", "--json"])[0] == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["output"]) == (6, f"{database}#young")
    assert execute(database, "select count(*) from young") == [(6,)]


@pytest.mark.parametrize("memory", [None, "500MB"])
def test_a_recipe_names_databases_and_a_query(database, memory):
    fill(database)
    recipe = shoal.Recipe(
        ("age", "sex"),
        (shoal.KAnonymity(2),),
        others="keep",
        input=database,
        output=f"{database}?exists=replace#released",
        memory=memory,
    )
    recipe = shoal.Recipe.from_dict(
        {**recipe.to_dict(), "table": {"input": database, "query": "select * from people where age < 60"}}
    )
    recipe.save("night.toml")
    assert shoal.Recipe.load("night.toml") == recipe
    for _ in range(2):
        assert shoal.run("night.toml").report.rows == 6
    assert execute(database, "select count(*) from released") == [(6,)]


def test_an_existing_table_is_not_touched_unless_that_is_said(database):
    fill(database)
    before = execute(database, "select * from people")
    release = shoal.anonymize(PEOPLE, **GOAL)
    with pytest.raises(OutputError, match="has a table 'people' already"):
        release.write(f"{database}#people")
    assert execute(database, "select * from people") == before
    release.write(f"{database}?exists=replace#people")
    assert execute(database, "select age, sex, cost from people") == release.frame.rows()


def test_it_is_refused_before_the_search(database, monkeypatch):
    fill(database)
    monkeypatch.setattr("shoal.engines.api.carry_out", lambda *_: pytest.fail("it was searched"))
    with pytest.raises(OutputError, match="already"):
        shoal.anonymize(PEOPLE, **GOAL, output=f"{database}#people")


def test_all_types_come_back_as_they_were_or_as_text(database):
    fill(database, CELLS)
    found = pl.read_parquet(load_address(f"{database}#people"))
    assert found.columns == CELLS.columns
    for name in CELLS.columns:
        if found[name].dtype == pl.String and name != "exact":
            there, sent = found[name].to_list(), databases.to_strings(CELLS[name]).to_list()
        else:
            there, sent = found[name].cast(CELLS[name].dtype).to_list(), CELLS[name].to_list()
        assert there == sent, name
    text = {"sqlite": {"day", "moment", "zone", "clock", "exact"}, "duckdb": set(), "postgresql": {"exact"}}
    always = {"text", "odd'\" name", "length", "kind"}
    assert {name for name in found.columns if found[name].dtype == pl.String} == always | text[
        database.partition(":")[0]
    ]


def test_nothing_is_kept_of_a_release_that_fails_on_its_way(database, monkeypatch):
    fill(database)
    scan = databases._scan_file

    def break_off(path):
        yield from scan(path)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(databases, "_scan_file", break_off)
        with pytest.raises(OutputError, match=r"(?i)no space.*nothing was written"):
            shoal.anonymize(PEOPLE, **GOAL).write(f"{database}?exists=replace#people")
    assert len(execute(database, "select * from people")) == PEOPLE.height
    with pytest.raises(InputError):
        load_address(f"{database}#released")


def test_cells_that_change_on_their_way_undo_the_table(database, monkeypatch):
    fill(database)
    target = databases._DATABASES[database.partition(":")[0]]
    create = target.create

    def alter(self, table, batches):
        create(self, table, (batch.with_columns(pl.col("cost") + 1) for batch in batches))

    with monkeypatch.context() as patch:
        patch.setattr(target, "create", alter)
        with pytest.raises(OutputError, match="column 'cost' has other values"):
            shoal.anonymize(PEOPLE, **GOAL).write(f"{database}#released")
    with pytest.raises(InputError):
        load_address(f"{database}#released")


def test_a_row_that_gets_lost_undoes_the_table(database, monkeypatch):
    target = databases._DATABASES[database.partition(":")[0]]
    create = target.create
    monkeypatch.setattr(
        target, "create", lambda self, table, batches: create(self, table, (each.head(7) for each in batches))
    )
    with pytest.raises(OutputError, match="rows are missing"):
        shoal.anonymize(PEOPLE, **GOAL).write(f"{database}#released")


def test_a_query_only_reads(database):
    fill(database)
    for query in ("drop table people", "delete from people", "create table more (a int)"):
        with pytest.raises(InputError):
            shoal.anonymize(database, **GOAL) if not query else load_address(database, query)
    assert len(execute(database, "select * from people")) == PEOPLE.height


@pytest.mark.parametrize(
    "query",
    [
        "copy people to 'leak'",
        "copy (select * from people) to program 'cat > leak'",
        "select 1 as age; copy people to 'leak'",
        "select 1 as a) as b; copy people to 'leak'; select * from (select 1 as age",
        "vacuum into 'leak'",
        "attach 'leak' as leak",
        "attach 'file:leak?mode=rwc' as leak",
        "select 1 -- ) ; vacuum into 'leak'",
    ],
)
def test_a_query_writes_no_file(database, query, tmp_path, monkeypatch):
    fill(database)
    monkeypatch.chdir(tmp_path)
    there = set(tmp_path.iterdir())
    if "--" in query:  # a comment is no statement
        load_address(database, query)
    else:
        with pytest.raises(InputError):
            load_address(database, query)
    assert set(tmp_path.iterdir()) == there


def test_the_query_does_not_go_into_saved_classes(database, tmp_path):
    fill(database)
    query = "select age, sex from people where cost <> 4711"
    recipe = shoal.Recipe(("age", "sex"), (shoal.KAnonymity(2),), input=database)
    reading = {"table": {**recipe.to_dict().get("table", {}), "input": database, "query": query}}
    release = shoal.run(shoal.Recipe.from_dict({**recipe.to_dict(), **reading}))
    release.saved_recoding().save(tmp_path / "classes.json")
    assert "4711" not in (tmp_path / "classes.json").read_text()
    saved = shoal.SavedRecoding.load(tmp_path / "classes.json")
    assert saved.apply(PEOPLE.select("age", "sex"), suppress=1.0).verification.holds


@pytest.mark.parametrize("query", ["select * from nothing", "selec 1", "", "select 1 as a, 2 as a"])
def test_a_wrong_query_is_an_error_of_ours(database, query):
    fill(database)
    with pytest.raises(InputError):
        load_address(database, query)


def test_tables_that_are_not_there_and_those_that_are_not_named(database):
    fill(database)
    with pytest.raises(InputError):
        load_address(f"{database}#nobody")
    with pytest.raises(InputError, match="name a table"):
        load_address(database)
    with pytest.raises(InputError, match="not both"):
        load_address(f"{database}#people", "select 1")
    with pytest.raises(OutputError, match="say which table"):
        shoal.anonymize(PEOPLE, **GOAL).write(database)


def test_an_empty_table_has_no_rows(database):
    fill(database, PEOPLE.clear())
    with pytest.raises(InputError, match="rows"):
        shoal.anonymize(f"{database}#people", **GOAL)


def test_many_batches_keep_their_order(database, monkeypatch):
    monkeypatch.setattr(databases, "_BATCH", 7)
    rows = pl.DataFrame({"number": range(100), "text": [str(at) for at in range(100)]})
    fill(database, rows)
    found = pl.read_parquet(load_address(f"{database}#people"))
    assert found["number"].to_list() == list(range(100))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hunter2@host/clinic#people",
        "postgresql://host/clinic?password=hunter2#people",
        "s3://key:hunter2@bucket/people.csv",
        "https://host/people.csv?token=hunter2",
        "https://host/people.csv?sv=1&sig=hunter2",
        "https://host/people.csv?X-Amz-Signature=hunter2",
        "https://host/people.csv?X-Goog-Signature=hunter2",
        "https://host/people.csv?apikey=hunter2",
        "https://host/people.csv?a=1;auth=hunter2",
        "https://host/people.csv#access_token=hunter2",
        "https://hunter2@host/people.csv",
    ],
)
def test_an_address_with_a_secret_is_refused_without_repeating_it(address, capsys):
    for refuse in (
        lambda: shoal.Recipe(("age",), (shoal.KAnonymity(2),), input=address),
        lambda: shoal.anonymize(PEOPLE, **GOAL, output=address),
        lambda: shoal.verify(address, quasi=["age"], k=2),
    ):
        with pytest.raises(RecipeError, match="leave it out") as told:
            refuse()
        assert "hunter2" not in str(told.value)
    assert run_to_end(run_command_line, ["anonymize", address, "-q", "age", "-k", "2", "--json"])[0] == 2
    assert "hunter2" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        ("anonymize", "people.csv", "--hierarchies", "s3://me:hunter2@bucket/trees.csv"),
        ("anonymize", "people.csv", "--report", "s3://me:hunter2@bucket/report.html"),
        ("anonymize", "people.csv", "--recipe-out", "https://host/r.toml?sig=hunter2"),
        ("anonymize", "people.csv", "postgresql://me:hunter2@host/clinic#people"),
        ("run", "https://me:hunter2@host/recipe.toml"),
        ("apply", "s3://me:hunter2@bucket/classes.json", "people.csv"),
        ("apply", "classes.json", "people.csv", "--ledger", "s3://me:hunter2@bucket/ledger.json"),
        ("anonymize", "people.csv", "--query", "select 1", "-o", "s3://me:hunter2@bucket/a.csv"),
        ("verify", "postgresql://me:hun@ter2@[bad/clinic#people"),
    ],
)
def test_no_message_repeats_a_secret_wherever_it_was_typed(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("people.csv")
    options = ["-q", "age", "-k", "2"] if line[0] in ("anonymize", "verify") else []
    code, text = run_to_end(run_command_line, [*line, *options, "--json"])
    told = capsys.readouterr()
    assert code == 2
    assert json.loads(told.out)["error"]["exit_code"] == 2
    for secret in ("hunter2", "ter2@"):
        assert secret not in told.out + text


@pytest.mark.parametrize("address", ["postgresql://[bad/clinic#people", "https://[bad/people.csv"])
def test_an_address_that_cannot_be_read_is_an_error_of_ours(address):
    with pytest.raises(RecipeError, match="cannot be read"):
        shoal.verify(address, quasi=["age"], k=2)


@pytest.mark.parametrize("option", ["--report", "--recipe-out", "--recoding-out"])
def test_only_a_release_goes_to_an_address(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("people.csv")
    line = ["anonymize", "people.csv", "-q", "age", "-k", "2", "--others", "drop", "-o", "out.csv"]
    code, text = run_to_end(run_command_line, [*line, option, "s3://bucket/file.html"])
    assert (code, "only a release" in text) == (2, True), text


def test_files_take_no_query(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    recipe = shoal.Recipe(("age",), (shoal.KAnonymity(2),), others="keep")
    reading = {"query": "select 1"}
    with_query = shoal.Recipe.from_dict({**recipe.to_dict(), "table": reading})
    for source in (tmp_path / "people.csv", str(tmp_path / "people.csv")):
        with pytest.raises(InputError, match="a query is for a database"):
            shoal.run(with_query, source)


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_file_alone_is_told_how_its_table_is_named(scheme, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(f"{scheme}:///clinic.db")
    with pytest.raises(InputError, match=f"as {scheme}:///clinic.db#TABLE"):
        shoal.anonymize("clinic.db", **GOAL)
    absolute = f"{scheme}:///{tmp_path / 'clinic.db'}#people"
    assert shoal.anonymize(absolute, **GOAL).report.rows == PEOPLE.height


def test_mixed_kinds_of_sqlite_become_one_type(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "(1, 1, 1, x'00', 9007199254740993), (2.5, 'x', null, null, 0.5)"
    execute("sqlite:///a.db", f"create table t as select * from (values {rows})")
    found = pl.read_parquet(load_address("sqlite:///a.db#t"))
    assert found.rows() == [
        (1.0, "1", 1, b"\x00", "9007199254740993"),
        (2.5, "x", None, None, "0.5"),
    ]


def test_a_file_that_is_no_database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.db").write_text("something else that is long enough to be looked at" * 30)
    for scheme in ("sqlite", "duckdb"):
        with pytest.raises(InputError):
            load_address(f"{scheme}:///a.db#t")
        with pytest.raises(OutputError):
            shoal.anonymize(PEOPLE, **GOAL).write(f"{scheme}:///a.db#t")
        with pytest.raises(InputError, match="no such file"):
            load_address(f"{scheme}:///nowhere.db#t")
    assert not Path("nowhere.db").exists()


# PostgreSQL alone


@pytest.fixture
def postgres(server, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    execute(server, "drop schema public cascade", "create schema public")
    return server


@pytest.mark.slow
def test_types_of_postgres_that_arrow_has_not_are_texts(postgres):
    kinds = "1.50::numeric(10,2) n, '{}'::jsonb j, interval '1 day' i, 'a'::name e, "
    kinds += "'00000000-0000-0000-0000-000000000001'::uuid u, now() - now() as l"
    execute(postgres, f"create table t as select {kinds}")
    found = pl.read_parquet(load_address(f"{postgres}#t"))
    assert found.row(0)[:5] == ("1.50", "{}", "1 day", "a", "00000000-0000-0000-0000-000000000001")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "secret", "retry"), [("shoal", "wrong", False), ("nobody", PASSWORD, False), (None, None, True)]
)
def test_wrong_credentials_and_no_server(name, secret, retry, postgres, monkeypatch, capsys):
    monkeypatch.setenv("PGPASSWORD", secret or PASSWORD)
    address = postgres.replace("shoal@", f"{name}@") if name else "postgresql://shoal@127.0.0.1:1/postgres"
    line = ["--exit-codes", "0.2", "anonymize", f"{address}#people", "-q", "age", "-k", "2", "--json"]
    assert run_to_end(run_command_line, line)[0] == 4
    told = json.loads(capsys.readouterr().out)["error"]
    assert (told["kind"], told["retry"]) == ("files", retry)
    assert PASSWORD not in told["message"]
    assert ("PGPASSWORD" in told["message"]) is not retry
    run_to_end(run_command_line, ["--exit-codes", "0.1", "--version"])


@pytest.mark.slow
def test_a_killed_connection_leaves_the_old_table(postgres, monkeypatch):
    fill(postgres)
    before = execute(postgres, "select * from people")
    scan = databases._scan_file
    kill = "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'postgres'"
    kill += " and pid <> pg_backend_pid()"

    def scan_and_kill(path):
        yield from scan(path)
        execute(postgres, kill)

    monkeypatch.setattr(databases, "_scan_file", scan_and_kill)
    with pytest.raises(OutputError, match="nothing was written") as told:
        shoal.anonymize(PEOPLE, **GOAL).write(f"{postgres}?exists=replace#people")
    assert isinstance(told.value.__cause__, ConnectionResetError)
    assert execute(postgres, "select * from people") == before


@pytest.mark.slow
def test_a_schema_may_stand_before_the_table(postgres):
    execute(postgres, "create schema open")
    shoal.anonymize(PEOPLE, **GOAL).write(f"{postgres}#open.released")
    assert execute(postgres, "select count(*) from open.released") == [(PEOPLE.height,)]
    with pytest.raises(OutputError, match="already"):
        shoal.anonymize(PEOPLE, **GOAL).write(f"{postgres}#open.released")


def test_the_environment_is_not_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    release = shoal.anonymize(PEOPLE, **GOAL, output="sqlite:///a.db#t")
    assert "hunter2" not in release.recipe.to_toml() + str(release.report.to_dict())
    assert os.environ["PGPASSWORD"] == "hunter2"
