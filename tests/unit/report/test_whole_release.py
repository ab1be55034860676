"""What a release gives away as a whole, in the page and in notebooks: said first, listed, and accepted."""

import json
import subprocess
import sys
from dataclasses import replace
from html import unescape

import polars as pl
import pytest

import shoal
from shoal.errors import InputError
from shoal.report.audit import BLOCK, Audit
from shoal.report.whole_release import accept_in_page, draw_findings, figure_text, sum_up
from shoal.verification.findings import Finding

COSTLY = "'cost' alone singles out 100 %"
BUT = f"The goal holds, but 100 % of the rows are unique in all that is released: {COSTLY}"


def people(**columns) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + i % 4 for i in range(40)],
            "illness": ["flu", "cold", "cough", "flu", "gout"] * 8,
            **columns,
        }
    )


def release(frame, **settings):
    given = {"quasi": ["age"], "sensitive": ["illness"], "others": "keep", "k": 4, "l": 2}
    return shoal.anonymize(frame, **(given | settings))


@pytest.fixture
def costly():
    return release(people(cost=[1000 + 7 * i for i in range(40)]))


@pytest.fixture
def drawn(tmp_path):
    def draw(made) -> str:
        made.report.to_html(tmp_path / "report.html")
        return unescape((tmp_path / "report.html").read_text("utf-8"))

    return draw


class TestHeadline:
    def test_an_open_finding_stands_before_everything_else_and_nothing_is_green(self, costly, drawn):
        for text in (drawn(costly), unescape(costly.report._repr_html_())):
            head = text[text.index("<header>") : text.index("</header>")]
            assert f"<b>{BUT}.</b>" in head
            assert 'class="alert warn"' in head
            assert "every promise verified" not in text
            assert "✓" not in text
            assert "class=good" not in text

    def test_without_findings_it_is_green_and_says_what_was_looked_for(self, drawn):
        made = release(people())
        assert made.report.findings == ()
        for text in (drawn(made), unescape(made.report._repr_html_())):
            assert '<span class="badge good">✓ every promise verified</span>' in text
            assert "<span class=good>✓ holds</span>" in text
            assert "Nothing was found. This was looked for: rows that are unique" in text

    def test_an_accepted_finding_is_no_warning_but_not_green_either(self, tmp_path):
        made = release(
            people(cost=list(range(40))), accept={"unique-rows": "they <b>signed</b>"}, strict=True
        )
        made.report.to_html(tmp_path / "raw.html")
        raw = (tmp_path / "raw.html").read_text("utf-8")
        assert "every promise verified; 1 severe finding was accepted" in raw
        assert "<b>Accepted:</b> they &lt;b&gt;signed&lt;/b&gt;" in raw
        assert "✓" not in raw
        assert BUT not in unescape(raw)

    def test_a_goal_that_does_not_hold_is_worse_than_any_finding(self):
        finding = Finding("unique-rows", "high", "x", 1.0, "y")
        assert sum_up(False, [finding]).kind == "bad"
        assert sum_up(True, [finding]).kind == "warn"
        assert sum_up(True, [replace(finding, accepted="z")]).kind == "decided"
        assert sum_up(True, [replace(finding, severity="medium")]).kind == "good"

    def test_more_than_one_are_counted(self, drawn):
        ages = sorted(20 + i % 20 for i in range(40))
        made = release(people(cost=list(range(40))).with_columns(age=pl.Series(ages)))
        severe = len(made.report.open_findings)
        assert severe > 1
        assert f"{severe - 1} more of high severity" in drawn(made)


class TestSection:
    def test_every_finding_has_severity_figure_message_and_remedy(self, costly, drawn):
        text = drawn(costly)
        for finding in costly.report.findings:
            assert f">{finding.severity}</span>" in text
            assert f"<b class=figure>{figure_text(finding)}</b>" in text
            assert finding.message[1:] in text
            assert f"<b>What to do:</b> {finding.remedy}." in text
        assert "<code>--accept unique-rows=REASON</code>" in text

    def test_only_what_is_severe_has_to_be_accepted(self):
        medium = Finding("row-order:a b", "medium", "x", 0.5, "y")
        assert "--accept" not in draw_findings([medium])
        assert "--accept &#x27;row-order:a b=REASON&#x27;" in draw_findings(
            [replace(medium, severity="high")]
        )

    def test_a_number_of_values_is_no_share(self):
        assert figure_text(Finding("spelling:x", "low", "", 3.0, "")) == "3"
        assert figure_text(Finding("unique-rows", "low", "", 0.25, "")) == "25 %"

    def test_a_report_without_a_table_does_not_claim_to_have_looked(self, costly):
        bare = replace(costly.report, evidence=None, findings=())
        assert "as a whole" not in bare._repr_html_()


class TestRecord:
    def test_it_has_the_findings(self, costly, drawn):
        record = json.loads(BLOCK.search(drawn(costly))[1])
        assert record["figures"]["findings"] == [each.to_dict() for each in costly.report.findings]
        assert [Finding.from_dict(each) for each in record["figures"]["findings"]] == list(
            costly.report.findings
        )

    @pytest.mark.exhaustive
    def test_a_page_is_accepted_later_and_still_fits_its_release(self, tmp_path):
        out = tmp_path / "release.csv"
        made = release(people(cost=[1000 + 7 * i for i in range(40)]), output=str(out))
        first, later = tmp_path / "first.html", tmp_path / "later.html"
        made.report.to_html(first)
        made.report.to_html(later)
        reason = r"a </header> \1 & <b>reason</b>"
        accept_in_page(later, {"unique-rows": reason})
        assert Audit.from_page(later).recipe.accept == {"unique-rows": reason}
        command = [sys.executable, "-m", "shoal", "verify", str(out), "--strict", "--report"]
        codes = [
            subprocess.run([*command, str(page)], capture_output=True, check=False).returncode
            for page in (first, later)
        ]
        assert codes == [3, 0]
        text = later.read_text("utf-8")
        assert text.count("<header>") == text.count("</header>") == 1
        assert "<b>reason" not in text
        accept_in_page(later, {})
        assert _without_time(later) == _without_time(first)

    def test_another_page_is_refused(self, tmp_path):
        (tmp_path / "x.html").write_text("<p>nothing</p>")
        with pytest.raises(InputError, match="is no report of Shoal"):
            accept_in_page(tmp_path / "x.html", {})


def _without_time(page) -> str:
    text = page.read_text("utf-8")
    start = text.index("<tr><th>made at</th>")
    return text[:start] + text[text.index("</tr>", start) :]
