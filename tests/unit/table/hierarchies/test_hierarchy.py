import pickle

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.table.hierarchies import Hierarchy, uncovered

SCHOOL = {"school": ["none", "primary", "secondary"], "university": ["bachelor", "master"]}


@pytest.fixture
def school() -> Hierarchy:
    return Hierarchy.from_tree(SCHOOL, root="any")


def test_the_parts_of_a_hierarchy(school):
    assert school.leaves == ("none", "primary", "secondary", "bachelor", "master")
    assert (school.height, school.root) == (2, "any")
    assert school.nodes.dtype == np.int32
    assert school.nodes.tolist() == [[0, 1, 2, 3, 4], [0, 0, 0, 1, 1], [0] * 5]
    assert school.names[1:] == (("school", "university"), ("any",))
    assert repr(school) == "Hierarchy(5 leaves, height 2, root 'any')"


def test_leaves_come_in_depth_first_order_of_first_appearance():
    rows = [("a", "X", "*"), ("b", "Y", "*"), ("c", "X", "*"), ("d", "Y", "*")]
    assert Hierarchy.from_rows(rows).leaves == ("a", "c", "b", "d")


def test_numbers_ascend_on_every_level():
    rows = [("30", "old", "*"), ("9", "young", "*"), ("-1.5", "young", "*"), ("1e2", "old", "*")]
    tree = Hierarchy.from_rows(rows)
    assert tree.leaves == ("-1.5", "9", "30", "1e2")
    assert tree.names[1] == ("young", "old")


@pytest.mark.parametrize("odd", ["?", "nan", "inf"])
def test_one_leaf_that_is_no_number_keeps_the_order_given(odd):
    assert Hierarchy.from_rows([("3",), ("1",), (odd,)]).leaves == ("3", "1", odd)


class TestRows:
    def test_one_column_gets_a_root(self):
        assert Hierarchy.from_rows([["a"], ["b"]]).to_rows() == [("a", "*"), ("b", "*")]

    def test_a_last_column_of_several_labels_gets_a_root(self):
        assert Hierarchy.from_rows([["a", "A"], ["b", "B"]]).to_rows() == [("a", "A", "*"), ("b", "B", "*")]

    def test_a_last_column_of_one_label_is_the_root(self):
        assert Hierarchy.from_rows([["a", "all"], ["b", "all"]]).root == "all"

    def test_shorter_rows_repeat_the_last_label_before_the_root(self):
        rows = [["a", "A", "X", "*"], ["b", "B", "*"], ["c", "*"], ["d"], ["e", "E"]]
        assert Hierarchy.from_rows(rows).to_rows() == [
            ("a", "A", "X", "*"),
            ("b", "B", "B", "*"),
            ("c", "c", "c", "*"),
            ("d", "d", "d", "*"),
            ("e", "E", "E", "*"),
        ]

    def test_shorter_rows_join_the_group_they_name_at_its_level(self):
        # X holds both: 'X' must not also name a node that holds 'c' alone.
        rows = [["c", "X", "*"], ["d", "Y", "X", "*"]]
        assert Hierarchy.from_rows(rows).to_rows() == [("c", "c", "X", "*"), ("d", "Y", "X", "*")]

    def test_a_group_may_share_its_name_with_a_value_and_the_root(self):
        rows = [["*", "a", "*"], ["a", "a", "*"]]
        assert Hierarchy.from_rows(rows).to_rows() == [tuple(row) for row in rows]

    def test_a_row_that_comes_again_is_ignored(self):
        rows = [["a", "A", "*"], ["b", "B", "*"], ["a", "A", "*"]]
        assert Hierarchy.from_rows(rows) == Hierarchy.from_rows(rows[:2])

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([], "ages: there are no values"),
            ([["a"], []], "ages, line 2: the row is empty; give at least a value"),
            ([["a", "", "*"]], "ages, line 1: an empty label at level 1"),
            ([["a", "*"], [" ", "*"]], "ages, line 2: an empty label at level 0 (the value)"),
            ([["a", None, "*"]], "ages, line 1: None, which is no text, at level 1"),
            ([["a"] * 101], "ages, line 1: 101 levels; at most 100 are allowed"),
            (
                [["a", "A", "*"], ["b", "B", "*"], ["a", "B", "*"]],
                "ages, line 3: the value 'a' is in 'B' (level 1) here, but in 'A' before (line 1)",
            ),
            (
                [["a", "A", "X", "*"], ["b", "B", "X", "*"], ["c", "A", "Y", "*"]],
                "ages, line 3: the levels are not nested: 'A' (level 1) is in 'Y' (level 2) here, "
                "but in 'X' before (line 1)",
            ),
        ],
    )
    def test_bad_rows(self, rows, message):
        with pytest.raises(InputError) as caught:
            Hierarchy.from_rows(rows, "ages")
        assert str(caught.value) == message

    def test_lines_are_those_of_the_source_also_after_repeated_rows(self):
        rows = [["a", "A", "X", "*"], ["a", "A", "X", "*"], ["b", "A", "Y", "*"]]
        with pytest.raises(InputError, match=r"line 30: .*\(line 10\)"):
            Hierarchy.from_rows(rows, "f", [10, 20, 30])

    def test_a_hundred_levels_are_allowed(self):
        assert Hierarchy.from_rows([["a"] * 100]).height == 99


