"""Extensions of another distribution, each one file, do all that built-in ones do.

The files are those of the page that shows how to write them.
"""

import gzip
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.contract import test_contract as contract
from tests.contract.test_contract import ALGORITHM_LINES, KINDS, MODEL_LINES, AlgorithmCase, ModelCase
from tests.docs.test_docs import BLOCK, DOCS, run_console, run_python

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.codespace.loss import LOSSES
from shoal.errors import InputError, OutputError, PluginError, RecipeError
from shoal.privacy import MODELS
from shoal.recipes.equivalent import command_line, python_snippet
from shoal.support import extensions
from shoal.support.extensions import ExtensionTable
from shoal.table.formats import FORMATS

PAGE = (DOCS / "howto" / "extend.md").read_text("utf-8")
HALVES = AlgorithmCase("halves(least=3)")
GINI = ModelCase(
    ("k(k=2)", "gini(chance=0.5)"),
    lambda values, whole: 1 - sum(p * p for p in contract.shares(values).values()) >= 0.5 - 1e-12,
)
TABLES = {"algorithm": ALGORITHMS, "privacy model": MODELS, "loss": LOSSES, "file format": FORMATS}
GOAL = {"quasi": ["age"], "sensitive": ["illness"], "others": "drop"}


def write_distribution(folder: Path, name: str, groups: dict[str, dict[str, str]], files: dict[str, str]):
    """What an installer leaves in a folder: modules, and metadata with the entry points."""
    folder.mkdir(exist_ok=True)
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    for file, text in files.items():
        (folder / file).write_text(text, "utf-8")


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """With the distributions in a folder, as if they were installed."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    extensions.forget_plugins()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
        extensions.forget_plugins()


@pytest.fixture(scope="module")
def toys(tmp_path_factory) -> Iterator[Path]:
    """The distribution of the page."""
    files = {block["title"]: block["text"] for block in BLOCK.finditer(PAGE) if block["title"]}
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    folder = tmp_path_factory.mktemp("site") / "toys"
    write_distribution(folder, project["name"], project["entry-points"], files)
    with installed(folder):
        yield folder


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables by kind and number of rows."""
    return lambda kind, rows: KINDS[kind](contract.mixed(rows), tmp_path_factory.mktemp(kind))


@pytest.fixture
def people() -> pl.DataFrame:
    return pl.DataFrame({"age": [10, 20, 30, 40], "illness": ["flu", "cold", "flu", "gout"]})


def test_each_is_one_file(toys):
    files = sorted(path.name for path in toys.iterdir() if path.suffix == ".py")
    assert len(files) == 4
    found = {what: list(table.find_plugins()) for what, table in TABLES.items()}
    assert found == {
        "algorithm": ["halves"],
        "privacy model": ["gini"],
        "loss": ["squared-width"],
        "file format": ["json"],
    }


def test_everything_on_the_page_works(toys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(toys)}.items():
        monkeypatch.setenv(name, value)
    shown = [block for block in BLOCK.finditer(PAGE) if block["skip"]]
    assert [block["kind"] for block in shown] == ["console", "python"]
    assert "$ pip install .\n" in shown[0]["text"]
    run_console(shown[0]["text"].replace("$ pip install .\n", ""))
    run_python(shown[1]["text"], {}, "extend.md")


@pytest.mark.parametrize("number", range(len(MODEL_LINES)), ids=lambda n: contract.name_of(MODEL_LINES[n]))
def test_an_algorithm_keeps_the_contract_with_every_model(toys, tables, tmp_path, number):
    kind = list(KINDS)[number % len(KINDS)]
    contract.check_release(tables(kind, 60), HALVES, MODEL_LINES[number], tmp_path)


