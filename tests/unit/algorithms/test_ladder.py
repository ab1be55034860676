"""Refine, hilbert, cluster and auto, from a frame to a release."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import RecipeError

RANDOM = np.random.default_rng(7)
PEOPLE = pl.DataFrame(
    {
        "age": RANDOM.integers(18, 90, 400),
        "town": RANDOM.choice([f"town {i}" for i in range(90)], 400),
        "job": RANDOM.choice(["baker", "clerk", "mason", "nurse"], 400, p=[0.7, 0.1, 0.1, 0.1]),
        "ill": RANDOM.choice(["a", "b", "c", "d"], 400),
    }
)
JOBS = [("baker", "food"), ("clerk", "office"), ("mason", "hands"), ("nurse", "hands")]


def lost(algorithm, frame=PEOPLE, **given):
    asked = {"quasi": ["age", "town", "job"], "k": 5, **given}
    return shoal.anonymize(frame, algorithm=algorithm, plain=["ill"], **asked).report.ncp


def test_each_rung_loses_less():
    mondrian, refine, cluster = lost("mondrian"), lost("refine"), lost("cluster(cell=0)")
    assert mondrian > refine > cluster
    assert lost("refine(start=hilbert)") < lost("hilbert")


def test_more_sweeps_lose_less_and_no_sweeps_change_nothing():
    assert lost("refine(sweeps=0)") == pytest.approx(lost("mondrian"))
    assert lost("refine(sweeps=6)") < lost("refine(sweeps=1)")


def test_a_small_budget_ends_the_refinement():
    report = shoal.anonymize(
        PEOPLE,
        others="keep",
        quasi=["age", "town", "job"],
        k=5,
        algorithm="refine(sweeps=1000,seconds=0.001)",
        plain=["ill"],
    ).report
    swept = next(note for note in report.notes if "sweeps" in note)
    assert int(swept.split()[-2]) < 50


@pytest.mark.parametrize("algorithm", ["hilbert", "refine", "cluster", "auto(seconds=0.08)"])
def test_the_goal_holds_with_trees_missing_values_and_diversity(algorithm):
    frame = PEOPLE.with_columns(pl.when(pl.col("age") > 80).then(None).otherwise("age").alias("age"))
    release = shoal.anonymize(
        frame,
        others="keep",
        quasi=["age", "town", "job"],
        sensitive=["ill"],
        k=4,
        l=3,
        algorithm=algorithm,
        hierarchies={"job": JOBS},
    )
    classes = release.frame.group_by("age", "town", "job").agg(pl.len(), pl.col("ill").n_unique().alias("l"))
    assert classes["len"].min() >= 4
    assert classes["l"].min() >= 3
    assert set(release.frame["job"]) <= {"baker", "food", "clerk", "office", "mason", "nurse", "hands", "*"}


def test_a_column_without_weight_is_given_up_for_the_others():
    def columns(weights):
        asked = {"quasi": ["age", "town", "job"], "plain": ["ill"], "k": 5, "weights": weights}
        return shoal.anonymize(PEOPLE, algorithm="refine", **asked).report.columns

    even, uneven = columns({}), columns({"age": 0.0})
    assert uneven["age"]["ncp"] > 3 * even["age"]["ncp"]
    assert uneven["town"]["ncp"] < even["town"]["ncp"]


@pytest.mark.parametrize("algorithm", ["hilbert", "refine", "cluster(cell=0)", "auto", "peel"])
def test_columns_with_one_value_only(algorithm):
    frame = pl.DataFrame({"age": [30] * 40, "town": ["x"] * 40, "ill": ["a", "b"] * 20})
    asked = {"quasi": ["age", "town"], "sensitive": ["ill"], "k": 4, "l": 2}
    assert shoal.anonymize(frame, algorithm=algorithm, **asked).report.ncp == 0


def test_many_equal_rows_help_out_in_other_classes():
    frame = pl.DataFrame({"age": [30] * 100 + [31, 33], "ill": ["x"] * 102})
    assert lost("mondrian", frame, quasi=["age"], k=3) > 0
    release = shoal.anonymize(frame, others="keep", quasi=["age"], plain=["ill"], k=3, algorithm="refine")
    assert release.report.ncp == pytest.approx(3 / 102)  # one of the hundred joins the two


def test_auto_says_what_it_tried_and_why_it_chose():
    notes = shoal.anonymize(
        PEOPLE, others="keep", quasi=["age", "town", "job"], k=5, plain=["ill"]
    ).report.notes
    assert any(
        note.startswith("auto tried mondrian ") and "hilbert" in note and "cluster" in note for note in notes
    )
    assert any(note.startswith("auto chose ") and "lost least" in note for note in notes)


@pytest.mark.parametrize("loss", ["ncp", "generalised"])
@pytest.mark.parametrize("algorithm", ["auto(seconds=0.2)", "refine(sweeps=3)"])
def test_the_curve_falls_to_what_the_classes_lose(algorithm, loss):
    said = []
    frame = pl.concat([PEOPLE] * 2)  # too many rows to evolve
    asked = {"quasi": ["age", "town", "job"], "plain": ["ill"], "k": 5, "loss": loss}
    report = shoal.anonymize(
        frame, **asked, algorithm=algorithm, on_progress=lambda doing, done: said.append(doing)
    ).report
    spent, lost = zip(*report.curve, strict=True)
    assert list(spent) == sorted(spent)
    assert spent[0] == 0
    assert len(lost) >= 3
    assert lost[-1] == pytest.approx(report.ncp)
    if loss == "ncp":
        assert list(lost) == sorted(lost, reverse=True)
        figures = [doing.figures.best for doing in said if doing == "refining" and hasattr(doing, "figures")]
        assert min(figures) == pytest.approx(report.ncp)


def test_auto_makes_one_pass_where_there_is_no_time_for_more():
    fast = "auto(seconds=0.0001)"
    notes = shoal.anonymize(
        PEOPLE, others="keep", quasi=["age", "town"], k=5, algorithm=fast, plain=["ill", "job"]
    ).report.notes
    assert any("auto chose hilbert: " in note for note in notes)
    trees = shoal.anonymize(
        PEOPLE,
        others="keep",
        quasi=["age", "job"],
        k=5,
        algorithm=fast,
        plain=["ill", "town"],
        hierarchies={"job": JOBS},
    )
    assert any("auto chose mondrian" in note for note in trees.report.notes)


@pytest.mark.parametrize("loss", ["discernibility", "class-size", "entropy"])
def test_auto_goes_by_the_loss_that_was_asked_for(loss):
    def value(algorithm):
        asked = {"quasi": ["age", "town", "job"], "plain": ["ill"], "k": 5, "loss": loss}
        return shoal.anonymize(PEOPLE, algorithm=algorithm, **asked).report.loss["value"]

    assert value("auto(seconds=0.2)") <= min(value("mondrian"), value("hilbert"))


def test_a_category_with_more_values_than_sets_hold_is_measured_by_its_span():
    frame = PEOPLE.with_columns(pl.Series("town", [f"street {i % 1500}" for i in range(400)]))
    many = pl.concat([frame] * 4).with_columns(pl.Series("town", [f"street {i}" for i in range(1600)]))
    assert lost("refine(sweeps=1)", many) <= lost("mondrian", many)


def test_an_interrupt_is_answered():
    def interrupt(doing, done):
        if doing == "refining":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shoal.anonymize(
            PEOPLE,
            others="keep",
            quasi=["age", "town"],
            plain=["ill", "job"],
            k=5,
            algorithm="refine",
            on_progress=interrupt,
        )


@pytest.mark.parametrize(
    ("algorithm", "complaint"),
    [
        ("refine(sweeps=-1)", "sweeps of algorithm refine must be 0 or more"),
        ("auto(seconds=0)", "seconds of algorithm auto must be more than 0"),
        ("cluster(cell=-1)", "cell of algorithm cluster must be 0 or more"),
        ("microaggregate(cell=-1)", "cell of algorithm microaggregate must be 0 or more"),
    ],
)
def test_a_budget_that_is_none_is_refused(algorithm, complaint):
    with pytest.raises(RecipeError, match=complaint):
        lost(algorithm)
