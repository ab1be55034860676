"""Common demands: met and not met, each with its source and its limits."""

import polars as pl
import pytest

import shoal


def met(table: pl.DataFrame, quasi: list[str], **settings: object) -> dict[str, bool]:
    return {each.name: each.holds for each in shoal.risk(table, quasi, **settings).presets}


@pytest.mark.parametrize(
    ("rows", "expected"), [(4, []), (5, ["k = 5"]), (11, ["k = 5", "k = 11", "EMA / Health Canada 0.09"])]
)
def test_sizes_of_classes(rows, expected):
    found = met(pl.DataFrame({"a": ["x"] * rows + ["y"] * 30}), ["a"])
    assert [name for name, holds in found.items() if holds and name != "HIPAA Safe Harbor"] == expected


def test_twenty_is_the_strictest():
    assert all(met(pl.DataFrame({"a": ["x"] * 20 + ["y"] * 30}), ["a"]).values())


def test_every_preset_has_a_source_and_says_what_it_does_not_promise():
    found = shoal.risk(pl.DataFrame({"a": ["x", "y"]}), ["a"]).presets
    assert len(found) == 5
    assert all(each.source and each.not_promised and each.asks and each.found for each in found)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", [34, 95]),
        ("age", ["[31-36]", "[85-94]"]),
        ("dob", ["1980-02-01", "1971-03-02"]),
        ("birth_month", [2, 12]),
        ("zip", ["02139", "10115"]),
        ("email", ["a@b.org", "c@d.org"]),
        ("contact", ["a@b.org", "c@d.org"]),
        ("city", ["Ulm", "Bern"]),
        ("visit", ["2024-01-02", "2024-01-03"]),
        ("when", ["2024-01-02", "2024-01-03"]),
        ("name", ["Ada", "Bob"]),
    ],
)
def test_safe_harbor_forbids(name, values):
    found = shoal.risk(pl.DataFrame({name: values, "x": ["u", "v"]}), ["x"])
    preset = found.presets[-1]
    assert not preset.holds
    assert name in preset.found


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", [34, 89]),
        ("age", ["[31-36]", "[80-89]"]),
        ("birth_year", [1980, 1971]),
        ("zip", ["021**", "101**"]),
        ("state", ["MA", "NY"]),
        ("education", ["school", "none"]),
        ("email", ["", ""]),
    ],
)
def test_safe_harbor_allows(name, values):
    assert met(pl.DataFrame({name: values, "x": ["u", "v"]}), ["x"])["HIPAA Safe Harbor"]


def test_what_is_left_out_does_not_count():
    table = pl.DataFrame({"name": ["Ada", "Bob"], "x": ["u", "v"]})
    assert not met(table, ["x"])["HIPAA Safe Harbor"]
    assert met(table, ["x"], identifier=["name"])["HIPAA Safe Harbor"]
