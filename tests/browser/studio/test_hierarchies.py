"""The workshop for hierarchies in a real browser."""

import time

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from shoal.table.hierarchies import read_hierarchy

EVIL = "<img src=x onerror='window.hacked = 1'>"
TOWNS = ("Bonn", "Cologne", EVIL, "Ulm")


ROWS = [f'{20 + i},"{TOWNS[i % 4]}",a' for i in range(40)]
PEOPLE = "\n".join(["age,town,illness", *ROWS, ""])


def workshop(hand, column: str) -> None:
    """Open the workshop of a column."""
    hand.open("describe")
    hand.sees("recognisable column")
    hand.choose(f"Role of {column}", "Recognisable")
    button = f"[data-column='{column}'] .q-btn"
    hand.until(lambda: not hand.driver.find_element(By.CSS_SELECTOR, button).click(), f"{column}'s button")
    hand.sees(f"Hierarchy of {column}")
    hand.until(lambda: nodes(hand), "a tree")


def nodes(hand) -> list:
    return hand.driver.find_elements(By.CSS_SELECTOR, ".tree-line")


def node(hand, name: str):
    return next(each for each in nodes(hand) if called(each) == name)


def names(hand) -> list[str]:
    return [called(each) for each in nodes(hand)]


def called(line) -> str:
    return line.find_element(By.CLASS_NAME, "tree-name").text


def mark(hand, name: str) -> None:
    """Mark a line with the keyboard."""

    def marked() -> bool:
        line = node(hand, name)
        if line.get_attribute("aria-selected") == "true":
            return True
        line.send_keys(Keys.SPACE)
        time.sleep(0.5)
        return False

    hand.until(marked, f"{name} marked")


@pytest.mark.exhaustive
def test_intervals_are_built_as_they_are_typed_and_used(hand):
    workshop(hand, "age")
    hand.type("Widths, narrowest first", "5, 7")
    hand.sees("intervals of 7 do not hold whole intervals of 5")
    hand.type("Widths, narrowest first", "20, 40")
    hand.until(lambda: names(hand)[:2] == ["*", "0-39"], "wider intervals")
    assert "level 1 · 2 groups" in hand.text()
    hand.press("Use this hierarchy")
    hand.sees("Hierarchy ✓")
    workshop(hand, "age")  # and it is still there
    assert names(hand)[:2] == ["*", "0-39"]
    hand.press("Cancel")


def test_values_are_grouped_by_keyboard_and_by_dragging(hand):
    workshop(hand, "town")
    hand.choose("Make another", "Groups by hand")
    hand.until(
        lambda: names(hand) == ["*", "<img src=x onerror='window.hacked = 1'>", "Bonn", "Cologne", "Ulm"],
        "values",
    )
    node(hand, "*").click()  # closes it
    hand.until(lambda: names(hand) == ["*"], "only the root")
    node(hand, "*").send_keys(Keys.ARROW_RIGHT)
    hand.until(lambda: len(nodes(hand)) == 5, "all again")
    for town in ("Bonn", "Cologne"):
        mark(hand, town)
    hand.sees("2 marked")
    hand.type("Name of a new group", "Rhine")
    hand.press("Make the group")
    hand.until(lambda: "Rhine" in names(hand), "the group")
    assert node(hand, "Rhine").get_attribute("aria-expanded") == "true"
    drag(hand, "Ulm", "Rhine")
    hand.until(lambda: node(hand, "Ulm").get_attribute("aria-level") == "3", "Ulm in its group")
    hand.press("CSV (ARX)")
    target = hand.downloads / "town.csv"
    hand.until(target.exists, "the file")
    tree = read_hierarchy(target, "town")
    assert tree.names[1] == (EVIL, "Rhine")
    assert tree.labels(["Ulm", "Bonn"], 1) == ["Rhine", "Rhine"]
    assert (hand.faint(), hand.unnamed()) == ([], [])
    hand.press("Use this hierarchy")
    hand.sees("Hierarchy ✓")
    assert not hand.driver.execute_script("return window.hacked")
    assert hand.complaints() == []


def drag(hand, name: str, onto: str) -> None:
    """Drag a line onto another, with the events that a browser sends."""
    hand.driver.execute_script(
        """
        const [from, to] = arguments, data = new DataTransfer();
        const how = {dataTransfer: data, bubbles: true, cancelable: true};
        const send = (on, kind) => on.dispatchEvent(new DragEvent(kind, how));
        send(from, "dragstart"); send(to, "dragover"); send(to, "drop"); send(from, "dragend");
        """,
        node(hand, name),
        node(hand, onto),
    )


@pytest.mark.exhaustive
def test_a_file_is_read_checked_and_put_right(hand, tmp_path):
    workshop(hand, "town")
    hand.choose("Make another", "From a file")
    (tmp_path / "broken.csv").write_text('Bonn;"Rhine;*\n', "utf-8")
    hand.give(tmp_path / "broken.csv")
    hand.sees("'broken.csv', line 1")
    assert "shoal-studio-" not in hand.text()
    (tmp_path / "town.csv").write_text("Bonn;Rhine;*\nColonge;Rhine;*\nUlm;Danube;*\n", "utf-8")
    hand.give(tmp_path / "town.csv")
    hand.sees("2 things to put right")
    hand.sees("The column has 'Cologne': write it instead of 'Colonge'")
    hand.press("Put all of this right")
    hand.until(lambda: "Danube" in names(hand) and "to put right" not in hand.text(), "the tree put right")
    hand.press("Use this hierarchy")
    hand.sees("Hierarchy ✓")


@pytest.mark.exhaustive
def test_a_ready_made_one_warns_of_values_that_it_does_not_have(hand):
    workshop(hand, "town")
    hand.choose("Make another", "Ready-made")
    hand.sees("4 things to put right")
    assert "values of the hierarchy do not occur" in hand.text()
    hand.press("No hierarchy")
    hand.until(lambda: not hand.driver.find_elements(By.CSS_SELECTOR, ".workshop"), "the step")
