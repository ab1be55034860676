"""Suggestions: roles with reasons, and a recipe that runs as it is."""

import json
import re
import shlex
import tomllib

import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import RecipeError
from shoal.table import ReadOptions
from shoal.table.samples import SAMPLES


def roles(table: object, **settings: object) -> dict[str, str]:
    return {each.name: each.role for each in shoal.suggest(table, **settings).columns}


def test_the_shipped_sample_gets_the_roles_that_a_person_gave():
    assert roles(shoal.sample("hospital")) == SAMPLES["hospital"].roles


def test_a_small_table_too():
    assert roles(shoal.sample("hospital", rows=30)) == SAMPLES["hospital"].roles


@pytest.mark.slow
def test_the_recipe_runs_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "recipes").mkdir()
    shoal.sample("hospital", rows=400).write_csv("in/hospital.csv")
    suggestion = shoal.suggest("in/hospital.csv")
    suggestion.write("recipes/recipe.toml")
    release = shoal.run(shoal.Recipe.from_toml("recipes/recipe.toml"))
    assert release.report.smallest_class >= 5
    assert release.report.output == "recipes/hospital-released.csv"
    assert "patient_id" not in release.frame.columns
    # The command does the same.
    line = shlex.split(suggestion.command.replace("hospital-released", "again"))
    assert run_to_end(run_command_line, [*line[1:], "--quiet"]) == (0, "")
    made = (tmp_path / "recipes" / "hospital-released.csv").read_bytes()
    assert (tmp_path / "again.csv").read_bytes() == made


def test_reasons_stand_behind_the_columns(tmp_path):
    text = shoal.suggest(shoal.sample("hospital", rows=100)).to_toml()
    assert '    "sex",  # sex, by its name: everybody around the person knows it' in text
    assert tomllib.loads(text)["columns"]["quasi"][0] == "age"
    assert "# - postcode: the first digits of the code" in text
    assert "shoal hierarchy build TABLE postcode --method mask -o hierarchies/postcode.csv" in text


@pytest.mark.parametrize(
    "name", ["age\ninjected = 1", "age\u2028injected = 1", "age\r[table]", "age\x85x = 1"]
)
def test_a_line_break_in_a_name_does_not_leave_its_comment(name):
    frame = shoal.sample("hospital", rows=100).rename({"age": name})
    found = tomllib.loads(shoal.suggest(frame).to_toml())
    assert name in found["columns"]["quasi"]
    assert found.keys() == {"shoal", "columns", "goal", "search"}


def test_a_name_that_is_a_path_is_not_where_its_hierarchy_goes():
    frame = shoal.sample("hospital", rows=100).rename({"age": "../../age"})
    (command,) = (each.command for each in shoal.suggest(frame).hierarchies if each.column == "../../age")
    assert re.search(r" -o hierarchies/age-[0-9a-f]{8}\.csv$", command)


def test_strange_names_and_reading_options_survive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{20 + i % 7};{'fm'[i % 2]};?;flu{i % 3}" for i in range(40))
    (tmp_path / "my table.txt").write_text(f'age, "exact" #1;sex;^x$;illness\n{rows}\n'.replace('"', '""'))
    options = ReadOptions(delimiter=";", na=("?",))
    suggestion = shoal.suggest("my table.txt", options=options)
    assert suggestion.quasi == ('age, ""exact"" #1', "sex")
    assert suggestion.plain == ("^x$",)
    suggestion.write("recipe.toml")
    recipe = shoal.Recipe.from_toml("recipe.toml")
    assert (recipe.quasi, recipe.reading) == (suggestion.quasi, options)
    shoal.run(recipe)
    assert (tmp_path / "my table-released.csv").exists()
    assert run_to_end(run_command_line, [*shlex.split(suggestion.command)[1:], "--quiet"]) == (0, "")


def column(name: str, values: list[object], rows: int = 40) -> pl.DataFrame:
    return pl.DataFrame(
        {name: [values[i % len(values)] for i in range(rows)], "age": [i % 9 for i in range(rows)]}
    )


@pytest.mark.parametrize(
    ("name", "values", "role", "why"),
    [
        ("x", list(range(40)), "identifier", "a different value in every row"),
        ("x", [f"n{i}" for i in range(39)], "identifier", "nearly one for every row"),
        ("x", ["word " * 20, "other " * 20], "identifier", "long texts"),
        ("x", [f"p{i}@b.org" for i in range(4)], "identifier", "values look like e-mail addresses"),
        ("x", ["DE89370400440532013000", "GB82WEST12345698765432"], "identifier", "IBANs"),
        ("x", ["<=50K", ">50K"], "sensitive", "brackets of money"),
        ("x", ["a", "b", "c"], "quasi", "name unknown, but alone it tells"),
        ("x", ["a", "a", "a", "b"], "plain", "which is little"),
        ("x", [i / 7 for i in range(40)], "plain", "a measured number"),
        ("x", ["a"], "plain", "the same value in every row"),
        ("x", [None], "plain", "has no value"),
        ("class", ["a", "b"], "sensitive", "what the table is about"),
        ("class", list(range(30)), "quasi", "name unknown"),
        ("hospital_id", [1, 2, 3], "quasi", "name unknown"),
        ("hospital_id", list(range(30)), "identifier", "made to point at one row"),
        ("Krankheit", ["Grippe", "Asthma"], "sensitive", "diagnosis or health"),
        ("fecha de nacimiento", ["1980-01-02", "1999-05-06"], "quasi", "date or year of birth"),
        ("Straße", ["Am Weg 1", "Am Weg 2"], "identifier", "postal address"),
    ],
)
def test_roles_by_name_values_and_distribution(name, values, role, why):
    found = next(each for each in shoal.suggest(column(name, values)).columns if each.name == name)
    assert (found.role, why in found.why) == (role, True), found


