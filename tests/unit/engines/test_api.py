import importlib
import io
from datetime import date

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import GoalNotMet, InputError, RecipeError, ShoalError
from shoal.table import ReadOptions

DATA = {
    "id": [4, 3, 2, 1],
    "age": [20, 25, 60, 61],
    "born": [date(2000, 1, 1), date(1995, 1, 1), date(1960, 1, 1), date(1959, 1, 1)],
    "illness": ["flu", "cold", "cold", "flu"],
}
ROLES = {"quasi": ["age", "born"], "sensitive": ["illness"], "identifier": ["id"]}
AGES = ["[20-25]", "[20-25]", "[60-61]", "[60-61]"]


def listed(frame, name):
    return frame[name].to_pylist() if isinstance(frame, pa.Table) else frame.lazy().collect()[name].to_list()


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pa.table])
def test_the_same_kind_of_frame_comes_back(make):
    frame = make(DATA)
    release = shoal.anonymize(frame, **ROLES, k=2, l=2)
    assert type(release.frame) is type(frame)
    assert listed(release.frame, "age") == AGES
    assert listed(release.frame, "born")[0] == "[1995-01-01..2000-01-01]"
    assert listed(frame, "age") == DATA["age"]


def test_the_index_of_a_pandas_frame_needs_a_role():
    frame = pd.DataFrame(DATA, index=["d", "b", "b", "a"]).rename_axis("who")
    with pytest.raises(RecipeError, match="no role was given for 'who'"):
        shoal.anonymize(frame, **ROLES, k=2)
    roles = {**ROLES, "identifier": [*ROLES.get("identifier", []), "who"]}
    assert isinstance(shoal.anonymize(frame, **roles, k=2).frame.index, pd.RangeIndex)


def test_a_pandas_frame_keeps_its_index_if_asked_and_is_not_touched():
    frame = pd.DataFrame(DATA, index=["d", "b", "b", "a"]).rename_axis("who")
    before = frame.copy(deep=True)
    release = shoal.anonymize(frame, **ROLES, k=2, others="keep", keep_index=True)
    assert isinstance(release.frame, pd.DataFrame)
    assert "kept because that was asked for: the index" in release.report.notes
    pd.testing.assert_index_equal(release.frame.index, before.index)
    assert list(release.frame.columns) == ["age", "born", "illness"]
    assert release.frame["age"].tolist() == AGES
    assert release.frame["illness"].dtype == before["illness"].dtype
    pd.testing.assert_frame_equal(frame, before)


def test_an_index_that_counts_rows_is_counted_anew():
    frame = pd.DataFrame({"age": [20, None, 25, 60, 61], "n": range(5)}, index=[10, 11, 12, 13, 14])
    release = shoal.anonymize(frame, others="keep", quasi=["age"], plain=["n"], k=2, missing="drop")
    assert release.frame.index.tolist() == [0, 1, 2, 3]
    assert release.frame["n"].tolist() == [0, 2, 3, 4]
    assert release.report.dropped_rows == 1


def test_representatives_keep_the_types_of_pandas():
    large = 2**60 + 1
    frame = pd.DataFrame(
        {
            "large": pd.array([large, large, None, None], dtype="Int64"),
            "arrow": pd.array([1, 1, None, None], dtype="int64[pyarrow]"),
            "flag": pd.array([True, True, None, None], dtype="boolean"),
            "small": pd.Series([1, 1, 2, 2], dtype="int8"),
            "when": pd.to_datetime(["2020-01-01"] * 2 + ["2021-01-01"] * 2).astype("datetime64[s]"),
            "grade": pd.Categorical(["a", "a", "b", "b"], categories=["b", "a"], ordered=True),
            "object": pd.Series([True, True, None, None], dtype=object),
        }
    )
    roles = {"others": "keep", "quasi": list(frame.columns)}
    released = shoal.anonymize(frame, **roles, k=2, render="representative").frame
    pd.testing.assert_frame_equal(released, frame)
    assert set(shoal.anonymize(frame, **roles, k=2).frame.dtypes.astype(str)) == {"str"}
    changed = shoal.anonymize(frame, others="keep", quasi=list(frame.columns), k=4).frame
    assert changed["grade"].tolist() == changed["large"].tolist() == ["*"] * 4


