"""The page as text: well-formed, complete, and silent about what is not to be told."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import InputError, OutputError
from shoal.privacy import MODELS
from shoal.report import prose
from shoal.report.audit import Audit, compute_content_checksum, embed_json
from shoal.report.page import draw_page

PEOPLE = pl.DataFrame(
    {
        "name": [f"Name-{i}" for i in range(12)],
        "age": [21, 22, 23, 31, 34, 35, 51, 52, 57, 58, 59, 59],
        "sex": list("fmmfmfmmfffm"),
        "note": ["remark"] * 12,
        "illness": ["flu", "cold", "flu", "asthma", "cold", "flu"] * 2,
    }
)
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Checks that every element is closed, and gathers text and elements."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.text.append(data)


def parsed(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def release(frame=PEOPLE, **settings):
    given = {"quasi": ["age", "sex"], "sensitive": ["illness"], "identifier": ["name"], "k": 3}
    given["others"] = "keep"
    return shoal.anonymize(frame, **(given | settings))


def drawn(made, **options):
    return draw_page(made.report, made.report.evidence, **options)


def test_everything_is_there():
    made = release(l=2, models=["t(t=0.5)"])
    told = " ".join(parsed(drawn(made)).text)
    for heading in (
        "What was promised",
        "What the release as a whole gives away",
        "A look at the release",
        "What it cost",
        "How far values were generalised",
        "Rows of the release by the size of their class",
        "Every quasi-identifier, before and after",
        "What a class tells about sensitive values",
        "What the guarantee does not cover",
        "To do it again",
        "For the auditor",
    ):
        assert heading in told
    assert "All 12 rows are released" in told
    assert f"The goal holds, but {made.report.open_findings[0].headline}" in told
    assert "every promise verified" not in told
    assert "t = 0.5 was asked for" in told
    assert made.recipe.to_toml() in told
    assert f"Shoal {shoal.__version__}" in told
    assert compute_content_checksum(made.frame) in told
    assert "note" in told  # named among the columns that nothing protects
    assert all(warning in told for warning in made.report.warnings)


def test_known_rows_of_people_are_drawn_before_and_after():
    whose = PEOPLE.with_columns(who=pl.Series([i // 3 for i in range(12)]))
    settings = {"person": "who", "k": 2, "algorithm": "mondrian"}
    text = drawn(release(whose, **settings))
    told = " ".join(" ".join(parsed(text).text).split())
    assert "People who are found by rows that somebody knows" in told
    assert "known unique before after fewer than 5 people before after 1 row 100 % 0 %" in told
    assert "each known row can only be looked for by itself" in told
    assert "estimated from 4 people drawn at random" in told
    assert 'aria-label="People who are unique by known rows, before and after"' in text
    assert "People who are found" not in drawn(release())


def test_rows_that_still_stand_alone_are_not_kept_quiet_about():
    people = pl.DataFrame({"age": [20, 20, 20, 20, 90], "sex": ["f"] * 5, "illness": ["flu"] * 5})
    made = release(people, k=None, models=["uniqueness(share=0.5)"], identifier=[], algorithm="mondrian")
    alone = replace(made.report.evidence, frame=people)  # whatever the search was content with
    told = " ".join(parsed(draw_page(made.report, alone)).text)
    assert "Now 20\N{NO-BREAK SPACE}% do; somebody who knows that one of these is in the release" in told


def test_it_is_whole_in_itself():
    found = parsed(drawn(release()))
    addresses = [value for _, attrs in found.seen for name, value in attrs.items() if name in ("src", "href")]
    assert addresses == []
    assert [attrs for tag, attrs in found.seen if tag == "script"] == [
        {"type": "application/json", "id": "shoal-report"}
    ]
    assert "url(" not in drawn(release())
    assert "@import" not in drawn(release())


def test_names_and_unasked_rows_are_not_told():
    made = release()
    plain, asked = drawn(made), drawn(made, original=True)
    assert "Name-" not in plain
    assert "Name-" not in asked
    assert "remark" not in asked
    assert ">was " not in plain
    assert ">was " in asked
    # The recipe and a picture may have numbers; a list of values as they were only comes on request.
    assert ", 34," not in plain


@pytest.mark.parametrize(
    "evil", ["<u>x</u>", "</script><script>", "a&lt;b", "--><!--", '"><svg onload=x>', "\u2028"]
)
def test_nothing_of_the_table_becomes_markup(evil):
    frame = PEOPLE.with_columns(sex=pl.lit(evil), illness=pl.Series([evil, "b"] * 6)).rename(
        {"age": f"a{evil}"}
    )
    made = release(frame, quasi=[f"a{evil}", "sex"])
    before = {tag for tag, _ in parsed(drawn(release(), original=True)).seen}
    found = parsed(drawn(made, original=True))
    assert {tag for tag, _ in found.seen} <= before | {"i"}
    assert all(not name.startswith("on") for _, attrs in found.seen for name in attrs)
    assert any(evil in text for text in found.text)
    assert parsed(made.report._repr_html_())


def test_json_in_a_page_cannot_end_its_block():
    block = embed_json({"a": "</script><!-- & \u2028"})
    inside = block.removeprefix('<script type="application/json" id="shoal-report">').removesuffix(
        "</script>"
    )
    assert not set("<>&\u2028") & set(inside)
    assert json.loads(inside) == {"a": "</script><!-- & \u2028"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"sensitive": []},
        {"algorithm": "mingen", "quasi": ["age"], "models": ["k(k=2)"], "k": None},
        {"algorithm": "microaggregate", "quasi": ["age"]},
        {"k": 12},
        {"suppress": 0.4, "k": 4},
        {"render": "set"},
        {"render": "representative"},
        {"models": ["k(k=2)"], "k": None, "algorithm": "mingen(semantics=matching)"},
    ],
    ids=str,
)
def test_every_kind_of_run_has_a_page(settings):
    assert parsed(drawn(release(**settings), original=True))


def test_safepub_has_a_page():
    tree = shoal.Hierarchy.from_rows([(str(age), "young" if age < 50 else "old", "*") for age in range(120)])
    frame = pl.concat([PEOPLE.select("age")] * 400)
    made = shoal.anonymize(
        frame,
        others="keep",
        quasi=["age"],
        models=["safepub(epsilon=2,delta=0.001)"],
        algorithm="safepub(levels=age=1)",
        hierarchies={"age": tree},
        types={"age": "integer"},
    )
    found = " ".join(parsed(drawn(made)).text)
    assert "differential" in found


def test_frames_of_every_kind(tmp_path):
    made = release(PEOPLE.to_pandas())
    made.report.to_html(tmp_path / "r.html")
    made.write(tmp_path / "r.csv")
    audit = Audit.from_page(tmp_path / "r.html")
    assert audit.recipe.quasi == ("age", "sex")
    assert audit.release["content"] == compute_content_checksum(pl.from_pandas(made.frame))
    assert isinstance(made.frame, pd.DataFrame)


def test_a_page_that_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match="no folder"):
        release().report.to_html(tmp_path / "nowhere" / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_a_report_without_its_table_draws_no_page(tmp_path):
    from shoal.learn import TreeAnonymizer

    x = PEOPLE.select("age").to_pandas()
    anonymizer = TreeAnonymizer(3).fit(x, PEOPLE["sex"].to_list())
    assert anonymizer.report_.evidence is None  # it would be pickled with the estimator
    with pytest.raises(InputError, match="without its table"):
        anonymizer.report_.to_html(tmp_path / "r.html")
    assert "classes" in anonymizer.report_._repr_html_()


def test_the_content_is_the_same_in_every_format(tmp_path):
    made = release(PEOPLE.with_columns(note=pl.Series([None, "", "a,b", '"', "1.0", "x"] * 2)))
    sums = set()
    for name in ("r.csv", "r.tsv", "r.parquet", "r.jsonl", "r.csv.gz"):
        made.write(tmp_path / name)
        from shoal.table import read_table

        sums.add(compute_content_checksum(read_table(tmp_path / name).frame))
    assert sums == {compute_content_checksum(made.frame)}
    assert compute_content_checksum(made.frame.reverse()) not in sums


@pytest.mark.parametrize("name", MODELS)
def test_every_model_says_what_it_does_and_does_not_give(name):
    assert prose.explain_model(name).endswith(".")
    assert len(prose.explain_limits(name)) > 30


def test_numbers_in_words():
    assert prose.format_share(0.2) == "20\N{NO-BREAK SPACE}%"
    assert prose.format_share(0.0712) == "7.1\N{NO-BREAK SPACE}%"
    assert (prose.format_odds(1.0), prose.format_odds(0.2), prose.format_odds(0.0)) == (
        "certainty",
        "1 in 5",
        "none",
    )
    assert prose.format_odds(0.19) == "1 in 5.3"
    assert (prose.join_names(["a"]), prose.join_names(["a", "b", "c"])) == ("a", "a, b and c")
    assert (prose.format_count(1, "row", "rows"), prose.format_count(1200, "row", "rows")) == (
        "1 row",
        "1,200 rows",
    )
