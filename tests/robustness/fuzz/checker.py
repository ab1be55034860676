"""The judge: counts what was released, with the standard library and nothing else.

It knows the original table, what was asked for, and the released cells. It shares no code with Shoal, and
reads a released text as a person would who has read the documentation.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from math import exp, factorial, isnan, log, log2, prod
from typing import Any

Values = frozenset[Any]
MISSING = None
EPS = 1e-9


@dataclass(frozen=True)
class Known:
    """What is known of a column of the table: its cells, and how they are to be read."""

    name: str
    role: str
    cells: Sequence[Any]
    kind: str = "flat"
    """number, ordered, flat or tree, as the report says."""
    type: str = "string"
    order: Sequence[str] | None = None
    tree: Sequence[Sequence[str]] | None = None
    people: Sequence[Any] = ()
    """Cells of everybody in the population, if there is one."""

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each value in the order."""
        return {name: at for at, name in enumerate(self.order or ())}


@dataclass(frozen=True)
class Release:
    """What came back."""

    names: Sequence[str]
    columns: dict[str, Sequence[Any]]
    report: dict[str, Any]
    dtypes: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of columns in typed sources: the type before and after."""
    apart: dict[str, Sequence[Any]] = field(default_factory=dict)
    """Quasi-identifiers of a file as they stand there, by which its reader tells rows apart."""


@dataclass(frozen=True)
class Asked:
    """What was asked for, in plain values."""

    columns: Sequence[Known]
    models: Sequence[tuple[str, dict[str, Any]]]
    suppress: float = 0.0
    missing: str = "category"
    na: Sequence[str] = ()
    render: str = "label"
    loss: str = "ncp"
    weights: dict[str, float] = field(default_factory=dict)
    text: bool = False
    """Whether the table is delimited text, where an empty cell is a missing value."""
    scheme: bool = False
    """Whether rows are a random sample in another order (safepub)."""
    matching: bool = False
    """Whether k is by matching, not by classes."""
    centre: bool = False
    """Whether classes are released as one value each."""
    blank: bool = False
    """Whether the file cannot tell a missing value from an empty text."""
    sorted: bool = False
    """Whether rows are in the order of what is released, not in that of the table."""

    def of(self, role: str) -> list[Known]:
        """The columns of a role."""
        return [column for column in self.columns if column.role == role]


def problems(asked: Asked, release: Release) -> Iterator[str]:
    """Everything that is wrong with a release."""
    yield from _shape(asked, release)
    if asked.scheme:
        yield from _sampled(asked, release)
        return
    rows = list(release.columns["row"]) if "row" in release.columns else None
    if rows is None:
        yield "the plain column 'row' is gone"
        return
    rows = [int(row) for row in rows]
    yield from _order(asked, release, rows)
    readings = {column.name: Reading(column, asked) for column in asked.of("quasi")}
    if wrong := list(_coverage(asked, release, rows, readings)):
        yield from wrong
        return
    yield from _goal(asked, release, rows, readings)
    yield from _figures(asked, release, rows, readings)


# Shape: names, order, plain columns, types.


def _shape(asked: Asked, release: Release) -> Iterator[str]:
    expected = [column.name for column in asked.columns if column.role not in ("identifier", "person")]
    if list(release.names) != expected:
        yield f"the columns are {list(release.names)}, not {expected}"
    lengths = {len(cells) for cells in release.columns.values()}
    if len(lengths) != 1 or (lengths == {0} and not asked.scheme):
        yield f"columns of {lengths} rows"
    for column in asked.columns:
        before, after = release.dtypes.get(column.name, ("", ""))
        if column.role in ("plain", "sensitive") and before != after:
            yield f"the type of '{column.name}' went from {before} to {after}"


def _order(asked: Asked, release: Release, rows: list[int]) -> Iterator[str]:
    if asked.sorted or _people(asked) is not None:
        if len(set(rows)) < len(rows):
            yield f"a row is there twice: {rows}"
    elif any(one >= other for one, other in pairwise(rows)):
        yield f"the rows are not in order: {rows}"
    for column in asked.columns:
        if column.role not in ("plain", "sensitive"):
            continue
        before = [column.cells[row] for row in rows]
        changed = [
            (one, other)
            for one, other in zip(before, release.columns[column.name], strict=True)
            if not (_same(one, other) or (asked.blank and one in (None, "") and other in (None, "")))
        ]
        if changed:
            yield f"'{column.name}' was changed: (before, after) is {changed[:10]}"
    total, dropped = len(asked.columns[0].cells), _dropped(asked)
    lost = set(range(total)) - set(rows)
    suppressed = lost - dropped
    if not dropped <= lost:
        yield f"rows {sorted(dropped - lost)} have missing values and were to be dropped"
    if len(suppressed) > int(asked.suppress * (total - len(dropped)) + EPS):
        yield f"{len(suppressed)} rows were suppressed, of {total}; permitted is {asked.suppress}"
    for name, value in (("suppressed_rows", len(suppressed)), ("dropped_rows", len(dropped))):
        if release.report[name] != value:
            yield f"the report says {name} {release.report[name]}, and it is {value}"
    if asked.missing == "error" and any(_lost_cells(asked)):
        yield "there are missing values, which were to be an error"


def _people(asked: Asked) -> list[Any] | None:
    """The person of each row of the table; None where everybody who takes part has one row."""
    dropped = _dropped(asked)
    for column in asked.of("person"):
        whose = [person_of(cell, row, asked) for row, cell in enumerate(column.cells)]
        taking_part = [person for row, person in enumerate(whose) if row not in dropped]
        return whose if len(set(taking_part)) < len(taking_part) else None
    return None


def person_of(cell: Any, row: int, asked: Asked) -> Any:
    """Who has an id, by all that a reader takes for a difference; without one, a row is somebody's own."""
    text = "" if _absent(cell, asked) else spelling_of(cell)
    if not text:
        return ("nobody", row)
    try:
        # Zeros in front make a code of a number.
        return text if re.match(r"[+-]?0\d", text) else Fraction(text) if "/" not in text else text
    except ValueError:
        return text


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and isnan(one) and isnan(other):
        return True
    return type(one) is type(other) and one == other


