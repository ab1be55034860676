from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.exact.options import PRESENT, ColumnOptions, TableSpace
from shoal.codespace.domain import Domain
from shoal.codespace.encoding import Column, encode_column
from shoal.errors import RecipeError
from shoal.kernels.groups import group_costs
from shoal.table.hierarchies import Hierarchy

TREE = Hierarchy.from_tree({"west": ["a", "b"], "east": ["c", "d", "e"]})


def options(values, loss="certainty", weight=1.0, sets=False, tree=None) -> ColumnOptions:
    encoded = encode_column(pl.Series("q", values), Column("q", hierarchy=tree))
    return ColumnOptions(encoded.domain, encoded.codes.astype(np.int64), loss, weight, sets)


def cheapest(column: ColumnOptions, codes) -> Fraction:
    """The least cost of a cell around codes, exactly."""
    return column.find_cheapest_cells(np.array(codes))[0] * column.share


def texts(column: ColumnOptions, at) -> set[str]:
    lo, hi, _ = column.intervals
    return set(column.domain.render_intervals(lo[at], hi[at]))


def test_a_number_may_become_every_range_around_it():
    column = options([1, 2, 4])
    two = int(column.code[1])
    assert texts(column, column.find_intervals_around(two, two)) == {"2", "[1-2]", "[2-4]", "*"}


def test_a_missing_value_may_stay_or_become_everything():
    column = options([1, 2, None])
    lo, hi, _ = column.intervals
    at = column.find_intervals_around(0, 0)
    assert list(zip(lo[at].tolist(), hi[at].tolist(), strict=True)) == [(0, 0), (0, 2)]


def test_a_category_may_stay_or_become_everything_or_a_node():
    flat, tree = options(["a", "b", "c"]), options(["a", "c", "d"], tree=TREE)
    a, c = int(flat.code[0]), int(tree.code[1])
    assert texts(flat, flat.find_intervals_around(a, a)) == {"a", "*"}
    assert texts(tree, tree.find_intervals_around(c, c)) == {"c", "east", "*"}


def test_costs_of_cells():
    assert cheapest(options([1, 2, 4]), [0, 1]) == Fraction(1, 3)
    assert cheapest(options([1, 2, 4], "distortion", 5.0), [0, 1]) == 5
    # two groups beside each other, over three values that occur
    tree = options(["a", "c", "d"], tree=TREE)
    assert cheapest(tree, tree.code[1:]) == Fraction(2, 3)
    assert cheapest(options(["a", "c", "d"], "ncp", tree=TREE), tree.code[1:]) == Fraction(2, 4)


def test_costs_are_exact_at_any_scale():
    """Decimals as they are written, and places of which a float does not hold all digits."""
    assert cheapest(options([0.1, 0.2, 0.4], weight=1e-12), [0, 1]) == Fraction(1, 3 * 10**12)
    large = options([2**62, 2**62 + 1, 2**62 + 3])
    assert cheapest(large, [0, 1]) == Fraction(1, 3)
    days = options([date(2020, 1, 1), date(2020, 1, 3), None, date(2020, 1, 8)])
    assert cheapest(days, [1, 2]) == Fraction(2, 7)
    assert cheapest(days, [0, 1]) == 1


def test_ties_are_all_named_and_the_narrowest_first():
    column = options([1, 2, 4], weight=0.0)
    assert column.find_cheapest_cells(np.array([1]))[1] == [(1, 1), (0, 1), (1, 2), (0, 2)]
    assert options([1, 2, 4], weight=-1.0).find_cheapest_cells(np.array([1]))[1] == [(0, 2)]


def test_sets_of_values_present():
    column = options(["a", "b", "c"], "ncp", sets=True)
    assert cheapest(column, [0, 2]) == Fraction(1, 2)
    assert column.find_cheapest_cells(np.array([0, 2]))[1] == [(PRESENT, PRESENT)]
    assert column.find_cheapest_cells(np.array([0, 1, 2]))[1] == [(0, 2)]
    assert cheapest(options(["a", "b", "c"], "span-ncp", sets=True), [0, 2]) == 1


