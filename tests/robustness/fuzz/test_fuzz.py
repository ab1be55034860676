"""A short run of the fuzzer, and whether its judge sees what it is there to see."""

from __future__ import annotations

import ast
import gzip
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cases import thin_out
from tests.robustness.fuzz import cases, checker, entry_points, large, outlets, written

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.codespace.loss import LOSSES
from shoal.errors import RecipeError
from shoal.privacy import MODELS
from shoal.table import to_strings, write_table

LARGE = [HealthCheck.data_too_large, HealthCheck.too_slow, HealthCheck.large_base_example]


@pytest.mark.slow
@settings(max_examples=250, suppress_health_check=LARGE)
@given(st.randoms(use_true_random=False))
def test_random_cases_end_with_a_safe_release_or_a_typed_error(random):
    case = cases.draw(random)
    entry_points.judge(replace(case, door="cli") if case.door in ("process", "memory") else case)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=LARGE)
@given(st.randoms(use_true_random=False))
def test_people_with_several_rows_end_with_a_safe_release_or_a_typed_error(random):
    case = cases.draw_people(random)
    entry_points.judge(replace(case, door="cli") if case.door == "process" else case)


def test_people_repeat_are_missing_and_have_most_rows():
    drawn = [cases.people_case_of(seed) for seed in range(300)]
    ids = [next(column for column in case.columns if column.role == "person").values for case in drawn]
    assert {case.door for case in drawn} >= {"polars", "cli", "memory"}
    assert any(case.with_population for case in drawn)
    assert any(None in each for each in ids)
    assert any(2 * max(map(each.count, each)) > len(each) > 9 for each in ids)
    assert sum(len(set(each)) < len(each) for each in ids) > 200


PATIENTS = [
    checker.Known("q", "quasi", ["a"] * 4),
    checker.Known("s", "sensitive", ["flu", "flu", "gout", "gout"]),
    checker.Known("row", "plain", [0, 1, 2, 3]),
]


@pytest.mark.parametrize(
    ("ids", "models", "said"),
    [
        (["P1", "p1 ", "P2", "P3"], [("k", {"k": 3})], ""),
        (["P1", "p1 ", "P2", "P2"], [("k", {"k": 3})], "violated by classes of [2] people"),
        ([None, None, "P2", "P2"], [("k", {"k": 3})], ""),
        (["1", "1.0", "01", "+1"], [("k", {"k": 3})], "violated by classes of [2] people"),
        (["P1", "P2", "P1", "P2"], [("distinct-l", {"l": 2})], "violated by 2 people"),
        (["P1", "P2", "P3", "P3"], [("distinct-l", {"l": 2})], ""),
        (["P1", "P2", "P1", "P3"], [("alpha-k", {"alpha": 0.6, "k": 3})], "violated by 3 people"),
    ],
)
def test_the_judge_counts_people(ids, models, said):
    asked = checker.Asked([*PATIENTS, checker.Known("whose", "person", ids)], models)
    cells = {column.name: list(column.cells) for column in PATIENTS}
    whose = checker._people(asked)
    report = {"models": [], "smallest_class": len(set(whose)), "people": len(set(whose))}
    release = checker.Release(list(cells), cells, report)
    found = list(checker._goal(asked, release, [0, 1, 2, 3], {}))
    assert [each for each in found if said and said in each] if said else found == []


def test_everything_that_can_be_asked_for_is_asked_for():
    drawn = [cases.case_of(seed) for seed in range(3000)]
    assert {case.algorithm[0] for case in drawn} == set(ALGORITHMS)
    assert {name for case in drawn for name, _ in case.models} == set(MODELS)
    assert {case.loss for case in drawn} == set(LOSSES)
    assert {case.door for case in drawn} >= set(entry_points.DOORS) - {"process", "memory"}
    assert {case.rows for case in drawn} >= {1, 2, 40}


def test_a_seed_is_a_case():
    assert cases.case_of(4711) == cases.case_of(4711) != cases.case_of(4712)


def test_the_judge_knows_every_model():
    assert set(MODELS) == checker.JUDGED


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
    "delta-disclosure": {"delta": 1.1},  # no share lies on its border, where the judge allows for rounding
    "max-risk": {"risk": 0.5},
    "average-risk": {"risk": 0.5},
    "uniqueness": {"share": 0.2},
}


@pytest.mark.slow
@pytest.mark.parametrize("distance", thin_out(["hierarchical", "ordered", "equal"], 3))
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
    goal = {
        **GOALS,
        "entropy-l": {"l": 1.8, "estimator": random.choice(("shannon", "grassberger"))},
        "t": {"t": random.choice((0.1, 0.3, 0.5)), "distance": distance},
    }
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
        entry_points.model_of("k", {"k": -1}, None)


# The large family: tables of 50 to 2,000 rows, written to a file and judged there.


