"""What a process was writing is removed by another one, if the system kills it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from shoal.support import files
from shoal.support.files import remove_if_killed, scratch_folder

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
