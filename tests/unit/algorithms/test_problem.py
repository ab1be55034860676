from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.kernels.axes import LEVELS, START, TREE
from shoal.kernels.kinds import DISTINCT
from shoal.privacy import DistinctL, KAnonymity
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge", "lawyer"]})


@pytest.fixture
def problem(code):
    frame = pl.DataFrame(
        {
            "age": [20, None, 40],
            "job": ["mason", "clerk", "pirate"],
            "colour": ["red", "red", "blue"],
            "illness": ["flu", "flu", "cold"],
            "cost": [10, None, 30],
        }
    )
    return code(frame, ["illness", "cost"], hierarchy={"job": JOBS})


def test_axes_lie_end_to_end(problem):
    axes = problem.build_axes()
    assert axes.shape[START].tolist() == [0, 3, 9, 11]  # age with missing, five jobs and a pirate, colours
    assert axes.shape[LEVELS].tolist() == [0, 3, 0, 0]
    assert axes.shape[TREE].tolist() == [0, 0, 18, 18]
    assert axes.position[:3].tolist() == [-1, 0, 1]
    assert axes.position[9:].tolist() == [0, 1]


def test_a_tree_brings_the_width_of_every_node(problem):
    axes = problem.build_axes()
    width = axes.node_width.reshape(3, 6)
    assert width[0].tolist() == [0] * 6
    assert width[1].tolist() == pytest.approx([1 / 5] * 2 + [2 / 5] * 3 + [0])  # the pirate is a group of one
    assert width[2].tolist() == [1] * 6
    assert np.array_equal(axes.node.reshape(3, 6), problem.domains[1].hierarchy.nodes)


def test_rules_are_the_models_as_numbers(problem):
    models = (KAnonymity(3), KAnonymity(7), DistinctL(2, "cost"), DistinctL(3, "illness"))
    asked = replace(problem, models=models)
    rules = asked.build_rules(asked.table)
    assert rules.size == 7
    # Two illnesses come first, then the two costs and the missing one.
    assert rules.test[:, :3].tolist() == [[DISTINCT, 2, 5], [DISTINCT, 0, 2]]
    assert rules.limit.tolist() == [2, 3]
    assert rules.values == 5


def test_without_sensitive_models_no_histogram_is_kept(problem):
    rules = problem.build_rules(problem.table)
    assert (rules.size, rules.values, rules.limit.size) == (2, 0, 0)


def test_the_table_is_collapsed_once(problem):
    assert problem.table is problem.table
