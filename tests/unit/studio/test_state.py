"""The workspace without a page: names, recipes, what is counted, and who changed what."""

import asyncio
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.table.test_readers import write_book

from shoal.algorithms import ALGORITHMS
from shoal.errors import InputError, RecipeError
from shoal.privacy import MODELS, KAnonymity
from shoal.recipes.equivalent import command_line
from shoal.recipes.recipe import Recipe
from shoal.studio.findings import count_open, describe_remedy
from shoal.studio.goal_settings import (
    convert_input,
    describe_component,
    list_form_fields,
    list_setting_fields,
    name_choices,
)
from shoal.studio.keys import KEY
from shoal.studio.presets import PRESETS
from shoal.studio.problems import find_goal_problem, find_type_problem
from shoal.studio.running import Run
from shoal.studio.state import ComponentSettings, CurrentMeasures, StudioWorkspace, released_name, safe_name
from shoal.table import Column, ReadOptions
from shoal.verification.findings import Finding


def open_table(path):
    """A workspace with a table and the roles that are suggested for it."""
    made = StudioWorkspace()
    made.use_source(made.load_table(path))
    made.profiles = made.profile_columns(made.source)
    made.prefill_choices(made.suggest_roles(made.source, made.profiles))
    return made


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,illness\n" + "".join(f"{20 + i % 5},{'xy'[i % 2]}\n" for i in range(40)))
    made = open_table(path)
    yield made
    made.close()
    assert not made.folder.exists()


def test_every_parameter_of_the_expert_s_form_is_documented():
    for kind in (*MODELS.values(), *ALGORITHMS.values()):
        assert describe_component(kind)
        undocumented = [dial.name for dial in list_form_fields(kind) if not dial.words]
        assert undocumented == [], kind
    by_name = {dial.name: dial for dial in list_form_fields(MODELS["t"])}
    assert by_name["distance"].options == ("equal", "ordered", "hierarchical")
    assert (by_name["t"].kind, by_name["t"].required) == ("number", True)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("people.csv", "people.csv"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a\\b\x00.csv", "a_b_.csv"),
        ("", "table.csv"),
        (".hidden", "hidden"),
        ("recipe.toml", "table-recipe.toml"),
    ],
)
def test_the_name_of_an_upload_stays_in_its_folder(sent, kept):
    assert safe_name(sent) == kept


def test_a_release_is_named_after_its_table():
    assert released_name("people.csv.gz") == "people-released.csv"
    assert released_name("people.parquet") == "people-released.parquet"
    assert released_name("people.xlsx") == "people-released.xlsx"


def test_what_is_chosen_becomes_a_recipe(workspace):
    with pytest.raises(RecipeError, match="no privacy goal"):
        workspace.build_recipe()
    workspace.goal = type(workspace.goal)(models=PRESETS["careful"].build_models(sensitive=True))
    recipe = workspace.build_recipe()
    assert (recipe.quasi, recipe.sensitive, recipe.input) == (("age",), ("illness",), "people.csv")
    assert KAnonymity(5) in recipe.models
    workspace.make_current_counter()()
    now = workspace.get_current_measures()
    assert isinstance(now, CurrentMeasures)
    assert (now.measures.k, now.compute_share_below(8), now.compute_share_below(9)) == (8, 0.0, 1.0)
    workspace.change_choice("illness", type="ordered")
    assert workspace.get_current_measures() is None  # another question
    workspace.make_current_counter()()
    assert isinstance(
        workspace.get_current_measures(), str
    )  # an order is missing, which is said and not raised


