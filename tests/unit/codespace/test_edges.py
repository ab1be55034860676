"""Top and bottom coding: what is written, what is refused, and who reads it."""

import polars as pl
import pytest

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.codespace.encoding import encode_column
from shoal.errors import InputError, RecipeError
from shoal.table import Column

AGES = pl.DataFrame({"age": [*range(15, 95), *range(30, 50)], "sex": ["f", "m"] * 50})


def encode(values, **edges):
    return encode_column(pl.Series("age", values), Column("age", **edges))


def test_all_values_beyond_an_edge_are_one():
    found = encode([17, 18, 40, 70, 71, 90], bottom="18", top="70")
    assert found.domain.labels.to_list() == ["<18", "18", "40", "70", ">70"]
    assert found.codes.tolist() == [0, 1, 2, 3, 4, 4]


def test_a_share_is_the_most_of_the_rows_that_may_lie_beyond():
    found = encode([*range(1, 100), 99], top="5%", bottom="10%")
    assert (found.domain.top, found.domain.bottom) == ("95", "11")
    assert found.codes.tolist().count(found.domain.size - 1) == 5  # 96, 97, 98 and 99 twice
    assert "the edge for 5% of the rows" in found.warnings[1]


def test_a_share_counts_rows_and_not_values():
    assert encode([1, 2, 2, 2, 2, 3, 3, 3, 4, 4], top="30%").domain.top == "3"
    assert encode([*range(100)], top="29%").domain.top == "70"


def test_nothing_changes_if_no_value_lies_beyond():
    found = encode([20, 30], top="30", bottom="20")
    assert (found.domain.top, found.domain.bottom, found.domain.labels.to_list()) == (
        None,
        None,
        ["20", "30"],
    )


def test_an_edge_lies_between_values():
    assert encode([20, 30, 40], top="30.5").domain.labels.to_list() == ["20", "30", ">30.5"]
    days = encode(["2020-01-01", "2020-03-01", "2020-04-01"], top="2020-02-01")
    assert days.domain.labels.to_list() == ["2020-01-01", ">2020-02-01"]


def test_ranges_that_reach_beyond_an_edge_name_their_other_end():
    domain = encode([10, 20, 30, 40, 50], bottom="20", top="40").domain
    ends = pl.Series([0, 0, 1, 1, 3]).to_numpy(), pl.Series([0, 1, 4, 2, 4]).to_numpy()
    assert domain.render_intervals(*ends).to_list() == ["<20", "<=20", ">=20", "[20-30]", ">=40"]


def test_beside_missing_values_both_edges_together_are_everything():
    domain = encode([None, 10, 20, 30, 40], bottom="20", top="30").domain
    low, high = domain.snap(pl.Series([1, 1, 2]).to_numpy(), pl.Series([4, 3, 4]).to_numpy())
    assert domain.render_intervals(low, high).to_list() == ["*", "<=30", ">=20"]


def allows(name):
    return not ALGORITHMS[name].releases_one_value and name not in ("safepub", "mingen", "tree", "mincut")


@pytest.mark.parametrize("name", [*filter(allows, ALGORITHMS)])
def test_no_algorithm_writes_what_lies_beyond(name):
    release = shoal.anonymize(
        AGES, quasi=["age", "sex"], k=4, algorithm=name, suppress=0.2, top={"age": 80}, bottom={"age": 20}
    )
    numbers = release.frame["age"].str.extract_all(r"[0-9]+").explode().drop_nulls().cast(int)
    assert numbers.min() >= 20
    assert numbers.max() <= 80
    assert release.report.smallest_class >= 4


@pytest.mark.parametrize("render", ["label", "interval", "set", "code"])
def test_every_way_to_write_ranges_takes_edges(render):
    release = shoal.anonymize(AGES, quasi=["age"], others="drop", k=4, render=render, top={"age": "20%"})
    written = " ".join(release.frame["age"])
    assert ">" not in written if render == "code" else ">" in written


