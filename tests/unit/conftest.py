"""What the tests of the core share: tables in code space, and recodings of them said in words."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from shoal.algorithms import Problem
from shoal.codespace.domain import Domain
from shoal.codespace.encoding import Column, build_dictionary, encode_column
from shoal.codespace.frequency import CodedRows
from shoal.codespace.recoding import Proposal, Recoding
from shoal.privacy import KAnonymity, Model, for_columns
from shoal.table.hierarchies import Hierarchy


def code(frame: pl.DataFrame, sensitive: Sequence[str] = (), **known: Mapping[str, object]) -> Problem:
    """A table as algorithms see it; every column that is not sensitive is a quasi-identifier.

    ``known`` holds what is known of columns beyond their values, field by field of `Column`.
    """
    quasi = [name for name in frame.columns if name not in sensitive]
    encoded = [
        encode_column(
            frame[name], Column(name, **{field: by[name] for field, by in known.items() if name in by})
        )
        for name in quasi
    ]
    values = [build_dictionary(frame[name]) for name in sensitive]
    rows = CodedRows(
        tuple(column.codes for column in encoded),
        tuple(column.domain.size for column in encoded),
        tuple(codes for _, codes, _ in values),
        tuple(len(distinct) + missing for distinct, _, missing in values),
    )
    models: tuple[Model, ...] = for_columns([KAnonymity(2)], sensitive)
    domains = tuple(column.domain for column in encoded)
    return Problem(domains, rows, tuple(sensitive), models, "ncp", np.ones(len(quasi)))


def recode(
    problem: Problem, classes: Sequence[int], cells: Sequence[Sequence[str]] | None = None
) -> Recoding:
    """Put row ``i`` into ``classes[i]`` (-1 suppresses it), with cells named by their texts where given.

    A cell is the label of a value, ``first..last`` of two, a node of a hierarchy or ``*``.
    """
    table = problem.rows.one_by_one(in_order=True)
    given = None
    if cells is not None:
        ends = np.array(
            [[_ends(d, text) for d, text in zip(problem.domains, row, strict=True)] for row in cells]
        )
        given = (ends[:, :, 0], ends[:, :, 1])
    return Recoding.from_proposal(Proposal(table, np.array(classes, np.int32), given), problem.domains)


def _ends(domain: Domain, text: str) -> tuple[int, int]:
    labels = domain.labels.to_list()
    if text == "*":
        return 0, domain.size - 1
    if text in labels:
        return labels.index(text), labels.index(text)
    if domain.hierarchy is not None:
        return _node(domain.hierarchy, text)
    first, last = text.split("..")
    return labels.index(first), labels.index(last)


def _node(hierarchy: Hierarchy, name: str) -> tuple[int, int]:
    level = next(level for level, names in enumerate(hierarchy.names) if name in names)
    leaf = np.flatnonzero(hierarchy.nodes[level] == hierarchy.names[level].index(name))
    return int(leaf[0]), int(leaf[-1])


@pytest.fixture(name="code", scope="session")
def _code() -> Callable[..., Problem]:
    return code


@pytest.fixture(name="recode", scope="session")
def _recode() -> Callable[..., Recoding]:
    return recode
