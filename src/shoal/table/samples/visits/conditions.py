"""What is written into the file of a stay: why somebody came, what they have anyway, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.table.samples.hospital import illness
from shoal.table.samples.hospital.curves import (
    BANDS,
    MIDDLES,
    Weights,
    by_sex,
    compute_bell_curve,
    interpolate_weights,
)


@dataclass(frozen=True, slots=True)
class Condition:
    """How common something lasting is, and at what age and in which sex."""

    weight: float
    peak: float
    width: float
    female: float = 1.0
    male: float = 1.0


LASTING = {
    "hypertension": Condition(34, 72, 22),
    "high cholesterol": Condition(20, 66, 20),
    "type 2 diabetes": Condition(17, 68, 18),
    "coronary heart disease": Condition(13, 74, 14, male=1.8),
    "atrial fibrillation": Condition(10, 78, 12),
    "heart failure": Condition(9, 81, 10),
    "chronic kidney disease": Condition(9, 79, 14),
    "chronic bronchitis": Condition(9, 70, 14, male=1.3),
    "knee osteoarthritis": Condition(10, 72, 13, female=1.4),
    "osteoporosis": Condition(7, 78, 12, female=4),
    "obesity": Condition(12, 50, 22),
    "underactive thyroid": Condition(7, 60, 22, female=4),
    "depression": Condition(9, 48, 22, female=1.7),
    "asthma": Condition(7, 22, 24),
    "dementia": Condition(5, 86, 8),
    "rheumatoid arthritis": Condition(3, 62, 16, female=2.5),
    "migraine": Condition(4, 36, 14, female=3),
    "epilepsy": Condition(2, 35, 28),
    "alcohol dependence": Condition(3, 48, 13, male=2.8),
    "type 1 diabetes": Condition(1.5, 25, 18),
    "HIV infection": Condition(0.4, 42, 13, male=3),
}
# What may come during a stay: weights for children, adults and the old.
ADDED = {
    "fever": (6.0, 3.0, 3.0),
    "dehydration": (3.0, 1.0, 4.0),
    "anaemia": (0.5, 2.0, 4.0),
    "urinary tract infection": (0.5, 1.0, 5.0),
    "wound infection": (0.5, 2.0, 2.0),
    "deep vein thrombosis": (0.0, 1.0, 1.5),
    "delirium": (0.0, 0.3, 4.0),
    "pressure sore": (0.0, 0.1, 2.5),
}
DIAGNOSES = tuple(dict.fromkeys((*illness.DIAGNOSES, *LASTING, *ADDED)))
"""Every diagnosis, in order of its code; what people come with is first, as in the sample ``hospital``."""

# By code of what people come with.
IS_ONCE = np.isin(illness.DIAGNOSES, ("childbirth", "newborn jaundice", "appendicitis", "hip fracture"))
INSTEAD = DIAGNOSES.index("fever")
LASTING_CODES = np.array([DIAGNOSES.index(name) for name in LASTING])
ADDED_CODES = np.array([DIAGNOSES.index(name) for name in ADDED])

MOST_LASTING, MOST_STAYS = 4, 12
OUTCOMES = ("home", "care home", "other hospital", "died")


def lasting_weights() -> Weights:
    """Per sex and band: which lasting condition."""
    every = LASTING.values()
    bands = np.stack([each.weight * compute_bell_curve(MIDDLES, each.peak, each.width) for each in every], 1)
    # Somebody has to be drawn for newborns, too; how many conditions there are is another weight.
    bands += 1e-6
    female, male = np.array([(each.female, each.male) for each in every]).T
    both = (female + male) / 2
    return by_sex(bands * female / both, bands * male / both)


def number_weights() -> Weights:
    """Per band: how many lasting conditions, from none to ``MOST_LASTING``."""
    return interpolate_weights(
        (5, (97, 3, 0, 0, 0)),
        (25, (75, 22, 3, 0, 0)),
        (50, (35, 32, 20, 9, 4)),
        (70, (12, 25, 28, 20, 15)),
        (90, (6, 18, 27, 26, 23)),
    )


def stay_weights() -> Weights:
    """Per number of lasting conditions: how many stays in the year, from one on."""
    stays = np.arange(MOST_STAYS, dtype=np.float64)
    shares = np.array([0.22, 0.38, 0.5, 0.6, 0.68])  # of those who came, how many come again
    return np.stack([np.cumprod(np.concatenate(([1.0], np.full(stays.size - 1, each)))) for each in shares])


def added_weights() -> Weights:
    """Per band: what comes during a stay."""
    child, adult, old = (tuple(each[at] for each in ADDED.values()) for at in range(3))
    return interpolate_weights((10, child), (25, adult), (60, adult), (80, old))


def outcome_weights() -> Weights:
    """Per band: where somebody goes from the hospital."""
    shares = interpolate_weights(
        (1, (97, 0, 2.7, 0.3)), (40, (95, 0.2, 4.5, 0.3)), (70, (85, 5, 8, 2)), (95, (58, 26, 9, 7))
    )
    assert len(shares) == BANDS
    return shares