def test_a_column_says_whose_row_it_is(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("patient_id,age\n" + "".join(f"P{i // 3},{20 + i % 9}\n" for i in range(36)))
    made = open_table(path)
    assert made.choices["patient_id"].role == "person"
    made.goal = type(made.goal)(models=PRESETS["careful"].build_models(sensitive=False))
    recipe = made.build_recipe()
    assert (recipe.person, recipe.quasi) == ("patient_id", ("age",))
    made.make_current_counter()()
    assert made.get_current_measures().measures.k == 4  # each age has four rows, of four people
    made.change_choice("age", role="person")
    made.change_choice("patient_id", role="quasi")
    made.make_current_counter()()
    assert made.get_current_measures().measures.rows == 36
    made.change_choice("patient_id", role="person")
    with pytest.raises(RecipeError, match="cannot all say whose row it is"):
        made.build_recipe()
    made.close()


def test_settings_about_the_release_as_a_whole_go_into_the_recipe_and_come_back(workspace):
    models = PRESETS["basic"].build_models(sensitive=True)
    workspace.goal = type(workspace.goal)(models=models)
    plain = workspace.build_recipe()
    assert (plain.others, plain.row_order, plain.fold, plain.strict, plain.accept) == (
        *(None, "keep", None, False),
        {},
    )
    workspace.change_choice("illness", fold=False)
    assert not workspace.build_column("illness").fold
    workspace.goal = type(workspace.goal)(
        models=models,
        strict=True,
        accept={"unique-rows": "a reason"},
        form={"others": "drop", "row_order": "released"},
    )
    recipe = workspace.build_recipe()
    assert (recipe.others, recipe.row_order, recipe.fold, recipe.strict) == ("drop", "released", (), True)
    assert Recipe.from_text(recipe.to_toml(), Path("recipe.toml")) == recipe
    for told in (
        "--others drop",
        "--row-order released",
        "--fold none",
        "--strict",
        "'unique-rows=a reason'",
    ):
        assert told in command_line(recipe)
    run = Run(1, recipe, workspace.folder / "runs" / "1")
    workspace.change_choice("illness", fold=True)
    workspace.goal = type(workspace.goal)(models=models)
    assert workspace.build_recipe() == plain
    workspace.adopt_settings(run)
    assert workspace.build_recipe() == recipe


def test_what_is_accepted_of_a_run_is_accepted_of_the_next(workspace):
    workspace.goal = type(workspace.goal)(models=PRESETS["basic"].build_models(sensitive=False))
    run = Run(1, workspace.build_recipe(), workspace.folder / "runs" / "1", state="failed")
    run.refused = [Finding("unique-rows", "high", "all are alone", 1.0, "group them").to_dict()]
    assert count_open(run) == 1
    workspace.record_decision(run, "unique-rows", "a reason")
    assert count_open(run) == 0
    assert workspace.build_recipe().accept == run.recipe.accept == {"unique-rows": "a reason"}
    workspace.record_decision(run, "unique-rows", "")
    assert count_open(run) == 1
    assert workspace.build_recipe().accept == run.recipe.accept == {}


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (Finding("unique-rows", "high", "", 1, "", columns=("a", "b")), "mark a and b as Recognisable"),
        (Finding("unique-rows", "high", "", 1, "-k", columns=()), "In Goal, ask for larger groups"),
        (Finding("determines:a:b", "high", "", 1, "--quasi", columns=("a",)), "mark a as Recognisable"),
        (Finding("row-order:a", "high", "", 1, "--row-order", columns=("a",)), "Sort the release"),
        (Finding("spelling:a", "high", "", 1, "--fold", columns=("a",)), "count spellings of a as one"),
        (Finding("spelling:a", "low", "", 1, "spell them alike", columns=("a",)), "Spell them alike."),
        (Finding("repeated:a", "high", "", 1, "--person a", columns=("a",)), "mark it so in Describe"),
        (Finding("repeated:a", "low", "", 1, "keep one row", columns=("a",)), "Keep one row."),
    ],
    ids=lambda value: getattr(value, "id", None),
)
def test_the_studio_gives_no_advice_in_options_of_a_command(finding, words):
    assert words in describe_remedy(finding)
    assert "--" not in describe_remedy(finding)


def test_another_table_may_be_opened_while_one_is_counted(workspace):
    work, source = workspace.make_current_counter(), workspace.source
    workspace.use_source(source)
    work()
    workspace.change_choice("age", role="plain")  # of a page that has not heard of it yet
    assert workspace.choices == {}
    assert workspace.get_current_measures() is None


def test_a_table_that_is_read_again_has_new_folders_for_its_runs(workspace, monkeypatch):
    monkeypatch.setattr(Run, "start", lambda run, tables: None)
    goal = type(workspace.goal)(models=PRESETS["basic"].build_models(sensitive=False))
    choices, folders = workspace.choices, []
    for _ in range(2):
        workspace.choices = choices
        folders.append(workspace.start_run(goal).folder)
        workspace.use_source(workspace.source)
    assert len({*folders}) == 2


