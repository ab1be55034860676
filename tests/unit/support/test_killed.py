"""What a process was writing is removed by another one, if the system kills it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from shoal.support import files
from shoal.support.files import remove_if_killed, scratch_folder, whole_path

HOLD = """
import sys, time
from pathlib import Path
from shoal.support.files import remove_if_killed, scratch_folder
path = Path(sys.argv[1])
with scratch_folder(path) as folder, remove_if_killed(path):
    (folder / "spill").mkdir()
    (folder / "spill" / "part").write_text("diabetes")
    path.write_text("diabetes")
    print("written", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of Unix")
def test_a_killed_process_leaves_nothing(tmp_path):
    path = tmp_path / "release.csv"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"written\n"
    assert len(list(tmp_path.iterdir())) == 2
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    until = time.monotonic() + 30
    while any(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []


def test_what_is_finished_stays(tmp_path):
    path = tmp_path / "release.csv"
    path.write_text("x")
    with remove_if_killed(path):
        pass
    assert path.read_text() == "x"


@pytest.mark.parametrize("executable", ["", "/nowhere/python"])
def test_without_a_second_process_the_folder_is_lent_all_the_same(executable, tmp_path, monkeypatch):
    monkeypatch.setattr(files.sys, "executable", executable)
    with scratch_folder(tmp_path / "release.csv") as folder:
        (folder / "part").write_text("x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="locks of Unix")
def test_what_was_left_behind_is_removed_by_the_next_run(tmp_path):
    # As after a loss of power: nobody was there to remove it.
    folder = tmp_path / ".release.csv.0123abcd.scratch"
    folder.mkdir()
    (folder / "keys").write_text("x")
    (tmp_path / ".release.csv.89abcdef.tmp").write_text("x")
    (tmp_path / ".release.csv.notours.tmp").write_text("x")
    with whole_path(tmp_path / "other.csv") as path:
        path.write_text("x")
    assert {each.name for each in tmp_path.iterdir()} == {"other.csv", ".release.csv.notours.tmp"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="locks of Unix")
def test_what_another_run_still_writes_stays(tmp_path):
    path = tmp_path / "release.csv"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"written\n"
    with whole_path(tmp_path / "mine.csv") as mine, scratch_folder(tmp_path / "yours.csv"):
        mine.write_text("x")
        with scratch_folder(tmp_path / "mine.csv"), whole_path(tmp_path / "yours.csv"):
            assert mine.exists()
    (scratch,) = tmp_path.glob(".release.csv.*.scratch")
    assert (scratch / "spill" / "part").exists()
    process.kill()
    process.communicate()
