import numpy as np
import polars as pl
import pytest

from shoal.algorithms.mingen import MinGen
from shoal.engines.api import anonymize
from shoal.errors import GoalNotMet, InputError, RecipeError
from shoal.support.parameters import build_entry
from shoal.table.samples import sample

FOUR = ("Name", "Age", "Sex", "Education", "Job")


def solve(folder, name, k, semantics, loss="certainty", weights=None, **settings):
    frame = pl.read_csv(folder / name)
    *quasi, sensitive = frame.columns
    return anonymize(
        frame,
        others="keep",
        quasi=quasi,
        sensitive=[sensitive],
        k=k,
        hierarchies=folder / "domains.txt",
        loss=loss,
        weights=weights,
        algorithm=MinGen(semantics=semantics, **settings),
    )


@pytest.fixture
def small(shared_data):
    return shared_data / "small"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "loss", "weights", "value", "count"),
    [
        ("test.csv", 2, "certainty", (1, 1, 1, 1, 1), 10.4444, 1),
        ("test.csv", 2, "distortion", (1, 1, 1, 1, 1), 12, 16),
        ("test.csv", 2, "certainty", (1, 1, 1, 1, 20), 54.2222, 1),
        ("test.csv", 2, "certainty", (1, 0, 1, 1, 20), 51.3333, 4),
        ("test4.csv", 2, "certainty", None, 7.6935, 2),
        ("test2.csv", 2, "certainty", None, 10.6061, 2),
        ("test2.csv", 3, "certainty", None, 17.0909, 8),
    ],
)
def test_the_known_optima_by_matching(small, name, k, loss, weights, value, count):
    named = None if weights is None else dict(zip(FOUR, weights, strict=True))
    release = solve(small, name, k, "matching", loss, named)
    report = release.report
    assert round(report.loss["value"], 4) == value
    assert round(report.lower_bound, 4) == value
    assert (report.optimal, report.solutions, len(release.solutions)) == (True, count, count)
    assert report.models[0].asked == {"k": k, "semantics": "matching"}
    assert report.models[0].achieved >= k
    assert any("unlike every other" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("name", "k", "value"), [("test4.csv", 2, 10.1935), ("test2.csv", 2, 11.6061), ("test2.csv", 3, 20.0)]
)
def test_the_known_optima_by_classes(small, name, k, value):
    report = solve(small, name, k, "classes").report
    assert (round(report.loss["value"], 4), round(report.lower_bound, 4)) == (value, value)
    assert (report.optimal, report.solutions) == (True, 1)
    assert report.smallest_class >= k


def test_the_table_that_the_reference_finds(small):
    released = solve(small, "test.csv", 2, "matching").frame
    assert released.drop("Salary").rows() == [
        ("*", "[25-30]", "M", "*", "*"),
        ("*", "21", "F", "Diploma", "White Collar"),
        ("*", "[25-30]", "M", "*", "*"),
        ("*", "21", "F", "Diploma", "White Collar"),
    ]


def test_adult_is_proved_optimal(shared_data):
    frame = pl.read_csv(shared_data / "adult" / "adult_9col.csv", separator=";", n_rows=40)
    folder = shared_data / "adult" / "hierarchies"
    quasi = ["age", "education", "sex", "marital-status"]
    trees = {name: folder / f"{name}.csv" for name in quasi[1:]}
    exact = anonymize(frame, others="keep", quasi=quasi, k=2, hierarchies=trees, algorithm="mingen").report
    greedy = anonymize(frame, others="keep", quasi=quasi, k=2, hierarchies=trees, algorithm="mondrian").report
    assert exact.optimal
    assert exact.ncp < greedy.ncp
    assert exact.ncp == pytest.approx(exact.lower_bound, abs=1e-6)


def people(rows=12, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice(["a", "b", "c", "d"], rows),
            "ill": rng.choice(["x", "y", "z"], rows),
        }
    )


QUASI = ["age", "sex", "town"]


@pytest.mark.exhaustive
def test_the_search_by_columns_agrees_with_the_one_by_subsets(monkeypatch):
    for seed in range(6):
        frame = people(11, seed)
        for k, loss in ((2, "ncp"), (3, "certainty"), (2, "distortion")):
            goal = {"k": k, "loss": loss, "algorithm": MinGen(sets=bool(seed % 2))}
            settings = {"quasi": QUASI, "others": "keep", **goal}
            few = anonymize(frame, **settings).report
            with monkeypatch.context() as patch:
                patch.setattr("shoal.algorithms.exact.classes.FEW", 4)
                many = anonymize(frame, **settings).report
            assert many.loss["value"] == pytest.approx(few.loss["value"], abs=1e-9)
            assert many.optimal


