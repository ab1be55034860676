"""Every loss against arithmetic by hand on one small table."""

from math import cbrt, exp, log, log2

import numpy as np
import polars as pl
import pytest
from tests.entries import list_untested

import shoal
from shoal.codespace.loss import LOSSES
from shoal.errors import RecipeError
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge", "lawyer"]})
FRAME = pl.DataFrame(
    {
        "age": [0, 10, 50, 100],
        "colour": ["red", "blue", "red", "green"],
        "job": ["mason", "smith", "clerk", "clerk"],
    }
)

# Two classes of two rows become
#   [0-10]    {red, blue}   manual   1/10, 1 of 2 further values, 1 of 4 further leaves
#   [50-100]  {red, green}  clerk    5/10, 1 of 2 further values, nothing
CLASSES = [0, 0, 1, 1]
PLAIN = {
    "ncp": ((0.3 + 0.5 + 0.125) / 3, {"age": 0.3, "colour": 0.5, "job": 0.125}),
    # By frequency the colours are red, blue, green: {red, blue} spans 1/2, {red, green} everything.
    "span-ncp": ((0.3 + 0.75 + 0.125) / 3, {"age": 0.3, "colour": 0.75, "job": 0.125}),
    # manual is on level 1 of 2
    "precision": ((0.3 + 0.5 + 0.25) / 3, {"age": 0.3, "colour": 0.5, "job": 0.25}),
    # manual is on level 1
    "height": (0.3 + 0.5 + 0.5, {"age": 0.3, "colour": 0.5, "job": 0.5}),
    # manual has one sibling, so 2 over the 3 jobs that occur
    "certainty": (1.2 + 2 + 4 / 3, {"age": 1.2, "colour": 2.0, "job": 4 / 3}),
    "distortion": (10.0, {"age": 4.0, "colour": 4.0, "job": 2.0}),
    # 2 of 4 ages: (1/4)/(3/4); 2 of 3 colours: (1/3)/(2/3); for half the rows 2 of 5 jobs: (1/5)/(4/5)/2
    "generalised": (cbrt(4 / 3 * 3 / 2 * 9 / 8) - 1, {"age": 1 / 3, "colour": 1 / 2, "job": 1 / 8}),
    "discernibility": (2 * 2 + 2 * 2, None),
    "class-size": (4 / 2, None),
    # the ages lie 1600 + 900 + 100 + 3600 around 40; 0 and 50 stand for the classes: 100 + 2500 are lost
    "squared-error": (26 / 62, {"age": 26 / 62, "colour": 0, "job": 0}),
    # 2 * 2 * 2 combinations in the first class and 2 * 2 * 1 in the second, of which two occur in each
    "kl-divergence": ((2 * (3 - 1) + 2 * (2 - 1)) / 4, None),
    "ambiguity": ((2 * 8 + 2 * 4) / 4, None),
    # age: four times 1 of 2; colour: red is 2 of 3, the other 1 of 3, twice; job: twice 1 of 2, clerks sure
    "entropy": (4 + 2 * (log2(3 / 2) + log2(3)) + 2, {"age": 4, "colour": 4 * log2(3) - 2, "job": 2}),
}

