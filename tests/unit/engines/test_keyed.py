"""Identifiers that are kept as keyed pseudonyms: what they are, what they may not tell, what is refused."""

import hmac
import re
from base64 import b32encode
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.linked import check_keyed
from shoal.engines.memory import make_release, prepare_table
from shoal.errors import InternalError, RecipeError
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

KEY = b"0123456789abcdef0123"
FORM = re.compile("p[a-z2-7]{26}")


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", KEY.decode())


def table(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "case": rng.permutation(10_000)[:rows],
            "sample": [f"S{number:05}" for number in rng.permutation(10_000)[:rows]],
            "name": [f"person {at}" for at in range(rows)],
            "age": rng.integers(18, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
        }
    )


def release(frame, keyed=("case", "sample"), **more):
    settings = {"quasi": ["age", "sex"], "identifier": ["case", "sample", "name"], "k": 3, **more}
    return shoal.anonymize(frame, keyed=list(keyed), **settings)


def pseudonym_of(column, value):
    own = hmac.digest(KEY, b"column:" + column.encode(), "sha256")
    text = b32encode(hmac.digest(own, b"id:" + value.encode(), "sha256")).decode().lower()
    return "p" + text[:26]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".xlsx", ".arrow"])
def test_several_identifiers_are_kept_under_pseudonyms(suffix, tmp_path):
    frame = table()
    made = release(frame, output=tmp_path / f"release{suffix}")
    read = read_table(tmp_path / f"release{suffix}").frame
    assert read.columns == ["case", "sample", "age", "sex"]
    for name in ("case", "sample"):
        expected = [pseudonym_of(name, str(value).lower()) for value in frame[name]]
        assert read[name].to_list() == expected
        assert made.frame[name].to_list() == expected
        assert all(FORM.fullmatch(each) for each in expected)
    assert read.group_by("age", "sex").len()["len"].min() >= 3
    found = shoal.verify(tmp_path / f"release{suffix}", quasi=["age", "sex"], k=3)
    assert found.holds


def test_no_byte_has_an_identifier(tmp_path):
    frame = table().with_columns(case=pl.Series([7_000_000_000 + 13 * at for at in range(60)]))
    made = release(frame, output=tmp_path / "r.parquet")
    made.write(tmp_path / "r.arrow")
    made.report.to_html(tmp_path / "page.html", excerpt=True)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        for value in frame["sample"]:
            assert value.encode() not in content
        if path.suffix != ".html":
            assert not any(np.int64(value).tobytes() in content for value in frame["case"])
        assert not any(str(value).encode() in content for value in frame["case"])
        assert KEY not in content


def test_columns_with_equal_values_do_not_tell_it():
    frame = table().with_columns(sample=pl.col("case"))
    made = release(frame).frame
    assert not set(made["case"]) & set(made["sample"])


def test_missing_identifiers_have_pseudonyms_of_their_own():
    frame = table().with_columns(sample=pl.Series([None, "", *(f"S{at}" for at in range(58))]))
    made = release(frame, missing="category").frame
    assert made["sample"].n_unique() == 60
    assert all(FORM.fullmatch(each) for each in made["sample"])


def test_suppressed_rows_and_sorted_rows_keep_their_own_pseudonyms():
    frame = table()
    made = release(frame, suppress=0.3, row_order="released", algorithm="lattice", k=5).frame
    age_of = {pseudonym_of("case", str(case)): age for case, age in frame.select("case", "age").rows()}
    for cell, case in made.select("age", "case").rows():
        low, high = (re.findall(r"\d+", cell) * 2)[:2] if cell != "*" else (0, 99)
        assert int(low) <= age_of[case] <= int(high)


def test_an_identifier_may_not_bring_rows_together():
    frame = table().with_columns(sample=pl.Series([f"S{at // 2}" for at in range(60)]))
    with pytest.raises(RecipeError, match="'sample' has the same value in several rows"):
        release(frame)
    # Spellings of one identifier are one.
    odd = table().with_columns(sample=pl.Series(["s1", "S1 ", *(f"S{at + 2}" for at in range(58))]))
    with pytest.raises(RecipeError, match="bring together"):
        release(odd)


def test_beside_linked_rows_another_name_of_the_person_may_stay():
    frame = table().with_columns(
        person=pl.Series([at // 2 for at in range(60)]), sample=pl.Series([f"S{at // 2}" for at in range(60)])
    )
    settings = {"person": "person", "pseudonym": True, "suppress": 0.5}
    made = release(frame, **settings)
    both = made.frame.select("person", "sample").unique()
    assert both.height == both["person"].n_unique() == both["sample"].n_unique()
    apart = frame.with_columns(sample=pl.Series([f"S{at // 4}" for at in range(60)]))
    with pytest.raises(RecipeError, match="bring together"):
        release(apart, **settings)


def test_whoever_recodes_by_hand_gets_pseudonyms_too():
    frame = read_table(table())
    recipe = Recipe(
        ("age", "sex"), (KAnonymity(3),), identifier=("case", "sample", "name"), keyed=("case", "sample")
    )
    subject = prepare_table(recipe, frame)
    made = make_release(recipe, frame, subject, recipe.algorithm.search(subject.problem))
    assert all(FORM.fullmatch(each) for each in made.frame["case"])


def test_the_verifier_sees_values_that_are_no_pseudonyms():
    made = release(table())
    good = read_table(made.frame)
    check_keyed(made.recipe, good, made.table)
    for value in ("S00001", None, "p" + "a" * 25):
        bad = made.frame.with_columns(sample=pl.lit(value, pl.String))
        with pytest.raises(InternalError, match="no pseudonyms"):
            check_keyed(made.recipe, read_table(bad), made.table)
    # Nor may an identifier that looks like one stay as it was.
    with pytest.raises(InternalError, match="no pseudonyms"):
        check_keyed(made.recipe, good, replace(made.table, frame=made.frame))


def test_a_recipe_makes_the_same_pseudonyms_again(tmp_path):
    table().write_csv(tmp_path / "in.csv")
    made = release(tmp_path / "in.csv", output=tmp_path / "out.csv")
    (tmp_path / "r.toml").write_text(made.recipe.to_toml())
    again = shoal.run(Recipe.from_toml(tmp_path / "r.toml"))
    assert again.frame.equals(made.frame)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"identifier": ["case", "name"], "others": "drop"}, "'sample': not among the identifiers"),
        ({"sets": {"age": ";"}, "quasi": ["sex"]}, "is for one table without sets"),
        ({"events": {"labs": table()}, "person": "name", "identifier": ["case", "sample"]}, "not for event"),
        ({"memory": "1GB", "algorithm": "mondrian"}, "there is no place for pseudonyms of 'case', 'sample'"),
    ],
)
def test_what_is_refused(settings, says, tmp_path):
    with pytest.raises(RecipeError, match=says):
        release(table(), output=tmp_path / "out.csv", **settings)


def test_no_key_and_no_classes_for_later_rows(monkeypatch):
    with pytest.raises(RecipeError, match="needs one"):
        release(table()).saved_recoding()
    monkeypatch.delenv("SHOAL_KEY")
    with pytest.raises(RecipeError, match="needs a secret key"):
        release(table())
