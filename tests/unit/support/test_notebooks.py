"""Pieces of HTML that notebooks show, and the bar."""

import sys
from types import SimpleNamespace

import polars as pl
import pytest

import shoal
from shoal.support.notebooks import NotebookBar, draw_grid, draw_note, follow_progress
from shoal.support.progress import silent

EVIL = "<script>alert(1)</script>"
PEOPLE = pl.DataFrame({"age": [21, 21, 22, 22, 35, 35], EVIL: ["x", "y", "x", "z", EVIL, "x"]})


class Display:
    """Stands for IPython's display, and keeps what was shown."""

    def __init__(self):
        self.shown = []

    @staticmethod
    def HTML(text):  # noqa: N802  as IPython calls it
        return text

    def display(self, html, display_id):
        assert display_id is True
        self.shown.append(html)
        return SimpleNamespace(update=self.shown.append)


@pytest.fixture
def notebook(monkeypatch):
    """A process that looks like the kernel of a notebook."""
    display = Display()
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1), display=display)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    return display


def test_a_grid_shows_the_first_rows_and_how_many_follow():
    drawn = draw_grid(("a",), [(each,) for each in range(5)], most=2)
    assert drawn.count("<tr>") == 3
    assert "3 more" in drawn


def results():
    release = shoal.anonymize(PEOPLE, quasi=["age"], sensitive=[EVIL], k=2, l=2)
    yield "Every promise holds", shoal.verify(release.frame, quasi=["age"], sensitive=[EVIL], k=2)
    yield "does not hold", shoal.verify(release.frame, quasi=["age"], sensitive=[EVIL], k=4)
    yield "First rows", release
    yield "k(k=2); distinct-l(l=2)", release.recipe
    yield "0 of 6 rows stand alone", shoal.risk(PEOPLE, ["age"], [EVIL])
    yield "6 rows, 2 columns", shoal.suggest(PEOPLE)
    found = shoal.compare(PEOPLE, quasi=["age"], sensitive=[EVIL], algorithms=["mondrian"], k=[2, 3])
    yield "2 of 2 settings meet their goal", found
    yield "6 people of the original were attacked", shoal.attack(release.frame, PEOPLE, quasi=["age"])


def test_every_result_shows_itself_and_no_text_of_the_table_is_markup():
    for words, result in results():
        drawn = result._repr_html_()
        assert words in drawn, (words, drawn)
        assert EVIL not in drawn


def test_the_release_of_every_kind_of_frame_shows_its_first_rows():
    for frame in (PEOPLE, PEOPLE.to_pandas(), PEOPLE.to_arrow()):
        drawn = shoal.anonymize(frame, quasi=["age"], plain=[EVIL], k=3)._repr_html_()
        assert "[21-22]" in drawn or "21" in drawn
        assert drawn.count("<th scope=") >= 2


def test_a_notebook_has_a_bar_and_it_goes_away(notebook, monkeypatch):
    monkeypatch.setattr("shoal.support.notebooks._PAUSE", -1.0)
    shoal.anonymize(PEOPLE, quasi=["age"], plain=[EVIL], k=2)
    assert any("<progress" in each for each in notebook.shown)
    assert notebook.shown[-1] == ""


def test_what_takes_no_time_has_no_bar(notebook):
    bar = NotebookBar(notebook)
    bar("search", 0.5)
    bar.remove()
    assert notebook.shown == []


def test_a_function_that_was_given_is_called_in_place_of_a_bar(notebook):
    told = []
    with follow_progress(lambda doing, done: told.append((doing, done))) as tell:
        tell("search", 0.5)
    assert told == [("search", 0.5)]
    assert notebook.shown == []


def test_outside_of_a_notebook_there_is_no_bar():
    with follow_progress(None) as tell:
        assert tell is silent


def test_the_title_is_text():
    assert EVIL not in draw_note(EVIL, [])
