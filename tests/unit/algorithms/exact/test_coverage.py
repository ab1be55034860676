from itertools import product

import numpy as np
import pytest

from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.coverage import (
    TooManyError,
    count_bits,
    list_boxes,
    list_cover_options,
    pack_bits,
    unpack_bits,
)
from shoal.algorithms.exact.options import ColumnOptions, TableSpace
from shoal.kernels.coverage import find_undominated

CODES = np.array([[0, 0], [1, 0], [2, 1], [2, 1], [3, 2]])


@pytest.fixture
def space(numbers):
    return TableSpace(
        (
            ColumnOptions(numbers(4), CODES[:, 0], "ncp", 1.0),
            ColumnOptions(numbers(3), CODES[:, 1], "ncp", 2.0),
        ),
        1.0,
    )


@pytest.fixture
def numbers():
    import polars as pl

    from shoal.codespace.encoding import Column, encode_column

    return lambda size: encode_column(pl.Series(range(size)), Column("n")).domain


def test_bits_and_back():
    rng = np.random.default_rng(0)
    for rows in (3, 64, 65, 130):
        covered = rng.random((5, rows)) < 0.3
        assert (unpack_bits(pack_bits(covered), rows) == covered).all()
        assert count_bits(pack_bits(covered)).tolist() == covered.sum(axis=1).tolist()


def test_options_of_a_row_against_all_its_boxes(space):
    for row, found in enumerate(list_cover_options(space, 2, Budget())):
        best: dict[bytes, list[float]] = {}
        options = []
        for column in space.columns:
            lo, hi, cost = column.intervals
            at = column.find_intervals_around(int(column.code[row]), int(column.code[row]))
            options.append([((lo[i] <= column.code) & (column.code <= hi[i]), cost[i]) for i in at])
        for box in product(*options):
            covered = np.logical_and.reduce([c for c, _ in box])
            if covered.sum() >= 2:
                best.setdefault(covered.tobytes(), []).append(sum(cost for _, cost in box))
        kept = {
            key: min(costs)
            for key, costs in best.items()
            if not any(
                min(other) < min(costs) - 1e-9
                and not (np.frombuffer(key, bool) & ~np.frombuffer(wider, bool)).any()
                for wider, other in best.items()
            )
        }
        keys = [each.tobytes() for each in unpack_bits(found.cover, 5)]
        assert dict(zip(keys, found.cost.tolist(), strict=True)) == pytest.approx(kept)
        for at, (key, cover, amount) in enumerate(zip(keys, found.cover, found.amount, strict=True)):
            ways = found.ways[at]
            assert ways == sum(abs(each - found.cost[at]) < 1e-9 for each in best[key])
            assert len(list(list_boxes(space, row, cover, amount))) == ways


def test_rows_with_equal_codes_share_their_options(space):
    rows = list_cover_options(space, 2, Budget())
    assert rows[2] is rows[3]


def test_the_narrowest_box_comes_first(space):
    # a third of the first column, of which the unit is a sixth: the second counts twice by halves
    cover = pack_bits(np.array([[True, True, False, False, False]]))[0]
    amount = next(a for a in range(7) if space.to_cost(a) == pytest.approx(1 / 3))
    first = next(list_boxes(space, 0, cover, amount))
    assert first == ((0, 1), (0, 0))


def test_of_ties_the_solver_needs_only_the_widest(numbers):
    space = TableSpace((ColumnOptions(numbers(4), CODES[:, 0], "distortion", 1.0),), 1.0)
    rows = list_cover_options(space, 2, Budget())
    assert rows[0].size > 1
    assert count_bits(rows[0].keep_undominated().cover).tolist() == [5]


def test_dominance_counts_only_what_is_cheaper():
    cover = pack_bits(np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1]], bool))
    assert find_undominated(cover, np.array([0, 1, 2]), 1).tolist() == [True, False, True]
    assert find_undominated(cover, np.array([0, 0, 0]), 1).tolist() == [True, True, True]


@pytest.mark.exhaustive
def test_too_many_options_are_given_up(numbers):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.permutation(60) for _ in range(5)], axis=1)
    space = TableSpace(tuple(ColumnOptions(numbers(60), codes[:, j], "ncp", 1.0) for j in range(5)), 1.0)
    with pytest.raises(TooManyError):
        list_cover_options(space, 2, Budget())


def test_when_the_time_is_up_the_options_are_given_up(space):
    with pytest.raises(TooManyError):
        list_cover_options(space, 2, Budget(seconds=1e-9))
