"""The types of a release follow from the recipe and the types of the table, never from the rows."""

import datetime as dt
import itertools

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import InputError, RecipeError

QUASI = ["age", "cost", "day", "job"]
RENDERS = ("label", "interval", "set", "representative", "bounds", "code")


def make_people(rows: int, spread: bool) -> pl.DataFrame:
    """Rows that are all alike, so that nothing is generalised, or spread out."""
    step = int(spread)
    return pl.DataFrame(
        {
            "age": [20 + step * (7 * i % 37) for i in range(rows)],
            "cost": [1.5 + step * (i % 11) for i in range(rows)],
            "day": [dt.date(2020, 1, 1) + dt.timedelta(days=step * (i % 29)) for i in range(rows)],
            "job": ["abc"[step * i % 3] for i in range(rows)],
            "illness": ["xyz"[i % 3] for i in range(rows)],
        },
        schema_overrides={"age": pl.Int16},
    )


def as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    data = {series.name: series.to_list() for series in frame}
    return pd.DataFrame(data | {"job": pd.Categorical(data["job"]), "day": pd.to_datetime(data["day"])})


KINDS = {"polars": lambda frame: frame, "pandas": as_pandas, "pyarrow": pl.DataFrame.to_arrow}


@pytest.mark.parametrize(("kind", "render"), [*itertools.product(KINDS, RENDERS)])
def test_types_are_known_beforehand_and_do_not_depend_on_the_rows(kind, render):
    recipe = shoal.Recipe(
        quasi=tuple(QUASI), sensitive=("illness",), models=("k(k=4)",), algorithm="mondrian", render=render
    )
    alike, spread = (KINDS[kind](make_people(24, spread)) for spread in (False, True))
    releases = [shoal.run(recipe, people) for people in (alike, spread)]
    said = recipe.schema(alike)
    assert [release.schema for release in releases] == [said, said]
    native = [dict(getattr(release.frame, "dtypes", {})) for release in releases if kind == "pandas"]
    # The categories that occur differ, and nothing else.
    assert len({str({n: getattr(t, "name", t) for n, t in types.items()}) for types in native}) <= 1
    typed = render == "representative"
    assert (said["age"] == pl.String if "age" in said else said["age_low"].is_integer()) or typed


def test_releases_of_many_days_are_read_as_one_table(tmp_path):
    for day, spread in enumerate((False, True)):
        release = shoal.anonymize(make_people(24, spread), quasi=QUASI, sensitive=["illness"], k=4)
        release.write(tmp_path / f"day_{day}.parquet")
    both = pl.scan_parquet(tmp_path / "day_*.parquet").collect()
    assert both.height == 48
    assert both["age"].head(24).unique().to_list() == ["20"]


def test_the_schema_of_a_file_is_that_of_its_release(tmp_path):
    make_people(24, True).write_csv(tmp_path / "people.csv")
    recipe = shoal.Recipe(
        quasi=("age", "day"),
        models=("k(k=4)",),
        others="keep",
        render="bounds",
        types={"age": "integer"},
        input=str(tmp_path / "people.csv"),
    )
    release = shoal.run(recipe)
    assert release.schema == recipe.schema(tmp_path / "people.csv")
    # Nothing says what the days are but the rows.
    assert release.frame.schema["age_low"] == pl.Int64
    assert release.frame.schema["day"] == pl.String


def test_bounds_are_the_least_and_the_greatest_value_of_each_class():
    people = make_people(48, True)
    settings = {"quasi": QUASI, "sensitive": ["illness"], "k": 4, "algorithm": "mondrian"}
    label = shoal.anonymize(people, **settings)
    release = shoal.anonymize(people, **settings, render="bounds")
    frame = release.frame.with_columns(people["age"])
    ends = frame.group_by("age_low", "age_high", "cost_low", "cost_high", "day_low", "day_high", "job").agg(
        low=pl.col("age").min(), high=pl.col("age").max(), rows=pl.len()
    )
    known = ends.filter(pl.col("age_low").is_not_null())
    assert known.height
    assert known["low"].equals(known["age_low"], check_names=False, null_equal=True)
    assert known["high"].equals(known["age_high"], check_names=False, null_equal=True)
    # Counted with nothing of Shoal, and by the verifier.
    assert ends["rows"].min() >= 4
    assert release.report.smallest_class == ends["rows"].min()
    assert release.report.classes == ends.height == label.report.classes


def test_the_verifier_reads_bounds_in_files_and_notices_a_row_that_is_changed(tmp_path):
    release = shoal.anonymize(
        make_people(48, True), quasi=QUASI, sensitive=["illness"], k=4, render="bounds", others="keep"
    )
    for suffix in ("parquet", "csv", "jsonl"):
        path = tmp_path / f"release.{suffix}"
        release.write(path)
        assert shoal.verify(path, recipe=release.recipe).classes == release.report.classes
    frame = release.frame.clone()
    frame[0, "age_high"] = 99
    assert not shoal.verify(frame, recipe=release.recipe)


