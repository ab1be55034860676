"""The documented examples pass type checkers in strict mode, and what a user should not write does not."""

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("apply.md", "howto/types.md", "recipes.md", "risk.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# What a pandas, polars or pyarrow user declares; the kind of frame is known without a cast.
KINDS = """
import pandas as pd
import polars as pl
import shoal

def of_polars(frame: pl.DataFrame) -> pl.DataFrame:
    return shoal.anonymize(frame, quasi=["age"], k=5).frame

def of_lazy(frame: pl.LazyFrame, recipe: shoal.Recipe) -> shoal.Release[pl.LazyFrame]:
    return shoal.run(recipe, frame)

def of_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    return shoal.expand(shoal.anonymize(frame, quasi=["age"], k=5))

def of_file(path: str) -> pl.DataFrame:
    return shoal.anonymize(path, quasi=["age"], k=5).frame

def later(saved: shoal.SavedRecoding, frame: pl.DataFrame) -> pl.DataFrame:
    return saved.apply(frame).frame

def schema(recipe: shoal.Recipe) -> pl.Schema:
    return recipe.schema({"age": pl.Int64()})
"""
WRONG = """
import polars as pl
import shoal

def wrong_kind(frame: pl.DataFrame) -> pl.LazyFrame:
    return shoal.anonymize(frame, quasi=["age"], k=5).frame

shoal.anonymize("people.csv", quasi=["age"], k="5")
shoal.anonymize("people.csv", quasy=["age"], k=5)
"""


def read_examples(page: str) -> str:
    """The Python of a page as one module."""
    parts = []
    for block in BLOCK.findall((ROOT / "docs" / page).read_text("utf-8")):
        if ">>> " in block:
            parts += [example.source for example in doctest.DocTestParser().get_examples(block)]
        else:
            parts.append(block)
    return "".join(parts)


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    for page in PAGES:
        (tmp_path / f"{Path(page).stem}_page.py").write_text(read_examples(page))
    (tmp_path / "kinds.py").write_text(KINDS)
    (tmp_path / "wrong.py").write_text(WRONG)
    return tmp_path


def test_there_are_examples():
    assert all(read_examples(page) for page in PAGES)


@pytest.mark.exhaustive
def test_mypy_takes_the_examples_in_strict_mode(modules):
    line = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent"]
    line += ["--ignore-missing-imports", "--disable-error-code=import-untyped", "--config-file=", "."]
    told = subprocess.run(line, cwd=modules, capture_output=True, text=True, check=False)
    errors = told.stdout.splitlines()
    assert [each for each in errors if not each.startswith("wrong.py")] == [], told.stderr
    assert {each.split(":")[1] for each in errors if ": error:" in each} == {"6", "8", "9"}


@pytest.mark.exhaustive
def test_pyright_takes_the_examples_in_strict_mode(modules):
    pytest.importorskip("basedpyright")
    # Of libraries without types nothing is known, which is not about Shoal.
    unknown = ("MemberType", "VariableType", "ArgumentType", "ParameterType", "LambdaType")
    rules = {f"reportUnknown{each}": False for each in unknown}
    rules |= {"reportMissingTypeStubs": False, "reportUnusedExpression": False}
    settings = {"typeCheckingMode": "strict", **rules}
    (modules / "pyrightconfig.json").write_text(json.dumps(settings))
    line = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    told = subprocess.run(line, cwd=modules, capture_output=True, text=True, check=False)
    found = json.loads(told.stdout)["generalDiagnostics"]
    errors = [(Path(each["file"]).name, each) for each in found if each["severity"] == "error"]
    assert [each for name, each in errors if name != "wrong.py"] == []
    assert {each["range"]["start"]["line"] + 1 for name, each in errors if name == "wrong.py"} == {6, 8, 9}
