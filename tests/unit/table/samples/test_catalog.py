"""Samples by name: the same rows for the same seed, at any size."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.errors import InputError, InternalError
from shoal.table.samples import SAMPLES, Sample, sample, sample_hierarchies
from shoal.table.samples.catalog import BLOCK_ROWS


def test_default_is_the_hospital_at_its_own_size_and_seed() -> None:
    hospital = SAMPLES["hospital"]
    assert_frame_equal(sample(), sample("hospital", rows=hospital.rows, seed=hospital.seed))
    assert len(sample()) == 5000


def test_same_seed_same_rows_other_seed_other_rows() -> None:
    assert_frame_equal(sample(rows=500, seed=3), sample(rows=500, seed=3))
    assert not sample(rows=500, seed=3).equals(sample(rows=500, seed=4))


def test_the_first_rows_never_change() -> None:
    """Pinned: recipes, docs and pictures elsewhere rely on this very table."""
    first = sample(rows=2).drop("cost").with_columns(pl.col("admission_date").cast(pl.String))
    assert first.rows() == [
        (
            "P00000001",
            "Belan Iverstone",
            15,
            "male",
            "21001",
            "primary",
            "student",
            "single",
            "2024-02-28",
            "epilepsy",
        ),
        (
            "P00000002",
            "Pelira Brackwick",
            71,
            "female",
            "02021",
            "no schooling",
            None,
            "widowed",
            "2024-03-20",
            "urinary tract infection",
        ),
    ]


@pytest.mark.parametrize("rows", [1, 1000, BLOCK_ROWS, BLOCK_ROWS + 1])
@pytest.mark.parametrize(("name", "many"), [("hospital", 300_000), ("visits", 60_000)])
def test_a_longer_table_starts_with_the_shorter_one(name: str, many: int, rows: int) -> None:
    longer = sample(name, rows=many)
    assert longer.height == many
    assert_frame_equal(sample(name, rows=rows), longer.head(rows))


def test_blocks_differ_from_each_other() -> None:
    two = sample(rows=2 * BLOCK_ROWS).drop("patient_id")
    assert not two.head(BLOCK_ROWS).equals(two.tail(BLOCK_ROWS))


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown sample 'hopsital': did you mean 'hospital'\?"):
        sample("hopsital")
    with pytest.raises(InputError, match="unknown sample 'zoo': there are 'hospital', 'visits'"):
        sample_hierarchies("zoo")


@pytest.mark.parametrize("rows", [0, -5])
def test_rows_must_be_positive(rows: int) -> None:
    with pytest.raises(InputError, match=f"at least 1 row, not {rows}"):
        sample(rows=rows)


def test_seed_must_not_be_negative() -> None:
    with pytest.raises(InputError, match="0 or more, not -1"):
        sample(rows=10, seed=-1)


def test_every_sample_is_described() -> None:
    for name, spec in SAMPLES.items():
        assert spec.name == name
        assert "\n" not in spec.description
        assert set(spec.roles.values()) <= {"quasi", "sensitive", "identifier", "plain", "person", "set"}
        assert list(spec.separators) == [column for column, role in spec.roles.items() if role == "set"]
        assert all(reason.endswith(".") and reason.count(". ") == 0 for reason in spec.why.values())
        made = sample(name, rows=100)
        assert made.schema == pl.Schema(spec.schema)
        assert list(spec.roles) == made.columns


def test_a_sample_whose_roles_miss_a_column_is_refused() -> None:
    hospital = SAMPLES["hospital"]
    with pytest.raises(InternalError, match="same columns"):
        Sample(
            name="half",
            description="roles for one column only",
            rows=1,
            seed=0,
            schema=hospital.schema,
            roles={"age": "quasi"},
            why=hospital.why,
            make=hospital.make,
            hierarchies=hospital.hierarchies,
        )


def test_the_page_tells_the_roles_and_reasons() -> None:
    page = (Path(__file__).parents[4] / "docs" / "sample.md").read_text(encoding="utf-8")
    for name, spec in SAMPLES.items():
        section = page.partition(f"## Columns of `{name}`")[2]
        for column, role in spec.roles.items():
            row = next(line for line in section.splitlines() if line.startswith(f"| `{column}` |"))
            assert row.endswith(f"| {role} | {spec.why[column]} |")
