"""A short run of the fuzzer, and whether its judge sees what it is there to see."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz import cases, checker, doors

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.errors import RecipeError
from shoal.loss import LOSSES
from shoal.privacy import MODELS

LARGE = [HealthCheck.data_too_large, HealthCheck.too_slow, HealthCheck.large_base_example]


@settings(max_examples=250, suppress_health_check=LARGE)
@given(st.randoms(use_true_random=False))
def test_random_cases_end_with_a_safe_release_or_a_typed_error(random):
    case = cases.draw(random)
    doors.judge(replace(case, door="cli") if case.door in ("process", "memory") else case)


def test_everything_that_can_be_asked_for_is_asked_for():
    drawn = [cases.case_of(seed) for seed in range(3000)]
    assert {case.algorithm[0] for case in drawn} == set(ALGORITHMS)
    assert {name for case in drawn for name, _ in case.models} == set(MODELS)
    assert {case.loss for case in drawn} == set(LOSSES)
    assert {case.door for case in drawn} >= set(doors.DOORS) - {"process", "memory"}
    assert {case.rows for case in drawn} >= {1, 2, 40}


def test_a_seed_is_a_case():
    assert cases.case_of(4711) == cases.case_of(4711) != cases.case_of(4712)


def test_the_judge_knows_nothing_but_the_standard_library():
    import sys

    tree = ast.parse(Path(checker.__file__).read_text())
    modules = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules += [name.name for n in ast.walk(tree) if isinstance(n, ast.Import) for name in n.names]
    assert {str(name).split(".")[0] for name in modules} <= sys.stdlib_module_names


# A release that is right, and what may be wrong with it.

CELLS = {
    "age": [21, 22, 22, 35, 38, 36],
    "job": ["mason", "smith", "mason", "clerk", "clerk", "clerk"],
    "ill": ["flu", "cold", "flu", "flu", "cold", "gout"],
    "row": [0, 1, 2, 3, 4, 5],
}
TREE = [("mason", "manual", "*"), ("smith", "manual", "*"), ("clerk", "office", "*")]


def right() -> tuple[checker.Asked, checker.Release]:
    """A run, as the judge is told of it."""
    roles = {"age": "quasi", "job": "quasi", "ill": "sensitive", "row": "plain"}
    release = shoal.anonymize(
        pl.DataFrame(CELLS),
        quasi=["age", "job"],
        sensitive=["ill"],
        plain=["row"],
        k=3,
        l=2,
        hierarchies={"job": TREE},
        algorithm="mondrian",
    )
    report = release.report.to_dict()
    columns = [
        checker.Known(
            name,
            roles[name],
            cells,
            **{k: v for k, v in report["columns"].get(name, {}).items() if k in ("kind", "type")},
            tree=TREE if name == "job" else None,
        )
        for name, cells in CELLS.items()
    ]
    asked = checker.Asked(columns, [("k", {"k": 3}), ("distinct-l", {"l": 2})])
    released = {series.name: series.to_list() for series in release.frame}
    return asked, checker.Release(list(CELLS), released, report)


def with_cells(release: checker.Release, **columns: Sequence[Any]) -> checker.Release:
    return replace(release, columns={**release.columns, **columns})


def with_figures(release: checker.Release, **figures: Any) -> checker.Release:
    return replace(release, report={**release.report, **figures})


WRONG = {
    "a class of two": lambda r: with_cells(r, age=["[21-22]"] * 2 + ["22"] + ["[35-38]"] * 3),
    "one sensitive value": lambda r: with_cells(r, ill=["flu"] * 3 + CELLS["ill"][3:]),
    "rows in another order": lambda r: with_cells(r, row=[1, 0, 2, 3, 4, 5]),
    "a sensitive cell changed": lambda r: with_cells(r, ill=[*CELLS["ill"][:5], "cold"]),
    "a type changed": lambda r: replace(r, dtypes={"ill": ("String", "Categorical")}),
    "a column lost": lambda r: replace(r, names=["age", "job", "row"]),
    "a cell that leaves the value out": lambda r: with_cells(r, age=["[21-21]"] * 3 + ["[35-38]"] * 3),
    "a node above others": lambda r: with_cells(r, job=["office"] * 3 + r.columns["job"][3:]),
    "a cell without sense": lambda r: with_cells(r, age=["young"] * 3 + ["[35-38]"] * 3),
    "another loss": lambda r: with_figures(r, ncp=r.report["ncp"] + 0.001),
    "another number of classes": lambda r: with_figures(r, classes=3),
    "a loss below its bound": lambda r: with_figures(r, lower_bound=0.9),
    "a loss that is not the best": lambda r: with_figures(r, optimal=True, lower_bound=0.0),
    "a row lost": lambda r: replace(r, columns={name: cells[1:] for name, cells in r.columns.items()}),
}


def test_the_judge_passes_what_is_right():
    assert list(checker.problems(*right())) == []


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_the_judge_sees_what_is_wrong(wrong):
    asked, release = right()
    assert list(checker.problems(asked, wrong(release)))


# Two counters that share no code agree on tables nobody made safe.

GOALS = {
    "k": {"k": 2},
    "distinct-l": {"l": 2},
    "p-sensitive": {"p": 3},
    "entropy-l": {"l": 1.8},
    "recursive-cl": {"c": 1.5, "l": 2},
    "alpha-k": {"alpha": 0.6, "k": 2},
    "t": {"t": 0.3, "distance": "equal"},
    "basic-beta": {"beta": 1.0},
    "enhanced-beta": {"beta": 1.0},
    "delta-disclosure": {"delta": 1.0},
    "max-risk": {"risk": 0.5},
    "average-risk": {"risk": 0.5},
    "uniqueness": {"share": 0.2},
}


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_the_judge_and_the_verifier_agree(distance, seed):
    random = Random(seed)
    rows = random.randint(1, 14)
    table = {
        "class": [random.choice("xyz") for _ in range(rows)],
        "s": [random.choice("abbccc") for _ in range(rows)],
    }
    tree = [("a", "left", "*"), ("b", "left", "*"), ("c", "right", "*")]
    goal = {**GOALS, "t": {"t": random.choice((0.1, 0.3, 0.5)), "distance": distance}}
    known = [
        checker.Known("class", "quasi", table["class"]),
        checker.Known("s", "sensitive", table["s"], order=["a", "b", "c"], tree=tree),
    ]
    release = checker.Release(list(table), table, {"models": []})
    for name, parameters in goal.items():
        found = shoal.verify(
            pl.DataFrame(table),
            quasi=["class"],
            sensitive=["s"],
            models=[MODELS[name](**parameters)],
            hierarchies={"s": tree},
            orders={"s": ["a", "b", "c"]},
        )
        asked = checker.Asked(known, [(name, parameters)])
        unsafe = list(checker._goal(asked, release, list(range(rows)), {}))
        assert found.holds == (not unsafe), (name, parameters, table, found, unsafe)


# What the fuzzer found.


def test_names_that_look_like_patterns_can_be_compared_with_a_population():
    frame = pl.DataFrame({"^x$": [1, 1, 2, 2], "note": list("abcd")})
    release = shoal.anonymize(frame, quasi=["^x$"], plain=["note"], models=[shoal.KMap(2, frame)])
    assert release.report.models[0].holds


def test_a_tree_on_few_rows_warns_of_nothing():
    frame = pl.DataFrame({"q": [1, 2, 3, 4, 5, 6], "s": list("abcdef")})
    assert (
        shoal.anonymize(frame, quasi=["q"], sensitive=["s"], k=2, algorithm="tree").report.released_rows == 6
    )


def test_nonsense_is_a_recipe_error():
    with pytest.raises(RecipeError):
        doors.model_of("k", {"k": -1}, None)
