"""The workspace without a page: names, recipes, what is counted, and who changed what."""

import asyncio

import pytest

from shoal.algorithms import ALGORITHMS
from shoal.errors import RecipeError
from shoal.privacy import MODELS, KAnonymity
from shoal.studio.dials import dials, words_of
from shoal.studio.presets import PRESETS
from shoal.studio.running import Run
from shoal.studio.state import Now, Workspace, released_name, safe_name


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,illness\n" + "".join(f"{20 + i % 5},{'xy'[i % 2]}\n" for i in range(40)))
    made = Workspace()
    made.take(made.load(path))
    made.profiles = made.count(made.source)
    made.prefill(made.suggest(made.source, made.profiles))
    yield made
    made.close()
    assert not made.folder.exists()


def test_every_parameter_of_the_expert_s_form_is_documented():
    for kind in (*MODELS.values(), *ALGORITHMS.values()):
        assert words_of(kind)
        undocumented = [dial.name for dial in dials(kind) if not dial.words]
        assert undocumented == [], kind
    by_name = {dial.name: dial for dial in dials(MODELS["t"])}
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
        workspace.recipe()
    workspace.goal = type(workspace.goal)(models=PRESETS["careful"].models(sensitive=True))
    recipe = workspace.recipe()
    assert (recipe.quasi, recipe.sensitive, recipe.input) == (("age",), ("illness",), "people.csv")
    assert KAnonymity(5) in recipe.models
    workspace.counting_now()()
    now = workspace.known_now()
    assert isinstance(now, Now)
    assert (now.measures.k, now.below(8), now.below(9)) == (8, 0.0, 1.0)
    workspace.choose("illness", type="ordered")
    assert workspace.known_now() is None  # another question
    workspace.counting_now()()
    assert isinstance(workspace.known_now(), str)  # an order is missing, which is said and not raised


def test_another_table_may_be_opened_while_one_is_counted(workspace):
    work, source = workspace.counting_now(), workspace.source
    workspace.take(source)
    work()
    workspace.choose("age", role="plain")  # of a page that has not heard of it yet
    assert workspace.choices == {}
    assert workspace.known_now() is None


def test_a_table_that_is_read_again_has_new_folders_for_its_runs(workspace, monkeypatch):
    monkeypatch.setattr(Run, "start", lambda run, tables: None)
    goal = type(workspace.goal)(models=PRESETS["basic"].models(sensitive=False))
    choices, folders = workspace.choices, []
    for _ in range(2):
        workspace.choices = choices
        folders.append(workspace.start(goal).folder)
        workspace.take(workspace.source)
    assert len({*folders}) == 2


def test_pages_learn_of_the_changes_of_others_only(workspace):
    first, second = workspace.foreign("a"), workspace.foreign("b")
    workspace.changed("a")
    assert (workspace.foreign("a"), workspace.foreign("b")) == (first, second + 1)


def test_what_was_counted_for_another_table_is_not_used(workspace):
    used = []

    async def meanwhile() -> None:
        task = asyncio.create_task(workspace.once("x", lambda: 1, used.append))
        await asyncio.sleep(0)  # it has begun
        workspace.leave()
        await task

    asyncio.run(meanwhile())
    assert used == []
