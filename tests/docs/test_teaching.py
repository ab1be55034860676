"""The pictures and players of the teaching pages are what their programs make, and their figures are true."""

import importlib.util
import re
from pathlib import Path

import pytest

from shoal.teach import LESSONS

DOCS = Path(__file__).parents[2] / "docs"
# Figures that are explained where they stand, with their arithmetic; the rest comes from runs.
EXPLAINED = {"512", "5120", "5220", "13.1", "6.6", "100", "400", "600", "1000"}


def load_program(name: str):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def test_the_pictures_are_up_to_date(tmp_path):
    load_program("make_teaching").main(tmp_path)
    pages = [(DOCS / "teaching" / name).read_text("utf-8") for name in ("code-space.md", "mondrian.md")]
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert set(re.findall(r"\]\((\S+\.svg)\)", "\n".join(pages))) == set(drawn)
    for name, picture in drawn.items():
        assert (DOCS / "teaching" / name).read_text("utf-8") == picture, f"run docs/make_teaching.py: {name}"


def test_the_players_are_up_to_date(tmp_path):
    load_program("make_players").main(tmp_path)
    made = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    kept = DOCS / "teaching" / "players"
    assert set(made) == {path.name for path in kept.iterdir()}
    for name, player in made.items():
        assert (kept / name).read_text("utf-8") == player, f"run docs/make_players.py: {name}"


@pytest.mark.parametrize("entry", LESSONS.values(), ids=LESSONS)
def test_every_lesson_has_a_page_with_player_exercises_and_command(entry):
    text = (DOCS / "teaching" / f"{entry.page}.md").read_text("utf-8")
    for player in re.findall(r'<iframe class="player" src="players/([\w-]+\.html)"', text):
        assert f"-o {player}\n" in text
    assert '<iframe class="player"' in text
    questions = re.findall(r"^\d\. ", text.partition("## Exercises")[2], re.MULTILINE)
    assert len(questions) == text.count("<summary>Answer</summary>") >= 2
    assert f"({entry.page}.md)" in (DOCS / "teaching" / "index.md").read_text("utf-8")


@pytest.mark.parametrize("page", ["index", *(entry.page for entry in LESSONS.values())])
def test_every_figure_of_the_prose_is_made_by_a_test(page):
    """It stands in an example of its page, which a test runs, or in the test of the reference tables."""
    text = (DOCS / "teaching" / f"{page}.md").read_text("utf-8")
    examples = "\n".join(re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL))
    reference = (Path(__file__).parents[1] / "reference" / "test_textbook.py").read_text("utf-8")
    known = (examples + reference).replace(",", "").replace("_", "")
    # Rows of the table on MG-GA are read by its test; years belong to references.
    prose = re.sub(r"^```.*?^```$|^\| .*?$|\"[^\"]*\", \d{4}", "", text, flags=re.MULTILINE | re.DOTALL)
    figures = re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])", prose)
    plain = [figure.rstrip(",").replace(",", "") for figure in figures]
    wanted = [figure for figure in plain if len(figure) > 2]
    assert [figure for figure in wanted if figure not in known and figure not in EXPLAINED] == []
