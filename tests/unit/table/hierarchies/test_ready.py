import re

import numpy as np
import polars as pl
import pytest

from shoal.errors import InputError
from shoal.table.hierarchies import READY, read_hierarchies, read_source, uncovered


@pytest.mark.parametrize("name", READY)
def test_no_label_stands_for_two_things(name):
    tree = read_source(f"@{name}")
    meant: dict[str, set[str]] = {}
    for level in range(tree.height + 1):
        for row in zip(tree.leaves, tree.labels(tree.leaves, level), strict=True):
            meant.setdefault(f"{level} {row[1]}", set()).add(row[0])
    by_label: dict[str, set[frozenset[str]]] = {}
    for key, leaves in meant.items():
        by_label.setdefault(key.split(" ", 1)[1], set()).add(frozenset(leaves))
    assert {label: parts for label, parts in by_label.items() if len(parts) > 1} == {}


def test_ages():
    tree = read_source("@ages")
    assert tree.leaves == tuple(map(str, range(121)))
    assert tree.to_rows()[37] == ("37", "35-39", "30-39", "20-39", "0-39", "*")
    assert tree.to_rows()[120] == ("120", "120+", "120+", "120+", "120+", "*")


def test_countries():
    names, two, three = (
        read_source(f"@{name}") for name in ("countries", "countries-alpha2", "countries-alpha3")
    )
    assert [len(tree.leaves) for tree in (names, two, three)] == [249] * 3
    assert all(re.fullmatch("[A-Z]{2}", code) for code in two.leaves)
    assert all(re.fullmatch("[A-Z]{3}", code) for code in three.leaves)
    assert names.names[2] == ("Africa", "Americas", "Asia", "Europe", "Oceania", "Antarctica")
    # The sizes of the 22 regions of M49, and Antarctica.
    sizes = dict(zip(names.names[1], np.bincount(names.nodes[1]).tolist(), strict=True))
    assert len(sizes) == 23
    assert (sizes["Western Europe"], sizes["Caribbean"], sizes["Eastern Africa"], sizes["Polynesia"]) == (
        9,
        28,
        22,
        10,
    )
    by_code = {code: names.to_rows()[at][:3] for at, code in enumerate(two.leaves)}
    assert by_code["FR"] == ("France", "Western Europe", "Europe")
    assert by_code["TW"] == ("Taiwan", "Eastern Asia", "Asia")
    assert by_code["MX"] == ("Mexico", "Central America", "Americas")
    assert by_code["NR"] == ("Nauru", "Micronesia", "Oceania")


def test_states():
    names, codes = read_source("@us-states"), read_source("@us-states-codes")
    assert len(names.leaves) == len(codes.leaves) == 51
    assert [len(level) for level in names.names] == [51, 9, 4, 1]
    assert dict(zip(codes.leaves, names.leaves, strict=True))["NC"] == "North Carolina"


def test_they_are_named_like_files():
    found = read_hierarchies("country=@countries", ["age", "country"])
    assert list(found) == ["country"]
    with pytest.raises(InputError, match="unknown ready-made hierarchy 'contries': did you mean 'countries'"):
        read_hierarchies("country=@contries", ["country"])
    with pytest.raises(InputError, match="which column is '@ages' for\\? Say so, as in 'years=@ages'"):
        read_hierarchies("@ages", ["years"])


def test_a_file_of_such_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "@ages").write_text("1;young;*\n")
    assert read_hierarchies("age=./@ages", ["age"])["age"].leaves == ("1",)


@pytest.mark.parametrize("column", ["age", "education", "marital-status"])
def test_they_cover_adult(shared_data, column):
    table = pl.read_csv(shared_data / "adult" / "adult_9col.csv", separator=";", infer_schema=False)
    name = "ages" if column == "age" else column
    assert uncovered(read_source(f"@{name}"), table[column].to_list()) == []
