"""Curves of loss against the size of classes: rough, exact, and both together."""

import polars as pl
import pytest

import shoal
from shoal.assessment.tradeoffs import (
    check_curve,
    estimate_losses,
    join_curves,
    list_sizes,
    measure_losses,
    sort_by_use,
)
from shoal.errors import RecipeError
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

PEOPLE = pl.DataFrame(
    {
        "age": [20 + at * 7 % 50 for at in range(400)],
        "town": [("Ulm", "Bonn", "Kiel", "Jena")[at % 4] for at in range(400)],
        "illness": [("flu", "cold", "burn")[at % 100 % 3] for at in range(400)],
        "who": [f"p{at // 2}" for at in range(400)],
    }
)


def ask(**more):
    said = {
        "quasi": ("age", "town"),
        "sensitive": ("illness",),
        "models": (shoal.KAnonymity(2),),
        "others": "drop",
    }
    return Recipe(**{**said, **more})


def test_sizes_end_where_half_of_the_rows_are_one_class():
    assert list_sizes(20) == [2, 3, 5, 8]
    assert list_sizes(20, chosen=7) == [2, 3, 5, 7, 8]
    assert list_sizes(20, chosen=70) == [2, 3, 5, 8]
    assert list_sizes(2) == [2]


def test_the_rough_loss_is_that_of_mondrian_on_the_whole_table():
    rough = estimate_losses(ask(algorithm=shoal.Hilbert()), read_table(PEOPLE), [2, 5, 20])
    for k, loss in rough.items():
        release = shoal.anonymize(PEOPLE, quasi=["age", "town"], others="drop", k=k, algorithm="mondrian")
        assert loss == pytest.approx(release.report.ncp)
    assert rough[2] < rough[5] < rough[20]


def test_the_exact_loss_is_that_of_the_run():
    exact = dict(measure_losses(ask(), read_table(PEOPLE), [3, 10]))
    for k, loss in exact.items():
        release = shoal.anonymize(PEOPLE, quasi=["age", "town"], others="drop", k=k)
        assert loss == release.report.ncp


def test_other_models_hold_on_the_whole_curve():
    recipe = ask(models=(shoal.KAnonymity(2), shoal.DistinctL(3)))
    plain, diverse = (dict(measure_losses(each, read_table(PEOPLE), [2])) for each in (ask(), recipe))
    assert diverse[2] > plain[2]
    rough = estimate_losses(recipe, read_table(PEOPLE), [2])
    assert rough[2] > estimate_losses(ask(), read_table(PEOPLE), [2])[2]


def test_a_size_out_of_reach_is_told_apart_from_a_loss():
    assert dict(measure_losses(ask(), read_table(PEOPLE), [5, 401]))[401] is None
    assert 401 not in estimate_losses(ask(), read_table(PEOPLE), [5, 401])


def test_a_large_table_is_sampled_and_small_sizes_are_left_to_the_exact_search():
    rough = estimate_losses(ask(), read_table(PEOPLE), [2, 20, 50], rows=100)
    assert sorted(rough) == [20, 50]
    whole = estimate_losses(ask(), read_table(PEOPLE), [20, 50])
    for k, loss in rough.items():
        assert loss == pytest.approx(whole[k], rel=0.5)


def test_a_sample_has_all_rows_of_its_people():
    recipe = ask(person="who")
    rough = estimate_losses(recipe, read_table(PEOPLE), [20], rows=100)
    assert 0 < rough[20] < 1


def test_between_exact_points_rough_ones_are_moved():
    rough = {2: 0.10, 4: 0.20, 8: 0.40, 16: 0.6}
    points = {point.k: point for point in join_curves(rough, {2: 0.05, 8: 0.20, 100: None})}
    assert [points[k].exact for k in (2, 4, 8, 16)] == [True, False, True, False]
    assert points[4].loss == pytest.approx(0.10)  # half, as at its neighbours
    assert points[16].loss == pytest.approx(0.30)  # as at the last that is known
    assert points[4].risk == 0.25
    assert 100 not in points


def test_without_exact_points_the_rough_ones_stay():
    assert [point.loss for point in join_curves({2: 0.1, 5: 0.2}, {})] == [0.1, 0.2]
    assert [point.loss for point in join_curves({2: 0.0, 5: 0.2}, {2: 0.0})] == [0.0, 0.2]


def test_what_is_chosen_comes_first_and_then_the_ends():
    assert sort_by_use([2, 3, 5, 8, 50], 5)[:3] == [5, 2, 50]
    assert sorted(sort_by_use([2, 3, 5, 8, 50], 5)) == [2, 3, 5, 8, 50]
    assert sort_by_use([2, 3], 7) == [2, 3]


def test_what_has_no_curve_is_refused():
    with pytest.raises(RecipeError, match="a curve is for one table"):
        check_curve(ask(sets={"who": "|"}))
