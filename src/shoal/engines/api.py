"""The Python face: plain arguments in, a recipe run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import Algorithm, Progress, read_algorithm, silent
from shoal.codespace.recoding import Render
from shoal.engines.base import carry_out
from shoal.engines.duckdb import DiskEngine
from shoal.engines.frames import is_spark_frame
from shoal.engines.prepare import known_to_all
from shoal.engines.release import Release
from shoal.engines.released_tables import read_released_tables, verify_released_tables
from shoal.engines.select_engine import choose_engine, make_spark_engine
from shoal.engines.signatures import keep_kind_of_frame
from shoal.engines.tables import TableSources
from shoal.errors import InputError, OutputError, RecipeError, unknown
from shoal.privacy import MODELS, Measures, Model, model_text, read_models, read_population
from shoal.privacy.groups import GroupAnonymity, number_groups
from shoal.privacy.people import list_countable_models, read_people
from shoal.privacy.population import PopulationTable
from shoal.recipes.event_tables import name_sources
from shoal.recipes.recipe import Recipe, read_knows, read_recipe
from shoal.recipes.schema import find_released_quasi
from shoal.recipes.settings import DRIVER_ROWS, Engine, Missing, Others, RowOrder, document_settings
from shoal.support.addresses import is_address
from shoal.support.notebooks import follow_progress
from shoal.support.typed_frames import FrameT, PathLike
from shoal.table import Column, ColumnType, ReadOptions, Table, read_released
from shoal.table.addresses import deliver_to
from shoal.table.hierarchies import Hierarchy, read_hierarchies, read_source
from shoal.verification.linked import LinkedRows, verify_linked_whole
from shoal.verification.sets import KnownSets, verify_sets_whole
from shoal.verification.verifier import (
    Verification,
    may_release_nothing,
    measure_source,
    verify_whole,
)

Ints: TypeAlias = NDArray[np.int64]
Hierarchies: TypeAlias = Mapping[str, Hierarchy | Sequence[Sequence[str]] | str | Path] | str | Path | None


@keep_kind_of_frame
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
    language: str = "en",
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
    events: Mapping[str, object] | Sequence[str | Path] | None = None,
    bound: str | None = None,
    sets: Mapping[str, str] | None = None,
    top: Mapping[str, object] | None = None,
    bottom: Mapping[str, object] | None = None,
    mean: Sequence[str] = (),
    keyed: Sequence[str] = (),
    weight_column: str | None = None,
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
    events : mapping from names to paths or frames, or sequence of paths, optional
        Event tables, beside ``source``, which has one row of each person: further tables with the column
        ``person``, which may have many rows of a person. Their columns are named ``table.column``; a table is
        called as its file, without the suffix, or by its name in the mapping. ``Release.frames`` then has a
        frame for each table, and ``output`` is a folder.
    {settings}
    on_progress : callable, optional
        Called with what is being done and how much of it is (0 to 1).

    Raises
    ------
    shoal.errors.GoalNotMet
        When no release satisfies the goal. Nothing is released that the verifier did not pass.
    """
    tables = name_events(events)
    if not callable(on_progress or silent):
        raise RecipeError(
            f"on_progress is a function that is called with a text and a share, not {on_progress!r}"
        )
    recipe = Recipe(
        quasi=_check_names("quasi", quasi),
        models=build_goal(k, l, models, t=t),
        sensitive=_check_names("sensitive", sensitive),
        identifier=_check_names("identifier", identifier),
        plain=_check_names("plain", plain),
        others=others,
        input=str(source) if isinstance(source, str | Path) else None,
        reading=ReadOptions(na=_check_texts("na", na)),
        missing=missing,
        types=_check_mapping("types", types),
        orders={
            name: _check_texts(f"the order of '{name}'", each)
            for name, each in _check_mapping("orders", orders).items()
        },
        hierarchies=(str(hierarchies),) if isinstance(hierarchies, str | Path) else (),
        trees={} if isinstance(hierarchies, str | Path) else _read_trees(hierarchies),
        algorithm=read_algorithm(algorithm),
        loss=loss,
        weights=_check_mapping("weights", weights),
        suppress=suppress,
        fold=None if fold is None else _check_names("fold", fold),
        mean=_check_names("mean", mean),
        keyed=_check_names("keyed", keyed),
        weight_column=weight_column,
        render=render,
        row_order=row_order,
        language=language,
        keep_index=keep_index,
        keep_metadata=keep_metadata,
        strict=strict,
        accept=_check_mapping("accept", accept),
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
        events={name: _write_path(each) for name, each in tables.items()},
        bound=bound,
        sets=_check_sets(sets),
        top=_write_edges("top", top),
        bottom=_write_edges("bottom", bottom),
    )
    return run(recipe, source, on_progress or silent, tables)


