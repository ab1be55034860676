import pytest

from shoal.report.terminal import (
    columns_table,
    draw_bar,
    format_percent,
    seconds_line,
    show_report,
    show_verification,
)
from shoal.verification.verifier import Verdict, Verification

HOLDS, FAILS = Verdict("k", {"k": 3}, 4, True), Verdict("distinct-l", {"l": 2, "column": "ill"}, 1, False)


@pytest.mark.parametrize(
    ("share", "blocks"),
    [(0, ""), (1, "████"), (0.5, "██"), (1 / 32, "▏"), (31 / 32, "███▉"), (-1, ""), (2, "████")],
)
def test_bars_count_in_eighths(share, blocks):
    assert draw_bar(share, width=4).plain == blocks


def test_shares_and_seconds():
    assert format_percent(0.12345) == "12.35 %"
    assert (
        seconds_line({"read": 0.5, "search": 0.25, "total": 0.755}) == "0.76 seconds: read 0.50, search 0.25"
    )


def test_the_headline_counts_everything_that_is_gone(printed, report):
    lines = printed(show_report, report(dropped_rows=1, suppressed_rows=29, released_rows=970))
    assert lines[0].startswith(
        "970 of 1,000 rows released (1 dropped, 29 suppressed) in 7 classes, the smallest of 4"
    )


def test_one_of_something_is_no_plural(printed):
    lines = printed(show_verification, "r.csv", Verification(True, 1, 1, 1, (HOLDS,)))
    assert lines[0] == "r.csv: the goal holds; 1 row in 1 class, the smallest of 1"


def test_a_long_warning_keeps_its_indentation(printed, report):
    lines = printed(show_report, report(warnings=("word " * 30,)), width=60)
    first = next(number for number, line in enumerate(lines) if line.startswith("! word"))
    assert all(line.startswith("  word") for line in lines[first + 1 : first + 3])


def test_a_model_that_does_not_hold_is_said_to(printed):
    lines = printed(show_verification, "r.csv", Verification(False, 9, 2, 4, (HOLDS, FAILS)))
    assert lines[0] == "r.csv: the goal does not hold; 9 rows in 2 classes, the smallest of 4"
    assert [line.split() for line in lines[3:5]] == [
        ["k", "k", "=", "3", "4", "✓", "holds"],
        ["distinct-l", "l", "=", "2,", "column", "=", "ill", "1", "✗", "does", "not", "hold"],
    ]


def test_of_very_many_columns_the_costliest_are_shown(report):
    column = {"type": "integer", "kind": "number", "values": 9}
    columns = {f"c{i}": {**column, "ncp": (i * 37 % 100) / 100} for i in range(100)}
    table = columns_table(report(columns=columns))
    names = [str(cell) for cell in table.columns[0].cells]
    assert names[:-2] == [name for name, each in columns.items() if each["ncp"] >= 0.6]
    assert names[-2:] == ["60 that lost less", "all columns"]


def test_a_hierarchy_is_shown_as_a_tree(report):
    tree = {"type": "string", "kind": "tree", "values": 9, "ncp": 0.0}
    table = columns_table(report(columns={"zip": tree}))
    assert next(iter(table.columns[1].cells)) == "tree"
