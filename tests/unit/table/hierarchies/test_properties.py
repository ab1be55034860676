"""Random trees: every format gives back what it was given, and arrays agree with plain counting."""

import tomllib

import pytest
import tomli_w
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.table.hierarchies import (
    Hierarchy,
    from_anjana,
    from_toml,
    read_hierarchies,
    read_hierarchy,
    read_source,
    save_hierarchy,
    to_anjana,
    to_toml,
    uncovered,
    write_hierarchy,
)

LABELS = st.text(min_size=1, max_size=4).filter(str.strip)
TRICKY = st.text("a ;,:/\"#\t\r\n=*[]'\\\ufeff", min_size=1, max_size=4).filter(str.strip)
NUMBERS = st.integers(-50, 50).map(str)


@st.composite
def matrices(draw):
    """Rows of a nested table of labels; a group is sometimes called like a node below it."""
    size = draw(st.integers(1, 9))
    leaves = draw(
        st.lists(draw(st.sampled_from([LABELS, TRICKY, NUMBERS])), min_size=size, max_size=size, unique=True)
    )
    columns = [leaves]
    for _ in range(draw(st.integers(0, 3))):
        columns.append(draw(coarser(columns[-1])))
    columns.append([draw(LABELS | st.just("*"))] * size)
    return draw(st.permutations(list(zip(*columns, strict=True))))


@st.composite
def coarser(draw, column):
    """A column whose groups are unions of those of ``column``."""
    below = list(dict.fromkeys(column))
    group = [draw(st.integers(0, len(below) - 1)) for _ in below]
    fresh = draw(st.lists(LABELS | TRICKY, min_size=len(below), max_size=len(below), unique=True))
    copy = [draw(st.booleans()) for _ in below]
    names = [below[group.index(g)] if g in group and copy[g] else fresh[g] for g in range(len(below))]
    # Two groups by chance of one name would be one group: then the fresh names do.
    names = names if len(set(names)) == len(names) else fresh
    return [names[group[below.index(label)]] for label in column]


@st.composite
def shapes(draw):
    """Nested mappings of any shape in which no name is used twice."""
    shape = draw(
        st.recursive(st.just([]), lambda below: st.lists(below, min_size=1, max_size=3), max_leaves=10)
    )
    names = iter(draw(st.lists(LABELS | TRICKY, min_size=60, max_size=60, unique=True)))

    def named(part):
        return {next(names): named(below) for below in part} if any(part) else [next(names) for _ in part]

    return named(shape or [[]])


hierarchies = matrices().map(Hierarchy.from_rows)


def ancestors(tree, leaf):
    return [f"{level}:{name}" for level, name in enumerate(tree.to_rows()[leaf])]


@pytest.mark.slow
@given(matrices())
def test_rows_round_trip(rows):
    tree = Hierarchy.from_rows(rows)
    assert set(tree.to_rows()) == set(rows)
    assert Hierarchy.from_rows(tree.to_rows()) == tree


@pytest.mark.slow
@given(hierarchies)
def test_trees_round_trip(tree):
    assert Hierarchy.from_tree(tree.to_tree(), tree.root) == tree


@pytest.mark.exhaustive
@given(shapes())
def test_uneven_trees_round_trip(tree):
    hierarchy = Hierarchy.from_tree(tree)
    again = hierarchy.to_tree()
    assert Hierarchy.from_tree(again) == hierarchy
    if isinstance(tree, dict) and not all(name.lstrip("-").isdecimal() for name in hierarchy.leaves):
        assert flat(again) == flat(tree)


def flat(tree):
    """The paths of a tree, in order; a list and a mapping to nothing say the same."""
    if not tree:
        return [()]
    below = tree.items() if isinstance(tree, dict) else [(value, ()) for value in tree]
    return [(label, *path) for label, branch in below for path in flat(branch)]


@pytest.mark.slow
@given(hierarchies)
def test_csv_round_trips(tmp_path_factory, tree):
    path = tmp_path_factory.getbasetemp() / "the tree under test.csv"
    write_hierarchy(tree, path)
    assert read_hierarchy(path) == tree


@pytest.mark.slow
@given(hierarchies)
def test_toml_round_trips_through_text(tree):
    assume(tree.root == "*" or "root" not in tree.names[-2])
    text = tomli_w.dumps({"column": to_toml(tree)})
    assert from_toml(tomllib.loads(text)["column"]) == tree


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree.csv", "tree.toml", "tree.tree"])
@given(tree=hierarchies)
def test_files_of_every_format_round_trip(tmp_path_factory, name, tree):
    assume(tree.root == "*" or "root" not in tree.names[-2])
    path = tmp_path_factory.getbasetemp() / name
    save_hierarchy(tree, path, "the tree under test")
    assert read_source(path, "the tree under test") == tree


