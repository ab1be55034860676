"""Malformed files: each is refused in one paragraph that says what is wrong; nothing is left behind."""

import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from shoal.cli import run_command_line
from shoal.cli.process import run_to_end

FOLDER = Path(__file__).parent
OTHERS = ("manifest.toml", Path(__file__).name)
MANIFEST = tomllib.loads((FOLDER / "manifest.toml").read_text("utf-8"))
FILES = sorted(path for path in FOLDER.iterdir() if path.is_file() and path.name not in OTHERS)


def usual(name: str) -> str:
    return (
        f"run {name}"
        if name.endswith(".toml")
        else f"anonymize {name} -q age -k 2 -o release.csv --others keep"
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with all of them."""
    folder = tmp_path_factory.mktemp("corpus")
    for path in FILES:
        shutil.copy(path, folder)
    return folder


def test_every_file_is_in_the_manifest():
    assert sorted(MANIFEST) == [path.name for path in FILES]
    assert len(MANIFEST) >= 40


@pytest.mark.parametrize("name", MANIFEST)
def test_a_malformed_file_is_refused(place, monkeypatch, capsys, name):
    monkeypatch.chdir(place)
    entry = MANIFEST[name]
    code, said = run_to_end(run_command_line, shlex.split(entry.get("command", usual(name))))
    out, err = capsys.readouterr()
    assert (code, out, err) == (2, "", "")
    assert said.startswith("error: ")
    assert said.count("\n") == 1, "one paragraph"
    assert "bug" not in said
    assert entry["says"] in said
    left = {path.name: path.read_bytes() for path in place.iterdir()}
    assert left == {path.name: path.read_bytes() for path in FILES}, "left behind, or changed"
