"""Hierarchies for the register: each row is a value, its ancestors from near to far, and the root."""

from __future__ import annotations

from datetime import date

from shoal.table.samples.hospital import illness, people
from shoal.table.samples.hospital.curves import OLDEST
from shoal.table.samples.hospital.places import list_places
from shoal.table.samples.spec import HierarchyRows

ROOT = "*"

_EDUCATION = {
    "primary or less": ("school", ("no schooling", "primary")),
    "secondary": ("school", ("lower secondary", "upper secondary")),
    "vocational training": ("further education", ("vocational",)),
    "university": ("further education", ("bachelor", "master", "doctorate")),
}
_MARITAL = {
    "never married": ("living alone", ("single",)),
    "formerly married": ("living alone", ("separated", "divorced", "widowed")),
    "couple": ("living together", ("married", "partnership")),
}
_OCCUPATIONS = {
    "health": ("professional", ("physician", "nurse", "care assistant")),
    "teaching": ("professional", ("teacher", "childcare worker")),
    "office": ("professional", ("manager", "accountant", "lawyer", "office clerk")),
    "technology": ("professional", ("engineer", "software developer", "technician")),
    "crafts": ("manual", ("builder", "electrician", "mechanic", "factory worker")),
    "transport": ("manual", ("driver", "warehouse worker")),
    "land": ("manual", ("farmer", "gardener")),
    "shops and food": ("service", ("shop assistant", "cook", "waiter")),
    "personal service": ("service", ("hairdresser", "cleaner")),
    "safety": ("service", ("police officer", "firefighter", "soldier")),
    "in education": ("not working", ("student",)),
    "without a job": ("not working", ("homemaker", "unemployed")),
    "retired from work": ("not working", ("retired",)),
}


def build_hierarchies() -> dict[str, HierarchyRows]:
    """Hierarchies of all quasi-identifiers, covering every value that the register can hold."""
    return {
        "age": [_age_row(age) for age in range(OLDEST + 1)],
        "sex": [[sex, ROOT] for sex in people.SEXES],
        "postcode": [_prefix_row(postcode) for postcode in list_places().postcodes],
        "education": _grouped_rows(_EDUCATION),
        "occupation": _grouped_rows(_OCCUPATIONS),
        "marital_status": _grouped_rows(_MARITAL),
        "admission_date": [_date_row(day) for day in illness.DAYS],
    }


def _age_row(age: int) -> list[str]:
    # Every width divides the next one, so that ranges are nested.
    starts = ((age // width * width, width) for width in (5, 10, 20, 40))
    return [str(age), *(f"{start}-{start + width - 1}" for start, width in starts), ROOT]


def _prefix_row(postcode: str) -> list[str]:
    return [postcode[:kept] + "*" * (len(postcode) - kept) for kept in range(len(postcode), 0, -1)] + [ROOT]


def _grouped_rows(groups: dict[str, tuple[str, tuple[str, ...]]]) -> HierarchyRows:
    return [[value, group, kind, ROOT] for group, (kind, values) in groups.items() for value in values]


def _date_row(day: date) -> list[str]:
    return [day.isoformat(), f"{day:%Y-%m}", f"{day.year}-Q{(day.month + 2) // 3}", str(day.year), ROOT]
