"""An outline: one label per line, indented more than the group it belongs to, as one would type a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from shoal.errors import InputError
from shoal.table.hierarchies.assembly import ROOT, Listing, Tree, assemble_hierarchy
from shoal.table.hierarchies.hierarchy import Hierarchy
from shoal.table.hierarchies.text import read_text

STEP = "  "


def from_outline(text: str, source: str = "outline") -> Hierarchy:
    """Read an outline, such as one typed into a script.

    A single line at the margin, with others below it, is the root; else the root is ``*``. Lines that begin
    with ``#`` are comments. A label that begins with ``#`` or a quote, or has spaces at its ends or a line
    break, is written as a string of JSON.

    Examples
    --------
    >>> from_outline('''
    ... manual
    ...   mason
    ...   smith
    ... office
    ...   clerk
    ... ''').to_rows()
    [('mason', 'manual', '*'), ('smith', 'manual', '*'), ('clerk', 'office', '*')]
    """
    return Hierarchy(*assemble_hierarchy(*parse_outline(text, source)))


def list_outline(path: Path) -> Listing:
    """The rows of a file."""
    return parse_outline(read_text(path), f"'{path}'")


def parse_outline(text: str, source: str) -> Listing:
    """The rows of an outline: the path from every label that has nothing below it to the root."""
    entries = list(split_lines(text, source))
    # A first line that is alone at the margin is the root.
    rooted = len(entries) > 1 and all(depth for depth, _, _ in entries[1:])
    above = [] if rooted else [ROOT]
    rows, lines, path = [], [], list[str]()
    # A label is a value if the next line is not deeper; after the last line comes the margin.
    for (depth, label, line), (following, _, _) in zip(entries, [*entries[1:], (0, "", 0)], strict=False):
        path = [*path[:depth], label]
        if following <= depth:
            rows.append([*reversed(path), *above])
            lines.append(line)
    return Listing.from_lines(rows, source, lines)


def split_lines(text: str, source: str) -> Iterator[tuple[int, str, int]]:
    """The depth, label and number of each line that is neither blank nor a comment."""
    margins: list[int] = []
    for number, line in enumerate(text.split("\n"), start=1):
        label = line.strip()
        if not label or label.startswith("#"):
            continue
        # Tabs reach to the next multiple of 8, as on a terminal.
        margin = len(line[: len(line) - len(line.lstrip())].expandtabs(8))
        # A line may return only to a margin that an earlier line has.
        kept = [outer for outer in margins if outer <= margin]
        if len(kept) < len(margins) and margin not in kept:
            raise InputError(
                f"{source}, line {number}: '{label}' is indented by {margin}, "
                f"but the lines that it may stand under by {' or '.join(map(str, margins))}"
            )
        margins = kept if margin in kept else [*kept, margin]
        yield len(margins) - 1, unquote_label(label, source, number), number


def unquote_label(label: str, source: str, number: int) -> str:
    """The label that a line stands for."""
    if not label.startswith('"'):
        return label
    try:
        return str(json.loads(label))
    except ValueError as error:
        raise InputError(f"{source}, line {number}: {label} is not a string of JSON: {error}") from None


def render_outline(hierarchy: Hierarchy) -> str:
    """The outline from which `from_outline` makes an equal hierarchy."""
    return "".join(
        f"{line}\n" for line in (quote_label(hierarchy.root), *render_lines(hierarchy.to_tree(), 1))
    )


def render_lines(tree: Tree, depth: int) -> Iterator[str]:
    """The lines of what hangs under a node."""
    for label in tree:
        yield STEP * depth + quote_label(str(label))
        if isinstance(tree, Mapping):
            yield from render_lines(tree[str(label)], depth + 1)


def quote_label(label: str) -> str:
    """The label as it is written, as a string of JSON where it would be misread."""
    unclear = label != label.strip() or label[0] in '#"' or not label.isprintable()
    return json.dumps(label) if unclear else label