def test_a_polars_frame_is_not_touched():
    frame = pl.DataFrame(DATA)
    before = frame.clone()
    shoal.anonymize(frame, **ROLES, k=2)
    assert frame.equals(before)
    assert frame.schema == before.schema


def test_a_path_gives_a_polars_frame(tmp_path):
    pl.DataFrame(DATA).write_csv(tmp_path / "a.csv")
    for path in (tmp_path / "a.csv", str(tmp_path / "a.csv")):
        release = shoal.anonymize(path, **ROLES, k=2)
        assert isinstance(release.frame, pl.DataFrame)
        assert release.frame["age"].to_list() == AGES
        assert release.recipe.input == str(tmp_path / "a.csv")
    release.write(tmp_path / "b.csv")
    assert shoal.verify(tmp_path / "b.csv", quasi=["age", "born"], k=2).holds


def test_the_goal_can_be_said_in_several_ways():
    frame = pl.DataFrame(DATA)
    ways = [
        shoal.anonymize(frame, **ROLES, k=2, l=2),
        shoal.anonymize(frame, **ROLES, models=["k(k=2)", "distinct-l(l=2,column=illness)"]),
        shoal.anonymize(frame, **ROLES, k=2, models=[shoal.DistinctL(2)]),
        shoal.anonymize(frame, **ROLES, models=[shoal.KAnonymity(2), shoal.DistinctL(2, "illness")]),
    ]
    assert all(way.frame.equals(ways[0].frame) for way in ways)
    assert len({str(way.report.models) for way in ways}) == 1


def test_the_algorithm_can_be_said_in_several_ways():
    frame = pl.DataFrame(DATA)
    ways = [
        shoal.anonymize(frame, **ROLES, k=2, algorithm="mondrian(cut=nearest,mode=relaxed)"),
        shoal.anonymize(frame, **ROLES, k=2, algorithm=shoal.Mondrian("relaxed", "nearest")),
    ]
    assert ways[0].recipe == ways[1].recipe
    assert ways[0].report.algorithm == {
        "name": "mondrian",
        "parameters": {"mode": "relaxed", "cut": "nearest"},
    }


def test_hierarchies_can_be_said_in_several_ways(tmp_path):
    frame = pl.DataFrame({"job": ["mason", "smith", "clerk", "judge"] * 2})
    rows = [
        ("mason", "manual", "*"),
        ("smith", "manual", "*"),
        ("clerk", "office", "*"),
        ("judge", "office", "*"),
    ]
    (tmp_path / "job.csv").write_text("\n".join(";".join(row) for row in rows))
    (tmp_path / "domains.txt").write_text("job/manual: mason, smith\njob/office: clerk, judge\n")
    for given in (
        {"job": shoal.Hierarchy.from_rows(rows)},
        {"job": rows},
        {"job": tmp_path / "job.csv"},
        {"job": str(tmp_path / "job.csv")},
        tmp_path,
        str(tmp_path / "domains.txt"),
    ):
        release = shoal.anonymize(frame, others="keep", quasi=["job"], k=4, hierarchies=given)
        assert release.frame["job"].to_list() == ["manual", "manual", "office", "office"] * 2


