"""What all columns give away together: the studio says so at every step."""

from itertools import product

# Classes of four can be made, and 'cost' is another in every row.
PEOPLE = "name,age,town,cost,illness\n" + "".join(
    f"Person {i},{20 + i * 7 % 40 // 10},{'AB'[i % 2]},{1000 + i * 37},{('flu', 'cold', 'cough')[i % 3]}\n"
    for i in range(120)
)
ROLES = {
    "name": "Names a person",
    "age": "Recognisable",
    "town": "Recognisable",
    "cost": "Keep as it is",
    "illness": "Sensitive",
}
BUT = "The goal holds, but 100 % of the rows are unique in all that is released: 'cost' alone singles out"


def notes(hand, kind: str) -> list[str]:
    return [each.text for each in hand.driver.find_elements("css selector", f"#step .note.{kind}")]


def make_run(hand) -> None:
    """Describe the columns, and make a run that has one severe finding."""
    hand.open("describe")
    for name, role in ROLES.items():
        hand.choose(f"Role of {name}", role)
    hand.press("Choose a goal")
    hand.press("Basic")
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.sees(BUT)


def test_an_open_finding_is_the_headline_of_run_explore_and_release(hand):
    make_run(hand)
    hand.sees("done; see the findings")
    assert "done and verified" not in hand.text()
    hand.open("explore")
    hand.sees(BUT)
    hand.open("release")
    hand.sees("Read the findings below")
    assert notes(hand, "warn")[0].replace("\n", " ").count(BUT) == 1
    assert notes(hand, "good") == []
    assert "✓ holds" not in hand.text()
    hand.sees("In Describe, mark cost as Recognisable")
    link = hand.driver.find_element("css selector", "nav [aria-current=step]")
    assert "1 severe finding" in link.text
    assert "✓" not in link.text
    check_looks(hand)


def check_looks(hand) -> None:
    """Findings can be read and named, and fit, in every scheme and on a telephone."""
    for scheme, width, step in product(("light", "dark"), (1280, 390), ("run", "release")):
        hand.open(step, scheme, width)
        hand.sees("severe")
        assert (step, hand.faint()) == (step, [])
        assert (step, hand.unnamed()) == (step, [])
        assert hand.driver.execute_script("return document.documentElement.scrollWidth") <= width
