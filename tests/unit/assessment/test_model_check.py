"""Whether a model still holds: by hand where the answer is known."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.assessment.model_check import ModelAnswer, check_model
from shoal.assessment.usefulness import Usefulness, write_codes
from shoal.errors import RecipeError

pytest.importorskip("sklearn")


def analyse(frame: pl.DataFrame, folder, **settings) -> Usefulness:
    write_codes(shoal.anonymize(frame, algorithm="mondrian", **settings), folder)
    return Usefulness.from_folder(folder)


@pytest.fixture
def people() -> pl.DataFrame:
    """The illness follows from the age, the pay from the town, and the noise from nothing."""
    random = np.random.default_rng(4)
    age, town = random.integers(20, 80, 600), random.choice(["Ulm", "Bonn", "Kiel"], 600)
    return pl.DataFrame(
        {
            "age": age,
            "town": town,
            "illness": np.where(age < 50, "flu", "gout"),
            "pay": np.where(town == "Ulm", 10.0, 20.0) + random.normal(0, 0.1, 600),
            "noise": random.choice(["a", "b"], 600),
        }
    )


@pytest.mark.parametrize("kind", ["boosting", "linear"])
def test_small_classes_keep_what_a_model_learns(people, tmp_path, kind):
    found = analyse(
        people, tmp_path, quasi=["age", "town"], sensitive=["illness"], plain=["pay", "noise"], k=2
    )
    answer = check_model(found, "illness", kind)
    assert (answer.measure, answer.rows) == ("accuracy", 180)
    assert answer.before > 0.95 and answer.after > 0.9
    assert 0.4 < answer.guess < 0.6
    assert answer.kept == pytest.approx(1, abs=0.1)


def test_what_is_all_one_class_teaches_nothing(people, tmp_path):
    found = analyse(
        people.drop("pay", "noise"), tmp_path, quasi=["age", "town"], sensitive=["illness"], k=600
    )
    answer = check_model(found, "illness")
    assert answer.before > 0.95
    assert answer.after < 0.65  # every released row looks the same
    assert answer.kept < 0.2


def test_numbers_are_judged_by_the_variance_that_is_explained(people, tmp_path):
    found = analyse(people, tmp_path, quasi=["town"], plain=["age", "illness", "pay", "noise"], k=5)
    answer = check_model(found, "pay")
    assert answer.measure == "r2"
    assert answer.before > 0.95 and answer.after == answer.before  # no cell of town had to change
    assert answer.guess == pytest.approx(0, abs=0.05)


def test_a_generalised_column_can_be_predicted(people, tmp_path):
    found = analyse(
        people, tmp_path, quasi=["age", "town"], sensitive=["illness"], plain=["pay", "noise"], k=5
    )
    assert check_model(found, "age").before > 0.5
    assert check_model(found, "town").before > 0.6


def test_noise_is_not_learned(people, tmp_path):
    found = analyse(people, tmp_path, quasi=["age", "town"], plain=["illness", "pay", "noise"], k=5)
    answer = check_model(found, "noise")
    assert abs(answer.before - 0.5) < 0.15
    assert ModelAnswer("noise", "accuracy", 0.5, 0.5, 0.5, 9).kept is None


def test_what_cannot_be_learned_is_refused(tmp_path):
    few = pl.DataFrame({"age": [1, 2] * 5, "illness": ["a", "b"] * 5})
    found = analyse(few, tmp_path, quasi=["age"], sensitive=["illness"], k=2)
    with pytest.raises(RecipeError, match="'illness' has too few rows"):
        check_model(found, "illness")
    alone = tmp_path / "alone"
    alone.mkdir()
    with pytest.raises(RecipeError, match="no other column"):
        check_model(analyse(few.drop("illness"), alone, quasi=["age"], k=2), "age")