@pytest.mark.parametrize("number", range(len(ALGORITHM_LINES)), ids=lambda n: ALGORITHM_LINES[n].text)
def test_a_model_and_a_loss_keep_the_contract_with_every_algorithm(toys, tables, tmp_path, number):
    """Also with those whose kernels know only a part of the model."""
    algorithm, kind = ALGORITHM_LINES[number], list(KINDS)[number % len(KINDS)]
    exact = algorithm.text.startswith(("mingen", "genetic"))
    loss = "ncp" if exact else "squared-width"
    contract.check_release(tables(kind, algorithm.rows), algorithm, GINI, tmp_path, loss=loss)


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_a_format_keeps_the_contract(toys, tmp_path, suffix):
    frame = contract.mixed(40).drop("born", "size")
    raw = tmp_path / "in.json"
    frame.write_json(raw)
    if suffix != "json":
        raw = tmp_path / "in.json.gz"
        raw.write_bytes(gzip.compress((tmp_path / "in.json").read_bytes()))
    settings = {"quasi": ["age", "height", "colour"], "sensitive": ["illness"], "k": 3}
    release = shoal.anonymize(raw, **settings, identifier=["name"], others="drop")
    assert release.frame.equals(shoal.anonymize(frame, **settings, identifier=["name"], others="drop").frame)
    release.write(tmp_path / f"out.{suffix}")
    assert shoal.verify(tmp_path / f"out.{suffix}", **settings).holds
    content = (tmp_path / f"out.{suffix}").read_bytes()
    rows = json.loads(content if suffix == "json" else gzip.decompress(content))
    assert rows == release.frame.to_dicts()


def test_a_written_file_is_judged_by_its_reader(toys, people, tmp_path, monkeypatch):
    """A writer that writes something else than the release is found out."""
    kind = FORMATS["json"]
    release = shoal.anonymize(people, **GOAL, k=2)
    monkeypatch.setattr(kind, "write", lambda self, table, stream: people.write_json(stream))
    with pytest.raises(shoal.errors.GoalNotMet):
        release.write(tmp_path / "out.json")
    assert list(tmp_path.iterdir()) == []


def test_the_verifier_counts_a_model(toys, people):
    """Two of flu, one of cold and one of gout: 1 - (4 + 1 + 1) / 16."""
    alike, roles = people.with_columns(age=1), {"quasi": ["age"], "sensitive": ["illness"]}
    found = shoal.verify(alike, **roles, models=["gini(chance=0.6)"])
    assert (found.holds, found.models[0].achieved) == (True, 0.625)
    assert not shoal.verify(alike, **roles, models=["gini(chance=0.7)"]).holds


def test_classes_are_merged_for_a_model_that_no_search_knows(toys, monkeypatch):
    """Without a rule the kernels know nothing of it: what they propose is merged until it holds."""
    monkeypatch.setattr(MODELS["gini"], "rule", lambda self, whole: None)
    frame = pl.DataFrame({"age": range(40), "illness": ["flu"] * 10 + ["cold", "gout"] * 10 + ["flu"] * 10})
    release = shoal.anonymize(frame, **GOAL, k=4, models=["gini(chance=0.45)"], algorithm="mondrian")
    assert any("classes were merged" in note for note in release.report.notes)
    assert release.report.classes > 1
    counted = release.frame.group_by("age").agg(pl.col("illness").value_counts(normalize=True))
    for shares in counted["illness"]:
        assert 1 - sum(each["proportion"] ** 2 for each in shares) >= 0.45


def test_a_loss_is_measured(toys, people):
    """Two classes of two ages, each a third of the ages from 10 to 40."""
    report = shoal.anonymize(people, **GOAL, k=2, algorithm="mondrian", loss="squared-width").report
    assert (report.loss["name"], report.loss["value"]) == ("squared-width", pytest.approx(1 / 9))


def test_a_loss_that_adds_up_in_its_own_way_is_not_taken_for_a_sum(toys):
    assert LOSSES["squared-width"].additive

    class Own(LOSSES["squared-width"]):
        def compute_total(self, sums, weights, rows):
            return super().compute_total(sums, weights, rows) ** 2

    assert not Own.additive


def test_lattice_minimises_a_loss_with_a_proof(toys, tables):
    frame = tables("polars", 60)
    settings = {"quasi": ["age", "job"], "hierarchies": {"job": contract.JOBS}, "others": "drop", "k": 5}
    found = [
        shoal.anonymize(frame, **settings, algorithm=name, loss="squared-width").report
        for name in ("lattice", "datafly")
    ]
    assert found[0].optimal
    assert found[0].loss["value"] <= found[1].loss["value"]


def test_recipes_and_what_is_equivalent_name_them(toys, people, tmp_path):
    recipe = shoal.anonymize(
        people, **GOAL, k=2, models=["gini(chance=0.4)"], algorithm="halves(least=3)", loss="squared-width"
    ).recipe
    (tmp_path / "recipe.toml").write_text(recipe.to_toml(), "utf-8")
    assert shoal.Recipe.from_toml(tmp_path / "recipe.toml") == recipe
    line = command_line(replace(recipe, input="people.csv"))
    assert all(part in line for part in ("--algorithm halves", "--set least=3", "--loss squared-width"))
    assert "gini(chance=0.4)" in line
    assert "algorithm='halves(least=3)'" in python_snippet(replace(recipe, input="people.csv"))


