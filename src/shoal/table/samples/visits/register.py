"""A made-up register of hospital stays: patients with lasting conditions, who come once or again and again.

A patient has a sex, a year of birth, a place and some lasting conditions. Each stay has a reason, most of the
lasting conditions, and now and then something that came during the stay. Who dies does not come again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.samples.hospital import illness, people
from shoal.table.samples.hospital.curves import BAND, BANDS
from shoal.table.samples.hospital.places import list_places
from shoal.table.samples.urn import Codes, Urn
from shoal.table.samples.visits import conditions
from shoal.table.samples.visits.hierarchies import CHAPTERS, CHILDREN, FIRST_YEAR, WARDS

SEPARATOR = "|"
SCHEMA = {
    "patient_id": pl.String(),
    "sex": pl.String(),
    "birth_year": pl.Int64(),
    "postcode": pl.String(),
    "admission_date": pl.Date(),
    "ward": pl.String(),
    "diagnoses": pl.String(),
    "outcome": pl.String(),
}
_WARDS = (*WARDS, CHILDREN)
_CHILD = 16  # years, below which the ward is that of children
_AGAIN = 0.35  # of the stays of people with lasting conditions, for one of these
_RECORDED = 0.8  # of the lasting conditions, in the file of a stay
_ADDED = 0.25  # of the stays
_UNCODED = 0.01  # of the stays, of which the diagnoses are not written down yet
_DIED = conditions.OUTCOMES.index("died")


def make_rows(start: int, count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Make the rows ``start .. start + count - 1`` of the register, patient after patient.

    Parameters
    ----------
    start
        Number of rows before these; only the numbers of patients depend on it.
    count
        How many rows to make.
    rng
        Where all the chance comes from.

    Returns
    -------
    pl.DataFrame
        The columns of ``SCHEMA``, with missing values as nulls.
    """
    # The order of these draws is part of the format: the same seed has to give the same table.
    patients = _Patients.draw(rng, count)
    patient = np.repeat(np.arange(count), patients.stays)[:count]
    reason, day = _draw_reasons(rng, patients, patient)
    cells = _draw_diagnoses(rng, patients, patient, reason)
    outcome = _draw_outcomes(rng, patients, patient)
    columns = {
        "patient_id": "P" + pl.Series(start + 1 + patient).cast(pl.String).str.zfill(8),
        "sex": pl.Series(people.SEXES).gather(patients.sex[patient]),
        "birth_year": pl.Series(FIRST_YEAR - patients.age[patient].astype(np.int64)),
        "postcode": pl.Series([*list_places().postcodes, None]).gather(patients.place[patient]),
        "admission_date": pl.Series(illness.DAYS, dtype=pl.Date()).gather(day),
        "ward": pl.Series(_WARDS).gather(_find_wards(reason, patients.age[patient])),
        "diagnoses": cells,
        "outcome": pl.Series(conditions.OUTCOMES).gather(outcome),
    }
    return pl.DataFrame({name: columns[name] for name in SCHEMA})


@dataclass(frozen=True, slots=True)
class _StayUrns:
    """One urn per thing that is drawn."""

    age: Urn
    place: Urn
    sex: Urn
    number: Urn
    lasting: Urn
    stays: Urn
    reason: Urn
    day: Urn
    added: Urn
    outcome: Urn


