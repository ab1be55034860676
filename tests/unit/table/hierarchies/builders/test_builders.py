"""Each builder on columns small enough to see what comes out, and what it refuses."""

from dataclasses import replace
from datetime import date, datetime

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.table.hierarchies import (
    Boundaries,
    Dates,
    EqualFrequency,
    EqualWidth,
    Learned,
    Masking,
    OrderedGroups,
    RareTogether,
    Values,
)
from shoal.table.hierarchies.builders.learned import find_merges


def rows(builder, column):
    return builder.build(Values.of(column)).to_rows()


def levels(builder, column):
    return builder.build(Values.of(column)).names[1:-1]


class TestValues:
    def test_distinct_values_in_order_with_their_rows(self):
        values = Values.of([3, 1, None, 3, 10])
        assert values.leaves == ["1", "3", "10"]
        assert values.rows.tolist() == [1, 2, 1]

    def test_what_is_missing_or_blank_is_left_out(self):
        assert Values.of([0.5, float("nan"), None]).leaves == ["0.5"]
        assert Values.of(["a", " ", ""]).leaves == ["a"]
        with pytest.raises(InputError, match="no values to build a hierarchy of"):
            Values.of([None, None])


class TestEqualWidth:
    def test_widths_of_each_level(self):
        assert levels(EqualWidth((5, 10, 20)), range(20, 41)) == (
            ("20-24", "25-29", "30-34", "35-39", "40-44"),
            ("20-29", "30-39", "40-49"),
            ("20-39", "40-59"),
        )

    def test_one_width_goes_on_by_a_factor(self):
        assert levels(EqualWidth((5,), factor=4), range(20, 41)) == (
            ("20-24", "25-29", "30-34", "35-39", "40-44"),
            ("20-39", "40-59"),
        )

    def test_a_width_is_found_that_reads_well(self):
        assert levels(EqualWidth(), range(17, 91))[0][:2] == ("15-19", "20-24")
        assert levels(EqualWidth(), [0.0, 0.013, 0.1, 0.25])[0] == (
            "[0, 0.02)",
            "[0.1, 0.12)",
            "[0.24, 0.26)",
        )

    def test_below_zero_a_hyphen_would_be_misread(self):
        assert rows(EqualWidth((5,)), [-7, -1, 0, 3]) == [
            ("-7", "-10..-6", "-10..-1", "*"),
            ("-1", "-5..-1", "-10..-1", "*"),
            ("0", "0..4", "0..9", "*"),
            ("3", "0..4", "0..9", "*"),
        ]

    def test_a_hair_below_zero_is_below_zero(self):
        assert levels(EqualWidth((1e12,)), [-1, 1]) == (("-1000000000000..-1", "0..999999999999"),)

    def test_the_start_moves_all_intervals(self):
        assert levels(EqualWidth((10,), start=5), [5, 14, 15]) == (("5-14", "15-24"),)

    def test_numbers_on_an_edge_lie_above_it(self):
        column = [0.1 * n for n in range(1, 10)]
        assert levels(EqualWidth((0.1, 0.2)), column)[0] == tuple(
            f"[0.{n}, {'1' if n == 9 else f'0.{n + 1}'})" for n in range(1, 10)
        )

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"widths": (5, 12)}, "intervals of 12 do not hold whole intervals of 5"),
            ({"widths": (5, 5)}, "intervals of 5 do not hold whole intervals of 5"),
            ({"widths": (0,)}, "widths are greater than 0, not 0"),
            ({"factor": 1}, "2 or more, not 1"),
            ({"widths": "5"}, "widths must be a list of numbers, not '5'"),
        ],
    )
    def test_what_is_refused(self, settings, message):
        with pytest.raises(InputError, match=message):
            EqualWidth(**settings)

    def test_text_is_no_number(self):
        with pytest.raises(InputError, match="intervals need numbers, not 'a', 'b'"):
            rows(EqualWidth(), ["a", "b"])

    def test_intervals_that_no_number_could_tell_apart(self):
        with pytest.raises(InputError, match="too narrow for numbers as large as 1e\\+20"):
            rows(EqualWidth((1,)), [1e20])


