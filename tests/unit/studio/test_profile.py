"""What the head of a column shows, counted in two ways that agree."""

import polars as pl
import pytest

from shoal.studio import profile as module
from shoal.studio.profile import profile
from shoal.table import read

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
    return read(pl.DataFrame(COLUMNS))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_long_column_is_counted_as_a_short_one(table, name, monkeypatch):
    short = profile(table, name)
    monkeypatch.setattr(module, "_MANY", 20)
    long = profile(table, name)
    assert (long.type, long.missing, long.values) == (short.type, short.missing, short.values)
    assert long.alone == short.alone
    if short.type != "string":
        assert (long.bars, long.ends) == (short.bars, short.ends)


def test_heads_tell_what_there_is(table):
    assert profile(table, "whole").type == "integer"
    assert profile(table, "code").type == "string"
    assert profile(table, "mixed").type == "string"
    assert (profile(table, "marked").type, profile(table, "marked").missing) == ("integer", 2)
    assert profile(table, "gaps").missing == 100
    assert sum(profile(table, "day").bars) == 900
    assert profile(table, "same").bars == ()