@overload
def run(
    recipe: Recipe | str | Path,
    source: PathLike | None = None,
    on_progress: Progress = silent,
    events: Mapping[str, object] | Sequence[str | Path] | None = None,
) -> Release[pl.DataFrame]: ...


@overload
def run(
    recipe: Recipe | str | Path,
    source: FrameT,
    on_progress: Progress = silent,
    events: Mapping[str, object] | Sequence[str | Path] | None = None,
) -> Release[FrameT]: ...


def run(
    recipe: Recipe | str | Path,
    source: object = None,
    on_progress: Progress = silent,
    events: Mapping[str, object] | Sequence[str | Path] | None = None,
) -> Release[Any]:
    """Carry out a recipe on a table, or on the recipe's own input; write the release if it names an output.

    Nothing is returned or written that the verifier did not find to satisfy the privacy goal. A recipe with a
    ``memory`` limit is carried out with the rows on disk, and so is one on a file that would not fit into the
    memory there is; one with the engine ``spark``, or on a Spark frame, on a cluster.

    Parameters
    ----------
    recipe : Recipe or path
        The recipe, or the file that it is in.
    source : path, frame or Table, optional
        What to anonymize; ``recipe.input`` by default.
    on_progress : callable, optional
        Called with what is being done and how much of it is (0 to 1). What is being done is a text; where a
        search has figures to tell, it is a ``Stage``, a text that has ``figures``.
    events : mapping from names to paths or frames, or sequence of paths, optional
        The event tables; those that ``recipe.events`` names by default.
    """
    recipe = read_recipe(recipe)
    if is_address(recipe.output) and recipe.engine != "spark" and not is_spark_frame(source):
        return _run_to_address(recipe, source, on_progress, events)
    engine, why = choose_engine(recipe, source)
    if recipe.events and not isinstance(source, TableSources):
        tables = name_events(events)
        if strange := [name for name in tables if name not in recipe.events]:
            raise RecipeError(unknown("event table", strange[0], recipe.events))
        source = TableSources(source, tables)
    with follow_progress(on_progress) as tell:
        release = carry_out(engine, source, tell)
    return release if why is None else add_note(release, why)


