"""Thirty days of one table: the first is anonymized, and the rows of the others join its classes."""

from pathlib import Path

import polars as pl

import shoal

DAYS, K, QUASI = 30, 5, ("age", "cost", "town")


def make_day(day: int) -> pl.DataFrame:
    """The rows of a day; on the first all ages are alike, so that nothing has to be generalised."""
    rows = 300 if day == 0 else 20
    number = [day * 1000 + i for i in range(rows)]
    return pl.DataFrame(
        {
            "age": [30 + (i * 7919) % 6 for i in number],
            "cost": [float((i * 104729) % 5) for i in number],
            "town": [("Alta", "Bree")[(i * 31) % 2] for i in number],
            "visits": number,
        },
        schema_overrides={"age": pl.Int16},
    )


def release_days(folder: Path) -> tuple[int, int]:
    """Release all days as Parquet files; how many rows came, and how many wait at the end."""
    recipe = shoal.Recipe(
        quasi=QUASI, models=(shoal.KAnonymity(K),), plain=("visits",), algorithm=shoal.Mondrian()
    )
    first = shoal.run(recipe, make_day(0))
    first.write(folder / "day_00.parquet")
    saved, came = first.saved_recoding(), make_day(0).height
    waiting = make_day(1).clear()
    for day in range(1, DAYS):
        came += make_day(day).height
        rows = pl.concat([waiting, make_day(day)])
        applied = saved.apply(rows, earlier=folder, hold_back=True, row_order="keep")
        applied.write(folder / f"day_{day:02}.parquet")
        waiting = applied.held_back
    return came, waiting.height
