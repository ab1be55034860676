import polars as pl
import pytest
from rich.console import Console

from shoal.report.search import draw_curve, format_power_of_ten
from shoal.report.terminal import show_report
from shoal.report.terminal_parts import format_loss

EXACT = {
    "loss": {"name": "certainty", "value": 7.6935},
    "quasi": ("a", "b"),
    "optimal": True,
    "lower_bound": 7.6935,
    "solutions": 2,
    "nodes": 99,
    "cuts": 618,
    "search_space": 2.7e10,
    "search_space_log10": 10.431,
    "seconds": {"search": 0.5, "total": 1.0},
}


def frame(*rows, names=("a", "b")):
    return pl.DataFrame(rows, list(names), orient="row")


@pytest.fixture
def shown(printed, report):
    """The lines of a report, a space between words."""

    def lines(tables=(), width=100, **changed):
        told = printed(show_report, report(**EXACT | changed), tables, width=width)
        return [" ".join(line.split()) for line in told]

    return lines


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "1"), (3.0, "1,000"), (5.5, "316,228"), (6.0, "1.0·10^6"), (412.699, "5.0·10^412")],
)
def test_numbers_by_their_logarithm(number, text):
    assert format_power_of_ten(number) == text


def test_the_certificate_and_the_statistics(shown):
    lines = shown()
    for line in (
        "least loss 7.6935, proved: optimal",
        "optimal tables 2",
        "search space 2.7·10^10 tables",
        "states 99 in 0.50 s, 198 per second",
        "reduction 2.7·10^8 times fewer states than tables",
        "pruned 618 times a branch was cut off unseen",
    ):
        assert line in lines


def test_what_is_not_proved_is_not_said(shown):
    lines = shown([frame(("x", "y"))], optimal=False, lower_bound=7.0, solutions=None)
    assert "loss 7.6935, not proved to be the least; gap up to 9.01 %" in lines
    assert "lower bound 7.0000" in lines
    assert "best table found" in lines
    assert not any("optimal" in line for line in lines)
    assert any("not counted" in line for line in shown(solutions=None))


def test_other_searches_show_nothing_of_it(report):
    console = Console(width=100)
    with console.capture() as capture:
        show_report(console, report(), [frame(("x", "y"))])
    assert "table" not in capture.get()
    assert "least loss" not in capture.get()


def test_optimal_tables_have_what_differs_from_the_first_marked(shown):
    lines = shown([frame(("1", "x"), ("*", "x")), frame(("*", "x"), ("*", None))], width=60)
    first = lines.index("optimal table 1 of 2 optimal table 2 of 2")
    assert lines[first + 1 : first + 6] == [
        "row a b row a b",
        "1 1 x 1 ≠ * x",
        "2 * x 2 * ≠",
        "",
        "≠ marks what differs from the first table",
    ]


def test_colour_is_an_addition(report):
    console = Console(width=100, force_terminal=True, color_system="standard", highlight=False)
    with console.capture() as capture:
        show_report(console, report(**EXACT), [frame(("1", "x")), frame(("*", "x"))])
    assert "\x1b[1;33m≠ *\x1b[0m" in capture.get()


def test_of_many_tables_rows_and_columns_some_are_shown(shown):
    lines = shown([frame((str(i), "x")) for i in range(12)], solutions=500, width=30)
    assert sum(line.startswith("optimal table") for line in lines) == 10
    assert "490 optimal tables are not shown; --all-solutions shows them" in " ".join(lines)
    tall = [("x", str(i)) for i in range(30)]
    lines = shown([frame(*tall), frame(*tall[:-1], ("y", "29"))], width=30)
    assert "10 rows not shown" in lines
    assert "30 ≠ y 29" in lines
    assert "29 rows not shown" in lines
    lines = shown([frame(("x", "y"))], solutions=2, width=100)
    assert "1 optimal table is not shown; --all-solutions shows them" in lines
    names = [f"c{i}" for i in range(15)]
    wide = frame(["v"] * 15, names=names)
    lines = shown([wide], solutions=1, quasi=("c0", "c13", "c14"), width=200)
    assert "row c0 c1 c2 c3 c4 c5 c6 c7 c13 c14" in lines
    assert "5 columns are not shown" in lines


@pytest.mark.parametrize(("loss", "said"), [(6e-10, "6e-10"), (0.0, "0.0000"), (0.04804, "0.0480")])
def test_a_small_loss_does_not_read_as_none(loss, said):
    assert format_loss(loss) == said


def test_the_curve_of_an_evolution(shown):
    assert draw_curve([3.0, 2.0, 1.0], 1.0, 3.0) == "█▅▁"
    assert draw_curve([1.0, 1.0], 1.0, 1.0) == "▁▁"
    falling = [float(1000 - i) for i in range(1000)]
    assert len(draw_curve(falling, 1.0, 1000.0, width=48)) == 48
    assert draw_curve(falling, 1.0, 1000.0, width=8) == "█▇▆▅▄▃▂▁"
    history = ((4.0, 5.0), (3.0, 4.0), (1.0, 2.0))
    lines = shown(optimal=None, search_space_log10=None, history=history, cuts=None)
    assert "generations 2" in lines
    assert "best loss 4.0000 ▆▅▁ 1.0000" in lines
    assert "mean loss 5.0000 █▆▃ 2.0000" in lines
    assert "tables bred 99 in 0.50 s, 198 per second" in lines


def test_the_curve_of_a_refinement_where_a_budget_was_named(shown):
    plain = {"optimal": None, "lower_bound": None, "search_space_log10": None, "cuts": None}
    curve = ((0.0, 0.3), (0.25, 0.2), (1.5, 0.1))
    named = {"algorithm": {"name": "auto", "parameters": {"seconds": 1.5}}}
    lines = shown(curve=curve, **plain, **named)
    assert "refinement 0.3000 █▅▁ 0.1000 in 1.5 s of the budget" in lines
    assert "classes measured 99 in 0.50 s, 198 per second" in lines
    for less in ({"curve": curve}, {"curve": curve[:2]} | named):
        assert "refinement" not in " ".join(shown(**plain, **less))