def _run_to_address(
    recipe: Recipe,
    source: object,
    on_progress: Progress,
    events: Mapping[str, object] | Sequence[str | Path] | None,
) -> Release[Any]:
    """Carry out a recipe whose release goes to a database or an object store."""
    if recipe.events:
        raise OutputError(f"{recipe.output}: a release of several tables is a folder of this machine")
    with deliver_to(str(recipe.output)) as path:
        release: Release[Any] = run(replace(recipe, output=str(path)), source, on_progress, events)
    return replace(release, recipe=recipe, report=replace(release.report, output=recipe.output))


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
    events: Mapping[str, object] | Sequence[str | Path] | None = None,
) -> Verification:
    """Check a release as an outsider would: group the released values and count.

    Parameters are those of `anonymize`; hierarchies, types and orders matter for sensitive columns, and for
    quasi-identifiers where a model compares with a population. The result tells for every model what was
    asked and what is reached.

    Parameters
    ----------
    source : path, frame or Table
        The release; of several tables their folder, or the table of people.
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
    events : mapping or sequence, optional
        Event tables, as in `anonymize`; of those in a folder the names are enough. The tables are joined by
        the column ``person``, as anybody can, and for every choice of ``knows`` events of a person (1 if not
        said) the people are counted who have them.
    """
    known = None if recipe is None else read_recipe(recipe)
    given = (quasi, sensitive, hierarchies, types, orders, person, knows, group, sets)
    if (known is not None and any(given)) or (known is not None and events and not known.events):
        raise RecipeError("a recipe names the roles and knows the columns: give it alone, or all of them")
    goal = build_goal(k, l, models, t=t)
    reading = options or ReadOptions()
    if known is not None:
        goal, reading = (*known.models, *goal), choose_release_reading(known, reading)
        quasi, sensitive = known.quasi, known.sensitive
    quasi, sensitive = _check_names("quasi", quasi), _check_names("sensitive", sensitive)
    tables = name_events(events) if known is None or events else dict(known.events)
    if tables:
        if group is not None or sets:
            raise RecipeError("event tables go together with neither a group nor sets: leave these out")
        names = (*quasi, *sensitive)
        described = (
            known_columns(names, hierarchies, types, orders) if known is None else known.columns(known.trees)
        )
        of_whom = (person, knows) if known is None else (known.person, known.knows)
        reasons = {**(known.accept if known is not None else {}), **(accept or {})}
        released = read_released_tables(source, tables, reading, None if known is None else known.input)
        found = _verify_tables(released, (quasi, sensitive), goal, of_whom, described, reasons)
        if known is None or known.group is None:
            return found
        groups = model_text(GroupAnonymity.from_goal(goal))
        return replace(found, notes=(*found.notes, f"not checked, because it takes people: {groups}"))
    table = (
        source
        if isinstance(source, Table)
        else read_released(source, reading, may_be_empty=may_release_nothing(goal))
    )
    if known is not None:
        quasi = find_released_quasi(known, table.names)
    columns = (
        known_columns((*quasi, *sensitive), hierarchies, types, orders)
        if known is None
        else known_to_all(replace(known, models=goal), table.names)
    )
    if fold is not None:
        folded = _check_names("fold", fold)
        columns = {name: replace(column, fold=name in folded) for name, column in columns.items()}
    people = read_population(goal, quasi, reading, person if known is None else known.person)
    accepted = {**(known.accept if known is not None else {}), **(accept or {})}
    separators = _check_sets(sets if known is None else known.sets)
    if separators:
        told = KnownSets(separators, read_knows(str(knows or 1)) if known is None else known.known_rows)
        judge = partial(_verify_sets, table, told, (quasi, sensitive), columns, accepted)
        return judge(goal, (person, group) if known is None else (known.person, known.group))
    asked, whom = (
        (knows, person) if known is None else (known.knows if known.pseudonym else None, known.person)
    )
    if asked is not None:
        home = group if known is None else known.group
        if group is not None and group not in table.names:
            raise InputError(f"{table.origin}: {unknown('column', group, table.names)}")
        return _verify_pseudonyms(
            table, (quasi, sensitive, goal), (whom, home), str(asked), columns, accepted
        )
    owners = () if known is None else (known.person, known.group)
    if known is not None and any(name is not None and name not in table.names for name in owners):
        return _verify_without_people(table, replace(known, models=goal), columns, accepted, people)
    named = (person, group) if known is None else (known.person, known.group)
    owner_of, group_of = _read_owners(table, *named)
    return verify_whole(table, quasi, sensitive, goal, columns, people, accepted, owner_of, group_of)


def _verify_tables(
    tables: Mapping[str, Table],
    roles: tuple[Sequence[str], Sequence[str]],
    goal: Sequence[Model],
    known_of_whom: tuple[str | None, int | str | None],
    columns: Mapping[str, Column],
    accepted: Mapping[str, str],
) -> Verification:
    """Check several tables, which are joined by the column of the person."""
    person, knows = known_of_whom
    if person is None:
        raise RecipeError("event tables are joined by a person: name the column that says whose row it is")
    known_rows = read_knows(str(knows or 1))
    return verify_released_tables(tables, roles, goal, person, known_rows, columns, accepted)


def _verify_sets(
    table: Table,
    told: KnownSets,
    roles: tuple[Sequence[str], Sequence[str]],
    columns: Mapping[str, Column],
    accepted: Mapping[str, str],
    goal: tuple[Model, ...],
    names: tuple[str | None, str | None],
) -> Verification:
    """Check a release with columns of sets; without the columns that say whose row each is, rows count."""
    whose, groups, notes = None, None, ()  # type: Ints | None, Ints | None, tuple[str, ...]
    if any(name is not None and name not in table.names for name in names):
        goal, notes = _list_checkable_models(table, goal, *names)
    else:
        whose, groups = _read_owners(table, *names)
    found = verify_sets_whole(table, roles, goal, told, columns, accepted, (whose, groups))
    return replace(found, notes=notes)


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
    owners: tuple[str | None, str | None],
    knows: str,
    columns: Mapping[str, Column],
    accepted: Mapping[str, str],
) -> Verification:
    """Check a release whose pseudonyms say which rows are of one person."""
    person, group = owners
    if person is None:
        raise RecipeError("knows needs a person: name the column with the pseudonyms")
    whose = read_people(table, person)
    assert whose is not None
    home = None if group is None or group not in table.names else number_groups(whose, table.column(group))[0]
    linked = LinkedRows(whose, read_knows(knows), group=home)
    found = verify_linked_whole(table, *goal, linked, person, columns, accepted)
    if group is None or home is not None:
        return found
    groups = model_text(GroupAnonymity.from_goal(goal[2]))
    notes = (*found.notes, f"not checked, because '{group}' is not in the release: {groups}")
    return replace(found, notes=notes)