def test_types_orders_weights_and_markers():
    frame = pl.DataFrame({"size": [1, 2, 3, 3], "zip": [1, 1, 2, 2], "age": ["1", "?", "5", "6"]})
    release = shoal.anonymize(
        frame,
        others="keep",
        quasi=["size", "zip", "age"],
        k=2,
        types={"zip": "string"},
        orders={"size": [3, 1, 2]},
        weights={"age": 0},
        na=["?"],
        loss="certainty",
        render="interval",
        seed=3,
        threads=1,
    )
    assert release.report.columns["size"]["kind"] == "ordered"
    assert release.report.columns["zip"]["kind"] == "flat"
    assert release.report.columns["age"]["type"] == "integer"
    assert release.report.loss["columns"]["age"] == 0
    assert release.frame["size"].to_list()[:2] == ["[1..2]"] * 2
    assert (release.recipe.seed, release.recipe.threads, release.recipe.loss) == (3, 1, "certainty")


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"k": 5}, GoalNotMet, "k = 5, but the table has 4 rows"),
        ({"k": 2, "l": 3}, GoalNotMet, "l = 3, but the sensitive column 'illness' has 2 distinct values"),
        ({}, RecipeError, "no privacy goal"),
        ({"k": 0}, RecipeError, "k must be at least 1, not 0"),
        ({"k": "2"}, RecipeError, "k must be a whole number, not '2'"),
        (
            {"k": 2, "quasi": "age"},
            RecipeError,
            "quasi is a list of column names; write ['age'] for one column",
        ),
        ({"k": 2, "quasi": ["agee"]}, RecipeError, "unknown column 'agee': did you mean 'age'?"),
        ({"k": 2, "algorithm": "mondrain"}, RecipeError, "unknown algorithm 'mondrain'"),
        ({"k": 2, "models": ["p"]}, RecipeError, "unknown privacy model 'p'"),
        ({"k": 2, "hierarchies": "no/such"}, InputError, "no such file or folder 'no/such'"),
        ({"k": 2, "hierarchies": {"age": [["20"], []]}}, InputError, "hierarchy of 'age'"),
    ],
)
def test_what_cannot_be_done(settings, error, says):
    with pytest.raises(error) as raised:
        shoal.anonymize(pl.DataFrame(DATA), **{**ROLES, **settings})
    assert says in str(raised.value)


def test_no_table():
    with pytest.raises(InputError, match=r"a table is a path, an open file, .* not a builtins"):
        shoal.anonymize(DATA, **ROLES, k=2)


def test_verify():
    release = shoal.anonymize(pl.DataFrame(DATA), **ROLES, k=2)
    found = shoal.verify(release.frame, quasi=["age", "born"], sensitive=["illness"], k=2, l=2)
    assert (found.holds, found.classes, found.smallest_class) == (True, 2, 2)
    assert not shoal.verify(release.frame, quasi=["age"], models=["k(k=3)"]).holds
    assert not shoal.verify(pl.DataFrame(DATA), quasi=["age"], k=2).holds


def test_verify_by_a_recipe(tmp_path):
    release = shoal.anonymize(pl.DataFrame(DATA), **ROLES, k=2, accept={"unique-rows": "a test"})
    (tmp_path / "recipe.toml").write_text(release.recipe.to_toml(), "utf-8")
    release.write(tmp_path / "release.csv")
    stated = shoal.verify(release.frame, quasi=ROLES["quasi"], sensitive=["illness"], k=2)
    for source in (release.frame, tmp_path / "release.csv"):
        for recipe in (release.recipe, tmp_path / "recipe.toml", str(tmp_path / "recipe.toml")):
            found = shoal.verify(source, recipe=recipe)
            assert (found.holds, found.classes, found.models) == (True, stated.classes, stated.models)
            assert not any(finding.is_open for finding in found.findings)
            assert [each.holds for each in shoal.verify(source, recipe=recipe, k=3).models] == [True, False]


def test_a_recipe_says_how_its_release_is_read(tmp_path):
    (tmp_path / "people.csv").write_text("21,f,x\n22,f,?\n35,m,x\n36,m,?\n", "utf-8")
    options = shoal.Recipe(
        quasi=("column_1", "column_2"),
        sensitive=("column_3",),
        models=(shoal.KAnonymity(2), shoal.DistinctL(2)),
        input=str(tmp_path / "people.csv"),
        output=str(tmp_path / "release.csv"),
        reading=ReadOptions(header=False, na=("?",)),
    )
    shoal.run(options)
    found = shoal.verify(tmp_path / "release.csv", recipe=options)
    assert (found.holds, found.rows, found.classes) == (True, 4, 2)


