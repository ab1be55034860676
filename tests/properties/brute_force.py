"""All tables that a small table may become, enumerated in plain Python from the definitions, in fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import prod
from random import Random

TREE = {"low": ["a", "b"], "mid": ["c"], "high": ["d", "e", "f"]}
LEAVES = [leaf for group in TREE.values() for leaf in group]
STAR = "*"
MOST_TABLES = 6000

Value = int | float | str | None
Cell = tuple[str, frozenset]
"""How a cell is written, and the values that it covers."""
Goal = Callable[[list, list], bool]


@dataclass(frozen=True)
class SmallTable:
    """A table of a few rows, and what is asked for."""

    kinds: tuple[str, ...]
    columns: tuple[tuple[Value, ...], ...]
    weights: tuple[float, ...]
    loss: str
    k: int
    sensitive: tuple[int, ...]
    semantics: str = "classes"
    sets: bool = False
    model: str | None = None

    @property
    def rows(self) -> int:
        return len(self.sensitive)

    @property
    def worst(self) -> Fraction:
        """What the reported loss is a share of: a mean is one of the weights times the rows."""
        total = sum(abs(Fraction(str(weight))) for weight in self.weights) * self.rows
        return total or Fraction(1) if self.loss == "ncp" else Fraction(1)


def list_cells(table: SmallTable, j: int, row: int) -> list[tuple[Cell, Fraction]]:
    """What one cell may become, and what that costs before the weight."""
    column, value = table.columns[j], table.columns[j][row]
    every = frozenset(column)
    kept = [((str(value), frozenset([value])), Fraction(0))]
    # A constant column can be lost only if that is a gain; otherwise it is written in one way.
    star = [((STAR, every), Fraction(1))] if len(every) > 1 or table.weights[j] < 0 else []
    of_kind = {"number": _list_ranges, "flat": _list_sets, "tree": _list_nodes}[table.kinds[j]]
    return [*kept, *of_kind(table, column, value, every), *(star or _whole_tree(table, j))]


def _whole_tree(table: SmallTable, j: int) -> list[tuple[Cell, Fraction]]:
    return [((STAR, frozenset(table.columns[j])), Fraction(1))] if table.kinds[j] == "tree" else []


def _list_ranges(
    table: SmallTable, column: tuple, value: Value, every: frozenset
) -> Iterator[tuple[Cell, Fraction]]:
    numbers = sorted(number for number in every if number is not None)
    for first, last in combinations(numbers, 2):
        whole = len(numbers) == len(every) and (first, last) == (numbers[0], numbers[-1])
        if value is None or not first <= value <= last or whole:
            continue
        exact = [Fraction(str(number)) for number in (first, last, numbers[0], numbers[-1])]
        share = (exact[1] - exact[0]) / (exact[3] - exact[2])
        covered = frozenset(number for number in numbers if first <= number <= last)
        yield (f"{first}..{last}", covered), Fraction(1) if table.loss == "distortion" else share


def _list_sets(
    table: SmallTable, column: tuple, value: Value, every: frozenset
) -> Iterator[tuple[Cell, Fraction]]:
    if not table.sets:
        return
    others = sorted(every - {value}, key=str)
    for size in range(1, len(others)):
        for chosen in combinations(others, size):
            cost = Fraction(1) if table.loss == "distortion" else Fraction(size, len(every) - 1)
            yield ("set", frozenset([value, *chosen])), cost


def _list_nodes(
    table: SmallTable, column: tuple, value: Value, every: frozenset
) -> Iterator[tuple[Cell, Fraction]]:
    for name, leaves in TREE.items():
        if value in leaves and len(leaves) > 1:
            # The missing value is one more leaf under the root.
            all_leaves = len(LEAVES) + (None in every)
            cost = {
                "distortion": Fraction(1),
                "certainty": Fraction(len(TREE), len(every)),
                "ncp": Fraction(len(leaves) - 1, all_leaves - 1),
            }[table.loss]
            yield (name, frozenset(leaves)), cost


def list_row_options(table: SmallTable, row: int) -> list[tuple[tuple[Cell, ...], Fraction]]:
    """Every way to write a row, and its cost."""
    cells = [list_cells(table, j, row) for j in range(len(table.columns))]
    weights = [Fraction(str(weight)) for weight in table.weights]
    return [
        (
            tuple(cell for cell, _ in box),
            sum((w * cost for w, (_, cost) in zip(weights, box, strict=True)), Fraction(0)),
        )
        for box in product(*cells)
    ]


def is_permitted_by_classes(table: SmallTable, cells: list[tuple[Cell, ...]], goal: Goal) -> bool:
    """Whether all rows that are written alike are enough, and release no set but that of their values."""
    for box, size in Counter(cells).items():
        rows = [i for i, other in enumerate(cells) if other == box]
        if size < table.k or not goal([table.sensitive[i] for i in rows], list(table.sensitive)):
            return False
        for j, (name, covered) in enumerate(box):
            if name == "set" and covered != {table.columns[j][i] for i in rows}:
                return False
    return True


@cache
def has_enough_matchings(covers: tuple[tuple[bool, ...], ...], k: int) -> bool:
    """Whether every row is assigned to ``k`` rows in some perfect matching, by trying all of them."""
    n = len(covers)
    perfect = [p for p in permutations(range(n)) if all(covers[i][p[i]] for i in range(n))]
    return all(len({p[i] for p in perfect}) >= k for i in range(n))


def is_permitted_by_matching(table: SmallTable, cells: list[tuple[Cell, ...]]) -> bool:
    """Whether every row could be ``k`` of the original rows."""
    original = list(zip(*table.columns, strict=True))
    covers = tuple(
        tuple(all(value in covered for value, (_, covered) in zip(row, box, strict=True)) for row in original)
        for box in cells
    )
    return has_enough_matchings(covers, table.k)


def find_optimum(table: SmallTable, goal: Goal = lambda values, whole: True) -> tuple[Fraction | None, int]:
    """The least cost, and how many tables have it, by looking at every table; None if none is permitted."""
    options = [list_row_options(table, row) for row in range(table.rows)]
    best: Fraction | None = None
    count = 0
    for choice in product(*options):
        cost = sum((cost for _, cost in choice), Fraction(0))
        if best is not None and cost > best:
            continue
        cells = [box for box, _ in choice]
        if table.semantics == "matching":
            fine = is_permitted_by_matching(table, cells)
        else:
            fine = is_permitted_by_classes(table, cells, goal)
        if fine:
            count = count + 1 if cost == best else 1
            best = cost
    return best, count


def draw_table(seed: int, models: list[str]) -> SmallTable:
    """A random table with few enough generalisations to look at all of them."""
    random = Random(seed)
    while True:
        table = _draw_any_table(random, models)
        ways = prod(len(list_row_options(table, row)) for row in range(table.rows))
        if ways <= MOST_TABLES:
            return table


def _draw_any_table(random: Random, models: list[str]) -> SmallTable:
    rows = random.randint(2, 5)
    kinds = tuple(random.choice(["number", "number", "flat", "tree"]) for _ in range(random.randint(1, 3)))
    columns = tuple(_draw_column(random, kind, rows) for kind in kinds)
    semantics = random.choice(["classes", "matching"])
    by_classes = semantics == "classes"
    return SmallTable(
        kinds,
        columns,
        _draw_weights(random, len(kinds)),
        random.choice(["ncp", "certainty", "distortion"]),
        random.randint(1, min(3, rows)),
        tuple(random.randint(1, 3) for _ in range(rows)),
        semantics,
        by_classes and random.random() < 0.3,
        random.choice(models) if by_classes and random.random() < 0.4 else None,
    )


def _draw_column(random: Random, kind: str, rows: int) -> tuple[Value, ...]:
    missing = 0.15 if random.random() < 0.3 else 0.0
    values = {
        "number": random.choice([[0, 1, 2, 3], [-5, 0, 7, 1000], [0.1, 0.2, 0.3, -1.5, 7.7]]),
        "flat": ["x", "y", "z"],
        "tree": LEAVES,
    }[kind]
    if random.random() < 0.1:
        values = values[:1]
    column = tuple(None if random.random() < missing else random.choice(values) for _ in range(rows))
    # A column without any value has no type that could be told.
    return column if set(column) != {None} else (values[0], *column[1:])


def _draw_weights(random: Random, columns: int) -> tuple[float, ...]:
    """Weights of one scale, of any scale each, or plain ones; some are 0 or negative."""
    how = random.choice(["plain", "scaled", "mixed"])
    scale = random.randint(-12, 12)

    def draw_weight() -> float:
        digits = random.choice([1, 1, 1, 2, 3, 5, 20, 0.5, 0, -1, -3])
        power = {"plain": 0, "scaled": scale, "mixed": random.randint(-12, 12)}[how]
        return float(f"{digits}e{power}")

    return tuple(draw_weight() for _ in range(columns))
