"""Random cases of a table of people with tables of their events, and the count of people in the folder.

The judge reads every file with the standard library, joins them by the pseudonym as anybody can, and counts
the people whom each choice of events leads to.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from tests.robustness.fuzz import entry_points
from tests.robustness.fuzz.cases import WORDS, Column
from tests.robustness.fuzz.entry_points import Outcome, UnsafeError
from tests.robustness.fuzz.history_judge import ID, Row, stands_for

import shoal
from shoal.errors import InternalError, ShoalError

KEY = "fedcba9876543210" * 4
PEOPLE = "people"
ALGORITHMS = ("auto", "auto", "mondrian", "cluster", "hilbert", "peel")


@dataclass(frozen=True)
class EventCase:
    """Everything that is asked of Shoal; what ``cases.Case`` has as well has the same name."""

    seed: int
    tables: dict[str, tuple[Column, ...]]
    """The table of people first; each has a column ``who``, and ``row`` by which the judge knows its rows."""
    models: tuple[tuple[str, dict[str, Any]], ...]
    algorithm: tuple[str, dict[str, Any]]
    knows: str | None
    """How many events an attacker knows; None without a pseudonym."""
    suppress: float
    missing: str
    door: str
    output: str = ""

    @property
    def group(self) -> str | None:
        """The column of households, if there is one."""
        return next((column.name for column in self.tables[PEOPLE] if column.role == "group"), None)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of all tables, to be shown."""
        return tuple(column for columns in self.tables.values() for column in columns)

    @property
    def rows(self) -> int:
        """Number of rows of all tables."""
        return sum(len(columns[0].values) for columns in self.tables.values())

    def list_names(self, role: str) -> list[str]:
        """The columns of a role, as Shoal names them."""
        return [
            column.name if table == PEOPLE else f"{table}.{column.name}"
            for table, columns in self.tables.items()
            for column in columns
            if column.role == role
        ]


def case_of(seed: int) -> EventCase:
    """The case of a seed."""
    return draw(Random(f"events {seed}"), seed)


def draw(random: Random, seed: int = -1) -> EventCase:
    """A case, with every choice taken from ``random``; mostly of what is not refused."""
    ids = [f"zq{number:09d}qz" for number in range(random.choice((2, 5, 8, 12, 20)))]
    ages = [random.choice((None, *range(30, 30 + random.choice((2, 12))))) for _ in ids]
    sexes = [random.choice("fm") for _ in ids]
    tables = {PEOPLE: _make_table(ids, {"age": ages, "sex": sexes})}
    for name in random.choice((("labs",), ("labs",), ("labs", "stays"))):
        strangers = ["zq888888888qz"] if random.random() < 0.1 else []
        most = random.choice((1, 2, 3, 5))
        whose = [who for who in [*ids, *strangers] for _ in range(random.randint(0, most))] or ids[:1]
        if random.random() < 0.5:
            random.shuffle(whose)
        days = [random.randrange(random.choice((2, 20))) for _ in whose]
        kinds = [random.choice(WORDS[: random.choice((2, 4))]) for _ in whose]
        tables[name] = _make_table(whose, {"day": days, "kind": kinds})
    found = EventCase(
        seed,
        tables,
        (("k", {"k": random.choice((2, 2, 3, 4))}),),
        (random.choice(ALGORITHMS), {}),
        random.choice((None, "1", "1", "2", "3", "all", "all")),
        random.choice((0.0, 0.0, 0.2, 0.5)),
        random.choices(("category", "drop"), (4, 1))[0],
        random.choice(("text", "cli")),
    )
    # Last, so that the rest of a case is what it was before there were groups.
    return _add_homes(random, found) if random.random() < 0.5 else found


