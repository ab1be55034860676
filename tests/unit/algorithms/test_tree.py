"""Tree-guided classes: the target makes the cells, the goal decides which of them may stay."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.features import Features, Target
from shoal.algorithms.tree import TreeGuided
from shoal.codespace.encoding import Column, encode_column
from shoal.engines.api import anonymize
from shoal.errors import GoalNotMet, RecipeError
from shoal.table.hierarchies import Hierarchy

# The target is decided by the width, in the middle of which nothing happens; the height is noise.
ROWS = pl.DataFrame(
    {
        "width": [1, 2, 3, 4, 5, 6, 7, 8],
        "height": [5, 1, 4, 2, 3, 1, 5, 2],
        "kind": list("aaaaabbb"),
        "illness": ["x", "x", "x", "x", "x", "y", "x", "y"],
    }
)


def released(**settings):
    columns = {"quasi": ["width", "height"], "sensitive": ["illness"], "plain": ["kind"]}
    algorithm = TreeGuided(**{"target": "kind", "gain": 0.0, **settings.pop("tree", {})})
    return anonymize(ROWS, **columns, **{"k": 2, **settings}, algorithm=algorithm)


def classes(release):
    return Counter(release.frame.select("width", "height").iter_rows())


def test_cells_follow_the_target():
    release = released(tree={"split": False})
    assert classes(release) == {("[1-5]", "*"): 5, ("[6-8]", "*"): 3}
    assert "2 leaves made 2 cells" in release.report.notes[0]


def test_cells_are_divided_further_inside_of_the_cuts():
    assert {text for text, _ in classes(released())} == {"[1-3]", "[2-5]", "[6-8]"}


def test_a_failing_leaf_is_merged_or_deleted():
    merged = released(l=2, tree={"split": False})
    assert classes(merged) == {("*", "*"): 8}
    deleted = released(l=2, suppress=0.7, tree={"split": False, "failing": "delete"})
    assert classes(deleted) == {("[6-8]", "*"): 3}
    assert deleted.report.suppressed_rows == 5
    with pytest.raises(GoalNotMet, match="5 of 8 rows"):
        released(l=2, suppress=0.5, tree={"failing": "delete"})


def test_refinement_may_follow_and_leaves_deleted_rows_alone():
    rough, fine = released(tree={"split": False}), released(tree={"split": False, "sweeps": 3})
    assert fine.report.ncp < rough.report.ncp
    assert "refinement lowered the loss" in fine.report.notes[-1]
    settings = {"l": 2, "suppress": 0.7, "tree": {"split": False, "failing": "delete", "sweeps": 3}}
    assert classes(released(**settings)) == {("[6-8]", "*"): 3}


def test_a_failing_leaf_takes_in_its_nearest_cell_only():
    frame = pl.DataFrame(
        {
            "a": [1, 2, 11, 12, 14, 15],
            "b": list("xxyyzz"),
            "illness": ["p", "q", "p", "p", "p", "q"],
        }
    )
    release = anonymize(
        frame,
        others="keep",
        quasi=["a"],
        sensitive=["illness"],
        plain=["b"],
        k=2,
        l=2,
        algorithm=TreeGuided("b", gain=0.0),
    )
    assert release.frame["a"].to_list() == ["[1-2]", "[1-2]", *["[11-15]"] * 4]


def test_cuts_by_chance_are_left_to_the_partitioning():
    release = released(tree={"gain": 1e9})
    assert "1 leaves made 1 cells" in release.report.notes[0]
    plain = anonymize(
        ROWS, others="keep", quasi=["width", "height"], plain=["kind", "illness"], k=2, algorithm="mondrian"
    )
    assert release.frame["width"].to_list() == plain.frame["width"].to_list()


def test_all_columns_may_be_cut():
    frame = ROWS.with_columns(colour=pl.Series(list("rgrgrgrg")), wanted=pl.Series([0, 1] * 4))
    columns = {"quasi": ["height"], "plain": ["width", "kind", "colour", "wanted", "illness"]}
    tree = TreeGuided("wanted", grow="all", gain=0.0, split=False)
    of = anonymize(frame, **columns, k=2, algorithm=tree).frame["height"].to_list()
    assert of == ["[3-5]", "[1-2]"] * 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tree": {"target": "nope"}}, "unknown target 'nope'"),
        ({"tree": {"target": "width"}}, "is a quasi-identifier"),
        ({"tree": {"gain": -1.0}}, "gain must be 0 or more, not -1"),
        ({"weights": {"width": -1.0}}, "weights from 0 up"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(RecipeError, match=message):
        released(**settings)


def test_without_a_target_there_is_no_tree():
    with pytest.raises(RecipeError, match="--set target=COLUMN"):
        anonymize(ROWS, others="keep", quasi=["width"], k=2, algorithm="tree")
    by_sensitive = anonymize(
        ROWS, others="keep", quasi=["width"], sensitive=["illness"], k=2, algorithm="tree(gain=0)"
    )
    assert by_sensitive.report.smallest_class >= 2


def test_few_numbers_are_classes_and_many_are_numbers():
    few = Target.from_column(encode_column(pl.Series([1, 2, 2]), Column("a")))
    many = Target.from_column(encode_column(pl.Series(range(30)), Column("a")))
    assert (few.classes, many.classes) == (2, 0)
    assert few.measure_impurity() == pytest.approx(4 / 9)
    assert many.measure_impurity() == pytest.approx(np.var(np.arange(30) / 29))


def test_categories_are_seen_by_their_mean_target_and_hierarchies_level_by_level():
    tree = Hierarchy.from_tree({"u": ["a", "b"], "v": ["c"]})
    letters = pl.Series(list("aabc"))
    target = Target(np.array([1, 0, 1, 0]), 2)
    flat, deep = (encode_column(letters, Column("x", hierarchy=h)) for h in (None, tree))
    features = Features.from_columns([flat.domain, deep.domain], [flat.codes, deep.codes], target)
    seen = features.build_matrix([flat.codes, deep.codes])
    # Shares of the commonest class, which of two equally common ones is the first: 0.
    wanted = [[1 / 2, 1 / 2, 1 / 3], [1 / 2, 1 / 2, 1 / 3], [0, 0, 1 / 3], [1, 1, 1]]
    assert np.allclose(seen, wanted)
    assert features.build_matrix([np.array([-1]), np.array([-1])]).tolist() == [[0.5, 0.5, 0.5]]
