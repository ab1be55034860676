"""Every warning of a run has a code, which is in JSON and in the documentation."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

import shoal
from shoal.support.warning_codes import WARNING_CODES, find_warning_code

ROOT = Path(__file__).parents[3]
MANY = {"age": list(range(12)), "s": list("ab" * 6)}


def run(frame, **settings):
    given = {"quasi": ["age"], "k": 2, "others": "keep", **settings}
    return shoal.anonymize(pl.DataFrame(frame), **given).report


def run_old():
    recipe = shoal.Recipe(("age",), (shoal.KAnonymity(2),), edition=1)
    return shoal.run(recipe, pl.DataFrame({"age": [1, 1], "s": ["a", "b"]})).report


def run_formula():
    with TemporaryDirectory() as folder:
        return run({"age": [1, 1], "s": ["=1+1", "b"]}, output=f"{folder}/release.csv")


CASES = {
    "W01": run_old,
    "W02": run_old,
    "W03": lambda: run(MANY, k=1),
    "W04": lambda: run({"age": [1, 1, 1]}),
    "W05": lambda: run(MANY),
    "W06": lambda: run({"age": ["1", "2", "3", "?"]}),
    "W07": lambda: run({"age": ["1,5", "2,5", "3,5", "1,5"]}),
    "W08": lambda: run({"age": ["a", "a", "b", "c"]}, hierarchies={"age": [("a", "*"), ("b", "*")]}),
    "W09": lambda: run({"age": [1, 2, 3, 4], "t": list("aabb")}, quasi=["age", "t"], loss="squared-error"),
    "W10": run_formula,
    "W12": lambda: run({"age": [1, 1, 1], "who": ["a", "b", None]}, person="who"),
    "W16": lambda: run({"age": [1, 2, 3, 4]}, algorithm="mingen(semantics=matching)"),
    "W18": lambda: run({"age": [1, 2, 3, 99]}, top={"age": 50}),
}


@pytest.mark.parametrize("code", CASES)
def test_a_warning_has_its_code(code):
    report = CASES[code]()
    told = report.to_dict()
    assert len(told["warning_codes"]) == len(told["warnings"]) == len(report.warnings)
    assert code in told["warning_codes"], report.warnings
    assert None not in told["warning_codes"]


def test_texts_that_take_longer_to_make_have_codes():
    from shoal.privacy import safepub

    texts = {
        "W11": "others than you can read the key file a.key: take that right from them",
        "W13": "'town' is the same in all rows of a person, but not for 3 of the 90 people who have several",
        "W14": "no cell of 'items' has the separator '|': every cell was taken for one item",
        "W15": safepub.KNOWN_SEED,
        "W17": safepub.WARNING,
    }
    assert {code: find_warning_code(text) for code, text in texts.items()} == {code: code for code in texts}
    assert set(texts) | set(CASES) == set(WARNING_CODES)
    assert find_warning_code("labs: others than you can read the key file a.key") == "W11"
    assert find_warning_code("something else") is None


def test_the_documentation_lists_all_codes():
    page = (ROOT / "docs/howto/operations.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| `(W\d\d)` \| (.*) \|$", page, re.MULTILINE))
    assert listed == {code: meaning for code, (_, meaning) in WARNING_CODES.items()}
