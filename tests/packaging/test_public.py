"""The public names and their signatures are those that were agreed on."""

import ast
import importlib.util
from pathlib import Path

import shoal

HERE = Path(__file__).parent


def test_the_public_names_and_signatures_are_as_pinned():
    spec = importlib.util.spec_from_file_location("public", HERE / "public.py")
    public = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(public)
    assert public.text() == public.FILE.read_text("utf-8"), (
        "if that is meant: python tests/packaging/public.py"
    )


def test_type_checkers_see_the_names_that_programs_see():
    tree = ast.parse(Path(shoal.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body for alias in node.names}
    assert seen == set(shoal.__all__) - {"__version__"}
