"""Stays of patients: several of many, with sets of diagnoses that fit the patient. Seeded, so exact."""

import polars as pl
import pytest

from shoal.table.samples import SAMPLES, sample, sample_hierarchies
from shoal.table.samples.visits.conditions import DIAGNOSES
from shoal.table.samples.visits.hierarchies import CHAPTERS

STATIC = ["sex", "birth_year", "postcode"]


@pytest.fixture(scope="module")
def stays() -> pl.DataFrame:
    return sample("visits", rows=60_000, seed=7)


@pytest.fixture(scope="module")
def items(stays: pl.DataFrame) -> pl.DataFrame:
    """One row per diagnosis of a stay."""
    known = stays.with_row_index("row").with_columns(pl.col("diagnoses").str.split("|"))
    return known.drop_nulls("diagnoses").explode("diagnoses")


def test_the_first_rows_never_change() -> None:
    """Pinned: docs and benchmarks rely on this very table."""
    first = sample("visits", rows=5).with_columns(pl.col("admission_date").cast(pl.String)).rows()
    assert first[0] == (
        "P00000001", "male", 2008, "21001", "2024-04-05", "children", "appendicitis|fever", "home",
    )  # fmt: skip
    assert first[4] == (
        "P00000004", "male", 1953, "13101", "2023-12-20", "heart ward",
        "high cholesterol|coronary heart disease", "home",
    )  # fmt: skip


def test_many_patients_come_again_and_their_stays_stand_together(stays: pl.DataFrame) -> None:
    per = stays.group_by("patient_id").len()["len"]
    assert 0.35 < (per > 1).mean() < 0.45
    assert per.max() == 12
    # Also where the table was made in several blocks.
    assert stays["patient_id"].rle().len() == per.len()
    assert stays["patient_id"].str.contains(r"^P\d{8}$").all()
    ordered = stays.group_by("patient_id").agg(pl.col("admission_date").diff().min().dt.total_days() >= 0)
    assert ordered["admission_date"].drop_nulls().all()


def test_what_a_patient_is_does_not_change(stays: pl.DataFrame) -> None:
    assert (stays.group_by("patient_id").agg(pl.n_unique(*STATIC)).select(STATIC).max().row(0)) == (1, 1, 1)


def test_nobody_comes_after_death_and_the_old_die_sooner(stays: pl.DataFrame) -> None:
    died = stays.filter(pl.col("outcome") == "died")
    last = stays.group_by("patient_id").agg(
        pl.col("outcome").last(), (pl.col("outcome") == "died").sum().alias("n")
    )
    assert last.filter(pl.col("n") > 0)["outcome"].unique().to_list() == ["died"]
    assert last["n"].max() == 1
    assert died["birth_year"].median() < stays["birth_year"].median()  # type: ignore[operator]


def test_diagnoses_fit_the_patient(items: pl.DataFrame) -> None:
    def of(name: str) -> pl.DataFrame:
        return items.filter(pl.col("diagnoses") == name)

    assert set(items["diagnoses"]) == set(DIAGNOSES)
    assert "male" not in set(of("childbirth")["sex"])
    assert "female" not in set(of("prostate cancer")["sex"])
    assert of("childbirth")["birth_year"].is_between(1970, 2012).all()
    assert of("dementia")["birth_year"].max() < 1965  # type: ignore[operator]
    assert of("newborn jaundice")["birth_year"].min() >= 2018  # type: ignore[operator]
    once = of("childbirth").group_by("patient_id").len()["len"]
    assert once.max() == 1
    assert items.select("row", "diagnoses").is_duplicated().sum() == 0


def test_lasting_conditions_come_again_and_bring_people_back(
    stays: pl.DataFrame, items: pl.DataFrame
) -> None:
    of_patient = items.group_by("patient_id", "diagnoses").len()
    again = of_patient.filter(pl.col("len") > 1).group_by("diagnoses").len()
    every = of_patient.group_by("diagnoses").len()
    share = every.join(again, on="diagnoses").select("diagnoses", pl.col("len_right") / pl.col("len"))
    shares = dict(share.iter_rows())
    assert shares["type 2 diabetes"] > 3 * shares["stroke"]
    sizes = items.group_by("row").len()["len"]
    assert sizes.max() == 6
    assert 2.2 < sizes.mean() < 2.8  # type: ignore[operator]
    assert 0.005 < stays["diagnoses"].null_count() / stays.height < 0.015


def test_hierarchies_cover_every_value(stays: pl.DataFrame, items: pl.DataFrame) -> None:
    trees = sample_hierarchies("visits")
    assert list(trees) == [name for name, role in SAMPLES["visits"].roles.items() if role in ("quasi", "set")]
    for column, rows in trees.items():
        assert len({len(row) for row in rows}) == 1
        assert len({row[0] for row in rows}) == len(rows)
        values = items["diagnoses"] if column == "diagnoses" else stays[column].drop_nulls().cast(pl.String)
        assert set(values) <= {row[0] for row in rows}
    named = [each for groups in CHAPTERS.values() for group in groups.values() for each in group]
    assert sorted(named) == sorted(DIAGNOSES)
