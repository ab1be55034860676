"""Which engine carries out a recipe: by what it asks for, the size of the input and the memory there is."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from shoal.engines.base import Engine
from shoal.engines.duckdb import DiskEngine
from shoal.engines.frames import is_spark_frame
from shoal.engines.memory import MemoryEngine
from shoal.engines.safepub import SamplingEngine
from shoal.engines.sets import SetsEngine
from shoal.engines.tables import TablesEngine
from shoal.errors import InputError, OutputError, RecipeError
from shoal.recipes.recipe import Recipe
from shoal.support.files import as_path
from shoal.table import check_streamable
from shoal.table.formats import by_suffix, detect_format

_SHARE = 0.7  # of the memory there is may be filled
_CELL = 36  # bytes that a run in memory takes for a cell of a Parquet file, measured on the sample
_TEXT = 7  # and for a byte of delimited text


def choose_engine(recipe: Recipe, source: object) -> tuple[Engine[Any, Any, Any], str | None]:
    """The engine that carries out a recipe on a table; and why, in words, where the recipe does not say."""
    if recipe.events:  # all tables of which are in memory; what else is asked for it refuses
        return TablesEngine(recipe), None
    if recipe.engine == "spark" or is_spark_frame(source):
        return make_spark_engine(replace(recipe, engine="spark")), None
    if recipe.uses_safepub:
        return SamplingEngine(recipe), None
    if recipe.sets and recipe.memory is None:
        return SetsEngine(recipe), None
    # A table that would fill the memory is worked on from disk, without being asked for.
    fitting, why = fit_to_memory(recipe, source)
    return (MemoryEngine(fitting) if fitting.memory is None else DiskEngine(fitting)), why


def make_spark_engine(recipe: Recipe) -> Engine[Any, Any, Any]:
    """The engine on Spark, which is loaded when it is asked for."""
    from shoal.engines.spark.engine import SparkEngine  # noqa: PLC0415  few need it

    return SparkEngine(recipe)


def fit_to_memory(recipe: Recipe, source: object) -> tuple[Recipe, str | None]:
    """The recipe, with a memory limit if its input would not fit into memory; and why, in words.

    Where the rows cannot stay on disk the words say why not, and the recipe is as it was.
    """
    path = source if isinstance(source, str | os.PathLike) else recipe.input if source is None else None
    if path is None or recipe.memory is not None or recipe.engine != "local" or not as_path(path).is_file():
        return recipe, None
    if recipe.sets or recipe.events:  # which are for tables in memory
        return recipe, None
    if recipe.uses_safepub:  # of whose table the report may not tell the size
        return recipe, None
    needed, there = _estimate(Path(path)), _available()
    # The rest is left to the system and to other programs.
    if needed <= there * _SHARE:
        return recipe, None
    sizes = f"the table would take about {needed / 1e9:.1f} GB of memory, and {there / 1e9:.1f} GB are free"
    limited = replace(recipe, memory=f"{max(int(there * _SHARE / 1e6), 1)}MB")
    try:
        DiskEngine(limited).check_recipe()
        check_streamable(Path(str(limited.output)))
        if find_spec("duckdb") is None:
            raise InputError("this needs duckdb: pip install shoal[scale]")
    except (InputError, OutputError, RecipeError) as error:
        return recipe, f"{sizes}, but it was taken whole: {error}"
    return limited, f"the rows stay on disk, because {sizes}"


def _estimate(path: Path) -> int:
    """About how many bytes a run on a file takes in memory."""
    format, compression = detect_format(path) if by_suffix(path)[0] != "excel" else ("excel", None)
    if format == "parquet":
        try:
            found = pl.scan_parquet(path, glob=False)
            return int(found.select(pl.len()).collect().item()) * len(found.collect_schema()) * _CELL
        except (OSError, pl.exceptions.PolarsError):  # not to be read: the reader says so better
            return 0
    # 0 where there is no estimate: the table is then taken in memory.
    return 0 if compression or format != "text" else path.stat().st_size * _TEXT


def _available() -> int:
    """Bytes of memory that are free."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        (free,) = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):  # elsewhere all that the machine has counts as free
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 62
    # Version 2 of control groups, then version 1: /proc/meminfo knows nothing of containers.
    limits = map(_read_container_limit, ("memory.max", "memory/memory.limit_in_bytes"))
    return min([free, *filter(None, limits)])


def _read_container_limit(name: str) -> int:
    """What a container may use; 0 where nothing is said."""
    try:
        return int((Path("/sys/fs/cgroup") / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
