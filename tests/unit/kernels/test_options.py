"""Inner kernels do not count references to arrays: so they may neither make nor return one."""

import ast
from pathlib import Path

import shoal.kernels

KERNELS = {"inner_kernel", "inline_kernel", "maker_kernel"}
NUMBERS = ("None", "int", "float", "bool", "np.", "tuple[int", "tuple[float", "tuple[bool", "Cut", "WordPack")


def list_kernels():
    """Every kernel that only kernels call: its name, its decorator and what it returns."""
    for path in sorted(Path(shoal.kernels.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                named = {each.id for each in node.decorator_list if isinstance(each, ast.Name)} & KERNELS
                yield from ((node, name) for name in named)


def test_what_returns_arrays_counts_references():
    """numba refuses a kernel that makes arrays without counting, but not one that returns what it got."""
    plain = [node for node, name in list_kernels() if name != "maker_kernel"]
    assert len(plain) > 100
    assert [node.name for node in plain if not ast.unparse(node.returns).startswith(NUMBERS)] == []


def test_who_is_given_a_new_array_counts_references():
    """Otherwise nobody would ever give it back."""
    returning = {
        node.name
        for node, name in list_kernels()
        if name == "maker_kernel" and not ast.unparse(node.returns).startswith(NUMBERS)
    }
    assert returning
    for node, name in list_kernels():
        called = {
            each.func.id
            for each in ast.walk(node)
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }
        assert name == "maker_kernel" or not called & returning, node.name
