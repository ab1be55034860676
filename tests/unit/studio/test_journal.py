"""The journal: what was decided, undone, saved in a project and taken up again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import shoal
from shoal.errors import RecipeError
from shoal.recipes.project import Project, name_project_file
from shoal.recipes.recipe import Recipe
from shoal.studio.journal import Journal
from shoal.studio.presets import PRESETS, apply_preset
from shoal.studio.state import StudioWorkspace

TABLE = "age,job,illness\n" + "".join(f"{20 + i % 40},{'abc'[i % 3]},{'xyz'[i % 3]}\n" for i in range(120))


def open_workspace(folder: Path) -> StudioWorkspace:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "people.csv").write_text(TABLE)
    made = StudioWorkspace()
    take_table(made, folder / "people.csv")
    return made


def take_table(workspace: StudioWorkspace, path: Path) -> None:
    workspace.use_source(workspace.load_table(path))
    source = workspace.source
    workspace.profiles = workspace.profile_columns(source)
    workspace.prefill_choices(workspace.suggest_roles(source, workspace.profiles))


@pytest.fixture
def workspace(tmp_path):
    made = open_workspace(tmp_path / "here")
    for name, role in (("age", "quasi"), ("job", "quasi"), ("illness", "sensitive")):
        made.change_choice(name, role=role)
    yield made
    made.close()


def decide(journal: Journal, **roles: str) -> None:
    for name, role in roles.items():
        journal.workspace.change_choice(name, role=role)
    journal.note_changes()


def test_every_decision_is_logged_with_who_took_it_and_when(workspace):
    journal = Journal(workspace)
    journal.note_changes()
    journal.who = "Ada"
    decide(journal, job="identifier")
    apply_preset(workspace, PRESETS["strict"])
    journal.note_changes()
    journal.note_changes()  # nothing new
    assert [each.who for each in journal.decisions] == ["Shoal", "Ada", "Ada"]
    assert journal.decisions[1].what == ("job is left out, and was recognisable",)
    assert journal.decisions[2].what[0] == "the goal is Strict"
    assert journal.decisions[1].when <= journal.decisions[2].when


def test_decisions_are_undone_and_done_again(workspace):
    journal = Journal(workspace)
    journal.note_changes()
    first = dict(workspace.choices)
    decide(journal, job="identifier")
    decide(journal, age="plain")
    journal.move(-1)
    journal.note_changes()
    assert (workspace.choices["age"].role, workspace.choices["job"].role) == ("quasi", "identifier")
    journal.move(-1)
    assert workspace.choices == first
    assert not journal.can_undo
    journal.move(1)
    journal.move(1)
    assert workspace.choices["age"].role == "plain"
    assert not journal.can_redo
    journal.move(-1)
    decide(journal, illness="plain")  # another way: what was undone is gone
    assert not journal.can_redo


def test_the_goal_that_is_proposed_is_no_decision(workspace):
    journal = Journal(workspace)
    journal.note_changes()
    apply_preset(workspace, PRESETS["careful"])
    journal.note_changes()
    assert len(journal.decisions) == 1


def test_another_table_begins_another_journal(workspace, tmp_path):
    journal = Journal(workspace)
    journal.note_changes()
    decide(journal, job="identifier")
    take_table(workspace, tmp_path / "here" / "people.csv")
    journal.note_changes()
    assert len(journal.decisions) == 1


def save_project(workspace: StudioWorkspace, path: Path) -> None:
    journal = Journal(workspace)
    journal.note_changes()
    apply_preset(workspace, PRESETS["basic"])
    journal.who = "Ada"
    decide(journal, illness="plain")
    decide(journal, illness="sensitive")
    journal.move(-1)
    journal.name = "Study 1"
    journal.build_project().save(path)


def test_a_project_is_taken_up_elsewhere_and_undone_there(workspace, tmp_path):
    path = tmp_path / "there" / "study.shoal"
    save_project(workspace, path)
    assert path.stat().st_mode & 0o077 == 0
    other = open_workspace(tmp_path / "there")
    journal = Journal(other)
    journal.take_project(Project.load(path), path)
    journal.note_changes()
    assert (journal.name, len(journal.decisions), journal.position) == ("Study 1", 3, 1)
    assert other.build_recipe() == workspace.build_recipe()
    journal.move(1)
    assert other.choices["illness"].role == "sensitive"
    other.close()


def test_a_project_waits_for_its_table(workspace, tmp_path):
    path = tmp_path / "study.shoal"
    save_project(workspace, path)
    other = StudioWorkspace()
    journal = Journal(other)
    journal.take_project(Project.load(path), path)
    journal.note_changes()
    take_table(other, tmp_path / "here" / "people.csv")
    journal.note_changes()
    assert other.build_recipe() == workspace.build_recipe()
    assert journal.decisions[-1].who == "Ada"
    other.close()


def test_a_project_is_a_recipe_and_runs_to_the_same_bytes(workspace, tmp_path):
    path = tmp_path / "here" / "study.shoal"
    save_project(workspace, path)
    recipe = replace(workspace.build_recipe(), output="by-recipe.csv")
    (tmp_path / "here" / "recipe.toml").write_text(recipe.to_toml())
    for each in ("study.shoal", "recipe.toml"):
        shoal.run(Recipe.from_toml(tmp_path / "here" / each))
    made = tmp_path / "here" / "people-released.csv"
    assert made.read_bytes() == (tmp_path / "here" / "by-recipe.csv").read_bytes()


def test_a_project_without_a_goal_is_saved_and_says_so_when_it_is_run(workspace, tmp_path):
    journal = Journal(workspace)
    journal.build_project().save(tmp_path / "early.shoal")
    with pytest.raises(RecipeError, match="cannot be run yet"):
        Recipe.from_toml(tmp_path / "early.shoal")
    other = open_workspace(tmp_path / "there")
    again = Journal(other)
    again.take_project(Project.load(tmp_path / "early.shoal"), tmp_path / "early.shoal")
    again.note_changes()
    assert other.choices == workspace.choices
    other.close()


@pytest.mark.parametrize(
    "change",
    [
        {"decisions": [{"when": "x"}]},
        {"position": 99},
        {"runs": 3},
        {"trees": {"a": {"b": 1}}, "decisions": None},
        {"shoal-project": 2},
    ],
)
def test_a_damaged_project_is_refused(workspace, tmp_path, change):
    path = tmp_path / "study.shoal"
    save_project(workspace, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(RecipeError, match=r"study\.shoal"):
        Project.load(path)


def test_decisions_that_cannot_be_read_are_refused(workspace, tmp_path):
    path = tmp_path / "study.shoal"
    save_project(workspace, path)
    plain = json.loads(path.read_text())
    plain["decisions"][0]["state"]["goal"]["preset"] = "unheard of"
    path.write_text(json.dumps(plain))
    with pytest.raises(RecipeError, match="damaged"):
        Journal(workspace).take_project(Project.load(path), path)


def test_a_project_has_no_rows_of_the_table(tmp_path):
    secret = "x" * 10 + "unseen"
    made = open_workspace(tmp_path / "here")
    (tmp_path / "here" / "people.csv").write_text(TABLE.replace("20,a,x", f"20,a,{secret}", 1))
    take_table(made, tmp_path / "here" / "people.csv")
    for name, role in (("age", "quasi"), ("job", "quasi"), ("illness", "sensitive")):
        made.change_choice(name, role=role)
    apply_preset(made, PRESETS["basic"])
    run = made.start_run()
    while run.state in ("waiting", "running"):
        pass
    assert run.state == "done", run.error
    text = Journal(made).build_project().to_text()
    assert secret not in text
    assert json.loads(text)["runs"][0]["report"]["smallest_class"] >= 3
    made.close()


@pytest.mark.parametrize(
    ("typed", "file"), [("Study 1", "Study 1.shoal"), ("../x", "_x.shoal"), ("", "project.shoal")]
)
def test_a_project_gets_a_name_of_a_file(typed, file):
    assert name_project_file(typed) == file
