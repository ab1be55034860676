"""The pages are true: their examples run and show what is printed, and they leave nothing out.

Blocks of a page run one after another in an empty folder. A block with a title is a file of that name; one
under ``<!-- not run: why -->`` is passed over. In ``console`` blocks, lines from ``$`` on are commands, and
what follows is their output, where ``...`` stands for anything and white space does not count. A command must
succeed, unless the next one is ``echo $?``. ``python`` blocks of a page share their names; with ``>>>`` they
are doctests.
"""

import contextlib
import doctest
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.cli import app, run_command_line
from shoal.cli.process import run_to_end
from shoal.privacy import MODELS
from shoal.recipes import recipe as recipes
from shoal.table import TYPE_CODES, ReadOptions, formats
from shoal.verification import findings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md"])

BLOCK = re.compile(
    r'^(?P<skip><!-- not run: .+? -->\n)?```(?P<kind>\w+)(?: title="(?P<title>.+?)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
# Pages whose examples may have findings of high severity, and why.
MAY_GIVE_AWAY = {
    "findings.md": "it shows what careless releases give away",
    "compare.md": "goals are tried, and nothing is released",
    "howto/choose-k.md": "goals are tried, and nothing of that is released",
    "howto/linked-rows.md": "it shows what knowing few rows does not protect from",
    "howto/linked-tables.md": "it shows what knowing one event does not protect from",
    "howto/people.md": "it shows what counting rows gives away",
    "howto/sets.md": "it shows what knowing few items does not protect from",
    "howto/types.md": "its tables have six rows",
    "learning/index.md": "they are flowers",
    "learning/searching.md": "goals are tried, and nothing is released",
    "migration.md": "they are flowers",
    "models/closeness.md": "it is the table of a paper, no release",
}
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Command(NamedTuple):
    line: str
    shown: str


def commands(text: str) -> list[Command]:
    """The commands of a console block; one that ends in a backslash goes on in the next line."""
    pattern = re.compile(r"^\$ ((?:.*\\\n)*.*)\n?((?:(?!\$ ).*\n?)*)", re.MULTILINE)
    return [Command(*match.groups()) for match in pattern.finditer(text)]


def run_command(line: str, last_code: int) -> tuple[int, str]:
    """Run one command; returns its exit code and what it printed."""
    unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", line)
    if line.startswith("shoal ") and not re.search(r"[|&;<>()$*#]", unquoted):
        return run_here(shlex.split(line.replace("\\\n", " "))[1:])
    # A shell has the rest; there too `shoal` is that of this interpreter, and $? what it was.
    script = f'shoal() {{ "{sys.executable}" -m shoal "$@"; }}; (exit {last_code}); {line}'
    done = subprocess.run(["bash", "-c", script], capture_output=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout + done.stderr


def run_here(arguments: list[str]) -> tuple[int, str]:
    """Run Shoal in this process, where everything is loaded already."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        code, error = run_to_end(run_command_line, arguments)
    return code, told.getvalue() + error


def run_console(text: str) -> None:
    given = commands(text)
    code = 0
    for each, following in zip(given, [*given[1:], None], strict=True):
        code, printed = run_command(each.line, code)
        expected = following is not None and following.line == "echo $?"
        assert code == 0 or expected, f"$ {each.line}\nleft with {code}:\n{printed}"
        if each.shown.strip():
            check(each.line, each.shown, printed)


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    """A terminal of 100 columns without colours, whatever this one is."""
    for name, value in {"COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def check(example: str, shown: str, printed: str) -> None:
    if not doctest.OutputChecker().check_output(shown, printed, LOOSE):
        pytest.fail(f"$ {example}\nprinted\n{printed}\ninstead of\n{shown}")


def run_python(text: str, names: dict[str, Any], page: str) -> None:
    if ">>> " not in text:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, page, "exec"), names)
        return
    examples = doctest.DocTestParser().get_doctest(text, names, page, page, 0)
    told = io.StringIO()
    result = doctest.DocTestRunner(optionflags=LOOSE, verbose=False).run(
        examples, out=told.write, clear_globs=False
    )
    assert result.failed == 0, told.getvalue()
    names |= examples.globs


@pytest.fixture
def severe(monkeypatch):
    """The findings of high severity that nobody accepted, in all that is judged from here on."""
    open_ones = []
    judge = findings.accept_findings

    def watch(*given):
        found = judge(*given)
        open_ones.extend(finding for finding in found if finding.is_open)
        return found

    monkeypatch.setattr(findings, "accept_findings", watch)
    return open_ones


# These take a third of the time of all pages. The others show the same commands and functions.
LONG = ("attack.md", "exact-search.md", "findings.md", "minimizing.md", "tutorial.md")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.exhaustive if page.name in LONG else ()) for page in PAGES],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_the_examples_run_and_show_what_happens(page, tmp_path, monkeypatch, severe):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    blocks = list(BLOCK.finditer(text))
    fences = re.findall(r"^\s*```(?:python|console)\b", text, re.MULTILINE)
    assert len(fences) == sum(block["kind"] in ("python", "console") for block in blocks)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        if block["title"]:
            Path(block["title"]).write_text(block["text"], "utf-8")
        elif block["skip"]:
            continue
        elif block["kind"] == "console":
            run_console(block["text"])
        elif block["kind"] == "python":
            run_python(block["text"], names, page.name)
    if page.is_relative_to(DOCS) and page.relative_to(DOCS).as_posix() in MAY_GIVE_AWAY:
        return
    assert [f"{finding.id}: {finding.message}" for finding in severe] == []


def test_a_wrong_example_is_found():
    good = "$ echo a; echo b\na\n...\n$ exit 3\n$ echo $?\n3\n"
    run_console(good)
    assert commands(good) == [("echo a; echo b", "a\n...\n"), ("exit 3", ""), ("echo $?", "3\n")]
    assert commands("$ a \\\n  b\nc\n") == [("a \\\n  b", "c\n")]
    for bad in ("$ echo a\nb\n", "$ exit 3\n", "$ shoal --version\nshoal of another version\n"):
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            run_console(bad)
    with pytest.raises(AssertionError):
        run_python(">>> 1 + 1\n3\n", {}, "page")


def text_of(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def headings(text: str) -> str:
    return "\n".join(re.findall(r"^#+ .*$", text, re.MULTILINE))


@pytest.mark.parametrize("page", ["models.md", "losses.md"])
def test_every_section_is_linked_from_the_summary(page):
    """An entry has a section there, or the summary links to its page."""
    sections = re.findall(r"^## .*\(`(.+?)`\)$", text_of(page), re.MULTILINE)
    summary = re.findall(r"^\| \[`(.+?)`\]\(#", text_of(page), re.MULTILINE)
    assert sorted(sections) == sorted(summary)


def test_every_model_and_algorithm_names_its_parameters():
    pages = {path.stem: path.read_text("utf-8") for path in (DOCS / "algorithms").glob("*.md")}
    every = "\n".join(headings(page) for page in pages.values())
    assert [name for name in ALGORITHMS if name not in pages and f"(`{name}`)" not in every] == []
    models = {path.stem: path.read_text("utf-8") for path in (DOCS / "models").glob("*.md")}
    absent = [
        f"{parameter.name} of {name}"
        for name, kind in ALGORITHMS.items()
        for parameter in fields(kind)
        if f"`{parameter.name}`" not in pages[name]
    ]
    absent += [
        f"{parameter.name} of {name}"
        for name, kind in MODELS.items()
        for parameter in fields(kind)
        if not re.search(rf"`{name}\(.*\b{parameter.name}=", text_of("models.md") + models.get(name, ""))
    ]
    assert absent == []


def options(group: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every option with the command that it belongs to."""
    for parameter in group.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            yield from ((name, option) for option in parameter.opts)
    for child in getattr(group, "commands", {}).values():
        yield from options(child, f"{name} {child.name}")


def test_every_option_is_on_the_page():
    parts = dict(re.findall(r"^## (shoal.*)\n((?:(?!## ).*\n?)*)", text_of("cli.md"), re.MULTILINE))
    every = list(options(typer.main.get_command(app), "shoal"))
    assert len(every) > 50
    assert [each for each in every if f"`{each[1]}`" not in parts.get(each[0], "")] == []


def test_the_page_of_the_command_line_is_fresh():
    spec = importlib.util.spec_from_file_location("make_cli", DOCS / "make_cli.py")
    make_cli = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_cli)
    assert make_cli.page() == make_cli.PAGE.read_text("utf-8"), "run: python docs/make_cli.py"


def test_every_setting_of_a_recipe_is_in_the_example():
    example = re.search(
        r'^```toml title="recipe.toml"\n(.*?)^```$', text_of("recipes.md"), re.MULTILINE | re.DOTALL
    )
    settings = re.findall(r"^(?:# )?(\w+) =", example[1], re.MULTILINE)
    known = [name for section in recipes._SECTIONS.values() for name in section]
    assert [name for name in known if name not in settings] == []
    assert "[trees." in example[1]


def test_every_type_format_and_reading_option_is_named():
    page = text_of("reading.md")
    names = [*TYPE_CODES, *TYPE_CODES.values(), "datetime", *formats._FORMATS, *formats._COMPRESSIONS]
    names += [f".{name}" for name in formats.FORMATS.built_in]
    options = {"header": "no-header", "quasi_line": "quasi line:"}
    names += [f"--{options.get(field.name, field.name)}" for field in fields(ReadOptions)]
    assert [name for name in names if not re.search(rf"`{re.escape(name)}\b", page)] == []


def test_the_import_direction_is_the_one_that_is_checked():
    tests = (ROOT / "tests" / "test_imports.py").read_text("utf-8")
    layers = eval(re.search(r"^LAYERS = (\(.*?^\))", tests, re.MULTILINE | re.DOTALL)[1])
    here = {path.stem for path in Path(shoal.__file__).parent.iterdir()} - {"__main__"}
    built = [", ".join(package for package in layer if package in here) for layer in layers]
    page = text_of("how-it-works.md")
    assert " ← ".join(filter(None, built)) in page
    packages = re.search(r"^```text\nerrors .*?^```$", page, re.MULTILINE | re.DOTALL)[0]
    assert sorted(re.findall(r"^(\w+)/? ", packages, re.MULTILINE)) == sorted(
        ", ".join(filter(None, built)).split(", ")
    )


@pytest.mark.slow
def test_the_figures_of_mondrian(shared_data):
    rows = re.findall(
        r"^\| (\w+) \| (\w+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|$", text_of("algorithms/mondrian.md"), re.M
    )
    quasi = ("age", "work_class", "education_num", "marital_status", "occupation", "race", "sex")
    measured = []
    for cut, order, *_ in rows:
        recipe = shoal.Recipe(
            others="keep",
            quasi=(*quasi, "native_country"),
            models=(shoal.KAnonymity(10),),
            input=str(shared_data / "adult" / "adult.csv"),
            reading=ReadOptions(na=("?",)),
            missing="drop",
            loss="span-ncp",
            algorithm=shoal.Mondrian(cut=cut),
            category_order=order,
        )
        report = shoal.run(recipe).report
        figures = (f"{100 * report.loss['value']:.2f}", f"{100 * report.ncp:.2f}", str(report.classes))
        measured.append((cut, order, *figures))
    assert len(rows) == 5
    assert measured == rows
