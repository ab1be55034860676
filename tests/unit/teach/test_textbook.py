"""The algorithms of the textbook, against definitions written out here."""

import inspect
import json
from fractions import Fraction
from itertools import combinations, islice, permutations, product
from pathlib import Path
from random import Random

import polars as pl
import pytest

from shoal import teach
from shoal.algorithms.mingen import MinGen
from shoal.engines.api import anonymize
from shoal.errors import InputError
from shoal.table.hierarchies import Hierarchy
from shoal.teach.people import JOBS
from shoal.teach.reading import read_teaching_table
from shoal.teach.textbook import branching, program
from shoal.teach.textbook.anonymity import (
    find_matches,
    score_by_assignments,
    score_by_classes,
    score_by_components,
)
from shoal.teach.textbook.brute_force import Memory
from shoal.teach.textbook.evolution import Evolution
from shoal.teach.textbook.mondrian import cut_boxes, join_classes, measure_distance, measure_diversity

TEXTBOOK = Path(inspect.getfile(branching)).parent


def random_frame(seed: int, rows: int = 3) -> pl.DataFrame:
    random = Random(seed)
    return pl.DataFrame(
        {
            "age": [random.choice([21, 30, 34, 50]) for _ in range(rows)],
            "job": [random.choice(["cook", "mason", "clerk"]) for _ in range(rows)],
        }
    )


def list_safe(small, k: int, meaning: str):
    """Every safe table with its loss, by the definition."""
    n = len(small.people)
    for cells in product(*(options for row in small.options for options in row)):
        rows = [cells[i * len(small.names) : (i + 1) * len(small.names)] for i in range(n)]
        if meaning == "classes":
            labels = [tuple(cell.label for cell in row) for row in rows]
            scores = [labels.count(label) for label in labels]
        else:
            covered = [
                {
                    j
                    for j, p in enumerate(small.people)
                    if all(v in c.values for c, v in zip(row, p, strict=True))
                }
                for row in rows
            ]
            answers = [p for p in permutations(range(n)) if all(p[i] in covered[i] for i in range(n))]
            scores = [len({answer[i] for answer in answers}) for i in range(n)]
        if min(scores) >= k:
            yield sum(cell.loss for cell in cells)


@pytest.mark.parametrize("meaning", ["matching", "classes"])
@pytest.mark.parametrize("seed", range(4))
def test_brute_force_finds_the_best_tables_however_it_prunes(seed, meaning):
    frame = random_frame(seed)
    small = read_teaching_table(frame, hierarchies={"job": JOBS})
    losses = list(list_safe(small, 2, meaning))
    best = min(losses) / small.unit
    for prune, cache in product((True, False, "score", "k"), (True, False)):
        f = teach.brute_force(
            frame, 2, hierarchies={"job": JOBS}, meaning=meaning, prune=prune, cache=cache
        ).figures
        assert (f["loss"], f["solutions"]) == (best, losses.count(min(losses)))
        assert (
            f["complete"] + f["tables_cut_by_score"] + f["tables_cut_by_k"]
            == f["tables"]
            == small.search_space
        )
        if not prune:
            assert (f["visited"], f["complete"]) == (f["states_without_pruning"], f["tables"])
            assert f["unsafe"] == f["tables"] - len(losses)


def test_pruning_never_visits_more():
    visited = [
        teach.brute_force(rows=4, quasi=["age", "sex"], prune=prune).figures["visited"]
        for prune in (False, "score", "k", True)
    ]
    assert visited[0] > visited[1] > visited[3]
    assert visited[0] > visited[2] > visited[3]


@pytest.mark.exhaustive
def test_without_pruning_as_many_states_are_visited_as_were_computed():
    f = teach.brute_force(prune=False, cache=True).figures
    assert (f["tables"], f["complete"]) == (746_496, 746_496)
    assert f["visited"] == f["states_without_pruning"] == 1_123_900
    assert round(f["loss"], 4) == 5.9048


def test_the_cache_changes_nothing_but_what_is_computed():
    with_cache, without = (teach.brute_force(cache=cache) for cache in (True, False))
    assert with_cache.tables == without.tables
    assert with_cache.figures["visited"] == without.figures["visited"]
    matches = with_cache.figures["cache"]["matches"]
    assert matches["hits"] > 100 * matches["misses"] > 0
    assert "cache" not in without.figures


def test_random_search_stops_and_can_be_repeated():
    runs = [teach.brute_force(iterations=500, seed=seed) for seed in (1, 1, 2)]
    assert [run.figures["visited"] for run in runs] == [500] * 3
    assert runs[0].tables == runs[1].tables != runs[2].tables
    assert not runs[0].figures["is_whole"]
    assert teach.brute_force(iterations=10**6).figures["is_whole"]