class TestEqualFrequency:
    def test_intervals_have_as_many_rows(self):
        column = [1] * 5 + [2, 3, 4, 5, 6] + [100] * 5
        assert levels(EqualFrequency(3), column) == (("1", "2-99", "100"), ("1-99", "100"))

    def test_numbers_with_fractions(self):
        assert levels(EqualFrequency(2), [0.5, 1.5, 2.5, 3.5]) == (("[0.5, 2.5)", "[2.5, 3.5]"),)

    def test_at_least_two_parts(self):
        with pytest.raises(InputError, match="2 or more, not 1"):
            EqualFrequency(1)


class TestBoundaries:
    def test_open_at_both_ends(self):
        assert levels(Boundaries((18, 25, 65)), [3, 18, 24, 25, 70]) == (
            ("<18", "18-24", "25-64", ">=65"),
            ("<25", ">=25"),
        )
        assert levels(Boundaries((0.5,)), [0.4, 0.5]) == (("<0.5", ">=0.5"),)

    @pytest.mark.parametrize("boundaries", [(), (2, 1), (1, 1)])
    def test_they_ascend(self, boundaries):
        with pytest.raises(InputError, match="boundaries must ascend"):
            Boundaries(boundaries)


class TestMasking:
    def test_postcodes(self):
        assert rows(Masking(), ["10115", "10117", "10245", "80331"]) == [
            ("10115", "1011*", "10***", "*"),
            ("10117", "1011*", "10***", "*"),
            ("10245", "1024*", "10***", "*"),
            ("80331", "8033*", "80***", "*"),
        ]

    def test_codes_of_unequal_length_meet_where_they_are_the_same(self):
        assert rows(Masking((3, 1)), ["E11", "E11.9", "E11.65", "E10"]) == [
            ("E10", "E10***", "E*****", "*"),
            ("E11", "E11***", "E*****", "*"),
            ("E11.65", "E11***", "E*****", "*"),
            ("E11.9", "E11***", "E*****", "*"),
        ]

    def test_from_the_left_with_another_character(self):
        assert levels(Masking((2,), "left", "#"), ["0049123", "99123", "23"]) == (("#####23",),)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"keep": (1, 2)}, "descending"),
            ({"keep": (0,)}, "descending to 1"),
            ({"character": "**"}, "one character, not '\\*\\*'"),
            ({"side": "middle"}, "unknown side 'middle'"),
        ],
    )
    def test_what_is_refused(self, settings, message):
        with pytest.raises(InputError, match=message):
            Masking(**settings)


class TestDates:
    DAYS = (date(1999, 5, 5), date(2020, 12, 31), date(2021, 1, 1))

    def test_month_year_and_decade(self):
        assert rows(Dates(), self.DAYS) == [
            ("1999-05-05", "1999-05", "1999", "1990s", "*"),
            ("2020-12-31", "2020-12", "2020", "2020s", "*"),
            ("2021-01-01", "2021-01", "2021", "2020s", "*"),
        ]

    def test_a_week_that_lies_in_two_years(self):
        assert levels(Dates(("week",)), self.DAYS) == (("1999-W18", "2020-W53"),)

    def test_days_of_the_week(self):
        days = (date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 8))
        assert rows(Dates(("weekday",)), days)[:2] == [
            ("2024-01-01", "Monday", "*"),
            ("2024-01-08", "Monday", "*"),
        ]

    def test_times_are_days_first(self):
        times = (datetime(2024, 1, 1, 8), datetime(2024, 1, 1, 9), datetime(2024, 4, 2))
        assert levels(Dates(("day", "quarter")), times) == (
            ("2024-01-01", "2024-04-02"),
            ("2024-Q1", "2024-Q2"),
        )
        assert levels(Dates(), times)[0] == ("2024-01-01", "2024-04-02")

    @pytest.mark.parametrize(
        ("spans", "message"),
        [
            (
                ("week", "month"),
                "a week does not lie in one month.*above week there can be nothing but the root",
            ),
            (("month", "week"), "a month does not lie in one week.*there can be 'quarter', 'year', 'decade'"),
            (("weekday", "year"), "a weekday does not lie in one year"),
            (("month", "weekday"), "a month does not lie in one weekday"),
            (("year", "year"), "a year does not lie in one year"),
            (("fortnight",), "unknown span of dates 'fortnight'"),
        ],
    )
    def test_spans_that_are_not_nested(self, spans, message):
        with pytest.raises(InputError, match=message):
            Dates(spans)

    def test_text_is_no_date(self):
        with pytest.raises(InputError, match="need dates, not 'a'"):
            rows(Dates(), ["a"])


