"""What a scheduler reads: events, exit codes, versions and checksums."""

import hashlib
import json
import logging
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end, set_exit_codes


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": [1, 2, 8, 9] * 3, "s": ["a", "b"] * 6}).write_csv("in.csv")
    yield
    set_exit_codes("0.1")


RUN = ("anonymize", "in.csv", "-q", "age", "--plain", "s", "-k", "2", "-o", "out.csv")


@pytest.mark.slow
def test_the_log_is_one_object_per_line(table):
    line = [sys.executable, "-m", "shoal", "--log", "json", *RUN, "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    events = [json.loads(each) for each in done.stderr.splitlines()]
    phases = [each["phase"] for each in events if each["event"] == "phase"]
    assert phases == ["read", "search", "recode", "verify", "write"]
    assert events[-1]["event"] == "released"
    told = json.loads(done.stdout)
    assert events[-1]["classes"] == told["classes"]
    assert told["shoal"] == {"version": shoal.__version__, "schema": 1}
    for name, path in (("input", "in.csv"), ("output", "out.csv")):
        assert told["checksums"][name] == hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_a_recipe_says_what_it_was_made_with(table):
    assert run_to_end(run_command_line, [*RUN, "--recipe-out", "r.toml", "--quiet"])[0] == 0
    made = tomllib.loads(Path("r.toml").read_text())["made"]
    assert made["version"] == shoal.__version__
    for name, path in (("input", "in.csv"), ("output", "out.csv")):
        assert made[f"{name}_sha256"] == hashlib.sha256(Path(path).read_bytes()).hexdigest()
    # It is no setting: the recipe is the same without it.
    assert shoal.Recipe.load("r.toml") == shoal.run("r.toml").recipe
    before = Path("out.csv").read_bytes()
    Path("r.toml").write_text(Path("r.toml").read_text().partition("[made]")[0])
    assert run_to_end(run_command_line, ["run", "r.toml", "--quiet"])[0] == 0
    assert Path("out.csv").read_bytes() == before


def test_events_go_to_the_logger_and_have_the_codes_of_warnings(caplog):
    recipe = shoal.Recipe(quasi=("age",), models=(shoal.KAnonymity(2),), edition=1)
    with caplog.at_level(logging.INFO, "shoal"):
        shoal.run(recipe, pl.DataFrame({"age": [1, 1, 2, 2], "s": ["a", "b"] * 2}))
    fields = [(each.event, each.fields) for each in caplog.records if each.name == "shoal"]
    assert {told["code"] for event, told in fields if event == "warning"} >= {"W01", "W02"}
    (released,) = [told for event, told in fields if event == "released"]
    assert (released["rows"], released["classes"], released["smallest_class"]) == (4, 2, 2)


@pytest.mark.parametrize(
    ("line", "code", "kind"),
    [
        (("verify", "nowhere.csv", "-q", "age", "-k", "2"), 4, "files"),
        (("verify", "no*where.csv", "-q", "age", "-k", "2"), 4, "files"),
        (("verify", "sqlite:///nowhere.db#t", "-q", "age", "-k", "2"), 4, "files"),
        (("verify", "memory://no*where.csv", "-q", "age", "-k", "2"), 4, "files"),
        ((*RUN[:-1], "nowhere/out.csv"), 4, "files"),
        ((*RUN[:-1], "."), 4, "files"),
        ((*RUN[:-1], "out.xls"), 2, "usage"),
        (("verify", "in.csv", "-q", "agee", "-k", "2"), 2, "usage"),
        (("verify", "in.csv", "-q", "age", "-k", "0"), 2, "usage"),
    ],
)
def test_files_have_an_exit_code_of_their_own_if_that_is_asked_for(line, code, kind, table, capsys):
    assert run_to_end(run_command_line, ["--exit-codes", "0.2", *line, "--json"])[0] == code
    told = json.loads(capsys.readouterr().out)["error"]
    assert (told["exit_code"], told["kind"]) == (code, kind)
    assert run_to_end(run_command_line, [*line])[0] == 2


def test_an_unknown_form_of_log_is_wrong_usage(table, capsys):
    assert run_to_end(run_command_line, ["--log", "xml", *RUN])[0] == 2
    assert run_to_end(run_command_line, ["--exit-codes", "7", *RUN])[0] == 2


def test_safepub_tells_no_checksum_of_its_input():
    from shoal.cli.screen import name_source

    scheme = shoal.SafePubScheme(levels="age=0")
    recipe = shoal.Recipe(("age",), (shoal.SafePub(1.0, 1e-5),), input="in.csv", algorithm=scheme)
    assert name_source(recipe) is None
