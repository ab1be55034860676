"""The pictures of the pages on code space and on cuts are what their program draws."""

import importlib.util
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_pictures_are_up_to_date(tmp_path):
    spec = importlib.util.spec_from_file_location("make_teaching", DOCS / "make_teaching.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.main(tmp_path)
    pages = [(DOCS / "teaching" / name).read_text("utf-8") for name in ("code-space.md", "mondrian.md")]
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert set(re.findall(r"\]\((\S+\.svg)\)", "\n".join(pages))) == set(drawn)
    for name, picture in drawn.items():
        assert (DOCS / "teaching" / name).read_text("utf-8") == picture, f"run docs/make_teaching.py: {name}"
