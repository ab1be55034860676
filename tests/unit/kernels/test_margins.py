"""A node is cut by its margins as it is by its rows."""

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.mondrian import CUTS, root_box
from shoal.engines.level_workers import CutSettings, MarginCounter, RowLayout
from shoal.engines.levels import LevelwisePartition
from shoal.engines.packing import CodePacking
from shoal.kernels.cut_workspace import WeightedRows
from shoal.kernels.partition import grow_partition
from shoal.kernels.sampled_cuts import CutTree
from shoal.privacy import DistinctL, KAnonymity, TCloseness
from shoal.table.hierarchies import Hierarchy

TREE = Hierarchy.from_rows([(f"p{i}", f"q{i // 4}", f"r{i // 100}", "*") for i in range(400)])
RULES = {
    "k": (KAnonymity(5),),
    "l": (KAnonymity(5), DistinctL(3, "s")),
    "t": (KAnonymity(5), TCloseness(0.2, column="s")),
}
ROOT = CutTree(*np.array([[-1], [0], [0], [0]], np.int64))


@pytest.mark.parametrize("goal", RULES)
@pytest.mark.parametrize("cut", ["nearest", "greedy"])
def test_margins_decide_as_rows_do(code, cut, goal):
    from dataclasses import replace

    random = np.random.default_rng(7)
    cuts = set()
    for size in (12, 40, 150, 900):
        frame = pl.DataFrame(
            {
                "a": random.integers(0, 90, size),
                "b": random.choice(["x", "y", "z"], size, p=[0.7, 0.2, 0.1]),
                "c": [f"p{i}" for i in random.integers(0, 400, size)],
                "s": random.choice(["u", "v", "w", "x"], size, p=[0.4, 0.3, 0.2, 0.1]),
            }
        )
        problem = code(frame, ["s"], hierarchy={"c": TREE})
        problem = replace(problem, models=RULES[goal], weights=np.array([1.0, 0.5, 1.0]))
        table = problem.table
        expected = by_rows(problem, table, CUTS[cut])
        assert by_margins(problem, table, CUTS[cut]) == expected
        cuts.add(expected.axis)
    assert cuts - {-1}


def by_rows(problem, table, how):
    rows = WeightedRows(table.codes.copy(), table.weight.copy(), np.arange(table.weight.size))
    box, nothing = root_box(problem.build_axes()), np.zeros(table.weight.size, np.bool_)
    boxes = np.stack([box] * 3)
    halt = np.zeros(1, np.bool_)
    rules = problem.build_rules(table)
    return grow_partition(
        rows, 0, table.weight.size, problem.build_axes(), rules, how, False, boxes, nothing, halt, False
    )[2]


def by_margins(problem, table, how):
    layout = RowLayout(CodePacking.from_sizes(problem.rows.sizes), problem.rows.sensitive_sizes)
    words = layout.packing.pack_codes(list(problem.rows.quasi))
    columns = {name: word.astype(np.int64) for name, word in zip(layout.words, words, strict=True)}
    columns |= dict(zip(layout.values, problem.rows.sensitive, strict=True))
    counted = pl.DataFrame(columns).with_columns(n=pl.lit(1, pl.Int64)).sort(layout.words)
    margins = MarginCounter(layout, ROOT, [0])
    found = pl.concat([pl.from_arrow(batch) for batch in margins(counted.to_arrow().to_batches(50))])
    goal = CutSettings.from_rules(problem.build_axes(), problem.build_rules(table), how)
    return LevelwisePartition(None, layout, goal, 1)._decide_cut(
        found.sort("axis", "code", "value"), table.weight.size, margins.corners
    )
