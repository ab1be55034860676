"""What attacks must show: success on the raw table, less with k, and nothing where there is nothing."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import shoal

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


def test_linkage_succeeds_on_the_raw_table_and_falls_with_k(hospital):
    own, others = hospital
    raw = linkage(own, own, others)
    assert raw.rate.estimate().low > 0.9
    falling = [raw]
    for k in (2, 5, 20):
        released = shoal.anonymize(own, quasi=QUASI, sensitive=["diagnosis"], k=k, algorithm="mondrian").frame
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
    released = shoal.anonymize(own, quasi=quasi, sensitive=["secret"], k=10, algorithm="mondrian").frame
    found = shoal.attack(released, own, quasi=quasi, sensitive=["secret"], control=others, seed=seed)
    risk = {each.name: each.risk for each in found.outcomes}
    assert risk["inference"].value < 0.05
    assert risk["inference"].low < 0.01
