"""Levels drawn privately: scores and their sensitivity, the draw, and the whole release, by enumeration."""

from collections import Counter
from contextlib import suppress
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, exp, floor

import polars as pl
import pytest

import shoal
from shoal.algorithms import safepub
from shoal.algorithms.private_levels import ExpectedRows, draw_index, happens
from shoal.errors import RecipeError

JOBS = {"manual": ["mason", "smith"], "office": ["clerk"]}
TOWNS = {"north": ["a"], "south": ["b"]}
TREES = {"job": shoal.Hierarchy.from_tree(JOBS), "town": shoal.Hierarchy.from_tree(TOWNS)}
TOPS = {"job": 2, "town": 2}
GOAL = shoal.SafePub(1.2, 0.3, search=0.4)
RATE, K = 1 - exp(-GOAL.sampling_epsilon), GOAL.least_size()
SCHEMES = list(product(range(3), range(3)))


class StoppedError(Exception):
    """Ends a run where the levels are drawn."""


def anonymize(rows, goal=GOAL, levels="", **more):
    table = pl.DataFrame(rows, {"job": pl.String, "town": pl.String}, orient="row")
    return shoal.anonymize(
        table,
        quasi=["job", "town"],
        types={"job": "string", "town": "string"},
        hierarchies=TREES,
        models=[goal],
        algorithm=shoal.SafePubScheme(levels, seed=more.pop("seed", None)),
        **more,
    )


@pytest.fixture
def draw(monkeypatch):
    """What `draw_index` is given by a run on these rows: scores, part of epsilon, sensitivity."""

    def run(rows, **more):
        given = []

        def stop(scores, epsilon, sensitivity, below):
            given.extend((scores, epsilon, sensitivity))
            raise StoppedError

        monkeypatch.setattr(safepub, "draw_index", stop)
        with pytest.raises(StoppedError):
            anonymize(rows, **more)
        return given

    return run


# The same by hand.


def release_cell(column, value, level):
    """What a value becomes, and how much of its detail it keeps."""
    tree = {"job": JOBS, "town": TOWNS}[column]
    leaves = [leaf for group in tree.values() for leaf in group]
    if level == TOPS[column]:
        return "*", 0.0
    if value is None:
        return None, 1.0
    if value not in leaves:
        return "*", 0.0
    if level == 0:
        return value, 1.0
    (group,) = [name for name, inside in tree.items() if value in inside]
    return group, 1 - (len(tree[group]) - 1) / (len(leaves) - 1)


def release_row(row, scheme):
    return tuple(release_cell(*each) for each in zip(("job", "town"), row, scheme, strict=True))


def expected_rows(n, k=K, rate=RATE):
    """Mean number of rows that a class of n is released with, over the rate."""
    rate = Fraction(rate)
    return sum(comb(n, j) * rate**j * (1 - rate) ** (n - j) * j for j in range(k, n + 1)) / rate


def score(rows, scheme):
    classes = Counter(release_row(row, scheme) for row in rows)
    return sum(
        sum(floor(500 * kept) for _, kept in cells) * round(1000 * expected_rows(n))
        for cells, n in classes.items()
    )


ROWS = list(product(["mason", "smith", "clerk", "baker", None], ["a", "b"]))


def test_scores_are_those_of_the_definition(draw):
    assert 2 <= K <= 4
    tables = [[], ROWS, ROWS * 3, ROWS[:2] * 7, [ROWS[0]] * 40, ROWS[3:9] * 2 + ROWS[:1] * 5]
    for rows in tables:
        scores, epsilon, sensitivity = draw(rows)
        assert epsilon == Fraction(0.4)
        assert scores == [score(rows, scheme) for scheme in SCHEMES]
        steps = [round(1000 * expected_rows(n + 1)) - round(1000 * expected_rows(n)) for n in range(60)]
        assert sensitivity == pytest.approx(1000 * max(steps), rel=2e-3)


def test_a_further_row_never_lowers_a_score_and_raises_none_by_more_than_is_said(draw):
    # All tables of up to four rows of six kinds, and of many equal ones, each with every further row.
    kinds = [ROWS[0], ROWS[1], ROWS[2], ROWS[4], ROWS[6], ROWS[8]]
    tables = [rows for n in range(4) for rows in combinations_with_replacement(kinds, n)]
    tables += [(kinds[0],) * n for n in (4, 5, 6, 7, 8, 15, 30)]
    largest = 0
    for rows in tables:
        before, _, sensitivity = draw(list(rows))
        for further in kinds[:4]:
            steps = [b - a for a, b in zip(before, draw([*rows, further])[0], strict=True)]
            assert min(steps) >= 0
            assert max(steps) <= sensitivity
            largest = max(largest, *steps)
    assert largest == sensitivity  # nothing less would do


