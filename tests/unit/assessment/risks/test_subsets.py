"""Sets of columns, against grouping each of them anew."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from shoal.assessment.risks import measure_column_sets
from shoal.assessment.risks.subsets import ColumnSet, measure_added_columns
from shoal.errors import RecipeError
from shoal.table import read_table


def made(rows: int, sizes: tuple[int, ...], seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({f"c{i}": rng.integers(0, size, rows) for i, size in enumerate(sizes)})


def grouped(frame: pl.DataFrame, columns: tuple[str, ...]) -> tuple[int, int, int]:
    size = frame.group_by(columns).len()["len"].to_numpy().astype(np.int64)
    return size.size, int((size == 1).sum()), int((size * (size - 1) // 2).sum())


def figures(each: ColumnSet) -> tuple[int, int, int]:
    return each.classes, each.unique_rows, each.equal_pairs


@pytest.mark.parametrize("sizes", [(2, 3, 40, 5, 7), (2, 2, 2, 2, 2), (300, 3, 300, 2, 1)])
def test_figures_are_those_of_a_group_by(sizes):
    frame = made(300, sizes)
    found = measure_column_sets(read_table(frame), frame.columns, largest=5, limit=1.0)
    assert [each.columns for each in found.columns] == [(name,) for name in frame.columns]
    for each in found.columns:
        assert figures(each) == grouped(frame, each.columns)
    for size in found.sizes:
        assert (size.possible, size.seen, size.sampled) == (
            len(list(combinations(sizes, size.size))),
        ) * 2 + (False,)
        for each in size.worst:
            assert figures(each) == grouped(frame, each.columns)


def test_no_set_is_forgotten():
    frame = made(60, (2, 3, 4, 5, 2, 3))
    found = measure_column_sets(read_table(frame), frame.columns, largest=3, limit=1.0)
    for size in found.sizes:
        every = sorted(
            (-grouped(frame, names)[1], grouped(frame, names)[2], names)
            for names in combinations(frame.columns, size.size)
        )
        assert [each.columns for each in size.worst] == [names for _, _, names in every[:10]]


def test_distinction_and_separation_by_hand():
    # Motwani and Xu's two ratios: 3 and 2 values in 4 rows; of six pairs one is equal in a and two in b.
    frame = pl.DataFrame({"a": ["x", "x", "y", "z"], "b": [1, 1, 2, 2]})
    a, b = measure_column_sets(read_table(frame), ["a", "b"], largest=1).columns
    assert (a.distinction, a.separation, a.uniqueness) == (3 / 4, 5 / 6, 2 / 4)
    assert (b.distinction, b.separation, b.uniqueness) == (2 / 4, pytest.approx(4 / 6), 0.0)


def test_the_smallest_telling_sets():
    # c0 and c1 together tell all rows apart; c2 alone does too.
    frame = pl.DataFrame({"c0": [0, 0, 1, 1], "c1": [0, 1, 0, 1], "c2": [1, 2, 3, 4], "c3": [7, 7, 7, 7]})
    found = measure_column_sets(read_table(frame), frame.columns, limit=1.0)
    assert [each.columns for each in found.telling] == [("c2",), ("c0", "c1")]
    pairs = next(size for size in found.sizes if size.size == 2)
    assert pairs.telling == 4  # c0 c1, and every pair with c2
    assert all("c2" not in each.columns for each in pairs.worst)


def test_pruning_changes_no_figure():
    frame = made(500, (400, 30, 5, 4, 3, 2))
    whole = measure_column_sets(read_table(frame), frame.columns, largest=4, limit=1.0)
    pruned = measure_column_sets(read_table(frame), frame.columns, largest=4, limit=0.5)
    for each in pruned.telling:
        assert each.uniqueness >= 0.5
        for name in each.columns:
            rest = tuple(other for other in each.columns if other != name)
            assert not rest or grouped(frame, rest)[1] < 250
    for before, after in zip(whole.sizes, pruned.sizes, strict=True):
        known = {each.columns: each for each in before.worst}
        assert all(known.get(each.columns, each) == each for each in after.worst)


@pytest.mark.slow
def test_wide_tables_are_sampled_by_seed():
    frame = made(50, (3,) * 60)
    first = measure_column_sets(read_table(frame), frame.columns, largest=3)
    again = measure_column_sets(read_table(frame), frame.columns, largest=3)
    other = measure_column_sets(read_table(frame), frame.columns, largest=3, seed=1)
    assert [size.sampled for size in first.sizes] == [False, True]
    assert first == again
    assert first != other
    assert 1000 < first.sizes[1].seen < first.sizes[1].possible


def test_missing_values_count_as_one_value():
    frame = pl.DataFrame({"a": [None, None, "x"], "b": [1.0, float("nan"), None]})
    a, b = measure_column_sets(read_table(frame), ["a", "b"], largest=1).columns
    assert (a.classes, a.unique_rows) == (2, 1)
    assert (b.classes, b.unique_rows) == (2, 1)


def test_one_row_and_one_column():
    found = measure_column_sets(read_table(pl.DataFrame({"a": [1]})), ["a"])
    assert (found.columns[0].separation, found.columns[0].uniqueness, found.sizes) == (1.0, 1.0, ())


def test_what_one_column_more_does():
    frame = made(200, (5, 5, 9, 2))
    found = measure_added_columns(read_table(frame), ["c0", "c1"], ["c2", "c3"])
    assert figures(found[""]) == grouped(frame, ("c0", "c1"))
    for name in ("c2", "c3"):
        assert figures(found[name]) == grouped(frame, ("c0", "c1", name))
        assert found[name].columns == ("c0", "c1", name)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"limit": 0}, "above 0"), ({"limit": 2}, "up to 1"), ({"largest": 0}, "at least 1")],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(RecipeError, match=message):
        measure_column_sets(read_table(made(3, (2, 2))), ["c0", "c1"], **settings)
