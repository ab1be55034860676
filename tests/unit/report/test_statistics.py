"""Everything on the page against a count by hand."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.codespace.recoding import ColumnCells
from shoal.report import statistics
from shoal.report.statistics import ClassSizes

JOBS = shoal.Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})
PEOPLE = pl.DataFrame(
    {
        "name": list("abcdef"),
        "age": [20, 22, 22, 40, 44, 44],
        "job": ["mason", "smith", "smith", "clerk", "judge", "judge"],
        "illness": ["flu", "flu", "cold", "cold", "cold", "cold"],
    }
)


def evidence(frame=PEOPLE, **settings):
    given = {"k": 3, "hierarchies": {"job": JOBS}, "algorithm": "mondrian", "sensitive": ["illness"]}
    given |= {"quasi": ["age", "job"], "identifier": ["name"], "others": "keep"} | settings
    return shoal.anonymize(frame, **given).report.evidence


def test_class_sizes_before_and_after():
    found = evidence()
    assert found.sizes_before.size.tolist() == [
        1,
        2,
    ]  # mason at 20 and clerk at 40; two smiths and two judges
    assert found.sizes_before.classes.tolist() == [2, 2]
    assert (found.sizes_after.size.tolist(), found.sizes_after.classes.tolist()) == ([3], [2])


def test_risk():
    risk = ClassSizes.from_sizes(np.array([1, 1, 4, 4, 10])).compute_risk()
    assert (risk.highest, risk.average, risk.unique) == (1.0, 5 / 20, 2 / 20)
    assert (risk.below_5, risk.below_20) == (10 / 20, 1.0)
    nobody = ClassSizes.from_sizes(np.array([], np.int64)).compute_risk()
    assert nobody.highest == nobody.average == 0.0


def test_curve_and_bins():
    sizes = ClassSizes.from_sizes(np.array([2, 2, 6]))
    assert sizes.compute_curve() == [(1.0, 0.0), (2.0, 0.4), (6.0, 1.0)]
    names, shares = sizes.bin_rows()
    assert dict(zip(names, shares, strict=True)) == {"2": 0.4, "3": 0, "4": 0, "5": 0, "6": 0.6}
    names, shares = ClassSizes.from_sizes(np.arange(5, 5000)).bin_rows()
    assert len(names) <= 24
    assert sum(shares) == pytest.approx(1.0)
    assert names[0].startswith("5")
    assert names[-1].endswith("4,999")
    assert len(ClassSizes.from_sizes(np.arange(1, 9999)).compute_curve()) <= 201


def test_distributions():
    age, job = statistics.estimate_distributions(evidence(), ["age", "job"])
    # Ages are released as [20-22] and [40-44], and spread evenly over the values in between that occur.
    assert age.labels == ("20", "22", "40", "44")
    assert age.after.tolist() == pytest.approx([0.25] * 4)
    assert age.before.tolist() == [0.0] * 4  # no value has three rows: one could be found by it
    # Jobs are released as groups, so no value of the table names a bar.
    assert dict(zip(job.labels, job.after, strict=True)) == {"manual": 0.5, "office": 0.5}
    assert (age.kind, job.kind) == ("line", "bars")


def test_bars_of_few_rows_are_not_drawn():
    (age,) = statistics.estimate_distributions(
        evidence(pl.concat([PEOPLE] * 3).with_columns(age=pl.col("age").replace(40, 44))), ["age"]
    )
    assert dict(zip(age.labels, age.before, strict=True)) == {"20": 3 / 18, "22": 6 / 18, "44": 9 / 18}


def test_many_values_are_put_together():
    rng = np.random.default_rng(0)
    rows = 5000
    frame = pl.DataFrame(
        {
            "number": rng.normal(0, 1000, rows),
            "town": rng.zipf(1.5, rows) % 500,
            "missing": pl.Series(rng.integers(0, 900, rows)).set(pl.Series(rng.random(rows) < 0.1), None),
            "s": ["x", "y"] * (rows // 2),
        }
    ).with_columns(pl.col("town").cast(pl.String) + " town")
    found = evidence(
        frame, quasi=["number", "town", "missing"], sensitive=["s"], identifier=[], hierarchies=None
    )
    number, town, missing = statistics.estimate_distributions(found, ["number", "town", "missing"])
    assert len(number.labels) <= 24
    assert town.labels[-1].startswith("other values")
    assert len(town.labels) <= 14
    assert missing.labels[-1] == "missing"
    assert missing.before[-1] == pytest.approx((frame["missing"].null_count()) / rows)
    for each in (number, town, missing):
        assert each.after.sum() == pytest.approx(1.0)
        assert each.before.sum() == pytest.approx(1.0, abs=0.05)
        # An estimate from intervals is near what it is about.
        assert np.abs(each.before - each.after).max() < 0.1


def test_the_scale_ends_where_the_release_does():
    frame = pl.DataFrame(
        {"age": [*range(40, 80), 117], "illness": ["x"] * 41, "name": ["n"] * 41, "job": ["judge"] * 41}
    )
    found = evidence(frame, suppress=0.05, k=2, algorithm="mondrian", render="representative")
    (age,) = statistics.estimate_distributions(found, ["age"])
    assert max(map(int, filter(None, age.labels))) <= int(found.released_table.frame["age"].max())


def test_spread_over_sets_and_intervals(code, recode):
    problem = code(pl.DataFrame({"colour": ["red", "blue", "grey", "red"], "n": [1, 2, 3, 4]}))
    recoding = recode(problem, [0, 0, 1, 1])
    colour, number = (statistics.distribute_rows_evenly(cells, recoding.size) for cells in recoding.cells)
    by_name = dict(zip(problem.domains[0].labels, colour, strict=True))
    assert by_name == {"red": 2.0, "blue": 1.0, "grey": 1.0}
    assert number.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert isinstance(recoding.cells[0], ColumnCells)


def test_levels():
    age, job = statistics.measure_levels(evidence(), ["age", "job"])
    assert (age.levels, age.shares) == (("as it was", "generalised", "anything"), (0.0, 1.0, 0.0))
    assert (job.levels, job.shares) == (("as it was", "level 1", "anything"), (0.0, 1.0, 0.0))
    assert (age.typical, job.typical, age.tree, job.tree) == (2, 2, False, True)


def test_closeness():
    found = statistics.measure_closeness(evidence(), "illness")
    assert found.values == ("cold", "flu")
    shares = {text: (rows, far, part.tolist()) for text, rows, far, part in found.lines}
    assert shares["the whole release"] == (6, 0.0, pytest.approx([2 / 3, 1 / 3]))
    assert sorted(part for _, _, part in list(shares.values())[1:]) == [
        pytest.approx([1 / 3, 2 / 3]),
        [1.0, 0.0],
    ]
    assert [far for _, far, _ in shares.values()][1:] == pytest.approx([1 / 3, 1 / 3])
    assert found.rows.sum() == pytest.approx(1.0)
    assert (found.distance, found.asked) == ("equal", None)


def test_closeness_takes_the_distance_that_was_asked_for():
    frame = PEOPLE.with_columns(illness=pl.Series([1, 2, 3, 1, 2, 3]))
    found = evidence(frame, models=["t(t=0.3,distance=ordered)"])
    assert statistics.measure_closeness(found, "illness").asked == 0.3
    assert statistics.measure_closeness(found, "illness").distance == "ordered"
    assert statistics.measure_closeness(evidence(frame), "illness").distance == "ordered"


def test_many_sensitive_values_are_put_together():
    rows = 1000
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "age": rng.integers(0, 9, rows),
            "cost": pl.Series(rng.random(rows)).set(pl.Series(rng.random(rows) < 0.1), None),
            "code": rng.choice([f"c{i}" for i in range(30)], rows),
        }
    )
    found = evidence(frame, quasi=["age"], sensitive=["cost", "code"], identifier=[], hierarchies=None)
    cost, code = (statistics.measure_closeness(found, name) for name in ("cost", "code"))
    assert len(cost.values) == 6
    assert cost.values[-1] == "missing"
    assert cost.lines[0][3][:-1] == pytest.approx([0.18] * 5, abs=0.02)
    assert code.values[-1] == "other values (23)"
    assert len(code.values) == 8


def test_an_excerpt_has_no_identifiers_and_nothing_but_the_roles():
    found = statistics.build_excerpt(evidence(PEOPLE.with_columns(note=pl.lit("secret note"))))
    assert found.names == ("age", "job", "illness")
    texts = {text for each in found.classes for row in (each.released, *each.rows) for text in row}
    assert texts.isdisjoint({"a", "b", "c", "d", "e", "f", "secret note"})
    first = next(each for each in found.classes if each.released == ("[20-22]", "manual"))
    assert (first.size, set(first.rows)) == (
        3,
        {("20", "mason", "flu"), ("22", "smith", "flu"), ("22", "smith", "cold")},
    )


def test_an_excerpt_after_rows_were_dropped():
    frame = pl.concat([PEOPLE[:1].with_columns(age=pl.lit(None, pl.Int64)), PEOPLE])
    found = statistics.build_excerpt(evidence(frame, missing="drop"))
    for each in found.classes:
        low, high = (int(end) for end in each.released[0].strip("[]").split("-"))
        assert all(low <= int(row[0]) <= high for row in each.rows)


@pytest.mark.parametrize("render", ["label", "set", "interval", "representative"])
def test_every_way_to_write_values(render):
    found = evidence(pl.concat([PEOPLE] * 5), render=render)
    assert all(
        each.after.sum() == pytest.approx(1)
        for each in statistics.estimate_distributions(found, ["age", "job"])
    )
    assert all(
        sum(each.shares) == pytest.approx(1) for each in statistics.measure_levels(found, ["age", "job"])
    )


def test_rare_categories_are_not_named():
    towns = ["Bonn"] * 10 + ["Ulm"] * 4 + ["Kiel"] * 3 + ["Atlantis"]
    frame = pl.concat([PEOPLE] * 3).with_columns(town=pl.Series(towns))
    (town,) = statistics.estimate_distributions(evidence(frame, quasi=["town"], hierarchies=None), ["town"])
    assert town.labels == ("Bonn", "Ulm", "other values (2)")  # the smallest class has four rows
    assert town.before.tolist() == pytest.approx([10 / 18, 4 / 18, 4 / 18])
