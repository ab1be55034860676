"""Step 5 in a real browser: runs compared, rows before and after, risks, and attacks."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

EVIL = "<script>window.hacked = 1</script>"
WORSE = "<img src=x onerror='window.hacked = 1'>"


TOWNS = (EVIL, WORSE, "Bonn", "Ulm")
ROWS = [f'{20 + i * 7 % 50},"{TOWNS[i % 4]}",{"abc"[i % 3]}' for i in range(120)]
PEOPLE = "\n".join(["age,town,illness", *ROWS, ""])


def run(hand, goal: str) -> None:
    hand.open("goal")
    hand.press(goal)
    hand.until(lambda: hand.pressed(goal), goal)
    hand.press("On to the run", then="Start a run")
    done = hand.text().count("people in the smallest of")  # which every run that is done shows
    hand.start_run()
    hand.until(lambda: hand.text().count("people in the smallest of") > done, "a run")


@pytest.fixture
def explored(hand):
    """A hand at the step, with two runs."""
    hand.open("explore")
    hand.until(lambda: "Explore run" in hand.text() or "Not yet" in hand.text(), "the step")
    if "Not yet" in hand.text():
        hand.open("describe")
        hand.sees("Choose a goal")
        hand.choose("Role of town", "Recognisable")
        hand.choose("Role of age", "Recognisable")
        hand.choose("Role of illness", "Sensitive")
        run(hand, "Basic")
        run(hand, "Strict")
        hand.press("Explore the result")
        hand.sees("Explore run 2")
    return hand


@pytest.mark.exhaustive
def test_a_point_of_the_frontier_opens_its_run(explored):
    hand = explored
    points = hand.driver.find_elements(By.CSS_SELECTOR, ".point")
    assert [point.get_attribute("aria-pressed") for point in points] == ["false", "true"]
    assert points[0].get_attribute("aria-label").startswith("Run 1: k = 3")
    points[0].send_keys(Keys.ENTER)
    hand.sees("Explore run 1")
    hand.driver.refresh()
    hand.sees("Explore run 1")
    hand.driver.find_elements(By.CSS_SELECTOR, ".point")[1].click()
    hand.sees("Explore run 2")


@pytest.mark.exhaustive
def test_rows_before_and_after_are_text_and_tinted_by_what_they_lost(explored):
    hand = explored

    def cells() -> list:
        return hand.driver.find_elements(By.CSS_SELECTOR, "#rows tbody td")

    def texts() -> str:
        return " ".join(cell.text for cell in cells())

    hand.until(lambda: "→" in texts(), "rows before and after")
    assert "<script>" in texts()
    changed = [cell for cell in cells() if "→" in cell.text]
    assert all("color-mix" in cell.get_attribute("style") for cell in changed)
    same = [cell for cell in cells() if cell.text in ("a", "b", "c")]
    assert same and not any("color-mix" in cell.get_attribute("style") for cell in same)
    hand.press("After")
    hand.until(lambda: cells() and "→" not in texts(), "rows after")
    hand.press("Before → after")
    hand.until(lambda: "→" in texts(), "both again")
    assert not hand.driver.execute_script("return window.hacked")
    assert hand.complaints() == []


@pytest.mark.exhaustive
def test_risks_are_told_before_and_after_and_to_an_outsider(explored):
    hand = explored
    assert " at most." in hand.driver.find_element(By.ID, "risk").text
    hand.type("The table holds this share of them, in %", "1")
    hand.until(lambda: "journalist" in hand.driver.find_element(By.ID, "risk").text, "an estimate")


@pytest.mark.exhaustive
def test_attacks_are_started_cancelled_and_told(explored):
    hand = explored
    hand.press("Start the attacks")
    hand.press("Cancel")
    hand.sees("The attack was broken off")
    hand.press("Start the attacks")
    hand.sees("Attack again")
    told = hand.driver.find_element(By.ID, "attacks").text
    assert "Find somebody's row" in told
    assert "96 people of the table and 24 who are not in the release were attacked" in told
    assert "not in it" in told
    assert "Read exact combinations off the cells" in told
    assert "can be read off the released cells" in told
    hand.open("explore", "dark", 820)
    hand.sees("Attack again")  # it belongs to the run, not to the page
    assert (hand.faint(), hand.unnamed()) == ([], [])
    assert hand.driver.execute_script("return document.documentElement.scrollWidth") <= 820
    assert hand.complaints() == []
