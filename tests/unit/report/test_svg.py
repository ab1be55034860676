"""Charts: shapes as long as their figures, and texts that stay texts."""

import re
from xml.etree import ElementTree

import pytest

from shoal.report import svg
from shoal.report.svg import Bar, Stack


def shapes(text, kind):
    root = ElementTree.fromstring(text)
    return [each for each in root.iter("rect") if each.get("class") == kind]


def test_bars_are_as_long_as_their_values():
    drawn = svg.draw_bars("t", [Bar("a", (0.5, 0.25), "x"), Bar("b", (1.0, 0.0), "y")], ("before", "after"))
    before = [float(each.get("width")) for each in shapes(drawn, "before")]
    after = [float(each.get("width")) for each in shapes(drawn, "after")]
    assert before[0] / before[1] == pytest.approx(0.5, abs=0.01)
    assert after[0] / before[0] == pytest.approx(0.5, abs=0.01)
    assert after[1] == 0


def test_bars_of_nothing():
    assert shapes(svg.draw_bars("t", [Bar("a", (0.0,), "x")], ("after",)), "after")[0].get("width") == "0.0"


def test_stacks_are_whole():
    parts = ((0.25, "c0", "x"), (0.75, "c1", "y"))
    drawn = svg.draw_stacks("t", [Stack("a", parts, "n")])
    one, two = shapes(drawn, "c0")[0], shapes(drawn, "c1")[0]
    assert float(two.get("width")) / float(one.get("width")) == pytest.approx(3, abs=0.01)
    assert float(one.get("x")) + float(one.get("width")) == pytest.approx(float(two.get("x")), abs=0.2)


def test_columns_and_their_line():
    drawn = svg.draw_columns("t", ["1", "2", "3"], [0.1, 0.2, 0.0], [0.2, 0.1, 0.0])
    heights = [float(each.get("height")) for each in shapes(drawn, "before")]
    assert heights[0] / heights[1] == pytest.approx(0.5, abs=0.01)
    assert heights[2] == 0
    tops = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)h", drawn)]
    assert tops[0] < tops[1] < tops[2]


def test_curves_rise():
    drawn = svg.draw_curves("t", [("before", [(1, 0), (1, 0.5), (10, 1.0)])], 5)
    ups = [float(y) for y in re.findall(r"V([\d.]+)", re.search(r'class="line before" d="(.*?)"', drawn)[1])]
    assert ups == sorted(ups, reverse=True)
    assert ElementTree.fromstring(drawn) is not None


@pytest.mark.parametrize("most", [0.0, 1e-9, 0.013, 0.25, 0.4, 0.99, 1.0])
def test_a_scale_is_round_and_reaches_the_top(most):
    ticks, top = svg._choose_ticks(most)
    assert top >= most
    assert 2 <= len(ticks) <= 6
    assert ticks[0] == 0


def test_texts_stay_texts():
    evil = '<b>&"'
    for drawn in (
        svg.draw_bars(evil, [Bar(evil, (1.0,), evil)], ("after",)),
        svg.draw_stacks(evil, [Stack(evil, ((1.0, "c0", evil),), evil)]),
        svg.draw_columns(evil, [evil, evil], [1.0, 0.5], below=evil),
    ):
        assert not list(ElementTree.fromstring(drawn).iter("b"))
        assert "<b>" not in drawn
    assert "<b>" not in svg.draw_legend([("c0", evil)])


def test_long_names_are_cut_and_told_whole():
    drawn = svg.draw_bars("t", [Bar("x" * 80, (1.0,), "")], ("after",))
    assert f"<title>{'x' * 80}</title>" in drawn
    assert f">{'x' * 40}" not in drawn.replace("<title>", "")[: drawn.index("…")]
