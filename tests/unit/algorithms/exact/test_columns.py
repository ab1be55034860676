"""Column generation, cuts and branches, against all groups and all divisions of small tables."""

from itertools import combinations_with_replacement

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.exact import branching, classes, columns
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.columns import Branch, MasterProblem, RowCut
from shoal.algorithms.exact.options import TableSpace
from shoal.codespace.encoding import Column, encode_column
from shoal.kernels.pricing import UsedGroups, find_violated_cuts, find_violated_sets


def make_rows(seed, rows=9, k=2, values=5):
    """A line, a set and a category that stays or becomes `*`, with rows that occur twice."""
    rng = np.random.default_rng(seed)
    numbers, letters = rng.integers(0, 2 * values, rows), np.array(list("abcdefgh"))[rng.integers(0, 5, rows)]
    frame = [pl.Series(numbers), pl.Series(letters), pl.Series(rng.choice(["x", "y"], rows))]
    encoded = [encode_column(column, Column(f"c{j}")) for j, column in enumerate(frame)]
    codes = np.stack([each.codes for each in encoded], axis=1)
    weights = rng.choice([0.5, 1.0, 3.0], 3)
    space = TableSpace.from_codes(
        [each.domain for each in encoded], codes, "ncp", weights, sets=bool(seed % 2)
    )
    kind = np.unique(space.codes, axis=0, return_inverse=True)[1].ravel()
    return classes.PartitionProblem(
        space, lambda groups: np.array([len(g) >= k for g in groups]), k, True, True, kind
    )


def list_groups(master, branch):
    """Every group of kinds that a branch permits, by plain loops."""
    for size in range(master.rows.least, master.most + 1):
        for group in combinations_with_replacement(range(master.times.size), size):
            if any(group.count(kind) > master.times[kind] for kind in group):
                continue
            if any(a in group and b in group for a, b in branch.apart):
                continue
            if all((a in group) == (b in group) for a, b in branch.together):
                yield group


def reduce_cost(master, group, price):
    n = master.times.size
    parts = [sum(group.count(row) for row in cut.rows) // cut.step for cut in master.cuts]
    master.add_groups([group])
    cost = master.cost[master.known[group]]
    return cost - sum(price[row] for row in group) - price[n] - np.dot(price[n + 1 :], parts)


@pytest.mark.parametrize("seed", range(12))
def test_groups_are_found_exactly_if_their_reduced_cost_is_below(seed):
    rows = make_rows(seed, k=2 + seed % 2)
    master = MasterProblem(rows, rows.build_division([tuple(range(9))]))
    rng = np.random.default_rng(seed)
    single = np.flatnonzero(master.times == 1).tolist()
    a, b, c, d = rng.permutation(single)[:4].tolist()
    branch = Branch(1, 9, apart=((a, b),), together=((c, d),) if seed % 3 else ())
    master.cuts = [
        RowCut((0, 1, 2), 2),
        RowCut((0, 1, 3, 4, 5), 2 + seed % 4),
        RowCut(tuple(sorted((a, c))), 2),
    ]
    # Dear cuts: a group with all rows of one pays for it once, which a bound must not count twice.
    price = np.concatenate([rng.uniform(0, 1.2, master.times.size), [-0.1], -rng.uniform(1, 3, 3)])
    if branch.together:
        price[[c, d]] = price[[c, d]].mean()
    every = {group: reduce_cost(master, group, price) for group in list_groups(master, branch)}
    below = float(np.quantile([*every.values()], 0.8))
    found, _, complete = master.price_groups(price, branch, below, 100_000, Budget(), False)
    assert complete
    assert sorted(found) == sorted(group for group, cost in every.items() if cost < below)
    _, least, complete = master.price_groups(price, branch, -1e-11, 100_000, Budget(), True)
    assert complete
    assert least == pytest.approx(min(0.0, *every.values()))


def test_a_group_pays_once_for_all_three_rows_of_a_cut():
    rows = make_rows(1, k=3)
    master = MasterProblem(rows, rows.build_division([tuple(range(9))]))
    rows_of_cut = tuple(np.flatnonzero(master.times == 1)[:3].tolist())
    master.cuts = [RowCut(rows_of_cut, 2)]
    price = np.full(master.times.size + 2, -9.0)
    price[list(rows_of_cut)] = 4.0
    price[-2:] = 0.0, -1.5
    below = reduce_cost(master, rows_of_cut, price) + 0.1
    # Counted at each of the rows that join, the fee would exceed the limit.
    assert master.price_groups(price, master.whole, below, 9, Budget(), False)[0] == [rows_of_cut]


def test_a_search_that_is_ended_says_so():
    rows = make_rows(1)
    master = MasterProblem(rows, rows.build_division([tuple(range(9))]))
    price = np.append(np.full(master.times.size, 9.0), 0.0)
    for capacity, budget in ((3, Budget()), (1000, Budget(iterations=5))):
        found, _, complete = master.price_groups(price, master.whole, 0.0, capacity, budget, False)
        assert not complete
        assert 0 < len(found) <= 5


def test_cuts_are_sets_of_rows_that_halves_of_groups_use_too_often():
    # rows 0 to 2 by halves of three pairs: of three rows, whole groups take one pair
    groups = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 2]])
    half = np.array([0.5, 0.5, 0.5, 1.5])
    cuts, excess = find_violated_cuts(groups, half, np.array([1, 1, 1, 3]), 0.01, 100)
    named = [tuple(sorted(row for row in cut if row >= 0)) for cut in cuts.tolist()]
    found = dict(zip(named, excess.tolist(), strict=True))
    assert found == {(0, 1, 2): 0.5, (3,): 0.5}
    whole = np.array([1.0, 0, 0, 1])
    assert not len(find_violated_cuts(groups, whole, np.array([1, 1, 1, 3]), 0.01, 100)[0])


