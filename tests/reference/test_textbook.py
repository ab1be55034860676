"""The textbook on the tables of MG-GA: its published figures, and every figure of the pages about them."""

import re
from pathlib import Path

import polars as pl
import pytest
from tests.cases import thin_out

from shoal import teach
from shoal.algorithms.genetic import Genetic
from shoal.engines.api import anonymize
from shoal.errors import InputError

DOCS = Path(__file__).parents[2] / "docs" / "teaching"
FIVE = ("Name", "Age", "Sex", "Education", "Job")
FOUR = ("Gender", "Age", "Education", "Job")


@pytest.fixture
def tables(shared_data):
    """A lesson on one of the tables, with its types and domains."""

    def run(lesson, name: str, **settings):
        quasi = FIVE if name == "test.csv" else FOUR
        hierarchies = shared_data / "small" / "domains.txt"
        return lesson(shared_data / "small" / name, quasi=quasi, hierarchies=hierarchies, **settings)

    return run


def read_row(page: str, name: str) -> list[str]:
    row = re.search(rf"^\| {re.escape(name)} \| (.+?) \|$", (DOCS / page).read_text("utf-8"), re.MULTILINE)
    return row[1].split(" | ")


def check_row(page: str, name: str, column: int, value: float) -> None:
    written = f"{value:,}" if isinstance(value, int) else f"{value:.4f}".rstrip("0").rstrip(".")
    assert read_row(page, name)[column] == written, name


@pytest.mark.parametrize("loss", thin_out(["certainty", "distortion"], 2))
def test_the_search_of_its_table_and_the_figures_on_the_page(tables, loss):
    column = ["certainty", "distortion"].index(loss)
    by_k = tables(teach.brute_force, "test.csv", loss=loss, prune="k", cache=True).figures
    both = tables(teach.brute_force, "test.csv", loss=loss).figures
    for name, value in {
        "least loss": both["loss"],
        "tables of least loss": both["solutions"],
        "tables": both["tables"],
        "tables, with the salary that is never changed": both["tables_of_all_columns"],
        "states without pruning": both["states_without_pruning"],
        "states, pruned by k": by_k["visited"],
        "complete tables, pruned by k": by_k["complete"],
        "states, pruned by score and k": both["visited"],
        "complete tables, pruned by score and k": both["complete"],
    }.items():
        check_row("brute-force.md", name, column, value)
    assert (by_k["loss"], by_k["solutions"]) == (both["loss"], both["solutions"])
    # As MG-GA prints it: cells that were written and complete tables in one sum.
    assert by_k["visited"] + by_k["complete"] == 793_647
    if loss == "distortion":
        assert both["visited"] + both["complete"] == 407_469
    assert both["tables_of_all_columns"] == 2_902_376_448


# MG-GA's second output is the distortion of the page above.
OUTPUTS = {
    "certainty": ({}, 10.4444, 1),
    "job": ({"weights": {"Job": 20}}, 54.2222, 1),
    "job and age": ({"weights": {"Job": 20, "Age": 0}}, 51.3333, 4),
    "distortion": ({"loss": "distortion"}, 12, 16),
}


@pytest.mark.parametrize("name", thin_out(OUTPUTS, 4))
def test_its_four_published_outputs(tables, name):
    settings, loss, solutions = OUTPUTS[name]
    found = tables(teach.brute_force, "test.csv", cache=True, **settings)
    assert (round(found.figures["loss"], 4), found.figures["solutions"]) == (loss, solutions)
    assert f"{loss:g}" in (DOCS / "brute-force.md").read_text("utf-8")
    if name == "certainty":
        assert found.tables == (
            (
                ("*", "[25-30]", "M", "*", "*"),
                ("*", "21", "F", "Diploma", "White Collar"),
                ("*", "[25-30]", "M", "*", "*"),
                ("*", "21", "F", "Diploma", "White Collar"),
            ),
        )


def test_five_rows_that_brute_force_does_not_finish(tables):
    with pytest.raises(InputError, match="27,209,779,200 tables"):
        tables(teach.brute_force, "test4.csv")
    assert round(tables(teach.branch_and_bound, "test4.csv").figures["loss"], 4) == 7.6935


# Seeds 0 to 19 with the parameters of MG-GA: the page says how often each table is found.
FOUND = {"test.csv": (10.4444, 17), "test4.csv": (7.6935, 1)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FOUND)
def test_its_genetic_search_finds_the_best_tables(tables, name):
    best, times = FOUND[name]
    losses = [round(tables(teach.evolve, name, seed=seed).figures["loss"], 4) for seed in range(20)]
    assert losses.count(best) == times
    if name == "test4.csv":
        assert losses.count(8.1398) == 19


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("seeds", thin_out([range(2), range(2, 20)], 2))
def test_the_genetic_search_of_the_product_finds_both(shared_data, name, seeds):
    folder = shared_data / "small"
    frame = pl.read_csv(folder / name)
    settings = Genetic(semantics="matching", population=100, generations=1000, mutation_rate=10)
    goal = {"quasi": FIVE if name == "test.csv" else FOUR, "k": 2, "loss": "certainty", "others": "drop"}
    for seed in seeds:
        report = anonymize(
            frame, hierarchies=folder / "domains.txt", algorithm=settings, seed=seed, **goal
        ).report
        assert round(report.loss["value"], 4) == FOUND[name][0]


def test_its_genetic_search_finds_the_best_table(tables):
    run = tables(teach.evolve, "test.csv")
    assert run.figures["is_safe"]
    assert round(run.figures["loss"], 4) == 10.4444


def test_without_mutation_half_of_the_runs_never_reach_k(tables):
    runs = [tables(teach.evolve, "test.csv", seed=s, mutation_rate=0, generations=60) for s in range(20)]
    assert sum(not run.figures["is_safe"] for run in runs) == 10
