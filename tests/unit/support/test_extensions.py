"""Built-in classes are loaded when asked for, and entry points are looked for where there can be some."""

import subprocess
import sys
import zipfile

import pytest

from shoal.algorithms import ALGORITHMS, Algorithm
from shoal.algorithms.mondrian import Mondrian
from shoal.support.extensions import ExtensionTable, find_entry_points, forget_plugins


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder, alone on the path of modules."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    forget_plugins()
    yield tmp_path
    forget_plugins()


def add_distribution(folder, text="[shoal.algorithms]\nsplit = toy:Toy\n"):
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n", "utf-8")
    (folder / "entry_points.txt").write_text(text, "utf-8")


def names():
    return [entry.name for entry in find_entry_points("shoal.algorithms")]


def test_no_distribution(place):
    assert names() == []


def test_a_distribution_for_another_program(place):
    add_distribution(place / "toy-1.dist-info", "[console_scripts]\ntoy = toy:main\n")
    assert names() == []


@pytest.mark.parametrize("folder", ["toy-1.dist-info", "toy.egg-info"])
def test_a_distribution(place, folder):
    add_distribution(place / folder)
    assert names() == ["split"]


def test_a_distribution_that_comes_while_the_program_runs(place):
    assert names() == []
    add_distribution(place / "toy-1.dist-info")
    assert names() == []
    forget_plugins()
    assert names() == ["split"]


def test_an_archive_on_the_path(place, monkeypatch):
    add_distribution(place / "inside" / "toy-1.dist-info")
    archive = place / "all.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for each in sorted((place / "inside").rglob("*")):
            file.write(each, each.relative_to(place / "inside"))
    monkeypatch.setattr(sys, "path", [str(archive), str(place / "absent")])
    assert names() == ["split"]


def test_only_the_algorithm_that_is_asked_for_is_loaded():
    code = (
        "import sys; from shoal.algorithms import ALGORITHMS; ALGORITHMS['hilbert']; assert 'mingen' in "
        "ALGORITHMS; print(*sorted(m for m in sys.modules if m.split('.')[-1] in ALGORITHMS.built_in))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "shoal.algorithms.hilbert" in shown
    assert "shoal.algorithms.mingen" not in shown


def test_every_name_stands_for_a_class_and_every_class_for_its_name():
    for name, kind in ALGORITHMS.built_in.items():
        assert issubclass(kind, Algorithm)
        assert ALGORITHMS.find_name(kind) == name


def test_a_name_is_found_before_the_class_is_loaded():
    table = ExtensionTable(
        "toy", "shoal.toys", Algorithm, (), {"other": "absent:X", "cut": f"{Mondrian.__module__}:Mondrian"}
    )
    assert table.find_name(Mondrian) == "cut"
