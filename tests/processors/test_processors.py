"""Other processors give the same bytes; what they are is told in `variants`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processors.matrix import matrix
from tests.processors.variants import WIDEST, Variant, dispatched, narrow, plain

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).parents[2]
TESTS = ("tests/golden", "tests/docs/test_exact_search.py")
VARIANTS = [plain(), narrow()]


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    """What this processor finds."""
    return matrix(threads=2)


def run_as(variant: Variant, *arguments: str) -> str:
    """What Python prints on another processor."""
    line = [sys.executable, *arguments]
    done = subprocess.run(
        line, cwd=ROOT, env=variant.environment(), capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def differences(one: dict[str, str], other: dict[str, str]) -> dict[str, object]:
    """By case, what differs: the fields of a report, or all of another text."""
    found: dict[str, object] = {}
    for name in one.keys() | other.keys():
        mine, theirs = one.get(name, ""), other.get(name, "")
        if mine != theirs and mine.startswith("{") and theirs.startswith("{"):
            left, right = json.loads(mine), json.loads(theirs)
            found[name] = {key: (left[key], right.get(key)) for key in left if left[key] != right.get(key)}
        elif mine != theirs:
            found[name] = (mine, theirs)
    return found


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_releases_and_figures_are_the_same(variant, here, tmp_path):
    run_as(variant, "-m", "tests.processors.matrix", str(tmp_path / "there"), str(variant.threads))
    there = json.loads((tmp_path / "there").read_text("utf-8"))
    assert len(there) > 150
    assert differences(here, there) == {}


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_golden_reports_and_pictures_are_the_same(variant):
    run_as(variant, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)


def test_numpy_finds_fewer_features_there():
    code = "from tests.processors.variants import dispatched; print(*dispatched())"
    widest = [name for name in dispatched() if any(part in name for part in WIDEST)]
    assert run_as(plain(), "-c", code).split() == []
    assert run_as(narrow(), "-c", code).split() == [name for name in dispatched() if name not in widest]


def test_differences_are_seen():
    one = {"a": '{"loss": 1.0, "k": 3}', "b": "x", "c": "y"}
    other = {"a": '{"loss": 1.1, "k": 3}', "b": "x"}
    assert differences(one, other) == {"a": {"loss": (1.0, 1.1)}, "c": ("y", "")}
