"""A private sample: what it is made of, what it tells, and what is refused.

That nothing depends on single rows is tested by pairs of tables, in tests/properties/test_neighbours.py.
"""

import json
import os
import pickle
import secrets
from dataclasses import replace
from math import exp

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms import safepub
from shoal.engines import duckdb
from shoal.errors import InputError, OutputError, RecipeError
from shoal.privacy.safepub import KNOWN_SEED, least_k
from shoal.recipes.recipe import Recipe
from shoal.report import Report
from shoal.table import read_table
from shoal.table.hierarchies import from_toml, to_toml

AGES = shoal.Hierarchy.from_tree(
    {"young": [str(age) for age in range(20, 40)], "old": [str(age) for age in range(40, 60)]}
)
GOAL = "safepub(epsilon=1,delta=0.001)"
TYPES = {"age": "integer", "sex": "string"}


def table(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": range(rows),
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m", "x"], rows, p=[0.49, 0.49, 0.02]),
        }
    )


def release(frame, levels="age=1,sex=0", **more):
    settings = {
        "quasi": ["age", "sex"],
        "identifier": ["id"],
        "hierarchies": {"age": AGES},
        "types": TYPES,
        "models": [GOAL],
        "algorithm": shoal.SafePubScheme(levels, more.pop("drawn_by", None)),
    }
    return shoal.anonymize(frame, **{**settings, **more})


def text_of(frame, path):
    frame.write_csv(path)
    return path


# What a release is.


def test_a_release_is_a_generalised_sample_without_small_classes():
    frame, k = table(1000), least_k(1.0, 0.001)
    found = release(frame, drawn_by=7)
    drawn = np.random.default_rng(7).random(1000) < 1 - exp(-1)
    kept = frame.filter(pl.Series(drawn)).select(
        age=pl.when(pl.col("age") < 40).then(pl.lit("young")).otherwise(pl.lit("old")), sex="sex"
    )
    expected = kept.filter(pl.len().over("age", "sex") >= k).sort("age", "sex")
    assert found.frame.equals(expected)
    assert found.frame["sex"].n_unique() == 2  # those with x are too few
    assert found.report.models[0].achieved["k"] >= k
    assert shoal.verify(found.frame, quasi=["age", "sex"], models=[GOAL]).holds
    assert not shoal.verify(
        found.frame, quasi=["age", "sex"], models=["safepub(epsilon=1,delta=1e-80)"]
    ).holds


def test_rows_are_drawn_by_the_bits_of_the_operating_system(monkeypatch):
    frame, k = table(1000), least_k(1.0, 0.001)
    bits = secrets.token_bytes(8000)
    asked = []
    monkeypatch.setattr(safepub, "random_bytes", lambda size: asked.append(size) or bits)
    found = release(frame, "age=2,sex=0")
    rate = 1 - exp(-1)
    drawn = [int.from_bytes(bits[8 * i : 8 * i + 8], "little") < rate * 2**64 for i in range(1000)]
    count = frame.filter(pl.Series(drawn)).group_by("sex").len().filter(pl.col("len") >= k)
    assert asked == [8000]
    assert dict(found.frame.group_by("sex").len().iter_rows()) == dict(count.iter_rows())


def test_the_operating_system_is_asked_and_not_a_generator_with_a_state():
    before = np.random.get_state()[1].tolist()
    assert safepub.random_bytes is os.urandom
    found = {release(table(400)).report.released_rows for _ in range(30)}
    assert len(found) > 3
    assert np.random.get_state()[1].tolist() == before


def test_how_many_rows_are_drawn():
    # 20,000 rows at a rate of 0.6321 have a standard deviation of 68; six of them are missed once in 10^9.
    frame = pl.DataFrame({"sex": ["f"] * 20_000})
    found = shoal.anonymize(
        frame, quasi=["sex"], types={"sex": "string"}, models=[GOAL], algorithm="safepub(levels=sex=0)"
    )
    assert abs(found.report.released_rows - 20_000 * (1 - exp(-1))) < 6 * 68


def test_chance_is_kept_nowhere(monkeypatch, tmp_path):
    bits = secrets.token_bytes(8 * 400)
    monkeypatch.setattr(safepub, "random_bytes", lambda size: bits)
    found = release(table(400), output=tmp_path / "release.parquet")
    found.report.to_html(tmp_path / "page.html")
    told = [
        pickle.dumps(found.report),
        pickle.dumps(found.recipe),
        json.dumps(found.report.to_dict()).encode(),
        found.recipe.to_toml().encode(),
        *(path.read_bytes() for path in tmp_path.iterdir()),
    ]
    for at in range(0, 3200, 8):
        word = bits[at : at + 8]
        forms = (word, word.hex().encode(), str(int.from_bytes(word, "little")).encode())
        assert not any(form in each for form in forms for each in told)
    assert found.report.seed is None