def test_on_disk_the_edges_are_the_same(tmp_path):
    AGES.write_csv(tmp_path / "ages.csv")
    asked = {"quasi": ["age", "sex"], "k": 4, "algorithm": "mondrian", "top": {"age": "5%"}}
    there = shoal.anonymize(tmp_path / "ages.csv", memory="1GB", output=tmp_path / "r.csv", **asked)
    here = shoal.anonymize(tmp_path / "ages.csv", **asked)
    assert any(">" in age for age in here.frame["age"])
    assert sorted(there.frame.collect()["age"]) == sorted(here.frame["age"])


def test_later_rows_keep_the_edge_that_was_found():
    release = shoal.anonymize(
        AGES, quasi=["age"], others="drop", k=4, top={"age": "10%"}, bottom={"age": "18"}
    )
    saved = release.saved_recoding()
    edge = saved.recipe.top["age"]
    assert not edge.endswith("%")
    later = pl.DataFrame({"age": [120] * 4 + [3] * 4})
    written = saved.apply(later, earlier=release.frame).frame["age"].to_list()
    assert all(text.startswith(">") for text in written[:4])
    assert all(text.startswith("<") for text in written[4:])


def test_people_of_a_population_are_found_beyond_an_edge():
    population = pl.DataFrame({"age": [75, 80, 85, 30, 31, 32, 33], "sex": ["f"] * 7})
    people = pl.DataFrame({"age": [80, 82, 31, 32], "sex": ["f"] * 4})
    goal = [shoal.KMap(3, population=population)]
    release = shoal.anonymize(people, quasi=["age", "sex"], models=goal, top={"age": "70"})
    assert release.frame["age"].to_list()[:2] == [">70", ">70"]
    assert release.report.models[0].achieved == 3


def test_expanded_an_open_end_is_missing():
    frame = pl.DataFrame({"age": [">70", "<=18", "[20-35]", "41", "*"]})
    assert shoal.expand(frame).rows() == [(70, None), (None, 18), (20, 35), (41, 41), (None, None)]


def test_an_attack_reads_one_side_of_an_edge():
    release = shoal.anonymize(AGES, quasi=["age", "sex"], k=4, top={"age": "60"}, bottom={"age": "20"})
    assert shoal.attack(release.frame, AGES, quasi=["age", "sex"]).outcomes


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"top": {"city": "5"}}, "not among 'age'"),
        ({"top": {"age": ""}}, "is a value or a share"),
        ({"top": {"age": "0%"}}, "above 0%"),
        ({"top": {"age": "x%"}}, "above 0%"),
        ({"top": {"age": "70"}, "render": "bounds"}, "here numbers are released"),
        ({"top": {"age": "70"}, "algorithm": "microaggregate"}, "here numbers are released"),
        ({"top": {"age": "5%"}, "models": ["k-map(k=2,population=x.csv)"]}, "name values instead"),
        ({"top": {"age": "70"}, "algorithm": "lattice(coding=age=20..60)"}, "leave out either"),
    ],
)
def test_a_recipe_refuses_edges_that_cannot_be(asked, told):
    with pytest.raises(RecipeError, match=told):
        shoal.anonymize(AGES, quasi=["age"], others="drop", k=2, **asked)


@pytest.mark.parametrize(
    ("values", "edges", "told"),
    [
        (["a", "b"], {"top": "5"}, "is string"),
        ([1, 2, 3], {"top": "old"}, "not finite numbers"),
        ([1, 2, 3], {"top": "1", "bottom": "3"}, "lie both"),
    ],
)
def test_a_table_refuses_edges_that_it_does_not_have(values, edges, told):
    with pytest.raises(InputError, match=told):
        encode(values, **edges)


def test_no_edges_beside_a_hierarchy():
    trees = {"age": [(str(age), "young" if age < 40 else "old") for age in AGES["age"].unique()]}
    with pytest.raises(InputError, match="has a hierarchy"):
        shoal.anonymize(AGES, quasi=["age"], others="drop", k=2, top={"age": "70"}, hierarchies=trees)