def test_distortion_counts_changed_cells_and_weights_count():
    plain, weighted = (
        teach.brute_force(rows=3, quasi=["sex", "job"], loss="distortion", weights=weights).figures["loss"]
        for weights in (None, {"sex": 10})
    )
    assert plain == int(plain)
    assert weighted > plain


@pytest.mark.parametrize("seed", range(12))
def test_brute_force_and_the_exact_search_agree(seed):
    """On the tables that there are, on the least loss, and on how many tables have it."""
    random = Random(seed)
    tree = Hierarchy.from_tree({"low": ["a", "b"], "mid": ["c"], "high": ["d", "e", "f"]})
    kinds = {"number": [1, 2, 4, 9, None], "flat": ["x", "y", "z"], "tree": [*"abcdef"]}
    for _ in range(3):
        frame = pl.DataFrame({name: random.sample(values, 3) for name, values in kinds.items()})
        frame = frame.select(random.sample(frame.columns, 2))
        settings = {
            "k": random.randint(1, 3),
            "loss": random.choice(["certainty", "distortion"]),
            "weights": {name: random.choice([1, 2, 0.5, 1e-9, 0]) for name in frame.columns},
            "hierarchies": {"tree": tree} if "tree" in frame.columns else None,
        }
        meaning = random.choice(["matching", "classes"])
        found = teach.brute_force(frame, meaning=meaning, **settings).figures
        exact = MinGen(semantics=meaning)
        report = anonymize(frame, quasi=frame.columns, algorithm=exact, **settings).report
        assert (found["tables"], found["solutions"]) == (report.search_space, report.solutions), settings
        assert found["loss"] == pytest.approx(report.loss["value"], rel=1e-9)


def test_what_cannot_be_searched_is_refused_with_the_number_of_tables():
    with pytest.raises(InputError, match=r"there are [\d,]+ tables, which take [\d,]+ states .*--rows 4"):
        teach.brute_force(rows=12, quasi=["age", "sex", "job"])
    with pytest.raises(InputError, match=r"2,000 states are visited .* 746,496 tables"):
        teach.brute_force(limit=2_000)
    with pytest.raises(InputError, match=r"746,496 tables.*prune by score and by k"):
        teach.brute_force(prune=False, limit=1_000_000)
    with pytest.raises(InputError, match="k = 5 is out of reach: the table has 4 rows"):
        teach.brute_force(k=5)
    with pytest.raises(InputError, match="negative weight"):
        teach.brute_force(weights={"age": -1})
    with pytest.raises(InputError, match="did you mean 'classes'"):
        teach.brute_force(meaning="class")


def test_negative_weights_suppress_where_they_may():
    run = teach.brute_force(rows=3, quasi=["sex", "job"], weights={"sex": -1}, prune="k")
    assert all(row[0] == "*" for row in run.tables[0])


def test_k_of_one_gives_the_table_back():
    run = teach.brute_force(k=1)
    assert run.figures["loss"] == 0
    assert run.tables == (run.table.people,)


def test_scores_by_components_are_those_of_all_answers():
    arcs = [(i, j) for i in range(3) for j in range(3) if i != j]
    for size in range(7):
        for chosen in combinations(arcs, size):
            matches = [sorted({i, *(j for a, j in chosen if a == i)}) for i in range(3)]
            assert score_by_components(matches) == score_by_assignments(matches)


def test_scores_by_components_of_random_graphs():
    random = Random(5)
    for _ in range(200):
        n = random.randint(2, 6)
        matches = [sorted({i, *(j for j in range(n) if random.random() < 0.3)}) for i in range(n)]
        assert score_by_components(matches) == score_by_assignments(matches)


@pytest.mark.parametrize("seed", range(5))
def test_branch_and_bound_finds_what_brute_force_finds(seed):
    random = Random(seed)
    for _ in range(6):
        ages = [random.randint(20, 60) for _ in range(3)]
        frame = pl.DataFrame({"age": ages, "job": [random.choice(JOBS.leaves) for _ in ages]})
        brute = teach.brute_force(frame, cache=True, hierarchies={"job": JOBS}).figures
        bound = teach.branch_and_bound(frame, hierarchies={"job": JOBS}).figures
        assert bound["loss"] == brute["loss"]
        assert bound["visited"] < brute["visited"]


@pytest.mark.parametrize("seed", range(5))
def test_the_program_finds_what_brute_force_finds_by_classes(seed):
    frame = random_frame(seed, rows=4)
    settings = {"hierarchies": {"job": JOBS}}
    brute = teach.brute_force(frame, cache=True, meaning="classes", **settings).figures
    assert teach.solve_program(frame, **settings).figures["loss"] == brute["loss"]


def test_useful_options_lose_nothing():
    small = read_teaching_table(None, quasi=("age", "sex", "job"), rows=4)
    for row in range(4):
        every = branching.list_row_options(small, row)
        kept = branching.keep_useful(every, 2)
        for option in every:
            is_kept = any(other.beats(option) for other in kept)
            assert is_kept or len(option.people) < 2
        assert not any(one.beats(two) for one, two in permutations(kept, 2))


