"""Warnings and impossible choices are told where somebody chooses, not after a run."""

PEOPLE = "age,education,education_num,work,ill\n" + "".join(
    f"{20 + at % 30},{'abcd'[at % 4]},{at % 4 + 1},{('office', 'farm', '?')[at % 3]},{'yn'[at % 2]}\n"
    for at in range(120)
)


def describe(hand) -> None:
    hand.open("describe")
    hand.sees("Choose a goal")
    roles = ["Recognisable", "Recognisable", "Recognisable", "Keep as it is", "Sensitive"]
    for name, role in zip(("age", "education", "education_num", "work", "ill"), roles, strict=True):
        hand.choose(f"Role of {name}", role)


def test_a_goal_and_a_type_that_cannot_be_are_told_at_once(hand):
    describe(hand)
    hand.choose("Type of education", "date")
    hand.sees("Choose another type")
    assert not can_go_on(hand, "Choose a goal")
    hand.choose("Type of education", "text")
    hand.until(lambda: can_go_on(hand, "Choose a goal"), "the way on")
    hand.press("Choose a goal", then="In your own numbers")
    hand.type("distinct values of ill at least in every group (l-diversity)", "3")
    hand.sees("l = 3, but the sensitive column 'ill' has 2 distinct values; ask for l of 2 or less")
    assert not can_go_on(hand, "On to the run")
    hand.type("distinct values of ill at least in every group (l-diversity)", "2")
    hand.until(lambda: can_go_on(hand, "On to the run"), "the way on")


def can_go_on(hand, words: str) -> bool:
    path = f"//*[contains(@class, 'forward')]//*[self::a or self::button][contains(., '{words}')]"
    return "disabled" not in hand.driver.find_element("xpath", path).get_attribute("class")


def test_rows_have_the_colours_of_the_legend(hand):
    describe(hand)
    for name, role in (("age", "quasi"), ("work", "plain"), ("ill", "sensitive")):
        line = hand.driver.find_element("css selector", f"[data-column='{name}']")
        colour = hand.driver.execute_script(
            "return [getComputedStyle(arguments[0]).borderLeftColor,"
            " getComputedStyle(document.querySelector('.badge.' + arguments[1])).color]",
            line,
            role,
        )
        assert colour[0] == colour[1], name


def test_what_suggest_warns_of_is_told_and_a_marker_becomes_missing(hand):
    hand.open("describe")
    hand.sees("education and education_num always go together: one of them is enough")
    hand.sees("'?' in work looks like a missing value.")
    hand.press("It means missing")
    hand.until(lambda: "looks like a missing value" not in hand.text(), "the table without the marker")
    hand.sees("40 missing")
