"""The dossier: statements, thresholds, and the same content as HTML, PDF and JSON."""

import io
import json
from dataclasses import replace

import jsonschema
import pypdfium2
import pytest

import shoal
from shoal.errors import InputError, RecipeError
from shoal.report.audit import Audit
from shoal.report.context import QUESTIONS, SCALE, propose_threshold
from shoal.report.dossier import TEMPLATE, Dossier, Statement, list_overridden, read_schema

ANSWERS = {
    "recipient": "partner",
    "contract": "agreement",
    "knowledge": "little",
    "gain": "little",
    "harm": "high",
}
ATTACK = {
    "control": 0,
    "attacks": [{"name": "linkage", "column": None, "verdict": "succeeds never", "about": "x"}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("dossier")
    shoal.sample("hospital", rows=400).write_csv(made / "hospital.csv")
    release = shoal.anonymize(
        made / "hospital.csv",
        quasi=["age", "sex"],
        sensitive=["diagnosis"],
        identifier=["patient_id", "name"],
        others="drop",
        k=5,
        accept={"unique-rows": "the registry alone sees it"},
        row_order="released",
    )
    release.write(made / "release.csv")
    release.report.to_html(made / "report.html")
    return made


@pytest.fixture
def dossier(folder):
    about = {"purpose": "A study", "recipient": "An institute", "context": ANSWERS}
    return Dossier.from_report(folder / "report.html", about, ATTACK)


def read_pages(pdf):
    return [page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(io.BytesIO(pdf))]


@pytest.mark.parametrize(
    ("changes", "k"),
    [
        ({}, 15),
        ({"recipient": "public"}, 20),
        ({"recipient": "public", "contract": "controlled", "harm": "low"}, 11),
        ({"contract": "none"}, 20),
        ({"recipient": "colleague", "contract": "controlled", "harm": "low"}, 5),
        ({"recipient": "colleague", "contract": "none", "harm": "medium"}, 15),
        ({"contract": "controlled"}, 11),
        ({"knowledge": "much", "gain": "much"}, 20),
    ],
)
def test_a_threshold_follows_from_the_context(changes, k):
    found = propose_threshold(ANSWERS | changes)
    assert found.k == k
    assert any(step.source == found.source for step in SCALE)
    assert len(found.reasons) >= 3


def test_worse_answers_never_propose_smaller_groups():
    for question, worse in (
        ("knowledge", "much"),
        ("gain", "much"),
        ("harm", "high"),
        ("recipient", "public"),
    ):
        for contract in ("none", "agreement", "controlled"):
            usual = ANSWERS | {"harm": "low", "contract": contract}
            assert propose_threshold(usual | {question: worse}).k >= propose_threshold(usual).k


def test_no_threshold_is_proposed_until_all_is_answered():
    for question in QUESTIONS:
        answers = {key: value for key, value in ANSWERS.items() if key != question.key}
        assert propose_threshold(answers) is None


def test_the_template_is_a_file_of_statements(tmp_path):
    (tmp_path / "about.toml").write_text(TEMPLATE)
    assert Statement.from_toml(tmp_path / "about.toml") == Statement()


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"purpos": "x"}, "purpos"),
        ({"purpose": 3}, "must be text"),
        ({"signers": "me"}, "must be a list"),
        ({"context": {"harm": "huge"}}, "huge"),
        ({"context": {"harms": "high"}}, "harms"),
    ],
)
def test_statements_that_cannot_be_meant_are_refused(about, told):
    with pytest.raises(RecipeError, match=told):
        Statement.from_dict(about)


