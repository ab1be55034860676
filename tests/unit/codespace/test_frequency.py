from collections import Counter

import numpy as np
import pytest

from shoal.codespace.frequency import CodedRows, rank_rows


def table(rng, rows, sizes, sensitive_sizes=()):
    return CodedRows(
        tuple(rng.integers(0, size, rows).astype(np.uint16) for size in sizes),
        tuple(sizes),
        tuple(rng.integers(0, size, rows).astype(np.uint32) for size in sensitive_sizes),
        tuple(sensitive_sizes),
    )


def tuples(columns):
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("sizes", [(3,), (4, 2), (5, 7, 3, 2)])
def test_weights_are_what_a_dictionary_counts(sizes):
    coded = table(np.random.default_rng(1), 500, sizes)
    found = coded.collapse_rows()
    expected = Counter(tuples(coded.quasi))
    assert dict(zip(map(tuple, found.codes.tolist()), found.weight.tolist(), strict=True)) == expected
    assert found.codes.tolist() == [list(row) for row in sorted(expected)]
    assert [tuple(found.codes[at]) for at in found.of_row] == tuples(coded.quasi)
    assert found.rows == 500


def test_the_order_of_rows_does_not_matter():
    coded = table(np.random.default_rng(2), 300, (6, 6), (4,))
    order = np.random.default_rng(3).permutation(300)
    shuffled = CodedRows(
        tuple(column[order] for column in coded.quasi),
        coded.sizes,
        tuple(column[order] for column in coded.sensitive),
        coded.sensitive_sizes,
    )
    one, other = coded.collapse_rows(), shuffled.collapse_rows()
    assert np.array_equal(one.codes, other.codes)
    assert np.array_equal(one.weight, other.weight)
    for field in ("start", "value", "count"):
        assert np.array_equal(getattr(one.histograms, field), getattr(other.histograms, field))


def test_keys_of_many_wide_columns_are_exact():
    # 40 columns of 60,000 codes need 635 bits. Rows differ from one another in one column only.
    rows = 120
    columns = np.zeros((40, rows), np.uint16)
    columns[np.arange(rows) % 40, np.arange(rows)] = 59_999 - np.arange(rows) // 40
    columns = np.concatenate([columns, columns[:, :50]], axis=1)
    found = rank_rows(list(columns), [60_000] * 40)
    expected = {key: at for at, key in enumerate(sorted(set(tuples(columns))))}
    assert found.tolist() == [expected[key] for key in tuples(columns)]


def test_keys_of_signed_numbers_are_exact():
    # Of signed and unsigned numbers together numpy would make floats, which hold 53 bits.
    columns = [np.array([2**20 - 1, 2**20 - 1], np.int32)] * 2 + [np.array([2**20 - 2, 2**20 - 1], np.int32)]
    assert rank_rows(columns, [2**20] * 3).tolist() == [0, 1]


def test_a_key_that_just_fits_and_one_that_just_does_not():
    for sizes in ([1 << 31, 1 << 31], [1 << 31, (1 << 31) + 1], [1 << 31, 1 << 31, 2]):
        columns = [np.array([size - 1, 0, size - 1, 1], np.uint64) for size in sizes]
        assert rank_rows(columns, sizes).tolist() == [2, 0, 2, 1]


def test_histograms_are_what_a_dictionary_counts():
    coded = table(np.random.default_rng(4), 400, (3, 4), (5, 2))
    found = coded.collapse_rows()
    histograms = found.histograms
    assert histograms.first == (0, 5, 7)
    for row in range(len(found.weight)):
        part = slice(histograms.start[row], histograms.start[row + 1])
        seen = dict(zip(histograms.value[part].tolist(), histograms.count[part].tolist(), strict=True))
        mine = found.of_row == row
        first = Counter(coded.sensitive[0][mine].tolist())
        second = Counter((coded.sensitive[1][mine] + 5).tolist())
        assert seen == first + second


def test_without_sensitive_columns_histograms_are_empty():
    histograms = table(np.random.default_rng(5), 20, (3,)).collapse_rows().histograms
    assert histograms.first == (0,)
    assert histograms.start.tolist() == [0] * len(histograms.start)
    assert histograms.value.size == histograms.count.size == 0


@pytest.mark.parametrize("in_order", [True, False])
def test_rows_one_by_one(in_order):
    coded = table(np.random.default_rng(6), 100, (4, 3), (3,))
    found = coded.one_by_one(in_order)
    assert found.weight.tolist() == [1] * 100
    assert [tuple(found.codes[at]) for at in found.of_row] == tuples(coded.quasi)
    assert sorted(found.of_row.tolist()) == list(range(100))
    expected = tuples(coded.quasi) if in_order else sorted(tuples(coded.quasi))
    assert list(map(tuple, found.codes.tolist())) == expected
    assert found.histograms.value[found.of_row].tolist() == coded.sensitive[0].tolist()


def test_how_often_a_code_occurs():
    coded = table(np.random.default_rng(7), 200, (5, 3))
    counts = Counter(coded.quasi[1].tolist())
    assert coded.collapse_rows().count_codes(1, 4).tolist() == [counts[0], counts[1], counts[2], 0]


def test_long_domains_take_wider_codes():
    coded = CodedRows((np.array([70_000, 3], np.uint32), np.array([0, 1], np.uint16)), (70_001, 2))
    assert coded.collapse_rows().codes.tolist() == [[3, 1], [70_000, 0]]


def test_counted_rows_collapse_like_the_rows_they_stand_for():
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 4, 300).astype(np.uint16) for _ in range(2)]
    sensitive = [rng.integers(0, 3, 300).astype(np.uint32) for _ in range(2)]
    every = CodedRows(tuple(columns), (4, 4), tuple(sensitive), (3, 3))
    different, count = np.unique(np.stack([*columns, *sensitive], axis=1), axis=0, return_counts=True)
    counted = CodedRows(
        tuple(different[:, :2].T.astype(np.uint16)),
        (4, 4),
        tuple(different[:, 2:].T.astype(np.uint32)),
        (3, 3),
        count,
    )
    one, other = every.collapse_rows(), counted.collapse_rows()
    assert counted.rows == every.rows == other.rows == 300
    assert (one.codes == other.codes).all()
    assert (one.weight == other.weight).all()
    for name in ("first", "start", "value", "count"):
        assert np.array_equal(getattr(one.histograms, name), getattr(other.histograms, name)), name
