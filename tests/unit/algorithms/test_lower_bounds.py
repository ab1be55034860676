"""Bounds: never above the least loss, which a program of their own finds for tables of a few rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.bounds import find_lower_bound
from shoal.engines.memory import prepare_table
from shoal.errors import RecipeError
from shoal.privacy import DistinctL, KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import read_table
from shoal.table.hierarchies import Hierarchy

ROWS = 8
COLUMNS = ("age", "town", "job")
TOWNS = ("a1", "a2", "b1", "b2", "b3")
TREE = Hierarchy.from_rows([(town, town[0], "any") for town in TOWNS])


def make_rows(seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": random.integers(20, 40, ROWS),
            "town": [TOWNS[i] for i in random.integers(0, len(TOWNS), ROWS)],
            "job": [f"job {i}" for i in random.integers(0, 4, ROWS)],
            "ill": [f"ill {i}" for i in random.integers(0, 3, ROWS)],
        }
    )


def cost_of_class(frame: pl.DataFrame, rows: list[int], loss: str) -> float:
    """What the rows of one class lose, counted from the definitions and from nothing else."""
    part = frame[rows]
    age = frame["age"]
    cost = (part["age"].max() - part["age"].min()) / max(age.max() - age.min(), 1)
    towns = set(part["town"])
    if len(towns) > 1:
        letters = {town[0] for town in towns}
        # All values of the tree count, also those that no row has.
        below = [town for town in TOWNS if len(letters) > 1 or town[0] in letters]
        cost += (len(below) - 1) / (len(TOWNS) - 1)
    jobs = set(part["job"])
    if loss == "ncp":
        cost += (len(jobs) - 1) / max(frame["job"].n_unique() - 1, 1)
    else:  # by frequency, the commonest first, ties by name: what a set spans
        counts = frame["job"].value_counts().sort(["count", "job"], descending=[True, False])["job"].to_list()
        places = [counts.index(job) for job in jobs]
        cost += (max(places) - min(places)) / max(len(counts) - 1, 1)
    return len(rows) * cost / len(COLUMNS)


def least_loss(frame: pl.DataFrame, k: int, loss: str, suppress: int = 0, diverse: int = 1) -> float:
    """The least loss of all divisions into classes: row 0 with every set of others, and so on."""
    ill = frame["ill"].to_list()

    @cache
    def cost(rows: int) -> float:
        members = [r for r in range(ROWS) if rows >> r & 1]
        if len(members) < k or len({ill[r] for r in members}) < diverse:
            return np.inf
        return cost_of_class(frame, members, loss)

    @cache
    def best(left: int, hidden: int) -> float:
        if left == 0:
            return 0.0
        first = left & -left
        rest = left ^ first
        found = 1.0 + best(rest, hidden - 1) if hidden else np.inf
        part = rest
        while True:
            if cost(part | first) < found:
                found = min(found, cost(part | first) + best(rest ^ part, hidden))
            if part == 0:
                return found
            part = (part - 1) & rest

    return best((1 << ROWS) - 1, suppress) / ROWS


def bound(frame: pl.DataFrame, *models: object, loss: str = "ncp", suppress: float = 0.0) -> float:
    recipe = Recipe(
        COLUMNS,
        models,
        sensitive=("ill",),
        loss=loss,
        suppress=suppress,
        trees={"town": TREE},
    )
    found = find_lower_bound(prepare_table(recipe, read_table(frame)).problem, 5.0)
    assert found is not None
    return found


@pytest.mark.parametrize("loss", ["ncp", "span-ncp"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_release_of_a_small_table_loses_less(k, loss):
    shares = []
    for seed in range(3):
        frame = make_rows(100 * k + seed)
        least = least_loss(frame, k, loss)
        proved = bound(frame, KAnonymity(k), loss=loss)
        assert proved <= least + 1e-12
        shares.append(proved / least)
    assert np.mean(shares) > 0.5  # a bound of 0 would never be above


@pytest.mark.parametrize("seed", range(3))
def test_nor_one_that_suppresses_rows_or_keeps_further_models(seed):
    frame = make_rows(seed)
    assert bound(frame, KAnonymity(3), suppress=0.3) <= least_loss(frame, 3, "ncp", suppress=3) + 1e-12
    assert bound(frame, KAnonymity(2), DistinctL(2)) <= least_loss(frame, 2, "ncp", diverse=2) + 1e-12


PEOPLE = shoal.sample("hospital", rows=300).select("age", "sex", "education").drop_nulls()


def test_the_report_says_how_far_the_release_can_be_from_the_best():
    quick, long = (
        shoal.anonymize(PEOPLE, quasi=PEOPLE.columns, k=5, algorithm="mondrian", bound=f"seconds={seconds}")
        for seconds in (0.001, 2)
    )
    for report in (quick.report, long.report):
        assert 0 <= report.bound <= report.loss["value"]
        assert report.gap == pytest.approx(1 - report.bound / report.loss["value"])
        assert report.to_dict()["bound"] == report.bound
    assert quick.report.bound < long.report.bound
    assert f"less than {100 * long.report.bound:.2f} %" in long.report.notes[-1]
    assert quick.frame.equals(long.frame)


@pytest.mark.parametrize(
    "more",
    [{"loss": "entropy"}, {"algorithm": "microaggregate"}, {"k": None, "models": ["k(k=5,columns=age)"]}],
)
def test_where_nothing_is_known_nothing_is_claimed(more):
    quasi = ["age"] if "algorithm" in more else PEOPLE.columns
    asked = {"algorithm": "mondrian", "quasi": quasi, "others": "drop", "k": 5, "bound": "seconds=1", **more}
    report = shoal.anonymize(PEOPLE, **asked).report
    assert (report.bound, report.gap) == (None, None)
    assert report.notes[-1].startswith("no bound is known here")


@pytest.mark.parametrize("wrong", ["60", "seconds=0", "seconds=", "minutes=1", "seconds=-1", "seconds=1e3"])
def test_a_bound_takes_seconds(wrong):
    with pytest.raises(RecipeError, match="seconds=60"):
        Recipe(COLUMNS, (KAnonymity(2),), bound=wrong)
