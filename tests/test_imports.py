"""Imports go one way, heavy ones stay in their packages, and the command line starts light.

A *package* is a module or a folder directly under ``shoal``.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "shoal"

# A package may import from its own line and from the lines above it.
LAYERS = (
    ("errors",),
    ("support",),
    ("kernels",),
    ("table",),
    ("codespace", "privacy"),
    ("algorithms",),
    ("verification",),
    ("recipes",),
    ("report",),
    ("engines",),
    ("assessment", "extend", "learn", "spark", "teach"),
    ("cli", "studio", "__main__"),
)
RANK = {package: rank for rank, layer in enumerate(LAYERS) for package in layer}

# Narrower than the layers: what these folders and files may not import although it stands above them.
BANNED = {
    # They share no code with the search.
    "verification/outsider.py": RANK.keys() - {"errors", "table", "verification"},
    "verification/": {"algorithms", "kernels", "codespace"},
    # They are written by the standard library alone, so that every version writes the same table.
    "table/samples/": RANK.keys() - {"errors", "support", "table"},
}

# Slow to import, or optional: only in these packages, and there only inside the functions that use them.
HEAVY = {
    "duckdb": {"engines"},
    "fastexcel": {"table"},
    "nicegui": {"studio"},
    "pandas": {"table"},
    "pyarrow": {"table"},
    "pyspark": {"engines"},
    "sklearn": {"algorithms", "assessment", "learn"},
}
# A package that only serves one of them may import it at once.
MADE_OF = {"learn": {"sklearn"}, "studio": {"nicegui"}}

# What `shoal --help` has no use for.
ENGINE = {"numba", "numpy", "pandas", "polars", "scipy"}


class Import(NamedTuple):
    """One imported name and whether importing the file is enough to import it."""

    file: str
    line: int
    name: str
    eager: bool

    @property
    def package(self) -> str:
        return self.file.split("/")[0].removesuffix(".py")

    @property
    def target(self) -> str:
        """The package of ``shoal`` that is imported; empty for other packages and for ``shoal`` itself."""
        top, _, rest = self.name.partition(".")
        return rest.split(".")[0] if top == "shoal" else ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.name}"


def is_typing_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def nodes(tree: ast.AST, eager: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Every node below ``tree``, and whether it runs when the file is imported."""
    for node in ast.iter_child_nodes(tree):
        later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_typing_only(node)
        yield node, eager
        yield from nodes(node, eager and not later)


def names(node: ast.AST, file: str) -> list[str]:
    """The full dotted names that an import statement of ``file`` asks for."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    above = ("shoal", *Path(file).parts)[: -node.level] if node.level else ()
    stem = ".".join([*above, *([node.module] if node.module else [])])
    return [f"{stem}.{alias.name}" for alias in node.names]


def imports(source: str, file: str) -> list[Import]:
    return [
        Import(file, node.lineno, name, eager)
        for node, eager in nodes(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in names(node, file)
    ]


@pytest.fixture(scope="module")
def every() -> list[Import]:
    """Every import of the package, but those of the face: ``__init__`` may name anything."""
    files = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    return [each for file in sorted(files.keys() - {"__init__.py"}) for each in imports(files[file], file)]


def test_the_reader_sees_every_kind_of_import():
    source = """
import shoal.errors, numpy
from shoal import table
from ..errors import quote
from . import rules
if TYPE_CHECKING:
    import pandas
class A:
    import polars
    def f(self):
        from shoal.recipes.recipe import Recipe
"""
    found = [(each.name, each.target, each.eager) for each in imports(source, "privacy/closeness.py")]
    assert found == [
        ("shoal.errors", "errors", True),
        ("numpy", "", True),
        ("shoal.table", "table", True),
        ("shoal.errors.quote", "errors", True),
        ("shoal.privacy.rules", "privacy", True),
        ("pandas", "", False),
        ("polars", "", True),
        ("shoal.recipes.recipe.Recipe", "recipes", False),
    ]


def test_every_package_has_a_layer():
    packages = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    assert packages - RANK.keys() - {"__init__"} == set(), "give these a place in LAYERS"


@pytest.mark.slow
def test_inside_the_package_nobody_uses_its_face(every):
    # `from shoal import anonymize` inside Shoal would be a circle; only the version is defined there.
    allowed = RANK.keys() | {"", "__version__"}
    wrong = [each for each in every if each.target not in allowed or each.name == "shoal"]
    assert [str(each) for each in wrong] == []


def test_imports_go_one_way(every):
    wrong = [each for each in every if RANK.get(each.target, -1) > RANK.get(each.package, -1)]
    assert [str(each) for each in wrong] == []


def test_packages_of_one_layer_do_not_import_in_a_circle(every):
    order = TopologicalSorter({package: set() for package in RANK})
    for each in every:
        if each.target in RANK and each.target != each.package:
            order.add(each.package, each.target)
    order.prepare()  # raises CycleError, which names the packages


def test_some_packages_are_kept_apart(every):
    wrong = [
        each
        for each in every
        for place, banned in BANNED.items()
        if each.file.startswith(place) and each.target != each.package and each.target in banned
    ]
    assert [str(each) for each in wrong] == []


# The kernels that the verifier reaches: cells of delimited text, names of rules, and how kernels are kept.
READING = {"compiled", "kinds", "options", "records", "scan", "signatures", "store", "worker", "workshop"}


def test_the_verifier_reaches_nothing_of_the_search(every):
    """By whatever way: what it imports, what that imports, and so on, late imports included."""
    modules = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}
    reached, todo = set(), {file for file in modules if file.startswith("verification/")}
    while todo:
        reached |= todo
        names = {each.name for each in every if each.file in todo}
        todo = {file for name in names for file in files_of(name, modules)} - reached
    packages = {file.split("/")[0].removesuffix(".py") for file in reached}
    assert packages == {"errors", "kernels", "privacy", "support", "table", "verification"}
    kernels = {Path(file).stem for file in reached if file.startswith("kernels/")}
    assert kernels - {"__init__"} == READING


def files_of(name: str, modules: set[str]) -> Iterator[str]:
    """The files that importing a dotted name runs: its module and every package on the way."""
    parts = name.split(".")[1:] if name.startswith("shoal.") else []
    for end in range(1, len(parts) + 1):
        stem = "/".join(parts[:end])
        yield from {f"{stem}.py", f"{stem}/__init__.py"} & modules


def test_heavy_packages_are_imported_late_and_in_their_packages(every):
    heavy = [(each, each.name.split(".")[0]) for each in every if each.name.split(".")[0] in HEAVY]
    wrong = [
        each
        for each, package in heavy
        if each.package not in HEAVY[package] or (each.eager and package not in MADE_OF.get(each.package, ()))
    ]
    assert [str(each) for each in wrong] == []


@pytest.mark.parametrize(
    "call", ["", "sys.argv = ['shoal', '--help']; shoal.cli.main()"], ids=["import", "help"]
)
def test_the_command_line_starts_without_the_engine(call):
    code = f"""
import atexit, sys
import shoal.cli
atexit.register(lambda: print('loaded:', *sorted(sys.modules.keys() & {ENGINE}), file=sys.stderr))
{call}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    # Standard output is the help itself.
    assert (done.returncode, done.stderr) == (0, "loaded:\n")