def test_the_relaxation_is_a_bound_and_prefers_halves():
    # Three people on a line: half of each pair loses less than all three together.
    small = read_teaching_table(pl.DataFrame({"x": [0, 1, 2]}))
    groups = program.list_groups(small, 2)
    taken = program.solve_relaxation(groups, range(3))
    assert {len(group.rows): part for group, part in taken.items()} == {2: Fraction(1, 2)}
    lost = sum(group.loss * part for group, part in taken.items())
    assert lost / small.unit == 2
    assert teach.solve_program(small).figures["loss"] == 3
    assert program.solve_relaxation(groups[:1], range(3)) is None


def test_cuts_leave_k_people_on_both_sides():
    random = Random(3)
    points = [(Fraction(random.randint(0, 20)), Fraction(random.randint(0, 20))) for _ in range(40)]
    boxes = [cut.rows for cut in cut_boxes(points, tuple(range(40)), 4) if cut.column is None]
    assert sorted(row for rows in boxes for row in rows) == list(range(40))
    assert min(map(len, boxes)) >= 4


def test_joined_classes_satisfy_l_and_t():
    assert measure_diversity(["flu", "flu", "cold"]) == 2
    assert measure_distance(["flu", "flu"], ["flu", "cold"]) == Fraction(1, 2)
    points = [(Fraction(i), Fraction(0)) for i in range(6)]
    sensitive = ["flu", "flu", "cold", "flu", "cold", "cold"]
    classes = [(0, 1), (2, 3), (4, 5)]
    *_, (_, _, left) = join_classes(points, classes, sensitive, 2, Fraction(1, 4))
    assert sorted(row for rows in left for row in rows) == list(range(6))
    for rows in left:
        mine = [sensitive[row] for row in rows]
        assert measure_diversity(mine) >= 2
        assert measure_distance(mine, sensitive) <= Fraction(1, 4)


def test_evolution_keeps_its_best_and_says_what_is_safe():
    run = teach.evolve(population=30, generations=60, seed=4)
    best = [each["best"] for each in run.figures["history"]]
    assert best == sorted(best)
    assert len(best) == 61
    cells = [
        [next(o for o in options if o.label == label) for options, label in zip(row, labels, strict=True)]
        for row, labels in zip(run.table.options, run.tables[0], strict=True)
    ]
    scores = score_by_components([find_matches(row, run.table.people) for row in cells])
    assert (min(scores) >= 2) == run.figures["is_safe"]
    assert teach.evolve(population=30, generations=60, seed=4).tables == run.tables


def test_evolution_without_mutation_only_combines_what_it_began_with():
    small = read_teaching_table(None, quasi=("age", "sex", "job"), rows=4)
    rules = Evolution(small, 2, "matching", 0, True, Random(1), Memory(True))
    first = None
    for generation in islice(rules.breed_generations(20, 30), 30):
        cells = {
            (i, j, cell.label)
            for each in generation.crowd
            for i, row in enumerate(each.cells)
            for j, cell in enumerate(row)
        }
        first = first or cells
        assert cells <= first


def test_without_mutation_some_runs_never_get_safe():
    def count_unsafe(rate: float) -> int:
        runs = [teach.evolve(population=20, generations=50, mutation_rate=rate, seed=s) for s in range(10)]
        return sum(not run.figures["is_safe"] for run in runs)

    assert count_unsafe(0) > count_unsafe(10) == 0


def test_a_table_that_loses_nothing_is_the_fittest_and_a_number():
    run = teach.evolve(k=1, population=200, generations=100)
    assert run.figures["loss"] == 0
    assert json.loads(json.dumps(run.to_dict(), allow_nan=False))["is_safe"]


def test_the_mutation_rate_doubles_every_tenth():
    steps = teach.evolve(population=10, generations=100, steps=101).steps
    rates = [step.figures["mutation"] for step in steps]
    assert rates[0] == rates[9] == "9%"
    assert rates[10] == "17%"
    assert rates[-1] == "98%"
    constant = teach.evolve(population=10, generations=100, steps=101, doubling=False).steps
    assert {step.figures["mutation"] for step in constant} == {"9%"}


def test_classes_by_their_labels():
    small = read_teaching_table(pl.DataFrame({"sex": ["f", "f", "m"]}))
    rows = [[options[1] for options in row] for row in small.options]
    assert score_by_classes(rows) == [2, 2, 1]


def test_the_textbook_is_short_and_plain():
    files = sorted(TEXTBOOK.glob("*.py"))
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) < 600
    for path in files:
        text = path.read_text("utf-8")
        for heavy in ("numba", "numpy", "scipy", "polars", "shoal.kernels", "shoal.algorithms"):
            assert heavy not in text, path.name
