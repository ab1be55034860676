import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal import anonymize
from shoal.algorithms import Algorithm, mondrian
from shoal.algorithms.mondrian import Mondrian
from shoal.codespace.recoding import Proposal
from shoal.engines.memory import run_in_memory
from shoal.errors import GoalNotMet, InputError, OutputError, RecipeError
from shoal.privacy import DistinctL, KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import ReadOptions, read_table
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})
QUASI = ("age", "job", "colour")
RECIPE = Recipe(
    others="keep",
    quasi=QUASI,
    models=(KAnonymity(4), DistinctL(2)),
    sensitive=("illness",),
    identifier=("name",),
    plain=("row", "note"),
    trees={"job": JOBS},
)


def people(rows=80, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "row": np.arange(rows),
            "name": [f"person {i}" for i in range(rows)],
            "age": pl.Series(rng.integers(18, 90, rows)).set(pl.Series(rng.random(rows) < 0.1), None),
            "job": rng.choice(JOBS.leaves, rows),
            "note": rng.choice(["007", 'say "no"', "a,b", " padded ", "", "-5", "=1+1", "line\nbreak"], rows),
            "colour": rng.choice(["red", "blue", "grey"], rows),
            "illness": rng.choice(["flu", "cold", "cough"], rows),
        }
    )


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "people.csv"
    people().write_csv(path)
    return path


def cells(path):
    with Path(path).open(newline="") as stream:
        return list(csv.reader(stream))


def test_a_file_in_and_a_verified_release_out(source, tmp_path):
    before = source.read_bytes()
    release = run_in_memory(replace(RECIPE, input=str(source), output=str(tmp_path / "release.csv")))
    released = cells(tmp_path / "release.csv")
    assert released[0] == ["row", "age", "job", "note", "colour", "illness"]
    assert len(released) == 81
    classes = {}
    for row in released[1:]:
        classes.setdefault((row[1], row[2], row[4]), []).append(row[5])
    assert all(len(values) >= 4 and len(set(values)) >= 2 for values in classes.values())
    report = release.report
    assert (report.rows, report.released_rows, report.classes) == (80, 80, len(classes))
    assert report.smallest_class == min(map(len, classes.values()))
    assert source.read_bytes() == before


def test_rows_keep_their_order_and_untouched_columns_their_bytes(source, tmp_path):
    run_in_memory(replace(RECIPE, input=str(source), output=str(tmp_path / "release.csv")))
    before, after = cells(source), cells(tmp_path / "release.csv")
    for name in ("row", "note", "illness"):
        old, new = before[0].index(name), after[0].index(name)
        assert [row[old] for row in before] == [row[new] for row in after]


def test_the_report_is_plain_values(source):
    report = run_in_memory(RECIPE, source).report
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["models"] == [
        {"name": "k", "asked": {"k": 4}, "achieved": report.smallest_class, "holds": True},
        {
            "name": "distinct-l",
            "asked": {"l": 2, "column": "illness"},
            "achieved": report.models[1].achieved,
            "holds": True,
        },
    ]
    assert plain["algorithm"] == {"name": "auto", "parameters": {}}
    assert [tried["name"] for tried in plain["tried"]][:2] == ["mondrian", "peel"]
    assert all(plain["ncp"] <= tried["lost"] for tried in plain["tried"])
    assert plain["loss"]["name"] == "ncp"
    assert (
        plain["loss"]["value"]
        == pytest.approx(plain["ncp"])
        == pytest.approx(sum(column["ncp"] for column in plain["columns"].values()) / 3)
    )
    assert {name: (c["type"], c["kind"]) for name, c in plain["columns"].items()} == {
        "age": ("integer", "number"),
        "job": ("string", "tree"),
        "colour": ("string", "flat"),
    }
    assert set(plain["seconds"]) == {"read", "search", "recode", "verify", "write", "total"}
    assert plain["notes"][0] == "categories of 'colour' were ordered by frequency, the commonest first"
    assert (plain["output"], plain["optimal"], plain["dropped_rows"]) == (None, None, 0)


