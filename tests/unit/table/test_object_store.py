"""A store of S3 on this machine: read and written by s3fs over HTTP, with credentials of the environment."""

import json
import urllib.request

import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import InputError, OutputError

pytest.importorskip("s3fs")
server = pytest.importorskip("moto.server")
pytestmark = pytest.mark.slow
PEOPLE = pl.DataFrame({"age": [21, 24, 28, 30, 33, 39], "cost": [1, 2, 3, 4, 5, 6]})
GOAL = {"quasi": ["age"], "others": "keep", "k": 3}
SECRET = "hunter2secret"


@pytest.fixture(scope="module")
def endpoint():
    running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    yield "http://{}:{}".format(*running.get_host_and_port())
    running.stop()


@pytest.fixture
def bucket(endpoint, monkeypatch):
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "shoal",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    reset = urllib.request.Request(f"{endpoint}/moto-api/reset", method="POST")
    urllib.request.urlopen(reset).close()
    from s3fs import S3FileSystem

    system = S3FileSystem(skip_instance_cache=True)
    system.mkdir("clinic")
    return system


def put(system, name: str, frame: pl.DataFrame = PEOPLE) -> None:
    with system.open(f"clinic/{name}", "wb") as stream:
        frame.write_csv(stream) if name.endswith(".csv") else frame.write_parquet(stream)


def list_names(system) -> list[str]:
    system.invalidate_cache()
    return sorted(name.removeprefix("clinic/") for name in system.find("clinic"))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_is_released_into_another(bucket, suffix):
    put(bucket, f"in/people{suffix}")
    target = f"s3://clinic/out/release{suffix}"
    release = shoal.anonymize(f"s3://clinic/in/people{suffix}", **GOAL, output=target)
    assert release.report.rows == 6
    assert shoal.verify(target, quasi=["age"], k=3).holds
    assert list_names(bucket) == [f"in/people{suffix}", f"out/release{suffix}"]


def test_days_in_folders_are_one_table_also_with_a_memory_limit(bucket, tmp_path):
    for day in (1, 2):
        put(bucket, f"days/day={day}/rows.parquet")
    recipe = shoal.Recipe(("age",), (shoal.KAnonymity(3),), others="keep")
    for address in ("s3://clinic/days", "s3://clinic/days/*/*.parquet"):
        assert shoal.run(recipe, address).frame["day"].unique().sort().to_list() == ["1", "2"]
    out = tmp_path / "out.parquet"
    release = shoal.anonymize("s3://clinic/days", **GOAL, memory="500MB", output=out)
    assert (release.report.rows, pl.read_parquet(out)["day"].n_unique()) == (12, 2)


def test_credentials_stand_in_nothing_that_is_told(bucket, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    put(bucket, "people.csv")
    line = ["anonymize", "s3://clinic/people.csv", "-q", "age", "-k", "3", "--others", "keep", "--json"]
    written = ["--report", "r.html", "--recipe-out", "r.toml", "--recoding-out", "c.json"]
    assert run_to_end(run_command_line, [*line, "-o", "s3://clinic/out.csv", *written])[0] == 0
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    failed = run_to_end(run_command_line, [*line, "-o", "out.csv"])
    assert failed[0] == 2
    told = capsys.readouterr()
    texts = [told.out, told.err, failed[1], *(path.read_text() for path in tmp_path.iterdir())]
    assert len(texts) == 6 and not any(SECRET in text for text in texts)
    assert json.loads(told.out.splitlines()[-1])["error"]["kind"] == "files"


@pytest.mark.parametrize("address", ["s3://clinic/nowhere.csv", "s3://nowhere/a.csv", "s3://clinic/no*.csv"])
def test_what_is_not_there_is_an_error_of_ours(bucket, address):
    with pytest.raises(InputError, match="s3://"):
        shoal.anonymize(address, **GOAL)


def test_a_bucket_that_is_not_there_is_found_out_and_nothing_written(bucket):
    with pytest.raises(OutputError):
        shoal.anonymize(PEOPLE, **GOAL).write("s3://nowhere/out.csv")
    assert list_names(bucket) == []


def test_a_release_that_breaks_the_goal_does_not_arrive(bucket):
    put(bucket, "release.csv")
    before = bucket.cat("clinic/release.csv")
    with pytest.raises(shoal.errors.GoalNotMet):
        shoal.anonymize(PEOPLE, quasi=["age"], others="keep", k=7, output="s3://clinic/release.csv")
    assert bucket.cat("clinic/release.csv") == before
    assert list_names(bucket) == ["release.csv"]


def test_a_report_and_its_check_with_the_release_in_the_store(bucket, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(bucket, "people.csv")
    line = ["anonymize", "s3://clinic/people.csv", "-q", "age", "-k", "3", "--others", "keep", "--quiet"]
    assert run_to_end(run_command_line, [*line, "-o", "s3://clinic/out.csv", "--report", "r.html"])[0] == 0
    check = ["verify", "s3://clinic/out.csv", "--report", "r.html", "--quiet"]
    assert run_to_end(run_command_line, check) == (0, "")
