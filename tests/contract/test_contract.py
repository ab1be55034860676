"""What every algorithm promises, with every privacy model, and each of both with every kind of table.

An algorithm that is not in `ALGORITHM_CASES` is tried with its defaults. A model that is not in `MODEL_CASES`
is tried as its page shows it; what it means is written out in its own test.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from itertools import pairwise
from math import log, log2
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.entries import list_untested, read_example

from shoal.algorithms import ALGORITHMS
from shoal.engines.api import anonymize, verify
from shoal.errors import RecipeError
from shoal.privacy import MODELS, DeltaPresence, KMap, Model, parse_model
from shoal.support.parameters import parse_call
from shoal.table.hierarchies import Hierarchy

QUASI = ("age", "height", "born", "colour", "job", "size", "member")


class AlgorithmCase(NamedTuple):
    """An algorithm with its settings, and what it can be asked to take: rows, columns, a population."""

    text: str
    rows: int = 60
    quasi: tuple[str, ...] = QUASI
    population: bool = True


class ModelCase(NamedTuple):
    """Models that hold together, and what they mean in plain Python for the values of a class and of all."""

    models: tuple[str | Model, ...]
    holds: Callable[[list[object], list[object]], bool]


def shares(values: list[object]) -> dict[object, float]:
    return {value: values.count(value) / len(values) for value in values}


def most_gained(values: list[object], whole: list[object]) -> float:
    """How much more likely than in the whole a value is, at the most."""
    return max(p / shares(whole)[value] for value, p in shares(values).items()) - 1


def estimate_entropy(values: list[object]) -> float:
    """By Grassberger, without a constant that cancels out."""

    def g(count: int) -> float:
        return sum(2 / (2 * k - 1) for k in range(1, count // 2 + 1))

    return g(len(values)) - sum(p * g(values.count(value)) for value, p in shares(values).items())


ALGORITHM_CASES: Mapping[str, list[AlgorithmCase]] = {
    "auto": [
        AlgorithmCase("auto(seconds=0.08)"),
        AlgorithmCase("auto", rows=12),
    ],
    "cluster": [AlgorithmCase("cluster(cell=20,sweeps=2)")],
    "hilbert": [AlgorithmCase("hilbert")],
    "microaggregate": [
        AlgorithmCase(f"microaggregate(centre={centre})", quasi=("size", "mass"), population=False)
        for centre in ("mean", "median")
    ],
    "peel": [AlgorithmCase("peel(vectors=500,sweeps=1)")],
    "lattice": [AlgorithmCase("lattice")],
    "datafly": [AlgorithmCase("datafly")],
    "samarati": [AlgorithmCase("samarati", quasi=("age", "colour", "job", "size"))],
    "refine": [AlgorithmCase("refine"), AlgorithmCase("refine(start=hilbert,sweeps=2)")],
    "mondrian": [
        AlgorithmCase(f"mondrian(mode={mode},cut={cut})")
        for mode in ("strict", "relaxed")
        for cut in ("classic", "nearest", "greedy")
    ],
    "mingen": [
        AlgorithmCase("mingen", rows=14),
        AlgorithmCase("mingen(sets=true,iterations=200,seconds=)", rows=18),
    ],
    "genetic": [AlgorithmCase("genetic(generations=5)")],
    "tree": [
        AlgorithmCase("tree"),
        AlgorithmCase("tree(target=note,grow=all,split=no,gain=0)"),
        AlgorithmCase("tree(target=row,gain=0)"),
        AlgorithmCase('tree(target="note,row",gain=0,sweeps=1,distance=effect)'),
    ],
}
MODEL_CASES: Mapping[str, list[ModelCase]] = {
    "k": [
        ModelCase(("k(k=2)",), lambda values, whole: len(values) >= 2),
        ModelCase(("k(k=7)",), lambda values, whole: len(values) >= 7),
    ],
    "distinct-l": [
        ModelCase(("distinct-l(l=3)",), lambda values, whole: len(set(values)) >= 3),
        ModelCase(
            ("k(k=4)", "distinct-l(l=2,column=illness)"),
            lambda values, whole: len(values) >= 4 and len(set(values)) >= 2,
        ),
    ],
    "alpha-k": [
        ModelCase(("alpha-k(alpha=0.6,k=3)",), lambda values, whole: max(shares(values).values()) <= 0.6)
    ],
    "entropy-l": [
        ModelCase(
            ("entropy-l(l=2)",),
            lambda values, whole: -sum(p * log2(p) for p in shares(values).values()) >= 1 - 1e-12,
        ),
        ModelCase(
            ("k(k=2)", "entropy-l(l=1.8,estimator=grassberger)"),
            lambda values, whole: estimate_entropy(values) >= log(1.8) - 1e-12,
        ),
    ],
    "recursive-cl": [
        ModelCase(
            ("recursive-cl(c=3,l=2)",),
            lambda values, whole: (largest := max(map(values.count, values))) < 3 * (len(values) - largest),
        )
    ],
    "t": [
        ModelCase(
            ("k(k=2)", "t(t=0.4)"),
            lambda values, whole: (
                sum(abs(shares(values).get(v, 0) - q) for v, q in shares(whole).items()) <= 0.8 + 1e-12
            ),
        )
    ],
    "basic-beta": [
        ModelCase(("basic-beta(beta=1.5)",), lambda values, whole: most_gained(values, whole) <= 1.5)
    ],
    "enhanced-beta": [
        ModelCase(("enhanced-beta(beta=1.2)",), lambda values, whole: most_gained(values, whole) <= 1.2)
    ],
    "delta-disclosure": [
        ModelCase(
            ("delta-disclosure(delta=2)",),
            lambda values, whole: all(
                1 / 4 < shares(values).get(v, 0) / q < 4 for v, q in shares(whole).items()
            ),
        )
    ],
    "p-sensitive": [ModelCase(("k(k=2)", "p-sensitive(p=2)"), lambda values, whole: len(set(values)) >= 2)],
    "max-risk": [ModelCase(("max-risk(risk=0.3)",), lambda values, whole: len(values) >= 4)],
    "average-risk": [ModelCase(("average-risk(risk=0.5)",), lambda values, whole: len(values) >= 2)],
    "uniqueness": [ModelCase(("uniqueness(share=0)",), lambda values, whole: len(values) >= 2)],
    "population-uniqueness": [
        ModelCase(("population-uniqueness(share=0,fraction=0.1)",), lambda values, whole: len(values) >= 2)
    ],
    "profitability": [
        ModelCase(("profitability(gain=300,cost=100,attack=none)",), lambda values, whole: len(values) >= 3)
    ],
    "k-map-estimate": [
        ModelCase(("k-map-estimate(k=20,fraction=0.01)",), lambda values, whole: len(values) >= 3)
    ],
}
# Differential privacy is a mode of its own, in which neither goes with anything else: see test_safepub.
APART = {"safepub"}
WITH_PEOPLE = {"k-map", "delta-presence"}  # which cannot be asked for by text alone
WITH_WEIGHTS = {"k-map-weights"}  # of which there are none here: see test_k_map_weights


def list_algorithms() -> Iterator[AlgorithmCase]:
    for name in (*ALGORITHM_CASES, *(name for name in ALGORITHMS if name not in {*ALGORITHM_CASES, *APART})):
        yield from ALGORITHM_CASES.get(name, [AlgorithmCase(name)])


def list_models() -> Iterator[ModelCase]:
    listed = {*MODEL_CASES, *APART, *WITH_PEOPLE, *WITH_WEIGHTS}
    yield from (case for cases in MODEL_CASES.values() for case in cases)
    for name in (name for name in MODELS if name not in listed):
        yield ModelCase((read_example(name),), lambda values, whole: True)


ALGORITHM_LINES = list(list_algorithms())
MODEL_LINES = list(list_models())

JOBS = Hierarchy.from_tree(
    {
        "manual": {"stone": ["mason"], "iron": ["smith", "welder"]},
        "office": {"law": ["judge"], "desk": ["clerk"]},
    }
)
SIZES = ["S", "M", "L", "XL"]
SETTINGS = {
    "sensitive": ["illness"],
    "identifier": ["name"],
    "plain": ["row", "note"],
    "orders": {"size": SIZES},
    "others": "keep",
}


def mixed(rows: int) -> pl.DataFrame:
    """Numbers, dates, categories of every sort, missing values; columns of all four roles mixed."""
    rng = np.random.default_rng(rows)

    def some_missing(values: object) -> pl.Series:
        return pl.Series(values).set(pl.Series(rng.random(rows) < 0.08), None)

    return pl.DataFrame(
        {
            "row": np.arange(rows),
            "age": some_missing(rng.integers(-5, 90, rows)),
            "name": [f"person {i}" for i in range(rows)],
            "height": some_missing(rng.normal(1.7, 0.1, rows).round(2)),
            "born": some_missing([date(1960, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 2000, rows)]),
            "illness": some_missing(rng.choice(["flu", "cold", "cough", "gout"], rows)),
            "colour": some_missing(rng.choice(["red", "grey", "a, b", "{x}"], rows)),
            "job": some_missing(rng.choice([*JOBS.leaves, "pirate"], rows)),
            "size": pl.Series(rng.choice(SIZES, rows), dtype=pl.Enum(SIZES)),
            "note": rng.choice(["007", 'say "no"', "", "-1"], rows),
            "member": some_missing(rng.random(rows) < 0.3),
            "mass": rng.normal(70, 12, rows).round(1),
        }
    )


def as_csv(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_csv(folder / "in.csv", separator=";")
    return folder / "in.csv"


def as_parquet(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_parquet(folder / "in.parquet", row_group_size=25)
    return folder / "in.parquet"


KINDS: Mapping[str, Callable[[pl.DataFrame, Path], object]] = {
    "polars": lambda frame, folder: frame,
    "pandas": lambda frame, folder: frame.to_pandas().set_index(pd.RangeIndex(100, 100 + frame.height)),
    "pyarrow": lambda frame, folder: frame.to_arrow(),
    "csv": as_csv,
    "parquet": as_parquet,
}


def columns_of(frame: object) -> dict[str, list[object]]:
    """A frame as plain lists, missing values as None."""
    if isinstance(frame, pd.DataFrame):
        return {name: [None if pd.isna(v) else v for v in frame[name]] for name in frame.columns}
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    assert isinstance(frame, pl.DataFrame)
    return frame.to_dict(as_series=False)


def classes_of(
    columns: Mapping[str, list[object]], quasi: tuple[str, ...]
) -> dict[tuple[str, ...], list[object]]:
    """The sensitive values of every class, counted with a dictionary of tuples of text."""
    classes = defaultdict(list)
    for row in zip(*(columns[name] for name in (*quasi, "illness")), strict=True):
        classes[tuple(map(str, row[:-1]))].append(row[-1])
    return classes


# Everybody of whom some are in the tables: those of 14, 18 and 60 rows, and others.
PEOPLE = pl.concat([mixed(rows) for rows in (14, 18, 60, 200)])
MODEL_LINES += [
    ModelCase((KMap(6, PEOPLE),), lambda values, whole: True),
    ModelCase(("k(k=2)", DeltaPresence(0.01, 0.7, PEOPLE)), lambda values, whole: len(values) >= 2),
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables by kind and number of rows."""
    made: dict[tuple[str, int], object] = {}

    def table(kind: str, rows: int) -> object:
        if (kind, rows) not in made:
            made[kind, rows] = KINDS[kind](mixed(rows), tmp_path_factory.mktemp(f"{kind}{rows}"))
        return made[kind, rows]

    return table


