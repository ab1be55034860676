"""Hierarchies for the stays: each row is a value, its ancestors from near to far, and the root."""

from __future__ import annotations

from shoal.table.samples.hospital import hierarchies as hospital
from shoal.table.samples.hospital.curves import OLDEST
from shoal.table.samples.hospital.hierarchies import ROOT
from shoal.table.samples.spec import HierarchyRows

# Chapter -> group -> diagnoses.
CHAPTERS: dict[str, dict[str, tuple[str, ...]]] = {
    "heart and vessels": {
        "blood pressure and fats": ("hypertension", "high cholesterol"),
        "coronary disease": ("coronary heart disease", "heart attack"),
        "rhythm and pump": ("atrial fibrillation", "heart failure"),
        "clots and strokes": ("stroke", "deep vein thrombosis"),
    },
    "lungs": {
        "lasting lung disease": ("asthma", "chronic bronchitis"),
        "airway infection": ("bronchiolitis", "tonsillitis", "influenza", "pneumonia"),
    },
    "hormones and metabolism": {
        "diabetes": ("type 1 diabetes", "type 2 diabetes"),
        "weight and thyroid": ("obesity", "underactive thyroid"),
        "blood and fluids": ("anaemia", "dehydration"),
    },
    "bones and joints": {
        "fractures": ("forearm fracture", "hip fracture"),
        "joints": ("knee osteoarthritis", "rheumatoid arthritis"),
        "back and bones": ("slipped disc", "osteoporosis"),
    },
    "nerves": {
        "seizures and headache": ("epilepsy", "migraine"),
        "brain": ("concussion", "dementia", "Huntington disease"),
    },
    "mind": {
        "mood": ("depression", "anxiety disorder"),
        "psychosis": ("schizophrenia", "delirium"),
        "dependence": ("alcohol dependence", "opioid dependence"),
    },
    "belly": {
        "abdominal surgery": ("appendicitis", "gallstones", "inguinal hernia"),
        "gut": ("gastroenteritis",),
    },
    "kidneys": {
        "urinary tract": ("urinary tract infection", "kidney stones"),
        "kidney failure": ("chronic kidney disease",),
    },
    "cancer": {
        "cancer of one sex": ("breast cancer", "prostate cancer"),
        "other cancer": ("bowel cancer", "lung cancer"),
    },
    "infection": {
        "lasting infection": ("HIV infection", "hepatitis C", "syphilis"),
        "fever and wounds": ("fever", "wound infection", "pressure sore"),
    },
    "birth": {"delivery": ("childbirth",), "newborn": ("newborn jaundice",)},
}
_PARTS = {
    "inner organs": ("heart and vessels", "lungs", "hormones and metabolism", "belly", "kidneys"),
    "movement and mind": ("bones and joints", "nerves", "mind"),
    "whole body": ("cancer", "infection", "birth"),
}
WARDS = {
    "surgery": ("belly", "bones and joints"),
    "heart ward": ("heart and vessels",),
    "lung ward": ("lungs",),
    "medicine": ("hormones and metabolism", "kidneys", "infection"),
    "neurology": ("nerves",),
    "psychiatry": ("mind",),
    "oncology": ("cancer",),
    "maternity": ("birth",),
}
CHILDREN = "children"
_KINDS = {
    "cutting": ("surgery", "maternity"),
    "internal": ("heart ward", "lung ward", "medicine", "oncology", CHILDREN),
    "mind and nerves": ("neurology", "psychiatry"),
}
FIRST_YEAR = 2023  # in which those of age 0 were born


def build_hierarchies() -> dict[str, HierarchyRows]:
    """Hierarchies of all quasi-identifiers and of the diagnoses, covering every value that there can be."""
    known = hospital.build_hierarchies()
    return {
        "sex": known["sex"],
        "birth_year": [_year_row(FIRST_YEAR - age) for age in range(OLDEST, -1, -1)],
        "postcode": known["postcode"],
        "admission_date": known["admission_date"],
        "ward": [[ward, kind, ROOT] for kind, wards in _KINDS.items() for ward in wards],
        "diagnoses": [
            [diagnosis, group, chapter, part, ROOT]
            for part, chapters in _PARTS.items()
            for chapter in chapters
            for group, diagnoses in CHAPTERS[chapter].items()
            for diagnosis in diagnoses
        ],
    }


def _year_row(year: int) -> list[str]:
    # Every width divides the next one, so that ranges are nested.
    starts = ((year // width * width, width) for width in (5, 10, 20, 40))
    return [str(year), *(f"{start}-{start + width - 1}" for start, width in starts), ROOT]
