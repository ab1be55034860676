"""The sample ``hospital``: a register of admissions to the hospitals of an invented country."""

from __future__ import annotations

from shoal.table.samples.hospital.hierarchies import build_hierarchies
from shoal.table.samples.hospital.register import SCHEMA, make_rows
from shoal.table.samples.spec import Sample

HOSPITAL = Sample(
    name="hospital",
    description="a year of hospital admissions in an invented country: who came, with what, at what cost",
    rows=5000,
    seed=2024,
    schema=SCHEMA,
    roles={
        "patient_id": "identifier",
        "name": "identifier",
        "age": "quasi",
        "sex": "quasi",
        "postcode": "quasi",
        "education": "quasi",
        "occupation": "quasi",
        "marital_status": "quasi",
        "admission_date": "quasi",
        "diagnosis": "sensitive",
        "cost": "plain",
    },
    why={
        "patient_id": "It points at one person, so it is never released.",
        "name": "It names the person, so it is never released.",
        "age": "Neighbours, employers and public records know it.",
        "sex": "Anyone who knows the person knows it.",
        "postcode": "Address books list it, and some districts are small.",
        "education": "It stands in every public career profile.",
        "occupation": "Colleagues and profiles tell it, and some jobs are rare.",
        "marital_status": "Public registers hold it.",
        "admission_date": "Anyone who missed the person that day can tell it.",
        "diagnosis": "It is what an attacker wants to learn and a patient wants to keep.",
        "cost": "It is what the analysis is about, and outsiders do not know it.",
    },
    make=make_rows,
    hierarchies=build_hierarchies,
)
