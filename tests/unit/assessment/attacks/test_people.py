"""Attacks by known rows of people, beside an attacker in plain Python."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.assessment.attacks import attack_held_out
from shoal.assessment.attacks.people import MatchedTargets, TargetPeople, check_people_apart
from shoal.errors import InputError
from shoal.privacy.people import number_people
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

QUASI = ["a", "b"]


def visits(seed, rows=40, people=12, first=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"p{first + i}" for i in rng.integers(0, people, rows)],
            "a": rng.integers(0, 15, rows),
            "b": rng.choice(["x", "y"], rows),
            "ill": rng.choice(["u", "v"], rows),
        }
    )


def release_of(table, seed):
    """Ranges of three values in some rows, of two in others, or the value itself; some rows are left out."""
    rng = np.random.default_rng(seed)
    cells = []
    for value in table["a"].to_list():
        wide = int(rng.integers(1, 4))
        low = value // wide * wide
        cells.append(str(value) if wide == 1 else f"[{low}-{low + wide - 1}]")
    kept = pl.Series(rng.random(table.height) < 0.9)
    return table.with_columns(pl.Series("a", cells)).filter(kept).sort("a", "b", "ill")


def covers(row, own):
    """Whether a released row covers a row of a person."""
    low, _, high = row["a"].strip("[]").partition("-")
    return int(low) <= own["a"] <= int(high or low) and row["b"] == own["b"]


def link_by_hand(release, known, every, linked):
    """Which released rows an attacker links who knows some rows, and whether all else fits."""
    cells = [(row["a"], row["b"]) for row in release]
    fits = [frozenset(c for c, row in zip(cells, release, strict=True) if covers(row, own)) for own in known]
    left = None
    if linked:
        people = {row["id"] for row in release}
        for fit, times in Counter(fits).items():
            has = Counter(row["id"] for c, row in zip(cells, release, strict=True) if c in fit)
            people = {each for each in people if has[each] >= times}
        if len(people) == 1:
            left = [row for row in release if row["id"] in people]
    else:
        for fit in fits:
            rows = [row for c, row in zip(cells, release, strict=True) if c in fit]
            if rows and len(rows) <= fits.count(fit):
                left = rows
                break
    if left is None:
        return False, False
    return True, all(any(covers(row, own) and row["ill"] == own["ill"] for own in every) for row in left)


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_links_are_those_of_an_attacker_in_plain_python(seed, linked):
    original, control = visits(seed), visits(seed + 100, first=50)
    release = release_of(original, seed)
    if not linked:
        release = release.drop("id")
    tables = [read_table(each) for each in (release, original, control)]
    rng = np.random.default_rng(seed)
    groups = [
        (table, TargetPeople.draw(number_people(table.column("id"))[0], 9, rng)) for table in tables[1:]
    ]
    matched = MatchedTargets.from_tables(tables[0], groups, QUASI, {}, "id")
    released, some = release.to_dicts(), 0
    for group, (table, targets) in enumerate(groups):
        frame = table.frame.to_dicts()
        for known in (1, 2, 3):
            made, right = matched.link(group, known)
            for person in range(targets.count):
                own = [frame[row] for row in targets.rows[targets.person == person]]
                assert len({each["id"] for each in own}) == 1
                expected = link_by_hand(released, own[:known], own, linked)
                assert (bool(made[person]), bool(right[person])) == expected
                some += expected[0]
    assert some


def test_a_table_that_is_released_as_it_is_gives_its_people_away():
    original, control = visits(1, 200, 60), visits(2, 200, 60, first=100)
    found = shoal.attack(original, original, control=control, quasi=QUASI, sensitive=["ill"], person="id")
    assert found.before == found.after
    assert [each.known for each in found.after] == [1, 2, 3, 4, 5]
    shares = [each.rate.share for each in found.after]
    assert shares == sorted(shares)
    assert shares[-1] > found.after[-1].control.estimate().high
    # of everybody as many as risk counts, for nobody else has their rows
    risk = shoal.risk(original, QUASI, person="id", largest=1).people_risk
    assert found.people == risk.people
    assert [each.name for each in found.outcomes][:2] == ["1 row known", "2 rows known"]
    assert not {"linkage", "partial linkage", "singling out"} & {each.name for each in found.outcomes}
    plain = found.to_dict()
    assert plain["known_rows"][1]["before"]["rate"]["attacks"] == found.people
    assert plain["combinations"] is None


def test_k_people_in_every_class_leave_nothing_to_link():
    original, control = visits(3, 600, 200), visits(4, 600, 200, first=1000)
    kept = shoal.anonymize(original, quasi=QUASI, sensitive=["ill"], person="id", k=4)
    found = shoal.attack(kept.frame, original, control=control, quasi=QUASI, sensitive=["ill"], person="id")
    assert [each.rate.successes for each in found.after] == [0] * 5
    assert [each.linked for each in found.after] == [0] * 5
    assert found.before[-1].rate.successes > 0
    assert all(each.grade == "none" for each in found.outcomes[:5])


def test_a_class_of_one_person_is_linked_by_whoever_knows_all_its_rows():
    # k = 3 rows holds, but the first class is of one person
    original = pl.DataFrame({"id": ["p"] * 3 + ["q", "r", "s"], "a": [1, 1, 1, 5, 5, 5], "b": ["x"] * 6})
    found = shoal.attack(original.drop("id"), original, quasi=QUASI, person="id")
    # of p three rows are known, and three rows are left; nobody else has three
    assert [each.rate.successes for each in found.after] == [0, 0, 1]
    assert found.after[-1].control is None


def test_held_out_people_are_the_control_group():
    original = visits(5, 400, 120)
    recipe = Recipe(quasi=tuple(QUASI), sensitive=("ill",), person="id", models=(shoal.KAnonymity(3),))
    found = attack_held_out(recipe, read_table(original), 0.3, attacks=50)
    assert (found.people, found.control) == (50, round(0.3 * original["id"].n_unique()))
    assert found.after[0].control.attacks == found.control
    assert [each.rate.successes for each in found.after] == [0] * len(found.after)


def test_one_row_each_is_a_curve_of_one_point():
    original = visits(6, 60, 30).unique("id", maintain_order=True)
    found = shoal.attack(original.drop("id"), original, quasi=QUASI, person="id")
    assert [each.known for each in found.after] == [1]


def test_people_are_in_one_of_the_tables_only():
    original, control = (read_table(visits(7)) for _ in range(2))
    with pytest.raises(InputError, match=r"values of 'id' are in the original as well"):
        check_people_apart(original, control, "id")
    with pytest.raises(InputError, match="unknown column 'who'"):
        check_people_apart(original, None, "who")
    # a missing id is nobody's, in either table
    nobody = read_table(visits(7).with_columns(id=pl.lit(None, pl.String)))
    check_people_apart(nobody, nobody, "id")
