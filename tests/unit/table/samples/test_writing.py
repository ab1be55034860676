"""Samples in files: streamed, whole or not at all."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.errors import InputError, OutputError
from shoal.table.samples import SAMPLES, sample, sample_hierarchies, write_hierarchies, write_sample
from shoal.table.samples.writing import ROW_GROUP_ROWS

SCHEMA = SAMPLES["hospital"].schema


def read_csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, schema=dict(SCHEMA))


@pytest.mark.slow
def test_streamed_parquet_equals_the_table_in_memory(tmp_path: Path) -> None:
    rows = ROW_GROUP_ROWS + 30_001
    write_sample("hospital", tmp_path / "made.parquet", rows, 5)
    assert_frame_equal(pl.read_parquet(tmp_path / "made.parquet"), sample("hospital", rows, 5))


def test_csv_has_the_content_of_parquet(tmp_path: Path) -> None:
    for suffix in (".csv", ".parquet"):
        write_sample("hospital", tmp_path / f"made{suffix}", 60_000, 5)
    assert_frame_equal(read_csv(tmp_path / "made.csv"), pl.read_parquet(tmp_path / "made.parquet"))


def test_csv_keeps_leading_zeros_and_two_decimals(tmp_path: Path) -> None:
    write_sample("hospital", tmp_path / "made.csv", 2000)
    header, *lines = (tmp_path / "made.csv").read_text(encoding="utf-8").splitlines()
    assert header.split(",") == list(SCHEMA)
    cells = [dict(zip(SCHEMA, line.split(","), strict=True)) for line in lines]
    assert {len(row["postcode"]) for row in cells} == {0, 5}
    assert any(row["postcode"].startswith("0") for row in cells)
    assert all(row["cost"][-3] == "." for row in cells if row["cost"])


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".CSV"])
def test_same_seed_same_bytes(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{copy}{suffix}" for copy in "ab"]
    for path in paths:
        write_sample("hospital", path, 80_000, 9)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_defaults_are_the_samples_own(tmp_path: Path) -> None:
    write_sample("hospital", str(tmp_path / "made.parquet"))
    assert_frame_equal(pl.read_parquet(tmp_path / "made.parquet"), sample())


def test_progress_grows_to_the_number_of_rows(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    write_sample("hospital", tmp_path / "made.csv", 60_000, 1, lambda done, rows: seen.append((done, rows)))
    assert seen == [(25_000, 60_000), (50_000, 60_000), (60_000, 60_000)]


@pytest.mark.parametrize("name", ["made.xlsx", "made", "made.csv.gz"])
def test_other_kinds_of_file_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"'{name}': use a name that ends in \.csv or \.parquet"):
        write_sample("hospital", tmp_path / name, 10)
    assert list(tmp_path.iterdir()) == []


def test_bad_name_and_bad_size_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'hospital'"):
        write_sample("Hospital", tmp_path / "made.csv", 10)
    with pytest.raises(InputError, match="at least 1 row, not 0"):
        write_sample("hospital", tmp_path / "made.csv", 0)


def test_missing_folder_and_folder_as_file_are_output_errors(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no folder"):
        write_sample("hospital", tmp_path / "nowhere" / "made.csv", 10)
    (tmp_path / "made.csv").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        write_sample("hospital", tmp_path / "made.csv", 10)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_broken_off_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, suffix: str, error: type[BaseException]
) -> None:
    path = tmp_path / f"made{suffix}"
    path.write_text("old")

    def stop(done: int, rows: int) -> None:
        raise error

    with pytest.raises(error):
        write_sample("hospital", path, 500_000, 1, stop)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


INTERRUPTED = """
import os, signal, sys
from shoal.table.samples import write_sample

def press_ctrl_c(done, rows):
    if done == 100_000:
        os.kill(os.getpid(), signal.SIGINT)

try:
    write_sample("hospital", sys.argv[1], 100_000_000, 1, press_ctrl_c)
except KeyboardInterrupt:
    print(os.listdir(os.path.dirname(sys.argv[1])))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_ctrl_c_stops_at_once_and_cleans_up(tmp_path: Path, suffix: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / f"made{suffix}")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[]\n", "")


DISK_FULL = """
import resource, sys
from shoal.errors import OutputError
from shoal.table.samples import write_sample

resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    write_sample("hospital", sys.argv[1], 100_000, 1)
except OutputError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_full_disk_is_an_output_error(tmp_path: Path, suffix: str) -> None:
    command = [sys.executable, "-c", DISK_FULL, str(tmp_path / f"made{suffix}")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.stdout == f"{tmp_path / 'made'}{suffix} cannot be written: file too large\n"
    assert list(tmp_path.iterdir()) == []


def test_hierarchies_are_written_one_file_per_column(tmp_path: Path) -> None:
    paths = write_hierarchies("hospital", tmp_path / "new" / "hierarchies")
    expected = sample_hierarchies("hospital")
    assert {path.name for path in paths} == {f"{column}.csv" for column in expected}
    assert set(paths) == set((tmp_path / "new" / "hierarchies").iterdir())
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [line.split(";") for line in lines] == expected[path.stem]


def test_hierarchies_need_a_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(OutputError, match="cannot make the folder"):
        write_hierarchies("hospital", tmp_path / "taken")
