"""Who the people of the register are: age, sex, education, marital status and occupation."""

from __future__ import annotations

import numpy as np

from shoal.support.arithmetic import exp
from shoal.table.samples.hospital.curves import (
    OLDEST,
    Weights,
    by_sex,
    compute_bell_curve,
    interpolate_weights,
)

SEXES = ("female", "male", "other")
EDUCATION = (
    "no schooling",
    "primary",
    "lower secondary",
    "upper secondary",
    "vocational",
    "bachelor",
    "master",
    "doctorate",
)
MARITAL = ("single", "married", "partnership", "separated", "divorced", "widowed")


def age_weights() -> Weights:
    """Newborns, few children, women in their thirties, and above all the old."""
    age = np.arange(OLDEST + 1.0)
    # The divisor is 1 until about 85 and then ends the curve: few people live longer.
    old = 2.1 * compute_bell_curve(age, 74, 13) / (1 + exp((age - 92) / 2.5))
    return np.asarray(
        2.5 * exp(-age / 1.4) + 0.5 / (1 + exp((age - 75) / 6)) + 0.5 * compute_bell_curve(age, 31, 6) + old
    )


def sex_weights() -> Weights:
    """Per band: more boys, then women who give birth, men with heart attacks, and old women."""
    female = interpolate_weights(
        (5, (47,)), (18, (50,)), (30, (62,)), (45, (48,)), (65, (45,)), (80, (54,)), (95, (70,))
    )
    return np.hstack([female, 99.7 - female, np.full_like(female, 0.3)])


def education_weights() -> Weights:
    """Per place and band: the young are still at school, the older left it earlier, the affluent later."""
    base = interpolate_weights(
        (9, (100, 0, 0, 0, 0, 0, 0, 0)),
        (12, (55, 45, 0, 0, 0, 0, 0, 0)),
        (17, (1, 24, 62, 13, 0, 0, 0, 0)),
        (22, (1, 3, 12, 48, 20, 16, 0, 0)),
        (32, (1, 3, 9, 18, 28, 20, 18, 3)),
        (60, (2, 8, 18, 16, 34, 10, 10, 2)),
        (90, (6, 34, 30, 8, 18, 2, 2, 0.4)),
    )
    # Per level of education: more of the higher ones in affluent places, fewer in rural ones.
    tilt = exp(np.outer((0.35, 0.0, -0.2), np.arange(len(EDUCATION))))
    return np.asarray(base[None] * tilt[:, None])


def marital_weights() -> Weights:
    """Per sex and band: women outlive their husbands."""
    child, teen = (14, (100, 0, 0, 0, 0, 0)), (18, (98, 0.5, 1.5, 0, 0, 0))
    female = interpolate_weights(
        child,
        teen,
        (27, (60, 25, 13, 1, 1, 0.1)),
        (37, (24, 57, 10, 3, 6, 0.5)),
        (52, (14, 59, 5, 3, 16, 3)),
        (67, (8, 58, 2, 1, 15, 16)),
        (82, (6, 31, 1, 0.3, 7, 55)),
        (97, (6, 7, 0.2, 0, 3, 84)),
    )
    male = interpolate_weights(
        child,
        teen,
        (27, (70, 17, 12, 0.5, 0.5, 0)),
        (37, (31, 52, 10, 3, 4, 0.2)),
        (52, (17, 61, 5, 3, 13, 1)),
        (67, (9, 71, 2, 1, 12, 5)),
        (82, (5, 69, 1, 0.5, 6, 19)),
        (97, (4, 42, 0.3, 0, 3, 51)),
    )
    return by_sex(female, male)