class TestTree:
    def test_uneven_depths_are_levelled(self):
        tree = {"X": {"Y": ["d"], "c": []}, "G": ["a"], "lone": []}
        assert Hierarchy.from_tree(tree).to_rows() == [
            ("d", "Y", "X", "*"),
            ("c", "c", "X", "*"),
            ("a", "G", "G", "*"),
            ("lone", "lone", "lone", "*"),
        ]

    def test_to_tree_leaves_out_what_from_tree_puts_back(self):
        tree = {"X": {"Y": ["d"], "c": []}, "G": ["a"], "lone": []}
        assert Hierarchy.from_tree(tree).to_tree() == tree

    def test_to_tree_keeps_levels_that_are_copies_throughout(self):
        rows = [("a", "a", "G", "*"), ("b", "b", "G", "*")]
        tree = Hierarchy.from_rows(rows)
        assert tree.to_tree() == {"G": {"a": ["a"], "b": ["b"]}}

    def test_values_right_under_the_root(self):
        flat = Hierarchy.from_tree(["x", "y"])
        assert flat == Hierarchy.from_rows([["x"], ["y"]])
        assert flat.to_tree() == {"x": [], "y": []}

    def test_whole_numbers_are_values(self):
        assert Hierarchy.from_tree({"young": [2, 1]}).leaves == ("1", "2")

    @pytest.mark.parametrize(
        ("tree", "message"),
        [
            ({}, "jobs: there are no values"),
            ({"A": "mason"}, "jobs: found 'mason' under 'A'; expected a list of values, or groups"),
            ({"A": ""}, "jobs: found '' under 'A'; expected a list of values, or groups"),
            ({"A": [1.5]}, "jobs: found 1.5 among the values of 'A'; write it in quotes"),
            ({"A": [True]}, "jobs: found True among the values of 'A'; write it in quotes"),
            ({"A": [["b"]]}, "jobs: found ['b'] among the values of 'A'; write it in quotes"),
            ({"A": ["a", ""]}, "jobs, under 'A': an empty label at level 0 (the value)"),
            (
                {"A": {"B": ["a"]}, "C": ["a"]},
                "jobs, under 'C': the value 'a' is in 'C' (level 1) here, but in 'B' before (under 'A/B')",
            ),
        ],
    )
    def test_bad_trees(self, tree, message):
        with pytest.raises(InputError) as caught:
            Hierarchy.from_tree(tree, source="jobs")
        assert str(caught.value) == message

    def test_a_bottomless_tree(self):
        tree = {"A": ["a"]}
        for _ in range(2000):
            tree = {"A": tree}
        with pytest.raises(InputError, match="'A' lies 100 levels deep; at most 100 are allowed"):
            Hierarchy.from_tree(tree)


class TestValue:
    def test_arrays_are_copied_and_read_only(self):
        nodes = np.array([[0, 1], [0, 0]])
        tree = Hierarchy(nodes, (("a", "b"), ("*",)))
        nodes[0, 0] = 7
        assert tree.nodes[0, 0] == 0
        with pytest.raises(ValueError, match="read-only"):
            tree.nodes[0, 0] = 7

    def test_names_become_tuples(self):
        tree = Hierarchy(np.array([[0, 1], [0, 0]]), [["a", "b"], ["*"]])
        assert {tree: 1}[Hierarchy.from_rows([["a"], ["b"]])] == 1

    def test_equal_by_content(self, school):
        same, other = Hierarchy.from_rows(school.to_rows()), Hierarchy.from_tree(SCHOOL)
        assert same == school != other
        assert hash(same) == hash(school)
        assert pickle.loads(pickle.dumps(school)) == school
        assert school != "school"

    def test_same_names_and_other_nodes_are_not_equal(self):
        left = Hierarchy.from_tree({"A": ["a", "b"], "B": ["c"]})
        right = Hierarchy.from_tree({"A": ["a"], "B": ["b", "c"]})
        assert left.names == right.names
        assert left != right

    @pytest.mark.parametrize(
        ("nodes", "names", "rule"),
        [
            ([0, 1], (("a", "b"),), "2 to 100 levels"),
            ([[0]], (("a",),), "2 to 100 levels"),
            (np.zeros((101, 1)), (("a",),) * 101, "2 to 100 levels"),
            (np.zeros((2, 0)), ((), ()), "at least one leaf"),
            ([[0, 2], [0, 0]], (("a", "b", "c"), ("*",)), "count up from 0"),
            ([[1, 2], [0, 0]], (("a", "b", "c"), ("*",)), "count up from 0"),
            ([[0, 0], [0, 0]], (("a",), ("*",)), "node of its own"),
            ([[0, 1], [0, 1]], (("a", "b"), ("c", "d")), "one root"),
            ([[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 0, 0]], (("a", "b", "c"), "de", "fg", "*"), "next level"),
            ([[0, 1], [0, 0]], (("a",), ("*",)), "has a name"),
            ([[0, 1], [0, 0]], (("a", "b"),), "has a name"),
            ([[0, 1], [0, 0]], (("a", "a"), ("*",)), "names differ"),
        ],
    )
    def test_what_is_no_hierarchy(self, nodes, names, rule):
        with pytest.raises(InputError, match=f"not a hierarchy: in one, .*{rule}"):
            Hierarchy(np.array(nodes), names)