def test_every_algorithm_and_every_model_is_here():
    assert {parse_call(case.text)[0] for case in ALGORITHM_LINES} == set(ALGORITHMS) - APART
    named = {parse_call(text)[0] for case in MODEL_LINES for text in case.models if isinstance(text, str)}
    assert named == set(MODELS) - APART - WITH_PEOPLE - WITH_WEIGHTS
    assert list_untested("privacy", MODELS, {*MODEL_CASES, *APART, *WITH_PEOPLE, *WITH_WEIGHTS}) == []
    for name, cases in ALGORITHM_CASES.items():
        assert {parse_call(case.text)[0] for case in cases} == {name}
    for name, cases in MODEL_CASES.items():
        for case in cases:
            assert MODELS[name] in {type(parse_model(text)) for text in case.models}


def every_pair() -> Iterator[Any]:
    """Every algorithm with every model; the kinds of table take turns, so that each meets every kind too.

    A quarter of the pairs is enough for `make test`: each algorithm and each model is in some.
    """
    kinds = list(KINDS)
    for i, algorithm in enumerate(ALGORITHM_LINES):
        for j, model in enumerate(MODEL_LINES):
            marks = () if (i + j) % 4 == 0 else pytest.mark.exhaustive
            yield pytest.param(algorithm, model, kinds[(i + j) % len(kinds)], marks=marks)


