"""Level vectors of least loss: CPU of the search beside one group-by, beside ARX, and beside anjana.

    python benchmarks/bench_lattice.py [--anjana PYTHON] [adult growth size anjana]

``PYTHON`` is an interpreter that can import anjana, of an environment of its own; without one the last part
is left out, and says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from measure import DATA, Figures, cpu, need
from shoal.algorithms import Problem
from shoal.algorithms.lattice import Lattice
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Proposal, Recoding
from shoal.engines.memory import prepare_table, run_in_memory
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import read_table
from shoal.table.hierarchies import Hierarchy, read_hierarchies

ADULT = DATA / "adult" / "adult_9col.csv"
TREES = DATA / "adult" / "hierarchies"
# CPU seconds of ARX 3.9.2, warm, on another machine: loss, suppression limit, seconds.
ARX = [
    ("generalised", 0, 0.044),
    ("generalised", 0.02, 0.90),
    ("generalised", 0.05, 1.17),
    ("generalised", 1, 3.70),
    ("class-size", 0, 0.055),
    ("class-size", 0.02, 0.97),
    ("class-size", 0.05, 1.40),
    ("class-size", 1, 5.63),
    ("entropy", 0, 0.042),
    ("entropy", 0.02, 0.80),
    ("entropy", 0.05, 1.17),
    ("entropy", 1, 6.65),
]
ROWS = (30_000, 300_000, 3_000_000)
GROWTH = 10.0  # a hundred times the rows cost at most so many times the search
LATTICES = ((6, 4), (8, 4), (8, 5), (10, 4))  # columns, levels: 4,096 to 1,048,576 vectors
SECONDS = 20.0


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--anjana", help="an interpreter that can import anjana")
    asked.add_argument("parts", nargs="*", default=["adult", "growth", "size", "anjana"])
    options = asked.parse_args()
    need(ADULT)
    parts = {"adult": adult, "growth": growth, "size": size, "anjana": lambda: anjana(options.anjana)}
    for figures in [parts[part]() for part in options.parts]:
        figures.close()


def search(problem: Problem, **settings: object) -> Proposal:
    return Lattice(**settings).search(problem)  # type: ignore[arg-type]


def _lost(found: Proposal, problem: Problem) -> float:
    recoding = Recoding.from_proposal(found, problem.domains)
    return float(LOSSES[problem.loss]().measure(recoding, problem.weights).value)


def coded(frame: pl.DataFrame, trees: dict[str, Hierarchy]) -> Problem:
    recipe = Recipe(tuple(frame.columns), (KAnonymity(5),), trees=trees, loss="generalised", suppress=0.05)
    return prepare_table(recipe, read_table(frame)).problem


def group_by(problem: Problem) -> float:
    """CPU seconds of one group-by over all rows and columns."""
    codes = pl.DataFrame({str(j): column for j, column in enumerate(problem.rows.quasi)})
    return cpu(lambda: codes.group_by(codes.columns).len(), times=5)


def adult() -> Figures:
    """The search on Adult, by loss and suppression limit."""
    frame = pl.read_csv(ADULT, separator=";", infer_schema=False)
    problem = coded(frame, dict(read_hierarchies(TREES, frame.columns)))
    once = group_by(problem)
    figures = Figures("Adult, nine columns, k = 5, 12,960 level vectors: CPU of the search alone")
    figures.add("one polars group_by over the coded rows", 1000 * once, "ms")
    for loss, limit, arx in ARX:
        task = replace(problem, loss=loss, suppress=limit)
        _ = task.table  # collapsed before, as it would be for any algorithm
        spent = cpu(lambda task=task: search(task), times=7)
        found = search(task)
        name = f"{loss}, limit {limit:g}"
        figures.add(f"{name}: level vectors looked at", found.nodes or 0, "")
        figures.add(f"{name}: CPU", spent, "s")
        figures.add(f"{name}: as a multiple of the group_by", spent / once, "x")
        figures.add(f"{name}: as a multiple of ARX's {arx:g} s, elsewhere", spent / arx, "x")
    return figures


def noisy(frame: pl.DataFrame, rows: int) -> pl.DataFrame:
    """Copies of Adult's rows: ages up to three years off, and one in twenty of the other cells drawn anew."""
    random = np.random.default_rng(0)
    some = frame[random.integers(0, frame.height, rows)]
    columns = []
    for name in frame.columns:
        if name == "age":
            years = some[name].cast(pl.Int64).to_numpy() + random.integers(-3, 4, rows)
            columns.append(pl.Series(name, years.clip(17, 90)).cast(pl.String))
        else:
            drawn = frame[name].gather(random.integers(0, frame.height, rows))
            anew = pl.Series(random.random(rows) < 0.05)
            columns.append(drawn.zip_with(anew, some[name]).alias(name))
    return pl.DataFrame(columns)


