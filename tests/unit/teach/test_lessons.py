"""What lessons tell: steps, figures, and the page that shows them."""

import json
import re

import pytest

from shoal import teach

SMALL = {
    "evolution": {"population": 20, "generations": 30},
    "brute-force": {"rows": 3, "quasi": ["sex", "job"]},
}


@pytest.fixture(scope="module", params=teach.LESSONS)
def lesson(request):
    return teach.LESSONS[request.param].run(**SMALL.get(request.param, {}))


def data_of(page: str) -> dict:
    return json.loads(re.search(r'id="lesson">(.*?)</script>', page, re.DOTALL)[1])


def test_every_lesson_has_steps_a_page_and_figures(lesson, tmp_path):
    lesson.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    data = data_of(page)
    assert len(data["steps"]) == len(lesson.steps) > 4
    assert all(step.text.endswith(".") for step in lesson.steps)
    assert json.loads(json.dumps(lesson.to_dict(trace=True)))["steps"]
    assert not re.search(r"(?:src|href)=|https?://(?!www\.w3\.org)", page.replace(json.dumps(data), ""))
    # Every step has a picture, and every shape is seen at some step.
    seen = {step for first, last, *_ in data["shapes"] for step in range(first, last + 1)}
    assert seen == set(range(len(lesson.steps)))


def test_a_notebook_gets_the_player(lesson):
    shown = lesson._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "&lt;!doctype html&gt;" in shown


def test_the_trace_says_what_is_changed_and_why_a_branch_is_cut():
    run = teach.brute_force(rows=3, quasi=["sex", "job"])
    kinds = [step.kind for step in run.steps]
    assert kinds[0] == "change"
    assert {"change", "cut by score", "cut by k", "best"} == set(kinds)
    for before, step in zip(run.steps, run.steps[1:], strict=False):
        if step.kind != "change":
            assert step.cells == before.cells  # a verdict is about the cell that was just written
    cuts = {step.text for step in run.steps if step.kind == "cut by k"}
    assert "Cut: up to sex, row 2 could be 1 person only. That leaves out 27 tables." in cuts
    losses = [float(step.figures["best loss"]) for step in run.steps if step.kind == "best"]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == run.figures["loss"]
    assert kinds.count("change") == run.figures["visited"]


def test_of_a_long_search_the_first_steps_and_the_best_tables_are_kept():
    run = teach.brute_force(steps=50)
    late = run.steps[50:]
    assert {step.kind for step in late} == {"best"}
    assert {step.depth for step in late} == {None}
    assert late[0].text.startswith("From here on, only new best tables are shown.")
    assert run.steps[-1].cells == run.tables[-1]


def test_values_are_data_and_never_code(tmp_path):
    import polars as pl

    evil = "</script><script>window.hacked = 1</script>"
    frame = pl.DataFrame({evil: ["{css}", evil, "x"], "age": [1, 2, 3]})
    teach.brute_force(frame).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert evil not in page
    assert evil in data_of(page)["people"][1]
    assert "{css}" in data_of(page)["people"][0]


def test_the_lesson_on_matching_tells_all_three_tables_apart():
    figures = teach.match_people().figures
    assert min(figures["careless"]["scores"]) == 1
    assert min(figures["matching"]["scores"]) == 2
    assert min(figures["matching"]["equal_rows"]) == 1
    assert min(figures["classes"]["equal_rows"]) == 2
    assert figures["careless"]["loss"] < figures["matching"]["loss"] < figures["classes"]["loss"]


def test_components_and_answers_give_the_same_scores():
    by_answers, by_cycles = teach.match_people().figures, teach.find_components().figures
    for name in ("careless", "matching"):
        assert by_answers[name]["scores"] == by_cycles[name]["scores"]
