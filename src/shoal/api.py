"""The Python face: plain arguments in, a recipe run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from shoal.algorithms import ALGORITHMS, Algorithm, Progress, silent
from shoal.engines.choice import fitted
from shoal.engines.frames import is_spark_frame
from shoal.errors import RecipeError
from shoal.hierarchies import Hierarchy, read_hierarchies, read_source
from shoal.parameters import build, parse_call
from shoal.privacy import MODELS, Measures, Model, parse_model
from shoal.recipe import DRIVER_ROWS, Engine, Missing, Recipe
from shoal.recoding import Render
from shoal.run import Release
from shoal.run import run as run_in_memory
from shoal.table import Column, ColumnType, ReadOptions
from shoal.verify import Verification
from shoal.verify import measure as measure_source
from shoal.verify import verify as verify_source

Hierarchies: TypeAlias = Mapping[str, Hierarchy | Sequence[Sequence[str]] | str | Path] | str | Path | None


def anonymize(
    source: object,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    identifier: Sequence[str] = (),
    plain: Sequence[str] = (),
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
    render: Render = "label",
    seed: int = 0,
    threads: int = 0,
    memory: str | None = None,
    engine: Engine = "local",
    master: str | None = None,
    driver_rows: int = DRIVER_ROWS,
    output: str | Path | None = None,
    on_progress: Progress | None = None,
) -> Release:
    """Anonymize a table.

    Parameters
    ----------
    source : path or frame
        A file, or a frame of pandas, polars, pyarrow or Spark; the release has the same kind of frame.
    quasi, sensitive, identifier, plain : sequences of column names
        Roles. Identifiers are left out of the release; plain columns are kept as they are.
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
    missing : "category", "drop" or "error"
        What a missing value is: a value of its own, a reason to drop the row, an error.
    memory : str, optional
        For a file larger than memory: about how much there is, as ``"2GB"``. The rows then stay on disk, and
        the release is written to ``output``; its frame is a lazy one.
    engine : "local" or "spark"
        Whether a file is anonymized by this machine or by a Spark cluster; a Spark frame always is by its
        own. See `shoal.spark.anonymize`.
    master, driver_rows : optional
        With Spark: the address of the cluster, this machine by default; and the most different rows that the
        driver searches.
    output : path, optional
        Where to write the release as well.
    on_progress : callable, optional
        Called with what is being done and how much of it is (0 to 1).

    Raises
    ------
    shoal.errors.GoalNotMet
        When no release satisfies the goal. Nothing is released that the verifier did not pass.
    """
    recipe = Recipe(
        quasi=_names("quasi", quasi),
        models=goal(k, l, models, t=t),
        sensitive=_names("sensitive", sensitive),
        identifier=_names("identifier", identifier),
        plain=_names("plain", plain),
        input=str(source) if isinstance(source, str | Path) else None,
        reading=ReadOptions(na=tuple(na)),
        missing=missing,
        types=dict(types or {}),
        orders={column: tuple(map(str, values)) for column, values in (orders or {}).items()},
        hierarchies=(str(hierarchies),) if isinstance(hierarchies, str | Path) else (),
        trees={} if isinstance(hierarchies, str | Path) else _trees(hierarchies or {}),
        algorithm=build("algorithm", ALGORITHMS, *parse_call(algorithm))
        if isinstance(algorithm, str)
        else algorithm,
        loss=loss,
        weights=dict(weights or {}),
        suppress=suppress,
        render=render,
        seed=seed,
        threads=threads,
        memory=memory,
        engine="spark" if is_spark_frame(source) else engine,
        master=master,
        driver_rows=driver_rows,
        output=None if output is None else str(output),
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
    if recipe.engine == "spark" or is_spark_frame(source):
        from shoal.engines.spark import run as spark  # noqa: PLC0415  few need it

        return spark.run(replace(recipe, engine="spark"), source, on_progress)
    fitting, why = fitted(recipe, source)
    if fitting.memory is None:
        release = run_in_memory(fitting, source, on_progress)
    else:
        from shoal.engines import outofcore  # noqa: PLC0415

        release = outofcore.run(fitting, source, on_progress)
    return release if why is None else noted(release, why)


def noted(release: Release, why: str) -> Release:
    """A release whose report says why its engine was taken."""
    return replace(release, report=replace(release.report, notes=(*release.report.notes, why)))


def check_engine(recipe: Recipe) -> None:
    """Refuse a recipe that its engine cannot carry out, before the table is looked at."""
    if recipe.engine == "spark":
        from shoal.engines.spark import run as spark  # noqa: PLC0415  few need it

        spark.check(recipe)
    if recipe.memory is not None:
        from shoal.engines import outofcore  # noqa: PLC0415  few need it

        outofcore.check(recipe)


def verify(
    source: object,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    k: int | None = None,
    l: int | None = None,  # noqa: E741
    t: float | None = None,
    models: Sequence[Model | str] = (),
    hierarchies: Hierarchies = None,
    types: Mapping[str, ColumnType] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    options: ReadOptions | None = None,
) -> Verification:
    """Check a release as an outsider would: group the released values and count.

    Parameters are those of `anonymize`; hierarchies, types and orders matter for sensitive columns, and for
    quasi-identifiers where a model compares with a population. The result tells for every model what was
    asked and what is reached.
    """
    return verify_source(
        source,
        quasi=_names("quasi", quasi),
        sensitive=_names("sensitive", sensitive),
        models=goal(k, l, models, t=t),
        columns=known_columns((*quasi, *sensitive), hierarchies, types, orders),
        options=options,
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
        quasi=_names("quasi", quasi),
        sensitive=_names("sensitive", sensitive),
        columns=known_columns(sensitive, hierarchies, types, orders),
        options=options,
    )


def goal(
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


def _names(role: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        raise RecipeError(f"{role} is a list of column names; write [{names!r}] for one column")
    return tuple(names)


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
        else _trees({name: tree for name, tree in (hierarchies or {}).items() if name in names})
    )
    order = {name: tuple(values) for name, values in (orders or {}).items()}
    return {name: Column(name, (types or {}).get(name), order.get(name), trees.get(name)) for name in names}


def _trees(given: Mapping[str, Any]) -> dict[str, Hierarchy]:
    return {column: _tree(column, tree) for column, tree in given.items()}


def _tree(column: str, tree: Any) -> Hierarchy:
    if isinstance(tree, Hierarchy):
        return tree
    if isinstance(tree, str | Path):
        return read_source(tree, column)
    return Hierarchy.from_rows(tree, source=f"hierarchy of '{column}'")
