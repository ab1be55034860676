"""Pandera: one schema says what a table must look like, what its columns are, and so how it is released."""

from typing import Annotated

import pandera.polars as pa
import polars as pl

import shoal


class Visit(pa.DataFrameModel):
    """Visits as they come."""

    age: Annotated[int, shoal.Quasi()] = pa.Field(ge=0, le=120)
    ward: Annotated[str, shoal.Quasi()]
    illness: Annotated[str, shoal.Sensitive()]
    patient: Annotated[str, shoal.Identifier()] = pa.Field(unique=True)


def is_anonymous(release: pl.DataFrame, recipe: shoal.Recipe) -> pl.DataFrame:
    """A check for the end of a pipeline: raises an error unless the goal holds."""
    shoal.verify(release, recipe=recipe).raise_for_goal()
    return release


def release_visits(visits: pl.DataFrame) -> pl.DataFrame:
    """From a checked table to a checked release."""
    Visit.validate(visits)
    recipe = shoal.Recipe.from_annotations(Visit, models=("k(k=5)", "distinct-l(l=2)"))
    return shoal.run(recipe, visits).frame.pipe(is_anonymous, recipe)
