"""The workspace without a page: names, recipes, what is counted, and who changed what."""

import asyncio
from pathlib import Path

import pytest

from shoal.algorithms import ALGORITHMS
from shoal.errors import RecipeError
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
from shoal.studio.presets import PRESETS
from shoal.studio.running import Run
from shoal.studio.state import CurrentMeasures, StudioWorkspace, complete_path, released_name, safe_name
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
    assert released_name("people.xlsx") == "people-released.csv"


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
    made = list_setting_fields(known)
    assert [(dial.name, dial.kind) for _, dial in made] == [
        ("loss", "choice"),
        ("missing", "choice"),
        ("knows", "choice"),
        ("render", "choice"),
        ("row_order", "choice"),
        ("others", "choice"),
        ("group", "choice"),
        ("seed", "whole"),
        ("key_file", "text"),
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


def test_a_key_file_is_not_among_the_files_of_a_run(tmp_path, monkeypatch):
    """A path that is typed is one from where the studio was started, whatever the folder of the run."""
    monkeypatch.chdir(tmp_path)
    assert complete_path({"key_file": "my.key", "knows": "2"}) == {
        "key_file": str(tmp_path / "my.key"),
        "knows": "2",
    }
    assert complete_path({"key_file": None}) == {"key_file": None}


def test_the_form_asks_for_linked_rows(tmp_path):
    """The choices of the form are those of the recipe, and its words are plain."""
    (tmp_path / "visits.csv").write_text(
        "id,age\n" + "".join(f"P{at // 2},{20 + at % 7}\n" for at in range(40))
    )
    made = open_table(tmp_path / "visits.csv")
    for name, role in (("id", "person"), ("age", "quasi")):
        made.change_choice(name, role=role)
    goal = type(made.goal)(models=PRESETS["basic"].build_models(sensitive=False))
    goal = goal.change_form(pseudonym=True, knows="all", key_file=str(tmp_path / "key"))
    recipe = made.build_recipe(goal)
    assert (recipe.pseudonym, recipe.known_rows, recipe.key_file) == (True, None, str(tmp_path / "key"))
    words = {each.name: each.info.words for each, _ in list_setting_fields({"knows": ["1", "2", "3", "all"]})}
    assert words["knows"] == {"1": "one row", "2": "any two rows", "3": "any three rows", "all": "all rows"}
