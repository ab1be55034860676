"""Losses by survey weights, beside a table in which every row is as often as its weight says."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.assessment.comparisons.comparison import Comparison, Setting
from shoal.assessment.comparisons.weighted import count_people
from shoal.codespace.loss import LOSSES
from shoal.errors import InputError, RecipeError
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe

QUASI = ["age", "job", "size"]


def survey(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 60, rows),
            "job": rng.choice(["mason", "smith", "clerk", None], rows).tolist(),
            "size": rng.integers(150, 200, rows),
            "weight": rng.integers(1, 9, rows),
        }
    )


# A loss of the original values' frequencies sees other ones; its classes are then others, too.
@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("suppress", [0.0, 0.2])
def test_a_row_counts_as_often_as_its_weight_says(loss, suppress):
    table = survey()
    often = table[np.repeat(np.arange(table.height), table["weight"].to_numpy())]
    settings = {"quasi": QUASI, "others": "keep", "loss": loss, "suppress": suppress}
    made = shoal.anonymize(table, k=3, algorithm="lattice", **settings).report.evidence.recoding
    same = count_people(made, table["weight"].to_numpy().astype(float))
    expected = _recode_in_the_same_way(made, often, table, settings)
    ones = np.ones(3)
    found = LOSSES[loss]().measure(same, ones)
    assert found.value == pytest.approx(LOSSES[loss]().measure(expected, ones).value, rel=1e-9)
    assert same.table.rows == often.height


def _recode_in_the_same_way(made, often, table, settings):
    """The recoding of the repeated rows in which each goes where the one row goes."""
    repeat = np.repeat(np.arange(table.height), table["weight"].to_numpy())
    of_row = made.table.of_row[repeat]
    weight = np.bincount(of_row, minlength=made.table.weight.size)
    size = np.bincount(made.class_of[of_row] + 1, minlength=made.size.size + 1)[1:]
    return replace(made, table=replace(made.table, of_row=of_row, weight=weight), size=size)


def test_fractions_add_up_to_all_people():
    table = survey().with_columns(weight=pl.Series(np.random.default_rng(1).gamma(2, 3.3, 60)))
    made = shoal.anonymize(table, quasi=QUASI, others="keep", k=3).report.evidence.recoding
    found = count_people(made, table["weight"].to_numpy())
    assert found.table.rows == round(table["weight"].sum())
    assert found.suppressed_rows == 0


def test_compare_tells_it():
    table = survey()
    found = shoal.compare(
        table, quasi=QUASI, algorithms=["mondrian"], k=[3], weight_column="weight"
    ).results.row(0, named=True)
    classes = shoal.anonymize(table, quasi=QUASI, others="keep", k=3, algorithm="mondrian")
    # By hand: the mean over rows of what each cell has lost, each row as often as its weight says.
    recoding = classes.report.evidence.recoding
    lost = np.mean([cells.compute_widths()[cells.of_class] for cells in recoding.cells], axis=0)
    each = lost[recoding.class_of[recoding.table.of_row]]
    assert found["weighted_loss"] == pytest.approx(np.average(each, weights=table["weight"]))
    assert found["loss"] == pytest.approx(each.mean())
    plain = shoal.compare(table, quasi=QUASI, algorithms=["mondrian"], k=[3]).results
    assert plain["weighted_loss"].to_list() == [None]


def test_what_is_refused():
    table = survey()
    with pytest.raises(InputError, match="must be above 0"):
        shoal.compare(
            table.with_columns(weight=pl.lit(0)), quasi=QUASI, algorithms=["mondrian"], weight_column="weight"
        )
    with pytest.raises(RecipeError, match="all rows"):
        base = Recipe(("age",), (KAnonymity(2),), missing="drop")
        Comparison(base, (Setting("mondrian", 2),), weight_column="weight")
