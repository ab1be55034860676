"""What must hold of every model on any table."""

from dataclasses import replace
from math import inf, isinf, nextafter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.entries import list_untested

from shoal.privacy import (
    MODELS,
    AlphaK,
    AverageRisk,
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
from shoal.support.parameters import name_of

few = settings(max_examples=40)

HEIGHT = 3
# Eight values in two groups of two groups of two.
LEVELS = np.stack([np.arange(8) >> level for level in range(HEIGHT)])

tables = st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=12), min_size=1, max_size=6)
letters = st.permutations(list(range(8)))


def counts_of(rows: list[list[int]], scale: ValueScale | None = None) -> Counts:
    size = np.array([len(row) for row in rows])
    class_of = np.repeat(np.arange(len(rows)), size)
    value = np.array([value for row in rows for value in row])
    return Counts(size, {"s": SensitiveCounts.of_rows(class_of, value, scale or ValueScale(True, LEVELS))})


def t(distance):
    return lambda parameter: TCloseness(parameter, distance, "s")


# The least strict parameter holds of any table, and `achieved` does not depend on it.
LESS_IS_STRICTER = {
    "alpha-k": lambda parameter: AlphaK(parameter, 1, "s"),
    "t equal": t("equal"),
    "t ordered": t("ordered"),
    "t hierarchical": t("hierarchical"),
    "basic-beta": lambda parameter: BasicBeta(parameter, "s"),
    "enhanced-beta": lambda parameter: EnhancedBeta(parameter, "s"),
    "max-risk": MaxRisk,
    "average-risk": AverageRisk,
    "uniqueness": Uniqueness,
}
STRICT = {
    "recursive-cl 2": lambda parameter: RecursiveCL(parameter, 2, "s"),
    "recursive-cl 3": lambda parameter: RecursiveCL(parameter, 3, "s"),
}
MORE_IS_STRICTER = {
    "k": KAnonymity,
    "distinct-l": lambda parameter: DistinctL(parameter, "s"),
    "p-sensitive": lambda parameter: PSensitive(parameter, "s"),
}


def reached(model, counts) -> float:
    achieved = model.achieved(counts)
    return achieved["alpha"] if isinstance(achieved, dict) else achieved


@pytest.mark.slow
@pytest.mark.parametrize("name", LESS_IS_STRICTER)
@few
@given(rows=tables)
def test_what_is_achieved_is_the_border_where_less_is_stricter(name, rows):
    make, counts = LESS_IS_STRICTER[name], counts_of(rows)
    border = reached(make(0.5), counts)
    if isinf(border):
        assert not make(1e6).holds(counts).all()
        return
    assume(0 < border < 1 or (name.endswith("beta") and border > 0))
    assert make(border).holds(counts).all()
    assert not make(nextafter(border, 0)).holds(counts).all()


@pytest.mark.parametrize("name", STRICT)
@few
@given(rows=tables)
def test_what_is_achieved_is_the_border_where_it_must_be_exceeded(name, rows):
    make, counts = STRICT[name], counts_of(rows)
    border = reached(make(1), counts)
    if isinf(border):
        assert not make(1e300).holds(counts).all()
        return
    assert not make(border).holds(counts).all()
    assert make(nextafter(border, inf)).holds(counts).all()


@pytest.mark.parametrize("form", ["strict", "lenient"])
@few
@given(rows=tables)
def test_what_is_achieved_is_the_border_of_delta(form, rows):
    # Powers and logarithms of two are rounded, so the border is known up to that.
    counts = counts_of(rows)
    border = DeltaDisclosure(1, form, "s").achieved(counts)
    if isinf(border):
        assert not DeltaDisclosure(1000, form, "s").holds(counts).all()
        return
    assert DeltaDisclosure(border + 1e-12, form, "s").holds(counts).all()
    assert border < 1e-9 or not DeltaDisclosure(border - 1e-12, form, "s").holds(counts).all()


@pytest.mark.parametrize("name", MORE_IS_STRICTER)
@few
@given(rows=tables)
def test_what_is_achieved_is_the_border_where_more_is_stricter(name, rows):
    make, counts = MORE_IS_STRICTER[name], counts_of(rows)
    border = make(2).achieved(counts)
    assert not make(max(border + 1, 2)).holds(counts).all()
    assert border < 2 or make(border).holds(counts).all()


@few
@given(rows=tables)
def test_what_is_achieved_is_the_border_of_entropy(rows):
    counts = counts_of(rows)
    border = EntropyL(2, "s").achieved(counts)
    assert not EntropyL(nextafter(border, inf), "s").holds(counts).all()
    assert border == 1 or EntropyL(border, "s").holds(counts).all()


SOME = [
    KAnonymity(4),
    AlphaK(0.5, 3, "s"),
    DistinctL(3, "s"),
    PSensitive(2, "s"),
    EntropyL(2, "s"),
    EntropyL(2.7, "s"),
    RecursiveCL(1, 2, "s"),
    RecursiveCL(2.5, 3, "s"),
    TCloseness(0.3, "equal", "s"),
    TCloseness(0.2, "ordered", "s"),
    TCloseness(0.25, "hierarchical", "s"),
    BasicBeta(1, "s"),
    EnhancedBeta(0.8, "s"),
    DeltaDisclosure(1.5, "strict", "s"),
    DeltaDisclosure(1.5, "lenient", "s"),
    MaxRisk(0.25),
    AverageRisk(0.25),
    Uniqueness(0.2),
]


# These have no definition class by class, or none that is written out a second time (see the linear program).
OF_THE_WHOLE = (AverageRisk(0.25), Uniqueness(0.2), TCloseness(0.25, "hierarchical", "s"))


