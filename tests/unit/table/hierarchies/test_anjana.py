import pandas as pd
import pytest

from shoal.errors import InputError
from shoal.table.hierarchies import Hierarchy, from_anjana, read_source, save_hierarchy, to_anjana

ROWS = [("17", "[15, 20[", "*"), ("18", "[15, 20[", "*"), ("20", "[20, 25[", "*")]


def test_levels_are_arrays_with_one_label_per_value():
    tree = Hierarchy.from_rows(ROWS)
    levels = {0: ["17", "18", "20"], 1: ["[15, 20[", "[15, 20[", "[20, 25["], 2: ["*", "*", "*"]}
    assert to_anjana(tree) == levels
    assert from_anjana(levels) == tree


def test_a_file_is_what_pandas_reads_for_anjana(tmp_path):
    tree = Hierarchy.from_rows(ROWS)
    save_hierarchy(tree, tmp_path / "age.csv", format="anjana")
    frame = dict(pd.read_csv(tmp_path / "age.csv", header=None))
    assert list(frame[0]) == [17, 18, 20]
    assert from_anjana(frame) == tree
    assert read_source(tmp_path / "age.csv") == tree


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({}, r"numbered 0, 1, 2, \.\.\., not \[\]"),
        ({1: ["a"]}, r"not \[1\]"),
        ({0: ["a", "b"], 1: ["*"]}, "one label per value, but they have 2, 1"),
    ],
)
def test_bad_levels(levels, message):
    with pytest.raises(InputError, match=message):
        from_anjana(levels)
