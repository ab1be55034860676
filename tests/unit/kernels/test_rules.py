"""The rules of the search say what the models say, histogram by histogram."""

from dataclasses import replace

import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms import Problem
from shoal.codespace.encoding import encode_column
from shoal.codespace.frequency import CodedRows
from shoal.kernels.kinds import (
    DISCLOSURE,
    DISTINCT,
    ENTROPY,
    LIKENESS,
    ORDERED,
    RECURSIVE,
    SHARE,
    TRANSPORT,
)
from shoal.kernels.rules import (
    add_row,
    assemble_rules,
    clear_histogram,
    count_slots,
    is_satisfied,
    take_people,
)
from shoal.privacy import (
    AlphaK,
    BasicBeta,
    Counts,
    DeltaDisclosure,
    DistinctL,
    EnhancedBeta,
    EntropyL,
    KAnonymity,
    MaxRisk,
    PSensitive,
    RecursiveCL,
    SensitiveCounts,
    TCloseness,
    Uniqueness,
    ValueScale,
)
from shoal.table import Column

# Groups whose members do not lie side by side, to be sure that none of this relies on it.
LEVELS = np.array([[0, 1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 2, 2], [0, 0, 0, 0, 0, 1, 1]])

BY_VALUE = [
    AlphaK(0.5, 1, "s"),
    AlphaK(0.34, 1, "s"),
    DistinctL(2, "s"),
    PSensitive(3, "s"),
    EntropyL(2, "s"),
    EntropyL(3, "s"),
    EntropyL(2.5, "s"),
    EntropyL(2.5, "s", "grassberger"),
    RecursiveCL(1, 2, "s"),
    RecursiveCL(1.5, 3, "s"),
    RecursiveCL(3, 5, "s"),
    TCloseness(0.2, "equal", "s"),
    TCloseness(0.5, "equal", "s"),
    TCloseness(0.2, "ordered", "s"),
    TCloseness(0.1, "ordered", "s"),
    TCloseness(0.2, "hierarchical", "s"),
    TCloseness(0.35, "hierarchical", "s"),
    BasicBeta(1, "s"),
    BasicBeta(0.25, "s"),
    EnhancedBeta(1, "s"),
    EnhancedBeta(0.5, "s"),
    DeltaDisclosure(1, "strict", "s"),
    DeltaDisclosure(2, "strict", "s"),
    DeltaDisclosure(1, "lenient", "s"),
    DeltaDisclosure(0.3, "lenient", "s"),
]


@numba.njit  # not cached: the cache does not notice when the rules change
def verdicts(rules, histogram, out):
    """One weighted row per class."""
    for row in range(out.size):
        for value in range(rules.values):
            histogram[0, value] = 0
        add_row(rules, row, histogram, 0)
        out[row] = is_satisfied(rules, histogram, 0)


def classes(histograms: np.ndarray) -> Counts:
    """Dense histograms, one line per class, as counts."""
    class_of, value = np.nonzero(histograms)
    sensitive = SensitiveCounts(class_of, value, histograms[class_of, value], ValueScale(True, LEVELS))
    return Counts(histograms.sum(1), {"s": sensitive})


def searched(models, histograms: np.ndarray) -> np.ndarray:
    """What the search finds, given all classes together as the whole."""
    counts = classes(histograms)
    whole = classes(histograms.sum(0)[None])
    values = counts.sensitive["s"]
    start = np.searchsorted(values.class_of, np.arange(counts.classes + 1))
    rules = assemble_rules(
        1,
        [model.rule(whole) for model in models],
        {"s": (0, histograms.shape[1])},
        (start, values.value.astype(np.int32), values.count),
    )
    out = np.empty(counts.classes, np.bool_)
    verdicts(rules, np.empty((3, rules.values), np.int64), out)
    return out