def _dropped(asked: Asked) -> set[int]:
    return set(_lost_cells(asked)) if asked.missing == "drop" else set()


def _lost_cells(asked: Asked) -> Iterator[int]:
    """Rows that have a missing value in some column."""
    for column in asked.columns:
        numbers = column.kind == "number" and column.role == "quasi"
        for row, cell in enumerate(column.cells):
            if _absent(cell, asked) or (numbers and value_of(cell, column, asked) is MISSING):
                yield row


# Reading cells.


def _absent(cell: Any, asked: Asked) -> bool:
    if cell is None or (isinstance(cell, float) and isnan(cell)):
        return True
    return isinstance(cell, str) and (cell in asked.na or (asked.text and cell == ""))


def text_of(cell: Any) -> str:
    """A value as text."""
    if isinstance(cell, float):
        cell += 0.0  # minus zero is zero
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def value_of(cell: Any, column: Known, asked: Asked) -> Any:
    """The value in a cell of the original table."""
    if _absent(cell, asked):
        return MISSING
    if column.kind == "number":
        return number_of(cell, column.type)
    return column.place[text_of(cell)] if column.kind == "ordered" else text_of(cell)


def number_of(cell: Any, type: str) -> Any:
    """A number, a date or a time; missing where it is none."""
    try:
        if type == "integer":
            return int(cell)
        if type == "float":
            return float(cell) + 0.0
        found = datetime.fromisoformat(cell.strip()) if isinstance(cell, str) else cell
        if type == "date":
            return found.date() if isinstance(found, datetime) else found
        return found if isinstance(found, datetime) else datetime(found.year, found.month, found.day)
    except ValueError:
        return MISSING


def items_of(text: str) -> list[str] | None:
    """The members of a set ``{a, "b, c"}``; None if the text is no set."""
    if len(text) < 2 or text[0] != "{" or text[-1] != "}":
        return None
    found, rest = [], text[1:-1]
    while rest:
        if match := re.match(r'"((?:[^"]|"")*)"(?:, |$)', rest):
            found.append(match[1].replace('""', '"'))
        elif match := re.match(r'([^,"{}]+)(?:, |$)', rest):
            found.append(match[1])
        else:
            return None
        rest = rest[match.end() :]
    return found


def ends_of(text: str) -> Iterator[tuple[str, str]]:
    """The ways to read ``[a-b]`` or ``[a..b]``."""
    if len(text) > 2 and text[0] == "[" and text[-1] == "]":
        for dash in ("..", "-"):
            for match in re.finditer(re.escape(dash), text):
                yield text[1 : match.start()], text[match.end() : -1]


