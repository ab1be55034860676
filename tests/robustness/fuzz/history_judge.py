"""The judge of releases about people: counts them in the written file, with the standard library alone.

It knows the table, what was asked for and the bytes of the file. A choice of what an attacker may know is
made in every possible way, and the people are counted whom it leads to.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

ID = re.compile(rb"zq\d{9}qz", re.IGNORECASE)
Row = dict[str, str]


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    columns: Sequence[Any]
    """Each with a name, a role, values and, if there is one, a tree."""
    models: Sequence[tuple[str, dict[str, Any]]]
    suppress: float
    missing: str
    options: dict[str, Any]

    def name_role(self, role: str) -> list[str]:
        """Names of the columns of a role."""
        return [column.name for column in self.columns if column.role == role]

    @cached_property
    def rows(self) -> range:
        """All rows of the table."""
        return range(len(self.columns[0].values))

    @cached_property
    def whose(self) -> list[Hashable]:
        """The person of each row; a row without an id, or without a person at all, is somebody's own."""
        if self.options["person"] is None:
            return list(self.rows)
        ids = next(column.values for column in self.columns if column.name == "who")
        return [("nobody", at) if each is None else each.strip().lower() for at, each in enumerate(ids)]

    @cached_property
    def homes(self) -> list[Hashable]:
        """The group of each row's person: those who are connected by a person are one."""
        named = next(column.values for column in self.columns if column.role == "group")
        root: dict[Hashable, Hashable] = {}

        def find(each: Hashable) -> Hashable:
            while root.setdefault(each, each) != each:
                each = root[each]
            return each

        for at in self.taking_part:
            if named[at] is not None:
                root[find(("home", named[at]))] = find(("person", self.whose[at]))
        return [find(("person", who)) for who in self.whose]

    @cached_property
    def taking_part(self) -> set[int]:
        """The rows that were not to be dropped because a value is missing."""
        if self.missing == "category":
            return set(self.rows)
        looked_at = [column.values for column in self.columns if column.role != "set"]
        return {at for at in self.rows if all(values[at] is not None for values in looked_at)}

    @cached_property
    def has_several(self) -> bool:
        """Whether anybody, or any group, has several rows."""
        owners = self.homes if self.options.get("group") else self.whose
        return max(Counter(owners[at] for at in self.taking_part).values(), default=0) > 1

    @cached_property
    def originals(self) -> dict[str, list[Any]]:
        """The values of every column; days instead of dates where that was asked."""
        found = {column.name: list(column.values) for column in self.columns}
        if name := self.options.get("relative"):
            first: dict[Hashable, Any] = {}
            for who, value in zip(self.whose, found[name], strict=True):
                if value is not None:
                    first[who] = min(first.get(who, value), value)
            gaps = [
                None if value is None else value - first[who]
                for who, value in zip(self.whose, found[name], strict=True)
            ]
            found[name] = [getattr(each, "days", each) for each in gaps]
        return found

    @property
    def least(self) -> int:
        """How many people are to be found."""
        found = [1]
        for name, parameters in self.models:
            found.append(parameters.get("k", 1))
            if name == "max-risk":
                share = Fraction(str(parameters["risk"]))
                found.append(-(-share.denominator // share.numerator))
        return max(found)


def list_problems(asked: Asked, content: bytes, report: dict[str, Any], key: str) -> Iterator[str]:
    """Everything that is wrong with a file that was written."""
    names, *lines = csv.reader(io.StringIO(content.decode(), newline=""))
    release = [dict(zip(names, line, strict=True)) for line in lines]
    yield from _check_shape(asked, names, release, report)
    yield from _check_what_travels(asked, content, report, key)
    places = [int(row["row"]) for row in release]
    yield from _check_truth(asked, release, places)
    if asked.options.get("pseudonym"):
        yield from _check_pseudonyms(asked, release, places)
    yield from _check_goal(asked, release, places, report)


def _check_shape(asked: Asked, names: list[str], release: list[Row], report: dict[str, Any]) -> Iterator[str]:
    gone = {*asked.name_role("identifier"), *asked.name_role("group")}
    if not asked.options.get("pseudonym"):
        gone |= set(asked.name_role("person"))
    expected = [column.name for column in asked.columns if column.name not in gone]
    if names != expected:
        yield f"the columns are {names}, not {expected}"
    places = [int(row["row"]) for row in release]
    if len(set(places)) < len(places) or not set(places) <= asked.taking_part:
        yield f"rows are there twice, or were to be dropped: {sorted(places)}"
    lost = len(asked.taking_part) - len(places)
    if lost > int(asked.suppress * len(asked.taking_part) + 1e-9) or (asked.options.get("sets") and lost):
        yield f"{lost} rows were left out of {len(asked.taking_part)}; permitted is {asked.suppress}"
    told = {"released_rows": len(places), "suppressed_rows": lost}
    if asked.has_several and asked.options["person"] is not None:
        people = len({asked.whose[at] for at in places})
        told["people"] = people
        told["people_left_out"] = len({asked.whose[at] for at in asked.taking_part}) - people
    for name, value in told.items():
        if report.get(name) != value:
            yield f"the report says {name} {report.get(name)}, and it is {value}"
    if not 0 <= report["ncp"] <= 1:
        yield f"the report says that {report['ncp']} is lost"


def _check_what_travels(asked: Asked, content: bytes, report: dict[str, Any], key: str) -> Iterator[str]:
    """No id and no key in the file, nor in the report."""
    if asked.options["person"] is not None:
        for where, found in (("file", content), ("report", json.dumps(report).encode())):
            if ID.search(found):
                yield f"an id is in the {where}"
            if key.encode() in found:
                yield f"the key is in the {where}"


# What cells stand for.


def write_value(value: Any) -> str:
    """A value as text."""
    return "" if value is None else value.isoformat() if isinstance(value, date) else str(value)


def stands_for(cell: str, value: Any, tree: Sequence[Sequence[str]] | None) -> bool:
    """Whether a released cell stands for a value."""
    text = write_value(value)
    if cell in (text, "*"):
        return True
    if tree is not None:
        return any(row[0] == text and cell in row for row in tree)
    if cell[:1] == "{" and cell[-1:] == "}":
        return text in [item.strip('"') for item in cell[1:-1].split(", ")]
    if cell[:1] != "[" or cell[-1:] != "]" or value is None:
        return False
    for dash in re.finditer(r"\.\.|-", cell):
        low, high = cell[1 : dash.start()], cell[dash.end() : -1]
        try:
            ends = [
                type(value).fromisoformat(end) if text.count("-") == 2 else int(end) for end in (low, high)
            ]
        except ValueError:
            continue
        if ends[0] <= value <= ends[1]:
            return True
    return False


def _check_truth(asked: Asked, release: list[Row], places: list[int]) -> Iterator[str]:
    for column in asked.columns:
        if column.role not in ("quasi", "sensitive", "plain", "set"):
            continue
        before = asked.originals[column.name]
        for at, row in zip(places, release, strict=True):
            cell = row[column.name]
            if column.role == "set":
                yield from _check_set(column, before[at], cell)
            elif column.role == "quasi":
                if not stands_for(cell, before[at], column.tree):
                    yield f"'{column.name}', row {at}: {cell!r} does not stand for {before[at]!r}"
            elif cell != write_value(before[at]):
                yield f"'{column.name}', row {at}: {before[at]!r} was changed to {cell!r}"


def split_set(cell: str | None) -> list[str]:
    """The items of a cell, each once, sorted."""
    return sorted({item.strip() for item in (cell or "").split("|")} - {""})


def _check_set(column: Any, before: str | None, cell: str) -> Iterator[str]:
    """Every released item stands for one that was there, and each is there once."""
    mine = split_set(before)
    for item in split_set(cell):
        if not any(stands_for(item, each, column.tree) for each in mine):
            yield f"'{column.name}': {item!r} stands for nothing in {before!r}"
    if cell != "|".join(split_set(cell)):
        yield f"'{column.name}': {cell!r} is not sorted, or has an item twice"


# People.


def _check_pseudonyms(asked: Asked, release: list[Row], places: list[int]) -> Iterator[str]:
    """A pseudonym for each person, and a static column the same in all rows of it."""
    pairs = {(row["who"], asked.whose[at]) for row, at in zip(release, places, strict=True)}
    if not len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs}):
        yield "pseudonyms do not tell people apart as ids do"
    mine: dict[Hashable, list[int]] = defaultdict(list)
    for at in asked.taking_part:
        mine[asked.whose[at]].append(at)
    for name in asked.name_role("quasi"):
        values = asked.originals[name]
        if all(len({write_value(values[at]) for at in rows}) == 1 for rows in mine.values()):
            shown = defaultdict(set)
            for row in release:
                shown[row["who"]].add(row[name])
            if max(map(len, shown.values())) > 1:
                yield f"'{name}' is the same in all rows of a person, and not in the release"


