"""Random cases of people with several rows: pseudonyms, what an attacker knows, days, households and sets.

``case_of`` makes a case from one number and ``judge`` carries it out. What came back is judged by
``history_judge``, which counts with the standard library alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from tests.robustness.fuzz import entry_points
from tests.robustness.fuzz.cases import WORDS, Column
from tests.robustness.fuzz.entry_points import Outcome, UnsafeError
from tests.robustness.fuzz.history_judge import Asked, list_problems

import shoal
from shoal.errors import InternalError, ShoalError

ITEMS = tuple(f"{letter}{number}" for letter in "abcd" for number in range(3))
ITEM_TREE = tuple((item, f"group {item[0]}", "any item") for item in ITEMS)
TOWNS = tuple((f"t{i}", f"county {i // 2}", f"land {i // 4}", "anywhere") for i in range(8))
DOORS = {"polars": 4, "text": 3, "cli": 3, "memory": 1}
ALGORITHMS = {"auto": 5, "mondrian": 5, "cluster": 2, "hilbert": 2, "peel": 2, "refine": 2, "lattice": 1}
KEY = "0123456789abcdef" * 4


@dataclass(frozen=True)
class HistoryCase:
    """Everything that is asked of Shoal, and how; what ``cases.Case`` has as well has the same name."""

    seed: int
    columns: tuple[Column, ...]
    models: tuple[tuple[str, dict[str, Any]], ...]
    algorithm: tuple[str, dict[str, Any]]
    options: dict[str, Any]
    """Arguments of ``shoal.anonymize`` about people."""
    suppress: float
    missing: str
    door: str
    extra: tuple[str, ...] = ()
    output: str = ""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)

    def name_role(self, role: str) -> list[str]:
        """Names of the columns of a role."""
        return [column.name for column in self.columns if column.role == role]


def case_of(seed: int) -> HistoryCase:
    """The case of a seed."""
    return draw(Random(f"histories {seed}"), seed)


def draw(random: Random, seed: int = -1) -> HistoryCase:
    """A case, with every choice taken from ``random``; mostly of what is not refused."""
    person = _draw_people(random)
    kind = random.choices(("linked", "unlinked", "sets"), (5, 2, 4))[0]
    columns = _draw_columns(random, person, kind)
    options: dict[str, Any] = {"person": "who"}
    if kind == "linked":
        options |= {"pseudonym": True, "knows": random.choice(("1", "1", "2", "2", "3", "all", "all"))}
        if random.random() < 0.3:
            options["align"] = "at"
    elif kind == "sets":
        options |= {"sets": {"dx": "|"}, "knows": random.choice(("1", "2", "2", "3", "all"))}
        if random.random() < 0.3:
            options["person"] = None
            columns = [replace(each, role="plain") if each.name == "who" else each for each in columns]
    if kind != "sets" and random.random() < 0.3:
        options["relative"] = random.choice(("at", "seen"))
    if options["person"] and random.random() < 0.4:
        columns = [*columns, _draw_groups(random, person)]
        options["group"] = "home"
    random.shuffle(columns)
    door = random.choices(list(DOORS), list(DOORS.values()))[0]
    if door == "memory" and (kind != "unlinked" or options.get("relative")) and random.random() < 0.95:
        door = "cli"
    return HistoryCase(
        seed,
        tuple(columns),
        tuple(_draw_models(random, options)),
        (random.choices(list(ALGORITHMS), list(ALGORITHMS.values()))[0], {}),
        options,
        random.choice((0.0, 0.0, 0.1, 0.3, 0.6)),
        random.choices(("category", "drop"), (9, 1))[0],
        door,
        tuple(name for name, share in {"shuffled": 0.25, "verify": 0.3}.items() if random.random() < share),
    )


def _draw_people(random: Random) -> list[str | None]:
    """The id of each row: some people have many rows, some ids are missing or spelt in two ways."""
    people = random.choice((2, 4, 6, 8, 12, 20, 30))
    most = random.choice((1, 2, 3, 3, 4, 8))
    ids: list[str | None] = []
    for number in range(people):
        mine = f"zq{number:09d}qz"
        rows = random.randint(1, most) if random.random() < 0.9 else 2 * most
        other = random.random() < 0.05
        ids += [mine.upper() + " " if other and random.random() < 0.5 else mine for _ in range(rows)]
    if random.random() < 0.2:  # somebody has half of all rows
        ids += ["zq999999999qz"] * min(len(ids), 25)
    if random.random() < 0.2:
        ids += [None] * random.randint(1, 4)
    if random.random() < 0.6:
        random.shuffle(ids)
    return ids


def _draw_columns(random: Random, person: list[str | None], kind: str) -> list[Column]:
    """Static columns, columns that change, one that changes for few, and what goes with the kind."""

    def draw_static(values: list[Any]) -> tuple[Any, ...]:
        of = {who: random.choice(values) for who in sorted({str(each).strip().lower() for each in person})}
        return tuple(
            random.choice(values) if each is None else of[str(each).strip().lower()] for each in person
        )

    rows = range(len(person))
    ages = [*range(20, 20 + random.choice((3, 10, 50))), None]
    columns = [
        Column("who", "person", "text", tuple(person)),
        Column("row", "plain", "int", tuple(rows)),
        Column("sex", "quasi", "flat", draw_static(["f", "m"])),
        Column("age", "quasi", "int", tuple(random.choice(ages) for _ in rows)),
    ]
    if random.random() < 0.5:
        towns = tuple(row[0] for row in TOWNS[: random.choice((2, 4, 8))])
        values = list(draw_static(list(towns)))
        if random.random() < 0.5:
            values[random.randrange(len(values))] = towns[0]
        columns.append(Column("town", "quasi", "tree", tuple(values), tree=TOWNS))
    first = date(2024, 1, 1)
    days = [first + timedelta(random.randrange(random.choice((5, 400)))) for _ in rows]
    columns.append(Column("at", random.choice(("quasi", "identifier")), "date", tuple(days)))
    seen = tuple(random.choice((None, *range(2000, 2006))) for _ in rows)
    columns.append(Column("seen", random.choice(("quasi", "identifier")), "int", seen))
    columns.append(Column("ill", "sensitive", "flat", tuple(random.choice(WORDS) for _ in rows)))
    if kind == "sets":
        tree = ITEM_TREE if random.random() < 0.5 else None
        columns.append(Column("dx", "set", "text", tuple(_draw_set(random) for _ in rows), tree=tree))
        kept = [each for each in columns if each.role != "quasi" or random.random() < 0.5]
        columns = kept
    return columns


def _draw_set(random: Random) -> str | None:
    if random.random() < 0.1:
        return random.choice((None, "", " ", "|", "||"))
    items = random.choices(ITEMS, [1 / (at + 1) for at in range(len(ITEMS))], k=random.randint(1, 5))
    return random.choice(("|", " | ", "| ")).join(items) + random.choice(("", "", "|"))


def _draw_groups(random: Random, person: list[str | None]) -> Column:
    """Households of up to three people, some of whom moved, and some of whom have none."""
    numbers = {who: at for at, who in enumerate(dict.fromkeys(str(each).strip().lower() for each in person))}
    size = random.choice((1, 2, 3))
    homes: list[str | None] = [f"h{numbers[str(each).strip().lower()] // size}" for each in person]
    for _ in range(random.choice((0, 0, 1, 3))):
        homes[random.randrange(len(homes))] = random.choice((None, "h0", "h1"))
    return Column("home", "group", "text", tuple(homes))


def _draw_models(random: Random, options: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A number of people, and where that can be kept a model of what they have."""
    if random.random() < 0.2:
        yield "max-risk", {"risk": random.choice((0.5, 0.3, 0.25))}
    else:
        yield "k", {"k": random.choice((2, 2, 3, 4, 5))}
    whole = options.get("knows", "1") == "all" or not (options.get("pseudonym") or options.get("sets"))
    if random.random() < (0.4 if whole else 0.02):
        yield random.choice((("distinct-l", {"l": 2}), ("alpha-k", {"alpha": 0.8, "k": 2})))


