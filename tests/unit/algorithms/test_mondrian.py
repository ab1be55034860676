from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.algorithms import Mondrian, mondrian
from shoal.algorithms.auto import Auto
from shoal.errors import RecipeError
from shoal.hierarchies import Hierarchy
from shoal.loss import LOSSES
from shoal.privacy import DistinctL, KAnonymity
from shoal.recoding import Recoding

CUTS = ["classic", "nearest", "greedy"]
MODES = ["strict", "relaxed"]
GROUPS = Hierarchy.from_rows([[f"c{i}", f"g{i // 4}", "*"] for i in range(16)])


@pytest.fixture(scope="module")
def problem(code):
    rng = np.random.default_rng(0)
    size = 2000
    frame = pl.DataFrame(
        {
            "n": rng.normal(0, 100, size).round().astype(int),
            "flat": rng.choice(list("abcdefgh"), size),
            "tree": rng.choice([f"c{i}" for i in range(16)], size),
            "s": rng.choice(list("pqr"), size, p=[0.8, 0.1, 0.1]),
        }
    )
    coded = code(frame, ["s"], hierarchy={"tree": GROUPS})
    return replace(coded, models=(KAnonymity(5), DistinctL(2, "s")))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("mode", MODES)
def test_large_nodes_cut_one_by_one_give_the_same_classes(problem, monkeypatch, cut, mode):
    algorithm = Mondrian(mode, cut)
    whole = algorithm.search(problem)
    monkeypatch.setattr(mondrian, "_SHARE", 8)  # nearly every node is a part of its own
    for threads in (1, 2, 4):
        parts = algorithm.search(replace(problem, threads=threads))
        assert np.array_equal(parts.class_of, whole.class_of)
        assert parts.nodes == whole.nodes


def test_progress_grows_to_the_end(problem, monkeypatch):
    monkeypatch.setattr(mondrian, "_SHARE", 64)
    said = []
    Mondrian().search(replace(problem, threads=2), lambda doing, done: said.append((doing, done)))
    assert {doing for doing, _ in said} == {"partitioning"}
    assert [done for _, done in said] == sorted(done for _, done in said)
    assert (len(said) > 10, said[-1][1]) == (True, 1.0)


def test_an_interrupt_ends_all_threads(problem, monkeypatch):
    monkeypatch.setattr(mondrian, "_SHARE", 8)
    calls = []

    def interrupt(doing, done):
        calls.append(done)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Mondrian().search(replace(problem, threads=4), interrupt)
    assert len(calls) == 3


def test_strict_keeps_equal_rows_together(problem):
    proposal = Mondrian("strict").search(problem)
    assert proposal.table is problem.table
    assert len(proposal.class_of) == len(problem.table.weight) < problem.rows.rows


def test_relaxed_may_divide_equal_rows(code):
    problem = replace(code(pl.DataFrame({"a": [1] * 7 + [2] * 3})), models=(KAnonymity(5),))
    strict = Mondrian("strict", "nearest").search(problem)
    assert set(strict.class_of) == {0}  # three rows cannot stand alone
    relaxed = Mondrian("relaxed", "nearest").search(problem)
    assert np.bincount(relaxed.class_of).tolist() == [5, 5]


def test_classic_releases_the_boxes_of_its_classes(code):
    frame = pl.DataFrame({"c": ["a", "b", "c", "a"], "n": [1, 1, 1, 1]})
    problem = replace(code(frame), models=(KAnonymity(4),))
    boxes = Recoding.of(Mondrian(cut="classic").search(problem), problem.domains)
    assert boxes.cells[0].members is None
    assert Recoding.of(Mondrian().search(problem), problem.domains).cells[0].members is not None


@pytest.mark.parametrize("mode", MODES)
def test_better_cuts_lose_less(problem, mode):
    losses = [
        LOSSES["ncp"]().measure(
            Recoding.of(Mondrian(mode, cut).search(problem), problem.domains), problem.weights
        )
        for cut in CUTS
    ]
    values = [loss.value for loss in losses]
    assert values[2] < values[1] < values[0]


def test_categories_come_in_the_order_an_algorithm_is_made_for():
    assert Mondrian(cut="classic").category_order == "appearance"
    assert Mondrian(cut="nearest").category_order == Mondrian().category_order == "frequency"
    assert Auto().category_order == "frequency"


@pytest.mark.parametrize("settings", [{"mode": "lax"}, {"cut": "median"}, {"cut": None}])
def test_an_unknown_setting_is_refused(settings):
    with pytest.raises(
        RecipeError, match=f"unknown {next(iter(settings))} '{next(iter(settings.values()))}'"
    ):
        Mondrian(**settings)


def test_auto_says_what_it_chose(problem):
    chosen = Auto().search(problem)
    assert np.array_equal(chosen.class_of, Mondrian().search(problem).class_of)
    assert chosen.notes == ("auto chose mondrian(mode=strict,cut=greedy)",)
