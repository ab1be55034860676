"""dbt with DuckDB: the release of a table as a model, on which other models are built."""

from typing import Any

import polars as pl

import shoal


def model(dbt: Any, session: Any) -> pl.DataFrame:
    """The visits without patients; every class has five of them."""
    dbt.config(materialized="table")
    release = shoal.anonymize(
        dbt.ref("visits").pl(), quasi=["age", "ward"], sensitive=["illness"], identifier=["patient"], k=5
    )
    return release.frame
