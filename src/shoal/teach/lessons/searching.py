"""The lessons on search: brute force, and evolution."""

from __future__ import annotations

from math import inf
from random import Random
from time import perf_counter
from typing import Any, Literal, Unpack, get_args

from shoal.errors import InputError, unknown
from shoal.teach.lessons.lesson import Lesson, Trace, count_things, show_count, show_loss
from shoal.teach.reading import ColumnSettings, read_for_lesson
from shoal.teach.tables import TeachingTable, write_labels
from shoal.teach.textbook.anonymity import Meaning, find_matches, score_by_classes, score_by_components
from shoal.teach.textbook.brute_force import BruteForce, Memory
from shoal.teach.textbook.evolution import Evolution, Generation

Prune = bool | Literal["score", "k"]
_FOUR: ColumnSettings = {"quasi": ("age", "sex", "job"), "rows": 4}


def brute_force(
    table: Any = None,
    k: int = 2,
    *,
    prune: Prune = True,
    cache: bool = False,
    meaning: Meaning = "matching",
    iterations: int | None = None,
    seed: int = 0,
    steps: int = 200,
    limit: int = 3_000_000,
    **columns: Unpack[ColumnSettings],
) -> Lesson:
    """Find the tables of least loss by trying all tables, cell by cell and column by column.

    Parameters
    ----------
    table : path or frame, optional
        A small table; by default four of the people that ship with Shoal.
    k : int
    prune : bool, "score" or "k"
        Whether a branch is cut off at the end of a column if its loss is above the best so far ("score"), if
        the columns so far already tell somebody apart ("k"), for both reasons, or never.
    cache : bool
        Whether losses and matches of rows are remembered, with hits, misses and the time that this saved.
    meaning : {"matching", "classes"}
        The meaning of k-anonymity.
    iterations : int, optional
        Stochastic search: take the options of each cell in random order, and stop after so many states.
    seed : int
        Of the random order.
    steps : int
        How many steps are kept for the player; after these, only new bests.
    limit : int
        A search that visits more states is refused.
    **columns
        What is said about the columns: ``quasi``, ``sensitive``, ``hierarchies``, ``types``, ``weights``,
        ``loss`` ("certainty" or "distortion") and ``rows``, the number of first rows to take.

    Examples
    --------
    >>> from shoal import teach
    >>> run = teach.brute_force(k=2, cache=True)
    >>> run.figures["tables"], run.figures["visited"], round(run.figures["loss"], 4)
    (746496, 59650, 5.9048)
    """
    if iterations is not None and iterations < 1:
        raise InputError(f"visit 1 state at least, not {iterations} (--iterations)")
    small = read_for_lesson(table, _FOUR, columns)
    check_goal(small, k, meaning)
    narrator = _BruteForceNarrator(Trace(steps), limit if iterations is None else inf)
    search = BruteForce(
        small,
        k,
        prune in (True, "score"),
        prune in (True, "k"),
        meaning,
        Memory(cache),
        Memory(cache),
        narrator.tell,
        None if iterations is None else Random(seed),
        inf if iterations is None else iterations,
    )
    _refuse_hopeless(search, limit)
    began = perf_counter()
    search.try_options()
    figures = _collect_figures(search, perf_counter() - began)
    return Lesson("brute-force", small, tuple(narrator.trace.steps), figures, tuple(search.tables))


def check_goal(table: TeachingTable, k: int, meaning: str = "matching") -> None:
    """Refuse a goal that no table meets."""
    if meaning not in get_args(Meaning):
        raise InputError(unknown("meaning of k", meaning, get_args(Meaning)))
    if not 1 <= k <= len(table.people):
        raise InputError(
            f"k = {k} is out of reach: the table has {len(table.people)} rows, so k is from 1 to that"
        )


def _refuse_negative(table: TeachingTable, why: str) -> None:
    if any(cell.loss < 0 for row in table.options for options in row for cell in options):
        raise InputError(why)


