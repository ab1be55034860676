"""The pictures of the page on exact search are what its program draws."""

import importlib.util
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_pictures_are_up_to_date(tmp_path):
    spec = importlib.util.spec_from_file_location("make_exact_search", DOCS / "make_exact_search.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.main(tmp_path)
    page = (DOCS / "teaching" / "exact-search.md").read_text("utf-8")
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert set(re.findall(r"\]\((\S+\.svg)\)", page)) == set(drawn)
    for name, picture in drawn.items():
        assert (DOCS / "teaching" / name).read_text("utf-8") == picture, (
            f"run docs/make_exact_search.py: {name}"
        )
    for count in program.STEPS.values():  # the first bar counts tables, the second those tried, and so on
        assert f"{count:,}" in page or f"{count - 1:,}" in page or str(count) in page
