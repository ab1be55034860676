"""The style meter: names, comments and lengths, counted over the source.

The limits are close to what well-kept projects of the field have (see CONTRIBUTING.md). They make a habit
visible before it spreads; they do not replace a reader.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "shoal"
PROSE = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
# Written by programs, from docstrings.
GENERATED = {"api.md", "cli.md"}


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


@pytest.fixture(scope="module")
def functions(trees) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


@pytest.fixture(scope="module")
def names(functions) -> list[str]:
    return [each.name.strip("_") for each in functions if not re.fullmatch(r"__\w+__", each.name)]


def test_functions_are_named_by_a_verb_and_its_object(names):
    single = [name for name in names if "_" not in name]
    assert len(single) <= 0.2 * len(names), sorted(set(single))


def test_no_function_is_named_by_a_participle(names):
    found = [name for name in names if re.fullmatch(r"[a-z]+(ed|en)", name)]
    assert len(found) <= 0.01 * len(names), sorted(set(found))


def test_no_class_name_is_used_twice(trees):
    places = defaultdict(list)
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.strip("_")].append(file)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_functions_are_short(functions):
    lengths = sorted(each.end_lineno - first_statement(each).lineno + 1 for each in functions)
    assert median(lengths) <= 6
    assert lengths[int(0.9 * len(lengths))] <= 18
    assert sum(length > 80 for length in lengths) <= 1


def first_statement(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """The first one after the documentation."""
    return function.body[1 if ast.get_docstring(function) and len(function.body) > 1 else 0]


def test_imports_stand_at_the_top(trees):
    """Inside functions only where something is optional, or too slow to import for everybody."""
    inside = [
        f"{file}:{node.lineno}"
        for file, tree in trees.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert len(set(inside)) <= 60, inside


def test_comments_say_why_often_enough():
    text = "".join(path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py")))
    lines = sum(bool(line.strip()) for line in text.splitlines())
    assert sum(1 for _ in comments_of()) >= 0.04 * lines


def comments_of() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
        yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def test_prose_is_wrapped():
    """At 100 columns; tables, pictures and examples may be wider."""
    wide = [
        f"{page.relative_to(ROOT).as_posix()}: {line}"
        for page in PROSE
        if page.name not in GENERATED
        for line in re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S).splitlines()
        if len(line) > 100 and not line.startswith(("|", "    ", "!["))
    ]
    assert wide == []
