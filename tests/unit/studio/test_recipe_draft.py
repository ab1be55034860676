"""Hierarchies while they are made: looked at, regrouped, checked."""

import pytest

from shoal.errors import InputError
from shoal.studio.recipe_draft import (
    HierarchyDraft,
    dissolve_branch,
    group_branches,
    move_branches,
    rename_branch,
)
from shoal.table.hierarchies import Hierarchy
from shoal.table.hierarchies.assembly import Listing

JOBS = {"manual": {"mason": {}, "smith": {}}, "office": {"clerk": {}}, "none": {}}
COUNTS = {"mason": 5, "smith": 2, "clerk": 1, "none": 4}


def jobs() -> HierarchyDraft:
    draft = HierarchyDraft("job", COUNTS)
    draft.replace_tree(Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk"], "none": []}))
    return draft


def shown(draft: HierarchyDraft) -> list[tuple[int, str, int]]:
    return [(line["depth"], line["name"], line["rows"]) for line in draft.list_lines()]


def test_a_repeated_label_is_shown_once_and_rows_are_counted_below_every_node():
    draft = jobs()
    assert draft.get_view().build_branches() == JOBS
    assert shown(draft) == [
        (0, "*", 12),
        (1, "manual", 7),
        (2, "mason", 5),
        (2, "smith", 2),
        (1, "office", 1),
        (2, "clerk", 1),
        (1, "none", 4),
    ]


def test_only_what_is_open_is_made_and_of_many_children_only_some():
    draft = HierarchyDraft("n", {})
    draft.replace_tree(Hierarchy.from_tree({str(i): [] for i in range(1000)}))
    lines = draft.list_lines()
    assert len(lines) == 102
    assert lines[-1] == {"path": [], "depth": 1, "more": 900}
    draft.open.clear()
    assert shown(draft) == [(0, "*", 0)]


def test_moving_leaves_no_empty_group_and_nothing_goes_into_itself():
    assert move_branches(JOBS, [("office", "clerk")], ("manual",)) == {
        "manual": {"mason": {}, "smith": {}, "clerk": {}},
        "none": {},
    }
    assert move_branches(JOBS, [("manual",), ("manual", "mason")], ("office",))["office"] == {
        "clerk": {},
        "manual": {"mason": {}, "smith": {}},
    }
    with pytest.raises(InputError, match="'manual' cannot be put into itself"):
        move_branches(JOBS, [("manual",)], ("manual",))
    assert JOBS["office"] == {"clerk": {}}, "the tree itself is left alone"


def test_a_new_group_stands_where_what_it_holds_stood():
    draft = jobs()
    draft.group_nodes([("manual", "mason"), ("manual", "smith")], " crafts ")
    assert draft.get_view().build_branches()["manual"] == {"crafts": {"mason": {}, "smith": {}}}
    draft.group_nodes([("none",), ("office",)], "others")
    assert set(draft.get_view().build_branches()) == {"manual", "others"}
    with pytest.raises(InputError, match="needs a name"):
        group_branches(JOBS, [("none",)], " ")
    with pytest.raises(InputError, match="'office' in this group already"):
        group_branches(JOBS, [("none",)], "office")


def test_an_empty_group_waits_until_something_is_put_into_it():
    draft = jobs()
    draft.group_nodes([], "later")
    assert (1, "later", 0) in shown(draft)
    assert "later" not in draft.tree.names[1]
    draft.group_nodes([("none",)], "later")
    assert draft.empty == []
    assert draft.get_view().build_branches()["later"] == {"none": {}}


def test_groups_are_renamed_and_taken_apart_but_values_are_not():
    assert list(rename_branch(JOBS, ("manual",), "by hand")) == ["by hand", "office", "none"]
    assert set(dissolve_branch(JOBS, ("manual",))) == {"mason", "smith", "office", "none"}
    with pytest.raises(InputError, match="'none' is a value of the table"):
        rename_branch(JOBS, ("none",), "nothing")
    with pytest.raises(InputError, match="'none' is a value, not a group"):
        dissolve_branch(JOBS, ("none",))


def test_what_the_library_refuses_leaves_the_draft_as_it_was():
    draft = jobs()
    before = draft.tree
    draft.group_nodes([("none",)], "mason's")
    with pytest.raises(InputError):  # one name for two nodes of a level
        draft.rename_group(("mason's",), "manual")
    assert draft.get_view().build_branches()["mason's"] == {"none": {}}
    assert before is not None


def test_values_that_are_not_covered_are_told_and_samples_show_every_level():
    draft = HierarchyDraft("job", {**COUNTS, "poet": 3})
    draft.replace_tree(
        Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"], "none": []})
    )
    assert "1 value of the column, in 3 rows" in draft.describe_uncovered()
    assert "'poet'" in draft.describe_uncovered()
    assert draft.get_summary().unused == 1
    assert ("mason", "manual", "*") in draft.get_summary().samples


def test_a_file_that_is_not_nested_has_to_be_put_right_first():
    rows = [["mason", "manual", "*"], ["smith", "manual", "other", "*"], ["mason", "office", "*"]]
    draft = HierarchyDraft("job", COUNTS)
    draft.read_listing(Listing.from_lines(rows, "job.csv", [1, 2, 3]))
    assert draft.tree is None
    assert "duplicate" in {problem.kind for problem in draft.problems}
    draft.apply_fixes()
    assert draft.tree is not None
    assert draft.problems == ()
    assert draft.get_summary().uncovered == ()


def test_a_tree_that_holds_values_of_the_table_stays_known_as_such():
    draft = HierarchyDraft("job", COUNTS)
    draft.start_ungrouped()
    assert draft.tree is not None
    assert draft.tree.built_from_table
    draft.group_nodes([("mason",), ("smith",)], "manual")
    assert draft.tree.built_from_table
    draft.replace_tree(
        Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"], "none": []})
    )
    draft.rename_group(("manual",), "by hand")
    assert not draft.tree.built_from_table
    rows = [["mason", "manual", "*"], ["mason", "office", "*"]]
    draft.read_listing(Listing.from_lines(rows, "job.csv", [1, 2]))
    draft.apply_fixes()
    assert draft.tree is not None
    assert draft.tree.built_from_table
