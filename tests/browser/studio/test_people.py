"""People who have several rows, and their households, in a real browser."""

import random

import pytest
from selenium.webdriver.common.by import By


def list_visits():
    """Patients with up to four visits each, in homes of three."""
    rng = random.Random(3)
    yield "patient_id,household_id,age,ward,illness"
    for number in range(60):
        age, ward = rng.randrange(20, 90), rng.choice("ABC")
        for visit in range(rng.choice([1, 2, 3, 4])):
            illness = rng.choice(["flu", "cold", "gout", "cut"])
            yield f"P{number:02},H{number // 3},{age + visit // 2},{ward},{illness}"


ROLES = {
    "patient_id": "Says whose row it is",
    "household_id": "Names a person",
    "age": "Recognisable",
    "ward": "Recognisable",
    "illness": "Sensitive",
}
PEOPLE = "\n".join([*list_visits(), ""])


@pytest.mark.exhaustive
def test_known_rows_and_households(hand):
    hand.open("describe")
    hand.sees("Choose a goal")
    for name, role in ROLES.items():
        hand.choose(f"Role of {name}", role)
    hand.open("goal")
    hand.press("Basic")
    hand.until(lambda: hand.pressed("Basic"), "Basic")
    hand.unfold("Advanced")
    hand.choose("Column of the household, or other group, that a person is in", "household_id")
    hand.press("On to the run", then="Start a run")
    hand.sees("groups counted by: household_id")
    hand.start_run()
    hand.sees("people in the smallest of")
    hand.press("Explore the result")
    hand.sees("People who are unique by rows that somebody knows of them")
    chart = hand.driver.find_element(By.CSS_SELECTOR, ".known-rows svg[role=img]")
    assert chart.get_attribute("aria-label") == "People who are unique by known rows, before and after"
    hand.press("Start the attacks")
    hand.sees("Find a person by 1 row of theirs")
    told = hand.driver.find_element(By.ID, "attacks").text
    assert "Find a person by 2 rows of theirs" in told
    assert "48 people of the table and 12 who are not in the release were attacked" in told
    assert "Find somebody's row" not in told
    assert hand.complaints() == []
