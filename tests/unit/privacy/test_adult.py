"""Adult with its trees under every model: a verified release, counted once more in plain Python."""

from collections import defaultdict

import polars as pl
import pytest

import shoal
from shoal.privacy import MODELS, parse_model
from shoal.support.parameters import name_of

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]

GOALS = [
    "distinct-l(l=3)",
    "p-sensitive(p=3)",
    "entropy-l(l=3)",
    "recursive-cl(c=4,l=3)",
    "t(t=0.2)",
    "basic-beta(beta=2)",
    "enhanced-beta(beta=2)",
    "delta-disclosure(delta=2)",
    "delta-disclosure(delta=2,form=lenient)",
    "alpha-k(alpha=0.5,k=5)",
    "max-risk(risk=0.2)",
]


@pytest.fixture(scope="module")
def adult(shared_data) -> pl.DataFrame:
    columns = [*QUASI, "occupation"]
    return pl.read_csv(shared_data / "adult" / "adult_9col.csv", separator=";", columns=columns)


@pytest.fixture(scope="module")
def trees(shared_data) -> str:
    return str(shared_data / "adult" / "hierarchies")


@pytest.mark.exhaustive
@pytest.mark.parametrize("goal", GOALS)
def test_a_verified_release(adult, trees, goal, naive):
    released = shoal.anonymize(
        adult, others="keep", quasi=QUASI, sensitive=["occupation"], k=5, models=[goal], hierarchies=trees
    )
    assert all(verdict.holds for verdict in released.report.models)
    assert released.report.classes > 1
    assert released.report.ncp < 1
    classes = defaultdict(list)
    for *quasi, value in released.frame.select(*QUASI, "occupation").iter_rows():
        classes[tuple(quasi)].append(value)
    assert len(classes) == released.report.classes
    assert min(map(len, classes.values())) >= 5
    model, whole = parse_model(goal), tuple(adult["occupation"])
    says = naive[name_of(MODELS, model)]
    assert all(says(model, tuple(rows), whole) for rows in classes.values())


@pytest.mark.slow
def test_distance_in_the_tree_of_the_sensitive_column(adult, trees):
    goal = ["t(t=0.2,distance=hierarchical)"]
    released = shoal.anonymize(
        adult, others="keep", quasi=QUASI, sensitive=["occupation"], models=goal, hierarchies=trees
    )
    found = shoal.measure(released.frame, QUASI, ["occupation"], hierarchies=trees).sensitive["occupation"]
    assert found.t_hierarchical == released.report.models[0].achieved <= 0.2 < found.t_equal


@pytest.mark.parametrize("cut", ["classic", "nearest", "greedy"])
@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_every_kind_of_mondrian_enforces_models(adult, trees, cut, mode):
    released = shoal.anonymize(
        adult,
        others="keep",
        quasi=QUASI,
        sensitive=["occupation"],
        models=["entropy-l(l=3)", "t(t=0.3)"],
        algorithm=shoal.Mondrian(mode, cut),
        hierarchies=None if cut == "classic" else trees,
    )
    assert [verdict.holds for verdict in released.report.models] == [True, True]
    assert released.report.classes > 10
