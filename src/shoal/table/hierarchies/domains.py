"""The domains text format: ``Column/Group/Subgroup: value, value``, one line per innermost group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from shoal.errors import InputError
from shoal.table.hierarchies.assembly import ROOT, Listing, Listings
from shoal.table.hierarchies.hierarchy import Hierarchy
from shoal.table.hierarchies.text import read_text

NEWLINE = re.compile("\r\n|\r|\n")
# A cell in quotes, with quotes inside written twice, or a bare one up to a stop or the end.
# Spaces around a cell do not belong to it.
CELL = r'\s*(?:"((?:[^"]|"")*)"|([^"\s{stops}][^{stops}]*?|))\s*([{stops}]|\Z)'
NAME = re.compile(CELL.format(stops="/:"))
VALUE = re.compile(CELL.format(stops=","))


def list_domains(path: Path) -> Listings:
    """The rows of every column that the file names, put together when they are asked for."""
    rows: dict[str, list[list[str]]] = {}
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(NEWLINE.split(read_text(path)), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            column, groups, values = parse_line(line, f"'{path}', line {number}")
            # Lines of one column may stand apart; together they are one tree.
            rows.setdefault(column, []).extend([value, *groups, ROOT] for value in values)
            lines.setdefault(column, []).extend([number] * len(values))
    return {
        column: partial(Listing.from_lines, rows[column], f"'{path}', column '{column}'", lines[column])
        for column in rows
    }


def render_domains(column: str, hierarchy: Hierarchy) -> str:
    """The lines of one column, a group on each.

    Every level is spelt out, since uneven branches would be levelled anew.
    """
    if hierarchy.root != ROOT:
        raise InputError(
            f"a domains file has no place for the name of the root '{hierarchy.root}': only for '*'"
        )
    groups: dict[tuple[str, ...], list[str]] = {}
    for leaf, *above in hierarchy.to_rows():
        groups.setdefault((column, *above[-2::-1]), []).append(leaf)
    return "".join(
        f"{join_labels(path, '/', '/:')}: {join_labels(leaves, ', ', ',')}\n"
        for path, leaves in groups.items()
    )


def join_labels(labels: Iterable[str], between: str, stops: str) -> str:
    """Labels in a line, with ``between`` between them."""
    return between.join(quote_label(label, stops) for label in labels)


def quote_label(label: str, stops: str) -> str:
    """The label as it is written, in quotes where it would be misread."""
    if NEWLINE.search(label):
        raise InputError(f"a domains file has no place for the line break in {label!r}")
    unclear = label != label.strip() or label[0] in '"#' or any(stop in label for stop in stops)
    # A byte-order mark at the beginning of the file would be dropped if it stood there bare.
    return '"' + label.replace('"', '""') + '"' if unclear or "\ufeff" in label else label


def parse_line(line: str, place: str) -> tuple[str, list[str], list[str]]:
    """The column, its groups from the narrowest to the widest, and the values."""
    names, rest = split_cells(line, NAME, ":", place)
    values, _ = split_cells(rest, VALUE, "", place)
    if "" in names or "" in values:
        raise InputError(
            f"{place}: an empty name or value in '{line.strip()}'; expected 'Column/Group: value, value'"
        )
    return names[0], names[:0:-1], values


def split_cells(text: str, cell: re.Pattern[str], end: str, place: str) -> tuple[list[str], str]:
    """Cut cells off ``text`` until one is followed by ``end`` (empty: the end of the text); also the rest."""
    cells: list[str] = []
    at = 0
    while found := cell.match(text, at):
        inside, plain, stop = found.groups()
        cells.append(plain if inside is None else inside.replace('""', '"'))
        at = found.end()
        if stop == end:
            return cells, text[at:]
        # The line ended before the sign that had to come.
        if not stop:
            break
    raise InputError(f"{place}: cannot read '{text.strip()}'; expected 'Column/Group: value, value'")
