"""The partitioning kernel against plain-Python twins of its rules, and what any partition must satisfy."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.mondrian import divide_classes
from shoal.kernels.cut_workspace import CLASSIC, GREEDY, NEAREST, WeightedRows
from shoal.kernels.partition import grow_partition
from shoal.privacy import DistinctL, KAnonymity
from shoal.table.hierarchies import Hierarchy


def nested(rng, leaves):
    """A random tree over ``leaves``: levels of runs, each made by cutting the runs of the level above."""
    bounds = {0, len(leaves)}
    levels = []
    while len(bounds) <= len(leaves):
        levels.append(np.searchsorted(sorted(bounds), np.arange(len(leaves)), side="right"))
        bounds |= set(rng.integers(1, len(leaves), 1 + len(bounds) // 2).tolist())
    rows = zip(leaves, *(map(str, level) for level in reversed(levels)), strict=True)
    return Hierarchy.from_rows([[leaf, *(f"g{g}" for g in groups[:-1]), "*"] for leaf, *groups in rows])


def random_problem(code, seed, diversity=0, rows=120):
    """Numbers with gaps and missing values, skewed categories, a random tree, a sensitive column."""
    rng = np.random.default_rng(seed)
    leaves = [f"v{i:02}" for i in range(int(rng.integers(3, 20)))]
    number = pl.Series(rng.integers(0, 30, rows) ** 2)
    frame = pl.DataFrame(
        {
            "number": number.set(pl.Series(rng.random(rows) < 0.1), None),
            "flat": rng.choice(list("abcdef"), rows, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05]),
            "tree": rng.choice(leaves, rows),
            "sensitive": rng.choice(list("pqrs"), rows, p=[0.7, 0.1, 0.1, 0.1]),
        }
    )
    problem = code(frame, ["sensitive"], hierarchy={"tree": nested(rng, leaves)})
    models = (
        KAnonymity(int(rng.integers(2, 6))),
        *([DistinctL(diversity, "sensitive")] if diversity else []),
    )
    return replace(problem, models=models)


def partition(problem, table, how, divide=False):
    """The leaves as lists of rows of ``table``, as they come to lie, and the number of nodes visited."""
    rows = WeightedRows(table.codes.copy(), table.weight.copy(), np.arange(table.weight.size))
    leaf = np.zeros(table.weight.size, np.bool_)
    root = np.zeros((3, 2, len(problem.domains)), np.int64)
    root[:, 1] = [domain.size - 1 for domain in problem.domains]
    halt = np.zeros(1, np.bool_)
    rules = problem.build_rules(table)
    nodes, _, _ = grow_partition(
        rows, 0, leaf.size, problem.build_axes(), rules, how, divide, root, leaf, halt, True
    )
    starts = [*np.flatnonzero(leaf).tolist(), leaf.size]
    assert starts[0] == 0
    leaves = [rows.ident[first:last].tolist() for first, last in pairwise(starts)]
    assert sorted(rows.ident.tolist()) == list(range(leaf.size))
    assert np.array_equal(rows.codes, table.codes[rows.ident])
    return leaves, nodes


class Twin:
    """A node as the papers describe it: a list of rows, and plain sums over them."""

    def __init__(self, problem, table, divide):
        self.problem, self.divide = problem, divide
        self.codes, self.weight = table.codes.astype(int), table.weight
        self.k = next(model.k for model in problem.models if isinstance(model, KAnonymity))
        self.l = max([model.l for model in problem.models if isinstance(model, DistinctL)], default=0)
        h = table.histograms
        self.values = [set(h.value[h.start[i] : h.start[i + 1]].tolist()) for i in range(len(self.weight))]

    def size(self, rows):
        return int(sum(self.weight[i] for i in rows))

    def diverse(self, rows):
        return len(set().union(*(self.values[i] for i in rows))) >= self.l

    def allowed(self, left, right):
        return all(self.size(side) >= self.k and self.diverse(side) for side in (left, right))

    def median(self, rows, axis):
        """First value whose cumulative count is at least half of the rows."""
        before = 0
        for value in sorted({self.codes[i, axis] for i in rows}):
            before += sum(self.weight[i] for i in rows if self.codes[i, axis] == value)
            if before >= self.size(rows) // 2:
                return value
        raise AssertionError

    def halves(self, rows, axis):
        """Both sides of the median; ties are taken from the back where they may be divided."""
        value = self.median(rows, axis)
        left = [i for i in rows if self.codes[i, axis] < value]
        ties = [i for i in rows if self.codes[i, axis] == value]
        right = [i for i in rows if self.codes[i, axis] > value]
        if not self.divide:
            return left + ties, right, value
        joining = len(rows) // 2 - len(left)
        return left + ties[::-1][:joining], right + ties[: len(ties) - joining], value

    def classic(self, rows, lo, hi):
        """The leaves of a node whose bounds are inherited, and tightened where they are tried."""
        lo, hi, untried = list(lo), list(hi), list(range(len(lo)))
        while untried and self.size(rows) >= 2 * self.k:
            position = [domain.position for domain in self.problem.domains]
            axis = max(untried, key=lambda j: (position[j][hi[j]] - position[j][lo[j]], -j))
            untried.remove(axis)
            present = [self.codes[i, axis] for i in rows]
            lo[axis], hi[axis] = min(present), max(present)
            if lo[axis] == hi[axis]:
                continue
            left, right, value = self.halves(rows, axis)
            if self.allowed(left, right):
                split_hi, split_lo = list(hi), list(lo)
                split_hi[axis] = value
                split_lo[axis] = min(self.codes[i, axis] for i in right)
                return self.classic(left, lo, split_hi) + self.classic(right, split_lo, hi)
        return [rows]

    def cuts(self, rows, axis):
        """Left sides of all cuts along an axis: after each value of a line, around each child of a node."""
        present = sorted({self.codes[i, axis] for i in rows})
        tree = self.problem.domains[axis].hierarchy
        if tree is None:
            return [[i for i in rows if self.codes[i, axis] <= value] for value in present[:-1]]
        level = int(tree.level_of(present[0], present[-1])) - 1
        if level < 0:
            return []
        children = sorted({int(tree.nodes[level, value]) for value in present})
        return [[i for i in rows if tree.nodes[level, self.codes[i, axis]] == child] for child in children]

    def nearest(self, rows):
        """The leaves of a node: the widest column with an allowed cut, the first cut nearest the median."""
        if self.size(rows) >= 2 * self.k:
            codes = self.codes[rows]
            wide = [
                float(domain.compute_widths(*domain.snap(np.array([lo]), np.array([hi])))[0])
                for domain, lo, hi in zip(self.problem.domains, codes.min(0), codes.max(0), strict=True)
            ]
            for axis in sorted(range(len(wide)), key=lambda j: (-wide[j], j)):
                total, best = self.size(rows), None
                for left in self.cuts(rows, axis):
                    right = [i for i in rows if i not in set(left)]
                    off = abs(2 * self.size(left) - total)
                    if right and self.allowed(left, right) and (best is None or off < best[0]):
                        best = off, left, right
                if best is not None:
                    return self.nearest(best[1]) + self.nearest(best[2])
        return [rows]


def as_sets(leaves):
    return sorted(sorted(leaf) for leaf in leaves)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("diversity", [0, 2])
@pytest.mark.parametrize("divide", [False, True])
def test_the_classic_rule_is_its_plain_twin(code, seed, diversity, divide):
    problem = random_problem(code, seed, diversity)
    table = problem.rows.one_by_one(in_order=True) if divide else problem.table
    twin = Twin(problem, table, divide)
    tops = [domain.size - 1 for domain in problem.domains]
    expected = twin.classic(list(range(len(table.weight))), [0] * 3, tops)
    found, nodes = partition(problem, table, CLASSIC, divide)
    assert as_sets(found) == as_sets(expected)
    assert nodes == 2 * len(found) - 1


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("diversity", [0, 3])
def test_the_nearest_rule_is_its_plain_twin(code, seed, diversity):
    problem = random_problem(code, seed + 100, diversity)
    expected = Twin(problem, problem.table, False).nearest(list(range(len(problem.table.weight))))
    found, _ = partition(problem, problem.table, NEAREST)
    assert as_sets(found) == as_sets(expected)


@pytest.mark.slow
def test_long_axes_with_few_rows_are_sorted_instead_of_counted(code):
    # Two columns without equal values: once cut along one, a node has few rows on all of the other.
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.permutation(300) for name in "ab"} | {"s": rng.choice(list("pq"), 300)})
    for models in ((KAnonymity(3),), (KAnonymity(3), DistinctL(2, "s"))):
        problem = replace(code(frame, ["s"]), models=models)
        expected = Twin(problem, problem.table, False).nearest(list(range(300)))
        assert as_sets(partition(problem, problem.table, NEAREST)[0]) == as_sets(expected)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("diversity", [0, 2, 3])
@pytest.mark.parametrize("how", [NEAREST, GREEDY])
@pytest.mark.parametrize("divide", [False, True])
def test_every_leaf_satisfies_the_rules_and_no_allowed_cut_is_left(code, seed, diversity, how, divide):
    problem = random_problem(code, seed + 200, diversity)
    table = problem.rows.one_by_one(in_order=False) if divide else problem.table
    twin = Twin(problem, table, divide)
    for leaf in partition(problem, table, how, divide)[0]:
        assert twin.size(leaf) >= twin.k
        assert twin.diverse(leaf)
        if not divide:
            for axis in range(3):
                for left in twin.cuts(leaf, axis):
                    right = [i for i in leaf if i not in set(left)]
                    assert not right or not twin.allowed(left, right)


def test_greedy_takes_the_cut_that_saves_most(code):
    # Two clumps along b, spread evenly along a: the first cut has to fall between the clumps.
    frame = pl.DataFrame({"a": list(range(20)), "b": [0, 1] * 5 + [100, 101] * 5})
    problem = replace(code(frame), models=(KAnonymity(10),))
    assert as_sets(partition(problem, problem.table, GREEDY)[0]) == [list(range(10)), list(range(10, 20))]


def test_weights_of_columns_choose_the_cut(code):
    frame = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    problem = code(frame)
    for how in (NEAREST, GREEDY):
        dear_a = replace(problem, weights=np.array([9.0, 1.0]))
        assert as_sets(partition(dear_a, problem.table, how)[0]) == [[0, 1], [2, 3]]
        dear_b = replace(problem, weights=np.array([1.0, 9.0]))
        assert as_sets(partition(dear_b, problem.table, how)[0]) == [[0, 2], [1, 3]]


def test_a_deep_tree_does_not_fill_the_stack(code):
    # A comb: at each of 90 levels one value parts from the rest, so nodes lie 90 deep.
    depth = 90
    leaves = [f"v{i}" for i in range(depth)]
    comb = [
        [leaf, *(leaf if i < depth - level else f"rest{level}" for level in range(1, depth)), "*"]
        for i, leaf in enumerate(leaves)
    ]
    frame = pl.DataFrame({"v": [leaf for leaf in leaves for _ in range(3)]})
    problem = replace(code(frame, hierarchy={"v": Hierarchy.from_rows(comb)}), models=(KAnonymity(3),))
    for how in (NEAREST, GREEDY):
        leaves_found, nodes = partition(problem, problem.table, how)
        assert (len(leaves_found), nodes) == (depth, 2 * depth - 1)


def test_a_deep_line_does_not_fill_the_stack(code):
    # Weights that halve from value to value: the median always parts the first value from all others.
    weights = 2 ** np.arange(16)[::-1]
    frame = pl.DataFrame({"v": np.repeat(np.arange(16), weights)})
    problem = replace(code(frame), models=(KAnonymity(2),))
    for how in (CLASSIC, NEAREST):
        found, _ = partition(problem, problem.table, how)
        assert as_sets(found) == [[i] for i in range(14)] + [[14, 15]]


def test_a_tree_node_with_many_children_is_cut_between_them(code):
    rng = np.random.default_rng(1)
    leaves = [f"v{i:03}" for i in range(300)]
    flat = Hierarchy.from_rows([[leaf, f"g{i // 3}", "*"] for i, leaf in enumerate(leaves)])  # 100 children
    frame = pl.DataFrame({"v": rng.choice(leaves, 3000), "n": rng.integers(0, 50, 3000)})
    problem = replace(code(frame, hierarchy={"v": flat}), models=(KAnonymity(5),))
    twin = Twin(problem, problem.table, False)
    for how in (NEAREST, GREEDY):
        found, _ = partition(problem, problem.table, how)
        assert all(twin.size(leaf) >= 5 for leaf in found)
        levels = [flat.level_of(c.min(), c.max()) for c in (problem.table.codes[leaf, 0] for leaf in found)]
        assert min(levels) < 2  # some classes got below the root


def test_large_nodes_are_cut_on_a_sample_and_still_by_the_rules(code):
    rng = np.random.default_rng(2)
    size = 70_000
    frame = pl.DataFrame(
        {
            "a": rng.integers(0, 3000, size),
            "b": rng.choice([f"c{i}" for i in range(40)], size),
            "s": rng.choice(list("pqr"), size, p=[0.98, 0.01, 0.01]),
        }
    )
    groups = Hierarchy.from_rows([[f"c{i}", f"g{i % 5}", "*"] for i in range(40)])
    problem = replace(code(frame, ["s"], hierarchy={"b": groups}), models=(KAnonymity(4), DistinctL(2, "s")))
    twin = Twin(problem, problem.table, False)
    assert len(problem.table.weight) > 2 << 14
    found, _ = partition(problem, problem.table, GREEDY)
    assert all(twin.size(leaf) >= 4 and twin.diverse(leaf) for leaf in found)
    assert len(found) > 300


def test_a_halted_kernel_ends(code):
    problem = random_problem(code, 0)
    table = problem.table
    rows = WeightedRows(table.codes.copy(), table.weight.copy(), np.arange(table.weight.size))
    leaf = np.zeros(table.weight.size, np.bool_)
    box = np.zeros((3, 2, 3), np.int64)
    halted = np.ones(1, np.bool_)
    nodes, _, _ = grow_partition(
        rows,
        0,
        leaf.size,
        problem.build_axes(),
        problem.build_rules(table),
        GREEDY,
        False,
        box,
        leaf,
        halted,
        True,
    )
    assert (nodes, leaf.any()) == (0, False)


def test_long_lines_of_large_nodes_are_cut_between_buckets_of_codes(code):
    """A node of many different numbers is not sorted, and yet it is divided down to the least size."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"x": rng.normal(size=6000), "y": np.exp(4 * rng.normal(size=6000))})
    problem = replace(code(frame), models=(KAnonymity(10),))
    table = problem.table
    class_of = divide_classes(problem, table, np.zeros(6000, np.int32) + (table.codes[:, 0] > 2999))
    size = np.bincount(class_of)
    assert size.min() >= 10
    assert size.max() < 40
    # No two classes overlap: a cut between two codes separates them.
    box = [
        (table.codes[class_of == c].min(axis=0), table.codes[class_of == c].max(axis=0))
        for c in range(size.size)
    ]
    lo, hi = (np.array(end).astype(int) for end in zip(*box, strict=True))
    apart = ((lo[:, None] > hi[None]) | (hi[:, None] < lo[None])).any(axis=2)
    assert (apart | np.eye(size.size, dtype=bool)).all()
