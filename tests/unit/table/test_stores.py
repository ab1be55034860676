"""Files of object stores: read, and written whole, by whatever file system fsspec knows."""

import json

import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import InputError, OutputError
from shoal.support.files import whole_path
from shoal.table import stores

fsspec = pytest.importorskip("fsspec")
PEOPLE = pl.DataFrame({"age": [21, 24, 28, 30, 33, 39], "cost": [1, 2, 3, 4, 5, 6]})
GOAL = {"quasi": ["age"], "others": "keep", "k": 3}


@pytest.fixture
def store():
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


def put(store, name: str, frame: pl.DataFrame = PEOPLE) -> None:
    with store.open(name, "wb") as stream:
        frame.write_csv(stream) if name.endswith(".csv") else frame.write_parquet(stream)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_is_released_into_another(store, suffix):
    put(store, f"/clinic/people{suffix}")
    target = f"memory://clinic/release{suffix}"
    release = shoal.anonymize(f"memory://clinic/people{suffix}", **GOAL, output=target)
    assert release.report.output == release.recipe.output == target
    assert shoal.verify(target, quasi=["age"], k=3).holds
    with store.open(f"/clinic/release{suffix}", "rb") as stream:
        there = stream.read()
    assert b"[21-28]" in there and b"24" not in there.replace(b"[21-28]", b"")[:40]
    assert sorted(store.ls("/clinic", detail=False)) == [
        f"/clinic/people{suffix}",
        f"/clinic/release{suffix}",
    ]


def test_on_the_command_line_and_within_a_memory_limit(store, capsys):
    put(store, "/people.parquet")
    line = ["anonymize", "memory://people.parquet", "-q", "age", "-k", "3", "--others", "keep", "--json"]
    assert run_to_end(run_command_line, [*line, "-o", "memory://one.parquet"])[0] == 0
    told = json.loads(capsys.readouterr().out)
    assert told["output"] == "memory://one.parquet"
    limited = [*line, "--memory", "500MB", "-o", "memory://two.parquet"]
    assert run_to_end(run_command_line, limited)[0] == 0, capsys.readouterr()
    with store.open("/one.parquet", "rb") as one, store.open("/two.parquet", "rb") as two:
        assert pl.read_parquet(one).equals(pl.read_parquet(two))


def test_a_pattern_and_a_folder_are_one_table(store):
    for day in (1, 2):
        put(store, f"/table/day={day}/a.parquet")
    put(store, "/table/_marker.csv")
    recipe = shoal.Recipe(("age",), (shoal.KAnonymity(3),), others="keep")
    for address in ("memory://table", "memory://table/*/*.parquet"):
        frame = shoal.run(recipe, address).frame
        assert (frame.height, frame["day"].unique().sort().to_list()) == (12, ["1", "2"])


@pytest.mark.parametrize("address", ["memory://nowhere.csv", "memory://no*where.csv", "nonsense://a.csv"])
def test_what_is_not_there_is_an_error_of_ours(store, address):
    with pytest.raises(InputError, match=r"nowhere|nonsense|where"):
        shoal.anonymize(address, **GOAL)


def test_a_store_that_cannot_be_written_is_an_error_of_ours(store):
    with pytest.raises(OutputError):
        shoal.anonymize(PEOPLE, **GOAL, output="nonsense://a.csv")


def test_an_error_names_the_address_and_not_the_copy(store):
    with store.open("/broken.parquet", "wb") as stream:
        stream.write(b"no parquet at all")
    with pytest.raises(InputError, match="memory://broken"):
        shoal.anonymize("memory://broken.parquet", **GOAL)


@pytest.mark.parametrize("fault", ["cut", "gone"])
def test_nothing_gets_its_name_that_did_not_arrive_whole(store, fault, monkeypatch):
    put(store, "/release.csv")
    before = store.cat("/release.csv")
    copy = stores.shutil.copyfileobj

    def spoil(source, target, size):
        if fault == "gone":
            raise ConnectionResetError(104, "connection reset by peer")
        target.write(source.read()[:-1])

    monkeypatch.setattr(stores.shutil, "copyfileobj", spoil)
    with pytest.raises(OutputError):
        shoal.anonymize(PEOPLE, **GOAL).write("memory://release.csv")
    monkeypatch.setattr(stores.shutil, "copyfileobj", copy)
    assert store.cat("/release.csv") == before
    assert store.ls("/", detail=False) == ["/release.csv"]


def test_an_existing_file_is_replaced(store):
    put(store, "/release.csv")
    shoal.anonymize(PEOPLE, **GOAL).write("memory://release.csv")
    assert b"[21-28]" in store.cat("/release.csv")


def test_the_clean_up_of_another_run_leaves_alone_what_is_being_sent(tmp_path, monkeypatch):
    copy = stores.shutil.copyfileobj

    def send_beside_another_run(source, target, size):
        copy(source, target, size)
        target.flush()
        with whole_path(tmp_path / "other.csv"):  # removes what ended runs have left there
            pass

    monkeypatch.setattr(stores.shutil, "copyfileobj", send_beside_another_run)
    target = tmp_path / "release.csv"
    shoal.anonymize(PEOPLE, **GOAL).write(f"file://{target}")
    assert "[21-28]" in target.read_text()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.csv", "release.csv"]