def test_pages_learn_of_the_changes_of_others_only(workspace):
    first, second = workspace.count_foreign_changes("a"), workspace.count_foreign_changes("b")
    workspace.record_change("a")
    assert (workspace.count_foreign_changes("a"), workspace.count_foreign_changes("b")) == (first, second + 1)


def test_what_was_counted_for_another_table_is_not_used(workspace):
    used = []

    async def meanwhile() -> None:
        task = asyncio.create_task(workspace.run_once("x", lambda: 1, used.append))
        await asyncio.sleep(0)  # it has begun
        workspace.close_table()
        await task

    asyncio.run(meanwhile())
    assert used == []


def test_the_form_of_settings_comes_from_their_table():
    known = {"loss": ["ncp", "entropy"], "knows": ["1", "2", "3", "all"], "group": ["home"]}
    known |= {"weight_column": ["final_weight"]}
    made = list_setting_fields(known)
    assert [(dial.name, dial.kind) for _, dial in made] == [
        ("loss", "choice"),
        ("weight_column", "choice"),
        ("missing", "choice"),
        ("knows", "choice"),
        ("render", "choice"),
        ("row_order", "choice"),
        ("others", "choice"),
        ("group", "choice"),
        ("seed", "whole"),
        ("relative", "text"),
        ("safe_csv", "switch"),
        ("pseudonym", "switch"),
    ]
    shown = {each.name: name_choices(each, dial) for each, dial in made}
    assert shown["loss"] == {"ncp": "ncp", "entropy": "entropy"}
    assert shown["others"] == {"": "are an error", "drop": "are left out", "keep": "are kept as they are"}
    assert shown["group"] == {"": "not set", "home": "home"}
    assert list(shown["missing"]) == ["category", "drop", "error"]
    dials = {dial.name: dial for _, dial in made}
    assert convert_input(dials["others"], "") is None
    assert (convert_input(dials["seed"], 7.0), convert_input(dials["seed"], None)) == (7, 0)
    assert convert_input(dials["safe_csv"], True) is True


def test_the_key_is_in_no_file_that_is_released_and_belongs_to_its_run(tmp_path):
    made = open_visits(tmp_path)
    made.goal = made.goal.change_form(pseudonym=True, knows="2")
    recipe = made.build_recipe()
    assert (recipe.pseudonym, recipe.knows, recipe.key_file) == (True, "2", KEY)
    first = made.find_key(0)
    secret = first.read_bytes().strip()
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    run = made.start_run()
    while run.state in ("waiting", "running"):
        time.sleep(0.1)
    assert (run.state, run.error) == ("done", "")
    run.check_files()
    assert KEY not in run.list_files()
    for path in run.folder.iterdir():
        if path.name != KEY:  # a link to the key, as 'shoal run' would find it
            assert secret not in path.read_bytes(), path
    assert "pseudonyms.key" in (run.folder / "recipe.toml").read_text("utf-8")
    (tmp_path / "mine.key").write_bytes(b"a key of my own, which is long enough")
    made.keys.take_key(tmp_path / "mine.key")
    assert made.find_key(0).read_bytes() != made.find_key(run.number).read_bytes() == first.read_bytes()
    assert made.start_run() is not run  # other pseudonyms
    (tmp_path / "mine.key").write_bytes(b"short")
    with pytest.raises(InputError, match="the file: the key has 5 bytes"):
        made.keys.take_key(tmp_path / "mine.key")
    made.goal = made.goal.change_form(pseudonym=False)
    assert made.find_key(0) is None
    made.close()
    assert not first.exists()


def open_visits(folder):
    (folder / "visits.csv").write_text(
        "id,age\n" + "".join(f"P{at // 2},{20 + at % 7}\n" for at in range(40))
    )
    made = open_table(folder / "visits.csv")
    for name, role in (("id", "person"), ("age", "quasi")):
        made.change_choice(name, role=role)
    made.goal = type(made.goal)(models=PRESETS["basic"].build_models(sensitive=False))
    return made