@pytest.mark.parametrize(("rate", "k"), [(0.3, 1), (0.3, 2), (0.63, 5), (0.1, 9), (1 - exp(-0.9), 61)])
def test_expected_rows(rate, k):
    expected = ExpectedRows.from_parameters(rate, k)
    size = [0, 1, k - 1, k, k + 1, 2 * k, 3 * k]
    for n, found in zip(size, expected.look_up(pl.Series(size).to_numpy()), strict=True):
        assert found == pytest.approx(float(1000 * expected_rows(n, k, rate)), abs=1)
    steps = pl.Series(expected.values).diff().drop_nulls()
    assert steps.min() >= 0
    assert expected.sensitivity == 1000 * max(1000, steps.max())
    # Beyond the table as in it: a row more is one more.
    last = expected.values.size - 1
    assert expected.look_up(pl.Series([last + 5]).to_numpy())[0] == expected.values[-1] + 5000


# The draw.


def enumerate_draws(run, least=1e-7):
    """Probability of every result, by following all that chance can be down to a probability."""
    found, open_ = Counter(), [((), 1.0)]
    while open_:
        script, probability = open_.pop()
        given, asked = list(script), []

        def below(end, given=given, asked=asked):
            if not given:
                asked.append(end)
                raise StoppedError
            return given.pop(0)

        try:
            found[run(below)] += probability
        except StoppedError:
            share = probability / asked[0]
            if share >= least:
                open_ += [((*script, drawn), share) for drawn in range(asked[0])]
    return found


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 5), Fraction(1), Fraction(3, 2), Fraction(4)])
def test_a_chance_of_e_to_the_minus_x(exponent):
    found = enumerate_draws(lambda below: happens(exponent, below))
    assert found[True] == pytest.approx(exp(-exponent), abs=3e-4)
    assert found[True] + found[False] == pytest.approx(1, abs=3e-4)


def test_the_draw_is_the_exponential_mechanism():
    scores, epsilon, sensitivity = [30, 0, 20, 30], Fraction(1, 2), 10
    found = enumerate_draws(lambda below: draw_index(scores, epsilon, sensitivity, below), 1e-6)
    weights = [exp(epsilon * score / sensitivity) for score in scores]
    for at, weight in enumerate(weights):
        assert found[at] == pytest.approx(weight / sum(weights), abs=5e-3)


@pytest.mark.parametrize("end", [2, 5, 200])
def test_whole_numbers_are_drawn_equally_often(end, monkeypatch):
    # Every byte once: each number comes from as many, and the others are drawn again.
    found = Counter()
    for first in range(256):
        bits = [bytes([first])]
        monkeypatch.setattr(safepub, "random_bytes", lambda size, bits=bits: bits.pop())
        with suppress(IndexError):
            found[shoal.SafePubScheme()._build_source()(end)] += 1
    assert set(found) == set(range(end))
    assert len(set(found.values())) == 1


# The whole release.


def distribute(rows, scores, epsilon, sensitivity, sharp=False):
    """Probability of every release: the scheme, and the rows that are left of every sample."""
    weights = [exp(float(epsilon) * (score - max(scores)) / sensitivity) for score in scores]
    if sharp:
        weights = [float(at == scores.index(max(scores))) for at in range(len(scores))]
    found = Counter()
    for scheme, weight in zip(SCHEMES, weights, strict=True):
        cells = [tuple(label for label, _ in release_row(row, scheme)) for row in rows]
        for drawn in product([False, True], repeat=len(rows)):
            classes = Counter(cell for cell, yes in zip(cells, drawn, strict=True) if yes)
            kept = tuple(sorted(((c, n) for c, n in classes.items() if n >= K), key=repr))
            chance = RATE ** sum(drawn) * (1 - RATE) ** (len(rows) - sum(drawn))
            found[scheme, kept] += weight / sum(weights) * chance
    return found


def exceed(one, other):
    """The least delta by which a distribution is private beside another."""
    return sum(max(0.0, chance - exp(GOAL.epsilon) * other[made]) for made, chance in one.items())


TABLES = [
    ROWS[:6],
    [ROWS[0]] * K,
    [ROWS[0]] * 6,
    [ROWS[0]] * 3 + [ROWS[5]] * 3,
    [ROWS[0]] * 2 + [ROWS[2]] * 4,
]