def name_of(case: AlgorithmCase | ModelCase | str) -> str:
    if isinstance(case, str):
        return case
    return case.text if isinstance(case, AlgorithmCase) else "+".join(map(str, case.models))


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "model", "kind"), list(every_pair()), ids=name_of)
def test_a_release_keeps_every_promise(tables, algorithm, model, kind, tmp_path):
    check_release(tables(kind, algorithm.rows), algorithm, model, tmp_path)


def check_release(table: object, algorithm: AlgorithmCase, model: ModelCase, folder: Path, **more: object):
    """Everything that is promised of a release of a table."""
    with_population = any(isinstance(each, KMap | DeltaPresence) for each in model.models)
    said: list[tuple[str, float]] = []
    quasi = algorithm.quasi
    asked = {"algorithm": algorithm.text, "models": model.models, "quasi": quasi, "seed": 5}
    settings = {**SETTINGS, **asked, **more, "hierarchies": {"job": JOBS} if "job" in quasi else {}}
    if with_population and not algorithm.population:
        with pytest.raises(RecipeError, match="population"):
            anonymize(table, **settings)
        return
    release = anonymize(table, **settings, on_progress=lambda doing, done: said.append((doing, done)))

    # the same kind of frame, columns in place, rows in order, untouched columns untouched
    from_file = isinstance(table, Path)
    assert type(release.frame) is (pl.DataFrame if from_file else type(table))
    original = mixed(algorithm.rows)
    columns = columns_of(release.frame)
    assert list(columns) == [name for name in original.columns if name != "name"]
    in_text = from_file and table.suffix == ".csv"
    for name in ("row", "note", "illness"):
        expected = original[name].to_list()
        assert columns[name] == ([None if v is None else str(v) for v in expected] if in_text else expected)
    if isinstance(table, pd.DataFrame):
        assert release.frame.index.equals(pd.RangeIndex(len(release.frame)))  # an index goes nowhere

    # the goal, by the verifier and by a count of our own
    known = {"hierarchies": {"job": JOBS}, "orders": {"size": SIZES}}
    goal = {"quasi": quasi, "sensitive": ["illness"], "models": model.models, **known}
    assert verify(release.frame, **goal).holds
    classes = classes_of(columns, quasi)
    assert all(model.holds(values, columns["illness"]) for values in classes.values())
    assert (release.report.classes, release.report.released_rows) == (len(classes), algorithm.rows)
    assert release.report.smallest_class == min(map(len, classes.values()))
    assert 0 < release.report.ncp <= 1

    # the same again, from the same seed and in a file
    again = anonymize(table, **settings)
    assert columns_of(again.frame) == columns
    release.write(folder / "out.csv")
    assert verify(folder / "out.csv", **goal).holds
    with (folder / "out.csv").open(newline="") as stream:
        written = list(csv.DictReader(stream, delimiter=";" if in_text else ","))
    counted = defaultdict(list)
    for row in written:
        counted[tuple(row[name] for name in quasi)].append(row["illness"])
    assert sorted(map(len, counted.values())) == sorted(map(len, classes.values()))

    # progress grows in each phase
    for phase in dict.fromkeys(doing for doing, _ in said):
        shares = [done for doing, done in said if doing == phase]
        assert all(0 <= earlier <= later <= 1 for earlier, later in pairwise([0.0, *shares]))


@pytest.mark.parametrize("algorithm", ALGORITHM_LINES, ids=lambda case: case.text)
def test_the_order_of_rows_is_kept_where_equal_rows_are_divided_or_not(algorithm):
    b = list("xyyxxy") if algorithm.quasi == QUASI else [1, 2, 2, 1, 1, 2]
    frame = pl.DataFrame({"row": range(12), "a": [3, 1, 2, 1, 3, 2] * 2, "b": b * 2})
    frame = frame.with_columns(note=pl.col("a") % 2, illness=pl.col("b"))
    settings = {"quasi": ["a", "b"], "sensitive": ["illness"], "plain": ["row", "note"]}
    release = anonymize(frame, **settings, k=2, algorithm=algorithm.text)
    assert release.frame["row"].to_list() == list(range(12))