@pytest.mark.exhaustive
def test_the_solver_agrees_with_branch_and_bound(monkeypatch):
    for seed in range(6):
        frame = people(7, seed)
        goal = {"k": 2 + seed % 2, "algorithm": MinGen(semantics="matching")}
        settings = {"quasi": QUASI, "others": "keep", **goal}
        tree = anonymize(frame, **settings).report
        with monkeypatch.context() as patch:
            patch.setattr("shoal.algorithms.exact.matching.SMALL", 2)
            solver = anonymize(frame, **settings).report
        assert solver.loss["value"] == pytest.approx(tree.loss["value"], abs=1e-9)
        assert solver.solutions == tree.solutions


def test_models_about_sensitive_values_hold_in_larger_tables():
    release = anonymize(
        people(20), others="keep", quasi=QUASI, sensitive=["ill"], k=3, l=2, algorithm="mingen"
    )
    assert release.report.smallest_class >= 3
    assert all(model.holds for model in release.report.models)
    assert release.report.lower_bound <= release.report.loss["value"] + 1e-9


def test_equal_rows_count_as_many():
    frame = pl.concat([people(9), people(9), people(9).head(3)])
    report = anonymize(frame, others="keep", quasi=QUASI, k=2, algorithm="mingen").report
    assert (report.loss["value"], report.optimal) == (0.0, True)


def test_limits_end_the_search_with_what_is_proved():
    frame = people(12)
    exact = anonymize(frame, others="keep", quasi=QUASI, k=2, algorithm="mingen").report
    for semantics in ("classes", "matching"):
        cut = anonymize(
            frame,
            others="keep",
            quasi=QUASI,
            k=2,
            algorithm=MinGen(semantics=semantics, iterations=1, seconds=None),
        ).report
        assert cut.lower_bound <= exact.loss["value"] + 1e-9
        assert cut.lower_bound <= cut.loss["value"] + 1e-9
    assert not anonymize(
        frame, others="keep", quasi=QUASI, k=2, algorithm="mingen(iterations=1)"
    ).report.optimal


def test_as_many_optimal_tables_are_listed_as_asked_for():
    frame = pl.DataFrame({"a": ["x", "y", "z", "w"], "b": [1, 1, 1, 1]})
    settings = {"quasi": ["a", "b"], "k": 2, "weights": {"b": 0.0}}
    every = anonymize(frame, **settings, algorithm=MinGen(semantics="matching"))
    assert every.report.solutions == len(every.solutions) == 1
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "b": ["x", "y", "x", "y"]})
    some = anonymize(
        frame, others="keep", quasi=["a", "b"], k=2, loss="distortion", algorithm=MinGen(limit=2)
    )
    assert some.report.solutions > 2
    assert len(some.solutions) == 2
    assert some.solutions[0] is some.frame
    assert some.solutions[0].rows() != some.solutions[1].rows()


def told(frame, **settings):
    """A run, and what it told with figures: stage, figures, share done."""
    said = []
    release = anonymize(
        frame,
        others="keep",
        quasi=QUASI,
        k=2,
        **settings,
        on_progress=lambda doing, done: said.append((doing, done)),
    )
    return release.report, [
        (str(doing), doing.figures, done) for doing, done in said if hasattr(doing, "figures")
    ]


@pytest.mark.parametrize(
    ("rows", "semantics", "stages"),
    [
        (
            7,
            "matching",
            ["options of each row", "evolving a first table", "branch and bound", "listing optimal tables"],
        ),
        (
            10,
            "matching",
            ["options of each row", "evolving a first table", "relaxing", "listing optimal tables"],
        ),
        (10, "classes", ["dividing sets of rows"]),
        (18, "classes", ["evolving a first table", "pricing groups"]),
    ],
)
def test_a_search_tells_what_it_has_and_what_is_proved(rows, semantics, stages):
    report, said = told(people(rows), algorithm=MinGen(semantics=semantics))
    found = list(dict.fromkeys(stage for stage, _, _ in said))
    assert [stage for stage in found if "HiGHS" not in stage] == stages
    for _, figures, done in said:
        assert 0 <= done <= 1
        assert figures.best is None or figures.best >= report.loss["value"] - 1e-6
        assert figures.bound is None or figures.bound <= report.loss["value"] + 1e-6
    counted = [figures for _, figures, _ in said if figures.states]
    assert all(0 < figures.states <= report.nodes for figures in counted)
    assert all(figures.rate > 0 for figures in counted)


def test_what_the_solver_does_not_say_is_what_was_known_before():
    frame = people(12, seed=1)
    report, said = told(frame, algorithm=MinGen(semantics="matching"))
    ((best, bound),) = {(figures.best, figures.bound) for stage, figures, _ in said if "HiGHS" in stage}
    assert bound <= report.loss["value"] <= best + 1e-9


