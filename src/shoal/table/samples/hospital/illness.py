"""What brings people to the hospital, when, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from shoal.table.samples.hospital.curves import MIDDLES, Weights, by_sex, compute_bell_curve

# From summer to summer, so that a winter is not cut in two.
FIRST_DAY, LAST_DAY = date(2023, 7, 1), date(2024, 6, 30)
DAYS = tuple(FIRST_DAY + timedelta(day) for day in range((LAST_DAY - FIRST_DAY).days + 1))


@dataclass(frozen=True, slots=True)
class Illness:
    """How often, at what age and in which sex, in which season, and at what median cost it is treated."""

    weight: float
    peak: float
    width: float
    cost: float
    female: float = 1.0
    male: float = 1.0
    season: int = 0
    spread: float = 0.45


_WINTER, _SUMMER = 1, 2  # rows of date_weights(); 0 is an illness without a season
ILLNESSES = {
    "childbirth": Illness(80, 31, 5, 3400, male=0, spread=0.3),
    "newborn jaundice": Illness(40, 0, 0.8, 1900, spread=0.35),
    "bronchiolitis": Illness(26, 1, 3, 2600, season=_WINTER, spread=0.35),
    "tonsillitis": Illness(13, 9, 9, 1700, season=_WINTER, spread=0.25),
    "asthma": Illness(13, 14, 18, 2300, season=_WINTER),
    "type 1 diabetes": Illness(6, 18, 13, 3200),
    "forearm fracture": Illness(20, 14, 17, 2500, season=_SUMMER, spread=0.3),
    "concussion": Illness(17, 20, 18, 1200, male=1.5, spread=0.3),
    "appendicitis": Illness(20, 20, 13, 4100, spread=0.3),
    "gastroenteritis": Illness(17, 35, 35, 1500, spread=0.35),
    "influenza": Illness(13, 45, 35, 2400, season=_WINTER),
    "epilepsy": Illness(7, 35, 28, 3300),
    "anxiety disorder": Illness(9, 35, 15, 3000, female=1.7, spread=0.6),
    "depression": Illness(20, 45, 17, 5200, female=1.6, spread=0.6),
    "alcohol dependence": Illness(13, 48, 12, 3600, male=2.8, spread=0.6),
    "slipped disc": Illness(17, 48, 13, 5600),
    "kidney stones": Illness(17, 48, 15, 2800, male=1.9, season=_SUMMER),
    "gallstones": Illness(22, 55, 17, 4600, female=1.7, spread=0.35),
    "inguinal hernia": Illness(16, 58, 19, 3100, male=6, spread=0.25),
    "breast cancer": Illness(13, 62, 13, 9800, male=0.01, spread=0.6),
    "type 2 diabetes": Illness(27, 66, 14, 3900),
    "hypertension": Illness(36, 68, 17, 2100),
    "knee osteoarthritis": Illness(33, 69, 10, 8700, female=1.4, spread=0.25),
    "heart attack": Illness(30, 69, 13, 9400, male=1.8, spread=0.6),
    "lung cancer": Illness(13, 69, 10, 11500, male=1.5, spread=0.65),
    "chronic bronchitis": Illness(25, 70, 10, 3700, male=1.3, season=_WINTER),
    "prostate cancer": Illness(14, 71, 9, 8200, female=0, spread=0.5),
    "bowel cancer": Illness(14, 71, 12, 12400, spread=0.55),
    "urinary tract infection": Illness(16, 74, 20, 2700, female=2.2),
    "atrial fibrillation": Illness(29, 75, 11, 3500),
    "stroke": Illness(28, 76, 12, 8900, spread=0.65),
    "pneumonia": Illness(36, 77, 18, 4300, season=_WINTER, spread=0.55),
    "heart failure": Illness(42, 81, 10, 4700, season=_WINTER, spread=0.5),
    "hip fracture": Illness(22, 83, 8, 9100, female=2, season=_WINTER, spread=0.35),
    # Rare and delicate ones, which people have most reason to hide.
    "schizophrenia": Illness(4, 34, 12, 7800, spread=0.7),
    "opioid dependence": Illness(2.5, 34, 9, 4100, male=2.2, spread=0.6),
    "HIV infection": Illness(1.4, 41, 12, 6900, male=3, spread=0.6),
    "hepatitis C": Illness(1.3, 50, 12, 7400, male=1.7, spread=0.6),
    "syphilis": Illness(0.7, 34, 10, 1600, male=3),
    "Huntington disease": Illness(0.6, 49, 9, 6300),
}
DIAGNOSES = tuple(ILLNESSES)
SEASONS = np.array([illness.season for illness in ILLNESSES.values()])
COSTS = np.array([illness.cost for illness in ILLNESSES.values()])
SPREADS = np.array([illness.spread for illness in ILLNESSES.values()])


def diagnosis_weights() -> Weights:
    """Per sex and band."""
    every = ILLNESSES.values()
    bands = np.stack([ill.weight * compute_bell_curve(MIDDLES, ill.peak, ill.width) for ill in every], axis=1)
    female, male = np.array([(ill.female, ill.male) for ill in every]).T
    # Divided by the mean, so that the weight stays that of the illness over both sexes.
    both = (female + male) / 2
    return by_sex(bands * female / both, bands * male / both)


def date_weights() -> Weights:
    """Per season, as numbered in ``ILLNESSES``: fewer admissions at weekends and on holidays."""
    week = np.array([1.25, 1.15, 1.1, 1.05, 1.0, 0.55, 0.5])
    of_week = week[[day.weekday() for day in DAYS]]
    holiday = np.array(
        [0.6 if (day.month, day.day) in {(1, 1), (12, 24), (12, 25), (12, 26)} else 1.0 for day in DAYS]
    )
    # The wave is highest on 20 January.
    year = 2 * np.pi * (np.array([day.timetuple().tm_yday for day in DAYS]) - 20) / 365.25
    wave = np.cos(year).round(12)  # processors differ in the digits after that
    return np.stack([of_week * holiday * (1 + swing * wave) for swing in (0.05, 0.7, -0.5)])
