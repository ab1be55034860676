"""Every algorithm, model and loss has its definition, its cost, its reference, and what it does not give."""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from shoal.algorithms import ALGORITHMS
from shoal.codespace.loss import LOSSES
from shoal.privacy import MODELS

DOCS = Path(__file__).parents[2] / "docs"


def lacks(text: str, *patterns: str) -> list[str]:
    return [pattern for pattern in patterns if not re.search(pattern, text, re.MULTILINE)]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_page_of_an_algorithm(name):
    page = (DOCS / "algorithms" / f"{name}.md").read_text("utf-8")
    heads = (r"^## Cost$", r"^## What it does not protect from$", r"^## References$")
    assert lacks(page, rf"^# .*\(`{name}`\)$", *heads) == []


@pytest.mark.parametrize("name", MODELS)
def test_the_page_of_a_model(name):
    page = (DOCS / "models" / f"{'closeness' if name == 't' else name}.md").read_text("utf-8")
    said = (
        r"\*\*Protects from\*\*",
        r"\*\*[Dd]oes not protect\*\*",
        r"\*\*Cost:\*\*",
        r"\*\*Reference:\*\* \S",
    )
    assert lacks(page, rf"^# .*\(`{name}`\)$", rf"`{name}\(", *said) == []


@pytest.mark.parametrize("name", LOSSES)
def test_the_page_of_a_loss(name):
    page = (DOCS / "losses" / f"{name}.md").read_text("utf-8")
    said = (r"\*\*Use it\*\*", r"\*\*It does not see\*\*", r"\*\*Cost:\*\*", r"^Reference: \S")
    assert lacks(page, rf"^# .*\(`{name}`\)$", *said) == []


def test_what_is_lacking_is_found():
    assert lacks("# A (`a`)\n\n## Cost\n", r"^## Cost$", r"^## References$") == [r"^## References$"]


@pytest.fixture
def lists():
    """The program that writes every list of them."""
    spec = importlib.util.spec_from_file_location("make_lists", DOCS / "make_lists.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_list_is_up_to_date(lists):
    assert list(lists.find_stale()) == [], "run: python docs/make_lists.py"
    assert list(lists.list_missing_pages()) == []


def test_no_list_names_what_there_is_not():
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    linked = re.findall(r"\[`([\w-]+)`\]\(docs/algorithms/", readme)
    assert sorted(linked) == sorted(ALGORITHMS)
    for page, table in (("models.md", MODELS), ("losses.md", LOSSES)):
        listed = re.findall(r"^\| \[`(.+?)`\]\(", (DOCS / page).read_text("utf-8"), re.MULTILINE)
        assert sorted(listed) == sorted(table)


@dataclass(frozen=True)
class Toy:
    """Does something new.

    In a way of its own.
    """

    mode: Literal["plain", "fancy"] = "fancy"
    column: str | None = None


def test_one_line_in_a_table_is_found_missing_everywhere_and_added(lists, monkeypatch, tmp_path):
    """Anyone who adds an entry writes its file, its line in the table, its page and its test."""
    for table in (ALGORITHMS, MODELS, LOSSES):
        monkeypatch.setitem(table.built_in, "toy", Toy)
    pages = [f"docs/{folder}/toy.md" for folder in ("algorithms", "models", "losses")]
    assert list(lists.list_missing_pages()) == pages
    page, find_page = tmp_path / "toy.md", lists.find_page
    page.write_text("---\nhelp: for play\nset column: NAME\n---\n\n# The toy (`toy`)\n", "utf-8")
    monkeypatch.setattr(lists, "find_page", lambda *entry: page if entry[1] == "toy" else find_page(*entry))
    added = lists.find_stale()
    wanted = {
        "src/shoal/__init__.py": ['test_parts": "Toy",', "Toy Uniqueness"],
        "src/shoal/__init__.pyi": ["import Toy as Toy"],
        "src/shoal/recipes/names.py": ["or toy (for play)", "toy: mode=fancy or plain, column=NAME."],
        "README.md": ["| [`toy`](docs/algorithms/toy.md) | Does something new |"],
        "docs/models.md": ["| [`toy`](models/toy.md) | Does something new | | `shoal.Toy` |"],
        "docs/losses.md": ["| [`toy`](losses/toy.md) | | Does something new |"],
        "mkdocs.yml": [f"The toy: {folder}/toy.md" for folder in ("algorithms", "models", "losses")],
    }
    assert added.keys() == wanted.keys()
    joined = {file: re.sub(r'"\n +"', "", text) for file, text in added.items()}
    lacking = [(file, text) for file, texts in wanted.items() for text in texts if text not in joined[file]]
    assert lacking == []
