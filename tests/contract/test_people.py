"""What every algorithm promises where people have several rows, counted in plain Python by their ids."""

import csv
from collections import defaultdict
from collections.abc import Callable
from math import log, log2
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from tests.contract.test_contract import ALGORITHM_LINES, JOBS, SETTINGS, SIZES, AlgorithmCase, mixed, shares

from shoal.algorithms import ALGORITHMS
from shoal.engines.api import anonymize, verify
from shoal.errors import RecipeError
from shoal.support.parameters import parse_call


class PeopleCase(NamedTuple):
    """Models, and what they mean for a class.

    ``values`` has each value of a class once for each of its people who has it, ``whole`` those of the table.
    """

    models: tuple[str, ...]
    holds: Callable[[int, list[object], list[object]], bool]


def count_most(values: list[object]) -> int:
    return max(map(values.count, values))


PEOPLE_CASES = [
    PeopleCase(("k(k=3)",), lambda people, values, whole: people >= 3),
    PeopleCase(
        ("k(k=2)", "distinct-l(l=3)"),
        lambda people, values, whole: people >= 2 and len(set(values)) >= 3 and count_most(values) < people,
    ),
    PeopleCase(
        ("p-sensitive(p=2)",),
        lambda people, values, whole: len(set(values)) >= 2 and count_most(values) < people,
    ),
    PeopleCase(
        ("alpha-k(alpha=0.75,k=3)",),
        lambda people, values, whole: people >= 3 and count_most(values) <= 0.75 * people,
    ),
    PeopleCase(
        ("entropy-l(l=2)",),
        lambda people, values, whole: -sum(p * log2(p) for p in shares(values).values()) >= 1 - 1e-12,
    ),
    PeopleCase(
        ("recursive-cl(c=3,l=2)",),
        lambda people, values, whole: count_most(values) < 3 * (len(values) - count_most(values)),
    ),
    PeopleCase(
        ("k(k=2)", "t(t=0.4)"),
        lambda people, values, whole: (
            sum(abs(shares(values).get(v, 0) - q) for v, q in shares(whole).items()) <= 0.8 + 1e-12
        ),
    ),
    PeopleCase(
        ("basic-beta(beta=1.5)",),
        lambda people, values, whole: all(p <= 2.5 * shares(whole)[v] for v, p in shares(values).items()),
    ),
    PeopleCase(
        ("enhanced-beta(beta=1.2)",),
        lambda people, values, whole: all(
            p / shares(whole)[v] - 1 <= min(1.2, -log(shares(whole)[v])) for v, p in shares(values).items()
        ),
    ),
    PeopleCase(
        ("delta-disclosure(delta=2)",),
        lambda people, values, whole: all(
            1 / 4 < shares(values).get(v, 0) / q < 4 for v, q in shares(whole).items()
        ),
    ),
    PeopleCase(("max-risk(risk=0.3)",), lambda people, values, whole: people >= 4),
    PeopleCase(("average-risk(risk=0.5)",), lambda people, values, whole: people >= 2),
    PeopleCase(("uniqueness(share=0)",), lambda people, values, whole: people >= 2),
]
COUNTING = [case for case in ALGORITHM_LINES if ALGORITHMS[parse_call(case.text)[0]].counts_people]


def settings_of(algorithm: AlgorithmCase, **more: object) -> dict[str, object]:
    trees = {"job": JOBS} if "job" in algorithm.quasi else {}
    asked = {"quasi": algorithm.quasi, "algorithm": algorithm.text, "seed": 5, "hierarchies": trees}
    return {**SETTINGS, **asked, **more}


