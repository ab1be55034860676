"""What whoever knows some of the columns finds, beside a count of every set by hand."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import Counts, KAnonymity, KOfAny, parse_model
from shoal.privacy.equal_cells import EqualCells
from shoal.recipes.equivalent import command_line


def fewest_rows(frame, columns):
    """The fewest rows that are equal in some columns, as they are written."""
    return min(Counter(zip(*(map(str, frame[name]) for name in columns), strict=True)).values())


def fewest_of_any(frame, quasi, m):
    return min(fewest_rows(frame, columns) for columns in combinations(quasi, m))


def draw_table(seed, rows=150, columns=5):
    random = np.random.default_rng(seed)
    sizes = random.choice([2, 3, 7, 40], columns)
    return pl.DataFrame({f"c{j}": random.integers(0, size, rows) for j, size in enumerate(sizes)})


def test_a_suppressed_cell_equals_suppressed_cells_only():
    # By town alone, and by job alone, everybody finds two; by both nobody does.
    frame = pl.DataFrame({"town": ["ayr", "ayr", "*", "*"], "job": ["smith", "judge", "smith", "judge"]})
    one = shoal.verify(frame, quasi=["town", "job"], models=["k-of-any(m=1,k=2)"])
    both = shoal.verify(frame, quasi=["town", "job"], models=["k-of-any(m=2,k=2)"])
    assert (one.holds, one.models[0].achieved) == (True, 2)
    assert (both.holds, both.models[0].achieved) == (False, 1)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("seed", range(4))
def test_the_verifier_counts_what_a_dictionary_counts(seed, m):
    frame = draw_table(seed)
    quasi = frame.columns
    found = shoal.verify(frame, quasi=quasi, models=[KOfAny(m, 2)])
    assert found.models[0].achieved == fewest_of_any(frame, quasi, min(m, len(quasi)))


def test_the_verifier_counts_named_columns():
    frame = draw_table(3)
    for columns in (["c0"], ["c0", "c3"], ["c4", "c1", "c2"]):
        found = shoal.verify(frame, quasi=frame.columns, models=[KAnonymity(2, "+".join(columns))])
        assert found.models[0].achieved == fewest_rows(frame, columns)


def test_people_count_once_however_many_rows_they_have():
    # In town a there is one person with two rows; in town b there are two people.
    frame = pl.DataFrame({"who": [1, 1, 2, 3], "town": ["a", "a", "b", "b"], "job": ["x", "x", "x", "x"]})
    roles = {"quasi": ["town", "job"], "person": "who"}
    assert shoal.verify(frame, **roles, models=["k-of-any(m=1,k=2)"]).models[0].achieved == 1
    assert shoal.verify(frame, **roles, models=["k(k=3,columns=job)"]).models[0].achieved == 3


@pytest.mark.parametrize("goal", ["k-of-any(m=2,k=4)", "k-of-any(m=3,k=3)", "k-of-any(m=1,k=9)"])
@pytest.mark.parametrize("algorithm", ["cells", "mondrian"])
def test_whoever_knows_m_columns_of_the_release_finds_k_rows(goal, algorithm):
    model = parse_model(goal)
    for seed in range(3):
        frame = draw_table(seed)
        release = shoal.anonymize(frame, quasi=frame.columns, models=[model], algorithm=algorithm)
        assert fewest_of_any(release.frame, frame.columns, model.m) >= model.k
        assert release.report.models[0].holds


def test_a_search_that_looks_at_sets_loses_less_than_classes():
    frame = draw_table(2, rows=600)
    auto = {"quasi": frame.columns, "algorithm": "auto(seconds=0.08)"}
    classes = shoal.anonymize(frame, **auto, k=5)
    pairs = shoal.anonymize(frame, **auto, models=["k-of-any(m=2,k=5)"])
    single = shoal.anonymize(frame, **auto, models=["k-of-any(m=1,k=5)"])
    assert single.report.ncp < pairs.report.ncp < classes.report.ncp


def test_several_sets_of_columns_hold_together():
    frame = draw_table(5, rows=300)
    goal = ["k(k=10,columns=c0+c1)", "k(k=3,columns=c1+c2+c3)", "k(k=2)"]
    release = shoal.anonymize(frame, quasi=frame.columns, models=goal, algorithm="cells")
    assert fewest_rows(release.frame, ["c0", "c1"]) >= 10
    assert fewest_rows(release.frame, ["c1", "c2", "c3"]) >= 3
    assert fewest_rows(release.frame, frame.columns) >= 2
    assert [verdict.holds for verdict in release.report.models] == [True] * 3


def test_columns_that_no_goal_names_stay_as_they_are():
    frame = draw_table(5)
    release = shoal.anonymize(frame, quasi=frame.columns, models=["k(k=4,columns=c0+c1)"], algorithm="cells")
    for name in ("c2", "c3", "c4"):
        assert release.frame[name].to_list() == frame[name].cast(pl.String).to_list()


def test_equal_cells_of_several_classes_add_up():
    # Three classes of 4, 2 and 3 rows; the first two have the same town, the last two the same job.
    cells = {"town": np.array([0, 0, 1]), "job": np.array([0, 1, 1])}
    equal = EqualCells(("town", "job"), cells.__getitem__, np.array([4, 2, 3]))
    counts = Counts(np.array([4, 2, 3]), {}, equal=equal)
    assert equal.count_equal(["town"]).tolist() == [6, 6, 3]
    assert equal.count_equal(["job"]).tolist() == [4, 5, 5]
    assert equal.find_fewest(1).tolist() == [4, 5, 3]
    assert equal.find_fewest(2).tolist() == [4, 2, 3]
    assert KOfAny(1, 4).holds(counts).tolist() == [True, True, False]
    assert KOfAny(1, 4).suffices(counts).tolist() == [True, False, False]
    assert KAnonymity(5, "job").achieved(counts) == 4


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("k-of-any(m=0,k=2)", "m must be at least 1, not 0"),
        ("k-of-any(m=2,k=0)", "k must be at least 1, not 0"),
        ("k(k=2,columns=c0+)", "names with \\+ between them"),
        ("k(k=2,columns=c0+town)", "'town': not among the quasi-identifiers"),
    ],
)
def test_what_makes_no_sense_is_refused(model, message):
    frame = draw_table(0)
    with pytest.raises(RecipeError, match=message):
        shoal.anonymize(frame, quasi=frame.columns, models=[model])


@pytest.mark.parametrize("render", ["set", "representative", "bounds"])
def test_cells_that_would_be_written_row_by_row_are_refused(render):
    frame = draw_table(0)
    with pytest.raises(RecipeError, match="takes render"):
        shoal.anonymize(frame, quasi=frame.columns, models=["k-of-any(m=2,k=2)"], render=render)


def test_a_set_of_columns_that_a_release_does_not_have_is_refused():
    with pytest.raises(RecipeError, match="town"):
        shoal.verify(draw_table(0), quasi=["c0", "c1"], models=["k(k=2,columns=town)"])


def test_more_sets_than_anybody_waits_for_are_refused():
    frame = pl.DataFrame({f"c{j}": [1, 1, 2, 2] for j in range(40)})
    with pytest.raises(RecipeError, match="sets of 20 of 40"):
        shoal.anonymize(frame, quasi=frame.columns, models=["k-of-any(m=20,k=2)"])


def test_a_table_that_is_too_small_is_refused_before_the_search():
    with pytest.raises(GoalNotMet, match="k = 5"):
        shoal.anonymize(pl.DataFrame({"a": [1, 2]}), quasi=["a"], models=["k-of-any(m=1,k=5)"])


def test_a_release_that_names_columns_is_no_release_for_later_rows():
    frame = draw_table(1)
    goal = {"models": ["k-of-any(m=1,k=2)"], "algorithm": "mondrian"}
    release = shoal.anonymize(frame, quasi=frame.columns, **goal)
    with pytest.raises(RecipeError, match="later rows"):
        release.saved_recoding()


def test_a_recipe_keeps_the_columns(tmp_path):
    recipe = shoal.Recipe(quasi=("a", "b"), models=("k(k=3,columns=a+b)", "k(k=2)"))
    (tmp_path / "recipe.toml").write_text(recipe.to_toml())
    again = shoal.Recipe.load(tmp_path / "recipe.toml")
    assert again.models == recipe.models == (KAnonymity(3, "a+b"), KAnonymity(2))
    assert "--model 'k(k=3,columns=a+b)'" in command_line(recipe)
    assert "-k 2" in command_line(recipe)
