"""Releases with pseudonyms: what is told, what is refused, and what is never written."""

import json
import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli import app
from shoal.engines.api import anonymize, run, verify
from shoal.engines.linked import verify_pseudonyms
from shoal.engines.memory import MemoryEngine
from shoal.errors import GoalNotMet, InputError, InternalError, OutputError, RecipeError
from shoal.table import read_table
from shoal.verification.linked import LinkedRows, verify_linked

KEY = "a key that is long enough"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", KEY)


def visits(people=30, each=3, seed=0):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), each)
    return pl.DataFrame(
        {
            "id": [f"P{who}" for who in person],
            "sex": np.array(["f", "m"])[person % 2],
            "age": rng.integers(20, 60, person.size),
            "ill": rng.choice(["flu", "cold", "gout"], person.size),
        }
    )


ASKED = {"quasi": ["sex", "age"], "sensitive": ["ill"], "person": "id", "pseudonym": True, "k": 3}


def test_the_report_counts_people(tmp_path):
    table = pl.concat([visits(), visits(1, 7, 5).with_columns(pl.lit("P99").alias("id"))])
    report = anonymize(table, knows="all", suppress=0.1, **ASKED).report
    plain = report.to_dict()
    assert (plain["people"], plain["people_left_out"], plain["suppressed_rows"]) == (31, 0, 4)
    assert (
        "static columns, the same in all rows of every person: sex; others, and for how many of the 31 "
        "people with several rows they change: age (31)"
    ) in report.notes
    few = anonymize(
        pl.concat([visits(), visits(2, 1).with_columns(pl.lit("x").alias("id"))]),
        knows="all",
        suppress=0.1,
        **ASKED,
    ).report
    assert few.people_left_out == 1
    assert "all rows of 1 people were left out" not in few.notes
    assert "all rows of one person were left out" in few.notes
    # a row that is left out costs all of its detail
    assert report.ncp >= 4 / table.height


@pytest.mark.parametrize("knows", [1, 2, "all"])
def test_a_page_can_be_drawn_where_people_were_left_out(knows, tmp_path):
    table = pl.concat([visits(2, 1, 9).with_columns(pl.lit("a").alias("id") + pl.col("id")), visits()])
    release = anonymize(table, knows=knows, suppress=0.1, **ASKED)
    assert release.report.people_left_out == (0 if knows == 1 else 2)
    release.report.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "The rows of a person stay together under a pseudonym" in page
    assert f"finds {release.report.smallest_class} people or more" in page


def test_the_key_is_nowhere(tmp_path):
    table = visits().with_columns(pl.lit("Miller").alias("id") + pl.col("id"))
    release = anonymize(table, knows="all", output=tmp_path / "out.csv", **ASKED)
    release.report.to_html(tmp_path / "page.html", excerpt=True)
    told = [
        (tmp_path / "out.csv").read_text(),
        (tmp_path / "page.html").read_text(),
        release.recipe.to_toml(),
        json.dumps(release.report.to_dict()),
        repr(release),
        repr(pickle.dumps(release)),
    ]
    assert not any(KEY in text or "Miller" in text for text in told)


def test_with_one_row_each_only_the_pseudonym_is_added(tmp_path):
    table = visits(40, 1)
    plain = {name: value for name, value in ASKED.items() if name not in ("person", "pseudonym")}
    anonymize(table, identifier=["id"], output=tmp_path / "rows.csv", l=2, **plain)
    for knows in (1, 2, "all"):
        release = anonymize(table, knows=knows, output=tmp_path / "people.csv", l=2, **ASKED)
        assert release.report.people is None
        written = pl.read_csv(tmp_path / "people.csv", infer_schema=False)
        assert written.drop("id").equals(pl.read_csv(tmp_path / "rows.csv", infer_schema=False))
        assert written["id"].n_unique() == 40


