"""The Python face: plain arguments in, a recipe run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import ALGORITHMS, Algorithm, Progress, silent
from shoal.codespace.recoding import Render
from shoal.engines.base import carry_out
from shoal.engines.duckdb import DiskEngine
from shoal.engines.frames import is_spark_frame
from shoal.engines.prepare import known_to_all
from shoal.engines.release import Release
from shoal.engines.select_engine import choose_engine, make_spark_engine
from shoal.errors import RecipeError
from shoal.privacy import MODELS, Measures, Model, model_text, parse_model, read_population
from shoal.privacy.groups import GroupAnonymity, number_groups
from shoal.privacy.people import list_countable_models, read_people
from shoal.recipes.recipe import Recipe, read_knows
from shoal.recipes.settings import DRIVER_ROWS, Engine, Missing, Others, RowOrder, document_settings
from shoal.support.parameters import build_entry, parse_call
from shoal.table import Column, ColumnType, ReadOptions, Table, read_table
from shoal.table.hierarchies import Hierarchy, read_hierarchies, read_source
from shoal.verification.linked import LinkedRows, verify_linked_whole
from shoal.verification.sets import KnownSets, verify_sets_whole
from shoal.verification.verifier import (
    Verification,
    may_release_nothing,
    measure_source,
    verify_whole,
)

Hierarchies: TypeAlias = Mapping[str, Hierarchy | Sequence[Sequence[str]] | str | Path] | str | Path | None


@document_settings
def anonymize(
    source: object,
    *,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    identifier: Sequence[str] = (),
    plain: Sequence[str] = (),
    others: Others | None = None,
    k: int | None = None,
    l: int | None = None,  # noqa: E741
    t: float | None = None,
    models: Sequence[Model | str] = (),
    algorithm: str | Algorithm = "auto",
    hierarchies: Hierarchies = None,
    types: Mapping[str, ColumnType] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    loss: str = "ncp",
    weights: Mapping[str, float] | None = None,
    suppress: float = 0.0,
    missing: Missing = "category",
    na: Sequence[str] = (),
    fold: Sequence[str] | None = None,
    render: Render = "label",
    row_order: RowOrder = "keep",
    keep_index: bool = False,
    keep_metadata: bool = False,
    strict: bool = False,
    accept: Mapping[str, str] | None = None,
    seed: int = 0,
    threads: int = 0,
    memory: str | None = None,
    engine: Engine = "local",
    master: str | None = None,
    driver_rows: int = DRIVER_ROWS,
    output: str | Path | None = None,
    on_progress: Progress | None = None,
    person: str | None = None,
    pseudonym: bool = False,
    key_file: str | Path | None = None,
    knows: int | str = "1",
    align: str | None = None,
    relative: str | None = None,
    group: str | None = None,
    all_solutions: bool = False,
    sets: Mapping[str, str] | None = None,
) -> Release:
    """Anonymize a table.

    Parameters
    ----------
    source : path or frame
        A file, or a frame of pandas, polars, pyarrow or Spark; the release has the same kind of frame.
    quasi, sensitive, identifier, plain : sequences of column names
        Roles. Identifiers are left out of the release; plain columns are kept as they are. The index of a
        pandas frame is a column like any other, unless it only counts rows.
    k, l, t : numbers, optional
        Short for `KAnonymity`, `DistinctL` and `TCloseness` (with equal distances).
    models : sequence of models, or of texts such as ``"distinct-l(l=3,column=illness)"``
        The privacy goal; all of it holds together.
    algorithm : str or algorithm
        A name, ``"mondrian(cut=nearest)"``, or an algorithm such as ``Mondrian(cut="nearest")``.
    hierarchies : mapping, or a path as `--hierarchies` takes it
        Per column a `Hierarchy`, rows of ``(value, level 1, ...)``, the path of a file, or a ready-made one
        such as ``"@countries"``. That of a sensitive column serves models that measure distances in it.
    types, orders, weights : mappings by column
        Types that should not be inferred; values of ordered columns in order; how much a column matters.
    na : sequence of str
        Cells that stand for a missing value.
    {settings}
    on_progress : callable, optional
        Called with what is being done and how much of it is (0 to 1).

    Raises
    ------
    shoal.errors.GoalNotMet
        When no release satisfies the goal. Nothing is released that the verifier did not pass.
    """
    recipe = Recipe(
        quasi=_check_names("quasi", quasi),
        models=build_goal(k, l, models, t=t),
        sensitive=_check_names("sensitive", sensitive),
        identifier=_check_names("identifier", identifier),
        plain=_check_names("plain", plain),
        others=others,
        input=str(source) if isinstance(source, str | Path) else None,
        reading=ReadOptions(na=tuple(na)),
        missing=missing,
        types=dict(types or {}),
        orders={column: tuple(map(str, values)) for column, values in (orders or {}).items()},
        hierarchies=(str(hierarchies),) if isinstance(hierarchies, str | Path) else (),
        trees={} if isinstance(hierarchies, str | Path) else _read_trees(hierarchies or {}),
        algorithm=build_entry("algorithm", ALGORITHMS, *parse_call(algorithm))
        if isinstance(algorithm, str)
        else algorithm,
        loss=loss,
        weights=dict(weights or {}),
        suppress=suppress,
        fold=None if fold is None else _check_names("fold", fold),
        render=render,
        row_order=row_order,
        keep_index=keep_index,
        keep_metadata=keep_metadata,
        strict=strict,
        accept=dict(accept or {}),
        seed=seed,
        threads=threads,
        memory=memory,
        engine="spark" if is_spark_frame(source) else engine,
        master=master,
        driver_rows=driver_rows,
        output=None if output is None else str(output),
        person=person,
        pseudonym=pseudonym,
        key_file=None if key_file is None else str(key_file),
        knows=str(knows),
        align=align,
        relative=relative,
        group=group,
        all_solutions=all_solutions,
        sets=_check_sets(sets),
    )
    return run(recipe, source, on_progress or silent)


def run(recipe: Recipe, source: object = None, on_progress: Progress = silent) -> Release:
    """Carry out a recipe on a table, or on the recipe's own input; write the release if it names an output.

    Nothing is returned or written that the verifier did not find to satisfy the privacy goal. A recipe with a
    ``memory`` limit is carried out with the rows on disk, and so is one on a file that would not fit into the
    memory there is; one with the engine ``spark``, or on a Spark frame, on a cluster.

    Parameters
    ----------
    source : path, frame or Table, optional
        What to anonymize; ``recipe.input`` by default.
    on_progress : callable, optional
        Called with what is being done and how much of it is (0 to 1). What is being done is a text; where a
        search has figures to tell, it is a ``Stage``, a text that has ``figures``.
    """
    engine, why = choose_engine(recipe, source)
    release = carry_out(engine, source, on_progress)
    return release if why is None else add_note(release, why)


def add_note(release: Release, why: str) -> Release:
    """A release whose report says why its engine was taken."""
    return replace(release, report=replace(release.report, notes=(*release.report.notes, why)))


def check_engine(recipe: Recipe) -> None:
    """Refuse a recipe that its engine cannot carry out, before the table is looked at."""
    if recipe.engine == "spark":
        make_spark_engine(recipe).check_recipe()
    if recipe.memory is not None:
        DiskEngine(recipe).check_recipe()


def verify(
    source: object,
    *,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    recipe: Recipe | str | Path | None = None,
    k: int | None = None,
    l: int | None = None,  # noqa: E741
    t: float | None = None,
    models: Sequence[Model | str] = (),
    hierarchies: Hierarchies = None,
    types: Mapping[str, ColumnType] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    fold: Sequence[str] | None = None,
    accept: Mapping[str, str] | None = None,
    options: ReadOptions | None = None,
    person: str | None = None,
    knows: int | str | None = None,
    group: str | None = None,
    sets: Mapping[str, str] | None = None,
) -> Verification:
    """Check a release as an outsider would: group the released values and count.

    Parameters are those of `anonymize`; hierarchies, types and orders matter for sensitive columns, and for
    quasi-identifiers where a model compares with a population. The result tells for every model what was
    asked and what is reached.

    Parameters
    ----------
    source : path, frame or Table
        The release.
    recipe : Recipe or path, optional
        Where roles, the goal and all that is known of the columns come from, instead of ``quasi`` and
        ``sensitive``. A goal that is given as well must hold too, and further findings can be accepted.
    options : ReadOptions, optional
        How to read the release; of a recipe, the header and the markers of missing values hold as well.
    person : str, optional
        The column that says whose row it is, in a table that still has it: people are counted then, and not
        rows. Where a recipe names one and the release has it no longer, rows are counted as far as they tell
        something about people, and ``notes`` says what that is.
    knows : int or str, optional
        Of a release with pseudonyms: how many rows of a person an attacker may know, or ``"all"``. For every
        choice of so many rows of a person, the people are counted who have them. With ``sets``: how many
        items (1 if not said).
    group : str, optional
        Beside ``person``, the column that says which group, such as a household, the person is in. Every
        class must then have as many groups as the goal asks for people.
    sets : mapping, optional
        Columns of sets, with what separates the items. For every choice of ``knows`` items of a person, the
        people are counted who have them.
    """
    known = Recipe.from_toml(recipe) if isinstance(recipe, str | Path) else recipe
    given = (quasi, sensitive, hierarchies, types, orders, person, knows, group, sets)
    if known is not None and any(given):
        raise RecipeError("a recipe names the roles and knows the columns: give it alone, or all of them")
    goal = build_goal(k, l, models, t=t)
    reading = options or ReadOptions()
    if known is not None:
        goal, reading = (*known.models, *goal), choose_release_reading(known, reading)
        quasi, sensitive = known.quasi, known.sensitive
    quasi, sensitive = _check_names("quasi", quasi), _check_names("sensitive", sensitive)
    table = (
        source
        if isinstance(source, Table)
        else read_table(source, reading, may_be_empty=may_release_nothing(goal))
    )
    columns = (
        known_columns((*quasi, *sensitive), hierarchies, types, orders)
        if known is None
        else known_to_all(replace(known, models=goal), table.names)
    )
    if fold is not None:
        folded = _check_names("fold", fold)
        columns = {name: replace(column, fold=name in folded) for name, column in columns.items()}
    people = read_population(goal, quasi, reading)
    accepted = {**(known.accept if known is not None else {}), **(accept or {})}
    separators = _check_sets(sets if known is None else known.sets)
    if separators:
        if person is not None:
            raise RecipeError("with columns of sets a row is a person: leave out the person")
        asked_items = read_knows(str(knows or 1)) if known is None else known.known_rows
        told = KnownSets(separators, asked_items)
        return verify_sets_whole(table, (quasi, sensitive), goal, told, columns, accepted)
    asked, whom = (
        (knows, person) if known is None else (known.knows if known.pseudonym else None, known.person)
    )
    if asked is not None:
        if group is not None:
            raise RecipeError("groups are counted in releases without pseudonyms only: leave out knows")
        return _verify_pseudonyms(table, (quasi, sensitive, goal), whom, str(asked), columns, accepted)
    owners = () if known is None else (known.person, known.group)
    if known is not None and any(name is not None and name not in table.names for name in owners):
        return _verify_without_people(table, replace(known, models=goal), columns, accepted)
    person, group = (person, group) if known is None else (known.person, known.group)
    whose, groups = _read_owners(table, person, group)
    return verify_whole(table, quasi, sensitive, goal, columns, people, accepted, whose, groups)


def _read_owners(
    table: Table, person: str | None, group: str | None
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """The person of each row and the group of that person, by the columns that say it."""
    whose = read_people(table, person)
    if group is None:
        return whose, None
    if whose is None:
        raise RecipeError(f"the group '{group}' is one of people: name the person as well")
    return whose, number_groups(whose, table.column(group))[0]


def _verify_pseudonyms(
    table: Table,
    goal: tuple[Sequence[str], Sequence[str], Sequence[Model]],
    person: str | None,
    knows: str,
    columns: Mapping[str, Column],
    accepted: Mapping[str, str],
) -> Verification:
    """Check a release whose pseudonyms say which rows are of one person."""
    if person is None:
        raise RecipeError("knows needs a person: name the column with the pseudonyms")
    whose = read_people(table, person)
    assert whose is not None
    linked = LinkedRows(whose, read_knows(knows))
    return verify_linked_whole(table, *goal, linked, person, columns, accepted)


def _verify_without_people(
    table: Table, recipe: Recipe, columns: Mapping[str, Column], accepted: Mapping[str, str]
) -> Verification:
    """What rows tell about a goal that is about people, where nobody can know whose row each is."""
    told = tuple(list_countable_models(recipe.models))
    rest = [model_text(model) for model in recipe.models if model not in told]
    missing = recipe.person if recipe.person not in table.names else recipe.group
    notes = [
        f"'{missing}' is not in the release, so that people cannot be counted: rows were. A class "
        "needs as many rows as people, but its rows are no proof of different people"
    ]
    if recipe.group is not None:
        rest.append(model_text(GroupAnonymity.from_goal(recipe.models)))
    if rest:
        notes.append(f"not checked, because it takes people: {', '.join(rest)}")
    if not told:
        raise RecipeError(f"{notes[-1]}; nothing of the goal can be checked without '{recipe.person}'")
    found = verify_whole(table, recipe.quasi, recipe.sensitive, told, columns, None, accepted)
    return replace(found, notes=tuple(notes))


def choose_release_reading(recipe: Recipe, options: ReadOptions) -> ReadOptions:
    """How a release by a recipe is read: header and markers of missing values are those of its input."""
    return replace(
        options,
        header=options.header and recipe.reading.header,
        na=tuple(dict.fromkeys((*recipe.reading.na, *options.na))),
    )


def measure(
    source: object,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    hierarchies: Hierarchies = None,
    types: Mapping[str, ColumnType] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    options: ReadOptions | None = None,
    person: str | None = None,
) -> Measures:
    """What a table, released or not, reaches under every privacy model at once.

    Parameters are those of `verify`.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": ["2*", "2*", "3*", "3*"], "illness": ["x", "y", "x", "z"]})
    >>> found = measure(people, ["age"], ["illness"])
    >>> found.k, found.sensitive["illness"].distinct_l, found.sensitive["illness"].t_equal
    (2, 2, 0.25)
    """
    return measure_source(
        source,
        quasi=_check_names("quasi", quasi),
        sensitive=_check_names("sensitive", sensitive),
        columns=known_columns(sensitive, hierarchies, types, orders),
        options=options,
        person=person,
    )


def build_goal(
    k: int | None,
    l: int | None,  # noqa: E741
    models: Sequence[Model | str] = (),
    *,
    t: float | None = None,
) -> tuple[Model, ...]:
    """The privacy goal: the short forms ``k``, ``l`` and ``t``, and any further models."""
    short: list[Model] = []
    if k is not None:
        short.append(MODELS["k"](k))
    if l is not None:
        short.append(MODELS["distinct-l"](l))
    if t is not None:
        short.append(MODELS["t"](t))
    return (*short, *(parse_model(model) if isinstance(model, str) else model for model in models))


def _check_names(role: str, names: Any) -> tuple[str, ...]:
    # A string is a sequence, too: "age" would become the columns a, g and e.
    if isinstance(names, str):
        raise RecipeError(f"{role} is a list of column names; write [{names!r}] for one column")
    return tuple(names)


def _check_sets(sets: Any) -> dict[str, str]:
    if not isinstance(sets or {}, Mapping):
        raise RecipeError(f"sets is a mapping from columns to separators, not {sets!r}")
    return dict(sets or {})


def known_columns(
    names: Sequence[str],
    hierarchies: Hierarchies = None,
    types: Mapping[str, ColumnType] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Column]:
    """What is known of columns beyond their values."""
    trees = (
        read_hierarchies(hierarchies, names)
        if isinstance(hierarchies, str | Path)
        else _read_trees({name: tree for name, tree in (hierarchies or {}).items() if name in names})
    )
    order = {name: tuple(values) for name, values in (orders or {}).items()}
    return {name: Column(name, (types or {}).get(name), order.get(name), trees.get(name)) for name in names}


def _read_trees(given: Mapping[str, Any]) -> dict[str, Hierarchy]:
    return {column: _read_tree(column, tree) for column, tree in given.items()}


def _read_tree(column: str, tree: Any) -> Hierarchy:
    if isinstance(tree, Hierarchy):
        return tree
    if isinstance(tree, str | Path):
        return read_source(tree, column)
    return Hierarchy.from_rows(tree, source=f"hierarchy of '{column}'")
