"""Boxes near rows, and places among numbers, against plain twins."""

import numpy as np
import pytest

from shoal.kernels.nearest import (
    INTERVAL,
    LINE,
    SET,
    ReleasedBoxes,
    build_box_tree,
    count_before,
    find_near_boxes,
    find_places,
    read_between,
)


def guillotine(rng, box, count):
    """Disjoint boxes: one is cut in two, again and again; then each shrinks a little."""
    boxes = [box]
    while len(boxes) < count:
        lo, hi = boxes.pop(int(rng.integers(len(boxes))))
        axis = int(rng.integers(lo.size))
        at = lo[axis] + (hi[axis] - lo[axis]) * rng.uniform(0.3, 0.7)
        left, right = hi.copy(), lo.copy()
        left[axis] = right[axis] = at
        boxes += [(lo, left), (right, hi)]
    bound = np.array(boxes)
    return np.stack(
        [bound[:, 0] * 0.95 + bound[:, 1] * 0.05, bound[:, 0] * 0.05 + bound[:, 1] * 0.95], axis=1
    )


def lines(bound):
    none = np.zeros(bound.shape[::2], np.int64)
    return ReleasedBoxes(np.full(bound.shape[2], LINE), bound, none, none.copy(), np.empty(0, np.int64))


def test_nearly_always_the_nearest_box_is_found_and_always_the_one_around_a_row():
    rng = np.random.default_rng(0)
    bound = guillotine(rng, (np.zeros(3), np.ones(3)), 300)
    boxes = lines(bound)
    tree = build_box_tree(boxes, np.arange(300), np.array([0, 300]))
    place = rng.random((2000, 3))
    outside = np.maximum(
        0, np.maximum(bound[None, :, 0] - place[:, None], place[:, None] - bound[None, :, 1])
    )
    distance = outside.sum(axis=2)
    found = find_near_boxes(boxes, tree, np.zeros(2000, np.int64), place)
    around = distance.min(axis=1) == 0
    assert around.sum() > 1000
    assert (distance.argmin(axis=1) == found)[around].all()
    assert (distance.argmin(axis=1) == found).mean() > 0.97


def test_groups_have_their_own_boxes_and_an_empty_one_has_none():
    bound = np.array([[[0.0], [1.0]], [[2.0], [3.0]], [[4.0], [5.0]]])
    boxes = lines(bound)
    tree = build_box_tree(boxes, np.array([0, 2]), np.array([0, 1, 1, 2]))
    found = find_near_boxes(boxes, tree, np.array([0, 1, 2]), np.array([[4.5], [4.5], [0.5]]))
    assert found.tolist() == [0, -1, 2]


def test_a_category_is_in_an_interval_or_set_or_one_away():
    bound = np.array([[[0.0, 0.0], [3.0, 1.0]], [[0.0, 2.0], [3.0, 2.0]]])
    # The first box holds the codes 0 and 3 of the first column, the second one the codes 0, 1 and 3.
    boxes = ReleasedBoxes(
        np.array([SET, INTERVAL]),
        bound,
        np.array([[0, 0], [2, 0]]),
        np.array([[2, 0], [5, 0]]),
        np.array([0, 3, 0, 1, 3]),
    )
    tree = build_box_tree(boxes, np.arange(2), np.array([0, 2]))
    rows = np.array([[3.0, 1.0], [3.0, 2.0], [1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]])
    # The third row is one away from both, and so goes to the first; so does the last, which is unknown.
    assert find_near_boxes(boxes, tree, np.zeros(5, np.int64), rows).tolist() == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("parts", [1, 64])
@pytest.mark.parametrize(
    "known",
    [
        np.array([3.0]),
        np.array([-1e308, 0.0, 1e308, 1.7e308]),
        np.array([0.0, 5e-324, 1e-300, 1.0]),
        np.exp(np.sort(np.random.default_rng(1).normal(size=500)) * 9),
    ],
    ids=["one", "vast", "tiny", "skewed"],
)
def test_places_are_those_of_interpolation(known, parts):
    rng = np.random.default_rng(2)
    between = known[:-1] / 2 + known[1:] / 2
    value = np.concatenate([known, between, rng.normal(size=50), [np.nan]])
    found = find_places(value, known, count_before(known, parts))
    assert (found[: known.size] == np.arange(known.size)).all()
    with np.errstate(all="ignore"):
        expected = np.interp(value, known, np.arange(known.size))
    told = np.isfinite(expected) & np.isfinite(value)
    np.testing.assert_allclose(found[told], expected[told], rtol=1e-9, atol=1e-9)
    assert np.isnan(found[-1]) and not np.isnan(found[:-1]).any()


def test_a_table_is_read_on_the_line_between_two_entries():
    table = np.array([-1.0, 0.0, 4.0])
    assert read_between(table, np.array([-1.0, 0.0, 0.5, 1.25, 2.0, 9.0])).tolist() == [-1, -1, -0.5, 1, 4, 4]
