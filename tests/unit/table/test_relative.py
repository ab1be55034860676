"""Days since the first row of the same person."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shoal.engines.api import anonymize
from shoal.errors import InputError, RecipeError
from shoal.table import read_table
from shoal.table.relative import make_relative

PERSON = np.array([0, 1, 0, 1, 2])
DAYS = ["2020-01-31", "2021-03-01", "2020-02-01", "2021-02-28", None]


def count(values, type=None, person=PERSON):
    table = read_table(pl.DataFrame({"when": values, "x": list("abcde")}))
    return make_relative(table, "when", person, type).frame["when"].to_list()


def test_days_are_counted_from_the_first_row_of_each_person():
    assert count(DAYS) == [0, 1, 1, 0, None]
    assert count([None if day is None else datetime.date.fromisoformat(day) for day in DAYS]) == [
        0,
        1,
        1,
        0,
        None,
    ]


def test_times_count_by_their_days_and_numbers_as_they_are():
    assert count(["2020-01-31T23:00", "2020-01-31T01:00", "2020-02-01T01:00", "2020-02-03T00:00", None]) == [
        0,
        0,
        1,
        3,
        None,
    ]
    assert count([-459, 3, -400, 2, 7]) == [0, 1, 59, 0, 0]
    assert count(["31.12.2020", "1.1.2021", "1.1.2021", "2.1.2021", "1.1.2021"], "date") == [0, 0, 1, 1, 0]


def test_what_is_no_date_is_refused():
    with pytest.raises(InputError, match="relative names 'when', which holds no dates and no numbers"):
        count(["soon", "later", "soon", "now", "x"])


def test_a_file_has_texts_and_a_frame_has_numbers(tmp_path):
    frame = pl.DataFrame({"id": PERSON, "when": DAYS, "x": list("abcde")})
    frame.write_csv(tmp_path / "in.csv")
    made = make_relative(read_table(tmp_path / "in.csv"), "when", PERSON, None)
    assert made.frame["when"].to_list() == ["0", "1", "1", "0", None]
    for source in (frame.to_pandas(), frame.to_arrow()):
        made = make_relative(read_table(source), "when", PERSON, None)
        assert made.frame["when"].to_list() == [0, 1, 1, 0, None]
        assert source is not made.origin.native


@pytest.mark.parametrize("role", ["quasi", "plain"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "csv"])
def test_no_date_is_in_the_release(role, kind, tmp_path):
    dates = [datetime.date(2020, 1, 1) + datetime.timedelta(days=37 * at) for at in range(12)]
    frame = pl.DataFrame(
        {"id": [at // 3 for at in range(12)], "when": dates, "age": [30 + at % 2 for at in range(12)]}
    )
    frame.write_csv(tmp_path / "in.csv")
    source = {
        "pandas": frame.to_pandas().assign(when=pd.to_datetime(frame["when"].to_pandas())),
        "polars": frame,
        "pyarrow": frame.to_arrow(),
        "csv": tmp_path / "in.csv",
    }[kind]
    roles = {"quasi": ["age", "when"]} if role == "quasi" else {"quasi": ["age"], "plain": ["when"]}
    asked = {"person": "id", "relative": "when", "types": {"when": "date"}, "k": 2, **roles}
    release = anonymize(source, output=tmp_path / "out.csv", **asked)
    text = (tmp_path / "out.csv").read_text()
    assert "2020" not in text
    assert "2020" not in str(release.frame)
    assert (
        set(pl.read_csv(tmp_path / "out.csv")["when"].cast(pl.String)) <= {"0", "37", "74"} or role == "quasi"
    )


def test_it_needs_a_person_and_a_column():
    frame = pl.DataFrame({"id": [1, 1, 2, 2], "when": DAYS[:4], "age": [1, 1, 1, 1]})
    asked = {"quasi": ["age"], "plain": ["when"], "k": 2}
    with pytest.raises(RecipeError, match="relative needs a person"):
        anonymize(frame, identifier=["id"], relative="when", **asked)
    with pytest.raises(RecipeError, match="says whose row it is: name a date"):
        anonymize(frame, person="id", relative="id", **asked)
    with pytest.raises(RecipeError, match="unknown column 'wen'"):
        anonymize(frame, person="id", relative="wen", **asked)
    with pytest.raises(RecipeError, match="is in the index of the frame"):
        anonymize(frame.to_pandas().set_index("when"), person="id", relative="when", **asked)
