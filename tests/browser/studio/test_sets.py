"""Columns whose cells have several values, from the offer to the released file."""

import random
from collections import Counter
from itertools import combinations

import polars as pl
import pytest

CODES = ("E10", "E11", "I10", "I11", "J44", "J45", "N18", "N19")


def list_patients():
    rng = random.Random(4)
    yield "sex,age,diagnoses"
    for _ in range(150):
        codes = sorted(rng.sample(CODES, rng.choice([0, 1, 1, 2, 3])))
        yield f"{rng.choice('mf')},{rng.randrange(20, 80)},{'|'.join(codes)}"


PEOPLE = "\n".join([*list_patients(), ""])


@pytest.mark.exhaustive
def test_sets_are_offered_and_released_so_that_two_items_fit_several_people(hand):
    hand.open("describe")
    hand.sees("It looks like a column of sets")
    hand.press("Protect each value of a cell", then="8 different values")
    hand.type("Between two values of diagnoses", ";")
    hand.sees("No cell has ';' in it")
    hand.type("Between two values of diagnoses", "|")
    hand.sees("8 different values")
    hand.open("goal")
    hand.press("Basic")
    hand.until(lambda: hand.pressed("Basic"), "Basic")
    hand.choose("Items of a person that somebody may know", "any two items")
    hand.sees("Somebody who knows three items of a person may find that person.")
    hand.press("On to the run", then="Start a run")
    hand.sees("several values in a cell: diagnoses; two may be known")
    hand.start_run()
    hand.until(lambda: "of the detail lost" in hand.text(), "a run")
    hand.open("explore")
    hand.sees("Attacks do not look at the values of cells that have several")
    hand.open("release")
    hand.sees("--set 'diagnoses=|' --knows 2")
    released = pl.read_csv(hand.download("people-released.csv"), infer_schema=False).fill_null("")
    found = Counter(
        (sex, age, known)
        for sex, age, cell in released.rows()
        for size in (0, 1, 2)
        for known in combinations(sorted(filter(None, cell.split("|"))), size)
    )
    assert released.height == 150
    assert min(found.values()) >= 3
    assert hand.complaints() == []
