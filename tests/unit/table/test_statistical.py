"""Files of SPSS, Stata and SAS: labels, user-missing values, and the way back."""

from datetime import date
from io import BytesIO

import polars as pl
import pytest

import shoal
from shoal.errors import InputError, OutputError
from shoal.table import read_table

pyreadstat = pytest.importorskip("pyreadstat")
ROWS = pl.DataFrame(
    {
        "age": [21.0, 99.0, 30.0, None, 25.0],
        "sex": [1, 2, 2, 9, 1],
        "town": ["Alta", "Bree", "", None, "Bree"],
        "born": [date(2000, 1, 1), None, None, None, date(1996, 5, 6)],
        "pain": [0.0, 5.0, 10.0, 3.0, 0.0],
        "cost": [1.5, 2.0, 2.5, 3.0, 3.5],
    }
)
LABELS = {
    "age": {99: "unknown"},
    "sex": {1: "male", 2: "female", 9: "refused"},
    "pain": {0: "none", 10: "worst"},
}
MISSING = {"sex": [9], "age": [{"lo": 90, "hi": 99}]}


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyreadstat.write_sav(ROWS, "survey.sav", variable_value_labels=LABELS, missing_ranges=MISSING)
    pyreadstat.write_dta(ROWS, "survey.dta", variable_value_labels={"sex": LABELS["sex"]})
    pyreadstat.write_xport(ROWS.drop("born"), "survey.xpt")
    pyreadstat.write_sav(
        ROWS, "survey.zsav", variable_value_labels=LABELS, missing_ranges=MISSING, compress=True
    )
    pyreadstat.write_por(ROWS.drop("born"), "survey.por")


@pytest.mark.parametrize("suffix", ["sav", "zsav"])
def test_labels_and_user_missing_values_of_spss(survey, suffix):
    found = read_table(f"survey.{suffix}").frame
    assert found["age"].to_list() == [21, None, 30, None, 25]
    assert found["sex"].to_list() == ["male", "female", "female", None, "male"]
    assert found["town"].to_list() == ["Alta", "Bree", None, None, "Bree"]
    # Only the ends of a scale have labels, so that it stays one of numbers.
    assert found["pain"].to_list() == [0, 5, 10, 3, 0]
    assert found["born"].to_list() == ROWS["born"].to_list()
    assert found["cost"].to_list() == ROWS["cost"].to_list()


def test_labels_of_stata(survey):
    found = read_table("survey.dta").frame
    assert found["sex"].to_list() == ["male", "female", "female", "refused", "male"]
    assert (found["age"].dtype, found["cost"].dtype) == (pl.Int64, pl.Float64)


@pytest.mark.parametrize("suffix", ["xpt", "por"])
def test_other_formats_are_read(survey, suffix):
    found = read_table(f"survey.{suffix}").frame
    assert [name.lower() for name in found.columns] == ["age", "sex", "town", "pain", "cost"]
    assert found.to_series(4).to_list() == ROWS["cost"].to_list()


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_a_release_in_the_same_format(survey, suffix):
    given = {"quasi": ["age", "sex"], "plain": ["cost", "born"], "others": "drop", "k": 2}
    release = shoal.anonymize(f"survey.{suffix}", **given, output=f"release.{suffix}")
    again = read_table(f"release.{suffix}").frame
    for name in release.frame.columns:
        assert again[name].to_list() == release.frame[name].to_list(), name
    assert shoal.verify(f"release.{suffix}", quasi=["age", "sex"], k=2).holds


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_the_time_of_writing_is_not_in_the_file(survey, suffix):
    from shoal.table.formats import FORMATS

    stream = BytesIO()
    FORMATS[suffix]().write(ROWS, stream)
    content = stream.getvalue()
    assert b"01 Jan 00" in content[:512]
    stream.seek(0)
    assert FORMATS[suffix]().read(stream)["cost"].to_list() == ROWS["cost"].to_list()


@pytest.mark.parametrize("suffix", ["sas7bdat", "xpt", "por", "zsav"])
def test_what_cannot_be_written_is_refused_before_the_search(survey, suffix):
    with pytest.raises(OutputError, match=r"cannot be written; use .*\.sav"):
        shoal.anonymize("survey.sav", quasi=["age"], others="drop", k=2, output=f"release.{suffix}")


@pytest.mark.parametrize("suffix", ["sav", "dta", "sas7bdat", "xpt", "por"])
def test_what_is_no_such_file_is_refused(survey, tmp_path, suffix):
    (tmp_path / f"broken.{suffix}").write_bytes(b"something else" * 50)
    with pytest.raises(InputError, match="broken"):
        read_table(f"broken.{suffix}")