def test_the_form_has_plain_words_for_what_is_known():
    words = {each.name: each.info.words for each, _ in list_setting_fields({"knows": ["1", "2", "3", "all"]})}
    assert words["knows"] == {"1": "one row", "2": "any two rows", "3": "any three rows", "all": "all rows"}


def test_households_are_counted_beside_pseudonyms(tmp_path):
    rows = "".join(f"P{at // 2},H{at // 4},{20 + at % 7}\n" for at in range(80))
    (tmp_path / "visits.csv").write_text(f"id,home,age\n{rows}")
    made = open_table(tmp_path / "visits.csv")
    for name, role in (("id", "person"), ("home", "identifier"), ("age", "quasi")):
        made.change_choice(name, role=role)
    made.goal = type(made.goal)(models=PRESETS["basic"].build_models(sensitive=False))
    made.goal = made.goal.change_form(group="home", pseudonym=True, knows="2")
    recipe = made.build_recipe()
    assert (recipe.group, recipe.pseudonym, recipe.knows) == ("home", True, "2")
    run = made.start_run()
    while run.state in ("waiting", "running"):
        time.sleep(0.1)
    assert (run.state, run.error) == ("done", "")
    assert [each["name"] for each in run.report["models"]] == ["k", "groups"]
    run.check_files()
    assert run.list_files()
    made.close()


def test_what_is_about_people_goes_with_the_person(tmp_path):
    """Settings that need a person are not in the way once no column says whose row it is."""
    made = open_visits(tmp_path)
    made.goal = made.goal.change_form(pseudonym=True, knows="all", relative="age")
    assert made.build_recipe().known_rows is None
    made.change_choice("id", role="identifier")
    recipe = made.build_recipe()
    assert (recipe.pseudonym, recipe.knows, recipe.relative, recipe.key_file) == (False, "1", None, None)
    made.close()


def open_sets(folder, ending="ok"):
    rows = ["m,E11|I10", "f,I10", "m,E11|N18", "f,I10|N18", "m,E11", "f,E11|I10|N18", "m,N18|X1", "f,X1|I10"]
    lines = "".join(f"{row},{ending if at % 2 else 'bad'}\n" for at, row in enumerate(rows * 4))
    (folder / "patients.csv").write_text("sex,diagnoses,outcome\n" + lines)
    return open_table(folder / "patients.csv")


def test_columns_of_sets_are_offered_and_become_a_part_of_the_recipe(tmp_path):
    made = open_sets(tmp_path)
    assert made.proposals["diagnoses"].separator == "|"
    assert "several of 4 items, with '|' between them" in made.proposals["diagnoses"].items
    made.change_choice("diagnoses", role="set", type="string")
    assert not made.asks_sensitive  # nothing is mixed if single items are known
    made.goal = type(made.goal)(models=PRESETS["careful"].build_models(made.asks_sensitive))
    made.goal = made.goal.change_form(knows="2")
    recipe = made.build_recipe()
    assert (recipe.sets, recipe.knows, recipe.types) == ({"diagnoses": "|"}, "2", {})
    assert "--set 'diagnoses=|' --knows 2" in command_line(recipe)
    assert sorted(made.select_values("diagnoses").column("diagnoses").unique()) == ["E11", "I10", "N18", "X1"]
    run = Run(1, recipe, made.folder / "runs" / "1")
    made.change_choice("diagnoses", role="plain")
    assert "diagnoses is kept as it is, and was several values in a cell" in made.list_changes_since(run)
    made.adopt_settings(run)
    assert made.build_recipe() == recipe
    made.close()


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ((("k", {"k": 3}),), ""),
        ((("k", {"k": 33}),), "k = 33, but the table has 32 rows"),
        ((("k", {"k": 3}), ("distinct-l", {"l": 3})), "l = 3, but the sensitive column 'outcome' has 2"),
    ],
)
def test_a_goal_out_of_reach_is_told_where_it_is_chosen(models, problem, tmp_path):
    made = open_sets(tmp_path)
    made.change_choice("outcome", role="sensitive")
    made.goal = type(made.goal)(models=tuple(ComponentSettings(*each) for each in models))
    made.make_current_counter()()
    told = find_goal_problem(made)
    assert (problem in told) if problem else told == ""
    made.close()


