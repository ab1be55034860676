"""A table of people and one of their events, from two files to the folder that is downloaded."""

import csv
import random
import zipfile
from collections import defaultdict

import pytest
from selenium.webdriver.common.by import By

RNG = random.Random(11)
IDS = [f"P{number:02}" for number in range(40)]
PEOPLE = "\n".join(
    ["id,age,sex", *(f"{each},{RNG.randrange(20, 80)},{RNG.choice('fm')}" for each in IDS), ""]
)
LABS = "\n".join(
    [
        "id;day;test;result",
        *(
            f"{each};{RNG.randrange(1, 9)};{RNG.choice(['hdl', 'ldl'])};{RNG.choice(['low', 'high'])}"
            for each in IDS
            for _ in range(RNG.choice([0, 1, 2, 3]))
        ),
        "",
    ]
)
ROLES = {"labs.day": "Recognisable", "labs.test": "Recognisable", "labs.result": "Keep as it is"}
K = 3


def give_further_table(hand, file) -> None:
    place = "#further input[type=file]"
    hand.until(
        lambda: not hand.driver.find_element(By.CSS_SELECTOR, place).send_keys(str(file)), "a place for it"
    )


def count_fewest_people(people, labs) -> int:
    """For every person, and every event of every person: how many people look the same, at least."""
    static = {row["id"]: (row["age"], row["sex"]) for row in people}
    assert len(static) == len(people) == len(IDS)
    alike, with_event = defaultdict(set), defaultdict(set)
    for person, known in static.items():
        alike[known].add(person)
    for row in labs:
        with_event[static[row["id"]], row["day"], row["test"]].add(row["id"])
    return min(len(found) for groups in (alike, with_event) for found in groups.values())


@pytest.mark.exhaustive
def test_two_tables_become_a_folder_in_which_people_are_hidden(hand, tmp_path):
    unknown, labs = tmp_path / "unknown.csv", tmp_path / "labs.csv"
    labs.write_text(LABS)
    unknown.write_text("who,day\nP01,1\n")
    hand.open("describe")
    hand.sees("First mark the column that all tables have as Says whose row it is")
    hand.choose("Role of id", "Says whose row it is", then="Every further table needs this column")
    for name in ("age", "sex"):
        hand.choose(f"Role of {name}", "Recognisable")
    give_further_table(hand, unknown)
    hand.sees("The table unknown.csv has no column 'id'")
    give_further_table(hand, labs)
    hand.sees("Also: labs.csv")
    assert "has no column" not in hand.text()
    for name, role in ROLES.items():
        hand.choose(f"Role of {name}", role)
    assert hand.driver.find_elements(By.CSS_SELECTOR, "[data-column='labs.id']") == []

    hand.open("goal")
    # A press is lost while the page draws itself anew.
    hand.until(lambda: hand.pressed("Basic") or hand.press("Basic"), "Basic")
    hand.sees("id says whose row it is in all tables: 40 people, with further rows in labs")
    switch = "//*[@role='switch'][contains(., 'Keep the rows of a person together')]"
    hand.until(
        lambda: hand._shows_after(hand.driver.find_element("xpath", switch).click, "secret key"), "a key"
    )
    hand.sees("A person has the same pseudonym in all tables")
    hand.press("On to the run", then="Start a run")
    hand.sees("further tables: labs")
    hand.start_run()
    hand.sees("lost all rows")
    hand.open("explore")
    hand.sees("simulated attacks are not available for several tables")
    assert hand.faint() == []
    assert hand.unnamed() == []
    hand.open("release")
    hand.sees("A report as a page is not available for several tables")
    assert "whoever knows more than one row of such a person" in hand.text()  # a finding
    assert "✗" not in hand.text()
    key = hand.download("pseudonyms.key").read_text().strip()
    made = {name: hand.download(name) for name in ("people.csv", "labs.csv", "recipe.toml", "release.zip")}
    with zipfile.ZipFile(made["release.zip"]) as pack:
        for name in ("people.csv", "labs.csv"):
            assert pack.read(f"release/{name}") == made[name].read_bytes()
    people = list(csv.DictReader(made["people.csv"].read_text().splitlines()))
    events = list(csv.DictReader(made["labs.csv"].read_text().splitlines(), delimiter=";"))
    assert count_fewest_people(people, events) >= K
    assert len(events) == len(LABS.splitlines()) - 1
    assert not {row["id"] for row in people} & set(IDS)
    assert [name for name, path in made.items() if key.encode() in path.read_bytes()] == []
    assert hand.complaints() == []
