"""``shoal teach``."""

import json
import re

import pytest

from shoal.teach import LESSONS


def write_four(shoal) -> None:
    (shoal.folder / "four.csv").write_text("age,sex,pay\n37,f,1\n50,m,2\n58,f,3\n44,m,4\n", "utf-8")


def test_list(shoal):
    out = shoal.succeeds("teach")
    assert out == shoal.succeeds("teach", "list")
    assert [line.split()[0] for line in out.splitlines()] == list(LESSONS)
    assert list(json.loads(shoal.succeeds("teach", "list", "--json"))["lessons"]) == list(LESSONS)


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_lesson_runs_without_a_table(shoal, lesson):
    more = ("--population", 20, "--generations", 20) if lesson == "evolution" else ()
    out = shoal.succeeds("teach", lesson, *more, "-o", "page.html")
    assert re.search(r"^  k\s+\d", out, re.MULTILINE)
    assert "The player is in page.html" in out
    assert "<!doctype html>" in (shoal.folder / "page.html").read_text("utf-8")


def test_a_table_of_ones_own(shoal):
    write_four(shoal)
    found = json.loads(shoal.succeeds("teach", "brute-force", "four.csv", "-s", "pay", "--json"))
    assert (found["tables"], found["tables_of_all_columns"], found["columns"]) == (
        9216,
        9216 * 16,
        ["age", "sex"],
    )
    assert len(found["tables_found"]) == found["solutions"] == 1


def test_switches(shoal):
    write_four(shoal)
    visited = {}
    for switch in (("--no-prune",), ("--prune", "score"), ("--prune", "k"), ("--prune", "both"), ()):
        out = shoal.succeeds("teach", "brute-force", "four.csv", "-s", "pay", *switch)
        visited[switch[-1] if switch else ""] = int(re.search(r"visited\s+([\d,]+)", out)[1].replace(",", ""))
    assert visited["--no-prune"] > visited["score"] > visited["both"] == visited[""]
    assert visited["--no-prune"] > visited["k"] > visited["both"]
    out = shoal.succeeds("teach", "brute-force", "four.csv", "-s", "pay", "--cache")
    assert re.search(r"cache, matches, hits\s+[\d,]+", out)


def test_roles_types_weights_and_domains_as_elsewhere(shoal):
    write_four(shoal)
    out = shoal.succeeds(
        *("teach", "brute-force", "four.csv", "--roles", "q,q,s", "--types", "i,s", "--weights", "1,20"),
        *("--loss", "distortion", "--meaning", "classes", "--rows", 4),
    )
    assert "classes" in out
    assert re.search(r"1 +\* +f", out)  # sex is dear, so ages go


def test_lists_by_position_are_those_of_the_columns_that_are_taken(shoal):
    (shoal.folder / "pay.csv").write_text("pay,age,sex\n1,37,f\n2,50,m\n3,58,f\n4,44,m\n", "utf-8")
    run = ("teach", "brute-force", "pay.csv", "-s", "pay", "--loss", "distortion", "--json")
    plain, heavy = (
        json.loads(shoal.succeeds(*run, "--weights", weights))["loss"] for weights in ("1,1", "1,20")
    )
    assert heavy >= plain == json.loads(shoal.succeeds(*run))["loss"]
    told = shoal.fails(2, *run[:-1], "--weights", "1,1,5")
    assert "--weights has 3 entries, but there are 2 quasi-identifiers" in told
    assert json.loads(shoal.succeeds(*run, "--weights", "1,1,5", "--lenient"))["loss"] == plain


def test_a_table_that_is_too_large_is_refused_in_a_sentence(shoal):
    rows = "".join(f"{i},{7 * i % 31},{'xyz'[i % 3]}\n" for i in range(101))
    (shoal.folder / "large.csv").write_text(f"a,b,c\n{rows}", "utf-8")
    assert "the table has 101 rows, and a lesson takes 100 at most" in shoal.fails(
        2, "teach", "bounds", "large.csv"
    )
    told = shoal.fails(2, "teach", "brute-force", "large.csv", "--rows", 40)
    assert re.search(r"there are \d\.\d·10\^\d+ tables", told)
    assert "visit 1 state at least, not 0" in shoal.fails(2, "teach", "brute-force", "--iterations", 0)


def test_the_shipped_people_take_the_same_options(shoal):
    (shoal.folder / "jobs.txt").write_text("job/all: cook, mason, teacher\n", "utf-8")
    for more, tables in (
        (("--quasi", "sex,job"), 1296),
        (("--roles", "i,q,q,i,i"), 1296),
        (("--quasi", "age", "--types", "s"), 16),
        (("--quasi", "job", "--domains", "jobs.txt"), 16),
    ):
        assert json.loads(shoal.succeeds("teach", "brute-force", *more, "--json"))["tables"] == tables
    heavy = json.loads(shoal.succeeds("teach", "brute-force", "--weight", "age=5", "--json"))
    assert heavy["loss"] > json.loads(shoal.succeeds("teach", "brute-force", "--json"))["loss"]


def test_trace_and_json(shoal):
    out = shoal.succeeds("teach", "bounds", "--trace")
    assert "change        Row 1 becomes" in out
    found = json.loads(shoal.succeeds("teach", "bounds", "--trace", "--json"))
    assert found["steps"][0]["kind"] == "change"
    assert "steps" not in json.loads(shoal.succeeds("teach", "bounds", "--json"))


def test_what_goes_wrong(shoal):
    write_four(shoal)
    assert "did you mean 'brute-force'" in shoal.fails(2, "teach", "brute-forse")
    assert "--population means nothing to brute-force: it is for evolution" in shoal.fails(
        2, "teach", "brute-force", "--population", 50
    )
    assert "give --prune or --no-prune" in shoal.fails(
        2, "teach", "brute-force", "--prune", "k", "--no-prune"
    )
    assert "unknown pruning 'score2'" in shoal.fails(2, "teach", "brute-force", "--prune", "score2")
    told = shoal.fails(2, "teach", "brute-force", "--rows", 12)
    assert re.search(r"there are [\d,]{20,} tables", told)
    assert "--iterations" in told
    assert "name it with .html" in shoal.fails(2, "teach", "bounds", "-o", "page.txt")
    assert not (shoal.folder / "page.txt").exists()
    assert "unknown column 'town'" in shoal.fails(2, "teach", "brute-force", "four.csv", "-q", "town")