def test_sets_and_sensitive_values_are_refused_where_they_are_chosen(tmp_path):
    made = open_sets(tmp_path)
    made.change_choice("diagnoses", role="set")
    made.change_choice("outcome", role="sensitive")
    made.goal = type(made.goal)(models=PRESETS["careful"].build_models(sensitive=True))
    assert "knows" in find_goal_problem(made)
    made.goal = made.goal.change_form(knows="all")
    assert find_goal_problem(made) == ""
    made.close()


@pytest.mark.parametrize(("type", "wrong"), [("string", ""), ("integer", "'"), ("date", "'")])
def test_a_type_that_does_not_fit_is_told_where_it_is_chosen(type, wrong, tmp_path):
    made = open_sets(tmp_path)
    told = find_type_problem(made.source.table, Column("outcome", type))
    assert bool(told) == bool(wrong)
    assert "Choose another type" in told or not wrong
    made.close()


def test_equal_runs_are_one_and_runs_can_be_named_and_deleted(workspace, monkeypatch):
    monkeypatch.setattr(Run, "start", lambda self, tables: setattr(self, "tables", dict(tables)))
    workspace.goal = type(workspace.goal)(models=PRESETS["basic"].build_models(sensitive=False))
    first = workspace.start_run()
    assert workspace.start_run() is first
    assert len(workspace.runs) == 1
    workspace.goal = type(workspace.goal)(models=PRESETS["strict"].build_models(sensitive=False))
    assert workspace.list_changes_since(first) == ["the goal is groups of at least 11 (k = 11)"]
    second = workspace.start_run()
    second.name = "for the web"
    assert (second.number, second.title) == (2, "Run 2: for the web")
    workspace.delete_run(first)
    assert [run.number for run in workspace.runs] == [2]
    workspace.goal = type(workspace.goal)(models=PRESETS["basic"].build_models(sensitive=False))
    assert workspace.start_run().number == 3  # numbers, and folders, are never used again


def test_a_recipe_is_taken_for_the_table_that_is_open(tmp_path, workspace):
    workspace.goal = type(workspace.goal)(models=PRESETS["strict"].build_models(sensitive=True))
    workspace.change_choice("illness", role="identifier")
    workspace.change_choice("age", type="string", weight=2.0)
    recipe = workspace.build_recipe()
    other = open_table(workspace.source.path)
    other.take_recipe(recipe, "recipe.toml")
    assert other.build_recipe() == recipe
    with pytest.raises(RecipeError, match="unknown column 'aeg'"):
        other.take_recipe(replace(recipe, identifier=("aeg",)), "recipe.toml")
    assert other.build_recipe() == recipe
    other.close()


def test_a_recipe_waits_for_its_table_and_reads_no_file_of_its_own(tmp_path, workspace):
    (tmp_path / "age.csv").write_text("20;young;*\n")
    workspace.goal = type(workspace.goal)(models=PRESETS["basic"].build_models(sensitive=False))
    recipe = replace(
        workspace.build_recipe(),
        hierarchies=(f"age={tmp_path / 'age.csv'}", "illness=@countries"),
        reading=ReadOptions(na=("x",)),
    )
    made = StudioWorkspace()
    made.take_recipe(recipe, "recipe.toml")
    made.use_source(made.load_table(workspace.source.path))
    assert made.source.reading.na == ("x",)
    made.profiles = made.profile_columns(made.source)
    made.prefill_choices(made.suggest_roles(made.source, made.profiles))
    assert made.waiting is None
    assert made.of_role("quasi") == recipe.quasi
    assert made.left_behind == [f"age={tmp_path / 'age.csv'}"]
    assert list(made.trees) == ["illness"]
    made.close()


def test_a_workbook_is_opened_where_it_has_rows_and_released_as_one(tmp_path):
    made = StudioWorkspace()
    made.use_source(made.load_table(write_book(tmp_path / "book.xlsx")))
    assert (made.source.reading.sheet, made.source.rows) == ("people", 2)
    assert released_name("book.xlsx") == "book-released.xlsx"
    made.close()