def test_the_loss_that_was_asked_for_is_reported(source):
    report = run_in_memory(
        replace(RECIPE, loss="distortion", weights={"age": 3.0, "job": 0.0}), source
    ).report
    assert report.loss["name"] == "distortion"
    # Every row has a changed age at a cost of 3 or none, a job for free, a colour at 1.
    assert report.loss["columns"]["job"] == 0
    assert report.loss["columns"]["age"] % 3 == 0
    assert report.loss["value"] == sum(report.loss["columns"].values())


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("algorithm", [Mondrian(), Mondrian("relaxed", "nearest"), Mondrian(cut="classic")])
def test_the_same_bytes_whatever_the_threads(tmp_path, monkeypatch, threads, algorithm):
    monkeypatch.setattr(mondrian, "SHARE", 16)  # many parts, so that threads do get in each other's way
    table = people(500, seed=1)
    written = []
    for number in (1, threads):
        path = tmp_path / f"{number}.csv"
        run_in_memory(replace(RECIPE, algorithm=algorithm, threads=number, output=str(path)), table)
        written.append(path.read_bytes())
    assert written[0] == written[1]


@pytest.mark.slow
def test_the_same_bytes_whatever_the_row_groups(tmp_path):
    table = people(500, seed=2)
    written = set()
    for size in (7, 100, 500):
        table.write_parquet(tmp_path / "in.parquet", row_group_size=size)
        run_in_memory(replace(RECIPE, input=str(tmp_path / "in.parquet"), output=str(tmp_path / "out.csv")))
        written.add((tmp_path / "out.csv").read_bytes())
        chunks = pl.concat([table[at : at + size] for at in range(0, 500, size)], rechunk=False)
        run_in_memory(replace(RECIPE, output=str(tmp_path / "out.csv")), chunks)
        written.add((tmp_path / "out.csv").read_bytes())
    assert len(written) == 1


@pytest.mark.exhaustive
def test_the_same_bytes_whatever_the_readers_threads(tmp_path):
    people(500, seed=2).write_csv(tmp_path / "in.csv")
    recipe = replace(RECIPE, input=str(tmp_path / "in.csv"), output=str(tmp_path / "out.csv"))
    run_in_memory(recipe)
    expected = (tmp_path / "out.csv").read_bytes()
    (tmp_path / "out.csv").unlink()
    (tmp_path / "r.toml").write_text(recipe.to_toml(tmp_path))
    code = "import sys, shoal; shoal.run(shoal.Recipe.from_toml(sys.argv[1]))"
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, tmp_path / "r.toml"], env=environment, check=True)
    assert (tmp_path / "out.csv").read_bytes() == expected


def test_a_recipe_that_was_written_down_gives_the_same_bytes(source, tmp_path):
    recipe = replace(RECIPE, input=str(source), output=str(tmp_path / "one.csv"), weights={"age": 2.0})
    first = run_in_memory(recipe)
    (tmp_path / "r.toml").write_text(
        replace(first.recipe, output=str(tmp_path / "two.csv")).to_toml(tmp_path)
    )
    run_in_memory(Recipe.from_toml(tmp_path / "r.toml"))
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_missing_values_are_a_value_of_their_own():
    table = pl.DataFrame({"age": [None, None, 30, 30, 31, None], "note": list("abcdef")})
    release = run_in_memory(replace(RECIPE, quasi=("age",), models=(KAnonymity(3),), **NOBODY), table)
    # Three rows of missing values make a class that is released as missing.
    assert release.frame["age"].to_list() == [None, None, "[30-31]", "[30-31]", "[30-31]", None]


NOBODY = {"sensitive": (), "identifier": (), "plain": ("note",), "trees": {}}


def test_rows_with_missing_values_dropped():
    table = pl.DataFrame({"age": [20, None, 30, 21, 31], "note": ["a", "b", None, "d", "e"]})
    recipe = replace(RECIPE, quasi=("age",), models=(KAnonymity(3),), missing="drop", **NOBODY)
    release = run_in_memory(recipe, table)
    assert release.frame["note"].to_list() == ["a", "d", "e"]
    report = release.report
    assert (report.rows, report.dropped_rows, report.released_rows, report.suppressed_rows) == (5, 2, 3, 0)


