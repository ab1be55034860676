"""Dagster: an asset for the release, and a check that counts it again in a step of its own."""

from pathlib import Path

import dagster as dg

import shoal

FOLDER = Path("visits")  # with visits.parquet and recipe.toml


@dg.asset
def release() -> dg.MaterializeResult:
    """The table of visits, anonymized by its recipe."""
    made = shoal.run(FOLDER / "recipe.toml", FOLDER / "visits.parquet")
    made.write(FOLDER / "release.parquet")
    return dg.MaterializeResult(
        metadata={
            "ncp": made.report.ncp,
            "smallest_class": made.report.smallest_class,
            "rows": made.report.rows,
        }
    )


@dg.asset_check(asset=release, blocking=True)
def goal_holds() -> dg.AssetCheckResult:
    """Whether the goal of the recipe holds in the file."""
    found = shoal.verify(FOLDER / "release.parquet", recipe=FOLDER / "recipe.toml")
    return dg.AssetCheckResult(passed=found.holds, metadata={"smallest_class": found.smallest_class})


definitions = dg.Definitions(assets=[release], asset_checks=[goal_holds])