@pytest.mark.slow
@pytest.mark.parametrize("rows", TABLES)
def test_releases_of_neighbouring_tables_are_as_likely_as_is_promised(rows, draw):
    one = distribute(rows, *draw(rows))
    assert sum(one.values()) == pytest.approx(1)
    for further in (ROWS[0], ROWS[5], ROWS[7]):
        other = distribute([*rows, further], *draw([*rows, further]))
        assert max(exceed(one, other), exceed(other, one)) <= GOAL.delta


def test_the_best_levels_would_not_be_private(draw):
    # So the test above can fail: taking the best scheme tells neighbours apart.
    found = []
    for n in range(1, 7):
        rows = [ROWS[0]] * n + [ROWS[3]] * (6 - n)
        for further in ROWS:
            one = distribute(rows, *draw(rows), sharp=True)
            other = distribute([*rows, further], *draw([*rows, further]), sharp=True)
            found.append(max(exceed(one, other), exceed(other, one)))
    assert max(found) > GOAL.delta


def test_a_release_by_drawn_levels():
    rows = [ROWS[0], ROWS[5]] * 300
    for _ in range(5):
        found = anonymize(rows)
        assert found.report.models[0].holds
        assert found.report.models[0].asked["search"] == 0.4
        assert "other levels" in found.report.notes[0]
        assert shoal.verify(found.frame, quasi=["job", "town"], models=[GOAL]).holds
    # Nearly always as they are: the others are worse by far more than the sensitivity.
    assert found.frame.unique().rows() in ([ROWS[0], ROWS[5]], [ROWS[5], ROWS[0]])


def test_drawn_levels_are_in_the_stated_ranges():
    found = {anonymize(ROWS, levels="job=1..2,town=1").report.rows for _ in range(3)}
    assert found == {None}
    for _ in range(10):
        cells = anonymize([ROWS[0]] * 30, levels="job=1..2,town=1").frame.unique().rows()
        assert cells in ([("manual", "a")], [("*", "a")], [])


def test_a_stated_seed_draws_the_same_levels():
    first, second = (anonymize(ROWS * 2, seed=5) for _ in range(2))
    assert first.frame.equals(second.frame)
    assert not first.report.models[0].holds


def test_the_sample_is_smaller_and_k_is_that_of_what_is_left_of_epsilon():
    assert pytest.approx(0.8) == GOAL.sampling_epsilon
    assert shoal.SafePub(0.8, 0.3).least_size() == K
    assert Fraction(GOAL.sampling_epsilon) + Fraction(GOAL.search) <= Fraction(GOAL.epsilon)


@pytest.mark.parametrize(
    ("goal", "levels", "says"),
    [
        (shoal.SafePub(1, 0.1), "", "levels says nothing of 'job'"),
        (shoal.SafePub(1, 0.1), "job=0..1,town=0", "levels states several for 'job'"),
        (GOAL, "job=1,town=0", "there is one level of each column"),
        (GOAL, "job=1..3", "levels asks for level 1..3 of 'job'"),
        (GOAL, "job=2..1", "levels asks for level 2..1 of 'job'"),
        (GOAL, "wage=0..1", "unknown quasi-identifier in levels 'wage'"),
    ],
)
def test_levels_that_are_refused(goal, levels, says):
    with pytest.raises(RecipeError, match=says.replace("..", r"\.\.")):
        anonymize(ROWS, goal, levels)


@pytest.mark.parametrize("search", [-0.1, 1.0, 0.9995, 2, float("nan")])
def test_parts_of_epsilon_that_are_refused(search):
    with pytest.raises(RecipeError, match="search is the part of epsilon"):
        shoal.SafePub(1.0, 0.1, search=search)


def test_too_many_schemes_are_refused_before_a_row_is_read(monkeypatch):
    monkeypatch.setattr("shoal.algorithms.private_levels.MOST_SCHEMES", 8)
    with pytest.raises(RecipeError, match="9 combinations of levels cannot be searched"):
        anonymize(ROWS)
    assert anonymize(ROWS, levels="job=1..2").report.rows is None


def test_a_k_that_no_table_of_sizes_holds_is_refused():
    with pytest.raises(RecipeError, match="takes k of"):
        ExpectedRows.from_parameters(0.5, 10**9)


def test_weights_say_which_columns_matter(draw):
    scores, _, _ = draw([ROWS[0]] * 50, weights={"job": 3, "town": 0})
    by_scheme = dict(zip(SCHEMES, scores, strict=True))
    assert by_scheme[0, 0] == by_scheme[0, 2] > by_scheme[1, 0] == by_scheme[1, 2] > by_scheme[2, 0] == 0