def test_missing_ids_are_people_of_their_own(tmp_path):
    table = visits().with_columns(id=pl.when(pl.col("age") > 55).then(None).otherwise(pl.col("id")))
    missing = table["id"].null_count()
    release = anonymize(table, output=tmp_path / "out.csv", **ASKED)
    assert (
        f"'id' is missing in {missing} rows: each of them counts as a person of its own"
        in release.report.warnings
    )
    written = pl.read_csv(tmp_path / "out.csv")
    assert written["id"].null_count() == 0
    assert written["id"].n_unique() == table["id"].n_unique() - 1 + missing == release.report.people


def test_a_person_with_half_of_all_rows():
    table = pl.concat([visits(30, 1), visits(1, 30, 3).with_columns(pl.lit("P99").alias("id"))])
    assert anonymize(table, **ASKED).report.smallest_class >= 3
    with pytest.raises(GoalNotMet, match=r"29 rows would have to be left out, 48 % of all"):
        anonymize(table, knows="all", **ASKED)
    report = anonymize(table, knows="all", suppress=0.5, **ASKED).report
    assert (report.people, report.released_rows) == (31, 31)
    with pytest.raises(GoalNotMet, match="combinations of 2 rows that fewer than 3 people have"):
        anonymize(table, knows=2, **ASKED)
    assert anonymize(table, knows=2, suppress=0.5, **ASKED).report.smallest_class >= 3


def test_people_who_have_had_every_illness():
    table = visits(12, 3).with_columns(ill=pl.Series(["flu", "cold", "gout"] * 12))
    assert anonymize(table, knows="all", **ASKED).report.smallest_class >= 3
    more = pl.concat([table, visits(20, 1).with_columns(pl.col("id") + "x")])
    with pytest.raises(
        GoalNotMet, match=r"not all 12 people with 3 released rows together satisfy distinct-l"
    ):
        anonymize(more, knows="all", l=2, **ASKED)


def test_k_above_the_number_of_people():
    with pytest.raises(GoalNotMet, match="k = 31, but the table has 30 people"):
        anonymize(visits(), **{**ASKED, "k": 31})


