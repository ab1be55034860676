"""Near classes that are divided anew: as well as brute force does it, never worse, and by the rules."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.exact import classes
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.evolution import ClassPopulation
from shoal.algorithms.exact.options import TableSpace
from shoal.algorithms.small_tables import build_partition_problem, divide_near_classes, find_first_classes
from shoal.privacy import DistinctL, KAnonymity, for_columns

STEPS = 10_000_000


def draw_problem(code, rows, seed, k=2, sensitive=()):
    """Two numbers, a category and an illness, drawn at random; and the space of its tables."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "income": rng.integers(0, 30, rows),
            "town": rng.choice(["a", "b", "c"], rows),
            "ill": rng.choice(["x", "y", "z"], rows),
        }
    )
    problem = code(frame if sensitive else frame.drop("ill"), sensitive)
    diverse = for_columns([DistinctL(2)], sensitive) if sensitive else ()
    problem = replace(problem, models=(KAnonymity(k), *diverse))
    table = problem.rows.one_by_one(in_order=True)
    return problem, TableSpace.from_codes(problem.domains, table.codes, "ncp", problem.weights, sets=True)


def improve_by_moves(problem, space):
    """Classes that no move, swap or split of a class improves, from those of Mondrian."""
    rules = problem.build_rules(problem.rows.one_by_one(in_order=True))
    return ClassPopulation(space, rules, find_first_classes(problem)[None], 2, 0).of[0]


def list_groups(class_of):
    return [tuple(np.flatnonzero(class_of == c).tolist()) for c in range(class_of.max() + 1)]


def measure(problem, space, class_of):
    return build_partition_problem(problem, space).build_division(list_groups(class_of)).cost


@pytest.mark.parametrize(("k", "sensitive"), [(2, ()), (3, ()), (2, ["ill"])])
def test_a_neighbourhood_of_all_rows_gets_the_optimum(code, k, sensitive):
    gains = []
    for seed in range(8):
        problem, space = draw_problem(code, 11, seed, k, sensitive)
        first = improve_by_moves(problem, space)
        before, kept = measure(problem, space, first), first.copy()
        better = divide_near_classes(problem, space, first, STEPS)
        assert (first == kept).all()
        optimum = classes.solve_by_subsets(build_partition_problem(problem, space), 1, Budget())[0]
        assert measure(problem, space, better) == pytest.approx(optimum.cost)
        gains.append(before - optimum.cost)
    assert max(gains) > 0.01, "moves alone found every optimum, so that nothing was tested"


@pytest.mark.parametrize(("k", "sensitive"), [(2, ()), (3, ()), (5, ()), (3, ["ill"])])
def test_more_steps_cost_no_more_and_classes_stay_allowed(code, k, sensitive):
    problem, space = draw_problem(code, 70, 1, k, sensitive)
    first = improve_by_moves(problem, space)
    found = [divide_near_classes(problem, space, first, steps) for steps in (0, 20_000, STEPS)]
    costs = [measure(problem, space, each) for each in (first, *found)]
    assert costs[0] == costs[1] >= costs[2] >= costs[3]
    assert costs[3] < costs[0]
    for each in found:
        assert build_partition_problem(problem, space).allowed(list_groups(each)).all()


def test_unusual_classes_are_taken(code):
    """One class that no neighbourhood holds, numbers with gaps, and fewer rows than two classes."""
    problem, space = draw_problem(code, 40, 2)
    assert (divide_near_classes(problem, space, np.full(40, 7), STEPS) == 0).all()
    problem, space = draw_problem(code, 3, 2)
    assert divide_near_classes(problem, space, np.full(3, 2), STEPS).tolist() == [0, 0, 0]
