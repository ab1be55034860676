"""Special uniques beside published scores, and beside a direct enumeration."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.assessment.risks.special import find_special_uniques, share_dis_risk, weigh_set
from shoal.errors import RecipeError
from shoal.table import read_table

# The example of the practice guide of sdcMicro (International Household Survey Network), table "Illustrating
# the calculation of SUDA and DIS-SUDA scores": four columns, sets of up to three of them.
HOUSEHOLDS = pl.DataFrame(
    [
        ("Urban", "Female", "Secondary incomplete", "Employed"),
        ("Urban", "Female", "Secondary incomplete", "Employed"),
        ("Urban", "Female", "Primary incomplete", "Non-LF"),
        ("Urban", "Male", "Secondary complete", "Employed"),
        ("Rural", "Female", "Secondary complete", "Unemployed"),
        ("Urban", "Male", "Secondary complete", "Employed"),
        ("Urban", "Female", "Primary complete", "Non-LF"),
        ("Urban", "Male", "Post-secondary", "Unemployed"),
        ("Urban", "Female", "Secondary incomplete", "Non-LF"),
        ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ],
    schema=["residence", "gender", "education", "labour"],
    orient="row",
)
PUBLISHED = [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


def test_published_scores():
    found = shoal.risk(HOUSEHOLDS, HOUSEHOLDS.columns, suda=3)
    assert found.records["suda_score"].to_list() == PUBLISHED
    assert (found.special.rows, found.special.sizes) == (4, (4, 5, 0))
    assert found.to_dict()["special_uniques"]["highest_score"] == 12
    assert "dis_suda_score" not in found.records.columns


def test_published_chances():
    """Those of the guide belong to the scores of an older sdcMicro, which it prints elsewhere."""
    score = np.array([0, 0, 1.75, 0, 3.25, 0, 1.75, 2.75, 0, 0])
    chance = share_dis_risk(score, 4, 6, 4, 0.01)
    assert chance.round(4).tolist() == [0, 0, 0.0051, 0, 0.0107, 0, 0.0051, 0.0088, 0, 0]
    found = shoal.risk(HOUSEHOLDS, HOUSEHOLDS.columns, suda=3, sampling_fraction=0.01)
    assert (found.records["dis_suda_score"] > 0).to_list() == [score > 0 for score in PUBLISHED]
    assert found.special.chance.argmax() == 4


@pytest.mark.parametrize("order", [["a", "b", "c"], ["c", "b", "a"]])
def test_published_contributions(order):
    """From the tests of sdcMicro: half of the sum of all scores is of sets with the first column."""
    table = read_table(pl.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]}))
    found = find_special_uniques(table, order)
    assert dict(found.contributions) == {"a": 0.5, "b": 0.375, "c": 0.375}


def enumerate_sets(rows, largest):
    """Row by row and set by set."""
    width = len(rows[0])
    scores = []
    for row in rows:
        minimal = []
        for size in range(1, largest + 1):
            for columns in combinations(range(width), size):
                alike = sum(all(other[c] == row[c] for c in columns) for other in rows)
                if alike == 1 and not any(set(part) <= set(columns) for part in minimal):
                    minimal.append(columns)
        scores.append(sum(weigh_set(len(columns), width, largest) for columns in minimal))
    return scores


@pytest.mark.parametrize("seed", range(4))
def test_all_sets_are_found(seed):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(rng.integers(0, 4, (80, 5)), schema=list("abcde"), orient="row")
    for largest in (1, 2, 3, 4):
        found = find_special_uniques(read_table(frame), frame.columns, largest)
        assert found.score.tolist() == enumerate_sets(frame.rows(), largest)


def test_missing_values_and_one_column():
    table = read_table(pl.DataFrame({"a": [None, "x", "x", "y"]}))
    found = find_special_uniques(table, ["a"], 3)
    assert (found.largest, found.score.tolist()) == (1, [1.0, 0.0, 0.0, 1.0])
    nobody = find_special_uniques(read_table(pl.DataFrame({"a": ["x"] * 4})), ["a"], 3, fraction=0.1)
    assert (nobody.rows, nobody.chance.tolist()) == (0, [0.0] * 4)


def test_what_is_refused():
    for suda in (0, -1):
        with pytest.raises(RecipeError, match="at least 1"):
            shoal.risk(HOUSEHOLDS, HOUSEHOLDS.columns, suda=suda)
    with pytest.raises(RecipeError, match="rows, not people"):
        shoal.risk(HOUSEHOLDS, ["gender"], suda=2, person="residence")
    wide = pl.DataFrame({f"c{i}": [0] * 100_000 for i in range(60)})
    with pytest.raises(RecipeError, match="ask for smaller sets"):
        find_special_uniques(read_table(wide), wide.columns, 4)
