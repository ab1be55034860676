"""Levels: how far up all values of a column go, from as they are to anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.errors import RecipeError, quote

_BINS = (32, 8, 2)  # parts that a line without a hierarchy is divided into, level by level


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """The levels of one column, nested: a node of one level lies in one node of the next."""

    domain: Domain
    node: NDArray[np.int64]
    """[levels, codes] the node above each code."""
    width: NDArray[np.float64]
    """[levels, codes] its width."""

    @classmethod
    def from_domain(cls, domain: Domain, inside: tuple[int, int] | None = None) -> Ladder:
        """The levels of a hierarchy; else a line in ever fewer equal parts, or a category kept or given up.

        Of a line, codes before or after those ``inside`` are two groups of their own, on every level but the
        last.
        """
        steps = (
            _build_tree_levels(domain) if domain.hierarchy is not None else _build_line_levels(domain, inside)
        )
        node, width = zip(*steps, strict=True)
        return cls(domain, np.stack(node).astype(np.int64), np.stack(width))

    @property
    def top_level(self) -> int:
        """The last level, on which all values are one."""
        return len(self.node) - 1

    def lowest_alike(self) -> NDArray[np.int64]:
        """[levels] the lowest level with the same nodes."""
        nodes = np.count_nonzero(np.diff(self.node, axis=1), axis=1)  # nested, so that their number tells
        return np.asarray(np.searchsorted(-nodes, -nodes), np.int64)

    def find_node_ends(self, level: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[codes] first and last code of the node above each code."""
        new = np.diff(self.node[level], prepend=-1) != 0
        start = np.append(np.flatnonzero(new), self.domain.size)
        place = np.cumsum(new) - 1
        return start[place], start[place + 1] - 1


def _build_tree_levels(domain: Domain) -> Iterator[tuple[NDArray[np.integer], NDArray[np.float64]]]:
    assert domain.hierarchy is not None
    code = np.arange(domain.size)
    for level, node in enumerate(domain.hierarchy.nodes):
        yield node, domain.compute_widths(*domain.hierarchy.extent(np.full(domain.size, level), code))


def _build_line_levels(
    domain: Domain, inside: tuple[int, int] | None
) -> Iterator[tuple[NDArray[np.integer], NDArray[np.float64]]]:
    code = np.arange(domain.size)
    first, last = inside or (0, domain.size - 1)
    below, above = (code < first) & (code != domain.missing), code > last
    within = ~below & ~above
    share = np.where(below, _measure_width(domain, code[below]), _measure_width(domain, code[above]))
    group = np.where(below, 0, domain.size + _BINS[0])  # before and after all others, which begin at 1

    def build_level(node: NDArray[np.int64], width: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.where(within, node, group), np.where(within, width, share)

    yield build_level(code + 1, 0.0)
    if domain.kind != "flat":
        for parts in _BINS:
            # The greatest value is in the last part; a missing one, at -1, has its own part.
            part = np.floor(domain.position * parts).clip(-1, parts - 1).astype(np.int64)
            yield build_level(part + 2, 1 / parts)
    yield np.zeros_like(code), np.ones(domain.size)


def _measure_width(domain: Domain, code: NDArray[np.int64]) -> float:
    return float(domain.compute_widths(code[:1], code[-1:])[0]) if code.size else 0.0


def draw_node_words(ladders: Sequence[Ladder]) -> tuple[NDArray[np.uint64], list[NDArray[np.int64]]]:
    """A random word for every node, code by code and level by level, and where each level begins.

    Rows that go to equal nodes have equal sums of words.
    """
    random = np.random.default_rng(0)  # which words has no influence: only whether they are equal
    drawn: list[NDArray[np.uint64]] = []
    begin = []
    at = 0
    for ladder in ladders:
        size = ladder.domain.size
        begin.append(at + size * np.arange(ladder.top_level + 1))
        at += size * (ladder.top_level + 1)
        drawn += [
            random.integers(1 << 64, size=node.max() + 1, dtype=np.uint64)[node] for node in ladder.node
        ]
    return np.concatenate(drawn), begin


def parse_column_ranges(text: str | None, what: str, example: str) -> dict[str, tuple[str, str]]:
    """Read ``column=from..to`` or ``column=value``, several of them between commas."""
    found: dict[str, tuple[str, str]] = {}
    for part in filter(None, map(str.strip, (text or "").split(","))):
        name, equals, value = part.rpartition("=")
        first, dots, last = value.partition("..")
        if not equals or not name.strip() or not (first.strip() or last.strip()):
            raise RecipeError(f"cannot read '{part}' in {what}: write column=from..to, as in {example}")
        found[name.strip()] = first.strip(), (last if dots else first).strip()
    return found


def find_coded_range(domain: Domain, first: str, last: str) -> tuple[int, int]:
    """The codes from ``first`` to ``last``, either of which may be left open."""
    if domain.kind not in ("number", "ordered"):
        why = "has a hierarchy: make the groups in that" if domain.kind == "tree" else "has no order"
        raise RecipeError(f"coding is for numbers, dates and ordered columns, but '{domain.name}' {why}")
    if domain.is_coded:
        raise RecipeError(f"'{domain.name}' has a top or bottom: leave out either these or its coding")
    known = np.flatnonzero(domain.labels.is_not_null().to_numpy())
    places, ends = _make_comparable(domain, (first, last))
    low = 0 if ends[0] is None else int(np.searchsorted(places, ends[0]))
    high = known.size - 1 if ends[1] is None else int(np.searchsorted(places, ends[1], "right")) - 1
    if low > high:
        raise RecipeError(f"coding leaves no value of '{domain.name}' in {first}..{last}")
    return int(known[low]), int(known[high])


def _make_comparable(
    domain: Domain, ends: tuple[str, str]
) -> tuple[NDArray[np.generic], list[float | str | int | None]]:
    """The known values of a domain and two bounds in the same terms; None for an open one."""
    labels = domain.labels.drop_nulls()
    if domain.kind == "ordered":
        texts = labels.to_list()
        if strange := [end for end in ends if end and end not in texts]:
            raise RecipeError(f"coding: '{domain.name}' has no value '{strange[0]}', but {quote(texts)}")
        return np.arange(len(texts)), [texts.index(end) if end else None for end in ends]
    numbers = labels.cast(pl.Float64, strict=False)
    if numbers.null_count():  # dates and times, whose texts are in their order
        return labels.to_numpy(), [end or None for end in ends]
    try:
        return numbers.to_numpy(), [float(end) if end else None for end in ends]
    except ValueError:
        raise RecipeError(f"coding of '{domain.name}' takes numbers, not '{'..'.join(ends)}'") from None
