"""No call whose result depends on the processor or on the number of threads: read off the source.

Why, and what to take instead, is told in docs/decisions/same-bytes.md.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "shoal"

ELEMENTARY = {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "power", "float_power", "pow"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arctan2", "hypot", "cbrt"),
    *("asin", "acos", "atan", "atan2", "gamma", "lgamma", "erf", "erfc", "geomspace", "logspace"),
}
PRODUCTS = {"dot", "vdot", "inner", "matmul", "tensordot", "einsum", "linalg", "cov", "corrcoef", "polyfit"}

# By file and kind: why nothing hangs on it there.
PERMITTED = {
    ("assessment/attacks/kinds.py", "product"): "sums of whole numbers, which are exact in any order",
    ("assessment/attacks/attack_data.py", "product"): "scipy's sparse product of counts",
    ("assessment/attacks/people.py", "product"): "sums of whole numbers, which are exact in any order",
    ("assessment/comparisons/utility.py", "product"): "a figure that is rounded to nine decimals",
    ("cli/arguments.py", "elementary"): "rounded to whole numbers, and never halfway between two",
    ("engines/disk_counting.py", "group_by"): "whole numbers, put in order afterwards",
    ("engines/packing.py", "argsort"): "equal numbers find the same place, whichever is looked up first",
    ("engines/spark/verifier.py", "group_by"): "whole numbers, of which the order does not matter",
    ("engines/level_workers.py", "group_by"): "whole numbers, which Spark adds up in any order, too",
    (
        "algorithms/guides.py",
        "product",
    ): "a guide of tree, whose page says so; effects are rounded",
    (
        "algorithms/guides.py",
        "elementary",
    ): "a guide of tree, whose page says so; odds are rounded",
    ("algorithms/suppress.py", "partition"): "the value at one place of an order, and not whose it is",
    (
        "learn/minimizer.py",
        "product",
    ): "a direction of several outputs: for an estimator, not for a release",
    ("algorithms/exact/columns.py", "product"): "scipy's sparse product of counts",
    ("algorithms/exact/options.py", "power"): "whole numbers",
    ("codespace/frequency.py", "argsort"): "no two keys are equal",
    ("table/hierarchies/builders/intervals.py", "power"): "whole numbers",
    ("kernels/collapse.py", "argsort"): "no two keys are equal",
    ("kernels/regroup.py", "argsort"): "numba's merge sort is stable, and goes by that name alone",
    ("kernels/neighbourhoods.py", "argsort"): "numba's merge sort is stable, and goes by that name alone",
    ("verification/outsider.py", "argsort"): "of rows that are equal the least number is taken",
    ("verification/outsider.py", "group_by"): "joined to the rows afterwards",
    ("report/statistics.py", "elementary"): "rounded to whole numbers, and never halfway between two",
    ("privacy/population_uniques.py", "elementary"): "what is found is rounded to six digits",
    ("table/samples/hospital/illness.py", "elementary"): "rounded to twelve decimals",
    ("assessment/usefulness.py", "product"): "shades of a picture in the studio",
    ("recipes/ledger.py", "frame sort"): "by all columns: rows that are equal are alike",
    ("table/native.py", "product"): "the type of what a list holds",
    ("table/frames.py", "unique"): "that of pandas, which keeps the order",
    ("table/frames.py", "frame sort"): "by all that is released: rows that are equal are alike",
    ("teach/lessons/lesson.py", "elementary"): "a number in words, rounded to one decimal",
    ("teach/player/drawings.py", "elementary"): "places in a picture, rounded to tenths",
    ("teach/player/drawings.py", "power"): "places in a picture, rounded to tenths",
}


class Finding(NamedTuple):
    """A call that may not be there."""

    file: str
    line: int
    kind: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.kind}"


def keywords(call: ast.Call) -> dict[str, str]:
    return {each.arg: ast.unparse(each.value) for each in call.keywords if each.arg is not None}


def is_of(node: ast.expr, *modules: str) -> bool:
    """Whether a call is one of a module's, such as ``np.log``."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules


def is_product(node: ast.AST) -> bool:
    """A product of matrices: BLAS has another program for every processor."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
        return True
    return isinstance(node, ast.Attribute) and node.attr in PRODUCTS


def is_elementary(node: ast.AST) -> bool:
    """A logarithm, a sine or the like, as numpy, the C library or Python have it."""
    if isinstance(node, ast.Attribute):
        return is_of(node, "np", "math") and node.attr in ELEMENTARY
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "math"
        and any(name.name in ELEMENTARY for name in node.names)
    )


def is_power(node: ast.AST) -> bool:
    """Something to a power that is not a small whole number."""
    if not isinstance(node, ast.BinOp | ast.AugAssign) or not isinstance(node.op, ast.Pow):
        return False
    exponent = node.right if isinstance(node, ast.BinOp) else node.value
    base = node.left if isinstance(node, ast.BinOp) else node.target
    small = isinstance(exponent, ast.Constant) and exponent.value in (2, 3)
    whole = isinstance(base, ast.Constant) and isinstance(base.value, int)
    return not small and not whole


def is_argsort(node: ast.AST) -> bool:
    """A sort that may leave equal values in any order."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "argsort" and keywords(node).get("kind") != "'stable'"


