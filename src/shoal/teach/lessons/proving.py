"""The lessons on proofs: dominance, bounds, and a mixed-integer program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb, inf, prod
from typing import Any, Unpack

from shoal.errors import InputError
from shoal.teach.lessons.lesson import Lesson, Trace, count_things, show_loss
from shoal.teach.lessons.searching import check_goal
from shoal.teach.reading import ColumnSettings, read_for_lesson
from shoal.teach.tables import Labels, Row, TeachingTable, write_labels
from shoal.teach.textbook.branching import RowBranching, RowOption, list_row_options, sift_options
from shoal.teach.textbook.program import Group, Program, list_groups

_FOUR: ColumnSettings = {"quasi": ("age", "sex", "job"), "rows": 4}
_NINE: ColumnSettings = {"quasi": ("age", "hours"), "rows": 9}
_MOST_WAYS = 20_000  # to write one row
_MOST_GROUPS = 400
_MOST_STATES = 200_000


def find_useful_options(
    table: Any = None, k: int = 2, *, row: int = 1, steps: int = 400, **columns: Unpack[ColumnSettings]
) -> Lesson:
    """Go through every way to write one row, and keep what no other way beats.

    A way is useless if it covers fewer than k people, or if another one covers the same people and more for
    no more loss.

    Parameters
    ----------
    table : path or frame, optional
        A small table; by default four of the people that ship with Shoal.
    k : int
    row : int
        Which row, from 1.
    steps : int
        How many steps are kept for the player.
    **columns
        What is said about the columns, as for `brute_force`.
    """
    small = _read_table(table, columns, _FOUR, k)
    if not 1 <= row <= len(small.people):
        raise InputError(f"there is no row {row}: the table has {len(small.people)} rows")
    every = list_row_options(small, row - 1)
    trace = Trace(steps)
    points: list[tuple[int, float]] = []
    for option, better, kept in sift_options(every, k):
        kind = "unsafe" if len(option.people) < k else "cut" if better else "best"
        points.append((len(option.people), option.loss / small.unit))
        places = sorted({(len(each.people), each.loss / small.unit) for each in kept})
        cells = (*small.people[: row - 1], write_labels([option.cells])[0], *small.people[row:])
        trace.add(
            kind,
            _describe_option(row, k, small, option, better, kind),
            cells,
            figures={"ways": len(points), "kept": len(kept)},
            picture={"points": list(points), "kept": places, "k": k, "people": len(small.people)},
        )
    left = [len(RowBranching(small, k, _ignore).useful[each]) for each in range(len(small.people))]
    figures = {
        "k": k,
        "row": row,
        "ways": len(every),
        "useful": left[row - 1],
        "ways_per_row": [prod(map(len, each)) for each in small.options],
        "useful_per_row": left,
        "tables": small.search_space,
        "useful_tables": prod(left),
    }
    return Lesson("dominance", small, tuple(trace.steps), figures)


def _read_table(table: Any, columns: ColumnSettings, shipped: ColumnSettings, k: int) -> TeachingTable:
    small = read_for_lesson(table, shipped, columns)
    check_goal(small, k)
    if (ways := max(prod(map(len, row)) for row in small.options)) > _MOST_WAYS:
        raise InputError(
            f"a row of this table can be written in {ways:,} ways, and a lesson goes through {_MOST_WAYS:,} "
            "at most: take fewer columns or rows"
        )
    return small


def _ignore(*_: Any) -> None:
    pass


def _describe_option(
    row: int, k: int, table: TeachingTable, option: RowOption, better: RowOption | None, kind: str
) -> str:
    said = f"Row {row} as “{_show_row(option.cells)}” covers {count_things(len(option.people), 'row')} "
    said += f"({_show_rows(sorted(option.people))}) and loses {show_loss(option.loss, table.unit)}"
    if kind == "unsafe":
        return f"{said}: too few for k = {k}."
    if kind == "cut" and better is not None:
        loss = show_loss(better.loss, table.unit)
        return f"{said}: useless, since “{_show_row(better.cells)}” covers as much for {loss}."
    return f"{said}: keep it."


def branch_and_bound(
    table: Any = None, k: int = 2, *, steps: int = 200, **columns: Unpack[ColumnSettings]
) -> Lesson:
    """Find a table of least loss by matching: a useful way to write one row after the other.

    A branch is cut off if what it loses at least reaches the best table so far; or if it fails even when all
    other rows cover everybody.

    Parameters
    ----------
    table : path or frame, optional
        A small table; by default four of the people that ship with Shoal.
    k : int
    steps : int
        How many steps are kept for the player.
    **columns
        What is said about the columns, as for `brute_force`.
    """
    small = _read_table(table, columns, _FOUR, k)
    trace = Trace(steps)

    def tell(kind: str, search: RowBranching, chosen: Sequence[RowOption], bound: int) -> None:
        if search.count["visited"] > _MOST_STATES:
            raise InputError(
                f"{_MOST_STATES:,} states are visited and the search is not over: take fewer rows, or let "
                "'shoal anonymize --algorithm mingen --set semantics=matching' prove it"
            )
        row, written = len(chosen), _show_row(chosen[-1].cells)
        least = show_loss(bound, small.unit)
        text = {
            "change": f"Row {row} becomes “{written}”: the whole table loses {least} at least.",
            "cut by score": f"Cut: with row {row} as “{written}” it loses {least} or more, like the best.",
            "cut by k": f"Cut: with row {row} as “{written}” it fails, whatever the rows below cover.",
            "best": f"A new best table: it is safe and loses {least}.",
        }[kind]
        cells: Labels = (*write_labels([each.cells for each in chosen]), *small.people[row:])
        shown = {
            "states": search.count["visited"],
            "at least": least,
            "best": show_loss(search.best, small.unit),
        }
        trace.add(kind, text, cells, figures=shown, depth=row - 1)

    search = RowBranching(small, k, tell)
    if all(search.useful):
        search.choose_rows()
    figures = {
        "k": k,
        "loss": None if search.best == inf else search.best / small.unit,
        "tables": small.search_space,
        "useful_per_row": [len(row) for row in search.useful],
        **search.count,
    }
    tables = (write_labels([each.cells for each in search.chosen]),) if search.chosen else ()
    return Lesson("bounds", small, tuple(trace.steps), figures, tables)


def solve_program(
    table: Any = None, k: int = 2, *, steps: int = 200, **columns: Unpack[ColumnSettings]
) -> Lesson:
    """Find the classes of least loss by a mixed-integer program: which groups of rows are taken?

    The relaxation, in which a group may be taken in part, gives a bound. Where it takes a group in part, the
    search branches.

    Parameters
    ----------
    table : path or frame, optional
        A small table; by default nine of the people that ship with Shoal, with age and hours.
    k : int
    steps : int
        How many steps are kept for the player.
    **columns
        What is said about the columns, as for `brute_force`.
    """
    small = _read_table(table, columns, _NINE, k)
    rows = len(small.people)
    count = sum(comb(rows, size) for size in range(k, min(2 * k, rows + 1)))
    if count > _MOST_GROUPS:
        raise InputError(
            f"{rows} rows have {count:,} groups of {k} to {2 * k - 1}, and a lesson takes {_MOST_GROUPS} "
            "at most: take fewer rows, or a smaller k"
        )
    if any(cell.loss < 0 for row in small.options for options in row for cell in options):
        raise InputError("to split a class must not lose more, and a negative weight breaks that: give none")
    groups, trace = list_groups(small, k), Trace(steps)

    def tell(
        kind: str,
        program: Program,
        chosen: Sequence[Group],
        bound: float | Fraction,
        depth: int,
        taken: Mapping[Group, Fraction],
    ) -> None:
        shown = {
            "programs": program.count["visited"],
            "relaxation": show_loss(float(bound), small.unit),
            "best": show_loss(float(program.best), small.unit),
        }
        parts = [(part, [row + 1 for row in group.rows]) for group, part in taken.items()]
        text, cells = _describe_program(kind, bound, shown, parts), _write_groups(small, chosen)
        fixed = [[row + 1 for row in group.rows] for group in chosen] if kind != "best" else []
        picture = {"parts": [(str(part), rows) for part, rows in parts], "fixed": fixed}
        trace.add(kind, text, cells, figures=shown, depth=depth, picture=picture)

    program = Program(tell)
    program.branch_on_groups(groups, range(rows))
    figures = {
        "k": k,
        "loss": None if program.best == inf else float(program.best / small.unit),
        "groups": len(groups),
        "classes": [[row + 1 for row in group.rows] for group in program.chosen],
        **program.count,
    }
    return Lesson("program", small, tuple(trace.steps), figures, (_write_groups(small, program.chosen),))


def _describe_program(
    kind: str, bound: float | Fraction, shown: dict[str, Any], parts: Sequence[tuple[Fraction, list[int]]]
) -> str:
    if kind == "cut by score":
        if bound == inf:
            return "Cut: no groups are left that hold every row."
        return f"Cut: the relaxation loses {shown['relaxation']}, so nothing better than the best is below."
    if kind == "best":
        return f"Every group is taken whole: a new best table, which loses {shown['best']}."
    split = next(rows for part, rows in parts if part < 1)
    return (
        f"The relaxation loses {shown['relaxation']}. It takes groups in part: branch on rows "
        f"{', '.join(map(str, split))} together, or not."
    )


def _write_groups(table: TeachingTable, groups: Sequence[Group]) -> Labels:
    cells = list(table.people)
    for group in groups:
        for row in group.rows:
            cells[row] = write_labels([group.cells])[0]
    return tuple(cells)


def _show_row(cells: Row) -> str:
    return " ".join(cell.label for cell in cells)


def _show_rows(rows: Sequence[int]) -> str:
    return ", ".join(str(row + 1) for row in rows)
