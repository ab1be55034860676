"""The register looks like a register: skewed, gappy, and its columns go together. Seeded, so exact."""

import polars as pl
import pytest

from shoal.table.samples import SAMPLES, sample, sample_hierarchies
from shoal.table.samples.hospital.register import list_values

QUASI = [column for column, role in SAMPLES["hospital"].roles.items() if role == "quasi"]


@pytest.fixture(scope="module")
def register() -> pl.DataFrame:
    return sample("hospital", rows=100_000, seed=7)


def share(frame: pl.DataFrame, condition: pl.Expr) -> float:
    """Share of the rows, of those where it can be told, that meet ``condition``."""
    value = frame.select(condition.mean()).item()
    assert isinstance(value, float)
    return value


def test_patient_numbers_are_unique(register: pl.DataFrame) -> None:
    assert register["patient_id"].n_unique() == len(register)
    assert register["patient_id"].str.contains(r"^P\d{8}$").all()


def test_names_fit_the_sex(register: pl.DataFrame) -> None:
    first = register.select(pl.col("sex"), pl.col("name").str.split(" ").list.first())
    women, men = (set(first.filter(pl.col("sex") == sex)["name"]) for sex in ("female", "male"))
    assert women.isdisjoint(men)
    assert register["name"].n_unique() > 20_000


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("patient_id", 0.0, 0.0),
        ("name", 0.0, 0.0),
        ("age", 0.003, 0.008),
        ("sex", 0.002, 0.004),
        ("postcode", 0.015, 0.022),
        ("education", 0.07, 0.09),
        ("occupation", 0.22, 0.30),
        ("marital_status", 0.02, 0.03),
        ("admission_date", 0.0, 0.0),
        ("diagnosis", 0.004, 0.009),
        ("cost", 0.015, 0.035),
    ],
)
def test_share_of_missing_values(register: pl.DataFrame, column: str, low: float, high: float) -> None:
    assert low <= register[column].null_count() / len(register) <= high


def test_occupation_is_missing_for_every_child_and_many_of_the_old(register: pl.DataFrame) -> None:
    missing, age = pl.col("occupation").is_null(), pl.col("age")
    assert share(register.filter(age < 15), missing) == 1.0
    assert share(register.filter(age.is_between(25, 55)), missing) < 0.07
    assert 0.15 < share(register.filter(age >= 70), missing) < 0.35


def test_gaps_go_together(register: pl.DataFrame) -> None:
    missing = pl.col("marital_status").is_null()
    assert share(register.filter(pl.col("postcode").is_null()), missing) > 10 * share(
        register.filter(pl.col("postcode").is_not_null()), missing
    )


def test_last_bills_are_open(register: pl.DataFrame) -> None:
    late = pl.col("admission_date") >= pl.lit("2024-06-01").str.to_date()
    missing = pl.col("cost").is_null()
    assert share(register.filter(late), missing) > 5 * share(register.filter(~late), missing)


def test_ages_are_those_of_a_hospital(register: pl.DataFrame) -> None:
    age = pl.col("age")
    assert register["age"].min() == 0
    assert 100 <= register["age"].max() <= 104  # type: ignore[operator]
    assert share(register, age >= 60) > 0.5
    assert share(register, age == 0) > share(register, age.is_between(8, 12)) / 2


def test_towns_are_skewed_and_codes_keep_their_zeros(register: pl.DataFrame) -> None:
    assert register["postcode"].drop_nulls().str.contains(r"^\d{5}$").all()
    assert share(register, pl.col("postcode").str.starts_with("0")) > 0.3
    counts = register["postcode"].drop_nulls().value_counts()["count"]
    assert counts.max() > 100 * counts.min()  # type: ignore[operator]


def test_marital_status_goes_with_age_and_sex(register: pl.DataFrame) -> None:
    age, status = pl.col("age"), pl.col("marital_status")
    assert share(register.filter(age < 15), status == "single") == 1.0
    old = register.filter(age >= 80)
    widows, widowers = (
        share(old.filter(pl.col("sex") == sex), status == "widowed") for sex in ("female", "male")
    )
    assert widows > 2 * widowers > 0.2


def test_education_goes_with_age_and_place(register: pl.DataFrame) -> None:
    university = pl.col("education").is_in(["bachelor", "master", "doctorate"])
    adults = register.filter(pl.col("age").is_between(25, 64))
    affluent, village = (
        pl.col("postcode").str.ends_with("011"),
        pl.col("postcode").str.slice(2, 1).is_in(list("3456")),
    )
    assert share(register.filter(pl.col("age") < 10), pl.col("education") == "no schooling") == 1.0
    assert share(adults.filter(affluent), university) > 2 * share(adults.filter(village), university)
    assert share(adults, university) > 2 * share(register.filter(pl.col("age") > 80), university)