def _verify_without_people(
    table: Table,
    recipe: Recipe,
    columns: Mapping[str, Column],
    accepted: Mapping[str, str],
    people: PopulationTable | None,
) -> Verification:
    """What rows tell about a goal that is about people, where nobody can know whose row each is."""
    told, notes = _list_checkable_models(table, recipe.models, recipe.person, recipe.group)
    quasi = find_released_quasi(recipe, table.names)
    found = verify_whole(table, quasi, recipe.sensitive, told, columns, people, accepted)
    return replace(found, notes=notes)


def _list_checkable_models(
    table: Table, models: Sequence[Model], person: str | None, group: str | None
) -> tuple[tuple[Model, ...], tuple[str, ...]]:
    """What of a goal about people can be checked by rows, and what is told about that."""
    told = tuple(list_countable_models(models))
    rest = [model_text(model) for model in models if model not in told]
    missing = person if person not in table.names else group
    notes = [
        f"'{missing}' is not in the release, so that people cannot be counted: rows were. A class "
        "needs as many rows as people, but its rows are no proof of different people"
    ]
    if group is not None:
        rest.append(model_text(GroupAnonymity.from_goal(models)))
    if rest:
        notes.append(f"not checked, because it takes people: {', '.join(rest)}")
    if not told:
        raise RecipeError(f"{notes[-1]}; nothing of the goal can be checked without '{person}'")
    return told, tuple(notes)


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
    return (*short, *read_models(models))


def _check_names(role: str, names: Any) -> tuple[str, ...]:
    # A string is a sequence, too: "age" would become the columns a, g and e.
    if isinstance(names, str):
        raise RecipeError(f"{role} is a list of column names; write [{names!r}] for one column")
    if not isinstance(names, Iterable):
        raise RecipeError(f"{role} is a list of column names, not {names!r}")
    if isinstance(names, set | frozenset):
        raise RecipeError(f"{role} is a list of column names: a set has another order in every process")
    return tuple(names)


def _check_texts(what: str, given: Any) -> tuple[str, ...]:
    """A list of values, as texts; one text would be taken for its letters."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise RecipeError(f"{what} is a list of values, as ['a', 'b'], not {given!r}")
    return tuple(map(str, given))


def _check_mapping(name: str, given: Any) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise RecipeError(f"{name} is a mapping by column, as {{'age': ...}}, not {given!r}")
    return dict(given or {})


def name_events(events: Any) -> dict[str, object]:
    """Event tables by name, of a mapping or of paths."""
    if events is None:
        return {}
    if isinstance(events, Mapping):
        return dict(events)
    if isinstance(events, str | Path) or not isinstance(events, Sequence):
        raise RecipeError("events is a list of paths, or a mapping from names to paths or frames")
    return dict(name_sources(events))


def _write_path(source: object) -> str:
    """The path of a table, as a recipe has it; nothing where it is no file."""
    return str(source) if isinstance(source, str | Path) else ""


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
        else _read_trees(hierarchies, names)
    )
    order = {
        name: _check_texts(f"the order of '{name}'", values)
        for name, values in _check_mapping("orders", orders).items()
    }
    kinds = _check_mapping("types", types)
    return {name: Column(name, kinds.get(name), order.get(name), trees.get(name)) for name in names}


def _write_edges(name: str, given: Any) -> dict[str, str]:
    """Edges of top or bottom coding as texts; a date is written as such."""
    return {column: str(edge) for column, edge in _check_mapping(name, given).items()}


def _read_trees(given: Any, names: Sequence[str] | None = None) -> dict[str, Hierarchy]:
    """Hierarchies by column, of all columns or of some."""
    trees = _check_mapping("hierarchies", given)
    return {name: _read_tree(name, tree) for name, tree in trees.items() if names is None or name in names}


def _read_tree(column: str, tree: Any) -> Hierarchy:
    if isinstance(tree, Hierarchy):
        return tree
    if isinstance(tree, str | Path):
        return read_source(tree, column)
    if not isinstance(tree, Sequence) and not hasattr(tree, "__iter__"):
        raise RecipeError(f"the hierarchy of '{column}' is a Hierarchy, a path, or rows, not {tree!r}")
    return Hierarchy.from_rows(tree, source=f"hierarchy of '{column}'")