def _refuse_hopeless(search: BruteForce, limit: int) -> None:
    if search.cuts_score:
        why = "pruning by score relies on a loss that only grows; a negative weight breaks that: prune by k"
        _refuse_negative(search.table, why)
    if search.most == inf and _count_hopeful(search) > limit:
        raise _refuse_size(search, "the search would visit too many states")


def _count_hopeful(search: BruteForce) -> int:
    """How many states a search visits at least, as far as that is known before: pruning seldom saves more."""
    states = search.table.count_states()
    return states // 1000 if search.cuts_score or search.cuts_k else states


def _refuse_size(search: BruteForce, why: str) -> InputError:
    prunes = search.cuts_score and search.cuts_k
    advice = "" if prunes else "prune by score and by k (--prune both), "
    return InputError(
        f"{why}: there are {show_count(search.table.search_space)} tables, which take "
        f"{show_count(search.table.count_states())} states without pruning. Take fewer rows (--rows 4) "
        f"or columns (--quasi), {advice}draw at random (--iterations 100000), raise --limit, or let "
        "'shoal anonymize --algorithm mingen' prove it"
    )


def _collect_figures(search: BruteForce, seconds: float) -> dict[str, Any]:
    table = search.table
    figures = {
        "k": search.k,
        "meaning": search.meaning,
        "loss": None if search.best == inf else search.best / table.unit,
        "solutions": len(search.tables),
        "tables": table.search_space,
        # A column that is never changed could still be suppressed or not: some programs count that too.
        "tables_of_all_columns": table.search_space * 2 ** (len(table.people) * table.others),
        "states_without_pruning": table.count_states(),
        **search.count,
        "is_whole": search.count["visited"] < search.most,
        "seconds": seconds,
    }
    if search.losses.is_on:
        figures["cache"] = {
            name: {"hits": memory.hits, "misses": len(memory.known), "seconds_saved": memory.seconds_saved}
            for name, memory in (("losses", search.losses), ("matches", search.matches))
        }
    return figures


class _BruteForceNarrator:
    """Says in words what brute force does, and stops it when that takes too long."""

    def __init__(self, trace: Trace, limit: float) -> None:
        self.trace, self.limit = trace, limit

    def tell(self, kind: str, search: BruteForce, row: int, column: int) -> None:
        """Keep a step for the player."""
        visited = search.count["visited"]
        if visited > self.limit:
            raise _refuse_size(search, f"{self.limit:,} states are visited and the search is not over")
        if not self.trace.is_open and kind != "best":
            return
        shown = {"states": f"{visited:,}", "best loss": show_loss(search.best, search.table.unit)}
        depth = column * len(search.cells) + row
        text = self.describe(kind, search, row, column)
        self.trace.add(kind, text, write_labels(search.cells), figures=shown, depth=depth)

    def describe(self, kind: str, search: BruteForce, row: int, column: int) -> str:
        """A step in a sentence."""
        name, left = search.table.names[column], count_things(search.below[column], "table")
        if kind == "change":
            old, new = search.table.people[row][column], search.cells[row][column].label
            return f"Row {row + 1}: {name} {old} " + ("stays." if old == new else f"becomes {new}.")
        if kind == "best":
            return f"A new best table: it is safe and loses {show_loss(search.best, search.table.unit)}."
        if kind == "unsafe":
            return "The table is complete, but not safe."
        if kind == "cut by score":
            loss = show_loss(search.compute_loss(column), search.table.unit)
            return f"Cut: up to {name} it loses {loss}, more than the best table. That leaves out {left}."
        scores = self.score_rows(search, column)
        weak = scores.index(min(scores))
        if search.meaning == "classes":
            said = f"is in a class of {scores[weak]}"
        else:
            said = "could be 1 person only" if scores[weak] == 1 else f"could be {scores[weak]} people only"
        return f"Cut: up to {name}, row {weak + 1} {said}. That leaves out {left}."

    def score_rows(self, search: BruteForce, column: int) -> list[int]:
        """The k-score of each row, as far as the columns up to this one tell."""
        known = [row[: column + 1] for row in search.cells]
        if search.meaning == "classes":
            return score_by_classes(known)
        return score_by_components([find_matches(row, search.table.people) for row in known])


