"""Every option of ``shoal anonymize`` does what it says."""

import json
from collections import Counter
from datetime import date
from time import sleep

import polars as pl
import pytest

from shoal.table import read_table

# In INTERFACE.md; those that are not under models, algorithm, loss and seconds.
KEYS = {
    "rows", "released_rows", "suppressed_rows", "classes", "smallest_class", "quasi", "sensitive", "models",
    "algorithm", "loss", "ncp", "optimal", "lower_bound", "solutions", "nodes", "search_space", "seconds",
    "seed", "warnings", "output",
}  # fmt: skip


def report(shoal, *arguments: object) -> dict:
    """The JSON of a run, which is all there is on standard output."""
    out = shoal.succeeds("anonymize", *arguments, "--json")
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def released(shoal, *arguments: object) -> list[tuple[str, ...]]:
    """The lines of a release, cell by cell, header first."""
    shoal.succeeds("anonymize", *arguments, "-o", "release.csv", "--quiet")
    frame = pl.read_csv(shoal.folder / "release.csv", infer_schema=False, has_header=False)
    return frame.rows()


def column(lines: list[tuple[str, ...]], name: str) -> list[str]:
    return [line[lines[0].index(name)] for line in lines[1:]]


# What is shown


def test_json_has_every_key_that_was_promised(shoal, people):
    found = report(shoal, people, "-q", "age,sex", "-s", "illness", "-k", 3, "--l", 2, "-o", "release.csv")
    assert found.keys() >= KEYS
    assert found["rows"] == found["released_rows"] == 12
    assert (found["quasi"], found["sensitive"]) == (["age", "sex"], ["illness"])
    assert [set(model) for model in found["models"]] == [{"name", "asked", "achieved", "holds"}] * 2
    assert found["models"][0]["asked"] == {"k": 3}
    assert found["models"][1]["asked"] == {"l": 2, "column": "illness"}
    assert all(model["holds"] for model in found["models"])
    assert found["algorithm"].keys() == {"name", "parameters"}
    assert found["loss"].keys() >= {"name", "value"}
    assert found["seconds"].keys() == {"read", "search", "recode", "verify", "write", "total"}
    assert found["output"] == "release.csv"
    assert 0 < found["ncp"] < 1


def test_reading_is_part_of_the_time(shoal, people, monkeypatch):
    def slowly(*arguments, **named):
        sleep(0.2)
        return read_table(*arguments, **named)

    monkeypatch.setattr("shoal.cli.arguments.read_table", slowly)
    spent = report(shoal, people, "-q", "age", "-k", 3)["seconds"]
    assert spent["total"] >= spent["read"] >= 0.2


