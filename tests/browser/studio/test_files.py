"""Files that are brought along: recipes, workbooks, and files dropped on later steps."""

import base64

import pytest
from tests.browser.studio.test_findings import PEOPLE as TABLE

DROP = """const [name, content, selector] = arguments, box = new DataTransfer();
box.items.add(new File([Uint8Array.from(atob(content), c => c.charCodeAt(0))], name));
document.querySelector(selector).dispatchEvent(
  new DragEvent("drop", {dataTransfer: box, bubbles: true, cancelable: true}));"""
RECIPE = """[columns]
quasi = ["age", "town"]
sensitive = ["illness"]
identifier = ["name", "cost"]
[goal]
models = ["k(k=4)"]
"""
PEOPLE = TABLE


def drop(hand, name: str, content: bytes, selector: str = "#step") -> None:
    hand.driver.execute_script(DROP, name, base64.b64encode(content).decode(), selector)


def test_a_recipe_and_another_table_are_dropped_on_later_steps(hand):
    hand.open("describe")
    hand.sees("Choose a goal")
    drop(hand, "recipe.toml", RECIPE.encode())
    hand.sees("Roles, goal and settings are those of recipe.toml.")
    hand.until(lambda: hand._shows_choice("Role of cost", "Names a person"), "the role of cost")
    hand.open("goal")
    hand.sees("k = 4")
    drop(hand, "wrong.toml", RECIPE.replace('"town"', '"twon"').encode())
    hand.sees("unknown column 'twon'")
    hand.open("run")
    hand.sees("left out: name, cost")
    drop(hand, "others.csv", b"id,age\n1,20\n2,30\n")
    hand.press("Keep this table")
    hand.sees("left out: name, cost")
    drop(hand, "others.csv", b"id,age\n1,20\n2,30\n")
    hand.press("Open others.csv")
    hand.sees("2 rows, 2 columns")
    assert hand.complaints() == []


@pytest.mark.exhaustive
def test_a_workbook_is_opened_by_sheet_and_released_as_a_workbook(hand, tmp_path):
    import polars as pl
    import xlsxwriter

    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("readme").write(0, 0, "what this is")
        pl.read_csv(TABLE.encode()).drop("cost").write_excel(book, "people")
        pl.DataFrame({"x": [1, 2, 3]}).write_excel(book, "other")
    hand.open("open")
    hand.press("Open another", then="Close this table")
    hand.press("Close this table", then="Choose a file")
    hand.give(path)
    hand.sees("120 rows, 4 columns")
    hand.choose("Sheet", "other", then="3 rows, 1 columns")
    hand.choose("Sheet", "people", then="120 rows, 4 columns")
    hand.press("Describe the columns", then="Choose a goal")
    hand.choose("Role of name", "Names a person")
    hand.press("Choose a goal", then="On to the run")
    hand.press("Basic")
    hand.press("On to the run", then="Start a run")
    hand.sees("groups of at least 3")
    hand.start_run()
    hand.until(lambda: "of the detail lost" in hand.text(), "a run")
    hand.open("release")
    hand.sees("--sheet people")
    released = hand.download("book-released.xlsx")
    assert pl.read_excel(released).columns == ["age", "town", "illness"]
    assert hand.download("book-released.csv").read_text("utf-8").startswith("age,town,illness")
    assert hand.complaints() == []
