"""The attacks on tables where the outcome is known."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.assessment.attacks import Outcome, Rate, attack_held_out, simulation
from shoal.assessment.attacks.kinds import ATTACKS
from shoal.errors import InputError, RecipeError
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

QUASI = ["age", "sex", "town"]


def people(rows, seed, values=4):
    """People whose illness has nothing to do with anything."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 100, rows),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice([f"town {i}" for i in range(20)], rows),
            "ill": rng.choice([f"ill {i}" for i in range(values)], rows),
        }
    )


def release(frame, k, **settings):
    given = {"quasi": QUASI, "sensitive": ["ill"], "algorithm": "mondrian", "others": "keep"}
    return shoal.anonymize(frame, k=k, **(given | settings)).frame


def attacked(released, original, control=None, **settings):
    given = {"quasi": QUASI, "sensitive": ["ill"], "control": control}
    return {each.name: each for each in shoal.attack(released, original, **(given | settings)).outcomes}


@pytest.fixture(scope="module")
def tables():
    return people(3000, 1), people(3000, 2)


@pytest.fixture(scope="module")
def outcomes(tables):
    """By k, all attacks on a release; 1 is the raw table."""
    own, others = tables
    return {k: attacked(own if k == 1 else release(own, k), own, others) for k in (1, 5, 50)}


@pytest.mark.slow
def test_all_attacks_are_tried(outcomes):
    assert list(outcomes[5]) == list(ATTACKS)
    assert list(outcomes[1]) == [name for name in ATTACKS if name != "minimality"]  # there are no ranges


def test_linkage_falls_with_k(outcomes):
    raw, few, many = (outcomes[k]["linkage"] for k in (1, 5, 50))
    assert raw.risk.value > 0.5
    assert few.risk.low < 1 / 5 < few.risk.high  # classes of 5 to 9 rows
    assert many.risk.low < 1 / 50
    assert raw.risk.low > few.risk.high > few.risk.low > many.risk.value
    partial = [outcomes[k]["partial linkage"].risk.value for k in (1, 5, 50)]
    assert partial[0] > partial[1]
    assert all(partial[i] < each.risk.value for i, each in enumerate((raw, few)))


def test_linkage_by_hand():
    """Always four look-alikes: one in four rows is that of the person, and one in ten others agrees."""
    rng = np.random.default_rng(0)
    own, others = (
        pl.DataFrame(
            {
                "age": range(2000),
                "sex": ["f"] * 2000,
                "town": list("abcd") * 500,
                "ill": rng.integers(0, 10, 2000),
            }
        )
        for _ in range(2)
    )
    ranges = [f"[{i - i % 4}-{i - i % 4 + 3}]" for i in range(2000)]
    hidden = own.with_columns(age=pl.Series(ranges), town=pl.lit("*")).sample(
        fraction=1, shuffle=True, seed=1
    )
    found = attacked(hidden, own, others, attacks=2000)["linkage"]
    assert found.rate.share == pytest.approx(0.25 + 0.75 * 0.1, abs=0.04)
    assert found.control.share == pytest.approx(0.1, abs=0.03)
    assert found.risk.value == pytest.approx(0.25, abs=0.05)


def test_people_whose_row_is_not_released_are_not_linked():
    """One row in twelve is released, with what nobody else has: that many are linked, and no more."""
    own, others = (
        people(3000, seed).with_columns(cost=pl.Series(np.arange(3000) + 3000 * seed)) for seed in (1, 2)
    )
    released = own.sample(250, seed=0).with_columns(age=pl.lit("*"))
    found = attacked(released, own, others, attacks=3000)["linkage"]
    assert found.rate.successes <= 250
    assert found.control.successes == 0
    assert 0 < found.risk.value < 250 / 3000


def test_the_nearest_row_is_taken_where_none_fits():
    own = pl.DataFrame({"age": [20, 30, 40, 50], "sex": list("ffmm"), "town": ["x"] * 4, "ill": list("abcd")})
    moved = own.with_columns(age=pl.Series([21, 29, 41, 49]))
    everything = pl.concat([own, moved])  # so that all ages are known
    found = attacked(moved, everything, attacks=8)["linkage"]
    assert found.rate.share == 1.0


