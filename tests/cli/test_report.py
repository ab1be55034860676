"""``--report``: a page with a release, and the release checked against the page."""

import json
import re
from pathlib import Path

import pytest

ROLES = ("-q", "age,sex,zip", "-s", "illness", "--identifier", "name")


@pytest.fixture
def made(shoal, people):
    """A release and its page."""
    shoal.succeeds(
        "anonymize", people, *ROLES, "-k", 3, "-o", "release.csv", "--report", "report.html", "--quiet"
    )
    return Path("release.csv"), Path("report.html")


def test_the_page_is_written_beside_the_release(made):
    text = made[1].read_text("utf-8")
    assert "All 12 rows are released" in text
    assert not re.search(r"\bAda\b", text)
    assert "input = &quot;people.csv&quot;" in text


def test_rows_of_the_original_only_on_request(shoal, people, made):
    assert ">was " not in made[1].read_text("utf-8")
    shoal.succeeds("anonymize", people, *ROLES, "-k", 3, "--report", "r.html", "--excerpt", "--quiet")
    assert ">was " in Path("r.html").read_text("utf-8")
    assert "Ada" not in Path("r.html").read_text("utf-8")


def test_a_release_is_checked_against_its_page(shoal, made):
    out = shoal.succeeds("verify", made[0], "--report", made[1])
    assert "the goal holds" in out
    assert "report.html: the report is about this release" in out
    assert "SHA-256" in out
    found = json.loads(shoal.succeeds("verify", made[0], "--report", made[1], "--json"))
    assert found["holds"]
    assert found["report"]["same"]
    assert [check["what"] for check in found["report"]["checks"]] == [
        "SHA-256 of the content",
        "rows",
        "classes",
        "smallest class",
        "k(k=3)",
    ]


def test_another_release_does_not_fit(shoal, made, people):
    text = made[0].read_text()
    made[0].write_text(text.replace("asthma", "cold", 1))
    done = shoal("verify", made[0], "--report", made[1])
    assert done.code == 3
    assert "the goal holds" in done.out
    assert "the report does not fit" in done.out
    done = shoal("verify", people, "--report", made[1], "--json")
    found = json.loads(done.out)
    assert done.code == 3
    assert not found["holds"]
    assert not found["report"]["same"]
    different = {check["what"] for check in found["report"]["checks"] if not check["same"]}
    assert {"SHA-256 of the file", "classes", "smallest class", "k(k=3)"} <= different


def test_a_page_whose_figures_were_changed(shoal, made):
    text = made[1].read_text("utf-8")
    made[1].write_text(re.sub(r'"smallest_class": \d+', '"smallest_class": 99', text), "utf-8")
    done = shoal("verify", made[0], "--report", made[1])
    assert done.code == 3
    assert re.search(r"smallest class +99 +3 +✗ different", done.out)


def test_a_goal_may_be_added(shoal, made):
    done = shoal("verify", made[0], "--report", made[1], "-k", 9)
    assert done.code == 3
    assert "the report is about this release" in done.out


def test_the_release_in_another_format(shoal, people):
    shoal.succeeds("anonymize", people, *ROLES, "-k", 3, "-o", "r.parquet", "--report", "r.html", "--quiet")
    shoal.succeeds("anonymize", people, *ROLES, "-k", 3, "-o", "r.csv", "--quiet")
    assert "is about this release" in shoal.succeeds("verify", "r.csv", "--report", "r.html")


def test_a_recipe_can_have_a_page(shoal, people):
    shoal.succeeds("anonymize", people, *ROLES, "-k", 3, "--recipe-out", "recipe.toml", "--quiet")
    shoal.succeeds("run", "recipe.toml", "-o", "r.csv", "--report", "r.html", "--quiet")
    assert "is about this release" in shoal.succeeds("verify", "r.csv", "--report", "r.html")


def test_a_page_in_another_folder_finds_its_files(shoal, people):
    Path("pages").mkdir()
    shoal.succeeds("anonymize", people, *ROLES, "-k", 3, "-o", "r.csv", "--report", "pages/r.html", "--quiet")
    assert "../people.csv" in Path("pages/r.html").read_text("utf-8")
    assert "is about this release" in shoal.succeeds("verify", "r.csv", "--report", "pages/r.html")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--report", "r.txt"), "name it with .html"),
        (("--report", "nowhere/r.html"), "there is no folder nowhere"),
        (("--excerpt",), "name that as well"),
    ],
)
def test_bad_pages_are_refused_before_anything_is_read(shoal, people, arguments, said):
    assert said in shoal.fails(2, "anonymize", people, *ROLES, "-k", 3, *arguments)


def test_a_page_does_not_replace_the_table(shoal, write, people):
    table = write("people.html", people.read_text())
    assert "cannot be both" in shoal.fails(2, "anonymize", table, *ROLES, "-k", 3, "--report", table)


def test_bad_reports_to_check(shoal, made, people):
    assert "cannot read the report" in shoal.fails(2, "verify", made[0], "--report", "none.html")
    assert "is no report of Shoal" in shoal.fails(2, "verify", made[0], "--report", people)
    assert "give --recipe or --report" in shoal.fails(
        2, "verify", made[0], "--report", made[1], "--recipe", "x"
    )
    assert "give roles by --report or" in shoal.fails(2, "verify", made[0], "--report", made[1], "-q", "age")
    text = made[1].read_text("utf-8")
    for damaged in (
        '{"figures": 3}',
        "[]",
        "{",
        '{"recipe": "x", "figures": {"models": [3]}, "release": {}}',
    ):
        block = f'id="shoal-report">{damaged}</script>'
        made[1].write_text(re.sub(r'id="shoal-report">.*?</script>', block, text), "utf-8")
        assert "damaged" in shoal.fails(2, "verify", made[0], "--report", made[1])