def test_some_of_every_model():
    # See test_population, test_safepub, test_population_uniqueness and test_k_map_weights.
    apart = {"k-map", "delta-presence", "safepub", "population-uniqueness", "k-map-weights"}
    assert list_untested("privacy", MODELS, apart | {name_of(MODELS, model) for model in SOME}) == []


@pytest.mark.slow
@pytest.mark.parametrize("model", [model for model in SOME if model.monotone], ids=str)
def test_merging_classes_that_satisfy_a_monotone_model(model):
    rng = np.random.default_rng(0)
    merged = 0
    for _ in range(20):
        # Classes of few rows that are alike, so that some satisfy the model and some just so.
        rows = [rng.binomial(7, 0.5, rng.integers(1, 40)).tolist() for _ in range(30)]
        rows += [[*range(8), *range(8), *row] for row in rows[:10]]
        fine = np.flatnonzero(model.holds(counts_of(rows)))
        for _ in range(10 if fine.size > 1 else 0):
            chosen = rng.choice(fine, rng.integers(2, fine.size + 1), replace=False)
            others = [row for i, row in enumerate(rows) if i not in chosen]
            together = [value for i in chosen for value in rows[i]]
            assert model.holds(counts_of([together, *others]))[0]
            merged += 1
    assert merged > 20  # else it says nothing


@pytest.mark.parametrize("model", [AverageRisk(0.5), Uniqueness(0.5)], ids=str)
@few
@given(rows=tables)
def test_merging_never_raises_a_risk_of_the_whole(model, rows):
    assume(len(rows) > 1)
    merged = [rows[0] + rows[1], *rows[2:]]
    assert model.achieved(counts_of(merged)) <= model.achieved(counts_of(rows))


@pytest.mark.slow
@pytest.mark.parametrize("model", SOME, ids=str)
@few
@given(rows=tables, seed=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_classes_does_not_matter(model, rows, seed):
    shuffled = [seed.sample(row, len(row)) for row in rows]
    seed.shuffle(shuffled)
    before, after = model.achieved(counts_of(rows)), model.achieved(counts_of(shuffled))
    assert after == (before if isinstance(before, dict) else pytest.approx(before, rel=1e-12))
    assert model.holds(counts_of(shuffled)).sum() == model.holds(counts_of(rows)).sum()


@pytest.mark.slow
@pytest.mark.parametrize("model", [m for m in SOME if getattr(m, "distance", "equal") == "equal"], ids=str)
@few
@given(rows=tables, names=letters)
def test_the_names_of_values_do_not_matter(model, rows, names):
    renamed = [[names[value] for value in row] for row in rows]
    before, after = model.achieved(counts_of(rows)), model.achieved(counts_of(renamed))
    assert after == (before if isinstance(before, dict) else pytest.approx(before, rel=1e-12))


@few
@given(rows=tables)
def test_an_order_read_backwards_is_the_same_order(rows):
    # All of 0..7 occur, else the ends of the scale would differ.
    rows = [*rows, list(range(8))]
    backwards = [[7 - value for value in row] for row in rows]
    model = TCloseness(1, "ordered", "s")
    assert model.achieved(counts_of(backwards)) == model.achieved(counts_of(rows))


@pytest.mark.slow
@pytest.mark.parametrize("model", [m for m in SOME if m not in OF_THE_WHOLE], ids=str)
@few
@given(rows=tables)
def test_each_model_says_what_its_definition_says(model, rows, naive):
    # Values are numbered densely, as a table's are.
    present = sorted({value for row in rows for value in row})
    dense = [tuple(present.index(value) for value in row) for row in rows]
    whole = tuple(value for row in dense for value in row)
    name = name_of(MODELS, model)
    assert model.holds(counts_of(dense)).tolist() == [naive[name](model, row, whole) for row in dense]


GROUND = {
    "equal": lambda i, j: float(i != j),
    "ordered": lambda i, j: abs(i - j) / 7,
    "hierarchical": lambda i, j: sum(LEVELS[:, i] != LEVELS[:, j]) / HEIGHT,
}


@pytest.mark.parametrize("distance", GROUND)
@pytest.mark.parametrize("seed", range(4))
def test_the_distance_is_the_least_work_of_transport(distance, seed):
    """Against a linear program: the definition of the earth mover's distance itself."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 8, size).tolist() for size in (5, 3)] + [list(range(8))]
    p = np.bincount(rows[0], minlength=8) / 5
    q = np.bincount([value for row in rows for value in row], minlength=8) / 16
    cost = np.array([[GROUND[distance](i, j) for j in range(8)] for i in range(8)])
    leave, arrive = np.kron(np.eye(8), np.ones(8)), np.kron(np.ones(8), np.eye(8))
    least = linprog(cost.ravel(), A_eq=np.vstack([leave, arrive]), b_eq=np.concatenate([p, q])).fun
    found = TCloseness(1, distance, "s").distances(counts_of(rows))[0]
    assert found == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("model", [m for m in SOME if m not in (AverageRisk(0.25), Uniqueness(0.2))], ids=str)
@few
@given(rows=tables)
def test_some_classes_are_judged_by_the_whole_that_they_are_part_of(model, rows):
    full = counts_of(rows)
    part = counts_of(rows[:2])
    values = replace(part.sensitive["s"], reference=full.sensitive["s"].count_in_table())
    judged = model.holds(Counts(part.size, {"s": values}))
    assert judged.tolist() == model.holds(full)[:2].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("model", SOME, ids=str)
@few
@given(rows=tables)
def test_classes_that_suffice_are_never_in_the_way(model, rows):
    counts = counts_of(rows)
    enough = model.suffices(counts)
    assert (model.holds(counts) | ~enough).all()
    assert (counts.size[enough] >= model.least_size()).all()
    assert not enough.all() or model.holds(counts).all()
