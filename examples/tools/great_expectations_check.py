"""Great Expectations: the goal of a release as an expectation, beside those that a table has anyway."""

import great_expectations as gx
import pandas as pd

import shoal


def release_visits(visits: pd.DataFrame, recipe: shoal.Recipe) -> pd.DataFrame:
    """A release of a table that is what it should be; raises a ValueError if one of the two is not."""
    expect(visits, gx.expectations.ExpectColumnValuesToBeBetween(column="age", min_value=0, max_value=120))
    release = shoal.run(recipe, visits).frame
    expect_classes(release, list(recipe.quasi), least=5)
    return release


def expect_classes(release: pd.DataFrame, quasi: list[str], least: int) -> None:
    """Expect as many rows of each class: rows that are equal in the quasi-identifiers."""
    sizes = release.groupby(quasi, dropna=False, observed=True).size().reset_index(name="rows")
    expect(sizes, gx.expectations.ExpectColumnValuesToBeBetween(column="rows", min_value=least))


def expect(frame: pd.DataFrame, *expectations: gx.expectations.Expectation) -> None:
    """Raise a ValueError unless a frame is what is expected."""
    context = gx.get_context(mode="ephemeral")
    source = context.data_sources.add_pandas("frames").add_dataframe_asset("frame")
    batch = source.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    for each in expectations:
        # Without values of the table, which the result would have as examples.
        found = batch.validate(each, result_format="BOOLEAN_ONLY")
        if not found.success:
            raise ValueError(f"not as expected: {type(each).__name__} of column '{each.column}'")