def test_columns_without_a_role_may_be_dropped():
    assert release(table(400), identifier=[], others="drop").frame.columns == ["age", "sex"]


def test_findings_are_about_the_release_alone():
    frame = table(400).sort("age").with_columns(id=pl.Series([0] * 400))
    assert release(frame).report.findings == ()
    assert release(table(20), strict=True).report.findings == ()


def test_neither_order_nor_labels_of_rows_are_released():
    frame = table(400).to_pandas().set_index("id", drop=False)
    made = release(frame).frame
    assert made.index.tolist() == list(range(len(made)))
    assert made.to_numpy().tolist() == sorted(made.to_numpy().tolist())


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_frames_come_back_as_their_kind(kind):
    frame = table(1000).select("sex", "id", "age")
    given = {
        "polars": lambda: frame,
        "pandas": frame.to_pandas,
        "pyarrow": frame.to_arrow,
    }[kind]()
    made = release(given).frame
    assert type(made) is type(given)
    found = pl.DataFrame(made)
    assert found.columns == ["sex", "age"]
    assert set(found.dtypes) == {pl.String}
    assert found.height > 300


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_files_are_taken(suffix, tmp_path):
    path = tmp_path / f"table.{suffix}"
    {"csv": table(1000).write_csv, "parquet": table(1000).write_parquet, "arrow": table(1000).write_ipc}[
        suffix
    ](path)
    made = release(path, output=tmp_path / "out.csv")
    assert made.report.released_rows > 300
    assert read_table(tmp_path / "out.csv").rows == made.report.released_rows


def test_text_is_as_written_and_numbers_are_written_in_one_way():
    frame = pl.DataFrame({"age": ["1", "1.0", " 1"] * 200, "sex": ["f"] * 600})
    texts = release(
        frame, "age=0,sex=0", identifier=[], hierarchies=None, types=dict.fromkeys(TYPES, "string")
    )
    assert texts.frame["age"].unique().sort().to_list() == [" 1", "1", "1.0"]
    numbers = release(frame, "age=0,sex=0", identifier=[], hierarchies=None)
    assert numbers.frame["age"].unique().to_list() == ["1"]


def test_what_a_hierarchy_does_not_have_becomes_its_root_and_a_missing_value_stays_one():
    frame = pl.DataFrame({"age": ["25"] * 300 + ["99"] * 300 + [None] * 300, "sex": ["f"] * 900})
    for level, known in ((0, "25"), (1, "young")):
        found = release(frame, f"age={level},sex=0", identifier=[])
        assert found.frame["age"].unique().sort().to_list() == [None, "*", known]
    assert release(frame, "age=2,sex=0", identifier=[]).frame["age"].unique().to_list() == ["*"]
    dropped = release(frame, identifier=[], missing="drop")
    assert dropped.frame["age"].unique().sort().to_list() == ["*", "young"]


def test_nodes_by_their_ends():
    found = release(table(1000), render="interval")
    assert found.frame["age"].unique().sort().to_list() == ["[20..39]", "[40..59]"]
    assert release(table(1000), "age=2,sex=0", render="interval").frame["age"].unique().to_list() == ["*"]


def test_stated_markers_are_missing_in_whatever_way_numbers_are_written():
    frame = pl.DataFrame({"age": [25.0, 999.0] * 300, "sex": ["f", "?"] * 300})
    found = release(frame, identifier=[], na=["999.0", "?"], missing="drop")
    assert found.frame.unique().rows() == [("young", "f")]


def test_a_release_may_have_no_rows(tmp_path):
    found = release(table(20), output=tmp_path / "none.csv")
    assert found.report.released_rows == found.report.classes == 0
    assert found.report.ncp == 1.0
    assert all(model.holds for model in found.report.models)
    assert (tmp_path / "none.csv").read_text() == "age,sex\n"
    assert shoal.verify(tmp_path / "none.csv", quasi=["age", "sex"], models=[GOAL]).holds
    with pytest.raises(InputError, match="no rows"):
        shoal.verify(tmp_path / "none.csv", quasi=["age", "sex"], k=2)
    found.report.to_html(tmp_path / "page.html")
    assert "0 rows are released" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "arrow", "xlsx"])
def test_a_release_without_rows_can_be_written_and_verified(suffix, tmp_path):
    release(table(20)).write(tmp_path / f"none.{suffix}")
    found = shoal.verify(tmp_path / f"none.{suffix}", quasi=["age", "sex"], models=[GOAL])
    assert (found.holds, found.rows) == (True, 0)