def evolve(
    table: Any = None,
    k: int = 2,
    *,
    population: int = 100,
    generations: int = 1000,
    mutation_rate: float = 10,
    doubling: bool = True,
    meaning: Meaning = "matching",
    seed: int = 0,
    steps: int = 100,
    **columns: Unpack[ColumnSettings],
) -> Lesson:
    """Breed tables: the best tenth survives and has children, cell by cell from two parents.

    Parameters
    ----------
    table : path or frame, optional
        A small table; by default four of the people that ship with Shoal.
    k : int
    population : int
        How many tables a generation has.
    generations : int
    mutation_rate : float
        m: a cell is drawn anew with the chance m/(m + 100). With 0, only what the first tables have is
        combined.
    doubling : bool
        Whether m doubles after every tenth of the generations.
    meaning : {"matching", "classes"}
        The meaning of k-anonymity.
    seed : int
    steps : int
        How many generations are kept for the player, evenly spread; and those that bring a new best.
    **columns
        What is said about the columns, as for `brute_force`.

    Returns
    -------
    Lesson
        ``figures["history"]`` has the best and the mean fitness, the share of safe tables and the least loss
        of a safe one for each generation. ``figures["is_safe"]`` says whether the best table is k-anonymous:
        nothing in this algorithm enforces that.
    """
    if population < 10 or generations < 1 or mutation_rate < 0:
        raise InputError("evolution needs 10 tables, 1 generation and a mutation rate of 0 at least")
    small = read_for_lesson(table, _FOUR, columns)
    check_goal(small, k, meaning)
    _refuse_negative(small, "fitness divides by the loss, and a negative weight breaks that: give none")
    began = perf_counter()
    rules = Evolution(small, k, meaning, mutation_rate, doubling, Random(seed), Memory(True))
    history: list[dict[str, Any]] = []
    trace = Trace(steps)
    for now in rules.breed_generations(population, generations):
        history.append(_describe_generation(now))
        _record_generation(trace, now, history, generations)
        if now.number == generations:
            break
    best = now.crowd[0]
    figures = {
        "k": k,
        "meaning": meaning,
        "is_safe": best.is_safe,
        "loss": best.loss if best.is_safe else None,
        "first_safe_generation": next((g for g, each in enumerate(history) if each["safe"]), None),
        "tables": small.search_space,
        "judged": population + generations * (population - population // 10),
        "seconds": perf_counter() - began,
        "history": history,
    }
    return Lesson("evolution", small, tuple(trace.steps), figures, (write_labels(best.cells),))


def _describe_generation(now: Generation) -> dict[str, Any]:
    safe = [each.loss for each in now.crowd if each.is_safe]
    mean = sum(each.fitness for each in now.crowd) / len(now.crowd)
    share = len(safe) / len(now.crowd)
    return {"best": now.crowd[0].fitness, "mean": mean, "safe": share, "loss": min(safe, default=None)}


def _record_generation(
    trace: Trace, now: Generation, history: list[dict[str, Any]], generations: int
) -> None:
    """Keep a generation for the player: every so many, and when it has a new best."""
    figures, is_better = history[-1], now.number > 0 and history[-1]["best"] > history[-2]["best"]
    spread = max(1, -(-generations // trace.most))
    if now.number % spread and not is_better and now.number < generations:
        return
    loss = (
        "no table is safe"
        if figures["loss"] is None
        else f"the best safe one loses {show_loss(figures['loss'])}"
    )
    text = f"Generation {now.number}: {figures['safe']:.0%} of the tables are safe, and {loss}."
    shown = {
        "generation": now.number,
        "mutation": f"{now.rate / (now.rate + 100):.0%}",
        "safe": f"{figures['safe']:.0%}",
    }
    crowd = [(each.fitness, each.is_safe) for each in now.crowd]
    picture = {"generation": now.number, "of": generations, "history": history, "crowd": crowd}
    cells = write_labels(now.crowd[0].cells)
    trace.add("best" if is_better else "generation", text, cells, figures=shown, picture=picture)
