"""What known rows of a person tell, beside a count in plain Python over all choices of rows."""

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

from shoal.errors import RecipeError
from shoal.privacy import known_rows
from shoal.privacy.known_rows import (
    PersonalRows,
    check_small,
    draw_known_rows,
    find_matching_people,
    format_known,
    measure_known_rows,
)


def rows_by_person(kind, person):
    found = defaultdict(Counter)
    for each, whose in zip(kind.tolist(), person.tolist(), strict=True):
        found[whose][each] += 1
    return found


def count_owners(every, rows):
    """How many people have all of some rows, each as often."""
    needed = Counter(rows)
    return sum(all(own[kind] >= often for kind, often in needed.items()) for own in every.values())


def brute_force(kind, person, known, k):
    """The four shares, over every choice of rows of everybody."""
    every = rows_by_person(kind, person)
    alone, few = [], []
    for own in every.values():
        rows = list(own.elements())
        owners = [count_owners(every, chosen) for chosen in combinations(rows, min(known, len(rows)))]
        alone.append(np.mean([each == 1 for each in owners]))
        few.append(np.mean([each < k for each in owners]))
    return [np.mean(alone), np.mean(few), np.mean(np.array(alone) > 0), np.mean(np.array(few) > 0)]


@pytest.fixture(params=range(40))
def table(request, monkeypatch):
    """A small random table, counted in small parts."""
    rng = np.random.default_rng(request.param)
    monkeypatch.setattr(known_rows, "_PART", int(rng.integers(1, 40)))
    monkeypatch.setattr(known_rows, "_FIRST", int(rng.integers(1, 4)))
    rows = int(rng.integers(1, 50))
    return rng.integers(0, rng.integers(1, 15), rows), rng.integers(0, rng.integers(1, 18), rows)


def test_one_and_two_rows_are_counted_over_all_choices(table):
    curve = measure_known_rows(PersonalRows.from_rows(*table), k=3)
    for each in curve[:2]:
        if each.known is None:
            continue
        assert each.is_exact
        assert each.looked_at == len(set(table[1].tolist()))
        found = [each.unique.value, each.below.value, each.ever_unique, each.ever_below]
        assert found == pytest.approx(brute_force(*table, each.known, 3))


def test_all_rows_are_those_of_people_who_have_the_same(table):
    own = rows_by_person(*table)
    same = Counter(tuple(sorted(rows.items())) for rows in own.values())
    expected = [same[tuple(sorted(own[whose].items()))] for whose in sorted(own)]
    assert PersonalRows.from_rows(*table).count_with_same_rows().tolist() == expected


@pytest.mark.parametrize("known", [1, 2, 3, 4])
def test_people_who_have_the_drawn_rows(table, known):
    rows = PersonalRows.from_rows(*table)
    drawn = draw_known_rows(rows, 4, np.random.default_rng(1))[:, :known]
    kind, person = (np.unique(each, return_inverse=True)[1] for each in table)
    every = rows_by_person(kind, person)
    # one line for each person, in a random order, with rows that the person has
    assert len(drawn) == len(every)
    expected = [min(count_owners(every, [kind for kind in line if kind >= 0]), 3) for line in drawn.tolist()]
    count, example = find_matching_people(rows, drawn, 3)
    assert count.tolist() == expected
    # the one who was found has the rows
    for line, whose in zip(drawn.tolist(), example.tolist(), strict=True):
        needed = Counter(kind for kind in line if kind >= 0)
        assert all(every[whose][kind] >= often for kind, often in needed.items())
    assert min(expected) >= 1


def test_three_rows_are_estimated_within_their_interval():
    rng = np.random.default_rng(3)
    kind, person = rng.integers(0, 40, 900), rng.integers(0, 150, 900)
    curve = {each.known: each for each in measure_known_rows(PersonalRows.from_rows(kind, person), k=3)}
    assert list(curve) == [1, 2, 3, 4, 5, None]
    for known in (3, 4):
        unique, below, *_ = brute_force(kind, person, known, 3)
        assert not curve[known].is_exact
        assert curve[known].looked_at == 149
        assert curve[known].unique.low < unique < curve[known].unique.high
        assert curve[known].below.low < below < curve[known].below.high
        assert curve[known].ever_unique is None


def test_a_sample_of_people_is_drawn_by_the_seed(monkeypatch):
    monkeypatch.setattr(known_rows, "_MOST_PAIRS", 10)
    rng = np.random.default_rng(5)
    rows = PersonalRows.from_rows(rng.integers(0, 60, 9000), rng.integers(0, 3000, 9000))
    one, again, other = (measure_known_rows(rows, seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    # too many pairs to count them: two rows are estimated, too
    assert [each.is_exact for each in one] == [True, False, False, False, False, True]
    assert one[1].looked_at == known_rows.SAMPLED
    exact = brute_force_pairs(rows)
    assert one[1].unique.low < exact < one[1].unique.high


def brute_force_pairs(rows):
    """The share of unique pairs, by a set of people for every pair."""
    own = defaultdict(list)
    for person, kind, count in zip(
        rows.person.tolist(), rows.kind.tolist(), rows.count.tolist(), strict=True
    ):
        own[person] += [kind] * count
    chosen = {whose: list(combinations(sorted(mine), 2)) or [tuple(mine)] for whose, mine in own.items()}
    owners = defaultdict(set)
    for whose, mine in own.items():
        for pair in [*combinations(sorted(mine), 2), *((kind,) for kind in mine)]:
            owners[pair].add(whose)
    return np.mean([np.mean([len(owners[pair]) == 1 for pair in pairs]) for pairs in chosen.values()])


def test_more_rows_of_the_same_people_never_tell_less():
    rng = np.random.default_rng(8)
    rows = PersonalRows.from_rows(rng.integers(0, 300, 9000), rng.integers(0, 2500, 9000))
    estimated = [each for each in measure_known_rows(rows) if not each.is_exact]
    shares = [each.unique.value for each in estimated]
    assert shares == sorted(shares)


def test_one_row_each_is_a_curve_of_one_point():
    (only,) = measure_known_rows(PersonalRows.from_rows(np.array([0, 0, 1]), np.array([5, 7, 9])), k=2)
    assert (only.known, only.unique.value, only.below.value) == (1, 1 / 3, 1 / 3)


def test_without_rows_there_is_no_curve():
    nobody = np.zeros(0, np.int64)
    assert measure_known_rows(PersonalRows.from_rows(nobody, nobody)) == ()


def test_equal_rows_are_counted_as_often_as_they_are_known():
    # person 0 has the row twice, the others once: two known rows tell 0 apart, one does not
    rows = PersonalRows.from_rows(np.array([4, 4, 4, 4]), np.array([0, 0, 1, 2]))
    one, two, every = measure_known_rows(rows, k=4)
    assert (one.unique.value, two.unique.value, every.unique.value) == (0, 1 / 3, 1 / 3)
    assert (one.below.value, two.below.value) == (1, 1)


def test_groups_are_below_two_at_least():
    assert check_small(2) == 2
    with pytest.raises(RecipeError, match="at least 2, not 1"):
        check_small(1)


def test_how_much_is_known_in_words():
    assert list(map(format_known, (1, 2, None))) == ["1 row", "2 rows", "all rows"]
