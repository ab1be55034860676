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
    number = options([1, 2, 4])
    assert number.find_cheapest_cells(np.array([0, 1]))[0] == pytest.approx(1 / 3)
    assert options([1, 2, 4], "distortion", 5.0).find_cheapest_cells(np.array([0, 1]))[0] == 5.0
    # two groups beside each other, over three values that occur
    tree = options(["a", "c", "d"], tree=TREE)
    c, d = tree.code[1:]
    assert tree.find_cheapest_cells(np.array([c, d]))[0] == pytest.approx(2 / 3)
    assert options(["a", "c", "d"], "ncp", tree=TREE).find_cheapest_cells(np.array([c, d]))[
        0
    ] == pytest.approx(2 / 4)


def test_ties_are_all_named_and_the_narrowest_first():
    column = options([1, 2, 4], weight=0.0)
    assert column.find_cheapest_cells(np.array([1]))[1] == [(1, 1), (0, 1), (1, 2), (0, 2)]
    assert options([1, 2, 4], weight=-1.0).find_cheapest_cells(np.array([1]))[1] == [(0, 2)]


def test_sets_of_values_present():
    column = options(["a", "b", "c"], "ncp", sets=True)
    assert column.find_cheapest_cells(np.array([0, 2])) == (0.5, [(PRESENT, PRESENT)])
    assert column.find_cheapest_cells(np.array([0, 1, 2]))[1] == [(0, 2)]
    assert options(["a", "b", "c"], "span-ncp", sets=True).find_cheapest_cells(np.array([0, 2]))[0] == 1.0


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
    expected = [
        sum(column.find_cheapest_cells(column.code[group])[0] for column in columns) for group in groups
    ]
    assert found == pytest.approx(expected)


def test_the_size_of_the_space():
    columns = (options([1, 2, 4]), options(["a", "b", "b"]))
    # ranges around 1, 2 and 4: 3, 4 and 3; every letter has two options
    assert TableSpace(columns, 1.0).count_tables() == (3 * 4 * 3) * 2**3


def test_a_mean_is_scaled():
    column = options([1, 2, 4])
    for loss, scale in (("ncp", 1 / 6), ("certainty", 1.0)):
        space = TableSpace.from_codes(
            [column.domain], column.code[:, None], loss, np.array([-2.0]), sets=False
        )
        assert space.scale == pytest.approx(scale)


def test_what_has_no_end_is_refused():
    domain = options(list(range(3001))).domain
    with pytest.raises(RecipeError, match="3001"):
        ColumnOptions(domain, np.arange(3001), "ncp", 1.0).find_intervals_around(0, 0)
    assert isinstance(domain, Domain)
    with pytest.raises(RecipeError, match="'certainty'"):
        TableSpace.from_codes([domain], np.zeros((1, 1), np.int64), "entropy", np.ones(1), sets=False)
