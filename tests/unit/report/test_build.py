"""The figures of a report, from a release small enough to count by hand."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.codespace.recoding import Proposal
from shoal.report.build import build_report, measure_column_loss, warn_of_formulas


@pytest.fixture(scope="module")
def release():
    table = pl.DataFrame({"age": [20, 21, 30, 40], "sex": ["f", "m", "f", "f"]})
    return shoal.anonymize(table, quasi=["age", "sex"], k=2, loss="discernibility", weights={"age": 2})


def test_the_loss_of_every_column(release):
    lost = measure_column_loss(release.recoding)
    # Ages [20-21] and [30-40] of 20 to 40: (1 + 1 + 10 + 10) / 20 / 4; both sexes in one class of two.
    assert lost == pytest.approx({"age": 0.275, "sex": 0.5})
    assert release.report.ncp == pytest.approx((0.275 + 0.5) / 2)
    assert {name: each["ncp"] for name, each in release.report.columns.items()} == lost


def test_a_loss_of_sizes_is_measured_on_those_that_were_counted(release):
    recoding = release.recoding
    found = shoal.verify(release.frame, quasi=["age", "sex"], k=2)
    figures = (release.recipe, 5, [], Proposal(recoding.table, recoding.class_of), recoding, found)
    report = build_report(*figures)
    assert (report.rows, report.dropped_rows, report.released_rows) == (5, 1, 4)
    assert report.loss["value"] == release.report.loss["value"] == 2 * 2 * 2
    # As if all four were in one class.
    assert build_report(*figures, replace(recoding, size=np.array([4]))).loss["value"] == 4 * 4


def test_formulas_are_named_by_column():
    assert warn_of_formulas({}, ["age"]) == ()
    (warning,) = warn_of_formulas({"note": 3}, ["note", "=cmd"])
    assert "3 in 'note', the name '=cmd'" in warning
