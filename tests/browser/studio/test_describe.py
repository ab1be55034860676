"""Step 2: what columns look like, what each adds to the risk, many at once, and people who repeat."""

from selenium.webdriver.common.by import By

PEOPLE = "age,town,code,pay\n" + "".join(
    f"{20 + at % 40},{('Ulm', 'Bonn', 'Kiel')[at % 3]},C{at // 4},{'' if at % 10 == 0 else at % 7}\n"
    for at in range(120)
)


def describe(hand) -> None:
    hand.open("describe")
    hand.sees("Choose a goal")
    roles = {"age": "Recognisable", "town": "Recognisable", "code": "Names a person", "pay": "Keep as it is"}
    for name, role in roles.items():
        hand.choose(f"Role of {name}", role)


def line(hand, name: str):
    return hand.driver.find_element(By.CSS_SELECTOR, f"[data-column='{name}']")


def test_a_column_shows_its_values_and_what_is_missing(hand):
    describe(hand)
    age = line(hand, "age")
    chart = age.find_element(By.CSS_SELECTOR, "svg.chart")
    assert chart.get_attribute("aria-label") == "Distribution of age, from 20 to 59"
    assert len(chart.find_elements(By.TAG_NAME, "rect")) == 12
    assert "For example 29, 39, 49" in age.text
    assert "12 missing (10 %)" in line(hand, "pay").text
    town = line(hand, "town").text
    assert "Ulm" in town and "33 %" in town


def test_the_risk_that_a_column_adds_follows_the_roles(hand):
    describe(hand)
    # All ages come with all towns, each of the pairs once.
    told = "The recognisable columns single out 100 % of the people with it, 0 % without it."
    hand.until(lambda: told in line(hand, "age").text, "what age adds")
    assert line(hand, "code").find_elements(By.CSS_SELECTOR, "[data-added]") == []
    hand.choose("Role of town", "Names a person")
    hand.until(lambda: "out 0 % of the people with it" in line(hand, "age").text, "what age does alone")
    told = "If somebody knew it as well: 90 % of the people are singled out, instead of 0 %."
    hand.until(lambda: told in line(hand, "pay").text, "what pay would add")
    bar = line(hand, "pay").find_element(By.CSS_SELECTOR, "[data-added]")
    assert float(bar.get_attribute("data-added")) == 0.9


def test_columns_are_found_and_changed_together(hand):
    describe(hand)
    hand.type("Find a column", "o")
    hand.until(lambda: not line(hand, "age").is_displayed(), "the columns with an o")
    assert line(hand, "town").is_displayed() and line(hand, "code").is_displayed()
    hand.press("Choose all shown", then="2 chosen")
    hand.choose("Role of the chosen columns", "Sensitive")
    hand.press("Give them this role")
    hand.until(lambda: "role-sensitive" in line(hand, "code").get_attribute("class"), "the new role")
    assert "role-sensitive" in line(hand, "town").get_attribute("class")
    assert "role-quasi" in line(hand, "age").get_attribute("class")
    assert not line(hand, "age").is_displayed()
    hand.driver.find_element(By.CSS_SELECTOR, "[aria-label='Undo']").click()
    hand.until(lambda: "role-identifier" in line(hand, "code").get_attribute("class"), "one step back")
    assert "role-quasi" in line(hand, "town").get_attribute("class")
    hand.type("Find a column", "zzz")
    hand.sees("No column is called so.")
    hand.type("Find a column", " ")
    hand.until(lambda: line(hand, "age").is_displayed(), "all columns")


def test_a_column_that_repeats_may_say_whose_row_it_is(hand):
    describe(hand)
    assert "It repeats: 30 values in 120 rows" in line(hand, "code").text
    hand.press("Count people by it")
    hand.until(lambda: "role-person" in line(hand, "code").get_attribute("class"), "the person")
    hand.until(lambda: "It repeats" not in hand.text(), "the end of the offer")