def test_the_statistics_of_a_search():
    report = anonymize(
        people(7), others="keep", quasi=QUASI, k=2, algorithm="mingen(semantics=matching)"
    ).report
    assert min(report.nodes, report.cuts) > 0
    assert 10**report.search_space_log10 == pytest.approx(report.search_space)
    assert 10**report.reduction_log10 == pytest.approx(report.search_space / report.nodes)
    for rows in (10, 18):
        assert (
            min(
                anonymize(people(rows), others="keep", quasi=QUASI, k=2, algorithm="mingen").report.to_dict()[
                    name
                ]
                for name in ("nodes", "cuts")
            )
            > 0
        )
    huge = anonymize(people(190), others="keep", quasi=QUASI, k=2, algorithm="mingen(iterations=1)").report
    assert huge.search_space is None
    assert huge.search_space_log10 > 300
    assert huge.to_dict()["gap"] == pytest.approx(1 - huge.lower_bound / huge.loss["value"])


def test_where_larger_classes_can_miss_the_goal_nothing_is_proved():
    # The rows 'a' satisfy it as 1, 2, 3 and 2, 3, but not together, and apart they look the same.
    frame = pl.DataFrame({"q": ["a"] * 5 + ["b"] * 3, "s": [1, 2, 3, 2, 3, 1, 1, 1]})
    report = anonymize(
        frame,
        others="keep",
        quasi=["q"],
        sensitive=["s"],
        k=2,
        models=["delta-disclosure(delta=1.1,form=lenient)"],
        algorithm="mingen",
    ).report
    assert (report.optimal, report.solutions, report.lower_bound) == (False, None, 0.0)
    assert 0 < report.loss["value"] < 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"loss": "entropy"}, "'distortion'"),
        ({"l": 2, "algorithm": "mingen(semantics=matching)"}, "semantics=classes"),
        ({"render": "representative", "algorithm": "mingen(semantics=matching)"}, "label"),
        ({"weights": {"height": 2.0}}, "height"),
        ({"types": {"town": "integer"}}, "town"),
    ],
)
def test_what_it_cannot_do_is_refused(settings, words):
    given = {"quasi": QUASI, "sensitive": ["ill"], "k": 2, "algorithm": "mingen", **settings}
    with pytest.raises(InputError, match=words):
        anonymize(people(), **given)


def test_too_few_rows_are_out_of_reach():
    with pytest.raises(GoalNotMet, match="12 rows"):
        anonymize(people(), others="keep", quasi=QUASI, k=13, algorithm="mingen(semantics=matching)")


def test_a_value_that_its_hierarchy_does_not_know_may_stay_or_be_suppressed():
    frame = pl.DataFrame({"town": ["a", "b", "pirate", "c"], "n": [1, 1, 2, 2]})
    tree = {"town": [("a", "west"), ("b", "west"), ("c", "east")]}
    release = anonymize(frame, others="keep", quasi=["town", "n"], k=2, hierarchies=tree, algorithm="mingen")
    assert release.frame["town"].to_list() == ["west", "west", "*", "*"]
    assert any("pirate" in warning for warning in release.report.warnings)


def test_large_tables_are_refused_unless_forced():
    frame = pl.DataFrame({"n": np.arange(10_000)})
    with pytest.raises(RecipeError, match=r"10000.*mondrian"):
        anonymize(frame, others="keep", quasi=["n"], k=2, algorithm="mingen")
    frame = pl.DataFrame({"n": np.arange(230)})
    report = anonymize(
        frame, others="keep", quasi=["n"], k=2, algorithm="mingen(force=true,seconds=5)"
    ).report
    assert report.lower_bound <= report.loss["value"] + 1e-9


@pytest.mark.parametrize(
    ("name", "value"), [("limit", 0), ("iterations", 0), ("seconds", -1.0), ("semantics", "loose")]
)
def test_parameters_are_checked(name, value):
    with pytest.raises(RecipeError, match=name):
        MinGen(**{name: value})


def test_parameters_come_from_text():
    made = build_entry(
        "algorithm", {"mingen": MinGen}, "mingen", {"seconds": "none", "sets": "yes", "limit": "7"}
    )
    assert made == MinGen(seconds=None, sets=True, limit=7)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "k"), [(60, 5), (100, 3)])
def test_it_never_loses_more_than_auto_and_genetic_however_little_time_it_has(rows, k):
    frame = sample("hospital", rows=rows, seed=5).select("age", "sex", "education", "postcode")
    losses = {
        algorithm: anonymize(frame, quasi=frame.columns, k=k, algorithm=algorithm).report.ncp
        for algorithm in ("auto", "genetic", "mingen(sets=true,seconds=0.01)")
    }
    mingen = losses.pop("mingen(sets=true,seconds=0.01)")
    assert mingen <= min(losses.values()) + 1e-12
