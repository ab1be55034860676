"""The commands risk, suggest and compare."""

import json
import os
import signal
import subprocess
import sys

import polars as pl
import pytest

QUASI = ["-q", "age,sex"]


def test_risk_tells_the_danger(shoal, people):
    roles = ("-q", "zip,sex", "-s", "illness", "--identifier", "name")
    out = shoal.succeeds("risk", people, *roles, "--details")
    words = " ".join(out.split())
    assert "12 rows in 10 classes, the smallest of 1" in words
    assert "finds the row for certain for 8 (66.67 %)" in words
    assert "prosecutor marketer worst row 100.00 % average 83.33 % 83.33 %" in words
    assert "not known without --population, --sampling-fraction or --weight-column" in words
    assert "k = 5 ✗ not met" in words
    assert "source: 45 CFR 164.514(b)(2)" in words
    assert "distinct-l, p-sensitive 1" in words
    for line in ("age 100.00 % 66.67 %",):
        assert line in words  # one column more, and all rows stand alone
    # In short: the same verdicts, without models and sources.
    summary = shoal.succeeds("risk", people, *roles)
    brief = " ".join(summary.split())
    assert "prosecutor marketer worst row 100.00 % average 83.33 % 83.33 %" in brief
    assert "k = 5 ✗ not met" in brief
    assert "164.514" not in brief
    assert "distinct-l" not in brief
    assert "--details shows" in brief
    assert len(summary.splitlines()) < len(out.splitlines()) / 2


def test_a_summary_of_many_columns_names_those_that_tell_most(shoal, write):
    names = [f"c{at}" for at in range(9)]
    rows = [[row % (at + 2) for at in range(8)] + [row if row < 20 else 0] for row in range(200)]
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    table = write("wide.csv", "\n".join(lines))
    out = shoal.succeeds("risk", table, "-q", "c0,c1")
    said, sets = out.partition("Columns that tell rows apart most")[2].split("Sets of columns")
    listed = [line.split()[0] for line in said.splitlines() if line.strip().startswith("c")]
    # The last one is the same in most rows, but a tenth of the rows stand alone by it.
    assert listed == ["column", "c8", "c7", "c6", "c5", "c4", "c3"]
    assert sets.partition("Common demands")[0].count("c8, ") + sets.count(", c8") > 0
    whole = shoal.succeeds("risk", table, "-q", "c0,c1", "--details")
    said = whole.partition("How each column tells rows apart")[2].split("If one column more")[0]
    assert [line.split()[0] for line in said.splitlines() if line.strip().startswith("c")][1:] == names
    assert len(out.splitlines()) < len(whole.splitlines()) / 2


def test_risk_of_a_release_is_lower(shoal, people):
    shoal.succeeds(
        "anonymize", people, *QUASI, "--identifier", "name", "-k", 3, "-o", "release.csv", "--quiet"
    )
    before = json.loads(shoal.succeeds("risk", people, *QUASI, "--json"))
    after = json.loads(shoal.succeeds("risk", "release.csv", *QUASI, "--json"))
    assert (before["prosecutor"]["maximum"], before["smallest_class"]) == (1.0, 1)
    assert after["prosecutor"]["maximum"] <= 1 / 3
    assert after["measures"]["k"] >= 3


def test_risk_without_quasi_identifiers_takes_those_suggested(shoal, people):
    found = json.loads(shoal.succeeds("risk", people, "--json"))
    assert (found["quasi"], found["sensitive"]) == (["age", "sex", "zip"], ["illness"])
    assert "name" not in [each["columns"][0] for each in found["sets"]["columns"]]
    assert "shoal suggest" in found["warnings"][0]


def test_risk_with_a_population_or_a_fraction(shoal, people, write):
    everybody = write("everybody.csv", people.read_text() + people.read_text().partition("\n")[2])
    found = json.loads(shoal.succeeds("risk", people, *QUASI, "--population", everybody, "--json"))
    assert (found["population"], found["journalist"]["maximum"], found["measures"]["k_map"]) == (
        "table",
        0.5,
        2,
    )
    found = json.loads(shoal.succeeds("risk", people, *QUASI, "--sampling-fraction", 0.5, "--json"))
    assert found["population_uniques"]["population"] == 24
    words = " ".join(shoal.succeeds("risk", people, *QUASI, "--sampling-fraction", 0.05, "--details").split())
    assert "← taken, by Dankar's rule" in words
    assert "estimated from the share" in words


def test_risks_of_the_rows_go_to_a_file(shoal, people, tmp_path):
    shoal.succeeds("risk", people, "-q", "zip", "-o", "risks.csv", "--quiet")
    written = pl.read_csv(tmp_path / "risks.csv", infer_schema=False)
    assert written.columns == ["name", "age", "sex", "zip", "illness", "class_size", "prosecutor_risk"]
    assert written["prosecutor_risk"].to_list() == ["0.5"] * 12
    assert written["zip"][0] == "01001"