def test_a_static_column_that_varies_for_some_is_named():
    table = visits().with_row_index()
    table = table.with_columns(sex=pl.when(pl.col("index") == 4).then(pl.lit("m")).otherwise("sex")).drop(
        "index"
    )
    table = table.with_columns(
        sex=pl.when(pl.col("id") == "P1").then(pl.Series(["f", "m"] * 45)).otherwise("sex")
    )
    warnings = anonymize(table, **ASKED).report.warnings
    assert any(
        "'sex' is the same in all rows of a person, but not for 1 of the 30 people" in each
        for each in warnings
    )


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"l": 2}, "distinct-l can be kept with pseudonyms only if knows is 'all', not 1"),
        ({"t": 0.2, "knows": 2}, "t can be kept with pseudonyms only if knows is 'all', not 2"),
        ({"models": ["uniqueness(share=0.1)"], "knows": 2}, "uniqueness is about classes"),
        ({"render": "set"}, "render is 'label' or 'interval', not 'set'"),
        ({"algorithm": "datafly"}, "datafly makes no release with pseudonyms"),
        ({"algorithm": "mingen"}, "mingen makes no release with pseudonyms"),
        ({"knows": 0}, "knows is a number of rows, 1 or more, or 'all', not '0'"),
        ({"knows": "some"}, "knows is a number of rows, 1 or more, or 'all', not 'some'"),
        (
            {"knows": 2, "pseudonym": False},
            "without a pseudonym the rows of a person cannot be brought together",
        ),
        ({"key_file": "x", "pseudonym": False}, "key_file is for rows that a pseudonym keeps together"),
        ({"align": "age", "pseudonym": False}, "align is for rows that a pseudonym keeps together"),
        ({"person": None, "identifier": ["id"]}, "pseudonym needs a person"),
        ({"align": "agee"}, "unknown column 'agee'"),
        ({"memory": "1GB", "output": "x.csv"}, "with a memory limit there is no place for a pseudonym"),
    ],
)
def test_what_cannot_be_combined_is_refused(asked, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits().write_csv("in.csv")
    with pytest.raises(RecipeError, match=why):
        anonymize("in.csv", **{**ASKED, **asked})


def test_no_key_no_pseudonym(monkeypatch):
    monkeypatch.delenv("SHOAL_KEY")
    with pytest.raises(RecipeError, match="a pseudonym needs a secret key"):
        anonymize(visits(), **ASKED)


def test_the_key_file_is_not_overwritten(tmp_path):
    with pytest.raises(OutputError):
        anonymize(visits(), key_file=tmp_path / "key.csv", output=tmp_path / "key.csv", **ASKED)


def test_a_recipe_does_the_same_again(tmp_path):
    visits().write_csv(tmp_path / "in.csv")
    asked = {"key_file": tmp_path / "key", "knows": 2, "align": "age", "output": tmp_path / "one.csv"}
    release = anonymize(tmp_path / "in.csv", **ASKED, **asked)
    (tmp_path / "recipe.toml").write_text(release.recipe.to_toml(tmp_path))
    assert "knows = 2\n" in (tmp_path / "recipe.toml").read_text()
    again = shoal.Recipe.from_toml(tmp_path / "recipe.toml")
    run(replace(again, output=str(tmp_path / "two.csv")))
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    found = verify(tmp_path / "two.csv", recipe=again)
    assert (found.holds, found.people) == (True, 30)
    with pytest.raises(InputError, match="unknown column 'id'"):
        verify(pl.read_csv(tmp_path / "two.csv").drop("id"), recipe=again)


def test_the_command_line_makes_and_verifies_them(tmp_path):
    visits().write_csv(tmp_path / "in.csv")
    out, key = str(tmp_path / "out.csv"), str(tmp_path / "key")
    roles = ["-q", "sex,age", "-s", "ill", "--person", "id", "-k", "3"]
    linked = ["--pseudonym", "--key-file", key, "--knows", "all", "-o", out, "--json"]
    made = CliRunner().invoke(app, ["anonymize", str(tmp_path / "in.csv"), *roles, *linked])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["people"] == 30
    for knows in ("1", "2", "all"):
        found = CliRunner().invoke(app, ["verify", out, *roles, "--knows", knows, "--json"])
        assert (found.exit_code, json.loads(found.stdout)["people"]) == (0, 30)
    found = CliRunner().invoke(app, ["verify", str(tmp_path / "in.csv"), *roles, "--knows", "2", "--json"])
    assert (found.exit_code, json.loads(found.stdout)["holds"]) == (3, False)
    refused = CliRunner().invoke(app, ["verify", out, "-q", "sex,age", "-k", "3", "--knows", "2"])
    assert isinstance(refused.exception, RecipeError)


def test_a_release_that_breaks_its_promise_is_refused(monkeypatch, tmp_path):
    """A search that mixes up two people is found out by the count."""
    search = MemoryEngine.search

    def spoil(self, subject, on_progress):
        proposal = search(self, subject, on_progress)
        class_of = proposal.class_of.copy()
        # somebody gets a row of their own in every column
        class_of[0] = class_of.max() + 1
        return replace(proposal, class_of=class_of)

    monkeypatch.setattr(MemoryEngine, "search", spoil)
    with pytest.raises(GoalNotMet):
        anonymize(visits(), knows="all", output=tmp_path / "out.csv", **ASKED)
    assert not (tmp_path / "out.csv").exists()


def name_homes(homes):
    """In each home people of one sex, who could be in one class."""
    return pl.Series("home", [f"H{int(who[1:]) % homes}" for who in visits()["id"].to_list()])


@pytest.mark.parametrize("knows", [1, 2, "all"])
def test_a_search_that_forgets_households_is_found_out(monkeypatch, knows):
    search = MemoryEngine.search

    def forget(self, subject, on_progress):
        alone = replace(subject, problem=replace(subject.problem, group=None))
        return search(self, alone, on_progress)

    asked = {**ASKED, "knows": knows, "group": "home"}
    table = visits().with_columns(name_homes(14))
    assert anonymize(table, **asked).report.models[-1].achieved >= 3
    monkeypatch.setattr(MemoryEngine, "search", forget)
    with pytest.raises(GoalNotMet, match="groups"):
        anonymize(table, **asked)


def test_households_are_counted_in_a_table_that_has_them():
    table = visits().with_columns(name_homes(10), age=pl.lit(30))
    asked = {"quasi": ["sex", "age"], "person": "id", "k": 5}
    for knows in (1, 2, "all"):
        found = verify(table, **asked, knows=knows, group="home")
        assert found.holds
        assert [each.achieved for each in found.models] == [15, 5]
        one = verify(table.with_columns(home=pl.lit("H")), **asked, knows=knows, group="home")
        assert not one.holds
        assert [each.holds for each in one.models] == [True, False]
    with pytest.raises(InputError, match="unknown column 'hom'"):
        verify(table, **asked, knows=1, group="hom")


def test_who_has_the_release_is_told_that_households_were_not_counted():
    release = anonymize(visits().with_columns(name_homes(14)), group="home", **ASKED)
    found = verify(release.frame, recipe=release.recipe)
    assert found.notes == ("not checked, because 'home' is not in the release: groups(k=3)",)


@pytest.mark.parametrize("knows", [1, 2, "all"])
def test_households_of_people_with_one_row_each(tmp_path, knows):
    table = visits(40, 1).with_columns(home=pl.Series([f"H{at // 3}" for at in range(40)]))
    table = table.with_row_index("row")
    made = anonymize(table, output=tmp_path / "out.csv", plain=["row"], group="home", knows=knows, **ASKED)
    homes = {}
    for sex, age, row in made.frame.select("sex", "age", "row").iter_rows():
        homes.setdefault((sex, age), set()).add(table["home"][row])
    assert min(map(len, homes.values())) == made.report.models[-1].achieved >= 3


def test_pseudonyms_must_say_what_the_ids_say():
    release = anonymize(visits(), knows="all", **ASKED)
    table = read_table(release.frame)
    verify_pseudonyms(release.recipe, table, (release.person, None), release.static, release.columns)
    with pytest.raises(InternalError, match="do not tell the people apart as the ids do"):
        verify_pseudonyms(
            release.recipe, table, (release.person[::-1] // 2, None), release.static, release.columns
        )
    twice = read_table(release.frame.with_columns(pl.lit("p").alias("id")))
    with pytest.raises(InternalError, match="do not tell the people apart as the ids do"):
        verify_pseudonyms(release.recipe, twice, (release.person, None), release.static, release.columns)


def test_a_static_column_has_to_stay_static():
    """Who knows the sex can look into every row: three people by any one row can be one by all of them."""
    frame = pl.DataFrame({"sex": ["f", "*"] * 3, "age": [1, 2] * 3})
    linked = LinkedRows(np.repeat(np.arange(3), 2), 1, ("sex",))
    goal = (["sex", "age"], [], [shoal.KAnonymity(3)])
    assert verify_linked(read_table(frame), *goal, replace(linked, static=())).holds
    with pytest.raises(GoalNotMet, match="'sex' must be the same in all rows of a person"):
        verify_linked(read_table(frame), *goal, linked)


def test_what_all_rows_together_give_away_is_told():
    found = {each.id: each for each in anonymize(visits(), **ASKED).report.findings}
    assert found["linked-rows"].severity == "high"
    assert "more than one row" in found["linked-rows"].message
    assert "linked-rows" not in [f.id for f in anonymize(visits(), knows="all", **ASKED).report.findings]
    more = pl.concat([visits(), visits(2, 4, 1).with_columns(pl.col("id") + "x")])
    found = {each.id: each for each in anonymize(more, knows=1, **ASKED).report.findings}
    assert found["row-counts"].figure == pytest.approx(2 / 32)
    told = verify(anonymize(more, **ASKED).frame, quasi=["sex", "age"], person="id", knows=1, k=3).findings
    assert {"linked-rows", "row-counts"} <= {each.id for each in told}
