"""Random cases: a table, roles, a goal, a way to search and a way in. All of a case follows from one seed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from tests.entries import read_example

from shoal.algorithms import ALGORITHMS as ALL_ALGORITHMS
from shoal.codespace.loss import LOSSES as ALL_LOSSES
from shoal.privacy import MODELS as ALL_MODELS
from shoal.privacy import model_parameters, parse_model

WORDS = ("flu", "cold", "asthma", "gout", "none", "fever")
ODD = (
    "a, b", "{c}", '"quoted"', "it's", " space ", "tab\there", "two\nlines", "[1-2]", "*", "=1+1", "-x",
    "@cmd", "ß", "Ünïcödé", "日本", "🐟", "👩‍👩‍👧", "é", "é", "مرحبا", "\u200b", "x" * 40, "NA", "?",
    "<b>x</b>", "a;b", "a|b", "null", "..", "a..b", "^a$", "$a", "\\", "%s", "0x1", "1e5x", "O'Neil, Jr.",
)  # fmt: skip
NAMES = ("age", "job", "zip", "a b", "naïve", "^x$", "*", "x,y", "Age", "日付", "size", "q.1", "col=1", "0")
LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Column:
    """A column and what is told of it."""

    name: str
    role: str
    kind: str
    values: tuple[Any, ...]
    order: tuple[str, ...] | None = None
    tree: tuple[tuple[str, ...], ...] | None = None
    """Rows of a hierarchy, each from a value to the root."""
    type: str | None = None
    """The type that is stated, if one is."""
    people: tuple[Any, ...] = ()
    """Further values, of people in the population who are not in the table."""


@dataclass(frozen=True)
class Case:
    """Everything that is asked of Shoal."""

    seed: int
    columns: tuple[Column, ...]
    models: tuple[tuple[str, dict[str, Any]], ...]
    algorithm: tuple[str, dict[str, Any]]
    loss: str = "ncp"
    weights: dict[str, float] = field(default_factory=dict)
    suppress: float = 0.0
    missing: str = "category"
    na: tuple[str, ...] = ()
    render: str = "label"
    run_seed: int = 0
    door: str = "polars"
    extra: tuple[str, ...] = ()
    """What else is tried with the case, such as running it twice."""
    output: str = ""
    """The format in which the release is written and judged; none for a frame in memory."""
    index: tuple[str, ...] = ()
    """Columns that are the index of a pandas frame."""
    attached: bool = False
    """Whether attributes or metadata come with the table."""
    row_order: str = "keep"

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)

    def named(self, role: str) -> list[str]:
        """Names of the columns of a role."""
        return [column.name for column in self.columns if column.role == role]

    @property
    def with_population(self) -> bool:
        """Whether a model compares with a population."""
        return any(name in ("k-map", "delta-presence") for name, _ in self.models)


def case_of(seed: int) -> Case:
    """The case of a seed."""
    return draw(Random(seed), seed)


def draw(random: Random, seed: int = -1) -> Case:
    """A case, with every choice taken from ``random``."""
    rows = random.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 12, 14, 16, 18, 20, 24, 30, 40))
    algorithm = _algorithm_name(random)
    if algorithm in ("mingen", "genetic"):
        rows = min(rows, 10)
    columns = _columns(random, rows, algorithm)
    names = [column.name for column in columns if column.role == "quasi"]
    sensitive = [column for column in columns if column.role == "sensitive"]
    models = draw_models(random, algorithm, sensitive)
    if any(name in ("k-map", "delta-presence") for name, _ in models):
        columns = add_people(random, columns)
    parameters = draw_parameters(random, algorithm, columns)
    found = Case(
        seed,
        tuple(columns),
        tuple(models),
        (algorithm, parameters),
        loss=random.choice(LOSSES) if random.random() < 0.3 else "ncp",
        weights=_weights(random, names, algorithm) if random.random() < 0.2 else {},
        suppress=random.choice((0.05, 0.1, 0.3, 0.5, 1.0)) if random.random() < 0.4 else 0.0,
        missing=random.choice(("category",) * 8 + ("drop", "error")),
        na=random.choice(((),) * 5 + (("?",), ("NA", "none"))),
        render=random.choice(("label",) * 5 + ("interval", "set", "representative")),
        run_seed=random.choice((0, 0, 1, 7, random.randrange(2**31))),
        door=_door(random, columns),
        extra=tuple(name for name, share in EXTRAS.items() if random.random() < share),
    )
    return adapt_to_safepub(random, found) if algorithm == "safepub" else found


PEOPLE_EXTRAS = ("again",)  # others count rows in a release that does not say whose they are
NEAR = ("p1 ", "P1", "p\u200b1", "\uff301", "1", "1.0", "01", "+1", "unknown", "NA", "?", " ", "")


def people_case_of(seed: int) -> Case:
    """A case in which people have several rows, as follows from a seed."""
    return draw_people(Random(f"people {seed}"), seed)


def draw_people(random: Random, seed: int = -1) -> Case:
    """The same, with every choice taken from ``random``; nearly always of what is not refused."""
    found = draw(random, seed)
    while not _counts_people(found) and random.random() < 0.98:
        found = draw(random, seed)
    whose = Column("whose", "person", *_draw_ids(random, found.rows))
    place = random.randrange(len(found.columns) + 1)
    extra = tuple(name for name in found.extra if name in PEOPLE_EXTRAS)
    columns = (*found.columns[:place], whose, *found.columns[place:])
    counted = ALL_ALGORITHMS[found.algorithm[0]].works_on_counted_rows and not found.with_population
    door = "memory" if counted and random.random() < 0.3 else found.door
    missing = "category" if door == "memory" and random.random() < 0.95 else found.missing
    return replace(found, columns=columns, extra=extra, door=door, missing=missing)


def _counts_people(case: Case) -> bool:
    return ALL_ALGORITHMS[case.algorithm[0]].counts_people


def _draw_ids(random: Random, rows: int) -> tuple[str, tuple[Any, ...]]:
    """Ids that repeat: evenly, of one who has most rows, next to each other, nearly the same, or missing."""
    people = random.choice((1, 2, 3, rows // 3 + 1, rows // 2 + 1, rows, 4 * rows))
    numbers = random.random() < 0.4
    pool: list[Any] = [random.randrange(10**6) if numbers else f"P{i}" for i in range(people)]
    if not numbers and random.random() < 0.3:
        pool += random.sample(NEAR, random.randint(1, len(NEAR)))
    if random.random() < 0.3:
        pool = [*pool, *[pool[0]] * (2 * len(pool))]
    if random.random() < 0.3:
        pool += [None] * random.choice((1, len(pool)))
    ids = [random.choice(pool) for _ in range(rows)]
    if random.random() < 0.5:
        ids.sort(key=repr)
    return ("int" if numbers else "text"), tuple(ids)


def adapt_to_safepub(random: Random, case: Case) -> Case:
    """Most cases as they are not refused: by unknown chance, without what looks at the table."""
    if random.random() < 0.1:
        return case
    missing = "category" if case.missing == "error" else case.missing
    render = case.render if case.render in ("label", "interval") else "label"
    case = replace(case, loss="ncp", missing=missing, render=render, run_seed=0)
    return search_levels(random, case) if random.random() < 0.3 else case


def search_levels(random: Random, case: Case) -> Case:
    """The same, with levels that are drawn for a part of epsilon, from ranges or from all."""
    models = tuple(
        (name, {**given, "search": given["epsilon"] * random.choice((0.01, 0.2, 0.5))})
        if name == "safepub"
        else (name, given)
        for name, given in case.models
    )
    name, parameters = case.algorithm
    first = parameters["levels"].split(",")[0].rpartition("=")[0]
    levels = random.choice(("", f"{first}=0..", f"{first}=..1"))
    return replace(case, models=models, algorithm=(name, {**parameters, "levels": levels}))


def add_absent(listed: dict[str, int], table: Iterable[str], share: int) -> dict[str, int]:
    """Shares of all entries of a table: those that have none here get ``share``."""
    return {**listed, **{name: share for name in table if name not in listed}}


_LOSSES = (
    "ncp", "span-ncp", "precision", "height", "generalised", "certainty", "distortion", "entropy",
    "discernibility", "class-size", "squared-error",
)  # fmt: skip
LOSSES = tuple(add_absent(dict.fromkeys(_LOSSES, 1), ALL_LOSSES, 1))
EXTRAS = {"again": 0.06, "verify": 0.06, "measure": 0.03, "apply": 0.03, "risk": 0.01, "write": 0.03}
DOORS = {"polars": 68, "pandas": 4, "pyarrow": 3, "lazy": 2, "text": 8, "cli": 14, "recipe": 1}
_SHARES = {
    "mondrian": 34, "hilbert": 8, "cluster": 7, "auto": 6, "peel": 6, "lattice": 8, "datafly": 7,
    "samarati": 5, "refine": 5, "mingen": 2, "genetic": 3, "microaggregate": 4, "tree": 3, "safepub": 2,
}  # fmt: skip
ALGORITHMS = add_absent(_SHARES, ALL_ALGORITHMS, 3)


def _weighted(random: Random, shares: dict[str, int]) -> str:
    return random.choices(list(shares), list(shares.values()))[0]


def _algorithm_name(random: Random) -> str:
    return _weighted(random, ALGORITHMS)


def _door(random: Random, columns: list[Column]) -> str:
    if random.random() < 0.0005:
        return random.choice(("process", "memory"))
    return _weighted(random, DOORS)


# Columns.


def _columns(random: Random, rows: int, algorithm: str) -> list[Column]:
    names = random.sample(NAMES, len(NAMES)) if random.random() < 0.3 else [f"c{i}" for i in range(9)]
    quasi = [
        draw_quasi(random, names[i], rows, algorithm)
        for i in range(random.choice((1, 1, 1, 2, 2, 2, 2, 3, 4)))
    ]
    if algorithm == "safepub":
        return quasi
    wanted = random.choice((0, 1, 1, 1, 1, 2))
    sensitive = [draw_sensitive(random, "s" if i == 0 else "s 2", rows) for i in range(wanted)]
    others = [Column("row", "plain", "id", tuple(range(rows)))]
    if random.random() < 0.3:
        pool = (*ODD, *WORDS, "", None)
        kept = tuple(random.choice(pool) for _ in range(rows))
        others.append(Column("note", random.choice(("plain", "identifier")), "text", kept))
    columns = [*quasi, *sensitive, *others]
    random.shuffle(columns)
    return columns


def draw_quasi(random: Random, name: str, rows: int, algorithm: str) -> Column:
    kinds = ("int", "int", "float", "date", "flat", "flat", "odd", "tree", "tree", "ordered", "bool", "code")
    if algorithm == "microaggregate":
        kinds = ("int", "float", "date", "ordered")
    kind = random.choice((*kinds, "datetime") if random.random() < 0.1 and algorithm != "safepub" else kinds)
    tree = _tree(random) if kind == "tree" else None
    pool = _pool(random, kind, rows, tree)
    values = _filled(random, pool, rows)
    stated = "string" if kind in ("int", "code") and random.random() < 0.08 else None
    if algorithm == "safepub" and random.random() < 0.98:  # which would refuse most of what is not stated
        own = {"int": "integer", "float": "float", "date": "date", "bool": "boolean"}
        return Column(name, "quasi", kind, values, None, tree, stated or own.get(kind, "string"))
    order = tuple(random.sample(ORDER, len(ORDER))) if kind == "ordered" else None
    return Column(name, "quasi", kind, values, order, tree, stated)


CODES = (("01", "02", "010"), ("1", "7", "1.0", "9a"), ("1", "12", "NA", "30"), ("5", "?7", "6", "8.5"))
ORDER = ("XS", "S", "M", "L", "XL")


def _pool(random: Random, kind: str, rows: int, tree: tuple[tuple[str, ...], ...] | None) -> list[Any]:
    size = random.choice((1, 2, 3, 4, 6, 10, rows))
    makers = {
        "int": lambda: _numbers(random, size),
        "float": lambda: _floats(random, size),
        "date": lambda: [date(2000, 1, 1) + timedelta(random.randrange(-9000, 9000)) for _ in range(size)],
        "datetime": lambda: [
            datetime(2020, 1, 1) + timedelta(seconds=random.randrange(10**8)) for _ in range(size)
        ],
        "flat": lambda: [random.choice(LETTERS) * random.choice((1, 1, 2)) for _ in range(size)],
        "odd": lambda: [random.choice(ODD) for _ in range(size)],
        "ordered": lambda: [random.choice(ORDER) for _ in range(size)],
        "bool": lambda: [True, False],
        "code": lambda: [random.choice(random.choice(CODES)) for _ in range(size)],
        "tree": lambda: [row[0] for row in tree or ()] + ["stray"] * (random.random() < 0.2),
    }
    return makers[kind]()


def _numbers(random: Random, size: int) -> list[int]:
    low, high = random.choice(((0, 9), (-9, 9), (0, 99), (-1000, 10**6), (2**62, 2**62 + 40), (0, 10**15)))
    return [random.randint(low, high) for _ in range(size)]


def _floats(random: Random, size: int) -> list[float]:
    makers = (
        lambda: round(random.uniform(-5, 5), 1),
        lambda: round(random.gauss(0, 1000), 3),
        lambda: random.choice((0.0, -0.0, 1e-7, 2.5e-7, 1e12, -1e300, 1.7e308)),
        lambda: float(random.randint(0, 20)),
    )
    make = random.choice(makers)
    return [make() for _ in range(size)]


def _filled(random: Random, pool: list[Any], rows: int) -> tuple[Any, ...]:
    """Values for all rows: even, skewed or all different as far as they go, with missing ones or not."""
    if random.random() < 0.25:
        pool = [*pool, None]
    if random.random() < 0.1:
        return tuple(pool[i % len(pool)] for i in range(rows))
    if random.random() < 0.3:
        pool = [*pool, *[pool[0]] * (3 * len(pool))]
    return tuple(random.choice(pool) for _ in range(rows))


def _tree(random: Random) -> tuple[tuple[str, ...], ...]:
    leaves = [f"v{i}" for i in range(random.randint(1, 9))]
    if random.random() < 0.2:
        leaves = [str(i) for i in range(len(leaves))]
    groups = [random.randrange(4) for _ in leaves]
    above = [random.randrange(2) for _ in range(4)]
    tall = random.random() < 0.4
    root = random.choice(("*", "*", "any"))
    short = random.random() < 0.1  # some rows lack a level
    rows = []
    for leaf, group in zip(leaves, groups, strict=True):
        middle = [f"g{group}", *([f"h{above[group]}"] if tall else [])]
        rows.append((leaf, *(middle[1:] if short and group == 3 else middle), root))
    return tuple(rows)


def draw_sensitive(random: Random, name: str, rows: int) -> Column:
    kind = random.choice(("flat", "flat", "flat", "int", "ordered", "tree", "numeral"))
    tree = _tree(random) if kind == "tree" else None
    size = random.choice((1, 2, 3, 4, 6, rows))
    pool: list[Any] = {
        "flat": lambda: list(random.sample(WORDS, min(size, len(WORDS)))),
        "int": lambda: [random.randrange(9) for _ in range(size)],
        "ordered": lambda: list(random.sample(ORDER, min(size, len(ORDER)))),
        "tree": lambda: [row[0] for row in tree or ()],
        "numeral": lambda: ["1", "1.0", "2", "2.50", "2.5", "3"][: size + 1],
    }[kind]()
    if random.random() < 0.2:
        pool += [None, ""] if kind == "flat" else [None]
    if random.random() < 0.4:
        pool = [*pool, *[pool[0]] * (2 * len(pool))]
    values = tuple(random.choice(pool) for _ in range(rows))
    return Column(name, "sensitive", kind, values, ORDER if kind == "ordered" else None, tree)


def add_people(random: Random, columns: list[Column]) -> list[Column]:
    """The same columns with a population: everybody in the table, and others."""
    rows = len(columns[0].values)
    more = random.choice((0, rows, 2 * rows, 5 * rows))
    found = []
    for column in columns:
        if column.role != "quasi":
            found.append(column)
            continue
        pool = [*column.values]
        if column.kind in ("int", "flat") and random.random() < 0.5:
            pool += _pool(random, column.kind, rows, None)
        people = tuple(random.choice(pool) for _ in range(more))
        found.append(
            Column(**{**{k: getattr(column, k) for k in column.__dataclass_fields__}, "people": people})
        )
    return found


# Goals.


def draw_models(random: Random, algorithm: str, sensitive: list[Column]) -> list[tuple[str, dict[str, Any]]]:
    if algorithm == "safepub":
        goal: list[tuple[str, dict[str, Any]]] = [
            (
                "safepub",
                {"epsilon": random.choice((0.5, 1.0, 2.0, 4.0)), "delta": random.choice((0.1, 0.5, 0.9))},
            )
        ]
        return goal + ([("k", {"k": 2})] if random.random() < 0.3 else [])
    if algorithm in ("mingen", "genetic") and random.random() < 0.3:
        return [("k", {"k": random.choice((2, 3))})]
    count = random.choice((1, 1, 1, 2, 2, 3))
    if algorithm == "tree" and not sensitive:
        return [("k", {"k": 2})]
    goal = []
    while len(goal) < count:
        name = random.choice(ABOUT_VALUES if sensitive and random.random() < 0.55 else ABOUT_ROWS)
        if name in ("k-map", "delta-presence") and random.random() < 0.7:
            name = "k"
        goal.append((name, _asked(random, name, sensitive)))
    return goal


_VALUES = (
    "distinct-l", "entropy-l", "recursive-cl", "alpha-k", "t", "basic-beta", "enhanced-beta",
    "delta-disclosure", "p-sensitive",
)  # fmt: skip
_ROWS = ("k", "k", "k", "k", "k-map", "delta-presence", "max-risk", "average-risk", "uniqueness")
_NEW = [name for name in ALL_MODELS if name not in (*_VALUES, *_ROWS, "safepub")]
ABOUT_VALUES = (*_VALUES, *(name for name in _NEW if ALL_MODELS[name].sensitive))
ABOUT_ROWS = (*_ROWS, *(name for name in _NEW if not ALL_MODELS[name].sensitive))


_WORDS = ("form", "estimator", "attack")  # parameters whose values are words


def _asked(random: Random, name: str, sensitive: list[Column]) -> dict[str, Any]:
    """Parameters of a model: mostly within reach, sometimes hard, now and then nonsense."""
    wild = random.random() < 0.02
    choices: dict[str, dict[str, tuple[Any, ...]]] = {
        "k": {"k": (2, 2, 3, 4, 5, 10, 100)},
        "distinct-l": {"l": (2, 2, 3, 4)},
        "p-sensitive": {"p": (2, 2, 3)},
        "entropy-l": {
            "l": (1.2, 1.5, 2, 2.5, 3),
            "estimator": ("shannon", "shannon", "grassberger"),
        },
        "recursive-cl": {"c": (0.5, 1, 1.5, 2, 3, 4.1), "l": (2, 2, 3)},
        "alpha-k": {"alpha": (0.4, 0.5, 0.6, 0.75, 0.9), "k": (1, 2, 3)},
        "t": {"t": (0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 0, 1)},
        "basic-beta": {"beta": (0.3, 0.5, 1, 2, 4)},
        "enhanced-beta": {"beta": (0.3, 0.5, 1, 2, 4)},
        "delta-disclosure": {"delta": (0.5, 1, 2, 3), "form": ("strict", "lenient")},
        "k-map": {"k": (2, 3, 5)},
        "delta-presence": {"low": (0, 0, 0.1), "high": (0.3, 0.5, 0.7, 1)},
        "max-risk": {"risk": (0.1, 0.2, 0.34, 0.5)},
        "average-risk": {"risk": (0.1, 0.2, 0.34, 0.5, 0.9)},
        "uniqueness": {"share": (0, 0.05, 0.2, 0.5)},
        "k-of-any": {"m": (1, 2, 2, 3), "k": (2, 3, 5)},
        "population-uniqueness": {"share": (0, 0.05, 0.3), "fraction": (0.01, 0.1, 0.5, 1)},
        "profitability": {
            "gain": (300, 10),
            "cost": (4, 100, 150),
            "benefit": (1200, 100),
            "loss": (300, 1000),
            "attack": ("none", "permitted"),
        },
        "k-map-weights": {"k": (2, 5, 10.5, 30)},
        "k-map-estimate": {
            "k": (2, 3, 5, 20),
            "fraction": (0.01, 0.1, 0.5, 1),
            "estimator": ("poisson", "zero-truncated-poisson"),
            "significance": (0.01, 0.1, 0.4),
        },
    }
    if name not in choices:  # as its page shows it
        shown = model_parameters(parse_model(read_example(name)))
        return {key: value for key, value in shown.items() if key != "column"}
    asked = {key: random.choice(values) for key, values in choices[name].items()}
    if wild:
        asked = {key: random.choice((0, 1, -1, 10**9, 1e-9)) for key in asked if key not in _WORDS}
    if name == "t":
        asked["distance"] = random.choice(("equal", "equal", "ordered", "hierarchical"))
    if name in ABOUT_VALUES and (name == "k-map-weights" or random.random() < 0.5):
        asked["column"] = random.choice(sensitive).name
    return asked


# Searches.


def draw_parameters(random: Random, algorithm: str, columns: list[Column]) -> dict[str, Any]:
    quasi = [column for column in columns if column.role == "quasi"]
    found = _search_parameters(random, algorithm)
    if algorithm == "safepub":
        found["levels"] = ",".join(f"{column.name}={_level(random, column)}" for column in quasi)
        found |= {"seed": random.randrange(9)} if random.random() < 0.2 else {}
    if algorithm in ("lattice", "datafly", "samarati") and random.random() < 0.2:
        column = random.choice(quasi)
        found["levels"] = f"{column.name}={random.choice(('0', '1', '..1', '1..', '0..2'))}"
    if algorithm in ("lattice", "datafly", "samarati") and random.random() < 0.1:
        column = random.choice(quasi)
        found["coding"] = f"{column.name}={random.choice(('2..7', '..5', '3..'))}"
    if algorithm == "tree" and random.random() < 0.5:
        found["target"] = random.choice(columns).name
    return found


def _level(random: Random, column: Column) -> int:
    return random.randrange(len(column.tree[0])) if column.tree else 0


def _search_parameters(random: Random, algorithm: str) -> dict[str, Any]:
    pick = random.choice
    if random.random() < 0.3 and algorithm not in ("mingen", "genetic", "auto"):
        return {}
    choices: dict[str, dict[str, Any]] = {
        "mondrian": {"mode": pick(("strict", "relaxed")), "cut": pick(("classic", "nearest", "greedy"))},
        "cluster": {"cell": pick((0, 1, 8, 1600)), "sweeps": pick((0, 1, 4))},
        "auto": {"seconds": 0.002},
        "peel": {"vectors": pick((1, 5, 200)), "sweeps": pick((0, 1, 4))},
        "lattice": {"others": pick((0, 2, 5))},
        "refine": {"start": pick(("mondrian", "hilbert")), "sweeps": pick((0, 1, 4))},
        "microaggregate": {
            "centre": pick(("mean", "median")),
            "cell": pick((0, 4, 20000)),
            "sweeps": pick((0, 1, 50)),
        },
        "mingen": {
            "iterations": pick((1, 20, 200)),
            "limit": pick((1, 3)),
            "semantics": pick(("classes", "classes", "matching")),
            "sets": random.random() < 0.2,
        },
        "genetic": {
            "population": pick((2, 5)),
            "generations": pick((1, 4)),
            "semantics": pick(("classes", "classes", "matching")),
        },
        "tree": {
            "failing": pick(("merge", "merge", "delete")),
            "grow": pick(("quasi", "all")),
            "split": random.random() < 0.5,
            "gain": pick((0, 16, 1)),
            "sweeps": pick((0, 0, 1)),
        },
    }
    return choices.get(algorithm, {})


def _weights(random: Random, names: list[str], algorithm: str) -> dict[str, float]:
    values = (0, 0.5, 1, 10, 1000) if algorithm not in ("mingen", "genetic") else (0, 1, 10, -1)
    return {name: random.choice(values) for name in names if random.random() < 0.7}
