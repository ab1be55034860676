import polars as pl
import pytest

from shoal.engines.api import verify
from shoal.errors import InputError, RecipeError
from shoal.privacy import KAnonymity
from shoal.table import read_table
from shoal.verification.sets import KnownSets, number_items, verify_sets, write_sets

TABLE = pl.DataFrame({"town": list("xxxyyy"), "dx": ["a|b", "b|a", "a", "a", "a|c", None]})


def test_items_are_numbered_within_their_column():
    table = read_table(pl.DataFrame({"one": ["a| b|a", ""], "two": ["b", " a "]}))
    row, item = number_items(table, {"one": "|", "two": "|"})
    assert row.tolist() == [0, 0, 0, 1]
    assert len(set(item.tolist())) == 4  # a and b of one column are not those of the other
    assert write_sets(row, item, 2).n_unique() == 2


@pytest.mark.parametrize(("knows", "fewest"), [(1, 1), (2, 1), (None, 1)])
def test_the_fewest_people_are_counted_by_hand(knows, fewest):
    found = verify_sets(read_table(TABLE), ["town"], [], [KAnonymity(2)], KnownSets({"dx": "|"}, knows))
    assert (found.smallest_class, found.holds) == (fewest, False)
    x = TABLE.filter(pl.col("town") == "x")
    found = verify_sets(read_table(x), ["town"], [], [KAnonymity(2)], KnownSets({"dx": "|"}, knows))
    # {a} is had by three, {b} and {a, b} by two; the whole set {a} by one
    assert found.smallest_class == (1 if knows is None else 2)


def test_a_class_counts_where_nothing_is_known_of_sets():
    table = pl.DataFrame(
        {"town": ["x", "x", "y"], "dx": [None, None, None]}, schema_overrides={"dx": pl.String}
    )
    assert verify(table, quasi=["town"], sets={"dx": "|"}, knows=2, k=2).smallest_class == 1


def test_whole_sets_that_few_have_are_a_finding():
    table = pl.DataFrame({"dx": ["a|b", "a|c", "b|c", "a|b|c"]})
    (found,) = verify(table, sets={"dx": "|"}, knows=1, k=3).findings
    assert (found.id, found.severity, found.figure) == ("whole-sets", "high", 1.0)
    assert "more than one item" in found.message
    assert verify(table, sets={"dx": "|"}, knows="all", k=3).findings == ()


def test_roles_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="dxx"):
        verify(TABLE, quasi=["town"], sets={"dxx": "|"}, k=2)
    with pytest.raises(RecipeError, match="'town' is named as a set and with another role"):
        verify(TABLE, quasi=["town"], sets={"town": "|"}, k=2)
    with pytest.raises(RecipeError, match="is one of people: name the person as well"):
        verify(TABLE, quasi=["town"], sets={"dx": "|"}, group="town", k=2)
    with pytest.raises(RecipeError, match="sets is a mapping"):
        verify(TABLE, quasi=["town"], sets=["dx"], k=2)