class TestGroups:
    def test_neighbours(self):
        assert levels(OrderedGroups(), list("abcde")) == (("a..b", "c..d", "e"), ("a..d", "e"))
        assert levels(OrderedGroups((3, 2)), list("abcdefg")) == (("a..c", "d..f", "g"), ("a..f", "g"))
        with pytest.raises(InputError, match="2 or more each"):
            OrderedGroups((1,))

    def test_rare_values(self):
        column = ["a"] * 90 + ["b"] * 7 + ["c", "d", "d"]
        assert rows(RareTogether((3, 8)), column) == [
            ("a", "a", "a", "*"),
            ("b", "b", "rare (below 8 rows)", "*"),
            ("c", "rare (below 3 rows)", "rare (below 8 rows)", "*"),
            ("d", "rare (below 3 rows)", "rare (below 8 rows)", "*"),
        ]
        assert levels(RareTogether((0.05,)), column)[0] == ("a", "b", "rare (below 5 %)")

    def test_a_level_without_rare_values_is_left_out(self):
        assert levels(RareTogether(), ["a", "b"]) == ()

    @pytest.mark.parametrize("below", [(), (0,), (5, 3), (0.5, 10)])
    def test_limits_ascend_and_are_of_one_kind(self, below):
        with pytest.raises(InputError, match="below "):
            RareTogether(below)


class TestLearned:
    def test_values_that_go_with_the_same_are_together(self):
        profile = np.array([[90, 10], [10, 90], [45, 5], [8, 92], [1, 0]])
        values = replace(Values.of(list("abcde")), profile=profile)
        assert Learned((2,)).build(values).to_rows() == [
            ("a", "a, c, e", "*"),
            ("c", "a, c, e", "*"),
            ("e", "a, c, e", "*"),
            ("b", "b, d", "*"),
            ("d", "b, d", "*"),
        ]

    def test_each_join_loses_least(self):
        """Against a plain search over all pairs by the definition: the drop of the mutual information."""
        random = np.random.default_rng(5)
        counts = random.integers(0, 9, (8, 4)).astype(float) + 0.0
        groups = {at: {at} for at in range(8)}
        for keep, gone in find_merges(counts):
            pairs = [(a, b) for a in groups for b in groups if a < b]
            lost = {
                pair: information(counts, groups) - information(counts, joined(groups, *pair))
                for pair in pairs
            }
            assert lost[keep, gone] == pytest.approx(min(lost.values()), abs=1e-12)
            groups = joined(groups, keep, gone)

    def test_labels_of_large_groups_name_the_commonest(self):
        column = [*"aabbbcccc", "d", "e"]
        values = replace(Values.of(column), profile=np.array([[9, 0], [9, 1], [9, 0], [9, 0], [0, 9]]))
        assert Learned((2,)).build(values).names[1] == ("c, b, a and 1 more", "e")

    def test_what_is_refused(self):
        with pytest.raises(InputError, match="descending to 2, not"):
            Learned((4, 1))
        with pytest.raises(InputError, match="learned from a target or other columns"):
            Learned().build(Values.of(["a"]))
        many = Values.of(range(2001))
        with pytest.raises(InputError, match="at most 2,000 distinct values, and there are 2,001"):
            Learned().build(replace(many, profile=np.ones((2001, 1), np.int64)))


def joined(groups, keep, gone):
    rest = {at: members for at, members in groups.items() if at != gone}
    return {**rest, keep: groups[keep] | groups[gone]}


def information(counts, groups):
    """The mutual information of groups and target, in nats."""
    share = np.stack([counts[sorted(members)].sum(axis=0) for members in groups.values()]) / counts.sum()
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    seen = share > 0
    return float((share[seen] * np.log(share[seen] / expected[seen])).sum())
