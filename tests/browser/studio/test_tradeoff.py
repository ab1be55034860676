"""What safety costs: the curve in Goal, its sliders, and the run that starts from there."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

PEOPLE = "age,town,illness\n" + "".join(
    f"{20 + at * 7 % 40},{('Ulm', 'Bonn', 'Kiel')[at % 3]},{('flu', 'cold', 'burn')[at * 5 % 3]}\n"
    for at in range(240)
)


def goal(hand) -> None:
    hand.open("describe")
    hand.sees("Choose a goal")
    for name, role in {"age": "Recognisable", "town": "Recognisable", "illness": "Keep as it is"}.items():
        hand.choose(f"Role of {name}", role)
    hand.open("goal")
    hand.sees("What safety costs")


def losses(hand) -> dict[int, str]:
    found = hand.driver.find_elements(By.CSS_SELECTOR, "[data-size]")
    return {int(each.get_attribute("data-size")): each.text for each in found}


def pressed(hand, size: int) -> bool:
    button = hand.driver.find_element(By.CSS_SELECTOR, f"button[data-key='size {size}']")
    return button.get_attribute("aria-pressed") == "true"


def test_the_curve_is_there_becomes_exact_and_a_run_loses_what_it_says(hand):
    goal(hand)
    hand.until(lambda: len(losses(hand)) == 10, "the curve")
    hand.sees("All losses are exact")
    assert "about" not in " ".join(losses(hand).values())
    assert len(hand.driver.find_elements(By.CSS_SELECTOR, ".dot.exact")) == 10
    slider = hand.driver.find_element(By.CSS_SELECTOR, "[aria-label='Size of groups (k)'] [tabindex]")
    slider.send_keys(Keys.ARROW_RIGHT)
    hand.until(lambda: pressed(hand, 8), "k = 8 by the slider")
    hand.press("On to the run", then="groups of at least 8")
    hand.open("goal")
    hand.sees("All losses are exact")
    told = losses(hand)[8].partition(" lost")[0]
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.sees("done and verified")
    assert told in hand.text()
    assert hand.complaints() == []


def test_a_change_of_the_goal_changes_the_curve(hand):
    goal(hand)
    before = hand.until(lambda: losses(hand) or None, "the curve")
    hand.open("describe")
    hand.sees("Choose a goal")
    hand.choose("Role of illness", "Recognisable")
    hand.open("goal")
    hand.until(lambda: losses(hand) and losses(hand) != before, "another curve")
    hand.driver.find_element(By.CSS_SELECTOR, "button[data-key='size 20']").click()
    hand.until(lambda: pressed(hand, 20), "k = 20")
    field = hand.field("people at least look alike in every group (k-anonymity)")
    assert field.get_attribute("value") == "20"
