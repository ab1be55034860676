"""What Explore shows of a run, counted by the process that made it."""

import json
from dataclasses import asdict

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.safepub import SafePubScheme
from shoal.engines.api import run as carry_out
from shoal.engines.memory import run_in_memory
from shoal.privacy import KAnonymity, SafePub
from shoal.recipes.recipe import Recipe
from shoal.report import svg
from shoal.studio.attacking import attack_release
from shoal.studio.exploring.frontier import find_front, separate_points
from shoal.studio.exploring.risks import (
    build_gauges,
    build_outsider_gauge,
    build_uniques_gauge,
    judge_limits,
)
from shoal.studio.figures import build_figures
from shoal.studio.insight import RecodedRows, parse_source, source_name, write_rows
from shoal.studio.running import Run
from shoal.studio.worker import RECIPE
from shoal.table import to_strings
from shoal.table.frames import use_safe_name

PEOPLE = pl.DataFrame(
    {
        "name": [f"p{i}" for i in range(12)],
        "^age$": [21, 22, 35, 38, 51, 55, 21, 23, 36, 39, 52, 90],
        "sex": list("ffmmffmmffmm"),
        "illness": list("abababababab"),
    }
)
QUASI = ("^age$", "sex")


def texts(frame: pl.DataFrame, name: str) -> pl.Series:
    return to_strings(use_safe_name(frame[name]))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A run as the studio has it, once it is done."""
    folder = tmp_path_factory.mktemp("run")
    PEOPLE.write_csv(folder / "people.csv")
    recipe = Recipe(
        others="keep",
        quasi=QUASI,
        sensitive=("illness",),
        identifier=("name",),
        models=(KAnonymity(3),),
        input="people.csv",
        output="people-released.csv",
        suppress=0.1,
    )
    (folder / RECIPE).write_text(recipe.to_toml(), "utf-8")
    release = run_in_memory(Recipe.from_toml(folder / RECIPE))
    release.write(folder / "people-released.parquet")
    write_rows(release, folder)
    made = Run(1, recipe, folder, state="done")
    told = {"report": release.report.to_dict(), "figures": build_figures(release)}
    made.report, made.figures = json.loads(json.dumps(told)).values()
    return made, release


def test_every_row_before_and_after_is_that_of_the_release(done):
    made, release = done
    found = RecodedRows.from_folder(made.folder)
    at = np.arange(found.rows)
    names = (QUASI, (*QUASI, "illness"))
    after, lost = found.select_rows(release.table, names, "after", at)
    before, none = found.select_rows(release.table, names, "before", at)
    for column, name in zip(after[1:], names[1], strict=True):
        assert column.to_list() == texts(release.frame, name).to_list()
    assert before[1].to_list() == texts(PEOPLE, "^age$").gather(found.row).to_list()
    assert not np.any(none)
    changed = [[a != b for a, b in zip(x, y, strict=True)] for x, y in zip(after, before, strict=True)]
    assert (np.array(lost)[:, 1:] > 0).T.tolist() == changed[1:], "what changed has lost something"


def test_both_sides_in_a_cell_and_groups_together(done):
    made, release = done
    found = RecodedRows.from_folder(made.folder)
    both, _ = found.select_rows(release.table, (QUASI, QUASI), "both", found.grouped)
    ages = both[1].to_list()
    assert any(" → [" in text for text in ages)
    sizes = [int(size) for size in both[0]]
    assert min(sizes) >= 3
    assert np.all(np.diff(found.of[found.grouped]) >= 0)


def test_sources_of_the_grid():
    assert parse_source(source_name(3, "after", True)) == (3, "after", True)
    assert parse_source("table") is None
    assert parse_source("run-x-both") is None
    assert parse_source("run-1-sideways") is None


def test_gauges_are_those_of_the_report(done):
    made, release = done
    after = asdict(release.report.evidence.sizes_after.compute_risk())
    highest, alone, all_guessed, small = build_gauges(made)
    assert highest.after == after["highest"] == 1 / release.report.smallest_class
    assert (alone.after, all_guessed.after, small.after) == (0, after["average"], after["below_5"])
    assert highest.before == 1
    assert build_outsider_gauge(made, 0.01).after < build_outsider_gauge(made, 1.0).after == highest.after


def test_limits_are_judged_for_every_attacker(done):
    made, _ = done
    strict, loose = judge_limits(made, 0.1, 0.0), judge_limits(made, 0.4, 0.0)
    assert [each.attacker.partition(":")[0] for each in loose] == ["prosecutor", "marketer"]
    assert [each.holds for each in loose] == [True, True]
    assert [each.holds for each in strict] == [False, False]
    assert (loose[0].before, loose[0].after) == (1, 0)  # all stood alone, and none does now
    assert judge_limits(made, 0.1, 1.0)[0].holds  # every row may be above it
    journalist = judge_limits(made, 0.1, 0.0, fraction=0.001)[1]
    assert journalist.attacker.startswith("journalist")
    assert journalist.after <= strict[0].after


def test_the_uniques_of_the_population_are_estimated(done):
    made, _ = done
    gauge = build_uniques_gauge(made, 0.1)
    assert gauge.after <= gauge.before <= 1
    assert "of 120 people" in gauge.words or "of 110 people" in gauge.words


def test_the_front_has_what_no_other_beats():
    points = [(0.2, 0.1), (0.1, 0.2), (0.2, 0.3), (0.1, 0.2)]
    assert find_front(points) == [(0.1, 0.2), (0.2, 0.1)]
    drawn, places = svg.draw_plane("t", points, find_front(points), "<across>", "up")
    assert "&lt;across&gt;" in drawn
    assert all(0 < x < 1 and 0 < y < 1 for x, y in places)
    assert len(set(separate_points(places))) == 4


def test_attacks_with_and_without_people_held_back(done):
    made, _ = done
    alone = attack_release(made.folder, 0.0, 10)
    assert alone["control"] == 0
    assert {each["grade"] for each in alone["attacks"]} == {"unknown"}
    compared = attack_release(made.folder, 0.25, 10)
    assert compared["control"] == 3
    assert (alone["combinations"]["control"], compared["combinations"]["of_control"]) == (None, 3)
    assert "can be read off the released cells" in compared["combinations"]["verdict"]
    assert {"linkage", "membership"} <= {each["name"] for each in compared["attacks"]}
    assert {each["grade"] for each in compared["attacks"]} <= {"unknown", "none", "small", "clear", "serious"}


def test_people_with_several_rows(tmp_path):
    frame = PEOPLE.with_columns(name=pl.Series([f"p{i // 2}" for i in range(12)]))
    frame.write_csv(tmp_path / "people.csv")
    settings = {"quasi": QUASI, "sensitive": ("illness",), "person": "name", "models": (KAnonymity(2),)}
    recipe = Recipe(**settings, input="people.csv", output="people-released.csv")
    (tmp_path / RECIPE).write_text(recipe.to_toml(), "utf-8")
    release = run_in_memory(Recipe.from_toml(tmp_path / RECIPE))
    release.write(tmp_path / "people-released.parquet")
    found = build_figures(release)["explore"]["en"]["known_rows"]
    assert "2 rows" in found["chart"]
    assert any("looked for by itself" in sentence for sentence in found["words"])
    for held_back in (0.0, 0.34):
        told = attack_release(tmp_path, held_back, 10)
        names = [each["name"] for each in told["attacks"]]
        assert names[:2] == ["1 row known", "2 rows known"]
        assert told["combinations"] is None
        assert {each["rate"]["successes"] for each in told["attacks"][:2]} == {0}


def test_without_people_there_is_no_curve_of_known_rows(done):
    assert done[0].drawn["known_rows"] is None


@pytest.mark.parametrize("rows", [600, 3])
def test_of_a_private_sample_nothing_is_shown_but_the_release(rows, tmp_path):
    people = pl.DataFrame({"age": [20 + i % 2 for i in range(rows)], "town": ["Bonn"] * rows})
    people.write_csv(tmp_path / "people.csv")
    recipe = Recipe(
        quasi=("age", "town"),
        models=(SafePub(1.0, 0.1),),
        algorithm=SafePubScheme("age=0,town=0"),
        input=str(tmp_path / "people.csv"),
    )
    release = carry_out(recipe)
    write_rows(release, tmp_path)
    found = build_figures(release)
    json.dumps(found)
    assert (release.report.released_rows > 0) == (rows == 600)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    assert found["before"] is None
    assert list(found["explore"]["sizes"]) == ["after"]
    assert len(found["explore"]["en"]["columns"]) == (2 if rows == 600 else 0)
    assert "efore" not in json.dumps(found["explore"])
    assert Run(1, recipe, tmp_path).released_only