def test_thresholds_and_sizes_can_be_said(shoal, people):
    found = json.loads(
        shoal.succeeds(
            "risk", people, *QUASI, "--threshold", 0.4, "--threshold", 0.1, "--largest", 2, "--json"
        )
    )
    assert [each["threshold"] for each in found["prosecutor"]["above"]] == [0.1, 0.4]
    assert [each["size"] for each in found["sets"]["sizes"]] == [2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-q", "agee"], "did you mean 'age'"),
        (["-q", "age", "--sampling-fraction", 3], "above 0 and up to 1, not 3"),
        (["-q", "age", "--sampling-fraction", 0.1, "--population", "p.csv"], "not both"),
        (["-q", "age", "--population", "p.csv"], "the population cannot be read"),
        (["-q", "age", "--threshold", 7], "from 0 to below 1, not 7"),
        (["-q", "age", "--largest", 0], "at least 1, not 0"),
        (["-q", "age", "-o", "people.csv"], "is an input of this run"),
        (["-q", "age", "-o", "no/risks.csv"], "there is no folder"),
        (["-q", "age", "--roles", "q"], "not both"),
        (["-q", "age", "-s", "age"], "both quasi and sensitive"),
        (["-q", "age", "--identifier", "idd"], "unknown column 'idd'"),
    ],
)
def test_risk_refuses_in_one_paragraph(shoal, people, arguments, message):
    assert message in shoal.fails(2, "risk", people, *arguments)


@pytest.mark.parametrize("command", ["risk", "suggest"])
def test_what_is_no_table(shoal, write, command):
    assert "is empty" in shoal.fails(2, command, write("empty.csv", ""))
    assert "no rows" in shoal.fails(2, command, write("head.csv", "a,b\n"))
    assert "no such file" in shoal.fails(2, command, "nowhere.csv")


def test_suggest_explains_and_its_recipe_runs(shoal, people, tmp_path):
    words = " ".join(shoal.succeeds("suggest", people, "-o", "recipe.toml").split())
    assert "name string 12 identifier name, by its name: it names the person" in words
    assert "illness string 3 sensitive" in words
    assert "What to do shoal run recipe.toml" in words
    assert "# postcode, by its name" in (tmp_path / "recipe.toml").read_text()
    shoal.succeeds("run", "recipe.toml", "--quiet")
    assert (tmp_path / "people-released.csv").read_text().startswith("age,sex,zip,illness\n")


def test_suggest_without_a_file_shows_the_command(shoal, people):
    out = shoal.succeeds("suggest", people)
    (line,) = [line for line in out.splitlines() if line.startswith("  shoal anonymize")]
    assert "--quasi age,sex,zip --sensitive illness --identifier name -k 5" in line


def test_suggest_as_json(shoal, people):
    found = json.loads(shoal.succeeds("suggest", people, "--json"))
    assert (found["quasi"], found["sensitive"], found["identifier"]) == (
        ["age", "sex", "zip"],
        ["illness"],
        ["name"],
    )


def test_suggest_where_there_is_nothing_to_suggest(shoal, write):
    path = write("numbers.csv", "x,y\n1.5,2.5\n2.5,3.5\n")
    assert "no column was found" in " ".join(shoal.succeeds("suggest", path).split())
    assert "there is no recipe" in shoal.fails(2, "suggest", path, "-o", "recipe.toml")


def test_suggest_does_not_overwrite_the_table(shoal, people):
    assert "is an input of this run" in shoal.fails(2, "suggest", people, "-o", "people.csv")


COMPARE = ["-q", "age,sex", "-s", "illness", "--identifier", "name", "-a", "mondrian", "-a", "hilbert"]


def test_compare_shows_every_setting(shoal, people, tmp_path):
    out = shoal.succeeds("compare", people, *COMPARE, "-k", "2..3", "-l", "1,2", "--plot", "front.svg")
    lines = [line.split() for line in out.splitlines() if line.strip().startswith(("mondrian", "hilbert"))]
    assert [line[:2] for line in lines] == [[name, k] for name in ("mondrian", "hilbert") for k in "2233"]
    assert out.startswith(
        "people.csv: 8 of 8 settings tried, by age, sex\n".replace("people.csv", str(people))
    )
    assert "* no other setting" in out
    assert (tmp_path / "front.svg").read_text().startswith("<svg")


