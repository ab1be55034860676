"""Trying many settings, and keeping those that no other one beats."""

import numpy as np

from shoal.support.sweep import find_pareto_front, run_in_parallel


def test_every_task_is_done_once():
    for jobs in (1, 2):
        assert sorted(run_in_parallel(lambda a, b: a * b, [(i, 2) for i in range(20)], jobs)) == list(
            range(0, 40, 2)
        )


def test_what_came_is_kept_by_whoever_stops_listening():
    results = run_in_parallel(lambda n: n, [(i,) for i in range(5)], 1)
    assert next(results) == 0
    results.close()


def test_unbeaten():
    better = np.array([[3.0, 1.0], [1.0, 3.0], [2.0, 1.0], [3.0, 1.0], [2.0, 2.0]])
    # The third is worse than the first in one column; equal ones do not beat each other.
    assert find_pareto_front(better).tolist() == [True, True, False, True, True]
    assert find_pareto_front(np.empty((0, 2))).tolist() == []
