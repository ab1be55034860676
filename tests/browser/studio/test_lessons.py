"""The studio offers lessons on a small table, in a real browser."""

PEOPLE = "age,hours,ward\n37,20,a\n50,38,b\n58,40,a\n44,25,b\n"


def test_a_small_table_can_be_watched(hand):
    hand.open("describe")
    hand.sees("Choose a goal")
    for name in ("age", "hours"):
        hand.choose(f"Role of {name}", "Recognisable")
    hand.choose("Role of ward", "Sensitive")
    hand.open("goal")
    hand.sees("Watch it at work")
    # The frame of a lesson has the studio's headers, so scripts must run there too.
    hand.driver.get(f"{hand.server.url}teach/mondrian")
    hand.sees("Mondrian's cuts")
    hand.until(
        lambda: hand.driver.execute_script("return document.querySelectorAll('circle').length") == 4, "points"
    )