def _check_goal(asked: Asked, release: list[Row], places: list[int], report: dict[str, Any]) -> Iterator[str]:
    owners = [("people", [asked.whose[at] for at in places])]
    if asked.options.get("group"):
        owners.append(("groups", [asked.homes[at] for at in places]))
    for unit, owner in owners:
        classes = list(_list_known(asked, release, owner))
        fewest = min(len({owner[at] for at in rows}) for rows in classes)
        if fewest < asked.least:
            yield f"UNSAFE: {fewest} {unit} are found, and {asked.least} were asked for"
        if unit == "people":
            if report["smallest_class"] != fewest:
                yield f"the report says smallest_class {report['smallest_class']}, and it is {fewest}"
            yield from _check_values(asked, release, classes, owner)
    yield from (
        f"the report says that {each['name']} does not hold" for each in report["models"] if not each["holds"]
    )


def _list_known(asked: Asked, release: list[Row], owner: list[Hashable]) -> Iterator[list[int]]:
    """For everything that an attacker may know, the rows of those who fit."""
    quasi, knows = asked.name_role("quasi"), asked.options.get("knows", "1")
    cells = [tuple(row[name] for name in quasi) for row in release]
    if asked.options.get("sets"):
        yield from _group(_list_set_choices(cells, release, knows))
        return
    if not asked.options.get("pseudonym"):
        yield from _group((each, at) for at, each in enumerate(cells))
        return
    people: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(release):
        people[row["who"]].append(at)
    if knows == "all":
        # Who knows all rows of a person knows each of them.
        yield from _group((each, at) for at, each in enumerate(cells))
        found: dict[Hashable, list[int]] = defaultdict(list)
        for rows in people.values():
            found[tuple(sorted(cells[at] for at in rows))] += rows
        yield from found.values()
        return
    choices: dict[Hashable, list[int]] = defaultdict(list)
    for rows in people.values():
        for size in range(1, int(knows) + 1):
            for choice in {tuple(sorted(cells[at] for at in some)) for some in combinations(rows, size)}:
                choices[choice].append(rows[0])
    yield from choices.values()


