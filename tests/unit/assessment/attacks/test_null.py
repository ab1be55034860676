"""Releases that have nothing to do with the people who are attacked: alarms are as rare as is claimed."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.assessment.attacks.kinds import ATTACKS

RELEASES = 200
MOST = 13
"""Of 200 with a chance of 2.5 % each there are more in one of a thousand cases."""


def draw_people(rng, rows):
    """Two columns are the same, so that descriptions by them say the same twice."""
    job = rng.choice(list("abcd"), rows, p=[0.5, 0.25, 0.15, 0.1])
    return pl.DataFrame(
        {
            "age": rng.integers(0, 60, rows),
            "town": rng.choice([f"town {i}" for i in range(8)], rows),
            "job": job,
            "again": job,
            "ill": rng.choice(list("uvwxyz"), rows),
            "pay": rng.integers(0, 400, rows),
        }
    )


def attack_strangers(seed, own, others):
    """Attack ``own`` people with a release of others, beside a control group of ``others``."""
    rng = np.random.default_rng(seed)
    strangers, members, control = (draw_people(rng, rows) for rows in (150, own, others))
    start = strangers["age"] // 6 * 6
    hidden = strangers.with_columns(age=pl.select(pl.format("[{}-{}]", start, start + 5)).to_series())
    return shoal.attack(
        hidden, members, control=control, quasi=["age", "town"], sensitive=["ill"], attacks=150, seed=seed
    ).outcomes


def raises_alarm(outcome):
    return outcome.grade not in ("none", "unknown")


@pytest.mark.exhaustive
def test_alarms_are_as_rare_as_is_claimed():
    alarms, together = Counter(), 0
    for seed in range(RELEASES):
        # The control group is smaller, as large, or larger than the original.
        found = attack_strangers(seed, 150, (75, 150, 450)[seed % 3])
        assert [outcome.name for outcome in found] == list(ATTACKS)
        together += any(map(raises_alarm, found))
        alarms.update(each.name for each in found if raises_alarm(replace(each, family=1)))
    assert together <= MOST
    assert {name: count for name, count in alarms.items() if count > MOST} == {}
    assert sum(alarms.values()) > 0  # and they are no rarer than never


@pytest.mark.parametrize("others", [50, 800])
def test_the_size_of_the_control_group_raises_no_alarm(others):
    """Four times as many people raised one every time, and a tenth forced the risk to 0."""
    found = [{each.name: each for each in attack_strangers(seed, 200, others)} for seed in range(4)]
    for name in ("linkage", "singling out"):
        assert not any(raises_alarm(each[name]) for each in found)
    assert any(each["singling out"].risk.value != 0 for each in found)
