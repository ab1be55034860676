"""The risk of a table, on one that can be counted by hand."""

import json

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import InputError, OutputError, RecipeError

QUASI = ["age", "sex"]


def test_figures_by_hand(people):
    found = shoal.risk(people, QUASI, ["illness"])
    assert (found.rows, found.classes, found.smallest_class) == (6, 3, 1)
    assert found.sizes == ((1, 1), (2, 1), (3, 1))
    assert (found.unique_rows, found.uniqueness) == (1, 1 / 6)
    assert (found.prosecutor.maximum, found.prosecutor.average, found.marketer) == (1.0, 0.5, 0.5)
    assert dict(found.prosecutor.above) == {0.05: 1, 0.09: 1, 0.2: 1, 0.33: 1, 0.5: 1 / 6}
    assert (found.journalist, found.uniques, found.known_by) == (None, None, None)
    assert found.warnings == ()


def test_the_risk_of_every_row(people):
    records = shoal.risk(people, QUASI).records
    assert records.columns == ["class_size", "prosecutor_risk"]
    assert records["class_size"].to_list() == [2, 2, 1, 3, 3, 3]
    assert records["prosecutor_risk"].to_list() == [0.5, 0.5, 1.0, 1 / 3, 1 / 3, 1 / 3]


def test_models_are_those_of_measure(people):
    found = shoal.risk(people, QUASI, ["illness"])
    assert found.measures == shoal.measure(people, QUASI, ["illness"])
    assert (found.measures.k, found.measures.sensitive["illness"].distinct_l) == (1, 1)


def test_against_a_population_table(people, population):
    found = shoal.risk(people, QUASI, population=population)
    assert found.known_by == "table"
    assert found.journalist.maximum == 1 / 2
    assert found.journalist.average == pytest.approx(1 / 3)
    assert found.marketer == found.journalist.average
    assert found.records["journalist_risk"].to_list() == [1 / 4, 1 / 4, 1 / 2, 1 / 3, 1 / 3, 1 / 3]
    assert found.measures.k_map == 2
    # All three of 30 are in the table; nobody of 40 is.
    assert found.measures.presence == {"low": 0.0, "high": 1.0}


def test_a_release_against_a_population_table(people, population):
    released = shoal.anonymize(people, others="keep", quasi=QUASI, k=2, algorithm="mondrian").frame
    found = shoal.risk(released, QUASI, population=population)
    assert found.prosecutor.maximum <= 1 / 2
    assert found.journalist.maximum < found.prosecutor.maximum


def test_a_population_that_lacks_people(people, population):
    found = shoal.risk(people, QUASI, population=population.filter(pl.col("age") != 22))
    assert found.records["journalist_risk"][2] == 1.0
    assert "1 rows are in classes that fewer people" in found.warnings[0]


def test_with_a_sampling_fraction(people):
    found = shoal.risk(people, QUASI, sampling_fraction=0.5)
    assert found.known_by == "fraction"
    assert 0.5 < found.journalist.maximum < 1.0
    assert found.marketer == found.journalist.average < found.prosecutor.average
    assert found.uniques.population == 12
    assert found.uniques.sampling_fraction == 0.5


def test_a_forgotten_column_shows(people):
    found = shoal.risk(people, QUASI, ["illness"])
    (first, alone), *_ = found.added
    assert (first, alone.unique_rows) == ("town", 6)
    assert {each.columns[0]: each.unique_rows for each in found.sets.columns} == {
        "age": 1,
        "sex": 0,
        "illness": 1,
        "town": 1,
    }


def test_identifiers_do_not_count(people):
    table = people.with_columns(id=pl.Series([f"n{i}" for i in range(6)]))
    assert "differs in every row" in shoal.risk(table, QUASI).warnings[0]
    found = shoal.risk(table, QUASI, identifier=["id"])
    assert found.warnings == ()
    assert [each.columns[0] for each in found.sets.columns] == ["age", "sex", "illness", "town"]


def test_without_quasi_identifiers_those_suggested_are_taken(people):
    found = shoal.risk(people)
    assert (found.quasi, found.sensitive) == (("age", "sex", "town"), ("illness",))
    assert found.warnings[0].endswith("quasi age, sex, town; sensitive illness")
    other = shoal.risk(people, sensitive=["town"])
    assert (other.quasi, other.sensitive) == (("age", "sex"), ("town",))


def test_any_frame_and_any_file(people, tmp_path):
    people.write_parquet(tmp_path / "people.parquet")
    people.write_csv(tmp_path / "people.csv")
    expected = shoal.risk(people, QUASI).to_dict()
    frames = (
        pd.DataFrame(people.to_dict()),
        people.to_arrow(),
        tmp_path / "people.parquet",
        tmp_path / "people.csv",
    )
    for source in frames:
        assert shoal.risk(source, QUASI).to_dict()["prosecutor"] == expected["prosecutor"]


