"""The table of samples, and making one of them in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from shoal.errors import InputError, unknown
from shoal.table.samples.hospital import HOSPITAL
from shoal.table.samples.spec import HierarchyRows, Sample
from shoal.table.samples.visits import VISITS

SAMPLES: dict[str, Sample] = {"hospital": HOSPITAL, "visits": VISITS}

# Part of the format: every block has a random stream of its own, so another size would make other
# tables from the same seed.
BLOCK_ROWS = 25_000


def sample(name: str = "hospital", rows: int | None = None, seed: int | None = None) -> pl.DataFrame:
    """Make a sample table in memory.

    Parameters
    ----------
    name
        A name in ``SAMPLES``.
    rows, seed
        How many rows and from which seed; the sample's own where not said. Row i depends only on i and
        the seed, so a longer table starts with the shorter one.

    Returns
    -------
    pl.DataFrame
        The table, with missing values as nulls.

    Examples
    --------
    >>> from shoal.table.samples import sample
    >>> sample("hospital", rows=100).columns[:4]
    ['patient_id', 'name', 'age', 'sex']
    """
    return pl.concat(list(make_blocks(*resolve_sample(name, rows, seed))), rechunk=True)


def sample_hierarchies(name: str = "hospital") -> dict[str, HierarchyRows]:
    """Hierarchies for the columns of a sample: rows of value, level 1, level 2, ..., ``*``."""
    return find_sample(name).hierarchies()


def find_sample(name: str) -> Sample:
    """Look a sample up by name."""
    if name not in SAMPLES:
        raise InputError(unknown("sample", name, SAMPLES))
    return SAMPLES[name]


def resolve_sample(name: str, rows: int | None, seed: int | None) -> tuple[Sample, int, int]:
    """Fill in what was not said and check what was."""
    found = find_sample(name)
    rows, seed = found.rows if rows is None else rows, found.seed if seed is None else seed
    if rows < 1:
        raise InputError(f"a sample needs at least 1 row, not {rows}")
    if seed < 0:
        raise InputError(f"the seed of a sample must be 0 or more, not {seed}")
    return found, rows, seed


def make_blocks(chosen: Sample, rows: int, seed: int) -> Iterator[pl.DataFrame]:
    """Make the table block by block.

    Each block has a random stream of its own and is always made whole, then cut: how many rows are asked for
    changes none of them.
    """
    for block, start in enumerate(range(0, rows, BLOCK_ROWS)):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
        # head: only the last block can be longer than what is left.
        yield chosen.make(start, BLOCK_ROWS, rng).head(rows - start)