def test_a_table_may_have_no_rows(tmp_path):
    assert release(table(0)).report.released_rows == 0
    assert release(text_of(table(0), tmp_path / "t.csv")).report.released_rows == 0


def test_a_larger_k_may_be_asked_for():
    asked = release(table(1000), models=["safepub(epsilon=1,delta=0.1)", "k(k=100)"])
    assert asked.report.smallest_class >= 100


# A stated seed.


def test_by_a_stated_seed_safepub_does_not_hold(tmp_path):
    found = release(table(400), drawn_by=20740)
    (verdict,) = found.report.models
    assert not verdict.holds
    assert verdict.achieved["delta"] == 1.0
    assert found.report.warnings[0] == KNOWN_SEED
    assert KNOWN_SEED.startswith("not-private: ")
    assert found.report.to_dict()["models"][0]["holds"] is False
    assert found.report.seed == 20740
    found.report.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "not every promise holds" in page
    assert "every promise verified" not in page


def test_what_was_drawn_by_a_stated_seed_is_not_written(tmp_path):
    with pytest.raises(OutputError, match="not private and never written"):
        release(table(400), drawn_by=0, output=tmp_path / "release.csv")
    with pytest.raises(OutputError, match="not private and never written"):
        release(table(400), drawn_by=0).write(tmp_path / "release.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_seed_that_nobody_stated_does_not_count(tmp_path):
    recipe = Recipe(
        ("age", "sex"), (shoal.SafePub(1.0, 0.001),), algorithm=shoal.SafePubScheme("age=0,sex=0")
    )
    text = recipe.to_toml()
    assert "seed" not in text
    assert "does not give the same bytes again" in text
    for written in (text, text.replace('algorithm = "safepub"', 'algorithm = "safepub"\nseed = 0')):
        (tmp_path / "r.toml").write_text(written)
        assert Recipe.from_toml(tmp_path / "r.toml") == recipe
    stated = Recipe(
        ("age", "sex"), (shoal.SafePub(1.0, 0.001),), algorithm=shoal.SafePubScheme("age=0,sex=0", 0)
    )
    (tmp_path / "r.toml").write_text(stated.to_toml())
    assert Recipe.from_toml(tmp_path / "r.toml").algorithm.seed == 0


@pytest.mark.parametrize("seed", [1, 20740])
def test_the_seed_of_a_recipe_is_refused(seed):
    with pytest.raises(RecipeError, match=f"safepub takes no seed, and so not {seed}"):
        release(table(200), seed=seed)


# What is told.


def test_a_report_tells_of_the_release_alone():
    found = release(table(1000)).report
    assert (found.rows, found.dropped_rows, found.suppressed_rows) == (None, None, None)
    assert found.to_dict()["rows"] is None
    assert found.evidence.table.rows == found.released_rows
    assert found.columns["sex"]["values"] == 2  # x is not released
    lost = pytest.approx(19 / 39)
    assert found.columns["age"] == {"type": "integer", "kind": "tree", "values": 40, "ncp": lost}
    assert found.loss["value"] == found.ncp == pytest.approx(19 / 78)
    assert found.levels == {"age": {"level": 1, "highest": 2}, "sex": {"level": 0, "highest": 0}}


def test_nothing_of_the_table_is_kept(tmp_path):
    names = [f"somebody-{i:05}" for i in range(1000)]
    frame = table(1000).with_columns(id=pl.Series(names), sex=pl.Series(["f"] * 990 + ["a-rare-value"] * 10))
    for given in (frame, frame.to_pandas(), frame.to_arrow(), text_of(frame, tmp_path / "in.csv")):
        found = release(given, output=tmp_path / "out.arrow")
        found.report.to_html(tmp_path / "page.html")
        kept = [
            pickle.dumps(found.report),
            pickle.dumps(found.frame),
            pickle.dumps(found.table),
            (tmp_path / "out.arrow").read_bytes(),
            (tmp_path / "page.html").read_bytes(),
        ]
        assert not any(b"somebody-" in each or b"a-rare-value" in each for each in kept)


def test_a_page_shows_nothing_of_the_table(tmp_path):
    release(text_of(table(1000), tmp_path / "in.csv"), output=tmp_path / "out.csv").report.to_html(
        tmp_path / "page.html"
    )
    page = (tmp_path / "page.html").read_text("utf-8")
    block = json.loads(page.partition('id="shoal-report">')[2].partition("</script>")[0])
    assert block["input"] == {"name": "in.csv", "file": None, "content": None}
    assert list(block["risk"]) == ["after"]
    shown = page.partition("<body")[2].partition("<script")[0]
    assert "efore and after" not in shown
    assert 'class="before"' not in shown  # the colour of what is drawn of the original
    assert "another sample" in shown


def test_no_excerpt_of_the_table(tmp_path):
    with pytest.raises(RecipeError, match="no rows for an excerpt"):
        release(table(400)).report.to_html(tmp_path / "page.html", excerpt=True)


def test_no_classes_for_later_rows():
    with pytest.raises(RecipeError, match="without safepub"):
        release(table(400)).saved_recoding()


# What is refused, whatever is in the table.


def unstated(**more):
    return {"types": {name: kind for name, kind in {**TYPES, **more}.items() if kind}}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"levels": "age=1"}, "levels says nothing of 'sex'"),
        ({"levels": "age=1,sx=0"}, "unknown quasi-identifier in levels 'sx'"),
        ({"levels": "age=3,sex=0"}, "level 3 of 'age', which has a hierarchy of levels 0 to 2"),
        ({"levels": "age=1,sex=1"}, "level 1 of 'sex', which has no hierarchy"),
        ({"identifier": []}, "every released column is a quasi-identifier, but 'id' is not"),
        ({"algorithm": "mondrian"}, "kept by the algorithm safepub only"),
        ({"models": ["k(k=5)"]}, "takes one model safepub; the goal has 0"),
        ({"models": [GOAL, "max-risk(risk=0.5)"]}, "together with k only"),
        ({"render": "set"}, "takes render 'label' or 'interval', not 'set'"),
        ({"missing": "error"}, "missing is 'category' or 'drop'"),
        ({"loss": "discernibility"}, "the loss is 'ncp'"),
        ({"orders": {"sex": ["f", "m", "x"]}}, "no use for the order of 'sex'"),
        ({"memory": "1GB"}, "leave memory and engine out"),
        ({"keep_index": True}, "keeps neither an index nor metadata"),
        ({"keep_metadata": True}, "keeps neither an index nor metadata"),
        (
            {"identifier": [], "others": "keep"},
            "every released column is a quasi-identifier, but 'id' is not",
        ),
        (unstated(age=None), "state the type of 'age'"),
        (unstated(age=None, sex=None), "state the type of 'age', 'sex'"),
        (unstated(age="datetime"), "the type of 'age' cannot be datetime here"),
    ],
)
def test_what_the_mode_refuses(settings, says):
    for rows in (200, 0):
        with pytest.raises(RecipeError, match=says):
            release(table(rows), **settings)