def test_numbers_that_are_codes_are_no_numbers():
    found = shoal.suggest(column("RACEX", [1, 2, 3]))
    assert {each.name: each.type for each in found.columns} == {"RACEX": "string", "age": "integer"}
    assert found.recipe.types == {"RACEX": "string"}
    assert "--type RACEX=string" in found.command


def test_hierarchies_fit_the_columns():
    found = shoal.suggest(shoal.sample("hospital", rows=300))
    assert {each.column: each.builder for each in found.hierarchies} == {
        "age": "intervals",
        "postcode": "mask",
        "education": "frequency",
        "occupation": "frequency",
        "admission_date": "dates",
    }
    assert found.recipe.hierarchies == ()


def test_the_goal_fits_the_table():
    few = shoal.suggest(pl.DataFrame({"age": [1, 2, 3], "illness": ["x", "x", "x"]}))
    assert few.recipe.models == (shoal.KAnonymity(3),)
    more = shoal.suggest(column("illness", ["x", "y"]))
    assert more.recipe.models == (shoal.KAnonymity(5), shoal.DistinctL(2, "illness"))


def test_what_stays_and_singles_out_is_said():
    found = shoal.suggest(shoal.sample("hospital", rows=300))
    assert any("cost alone singles out most rows" in note for note in found.notes)


def test_columns_that_say_the_same_are_named():
    table = pl.DataFrame({"town": ["A", "B", "C", "A"], "town_code": [7, 8, 9, 7], "age": [1, 2, 3, 3]})
    notes = shoal.suggest(table).notes
    assert [note for note in notes if "always go together" in note] == [
        "town and town_code always go together: one of them is enough"
    ]


def test_what_looks_like_a_missing_value_is_said():
    table = pl.DataFrame({"town": ["A", "?", "C", "A"], "job": ["x", "N/A", "y", "?"], "age": [1, 2, 3, 3]})
    notes = shoal.suggest(table).notes
    assert "values of town, job look like missing ones: if they are, say so with --na '?' --na N/A" in notes
    told = shoal.suggest(table, options=ReadOptions(na=("?", "N/A"))).notes
    assert not any("missing" in note for note in told)


def test_without_a_quasi_identifier_there_is_no_recipe():
    found = shoal.suggest(pl.DataFrame({"x": [1.5, 2.5, 1.5]}))
    assert (found.recipe, found.command) == (None, "")
    assert "no column was found" in found.notes[0]
    with pytest.raises(RecipeError, match="no recipe"):
        found.to_toml()
    assert json.loads(json.dumps(found.to_dict()))["recipe"] is None


def test_json_has_everything():
    found = json.loads(json.dumps(shoal.suggest(shoal.sample("hospital", rows=200)).to_dict()))
    assert found["sensitive"] == ["diagnosis"]
    assert found["columns"][0]["why"].startswith("number of a person")
    assert found["hierarchies"][0]["command"].startswith("shoal hierarchy build TABLE age --method")
    assert tomllib.loads(found["recipe"])["goal"]["models"] == ["k(k=5)", "distinct-l(l=2,column=diagnosis)"]


@pytest.mark.parametrize(
    ("columns", "person"),
    [
        ({"id": [i // 4 for i in range(4000)]}, "id"),
        ({"patient_id": [f"P{i // 4}" for i in range(4000)], "visit_id": range(4000)}, "patient_id"),
        (
            {"household_id": [i // 2 for i in range(4000)], "patient_id": [i // 4 for i in range(4000)]},
            "patient_id",
        ),
        ({"id": [i // 4 for i in range(4000)], "number": range(4000)}, None),
        ({"duid": [i // 4 for i in range(4000)], "patient_id": range(4000)}, None),
        ({"patient_id": range(4000)}, None),
    ],
    ids=[
        "a number",
        "visits",
        "households beside",
        "a row number",
        "members of households",
        "a row each",
    ],
)
def test_whose_row_it_is(columns, person):
    frame = pl.DataFrame({**columns, "age": [20 + i % 50 for i in range(4000)]})
    assert shoal.suggest(frame).person == person


@pytest.mark.parametrize("name", ["household_id", "HouseholdID", "hh_id", "family number", "Haushalts-Nr"])
def test_households_are_counted_beside_people(name):
    frame = pl.DataFrame(
        {
            "patient_id": [f"P{i // 4}" for i in range(4000)],
            name: [f"H{i // 12}" for i in range(4000)],
            "age": [20 + i % 50 for i in range(4000)],
        }
    )
    found = shoal.suggest(frame)
    assert (found.recipe.person, found.recipe.group, found.recipe.identifier) == ("patient_id", name, (name,))
    assert "--group" in found.command
    assert any(
        line.startswith("group = ") and "household or family" in line for line in found.to_toml().split("\n")
    )
    # without a person nobody is in a household, and a part of a name is no household
    assert shoal.suggest(frame.drop("patient_id")).recipe.group is None
    assert shoal.suggest(frame.rename({name: "household_income"})).recipe.group is None