class Reading:
    """What the released cells of one quasi-identifier stand for."""

    def __init__(self, column: Known, asked: Asked) -> None:
        self.column, self.asked = column, asked
        everybody = [*column.cells, *column.people]
        dropped = _dropped(asked)
        self.taking_part = [
            value_of(cell, column, asked) for row, cell in enumerate(column.cells) if row not in dropped
        ]
        self.domain: set[Any] = {
            *self.taking_part,
            *(value_of(cell, column, asked) for cell in column.people),
        }
        if column.kind == "tree":
            self.domain |= {row[0] for row in column.tree or ()}
        self.everything = frozenset(self.domain)
        texts = [text for text in map(text_of, filter(None, everybody)) if text]
        self.ambiguous = column.kind in ("flat", "tree") and any(
            text == "*" or text[0] in "{[" for text in texts
        )
        self._known: dict[Any, list[Values]] = {}

    @cached_property
    def ladder(self) -> list[Any]:
        """The values of a column that has an order, from the first to the last."""
        return sorted(self.everything - {MISSING})

    def __call__(self, cell: Any) -> list[Values]:
        """The possible readings of a cell, the narrowest first; none if it makes no sense."""
        key = (type(cell), cell)
        if key not in self._known:
            self._known[key] = list(self._readings(cell))
        return self._known[key]

    def _readings(self, cell: Any) -> Iterator[Values]:
        if cell is None or (isinstance(cell, float) and isnan(cell)):
            yield frozenset([MISSING])
            return
        if cell == "" and (self.asked.text or MISSING in self.domain):
            yield frozenset([MISSING, ""])
        single = self._value(cell)
        if single is not MISSING:
            yield frozenset([single])
        if not isinstance(cell, str):
            return
        if self.column.kind == "tree":
            yield from self._node(cell)
        if cell == "*":
            yield self.everything
        yield from self._range(cell)
        if (items := items_of(cell)) is not None:
            values = {self._value(item) for item in items}
            yield frozenset(values | ({MISSING, ""} if "" in items else set())) - (
                frozenset() if "" in items else frozenset([MISSING])
            )

    def _value(self, cell: Any) -> Any:
        if self.column.kind == "ordered":
            return self.column.place.get(text_of(cell), MISSING)
        if self.column.kind == "number":
            return number_of(cell, self.column.type)
        return text_of(cell) if text_of(cell) in self.domain else MISSING

    def _node(self, cell: str) -> Iterator[Values]:
        rows = self.column.tree or ()
        if cell == rows[0][-1]:
            yield self.everything
        elif below := frozenset(row[0] for row in rows if cell in row[1:]):
            yield below
        for first, last in ends_of(cell):
            holding = [row for row in rows if row[0] in (first, last)]
            if len({first, last}) == len(holding) == 2:
                common = [name for name in holding[0][1:-1] if name in holding[1][1:-1]]
                yield frozenset(row[0] for row in rows if common[0] in row) if common else self.everything

    def _range(self, cell: str) -> Iterator[Values]:
        if self.column.kind not in ("number", "ordered"):
            return
        for first, last in ends_of(cell):
            low, high = self._value(first), self._value(last)
            if low is not MISSING and high is not MISSING:
                yield frozenset(self.ladder[bisect_left(self.ladder, low) : bisect_right(self.ladder, high)])


def _coverage(asked: Asked, release: Release, rows: list[int], readings: dict[str, Reading]) -> Iterator[str]:
    """Every released cell stands for the value that was there."""
    for name, reading in readings.items():
        column, cells = reading.column, release.columns[name]
        exact = asked.render == "representative" or asked.centre
        may_be_mean = asked.centre and column.kind == "number"
        seen: set[Any] = set()
        for row, cell in zip(rows, cells, strict=True):
            pair = (type(column.cells[row]), column.cells[row], type(cell), cell)
            if pair in seen:
                continue
            seen.add(pair)
            value = value_of(column.cells[row], column, asked)
            found = reading(cell)
            if not found:
                yield f"'{name}', row {row}: {cell!r} makes no sense"
            elif not exact and not any(value in each for each in found):
                yield f"'{name}', row {row}: {cell!r} does not stand for {column.cells[row]!r}"
            elif exact and not may_be_mean and not any(each & reading.everything for each in found):
                yield f"'{name}', row {row}: {cell!r} is no value of the column"
        if may_be_mean:
            yield from _means(asked, release, rows, readings, name)
        before, after = release.dtypes.get(name, ("", ""))
        if exact and before != after and not all(cell is None for cell in cells):
            yield f"'{name}' is released as values, but went from {before} to {after}"


def _means(
    asked: Asked, release: Release, rows: list[int], readings: dict[str, Reading], name: str
) -> Iterator[str]:
    """What a class is released as lies between its least and its greatest value."""
    column = readings[name].column
    classes: dict[tuple[str, ...], list[Any]] = {}
    for at, row in enumerate(rows):
        key = tuple(repr(release.columns[each][at]) for each in readings)
        classes.setdefault(key, []).append((value_of(column.cells[row], column, asked), at))
    for members in classes.values():
        values, cell = [value for value, _ in members], release.columns[name][members[0][1]]
        found = number_of(cell, column.type)
        # Texts of some forms are released as the value nearest to the mean, which another class may have.
        if found is MISSING or not (
            min(values) <= found <= max(values) or found in readings[name].everything
        ):
            yield f"'{name}': {cell!r} is no mean of {sorted(values)[:8]}"


# The goal.


@dataclass(frozen=True)
class Classes:
    """The rows of a release by what they look like."""

    members: list[list[int]]
    """Places of the rows of each class in the release."""
    cells: list[tuple[Any, ...]]

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each class."""
        return list(map(len, self.members))


def classes_of(release: Release, quasi: Sequence[str]) -> Classes:
    """Group rows that look alike."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    shown = [release.apart.get(name, release.columns[name]) for name in quasi]
    for at, cells in enumerate(zip(*shown, strict=True)):
        found[cells].append(at)
    members = list(found.values())
    return Classes(members, [tuple(release.columns[name][rows[0]] for name in quasi) for rows in members])