# The second class suppressed instead: its rows cost 1 in every column, or cover the whole table.
SUPPRESSED = [0, 0, -1, -1]
AFTER_SUPPRESSION = {
    "ncp": ((0.55 + 0.75 + 0.625) / 3, {"age": 2.2 / 4, "colour": 3 / 4, "job": 2.5 / 4}),
    "span-ncp": ((0.55 + 0.75 + 0.625) / 3, {"age": 0.55, "colour": 0.75, "job": 0.625}),
    "precision": ((0.55 + 0.75 + 0.75) / 3, {"age": 0.55, "colour": 0.75, "job": 0.75}),
    "height": (0.55 + 0.75 + 1.5, {"age": 0.55, "colour": 0.75, "job": 1.5}),
    "certainty": (2.2 + 3 + 4 / 3 + 2, {"age": 2.2, "colour": 3.0, "job": 4 / 3 + 2}),
    "distortion": (12.0, {"age": 4.0, "colour": 4.0, "job": 4.0}),
    # age: (2 * 1/3 + 2)/4; colour: (2 * 1/2 + 2)/4; job: (2 * 1/4 + 2)/4
    "generalised": (cbrt(5 / 3 * 7 / 4 * 13 / 8) - 1, {"age": 2 / 3, "colour": 3 / 4, "job": 5 / 8}),
    "discernibility": (2 * 2 + 2 * 4, None),
    "class-size": (4 / 2, None),  # the suppressed rows are a class of their own
    # suppressed rows count as 40: 0 + 100 + 100 + 3600
    "squared-error": (38 / 62, {"age": 38 / 62, "colour": 0, "job": 0}),
    # suppressed rows could be any of 4 * 3 * 5 combinations
    "kl-divergence": ((2 * (3 - 1) + 2 * (log2(60) - 1)) / 4, None),
    "ambiguity": ((2 * 8 + 2 * 60) / 4, None),
    # suppressed: age 2 * log2(4/1); colour red log2(4/2), green log2(4/1); job 2 * log2(4/2)
    "entropy": (
        (2 + 4) + (2 * log2(3) - 1 + 1 + 2) + (2 + 2),
        {"age": 6, "colour": 2 * log2(3) + 2, "job": 4},
    ),
}

# Age counts twice, colour not at all, and changes of the job are welcome.
WEIGHTS = [2.0, 0.0, -1.0]
WEIGHTED = {
    "ncp": (2 * 0.3 - 0.125) / 3,
    "span-ncp": (2 * 0.3 - 0.125) / 3,
    "precision": (2 * 0.3 - 0.25) / 3,
    "height": 2 * 0.3 - 0.5,
    "certainty": 2 * 1.2 - 4 / 3,
    "distortion": 2 * 4 - 2,
    "generalised": exp((2 * log(4 / 3) - log(9 / 8)) / 3) - 1,
    "discernibility": 8,
    "class-size": 2,
    "squared-error": 26 / 62,  # of numbers alone
    "kl-divergence": 1.5,
    "ambiguity": 6,
    "entropy": 2 * 4 - 2,
}


@pytest.fixture(scope="module")
def problem(code):
    return code(FRAME, hierarchy={"job": JOBS})


def close(measured, value, columns):
    assert measured.value == pytest.approx(value)
    assert measured.columns == (None if columns is None else pytest.approx(columns))


def test_every_loss_is_here():
    assert list_untested("codespace/loss", LOSSES, PLAIN) == []
    assert PLAIN.keys() == AFTER_SUPPRESSION.keys() == WEIGHTED.keys()


@pytest.mark.parametrize("name", PLAIN)
def test_by_hand(problem, recode, name):
    close(LOSSES[name]().measure(recode(problem, CLASSES), np.ones(3)), *PLAIN[name])


@pytest.mark.parametrize("name", PLAIN)
def test_by_hand_with_suppressed_rows(problem, recode, name):
    close(LOSSES[name]().measure(recode(problem, SUPPRESSED), np.ones(3)), *AFTER_SUPPRESSION[name])


@pytest.mark.parametrize("name", PLAIN)
def test_by_hand_with_weights(problem, recode, name):
    measured = LOSSES[name]().measure(recode(problem, CLASSES), np.array(WEIGHTS))
    assert measured.value == pytest.approx(WEIGHTED[name])


@pytest.mark.parametrize("name", ["ncp", "precision", "generalised"])
def test_slopes_say_how_the_total_grows_with_the_loss_of_a_column(name):
    loss, weights, columns, step = LOSSES[name](), np.array(WEIGHTS), np.array([0.1, 0.6, 0.0]), 1e-6
    weights = np.abs(weights) + 0.5
    total = loss.compute_total(columns, weights, 1)
    grown = [(loss.compute_total(columns + step * unit, weights, 1) - total) / step for unit in np.eye(3)]
    # By their proportions: how large the weights are in all means nothing to a search.
    slopes = weights * loss.compute_slopes(columns)
    assert np.array(grown) / sum(grown) == pytest.approx(slopes / slopes.sum(), rel=1e-4)