# Carrying it out.


def judge(case: HistoryCase) -> Outcome:
    """Carry a case out and judge what was written; raises ``UnsafeError`` if something is wrong."""
    with entry_points.folder() as place:
        (place / "key").write_text(KEY)
        (place / "key").chmod(0o600)
        outcome, report = _run(case, place, place / "out.csv", case.columns)
        if report is None:
            entry_points.nothing_but(place, {"key", "in.csv", "tree-dx.csv", "tree-town.csv"})
            return outcome
        asked = Asked(case.columns, case.models, case.suppress, case.missing, case.options)
        found = list(list_problems(asked, (place / "out.csv").read_bytes(), report, KEY))
        if "verify" in case.extra:
            found += _verify_again(case, place)
        if "shuffled" in case.extra:
            found += _run_shuffled(case, asked, place)
    if found:
        raise UnsafeError("\n".join(found[:8]))
    return outcome


def _run(
    case: HistoryCase, place: Path, output: Path, columns: tuple[Column, ...]
) -> tuple[Outcome, dict[str, Any] | None]:
    """A run that writes a file, and its report; none if it was refused."""
    if case.door in ("cli", "memory"):
        entry_points.write_text(place / "in.csv", columns)
        code, out, err = entry_points.in_process(_write_command(case, place, output))
        if code not in entry_points.CODES or "Traceback" in err:
            raise UnsafeError(f"exit code {code}: {err}")
        return Outcome(entry_points.CODES[code], err), None if code else json.loads(out)
    source: Any = pl.DataFrame([entry_points.series_of(each, each.values) for each in columns])
    if case.door == "text":
        entry_points.write_text(place / "in.csv", columns)
        source = place / "in.csv"
    try:
        release = shoal.anonymize(source, **_list_arguments(case, place), output=output)
    except InternalError:
        raise
    except ShoalError as error:
        return Outcome(type(error).__name__, str(error)), None
    return Outcome("release"), json.loads(json.dumps(release.report.to_dict()))


