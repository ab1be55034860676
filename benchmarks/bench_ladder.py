"""What each step of the ladder is worth on Adult: loss and CPU of every algorithm, and local recoding."""

from __future__ import annotations

import time
from dataclasses import replace

from measure import ADULT, ADULT_QUASI, DATA, Figures, need
from shoal.algorithms import Algorithm
from shoal.algorithms.auto import Auto
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.peel import Peel
from shoal.algorithms.refine import Refine
from shoal.engines.memory import prepare_table, run_in_memory
from shoal.privacy import DistinctL, KAnonymity, Model, TCloseness
from shoal.recipes.recipe import Recipe
from shoal.table import ReadOptions, Table, read_table

FOLDER = DATA / "adult"
PLAIN = Recipe(
    others="drop",
    quasi=ADULT_QUASI,
    models=(KAnonymity(10),),
    reading=ReadOptions(na=("?",)),
    missing="drop",
    loss="span-ncp",
    category_order="appearance",
)
INFORMS = ("DOBMM", "DOBYY", "RACEX", "EDUCYEAR", "income")
STEPS: tuple[Algorithm, ...] = (
    Mondrian(cut="classic"),
    Mondrian(cut="nearest"),
    Hilbert(),
    Mondrian(cut="greedy"),
    Refine(),
    Cluster(),
    Auto(),
    Auto(seconds=1),
    Auto(seconds=5),
    Auto(seconds=20),
)
BARE_PEEL = Peel(sweeps=0)


def main() -> None:
    adult = read_table(need(ADULT), PLAIN.reading)
    for algorithm in STEPS:
        run_in_memory(replace(PLAIN, algorithm=algorithm), adult)  # compiles, the first time
    ladder(adult)
    goals(adult)
    sensitive(adult)
    trees()


def spent(recipe: Recipe, table: Table) -> float:
    """CPU seconds of the search alone."""
    problem = prepare_table(recipe, table).problem
    begin = time.process_time()
    recipe.algorithm.search(problem)
    return time.process_time() - begin


def ladder(adult: Table) -> None:
    figures = Figures("Adult, k = 10, span-ncp, categories as they appear: the ladder")
    for algorithm in STEPS:
        recipe = replace(PLAIN, algorithm=algorithm)
        figures.add(f"{algorithm}: lost", 100 * run_in_memory(recipe, adult).report.loss["value"], "%")
        figures.add(f"{algorithm}: CPU of the search", spent(recipe, adult), "s")


def goals(adult: Table) -> None:
    figures = Figures("Auto(seconds=1) for other goals and another table")
    quick = replace(PLAIN, algorithm=Auto(seconds=1))
    for k in (5, 50, 100):
        report = run_in_memory(replace(quick, models=(KAnonymity(k),)), adult).report
        figures.add(f"Adult, k = {k}: lost", 100 * report.loss["value"], "%")
    informs = read_table(need(DATA / "informs" / "informs.csv"), PLAIN.reading)
    for algorithm in (Mondrian(cut="classic"), Auto(seconds=1)):
        report = run_in_memory(replace(PLAIN, quasi=INFORMS, algorithm=algorithm), informs).report
        figures.add(f"INFORMS, k = 10, {algorithm}: lost", 100 * report.loss["value"], "%")


def sensitive(adult: Table) -> None:
    """A model of sensitive values on occupation, seven columns left; the mean over three k."""
    quasi = tuple(name for name in ADULT_QUASI if name != "occupation")
    figures = Figures("Adult with a model on occupation, mean over k = 5, 10 and 25")
    for goal in (DistinctL(3), TCloseness(0.2)):
        for algorithm in (Mondrian(), Refine(), Cluster(), Auto(), Auto(seconds=5)):
            recipe = replace(
                PLAIN,
                quasi=quasi,
                sensitive=("occupation",),
                algorithm=algorithm,
                loss="ncp",
                category_order=None,
            )
            losses = [
                run_in_memory(replace(recipe, models=(KAnonymity(k), goal)), adult).report.loss["value"]
                for k in (5, 10, 25)
            ]
            figures.add(f"{goal}, {algorithm}: lost", 100 * sum(losses) / 3, "%")


def trees() -> None:
    table = read_table(need(FOLDER / "adult_9col.csv"))
    figures = Figures("Adult, the hierarchies of eight columns (without salary-class), ncp")
    for k in (5, 10):
        for algorithm in (
            Mondrian(cut="nearest"),
            Mondrian(),
            BARE_PEEL,
            Auto(),
            Auto(seconds=20),
        ):
            recipe = with_trees(table, "salary-class", "ncp", algorithm, KAnonymity(k))
            figures.add(f"k = {k}, {algorithm}: lost", 100 * run_in_memory(recipe, table).report.ncp, "%")
    figures = Figures("Adult with hierarchies, k = 5, generalised loss; CPU of the whole call")
    for without, goal in ((None, ()), ("occupation", ()), ("occupation", (DistinctL(3),))):
        local(figures, table, without, goal)
    local(figures, table, "occupation", (TCloseness(0.2),))


def local(figures: Figures, table: Table, without: str | None, goal: tuple[Model, ...]) -> None:
    """Two ways of local recoding, what each loses and takes."""
    for algorithm in (BARE_PEEL, Auto()):
        recipe = with_trees(table, without, "generalised", algorithm, KAnonymity(5), *goal)
        begin = time.process_time()
        report = run_in_memory(recipe, table).report
        name = f"without {without}, {', '.join(map(str, goal)) or 'k alone'}, {algorithm}"
        figures.add(f"{name}: CPU", time.process_time() - begin, "s")
        figures.add(f"{name}: lost", report.loss["value"])


def with_trees(table: Table, without: str | None, loss: str, algorithm: Algorithm, *models: Model) -> Recipe:
    quasi = tuple(name for name in table.names if name != without)
    role = "sensitive" if len(models) > 1 else "plain"
    roles = {role: (without,)} if without else {}
    return Recipe(
        quasi, models, hierarchies=(str(FOLDER / "hierarchies"),), loss=loss, algorithm=algorithm, **roles
    )


if __name__ == "__main__":
    main()