def test_json(people, population):
    for settings in ({}, {"population": population}, {"sampling_fraction": 0.3}):
        plain = json.loads(json.dumps(shoal.risk(people, QUASI, ["illness"], **settings).to_dict()))
        assert plain["prosecutor"]["average"] == 0.5
        assert plain["class_sizes"] == [{"size": n, "classes": 1} for n in (1, 2, 3)]
        assert plain["sets"]["columns"][0]["separation"] == pytest.approx(11 / 15)
        assert [each["name"] for each in plain["presets"]][:3] == ["k = 5", "k = 11", "k = 20"]


def test_the_table_with_the_risks_beside_it(people, tmp_path):
    found = shoal.risk(people, QUASI)
    found.write(tmp_path / "risks.csv")
    written = pl.read_csv(tmp_path / "risks.csv")
    assert written.columns == [*people.columns, "class_size", "prosecutor_risk"]
    assert written["class_size"].to_list() == [2, 2, 1, 3, 3, 3]
    again = shoal.risk(written, QUASI)
    with pytest.raises(InputError, match="'class_size', 'prosecutor_risk' already"):
        again.write(tmp_path / "again.csv")
    with pytest.raises(OutputError, match="no folder"):
        found.write(tmp_path / "nowhere" / "risks.csv")


def test_names_that_polars_takes_for_patterns(tmp_path):
    table = pl.DataFrame([pl.Series("^a$", [1, 1, 2]), pl.Series("^.*$", ["x", "y", "y"])])
    found = shoal.risk(table, ["^a$"], ["^.*$"])
    assert found.unique_rows == 1
    assert [each.columns for each in found.sets.columns] == [("^a$",), ("^.*$",)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"quasi": ["agee"]}, "did you mean 'age'"),
        ({"quasi": ["age"], "identifier": ["id"]}, "unknown column 'id'"),
        ({"quasi": ["age"], "sensitive": ["age"]}, "both quasi and sensitive"),
        ({"quasi": "age"}, "lists of column names"),
        ({"quasi": ["age"], "sampling_fraction": 2}, "above 0 and up to 1, not 2"),
        ({"quasi": ["age"], "sampling_fraction": 0.5, "population": "p.csv"}, "not both"),
        ({"quasi": ["age"], "population": "nowhere.csv"}, "the population cannot be read"),
        ({"quasi": ["age"], "thresholds": [1.0]}, "from 0 to below 1"),
        ({"quasi": ["age"], "largest": 0}, "at least 1, not 0"),
    ],
)
def test_what_is_refused(people, settings, message):
    with pytest.raises((RecipeError, InputError), match=message):
        shoal.risk(people, **settings)


def test_where_nothing_is_known_of_the_columns():
    with pytest.raises(RecipeError, match="say which columns"):
        shoal.risk(pl.DataFrame({"x": [1.5, 2.5, 1.5], "y": ["a", "a", "a"]}))


def test_rows_without_any_value_do_not_lower_averages():
    """Five rows of one class among 45 of `*`: a fifth is the chance to be right, not (5/5 + 45/45)/50."""
    frame = pl.DataFrame({"a": ["x"] * 5 + ["*"] * 45, "b": ["y"] * 5 + ["*"] * 45})
    found = shoal.risk(frame, ["a", "b"])
    assert (found.rows, found.classes, found.suppressed_rows) == (50, 2, 45)
    assert found.prosecutor.average == found.marketer == found.measures.average_risk == 0.2
    assert dict(found.prosecutor.above)[0.09] == 1.0
    assert found.prosecutor.maximum == found.measures.max_risk == 0.2
    assert found.to_dict()["suppressed_rows"] == 45
    assert any("45 rows have no value but *" in each for each in found.warnings)
    assert shoal.measure(frame, ["a", "b"]).average_risk == 0.2
    # k is still that of all that is released.
    assert shoal.measure(frame.head(8), ["a", "b"]).k == 3
    estimated = shoal.risk(frame, ["a", "b"], sampling_fraction=0.5)
    assert estimated.records["journalist_risk"][49] == 0.01  # of the hundred people everybody fits
    alone = shoal.risk(frame[:5], ["a", "b"], sampling_fraction=0.5)
    assert estimated.journalist.average == alone.journalist.average
    assert estimated.uniques.uniques == alone.uniques.uniques


@pytest.mark.parametrize("stars", [0, 1, 6])
def test_one_row_of_stars_alone_is_somebody_and_nothing_else_leaves_nothing_to_count(stars):
    frame = pl.DataFrame({"a": ["x"] * (6 - stars) + ["*"] * stars})
    found = shoal.risk(frame, ["a"])
    assert found.suppressed_rows == 0
    assert found.prosecutor.average == found.classes / 6
