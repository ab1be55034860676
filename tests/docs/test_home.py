"""The home page and the picture of the packages show what is true."""

import importlib.util
import re
from pathlib import Path

import shoal

DOCS = Path(__file__).parents[2] / "docs"


def test_the_rows_of_the_home_page_are_rows_of_the_sample_and_of_its_release():
    page = (DOCS / "index.md").read_text("utf-8")
    tables = re.findall(r"^\| (?:name \| )?age.*\n\| -.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    before, after = ([line.strip("| ").split(" | ") for line in table.splitlines()] for table in tables)
    people = shoal.sample("hospital")
    roles = {"quasi": ["age", "sex", "postcode"], "sensitive": ["diagnosis"]}
    release = shoal.anonymize(people, **roles, identifier=["patient_id", "name"], others="drop", k=5, l=3)
    shown = ["name", *roles["quasi"], *roles["sensitive"]]
    original = [list(map(str, row)) for row in people.select(shown).iter_rows()]
    released = [list(map(str, row)) for row in release.frame.select(shown[1:]).iter_rows()]
    assert [released[original.index(row)] for row in before] == after
    assert sum(row[:3] == after[0][:3] for row in released) == len(after)


def test_the_picture_of_the_imports_is_fresh():
    spec = importlib.util.spec_from_file_location("make_imports", DOCS / "make_imports.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert maker.draw_imports() == (DOCS / "imports.svg").read_text("utf-8"), (
        "run python docs/make_imports.py"
    )