def is_partition(node: ast.AST) -> bool:
    """A selection that may take any of equal values."""
    if not isinstance(node, ast.Attribute):
        return False
    return node.attr == "argpartition" or (node.attr == "partition" and is_of(node, "np"))


def is_frame_sort(node: ast.AST) -> bool:
    """A sort of a frame, or an order of its rows, that may leave equal rows in any order."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    by_columns = (node.func.attr == "sort" and node.args and not is_of(node.func, "np")) or (
        node.func.attr == "arg_sort_by"
    )
    unstable = by_columns and keywords(node).get("maintain_order") != "True"
    return unstable or node.func.attr == "arg_sort"


def is_unique(node: ast.AST) -> bool:
    """Distinct values of a column in any order."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    of_column = node.func.attr == "unique" and not is_of(node.func, "np")
    return of_column and keywords(node).get("maintain_order") != "True"


def is_group_by(node: ast.AST) -> bool:
    """Groups in any order, of which sums of floats differ from run to run."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "group_by" and keywords(node).get("maintain_order") != "True"


def is_loose_compilation(node: ast.AST) -> bool:
    """Kernels that may be calculated in another order on another processor."""
    return isinstance(node, ast.keyword | ast.Constant) and (
        getattr(node, "arg", None) in ("fastmath", "parallel")
        or getattr(node, "value", None) in ("fastmath", "parallel")
    )


KINDS: dict[str, Callable[[ast.AST], bool]] = {
    "product": is_product,
    "elementary": is_elementary,
    "power": is_power,
    "argsort": is_argsort,
    "partition": is_partition,
    "frame sort": is_frame_sort,
    "unique": is_unique,
    "group_by": is_group_by,
    "loose compilation": is_loose_compilation,
}


def settles_order(node: ast.AST) -> ast.AST | None:
    """What a set is made of, or a sort is of: there the order does not matter."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "set" and node.args:
        return node.args[0]
    return node.value if isinstance(node, ast.Attribute) and node.attr == "sort" else None


def findings(source: str, file: str) -> Iterator[Finding]:
    nodes = [*ast.walk(ast.parse(source))]
    settled = {id(settles_order(node)) for node in nodes}
    for node in nodes:
        for kind, is_one in KINDS.items():
            if is_one(node) and not (kind == "unique" and id(node) in settled):
                yield Finding(file, getattr(node, "lineno", 0), kind)


@pytest.fixture(scope="module")
def every() -> list[Finding]:
    files = sorted(SOURCE.rglob("*.py"))
    return [
        found
        for path in files
        for found in findings(path.read_text("utf-8"), path.relative_to(SOURCE).as_posix())
    ]


@pytest.mark.slow
def test_the_same_bytes_on_every_processor(every):
    assert [str(found) for found in every if (found.file, found.kind) not in PERMITTED] == []


def test_what_is_permitted_is_still_there(every):
    assert PERMITTED.keys() - {(found.file, found.kind) for found in every} == set()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("near = np.argpartition(apart, 3, axis=1)", "partition"),
        ("np.partition(pair, 2)", "partition"),
        ("np.argsort(x)", "argsort"),
        ("x.argsort(axis=1)", "argsort"),
        ("a @ b", "product"),
        ("np.dot(a, b)", "product"),
        ("np.linalg.norm(a)", "product"),
        ("np.einsum('ij,j', a, b)", "product"),
        ("np.log(x)", "elementary"),
        ("math.exp(x)", "elementary"),
        ("from math import ceil, log10", "elementary"),
        ("x**1.1", "power"),
        ("10.0 ** power", "power"),
        ("frame.sort('a', 'b')", "frame sort"),
        ("column.arg_sort()", "frame sort"),
        ("pl.arg_sort_by(names)", "frame sort"),
        ("column.drop_nulls().unique()", "unique"),
        ("frame.group_by('a').agg(b)", "group_by"),
        ("numba.njit(fastmath=True)", "loose compilation"),
        ("options = {'parallel': True}", "loose compilation"),
    ],
)
def test_what_may_not_be_there_is_found(code, kind):
    assert [found.kind for found in findings(code, "x.py")] == [kind]


@pytest.mark.parametrize(
    "code",
    [
        "np.argsort(x, kind='stable')",
        "np.sort(x)",
        "np.unique(x)",
        "'a=b'.partition('=')",
        "x**2 + 2**n",
        "frame.sort('a', maintain_order=True)",
        "column.unique(maintain_order=True)",
        "set(column.unique()) | {*column.unique().sort()}",
        "values.sort(key=len)",
        "np.sqrt(x)",
        "from shoal.support.arithmetic import log",
    ],
)
def test_what_may_be_there_is_passed_over(code):
    assert [*findings(code, "x.py")] == []
