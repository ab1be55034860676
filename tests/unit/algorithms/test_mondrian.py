from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.algorithms import mondrian, sampled_cuts
from shoal.algorithms.auto import Auto
from shoal.algorithms.mondrian import Mondrian
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Recoding
from shoal.errors import RecipeError
from shoal.privacy import DistinctL, KAnonymity
from shoal.table.hierarchies import Hierarchy

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


@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_large_nodes_cut_one_by_one_give_the_same_classes(problem, monkeypatch, mode):
    algorithm = Mondrian(mode, "classic")
    whole = algorithm.search(problem)
    monkeypatch.setattr(mondrian, "SHARE", 8)  # nearly every node is a part of its own
    for threads in (1, 2, 4):
        parts = algorithm.search(replace(problem, threads=threads))
        assert np.array_equal(parts.class_of, whole.class_of)
        assert parts.nodes == whole.nodes


@pytest.fixture
def sampled(monkeypatch):
    """Nodes of more than 64 rows are cut by a sample."""
    monkeypatch.setattr(mondrian, "SHARE", 64)
    for name, value in {"SHARE": 64, "_SAMPLE": 32, "_SCARCE": 8, "_CLASSES": 4}.items():
        monkeypatch.setattr(sampled_cuts, name, value)


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("mode", ["strict", "relaxed"])
@pytest.mark.parametrize("cut", ["nearest", "greedy"])
def test_cuts_by_a_sample_keep_the_goal_whatever_the_threads(problem, cut, mode):
    first, *others = [Mondrian(mode, cut).search(replace(problem, threads=n)) for n in (1, 2, 4)]
    assert all(np.array_equal(first.class_of, other.class_of) for other in others)
    assert {other.nodes for other in others} == {first.nodes}
    sizes = np.bincount(first.class_of, first.table.weight)
    assert sizes.min() >= problem.models[0].k
    assert sizes.size > problem.rows.rows / (4 * problem.models[0].k)


@pytest.mark.usefixtures("sampled")
def test_a_cut_by_a_sample_that_breaks_a_model_is_not_made(code):
    """Below 500 all are healthy: a cut in the middle of "a" leaves a side without diversity."""
    rng = np.random.default_rng(5)
    a = np.arange(1000)
    frame = pl.DataFrame({"a": a, "s": np.where(a < 500, "healthy", rng.choice(list("pqr"), 1000))})
    problem = replace(code(frame, ["s"]), models=(KAnonymity(3), DistinctL(3, "s")))
    proposal = Mondrian().search(problem)
    classes = [
        set(part) for part in frame["s"].to_frame().group_by(pl.Series(proposal.class_of)).agg("s")["s"]
    ]
    assert len(classes) > 20
    assert all(len(values) >= 3 for values in classes)


@pytest.mark.usefixtures("sampled")
def test_progress_grows_to_the_end(problem):
    said = []
    Mondrian().search(replace(problem, threads=2), lambda doing, done: said.append((doing, done)))
    assert {doing for doing, _ in said} == {"partitioning"}
    assert [done for _, done in said] == sorted(done for _, done in said)
    assert (len(said) > 10, said[-1][1]) == (True, 1.0)


@pytest.mark.usefixtures("sampled")
def test_an_interrupt_ends_all_threads(problem):
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
    boxes = Recoding.from_proposal(Mondrian(cut="classic").search(problem), problem.domains)
    assert boxes.cells[0].members is None
    assert Recoding.from_proposal(Mondrian().search(problem), problem.domains).cells[0].members is not None


@pytest.mark.parametrize("mode", MODES)
def test_better_cuts_lose_less(problem, mode):
    losses = [
        LOSSES["ncp"]().measure(
            Recoding.from_proposal(Mondrian(mode, cut).search(problem), problem.domains), problem.weights
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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cut", CUTS)
def test_k_people_are_k_values_of_the_person(problem, cut, mode):
    """Counting that stops at k permits the same cuts as counting all, as l-diversity of the ids does."""
    rng = np.random.default_rng(7)
    size = problem.rows.rows
    person = np.sort(rng.integers(0, size // 4, size)).astype(np.uint32)
    ids = replace(problem.rows, sensitive=(person,), sensitive_sizes=(size,))
    search = Mondrian(mode=mode, cut=cut).search
    values = search(replace(problem, rows=ids, models=(KAnonymity(4), DistinctL(4, "s"))))
    people = search(replace(problem, person=person, models=(KAnonymity(4),)))
    assert people.class_of[people.table.of_row].tolist() == values.class_of[values.table.of_row].tolist()
    assert people.class_of.max() > 100