def test_what_has_no_bounds_is_missing_in_both():
    people = pl.DataFrame({"age": [1, 9, None, None], "s": ["a", "b", "a", "b"]})
    release = shoal.anonymize(people, quasi=["age"], sensitive=["s"], k=2, render="bounds")
    assert set(release.frame.select("age_low", "age_high").rows()) == {(1, 9), (None, None)}
    release = shoal.anonymize(people, quasi=["age"], sensitive=["s"], k=4, render="bounds")
    assert set(release.frame.select("age_low", "age_high").rows()) == {(None, None)}


def test_integers_of_pandas_with_bounds_can_be_missing():
    people = pd.DataFrame({"age": [1, 2, 8, 9], "s": list("abab")})
    release = shoal.anonymize(people, quasi=["age"], k=4, render="bounds", others="keep")
    assert release.frame.dtypes.astype(str).to_dict() == {"age_low": "Int64", "age_high": "Int64", "s": "str"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"algorithm": "microaggregate", "k": 2}, "microaggregate releases one value"),
        ({"memory": "1GB", "output": "x.parquet", "k": 2}, "render is not 'bounds'"),
    ],
)
def test_bounds_are_refused_where_there_are_none(settings, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": [1, 2, 3, 4]}).write_parquet("people.parquet")
    with pytest.raises(RecipeError, match=said):
        shoal.anonymize("people.parquet", quasi=["age"], render="bounds", **settings)


def test_bounds_never_take_the_name_of_another_column():
    people = pl.DataFrame({"age": [1, 2], "age_low": [0, 0]})
    with pytest.raises(RecipeError, match="there is a column 'age_low'"):
        shoal.anonymize(people, quasi=["age"], k=2, render="bounds", others="keep")


def test_a_recipe_of_the_first_version_keeps_types_and_warns(tmp_path):
    (tmp_path / "old.toml").write_text('[columns]\nquasi = ["age"]\n[goal]\nmodels = ["k(k=2)"]\n')
    recipe = shoal.Recipe.from_toml(tmp_path / "old.toml")
    release = shoal.run(recipe, pl.DataFrame({"age": [1, 1, 2, 2]}))
    assert release.frame["age"].dtype == pl.Int64
    assert any(warning.startswith("[W02] the types of 'age'") for warning in release.report.warnings)
    with pytest.raises(RecipeError, match="depend on the rows"):
        recipe.schema({"age": pl.Int64})


def test_the_schema_of_an_unknown_column_is_an_error():
    with pytest.raises(RecipeError, match="unknown column 'age'"):
        shoal.Recipe(quasi=("age",), models=("k(k=2)",)).schema({"agee": pl.Int64})


@pytest.mark.parametrize("kind", KINDS)
def test_later_rows_get_the_types_of_the_release(kind):
    people = make_people(48, True)
    for render in ("label", "representative"):
        release = shoal.anonymize(
            KINDS[kind](people), quasi=QUASI, sensitive=["illness"], k=4, algorithm="mondrian", render=render
        )
        applied = release.saved_recoding().apply(KINDS[kind](people.tail(40)), suppress=1.0)
        later = shoal.Recipe(quasi=tuple(QUASI), models=("k(k=4)",), others="keep", render=render)
        assert later.schema(applied.frame)["cost"] == release.schema["cost"]
        if kind == "pandas":
            assert [str(each) for each in applied.frame.dtypes] == [
                str(each) for each in release.frame.dtypes
            ]


# expand


def test_labels_are_expanded_to_their_ends():
    cells = ["[20-35]", "41", "*", None, "[-5..3]", "[1.5..2.]", "[-1e-05..-.5]"]
    low, high = shoal.expand(pl.DataFrame({"x": cells}), {"x": "float"})
    assert low.to_list() == [20, 41, None, None, -5, 1.5, -1e-05]
    assert high.to_list() == [35, 41, None, None, 3, 2, -0.5]
    days = shoal.expand(pl.DataFrame({"x": ["[2020-01-05..2020-02-01]", "2020-03-01"]}))
    assert days.row(0) == (dt.date(2020, 1, 5), dt.date(2020, 2, 1))


def test_a_release_is_expanded_by_what_the_run_knew():
    people = make_people(48, True)
    settings = {"quasi": QUASI, "sensitive": ["illness"], "k": 4, "algorithm": "mondrian"}
    expanded = shoal.expand(shoal.anonymize(people, **settings))
    bounds = shoal.anonymize(people, **settings, render="bounds").frame
    assert expanded.equals(bounds.cast(dict(expanded.schema)))


def test_sets_and_names_are_left_as_they_are():
    frame = pl.DataFrame({"job": ["{a, b}", "c"], "town": ["[Alta..Bree]", "Corn"], "n": [1, 2]})
    assert shoal.expand(frame).equals(frame)


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        (["agee"], InputError, "unknown column 'agee'"),
        ({"age": "text"}, RecipeError, "unknown type 'text'"),
        (["job"], InputError, "neither ranges nor values of numbers"),
        ("age", RecipeError, "list of column names"),
    ],
)
def test_expand_names_what_it_does_not_take(columns, error, said):
    with pytest.raises(error, match=said):
        shoal.expand(pl.DataFrame({"age": ["[1-2]"], "job": ["a"]}), columns)
