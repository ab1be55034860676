"""Numbers with a decimal comma."""

import polars as pl
import pytest

import shoal
from shoal.errors import InputError
from shoal.table import ReadOptions, read_table
from shoal.table.decimals import has_decimal_commas

TEXT = """name;income;rate;size;place;ip;note
Anna;1.234,50;3,5;1.250;12,5 km;10.1.2.3;a,5
Bela;999,25;NA;800;3;192.168.100.200;b
Cora;;-4,25;12.000;2,5 km;10.0.0.7;c
Dora;12'000,00;?7,1;7;1;10.0.0.8;d
"""
COMMAS = ReadOptions(decimal=",", na=("?",))


def written(tmp_path, text=TEXT):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return path


def test_columns_of_numbers_are_rewritten_and_no_others(tmp_path):
    path = written(tmp_path)
    found, plain = read_table(path, COMMAS).frame, read_table(path).frame
    assert found["income"].to_list() == ["1234.50", "999.25", None, "12000.00"]
    assert found["rate"].to_list() == ["3.5", "NA", "-4.25", "?7,1"]  # a damaged number stays what it is
    assert found["size"].to_list() == ["1250", "800", "12000", "7"]
    others = ["name", "place", "ip", "note"]
    assert found.select(others).equals(plain.select(others))


def test_nothing_changes_without_the_option(tmp_path):
    assert read_table(written(tmp_path)).frame["income"].to_list()[0] == "1.234,50"


def test_ranges_of_such_numbers_are_released(tmp_path):
    path = written(tmp_path, "age;rate\n30;1,5\n31;2,25\n30;2,5\n31;10,75\n")
    recipe = shoal.Recipe(
        quasi=("rate",), others="drop", models=("k(k=2)",), input=str(path), reading=ReadOptions(decimal=",")
    )
    frame = shoal.run(recipe).frame
    assert frame["rate"].to_list() == ["[1.5-2.25]", "[1.5-2.25]", "[2.5-10.75]", "[2.5-10.75]"]
    assert shoal.Recipe.from_dict(recipe.to_dict()).reading.decimal == ","


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1,5", "2", "3,75"], True),
        (["1.234,5", "NA"], True),
        (["1,234", "5,678"], False),  # thousands, perhaps
        (["1", "2"], False),
        (["1,5", "a"], False),
        ([], False),
    ],
)
def test_what_looks_like_such_numbers(values, expected):
    assert has_decimal_commas(pl.Series(values, dtype=pl.String)) is expected


def test_a_warning_names_the_column_and_the_option(tmp_path):
    path = written(tmp_path, "age;rate\n30;1,5\n31;2,25\n30;2,5\n31;10,75\n")
    told = shoal.anonymize(path, quasi=["age", "rate"], k=2).report.warnings
    assert any("'rate'" in each and "--decimal ," in each for each in told)


def test_suggest_names_the_option(tmp_path):
    path = written(tmp_path, "age;rate\n30;1,5\n31;2,25\n30;2,5\n31;10,75\n")
    assert any("rate" in each and "--decimal ," in each for each in shoal.suggest(path).notes)


def test_another_sign_is_refused_and_so_are_rows_in_parts(tmp_path):
    with pytest.raises(InputError, match="decimal"):
        ReadOptions(decimal=";")
    recipe = shoal.Recipe(
        quasi=("rate",),
        others="drop",
        models=("k(k=2)",),
        input=str(written(tmp_path)),
        output=str(tmp_path / "out.csv"),
        memory="1GB",
        reading=ReadOptions(decimal=","),
    )
    with pytest.raises(InputError, match="decimal commas"):
        shoal.run(recipe)


def test_releases_are_read_with_points():
    assert ReadOptions(decimal=",", na=("?",)).for_releases() == ReadOptions(na=("?",))
