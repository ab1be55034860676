"""The page for users shows one tree in every format, and a message: they are what the page says."""

import re
from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.table.hierarchies import Hierarchy, read_hierarchies, read_hierarchy

PAGE = (Path(__file__).parents[4] / "docs" / "hierarchies.md").read_text("utf-8")
FILES = dict(re.findall(r'^```\w+ title="(.+?)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")


def levels() -> list[tuple[str, ...]]:
    """The table of levels, as rows."""
    table = PAGE.split("| level 0 |")[1].split("\n\n")[0].splitlines()[2:]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table]


@pytest.mark.parametrize("name", ["job.csv", "domains.txt", "trees.toml", "job.tree", "."])
def test_every_format_shows_the_same_tree(files, name):
    assert read_hierarchies(name, ["job"]) == {"job": Hierarchy.from_rows(levels())}


def test_the_message(files):
    with pytest.raises(InputError) as caught:
        read_hierarchy("broken.csv")
    assert str(caught.value) == FILES["message"].strip()
