"""From a file to a release without a mouse."""

from pathlib import Path

from selenium.webdriver.common.keys import Keys
from tests.browser.studio.test_findings import PEOPLE as TABLE

NAME = """const each = document.activeElement;
const labels = [...(each.labels || [])].map(label => label.textContent).join(" ");
return each === document.body ? "" : [each.getAttribute("aria-label"), labels, each.textContent].join(" ")"""

ASKED = """document.querySelector("input[type=file]").addEventListener(
  "click", event => { window.asked = true; event.preventDefault(); }, {once: true})"""


def press(hand, *keys: str) -> None:
    hand.driver.switch_to.active_element.send_keys(*keys)


def focus(hand, words: str) -> None:
    """Go to something by the key Tab alone; its name has these words."""

    def found() -> bool:
        for _ in range(200):
            press(hand, Keys.TAB)
            if words in (hand.driver.execute_script(NAME) or ""):
                return True
        return False

    hand.until(found, f"the focus on {words!r}")


def enter(hand, words: str, then: str) -> None:
    """Press something with Enter until words are shown; a press is lost while a page draws itself anew."""

    def entered() -> None:
        focus(hand, words)
        press(hand, Keys.ENTER)

    hand.until(lambda: hand._shows_after(entered, then), then)


def choose(hand, label: str, option: str) -> None:
    """Choose from a list with the arrows."""

    marked = "return document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"

    def chosen() -> bool:
        focus(hand, label)
        press(hand, Keys.ENTER)
        hand.until(lambda: hand.driver.find_elements("css selector", ".q-menu [role=option]"), "the options")
        for _ in range(20):
            if hand.driver.execute_script(f"{marked}?.textContent") == option:
                break
            press(hand, Keys.ARROW_DOWN)
        press(hand, Keys.ENTER)
        hand.until(hand._has_closed_list, "the list to close")
        return bool(hand._shows_choice(label, option))

    hand.until(chosen, f"{option} of {label}")


def test_from_a_file_to_a_release_by_keys_alone(hand, tmp_path: Path):
    path = tmp_path / "people.csv"
    path.write_text(TABLE, "utf-8")
    hand.open("open")
    hand.sees("Choose a file")
    # The window that opens belongs to the system: that it is asked for is as far as a page goes.
    hand.driver.execute_script(ASKED)
    focus(hand, "Choose a file")
    press(hand, Keys.ENTER)
    hand.until(lambda: hand.driver.execute_script("return window.asked"), "the choice of a file")
    hand.give(path)
    hand.sees("people.csv")
    enter(hand, "Describe the columns", then="Choose a goal")
    choose(hand, "Role of cost", "Names a person")
    enter(hand, "Choose a goal", then="In your own numbers")
    enter(hand, "Basic", then="✓")
    enter(hand, "On to the run", then="Start a run")
    enter(hand, "Start a run", then="of the detail lost")
    enter(hand, "Explore the result", then="The risk that somebody is found")
    hand.open("release")
    hand.sees("Every promise holds")
    hand.until(lambda: hand.driver.find_elements("css selector", "a[download]"), "the files")
    focus(hand, "Download people-released.csv")
    press(hand, Keys.ENTER)
    hand.until((tmp_path / "people-released.csv").exists, "the release")
    assert "Person 1" not in (tmp_path / "people-released.csv").read_text("utf-8")
    assert hand.complaints() == []
