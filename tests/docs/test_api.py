"""The page of the Python names is what its program writes."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def program():
    spec = importlib.util.spec_from_file_location("make_api", DOCS / "make_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_page_is_fresh():
    make_api = program()
    assert make_api.page() == make_api.PAGE.read_text("utf-8"), "run: python docs/make_api.py"


def test_numpydoc_becomes_markdown():
    papers = "References\n----------\nA. B., C.\nD. E., F."
    doc = f"One ``x``.\n\nParameters\n----------\na, b : int\n    Said\n    here.\nc\n\n{papers}"
    told = program().prose(doc)
    assert told.startswith("One `x`.\n\n**Parameters**\n\n- `a`, `b` (int): Said here.\n- `c`\n")
    assert told.endswith("**References**\n\n- A. B., C.\n- D. E., F.\n")
