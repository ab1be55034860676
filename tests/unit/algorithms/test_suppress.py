"""Suppress: cells are left out and no other is changed, as few as there can be."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import shoal


def draw_table(seed, rows, columns=3, values=3):
    random = np.random.default_rng(seed)
    return pl.DataFrame({f"c{j}": random.choice(list("abc")[:values], rows) for j in range(columns)})


def list_partitions(rows, k):
    """Every way of dividing rows into classes of k at least."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for mask in range(1 << len(rest)):
        inside = [first, *(row for i, row in enumerate(rest) if mask >> i & 1)]
        if len(inside) >= k:
            outside = [row for i, row in enumerate(rest) if not mask >> i & 1]
            for others in list_partitions(outside, k):
                yield [inside, *others]


def count_least_cells(frame, k, weights):
    """The least weight of cells that have to be left out, by looking at every partition."""
    rows = frame.rows()

    def cost(members):
        different = (len({rows[i][j] for i in members}) > 1 for j in range(frame.width))
        return len(members) * sum(
            w for w, is_different in zip(weights, different, strict=True) if is_different
        )

    return min(sum(map(cost, classes)) for classes in list_partitions(list(range(frame.height)), k))


def assert_only_left_out(frame, release):
    for name in frame.columns:
        cells = zip(frame[name], release[name], strict=True)
        assert all(after in (before, "*") for before, after in cells)


@pytest.mark.parametrize(("seed", "k", "weights"), [(0, 2, (1, 1, 1)), (1, 3, (1, 1, 1)), (2, 2, (1, 5, 2))])
def test_of_a_small_table_no_more_cells_are_left_out_than_must_be(seed, k, weights):
    frame = draw_table(seed, 8)
    by_name = dict(zip(frame.columns, map(float, weights), strict=True))
    release = shoal.anonymize(frame, quasi=frame.columns, k=k, algorithm="suppress", weights=by_name)
    assert_only_left_out(frame, release.frame)
    left_out = sum(w * (release.frame[name] == "*").sum() for name, w in by_name.items())
    assert left_out == count_least_cells(frame, k, weights)
    assert release.report.optimal
    assert release.report.lower_bound == pytest.approx(left_out / (8 * sum(weights)))


@pytest.mark.parametrize("seed", [1])
def test_the_bound_is_never_above_what_the_best_release_loses(seed):
    frame = draw_table(seed, 40, values=2 + seed % 2)
    release = shoal.anonymize(frame, quasi=frame.columns, k=3, algorithm="suppress(seconds=0.05)")
    assert_only_left_out(frame, release.frame)
    assert min(Counter(release.frame.rows()).values()) >= 3
    assert release.report.lower_bound is not None
    assert release.report.lower_bound <= release.report.loss["value"]
    small = frame.head(8)
    best = shoal.anonymize(small, quasi=frame.columns, k=2, algorithm="suppress").report
    bound = bound_by_hand(small.rows(), 2)
    assert bound <= best.loss["value"] + 1e-9


def bound_by_hand(rows, k):
    """The mean, over all rows, of how many columns tell a row from the (k - 1)-th nearest other one."""
    total = 0
    for row in rows:
        distances = sorted(sum(a != b for a, b in zip(row, other, strict=True)) for other in rows)
        total += distances[k - 1]
    return total / (len(rows) * len(rows[0]))


def test_the_bound_is_what_is_counted_by_hand():
    frame = draw_table(4, 30)
    report = shoal.anonymize(frame, quasi=frame.columns, k=4, algorithm="suppress(seconds=0.05)").report
    assert report.lower_bound == pytest.approx(bound_by_hand(frame.rows(), 4), abs=1e-8)


def test_numbers_dates_missing_values_and_trees_stay_or_go():
    frame = pl.DataFrame(
        {
            "age": [30, 30, 41, 52, None, None] * 4,
            "town": ["ayr", "bude", "ayr", "bude", "carn", "carn"] * 4,
            "ill": ["x", "y", "x", "y", "x", "y"] * 4,
        }
    )
    tree = shoal.Hierarchy.from_tree({"coast": ["ayr", "bude"], "hills": ["carn"]}, root="anywhere")
    release = shoal.anonymize(
        frame,
        quasi=["age", "town"],
        sensitive=["ill"],
        k=5,
        l=2,
        algorithm="suppress(seconds=0.05)",
        hierarchies={"town": tree},
    )
    assert set(release.frame["town"]) <= {"ayr", "bude", "carn", "anywhere"}
    assert set(release.frame["age"].cast(pl.String)) <= {"30", "41", "52", None, "*"}
    classes = release.frame.group_by("age", "town").agg(pl.len(), pl.col("ill").n_unique())
    assert classes["len"].min() >= 5
    assert classes["ill"].min() >= 2


def test_a_goal_about_some_columns_leaves_out_less():
    frame = draw_table(7, 200, columns=5)
    roles = {"quasi": frame.columns, "algorithm": "suppress(seconds=0.2)"}
    pairs = shoal.anonymize(frame, **roles, models=["k-of-any(m=2,k=5)"])
    classes = shoal.anonymize(frame, **roles, k=5)
    assert_only_left_out(frame, pairs.frame)
    assert pairs.report.ncp < classes.report.ncp
