"""Lessons on the table that is open."""

import pytest
from tests.unit.studio.test_state import open_table

from shoal.studio.state import ColumnChoice, ComponentSettings, GoalSettings
from shoal.studio.teaching import MOST_ROWS, build_lesson
from shoal.teach import LESSONS


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "four.csv"
    path.write_text("age,hours,ward\n37,20,a\n50,38,b\n58,40,a\n44,25,b\n", "utf-8")
    made = open_table(path)
    made.choices = {
        "age": ColumnChoice("quasi"),
        "hours": ColumnChoice("quasi"),
        "ward": ColumnChoice("sensitive"),
    }
    made.goal = GoalSettings(models=(ComponentSettings("k", {"k": 2}),))
    yield made
    made.close()


@pytest.mark.parametrize("name", LESSONS)
def test_every_lesson_is_played_on_the_open_table(workspace, name):
    page = build_lesson(workspace, name)
    assert '<script type="application/json" id="lesson">' in page
    assert '"37"' in page


def test_a_lesson_that_refuses_says_why(workspace):
    workspace.choices["ward"] = ColumnChoice("plain")
    assert "this lesson is about a sensitive column" in build_lesson(workspace, "diversity")


def test_larger_tables_and_strange_names_have_none(workspace, tmp_path):
    assert build_lesson(workspace, "alchemy") is None
    path = tmp_path / "many.csv"
    path.write_text("age\n" + "\n".join(str(n) for n in range(MOST_ROWS + 1)) + "\n", "utf-8")
    workspace.use_source(workspace.load_table(path))
    assert build_lesson(workspace, "bounds") is None
