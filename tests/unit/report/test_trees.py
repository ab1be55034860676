from io import StringIO

from rich.console import Console

from shoal.report.trees import build_nodes, draw_tree
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree(
    {"manual": {"building": ["mason", "tiler"], "smith": []}, "office": ["clerk"], "none": []}
)
ROWS = {"mason": 3, "smith": 2, "clerk": 5, "pilot": 9}


def drawn(tree, **limits):
    out = StringIO()
    Console(file=out, width=60).print(draw_tree(tree, **limits))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_the_whole_tree():
    assert drawn(build_nodes(JOBS)) == [
        "*",
        "├── manual",
        "│   ├── building",
        "│   │   ├── mason",
        "│   │   └── tiler",
        "│   └── smith",
        "├── office",
        "│   └── clerk",
        "└── none",
    ]


def test_rows_are_counted_and_branches_without_any_left_out():
    assert drawn(build_nodes(JOBS, ROWS)) == [
        "*  10",
        "├── manual  5",
        "│   ├── building  3",
        "│   │   ├── mason  3",
        "│   │   └── and 1 more",
        "│   └── smith  2",
        "├── office  5",
        "│   └── clerk  5",
        "└── and 1 more",
    ]


def test_depth_and_limit():
    assert drawn(build_nodes(JOBS, ROWS), depth=1) == [
        "*  10",
        "├── manual  5  3 values",
        "├── office  5  1 values",
        "└── and 1 more",
    ]
    assert drawn(build_nodes(JOBS, ROWS), limit=1)[-1] == "└── and 2 more, 5"


def test_labels_are_no_markup():
    assert drawn(build_nodes(Hierarchy.from_rows([["[red]a", "[/]", "*"]]))) == [
        "*",
        "└── [/]",
        "    └── [red]a",
    ]


def test_for_programs():
    assert build_nodes(Hierarchy.from_tree({"x": ["a"]}), {"a": 1}).to_dict() == {
        "name": "*",
        "rows": 1,
        "children": [{"name": "x", "rows": 1, "children": [{"name": "a", "rows": 1}]}],
    }
    assert "rows" not in build_nodes(JOBS).to_dict()
