"""Tree-guided classes: the target makes the cells, the goal decides which of them may stay."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.features import Features, Target
from shoal.algorithms.guides import predict_targets
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


def make_guided_rows(rows=240):
    """Two targets: one that the width decides, one that the height decides; the colour says nothing."""
    rng = np.random.default_rng(7)
    width, height = rng.integers(0, 40, (2, rows))
    return pl.DataFrame(
        {
            "width": width,
            "height": height,
            "colour": rng.choice(list("rgb"), rows),
            "wide": np.where(width > 20, "yes", "no"),
            "high": (height + rng.normal(0, 0.1, rows)).round(3),
        }
    )


def release_guided(frame, algorithm, **settings):
    columns = {"quasi": ["width", "height", "colour"], "plain": ["wide", "high"]}
    return anonymize(frame, **columns, **{"k": 12, **settings}, algorithm=algorithm)


def measure_lost(release, frame):
    """Of each target, the share that is not told by the classes."""
    shown = frame.with_columns(
        of=release.frame.select(pl.struct("width", "height", "colour").rank("dense")).to_series(),
        wide=(frame["wide"] == "yes").cast(pl.Float64),
    )
    return [
        float((shown[name] - shown.select(pl.col(name).mean().over("of")).to_series()).var())
        / float(shown[name].var())
        for name in ("wide", "high")
    ]


def test_several_targets_are_followed_at_once():
    frame = make_guided_rows()
    one, other, both = (
        measure_lost(release_guided(frame, TreeGuided(name, split=False)), frame)
        for name in ("wide", "high", "wide,high")
    )
    assert both[0] < 0.3 < other[0]
    assert both[1] < 0.3 < one[1]


def test_no_prediction_depends_on_the_row_s_own_label(code):
    frame = make_guided_rows()
    problem = code(frame.drop("wide", "high"), [])
    target = encode_column(frame["wide"], Column("wide"))
    other = replace(target, codes=np.where(np.arange(240) == 5, 1 - target.codes, target.codes))
    before, after = (
        predict_targets(problem, problem.table, [each], []).to_numbers()[:, 0] for each in (target, other)
    )
    # Equal rows are in one fold; rows of others may change.
    same = problem.table.of_row == problem.table.of_row[5]
    moved = [each - each[same][0] for each in (before, after)]
    fold = np.random.default_rng(problem.seed).permutation(problem.table.weight.size) % 3
    together = (fold == fold[problem.table.of_row[5]])[problem.table.of_row]
    # What is predicted for this fold is the same but for the common scale.
    scale = np.ptp(before[together]) / np.ptp(after[together])
    assert np.allclose(moved[0][together], moved[1][together] * scale, atol=1e-4)
    assert not np.allclose(before[~together], after[~together], atol=1e-2)
    assert np.corrcoef(before, frame["width"] > 20)[0, 1] > 0.8


@pytest.mark.parametrize("sweeps", [0, 2])
def test_distances_by_effect_keep_what_tells_the_target(sweeps):
    frame = make_guided_rows()
    settings = {"target": "wide,high", "gain": 1e9, "sweeps": sweeps}
    detail, effect = (
        measure_lost(release_guided(frame, TreeGuided(**settings, distance=distance)), frame)
        for distance in ("detail", "effect")
    )
    assert sum(effect) < sum(detail)


def test_distances_by_effect_take_hierarchies_missing_values_and_sensitive_columns():
    frame = make_guided_rows().with_columns(
        width=pl.when(pl.col("width") % 7 == 0).then(None).otherwise("width"),
        colour=pl.when(pl.col("colour") == "b").then(None).otherwise("colour"),
    )
    release = anonymize(
        frame,
        quasi=["width", "height", "colour"],
        sensitive=["wide"],
        plain=["high"],
        k=6,
        l=2,
        hierarchies={"colour": Hierarchy.from_tree({"warm": ["r"], "cold": ["g", "b"]})},
        algorithm=TreeGuided("high", sweeps=1, guide="predictions", distance="effect"),
    )
    assert release.report.smallest_class >= 6
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    again = release_guided(shuffled, TreeGuided("high", distance="effect", guide="predictions"))
    first = release_guided(frame, TreeGuided("high", distance="effect", guide="predictions"))
    assert classes_of(first) == classes_of(again)


def classes_of(release):
    return Counter(release.frame.select("width", "height", "colour").iter_rows())


@pytest.mark.parametrize("sweeps", [0, 1])
def test_distances_by_effect_release_what_rows_have(sweeps):
    rng = np.random.default_rng(11)
    letter = rng.choice(list("abcdefg"), 300, p=np.arange(7, 0, -1) / 28)
    width = rng.integers(0, 30, 300)
    # The order of the effects is neither that of the alphabet nor that of the frequencies, and no swap.
    effect = dict(zip("abcdefg", [3, 6, 0, 5, 1, 2, 4], strict=True))
    frame = pl.DataFrame(
        {
            "letter": letter,
            "width": width,
            "high": [effect[each] + 0.01 * w for each, w in zip(letter, width, strict=True)],
        }
    )
    tree = TreeGuided("high", gain=1e9, sweeps=sweeps, distance="effect")
    found = anonymize(frame, quasi=["letter", "width"], plain=["high"], k=8, algorithm=tree, render="set")
    for given, shown in zip(frame["letter"], found.frame["letter"], strict=True):
        assert shown == "*" or given in shown.strip("{}").split(", ")
    assert (found.frame["letter"] != "*").any()
    assert found.report.smallest_class >= 8
