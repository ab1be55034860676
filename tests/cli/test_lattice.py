"""Full-domain search from the command line."""

import json

import pytest

TABLE = "age,sex\n" + "".join(f"{age},{sex}\n" for age in (21, 24, 47, 49, 68, 90) for sex in "fm" * 2)


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text(TABLE)
    return str(tmp_path / "people.csv")


def test_levels_and_coding_are_set_and_reported(shoal, people):
    settings = ["--set", "levels=age=0..2,sex=0", "--set", "coding=age=..60", "--set", "others=1"]
    text = shoal.succeeds(
        "anonymize", people, "-q", "age,sex", "-k", "2", "-a", "lattice", *settings, "--json"
    )
    report = json.loads(text)
    assert report["levels"] == {"age": {"level": 0, "highest": 4}, "sex": {"level": 0, "highest": 1}}
    assert (report["optimal"], report["search_space"]) == (True, 3)
    assert sum(report["states"].values()) == 3
    assert report["tried"][0] == {"name": "0,0", "lost": pytest.approx(report["loss"]["value"])}


@pytest.mark.parametrize("algorithm", ["lattice", "datafly", "samarati"])
def test_levels_out_of_reach_end_with_three(shoal, people, algorithm):
    options = ["-k", "5", "--suppress", "0.1", "--set", "levels=age=0"]
    said = shoal.fails(3, "anonymize", people, "-q", "age,sex", "-a", algorithm, *options)
    assert "no permitted levels suppress at most 2 of 24 rows" in said