def test_a_release_of_quasi_identifiers_alone_cannot_be_linked(tables):
    own, others = (table.select(QUASI) for table in tables)
    found = attacked(release(own, 5, sensitive=[]), own, others, sensitive=[])["linkage"]
    assert found.verdict == "could not be tried"
    assert "no link can be checked" in found.notes[-1]


def test_nothing_is_inferred_where_there_is_nothing_to_infer(outcomes):
    for k in (1, 5, 50):
        assert outcomes[k]["inference"].risk.value < 0.12  # a few of three thousand rows are learned by heart
    raw, few, many = (outcomes[k]["homogeneity"].risk for k in (1, 5, 50))
    assert many.value < 0.15
    assert raw.low > few.high > few.low > many.high  # in a class of k rows the own value is one of k


def test_what_holds_for_everybody_is_no_leakage():
    """Illness follows from sex, in the release and outside of it."""
    tables = [
        people(2000, seed).with_columns(
            ill=pl.when(pl.col("sex") == "f").then(pl.lit("x")).otherwise(pl.lit("y"))
        )
        for seed in (1, 2)
    ]
    found = attacked(release(tables[0], 10), *tables)
    for name in ("inference", "homogeneity"):
        assert found[name].rate.share > 0.7
        assert found[name].control.share > 0.7
        assert found[name].risk.low <= 0.0
        assert "no sign" in found[name].verdict
        assert found[name].baseline.share < 0.6


def test_membership(outcomes):
    raw, many = outcomes[1]["membership"], outcomes[50]["membership"]
    assert raw.rate.share == many.rate.share == 1.0
    assert raw.control.share < many.control.share
    assert many.risk.value < 0.2 < raw.risk.value


@pytest.mark.slow
def test_minimality_sees_tight_ranges_and_no_others():
    own, others = people(2000, 1), people(2000, 2)
    ends = pl.DataFrame({"age": ["[0-49]", "[50-99]"] * 1000, "ill": own["ill"]})
    fixed = attacked(ends, own, others, quasi=["age"])["minimality"]
    assert fixed.rate.share < 0.05
    assert fixed.risk.low <= 0.0
    spread = own.with_columns(age=pl.Series(np.random.default_rng(0).normal(0, 1, 2000)))
    apart = others.with_columns(age=pl.Series(np.random.default_rng(1).normal(0, 1, 2000)))
    found = attacked(release(spread, 3, quasi=["age"]), spread, apart, quasi=["age"])["minimality"]
    assert found.rate.share > 0.2  # of three people two are at an end, and one end is guessed
    assert found.control.share == 0.0


def test_singling_out():
    own, others = people(500, 1, values=2), people(500, 2, values=2)
    raw = attacked(own, own, others)["singling out"]
    safe = attacked(release(own, 100), own, others)["singling out"]
    assert raw.rate.share > 0.2 > safe.rate.share
    assert raw.risk.low > safe.risk.high


def test_singling_out_by_members_beats_that_by_others_at_any_size_of_the_control():
    own = people(400, 1, values=2)
    for rows in (100, 400, 1600):
        found = attacked(own, own, people(rows, 2, values=2))["singling out"]
        assert found.grade in ("clear", "serious")
        assert found.rate.share > found.control.share


def test_singling_out_by_hand():
    """Everybody has an illness of their own, which is released: with it in, a description fits one person."""
    own = people(1000, 1).with_columns(ill=pl.Series([f"ill {i}" for i in range(1000)]))
    hidden = own.with_columns(age=pl.lit("*"), sex=pl.lit("*"), town=pl.lit("*"))
    share = attacked(hidden, own)["singling out"].rate.share
    assert share == 1.0  # cells are added until it is among them