# Job: share among women and men; by low, middle and high education; in affluent, urban and rural places.
JOBS: dict[str, tuple[tuple[float, float], tuple[float, float, float], tuple[float, float, float]]] = {
    "physician": ((2, 2), (0, 0, 4), (3, 1, 0.6)),
    "nurse": ((10, 1.5), (0.2, 4, 2), (0.8, 1, 1)),
    "care assistant": ((8, 2), (5, 2, 0.1), (0.4, 1, 1.2)),
    "teacher": ((8, 3), (0, 0.3, 5), (1, 1, 1)),
    "childcare worker": ((6, 0.4), (1, 3, 0.5), (0.8, 1, 1)),
    "manager": ((4, 8), (0.2, 1, 3), (3, 1, 0.5)),
    "accountant": ((4, 3), (0, 1.5, 2), (1.5, 1, 0.6)),
    "lawyer": ((1.5, 1.5), (0, 0, 3), (4, 1, 0.3)),
    "office clerk": ((14, 4), (1, 3, 1), (1, 1, 0.8)),
    "engineer": ((1.5, 7), (0, 0.4, 4), (1.6, 1, 0.7)),
    "software developer": ((1, 5), (0, 0.6, 4), (1.8, 1, 0.3)),
    "technician": ((1.5, 7), (0.5, 3, 0.6), (0.7, 1, 1)),
    "builder": ((0.2, 9), (5, 2, 0.1), (0.2, 1, 1.6)),
    "electrician": ((0.2, 5), (0.5, 3, 0.1), (0.5, 1, 1.1)),
    "mechanic": ((0.2, 6), (2, 3, 0.1), (0.3, 1, 1.3)),
    "factory worker": ((4, 8), (6, 1.5, 0.1), (0.2, 1, 1)),
    "shop assistant": ((10, 4), (4, 2, 0.4), (0.6, 1, 0.9)),
    "cook": ((3, 3), (4, 1.5, 0.1), (0.6, 1, 0.9)),
    "waiter": ((3, 2), (3, 1, 0.4), (0.8, 1, 0.7)),
    "hairdresser": ((4, 0.4), (1.5, 2, 0.1), (0.8, 1, 1)),
    "cleaner": ((8, 2), (7, 0.6, 0.1), (0.3, 1, 0.8)),
    "driver": ((0.6, 8), (5, 1.5, 0.1), (0.3, 1, 1.1)),
    "warehouse worker": ((1.5, 6), (5, 1, 0.1), (0.2, 1, 0.8)),
    "farmer": ((1.5, 3), (3, 2, 0.4), (0.05, 0.1, 9)),
    "gardener": ((0.6, 2), (3, 1.5, 0.1), (0.6, 0.7, 2)),
    "police officer": ((0.8, 2.5), (0, 2, 1), (0.7, 1, 1)),
    "firefighter": ((0.1, 1.5), (0.5, 2, 0.2), (0.5, 1, 1)),
    "soldier": ((0.2, 1.5), (1.5, 1.5, 0.6), (0.4, 1, 1.2)),
}
NOT_WORKING = ("student", "homemaker", "unemployed", "retired")
OCCUPATIONS = (*JOBS, *NOT_WORKING)


def status_weights() -> Weights:
    """Per sex and band: at work, ``NOT_WORKING``, not recorded (every child, a quarter of the old)."""
    child, pupil = (12, (0, 0, 0, 0, 0, 100)), (17, (12, 78, 0.5, 3.0, 0, 6.5))
    old, oldest = (72, (2, 0, 0, 0, 76, 22)), (100, (0, 0, 0, 0, 68, 32))
    female = interpolate_weights(
        child,
        pupil,
        (22, (48, 38, 4, 5, 0, 5)),
        (32, (76, 4, 11, 5, 0, 4)),
        (57, (73, 0, 11, 5, 5, 6)),
        (67, (9, 0, 3, 0, 68, 20)),
        old,
        oldest,
    )
    male = interpolate_weights(
        child,
        pupil,
        (22, (52, 36, 0.2, 7, 0, 5)),
        (32, (86, 3, 1, 6, 0, 4)),
        (57, (82, 0, 1, 6, 5, 6)),
        (67, (14, 0, 0.2, 0, 66, 20)),
        old,
        oldest,
    )
    return by_sex(female, male)


# Level of education -> low, middle, high, the columns of JOBS.
TIER = np.array([0, 0, 0, 1, 1, 2, 2, 2])


def job_weights() -> Weights:
    """Per sex, tier of education and kind of place."""
    sex, tier, place = (np.array([job[part] for job in JOBS.values()], dtype=float).T for part in range(3))
    # The third row is for 'other': the mix of both.
    sexes = np.vstack([sex / sex.sum(axis=1, keepdims=True), sex.sum(axis=0) / sex.sum()])
    return np.asarray(sexes[:, None, None] * tier[None, :, None] * place[None, None])