@pytest.mark.parametrize(
    "given", [{"quasi": ["age"]}, {"sensitive": ["illness"]}, {"types": {"age": "string"}}]
)
def test_a_recipe_leaves_no_roles_to_give(given):
    release = shoal.anonymize(pl.DataFrame(DATA), **ROLES, k=2)
    with pytest.raises(RecipeError, match="a recipe names the roles"):
        shoal.verify(release.frame, recipe=release.recipe, **given)


def test_progress_is_told():
    said = []
    shoal.anonymize(pl.DataFrame(DATA), **ROLES, k=2, on_progress=lambda doing, done: said.append(doing))
    assert {"read", "search", "recode", "verify"} <= set(said)


def test_public_names_are_reached_and_listed():
    assert set(dir(shoal)) == set(shoal.__all__)
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    with pytest.raises(AttributeError, match="module 'shoal' has no attribute 'anonymise'"):
        shoal.anonymise  # noqa: B018


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"quasi": None}, "quasi is a list of column names, not None"),
        ({"quasi": 5}, "quasi is a list of column names, not 5"),
        ({"weights": [1]}, "weights is a mapping by column"),
        ({"types": ["integer"]}, "types is a mapping by column"),
        ({"orders": [1]}, "orders is a mapping by column"),
        ({"hierarchies": 5}, "hierarchies is a mapping by column"),
        ({"hierarchies": {"age": 5}}, "the hierarchy of 'age' is a Hierarchy, a path, or rows"),
    ],
)
def test_arguments_of_a_wrong_kind_are_named(settings, said):
    with pytest.raises(RecipeError, match=said):
        shoal.anonymize(pl.DataFrame(DATA), **{"quasi": ["age"], "k": 2, **settings})


def test_a_recipe_is_made_of_tables_only():
    with pytest.raises(RecipeError, match="nested tables"):
        shoal.Recipe.from_dict(5)


def test_no_module_has_the_name_of_a_function():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("shoal.run")


TWO = pl.DataFrame({"age": [1, 1, 2, 2]})
KEEP = shoal.Recipe(("age",), (shoal.KAnonymity(2),), others="keep")


def read_closed_file():
    file = io.BytesIO(b"age\n1\n")
    file.close()
    return shoal.run(KEEP, file)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: shoal.Recipe.load(5),
        lambda: shoal.Recipe.load("a\0.toml"),
        lambda: KEEP.save(None),
        lambda: shoal.SavedRecoding.load(5),
        lambda: shoal.run(KEEP, TWO).saved_recoding().apply(TWO, ledger=5),
        lambda: shoal.run(KEEP, TWO).saved_recoding().apply(TWO).write(None),
        lambda: shoal.run(KEEP, TWO).write(None),
        lambda: shoal.run(KEEP, TWO).write(5),
        lambda: shoal.run(KEEP, TWO).write("a\0.csv"),
        lambda: shoal.run(KEEP, TWO).write("a" * 5000 + ".csv"),
        lambda: shoal.run(KEEP, "a\0.csv"),
        lambda: shoal.run(KEEP, "a" * 5000),
        lambda: shoal.verify("a\0.csv", quasi=["age"], k=2),
        lambda: shoal.anonymize(TWO, quasi=["age"], k=2, output="a\0.csv"),
        lambda: shoal.anonymize(TWO, quasi={"age"}, k=2),
        lambda: shoal.anonymize(TWO, quasi=frozenset(["age"]), k=2),
        read_closed_file,
    ],
)
def test_wrong_paths_and_names_are_errors_of_ours(wrong):
    with pytest.raises(ShoalError):
        wrong()
