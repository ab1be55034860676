from dataclasses import replace

import pytest

from shoal.errors import InputError
from shoal.table.hierarchies import (
    Hierarchy,
    from_toml,
    read_hierarchies,
    read_source,
    save_hierarchy,
    to_toml,
)

COLUMNS = ["Job", "Age", "Sex"]


@pytest.fixture
def read(tmp_path):
    def read(content: str, columns=COLUMNS):
        path = tmp_path / "trees.toml"
        path.write_bytes(content.encode())
        return read_hierarchies(path, columns)

    return read


def test_tables_arrays_and_single_values(read):
    found = read("""
        Sex = ["F", "M"]
        [Job]
        root = "any"
        none = []
        manual = ["mason"]
        office.front = ["clerk"]
        office.back = ["cook"]
        [Age]
        young = [7, 6]
        old = [60]
    """)
    assert found["Sex"].to_rows() == [("F", "*"), ("M", "*")]
    assert found["Age"].leaves == ("6", "7", "60")
    assert found["Job"].to_rows() == [
        ("none", "none", "none", "any"),
        ("mason", "manual", "manual", "any"),
        ("clerk", "front", "office", "any"),
        ("cook", "back", "office", "any"),
    ]


def test_a_group_may_be_called_root():
    tree = from_toml({"root": ["carrot"], "leaf": ["lettuce"]})
    assert tree.to_rows() == [("carrot", "root", "*"), ("lettuce", "leaf", "*")]
    assert from_toml(to_toml(tree)) == tree


def test_a_group_root_under_a_named_root_cannot_be_written():
    with pytest.raises(InputError, match="a group 'root' under a root named 'food'"):
        to_toml(Hierarchy.from_tree({"root": ["carrot"]}, "food"))


def test_the_table_of_a_hierarchy():
    tree = Hierarchy.from_tree({"A": ["a", "b"], "c": []}, "all")
    assert to_toml(tree) == {"root": "all", "A": ["a", "b"], "c": ["c"]}
    assert to_toml(Hierarchy.from_rows([["a"], ["b"]])) == {"a": [], "b": []}


def test_other_columns_are_passed_over(read):
    assert list(read("title = 5\nAge = [1]\n")) == ["Age"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Job = [\n'a'\n[Age]", r"trees\.toml' is not valid TOML: .*\(at line 3, column"),
        ("job = ['a']", r"trees\.toml': unknown column 'job': did you mean 'Job'\?"),
        ("# none", "holds no hierarchies"),
        ("", "is empty"),
        ("[Job]", r"trees\.toml', column 'Job': there are no values"),
        ("Job = 'a'", "column 'Job': found 'a' under '\\*'; expected a list of values, or groups"),
        ("Job = {A = 1}", "column 'Job': found 1 under 'A'; expected"),
        ("Job = {root = 1}", "column 'Job': found 1 under 'root'; expected"),
        ("Age = {A = [1, 2.5]}", "column 'Age': found 2.5 among the values of 'A'; write it in quotes"),
        ("Age = {A = [1], B = [{x = 1}]}", "among the values of 'B'"),
        ("Job = {root = ' ', A = ['a']}", "column 'Job', under 'A': an empty label at level 2"),
        (
            "[Job]\nA = ['x']\nB.C = ['x']",
            "column 'Job', under 'B/C': the value 'x' .* 'A' before \\(under 'A'\\)",
        ),
        ("[Job" + ".a" * 3000 + "]\nx = ['y']", "'a' lies 100 levels deep"),
        ("Job = " + "[" * 5000 + "]" * 5000, "not valid TOML"),
    ],
)
def test_bad_files(read, content, message):
    with pytest.raises(InputError, match=message):
        read(content)


def test_a_tree_that_a_table_made_stays_known_as_such(tmp_path):
    plain = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk"]}, root="any")
    built = replace(plain, built_from_table=True)
    assert to_toml(built) == {**to_toml(plain), "built_from_table": True}
    assert built == plain
    for tree in (plain, built):
        save_hierarchy(tree, tmp_path / "job.toml")
        found = (from_toml(to_toml(tree)), read_source(tmp_path / "job.toml"))
        assert all(each == tree for each in found)
        assert {each.built_from_table for each in found} == {tree.built_from_table}


def test_a_group_may_be_called_as_what_a_table_says_of_its_tree():
    tree = Hierarchy.from_tree({"built_from_table": ["a", "b"], "other": ["c"]})
    assert from_toml(to_toml(tree)) == tree
    with pytest.raises(InputError, match="TOML cannot hold a group 'built_from_table'"):
        to_toml(replace(tree, built_from_table=True))