@pytest.mark.parametrize("loss", ["certainty", "ncp", "span-ncp", "distortion"])
@pytest.mark.parametrize("weight", [2.0, 0.0, -1.0])
def test_the_kernels_know_the_same_costs(loss, weight):
    rng = np.random.default_rng(0)
    columns = (
        options(rng.integers(0, 9, 12).tolist(), loss, weight),
        options([None, *rng.integers(0, 9, 11).tolist()], loss, weight),
        options(rng.choice(list("abcde"), 12).tolist(), loss, weight, tree=TREE),
        options(rng.choice(list("uvwx"), 12).tolist(), loss, weight),
        options(rng.choice(list("uvwx"), 12).tolist(), loss, weight, sets=True),
    )
    space = TableSpace(columns, 1.0)
    groups = [rng.choice(12, size, replace=False) for size in (1, 2, 2, 3, 3, 4, 5, 12)]
    start = np.concatenate(([0], np.cumsum([group.size for group in groups])))
    costs, always = space.build_costs()
    found = group_costs(costs, space.codes, start, np.concatenate(groups)) + always
    expected = [float(sum(cheapest(column, column.code[group]) for column in columns)) for group in groups]
    assert found == pytest.approx(expected)


def test_the_size_of_the_space():
    columns = (options([1, 2, 4]), options(["a", "b", "b"]))
    # ranges around 1, 2 and 4: 3, 4 and 3; every letter has two options
    assert TableSpace(columns, 1.0).count_tables() == (3 * 4 * 3) * 2**3


def test_a_mean_is_scaled():
    column = options([1, 2, 4])
    for loss, lost in (("ncp", -1 / 3), ("certainty", -2.0)):
        space = TableSpace.from_codes(
            [column.domain], column.code[:, None], loss, np.array([-2.0]), sets=False
        )
        assert space.columns[0].intervals[2].min() * space.scale == pytest.approx(lost)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 3e7, 1e12])
def test_floats_have_one_scale_and_amounts_none(scale):
    column = options([1, 2, 4])
    codes = np.repeat(column.code[:, None], 2, axis=1)
    weights = np.array([20.0, -3.0]) * scale
    space = TableSpace.from_codes([column.domain] * 2, codes, "ncp", weights, sets=False)
    assert space.amounts == (20, 3)
    assert 1 <= max(abs(each.scaled_weight) for each in space.columns) < 2
    # the narrow range of the first column, and all of the second
    assert space.to_cost(20 - 3 * 3) * space.scale == pytest.approx((20 / 3 - 3) / (23 * 3))


def test_a_bound_in_floats_is_a_proof_only_where_floats_can_tell():
    column = options([1, 2, 4])
    codes = np.repeat(column.code[:, None], 2, axis=1)

    def settle(weights, bound, cost=1.0):
        space = TableSpace.from_codes([column.domain] * 2, codes, "ncp", np.array(weights), sets=False)
        return space.settle_bound(bound, cost)

    assert settle([1.0, 1.0], 1.0 - 1e-12) == 1.0
    assert settle([1.0, 1.0], 1.0 + 1e-12) == 1.0
    assert settle([1.0, 1.0], 1.0 - 1e-6) == 1.0 - 1e-6
    assert settle([1e12, 1e-12], 1.0) < 1.0


def test_what_has_no_end_is_refused():
    domain = options(list(range(3001))).domain
    with pytest.raises(RecipeError, match="3001"):
        ColumnOptions(domain, np.arange(3001), "ncp", 1.0).find_intervals_around(0, 0)
    assert isinstance(domain, Domain)
    with pytest.raises(RecipeError, match="'certainty'"):
        TableSpace.from_codes([domain], np.zeros((1, 1), np.int64), "entropy", np.ones(1), sets=False)
