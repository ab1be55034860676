"""The public names and their signatures are those that were agreed on."""

import ast
import importlib.util
from pathlib import Path

import pytest

import shoal

HERE = Path(__file__).parent


@pytest.mark.slow
def test_the_public_names_and_signatures_are_as_pinned():
    spec = importlib.util.spec_from_file_location("public", HERE / "public.py")
    public = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(public)
    assert public.text() == public.FILE.read_text("utf-8"), (
        "if that is meant: python tests/packaging/public.py"
    )


def test_type_checkers_see_the_names_that_programs_see():
    stub = ast.parse(Path(shoal.__file__).with_suffix(".pyi").read_text("utf-8"))
    seen = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    own = dict.fromkeys(("errors", "learn", "spark", "teach"), "shoal")
    own["studio"] = "shoal.studio.opening"  # its module can be called
    assert seen == own | {name: f"shoal.{module}" for name, module in shoal._MODULES.items()}


def test_no_module_hides_a_function_of_its_name():
    hidden = [name for name in shoal._MODULES if importlib.util.find_spec(f"shoal.{name}") is not None]
    assert hidden == []