@cache
def _build_urns() -> _StayUrns:
    return _StayUrns(
        age=Urn.from_weights(people.age_weights()),
        place=Urn.from_weights(list_places().shares),
        sex=Urn.from_weights(people.sex_weights()),
        number=Urn.from_weights(conditions.number_weights()),
        lasting=Urn.from_weights(conditions.lasting_weights()),
        stays=Urn.from_weights(conditions.stay_weights()),
        reason=Urn.from_weights(illness.diagnosis_weights()),
        day=Urn.from_weights(illness.date_weights()),
        added=Urn.from_weights(conditions.added_weights()),
        outcome=Urn.from_weights(conditions.outcome_weights()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Patients:
    """Who comes to the hospitals; as many as rows, so that there are enough of them."""

    age: Codes
    sex: Codes
    place: Codes
    """The code of the postcode; past the last one it is missing."""
    lasting: NDArray[np.int64]
    """[patients, MOST_LASTING] codes of diagnoses; -1 where there are no more."""
    stays: Codes

    @classmethod
    def draw(cls, rng: np.random.Generator, count: int) -> _Patients:
        urns, alike = _build_urns(), np.zeros(count, np.int64)
        age, place = urns.age.draw_categories(rng, alike), urns.place.draw_categories(rng, alike)
        sex = urns.sex.draw_categories(rng, BAND[age])
        number = urns.number.draw_categories(rng, BAND[age])
        kind = np.repeat(sex * BANDS + BAND[age], conditions.MOST_LASTING)
        drawn = urns.lasting.draw_categories(rng, kind).reshape(count, -1)
        lasting = np.where(
            np.arange(conditions.MOST_LASTING) < number[:, None], conditions.LASTING_CODES[drawn], -1
        )
        stays = urns.stays.draw_categories(rng, number) + 1
        unknown = rng.random(count) < 0.015
        return cls(age, sex, np.where(unknown, len(list_places().postcodes), place), lasting, stays)


def _draw_reasons(
    rng: np.random.Generator, patients: _Patients, patient: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Why and on which day of the year each stay began, the stays of a patient by date."""
    urns, band = _build_urns(), BAND[patients.age[patient]]
    acute = urns.reason.draw_categories(rng, patients.sex[patient] * BANDS + band)
    day = urns.day.draw_categories(rng, illness.SEASONS[acute]).astype(np.int64)
    first = patients.lasting[patient, 0]
    again = (rng.random(patient.size) < _AGAIN) & (first >= 0)
    reason = np.where(again, first, acute)
    order = np.lexsort((day, patient))
    reason, day = reason[order], day[order]
    # Nobody is born, gives birth or loses the appendix twice in a year.
    once = np.append(conditions.IS_ONCE, np.zeros(len(conditions.DIAGNOSES) - conditions.IS_ONCE.size, bool))
    seen = np.unique(patient * len(conditions.DIAGNOSES) + reason, return_index=True)[1]
    repeated = np.ones(reason.size, np.bool_)
    repeated[seen] = False
    return np.where(repeated & once[reason], conditions.INSTEAD, reason), day


def _draw_diagnoses(
    rng: np.random.Generator, patients: _Patients, patient: NDArray[np.int64], reason: NDArray[np.int64]
) -> pl.Series:
    """The cell of each stay: the reason first, then lasting conditions, then what came during the stay."""
    lasting = patients.lasting[patient]
    lasting = np.where(rng.random(lasting.shape) < _RECORDED, lasting, -1)
    came = _build_urns().added.draw_categories(rng, BAND[patients.age[patient]])
    added = np.where(rng.random(patient.size) < _ADDED, conditions.ADDED_CODES[came], -1)
    code = np.column_stack([reason, lasting, added])
    code[rng.random(patient.size) < _UNCODED] = -1
    row = np.repeat(np.arange(patient.size), code.shape[1])
    kept = code.ravel() >= 0
    names = pl.Series(conditions.DIAGNOSES).gather(code.ravel()[kept])
    found = (
        pl.DataFrame({"row": row[kept], "name": names})
        .unique(maintain_order=True)
        .group_by("row", maintain_order=True)
        .agg(pl.col("name").str.join(SEPARATOR))
    )
    every = pl.DataFrame({"row": np.arange(patient.size)})
    return every.join(found, on="row", how="left", maintain_order="left")["name"]


def _draw_outcomes(
    rng: np.random.Generator, patients: _Patients, patient: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Where each stay ended; only the last one of a patient with death."""
    drawn = _build_urns().outcome.draw_categories(rng, BAND[patients.age[patient]]).astype(np.int64)
    comes_again = np.append(patient[1:] == patient[:-1], False)
    return np.where((drawn == _DIED) & comes_again, 0, drawn)


def _find_wards(reason: NDArray[np.int64], age: Codes) -> NDArray[np.int64]:
    """The ward of each stay, by its reason; children have their own."""
    of_chapter = {chapter: ward for ward, chapters in WARDS.items() for chapter in chapters}
    of_diagnosis = {
        diagnosis: of_chapter[chapter]
        for chapter, groups in CHAPTERS.items()
        for diagnoses in groups.values()
        for diagnosis in diagnoses
    }
    ward = np.array([_WARDS.index(of_diagnosis[name]) for name in conditions.DIAGNOSES])
    return np.where(age < _CHILD, _WARDS.index(CHILDREN), ward[reason])