def _goal(asked: Asked, release: Release, rows: list[int], readings: dict[str, Reading]) -> Iterator[str]:
    classes = classes_of(release, [column.name for column in asked.of("quasi")])
    if (whose := _people(asked)) is not None:
        yield from _goal_of_people(asked, release, rows, classes, readings, [whose[row] for row in rows])
        return
    if asked.matching:
        yield from _matched(asked, release, rows, readings)
        return
    quasi = [column.name for column in asked.of("quasi")]
    for name, parameters in asked.models:
        if name in ("k-map", "delta-presence"):
            yield from _against_people(asked, classes, readings, name, parameters)
        elif name in _OF_VALUES:
            chosen = [c for c in asked.of("sensitive") if parameters.get("column") in (None, c.name)]
            for column in chosen:
                values = sensitive_values(column, asked, rows)
                yield from _violations(classes, values, column, name, parameters)
        elif name in _OF_COLUMNS and (known := _OF_COLUMNS[name](parameters, quasi)):
            yield from _known_columns(release, name, parameters, known)
        # What a model without a line here means is written out in its own test.
        elif name in _OF_ROWS and not _OF_ROWS[name](classes.sizes, parameters):
            yield f"UNSAFE: {name}{parameters} is violated by classes of {sorted(classes.sizes)}"
    for verdict in release.report["models"]:
        if not verdict["holds"]:
            yield f"the report says that {verdict['name']} does not hold"


def _goal_of_people(
    asked: Asked,
    release: Release,
    rows: list[int],
    classes: Classes,
    readings: dict[str, Reading],
    whose: list[Any],
) -> Iterator[str]:
    """The goal where people have several rows: they are counted, each once in a class and with a value."""
    sizes = [len({whose[at] for at in members}) for members in classes.members]
    for name, parameters in asked.models:
        if name in ("k-map", "delta-presence"):
            yield from _against_people(asked, classes, readings, name, parameters, sizes)
        elif name in _OF_VALUES:
            for column in asked.of("sensitive"):
                if parameters.get("column") in (None, column.name):
                    values = sensitive_values(column, asked, rows)
                    yield from _violations_of_people(classes, values, column, name, parameters, whose)
        elif name in _OF_ROWS and not _OF_ROWS[name](sizes, parameters):
            yield f"UNSAFE: {name}{parameters} is violated by classes of {sorted(sizes)} people"
    # Rows of a class that stood apart would be in the order of something else.
    if any(members[-1] - members[0] >= len(members) for members in classes.members):
        yield "the rows are not in the order of what is released"
    told = {"smallest_class": min(sizes)}
    if len(set(whose)) < len(whose):
        told["people"] = len(set(whose))
    for name, value in told.items():
        # In a text, missing values and empty ones are the same, so that classes may be one.
        if release.report.get(name) != value and not release.apart:
            yield f"the report says {name} {release.report.get(name)}, and it is {value}"
    yield from (
        f"the report says that {verdict['name']} does not hold"
        for verdict in release.report["models"]
        if not verdict["holds"]
    )


def _violations_of_people(
    classes: Classes,
    values: list[Any],
    column: Known,
    name: str,
    parameters: dict[str, Any],
    whose: list[Any],
) -> Iterator[str]:
    whole = Counter(value for _, value in set(zip(whose, values, strict=True)))
    for members, cells in zip(classes.members, classes.cells, strict=True):
        counts = Counter(value for _, value in {(whose[at], values[at]) for at in members})
        people = len({whose[at] for at in members})
        most = max(counts.values())
        if name in ("distinct-l", "p-sensitive"):
            holds = _distinct(counts, whole, parameters, column) and most < people
        elif name == "alpha-k":
            holds = people >= parameters["k"] and Fraction(most, people) <= exactly(parameters["alpha"])
        else:
            holds = _OF_VALUES[name](counts, whole, parameters, column)
        if not holds:
            yield f"UNSAFE: {name}{parameters} is violated by {people} people of {cells} with {dict(counts)}"


def exactly(number: Any) -> Fraction:
    """A parameter as it was written: 0.1 is a tenth."""
    return Fraction(str(number))


def _known_columns(
    release: Release, name: str, parameters: dict[str, Any], known: Iterable[Sequence[str]]
) -> Iterator[str]:
    """Whoever knows some columns of somebody finds enough rows."""
    for columns in known:
        fewest = min(classes_of(release, columns).sizes)
        if fewest < parameters["k"]:
            yield f"UNSAFE: {name}{parameters}: {fewest} rows are equal in {columns}"


