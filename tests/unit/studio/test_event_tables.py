"""Further tables about the same people, without a page: roles, recipes, runs and files."""

import random
import stat
import time
import zipfile

import pytest
from tests.unit.studio.test_state import open_table

from shoal.errors import InputError, RecipeError
from shoal.studio.presets import PRESETS, apply_preset
from shoal.studio.problems import find_goal_problem
from shoal.studio.running import PACK, TAKEN
from shoal.studio.words import describe_asked
from shoal.studio.worker import RELEASE


def write_tables(folder, extra="", twice=""):
    """A table of people, and one of their laboratory tests, in other formats than one another."""
    rng = random.Random(5)
    ids = [f"P{number:02}" for number in range(40)]
    people = [f"{each},{rng.randrange(20, 80)},{rng.choice('fm')}" for each in ids]
    labs = [f"{each};{rng.randrange(1, 9)};{rng.choice(['hdl', 'ldl'])}" for each in ids for _ in range(2)]
    (folder / "people.csv").write_text("\n".join(["id,age,sex", *people, *([twice] if twice else []), ""]))
    (folder / "labs.csv").write_text("\n".join(["id;day;test", *labs, *([extra] if extra else []), ""]))


def bring(workspace, file):
    """Upload a further table."""
    path = workspace.uploads.reserve_file(file.name, file.stat().st_size)
    path.write_bytes(file.read_bytes())
    workspace.add_events(workspace.load_events(path))
    return path


def choose(workspace, **roles):
    for name, role in roles.items():
        workspace.change_choice(name, role=role)


def prepare(folder, **tables):
    """A workspace with both tables, their roles and a goal."""
    write_tables(folder, **tables)
    made = open_table(folder / "people.csv")
    choose(made, id="person", age="quasi", sex="quasi")
    bring(made, folder / "labs.csv")
    choose(made, **{"labs.day": "quasi", "labs.test": "quasi"})
    apply_preset(made, PRESETS["basic"])
    return made


def finish_run(workspace):
    """Start a run, and wait for it."""
    run = workspace.start_run()
    end = time.monotonic() + 240
    while run.state in ("waiting", "running") and time.monotonic() < end:
        time.sleep(0.1)
    assert (run.state, run.error) == ("done", "")
    return run


@pytest.fixture
def workspace(tmp_path):
    made = prepare(tmp_path)
    yield made
    made.close()


def test_columns_of_a_further_table_have_roles_under_long_names(workspace):
    recipe = workspace.build_recipe()
    assert recipe.quasi == ("age", "sex", "labs.day", "labs.test")
    assert (recipe.person, recipe.events, recipe.output) == ("id", {"labs": "labs.csv"}, RELEASE)
    assert not any("labs.id" in getattr(recipe, role) for role in ("quasi", "identifier", "plain"))
    assert workspace.select_values("labs.test").column("labs.test").n_unique() == 2
    assert workspace.type_of("labs.day") == "integer"
    assert {RELEASE, PACK} <= TAKEN


def test_a_further_table_without_the_person_column_is_refused(workspace, tmp_path):
    other = tmp_path / "visits.csv"
    other.write_text("who,day\nP01,1\n")
    with pytest.raises(InputError, match=r"visits\.csv has no column 'id'.*it has 'who', 'day'"):
        bring(workspace, other)
    assert list(workspace.events) == ["labs"]
    choose(workspace, id="identifier")
    with pytest.raises(RecipeError, match="which column says whose row it is"):
        bring(workspace, tmp_path / "labs.csv")
    assert "need a person" in find_goal_problem(workspace)


