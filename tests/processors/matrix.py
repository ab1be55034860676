"""What must be the same on every processor: releases byte by byte, and figures to the last digit.

``python -m tests.processors.matrix FILE THREADS`` writes it into a JSON file: by the name of a case a text.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from tests.contract import test_contract as contract

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.codespace.loss import LOSSES

TREES = {
    "sex": shoal.Hierarchy.from_tree({"usual": ["female", "male"], "rare": ["other"]}),
    "marital_status": shoal.Hierarchy.from_tree(
        {"alone": ["single", "separated", "divorced", "widowed"], "together": ["married", "partnership"]}
    ),
}
QUASI = ["age", "sex", "education", "marital_status"]
SHORT = {
    "auto": "auto(seconds=0.12)",
    "genetic": "genetic(generations=30)",
    "mingen": "mingen(iterations=500,seconds=)",
    "safepub": "safepub(levels=marital_status=1,seed=5)",
}
"""Settings by which a search ends soon, and by counting rather than by the clock."""
SPECIAL: dict[str, dict[str, Any]] = {
    "microaggregate": {"quasi": ["age", "cost"], "missing": "drop"},
    "mingen": {"quasi": ["sex", "marital_status"]},
    "safepub": {
        "quasi": ["marital_status"],
        "hierarchies": {"marital_status": TREES["marital_status"]},
        "models": ["safepub(epsilon=1,delta=0.1)"],
        "sensitive": [],
        "types": {"marital_status": "string"},
        "seed": 0,  # its own is among its parameters
    },
}
"""Algorithms that take other columns, or another goal."""


def matrix(threads: int) -> dict[str, str]:
    """All cases by name."""
    parts = (sums, samples, contract_releases, releases_with_ties, losses, pages, hierarchies, risks, attacks)
    return {f"{part.__name__}: {name}": text for part in parts for name, text in part(threads)}


def sums(threads: int) -> Iterator[tuple[str, str]]:
    """What numpy itself must do alike everywhere, since everything is built on it."""
    random = np.random.default_rng(1)
    x, y = random.random((2, 100_003))
    group = (7 * x).astype(int) + 5 * (3 * y).astype(int)
    square = x[:90_000].reshape(300, 300)
    found = {
        "sum": [part.sum() for part in np.array_split(x, 777)],
        "sum of rows": square.sum(axis=1),
        "sum of columns": square.sum(axis=0),
        "sum of parts": np.add.reduceat(x, np.arange(0, x.size, 97)),
        "mean, variance": [x.mean(), x.var(), np.average(x, weights=y)],
        "running sum": np.cumsum(x),
        "running product": np.cumprod(1 - x[:50]),
        "counts": np.bincount(group, x),
        "root, quotient": np.sqrt(x) / y,
        "interpolated": np.interp(x, [0, 0.3, 1], [0.1, 0.7, 0.2]),
        "quantiles": np.quantile(x, np.linspace(0, 1, 77)),
        "rounded": x.round(3),
        "stable order": np.argsort(group, kind="stable"),
        "order of several": np.lexsort((group % 3, group)),
        "distinct": np.concatenate(np.unique(group, return_inverse=True, return_index=True)),
        "drawn": np.concatenate([random.integers(0, 99, 99), random.permutation(99), random.choice(99, 9)]),
    }
    for name, numbers in found.items():
        yield name, digest(np.asarray(numbers).tobytes())


def samples(threads: int) -> Iterator[tuple[str, str]]:
    """The table that ships with Shoal, and a larger one by the same rules."""
    for rows in (None, 20_000):
        yield str(rows), digest(shoal.sample("hospital", rows=rows).write_csv().encode())


def contract_releases(threads: int) -> Iterator[tuple[str, str]]:
    """Every algorithm with a third of the models, and every model with a third of the algorithms."""
    for place, algorithm in enumerate(contract.ALGORITHM_LINES):
        frame = contract.mixed(algorithm.rows)
        for number, model in enumerate(contract.MODEL_LINES):
            # The contract tests try every pair; here it is the processor that is tried.
            if (place + number) % 3:
                continue
            peopled = any(isinstance(each, shoal.KMap | shoal.DeltaPresence) for each in model.models)
            if peopled and not algorithm.population:
                continue
            settings: dict[str, Any] = {
                **contract.SETTINGS,
                "algorithm": algorithm.text,
                "models": model.models,
                "quasi": algorithm.quasi,
                "hierarchies": {"job": contract.JOBS} if "job" in algorithm.quasi else {},
                "seed": 5,
            }
            goal = f"{number}" if peopled else contract.name_of(model)
            yield f"{algorithm.text}, {goal}", run(frame, threads, **settings)


def releases_with_ties(threads: int) -> Iterator[tuple[str, str]]:
    """Every algorithm on a table of which many rows are equally far apart."""
    hospital = shoal.sample("hospital", rows=400)
    for name in ALGORITHMS:
        usual = {"quasi": ["age", "sex", "education"], "sensitive": ["diagnosis"], "seed": 5}
        usual["models"] = ["k(k=5)"]
        settings = usual | SPECIAL.get(name, {})
        frame = hospital.select([*settings["quasi"], *settings["sensitive"]])
        yield name, run(frame, threads, algorithm=SHORT.get(name, name), **settings)


def losses(threads: int) -> Iterator[tuple[str, str]]:
    """Every loss, with hierarchies and suppressed rows, where it is minimised and where it is measured."""
    frame = shoal.sample("hospital", rows=600).select([*QUASI, "diagnosis"])
    settings: dict[str, Any] = {
        "quasi": QUASI,
        "sensitive": ["diagnosis"],
        "models": ["k(k=4)", "entropy-l(l=1.7)"],
        "hierarchies": TREES,
        "weights": {"age": 2.5},
        "suppress": 0.1,
    }
    for loss in LOSSES:
        for algorithm in ("lattice", "mondrian", "auto(seconds=0.08)"):
            yield f"{loss}, {algorithm}", run(frame, threads, algorithm=algorithm, loss=loss, **settings)


def pages(threads: int) -> Iterator[tuple[str, str]]:
    """A report for people, with its pictures, but without the date and how long the run took."""
    frame = shoal.sample("hospital", rows=600).select([*QUASI, "diagnosis", "cost"])
    settings: dict[str, Any] = {"quasi": QUASI, "sensitive": ["diagnosis", "cost"], "hierarchies": TREES}
    for algorithm in ("mondrian", "lattice", "genetic(generations=5)"):
        # The page shows the recipe, and with it the number of threads if that is said.
        release = shoal.anonymize(frame, k=4, algorithm=algorithm, **settings)
        with TemporaryDirectory() as folder:
            release.report.to_html(Path(folder) / "report.html")
            text = (Path(folder) / "report.html").read_text("utf-8")
        shown = text.partition('<script type="application/json"')[0]
        yield algorithm, digest(re.sub(r"\d+-\d+-\d+ \d+:\d+ UTC", "", shown).encode())


def hierarchies(threads: int) -> Iterator[tuple[str, str]]:
    """Those that are learned from a table or fitted to it."""
    frame = shoal.sample("hospital", rows=1500)
    methods = {"occupation": "learned", "postcode": "learned", "age": "intervals", "cost": "quantiles"}
    for column, method in methods.items():
        yield f"{column}, {method}", repr(shoal.build_hierarchy(frame, column, method).to_rows())


def risks(threads: int) -> Iterator[tuple[str, str]]:
    """Estimates of how many people are unique, and what attackers achieve."""
    frame = shoal.sample("hospital", rows=3000)
    for fraction in (0.01, 0.3):
        found = shoal.risk(frame, quasi=QUASI, sensitive=["diagnosis"], sampling_fraction=fraction)
        yield str(fraction), json.dumps(found.to_dict(), default=str)


def attacks(threads: int) -> Iterator[tuple[str, str]]:
    """Simulated attacks, one of them by a random forest."""
    frame = shoal.sample("hospital", rows=1200).select([*QUASI, "diagnosis"])
    own, others = frame.head(700), frame.tail(500)
    settings: dict[str, Any] = {"quasi": QUASI, "sensitive": ["diagnosis"]}
    released = shoal.anonymize(own, k=3, algorithm="mondrian", **settings).frame
    found = shoal.attack(released, own, control=others, attacks=300, **settings)
    yield "all", json.dumps(found.to_dict(), default=str)


def run(frame: pl.DataFrame, threads: int, **settings: Any) -> str:
    """The bytes that are written and all that is reported, but how long it took."""
    release = shoal.anonymize(frame, threads=threads, **settings)
    report = release.report.to_dict()
    del report["seconds"]
    if release.recipe.uses_safepub:  # a sample by a stated seed is never written
        return json.dumps({"release": digest(release.frame.write_csv().encode()), **report}, default=str)
    with TemporaryDirectory() as folder:
        release.write(Path(folder) / "out.csv")
        written = (Path(folder) / "out.csv").read_bytes()
    return json.dumps({"release": digest(written), **report}, default=str)


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(matrix(int(sys.argv[2]))), "utf-8")
