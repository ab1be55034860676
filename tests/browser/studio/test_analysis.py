"""Explore for analysts: pairs of columns, quantiles, losses, and queries that hold or do not."""

from selenium.webdriver.common.by import By

ROWS = [
    f'{20 + at * 7 % 50},"{("<b>x</b>", "Ulm", "Bonn", "Kiel")[at % 4]}",{"abc"[at % 3]}' for at in range(120)
]
PEOPLE = "\n".join(["age,town,illness", *ROWS, ""])


def make_run(hand) -> None:
    hand.open("describe")
    hand.sees("Choose a goal")
    for name, role in {"age": "Recognisable", "town": "Recognisable", "illness": "Sensitive"}.items():
        hand.choose(f"Role of {name}", role)
    hand.open("goal")
    hand.sees("What safety costs")
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.press("Explore the result", then="For analysts")


def cells(hand, table: str) -> list[list[str]]:
    rows = hand.driver.find_elements(By.CSS_SELECTOR, f".{table} tbody tr")
    return [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows]


def test_an_analyst_sees_what_still_holds(hand):
    make_run(hand)
    assert len(hand.driver.find_elements(By.CSS_SELECTOR, "#analysis .picture rect")) > 32
    pairs = cells(hand, "associations")
    assert {row[0] for row in pairs} == {"age and town", "age and illness", "town and illness"}
    quantiles = cells(hand, "quantiles")
    assert [row[:2] for row in quantiles] == [["age", "before"], ["", "after"]]
    assert "ncp" in [row[0] for row in cells(hand, "losses")]
    hand.choose("Condition on", "age")
    hand.type("Values", "20-69")
    hand.press("Ask both tables")
    hand.until(lambda: cells(hand, "answers"), "the answer")
    assert cells(hand, "answers")[0] == ["age", "120", "120", "0 %", "120 to 120"]
    hand.type("Values", "old")
    hand.press("Ask both tables", then="'age' has no value 'old'")
    hand.choose("First column", "illness")
    hand.until(lambda: "illness by town" in hand.text(), "the other pair")
    picture = hand.downloads / "two-columns.svg"
    hand.press("Save as picture")
    hand.until(picture.exists, "the picture")
    drawn = picture.read_text("utf-8")
    assert drawn.startswith("<svg xmlns=")
    assert "<b>x</b>" not in drawn
    check_model_card(hand)
    assert hand.complaints() == []


def check_model_card(hand) -> None:
    """A model is trained on both tables, and the picture of it is saved."""
    hand.choose("Column to predict", "illness")
    hand.choose("Kind of model", "a linear model")
    hand.press("Train both", then="guessed without a model")
    assert "share of right answers" in hand.text()
    picture = hand.downloads / "model.svg"
    save = hand.driver.find_element(By.CSS_SELECTOR, ".model-answer button")
    hand.until(lambda: not save.click(), "the button of the picture")
    hand.until(picture.exists, "the picture of the model")
    assert "learned from the release" in picture.read_text("utf-8")