# The sets of columns that a model is about; none if it is about all of them together.
_OF_COLUMNS: dict[str, Callable[[dict[str, Any], list[str]], list[Sequence[str]]]] = {
    "k": lambda p, quasi: [p["columns"].split("+")] if p.get("columns") else [],
    "k-of-any": lambda p, quasi: list(combinations(quasi, min(p["m"], len(quasi)))),
}
_OF_ROWS: dict[str, Callable[[list[int], dict[str, Any]], bool]] = {
    "k": lambda sizes, p: min(sizes) >= p["k"],
    "max-risk": lambda sizes, p: Fraction(1, min(sizes)) <= exactly(p["risk"]),
    "average-risk": lambda sizes, p: Fraction(len(sizes), sum(sizes)) <= exactly(p["risk"]),
    "uniqueness": lambda sizes, p: Fraction(sizes.count(1), sum(sizes)) <= exactly(p["share"]),
    # Searches are to ask for two rows, with which nobody is estimated to be unique.
    "population-uniqueness": lambda sizes, p: min(sizes) >= 2,
    # By the defaults for what is not drawn; see the page of the model.
    "profitability": lambda sizes, p: all(_pays(size, p) for size in sizes),
    "k-map-estimate": lambda sizes, p: min(sizes) >= p["k"] or _is_rare(min(sizes), p),
}


def _pays(size: int, p: dict[str, Any]) -> bool:
    """Whether no attack on a class pays or, where that is permitted, rows bring more than attacks cost."""
    attacked = exactly(p["gain"]) / size > exactly(p["cost"])
    worth_it = exactly(p["loss"]) / size <= exactly(p["benefit"])
    return not attacked or (p.get("attack", "permitted") == "permitted" and worth_it)


def _is_rare(size: int, p: dict[str, Any]) -> bool:
    """Whether so many rows are as rare as was asked if only k people fit them, by Poisson's distribution."""
    mean = p["k"] * p["fraction"]
    chance = 1 - sum(exp(-mean) * mean**i / factorial(i) for i in range(size))
    seen = 1.0 if p.get("estimator") == "poisson" else 1 - exp(-mean)
    return chance <= p.get("significance", 0.01) * seen + EPS


def sensitive_values(column: Known, asked: Asked, rows: Iterable[int]) -> list[Any]:
    """The sensitive values of released rows; whatever stands for a missing one is the same."""
    cells = [None if _absent(column.cells[row], asked) or column.cells[row] == "" else column.cells[row]
             for row in rows]  # fmt: skip
    try:
        return [cell if cell is None else Fraction(text_of(cell)) for cell in cells]
    except ValueError:
        fold = text_of if column.order else folded
        return [cell if cell is None else fold(cell) for cell in cells]


ABSENT = (
    "", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "?", "-", "--", ".", "unknown", "unk",
    "missing", "not available", "not known", "not applicable", "not stated", "not specified", "unspecified",
)  # fmt: skip


def folded(cell: Any) -> str | None:
    """A sensitive value without what a reader does not take for a difference; None if it is a missing one."""
    text = spelling_of(cell, " ")
    return None if text in ABSENT else text


def spelling_of(cell: Any, unseen: str = "") -> str:
    """A text without what a reader does not take for a difference; signs that are not seen are nothing."""
    text = unicodedata.normalize("NFKC", text_of(cell)).lower().replace("ß", "ss")
    blank = {"Zs": " ", "Cc": " ", "Cf": unseen}
    seen = "".join(blank.get(unicodedata.category(c), c) for c in text)
    return " ".join(filter(None, seen.split(" ")))


def _violations(
    classes: Classes, values: list[Any], column: Known, name: str, parameters: dict[str, Any]
) -> Iterator[str]:
    whole = Counter(values)
    for members, cells in zip(classes.members, classes.cells, strict=True):
        counts = Counter(values[at] for at in members)
        if not _OF_VALUES[name](counts, whole, parameters, column):
            yield f"UNSAFE: {name}{parameters} is violated by {cells} with {dict(counts)} of {dict(whole)}"


Test = Callable[[Counter[Any], Counter[Any], dict[str, Any], Known], bool]


def _distinct(counts: Counter[Any], _: Counter[Any], p: dict[str, Any], __: Known) -> bool:
    return len(counts) >= p.get("l", p.get("p"))


def _entropy(counts: Counter[Any], _: Counter[Any], p: dict[str, Any], __: Known) -> bool:
    total = counts.total()
    if p.get("estimator") == "grassberger":
        estimate = _harmonic(total) - sum(n * _harmonic(n) for n in counts.values()) / total
        return len(counts) >= p["l"] and estimate >= log(p["l"]) - EPS
    return exp(-sum(n / total * log(n / total) for n in counts.values())) >= p["l"] - EPS


