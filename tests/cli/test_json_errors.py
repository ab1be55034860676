"""Who asks for JSON gets exactly one object on standard output, also where a command fails."""

import json
import subprocess
import sys

import pytest

PEOPLE = "age,sex\n1,f\n2,m\n3,f\n"


@pytest.fixture
def fail(tmp_path):
    """Run a command that fails; returns its exit code, the error as it stands in JSON, and standard error."""
    (tmp_path / "people.csv").write_text(PEOPLE)

    def run(*arguments):
        line = [sys.executable, "-m", "shoal", *map(str, arguments), "--json"]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        told = json.loads(done.stdout)
        assert list(told) == ["error"]
        assert told["error"]["exit_code"] == done.returncode
        return done.returncode, told["error"], done.stderr

    return run


@pytest.mark.parametrize(
    "arguments, code, kind",
    [
        (["anonymize", "nowhere.csv", "-q", "age", "-k", 2], 2, "input"),
        (["anonymize", "people.csv", "-q", "aeg", "-k", 2, "--others", "drop"], 2, "recipe"),
        (["anonymize", "people.csv", "-q", "age", "-k", 0], 2, "recipe"),
        (["anonymize", "people.csv", "-q", "age,sex", "-k", 4], 3, "goal"),
        (["anonymize", "people.csv", "-q", "age,sex", "-k", 2, "-o", "no/r.csv"], 2, "output"),
        (["anonymize", "people.csv", "--quasy", "age"], 2, "usage"),
        (["risk"], 2, "usage"),
        (["run", "people.csv"], 2, "recipe"),
    ],
)
def test_an_error_is_one_object(fail, arguments, code, kind):
    exit_code, error, shown = fail(*arguments)
    assert (exit_code, error["code"], error["retry"]) == (code, kind, False)
    assert error["message"]
    assert shown  # people are told as well


def test_the_message_is_the_one_that_people_see(fail):
    _, error, shown = fail("anonymize", "nowhere.csv", "-q", "age", "-k", 2)
    assert shown == f"error: {error['message']}\n"


def test_findings_that_stand_in_the_way_are_listed(fail, tmp_path):
    rows = "".join(f"{i % 2},secret {i}\n" for i in range(40))
    (tmp_path / "people.csv").write_text("age,diary\n" + rows)
    exit_code, error, _ = fail(
        "anonymize", "people.csv", "-q", "age", "--others", "keep", "-k", 2, "--strict", "-o", "r.csv"
    )
    assert (exit_code, error["code"]) == (3, "goal")
    assert any(finding["severity"] == "high" and finding["remedy"] for finding in error["findings"])
    assert not (tmp_path / "r.csv").exists()
