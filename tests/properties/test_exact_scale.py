"""The exact search at any scale of weights: cases that once were wrong, and what must not depend on it."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.auto import Auto
from shoal.algorithms.genetic import Genetic
from shoal.algorithms.mingen import MinGen
from shoal.engines.api import anonymize
from shoal.table.hierarchies import Hierarchy
from shoal.table.samples import sample

SIX = pl.DataFrame({"a": [1, 2, 4, 8, 9, 13], "b": [3, 1, 7, 2, 9, 4], "c": list("xyxzyz")})
SCHOOLS = Hierarchy.from_tree(
    {
        "school": ["no schooling", "primary", "lower secondary", "upper secondary"],
        "beyond": ["vocational", "bachelor", "master", "doctorate"],
    }
)
FIVE = pl.DataFrame({"a": [2.0, 2.0, 0.0, -1.5, 0.3], "b": [0, 5, 0, 2, -7]})


def solve(frame, weights, semantics="classes", k=2, loss="certainty", **more):
    named = dict(zip(frame.columns, weights, strict=True))
    algorithm = MinGen(semantics=semantics, **more)
    return anonymize(frame, quasi=frame.columns, k=k, loss=loss, weights=named, algorithm=algorithm)


@pytest.mark.parametrize("semantics", ["classes", "matching"])
@pytest.mark.parametrize("scale", [1e-12, 1e-10, 1.0, 1e12])
def test_the_optimum_at_any_scale(scale, semantics):
    report = solve(SIX, [scale] * 3, semantics).report
    assert (report.optimal, report.gap, report.solutions) == (True, 0.0, 1)
    assert report.loss["value"] / scale == pytest.approx(6)


@pytest.mark.parametrize("scale", [1e-7, pytest.param(1e9, marks=pytest.mark.exhaustive)])
def test_a_proof_by_the_solver_does_not_depend_on_the_scale(scale):
    frame = sample("hospital", rows=40).select("age", "sex", "education")
    report = solve(frame, [scale] * 3, k=3, loss="ncp", sets=True).report
    assert (report.optimal, report.gap) == (True, 0.0)
    assert report.loss["value"] == pytest.approx(0.10213711990820)


@pytest.mark.parametrize("weight", [1.0, 2e7, 1e-11])
def test_one_column_of_any_weight(weight):
    frame = pl.DataFrame({"a": [2.0, 3.125, -1.5, 7.7, 3.125]})
    report = solve(frame, [weight], "matching", loss="ncp").report
    assert (report.optimal, report.gap, report.solutions) == (True, 0.0, 2)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-9])
def test_the_number_of_tables_at_any_scale(scale):
    assert solve(FIVE, [20 * scale, scale], "matching").report.solutions == 3


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_the_limit_bounds_what_is_listed_and_not_what_is_counted(limit):
    release = solve(pl.DataFrame({"a": [7, 7, None]}), [1.0], "matching", limit=limit)
    assert (release.report.solutions, len(release.solutions)) == (2, min(limit, 2))
    flat = solve(pl.DataFrame({"a": list("xyzw"), "b": list("uuvv")}), [1.0, 1.0], sets=True, limit=limit)
    assert (flat.report.solutions, len(flat.solutions)) == (1, 1)


def test_the_limit_does_not_bound_the_count_of_a_reference_table(shared_data):
    frame = pl.read_csv(shared_data / "small" / "test4.csv")
    *quasi, sensitive = frame.columns
    report = anonymize(
        frame,
        quasi=quasi,
        sensitive=[sensitive],
        k=2,
        hierarchies=shared_data / "small" / "domains.txt",
        loss="certainty",
        algorithm=MinGen(semantics="matching", limit=1),
    ).report
    assert report.solutions == 2


@pytest.mark.parametrize("semantics", ["classes", "matching"])
@pytest.mark.parametrize("values", [[5] * 4, ["x"] * 4, [0.5] * 4])
def test_a_constant_column_of_negative_weight_is_suppressed(values, semantics):
    frame = pl.DataFrame({"a": values, "b": [1, 2, 3, 9]})
    release = solve(frame, [-1.0, 1.0], semantics)
    assert release.frame["a"].to_list() == ["*"] * 4
    assert release.report.loss["value"] == pytest.approx(-4 + 1.75)
    kept = solve(frame, [1.0, 1.0], semantics)
    assert kept.frame["a"].to_list() == [str(value) for value in values]


def test_a_light_column_counts_beside_a_heavy_one():
    """The optimum of the light column alone, where a float would not see it."""
    light = solve(SIX, [1e12, 1e12, 1e-12]).report
    heavy = anonymize(
        SIX,
        quasi=SIX.columns,
        k=2,
        loss="certainty",
        weights={"a": 1e12, "b": 1e12, "c": 0.0},
        algorithm=MinGen(limit=1),
    ).report
    assert light.solutions <= heavy.solutions
    assert light.loss["columns"]["c"] <= heavy.loss["columns"]["c"] + 4e-12


@settings(max_examples=12)
@given(
    st.lists(st.integers(0, 6), min_size=5, max_size=6),
    st.data(),
    st.integers(-12, 12),
    st.sampled_from(["classes", "matching"]),
)
def test_scaled_weights_change_nothing_but_the_scale(first, data, power, semantics):
    second = data.draw(st.lists(st.integers(0, 6), min_size=len(first), max_size=len(first)))
    digits = [data.draw(st.sampled_from([1, 2, 3, 20, 0, -1, -7])) for _ in range(2)]
    frame = pl.DataFrame({"a": first, "b": second})
    plain = solve(frame, [float(d) for d in digits], semantics)
    scaled = solve(frame, [float(f"{d}e{power}") for d in digits], semantics)
    assert scaled.report.solutions == plain.report.solutions
    assert [each.rows() for each in scaled.solutions] == [each.rows() for each in plain.solutions]
    assert scaled.report.loss["value"] == pytest.approx(
        plain.report.loss["value"] * 10.0**power, rel=1e-9, abs=0
    )


@pytest.mark.parametrize(("rows", "k"), [(24, 3), pytest.param(100, 5, marks=pytest.mark.exhaustive)])
def test_mingen_never_loses_more_than_genetic_or_auto(rows, k):
    frame = sample("hospital", rows=rows).select("age", "sex", "education", "postcode")
    exact = anonymize(frame, quasi=frame.columns, k=k, algorithm=MinGen(sets=True)).report
    for other in (Genetic(), Auto()):
        assert exact.ncp <= anonymize(frame, quasi=frame.columns, k=k, algorithm=other).report.ncp + 1e-12


@pytest.mark.parametrize(("rows", "k"), [(12, 2), (30, 3), pytest.param(50, 2, marks=pytest.mark.exhaustive)])
def test_mingen_out_of_time_never_loses_more_by_matching_either(rows, k):
    frame = sample("hospital", rows=rows, seed=21).select("age", "sex", "education")
    goal = {"quasi": frame.columns, "k": k, "hierarchies": {"education": SCHOOLS}}
    exact = anonymize(frame, algorithm=MinGen(semantics="matching", seconds=0.1), **goal).report
    assert exact.lower_bound <= exact.loss["value"]
    for other in (Genetic(semantics="matching"), Genetic(), Auto()):
        assert exact.ncp <= anonymize(frame, algorithm=other, **goal).report.ncp + 1e-12


@pytest.mark.parametrize("seconds", [0.1, pytest.param(2.0, marks=pytest.mark.exhaustive)])
def test_mingen_out_of_time_never_loses_more_by_classes(seconds):
    frame = sample("hospital", rows=60, seed=21).select("age", "sex", "education", "postcode")
    goal = {"quasi": frame.columns, "k": 5}
    exact = anonymize(frame, algorithm=MinGen(sets=True, seconds=seconds), **goal).report
    for other in (Genetic(), Auto()):
        assert exact.ncp <= anonymize(frame, algorithm=other, **goal).report.ncp + 1e-12


def list_sizes():
    """Sizes whose optimum is proved quickly; all but the first for `make test-all`."""
    yield 30, 2
    for size in ((60, 2), (100, 2), (200, 2), (30, 3), (60, 3), (100, 3)):
        yield pytest.param(*size, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(("rows", "k"), list(list_sizes()))
def test_auto_is_within_one_percent_of_the_optimum(rows, k):
    frame = sample("hospital", rows=rows, seed=5).select("age", "sex", "education", "postcode")
    exact = anonymize(frame, quasi=frame.columns, k=k, algorithm=MinGen(sets=True)).report
    assert exact.optimal
    assert anonymize(frame, quasi=frame.columns, k=k).report.ncp <= 1.01 * exact.ncp


def test_auto_does_not_depend_on_the_scale_of_the_weights():
    frame = sample("hospital", rows=30).select("age", "sex", "education")
    found = [
        anonymize(frame, quasi=frame.columns, k=3, weights=dict.fromkeys(frame.columns, scale)).frame
        for scale in (1.0, 2.0**-40, 2.0**40)
    ]
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


def test_the_tables_that_were_bred_for_a_start_are_counted():
    frame = sample("hospital", rows=10).select("age", "sex")
    report = anonymize(frame, quasi=frame.columns, k=2, algorithm="mingen(semantics=matching)").report
    assert report.nodes >= 20  # the population that the first table comes from
    stopped = anonymize(
        frame, quasi=frame.columns, k=2, algorithm="mingen(semantics=matching,iterations=5)"
    ).report
    assert 20 <= stopped.nodes <= 5 + 100  # the start has its own population


def test_k_of_one_gives_the_table_back():
    frame = sample("hospital", rows=30).select("age", "sex", "education")
    for algorithm in ("auto", "mondrian", "mingen", "mingen(semantics=matching)", "genetic"):
        release = anonymize(frame, quasi=frame.columns, k=1, algorithm=algorithm)
        assert release.frame.equals(frame.cast(pl.String))  # labels are texts, whatever happened
        assert any("nobody is protected" in warning for warning in release.report.warnings)