def _add_homes(random: Random, case: EventCase) -> EventCase:
    """The same with the household of everybody; a few have none."""
    people = case.tables[PEOPLE]
    size = len(people[0].values)
    homes = [random.choice((None, *range(1 + size // random.choice((1, 2, 4))))) for _ in range(size)]
    named = tuple(None if home is None else f"zq{700000000 + home}qz" for home in homes)
    return replace(case, tables={**case.tables, PEOPLE: (*people, Column("home", "group", "text", named))})


def _make_table(whose: list[str], quasi: dict[str, list[Any]]) -> tuple[Column, ...]:
    return (
        Column("who", "person", "text", tuple(whose)),
        *(Column(name, "quasi", "flat", tuple(values)) for name, values in quasi.items()),
        Column("row", "plain", "int", tuple(range(len(whose)))),
    )


# Carrying it out.


def judge(case: EventCase) -> Outcome:
    """Carry a case out and judge the folder; raises ``UnsafeError`` if something is wrong."""
    with entry_points.folder() as place:
        (place / "key").write_text(KEY)
        (place / "key").chmod(0o600)
        for name, columns in case.tables.items():
            entry_points.write_text(place / f"{name}.csv", columns)
        outcome, report = _run(case, place)
        if report is None:
            entry_points.nothing_but(place, {"key", *(f"{name}.csv" for name in case.tables)})
            return outcome
        found = list(list_problems(case, place / "release", report))
    if found:
        raise UnsafeError("\n".join(found[:8]))
    return outcome


def _run(case: EventCase, place: Path) -> tuple[Outcome, dict[str, Any] | None]:
    """A run that writes a folder, and its report; none if it was refused."""
    roles = {role: case.list_names(role) for role in ("quasi", "plain")}
    events = [place / f"{name}.csv" for name in case.tables if name != PEOPLE]
    k = case.models[0][1]["k"]
    if case.door == "cli":
        line = ["anonymize", str(place / "people.csv"), "--person", "who", "-o", str(place / "release")]
        line += [part for path in events for part in ("--events", str(path))]
        line += [part for role, names in roles.items() for name in names for part in (f"--{role}", name)]
        if case.knows is not None:
            line += ["--pseudonym", "--key-file", str(place / "key"), "--knows", case.knows]
        line += [] if case.group is None else ["--group", case.group]
        line += ["-k", str(k), "--algorithm", case.algorithm[0], "--suppress", str(case.suppress)]
        code, out, err = entry_points.in_process([*line, "--missing", case.missing, "--json"])
        if code not in entry_points.CODES or "Traceback" in err:
            raise UnsafeError(f"exit code {code}: {err}")
        return Outcome(entry_points.CODES[code], err), None if code else json.loads(out)
    linked = {"pseudonym": True, "key_file": place / "key", "knows": case.knows} if case.knows else {}
    asked = {"k": k, "algorithm": case.algorithm[0], "suppress": case.suppress, "missing": case.missing}
    try:
        release = shoal.anonymize(
            place / "people.csv",
            person="who",
            group=case.group,
            events=events,
            **roles,
            **asked,
            **linked,
            output=place / "release",
        )
    except InternalError:
        raise
    except ShoalError as error:
        return Outcome(type(error).__name__, str(error)), None
    return Outcome("release"), json.loads(json.dumps(release.report.to_dict()))


# Judging it.


def list_problems(case: EventCase, folder: Path, report: dict[str, Any]) -> Iterator[str]:
    """Everything that is wrong with a folder that was written."""
    names = {f"{name}.csv" for name in case.tables}
    if {path.name for path in folder.iterdir()} != names:
        yield f"the folder has {sorted(path.name for path in folder.iterdir())}, not {sorted(names)}"
        return
    contents = {name: (folder / f"{name}.csv").read_bytes() for name in case.tables}
    for where, content in (*contents.items(), ("report", json.dumps(report).encode())):
        if ID.search(content) or KEY.encode() in content:
            yield f"an id or the key is in {where}"
    release = {name: _read(folder / f"{name}.csv") for name in case.tables}
    whose: dict[str, set[Hashable]] = defaultdict(set)
    for name, columns in case.tables.items():
        yield from _check_rows(case, name, columns, release[name], report)
        for row in release[name] if case.knows else ():
            whose[row["who"]].add(columns[0].values[int(row["row"])])
    if case.knows is None:
        fewest = min(_count_fewest(case, name, rows) for name, rows in release.items() if rows)
        homes = min(
            _count_fewest(case, name, rows, _find_homes(case)) for name, rows in release.items() if rows
        )
        if case.group is not None and homes < case.models[0][1]["k"]:
            yield f"UNSAFE: people of {homes} households are found"
    else:
        if max(map(len, whose.values())) > 1 or len(whose) != len(set.union(*whose.values())):
            yield "pseudonyms do not tell people apart as ids do"
        fewest = _count_fewest_linked(case, release)
        if case.group is not None:
            homes = _count_fewest_linked(case, release, _find_homes(case))
            if homes < case.models[0][1]["k"]:
                yield f"UNSAFE: people of {homes} households are found by several rows"
    if fewest < case.models[0][1]["k"]:
        yield f"UNSAFE: {fewest} people are found, and {case.models[0][1]['k']} were asked for"
    if report["smallest_class"] != fewest:
        yield f"the report says smallest_class {report['smallest_class']}, and it is {fewest}"


def _read(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _check_rows(
    case: EventCase, name: str, columns: tuple[Column, ...], rows: list[Row], report: dict[str, Any]
) -> Iterator[str]:
    """The rows of one table: each is there once and true, and as many were left out as is told."""
    expected = [
        column.name
        for column in columns
        if column.role not in ("person", "group") or (column.role == "person" and case.knows)
    ]
    if rows and list(rows[0]) != expected:
        yield f"'{name}' has the columns {list(rows[0])}, not {expected}"
    places = [int(row["row"]) for row in rows]
    if len(set(places)) < len(places):
        yield f"a row of '{name}' is there twice"
    for column in columns:
        for row, at in zip(rows, places, strict=True):
            if column.role == "quasi" and not stands_for(row[column.name], column.values[at], None):
                yield f"'{name}.{column.name}': {row[column.name]!r} does not stand for {column.values[at]!r}"
    told = report["tables"][name]["released_rows"]
    if told != len(rows):
        yield f"the report says that {told} rows of '{name}' are released, and there are {len(rows)}"


def _list_cells(case: EventCase, name: str, row: Row) -> tuple[str, ...]:
    return tuple(row[column.name] for column in case.tables[name] if column.role == "quasi")


def _find_homes(case: EventCase) -> dict[str, Hashable]:
    """The household of everybody; who has none is one of their own."""
    columns = {column.role: column.values for column in case.tables[PEOPLE]}
    homes = columns.get("group", columns["person"])
    return {who: home or who for who, home in zip(columns["person"], homes, strict=True)}


def _count_fewest(
    case: EventCase, name: str, rows: list[Row], owner: dict[str, Hashable] | None = None
) -> int:
    """The fewest people, or owners of them, of a class of one table, by the ids that the judge knows."""
    ids = case.tables[name][0].values
    classes: dict[Hashable, set[Hashable]] = defaultdict(set)
    for row in rows:
        who = ids[int(row["row"])]
        classes[_list_cells(case, name, row)].add(who if owner is None else owner[who])
    return min(map(len, classes.values()))


def _count_fewest_linked(
    case: EventCase, release: dict[str, list[Row]], owner: dict[str, Hashable] | None = None
) -> int:
    """The fewest people, or owners, whom any choice of events and the static columns leads to."""
    ids = case.tables[PEOPLE][0].values
    named = {row["who"]: ids[int(row["row"])] for row in release[PEOPLE]}
    static: dict[str, Hashable] = {row["who"]: _list_cells(case, PEOPLE, row) for row in release[PEOPLE]}
    events: dict[str, list[Hashable]] = {who: [] for who in static}
    for name, rows in release.items():
        for row in rows if name != PEOPLE else ():
            events.setdefault(row["who"], []).append((name, _list_cells(case, name, row)))
    found: dict[Hashable, set[Hashable]] = defaultdict(set)
    for who, mine in events.items():
        one = who if owner is None else owner[named[who]]
        sizes = [len(mine)] if case.knows == "all" else range(min(int(str(case.knows)), len(mine)) + 1)
        for size in sizes:
            for choice in combinations(mine, size):
                found[static.get(who), tuple(sorted(choice))].add(one)  # type: ignore[type-var]
        if case.knows == "all":
            found[static.get(who), "static"].add(one)
    return min(map(len, found.values()))