def test_another_process_has_them_too(toys, people, tmp_path):
    people.write_csv(tmp_path / "people.csv")
    goal = ("-q", "age", "-s", "illness", "--others", "drop", "-k", "2", "-m", "gini(chance=0.4)")
    more = ("--algorithm", "halves", "--json", "-o", "out.json")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(toys), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-m", "shoal", "anonymize", "people.csv", *goal, *more],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert told["algorithm"]["name"] == "halves"
    assert [model["name"] for model in told["models"]] == ["k", "gini"]
    assert len(json.loads((tmp_path / "out.json").read_text("utf-8"))) == 4


def run_shoal(*arguments: object) -> tuple[int, str]:
    return run_to_end(run_command_line, [str(each) for each in arguments])


def test_standard_output_takes_the_format(toys, people, tmp_path, capfdbinary):
    people.write_csv(tmp_path / "people.csv")
    goal = ("-q", "age", "-s", "illness", "--others", "drop", "-k", 2, "--quiet")
    code, said = run_shoal("anonymize", tmp_path / "people.csv", *goal, "-o", "-", "--out-format", "json")
    assert (code, said) == (0, "")
    assert len(json.loads(capfdbinary.readouterr().out)) == 4
    code, said = run_shoal("anonymize", tmp_path / "people.csv", *goal, "-o", "-", "--out-format", "jsn")
    assert code == 2
    assert "did you mean 'json'?" in said


@pytest.mark.parametrize("command", [(), ("anonymize",)], ids=["shoal", "anonymize"])
def test_the_help_lists_them(toys, capsys, command):
    run_shoal(*command, "--help")
    told = capsys.readouterr().out
    for name, what in (
        ("halves", "algorithm"),
        ("gini", "privacy model"),
        ("squared-width", "loss"),
        ("json", "file format"),
    ):
        assert re.search(rf"{name} +{what} of the distribution shoal-toys", told)


def test_errors_list_them(toys, people):
    with pytest.raises(RecipeError, match="'halves'"):
        shoal.anonymize(people, **GOAL, k=2, algorithm="xyz")
    with pytest.raises(RecipeError, match="did you mean 'gini'"):
        shoal.anonymize(people, **GOAL, models=["gino(chance=1)"])
    with pytest.raises(RecipeError, match="did you mean 'squared-width'"):
        shoal.anonymize(people, **GOAL, k=2, loss="squared-widths")
    with pytest.raises(RecipeError, match="write gini"):
        shoal.anonymize(people, **GOAL, models=["gini"])


def test_what_fails_in_a_format_is_told_with_the_file(toys, people, tmp_path, monkeypatch):
    (tmp_path / "bad.json").write_text("[", "utf-8")
    with pytest.raises(InputError, match=r"bad\.json cannot be read as json: "):
        shoal.anonymize(tmp_path / "bad.json", **GOAL, k=2)
    (tmp_path / "bad.json").unlink()
    release = shoal.anonymize(people, **GOAL, k=2)
    monkeypatch.setattr(FORMATS["json"], "write", lambda self, table, stream: 1 / 0)
    with pytest.raises(OutputError, match=r"out\.json cannot be written as json: division"):
        release.write(tmp_path / "out.json")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "in.json").write_text("[]", "utf-8")
    monkeypatch.setattr(FORMATS["json"], "read", lambda self, stream: [])
    with pytest.raises(PluginError, match="reads no polars frame, but list"):
        shoal.anonymize(tmp_path / "in.json", **GOAL, k=2)


def test_nobody_looks_for_plugins_without_need(people, tmp_path, monkeypatch):
    monkeypatch.setattr(extensions, "_has_plugins", lambda: pytest.fail("looked for entry points"))
    people.write_csv(tmp_path / "people.csv")
    release = tmp_path / "out.csv"
    goal = ("-q", "age", "-s", "illness", "-k", 2, "--l", 2, "--quiet")
    more = ("--others", "drop", "--algorithm", "mondrian", "--loss", "entropy")
    recipe = tmp_path / "recipe.toml"
    run = ("anonymize", tmp_path / "people.csv", *goal, *more, "-o", release, "--recipe-out", recipe)
    extensions.find_entry_points.cache_clear()
    assert run_shoal(*run) == (0, "")
    assert run_shoal("verify", release, *goal) == (0, "")
    assert run_shoal("run", recipe, "--quiet") == (0, "")


