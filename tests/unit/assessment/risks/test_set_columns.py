"""Columns that look like sets, and columns that only look as if."""

import random

import polars as pl
import pytest

import shoal
from shoal.assessment.risks.set_columns import SEPARATORS, find_set_column

CODES = ("E10", "E11", "I10", "I11", "J44", "N18", "N19", "K21")


def draw(make, count=300):
    rng = random.Random(5)
    return pl.Series(list(dict.fromkeys(make(rng) for _ in range(count))))


def draw_set(rng, separator="|", items=CODES):
    return separator.join(sorted(rng.sample(items, rng.choice([1, 1, 2, 2, 3, 4]))))


@pytest.mark.parametrize("separator", SEPARATORS)
def test_sets_are_found_by_any_usual_separator(separator):
    found = find_set_column(draw(lambda rng: draw_set(rng, separator)))
    assert (found.separator, found.items) == (separator, 8)
    assert f"several of 8 items, with '{separator}' between them" in found.reason


def test_blanks_around_items_are_no_part_of_them():
    assert find_set_column(draw(lambda rng: draw_set(rng, ", "))).items == 8


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: f"{rng.randrange(1, 29):02}/{rng.randrange(1, 13):02}/{rng.randrange(1950, 2020)}",
        lambda rng: f"{rng.choice(['Mayer', 'Smith', 'Rossi'])}, {rng.choice(['Ann', 'Bob', 'Eve', 'Dan'])}",
        lambda rng: f"{rng.randrange(90)} High St, {rng.choice(['Bath', 'York'])}, {rng.choice('ABC')}1",
        lambda rng: f"{rng.randrange(20)},{rng.randrange(100)}",
        lambda rng: f"{rng.randrange(40)}" + (f",{rng.randrange(40)}" if rng.random() < 0.5 else ""),
        lambda rng: f"{rng.randrange(10 ** rng.choice([3, 6, 8])):,}",
        lambda rng: ", ".join(rng.choice(["the patient says that it hurts a lot", "no"]) for _ in range(3)),
        lambda rng: rng.choice(CODES),
        lambda rng: f"{rng.randrange(80, 200)}/{rng.randrange(40, 120)}",
    ],
    ids=[
        "dates",
        "names",
        "addresses",
        "decimals",
        "some-decimals",
        "thousands",
        "sentences",
        "codes",
        "pressure",
    ],
)
def test_what_is_no_set_is_not_taken_for_one(make):
    assert find_set_column(draw(make)) is None


def test_numbers_and_a_few_cells_tell_nothing():
    assert find_set_column(pl.Series(range(100))) is None
    assert find_set_column(pl.Series(["a|b", "b", "a|c"])) is None


def test_suggest_says_which_columns_look_like_sets():
    cells = draw(draw_set)
    frame = pl.DataFrame({"age": [20 + at % 40 for at in range(len(cells))], "illnesses": cells})
    found = shoal.suggest(frame)
    assert {each.name: each.separator for each in found.columns} == {"age": "", "illnesses": "|"}
    (told,) = [note for note in found.notes if "column of sets" in note]
    assert "--set 'illnesses=|'" in told
