"""Every engine takes the same steps; what they do between them is decided once."""

import ast
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal import algorithms
from shoal.engines.base import Engine, carry_out
from shoal.engines.duckdb import DiskEngine
from shoal.engines.memory import MemoryEngine
from shoal.engines.safepub import SamplingEngine
from shoal.engines.spark.engine import SparkEngine
from shoal.errors import GoalNotMet
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.verification.findings import Finding

TABLE = pl.DataFrame({"age": [20, 21, 30, 31]})
RECIPE = Recipe(("age",), (KAnonymity(2),))
STEPS = ["read", "prepare", "search", "recode", "verify", "write"]


class Noting(MemoryEngine):
    """The engine in memory, which notes its steps."""

    def __init__(self, recipe):
        super().__init__(recipe)
        self.steps = []

    @contextmanager
    def open_run(self, source):
        self.steps.append("open")
        try:
            with super().open_run(source):
                yield
        finally:
            self.steps.append("close")


def noting(step):
    def note_step(self, *given):
        self.steps.append(step)
        return getattr(MemoryEngine, step)(self, *given)

    return note_step


for each in STEPS:
    setattr(Noting, each, noting(each))


@pytest.mark.parametrize("engine", [MemoryEngine, DiskEngine, SparkEngine, SamplingEngine])
def test_every_engine_has_the_six_steps(engine):
    assert issubclass(engine, Engine)
    assert not engine.__abstractmethods__
    assert [step for step in STEPS if not callable(getattr(engine, step))] == []


def test_the_steps_have_one_order(tmp_path):
    engine = Noting(replace(RECIPE, output=str(tmp_path / "r.csv")))
    release = carry_out(engine, TABLE)
    assert engine.steps == ["open", *STEPS, "close"]
    assert release.report.seconds.keys() == {*STEPS, "total"} - {"prepare"}
    assert (tmp_path / "r.csv").exists()


def test_without_an_output_nothing_is_written():
    engine = Noting(RECIPE)
    carry_out(engine, TABLE)
    assert engine.steps == ["open", *STEPS[:-1], "close"]


def test_what_the_verifier_refuses_is_not_written(tmp_path, monkeypatch):
    def refuse(self, recoded):
        raise GoalNotMet("no")

    monkeypatch.setattr(Noting, "verify", refuse)
    engine = Noting(replace(RECIPE, output=str(tmp_path / "r.csv")))
    with pytest.raises(GoalNotMet, match="no"):
        carry_out(engine, TABLE)
    assert engine.steps == ["open", *STEPS[:4], "close"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("strict", [True, False])
def test_a_strict_recipe_refuses_findings_of_any_engine(strict, tmp_path, monkeypatch):
    found = Finding("unique-rows", "high", "somebody", 1.0, "drop a column")
    monkeypatch.setattr(
        Noting, "verify", lambda self, recoded: replace(MemoryEngine.verify(self, recoded), findings=(found,))
    )
    engine = Noting(replace(RECIPE, output=str(tmp_path / "r.csv"), strict=strict))
    if strict:
        with pytest.raises(GoalNotMet, match="somebody"):
            carry_out(engine, TABLE)
    else:
        assert carry_out(engine, TABLE).report.findings == (found,)
    assert (tmp_path / "r.csv").exists() != strict


def test_no_engine_asks_which_algorithm_it_has():
    # That of safepub carries out this one algorithm; others read what algorithms declare.
    kinds = {kind.__name__ for kind in algorithms.ALGORITHMS.values()}
    folder = Path(shoal.__file__).parent / "engines"
    named = {
        (path.relative_to(folder).as_posix(), node.id)
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Name) and node.id in kinds
    }
    assert named == {("safepub.py", "SafePubScheme")}
