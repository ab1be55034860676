"""MLflow: what a release lost and keeps, beside the experiments that use it."""

from pathlib import Path

import mlflow

import shoal


def log_release(recipe: shoal.Recipe, source: object, folder: Path) -> shoal.Release:
    """Anonymize within a run of MLflow; logs figures, the recipe and the release, and no row of the table."""
    with mlflow.start_run():
        release = shoal.run(recipe, source)
        report = release.report
        mlflow.log_params(
            {"algorithm": report.algorithm["name"], "seed": recipe.seed, "quasi": ",".join(recipe.quasi)}
        )
        mlflow.log_metrics(
            {"ncp": report.ncp, "smallest_class": report.smallest_class, "suppressed": report.suppressed_rows}
        )
        mlflow.set_tags({f"holds.{model.name}": str(model.holds) for model in report.models})
        release.write(folder / "release.parquet")
        recipe.save(folder / "recipe.toml")
        mlflow.log_artifacts(str(folder))
    return release
