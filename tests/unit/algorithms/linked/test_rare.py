"""Combinations of rows that too few people have, beside a count in plain Python."""

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

from shoal.algorithms.linked import rare
from shoal.algorithms.linked.combinations import merge_rare_cells
from shoal.algorithms.linked.rare import find_rare_rows
from shoal.errors import RecipeError


def find_by_hand(person, cell, knows, k):
    """The shortest rare combinations."""
    mine = defaultdict(list)
    for who, each in zip(person.tolist(), cell.tolist(), strict=True):
        if each >= 0:
            mine[who].append(each)
    for size in range(1, knows + 1):
        found = Counter()
        for cells in mine.values():
            found.update({tuple(sorted(choice)) for choice in combinations(cells, size)})
        if rare := {choice for choice, people in found.items() if people < k}:
            return rare
    return set()


def draw(seed):
    rng = np.random.default_rng(seed)
    rows, people = int(rng.integers(1, 40)), int(rng.integers(1, 9))
    person = np.unique(rng.integers(0, people, rows), return_inverse=True)[1].astype(np.int64)
    return person, rng.integers(-1, int(rng.integers(1, 6)), rows), int(rng.integers(1, 5))


@pytest.mark.parametrize("seed", range(60))
def test_rows_of_the_shortest_rare_combinations_are_found(seed):
    person, cell, knows = draw(seed)
    by_hand = find_by_hand(person, cell, knows, 3)
    found = find_rare_rows(person, cell, knows, 3)
    assert (found is None) == (not by_hand)
    if found is not None:
        assert set(found.cell.tolist()) <= {each for choice in by_hand for each in choice}
        # every one of them has a row among those that were found
        assert all(set(choice) & set(found.cell.tolist()) for choice in by_hand)


def test_more_combinations_than_can_be_counted_are_refused(monkeypatch):
    monkeypatch.setattr(rare, "_MOST", 100)
    person, cell = np.repeat(np.arange(3), 30), np.tile(np.arange(30), 3)
    assert find_rare_rows(person, cell, 1, 3) is None
    with pytest.raises(RecipeError, match=r"there are 1,305 combinations of 2 rows of a person"):
        find_rare_rows(person, cell, 2, 3)


@pytest.mark.parametrize("seed", range(30))
def test_without_columns_only_numbers_of_rows_are_left_to_change(seed):
    person, cell, knows = draw(seed)
    cell = np.minimum(cell, 0)
    merged = merge_rare_cells(None, (person, None), cell, knows, 3, (person.size, 1.0))
    assert merged is not None
    assert not find_by_hand(person, merged, knows, 3)
    if find_by_hand(person, cell, knows, 3):
        assert merge_rare_cells(None, (person, None), cell, knows, 3, (0, 1.0)) is None
