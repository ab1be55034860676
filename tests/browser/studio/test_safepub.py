"""A private sample in the studio: explored and taken without a look at the table."""

import pytest

PEOPLE = "\n".join(["age,town", *(f"{20 + i % 50},{('Bonn', 'Ulm')[i % 2]}" for i in range(600)), ""])


@pytest.mark.exhaustive
def test_a_private_sample_is_explored_without_the_table(hand):
    hand.open("describe")
    hand.sees("Choose a goal")
    for column in ("age", "town"):
        hand.choose(f"Role of {column}", "Recognisable")
    hand.open("goal")
    hand.unfold("Advanced")
    hand.choose("Add a model", "safepub", then="epsilon")
    hand.type("epsilon", "1")
    hand.type("delta", "0.1")
    hand.choose("Algorithm", "safepub", then="Draws a random sample")
    hand.type("levels", "age=0,town=0")
    hand.open("run")
    hand.start_run()
    hand.until(lambda: "done and verified" in hand.text(), "a run")
    assert "600" not in hand.text()
    hand.press("Explore the result")
    hand.sees("Explore run 1")
    shown = hand.text()
    assert "rows released" in shown
    for told in ("Row by row", "The risk that somebody is found", "Before", "600"):
        assert told not in shown, told
    hand.open("release")
    hand.sees("Another run draws another sample")
    hand.sees("people-released.csv")
    assert hand.complaints() == []
