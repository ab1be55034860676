"""The domains text format: ``Column/Group/Subgroup: value, value``, one line per innermost group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from shoal.errors import InputError
from shoal.hierarchies.assembly import ROOT
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.text import known_columns, read_text

NEWLINE = re.compile("\r\n|\r|\n")
CELL = r'\s*(?:"((?:[^"]|"")*)"|([^"\s{stops}][^{stops}]*?|))\s*([{stops}]|\Z)'
NAME = re.compile(CELL.format(stops="/:"))
VALUE = re.compile(CELL.format(stops=","))


def read_domains(path: Path, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Read the hierarchies of those ``columns`` that the file names."""
    rows: dict[str, list[list[str]]] = {}
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(NEWLINE.split(read_text(path)), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            column, groups, values = parse_line(line, f"'{path}', line {number}")
            rows.setdefault(column, []).extend([value, *groups, ROOT] for value in values)
            lines.setdefault(column, []).extend([number] * len(values))
    return {
        column: Hierarchy.from_rows(rows[column], f"'{path}', column '{column}'", lines[column])
        for column in known_columns(rows, columns, path)
    }


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
        if not stop:
            break
    raise InputError(f"{place}: cannot read '{text.strip()}'; expected 'Column/Group: value, value'")
