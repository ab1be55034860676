"""Faults on purpose, in every command that writes, and in those that only read.

Whatever happens, the inputs stay as they were, and an output is there whole or not at all. What each fault
leads to stands in `MATRIX`, and so in the documentation.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from tests.cases import thin_out

from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.table import delimited

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, limits and mounts of Linux")

PEOPLE = """\
age,sex,illness
21,f,flu
22,m,cold
23,m,flu
31,f,asthma
34,m,cold
35,f,flu
51,m,cold
52,m,asthma
57,f,flu
58,f,cold
59,f,asthma
59,m,flu
"""
PEOPLE += "".join(PEOPLE.splitlines(keepends=True)[1:]) * 3
ROLES = "-q age,sex -s illness -k 3"
WRITING = {
    "anonymize": f"anonymize people.csv {ROLES} --algorithm mondrian -o out/r.csv",
    "--memory": f"anonymize people.csv {ROLES} --algorithm mondrian --memory 1GB -o out/r.csv",
    "--report": f"anonymize people.csv {ROLES} --algorithm mondrian --report out/r.html",
    "run": "run recipe.toml -o out/r.csv",
    "apply": "apply classes.json people.csv -o out/r.csv",
    "minimize": "minimize people.csv --target sex --estimator decision-tree -o out/r.csv",
}
READING = {
    "verify": "verify release.csv -q age,sex -s illness -k 3 --quiet",
    "risk": "risk people.csv -q age,sex --quiet",
    "attack": "attack release.csv --original people.csv -q age,sex -s illness --quiet",
}
EVERY = {**WRITING, **READING}

TWICE = ("anonymize", "--memory")

WHOLE = "all or nothing, 130"
KILLED = "all or nothing"
REFUSED = "nothing, 2"
MATRIX = {
    "Ctrl-C (SIGINT)": dict.fromkeys(WRITING, WHOLE) | dict.fromkeys(READING, "130"),
    "SIGTERM": dict.fromkeys(WRITING, "all or nothing, 143") | dict.fromkeys(READING, "143"),
    "SIGKILL": dict.fromkeys(WRITING, KILLED) | dict.fromkeys(READING, "-"),
    "full disk": dict.fromkeys(WRITING, REFUSED) | dict.fromkeys(READING, "-"),
    "read-only folder": dict.fromkeys(WRITING, REFUSED) | dict.fromkeys(READING, "-"),
    "input shrinks, grows or is replaced": dict.fromkeys(WRITING, REFUSED) | dict.fromkeys(READING, "2"),
    "two runs, one output": dict.fromkeys(EVERY, "-") | dict.fromkeys(TWICE, "one of the two, whole"),
}


def table() -> str:
    """The matrix, as it stands in the documentation."""
    lines = [f"| fault | {' | '.join(f'`{name}`' for name in EVERY)} |", f"|{' --- |' * (len(EVERY) + 1)}"]
    lines += [
        f"| {fault} | {' | '.join(outcomes[name] for name in EVERY)} |" for fault, outcomes in MATRIX.items()
    ]
    return "\n".join(lines)


def test_the_documentation_has_the_matrix():
    assert table() in (Path(__file__).parents[3] / "docs" / "trust.md").read_text("utf-8")


def done(line: str) -> tuple[int, str]:
    """Run a command in this process."""
    return run_to_end(run_command_line, line.split())


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """A folder with all inputs, and what every command writes when nothing is in its way."""
    folder = tmp_path_factory.mktemp("stock")
    before = Path.cwd()
    os.chdir(folder)
    try:
        Path("people.csv").write_text(PEOPLE)
        Path("out").mkdir()
        keep = "-o release.csv --recipe-out recipe.toml --recoding-out classes.json --quiet"
        assert done(f"anonymize people.csv {ROLES} --algorithm mondrian {keep}") == (0, "")
        written = {}
        for name, line in WRITING.items():
            assert done(f"{line} --quiet") == (0, ""), name
            (path,) = Path("out").iterdir()
            written[name] = path.read_bytes()
            path.unlink()
    finally:
        os.chdir(before)
    return folder, written


@pytest.fixture
def place(stock, tmp_path, monkeypatch):
    """A copy of that folder, in which the test stands."""
    shutil.copytree(stock[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def is_whole(name: str, content: bytes, written: dict[str, bytes]) -> bool:
    if name == "--report":  # which tells the time
        return content.startswith(b"<!doctype html>") and content.rstrip().endswith(b"</html>")
    return content == written[name]


def left(folder: Path) -> tuple[list[Path], list[Path]]:
    """The outputs there are, and what else lies beside them."""
    paths = list((folder / "out").iterdir())
    return [p for p in paths if not p.name.startswith(".")], [p for p in paths if p.name.startswith(".")]


# Signals, after a random share of the work: told by the time that the process had a processor.

MOMENTS = Random(20261116)
AT_MOST = 1.6  # seconds: about where a run on so few rows ends


def processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(line: str, number: int, moment: float) -> tuple[int, str]:
    """Start a command, send a signal after some work, and tell how it ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", *line.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and processor_time(process.pid) < moment:
            time.sleep(0.005)
        process.send_signal(number)
        err = process.communicate(timeout=120)[1]
    finally:
        process.kill()
        process.wait()
    return process.returncode, err


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=["int", "term", "kill"]
)
@pytest.mark.parametrize(
    ("name", "moment"), thin_out([(name, MOMENTS.uniform(0.15, AT_MOST)) for name in EVERY], 3), ids=EVERY
)
def test_a_signal_at_any_moment(place, stock, name, moment, number):
    before = inputs(place)
    code, err = interrupted(EVERY[name], number, moment)
    assert inputs(place) == before
    outputs, hidden = left(place)
    assert all(is_whole(name, path.read_bytes(), stock[1]) for path in outputs)
    if number == signal.SIGKILL:
        assert code in (0, -9)
        assert all(re.fullmatch(r"\..*\.[0-9a-f]{8}\.(tmp|scratch)", path.name) for path in hidden)
        return
    assert hidden == []
    assert code in (0, 128 + number), err
    if code:
        assert err == "interrupted; no unfinished file is left behind\n"


