"""What engines refuse: recipes that do not fit, goals out of reach, and releases that are not safe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

from shoal.algorithms import ALGORITHMS, Algorithm
from shoal.codespace.domain import Domain
from shoal.codespace.loss import LOSSES
from shoal.errors import GoalNotMet, OutputError, RecipeError, quote, unknown
from shoal.privacy import Counts, Model, achieved_text, for_columns, model_text, population_of
from shoal.recipes.event_tables import join_column
from shoal.recipes.recipe import Recipe
from shoal.support.parameters import name_of
from shoal.table import Table
from shoal.table.formats import list_suffixes
from shoal.verification.findings import Finding, refuse_findings
from shoal.verification.linked import check_linked_models
from shoal.verification.sets import check_set_models
from shoal.verification.verifier import Verification, describe_shortfall


def check_names(recipe: Recipe, table: Table, name: str = "") -> None:
    """Refuse a recipe that names columns which the table does not have.

    ``name`` is that of an event table, by which its columns are called.
    """
    roles = (*recipe.quasi, *recipe.sensitive, *recipe.identifier, *recipe.plain)
    person = () if recipe.person is None else (recipe.person,)
    given = (recipe.group, recipe.align, recipe.relative, recipe.weight_column, *recipe.sets)
    named = tuple(column for column in given if column is not None)
    names = table.names
    for column in (*roles, *person, *named, *recipe.types, *recipe.orders):
        if column not in names:
            raise RecipeError(f"{table.origin}: {unknown('column', column, names)}")
    counted = (*recipe.quasi, *recipe.sensitive, *person, *named, *recipe.types, *recipe.orders)
    table.check_single_values(counted)
    for model in recipe.models:
        if strange := [column for column in model.known_columns if column not in recipe.quasi]:
            raise RecipeError(
                f"{model_text(model)} names {quote(strange)}: not among the quasi-identifiers "
                f"{quote(recipe.quasi)}"
            )
    # Edition 1 is version 0.1, which kept such columns; its recipes go on to work.
    loose = [join_column(name, column) for column in recipe.without_role(table.names)]
    if loose and recipe.others is None and recipe.edition > 1:
        raise RecipeError(
            f"{table.origin}: no role was given for {quote(loose)}: name each as quasi, sensitive, "
            "identifier, person or plain, or say what happens to all of them: --others keep or --others drop"
        )


def check_use_of_means(recipe: Recipe) -> None:
    """Refuse means where a class is not what rows have in common, or is not in memory."""
    refused: dict[str, object] = {
        "goals about some of the columns": any(each.is_about_some_columns for each in recipe.models),
        "a population": population_of(recipe.models),
        "pseudonyms": recipe.pseudonym,
        "event tables": recipe.events,
        "columns of sets": recipe.sets,
        "safepub": recipe.uses_safepub,
        "semantics=matching": recipe.algorithm.is_cell_level,
    }
    if recipe.mean and (strange := [name for name, given in refused.items() if given]):
        raise RecipeError(
            f"{strange[0]} cannot be combined with mean ({quote(recipe.mean)}): leave out one of them"
        )


def check_use_of_one_table(recipe: Recipe) -> None:
    """Refuse settings that are for the rows of one table, of which all are looked at."""
    others = {"columns of sets": recipe.sets, "event tables": recipe.events, "safepub": recipe.uses_safepub}
    given = {
        f"keyed ({quote(recipe.keyed)})": recipe.keyed,
        f"weight_column '{recipe.weight_column}'": recipe.weight_column is not None,
    }
    for what in (what for what, there in given.items() if there):
        for other in (other for other, there in others.items() if there):
            raise RecipeError(f"{what} is for one table without sets, not for {other}")


def check_rendering(recipe: Recipe) -> None:
    """A row that need not equal any other may not be written as what is present in its class: itself."""
    check_use_of_means(recipe)
    check_use_of_one_table(recipe)
    if recipe.render in ("label", "interval"):
        return
    written = ("label", "interval", "code")
    if recipe.render not in written and any(model.is_about_some_columns for model in recipe.models):
        raise RecipeError(
            f"a goal about some of the columns takes render {quote(written)}, not '{recipe.render}': rows "
            "that share a cell of one column need not share the others, and would not be written alike"
        )
    if recipe.render == "bounds" and recipe.algorithm.releases_one_value:
        name = name_of(ALGORITHMS, recipe.algorithm)
        raise RecipeError(f"{name} releases one value for a class, which has no bounds: leave out render")
    if population_of(recipe.models) is not None:
        raise RecipeError(
            f"with a population, render is 'label' or 'interval', not '{recipe.render}': that would not tell "
            "everybody whom a value stands for"
        )
    if recipe.algorithm.is_cell_level:
        raise RecipeError(f"semantics=matching takes render 'label' or 'interval', not '{recipe.render}'")


def check_counted(recipe: Recipe, within: str, why: str, people: str) -> None:
    """Refuse what counted rows do not tell.

    Parameters
    ----------
    within, why, people : str
        For the messages: with which engine, why it does not look at single rows, and where the table has to
        be for a comparison with a population.
    """
    algorithm = recipe.algorithm
    if recipe.mean:
        raise RecipeError(
            f"{within} there are no means of classes ({quote(recipe.mean)}): these are for tables in memory"
        )
    if recipe.render == "bounds":
        raise RecipeError(
            f"{within} render is not 'bounds': take 'label', and read low and high with shoal.expand"
        )
    if recipe.sets:
        raise RecipeError(
            f"{within} there are no columns of sets ({quote(recipe.sets)}): these are for tables in memory"
        )
    if recipe.events:
        raise RecipeError(
            f"{within} there are no event tables ({quote(recipe.events)}): these are for tables in memory"
        )
    if recipe.group is not None:
        raise RecipeError(
            f"{within} groups of people are not counted: leave out the group '{recipe.group}', or run it "
            "where the table is in memory"
        )
    refused = {
        "a pseudonym": recipe.pseudonym,
        f"pseudonyms of {quote(recipe.keyed)}": recipe.keyed,
        "relative": recipe.relative is not None,
        f"the weights in '{recipe.weight_column}'": recipe.weight_column is not None,
    }
    for name in (name for name, given in refused.items() if given):
        raise RecipeError(f"{within} there is no place for {name}: leave it out, or run it in memory")
    if not algorithm.works_on_counted_rows or algorithm.divides_equal_rows:
        raise RecipeError(
            f"{_describe_algorithm(algorithm)} looks at every row by itself, {why}; {within} there are "
            f"{_list_counting_algorithms()}"
        )
    if recipe.missing != "category":
        raise RecipeError(f"{within} missing is 'category', not '{recipe.missing}'")
    if population_of(recipe.models) is not None:
        raise RecipeError(f"models that compare with a population need the table {people}")


def _describe_algorithm(algorithm: Algorithm) -> str:
    """An algorithm by its name, with the parameters that were changed if it is these that matter."""
    name = name_of(ALGORITHMS, algorithm)
    if not algorithm.divides_equal_rows:
        return name
    values = {field.name: (getattr(algorithm, field.name), field.default) for field in fields(algorithm)}  # type: ignore[arg-type]
    changed = [f"{field}={value}" for field, (value, usual) in values.items() if value != usual]
    return f"{name}({','.join(changed)})"


def _list_counting_algorithms() -> str:
    """The algorithms that work on counted rows, for a sentence."""
    modes = {name: kind.counted_rows_mode for name, kind in ALGORITHMS.items() if kind.works_on_counted_rows}
    *first, last = (f"{name} ({mode})" if mode else name for name, mode in sorted(modes.items()))
    return f"{', '.join(first)} and {last}"


def check_people(recipe: Recipe) -> None:
    """Refuse what counts rows only, or tells which are of one person, where people have several rows."""
    if recipe.pseudonym:
        check_linked(recipe)
    whose = f"by '{recipe.person}' people have several rows"
    if recipe.group is not None:
        whose = f"by '{recipe.group}' groups of people have several rows"
    if recipe.keep_index:
        raise RecipeError(
            f"{whose}, and keep_index tells the order of the rows, which brings those of a person together: "
            "leave it out"
        )
    algorithm = recipe.algorithm
    if not algorithm.counts_people:
        able = [name for name, kind in ALGORITHMS.items() if kind.counts_people]
        raise RecipeError(
            f"{whose}, and {name_of(ALGORITHMS, algorithm)} counts rows only: take {', '.join(able[:-1])} or "
            f"{able[-1]}, or keep one row of each person"
        )
    if recipe.group is not None and population_of(recipe.models) is not None:
        raise RecipeError(
            f"{whose}, and models that compare with a population count people, not groups: leave out the "
            "group, or take other models"
        )


def check_linked(recipe: Recipe) -> None:
    """Refuse what cannot be combined with pseudonyms that keep several rows of a person together."""
    check_linked_models(recipe.models, recipe.known_rows)
    if recipe.render not in ("label", "interval"):
        raise RecipeError(
            f"with a pseudonym, render is 'label' or 'interval', not '{recipe.render}': that would give the "
            "rows of a person other static values than each other"
        )
    _check_linking(recipe, "makes no release with pseudonyms")


def _check_linking(recipe: Recipe, refused: str) -> None:
    """Refuse an algorithm whose classes cannot be classes of people with all that is linked to them."""
    if not recipe.algorithm.links_people:
        able = [name for name, kind in ALGORITHMS.items() if kind.links_people]
        raise RecipeError(
            f"{name_of(ALGORITHMS, recipe.algorithm)} {refused}: take {', '.join(able[:-1])} or {able[-1]}"
        )


def check_sets(recipe: Recipe) -> None:
    """Refuse what cannot be combined with columns of sets."""
    check_set_models(recipe.models, recipe.known_rows)
    if recipe.loss != "ncp":
        raise RecipeError(f"the loss of sets is ncp, not {recipe.loss}: leave out the loss")
    if any(recipe.weights.get(name, 1.0) < 0 for name in (*recipe.quasi, *recipe.sets)):
        raise RecipeError("with columns of sets, weights are 0 or more")
    _check_linking(recipe, "takes no columns of sets")


def check_tables(recipe: Recipe) -> None:
    """Refuse what cannot be combined with event tables."""
    refused: dict[str, object] = {
        "columns of sets": recipe.sets,
        "a memory limit": recipe.memory,
        "Spark": recipe.engine == "spark",
        "safepub": recipe.uses_safepub,
        "a population": population_of(recipe.models),
        "all_solutions": recipe.all_solutions,
        "keep_index": recipe.keep_index,
        "a line of column numbers": recipe.reading.quasi_line,
    }
    if strange := [name for name, given in refused.items() if given]:
        raise RecipeError(f"event tables ({quote(recipe.events)}) cannot be combined with {strange[0]} yet")
    if recipe.output is not None and Path(recipe.output).suffix.lower() in list_suffixes():
        raise OutputError(
            f"{recipe.output} is named as a file, and a release of several tables is a folder: leave out "
            f"'{Path(recipe.output).suffix}'"
        )
    if recipe.loss != "ncp":
        raise RecipeError(f"the loss of several tables is ncp, not {recipe.loss}: leave out the loss")
    if any(weight < 0 for weight in recipe.weights.values()):
        raise RecipeError("with event tables, weights are 0 or more")
    for_columns(recipe.models, recipe.sensitive)  # for its error: a model may be about no column
    check_people(recipe)


def check_means(recipe: Recipe, domains: Sequence[Domain]) -> None:
    """Refuse means of columns that have none."""
    for domain in domains:
        if domain.name not in recipe.mean:
            continue
        if domain.kind != "number":
            raise RecipeError(
                f"'{domain.name}' has no mean: it needs numbers or dates, without a hierarchy and without "
                "texts among them"
            )
        if domain.missing is not None:
            raise RecipeError(
                f"'{domain.name}' has missing values, and a class with some has no mean: take --missing "
                "drop, or leave out the mean"
            )


def check_loss(loss: str, domains: Sequence[Domain]) -> list[str]:
    """Refuse a loss that sees none of the columns; the columns among others that it does not see."""
    uncounted: list[str] = LOSSES[loss]().list_uncounted(domains)
    if uncounted and len(uncounted) == len(domains):
        raise RecipeError(
            f"loss {loss} looks at numbers, dates and ordered columns only, and no quasi-identifier is one "
            f"({quote(uncounted)}): a release without any value would lose nothing; take another loss"
        )
    return uncounted


def check_reach(models: Sequence[Model], whole: Counts) -> None:
    """Refuse a goal that not even all rows as one class meet."""
    for model in models:
        # With people, a class can be better than the whole; but that is where every search begins.
        if whole.counts_people and model.sensitive:
            if not model.suffices(whole).all():
                raise GoalNotMet(
                    f"the goal cannot be met: {model_text(model)} does not hold for all people as one class, "
                    f"which reaches {achieved_text(model.achieved(whole))}, and the search begins there; ask "
                    "for what it reaches, or less"
                )
        elif reason := model.within_reach(whole):
            raise GoalNotMet(f"the goal cannot be met: {reason}")


def refuse_unmet_goal(found: Verification, because: Iterable[str] = ()) -> None:
    """Refuse a release if a model does not hold: say which, how near it came and because of what."""
    if not found.holds:
        raise GoalNotMet(
            f"the goal was not met, so nothing is released: {describe_shortfall(found, because)}; ask for "
            "what was reached, or take another algorithm"
        )


def refuse_open_findings(recipe: Recipe, findings: Sequence[Finding]) -> None:
    """With a strict recipe, refuse a release that has severe findings which nobody accepted."""
    if recipe.strict:
        refuse_findings(findings)
