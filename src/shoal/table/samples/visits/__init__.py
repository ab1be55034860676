"""The sample ``visits``: the same invented country, with every stay of its patients in a year."""

from __future__ import annotations

from shoal.table.samples.spec import Sample
from shoal.table.samples.visits.hierarchies import build_hierarchies
from shoal.table.samples.visits.register import SCHEMA, SEPARATOR, make_rows

VISITS = Sample(
    name="visits",
    description="the hospital stays of a year there: several of many patients, each with a set of diagnoses",
    rows=5000,
    seed=2024,
    schema=SCHEMA,
    roles={
        "patient_id": "person",
        "sex": "quasi",
        "birth_year": "quasi",
        "postcode": "quasi",
        "admission_date": "quasi",
        "ward": "quasi",
        "diagnoses": "set",
        "outcome": "sensitive",
    },
    why={
        "patient_id": "It says whose stay it is, and one patient has several.",
        "sex": "Anyone who knows the person knows it.",
        "birth_year": "Everybody at the birthday party knows it.",
        "postcode": "Address books list it, and some districts are small.",
        "admission_date": "Anyone who missed the person that day can tell it.",
        "ward": "Visitors know where they visited.",
        "diagnoses": "People know some of each other's illnesses, and a few together are rare.",
        "outcome": "It is what an attacker wants to learn.",
    },
    make=make_rows,
    hierarchies=build_hierarchies,
    separators={"diagnoses": SEPARATOR},
)