def test_what_a_killed_run_leaves_does_not_disturb_the_next(place, stock):
    (place / "out" / ".r.csv.0123abcd.tmp").write_text("half a rele")
    (place / "out" / ".r.csv.0123abcd.scratch").mkdir()
    for name in ("anonymize", "--memory"):
        assert done(f"{WRITING[name]} --quiet") == (0, "")
        assert (place / "out" / "r.csv").read_bytes() == stock[1][name]


# Places that take nothing.


@contextmanager
def mounted(folder: Path, options: str):
    """A small disk at ``folder``; skips the test where none may be mounted."""
    line = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk(place, name):
    before = inputs(place)
    with mounted(place / "out", "size=16k"):
        (place / "out" / "full").write_bytes(b"x" * 16384)
        code, said = done(f"{WRITING[name]} --quiet")
        assert [path.name for path in (place / "out").iterdir()] == ["full"]
    assert code == 2
    assert said.startswith("error: out/r.")
    assert "no space left on device" in said.lower()
    assert inputs(place) == before


@pytest.mark.parametrize("name", WRITING)
def test_a_read_only_folder(place, name):
    before = inputs(place)
    with mounted(place / "out", "ro,size=16k"):
        code, said = done(f"{WRITING[name]} --quiet")
    assert (code, said.count("\n")) == (2, 1)
    assert "the folder out is read-only" in said
    assert inputs(place) == before
    assert left(place) == ([], [])


# Inputs that do not hold still: between the look at their outline and the reading of their cells.

CHANGES = {
    "shrinks": lambda path: os.truncate(path, 60),
    "grows": lambda path: path.write_text(PEOPLE + "60,f,flu\n"),
    "is replaced": lambda path: (
        path.with_name("new").write_text(PEOPLE),
        path.with_name("new").replace(path),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", EVERY)
def test_an_input_that_changes_while_it_is_read(place, monkeypatch, name, change):
    check = delimited._check_layout

    def checked(path: Path, *rest: object) -> None:
        check(path, *rest)
        CHANGES[change](path)

    monkeypatch.setattr(delimited, "_check_layout", checked)
    code, said = done(f"{EVERY[name]} --quiet")
    assert code == 2, said
    again = "line 6 has 2 fields"  # where a file is opened twice, it may look the same from then on
    assert "changed while it was read" in said or again in said
    assert left(place) == ([], [])


# Too little memory, no cache, no single run.


@pytest.mark.parametrize("megabytes", [300, 900, 1_400])
def test_too_little_memory(place, stock, megabytes):
    before = inputs(place)
    line = f"ulimit -v {megabytes * 1024}; exec '{sys.executable}' -m shoal {WRITING['anonymize']}"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=300)
    outputs, hidden = left(place)
    assert inputs(place) == before
    assert (ended.returncode == 0) == bool(outputs)
    # With 300 not even Python's own libraries can be loaded, and what they say is not ours.
    assert megabytes == 300 or (ended.returncode, b"addresses (ulimit -v)" in ended.stderr) == (2, True)
    assert all(path.read_bytes() == stock[1]["anonymize"] for path in outputs)
    assert hidden == []


def test_a_cache_for_kernels_that_takes_nothing(place):
    """What is compiled is then not kept; everything else is as ever."""
    cache = place / "cache"
    cache.mkdir()
    with mounted(cache, "size=4k"):
        (cache / "full").write_bytes(b"x" * 4096)
        ended = subprocess.run(
            [sys.executable, "-m", "shoal", *READING["verify"].split()],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "SHOAL_CACHE": str(cache), "TMPDIR": str(cache)},
        )
        assert [path.name for path in cache.iterdir() if path.is_file()] == ["full"]
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", thin_out(TWICE, 2))
def test_two_runs_that_write_one_output(place, stock, name):
    line = [sys.executable, "-m", "shoal", *WRITING[name].split(), "--quiet"]
    both = [subprocess.Popen(line) for _ in range(2)]
    assert [process.wait(timeout=300) for process in both] == [0, 0]
    outputs, hidden = left(place)
    assert hidden == []
    assert [path.read_bytes() for path in outputs] == [stock[1][name]]
