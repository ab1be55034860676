"""Every algorithm, model and loss has its definition, its cost, its reference, and what it does not give."""

import re
from pathlib import Path

import pytest

from shoal.algorithms import ALGORITHMS
from shoal.loss import LOSSES
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


def test_the_readme_knows_them_all():
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    linked = re.findall(r"\[`([\w-]+)`\]\(docs/algorithms/", readme)
    assert sorted(linked) == sorted(ALGORITHMS)
    counted = {11: "eleven", 12: "twelve", 13: "thirteen", 16: "sixteen", 17: "seventeen", 18: "eighteen"}
    assert f"{counted[len(MODELS)]} privacy models" in readme
    assert f"{counted[len(LOSSES)]} losses" in readme
