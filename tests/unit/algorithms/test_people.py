"""Searches that count people, against what can be tried one by one."""

from itertools import product

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.lattice import Lattice
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Problem
from shoal.algorithms.sampled_cuts import whole_nodes_of_people
from shoal.codespace.encoding import encode_column
from shoal.codespace.frequency import CodedRows
from shoal.errors import GoalNotMet
from shoal.kernels.sampled_cuts import CutTree
from shoal.privacy import KAnonymity
from shoal.table import Column


def visits(rows: int, people: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": rng.integers(0, people, rows),
            "a": rng.integers(0, 8, rows),
            "b": rng.choice(list("wxyz"), rows),
            "ill": rng.choice(["flu", "cold", "gout"], rows, p=[0.5, 0.3, 0.2]),
        }
    )


TREES = {
    "a": [[str(i), str(i // 2), str(i // 4), "*"] for i in range(8)],
    "b": [["w", "l", "*"], ["x", "l", "*"], ["y", "r", "*"], ["z", "r", "*"]],
}


@pytest.mark.parametrize("suppress", [0.0, 0.25])
@pytest.mark.parametrize(
    "models", [["k(k=4)"], ["k(k=2)", "distinct-l(l=2)"], ["k(k=3)", "t(t=0.35)"]], ids="+".join
)
def test_no_levels_lose_less_than_those_that_the_lattice_finds(models, suppress):
    table = visits(60, 18, 2)
    asked = {
        "quasi": ["a", "b"], "sensitive": ["ill"], "person": "who", "models": models, "suppress": suppress,
        "hierarchies": TREES,
    }  # fmt: skip
    losses = []
    for a, b in product(range(4), range(3)):
        try:
            made = shoal.anonymize(table, **asked, algorithm=Lattice(f"a={a}..{a},b={b}..{b}"))
        except GoalNotMet:
            continue
        losses.append(made.report.loss["value"])
    found = shoal.anonymize(table, **asked, algorithm="lattice").report
    assert found.loss["value"] == min(losses)
    assert len(losses) < 12  # or every vector would do


def test_people_on_both_sides_of_a_cut_count_on_both():
    rng = np.random.default_rng(0)
    code, who = rng.integers(0, 40, 200), rng.integers(0, 25, 200)
    rows = CodedRows((code.astype(np.uint16),), (40,))
    domain = encode_column(pl.Series("code", code), Column("code")).domain
    problem = Problem((domain,), rows, (), (KAnonymity(9),), "ncp", np.ones(1), person=who)
    table = problem.table
    # Codes below 20 left, of these below 5 left again; the right side between 20 and 33, and beyond.
    cuts = CutTree(
        *np.array([[0, 0, 0, -1, -1, -1, -1], [0] * 7, [19, 4, 33, 0, 0, 0, 0], [1, 3, 5, 0, 0, 0, 0]])
    )
    leaf = np.select([table.codes[:, 0] < 5, table.codes[:, 0] < 20, table.codes[:, 0] < 34], [3, 4, 5], 6)
    whole = whole_nodes_of_people(
        cuts, problem.build_rules(table), np.arange(table.weight.size), leaf.astype(np.int32)
    )
    people = [
        len(set(who[(code >= low) & (code < high)])) for low, high in ((0, 5), (5, 20), (20, 34), (34, 40))
    ]
    assert whole.tolist() == [False, min(people[:2]) < 9, min(people[2:]) < 9, True, True, True, True]


@pytest.mark.slow
def test_large_nodes_are_cut_by_a_sample_and_every_class_has_its_people():
    rng = np.random.default_rng(4)
    rows = 90_000
    frame = pl.DataFrame(
        {
            "who": np.sort(rng.integers(0, rows // 6, rows)),
            "x": rng.integers(0, 500, rows),
            "y": rng.integers(0, 400, rows),
            "row": np.arange(rows),
        }
    )
    release = shoal.anonymize(
        frame, quasi=["x", "y"], plain=["row"], person="who", k=6, algorithm=Mondrian()
    ).frame
    counted = release.join(frame.select("row", "who"), on="row").group_by("x", "y")
    people = counted.agg(pl.col("who").n_unique())
    assert people["who"].min() >= 6
    assert people.height > rows / 30
