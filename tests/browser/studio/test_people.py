"""People who have several rows, and their households, in a real browser."""

import random
import subprocess
import sys

import pytest
from selenium.webdriver.common.by import By


def list_visits():
    """Patients with up to four visits each, in homes of three."""
    rng = random.Random(3)
    yield "patient_id,household_id,age,ward,day,illness"
    for number in range(60):
        age, ward = rng.randrange(20, 90), rng.choice("ABC")
        for visit in range(rng.choice([1, 2, 3, 4])):
            illness = rng.choice(["flu", "cold", "gout", "cut"])
            day = f"2024-0{rng.randrange(1, 10)}-1{visit}"
            yield f"P{number:02},H{number // 3},{age + visit // 2},{ward},{day},{illness}"


ROLES = {
    "patient_id": "Says whose row it is",
    "household_id": "Names a person",
    "age": "Recognisable",
    "ward": "Recognisable",
    "day": "Recognisable",
    "illness": "Sensitive",
}
PEOPLE = "\n".join([*list_visits(), ""])


def describe(hand) -> None:
    hand.open("describe")
    hand.sees("Choose a goal")
    for name, role in ROLES.items():
        hand.choose(f"Role of {name}", role)
    hand.open("goal")
    hand.press("Basic")
    hand.until(lambda: hand.pressed("Basic"), "Basic")
    hand.sees("60 people in")


@pytest.mark.exhaustive
def test_known_rows_and_households(hand):
    describe(hand)
    hand.choose("Household, or other group, that a person is in", "household_id")
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


@pytest.mark.exhaustive
def test_rows_stay_together_under_a_key_that_only_the_user_gets(hand):
    describe(hand)
    hand.choose("Days instead of dates", "day")
    switch = "//*[@role='switch'][contains(., 'Keep the rows of a person together')]"
    hand.until(
        lambda: hand._shows_after(hand.driver.find_element("xpath", switch).click, "secret key"), "a key"
    )
    hand.choose("Rows of a person that somebody may know", "all rows")
    hand.sees("Nobody is found by rows, however many are known.")
    key = hand.download("pseudonyms.key").read_text().strip()
    assert len(key) == 64
    hand.press("On to the run", then="Start a run")
    hand.sees("rows of a person stay together, and all rows may be known")
    hand.sees("days since the first row: day")
    before = hand.text().count("of the detail lost")
    hand.start_run()
    hand.until(lambda: hand.text().count("of the detail lost") > before, "a run")
    hand.open("release")
    hand.sees("Never give it away with the release")
    assert hand.download("pseudonyms.key").read_text().strip() == key
    names = ("people-released.csv", "people-released.parquet", "recipe.toml", "report.html")
    made = {name: hand.download(name).read_bytes() for name in names}
    assert [name for name in names if key.encode() in made[name]] == []
    assert b"2024-" not in made["people-released.csv"]
    assert key not in hand.driver.page_source
    (hand.downloads / "people.csv").write_text(PEOPLE)
    command = [sys.executable, "-m", "shoal", "run", "recipe.toml", "--quiet"]
    assert subprocess.run(command, cwd=hand.downloads, check=False).returncode == 0
    assert (hand.downloads / "people-released.csv").read_bytes() == made["people-released.csv"]
    assert hand.complaints() == []
