"""What attacks must show: success on the raw table, less with k, and nothing where there is nothing."""

import csv
from collections import Counter
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table.samples import write_hierarchies

EXAMPLE = {"quasi": ["age", "sex", "postcode"], "sensitive": ["diagnosis"]}
"""The documentation's own example."""
QUASI = ["age", "sex", "postcode", "education", "admission_date"]


@pytest.fixture(scope="module")
def hospital():
    """An original, and people of the same hospital who are not in it."""
    everybody = shoal.sample("hospital", rows=6000)
    order = np.random.default_rng(0).permutation(everybody.height)
    return everybody[order[:3000]], everybody[order[3000:]]


def linkage(released, own, others):
    found = shoal.attack(released, own, quasi=QUASI, sensitive=["diagnosis"], control=others)
    return next(each for each in found.outcomes if each.name == "linkage")


@pytest.mark.slow
def test_linkage_succeeds_on_the_raw_table_and_falls_with_k(hospital):
    own, others = hospital
    raw = linkage(own, own, others)
    assert raw.rate.estimate().low > 0.9
    falling = [raw]
    for k in (2, 5, 20):
        released = shoal.anonymize(
            own, others="keep", quasi=QUASI, sensitive=["diagnosis"], k=k, algorithm="mondrian"
        ).frame
        falling.append(linkage(released, own, others))
        assert falling[-1].rate.estimate().low <= 1 / k
    assert all(one.risk.low > two.risk.high for one, two in pairwise(falling))


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_inferred_about_values_that_depend_on_nothing(seed):
    rng = np.random.default_rng(seed)
    own, others = (
        pl.DataFrame(
            {
                "age": rng.integers(18, 90, 20_000),
                "town": rng.choice([f"town {i}" for i in range(30)], 20_000),
                "secret": rng.choice(list("abcde"), 20_000),
            }
        )
        for _ in range(2)
    )
    quasi = ["age", "town"]
    released = shoal.anonymize(
        own, others="keep", quasi=quasi, sensitive=["secret"], k=10, algorithm="mondrian"
    ).frame
    found = shoal.attack(released, own, quasi=quasi, sensitive=["secret"], control=others, seed=seed)
    risk = {each.name: each.risk for each in found.outcomes}
    assert risk["inference"].value < 0.05
    assert risk["inference"].low < 0.01


@pytest.fixture(scope="module")
def example():
    """The hospital as it is shipped, k = 5 and l = 3; with its other columns beside the same classes."""
    own, others = shoal.sample("hospital"), shoal.sample("hospital", seed=2)
    released = shoal.anonymize(
        own, **EXAMPLE, identifier=["patient_id", "name"], others="drop", k=5, l=3
    ).frame
    plain = own.select(name for name in own.columns if name not in ("patient_id", "name", *released.columns))
    return own, others, released, released.hstack(plain)


def singling_out(found):
    return next(each for each in found.outcomes if each.name == "singling out")


@pytest.mark.exhaustive
def test_singling_out_sees_columns_that_are_released_as_they_are(example):
    own, others, narrow, wide = example
    few, many = (shoal.attack(released, own, control=others, **EXAMPLE) for released in (narrow, wide))
    assert few.columns == ("age", "sex", "postcode", "diagnosis")
    assert set(many.columns) == {*wide.columns}
    assert singling_out(few).rate.share == pytest.approx(0.46, abs=0.04)
    assert singling_out(many).rate.share == pytest.approx(0.85, abs=0.04)
    assert singling_out(many).grade == "serious"
    same = shoal.attack(wide, own, control=others, columns=few.columns, **EXAMPLE)
    assert singling_out(same) == singling_out(few)


def values_of(cell):
    """What a cell of the example shows, in plain Python."""
    if cell.startswith("{"):
        return next(csv.reader([cell[1:-1]], skipinitialspace=True))
    return cell[1:-1].split("-") if cell.startswith("[") else [cell]


def texts(frame):
    columns = frame.select(pl.col(EXAMPLE["quasi"]).cast(pl.String).fill_null(""))
    return columns.rows()


def count(rows, people):
    """The combinations that some rows show, and the people who have them."""
    shown = set()
    for row in rows:
        parts = [values_of(cell) for cell in row]
        if sum(len(part) > 1 for part in parts) <= 1:
            shown |= set(product(*parts))
    having = shown & set(people)
    return len(having), sum(people[each] for each in having), sum(people[each] == 1 for each in having)


def test_exact_combinations_of_the_example(example):
    own, others, released, _ = example
    found = shoal.attack(released, own, control=others, attacks=10, **EXAMPLE).combinations
    people, rows = Counter(texts(own)), texts(released)
    assert (found.exact, found.people, found.alone) == count(rows, people) == (3096, 4041, 2456)
    assert (found.shown, found.of_people) == (3096, 5000)
    assert (found.control, found.of_control) == (count(rows, Counter(texts(others)))[1], 5000)
    assert found.control == 1614
    # Of rows with one age that is written, and one sex, whatever the postcodes.
    written = [row for row in rows if row[0].isdigit() and not row[1].startswith("{")]
    assert count(written, people)[:2] == (3073, 3995)
    without_ranges = [row for row in rows if not row[0].startswith("[")]
    assert count(without_ranges, people)[0] == 3096 - 6 == 3073 + 17


@pytest.mark.exhaustive
def test_exact_combinations_with_hierarchies(tmp_path):
    own = shoal.sample("hospital")
    write_hierarchies("hospital", tmp_path)
    made = shoal.anonymize(own, **EXAMPLE, hierarchies=tmp_path, others="drop", k=5, l=3)
    found = shoal.attack(made.frame, own, hierarchies=tmp_path, attacks=10, **EXAMPLE).combinations
    assert (found.exact, found.people, found.alone) == (25, 144, 0)


def test_presence_is_hidden_by_people_who_are_not_in_the_table():
    everybody = shoal.sample("hospital", rows=10_000).select(*EXAMPLE["quasi"], "diagnosis")
    table = everybody.sample(3000, seed=1)
    goal = [shoal.DeltaPresence(0, 0.5, everybody), "k(k=2)"]
    released = shoal.anonymize(table, models=goal, **EXAMPLE).frame
    inside = shoal.attack(released, table, attacks=10, **EXAMPLE).combinations
    around = shoal.attack(released, everybody, attacks=10, **EXAMPLE).combinations
    assert (inside.shown, inside.shown - inside.exact) == (665, 242)
    assert around.exact == around.shown  # somebody has each, in the table or not
    assert inside.people / around.people == pytest.approx(0.34, abs=0.01)
