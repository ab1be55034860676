"""Projects: undo and redo, the log, saved, taken up in another studio, and the same bytes there."""

import json

import pytest
from tests.browser.studio.conftest import Hand, Server
from tests.browser.studio.test_access import violations
from tests.browser.studio.test_findings import PEOPLE, make_run

__all__ = ["PEOPLE"]  # the table of this studio, too


def role_of(hand, column):
    script = (
        "return [...document.querySelector(arguments[0]).classList].find(each => each.startsWith('role-'))"
    )
    return hand.driver.execute_script(script, f"[data-column='{column}']")


def decide_and_run(hand):
    """Change a role, take that back, and run."""
    make_run(hand)
    hand.open("describe")
    hand.choose("Role of town", "Keep as it is")
    hand.until(lambda: role_of(hand, "town") == "role-plain", "the other role")
    hand.driver.find_element("css selector", "button[aria-label='Undo']").click()
    hand.until(lambda: role_of(hand, "town") == "role-quasi", "the role as it was")


@pytest.mark.slow
def test_a_project_is_saved_and_taken_up_in_another_studio(hand, browser, tmp_path):
    decide_and_run(hand)
    hand.press("Project", then="Your name, for the log")
    hand.type("Your name, for the log", "Ada")
    hand.type("Name of the project", "study")
    assert violations(hand, ".q-dialog") == []
    hand.press("Save", then="Saved as")
    hand.press("Download")
    project = hand.downloads / "study.shoal"
    hand.until(project.exists, "the project")
    hand.until(lambda: json.loads(project.read_text()), "all of the project")
    hand.press("Close")
    hand.open("release")
    released = hand.download("people-released.csv").read_bytes()
    check_other_studio(browser, tmp_path, project, released)


def check_other_studio(browser, tmp_path, project, released):
    folder, downloads = tmp_path / "elsewhere", tmp_path / "downloads"
    folder.mkdir()
    downloads.mkdir()
    (folder / "people.csv").write_text(PEOPLE, "utf-8")
    (folder / "study.shoal").write_bytes(project.read_bytes())
    made = Server("study.shoal", folder=folder)
    try:
        hand = Hand(browser.driver, made, downloads)
        hand.open("describe")
        hand.sees("Choose a goal")
        hand.open("run", width=390)
        hand.sees("from the project")
        check_foot(hand)
        assert violations(hand) == []
        hand.press("Make it again", then="done; see the findings")
        hand.open("release")
        assert hand.download("people-released.csv").read_bytes() == released
    finally:
        made.stop()


def check_foot(hand):
    """On a telephone the buttons of the project lie beside nothing else."""
    script = """const box = e => document.querySelector(e).getBoundingClientRect();
        const buttons = box(".project-buttons");
        return [box(".rail nav").bottom, buttons.top, buttons.right, innerWidth]"""
    steps, top, right, width = hand.driver.execute_script(script)
    assert steps <= top
    assert right <= width
