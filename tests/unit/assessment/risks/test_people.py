"""How many people are found by what is known of them."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import InputError, RecipeError

VISITS = pl.DataFrame(
    {
        "id": ["a", "a", "b", "b", "c", "d", "d", "d"],
        "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
        "age": [30, 31, 30, 32, 50, 50, 51, 51],
    }
)


def test_by_hand():
    found = shoal.risk(VISITS, ["sex", "age"], person="id", largest=1).people_risk
    assert (found.people, found.rows, found.static) == (4, 8, ("sex",))
    one, two, three, every = found.curve
    # 30 is of a and b, 50 of c and d; 31, 32 and 51 are of one person each
    assert one.unique.value == pytest.approx((1 / 2 + 1 / 2 + 0 + 2 / 3) / 4)
    assert one.ever_unique == 3 / 4
    # c has one row, and d has it as well
    assert two.unique.value == 3 / 4
    assert (three.known, three.is_exact, three.looked_at) == (3, False, 4)
    assert every.unique.value == 1
    static, number, both = found.otherwise
    assert (static.about, static.unique, static.below) == ("static columns", 0, 1)
    assert (number.about, number.unique) == ("number of rows", 2 / 4)
    assert both.unique == 2 / 4
    assert [(each.fewest, each.people, each.by_all) for each in found.by_rows] == [
        (1, 1, 1),
        (2, 2, 1),
        (3, 1, 1),
    ]


def test_it_stands_in_the_json():
    plain = shoal.risk(VISITS, ["sex", "age"], person="id", k=3, seed=7, largest=1).to_dict()["people_risk"]
    assert (plain["k"], plain["seed"], plain["static"], plain["confidence"]) == (3, 7, ["sex"], 0.95)
    assert [each["known"] for each in plain["known_rows"]] == [1, 2, 3, "all"]
    assert [each["exact"] for each in plain["known_rows"]] == [True, True, False, True]
    assert plain["known_rows"][2]["unique"]["low"] < plain["known_rows"][2]["unique"]["high"]
    assert "people_risk" not in shoal.risk(VISITS, ["sex", "age"], largest=1).to_dict()


def test_random_tables_by_a_plain_count():
    rng = np.random.default_rng(2)
    for _ in range(10):
        rows = int(rng.integers(5, 80))
        table = pl.DataFrame(
            {
                "who": rng.integers(0, rows // 3 + 1, rows),
                "a": rng.integers(0, 4, rows),
                "b": rng.choice(["x", "y", "z"], rows),
            }
        )
        found = shoal.risk(table, ["a", "b"], person="who", largest=1).people_risk
        owners, own = {}, Counter(table["who"].to_list())
        for who, *cells in table.iter_rows():
            owners.setdefault(tuple(cells), set()).add(who)
        unique = Counter(who for who, *cells in table.iter_rows() if len(owners[tuple(cells)]) == 1)
        assert found.people == len(own)
        assert found.curve[0].unique.value == pytest.approx(np.mean([unique[who] / own[who] for who in own]))
        assert found.curve[0].ever_unique == pytest.approx(np.mean([unique[who] > 0 for who in own]))
        number = next(each for each in found.otherwise if each.about == "number of rows")
        many = Counter(own.values())
        assert number.unique == pytest.approx(np.mean([many[each] == 1 for each in own.values()]))
        assert sum(each.people for each in found.by_rows) == len(own)


def test_one_row_each_is_a_curve_of_one_point():
    found = shoal.risk(VISITS.unique("id"), ["age"], person="id", largest=1)
    assert [each.known for each in found.people_risk.curve] == [1]
    assert [each.about for each in found.people_risk.otherwise] == ["static columns"]
    assert found.people is None


def test_without_ids_every_row_is_a_person_and_that_is_told():
    table = VISITS.with_columns(id=pl.lit(None, pl.String))
    found = shoal.risk(table, ["age"], person="id", largest=1)
    assert found.people_risk.people == 8
    assert "'id' is missing in 8 rows: each of them counts as a person of its own" in found.warnings


def test_bad_questions_are_refused():
    with pytest.raises(InputError, match="unknown column 'ids': did you mean 'id'"):
        shoal.risk(VISITS, ["age"], person="ids")
    with pytest.raises(InputError, match="no rows"):
        shoal.risk(VISITS.clear(), ["age"], person="id")
    with pytest.raises(RecipeError, match="k is at least 2, not 1"):
        shoal.risk(VISITS, ["age"], person="id", k=1)


def test_a_release_that_keeps_its_people_is_counted_like_any_table():
    released = VISITS.with_columns(age=pl.lit("[30-51]"))
    found = shoal.risk(released, ["sex", "age"], person="id", largest=1).people_risk
    # a and b have two equal rows each, c one and d three: only their number tells c and d apart
    assert [each.unique.value for each in found.curve] == [0, 1 / 4, 1 / 4, 1 / 2]


def test_a_column_of_people_that_nobody_named_is_told():
    frame = pl.DataFrame(
        {"patient_id": [i // 4 for i in range(40)], "hospital_id": [i // 20 for i in range(40)]}
    ).with_columns(age=pl.int_range(40) // 5)
    (told,) = shoal.risk(frame, ["age"]).warnings
    assert told.startswith("'patient_id' repeats: 10 values in 40 rows")
    assert "--person patient_id" in told
    assert shoal.risk(frame, ["age"], person="patient_id").warnings == ()
    assert shoal.risk(frame.with_columns(patient_id=pl.int_range(40)), ["age", "patient_id"]).warnings == ()