def test_the_json_is_valid_by_its_schema(dossier):
    schema = json.loads(read_schema())
    jsonschema.validate(json.loads(json.dumps(dossier.to_dict())), schema)
    jsonschema.validate(replace(dossier, statement=Statement(), attack=None).to_dict(), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(dossier.to_dict() | {"audit": {}}, schema)


@pytest.mark.parametrize("suffix", [".html", ".json", ".pdf"])
def test_every_form_is_checked_against_the_release(dossier, folder, suffix):
    path = folder / f"dossier{suffix}"
    dossier.save(path)
    assert path.stat().st_mode & 0o077 == 0
    audit = Audit.from_page(path)
    assert audit.figures == dossier.figures
    again = Dossier.from_report(path)  # an earlier dossier is as good as the page
    assert again.record == dossier.record


def test_a_forged_figure_is_found(dossier, folder, run_verify):
    path = folder / "forged.json"
    dossier.save(path)
    assert run_verify(folder / "release.csv", path) == 0
    path.write_text(path.read_text().replace('"smallest_class": ', '"smallest_class": 1'))
    assert run_verify(folder / "release.csv", path) == 3


@pytest.fixture
def run_verify():
    from shoal.cli import run_command_line
    from shoal.cli.process import run_to_end

    def run(release, report):
        return run_to_end(run_command_line, ["verify", str(release), "--report", str(report), "--quiet"])[0]

    return run


def test_the_pdf_has_contents_with_page_numbers_and_the_recipe_at_the_end(dossier):
    pages = read_pages(dossier.to_pdf())
    titles = [
        "Purpose and recipient",
        "Result",
        "Context and threshold",
        "Signatures",
        "Appendix: the recipe",
    ]
    for title in titles:
        (page,) = [number for number, text in enumerate(pages, 1) if title in text and number > 1]
        (line,) = [line for line in pages[0].splitlines() if line.startswith(title)]
        assert line.split()[-1] == str(page)
    assert [number for number, text in enumerate(pages, 1) if "[goal]" in text] == [len(pages)]
    assert all(f"{number} / {len(pages)}" in text for number, text in enumerate(pages, 1))


def test_a_table_that_goes_on_has_its_head_on_every_page(dossier):
    log = [{"when": "2026-11-18T10:00", "who": "Ada", "what": [f"decision {i}"]} for i in range(120)]
    pages = read_pages(replace(dossier, decisions=log).to_pdf())
    long = [text for text in pages if "decision " in text.lower() and "Ada" in text]
    assert len(long) >= 3
    for text in long:
        lines = [line.strip() for line in text.splitlines()]
        first = next(i for i, line in enumerate(lines) if "Ada" in line)
        assert any(line.startswith("when") for line in lines[:first]), lines[:first]


def test_the_pdf_prints_letters_of_all_kinds(dossier):
    said = replace(dossier.statement, purpose="Zażółć, 研究, Ελλάδα → k", recipient="x" * 5000)
    pages = read_pages(replace(dossier, statement=said).to_pdf())
    assert any("Purpose" in text for text in pages)


def test_findings_name_who_accepted_them(dossier):
    log = [{"when": "2026-11-18T10:00", "who": "Ada", "what": ["unique-rows is accepted, because so"]}]
    assert "Accepted by Ada: the registry alone sees it" in replace(dossier, decisions=log).to_html()
    assert "Accepted by somebody whom no log names" in dossier.to_html()


def test_a_release_below_the_proposal_says_so(dossier):
    page = dossier.to_html()
    assert "does not keep this threshold" in page
    assert "No reason is given" in page
    said = replace(dossier.statement, threshold_reason="they work in our rooms")
    assert "they work in our rooms" in replace(dossier, statement=said).to_html()


def test_a_sample_is_not_said_to_be_made_again_and_has_no_risk_before(dossier):
    figures = {**dossier.figures, "rows": None, "suppressed_rows": None}
    risk = {"after": dossier.record["risk"]["after"]}
    drawn = replace(dossier, record={**dossier.record, "figures": figures, "risk": risk})
    jsonschema.validate(drawn.to_dict(), json.loads(read_schema()))
    page = drawn.to_html()
    assert "another run by this recipe draws another" in page
    assert "can be made again" not in page
    assert "<th>before</th>" not in page
    assert "Appendix" in "".join(read_pages(drawn.to_pdf()))


def test_a_sample_says_nothing_that_follows_from_the_table(dossier):
    figures = {**dossier.figures, "rows": None, "suppressed_rows": None}
    log = [{"when": "2026-11-18T10:00", "who": "Ada", "what": ["age: plain, was quasi"]}]
    drawn = replace(
        dossier,
        record={**dossier.record, "figures": figures},
        decisions=log,
        overridden=["age was proposed as a quasi-identifier, and is kept as it is"],
    )
    assert drawn.to_dict()["decisions"] == drawn.to_dict()["overridden"] == []
    assert "only the sample may be told" in drawn.to_html()
    assert "was proposed" not in drawn.to_html()


def test_nothing_that_was_said_becomes_markup(dossier):
    said = replace(dossier.statement, purpose="<b>&</script>", signers=("<i>",))
    page = replace(dossier, statement=said).to_html()
    assert "<b>&</script>" not in page
    assert "<i>" not in page


def test_proposals_that_were_decided_otherwise_are_told():
    proposed = {"age": {"role": "quasi"}, "sex": {"role": "quasi"}}
    decided = {"age": {"role": "plain"}, "sex": {"role": "quasi"}}
    assert list_overridden(proposed, decided) == [
        "age was proposed as a quasi-identifier, and is kept as it is"
    ]


def test_what_is_no_dossier_is_refused(dossier, tmp_path):
    with pytest.raises(InputError, match=r"\.pdf, \.html, \.json"):
        dossier.save(tmp_path / "dossier.docx")
    for name, text in (("a.pdf", b"%PDF-1.4"), ("b.json", b"{}"), ("c.json", b"[1"), ("d.html", b"\xff")):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(InputError, match=name[0]):
            Dossier.from_report(tmp_path / name)
    (tmp_path / "attack.json").write_text("[]")
    with pytest.raises(InputError, match="shoal attack --json"):
        Dossier.from_report(dossier_page(dossier, tmp_path), attack=tmp_path / "attack.json")


def dossier_page(dossier, folder):
    dossier.save(folder / "page.html")
    return folder / "page.html"