def visits(rows: int) -> pl.DataFrame:
    """Rows of people of whom most have several and one has many, side by side; two rows are nobody's."""
    rng = np.random.default_rng(rows)
    person = np.sort(np.where(rng.random(rows) < 0.15, 0, rng.integers(0, rows // 2, rows)))
    missing = pl.Series(np.isin(np.arange(rows), (rows - 1, rows - 2)))
    return mixed(rows).with_columns(pl.Series("person", [f"p{i}" for i in person]).set(missing, None))


@pytest.mark.slow
@pytest.mark.parametrize("models", [("k(k=3)",), ("k(k=2)", "distinct-l(l=2)"), ("t(t=0.5)",)], ids="+".join)
@pytest.mark.parametrize("algorithm", ALGORITHM_LINES, ids=lambda case: case.text)
def test_with_one_row_each_the_bytes_are_those_without_the_role(algorithm, models, tmp_path):
    table = mixed(algorithm.rows)
    rows = settings_of(algorithm, models=models)
    people = {**rows, "identifier": [], "person": "name"}
    for name, asked in (("rows", rows), ("people", people)):
        release = anonymize(table, **asked)
        release.write(tmp_path / f"{name}.csv")
        assert release.report.people is None
    assert (tmp_path / "people.csv").read_bytes() == (tmp_path / "rows.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("model", PEOPLE_CASES, ids=lambda case: "+".join(case.models))
@pytest.mark.parametrize("algorithm", COUNTING, ids=lambda case: case.text)
def test_every_class_has_the_people_that_were_promised(algorithm, model, tmp_path):
    table = visits(max(algorithm.rows, 60))
    release = anonymize(table, **settings_of(algorithm, models=model.models, person="person"))
    release.write(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as stream:
        written = list(csv.DictReader(stream))
    assert list(written[0]) == [name for name in table.columns if name not in ("name", "person")]

    # 'row' is a plain column with a number for every row, by which a test knows whose each is.
    whose = dict(zip(table["row"].to_list(), table["person"].to_list(), strict=True))
    members, units, whole = defaultdict(set), defaultdict(set), set()
    for row in written:
        person = whose[int(row["row"])] or f"nobody {row['row']}"
        cells = tuple(row[name] for name in algorithm.quasi)
        members[cells].add(person)
        units[cells].add((person, row["illness"]))
        whole.add((person, row["illness"]))
    every = [value for _, value in sorted(whole)]
    for cells, people in members.items():
        assert model.holds(len(people), [value for _, value in sorted(units[cells])], every), cells
    assert release.report.smallest_class == min(map(len, members.values()))
    assert release.report.people == len({person for people in members.values() for person in people})
    assert release.report.classes == len(members)

    # the order says nothing, and somebody who knows whose row each is counts the same
    cells = [tuple(row[name] for name in algorithm.quasi) for row in written]
    assert cells == sorted(cells, key=cells.index)
    joined = pl.DataFrame(written).with_columns(
        pl.Series("person", [whose[int(row["row"])] for row in written], dtype=pl.String)
    )
    known = {"hierarchies": {"job": JOBS}, "orders": {"size": SIZES}, "person": "person"}
    found = verify(joined, quasi=algorithm.quasi, sensitive=["illness"], models=model.models, **known)
    assert found.holds
    assert (found.people, found.smallest_class) == (release.report.people, release.report.smallest_class)


@pytest.mark.slow
@pytest.mark.parametrize("models", [("k(k=3)",), ("alpha-k(alpha=0.9,k=3)",)], ids="+".join)
@pytest.mark.parametrize("algorithm", COUNTING, ids=lambda case: case.text)
def test_every_class_has_the_groups_that_were_promised(algorithm, models, tmp_path):
    """Up to three people share a home; one in ten has none."""
    table = visits(max(algorithm.rows, 60))
    number = [-1 if who is None else int(who[1:]) for who in table["person"].to_list()]
    home = [None if each < 0 or each % 10 == 9 else f"h{each // 3}" for each in number]
    table = table.with_columns(pl.Series("home", home, dtype=pl.String))
    asked = settings_of(algorithm, models=models, person="person", group="home")
    release = anonymize(table, **asked)
    release.write(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as stream:
        written = list(csv.DictReader(stream))
    assert not {"person", "home", "name"} & set(written[0])
    groups = defaultdict(set)
    for row in written:
        at = int(row["row"])
        # whoever has no home is alone, and so is a row that is nobody's
        owner = home[at] or (table["person"][at] and f"alone {number[at]}") or f"nobody {at}"
        groups[tuple(row[name] for name in algorithm.quasi)].add(owner)
    assert min(map(len, groups.values())) >= 3
    reached = {verdict.name: verdict.achieved for verdict in release.report.models}
    assert reached["groups"] == min(map(len, groups.values()))


@pytest.mark.parametrize(
    "algorithm", [case for case in ALGORITHM_LINES if case not in COUNTING], ids=lambda case: case.text
)
def test_what_counts_rows_only_is_refused_where_people_have_several(algorithm):
    table = visits(60)
    with pytest.raises(RecipeError, match=r"counts rows only: take auto, .* or keep one row of each person"):
        anonymize(table, **settings_of(algorithm, k=3, person="person"))