WRONG = {
    "has the name of a built-in one": ("mondrian", "x:X", "x = 1"),
    "cannot be loaded: ModuleNotFoundError: No module named 'nowhere'": ("toy", "nowhere:X", ""),
    "cannot be loaded: AttributeError": ("toy", "wrong:X", "x = 1"),
    "cannot be loaded: ZeroDivisionError: division by zero": ("toy", "wrong:X", "1 / 0"),
    "is no frozen dataclass": ("toy", "wrong:X", "class X: ..."),
    "is not derived from shoal.algorithms.problem.Algorithm": (
        "toy",
        "wrong:X",
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass X: ...",
    ),
    "does not define 'category_order', 'search'": (
        "toy",
        "wrong:X",
        "from dataclasses import dataclass\nfrom shoal.extend.algorithms import Algorithm\n"
        "@dataclass(frozen=True)\nclass X(Algorithm): ...",
    ),
    "a name has letters, digits, _ and - only": ("to y", "wrong:X", ""),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_wrong_is_told_with_the_distribution(people, tmp_path, message):
    name, value, text = WRONG[message]
    write_distribution(tmp_path, "broken-toys", {"shoal.algorithms": {name: value}}, {"wrong.py": text})
    with installed(tmp_path):
        with pytest.raises(PluginError) as raised:
            shoal.anonymize(people, **GOAL, k=2, algorithm="toy")
        # What has nothing to do with it goes on.
        assert shoal.anonymize(people, **GOAL, k=2, algorithm="mondrian").report.classes == 2
    assert f"the algorithm '{name}' of the distribution 'broken-toys'" in str(raised.value)
    assert message in str(raised.value)
    assert raised.value.exit_code == 2


def test_a_loss_of_cells_says_what_they_cost(tmp_path):
    text = "from dataclasses import dataclass\nfrom shoal.extend.losses import CellLoss\n"
    text += "@dataclass(frozen=True, slots=True)\nclass X(CellLoss): ..."
    write_distribution(tmp_path, "loss-toys", {"shoal.losses": {"toy": "lacking:X"}}, {"lacking.py": text})
    with installed(tmp_path), pytest.raises(PluginError, match="'loss-toys' does not define 'per_cell'"):
        LOSSES["toy"]


def test_two_distributions_cannot_share_a_name(tmp_path):
    for name in ("one-toys", "two-toys"):
        write_distribution(tmp_path, name, {"shoal.losses": {"toy": "x:X"}}, {})
    with installed(tmp_path), pytest.raises(PluginError) as raised:
        list(LOSSES)
    assert all(name in str(raised.value) for name in ("one-toys", "two-toys"))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "gz", "excel"])
def test_a_format_cannot_take_a_suffix_that_is_taken(tmp_path, suffix):
    write_distribution(tmp_path, "suffix-toys", {"shoal.formats": {suffix: "x:X"}}, {})
    with (
        installed(tmp_path),
        pytest.raises(PluginError, match="'suffix-toys' has the name"),
    ):
        FORMATS.find_plugins()


def test_the_studio_does_not_begin_with_names_that_are_taken(tmp_path):
    write_distribution(tmp_path, "model-toys", {"shoal.models": {"k": "x:X"}}, {})
    with installed(tmp_path):
        code, said = run_shoal("studio", "--no-browser")
    assert code == 2
    assert "the privacy model 'k' of the distribution 'model-toys' has the name of a built-in one" in said


def test_a_broken_plugin_does_not_hide_another(toys, people, tmp_path):
    write_distribution(tmp_path, "broken-toys", {"shoal.algorithms": {"a-toy": "nowhere:X"}}, {})
    with installed(tmp_path):
        report = shoal.anonymize(people, **GOAL, k=2, algorithm="halves").report
    assert report.algorithm["name"] == "halves"


def test_a_class_without_an_entry_point_is_refused_with_a_hint(toys, people):
    class Unnamed(ALGORITHMS["halves"]):
        pass

    with pytest.raises(RecipeError, match=r"Unnamed is no algorithm .* in the group shoal\.algorithms"):
        shoal.anonymize(people, **GOAL, k=2, algorithm=Unnamed())


def test_a_table_is_a_mapping_of_all():
    table = ExtensionTable("thing", "shoal.nothing", object, (), {"a": int, "b": str})
    assert (list(table), len(table), table["b"], "c" in table) == (["a", "b"], 2, str, False)
    assert table.find_name(int) == "a"
    with pytest.raises(KeyError):
        table["c"]
