"""Where the rows of a run come from, and the files that it reads."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import InputError, OutputError, RecipeError
from shoal.privacy import population_of
from shoal.recipes.recipe import Recipe, hierarchy_files
from shoal.table import RowSource, Table, check_writable
from shoal.table.sources import list_files, would_be_part


def choose_source(recipe: Recipe, source: object) -> object:
    """What is anonymized: the given table, or else the one that the recipe names."""
    chosen = recipe.input if source is None else source
    if chosen is None:
        raise RecipeError("there is nothing to anonymize: the recipe names no input, and none was given")
    return chosen


def check_output(recipe: Recipe, source: object) -> None:
    """Refuse an output that could not be written, or that would be read as a part of the input next time."""
    if recipe.output is None:
        return
    check_writable(recipe.output, list_inputs(recipe, source))
    path = _find_path(recipe.input if source is None else source)
    if path is not None and would_be_part(path, Path(recipe.output)):
        raise OutputError(
            f"{recipe.output} would be a part of {path}, and read with it the next time: write the release "
            "to another place"
        )


def list_inputs(recipe: Recipe, source: object = None) -> list[Path]:
    """The files that a run of ``recipe`` on ``source`` reads and must not overwrite."""
    people = population_of(recipe.models)
    # The key of pseudonyms is one of them: nobody could make the same ones again without it.
    named = (recipe.input, _find_path(source), None if people is None else people.path, recipe.key_file)
    events = [path for path in recipe.events.values() if path]
    tables = [part for path in (*named, *events) if path is not None for part in _list_files(Path(path))]
    return [*tables, *(file for text in recipe.hierarchies for file in hierarchy_files(text))]


def _list_files(path: Path) -> list[Path]:
    """The file at a path, or all that a folder or a pattern stands for."""
    try:
        return list_files(path)
    except InputError:  # it stands for none, as who reads it will say
        return [path]


def _find_path(source: object) -> Path | None:
    """The file that a table is read from, or was."""
    if isinstance(source, Table | RowSource):
        return source.origin.path
    return Path(source) if isinstance(source, str | os.PathLike) else None