def test_dropping_counts_what_only_its_type_makes_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,note\n20,a\n?607,b\n30,c\n?,d\n21,e\n,f\n")
    recipe = replace(
        RECIPE,
        quasi=("age",),
        models=(KAnonymity(3),),
        missing="drop",
        reading=ReadOptions(na=("?",)),
        **NOBODY,
    )
    report = run_in_memory(recipe, path).report
    assert (report.rows, report.dropped_rows) == (6, 3)


def test_nothing_left_after_dropping():
    table = pl.DataFrame({"age": [20, None], "note": [None, "b"]})
    recipe = replace(RECIPE, quasi=("age",), missing="drop", **NOBODY)
    with pytest.raises(InputError, match="every row has a missing value \\('age', 'note'\\)"):
        run_in_memory(recipe, table)


def test_missing_values_as_an_error():
    table = pl.DataFrame({"age": [20, 30, None], "note": ["a", "b", "c"]})
    recipe = replace(RECIPE, quasi=("age",), models=(KAnonymity(2),), missing="error", **NOBODY)
    with pytest.raises(InputError, match="values are missing in 'age', first in row 3 of 'age'"):
        run_in_memory(recipe, table)
    assert run_in_memory(recipe, table[:2]).report.released_rows == 2


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ((KAnonymity(81),), "the goal cannot be met: k = 81, but the table has 80 rows"),
        ((DistinctL(4),), "l = 4, but the sensitive column 'illness' has 3 distinct values"),
    ],
)
def test_a_goal_out_of_reach_releases_nothing(source, tmp_path, models, says):
    with pytest.raises(GoalNotMet) as error:
        run_in_memory(replace(RECIPE, models=models, input=str(source), output=str(tmp_path / "release.csv")))
    assert says in str(error.value)
    assert sorted(tmp_path.iterdir()) == [source]


def test_a_goal_out_of_reach_counts_the_rows_that_take_part():
    table = pl.DataFrame({"age": [20, None, 30], "note": list("abc")})
    with pytest.raises(GoalNotMet, match="k = 3, but the table has 2 rows"):
        run_in_memory(
            replace(RECIPE, quasi=("age",), models=(KAnonymity(3),), missing="drop", **NOBODY), table
        )


def test_an_empty_and_a_missing_sensitive_value_are_one():
    table = pl.DataFrame({"age": [1, 2, 3, 4], "illness": ["", None, "flu", ""]})
    recipe = Recipe(("age",), (KAnonymity(2), DistinctL(2)), ("illness",))
    assert run_in_memory(recipe, table).report.classes == 1
    with pytest.raises(GoalNotMet, match="'illness' has 2 distinct values"):
        run_in_memory(replace(recipe, models=(DistinctL(3),)), table)


class Liar(Algorithm):
    """An algorithm that proposes what does not satisfy the goal."""

    def search(self, problem, on_progress):
        return Proposal(problem.table, np.arange(len(problem.table.weight), dtype=np.int32))


def test_a_poor_algorithm_cannot_release_what_is_unsafe(source, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules["shoal.algorithms"].ALGORITHMS.built_in, "liar", Liar)
    recipe = replace(RECIPE, algorithm=Liar(), output=str(tmp_path / "release.csv"))
    with pytest.raises(GoalNotMet, match=r"nothing is released: k asked \{'k': 4\}, reached 1"):
        run_in_memory(recipe, source)
    assert sorted(tmp_path.iterdir()) == [source]


def steps(recipe, table):
    """Everything that a run announces."""
    said = []
    run_in_memory(recipe, table, lambda doing, done: said.append((doing, done)))
    return said


def test_progress_names_every_phase_and_grows_in_each(source, tmp_path):
    said = steps(replace(RECIPE, output=str(tmp_path / "release.csv")), source)
    every = list(dict.fromkeys(doing for doing, _ in said))
    phases = [p for p in every if not p.split()[0].endswith("ing")]
    assert phases == ["read", "search", "recode", "verify", "write"]
    for phase in every:
        done = [share for doing, share in said if doing == phase]
        assert done == sorted(done)
        # What a search does meanwhile ends when it has found enough.
        assert 0 <= done[0] <= done[-1] <= 1
        assert done[-1] == 1 or phase not in phases