@pytest.mark.parametrize("seed", thin_out(range(33), 3))
def test_large_cases_end_with_a_safe_file_or_a_typed_error(seed):
    outlets.judge(large.case_of(seed))


@pytest.mark.exhaustive
def test_everything_that_a_table_can_hold_is_drawn():
    drawn = [large.case_of(seed) for seed in range(1500)]
    assert {case.algorithm[0] for case in drawn} == set(ALGORITHMS)
    assert {case.output for case in drawn} == set(large.FORMATS)
    assert {case.door for case in drawn} == set(large.SOURCES)
    assert {column.kind for case in drawn for column in case.columns} >= set(large.KINDS)
    assert all(50 <= case.rows <= 2000 for case in drawn)
    assert max(case.rows for case in drawn) > 1900
    assert {len(case.columns) for case in drawn} >= set(range(2, 31))
    assert any(case.index for case in drawn)
    assert any(case.attached for case in drawn)


def test_a_seed_is_a_large_case():
    assert large.case_of(4711) == large.case_of(4711) != large.case_of(4712)


def test_the_readers_of_files_know_nothing_of_shoal():
    tree = ast.parse(Path(written.__file__).read_text())
    modules = [str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules += [name.name for n in ast.walk(tree) if isinstance(n, ast.Import) for name in n.names]
    assert not [name for name in modules if name.startswith(("shoal", "tests"))]


FINE = pl.DataFrame(
    {
        "n": [1, None],
        "t": [time(1, 2, 3, 4), time(1, 2, 3)],
        "d": [timedelta(days=-1, seconds=3, microseconds=5), timedelta(0)],
        "x": [Decimal("1.50"), Decimal("-2.25")],
        "z": [datetime(2020, 7, 1, 2, 3, 4, 5, UTC), None],
        "s": ["a, b", None],
        "b": [True, False],
    }
)
FINE_KINDS = {
    "n": "int",
    "t": "time",
    "d": "duration",
    "x": "decimal",
    "z": "zoned",
    "s": "text",
    "b": "bool",
}


@pytest.mark.parametrize("format", [name for name in large.FORMATS if name != "pickle"])
def test_the_judge_reads_what_every_format_holds(tmp_path, format):
    path = tmp_path / f"out.{format}"
    write_table(FINE, path)
    _, cells = written.read_path(path, format)
    assert cells.names == FINE.columns
    for name, kind in FINE_KINDS.items():
        read = [written.value_of(cell, kind, cells) for cell in cells.columns[name]]
        assert read == FINE[name].to_list(), (name, read)


def test_durations_and_times_have_the_text_that_releases_have():
    values = [timedelta(days=40, hours=2, microseconds=5), timedelta(0), -timedelta(seconds=90), time(1, 2)]
    values += [time(1, 2, 3, 500_000), time(1, 2, 3, 4), timedelta(hours=1, seconds=2, milliseconds=500)]
    for value in values:
        assert written.iso_text(value) == to_strings(pl.Series([value]))[0]


@pytest.mark.parametrize("format", ["arrow", "parquet", "csv.gz", "xlsx"])
def test_hidden_values_are_found(format):
    shown = pl.DataFrame({"a": ["patient zq000000001qz"]})
    buffers = {
        "arrow": lambda frame, path: frame.write_ipc(path),
        "parquet": lambda frame, path: frame.write_parquet(path),
        "csv.gz": lambda frame, path: Path(path).write_bytes(gzip.compress(frame.write_csv().encode())),
        "xlsx": lambda frame, path: frame.write_excel(path),
    }
    both = pl.DataFrame({"a": ["patient zq000000001qz", "patient zq000000002qz"]})
    cells = written.Cells(["a"], {"a": shown["a"].to_list()})
    with entry_points.folder() as place:
        path = place / f"x.{format}"
        buffers[format](both, path)
        assert written.hidden_tokens(path.read_bytes(), format, cells) == {b"zq000000002qz"}
        buffers[format](shown, path)
        assert not written.hidden_tokens(path.read_bytes(), format, cells)


def test_classes_are_told_apart_as_they_stand_in_the_file():
    cells = written.read_cells(b'{"q":34}\n{"q":34.0}\n{"q":"34"}\n', "jsonl")
    apart = [written.apart(cell) for cell in cells.columns["q"]]
    assert len(set(apart)) == 3


def test_short_rows_of_a_hierarchy_are_stretched_as_documented():
    rows = [("v0", "h0", "*"), ("v2", "g1", "h1", "*")]
    assert checker.stretched(rows) == {"v0": ["v0", "h0", "h0", "*"], "v2": ["v2", "g1", "h1", "*"]}
    rows = [("v0", "h0", "*"), ("v2", "g1", "h0", "*")]
    assert checker.stretched(rows)["v0"] == ["v0", "v0", "h0", "*"]
