"""A saved recoding: later rows into the classes of a release."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet, InputError, RecipeError
from shoal.recipes.saved_recoding import SavedRecoding

TOWNS = [("ayr", "coast"), ("bude", "coast"), ("carn", "hills"), ("dent", "hills")]
PEOPLE = pl.DataFrame(
    {
        "id": [f"p{i}" for i in range(8)],
        "age": [20, 21, 24, 25, 40, 41, 44, 45],
        "town": ["ayr", "ayr", "bude", "bude", "carn", "carn", "dent", "dent"],
        "ill": ["x", "y", "x", "y", "x", "y", "z", "z"],
    }
)


def anonymized(frame=PEOPLE, **given):
    settings = {"quasi": ["age", "town"], "sensitive": ["ill"], "identifier": ["id"], "k": 4, **given}
    return shoal.anonymize(frame, hierarchies={"town": TOWNS}, algorithm="mondrian", **settings)


def later(*rows):
    return pl.DataFrame(rows, schema=["id", "age", "town", "ill"], orient="row")


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "classes.json"
    anonymized().saved_recoding().save(path)
    return SavedRecoding.load(path)


def test_rows_go_to_the_class_that_stands_for_them(saved):
    rows = later(*[("n", age, "bude", "x") for age in (20, 22, 25, 25)], *[("n", 43, "carn", "y")] * 4)
    applied = saved.apply(rows)
    assert applied.frame.columns == ["age", "town", "ill"]
    assert applied.frame["age"].to_list() == ["[20-25]"] * 4 + ["[40-45]"] * 4
    assert applied.frame["town"].to_list() == ["coast"] * 4 + ["hills"] * 4
    assert applied.verification.holds
    assert applied.suppressed_rows == 0


def test_rows_may_join_the_earlier_release_instead_of_satisfying_the_goal_alone(saved):
    rows = later(("n", 22, "ayr", "x"))
    with pytest.raises(GoalNotMet, match="of 1 rows 1 are in classes that would not satisfy the goal"):
        saved.apply(rows)
    applied = saved.apply(rows, earlier=anonymized().frame)
    assert applied.frame["age"].to_list() == ["[20-25]"]
    assert applied.verification.rows == 9


def test_rows_that_nothing_stands_for_are_suppressed_and_their_values_named(saved):
    rows = later(("n", 22, "ayr", "x"), ("n", 99, "ayr", "x"), ("n", 41, "ely", "x"), ("n", 22, "dent", "x"))
    earlier = anonymized().frame
    with pytest.raises(
        GoalNotMet, match=r"no class stands for 2 \(new in column 'age': '99'; 'town': 'ely'\)"
    ):
        saved.apply(rows, earlier=earlier, suppress=0.4)
    applied = saved.apply(rows, earlier=earlier, suppress=0.8)
    assert applied.frame["town"].to_list() == ["coast"]
    assert (applied.suppressed_rows, applied.broken) == (3, 1)
    assert applied.uncovered == {"age": ("99",), "town": ("ely",)}


def test_rows_of_a_new_combination_get_the_only_values_that_stand_for_theirs(saved):
    applied = saved.apply(later(*[("n", 22, "dent", ill) for ill in "xyxy"]))
    assert set(applied.frame.select("age", "town").iter_rows()) == {("[20-25]", "hills")}


def test_a_class_that_would_break_a_model_is_left_as_it_was():
    release = anonymized(l=2)
    saved = release.saved_recoding()
    rows = later(*[("n", 22, "dent", "x")] * 5, *[("n", 22, "ayr", "x")] * 5)
    applied = saved.apply(rows, earlier=release.frame, suppress=0.5)
    assert applied.broken == 5  # a new class of five has one illness only; the other five join one with two
    both = pl.concat([release.frame, applied.frame]).group_by("age", "town").agg(pl.col("ill").n_unique())
    assert both["ill"].min() >= 2


def test_several_classes_may_stand_for_a_row():
    frame = pl.DataFrame({"age": [1, 5, 9, 2, 3, 4] * 2, "ill": ["x"] * 12})
    settings = {"quasi": ["age"], "plain": ["ill"], "k": 6}
    release = shoal.anonymize(frame, **settings, algorithm="mondrian(mode=relaxed)")
    saved = release.saved_recoding()
    narrow = saved.cells["age"][int(np.argmin(saved.loss))]
    low, high = map(int, narrow.strip("[]").split("-"))
    applied = saved.apply(pl.DataFrame({"age": [low] * 6, "ill": ["y"] * 6}))
    assert low <= high
    assert set(applied.frame["age"]) == {narrow}


@pytest.mark.slow
@pytest.mark.parametrize("render", ["label", "interval", "set", "representative"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_every_rendering_and_kind_of_frame_comes_back_from_the_file(tmp_path, render, kind):
    random = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": random.integers(18, 90, 300),
            "job": random.choice(["baker", "a, b", 'say "so"', "{x}", "none"], 300),
            "town": random.choice([town for town, _ in TOWNS], 300),
            "rank": pl.Series(
                random.choice(["low", "mid", "top"], 300), dtype=pl.Enum(["low", "mid", "top"])
            ),
            "note": random.choice(["p", "q"], 300),
        }
    ).with_columns(pl.when(pl.col("age") > 85).then(None).otherwise("age").alias("age"))
    quasi = ["age", "job", "town", "rank"]
    release = shoal.anonymize(
        frame, others="keep", quasi=quasi, plain=["note"], k=5, hierarchies={"town": TOWNS}, render=render
    )
    path = tmp_path / "classes.json"
    release.saved_recoding().save(path)
    data = {"pandas": frame.to_pandas, "polars": lambda: frame, "pyarrow": frame.to_arrow}[kind]()
    applied = SavedRecoding.load(path).apply(data, earlier=release.frame)
    assert type(applied.frame) is type(data)
    again = pl.from_pandas(applied.frame) if isinstance(applied.frame, pd.DataFrame) else applied.frame
    again = pl.DataFrame(again)
    if again["age"].dtype.is_float():  # pandas holds whole numbers beside missing ones as floats
        again = again.with_columns(pl.col("age").cast(pl.Int64))
    texts = [pl.all().exclude("note").cast(pl.String)]
    classes = Counter(again.select(texts).iter_rows())
    assert applied.rows == 300
    assert applied.suppressed_rows == 0
    assert set(classes) <= set(release.frame.select(texts).iter_rows())


def test_the_file_tells_no_more_than_the_release(tmp_path):
    path = tmp_path / "classes.json"
    anonymized().saved_recoding().save(path)
    text = path.read_text("utf-8")
    assert not any(f'"{age}"' in text for age in PEOPLE["age"])
    assert "p1" not in text


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "not a saved recoding"),
        ("[1]", "not a saved recoding"),
        ('{"format": "other"}', "not a saved recoding"),
        ('{"format": "shoal recoding 1"}', "a damaged recoding"),
        ('{"format": "shoal recoding 1", "recipe": {"columns": {"quasi": ["a"]}}}', "no privacy goal"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, content, complaint):
    path = tmp_path / "classes.json"
    path.write_text(content, "utf-8")
    with pytest.raises((InputError, RecipeError), match=complaint):
        SavedRecoding.load(path)
    with pytest.raises(InputError, match="cannot read"):
        SavedRecoding.load(tmp_path / "absent.json")


def test_what_cannot_be_is_said(saved):
    with pytest.raises(InputError, match="column 'town'"):
        saved.apply(pl.DataFrame({"age": [1], "ill": ["x"]}))
    matching = shoal.anonymize(
        PEOPLE,
        others="keep",
        quasi=["age"],
        k=2,
        plain=["id", "town", "ill"],
        algorithm="mingen(semantics=matching)",
    )
    with pytest.raises(RecipeError, match="only a release in classes"):
        matching.saved_recoding()


def test_an_earlier_release_that_does_not_hold_cannot_be_joined(saved):
    broken = anonymized().frame.head(6)
    with pytest.raises(GoalNotMet, match="the earlier release does not satisfy the goal"):
        saved.apply(later(*[("n", 22, "ayr", "x")] * 4), earlier=broken)