@pytest.mark.slow
def test_an_interrupt_in_any_phase_leaves_nothing_behind(source, tmp_path):
    output = tmp_path / "release.csv"
    # An algorithm that tells its steps by their number, and not by the clock.
    recipe = replace(RECIPE, input=str(source), output=str(output), algorithm=Mondrian())
    said = steps(recipe, None)
    whole = output.read_bytes()
    output.unlink()
    before = source.read_bytes()
    for stop, step in enumerate(said):
        calls = iter(range(len(said)))

        def interrupt(doing, done, stop=stop, calls=calls):
            if next(calls) == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_in_memory(recipe, None, interrupt)
        if step == ("write", 1.0):  # the file stands already, whole
            assert output.read_bytes() == whole
            output.unlink()
        assert sorted(tmp_path.iterdir()) == [source]
    assert source.read_bytes() == before


def test_the_output_is_never_an_input(source, tmp_path):
    (tmp_path / "trees").mkdir()
    tree = tmp_path / "trees" / "job.csv"
    tree.write_text("mason;*\nsmith;*\nclerk;*\njudge;*\n")
    (tmp_path / "link.csv").symlink_to(source)
    before = source.read_bytes()
    simple = replace(RECIPE, trees={})
    for recipe, given in (
        (replace(simple, input=str(source), output=str(source)), None),
        (replace(simple, output=str(source)), source),
        (replace(simple, output=str(source)), str(source)),
        (replace(simple, output=str(tmp_path / "link.csv")), source),
        (replace(simple, output=str(source)), read_table(source)),
        (replace(simple, hierarchies=(f"job={tree}",), output=str(tree)), source),
        (replace(simple, hierarchies=(str(tree.parent),), output=str(tree)), source),
    ):
        with pytest.raises(OutputError, match="is an input of this run"):
            run_in_memory(recipe, given)
    with pytest.raises(OutputError, match="is an input of this run"):
        run_in_memory(RECIPE, source).write(source)
    assert source.read_bytes() == before
    assert tree.read_text().startswith("mason;")


def test_an_output_that_cannot_be_written_is_found_before_the_search(source, tmp_path):
    said = []
    with pytest.raises(OutputError, match="there is no folder"):
        run_in_memory(
            replace(RECIPE, output=str(tmp_path / "no" / "release.csv")),
            source,
            lambda *step: said.append(step),
        )
    assert said == []


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"quasi": ("Age",), "trees": {}}, "people.csv: unknown column 'Age': did you mean 'age'?"),
        ({"sensitive": ("ilness",)}, "unknown column 'ilness': did you mean 'illness'?"),
        ({"plain": ("notes",)}, "unknown column 'notes': did you mean 'note'?"),
        ({"types": {"cost": "integer"}}, "unknown column 'cost'"),
        ({"orders": {"size": ("S",)}}, "unknown column 'size'"),
        ({"models": (DistinctL(2, "note"),)}, "unknown sensitive column 'note': there are 'illness'"),
        ({"models": (DistinctL(2),), "sensitive": ()}, "distinct-l(l=2) needs a sensitive column"),
    ],
)
def test_a_recipe_that_does_not_fit_the_table(source, settings, says):
    with pytest.raises(RecipeError) as error:
        run_in_memory(replace(RECIPE, **settings), source)
    assert says in str(error.value)


def test_nothing_to_anonymize():
    with pytest.raises(RecipeError, match="the recipe names no input, and none was given"):
        run_in_memory(RECIPE)


