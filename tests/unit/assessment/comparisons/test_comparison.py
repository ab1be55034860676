"""Algorithms and goals side by side."""

import json

import polars as pl
import pytest

import shoal
from shoal.assessment.comparisons.comparison import Comparison, Setting, combine_settings
from shoal.errors import OutputError, RecipeError
from shoal.table import read_table

QUASI = ["age", "sex", "postcode"]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return shoal.sample("hospital", rows=400)


@pytest.fixture(scope="module")
def found(people):
    return shoal.compare(
        people, quasi=QUASI, sensitive=["diagnosis"], algorithms=["mondrian", "hilbert"], k=[3, 9], l=[1, 4]
    )


def test_every_combination_is_tried(found):
    rows = found.results.select("algorithm", "k", "l", "status").rows()
    # An l of four does not go with a k of three.
    goals = [(3, None), (9, None), (9, 4)]
    assert rows == [(name, *goal, "done") for name in ("mondrian", "hilbert") for goal in goals]


def test_the_figures_are_those_of_a_run(found, people):
    for row in found.results.filter(pl.col("l").is_not_null()).iter_rows(named=True):
        report = shoal.anonymize(
            people,
            others="keep",
            quasi=QUASI,
            sensitive=["diagnosis"],
            k=row["k"],
            l=row["l"],
            algorithm=row["algorithm"],
        ).report
        assert (row["ncp"], row["loss"]) == (report.ncp, report.loss["value"])
        assert (row["classes"], row["smallest_class"]) == (report.classes, report.smallest_class)
        assert row["max_risk"] == 1 / report.smallest_class
        assert row["average_risk"] == report.classes / 400


def test_the_front(found):
    front = found.front
    for row in front.iter_rows(named=True):
        better = found.done.filter(
            (pl.col("max_risk") <= row["max_risk"])
            & (pl.col("l").fill_null(1) >= (row["l"] or 1))
            & (pl.col("loss") < row["loss"])
        )
        assert better.is_empty()
    assert 0 < front.height < found.done.height


def test_several_at_once_change_nothing(found, people):
    again = shoal.compare(
        people,
        quasi=QUASI,
        sensitive=["diagnosis"],
        algorithms=["mondrian", "hilbert"],
        k=[3, 9],
        l=[1, 4],
        jobs=2,
    )
    assert again.results.drop("seconds").equals(found.results.drop("seconds"))


def test_a_goal_out_of_reach_is_a_result():
    table = pl.DataFrame({"age": [1, 2, 3, 4], "illness": ["x", "x", "y", "y"]})
    done = shoal.compare(
        table,
        quasi=["age"],
        sensitive=["illness"],
        algorithms=["mondrian"],
        k=[2, 5],
        l=[1],
        models=["t(t=0.9)"],
    )
    assert done.results["status"].to_list() == ["done", "out of reach"]
    assert "the table has 4 rows" in done.results["reason"][1]
    assert done.to_dict()["results"][1]["loss"] is None


def test_an_algorithm_that_refuses_the_table_does_not_end_the_rest():
    table = pl.DataFrame({"age": [1, 2, 3, 4], "illness": ["x", "x", "y", "y"]})
    done = shoal.compare(table, quasi=["age"], algorithms=["safepub(levels=age=1)", "mondrian"], k=[2])
    assert done.results["status"].to_list() == ["refused", "done"]


def test_an_interrupt_keeps_what_is_done(people, monkeypatch):
    base = shoal.Recipe(others="keep", quasi=tuple(QUASI), models=(shoal.KAnonymity(2),), plain=("cost",))
    comparison = Comparison(base, combine_settings(["mondrian"], [2, 4, 8]))

    def stop(doing: str, done: float) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    comparison.run(read_table(people), on_progress=stop)
    assert comparison.interrupted
    assert comparison.results["status"].to_list() == ["done", "done", "not done"]
    assert comparison.to_dict()["interrupted"] is True


def test_json(found):
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["quasi"] == QUASI
    assert len(plain["results"]) == 6
    assert plain["front"][0]["status"] == "done"


def test_pictures(found, tmp_path):
    found.write_plot(tmp_path / "front.html", "A <title>")
    page = (tmp_path / "front.html").read_text("utf-8")
    assert "A &lt;title&gt;" in page
    assert 'src="http' not in page
    found.write_plot(tmp_path / "front.svg", "A <title>")
    drawing = (tmp_path / "front.svg").read_text("utf-8")
    assert drawing.startswith("<svg")
    assert drawing.count("<polyline") == 4  # two algorithms with and without l
    assert drawing.count("<circle") == 6
    assert drawing.count('stroke="#000"') == found.front.height
    with pytest.raises(OutputError):
        found.write_plot(tmp_path / "nowhere" / "front.svg", "title")


def test_a_picture_of_one_k(people):
    one = shoal.compare(people, quasi=["age"], algorithms=["mondrian"], k=[3])
    by_k, by_risk = one.plot().drawings
    assert by_k.count("<circle") == by_risk.count("<circle") == 1
    assert by_risk.count("<polyline") == 1  # the front
    assert one.plot()._repr_html_().count("<svg") == 2


def test_settings():
    assert combine_settings(["a"], [2, 3], [3]) == (Setting("a", 3, 3),)
    assert combine_settings(["a", "a"], [2], [1]) == (Setting("a", 2),)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"algorithms": ["magic"]}, "unknown algorithm 'magic'"),
        ({"algorithms": "mondrian"}, "is a list"),
        ({"k": [0]}, "k must be at least 1, not 0"),
        ({"k": [2], "l": [3]}, "every l is above every k"),
        ({"loss": "pain"}, "unknown loss 'pain'"),
        ({"models": ["t(t=2)"]}, "t"),
        ({"quasi": []}, "no quasi-identifiers"),
    ],
)
def test_what_is_refused_before_anything_is_tried(people, wrong, message):
    with pytest.raises(RecipeError, match=message):
        shoal.compare(people, **{"quasi": ["age"], **wrong})
