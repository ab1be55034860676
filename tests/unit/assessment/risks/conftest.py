"""A small table whose risks can be counted by hand."""

import polars as pl
import pytest


@pytest.fixture
def people() -> pl.DataFrame:
    """Three classes by age and sex: of two rows, of one, and of three."""
    return pl.DataFrame(
        {
            "age": [21, 21, 22, 30, 30, 30],
            "sex": ["f", "f", "m", "m", "m", "m"],
            "illness": ["flu", "cold", "flu", "flu", "flu", "flu"],
            "town": ["A", "B", "A", "A", "B", "C"],
        }
    )


@pytest.fixture
def population() -> pl.DataFrame:
    """Of those classes four people, two and three; and five of another one."""
    rows = [(21, "f")] * 4 + [(22, "m")] * 2 + [(30, "m")] * 3 + [(40, "f")] * 5
    return pl.DataFrame(rows, schema=["age", "sex"], orient="row")