def random_classes(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    # Small and skewed ones, and large ones that are nearly like the whole.
    skewed = rng.dirichlet(np.full(7, 0.7), 120) * rng.integers(1, 40, (120, 1))
    alike = np.arange(4, 11) / 49 * rng.integers(50, 2000, (80, 1))
    histograms = rng.poisson(np.concatenate([skewed, alike]))
    histograms[np.arange(200), rng.integers(0, 7, 200)] += 1
    histograms[0] = [3, 0, 0, 0, 0, 0, 0]
    return histograms


@pytest.mark.slow
@pytest.mark.parametrize("model", BY_VALUE, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_rule_says_what_its_model_says(model, seed):
    histograms = random_classes(seed)
    expected = model.holds(classes(histograms))
    assert searched([model], histograms).tolist() == expected.tolist()
    assert 0 < expected.sum() < 200  # else a rule that says always the same would pass


BORDERS = {
    "alpha": AlphaK(0.5, 1, "s"),
    "t": [TCloseness(0.5, distance, "s") for distance in ("equal", "ordered", "hierarchical")],
    "beta": [BasicBeta(1, "s"), EnhancedBeta(1, "s")],
    "c": [RecursiveCL(1, 2, "s"), RecursiveCL(1, 3, "s")],
}


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 9), min_size=7, max_size=7).filter(any), min_size=2, max_size=5))
def test_they_agree_on_the_very_border(rows):
    # The parameter is what one class reaches exactly: the others are above it or below it, and it is on it.
    histograms = np.array(rows)
    for parameter, models in BORDERS.items():
        for model in models if isinstance(models, list) else [models]:
            counts = classes(histograms)
            for border in _reached(model, counts):
                if 0 < border < (1 if parameter in ("alpha", "t") else np.inf):
                    at = replace(model, **{parameter: float(border)})
                    assert searched([at], histograms).tolist() == at.holds(counts).tolist()


def _reached(model, counts: Counts) -> list[float]:
    """What each class reaches."""
    from shoal.privacy.alpha_k import largest_share
    from shoal.privacy.beta_likeness import relative_gains
    from shoal.privacy.recursive_cl import measure_dominance

    if isinstance(model, AlphaK):
        return largest_share(counts, "s").tolist()
    if isinstance(model, TCloseness):
        return model.distances(counts).tolist()
    if isinstance(model, RecursiveCL):
        return measure_dominance(counts, "s", model.l).tolist()
    return relative_gains(counts, "s").tolist()


def test_all_rules_must_hold():
    histograms = random_classes(7)
    models = [DistinctL(6, "s"), TCloseness(0.3, "equal", "s"), AlphaK(0.3, 1, "s")]
    each = [model.holds(classes(histograms)) for model in models]
    together = searched(models, histograms)
    assert together.tolist() == np.logical_and.reduce(each).tolist()
    assert 0 < together.sum() < min(verdict.sum() for verdict in each)


def test_several_columns_each_with_its_own_values():
    # Values 0..2 are of the first column, 3..4 of the second.
    histograms = np.array([[2, 1, 0, 3, 0], [1, 1, 1, 1, 2], [3, 0, 0, 1, 2]])
    first, second = (_column(histograms[:, part]) for part in (slice(0, 3), slice(3, 5)))
    size = histograms[:, :3].sum(1)
    counts = Counts(size, {"a": first, "b": second})
    totals = {
        name: SensitiveCounts.of_whole(np.repeat(s.value, s.count)) for name, s in counts.sensitive.items()
    }
    whole = Counts(size.sum(keepdims=True), totals)
    models = [DistinctL(2, "a"), BasicBeta(0.6, "b"), TCloseness(0.6, "equal", "b")]
    class_of, value = np.nonzero(histograms)
    rules = assemble_rules(
        1,
        [model.rule(whole) for model in models],
        {"a": (0, 3), "b": (3, 5)},
        (np.searchsorted(class_of, np.arange(4)), value.astype(np.int32), histograms[class_of, value]),
    )
    assert rules.rows == 9
    out = np.empty(3, np.bool_)
    verdicts(rules, np.empty((3, 5), np.int64), out)
    expected = np.logical_and.reduce([model.holds(counts) for model in models])
    assert out.tolist() == expected.tolist() == [False, True, False]


def _column(histograms: np.ndarray) -> SensitiveCounts:
    class_of, value = np.nonzero(histograms)
    return SensitiveCounts(class_of, value, histograms[class_of, value])


def test_models_of_sizes_make_no_rule():
    whole = classes(random_classes(0))
    for model in (KAnonymity(5), MaxRisk(0.1), Uniqueness(0)):
        assert model.rule(whole) is None


