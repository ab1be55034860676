import pytest

from shoal.support.progress import SearchFigures, Stage, measure_gap


def test_a_stage_is_a_text_to_whoever_asks_for_no_more():
    stage = Stage("searching", SearchFigures(best=2.0))
    assert stage == "searching"
    assert f"{stage}" == "searching"
    assert {stage: 1}["searching"] == 1
    assert stage.figures.best == 2.0


def test_the_gap_is_a_share_of_the_best():
    assert measure_gap(10.0, 9.0) == pytest.approx(0.1)
    assert measure_gap(10.0, 11.0) == 0.0
    assert measure_gap(-8.0, -10.0) == pytest.approx(0.25)
    assert measure_gap(0.0, 0.0) == 0.0
    assert SearchFigures(best=10.0, bound=9.0).gap == pytest.approx(0.1)
    assert SearchFigures(best=10.0).gap is None
