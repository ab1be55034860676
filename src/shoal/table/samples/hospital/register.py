"""A made-up register of hospital admissions: who came, from where, with what, and what it cost.

Every column is drawn from weights that depend on columns drawn before it: age and place first, then sex,
education, occupation and marital status, then diagnosis, date and cost, and last of all what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.support.arithmetic import exp
from shoal.table.samples.hospital import illness, names, people
from shoal.table.samples.hospital.curves import BAND, BANDS, OLDEST, Weights
from shoal.table.samples.hospital.places import list_places
from shoal.table.samples.urn import Codes, Urn

Mask = NDArray[np.bool_]

SCHEMA = {
    "patient_id": pl.String(),
    "name": pl.String(),
    "age": pl.Int64(),
    "sex": pl.String(),
    "postcode": pl.String(),
    "education": pl.String(),
    "occupation": pl.String(),
    "marital_status": pl.String(),
    "admission_date": pl.Date(),
    "diagnosis": pl.String(),
    "cost": pl.Float64(),
}


@cache
def list_values() -> Mapping[str, tuple[object, ...]]:
    """Every value that each drawn column can have, in order of its codes."""
    return {
        "age": tuple(range(OLDEST + 1)),
        "sex": people.SEXES,
        "postcode": list_places().postcodes,
        "education": people.EDUCATION,
        "occupation": people.OCCUPATIONS,
        "marital_status": people.MARITAL,
        "admission_date": illness.DAYS,
        "diagnosis": illness.DIAGNOSES,
    }


def make_rows(start: int, count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Make the rows ``start .. start + count - 1`` of the register.

    Parameters
    ----------
    start
        Number of rows before these; only the patient number depends on it.
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
    codes = _draw_codes(rng, count)
    gaps = _choose_gaps(rng, codes)
    columns = {column: _decode_column(column, codes[column], gaps.get(column)) for column in list_values()}
    columns["patient_id"] = _patient_ids(start, count)
    columns["name"] = names.full_names().gather(_draw_names(rng, codes["sex"]))
    columns["cost"] = pl.Series(np.where(gaps["cost"], np.nan, _draw_costs(rng, codes)), nan_to_null=True)
    return pl.DataFrame({column: columns[column] for column in SCHEMA})


@dataclass(frozen=True, slots=True)
class _Urns:
    """One urn per thing that is drawn."""

    age: Urn
    place: Urn
    sex: Urn
    education: Urn
    job: Urn
    status: Urn
    marital: Urn
    diagnosis: Urn
    day: Urn
    first: Urn
    last: Urn


@cache
def _build_urns() -> _Urns:
    return _Urns(
        age=Urn.from_weights(people.age_weights()),
        place=Urn.from_weights(list_places().shares),
        sex=Urn.from_weights(people.sex_weights()),
        education=Urn.from_weights(people.education_weights()),
        job=Urn.from_weights(people.job_weights()),
        status=Urn.from_weights(people.status_weights()),
        marital=Urn.from_weights(people.marital_weights()),
        diagnosis=Urn.from_weights(illness.diagnosis_weights()),
        day=Urn.from_weights(illness.date_weights()),
        first=Urn.from_weights(names.first_weights()),
        last=Urn.from_weights(names.last_weights()),
    )


def _draw_codes(rng: np.random.Generator, count: int) -> dict[str, Codes]:
    """Draw the codes of every column in ``list_values()``, and the kind of place people live in."""
    # `alike` is group 0 for every row: age and place depend on nothing else.
    urns, alike = _build_urns(), np.zeros(count, dtype=np.int64)
    age, place = urns.age.draw_categories(rng, alike), urns.place.draw_categories(rng, alike)
    band, kind = BAND[age], list_places().kinds[place]
    sex = urns.sex.draw_categories(rng, band)
    # Groups are numbered as the axes of the weights lie: sex first, then band, then the values.
    person = sex * BANDS + band
    education = urns.education.draw_categories(rng, kind * BANDS + band)
    job = urns.job.draw_categories(rng, (sex * 3 + people.TIER[education]) * 3 + kind)
    status = urns.status.draw_categories(rng, person)
    diagnosis = urns.diagnosis.draw_categories(rng, person)
    return {
        "age": age,
        "kind": kind,
        "sex": sex,
        "postcode": place,
        "education": education,
        # Status 0 is at work; the others come after the jobs, and 'not recorded' is where the null stands.
        "occupation": np.where(status == 0, job, len(people.JOBS) - 1 + status),
        "marital_status": urns.marital.draw_categories(rng, person),
        "admission_date": urns.day.draw_categories(rng, illness.SEASONS[diagnosis]),
        "diagnosis": diagnosis,
    }


def _choose_gaps(rng: np.random.Generator, codes: Mapping[str, Codes]) -> dict[str, Mask]:
    """Choose what is missing: a share of each column, and several columns at once for a few people."""
    age, day = codes["age"], codes["admission_date"]
    # People who are brought in unconscious leave most of the form empty.
    brief = rng.random(len(age)) < 0.012

    def draw_mask(usually: float | NDArray[np.floating[Any]], when_brief: float = 0.7) -> Mask:
        return np.asarray(rng.random(len(age)) < np.where(brief, when_brief, usually))

    return {
        "age": draw_mask(0.002, 0.25),
        # Sex is seen even where nobody can answer.
        "sex": draw_mask(0.003, 0.003),
        "postcode": draw_mask(0.01),
        "education": draw_mask(0.03 + age * 0.0008),
        # 'not recorded' was drawn as a status already; only nearly empty forms lose more.
        "occupation": draw_mask(0.0),
        "marital_status": draw_mask(0.015),
        "diagnosis": draw_mask(0.006, 0.02),
        # The last month's bills are often still open.
        "cost": draw_mask(0.01 + 0.19 * (day >= len(illness.DAYS) - 31), 0.05),
    }


def _draw_costs(rng: np.random.Generator, codes: Mapping[str, Codes]) -> Weights:
    """Log-normal around the illness's median; dearer for the old and for those who can pay for more."""
    diagnosis = codes["diagnosis"]
    # Affluent, urban, rural.
    comfort = np.array([1.15, 1.0, 0.93])[codes["kind"]]
    median = illness.COSTS[diagnosis] * (0.75 + codes["age"] * 0.005) * comfort
    # exp of shoal.support.arithmetic: the same digits on every processor, as the table promises.
    noise = exp(illness.SPREADS[diagnosis] * rng.standard_normal(len(diagnosis)))
    return np.asarray(np.round(median * noise, 2))


def _draw_names(rng: np.random.Generator, sex: Codes) -> NDArray[np.int64]:
    urns, alike = _build_urns(), np.zeros(len(sex), dtype=np.int64)
    # Names have a female and a male half; people of the third sex have names of either.
    half = np.where(sex == 2, rng.integers(0, 2, size=len(sex)), sex)
    first, last = urns.first.draw_categories(rng, alike), urns.last.draw_categories(rng, alike)
    return np.asarray((half * names.FIRST + first) * names.LAST + last)


def _patient_ids(start: int, count: int) -> pl.Series:
    numbers = pl.Series(np.arange(start + 1, start + count + 1))
    return "P" + numbers.cast(pl.String).str.zfill(8)


def _decode_column(column: str, codes: Codes, gaps: Mask | None) -> pl.Series:
    """Look the values up; past the last value stands a null."""
    table = _build_lookup(column)
    return table.gather(codes if gaps is None else np.where(gaps, len(table) - 1, codes))


@cache
def _build_lookup(column: str) -> pl.Series:
    return pl.Series([*list_values()[column], None], dtype=SCHEMA[column])
