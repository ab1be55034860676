"""Numbers of cells and rows: the same by a list of what occurs as by sorting."""

import numpy as np
import polars as pl
import pytest

from shoal.verification import outsider
from shoal.verification.outsider import CellNumbers, number_cells, number_rows


def make_columns(rows, sizes, seed=0):
    random = np.random.default_rng(seed)
    texts = [pl.Series(str(j), random.integers(0, size, rows).astype(str)) for j, size in enumerate(sizes)]
    return [text.set(pl.Series(random.random(rows) < 0.05), None) for text in texts]


def number_by_sorting(columns):
    """Lexicographic ranks of rows, by the numbers of their cells."""
    cells = np.stack([number_cells(column)[0] for column in columns], axis=1)
    return np.unique(cells, axis=0, return_inverse=True)[1]


@pytest.mark.parametrize("sizes", [(3,), (3, 4, 5), (900, 900, 900), (900,) * 8, (2, 900, 900, 2, 900, 3)])
def test_rows_are_numbered_in_the_order_of_their_cells(monkeypatch, sizes):
    columns = make_columns(1000, sizes)
    by_sorting = number_by_sorting(columns).tolist()
    assert number_rows(columns).tolist() == by_sorting
    monkeypatch.setattr(outsider, "_DENSE", -16_000)  # nothing is marked in a list
    assert number_rows(columns).tolist() == by_sorting
    monkeypatch.setattr(outsider, "_LARGEST", 1 << 20)
    assert number_rows(columns).tolist() == by_sorting


def test_rows_without_columns_are_all_alike():
    assert CellNumbers(pl.DataFrame({"a": ["x", "y"]})).number_rows([]).tolist() == [0, 0]
    assert number_rows([pl.Series("a", [], dtype=pl.String)]).tolist() == []


def test_long_columns_are_numbered_once(monkeypatch):
    monkeypatch.setattr(outsider, "_SHORT", 10)
    columns = make_columns(400, (3, 300, 7))
    cells = CellNumbers(pl.DataFrame(columns))
    for column in columns:
        number, count = number_cells(column)
        found, size = cells.number_column(column.name)
        assert found.dtype == np.int64  # callers multiply numbers
        assert (found.tolist(), size) == (number.tolist(), count)
    monkeypatch.setattr(outsider, "number_cells", None)
    assert cells.number_rows(["0", "1", "2"]).tolist() == number_by_sorting(columns).tolist()


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["whole", "with missing cells"])
def test_cells_that_mostly_differ_are_numbered_as_others_are(monkeypatch, missing):
    random = np.random.default_rng(1)
    column = pl.Series("a", random.permutation(40_000).astype(str)).append(pl.Series(["7", "", "é"] * 3))
    column = column.set(pl.Series(random.random(len(column)) < missing), None)
    number, count = number_cells(column)
    monkeypatch.setattr(outsider, "_seems_diverse", lambda _: False)
    expected, size = number_cells(column)
    assert count == size
    assert number.tolist() == expected.tolist()


def test_texts_with_one_hash_are_told_apart(monkeypatch):
    column = pl.Series("a", np.arange(20_000).astype(str))
    monkeypatch.setattr(pl.Series, "hash", lambda text: pl.Series(np.arange(len(text)) // 2, dtype=pl.UInt64))
    assert outsider._number_by_hash(column) is None
    assert np.unique(number_cells(column)[0]).size == 20_000