def test_warnings_name_what_the_user_should_look_at(tmp_path):
    table = pl.DataFrame(
        {
            "id": list(range(8)),
            "constant": ["x"] * 8,
            "job": ["mason"] * 7 + ["pirate"],
            "left": ["=1+1"] + ["fine"] * 7,
        }
    )
    recipe = Recipe(("id", "constant", "job"), (KAnonymity(2),), trees={"job": JOBS}, edition=1)
    report = run_in_memory(replace(recipe, output=str(tmp_path / "r.csv")), table).report
    assert report.warnings == (
        "column 'job': the hierarchy does not have 'pirate'; it can only stay or be suppressed",
        "[W01] no role was given for 'left': kept as they are, because this recipe was written for version "
        '0.1; say others = "keep" or "drop" in it',
        "[W02] the types of 'id' depend on the rows, because this recipe was written for version 0.1: text "
        "if something is generalised, and else what they were; say recipe = 2 in it",
        "column 'id' has a different value in every row: is it an identifier?",
        "column 'constant' has one value only",
        "cells that a spreadsheet would run as a formula: 1 in 'left'; --safe-csv neutralises them",
    )
    safe = run_in_memory(
        replace(recipe, plain=("left",), safe_csv=True, output=str(tmp_path / "r.csv")), table
    ).report
    assert len(safe.warnings) == 4
    assert "'=1+1" in (tmp_path / "r.csv").read_text()


def test_warnings_look_at_the_values_and_not_at_the_leaves():
    leaves = Hierarchy.from_rows([[f"v{i}", "*"] for i in range(4)])
    table = pl.DataFrame({"a": ["v0", "v0", "v1", "v1"], "b": ["v2"] * 4})
    report = run_in_memory(
        Recipe(("a", "b"), (KAnonymity(2),), trees={"a": leaves, "b": leaves}), table
    ).report
    assert report.warnings == ("column 'b' has one value only",)


@pytest.mark.parametrize(
    ("render", "age", "job"),
    [
        ("label", "[20-30]", "manual"),
        ("interval", "[20-30]", "[mason..smith]"),
        ("set", "{20, 30}", "{mason, smith}"),
        ("representative", 20, "mason"),
    ],
)
def test_renderings(render, age, job):
    table = pl.DataFrame({"age": [20, 30, 40, 50], "job": ["mason", "smith", "judge", "clerk"]})
    release = run_in_memory(
        Recipe(("age", "job"), (KAnonymity(2),), trees={"job": JOBS}, render=render), table
    )
    assert release.frame.row(0) == (age, job)


def test_the_writers_settings_are_those_of_the_recipe(source, tmp_path):
    run_in_memory(replace(RECIPE, delimiter="|", output=str(tmp_path / "release.txt")), source)
    assert (tmp_path / "release.txt").read_text().startswith("row|age|job|note|colour|illness\n")


def test_the_order_of_categories_can_be_said(source):
    notes = run_in_memory(replace(RECIPE, category_order="appearance"), source).report.notes
    assert notes[0] == "categories of 'colour' were ordered by first appearance"
    assert not any(
        "order" in note
        for note in run_in_memory(replace(RECIPE, quasi=("age",), trees={}), source).report.notes
    )


@pytest.mark.exhaustive
def test_three_hundred_quasi_identifiers():
    rng = np.random.default_rng(3)
    wide = pl.DataFrame({f"c{i}": rng.integers(0, 2000, 40) for i in range(300)})
    report = run_in_memory(Recipe(tuple(wide.columns), (KAnonymity(5),)), wide).report
    assert report.smallest_class >= 5
    assert report.classes >= 2


def test_rows_are_dropped_for_what_is_missing_once_others_are():
    """Found by the fuzzer: '02' makes its column text, where 'NA' is a value; without it, NA is missing."""
    frame = pl.DataFrame({"code": ["1", "7", "1", "7", "NA", "02"], "s": ["x", "y", "x", "y", "x", None]})
    release = anonymize(frame, others="keep", quasi=["code"], sensitive=["s"], k=2, missing="drop")
    assert release.report.dropped_rows == 2
    assert release.frame["code"].to_list() == ["1", "7", "1", "7"]


def test_the_report_counts_people_of_whom_each_is_left_with_one_row():
    table = pl.DataFrame({"id": list("aabcde"), "age": [30, 90, 30, 30, 30, 30]})
    report = anonymize(table, quasi=["age"], person="id", k=3, suppress=0.2, algorithm="lattice").report
    assert (report.released_rows, report.people, report.people_left_out) == (5, 5, 0)
