"""Every algorithm ends: those that could take long have a limit, and say so when they reach it."""

import dataclasses
from functools import partial

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms import ALGORITHMS, samarati
from shoal.algorithms.exact.budget import Budget
from shoal.errors import GoalNotMet, RecipeError

# One pass over the rows each, whatever the columns: there is nothing to give up.
ONE_PASS = {"mondrian", "hilbert", "microaggregate", "tree", "safepub"}


def numbers(columns: int, rows: int = 200) -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.DataFrame({f"c{at}": random.integers(0, 100, rows) for at in range(columns)})


def test_every_algorithm_that_searches_has_a_limit():
    limited = {
        name
        for name, algorithm in ALGORITHMS.items()
        if "seconds" in {field.name for field in dataclasses.fields(algorithm)}
    }
    assert limited >= set(ALGORITHMS) - ONE_PASS, "give it `seconds`, or list it as ONE_PASS"
    assert not limited & ONE_PASS
    assert all(
        ALGORITHMS[name]().seconds for name in limited - {"auto", "suppress"}
    )  # they choose by the table


@pytest.mark.parametrize("name", ["samarati", "datafly"])
def test_at_the_limit_the_best_so_far_is_released(name):
    frame = numbers(12)
    release = shoal.anonymize(frame, quasi=frame.columns, k=5, algorithm=f"{name}(seconds=0.000001)")
    assert "the limit of 1e-06 seconds was reached" in release.report.notes[-1]
    assert release.report.smallest_class >= 5


@pytest.mark.parametrize("name", ["samarati", "datafly"])
def test_without_anything_to_release_the_limit_is_the_reason(name):
    frame = numbers(12)
    algorithm = f"{name}(seconds=0.000001,levels=c0=0..1)"
    with pytest.raises(GoalNotMet, match=r"were found in 1e-06 seconds, and the highest do not"):
        shoal.anonymize(frame, quasi=frame.columns, k=5, algorithm=algorithm)


@pytest.mark.parametrize("name", ["samarati", "datafly", "lattice"])
def test_a_limit_is_some_time(name):
    with pytest.raises(RecipeError, match="seconds must be above 0, not 0"):
        ALGORITHMS[name](seconds=0)


def test_without_the_limit_the_same_is_found():
    frame = numbers(3)
    found = [
        shoal.anonymize(frame, quasi=frame.columns, k=5, algorithm=f"samarati(seconds={limit})", suppress=0.1)
        for limit in ("none", "600")
    ]
    assert found[0].frame.equals(found[1].frame)
    assert not any("limit" in note for note in found[0].report.notes)


@pytest.mark.parametrize("suppress", [0.0, 0.1])
def test_at_the_limit_samarati_loses_no_more_than_datafly(monkeypatch, suppress):
    frame = numbers(12)
    settings = {"quasi": frame.columns, "k": 5, "suppress": suppress}
    # So many states in place of a time, which would end elsewhere on another machine.
    monkeypatch.setattr(samarati, "Budget", partial(Budget, iterations=400))
    limited = shoal.anonymize(frame, **settings, algorithm="samarati")
    assert "the limit of 60 seconds was reached" in limited.report.notes[-1]
    assert limited.report.ncp <= shoal.anonymize(frame, **settings, algorithm="datafly").report.ncp < 1
