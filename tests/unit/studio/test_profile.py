"""What the head of a column shows, counted in two ways that agree."""

import polars as pl
import pytest

from shoal.studio import profile as module
from shoal.studio.profile import profile_column
from shoal.table import read_table

COLUMNS = {
    "text": [f"p{i % 700}" for i in range(900)],
    "whole": [str(i * 7 % 801) for i in range(900)],
    "broken": [f"{i * 3.25:.2f}" for i in range(900)],
    "day": [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(900)],
    "code": [f"{i:05}" for i in range(900)],
    "mixed": [str(i) for i in range(899)] + ["none of it"],
    "marked": ["?", "?", *(str(i) for i in range(898))],
    "gaps": [None if i % 9 == 0 else str(i) for i in range(900)],
    "same": ["x"] * 900,
}


@pytest.fixture
def table():
    return read_table(pl.DataFrame(COLUMNS))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_long_column_is_counted_as_a_short_one(table, name, monkeypatch):
    short = profile_column(table, name)
    monkeypatch.setattr(module, "_MANY", 20)
    long = profile_column(table, name)
    assert (long.type, long.missing, long.distinct_values) == (
        short.type,
        short.missing,
        short.distinct_values,
    )
    assert long.alone == short.alone
    if short.type != "string":
        assert (long.bars, long.ends) == (short.bars, short.ends)


def test_heads_tell_what_there_is(table):
    assert profile_column(table, "whole").type == "integer"
    assert profile_column(table, "code").type == "string"
    assert profile_column(table, "mixed").type == "string"
    assert (profile_column(table, "marked").type, profile_column(table, "marked").missing) == ("integer", 2)
    assert profile_column(table, "gaps").missing == 100
    assert sum(profile_column(table, "day").bars) == 900
    assert profile_column(table, "same").bars == ()


def test_examples_are_quartiles_of_numbers_and_else_the_commonest():
    frame = pl.DataFrame(
        {
            "age": [str(20 + i) for i in range(41)],
            "town": ["Ulm"] * 20 + ["Bonn"] * 11 + ["Kiel"] * 9 + ["Trier"],
            "name": [f"N{i}" for i in range(41)],
            "none": [None] * 41,
        }
    )
    table = read_table(frame)
    found = {name: profile_column(table, name).examples for name in frame.columns}
    assert [text for text, _ in found["age"]] == ["30", "40", "50"]
    assert found["town"] == (("Ulm", 20 / 41), ("Bonn", 11 / 41), ("Kiel", 9 / 41))
    assert len(found["name"]) == 3 and found["none"] == ()