NEVER_ZERO = ("discernibility", "class-size", "ambiguity")


@pytest.mark.parametrize("name", [name for name in PLAIN if name not in NEVER_ZERO])
def test_a_table_that_nothing_happened_to_has_no_loss(problem, recode, name):
    assert LOSSES[name]().measure(recode(problem, [0, 1, 2, 3]), np.ones(3)).value == pytest.approx(0)


@pytest.mark.parametrize("name", ["ncp", "span-ncp", "precision", "generalised"])
def test_a_table_without_anything_left_has_loss_one(problem, recode, name):
    for classes, cells in (([0] * 4, [["*"] * 3]), ([-1] * 4, None)):
        measured = LOSSES[name]().measure(recode(problem, classes, cells), np.ones(3))
        close(measured, 1, dict.fromkeys(FRAME.columns, 1))


def test_information_losses_by_enumeration(code, recode):
    """On random classes, also with rows that are equal and stand apart, against the definitions."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        frame = pl.DataFrame({"a": rng.integers(0, 4, 12), "b": rng.choice(["x", "y", "z"], 12)})
        problem = code(frame)
        made = recode(problem, rng.permutation([-1, 0, 1, 2, *rng.integers(-1, 3, 8)]).tolist())
        covered = {}
        for c in set(made.class_of.tolist()):
            if c < 0:
                covered[c] = (len(set(frame["a"])), len(set(frame["b"])))
                continue
            rows = made.table.codes[made.class_of == c].astype(int)
            covered[c] = (int(np.ptp(rows[:, 0])) + 1, len(set(rows[:, 1].tolist())))
        p = {}
        weights = made.table.weight.tolist()
        for row, c, w in zip(made.table.codes.tolist(), made.class_of.tolist(), weights, strict=True):
            p[tuple(row), c] = p.get((tuple(row), c), 0) + w / 12
        share = {c: sum(x for (_, d), x in p.items() if d == c) for c in covered}
        q = {key: share[key[1]] / np.prod(covered[key[1]]) for key in p}
        expected = sum(x * log2(x / q[key]) for key, x in p.items())
        assert LOSSES["kl-divergence"]().measure(made, np.ones(2)).value == pytest.approx(expected, abs=1e-12)
        mean = sum(share[c] * np.prod(covered[c]) for c in covered)
        assert LOSSES["ambiguity"]().measure(made, np.ones(2)).value == pytest.approx(mean)


def test_ambiguity_of_very_many_columns_is_a_number(code, recode):
    frame = pl.DataFrame({f"c{i}": list(range(40)) for i in range(230)})
    made = recode(code(frame), [0] * 40)
    assert 1e300 < LOSSES["ambiguity"]().measure(made, np.ones(230)).value < float("inf")


AGES = Hierarchy.from_tree({"young": ["0", "10"], "old": ["50", "100"]})


@pytest.mark.parametrize(("classes", "cells"), [([0] * 4, [["*"] * 3]), ([0, 0, 1, 1], [["*"] * 3] * 2)])
def test_numbers_that_are_suppressed_have_lost_their_variance(code, recode, classes, cells):
    """Whatever they were released as: the median of a class is not what a reader of `*` sees."""
    for hierarchy in ({"job": JOBS}, {"job": JOBS, "age": AGES}):
        made = recode(code(FRAME, hierarchy=hierarchy), classes, cells)
        close(LOSSES["squared-error"]().measure(made, np.ones(3)), 1, {"age": 1, "colour": 0, "job": 0})


def test_numbers_with_a_hierarchy_are_numbers(code, recode):
    trees = {"job": JOBS, "age": Hierarchy.from_tree({"all": ["100", "50", "10", "0", "7"]})}
    for hierarchy in ({"job": JOBS, "age": AGES}, trees):
        made = recode(code(FRAME, hierarchy=hierarchy), CLASSES)
        by_node = 26 / 62 if hierarchy is not trees else 1.0  # one node is all that this tree has
        assert LOSSES["squared-error"]().measure(made, np.ones(3)).columns["age"] == pytest.approx(by_node)


def test_squared_errors_of_dates_and_of_markers_among_numbers(code, recode):
    days = pl.DataFrame({"day": ["2020-01-01", "2020-01-02", "2020-01-11", "2020-01-12"]})
    tree = Hierarchy.from_tree({"early": days["day"][:2].to_list(), "late": days["day"][2:].to_list()})
    made = recode(code(days, hierarchy={"day": tree}), CLASSES)
    # Days 0, 1, 10 and 11 around 5.5: 2 * 30.25 + 2 * 20.25; one day is lost in each class.
    assert LOSSES["squared-error"]().measure(made, np.ones(1)).value == pytest.approx(2 / 101)
    marked = pl.DataFrame({"age": ["0", "10", "?", "?"]})
    tree = Hierarchy.from_tree({"known": ["0", "10"], "unknown": ["?"]})
    made = recode(code(marked, hierarchy={"age": tree}), CLASSES)
    assert 0 < LOSSES["squared-error"]().measure(made, np.ones(1)).value < 0.5


def test_a_release_without_any_number_is_not_the_best():
    """It was, with a loss of 0: columns of numbers with a hierarchy did not count."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": rng.integers(20, 60, 300), "job": rng.choice(["mason", "smith"], 300)})
    tree = Hierarchy.from_tree({f"{d}s": [str(d + i) for i in range(10)] for d in (20, 30, 40, 50)})
    asked = {"k": 5, "algorithm": "lattice", "loss": "squared-error", "hierarchies": {"age": tree}}
    made = shoal.anonymize(frame, quasi=["age"], others="keep", **asked)
    assert set(made.frame["age"]) == {"20s", "30s", "40s", "50s"}
    assert 0 < made.report.loss["value"] < 0.1
    assert made.report.warnings == ()
    both = shoal.anonymize(frame, quasi=["age", "job"], **asked)
    assert any("does not look at 'job'" in each for each in both.report.warnings)
    with pytest.raises(RecipeError, match="a release without any value would lose nothing"):
        shoal.anonymize(frame, quasi=["job"], others="keep", **{**asked, "hierarchies": None})


