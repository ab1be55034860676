"""Thirty daily batches, read back as one table by the libraries that people read them with."""

import duckdb
import pandas as pd
import polars as pl
import pytest
from tests.engines.batches import DAYS, QUASI, K, release_days

import shoal

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("days")
    came, waiting = release_days(folder)
    return folder, came - waiting


def count_by_polars(folder):
    return pl.scan_parquet(folder / "day_*.parquet").group_by(QUASI).len().collect()["len"].to_list()


def count_by_pandas(folder):
    whole = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])
    assert len(set(map(str, whole.dtypes[list(QUASI)]))) == 1
    return whole.groupby(list(QUASI), dropna=False).size().tolist()


def count_by_duckdb(folder):
    names = ", ".join(QUASI)
    query = f"select count(*) from '{folder}/day_*.parquet' group by {names}"
    return [count for (count,) in duckdb.execute(query).fetchall()]


@pytest.mark.parametrize("count", [count_by_polars, count_by_pandas, count_by_duckdb])
def test_every_reader_finds_k_rows_in_every_class_of_all_days(count, released):
    folder, rows = released
    sizes = count(folder)
    assert min(sizes) >= K
    assert sum(sizes) == rows
    assert len(list(folder.glob("*.parquet"))) == DAYS
    assert len({str(pl.read_parquet_schema(path)) for path in folder.glob("*.parquet")}) == 1


def test_the_verifier_counts_over_all_days(released):
    folder, rows = released
    found = shoal.verify(folder, quasi=QUASI, k=K)
    assert found.holds
    assert found.rows == rows
    # A single day would not do: what holds is a promise about all of them.
    assert not shoal.verify(folder / "day_07.parquet", quasi=QUASI, k=K)
