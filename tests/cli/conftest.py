"""The command line as a user meets it: exit code, what is printed where, and the files around it."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from shoal.cli import run_command_line
from shoal.cli.process import run_to_end

PEOPLE = """\
name,age,sex,zip,illness
Ada,21,f,01001,flu
Bob,22,m,01001,cold
Cem,23,m,01002,flu
Dee,31,f,01002,asthma
Eli,34,m,01003,cold
Fay,35,f,01003,flu
Gus,51,m,02001,cold
Hal,52,m,02001,asthma
Ivy,57,f,02002,flu
Jan,58,f,02002,cold
Kim,59,f,02003,asthma
Leo,59,m,02003,flu
"""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every file below ``folder`` with its content, every folder with None."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes() for path in paths}


def keep_others(arguments: tuple[object, ...]) -> list[str]:
    """A command line that keeps columns without a role, which most tests here are not about."""
    line = [str(argument) for argument in arguments]
    if line[:1] == ["anonymize"] and not {"--others", "--help", "--roles"} & set(line):
        line += ["--others", "keep"]
    return line


class Shoal:
    """Runs commands inside this process, in a folder of their own, the way ``main`` does."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture

    def __call__(self, *arguments: object) -> Outcome:
        self._capture.readouterr()
        code, said = run_to_end(run_command_line, keep_others(arguments))
        out, err = self._capture.readouterr()
        return Outcome(code, out, err + said)

    def succeeds(self, *arguments: object) -> str:
        """Run a command that must succeed, and return what it printed."""
        done = self(*arguments)
        assert (done.code, done.err) == (0, ""), done.err
        return done.out

    def fails(self, code: int, *arguments: object) -> str:
        """Run a command that must fail in one paragraph and leave no trace; returns that paragraph."""
        before = snapshot(self.folder)
        done = self(*arguments)
        assert done.code == code, done.err
        assert done.out == ""
        assert "Traceback" not in done.err
        assert "bug" not in done.err
        assert done.err.startswith("error: ") or done.err.startswith("Usage: "), done.err
        assert snapshot(self.folder) == before, "a failing command left something behind or changed a file"
        return done.err


@pytest.fixture
def shoal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shoal:
    """The command line, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return Shoal(tmp_path, capsys)


@pytest.fixture
def files(tmp_path: Path) -> Callable[[], dict[str, bytes | None]]:
    """What is in that folder now."""
    return lambda: snapshot(tmp_path)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A small table in that folder."""
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Put a file into that folder."""

    def put(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line as a process of its own; slower, so only where it makes a difference."""

    def call(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "shoal", *keep_others(arguments)]
        settings = {"cwd": tmp_path, "capture_output": True, "text": True, **options}
        return subprocess.run(line, check=False, **settings)  # type: ignore[call-overload, no-any-return]

    return call
