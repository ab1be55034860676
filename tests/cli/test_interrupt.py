"""Ctrl-C and SIGTERM in every phase: answered at once, with nothing half-done left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.cases import thin_out

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

SAYS = "interrupted; no unfinished file is left behind\n"
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])

# A run that stops where it is told to: when a phase is announced, or just before the finished file is moved
# to its place. It says so, and waits for a signal.
PAUSING = """
import contextlib, os, sys, time
import shoal.cli, shoal.cli.screen

where = sys.argv.pop(1)

def pause(*_, **options):
    print("here", file=sys.stderr, flush=True)
    time.sleep(600)

@contextlib.contextmanager
def progress(hidden):
    yield lambda doing, done: pause() if doing == where else None

shoal.cli.screen.progress = progress
if where == "move":
    os.fsync = pause
shoal.cli.main()
"""


class Running:
    """A process that is going to be interrupted."""

    def __init__(self, folder: Path, *line: object, **environment: str) -> None:
        self.process = subprocess.Popen(
            list(map(str, line)),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def reaches_its_pause(self) -> None:
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert line == "here\n", line + self.process.stderr.read()

    def reaches(self, condition: Callable[[], bool]) -> None:
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)

    def ends_by(self, number: int) -> None:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        told = {"code": "interrupted", "message": SAYS.rstrip(), "retry": True, "exit_code": 128 + number}
        expected = f"{json.dumps({'error': told})}\n" if "--json" in self.process.args else ""
        assert (self.process.returncode, out, err) == (128 + number, expected, SAYS)


@pytest.fixture
def start(tmp_path, people):
    """Start something in the folder of the test, and make sure that it ends with the test."""
    started: list[Running] = []

    def begin(*line: object, **environment: str) -> Running:
        started.append(Running(tmp_path, *line, **environment))
        return started[-1]

    yield begin
    for each in started:
        each.process.kill()
        each.process.communicate()


ANONYMIZE = (
    "anonymize",
    "people.csv",
    "-q",
    "age,sex",
    "-k",
    3,
    "-o",
    "release.csv",
    "--recipe-out",
    "r.toml",
    "--others",
    "keep",
)


@pytest.mark.slow
@SIGNALS
@pytest.mark.parametrize("phase", thin_out(["read", "search", "recode", "verify", "write", "move"], 3))
def test_in_every_phase(start, tmp_path, files, phase, number):
    before = files()
    running = start(sys.executable, "-c", PAUSING, phase, *ANONYMIZE)
    running.reaches_its_pause()
    unfinished = [path.name for path in tmp_path.iterdir() if path.name != "people.csv"]
    assert len(unfinished) == (phase == "move"), unfinished  # else there would be nothing to clean up
    running.ends_by(number)
    assert files() == before


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["search", "write", "verify"])
def test_with_the_rows_on_disk(start, tmp_path, files, phase):
    before = files()
    memory = ("--memory", "1GB", "--algorithm", "mondrian")
    running = start(sys.executable, "-c", PAUSING, phase, *ANONYMIZE, *memory)
    running.reaches_its_pause()
    scratch = [path for path in tmp_path.iterdir() if path.is_dir() and path.name.endswith(".scratch")]
    assert len(scratch) == 1
    assert (scratch[0] / "keys").exists()
    running.ends_by(signal.SIGINT)
    assert files() == before


@pytest.mark.slow
def test_an_older_release_survives(start, tmp_path, files):
    (tmp_path / "release.csv").write_text("the release of yesterday\n")
    before = files()
    running = start(sys.executable, "-c", PAUSING, "move", *ANONYMIZE)
    running.reaches_its_pause()
    running.ends_by(signal.SIGINT)
    assert files() == before


@pytest.mark.slow
def test_while_a_kernel_compiles(start, tmp_path, people):
    """Which takes many seconds in a thread that cannot be stopped; nobody waits for it."""
    pl.read_csv(people).write_parquet(tmp_path / "people.parquet")  # no kernel to read this
    cache = tmp_path / "cache"
    code = PAUSING.replace("time.sleep(600)", "")
    line = [each if each != "people.csv" else "people.parquet" for each in ANONYMIZE]
    running = start(sys.executable, "-c", code, "search", *line, SHOAL_CACHE=str(cache))
    running.reaches_its_pause()
    time.sleep(0.3)
    running.ends_by(signal.SIGINT)
    assert not list(cache.rglob("partition.grow*.kernel"))
    assert not (tmp_path / "release.csv").exists()


@pytest.mark.slow
@SIGNALS
@pytest.mark.parametrize("name", ["made.csv", "made.parquet"])
def test_while_a_sample_is_made(start, tmp_path, files, name, number):
    before = files()
    running = start(sys.executable, "-m", "shoal", "sample", "hospital", "--rows", 1_000_000_000, "-o", name)
    running.reaches(lambda: any(path.name.startswith(".made") for path in tmp_path.iterdir()))
    running.ends_by(number)
    assert files() == before


@pytest.mark.slow
def test_while_a_release_is_verified(start, tmp_path):
    code = PAUSING.replace(
        'if where == "move"', "import shoal.table; shoal.table.read_released = pause\nif False"
    )
    running = start(
        sys.executable, "-c", code, "nowhere", "verify", "people.csv", "-q", "age", "-k", 2, "--json"
    )
    running.reaches_its_pause()
    running.ends_by(signal.SIGTERM)


@pytest.mark.slow
def test_an_interrupt_that_the_caller_ignores_is_ignored(start, tmp_path):
    """As under nohup, or in the background of a script."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + PAUSING
    running = start(sys.executable, "-c", code.replace("600", "1"), "search", *ANONYMIZE)
    running.reaches_its_pause()
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(timeout=60) == 0
    assert (tmp_path / "release.csv").exists()


@pytest.mark.slow
def test_the_terminal_is_left_tidy(tmp_path, people):
    """Progress is drawn on standard error where that is a terminal; an interrupt gives the cursor back."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "shoal", "sample", "hospital", "--rows", "1000000000", "-o", "made.csv"]
    process = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while b"making rows" not in shown:
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        while SAYS.rstrip().encode() not in shown:
            shown += os.read(ours, 4096)
        assert process.communicate(timeout=60)[0] == b""
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert process.returncode == 130
    assert b"\x1b[?25l" in shown  # the bar hides the cursor,
    assert shown.rstrip().endswith(b"\r\x1b[2K\x1b[?25h" + SAYS.rstrip().encode())
