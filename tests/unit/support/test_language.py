import json

import pytest

from shoal.errors import RecipeError
from shoal.support.language import (
    choose_language,
    current_language,
    format_number,
    speaking,
    translate,
    translate_count,
    translate_message,
    use_language,
)


@pytest.fixture(autouse=True)
def german():
    use_language("de")
    yield
    use_language("en")


def test_sentences_have_their_values_in_the_signs_of_the_language():
    told = translate("All {rows:,} rows are released.", rows=30162)
    assert told == "Alle 30.162 Zeilen werden freigegeben."
    with speaking("en"):
        told = translate("All {rows:,} rows are released.", rows=30162)
    assert told == "All 30,162 rows are released."
    assert translate("{name} has a hierarchy", name="1,000.5") == "1,000.5 hat eine Hierarchie"
    assert translate("") == ""


def test_one_and_many():
    one, many = "{number:,} row", "{number:,} rows"
    assert [translate_count(one, many, number) for number in (0, 1, 2000)] == [
        "0 Zeilen",
        "1 Zeile",
        "2.000 Zeilen",
    ]


@pytest.mark.parametrize(
    ("value", "spec", "written"), [(1234.5, ",.1f", "1.234,5"), (0.05, "", "0,05"), (-2, "+,d", "-2")]
)
def test_numbers(value, spec, written):
    assert format_number(value, spec) == written
    with speaking("en"):
        assert format_number(value, spec) == format(value, spec)


def test_a_block_speaks_its_own_language():
    with speaking("en"):
        assert current_language() == "en"
    assert current_language() == "de"
    with pytest.raises(RecipeError, match="'fr'"):
        use_language("fr")


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr-FR,fr;q=0.9,en;q=0.5,de;q=0.7", "de"),
        ("en-US", "en"),
        ("fr", "en"),
        ("", "en"),
        ("de;q=what,en", "en"),
    ],
)
def test_the_language_that_a_browser_prefers(wanted, chosen):
    assert choose_language(wanted) == chosen


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("99.9 % of the rows are unique in all that is released", "99,9 % der Zeilen sind eindeutig"),
        ("postcode, by its name: address books list it", "Postleitzahl, dem Namen nach"),
        ("k = 6000, but the table has 5,000 rows; ask for k of 5000 or less", "die Tabelle hat 5.000 Zeilen"),
        ("succeeds never, on people who are not in the release in 1.4 % of the cases: ", "gelingt nie, bei"),
    ],
)
def test_stored_messages_are_translated_with_what_is_in_them(stored, shown):
    assert shown in translate_message(stored)


def test_names_and_values_in_messages_stay_as_they_are():
    # A column may be called as a word that has a translation.
    assert "'sex' allein" in translate_message("'sex' alone singles out 12 %")
    told = translate_message("generalise with --quasi sex,age, or leave out with --identifier sex")
    assert "--quasi sex,age" in told and told.endswith("--identifier sex weg")
    assert translate_message("something that nobody wrote") == "something that nobody wrote"


def test_what_programs_read_is_english():
    with speaking("de"):
        assert json.dumps({"share": 0.5}) == '{"share": 0.5}'