@pytest.mark.slow
def test_the_seed_decides(tables):
    own, others = tables
    released = release(own, 5)
    one, same, other = (
        shoal.attack(released, own, quasi=QUASI, sensitive=["ill"], control=others, attacks=200, seed=seed)
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other
    assert (one.people, one.control, one.seed) == (200, 200, 1)


def test_without_a_control_group(tables):
    own, _ = tables
    found = attacked(release(own, 5), own)
    assert "membership" not in found
    assert all(each.control is None and each.risk is None for each in found.values())
    assert "without a control group" in found["linkage"].verdict


def test_without_sensitive_columns_and_with_one_quasi_identifier(tables):
    own, others = tables
    assert list(attacked(release(own, 5), own, others, sensitive=[])) == [
        "linkage",
        "partial linkage",
        "singling out",
        "membership",
        "minimality",
    ]
    one = release(own, 5, quasi=["town"], sensitive=[])
    assert "partial linkage" not in attacked(one, own, others, quasi=["town"], sensitive=[])


def test_progress_is_told(tables):
    told = []
    own, _ = tables
    shoal.attack(
        own, own, quasi=QUASI, attacks=10, on_progress=lambda doing, done: told.append((doing, done))
    )
    assert [doing for doing, _ in told] == ["looking people up", *ATTACKS]
    assert all(0 <= done <= 1 for _, done in told)


def test_a_part_held_out(tables):
    own, _ = tables
    recipe = Recipe(tuple(QUASI), (shoal.KAnonymity(5),), sensitive=("ill",), algorithm=shoal.Mondrian())
    found = attack_held_out(recipe, read_table(own), 0.25, attacks=500)
    assert (found.rows, found.people, found.control) == (2250, 500, 500)
    linkage = found.outcomes[0]
    assert linkage.risk.low < 0.2
    for share in (0.0, 1.0, -1.0):
        with pytest.raises(RecipeError, match="between 0 and 1"):
            attack_held_out(recipe, read_table(own), share)
    with pytest.raises(InputError, match="too few"):
        attack_held_out(recipe, read_table(own[:2]), 0.01)


def test_a_part_held_out_of_a_private_sample(tmp_path):
    people = pl.DataFrame({"age": [str(20 + i % 4) for i in range(2000)], "sex": ["f", "m"] * 1000})
    recipe = shoal.Recipe(
        quasi=("age", "sex"), models=(shoal.SafePub(1, 0.001),), algorithm=shoal.SafePubScheme("age=0,sex=0")
    )
    people.write_csv(tmp_path / "people.csv")
    found = attack_held_out(recipe, read_table(tmp_path / "people.csv"), 0.5, attacks=200)
    assert 500 < found.rows < 750  # 632 of the 1,000 that were not held out, give or take 15
    assert "membership" in {outcome.name for outcome in found.outcomes}


def test_a_part_held_out_of_a_pandas_frame(tables):
    recipe = Recipe(tuple(QUASI), (shoal.KAnonymity(5),), sensitive=("ill",), algorithm=shoal.Mondrian())
    assert attack_held_out(recipe, read_table(tables[0].to_pandas()), 0.5, attacks=50).rows == 1500


def test_bad_numbers(tables):
    with pytest.raises(RecipeError, match="1 or more"):
        shoal.attack(tables[0], tables[0], quasi=QUASI, attacks=0)


def test_verdicts():
    def verdict(successes, control, baseline=0):
        return Outcome("n", "a", Rate(successes, 1000), Rate(control, 1000), Rate(baseline, 1000)).verdict

    assert verdict(0, 0, 10).startswith("succeeds never, on people who are not in the release never: no sign")
    assert verdict(0, 0, 10).endswith("no better than guessing without the release")
    assert "small risk" in verdict(60, 10)
    assert "clear risk" in verdict(250, 10)
    assert "serious risk" in verdict(1000, 10)
    assert verdict(1000, 10).startswith("succeeds always")
    assert Outcome("n", "a", Rate(0, 0), None, None).verdict == "could not be tried"


def test_people_are_held_out_with_all_of_their_rows(monkeypatch):
    number = np.arange(90)
    frame = pl.DataFrame({"who": number // 3, "age": 20 + number // 3, "sex": ["f", "m"] * 45})
    seen = []
    monkeypatch.setattr(simulation, "attack_tables", lambda *given: seen.append(given[:3]))
    recipe = Recipe(("age", "sex"), (KAnonymity(3),), person="who")
    attack_held_out(recipe, read_table(frame), 0.2)
    ((release, rest, control),) = seen
    held, kept = set(control.frame["who"]), set(rest.frame["who"])
    assert (len(held), len(kept), held & kept) == (6, 24, set())
    assert (control.rows, rest.rows, release.rows) == (18, 72, 72)
    with pytest.raises(InputError, match="30 people are too few"):
        attack_held_out(recipe, read_table(frame), 0.01)
