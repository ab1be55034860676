"""Where the rows of a run come from, and the files that it reads."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import RecipeError
from shoal.privacy import population_of
from shoal.recipes.recipe import Recipe, hierarchy_files
from shoal.table import RowSource, Table


def choose_source(recipe: Recipe, source: object) -> object:
    """What is anonymized: the given table, or else the one that the recipe names."""
    chosen = recipe.input if source is None else source
    if chosen is None:
        raise RecipeError("there is nothing to anonymize: the recipe names no input, and none was given")
    return chosen


def list_inputs(recipe: Recipe, source: object = None) -> list[Path]:
    """The files that a run of ``recipe`` on ``source`` reads and must not overwrite."""
    people = population_of(recipe.models)
    # The key of pseudonyms is one of them: nobody could make the same ones again without it.
    named = (recipe.input, _find_path(source), None if people is None else people.path, recipe.key_file)
    tables = [Path(path) for path in named if path is not None]
    return [*tables, *(file for text in recipe.hierarchies for file in hierarchy_files(text))]


def _find_path(source: object) -> Path | None:
    """The file that a table is read from, or was."""
    if isinstance(source, Table | RowSource):
        return source.origin.path
    return Path(source) if isinstance(source, str | os.PathLike) else None
