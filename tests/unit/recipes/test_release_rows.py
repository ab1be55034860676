"""Rows to release: the same for a table that is anonymized and for rows that come later."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.codespace.encoding import encode_column
from shoal.errors import InternalError
from shoal.privacy import KAnonymity
from shoal.recipes.defaults import choose_category_order, list_weights
from shoal.recipes.recipe import Recipe
from shoal.recipes.release_rows import (
    describe_release,
    list_original_columns,
    read_rows,
    read_written_rows,
    sort_released_rows,
)
from shoal.table import Column, Origin, read_table

RECIPE = Recipe(("age",), (KAnonymity(2),), identifier=("name",), others="keep")
TABLE = read_table(pl.DataFrame({"name": list("dcba"), "age": [40, 30, 41, 31], "note": list("zyxw")}))
CLASSES, CLASS_OF = {"age": pl.Series(["[40-41]", "[30-31]"])}, np.array([0, 1, 0, 1])


def test_a_table_that_was_read_is_not_read_again():
    assert read_rows(RECIPE, TABLE) is TABLE
    assert read_rows(RECIPE, TABLE.frame).names == TABLE.names


@pytest.mark.parametrize(("order", "rows"), [("keep", [0, 1, 2, 3]), ("released", [3, 1, 2, 0])])
def test_rows_keep_their_order_or_are_sorted_by_what_is_released(order, rows):
    columns, taken = sort_released_rows(order == "keep", TABLE, CLASSES, CLASS_OF, np.arange(4), ["name"])
    assert taken.tolist() == rows
    assert columns["age"].to_list() == CLASSES["age"].gather(CLASS_OF[rows]).to_list()
    everything = sort_released_rows(order == "keep", TABLE, CLASSES, CLASS_OF, np.arange(4), ["name", "note"])
    assert everything[1].tolist() == ([0, 1, 2, 3] if order == "keep" else [1, 3, 0, 2])


def test_the_file_has_the_rows_that_were_released(tmp_path):
    (tmp_path / "r.csv").write_text('age,note\n[30-31],w\n"[30-31]",y\n')
    layout = Origin("path", path=tmp_path / "r.csv", format="text")
    table = read_written_rows(RECIPE, tmp_path / "r.csv", layout, ["age", "note"], 2)
    assert (table.rows, table.names, table.origin.path) == (2, ["age"], None)
    with pytest.raises(InternalError, match="3 rows are released, but 2 were written"):
        read_written_rows(RECIPE, tmp_path / "r.csv", layout, ["age", "note"], 3)


def test_what_findings_are_made_of():
    encoded = [
        encode_column(TABLE.frame["age"], Column("age")),
        encode_column(TABLE.frame["note"], Column("note")),
    ]
    original = list_original_columns(encoded, np.array([1, 3]))
    assert original["age"].codes.tolist() == [0, 1]
    assert original["age"].position[[0, 3]].tolist() == [0.0, 1.0]
    assert original["note"].position is None  # categories without an order
    judged = describe_release(replace(RECIPE, row_order="released"), TABLE.frame, {}, original=original)
    assert (judged.quasi, judged.identifiers, judged.keeps_order) == (("age",), ("name",), False)
    assert list(describe_release(RECIPE, TABLE.frame, {}, identifiers=()).identifiers) == []


def test_what_a_recipe_does_not_say():
    recipe = Recipe(("age", "note"), (KAnonymity(2),), weights={"note": 3})
    assert list_weights(recipe).tolist() == [1.0, 3.0]
    assert choose_category_order(recipe) == "frequency"
    assert choose_category_order(replace(recipe, category_order="appearance")) == "appearance"