@pytest.mark.parametrize(
    ("job", "often", "seldom"),
    [
        ("nurse", pl.col("sex") == "female", pl.col("sex") == "male"),
        ("builder", pl.col("sex") == "male", pl.col("sex") == "female"),
        ("lawyer", pl.col("postcode").str.ends_with("011"), pl.col("postcode").str.slice(2, 1) == "3"),
        ("farmer", pl.col("postcode").str.slice(2, 1) == "3", pl.col("postcode").str.slice(2, 1) == "0"),
        ("physician", pl.col("education") == "master", pl.col("education") == "vocational"),
    ],
)
def test_occupation_goes_with_sex_place_and_education(
    register: pl.DataFrame, job: str, often: pl.Expr, seldom: pl.Expr
) -> None:
    working = register.filter(pl.col("age").is_between(25, 59))
    has_job = pl.col("occupation") == job
    assert share(working.filter(often), has_job) > 4 * share(working.filter(seldom), has_job)


@pytest.mark.parametrize(
    ("diagnosis", "column", "accepted"),
    [
        ("childbirth", "sex", {"female", "other", None}),
        ("prostate cancer", "sex", {"male", "other", None}),
        ("newborn jaundice", "age", {0, None}),
    ],
)
def test_no_impossible_patients(
    register: pl.DataFrame, diagnosis: str, column: str, accepted: set[object]
) -> None:
    assert set(register.filter(pl.col("diagnosis") == diagnosis)[column]) <= accepted


def test_births_happen_at_plausible_ages(register: pl.DataFrame) -> None:
    ages = register.filter(pl.col("diagnosis") == "childbirth")["age"].drop_nulls()
    assert ages.min() >= 15  # type: ignore[operator]
    assert ages.max() <= 49  # type: ignore[operator]


def test_infections_of_the_chest_peak_in_winter(register: pl.DataFrame) -> None:
    winter = pl.col("admission_date").dt.month().is_in([12, 1, 2])
    pneumonia = register.filter(pl.col("diagnosis") == "pneumonia")
    fractures = register.filter(pl.col("diagnosis") == "forearm fracture")
    assert share(pneumonia, winter) > 0.35
    assert share(fractures, winter) < 0.2


def test_sensitive_diagnoses_are_rare_but_present_in_the_shipped_table() -> None:
    counts = dict(sample()["diagnosis"].value_counts().iter_rows())
    for diagnosis in ("HIV infection", "syphilis", "hepatitis C", "opioid dependence", "Huntington disease"):
        assert 1 <= counts[diagnosis] <= 20
    assert len(counts) == 41  # forty, and the missing one


def test_cost_goes_with_diagnosis_and_age_and_is_skewed(register: pl.DataFrame) -> None:
    medians = dict(register.group_by("diagnosis").agg(pl.col("cost").median()).iter_rows())
    assert medians["bowel cancer"] > 8 * medians["concussion"]
    pneumonia = register.filter(pl.col("diagnosis") == "pneumonia")
    young, old = (
        pneumonia.filter(of_age)["cost"].median() for of_age in (pl.col("age") < 40, pl.col("age") > 75)
    )
    assert old > 1.15 * young  # type: ignore[operator]
    assert register["cost"].mean() > 1.3 * register["cost"].median()  # type: ignore[operator]
    assert (register["cost"] > 0).all()
    assert register["cost"].drop_nulls().round(2).equals(register["cost"].drop_nulls())


def test_distinct_tuples_grow_less_than_rows(register: pl.DataFrame) -> None:
    who = [column for column in QUASI if column != "admission_date"]
    small, large = (register.head(rows).select(who).n_unique() for rows in (10_000, 100_000))
    assert 5 * small < large < 9 * small
    every = [register.head(rows).select(QUASI).n_unique() / rows for rows in (10_000, 100_000)]
    assert every[1] < every[0]


# --- hierarchies ---


def test_there_is_a_hierarchy_for_each_quasi_identifier() -> None:
    assert set(sample_hierarchies("hospital")) == set(QUASI)


@pytest.mark.parametrize("column", QUASI)
def test_hierarchy_covers_every_value_once(register: pl.DataFrame, column: str) -> None:
    leaves = [row[0] for row in sample_hierarchies("hospital")[column]]
    assert len(leaves) == len(set(leaves))
    assert set(leaves) == {str(value) for value in list_values()[column]}
    assert set(register[column].drop_nulls().cast(pl.String)) <= set(leaves)


@pytest.mark.parametrize("column", QUASI)
def test_hierarchy_is_a_tree_with_one_root(column: str) -> None:
    rows = sample_hierarchies("hospital")[column]
    assert len({len(row) for row in rows}) == 1
    assert {row[-1] for row in rows} == {"*"}
    for level in range(len(rows[0]) - 1):
        parents = {(row[level], row[level + 1]) for row in rows}
        assert len(parents) == len({node for node, _ in parents})


@pytest.mark.parametrize(
    ("column", "row"),
    [
        ("age", ["37", "35-39", "30-39", "20-39", "0-39", "*"]),
        ("postcode", ["01011", "0101*", "010**", "01***", "0****", "*"]),
        ("admission_date", ["2024-02-29", "2024-02", "2024-Q1", "2024", "*"]),
        ("education", ["master", "university", "further education", "*"]),
        ("occupation", ["nurse", "health", "professional", "*"]),
        ("marital_status", ["widowed", "formerly married", "living alone", "*"]),
        ("sex", ["female", "*"]),
    ],
)
def test_hierarchy_rows(column: str, row: list[str]) -> None:
    assert row in sample_hierarchies("hospital")[column]
