"""File names for columns: they stay in their folder, differ, and lead back to their columns."""

import string
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.support.filenames import file_names, file_stems, is_ordinary, match_files

ORDINARY = (
    "age",
    "Marital status",
    "zip_code",
    "a=b",
    "größe",
    "年齢",
    "a.b",
    "x" * 200,
    "-1",
    "con fession",
)
NASTY = (
    "../../evil",
    "..\\..\\evil",
    "/etc/passwd",
    "C:\\x",
    "..",
    ".",
    ".hidden",
    "",
    " ",
    "ends.",
    "ends ",
    " begins",
    "a/b",
    "a:b",
    "a\nb",
    "a\0b",
    "a\u202eb",
    "\ud800",
    "CON",
    "nul.txt",
    "Com1 .x",
    "LPT¹",
    "é" * 101,
    "x" * 5000,
)
# What a hostile table would be made of.
names = st.text(
    st.sampled_from('./\\:*?"<>| \n\t\0-_~$' + string.ascii_letters + "éÉ\u202e\ud800") | st.characters()
)


@pytest.mark.parametrize("column", ORDINARY)
def test_an_ordinary_name_is_kept(column):
    assert file_names([column]) == {column: f"{column}.csv"}


@pytest.mark.parametrize("column", NASTY)
def test_another_name_becomes_one_that_stays_in_its_folder(column, tmp_path):
    (made,) = file_names([column]).values()
    assert made != f"{column}.csv"
    assert is_ordinary(made)
    assert PureWindowsPath(made).name == made
    assert (tmp_path / made).resolve().parent == tmp_path.resolve()
    (tmp_path / made).write_text("x", "utf-8")
    assert [path.name for path in tmp_path.iterdir()] == [made]


@given(st.lists(names, unique=True))
def test_any_names_give_safe_and_different_files_that_find_their_columns(columns):
    made = file_names(columns)
    assert list(made) == columns
    assert all(is_ordinary(name) for name in made.values())
    assert len({name.casefold() for name in made.values()}) == len(columns)
    stems = [Path(name).stem for name in made.values()]
    assert match_files(stems, columns) == dict(zip(columns, stems, strict=True))


def test_letter_case_and_unicode_form_do_not_make_two_files_one():
    made = file_names(["Age", "age", "AGE", "\u00e9", "e\u0301"])
    assert (made["Age"], made["\u00e9"]) == ("Age.csv", "\u00e9.csv")
    assert len({name.casefold() for name in made.values()}) == 5
    assert all(made[name].isascii() for name in ("age", "AGE"))


def test_a_column_that_is_called_like_the_file_of_another_keeps_its_own():
    first = next(file_stems("a/b"))
    for columns in (["a/b", first], [first, "a/b"]):
        made = file_names(columns)
        assert made[first] == f"{first}.csv"
        assert made["a/b"] != made[first]
        assert match_files({Path(name).stem for name in made.values()}, columns)[first] == first


def test_a_file_that_somebody_named_after_a_column_is_found_whatever_the_name():
    assert match_files({"a:b", "other"}, ["x", "a:b"]) == {"a:b": "a:b"}
    assert match_files({"other"}, ["x", "a:b"]) == {}