def test_compare_as_json_with_a_page(shoal, people, tmp_path):
    found = json.loads(
        shoal.succeeds("compare", people, *COMPARE, "-k", "2,20", "--plot", "f.html", "--json")
    )
    assert [each["status"] for each in found["results"]] == ["done", "out of reach"] * 2
    assert found["results"][0]["max_risk"] <= 0.5
    assert "<table>" in (tmp_path / "f.html").read_text("utf-8")


def test_compare_by_another_loss_and_with_suppression(shoal, people):
    line = [*COMPARE, "-k", "3", "--loss", "discernibility", "--suppress", "0.2", "--jobs", 2]
    out = shoal.succeeds("compare", people, *line)
    assert "discernib" in out  # the heading is folded
    assert "suppressed" in out


def test_compare_by_survey_weights(shoal, write):
    table = write("survey.csv", "age,weight\n" + "".join(f"{20 + i},{1 + 9 * (i < 3)}\n" for i in range(9)))
    line = ["-q", "age", "-k", "3", "-a", "mondrian", "--weight-column", "weight"]
    assert "by weights" in " ".join(shoal.succeeds("compare", table, *line).split())
    (found,) = json.loads(shoal.succeeds("compare", table, *line, "--json"))["results"]
    # Four rows over 3/8 of the ages, who stand for 31 people, and five over 4/8, who stand for five.
    assert found["loss"] == pytest.approx((4 * 3 / 8 + 5 * 4 / 8) / 9)
    assert found["weighted_loss"] == pytest.approx((31 * 3 / 8 + 5 * 4 / 8) / 36)
    assert "unknown column" in shoal.fails(2, "compare", table, *line[:-1], "wage")


def test_compare_where_no_goal_is_in_reach(shoal, people):
    done = shoal("compare", people, *COMPARE, "-k", "20", "--plot", "front.svg")
    assert done.code == 3
    assert "no goal can be met" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-q", "agee"], "did you mean 'age'"),
        ([], "say which columns"),
        (["-q", "age", "-a", "magic"], "unknown algorithm 'magic'"),
        (["-q", "age", "-k", "few"], "not 'few'"),
        (["-q", "age", "-k", "0"], "k must be at least 1, not 0"),
        (["-q", "age", "-k", "3", "--l", "4"], "every l is above every k"),
        (["-q", "age", "--plot", "front.png"], "name it with .html or .svg"),
        (["-q", "age", "--plot", "no/front.svg"], "there is no folder"),
        (["-q", "age", "--model", "z"], "unknown privacy model 'z'"),
        (["-q", "age", "--loss", "pain"], "unknown loss 'pain'"),
    ],
)
def test_compare_refuses_in_one_paragraph(shoal, people, arguments, message):
    assert message in shoal.fails(2, "compare", people, *arguments)


# The command line, which says so when a first setting is done.
TELLING = """
import contextlib, sys
import shoal.cli, shoal.cli.screen

@contextlib.contextmanager
def progress(hidden):
    yield lambda doing, done: print(doing, file=sys.stderr, flush=True)

shoal.cli.screen.progress = progress
shoal.cli.main()
"""


@pytest.mark.exhaustive
def test_an_interrupt_of_compare_shows_what_is_done(people, tmp_path):
    line = [sys.executable, "-c", TELLING, "compare", "people.csv", "-q", "age,sex", "-a", "mondrian"]
    line += ["-k", ",".join(map(str, range(2, 900))), "--json"]
    running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert running.stderr is not None
    assert running.stderr.readline() == "comparing\n"
    os.kill(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted" in err
    found = json.loads(out)["results"]
    assert len(found) == 898
    assert (found[0]["status"], found[-1]["status"]) == ("done", "not done")


def test_risk_with_survey_weights_strata_and_wildcards(shoal, write):
    table = write("survey.csv", "age,sex,region,w\n30,f,N,10\n30,f,S,20\n*,f,N,5\n40,m,S,7.5\n")
    asked = ("risk", table, *QUASI, "--weight-column", "w", "--strata", "region", "--wildcard", "*")
    found = json.loads(shoal.succeeds(*asked, "--json"))
    assert (found["population"], found["survey"]["people"], found["unique_rows"]) == ("weights", 42.5, 1)
    assert [(each["values"], each["rows"]) for each in found["strata"]] == [(["N"], 2), (["S"], 2)]
    words = " ".join(shoal.succeeds(*asked, "-o", "risks.csv").split())
    assert "stand for 42 people, and at least 7.5 of them fit any row (k-map)" in words
    assert "The risk by stratum" in words
    header = (table.parent / "risks.csv").read_text().partition("\n")[0]
    assert header.endswith("class_size,fitting_rows,weighted_frequency,prosecutor_risk,journalist_risk")
    error = shoal.fails(2, "risk", table, *QUASI, "--weight-column", "region")
    assert "region" in error