def _harmonic(count: int) -> float:
    """Grassberger's stand-in for the logarithm, up to a constant."""
    return sum(2 / (2 * k - 1) for k in range(1, count // 2 + 1))


def _recursive(counts: Counter[Any], _: Counter[Any], p: dict[str, Any], __: Known) -> bool:
    ordered = sorted(counts.values(), reverse=True)
    return ordered[0] < exactly(p["c"]) * sum(ordered[p["l"] - 1 :])


def _alpha(counts: Counter[Any], _: Counter[Any], p: dict[str, Any], __: Known) -> bool:
    total = counts.total()
    return total >= p["k"] and Fraction(max(counts.values()), total) <= exactly(p["alpha"])


def _gain(counts: Counter[Any], whole: Counter[Any], value: Any) -> Fraction:
    q = Fraction(whole[value], whole.total())
    return (Fraction(counts[value], counts.total()) - q) / q


def _basic(counts: Counter[Any], whole: Counter[Any], p: dict[str, Any], _: Known) -> bool:
    return all(_gain(counts, whole, value) <= exactly(p["beta"]) for value in counts)


def _enhanced(counts: Counter[Any], whole: Counter[Any], p: dict[str, Any], _: Known) -> bool:
    return all(
        _gain(counts, whole, value) <= exactly(p["beta"])
        and _gain(counts, whole, value) <= -log(whole[value] / whole.total()) + EPS
        for value in counts
    )


def _disclosure(counts: Counter[Any], whole: Counter[Any], p: dict[str, Any], _: Known) -> bool:
    if p.get("form", "strict") == "strict" and set(counts) != set(whole):
        return False
    shares = [(counts[v] / counts.total()) / (whole[v] / whole.total()) for v in counts]
    return all(abs(log2(share)) < p["delta"] + EPS for share in shares)


def _near(counts: Counter[Any], whole: Counter[Any], p: dict[str, Any], column: Known) -> bool:
    distance = _DISTANCES[p.get("distance", "equal")](counts, whole, column)
    return distance <= exactly(p["t"])


def _equal(counts: Counter[Any], whole: Counter[Any], _: Known | None = None) -> Fraction:
    return Fraction(1, 2) * sum(
        abs(Fraction(counts[v], counts.total()) - Fraction(whole[v], whole.total())) for v in whole
    )


def _ordered(counts: Counter[Any], whole: Counter[Any], column: Known) -> Fraction:
    place = column.place
    known = sorted((v for v in whole if v is not None), key=lambda v: place[v] if place else v)
    ladder = [None] * (None in whole) + known
    so_far, total = Fraction(0), Fraction(0)
    for value in ladder[:-1]:
        so_far += Fraction(counts[value], counts.total()) - Fraction(whole[value], whole.total())
        total += abs(so_far)
    return total / max(len(ladder) - 1, 1)


def _hierarchical(counts: Counter[Any], whole: Counter[Any], column: Known) -> Fraction:
    paths = stretched(column.tree or ())
    width = len(next(iter(paths.values())))
    # Values as numbers are leaves by their text.
    nodes = {value: paths.get(str(value), [str(value)] * width) for value in whole}
    levels = []
    for level in range(width - 1):
        here: Counter[str] = Counter()
        there: Counter[str] = Counter()
        for value in whole:
            here[nodes[value][level]] += counts[value]
            there[nodes[value][level]] += whole[value]
        levels.append(_equal(here, there))
    return sum(levels, Fraction(0)) / len(levels)


def stretched(rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """The path of every leaf, equally long: a label is repeated upwards until its parent begins."""
    begin = {label: 0 for row in rows for label in row}
    changed = True
    while changed:
        changed = False
        for row in rows:
            at = 0
            for label in row[1:-1]:
                at = max(at + 1, begin[label])
                changed |= at > begin[label]
                begin[label] = at
    width = max(begin[label] for row in rows for label in row[:-1]) + 2
    paths = {}
    for row in rows:
        starts = [0, *(begin[label] for label in row[1:-1]), width - 1]
        paths[row[0]] = [
            label
            for label, start, end in zip(row, starts, [*starts[1:], width], strict=True)
            for _ in range(end - start)
        ]
    return paths


def _weighty(counts: Counter[Any], _: Counter[Any], p: dict[str, Any], __: Known) -> bool:
    """What is no number above 0 weighs nothing."""
    weights = [value * n for value, n in counts.items() if isinstance(value, Fraction) and value > 0]
    return sum(weights, Fraction(0)) >= exactly(p["k"])


_DISTANCES = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}
_OF_VALUES: dict[str, Test] = {
    "distinct-l": _distinct,
    "p-sensitive": _distinct,
    "entropy-l": _entropy,
    "recursive-cl": _recursive,
    "alpha-k": _alpha,
    "basic-beta": _basic,
    "enhanced-beta": _enhanced,
    "delta-disclosure": _disclosure,
    "t": _near,
    "k-map-weights": _weighty,
}
JUDGED = {*_OF_VALUES, *_OF_COLUMNS, *_OF_ROWS, "k-map", "delta-presence", "safepub"}
"""The models that the judge knows."""


def _against_people(
    asked: Asked,
    classes: Classes,
    readings: dict[str, Reading],
    name: str,
    parameters: dict[str, Any],
    people_of: list[int] | None = None,
) -> Iterator[str]:
    """How the population fits the classes: who could be a row of which.

    ``people_of`` says how many people each class has, where some have several rows.
    """
    columns = list(readings.values())
    people = list(
        zip(*([value_of(c, r.column, asked) for c in r.column.people] for r in columns), strict=True)
    )
    fits = [
        frozenset(
            at
            for at, cells in enumerate(classes.cells)
            if all(v in r(cell)[0] for v, cell, r in zip(person, cells, columns, strict=True))
        )
        for person in people
    ]
    sizes = classes.sizes if people_of is None else people_of
    if name == "k-map":
        for at, cells in enumerate(classes.cells):
            if (count := sum(at in fit for fit in fits)) < parameters["k"]:
                yield f"UNSAFE: k-map{parameters} is violated by {cells}, which {count} people fit"
        return
    if any(not any(at in fit for fit in fits) for at in range(len(sizes))):
        yield "UNSAFE: delta-presence: nobody fits a class"
    if parameters["low"] > 0 and any(not fit for fit in fits):
        yield "UNSAFE: delta-presence: somebody fits no class, and is known to be absent"
    for fit, members in Counter(fits).items():
        only = [at for at in fit if all(at not in other for other in set(fits) - {fit})]
        own = [sizes[at] for at in only]
        # People may be in several of these classes.
        certain = sum(own) if people_of is None else max(own, default=0)
        least, most = Fraction(certain, members), Fraction(sum(sizes[at] for at in fit), members)
        if fit and not (exactly(parameters["low"]) <= least and most <= exactly(parameters["high"])):
            yield f"UNSAFE: delta-presence{parameters} is violated: {members} people, {least} to {most}"


def _matched(asked: Asked, release: Release, rows: list[int], readings: dict[str, Reading]) -> Iterator[str]:
    """k by matching: each released row is, in some assignment of all rows, each of k original ones."""
    k = max(p["k"] for _, p in asked.models)
    columns = list(readings.values())
    originals = list(zip(*(r.taking_part for r in columns), strict=True))
    cells = list(zip(*(release.columns[r.column.name] for r in columns), strict=True))
    covers = [
        {at for at, values in enumerate(originals)
         if all(any(v in each for each in r(cell)) for v, cell, r in zip(values, row, columns, strict=True))}
        for row in cells
    ]  # fmt: skip
    for row, choices in enumerate(covers):
        partners = sum(_assignable(covers, row, choice) for choice in choices)
        if partners < k:
            yield f"UNSAFE: row {rows[row]} could be {partners} originals only, not {k}"


def _assignable(covers: list[set[int]], row: int, choice: int) -> bool:
    """Whether all rows can be assigned different originals, ``row`` the one that is chosen."""
    owner: dict[int, int] = {choice: row}

    def place(at: int, seen: set[int]) -> bool:
        for original in covers[at] - seen - {choice}:
            seen.add(original)
            if original not in owner or place(owner[original], seen):
                owner[original] = at
                return True
        return False

    return all(place(at, set()) for at in range(len(covers)) if at != row)


def _sampled(asked: Asked, release: Release) -> Iterator[str]:
    """A sample: its classes are large enough, and there were as many rows that look like each."""
    classes = classes_of(release, [column.name for column in asked.of("quasi")])
    for name, parameters in asked.models:
        if name == "k" and min(classes.sizes, default=parameters["k"]) < parameters["k"]:
            yield f"UNSAFE: k{parameters} is violated by classes of {classes.sizes}"
    readings = [Reading(column, asked) for column in asked.of("quasi")]
    originals = list(zip(*(r.taking_part for r in readings), strict=True))
    for members, cells in zip(classes.members, classes.cells, strict=True):
        there = sum(
            all(
                any(v in each for each in r(cell)) for v, cell, r in zip(values, cells, readings, strict=True)
            )
            for values in originals
        )
        if there < len(members):
            yield f"{len(members)} rows were released as {cells}, and {there} could be"


# Figures of the report.


def _figures(asked: Asked, release: Release, rows: list[int], readings: dict[str, Reading]) -> Iterator[str]:
    report = release.report
    classes = classes_of(release, list(readings))
    told = {
        "rows": len(asked.columns[0].cells),
        "released_rows": len(rows),
        "classes": len(classes.members),
        "smallest_class": min(classes.sizes),
    }
    if _people(asked) is not None:  # where it is people who are counted
        del told["smallest_class"]
    if release.apart and any("" in release.columns[name] for name in readings):
        # In a text, missing values and empty ones are the same, so that classes may be one.
        told = {name: value for name, value in told.items() if "rows" in name}
    for name, value in told.items():
        if report[name] != value:
            yield f"the report says {name} {report[name]}, and it is {value}"
    if report["optimal"] and abs(report["lower_bound"] - report["loss"]["value"]) > 1e-6 * max(
        1, abs(report["lower_bound"])
    ):
        yield f"optimal, but {report['lower_bound']} bounds {report['loss']['value']}"
    bound, loss = report["lower_bound"], report["loss"]["value"]
    if bound is not None and bound > loss + EPS * (1 + abs(loss)):  # negative weights make negative losses
        yield f"the loss {loss} is below its bound {bound}"
    if (
        asked.render not in ("label", "interval")
        or asked.centre
        or any(r.ambiguous for r in readings.values())
    ):
        return
    yield from _losses(asked, release, rows, readings, classes)


def _losses(
    asked: Asked, release: Release, rows: list[int], readings: dict[str, Reading], classes: Classes
) -> Iterator[str]:
    report = release.report
    total = len(asked.columns[0].cells) - report["dropped_rows"]
    costs = {
        name: _Costs(reading, release.columns[name], total, asked.weights.get(name, 1.0))
        for name, reading in readings.items()
    }
    ncp = {name: cost.ncp() for name, cost in costs.items()}
    for name, value in ncp.items():
        if abs(report["columns"][name]["ncp"] - value) > EPS:
            yield f"the report says NCP {report['columns'][name]['ncp']} of '{name}', and it is {value}"
    if abs(report["ncp"] - sum(ncp.values()) / len(ncp)) > EPS:
        yield f"the report says NCP {report['ncp']}, and it is {ncp}"
    weights = {name: asked.weights.get(name, 1.0) for name in readings}
    hidden = total - len(rows)
    sizes = classes.sizes
    known: dict[str, Callable[[], float]] = {
        "ncp": lambda: sum(weights[n] * ncp[n] for n in ncp) / (sum(map(abs, weights.values())) or 1.0),
        "discernibility": lambda: sum(n * n for n in sizes) + hidden * total,
        "class-size": lambda: total / (len(sizes) + (hidden > 0)),
        "distortion": lambda: sum(weights[n] * costs[n].changed() for n in costs),
        "generalised": lambda: _geometric({n: costs[n].covered() for n in costs}, weights),
        "ambiguity": lambda: _ambiguity(classes, readings, hidden),
    }
    if hidden == 0:
        known["entropy"] = lambda: sum(weights[n] * costs[n].bits() for n in costs)
    if asked.loss in known:
        value = known[asked.loss]()
        if abs(report["loss"]["value"] - value) > 1e-8 * max(1.0, abs(value)):
            yield f"the report says {asked.loss} {report['loss']['value']}, and it is {value}"


def _ambiguity(classes: Classes, readings: dict[str, Reading], hidden: int) -> float:
    """How many combinations of values a row could be, on average."""
    columns = list(readings.values())
    could_be = [
        prod(len(r(cell)[0] & r.everything) for r, cell in zip(columns, cells, strict=True))
        for cells in classes.cells
    ]
    everything = hidden * prod(len(r.everything) for r in columns)
    total = sum(n * choices for n, choices in zip(classes.sizes, could_be, strict=True))
    return (total + everything) / (sum(classes.sizes) + hidden)


def _geometric(losses: dict[str, float], weights: dict[str, float]) -> float:
    total = sum(map(abs, weights.values())) or 1.0
    return exp(sum(weights[n] * log(1 + losses[n]) for n in losses) / total) - 1


_UNUSED = object()
"""A value that no row has."""


class _Costs:
    """What the released cells of a column cost."""

    def __init__(self, reading: Reading, cells: Sequence[Any], total: int, weight: float) -> None:
        self.reading, self.total = reading, total
        self.hidden = total - len(cells)
        # To lose the only value of a column of negative weight is a gain: it counts as one of two values.
        extra = {_UNUSED} if weight < 0 and len(reading.everything) == 1 else set()
        self.everything = reading.everything | extra
        self.covers = [
            ((reading(cell)[0] & reading.everything) | (extra if cell == "*" else set()), times)
            for (_, cell), times in Counter(zip(map(type, cells), cells, strict=True)).items()
        ]
        """What each cell stands for, and how many cells are like it."""

    def ncp(self) -> float:
        """Normalised certainty penalty."""
        penalty = sum(times * self._penalty(covered) for covered, times in self.covers)
        return float(penalty + self.hidden) / self.total

    def _penalty(self, covered: Values) -> float:
        domain = self.everything
        if len(covered) == 1:
            return 0.0
        if _UNUSED in covered:
            return 1.0
        if self.reading.column.kind in ("flat", "tree"):
            return (len(covered) - 1) / max(len(domain) - 1, 1)
        if MISSING in covered:
            return 1.0
        whole = self.reading.ladder
        if self.reading.column.kind == "ordered":
            return (len(covered) - 1) / (len(whole) - 1)
        return self._distance(min(covered), max(covered)) / self._distance(whole[0], whole[-1])

    @staticmethod
    def _distance(low: Any, high: Any) -> Fraction:
        if isinstance(low, datetime):
            return Fraction((high - low).total_seconds())
        return Fraction((high - low).days) if isinstance(low, date) else Fraction(high) - Fraction(low)

    def changed(self) -> float:
        """Number of cells that are not the original value."""
        return sum(times for covered, times in self.covers if len(covered) > 1) + self.hidden

    def covered(self) -> float:
        """Share of the values covered, beyond the one that always is."""
        size = len(self.everything)
        covered = sum(times * len(covered) for covered, times in self.covers)
        shares = (covered / size + self.hidden) / self.total
        return (shares - 1 / size) / (1 - 1 / size) if size > 1 else self.hidden / self.total

    def bits(self) -> float:
        """Non-uniform entropy, where no rows are suppressed."""
        counts = Counter(self.reading.taking_part)
        spread = sum(times * log2(sum(counts[v] for v in covered)) for covered, times in self.covers)
        return spread - sum(n * log2(n) for n in counts.values())