@pytest.mark.parametrize("method", ["quantiles", "intervals", "frequency"])
def test_a_hierarchy_that_was_built_from_the_table_is_refused(method):
    frame = table(400)
    built = shoal.build_hierarchy(frame, "age", method)
    for tree in (built, from_toml(to_toml(built))):
        with pytest.raises(RecipeError, match="hierarchy of 'age' was built from a table"):
            release(frame, hierarchies={"age": tree})


def test_a_hierarchy_in_a_recipe_stays_one_that_was_built_from_a_table(tmp_path):
    built = shoal.build_hierarchy(table(400), "age", "quantiles")
    found = shoal.anonymize(
        table(400), quasi=["age"], identifier=["id", "sex"], k=2, hierarchies={"age": built}
    )
    (tmp_path / "r.toml").write_text(found.recipe.to_toml())
    again = Recipe.from_toml(tmp_path / "r.toml")
    assert again.trees["age"] == built
    assert again.trees["age"].built_from_table


@pytest.mark.parametrize("levels", ["age", "age=x", "age=-1"])
def test_levels_that_cannot_be_read(levels):
    with pytest.raises(RecipeError, match=f"cannot read '{levels}' in levels"):
        shoal.SafePubScheme(levels)


def test_a_seed_is_no_negative_number():
    with pytest.raises(RecipeError, match="seed must be 0 or more"):
        shoal.SafePubScheme("age=1", -1)


def test_a_table_that_was_read_already_is_refused(tmp_path):
    whole = read_table(text_of(table(100), tmp_path / "t.csv"))
    recipe = release(table(100)).recipe
    with pytest.raises(InputError, match="read by looking at all of its rows"):
        shoal.run(recipe, whole)


def test_no_other_engine_takes_it(tmp_path):
    limited = replace(release(table(100)).recipe, memory="1GB", output=str(tmp_path / "o.csv"))
    with pytest.raises(RecipeError, match="safepub looks at every row by itself"):
        duckdb.DiskEngine(limited).check_recipe()


def test_a_report_of_other_algorithms_is_as_before():
    found = shoal.anonymize(table(100), quasi=["age"], identifier=["id", "sex"], k=5)
    assert isinstance(found.report, Report)
    assert found.report.rows == 100
    assert not found.report.released_only