@pytest.mark.slow
@given(hierarchies)
def test_anjana_round_trips(tmp_path_factory, tree):
    path = tmp_path_factory.getbasetemp() / "anjana.csv"
    save_hierarchy(tree, path, format="anjana")
    assert read_source(path) == tree
    assert from_anjana(to_anjana(tree)) == tree


@pytest.mark.slow
@given(matrices())
def test_written_domains_round_trip(tmp_path_factory, rows):
    # The format has no line breaks inside names and no name for the root.
    rows = [(*row[:-1], "*") for row in rows]
    assume(not any(set(label) & set("\r\n") for row in rows for label in row))
    tree = Hierarchy.from_rows(rows)
    path = tmp_path_factory.getbasetemp() / "written.txt"
    save_hierarchy(tree, path, "c: d/e")
    assert read_source(path, "c: d/e") == tree


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.slow
@given(matrices())
def test_domains_round_trip(tmp_path_factory, rows):
    # The format has no line breaks inside names and no name for the root.
    rows = [(*row[:-1], "*") for row in rows]
    assume(not any(set(label) & set("\r\n") for row in rows for label in row))
    tree = Hierarchy.from_rows(rows)
    path = tmp_path_factory.getbasetemp() / "domains.txt"
    lines = [f"{'/'.join(map(quoted, ('c', *row[-2:0:-1])))}: {quoted(row[0])}\n" for row in tree.to_rows()]
    path.write_text("".join(lines), "utf-8", newline="")
    assert read_hierarchies(path, ["c"]) == {"c": tree}


@pytest.mark.slow
@given(hierarchies)
def test_every_node_is_one_run_of_leaves_and_extent_finds_it(tree):
    for level in range(tree.height + 1):
        for leaf in range(len(tree.leaves)):
            members = [
                other for other, node in enumerate(tree.nodes[level]) if node == tree.nodes[level, leaf]
            ]
            assert members == list(range(members[0], members[-1] + 1))
            assert tree.extent(level, leaf) == (members[0], members[-1])


@pytest.mark.slow
@given(hierarchies)
def test_level_of_agrees_with_comparing_ancestors(tree):
    size = len(tree.leaves)
    pairs = [(a, b) for a in range(size) for b in range(a, size)]
    lowest = [
        next(h for h, (x, y) in enumerate(zip(ancestors(tree, a), ancestors(tree, b), strict=True)) if x == y)
        for a, b in pairs
    ]
    assert tree.level_of(*zip(*pairs, strict=True)).tolist() == lowest


@pytest.mark.exhaustive
@given(shapes())
def test_sibling_counts_agree_with_the_nested_mapping(shape):
    tree = Hierarchy.from_tree(shape)
    expected = {"*": 1}

    def count(branch):
        for label in branch:
            expected[label] = len(branch)
            if isinstance(branch, dict):
                count(branch[label])

    count(shape)
    # Names are unique in the mapping, so a label says which of its nodes is meant.
    assume("*" not in [label for path in flat(shape) for label in path])
    labels = list(zip(*tree.to_rows(), strict=True))
    assert tree.sibling_counts().tolist() == [[expected[label] for label in level] for level in labels]


@pytest.mark.slow
@given(hierarchies, st.lists(LABELS | NUMBERS, max_size=4))
def test_further_values_change_nothing_else(tree, values):
    extra = uncovered(tree, values)
    assume(not any(set(extra) & set(names) for names in tree.names[1:-1]))
    wider = tree.with_values(values)
    assert (wider.height, wider.root) == (tree.height, tree.root)
    assert uncovered(wider, values) == []
    rows = wider.to_rows()
    assert [row for row in rows if row[0] not in extra] == tree.to_rows()
    assert sorted(row for row in rows if row[0] in extra) == [
        (v,) * tree.height + (tree.root,) for v in extra
    ]
    assert Hierarchy.from_rows(rows) == wider


def test_many_leaves():
    leaves = 60_000
    rows = [(f"v{i}", f"g{i % 7000}", f"h{i % 70}", "*") for i in range(leaves)]
    tree = Hierarchy.from_rows(rows)
    assert len(tree.leaves) == leaves
    assert tree.names[2] == tuple(f"h{i}" for i in range(70))
    assert [row[0] for row in tree.to_rows()[:2]] == ["v0", "v7000"]