def growth() -> Figures:
    """The search on ever more rows."""
    frame = pl.read_csv(ADULT, separator=";", infer_schema=False)
    trees = dict(read_hierarchies(TREES, frame.columns))
    figures = Figures("Adult with noise, nine columns, k = 5, generalised loss, limit .05: growth over rows")
    spent: dict[int, float] = {}
    for rows in ROWS:
        problem = coded(noisy(frame, rows), trees)
        once, distinct = group_by(problem), problem.table.weight.size
        spent[rows] = cpu(lambda problem=problem: search(problem), times=1)
        found = search(problem)
        figures.add(f"{rows:,} rows: distinct rows", distinct, "")
        figures.add(f"{rows:,} rows: level vectors looked at", found.nodes or 0, "")
        figures.add(f"{rows:,} rows: CPU of the search", spent[rows], "s")
        figures.add(f"{rows:,} rows: as a multiple of one group_by", spent[rows] / once, "x")
        figures.add(f"{rows:,} rows: proved to be the best", float(bool(found.optimal)), "")
    figures.add("3,000,000 rows over 30,000: CPU", spent[ROWS[-1]] / spent[ROWS[0]], "x", GROWTH)
    return figures


def tree(levels: int) -> Hierarchy:
    """A binary tree."""
    leaves = range(1 << (levels - 1))
    rows = [[f"{level}:{leaf >> level}" for level in range(levels)] for leaf in leaves]
    return Hierarchy.from_rows(rows)


def size() -> Figures:
    """Ever larger lattices, with a time limit."""
    figures = Figures(f"30,000 rows made by chance, k = 5, limit .05: lattices, in {SECONDS:g} s at most")
    random = np.random.default_rng(0)
    for columns, levels in LATTICES:
        own = tree(levels)
        leaves = np.array(own.leaves)
        skewed = random.geometric(0.35, (columns, 30_000)) % leaves.size
        frame = pl.DataFrame({f"c{j}": leaves[skewed[j]] for j in range(columns)})
        problem = coded(frame, dict.fromkeys(frame.columns, own))
        for loss in ("generalised", "class-size"):
            task = replace(problem, loss=loss)
            _ = task.table
            found = search(task, seconds=SECONDS)
            value = _lost(found, task)
            bound = found.lower_bound or 0.0
            name = f"{levels**columns:,} vectors, {loss}"
            figures.add(f"{name}: looked at", found.nodes or 0, "")
            figures.add(f"{name}: left open", dict(found.states)["left open"], "")
            figures.add(f"{name}: loss", value, "")
            figures.add(f"{name}: gap", 100 * max(value - bound, 0.0) / value, "%")
    return figures


# anjana's examples on Adult: the function, its own arguments, the suppression limit in percent, and the
# models that say the same here. Its delta is by natural logarithms and overlooks values that a class has not.
EXAMPLES: list[tuple[str, list[float], float, list[str]]] = [
    ("k_anonymity", [], 50, []),
    ("alpha_k_anonymity", [0.8], 100, ["alpha-k(alpha=0.8,k=10)"]),
    ("l_diversity", [2], 50, ["distinct-l(l=2)"]),
    ("t_closeness", [0.5], 50, ["t(t=0.5)"]),
    ("basic_beta_likeness", [0.5], 50, ["basic-beta(beta=0.5)"]),
    ("enhanced_beta_likeness", [0.5], 50, ["enhanced-beta(beta=0.5)"]),
    ("delta_disclosure", [3], 50, [f"delta-disclosure(delta={3 / math.log(2)!r},form=lenient)"]),
]
QUASI = ("age", "education", "marital-status", "occupation", "sex", "native-country")
CHILD = """
import contextlib, io, json, sys, time
import pandas as pd
import anjana.anonymity
table, trees, out, name, own, limit, quasi = json.loads(sys.argv[1])
data = pd.read_csv(table, sep=";", dtype=str)
trees = {q: dict(pd.read_csv(f"{trees}/{q}.csv", sep=";", header=None, dtype=str)) for q in quasi}
k = [10] if name == "k_anonymity" else ["salary-class", 10]
begin = time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    released = getattr(anjana.anonymity, name)(data, ["race"], quasi, *k, *own, limit, trees)
print(time.process_time() - begin)
released.to_csv(out, index=False)
"""