def _list_arguments(case: HistoryCase, place: Path) -> dict[str, Any]:
    """The arguments for ``shoal.anonymize``."""
    key = {"key_file": place / "key"} if case.options.get("pseudonym") else {}
    return {
        **{role: case.name_role(role) for role in ("quasi", "sensitive", "identifier", "plain")},
        "models": [entry_points.model_of(name, parameters, None) for name, parameters in case.models],
        "algorithm": case.algorithm[0],
        "hierarchies": {column.name: column.tree for column in case.columns if column.tree},
        "suppress": case.suppress,
        "missing": case.missing,
        "others": "drop",
        "threads": 1,
        **case.options,
        **key,
    }


def _write_command(case: HistoryCase, place: Path, output: Path) -> list[str]:
    """The same as a command line."""
    line = ["anonymize", str(place / "in.csv"), "-o", str(output), "--json", "--others", "drop"]
    for role in ("quasi", "sensitive", "identifier", "plain"):
        line += [part for name in case.name_role(role) for part in (f"--{role}", name)]
    for column in case.columns:
        if column.tree:
            path = place / f"tree-{column.name}.csv"
            path.write_text("".join(";".join(row) + "\n" for row in column.tree))
            line += ["--hierarchies", f"{column.name}={path}"]
    for name, parameters in case.models:
        line += ["--model", f"{name}({','.join(f'{key}={value}' for key, value in parameters.items())})"]
    for name, value in case.options.items():
        if name == "sets":
            line += [part for column, by in value.items() for part in ("--set", f"{column}={by}")]
        elif name == "pseudonym":
            line += ["--pseudonym", "--key-file", str(place / "key")]
        elif value is not None:
            line += [f"--{name}", str(value)]
    line += ["--algorithm", case.algorithm[0], "--suppress", str(case.suppress), "--missing", case.missing]
    return [
        *line,
        "--delimiter",
        ",",
        "--threads",
        "1",
        *(("--memory", "1GB") if case.door == "memory" else ()),
    ]


def _verify_again(case: HistoryCase, place: Path) -> Iterator[str]:
    """What `shoal.verify` finds in a file that says all that is needed to count people."""
    options = case.options
    given: dict[str, Any] = {"quasi": case.name_role("quasi"), "sensitive": case.name_role("sensitive")}
    if options.get("pseudonym") and not options.get("group"):
        given |= {"person": "who", "knows": options["knows"]}
    elif options.get("sets") and options["person"] is None:
        given |= {"sets": options["sets"], "knows": options["knows"]}
    else:
        return
    models = [entry_points.model_of(name, parameters, None) for name, parameters in case.models]
    if not shoal.verify(place / "out.csv", **given, models=models).holds:
        yield "verify finds that the written file does not hold"


def _run_shuffled(case: HistoryCase, asked: Asked, place: Path) -> Iterator[str]:
    """The order of the table leaves no trace: without row numbers, any order gives the same file."""
    whole = tuple(column for column in case.columns if column.name != "row")
    if not asked.has_several:  # with one row each, rows keep their order
        return
    if len(set(zip(*(column.values for column in whole), strict=True))) == case.rows and None in next(
        column.values for column in whole if column.name == "who"
    ):
        return  # people without an id are numbered in the order of their rows
    order = list(range(case.rows))
    Random(case.seed).shuffle(order)
    files = []
    for name, columns in (
        ("one.csv", whole),
        ("other.csv", tuple(replace(each, values=tuple(each.values[at] for at in order)) for each in whole)),
    ):
        outcome, report = _run(replace(case, columns=columns), place, place / name, columns)
        files.append((place / name).read_bytes() if report is not None else outcome.kind)
    sorts = case.options["person"] is not None
    same = files[0] == files[1] if sorts else _sort_lines(files[0]) == _sort_lines(files[1])
    if not same:
        yield f"another order of rows gave another file:\n{files[0]!r}\n{files[1]!r}"


def _sort_lines(content: Any) -> Any:
    return sorted(content.splitlines()) if isinstance(content, bytes) else content
