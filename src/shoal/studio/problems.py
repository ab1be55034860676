"""What cannot be run, said where it is chosen: types that do not fit, goals that no release can reach."""

from __future__ import annotations

from shoal.codespace.encoding import find_column_type
from shoal.engines.checks import check_people, check_reach, check_sets, check_tables
from shoal.errors import RecipeError, ShoalError
from shoal.privacy import for_columns, population_of
from shoal.recipes.event_tables import select_columns, select_table
from shoal.recipes.recipe import Recipe
from shoal.report.prose import capitalize_sentence
from shoal.studio.state import CurrentMeasures, StudioWorkspace
from shoal.support.language import translate as _
from shoal.support.language import translate_message
from shoal.table import Column, Table, parse_values


def find_type_problem(table: Table, column: Column) -> str:
    """Why the values of a column are not of the type that was said; empty if they are. May take long."""
    if column.type is None or column.hierarchy is not None:
        return ""
    distinct = table.column(column.name).drop_nulls().unique(maintain_order=True)
    try:
        type, order, lost = find_column_type(distinct, column)
        parse_values(
            distinct.filter(~distinct.is_in(list(lost))) if lost else distinct, type, column.name, order
        )
    except ShoalError as error:
        return _("{error}. Choose another type.", error=capitalize_sentence(translate_message(str(error))))
    return ""


def find_goal_problem(workspace: StudioWorkspace) -> str:
    """Why no run can meet the goal with these columns; empty if one can, as far as can be told here."""
    try:
        recipe = workspace.build_recipe()
        _check_combination(workspace, recipe)
        now = workspace.get_current_measures()
        if recipe.events and isinstance(now, str):  # the tables do not go together
            return f"{now}."
        if isinstance(now, CurrentMeasures) and population_of(recipe.models) is None:
            own = select_table(recipe, "") if recipe.events else recipe
            check_reach(for_columns(own.models, own.sensitive), now.whole)
    except ShoalError as error:
        return f"{capitalize_sentence(translate_message(str(error)))}."
    return ""


def _check_combination(workspace: StudioWorkspace, recipe: Recipe) -> None:
    """Refuse what engines would refuse once they have read the table."""
    assert workspace.source is not None
    if recipe.events:
        check_tables(recipe)
        for name in ("", *recipe.events):
            if not select_columns(recipe.events, name, recipe.quasi):
                told = _("the table {name}", name=recipe.events.get(name, recipe.input))
                raise RecipeError(f"{told} has no recognisable column: mark one in Describe, or leave it out")
            select_table(recipe, name)  # for its error: something must be asked of each
        return
    repeats = (
        recipe.person is not None
        and workspace.profiles[recipe.person].distinct_values < workspace.source.rows
    )
    if recipe.sets:
        check_sets(recipe)
    if repeats:
        check_people(recipe)