def test_weights_that_are_all_zero(problem, recode):
    for name in ("ncp", "certainty", "generalised", "entropy"):
        assert LOSSES[name]().measure(recode(problem, CLASSES), np.zeros(3)).value == 0


@pytest.mark.parametrize("name", PLAIN)
def test_a_column_of_one_value_costs_nothing(code, recode, name):
    frame = pl.DataFrame({"a": [1, 1], "b": ["x", "x"], "c": ["mason", "mason"]})
    measured = LOSSES[name]().measure(
        recode(code(frame, hierarchy={"c": Hierarchy.from_rows([["mason", "*"]])}), [0, 0]), np.ones(3)
    )
    assert measured.value == {"discernibility": 4, "class-size": 2, "ambiguity": 1}.get(name, 0)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_explains_itself(name):
    assert LOSSES[name].__doc__ and not LOSSES[name].__doc__.startswith(f"{LOSSES[name].__name__}(")


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_people_of_a_population_who_are_no_row_do_not_make_a_loss_infinite(loss):
    # They are rows of weight 0 in the table of the search.
    table = pl.DataFrame({"age": [1, 1, 2, 2], "sex": ["f", "f", "f", "m"]})
    everybody = pl.DataFrame({"age": [1, 2, 3, 9, 9], "sex": ["f", "f", "m", "m", "f"]})
    goal = [shoal.KMap(2, everybody), shoal.KAnonymity(2)]
    for algorithm in ("lattice", "auto"):
        made = shoal.anonymize(table, quasi=["age", "sex"], models=goal, loss=loss, algorithm=algorithm)
        assert np.isfinite(made.report.loss["value"])
