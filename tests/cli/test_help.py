"""The help teaches: it lists what there is, in an order that makes sense, on any terminal."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import typer

from shoal import __version__
from shoal.algorithms import ALGORITHMS
from shoal.cli import app, commands
from shoal.cli.commands import COMMANDS, GROUPS
from shoal.cli.options import GOAL, READING, RELEASE, ROLES, SEARCH, SHOWN
from shoal.codespace.loss import LOSSES
from shoal.privacy import MODELS
from shoal.table.hierarchies import BUILDERS

# The options that scripts rely on.
TABLE = (
    "--quasi --sensitive --roles --delimiter --encoding --no-header --na -k --l --t --model --type --order "
)
TABLE += "--hierarchies --domains"
OPTIONS = {
    "anonymize": f"{TABLE} --identifier --plain --types --missing "
    "--algorithm --set --loss --weights --weight --category-order --suppress --render --seed --threads "
    "--memory --engine --master --driver-rows "
    "-o --output --out-delimiter --safe-csv --recipe-out --report --excerpt --json --quiet --debug",
    "verify": f"{TABLE} --recipe --report --json --quiet --debug",
    "run": "--input --engine --master --output -o --report --excerpt --json --quiet --debug",
    "sample": "-o --rows --seed --hierarchies --quiet --debug",
    "demo": "--folder --debug",
    "attack": "--original --control --holdout --attacks --seed --quasi --sensitive --roles --recipe --type "
    "--order --hierarchies --delimiter --encoding --no-header --na --json --quiet --debug",
    "risk": "--quasi --sensitive --identifier --roles --type --order --hierarchies --population "
    "--sampling-fraction --threshold --largest -o --delimiter --encoding --no-header --na --details --json "
    "--quiet --debug",
    "suggest": "-o --output --delimiter --encoding --no-header --na --json --quiet --debug",
    "compare": "--quasi --sensitive --identifier --plain --roles --types --type --order --hierarchies -k --l "
    "--model --suppress --algorithm --loss --weights --weight --jobs --seed --delimiter --encoding "
    "--no-header --na --missing --plot --json --quiet --debug",
    "search": "--target --quasi --sensitive --identifier --type --hierarchies -k --l --model --algorithm "
    "--estimator --target-score --scoring --protocol --mode --splits --jobs --seed --delimiter --encoding "
    "--no-header --na --report --json --quiet --debug",
    "studio": "--port --uploads --no-browser --debug",
    "minimize": "--target --identifier --keep --type --hierarchies --estimator --target-score --seed -o "
    "--delimiter --encoding --no-header --na --report --json --quiet --debug",
}
TREES = {
    "build": "--method --set --target --type --order -o --format --delimiter --encoding --no-header --na "
    "--depth --limit --json --quiet --debug",
    "show": "--column --table --delimiter --encoding --no-header --na --depth --limit --json --debug",
    "check": "--column --table --fix -o --format --delimiter --encoding --no-header --na --json --quiet "
    "--debug",
    "convert": "-o --column --format --quiet --debug",
    "list": "--debug",
}


def shown(text: str) -> str:
    """A help text without its frames, the lines of each cell joined."""
    return " ".join(re.sub(r"[│╭╰╮╯─]", " ", text).split())


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", OPTIONS)
def test_every_option_is_in_the_help(shoal, monkeypatch, command, width):
    monkeypatch.setenv("COLUMNS", str(width))
    text = shoal.succeeds(command, "--help")
    assert max(map(len, text.splitlines())) <= width
    listed = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))
    assert listed >= {*OPTIONS[command].split(), "--help"}
    assert "<bool>" not in text


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", TREES)
def test_every_option_for_hierarchies_is_in_the_help(shoal, monkeypatch, command, width):
    monkeypatch.setenv("COLUMNS", str(width))
    text = shoal.succeeds("hierarchy", command, "--help")
    assert max(map(len, text.splitlines())) <= width
    assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text)) >= {*TREES[command].split(), "--help"}


def test_every_builder_and_its_parameters_are_in_the_help(shoal):
    text = shown(shoal.succeeds("hierarchy", "build", "--help"))
    absent = [name for name in BUILDERS if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)]
    absent += [
        name for kind in BUILDERS.values() for name in kind.__dataclass_fields__ if f"{name}=" not in text
    ]
    assert absent == []


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("anonymize", "Usage: shoal anonymize [OPTIONS] INPUT"),
        ("verify", "Usage: shoal verify [OPTIONS] RELEASE"),
        ("run", "Usage: shoal run [OPTIONS] RECIPE"),
        ("sample", "Usage: shoal sample [OPTIONS] [NAME]"),
        ("demo", "Usage: shoal demo [OPTIONS]"),
        ("attack", "Usage: shoal attack [OPTIONS] [RELEASE]"),
        ("risk", "Usage: shoal risk [OPTIONS] INPUT"),
        ("suggest", "Usage: shoal suggest [OPTIONS] INPUT"),
        ("compare", "Usage: shoal compare [OPTIONS] INPUT"),
        ("search", "Usage: shoal search [OPTIONS] INPUT"),
        ("minimize", "Usage: shoal minimize [OPTIONS] INPUT"),
    ],
)
def test_the_usage_names_what_is_wanted(shoal, command, usage):
    lines = shoal.succeeds(command, "-h").splitlines()
    assert usage in [line.strip() for line in lines]


def test_panels_come_in_the_order_of_work(shoal):
    text = shoal.succeeds("anonymize", "--help")
    panels = re.findall(r"╭─ (.*?) ─", text)
    assert panels == ["Arguments", ROLES, GOAL, SEARCH, RELEASE, READING, SHOWN]


def test_an_example_stands_on_one_line(shoal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = shoal.succeeds("anonymize", "--help")
    assert "shoal anonymize people.csv -q age,sex,zip -s illness -k 5 -o release.csv" in text


@pytest.mark.parametrize("table", [ALGORITHMS, LOSSES, MODELS], ids=["algorithms", "losses", "models"])
def test_every_algorithm_loss_and_model_is_named(shoal, table):
    text = shown(shoal.succeeds("anonymize", "--help"))
    assert [name for name in table if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)] == []


def test_every_parameter_is_named(shoal):
    text = shown(shoal.succeeds("anonymize", "--help"))
    parameters = [name for kind in ALGORITHMS.values() for name in kind.__dataclass_fields__]
    assert [name for name in parameters if f"{name}=" not in text] == []


def test_all_commands_are_listed(shoal):
    text = shoal.succeeds("--help")
    assert "Usage: shoal [OPTIONS] COMMAND" in text
    assert all(f"│ {command} " in text for command in (*OPTIONS, "hierarchy"))
    assert all(f"│ {command} " in shoal.succeeds("hierarchy", "--help") for command in TREES)
    assert "shoal demo" in text


def test_the_table_of_commands_agrees_with_their_files():
    """The help lists what the table says, and loads no file."""
    whole = typer.main.get_command(app)
    for entry in COMMANDS:
        group = whole.commands[entry.group] if entry.group else whole
        command = group.commands[entry.name]
        assert (command.name, command.help.partition("\n\n")[0]) == (entry.name, entry.help)
    assert {entry.group for entry in COMMANDS} == {"", *GROUPS}


def test_every_file_of_a_command_is_in_the_table():
    folder = Path(commands.__file__).parent
    files = {path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py")}
    modules = {".".join(path.parts) for path in files if path.name != "__init__"}
    assert modules == {entry.module for entry in COMMANDS}


def test_without_arguments_the_help_is_shown(shoal):
    done = shoal()
    assert done.code == 2
    assert "Usage: shoal [OPTIONS] COMMAND" in done.out + done.err


def test_an_unknown_command_is_refused(shoal):
    assert "anonymise" in shoal.fails(2, "anonymise")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("shoal an", {"anonymize"}),
        ("shoal hierarchy c", {"check", "convert"}),
        ("shoal demo --f", {"--folder"}),
    ],
)
def test_a_shell_completes_commands_and_options(process, typed, offered):
    asked = {"_SHOAL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    done = process(env={**os.environ, **asked})
    assert set(done.stdout.split()) == offered, done.stderr


def test_version(process):
    done = process("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"shoal {__version__}\n", "")


def test_help_of_the_module(process):
    done = process("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: shoal" in done.stdout


@pytest.mark.slow
def test_a_terminal_without_these_characters(process, people):
    """The help and the report are drawn with characters that not every terminal has."""
    ascii = {**os.environ, "PYTHONIOENCODING": "ascii"}
    assert process("anonymize", "--help", env=ascii).returncode == 0
    done = process("anonymize", people, "-q", "age", "-k", 3, env=ascii)
    assert (done.returncode, done.stderr) == (0, "")
    assert "? holds" in done.stdout


@pytest.mark.slow
def test_a_reader_that_goes_away(process, people):
    """As head does: no complaint, and the code by which a shell tells a closed pipe."""
    reading, writing = os.pipe()
    os.close(reading)
    done = process(
        "anonymize",
        people,
        "-q",
        "age",
        "-k",
        3,
        capture_output=False,
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
