"""A setting is declared once: its option, its key, its argument, its documentation and its input follow."""

import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import shoal
from shoal.recipes.recipe import Recipe, read_setting_types
from shoal.recipes.settings import GROUPS, list_plain_settings, list_settings

SOURCE = Path(shoal.__file__).parent

# Two settings more, before anything has read the table; each is one entry.
TOYS = """
from __future__ import annotations
import json, sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from shoal.recipes import settings as table

Stamp = Literal["none", "day", "month"]

@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class WithToys(table.RecipeSettings):
    stamp: Stamp = field(default="none", metadata=table.setting(
        "release", table.option("--stamp", metavar="HOW", help="How the release is stamped."),
        argument=False, label="The stamp"))
    margin: int = field(default=3, metadata=table.setting(
        "search", table.option("--margin", metavar="N", help="How wide the margin is."), label="The margin"))

table.RecipeSettings = WithToys
"""
ASKED = """
from shoal.cli import run_command_line

try:
    run_command_line(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0, end.code
"""
TOLD = """
from shoal.recipes.equivalent import command_line, python_snippet
from shoal.recipes.recipe import Recipe
from shoal.studio.goal_settings import list_setting_fields

read = Recipe.from_toml("recipe.toml")
ran = {}
exec(python_snippet(read), ran)
plain = replace(read, stamp="none")
try:
    replace(read, stamp="dya")
except Exception as error:
    refused = str(error)
print(json.dumps({
    "read": [read.stamp, read.margin],
    "again": Recipe.from_text(read.to_toml(), Path("recipe.toml")) == read,
    "default": plain.to_toml(),
    "command": command_line(read),
    "snippet": python_snippet(plain),
    "ran": ran["release"].recipe.stamp,
    "refused": refused,
    "form": [(dial.words, dial.kind, dial.options) for _, dial in list_setting_fields({})],
}))
"""


def run_with_toys(folder, code, *arguments):
    """What a program prints that has two settings more than Shoal."""
    line = [sys.executable, "-c", TOYS + code, *map(str, arguments)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_entry_makes_an_option_a_key_an_argument_and_an_input(tmp_path):
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{20 + i % 3}\n" for i in range(12)))
    text = run_with_toys(tmp_path, ASKED, "anonymize", "--help")
    panels = dict(re.findall(r"╭─ ([\w ]+) ─+╮\n(.*?)╰", text, re.DOTALL))
    assert re.search(
        r"--stamp HOW +How the release is stamped\. \(default: none\)", panels[GROUPS["release"]]
    )
    assert re.search(r"--margin N +How wide the margin is\. \(default: 3\)", panels[GROUPS["search"]])
    asked = ("anonymize", "people.csv", "-q", "age", "-k", 2, "-a", "mondrian", "-o", "out.csv", "--quiet")
    run_with_toys(tmp_path, ASKED, *asked, "--recipe-out", "recipe.toml", "--stamp", "day", "--margin", 7)
    content = tomllib.loads((tmp_path / "recipe.toml").read_text())
    assert content["search"]["margin"] == 7
    assert content["release"] == {"output": "out.csv", "stamp": "day"}
    told = json.loads(run_with_toys(tmp_path, TOLD))
    assert told["read"] == ["day", 7]
    assert told["again"] is True
    assert "stamp" not in told["default"]
    assert "--stamp day --margin 7" in told["command"]
    # One that `shoal.anonymize` takes is an argument; with one that it does not take, the recipe is run.
    assert "    margin=7,\n" in told["snippet"]
    assert told["ran"] == "day"
    assert told["refused"] == "unknown stamp 'dya': did you mean 'day'?"
    assert ["The stamp", "choice", ["none", "day", "month"]] in told["form"]
    assert ["The margin", "whole", []] in told["form"]


def test_a_setting_stands_where_it_is_declared_and_where_it_is_used():
    folders = ("cli", "recipes", "studio")
    files = [path for folder in folders for path in (SOURCE / folder).rglob("*.py")]
    found = {path.relative_to(SOURCE).as_posix() for path in files if "safe_csv" in path.read_text("utf-8")}
    # Later rows are written there.
    assert found == {"recipes/settings.py", "recipes/later_rows.py"}


def test_every_entry_says_all_that_is_needed():
    names = [name for each in list_settings() for option in each.info.options for name in option.names]
    assert len(names) == len(set(names))
    for each in list_settings():
        assert each.doc.endswith("."), each.name
        assert each.info.group in (*GROUPS, ""), each.name
        assert all(option.help.endswith(".") for option in each.info.options), each.name
        # Of a text that can be many things, words name those that the studio offers.
        if each.annotation != "str":
            offered = set(re.findall(r"'(\w+)'", str(types_of(each))))
            assert set(filter(None, each.info.words)) <= offered, each.name


def types_of(each):
    return read_setting_types()[each.name]


def test_flags_are_off_by_default():
    assert [each.name for each in list_plain_settings() if each.default is True] == []
    assert all((each.value_type is bool) == (each.option.metavar == "") for each in list_plain_settings())


def test_settings_are_arguments_by_their_names_and_defaults():
    """The signature is written out, because type checkers read it; the table says what it has."""
    arguments = inspect.signature(shoal.anonymize).parameters
    marked = {each.name: each.default for each in list_settings() if each.info.argument}
    assert set(arguments) == {"source", "k", "l", "t", "na", "on_progress", *marked}
    plain = [each for each in list_plain_settings() if each.info.argument]
    assert {each.name: arguments[each.name].default for each in plain} == {e.name: e.default for e in plain}


def test_every_argument_is_documented_once():
    told = re.search(r"Parameters\n-+\n(.*?)\n\n", shoal.anonymize.__doc__, re.DOTALL)[1]
    named = [name for heads in re.findall(r"^([\w, ]+) : ", told, re.MULTILINE) for name in heads.split(", ")]
    assert sorted(named) == sorted(inspect.signature(shoal.anonymize).parameters)
    assert 'others : "keep" or "drop", optional\n    What happens to columns without a role' in told


def test_the_fields_of_a_recipe_are_the_table():
    assert list(inspect.signature(Recipe).parameters) == [each.name for each in list_settings()]
