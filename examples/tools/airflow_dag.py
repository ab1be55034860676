"""Airflow: a release, tried again only if that can help, and counted again by a task of its own."""

from pathlib import Path

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

import shoal
from shoal.errors import ShoalError, may_pass

FOLDER = Path("visits")  # with visits.parquet and recipe.toml


@task(retries=3)
def make_release() -> str:
    """The table of visits, anonymized by its recipe; returns where the release is."""
    target = FOLDER / "release.parquet"
    try:
        shoal.run(FOLDER / "recipe.toml", FOLDER / "visits.parquet").write(target)
    except ShoalError as error:
        if may_pass(error):
            raise  # Airflow tries again
        raise AirflowFailException(str(error)) from error
    return str(target)


@task
def check_release(path: str) -> int:
    """Fail unless the goal of the recipe holds in the file; returns the size of the smallest class."""
    found = shoal.verify(path, recipe=FOLDER / "recipe.toml")
    if not found.holds:
        raise AirflowFailException("the goal does not hold in the release")
    return found.smallest_class


@dag(schedule=None)
def release_visits() -> None:
    """One release of the visits."""
    check_release(make_release())


nightly = release_visits()