def list_by_row(groups, share):
    row, group = np.nonzero(groups)
    start = np.searchsorted(row, np.arange(len(groups) + 1))
    return UsedGroups(start, np.ascontiguousarray(group), groups[row, group], share)


def test_of_five_rows_only_one_whole_group_has_three():
    # rows 0 to 3 by a third of each of their triples, and two more rows
    groups = np.array([[1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    by_row = list_by_row(groups, np.full(4, 1 / 3))
    sets, excess = find_violated_sets(by_row, np.ones(6, np.int64), 3, 5, 0.01)
    assert {(len(set(rows)), {0, 1, 2, 3} <= set(rows)) for rows in sets.tolist()} == {(5, True)}
    assert excess == pytest.approx(1 / 3)


@pytest.mark.parametrize(("step", "size"), columns._SETS)
def test_no_cut_leaves_out_whole_groups(step, size):
    rng = np.random.default_rng(step + size)
    for _ in range(30):
        times = rng.integers(1, 3, 12)
        rows = rng.permutation(np.repeat(np.arange(12), times))
        parts = np.split(rows, np.arange(3, rows.size - 2, 4))
        whole = np.stack([np.bincount(part, minlength=12) for part in parts], axis=1)
        # Whole groups among halves of others, which look as if they were of use.
        other = np.stack([np.bincount(rng.permutation(rows)[:4], minlength=12) for _ in range(6)], axis=1)
        groups = np.hstack([whole, other])
        mixed = np.concatenate([np.full(len(parts), 0.5), np.full(6, 0.3)])
        sets, excess = find_violated_sets(list_by_row(groups, mixed), times, step, size, 0.01)
        for members, over in zip(sets.tolist(), excess.tolist(), strict=True):
            chosen = [row for row in members if row >= 0]
            assert times[chosen].sum() == size
            held = groups[chosen].sum(axis=0)
            assert over == pytest.approx((held // step) @ mixed - size // step)
            assert (whole[chosen].sum(axis=0) // step).sum() <= size // step


@pytest.mark.parametrize("way", ["solver", "branches"])
@pytest.mark.parametrize("seed", range(8))
def test_branches_and_the_solver_prove_the_optimum(seed, way, monkeypatch):
    rows = make_rows(seed, rows=12, k=2 + seed % 3, values=9)
    if way == "branches":
        monkeypatch.setattr(columns, "_COLUMNS", 1)  # so that the solver never has all groups
        monkeypatch.setattr(MasterProblem, "solve_over_known", lambda self, best, *_: best)
    best, _ = classes.solve_by_subsets(rows, 1, Budget())
    found = branching.solve_by_columns(rows, rows.build_division([tuple(range(12))]), Budget())
    assert found.cost >= best.cost - 1e-9
    assert found.bound <= best.cost + 1e-9
    assert found.is_proved or way == "branches"
    if found.is_proved:
        assert found.cost == pytest.approx(best.cost)
    # Rows that occur twice are not branched on; without these a proof is found.
    if way == "branches" and len(np.unique(rows.kind)) == 12:
        assert found.is_proved


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_open_bounds_from_below(seed):
    rows = make_rows(seed, rows=13, k=3, values=9)
    best, _ = classes.solve_by_subsets(rows, 1, Budget())
    for iterations in (10, 100, 400, 1000, 3000):
        start = rows.build_division([tuple(range(13))])
        found = branching.solve_by_columns(rows, start, Budget(iterations=iterations))
        assert found.bound <= best.cost + 1e-9 <= found.cost + 2e-9


def test_further_divisions_are_asked_for_where_the_first_is_not_proved(monkeypatch):
    monkeypatch.setattr(MasterProblem, "solve_over_known", lambda self, best, *_: best)
    monkeypatch.setattr(
        MasterProblem, "solve_within_gap", lambda self, relaxed, best, bound, _: (best, bound)
    )
    monkeypatch.setattr(branching, "_branch_on_rows", lambda master, relaxed, best, bound, _: (best, bound))
    asked = []
    for seed in range(8):
        rows = make_rows(seed, rows=12, k=3, values=9)
        best, _ = classes.solve_by_subsets(rows, 1, Budget())
        good = rows.build_division(best.groups)

        def suggest(budget, good=good):
            asked.append(good)
            return [good]

        found = branching.solve_by_columns(rows, rows.build_division([tuple(range(12))]), Budget(), suggest)
        assert found.cost == pytest.approx(best.cost)
        asked.clear()
        again = branching.solve_by_columns(rows, good, Budget(), suggest)
        assert not (again.is_proved and asked)