def _list_set_choices(
    cells: list[tuple[str, ...]], release: list[Row], knows: str
) -> Iterator[tuple[Hashable, int]]:
    for at, (known, row) in enumerate(zip(cells, release, strict=True)):
        items = split_set(row["dx"])
        sizes = [len(items)] if knows == "all" else range(min(int(knows), len(items)) + 1)
        for size in sizes:
            for choice in combinations(items, size):
                yield (known, choice), at


def _group(pairs: Iterator[tuple[Hashable, int]]) -> list[list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for known, at in pairs:
        found[known].append(at)
    return list(found.values())


def _check_values(
    asked: Asked, release: list[Row], classes: list[list[int]], whose: list[Hashable]
) -> Iterator[str]:
    """Models of what people have: who fits and has a value in any row that fits."""
    rules: dict[str, Callable[[list[int], int, dict[str, Any]], bool]] = {
        "distinct-l": lambda counts, people, given: (
            len(counts) >= given["l"] and (max(counts) < people or not asked.has_several)
        ),
        "alpha-k": lambda counts, people, given: (
            Fraction(max(counts), people) <= Fraction(str(given["alpha"]))
        ),
    }
    for name, parameters in asked.models:
        for rows in classes if name in rules else ():
            people = len({whose[at] for at in rows})
            counts = Counter(value for _, value in {(whose[at], release[at]["ill"]) for at in rows})
            if not rules[name](list(counts.values()), people, parameters):
                yield f"UNSAFE: {name}{parameters} does not hold for {people} people with {dict(counts)}"