@pytest.mark.slow
def test_json_is_one_object_whatever_there_is_to_warn_of(process, write):
    table = write("table.csv", "age,same,note\n1,x,=1+1\n2,x,b\n3,x,c\n4,x,d\n")
    done = process("anonymize", table, "-q", "age,same", "-k", 2, "-o", "release.csv", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    warnings = " ".join(json.loads(done.stdout)["warnings"])
    assert "'same' has one value only" in warnings
    assert "a different value in every row" in warnings
    assert "cells that a spreadsheet would run as a formula: 1 in 'note'" in warnings


@pytest.mark.slow
def test_quiet_prints_nothing(process, people):
    done = process("anonymize", people, "-q", "age,sex", "-k", 3, "-o", "release.csv", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_output_nothing_is_written(shoal, people, files):
    before = files()
    assert "not written; -o FILE would keep the release" in shoal.succeeds(
        "anonymize", people, "-q", "age", "-k", 3
    )
    assert files() == before


@pytest.mark.parametrize("width", [80, 120])
def test_the_report_fits_the_terminal(shoal, people, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    out = shoal.succeeds(
        "anonymize", people, "-q", "age,sex,zip", "-s", "illness", "-k", 3, "--l", 2, "-o", "release.csv"
    )
    assert max(map(len, out.splitlines())) <= width
    for part in ("12 of 12 rows released in", "of the detail", "k = 3", "l = 2, column = illness"):
        assert part in out
    assert "The goal holds, but 100 % of the rows are unique" in out
    for part in ("✓ holds", "all columns", "unique-rows", "seconds: read", "written to"):
        assert part in out


def test_the_path_of_the_release_is_never_broken(shoal, people):
    deep = shoal.folder / "/".join(["a folder with a long name"] * 5)
    deep.mkdir(parents=True)
    out = shoal.succeeds("anonymize", people, "-q", "age", "-k", 3, "-o", deep / "release.csv")
    assert f"written to {deep}/release.csv\n" in out


def test_what_looks_like_markup_is_shown_as_it_is(shoal, write):
    write("table.csv", "[bold]age[/],note\n1,a\n2,b\n3,c\n")
    out = shoal.succeeds(
        "anonymize", "table.csv", "-q", "[bold]age[/]", "-k", 3, "-o", "[red]r[/red].csv"[-9:]
    )
    assert "[bold]age[/]" in out


# Roles


def test_roles_by_name(shoal, people):
    lines = released(
        shoal, people, "-q", "age,sex", "-q", "zip", "-s", "illness", "--identifier", "name", "-k", 3
    )
    assert lines[0] == ("age", "sex", "zip", "illness")
    assert min(Counter(line[:3] for line in lines[1:]).values()) >= 3
    assert column(lines, "illness")[:4] == ["flu", "cold", "flu", "asthma"]


@pytest.mark.parametrize("roles", ["x,q,q,q,s", "x,q,q,,s", " x , q,q,q,s"])
def test_roles_by_position(shoal, people, roles):
    by_name = released(
        shoal, people, "-q", "age,sex,zip", "-s", "illness", "--identifier", "name", "-k", 3, "--l", 2
    )
    assert released(shoal, people, "--roles", roles, "-k", 3, "--l", 2) == by_name


def test_roles_that_are_not_said_by_position_are_quasi(shoal, people):
    assert report(shoal, people, "--roles", "x,i", "-k", 3)["quasi"] == ["sex", "zip", "illness"]


def test_plain_columns_pass_without_a_warning(shoal, people):
    found = report(shoal, people, "-q", "age", "--plain", "name,sex", "--plain", "zip,illness", "-k", 3)
    assert found["warnings"] == []


def test_a_column_whose_name_has_a_comma_or_a_space(shoal, write):
    write("table.csv", '"a, b", c\n1,2\n3,4\n')
    assert report(shoal, "table.csv", "-q", "a, b", "-q", " c", "-k", 2)["quasi"] == ["a, b", " c"]
    assert report(shoal, "table.csv", "-q", " c", "-k", 2)["quasi"] == [" c"]


# Types and orders


@pytest.mark.parametrize("types", [("--types", ",,,i"), ("--type", "zip=int"), ("--type", "zip=integer")])
def test_types(shoal, people, types):
    assert column(released(shoal, people, "-q", "zip", "-k", 12), "zip") == ["*"] * 12
    kinds = report(shoal, people, "-q", "zip", "-k", 4)["columns"]["zip"]
    assert kinds["type"] == "string"  # leading zeros make it a code
    kinds = report(shoal, people, "-q", "zip", "-k", 4, *types)["columns"]["zip"]
    assert kinds["type"] == "integer"


def test_a_type_by_name_overrides_one_by_position(shoal, people):
    found = report(shoal, people, "-q", "zip,age", "-k", 4, "--types", "s,s,s,s,s", "--type", "zip=f")
    assert [found["columns"][name]["type"] for name in ("zip", "age")] == ["float", "string"]


def test_dates(shoal, write):
    days = [date(2024, 1, 1 + 3 * i).isoformat() for i in range(8)]
    write("table.csv", "day\n" + "\n".join(days) + "\n")
    lines = released(shoal, "table.csv", "-q", "day", "-k", 4)
    assert column(lines, "day") == ["[2024-01-01..2024-01-10]"] * 4 + ["[2024-01-13..2024-01-22]"] * 4


@pytest.mark.parametrize("how", [(), ("--type", "size=ordered"), ("--types", "o")])
def test_the_order_of_an_ordered_column(shoal, write, how):
    write("table.csv", "size\nS\nXL\nM\nL\n")
    lines = released(shoal, "table.csv", "-q", "size", "-k", 2, "--order", "size=S,M,L,XL", *how)
    cells = column(lines, "size")
    assert cells[0] == cells[2] != cells[1] == cells[3]


# Hierarchies, in each format

TREES = {
    "a folder": {"trees/zip.csv": "01001;01;*\n01002;01;*\n01003;01;*\n02001;02;*\n02002;02;*\n02003;02;*\n"},
    "column=path": {"places.txt": "01001;01;*\n01002;01;*\n01003;01;*\n02001;02;*\n02002;02;*\n02003;02;*\n"},
    "domains": {"domains.txt": "zip/01: 01001, 01002, 01003\nzip/02: 02001, 02002, 02003\n"},
    "toml": {
        "trees.toml": '[zip]\n"01" = ["01001", "01002", "01003"]\n"02" = ["02001", "02002", "02003"]\n',
    },
}
SOURCES = {
    "a folder": "trees",
    "column=path": "zip=places.txt",
    "domains": "domains.txt",
    "toml": "trees.toml",
}


@pytest.mark.parametrize("option", ["--hierarchies", "--domains"])
@pytest.mark.parametrize("kind", SOURCES)
def test_hierarchies(shoal, people, write, kind, option):
    for name, content in TREES[kind].items():
        write(name, content)
    lines = released(shoal, people, "-q", "zip", "-k", 6, option, SOURCES[kind])
    assert column(lines, "zip") == ["01"] * 6 + ["02"] * 6


def test_hierarchies_from_several_places(shoal, people, write):
    write("zip.csv", TREES["a folder"]["trees/zip.csv"])
    write("trees/sex.csv", "m;any\nf;any\n")
    found = report(
        shoal, people, "-q", "zip,sex", "-k", 6, "--hierarchies", "zip.csv", "--hierarchies", "trees"
    )
    assert {name: each["kind"] for name, each in found["columns"].items()} == {"zip": "tree", "sex": "tree"}


def test_a_broken_hierarchy_is_named_with_its_line(shoal, people, write):
    write("zip.csv", "01001;01;*\n01002;01;*\n01001;02;*\n")
    said = shoal.fails(2, "anonymize", people, "-q", "zip", "-k", 2, "--hierarchies", "zip.csv")
    assert "zip.csv" in said
    assert "line 3" in said
    assert "01001" in said


def test_values_that_a_hierarchy_does_not_have_are_warned_of(shoal, people, write):
    write("zip.csv", "01001;01;*\n01002;01;*\n")
    found = report(shoal, people, "-q", "zip", "-k", 2, "--hierarchies", "zip.csv")
    assert any("the hierarchy does not have '01003'" in warning for warning in found["warnings"])


# The goal and the search


def test_models_hold_together(shoal, people):
    found = report(
        shoal, people, "-q", "age", "-s", "illness", "-k", 2, "-m", "k(k=4)", "-m", "distinct-l(l=3)"
    )
    assert found["smallest_class"] >= 4
    assert [model["name"] for model in found["models"]] == ["k", "k", "distinct-l"]


def test_algorithm_and_its_parameters(shoal, people):
    found = report(
        shoal, people, "-q", "age", "-k", 3, "-a", "mondrian", "--set", "cut=nearest", "--set", "mode=relaxed"
    )
    assert found["algorithm"] == {"name": "mondrian", "parameters": {"mode": "relaxed", "cut": "nearest"}}


@pytest.mark.parametrize(
    "loss", ["ncp", "certainty", "distortion", "discernibility", "class-size", "entropy"]
)
def test_losses(shoal, people, loss):
    assert report(shoal, people, "-q", "age,sex", "-k", 3, "--loss", loss)["loss"]["name"] == loss


def test_another_loss_than_ncp_stands_in_the_headline(shoal, people):
    out = shoal.succeeds("anonymize", people, "-q", "age,sex", "-k", 3, "--loss", "discernibility")
    assert ", discernibility " in out


@pytest.mark.parametrize("weights", [("--weights", "1,50"), ("--weights", ",50"), ("--weight", "sex=50")])
def test_weights_spare_a_column(shoal, people, weights):
    found = report(shoal, people, "-q", "age,sex", "-k", 3, *weights)
    assert found["columns"]["sex"]["ncp"] == 0
    found = report(shoal, people, "-q", "age,sex", "-k", 3, "--weights", "50,1")
    assert found["columns"]["sex"]["ncp"] > 0


def test_category_order(shoal, people):
    found = report(shoal, people, "-q", "zip", "-k", 3, "--category-order", "appearance")
    assert any("ordered by first appearance" in note for note in found["notes"])


def test_seed_and_threads_are_taken(shoal, people):
    assert report(shoal, people, "-q", "age", "-k", 3, "--seed", 7, "--threads", 2)["seed"] == 7


# Reading


def test_na_and_missing(shoal, write):
    write("table.csv", "age,sex\n1,f\n2,?\n3,f\n4,-9\n5,m\n6,m\n7,f\n")
    goal = ("table.csv", "-q", "age,sex", "-k", 2)
    assert report(shoal, *goal)["rows"] == report(shoal, *goal)["released_rows"] == 7
    found = report(shoal, *goal, "--na", "?", "--na", "-9", "--missing", "drop")
    assert (found["rows"], found["dropped_rows"], found["released_rows"]) == (7, 2, 5)
    said = shoal.fails(2, "anonymize", *goal, "--na", "?", "--missing", "error")
    assert "values are missing in 'sex', first in row 2" in said
    out = shoal.succeeds("anonymize", *goal, "--na", "?", "--na", "-9", "--missing", "drop")
    assert "5 of 7 rows released (2 dropped)" in out


def test_a_table_without_a_header(shoal, write):
    write("table.csv", "21,f\n22,f\n51,m\n52,m\n")
    lines = released(shoal, "table.csv", "--no-header", "-q", "column_1", "-k", 2)
    assert lines == [("[21-22]", "f"), ("[21-22]", "f"), ("[51-52]", "m"), ("[51-52]", "m")]
    shoal.succeeds("verify", "release.csv", "--no-header", "--roles", "q,i", "-k", 2)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_release_has_the_delimiter_and_encoding_of_the_input(shoal, write, delimiter, encoding):
    table = "age,sex\n21,männlich\n22,weiblich\n51,weiblich\n52,männlich\n".replace(",", delimiter)
    write("table.csv", table.encode(encoding))
    shoal.succeeds("anonymize", "table.csv", "-q", "age", "-k", 2, "-o", "release.csv")
    wanted = table.replace("21", "[21-22]").replace("\n22", "\n[21-22]")
    wanted = wanted.replace("51", "[51-52]").replace("\n52", "\n[51-52]")
    assert (shoal.folder / "release.csv").read_bytes() == wanted.encode(encoding)


def test_another_delimiter_where_told(shoal, people):
    shoal.succeeds("anonymize", people, "-q", "age", "-k", 6, "-o", "release.csv", "--out-delimiter", ";")
    assert (shoal.folder / "release.csv").read_text().startswith("name;age;sex;zip;illness\nAda;[21-35];f")
    shoal.succeeds("anonymize", people, "-q", "age", "-k", 6, "-o", "release.tsv")
    assert (shoal.folder / "release.tsv").read_text().startswith("name\tage\tsex\tzip\tillness\nAda\t[21-35]")


def test_what_is_stated_is_not_detected(shoal, write):
    write("table.txt", "a,b;c\n1,2;3\n1,2;4\n")
    assert report(shoal, "table.txt", "--delimiter", ",", "-q", "a", "-k", 2)["quasi"] == ["a"]
    assert report(shoal, "table.txt", "--delimiter", ";", "-q", "c", "-k", 2)["quasi"] == ["c"]
    write("latin.csv", "a,b\n1,\xe4\n2,\xe4\n".encode("latin-1"))
    assert "not utf-8" in shoal.fails(2, "anonymize", "latin.csv", "-q", "a", "-k", 2, "--encoding", "utf-8")


# The release


@pytest.mark.parametrize(
    ("render", "age", "sex", "zip"),
    [
        ("label", "[21-35]", "*", "01"),
        ("interval", "[21-35]", "*", "[01001..01003]"),
        ("set", "{21, 22, 23, 31, 34, 35}", "*", "{01001, 01002, 01003}"),
        ("representative", "23", "f", "01001"),
    ],
)
def test_renders(shoal, people, write, render, age, sex, zip):
    write("zip.csv", TREES["a folder"]["trees/zip.csv"])
    lines = released(
        shoal, people, "-q", "age,sex,zip", "-k", 6, "--hierarchies", "zip.csv", "--render", render
    )
    assert lines[1][1:4] == (age, sex, zip)


def test_formulas_are_warned_of_and_neutralised_on_request(shoal, write):
    table = "age,note\n1,=1+1\n2,-5\n3,@x\n4,plain\n"
    write("table.csv", table)
    goal = ("table.csv", "-q", "age", "-k", 4, "-o", "release.csv")
    assert "! cells that a spreadsheet would run as a formula: 2 in 'note'; --safe-csv" in shoal.succeeds(
        "anonymize", *goal
    )
    text = (shoal.folder / "release.csv").read_text()
    assert text == "age,note\n*,=1+1\n*,-5\n*,@x\n*,plain\n"
    assert "formula" not in shoal.succeeds("anonymize", *goal, "--safe-csv")
    text = (shoal.folder / "release.csv").read_text()
    assert text == "age,note\n*,'=1+1\n*,-5\n*,'@x\n*,plain\n"


WRITERS = {
    "csv": pl.DataFrame.write_csv,
    "csv.gz": lambda frame, path: frame.write_csv(path, compression="gzip", check_extension=False),
    "parquet": pl.DataFrame.write_parquet,
    "arrow": pl.DataFrame.write_ipc,
    "jsonl": pl.DataFrame.write_ndjson,
    "xlsx": pl.DataFrame.write_excel,
}


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "parquet", "arrow", "jsonl", "xlsx"])
def test_formats(shoal, people, suffix):
    """A table goes through every format and back, and the release is always the same."""
    goal = ("-q", "age,sex", "-s", "illness", "-k", 3)
    wanted = released(shoal, people, *goal)
    shoal.succeeds("anonymize", people, *goal, "-o", f"release.{suffix}")
    shoal.succeeds("verify", f"release.{suffix}", *goal)
    assert read_table(shoal.folder / f"release.{suffix}").frame.rows() == wanted[1:]
    if suffix in WRITERS:
        frame = pl.read_csv(people, schema_overrides={"zip": pl.String})
        WRITERS[suffix](frame, shoal.folder / f"table.{suffix}")
        assert released(shoal, f"table.{suffix}", *goal) == wanted


def test_a_column_that_is_left_out_may_hold_anything(shoal):
    frame = pl.DataFrame({"age": [20, 20, 30, 30] * 5, "parts": [[i] for i in range(20)]})
    frame.write_parquet(shoal.folder / "in.parquet")
    line = ("anonymize", "in.parquet", "-q", "age", "-k", 2, "--quiet")
    for way in (
        ("--identifier", "parts"),
        ("--others", "drop"),
        ("--identifier", "parts", "--report", "a.html"),
    ):
        shoal.succeeds(*line, *way, "-o", "out.parquet", "--recipe-out", "recipe.toml")
        assert pl.read_parquet("out.parquet").columns == ["age"]
    shoal.succeeds("run", "recipe.toml", "--report", "b.html", "--quiet")
    shoal.succeeds(*line, "--plain", "parts", "-o", "kept.parquet")
    assert pl.read_parquet("kept.parquet")["parts"].to_list() == frame["parts"].to_list()
    assert "'parts'" in shoal.fails(2, *line, "--plain", "parts", "-o", "out.csv")
    assert "'parts'" in shoal.fails(2, *line, "--sensitive", "parts", "--l", 2, "-o", "out.parquet")
    assert "unknown column 'part'" in shoal.fails(2, *line, "--identifier", "part", "-o", "out.parquet")
