from datetime import date

import numpy as np
import polars as pl
import pytest

from shoal.codespace.domain import Domain, expand_intervals
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge", "lawyer"]})


def numbers(values, missing=False):
    labels = pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    place = pl.Series(values)
    return Domain.from_numbers("n", place, labels, place, missing)


def ordered(labels, missing=False):
    series = pl.Series(labels, dtype=pl.String)
    return Domain.from_ordered_categories("o", series, series, missing)


def flat(labels, missing=None):
    series = pl.Series(labels, dtype=pl.String)
    return Domain.from_flat_categories("f", series, series, missing)


def tree(occurring=("mason", "judge"), extra=(), missing=False, hierarchy=JOBS):
    texts = [*occurring, *extra]
    return Domain.from_hierarchy("t", hierarchy, pl.Series(texts), texts, list(extra), missing)


def texts(domain, *intervals, **options):
    lo, hi = (np.array(ends) for ends in zip(*intervals, strict=True))
    return domain.render_intervals(*domain.snap(lo, hi), **options).to_list()


def widths(domain, *intervals):
    lo, hi = (np.array(ends) for ends in zip(*intervals, strict=True))
    return domain.compute_widths(*domain.snap(lo, hi)).tolist()


def test_a_range_of_numbers_is_written_by_its_ends():
    ages = numbers([17, 20, 35, 90])
    assert texts(ages, (0, 0), (0, 1), (1, 2), (0, 3)) == ["17", "[17-20]", "[20-35]", "*"]


def test_the_width_of_numbers_is_their_share_of_the_whole_span():
    # (20 - 10)/(110 - 10), (60 - 10)/100, one value, all of them
    assert widths(numbers([10, 20, 60, 110]), (0, 1), (0, 2), (1, 1), (0, 3)) == [0.1, 0.5, 0.0, 1.0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-5, 0, 3, 9], "[-5..3]"),
        ([-9, -7, -5, -1], "[-9..-5]"),
        ([1e-07, 0.5, 2.0, 3.0], "[1e-07..2.0]"),
        ([0.5, 1.0, 2.5, 3.0], "[0.5-2.5]"),
        (
            [date(2020, 1, 2), date(2020, 2, 1), date(2021, 1, 1), date(2022, 1, 1)],
            "[2020-01-02..2021-01-01]",
        ),
    ],
)
def test_a_hyphen_stands_between_the_ends_only_where_it_cannot_be_misread(values, expected):
    assert texts(numbers(values), (0, 2)) == [expected]


def test_dates_are_as_wide_as_they_are_long():
    domain = numbers([date(2020, 1, 1), date(2020, 1, 11), date(2020, 4, 10)])  # days 0, 10, 100
    assert widths(domain, (0, 1), (1, 2)) == [0.1, 0.9]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([2**60, 2**60 + 1, 2**60 + 2], id="digits that a float does not hold"),
        pytest.param([-1.6e308, 0.0, 1.6e308], id="a span that a float does not hold"),
        pytest.param([0.0, 5e-324, 1e-323], id="the smallest floats"),
        pytest.param([-3, -2, -1], id="negative"),
    ],
)
def test_the_middle_of_numbers_of_any_size_is_half_way(values):
    assert numbers(values).position.tolist() == [0.0, 0.5, 1.0]


def test_integers_past_64_bits():
    big = pl.Series([10**30, 10**30 + 1, 10**30 + 4], dtype=pl.Int128)
    domain = Domain.from_numbers("n", big, big.cast(pl.String), big, False)
    assert domain.position.tolist() == [0.0, 0.25, 1.0]


def test_missing_and_numbers_share_no_range_but_everything():
    ages = numbers([None, 17, 20, 35], missing=True)
    assert texts(ages, (0, 0), (0, 1), (1, 2), (1, 3)) == [None, "*", "[17-20]", "[17-35]"]
    assert widths(ages, (0, 0), (0, 1), (1, 2), (1, 3)) == [0.0, 1.0, 3 / 18, 1.0]


def test_missing_beside_one_number():
    age = numbers([None, 17], missing=True)
    assert texts(age, (0, 0), (1, 1), (0, 1)) == [None, "17", "*"]
    assert widths(age, (0, 0), (1, 1), (0, 1)) == [0.0, 0.0, 1.0]


def test_missing_alone():
    nothing = Domain.from_numbers(
        "n", pl.Series([None], dtype=pl.Int64), pl.Series([None], dtype=pl.String), pl.Series([None]), True
    )
    assert texts(nothing, (0, 0)) == [None]
    assert widths(nothing, (0, 0)) == [0.0]


def test_ordered_categories_stand_at_equal_distances():
    school = ordered(["none", "primary", "secondary", "university"])
    assert texts(school, (1, 1), (0, 1), (1, 3), (0, 3)) == [
        "primary",
        "[none..primary]",
        "[primary..university]",
        "*",
    ]
    assert widths(school, (1, 1), (0, 1), (1, 3), (0, 3)) == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_ordered_categories_and_missing():
    school = ordered([None, "none", "primary"], missing=True)
    assert texts(school, (0, 0), (0, 1), (1, 2)) == [None, "*", "[none..primary]"]