def test_a_table_that_is_left_out_leaves_nothing_behind(workspace):
    path = workspace.events["labs"].path
    workspace.remove_events("labs")
    assert not path.exists()
    assert list(workspace.choices) == list(workspace.profiles) == ["id", "age", "sex"]
    assert workspace.build_recipe().output == "people-released.csv"


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"extra": "P99;1;hdl"}, "labs.csv: 1 of 81 events are of nobody who is known"),
        ({"twice": "P00,1,f"}, "people.csv: 1 people have several rows"),
    ],
)
def test_tables_that_do_not_go_together_are_told_before_a_run(tmp_path, tables, told):
    workspace = prepare(tmp_path, **tables)
    workspace.make_current_counter()()
    assert workspace.get_current_measures().startswith(told)
    assert find_goal_problem(workspace).startswith(told)
    assert "--" not in find_goal_problem(workspace)  # the studio has no options
    workspace.close()


def test_events_of_nobody_can_be_dropped(tmp_path):
    workspace = prepare(tmp_path, extra="P99;1;hdl")
    workspace.goal = workspace.goal.change_form(missing="drop")
    workspace.make_current_counter()()
    assert find_goal_problem(workspace) == ""
    workspace.close()


def test_what_cannot_be_combined_is_told_in_goal(workspace):
    assert find_goal_problem(workspace) == ""
    choose(workspace, **{"labs.day": "plain", "labs.test": "plain"})
    assert find_goal_problem(workspace).startswith("The table labs.csv has no recognisable column")
    choose(workspace, **{"labs.day": "quasi"}, sex="set")
    assert "cannot be combined with columns of sets" in find_goal_problem(workspace)


def test_a_recipe_asks_for_its_further_tables(workspace, tmp_path):
    recipe = workspace.build_recipe()
    other = open_table(tmp_path / "people.csv")
    other.take_recipe(recipe, "recipe.toml")
    assert other.list_missing_events() == ["labs.csv"]
    bring(other, tmp_path / "labs.csv")
    assert other.list_missing_events() == []
    assert other.build_recipe() == recipe
    other.close()


@pytest.mark.slow
def test_a_run_makes_a_folder_and_offers_it_once_it_is_counted(workspace):
    workspace.goal = workspace.goal.change_form(pseudonym=True)
    run = finish_run(workspace)
    assert list(run.report["tables"]) == ["people", "labs"]
    assert run.list_files() == {}
    run.check_files()
    assert (run.unchecked, run.is_checked) == ("", True)
    assert list(run.list_files()) == ["labs.csv", "people.csv", PACK, "recipe.toml"]
    with zipfile.ZipFile(run.list_files()[PACK]) as pack:
        for name in ("labs.csv", "people.csv"):
            assert pack.read(f"{RELEASE}/{name}") == run.list_files()[name].read_bytes()
    workspace.remove_events("labs")
    assert "the further tables are none" in workspace.list_changes_since(run)
    workspace.adopt_settings(run)
    assert workspace.build_recipe() == run.recipe
    # A file that was changed is not given away: everybody is told apart by it.
    changed = run.folder / RELEASE / "people.csv"
    lines = changed.read_text().splitlines()
    changed.write_text("\n".join([lines[0], *(f"{line[:-1]}{i}" for i, line in enumerate(lines[1:])), ""]))
    run.check_files()
    assert not run.is_checked
    assert list(run.list_files()) == ["recipe.toml"]


@pytest.mark.slow
def test_tables_that_nobody_can_join_each_keep_the_goal(workspace):
    choose(workspace, **{"labs.test": "sensitive"})
    apply_preset(workspace, PRESETS["careful"])
    run = finish_run(workspace)
    run.check_files()
    assert run.is_checked
    (found,) = run.verified.values()
    assert "cannot be joined" in found.notes[0]
    assert [describe_asked(each["name"], each["asked"]) for each in run.report["models"]] == [
        "people: groups of at least 5 (k = 5)",
        "labs: groups of at least 5 (k = 5)",
        "labs: at least 2 values of test in every group (l = 2)",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (run.folder / RELEASE).iterdir()} == {0o600}
    assert stat.S_IMODE((run.folder / RELEASE).stat().st_mode) == 0o700
    assert "id" not in run.list_files()["labs.csv"].read_text().splitlines()[0].split(";")
