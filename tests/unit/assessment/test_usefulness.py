"""What an analyst asks of a run, by hand on small tables and against the release itself."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.assessment.usefulness import Usefulness, measure_association, measure_every_loss, write_codes
from shoal.errors import RecipeError

PEOPLE = pl.DataFrame(
    {
        "age": [20, 21, 30, 31, 40, 41],
        "town": ["Ulm", "Ulm", "Bonn", "Bonn", "Kiel", "Kiel"],
        "pay": [1.0, 3.0, 5.0, None, 9.0, 11.0],
        "illness": ["flu", "cold", "flu", "cold", "flu", "cold"],
    }
)


@pytest.fixture
def found(tmp_path):
    """Of pairs of neighbours: [20-21], [30-31], [40-41]."""
    release = shoal.anonymize(
        PEOPLE, quasi=["age", "town"], sensitive=["illness"], plain=["pay"], k=2, algorithm="mondrian"
    )
    assert release.frame["age"].to_list()[:2] == ["[20-21]"] * 2
    write_codes(release, tmp_path)
    return Usefulness.from_folder(tmp_path)


def test_a_cell_counts_in_equal_parts_for_its_values(found):
    answer = found.count_rows({"age": found.read_condition("age", "20-30")})
    assert (answer.before, answer.after, answer.least, answer.most) == (3, 3.0, 2, 4)
    assert answer.error == 0
    answer = found.count_rows({"age": found.read_condition("age", "20")})
    assert (answer.before, answer.after, answer.least, answer.most) == (1, 1.0, 0, 2)


def test_conditions_of_two_columns_hold_together(found):
    wanted = {"age": found.read_condition("age", ">= 31"), "illness": found.read_condition("illness", "flu")}
    answer = found.count_rows(wanted)
    assert (answer.before, answer.after, answer.least, answer.most) == (1, 1.5, 1, 2)
    assert answer.error == 0.5


def test_groups_are_counted_and_have_means(found):
    counted = {label: each.after for label, each in found.group_rows("town")}
    assert counted == {"Ulm": 2, "Bonn": 2, "Kiel": 2}
    means = {label: (each.before, each.after) for label, each in found.group_rows("town", "pay")}
    assert means == {"Ulm": (2, 2), "Bonn": (5, 5), "Kiel": (10, 10)}  # a missing value counts nowhere
    ages = {label: each.after for label, each in found.group_rows("illness", "age")}
    assert ages == {"flu": 30.5, "cold": 30.5}  # in the release both have the middles of their classes


def test_pairs_of_columns(found):
    one, _, before, after = found.cross_columns("age", "town")
    assert before.sum() == pytest.approx(1)
    assert after.sum() == pytest.approx(1)
    assert measure_association(before) == pytest.approx(1)
    assert len(one.labels) == 6
    again = found.cross_columns("town", "age")
    assert np.allclose(again[3], after.T)
    *_, before, after = found.cross_columns("age", "illness")
    assert measure_association(before) == pytest.approx(1)  # every age has one illness
    assert measure_association(after) < 0.5  # in a class both occur
    *_, before, after = found.cross_columns("pay", "illness")
    assert np.allclose(before, after)  # both are released as they are


def test_quantiles_follow_the_cells(found):
    quantiles = {share: (was, now) for share, was, now in found.compute_quantiles("age")}
    assert quantiles[0.5] == (30, 30)
    assert quantiles[0.9] == (41, 41)
    with pytest.raises(RecipeError, match="no numbers"):
        found.compute_quantiles("town")


def test_conditions_that_mean_nothing_are_errors(found):
    with pytest.raises(RecipeError, match="'town' has no value 'Rome'"):
        found.read_condition("town", "Rome")
    assert found.read_condition("town", "Ulm, Kiel").sum() == 2
    assert found.read_condition("age", "21").sum() == 1
    assert found.read_condition("age", "<= 30").sum() == 3


def test_suppressed_rows_are_missing_in_the_release(tmp_path):
    frame = pl.DataFrame({"age": [20] * 5 + [90], "x": list("aabbca")})
    release = shoal.anonymize(frame, quasi=["age"], plain=["x"], k=3, suppress=0.2, algorithm="lattice")
    write_codes(release, tmp_path)
    found = Usefulness.from_folder(tmp_path)
    answer = found.count_rows({"age": found.read_condition("age", "90")})
    assert (answer.before, answer.after, answer.most) == (1, 0, 0)


def test_many_values_are_put_into_few_groups(tmp_path):
    frame = pl.DataFrame({"age": list(range(100)) * 2, "code": [f"c{at % 30}" for at in range(200)]})
    release = shoal.anonymize(frame, quasi=["age", "code"], k=4)
    write_codes(release, tmp_path)
    found = Usefulness.from_folder(tmp_path)
    for name in ("age", "code"):
        groups = found.group_values(name)
        assert len(groups.labels) <= 8
        assert sum(each.before for _, each in found.group_rows(name)) == 200
        assert sum(each.after for _, each in found.group_rows(name)) == pytest.approx(200)


def test_losses_are_those_of_the_report():
    release = shoal.anonymize(PEOPLE, quasi=["age", "town"], others="drop", k=2)
    assert dict(measure_every_loss(release))["ncp"] == pytest.approx(release.report.ncp)


def test_a_private_sample_writes_nothing(tmp_path):
    frame = pl.DataFrame({"age": [20, 30] * 200})
    release = shoal.anonymize(
        frame,
        quasi=["age"],
        models=["safepub(epsilon=2,delta=0.01)"],
        algorithm=shoal.SafePubScheme(levels="age=0"),
        types={"age": "integer"},
        hierarchies={"age": [("20", "*"), ("30", "*")]},
    )
    write_codes(release, tmp_path)
    assert list(tmp_path.iterdir()) == []
