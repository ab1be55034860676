"""Every warning of a run has a code, which is in JSON and in the documentation."""

import copy
import pickle
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

import shoal
from shoal.support.warning_codes import WARNING_CODES, CodedWarning, find_warning_code, name_place

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


def run_with_a_static_column(path):
    people = [f"p{at // 2}" for at in range(60)]
    town = ["a" if at // 2 % 2 else "b" for at in range(60)]
    frame = {"who": people, "town": [*town[:-1], "c"], "age": [20, 30] * 30}
    return run(frame, quasi=["town", "age"], person="who", suppress=1.0)


def run_with_a_known_key(path):
    key = path / "a.key"
    key.write_bytes(b"0123456789abcdef" * 4)
    key.chmod(0o644)
    settings = {"person": "who", "pseudonym": True, "key_file": key}
    return run({"who": ["a", "b", "c", "d"], "age": [1, 1, 1, 1]}, **settings)


def run_with_sets(path):
    frame = {"age": [1, 1, 1, 1], "items": ["a", "a", "a", "a"]}
    return run(frame, sets={"items": "|"})


def run_safepub(path):
    scheme = shoal.SafePubScheme(levels="age=0", seed=1)
    goal = (shoal.SafePub(1.0, 1e-5),)
    recipe = shoal.Recipe(("age",), goal, algorithm=scheme, types={"age": "string"})
    (path / "in.csv").write_text("age\n" + "1\n" * 500)
    trees = {"age": shoal.Hierarchy.from_tree({"any": ["1"]})}
    return shoal.run(replace(recipe, trees=trees), path / "in.csv").report


LONGER = {
    "W11": run_with_a_known_key,
    "W13": run_with_a_static_column,
    "W14": run_with_sets,
    "W15": run_safepub,
    "W17": run_safepub,
}


@pytest.mark.parametrize("code", LONGER)
def test_a_warning_of_a_longer_run_has_its_code(code, tmp_path):
    told = LONGER[code](tmp_path).to_dict()
    assert code in told["warning_codes"], told["warnings"]
    assert None not in told["warning_codes"]


def test_every_code_is_tried():
    assert set(LONGER) | set(CASES) == set(WARNING_CODES)


def test_a_code_stays_with_its_text():
    one = CodedWarning("W11", "others can read it")
    named = name_place("labs", one)
    assert (named, find_warning_code(named)) == ("labs: others can read it", "W11")
    for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert (copied, find_warning_code(copied)) == (one, "W11")
    assert find_warning_code(name_place("labs", "something else")) is None
    with pytest.raises(ValueError, match="W99"):
        CodedWarning("W99", "nothing")


def test_the_documentation_lists_all_codes():
    page = (ROOT / "docs/howto/operations.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| `(W\d\d)` \| (.*) \|$", page, re.MULTILINE))
    assert listed == WARNING_CODES