class TestWithValues:
    def test_further_values_stay_or_become_the_root(self, school):
        wider = school.with_values(["?", "master", "?", "0"])
        assert wider.to_rows() == [*school.to_rows(), ("?", "?", "any"), ("0", "0", "any")]

    def test_nothing_to_add(self, school):
        assert school.with_values(["master"]) is school

    def test_numbers_stay_ascending(self):
        ages = Hierarchy.from_tree({"10-19": [10, 11], "20-29": [20]})
        assert ages.with_values(["15", "9"]).leaves == ("9", "10", "11", "15", "20")
        assert ages.with_values(["9", "?"]).leaves == ("10", "11", "20", "9", "?")

    def test_the_empty_value_can_be_added(self, school):
        assert school.with_values([""]).leaves[-1] == ""

    def test_a_value_that_is_also_a_group(self, school):
        with pytest.raises(InputError, match=r"does not list 'school' .* group of that name at level 1"):
            school.with_values(["x", "school"])

    def test_a_value_named_like_the_root(self, school):
        assert school.with_values(["any"]).to_rows()[-1] == ("any", "any", "any")


class TestQuestions:
    def test_level_of_is_that_of_the_lowest_common_ancestor(self, school):
        assert school.level_of([0, 0, 2, 3], [0, 2, 3, 4]).tolist() == [0, 1, 2, 1]
        assert school.level_of(0, [1, 4]).tolist() == [1, 2]

    def test_extent_of_the_node_above_a_leaf(self, school):
        low, high = school.extent([0, 1, 1, 2], [4, 4, 1, 1])
        assert (low.tolist(), high.tolist()) == ([4, 3, 0, 0], [4, 4, 2, 4])
        assert school.extent(1, 0) == (0, 2)

    def test_sibling_counts(self, school):
        assert school.sibling_counts().tolist() == [[3, 3, 3, 2, 2], [2] * 5, [1] * 5]

    def test_a_repeated_label_is_one_node_among_its_siblings(self):
        tree = Hierarchy.from_tree({"X": {"Y": ["d", "e"], "c": []}, "G": ["a"], "lone": []})
        assert tree.leaves == ("d", "e", "c", "a", "lone")
        assert tree.sibling_counts().tolist() == [
            [2, 2, 2, 1, 3],
            [2, 2, 2, 3, 3],
            [3, 3, 3, 3, 3],
            [1, 1, 1, 1, 1],
        ]

    def test_a_group_of_one_under_another_name_is_a_node_of_its_own(self):
        tree = Hierarchy.from_rows([("a", "A", "*"), ("b", "B", "*")])
        assert tree.sibling_counts().tolist() == [[1, 1], [2, 2], [1, 1]]

    def test_a_root_over_a_root_of_the_same_name(self):
        tree = Hierarchy.from_rows([("a", "*", "*"), ("b", "*", "*")])
        assert tree.height == 2
        assert tree.sibling_counts().tolist() == [[2, 2], [1, 1], [1, 1]]

    def test_uncovered_values(self, school):
        assert uncovered(school, ["z", "master", "?", "z"]) == ["?", "z"]
        assert uncovered(school, school.leaves) == []


class TestNewValues:
    """What a hierarchy makes of values when it is applied to data that it was not made for."""

    def test_values_become_their_labels(self, school):
        assert school.labels(["master", "none", "master"], 0) == ["master", "none", "master"]
        assert school.labels(["master", "none"], 1) == ["university", "school"]
        assert school.labels(["master", "none"], 2) == ["any", "any"]
        assert school.labels([], 1) == []

    def test_a_new_value_is_refused(self, school):
        with pytest.raises(InputError, match="does not have 'pilot': add them, or let them become the root"):
            school.labels(["none", "pilot"], 1)

    @pytest.mark.parametrize("level", [0, 1, 2])
    def test_or_becomes_the_root(self, school, level):
        assert school.labels(["pilot", "none"], level, "top")[0] == "any"

    def test_other_policies_and_levels_are_refused(self, school):
        with pytest.raises(InputError, match="unknown policy for new values 'nearest': there are 'error'"):
            school.labels(["none"], 1, "nearest")
        for level in (-1, 3):
            with pytest.raises(InputError, match=f"there is no level {level}: the levels are 0 to 2"):
                school.labels(["none"], level)