def test_flat_categories_are_written_as_sets():
    colours = flat(["red", "blue", "green"])
    assert texts(colours, (0, 0), (0, 1), (1, 2), (0, 2)) == ["red", "{red, blue}", "{blue, green}", "*"]
    assert widths(colours, (0, 0), (0, 1), (0, 2)) == [0.0, 0.5, 1.0]


def test_a_set_need_not_be_contiguous():
    colours = flat(["red", "blue", "green", "grey"])
    start, codes = np.array([0, 2, 3, 7]), np.array([0, 2, 3, 0, 1, 2, 3])
    assert colours.render_sets(start, codes).to_list() == ["{red, green}", "grey", "*"]


def test_values_that_would_be_misread_in_a_set_are_quoted():
    awkward = flat(["a, b", 'say "no"', "{x}", " padded ", "", "plain"])
    assert texts(awkward, (0, 1), (2, 3), (4, 5)) == [
        '{"a, b", "say ""no"""}',
        '{"{x}", " padded "}',
        '{"", plain}',
    ]
    # Alone they stand as they are: an unchanged value is the original one.
    assert texts(awkward, (0, 0), (2, 2), (4, 4)) == ["a, b", "{x}", ""]


def test_missing_in_a_set_is_a_pair_of_quotes():
    colours = flat(["red", None, "blue"], missing=1)
    assert texts(colours, (0, 1), (1, 1), (0, 2)) == ['{red, ""}', None, "*"]


def test_a_tree_releases_its_nodes_only():
    jobs = tree()
    # mason and smith are the manual ones; smith and clerk have nothing but the root above both
    assert texts(jobs, (0, 0), (0, 1), (2, 3), (1, 2)) == ["mason", "manual", "office", "*"]
    assert widths(jobs, (0, 0), (0, 1), (2, 3), (1, 2)) == [0.0, 1 / 4, 2 / 4, 1.0]
    lo, hi = jobs.snap(np.array([2, 1]), np.array([3, 2]))
    assert (lo.tolist(), hi.tolist()) == ([2, 0], [4, 4])


def test_a_tree_node_by_its_ends():
    assert texts(tree(), (0, 0), (0, 1), (2, 3), (1, 2), by_ends=True) == [
        "mason",
        "[mason..smith]",
        "[clerk..lawyer]",
        "*",
    ]


def test_the_root_goes_by_its_own_name():
    people = Hierarchy.from_tree({"young": ["1", "2"], "old": ["80"]}, root="anyone")
    assert texts(tree(("1",), hierarchy=people), (0, 2), (0, 1)) == ["anyone", "young"]


def test_values_that_a_hierarchy_lacks_hang_under_its_root():
    jobs = tree(extra=["pirate"], missing=True)
    assert jobs.labels.to_list() == [*JOBS.leaves, "pirate", None]
    assert jobs.missing == 6
    # 6 is missing, 5 the pirate: either stays or becomes the root
    assert texts(jobs, (5, 5), (6, 6), (5, 6), (4, 5), (3, 4)) == ["pirate", None, "*", "*", "office"]
    # The certainty score counts siblings in the hierarchy as given: two groups, two and three leaves.
    assert jobs.siblings[:, 0].tolist() == [2, 2, 1]
    assert jobs.siblings[:, 3].tolist() == [3, 2, 1]
    assert jobs.siblings[:, 5].tolist() == [1, 1, 1]


def test_a_tree_knows_the_value_of_each_leaf_that_occurs():
    years = Hierarchy.from_tree({"90s": ["1990", "1991"], "80s": ["1980"]})
    domain = Domain.from_hierarchy("t", years, pl.Series([1980, 1991]), ["1980", "1991"], [], False)
    assert dict(zip(domain.labels, domain.values, strict=True)) == {"1980": 1980, "1990": None, "1991": 1991}
    assert domain.values.dtype == pl.Int64


@pytest.mark.parametrize(
    "domain",
    [
        pytest.param(numbers([7]), id="number"),
        pytest.param(ordered(["7"]), id="ordered"),
        pytest.param(flat(["7"]), id="flat"),
        pytest.param(tree(("7",), hierarchy=Hierarchy.from_rows([["7", "*"]])), id="tree"),
    ],
)
def test_a_column_of_one_value_costs_nothing(domain):
    assert texts(domain, (0, 0)) == ["7"]
    assert widths(domain, (0, 0)) == [0.0]


def test_intervals_laid_end_to_end():
    start, codes = expand_intervals(np.array([2, 5, 0]), np.array([4, 5, 1]))
    assert start.tolist() == [0, 3, 4, 6]
    assert codes.tolist() == [2, 3, 4, 5, 0, 1]
