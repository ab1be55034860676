"""What releases are still good for, against plain counts over every value that a cell stands for."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import shoal
from shoal.assessment.comparisons.utility import measure_utility
from shoal.table.hierarchies import Hierarchy

TREE = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})


def table(rows: int = 60, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 29, rows)
    job = np.where(rng.random(rows) < (age - 19) / 10, "clerk", rng.choice(TREE.leaves, rows))
    return pl.DataFrame(
        {
            "age": age,
            "height": age * 2 + rng.integers(0, 4, rows),
            "job": job,
            "ill": np.where(rng.random(rows) < 0.5, "flu", rng.choice(["gout", "cold"], rows)),
        }
    )


def release(frame: pl.DataFrame, **given: object) -> shoal.Release:
    asked = {"quasi": ["age", "height", "job"], "sensitive": ["ill"], "hierarchies": {"job": TREE}}
    return shoal.anonymize(frame, **{**asked, "k": 6, "algorithm": "mondrian", **given})


def read_cell(cell: object, values: list) -> list:
    """The values that a released cell stands for."""
    text = str(cell)
    if text == "*":
        return values
    if text in ("manual", "office"):
        return ["mason", "smith"] if text == "manual" else ["clerk", "judge"]
    if text.startswith("["):
        low, high = map(int, text[1:-1].split("-"))
        return [value for value in values if low <= value <= high]
    return [type(values[0])(text)]


@pytest.fixture(scope="module", params=[6, 25])
def pair(request):
    """A table, and for each of its rows the values that its cells stand for."""
    frame = table()
    made = release(frame, k=request.param)
    columns = ["age", "height", "job"]
    values = {name: sorted(set(frame[name])) if name != "job" else list(TREE.leaves) for name in columns}
    cells = [
        [read_cell(cell, values[name]) for name, cell in zip(columns, row, strict=True)]
        for row in made.frame.select(columns).iter_rows()
    ]
    return frame, cells, measure_utility(made.report.evidence.recoding), made


def test_correlations(pair):
    frame, cells, found, _ = pair
    # Every row as all pairs of values that it could have, each with the same share of it.
    rows = [(x, y, 1 / len(row[0]) / len(row[1])) for row in cells for x in row[0] for y in row[1]]
    x, y, weight = map(np.array, zip(*rows, strict=True))
    after = np.cov(x, y, aweights=weight, ddof=0)
    lost = abs(
        np.corrcoef(frame["age"], frame["height"])[0, 1] - after[0, 1] / np.sqrt(after[0, 0] * after[1, 1])
    )
    assert found.correlation == pytest.approx(lost)
    assert lost > 0.001


def test_tables_of_two_columns(pair):
    frame, _cells, found, _ = pair
    names = ["age", "job"]  # heights are put into bins, see below
    one = measure_utility(release(frame.select(*names, "ill"), quasi=names, k=6).report.evidence.recoding)
    made = release(frame.select(*names, "ill"), quasi=names, k=6).frame
    values = {"age": sorted(set(frame["age"])), "job": list(TREE.leaves)}
    moved = []
    for first, second in combinations([*names, "ill"], 2):
        before, after = {}, {}
        for row, new in zip(frame.iter_rows(named=True), made.iter_rows(named=True), strict=True):
            key = row[first], row[second]
            before[key] = before.get(key, 0) + 1
            xs = read_cell(new[first], values[first])
            ys = read_cell(new[second], values[second]) if second != "ill" else [new["ill"]]
            for x in xs:
                for y in ys:
                    after[x, y] = after.get((x, y), 0) + 1 / len(xs) / len(ys)
        keys = {*before, *after}
        moved.append(sum(abs(before.get(key, 0) - after.get(key, 0)) for key in keys) / 2 / frame.height)
    assert one.contingency == pytest.approx(sum(moved) / len(moved))
    assert 0 < found.contingency < 1


def test_propensity_is_that_of_a_logistic_regression(pair):
    frame, cells, found, _ = pair
    before = [
        [row["age"], row["age"] ** 2, row["height"], row["height"] ** 2]
        + [float(row["job"] == job) for job in TREE.leaves[1:]]
        for row in frame.iter_rows(named=True)
    ]
    after = [
        [np.mean(age), np.mean(np.square(age)), np.mean(height), np.mean(np.square(height))]
        + [np.mean([each == job for each in jobs]) for job in TREE.leaves[1:]]
        for age, height, jobs in cells
    ]
    told = np.array(before + after, float)
    told = (told - told.mean(0)) / told.std(0)
    label = np.repeat([0, 1], frame.height)
    fitted = LogisticRegression(C=1e6, max_iter=100_000, tol=1e-10).fit(told, label)
    expected = np.mean((fitted.predict_proba(told)[:, 1] - 0.5) ** 2)
    assert found.propensity == pytest.approx(expected, rel=0.02)


def test_how_often_the_sensitive_value_is_guessed(pair):
    _, _, found, made = pair
    classes = made.frame.group_by("age", "height", "job").agg(pl.col("ill").value_counts())
    right = sum(max(each["count"] for each in counts) for counts in classes["ill"])
    assert found.disclosure == pytest.approx(right / made.frame.height)


def test_a_table_that_nothing_happened_to_has_lost_nothing():
    found = measure_utility(release(table(), k=1).report.evidence.recoding)
    assert (found.kl_divergence, found.ambiguity, found.correlation, found.contingency) == (0, 1, 0, 0)
    assert found.propensity == pytest.approx(0, abs=1e-12)


def test_everything_grows_with_what_is_lost():
    frame = table(400)
    figures = [measure_utility(release(frame, k=k).report.evidence.recoding) for k in (2, 20, 390)]
    for name in ("kl_divergence", "ambiguity", "propensity", "contingency"):
        few, more, most = (getattr(each, name) for each in figures)
        assert few < more < most, name
    # Means that are released count as such.
    means = release(
        frame.drop("job"), quasi=["age", "height"], algorithm="microaggregate", k=3, hierarchies=None
    )
    assert measure_utility(means.report.evidence.recoding).correlation < 0.05


def test_what_there_is_nothing_to_measure_of():
    frame = pl.DataFrame({"job": ["mason", "clerk", "judge", "smith"]})
    found = shoal.anonymize(frame, quasi=["job"], k=2)
    measures = measure_utility(found.report.evidence.recoding)
    assert (measures.correlation, measures.contingency, measures.disclosure) == (None, None, None)
    constant = shoal.anonymize(pl.DataFrame({"x": [1, 1], "y": [2, 3]}), quasi=["x", "y"], k=2)
    assert measure_utility(constant.report.evidence.recoding).correlation == 0


def test_suppressed_rows_could_be_anything():
    frame = pl.DataFrame({"job": ["mason"] * 9 + ["clerk"], "ill": ["flu"] * 9 + ["gout"]})
    made = release(frame, quasi=["job"], k=2, algorithm="lattice", suppress=0.1)
    assert made.report.suppressed_rows == 1
    found = measure_utility(made.report.evidence.recoding)
    assert found.ambiguity == pytest.approx((9 * 1 + 4) / 10)
    # Three quarters of the one row are in other cells: it could have any of the four jobs.
    assert found.contingency == pytest.approx(0.75 / 10)
    assert found.disclosure == 1


def test_compare_has_them(tmp_path):
    found = shoal.compare(
        table(), quasi=["age", "height", "job"], sensitive=["ill"], algorithms=["mondrian"], k=[2, 1000]
    )
    done, refused = found.results.rows(named=True)
    assert done["kl_divergence"] > 0 and 0 < done["disclosure"] <= 1
    assert refused["kl_divergence"] is None