def anjana(interpreter: str | None) -> Figures:
    """anjana's examples: loss and CPU of both."""
    figures = Figures("anjana's examples on Adult, six columns, k = 10: generalised loss and CPU of both")
    if interpreter is None and importlib.util.find_spec("anjana") is not None:
        interpreter = sys.executable
    if interpreter is None:
        print("  SKIPPED: anjana is not here; name an interpreter that has it with --anjana")
        return figures
    trees = dict(read_hierarchies(TREES, QUASI))
    table = read_table(ADULT)
    for name, own, limit, models in EXAMPLES:
        theirs, seconds = _theirs(interpreter, name, own, limit, trees)
        recipe = _recipe(models, limit / 100, trees)
        subject = prepare_table(recipe, table)
        _ = subject.problem.table
        task, budget = subject.problem, {"seconds": seconds / 100}
        hurried = cpu(lambda task=task, budget=budget: search(task, **budget), times=3)
        quick = _lost(search(task, **budget), task)
        alone = cpu(lambda task=task: search(task), times=3)
        whole = cpu(lambda recipe=recipe: run_in_memory(recipe, table), times=3)
        figures.add(f"{name}: their loss", theirs, "")
        figures.add(f"{name}: their CPU", seconds, "s")
        figures.add(f"{name}: our loss, in a hundredth of their time", quick, "", theirs)
        figures.add(f"{name}: our CPU, the search", hurried, "s", seconds / 50)
        figures.add(f"{name}: the least loss", run_in_memory(recipe, table).report.loss["value"], "", theirs)
        figures.add(f"{name}: our CPU, proof included", alone, "s")
        figures.add(f"{name}: from table to verified release", whole, "s")
    return figures


def _recipe(models: list[str], limit: float, trees: dict[str, Hierarchy]) -> Recipe:
    from shoal.privacy import parse_model

    goal = (KAnonymity(10), *map(parse_model, models))
    return Recipe(
        QUASI,
        goal,
        sensitive=("salary-class",),
        identifier=("race",),
        plain=("workclass",),
        trees=trees,
        loss="generalised",
        suppress=limit,
        algorithm=Lattice(),
    )


def _theirs(
    interpreter: str, name: str, own: list[float], limit: float, trees: dict[str, Hierarchy]
) -> tuple[float, float]:
    """Loss and CPU seconds of a function of anjana; a release of nothing has lost everything."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.csv"
        arguments = json.dumps([str(ADULT), str(TREES), str(out), name, own, limit, QUASI])
        call = [interpreter, "-c", CHILD, arguments]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"anjana's {name} ended with {done.returncode}: {done.stderr[-500:]}")
        lines = out.read_text("utf-8").strip()
        released = pl.read_csv(out, infer_schema=False) if lines else None
        return _loss(released, trees), float(done.stdout)


def _loss(released: pl.DataFrame | None, trees: dict[str, Hierarchy]) -> float:
    """Generalised loss of a release of Adult, by the leaves under each released label."""
    if released is None or released.height == 0:
        return 1.0
    rows = 30_162
    logs = []
    for name, own in trees.items():
        leaves = {
            label: int((own.nodes[level] == node).sum())
            for level in range(own.height, -1, -1)
            for node, label in enumerate(own.names[level])
        }
        share = released[name].replace_strict(leaves, return_dtype=pl.Float64).to_numpy() / len(own.leaves)
        mean = (share.sum() + rows - released.height) / rows
        logs.append(math.log1p((mean - 1 / len(own.leaves)) / (1 - 1 / len(own.leaves))))
    return math.expm1(sum(logs) / len(logs))


if __name__ == "__main__":
    main()