def test_without_rules_there_is_no_histogram():
    nothing = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    rules = assemble_rules(5, [], {"s": (0, 3)}, nothing)
    assert (rules.size, rules.values, rules.limit.size) == (5, 0, 0)


def test_every_kind_is_some_models():
    whole = classes(random_classes(0).sum(0)[None])
    kinds = {model.rule(whole).kind for model in BY_VALUE}
    assert kinds == {DISTINCT, SHARE, ENTROPY, RECURSIVE, TRANSPORT, ORDERED, LIKENESS, DISCLOSURE}


PEOPLE = [
    KAnonymity(3),
    DistinctL(3, "s"),
    AlphaK(0.6, 2, "s"),
    EntropyL(2.5, "s"),
    EntropyL(2.5, "s", "grassberger"),
    RecursiveCL(1.5, 2, "s"),
    TCloseness(0.35, "equal", "s"),
    TCloseness(0.2, "ordered", "s"),
    BasicBeta(1.2, "s"),
    EnhancedBeta(1, "s"),
    DeltaDisclosure(1.5, "lenient", "s"),
]


def people_problem(model, seed: int) -> Problem:
    """Rows of people who have several, with few different codes."""
    rng = np.random.default_rng(seed)
    code, value = rng.integers(0, 60, 300), rng.choice(5, 300, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    rows = CodedRows((code.astype(np.uint16),), (60,), (value.astype(np.uint32),), (5,))
    domain = encode_column(pl.Series("code", code), Column("code")).domain
    scales = {"s": ValueScale(True)}
    who = rng.integers(0, 80, 300)
    return Problem((domain,), rows, ("s",), (model,), "ncp", np.ones(1), scales=scales, person=who)


@pytest.mark.parametrize("model", PEOPLE, ids=str)
def test_people_are_counted_as_they_are_defined(model):
    problem = people_problem(model, 3)
    table = problem.table
    rules = problem.build_rules(table)
    # Any groups of weighted rows: those of a few neighbours, and of a few more.
    rng = np.random.default_rng(0)
    of_group = [np.sort(rng.choice(table.weight.size, size, False)) for size in rng.integers(1, 9, 150)]
    histogram, found = np.zeros((1, count_slots(rules)), np.int64), []
    for group in of_group:
        clear_histogram(rules, histogram, 0)
        for row in group:
            add_row(rules, row, histogram, 0)
        found.append(table.weight[group].sum() >= rules.size and is_satisfied(rules, histogram, 0))
    member = [np.flatnonzero(np.isin(table.of_row, group)) for group in of_group]
    number = np.repeat(np.arange(150), [rows.size for rows in member])
    expected = problem.find_sufficient_groups(number, np.concatenate(member), 150)
    assert [bool(each) for each in found] == expected.tolist()
    assert 0 < expected.sum() < 150


def test_what_goes_left_leaves_the_right_when_it_was_the_last_of_a_person():
    rules = people_problem(DistinctL(2, "s"), 5)
    rules = rules.build_rules(rules.table)
    left, right, both = 0, 1, 2
    histogram = np.zeros((3, count_slots(rules)), np.int64)
    rows = rules.entry.size - 1
    for row in range(rows):
        add_row(rules, row, histogram, both)
    histogram[right, : rules.values] = histogram[both, : rules.values]
    for row in range(rows):
        add_row(rules, row, histogram, left)
        take_people(rules, row, histogram, left, both, right)
        rest = np.zeros((1, count_slots(rules)), np.int64)
        for other in range(row + 1, rows):
            add_row(rules, other, rest, 0)
        assert histogram[right, : rules.values].tolist() == rest[0, : rules.values].tolist()


def test_clearing_lasts_for_ever():
    rules = people_problem(DistinctL(2, "s"), 5)
    rules = rules.build_rules(rules.table)
    histogram = np.zeros((1, count_slots(rules)), np.int64)
    histogram[0, -1] = (1 << 62) - 1  # as after a billion classes
    for _ in range(3):
        clear_histogram(rules, histogram, 0)
        add_row(rules, 0, histogram, 0)
        add_row(rules, 0, histogram, 0)
        people = rules.entry[1] - rules.entry[0]
        assert histogram[0, : rules.values].sum() == people
