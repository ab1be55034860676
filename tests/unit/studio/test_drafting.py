"""Hierarchies while they are made: looked at, regrouped, checked."""

import pytest

from shoal.errors import InputError
from shoal.hierarchies import Hierarchy
from shoal.hierarchies.assembly import Listing
from shoal.studio.drafting import Draft, dissolved, grouped, moved, renamed

JOBS = {"manual": {"mason": {}, "smith": {}}, "office": {"clerk": {}}, "none": {}}
COUNTS = {"mason": 5, "smith": 2, "clerk": 1, "none": 4}


def jobs() -> Draft:
    draft = Draft("job", COUNTS)
    draft.take(Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk"], "none": []}))
    return draft


def shown(draft: Draft) -> list[tuple[int, str, int]]:
    return [(line["depth"], line["name"], line["rows"]) for line in draft.lines()]


def test_a_repeated_label_is_shown_once_and_rows_are_counted_below_every_node():
    draft = jobs()
    assert draft.view().branches() == JOBS
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
    draft = Draft("n", {})
    draft.take(Hierarchy.from_tree({str(i): [] for i in range(1000)}))
    lines = draft.lines()
    assert len(lines) == 102
    assert lines[-1] == {"path": [], "depth": 1, "more": 900}
    draft.open.clear()
    assert shown(draft) == [(0, "*", 0)]


def test_moving_leaves_no_empty_group_and_nothing_goes_into_itself():
    assert moved(JOBS, [("office", "clerk")], ("manual",)) == {
        "manual": {"mason": {}, "smith": {}, "clerk": {}},
        "none": {},
    }
    assert moved(JOBS, [("manual",), ("manual", "mason")], ("office",))["office"] == {
        "clerk": {},
        "manual": {"mason": {}, "smith": {}},
    }
    with pytest.raises(InputError, match="'manual' cannot be put into itself"):
        moved(JOBS, [("manual",)], ("manual",))
    assert JOBS["office"] == {"clerk": {}}, "the tree itself is left alone"


def test_a_new_group_stands_where_what_it_holds_stood():
    draft = jobs()
    draft.group([("manual", "mason"), ("manual", "smith")], " crafts ")
    assert draft.view().branches()["manual"] == {"crafts": {"mason": {}, "smith": {}}}
    draft.group([("none",), ("office",)], "others")
    assert set(draft.view().branches()) == {"manual", "others"}
    with pytest.raises(InputError, match="needs a name"):
        grouped(JOBS, [("none",)], " ")
    with pytest.raises(InputError, match="'office' in this group already"):
        grouped(JOBS, [("none",)], "office")


def test_an_empty_group_waits_until_something_is_put_into_it():
    draft = jobs()
    draft.group([], "later")
    assert (1, "later", 0) in shown(draft)
    assert "later" not in draft.tree.names[1]
    draft.group([("none",)], "later")
    assert draft.empty == []
    assert draft.view().branches()["later"] == {"none": {}}


def test_groups_are_renamed_and_taken_apart_but_values_are_not():
    assert list(renamed(JOBS, ("manual",), "by hand")) == ["by hand", "office", "none"]
    assert set(dissolved(JOBS, ("manual",))) == {"mason", "smith", "office", "none"}
    with pytest.raises(InputError, match="'none' is a value of the table"):
        renamed(JOBS, ("none",), "nothing")
    with pytest.raises(InputError, match="'none' is a value, not a group"):
        dissolved(JOBS, ("none",))


def test_what_the_library_refuses_leaves_the_draft_as_it_was():
    draft = jobs()
    before = draft.tree
    draft.group([("none",)], "mason's")
    with pytest.raises(InputError):  # one name for two nodes of a level
        draft.rename(("mason's",), "manual")
    assert draft.view().branches()["mason's"] == {"none": {}}
    assert before is not None


def test_values_that_are_not_covered_are_told_and_samples_show_every_level():
    draft = Draft("job", {**COUNTS, "poet": 3})
    draft.take(Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"], "none": []}))
    assert "1 value of the column, in 3 rows" in draft.warning()
    assert "'poet'" in draft.warning()
    assert draft.look().unused == 1
    assert ("mason", "manual", "*") in draft.look().samples


def test_a_file_that_is_not_nested_has_to_be_put_right_first():
    rows = [["mason", "manual", "*"], ["smith", "manual", "other", "*"], ["mason", "office", "*"]]
    draft = Draft("job", COUNTS)
    draft.read(Listing.numbered(rows, "job.csv", [1, 2, 3]))
    assert draft.tree is None
    assert "duplicate" in {problem.kind for problem in draft.problems}
    draft.fix()
    assert draft.tree is not None
    assert draft.problems == ()
    assert draft.look().uncovered == ()
