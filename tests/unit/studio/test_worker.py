"""What the process of a run leaves in its folder."""

import json
import stat
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

from shoal.engines.release import Release
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.studio import worker
from shoal.studio.running import Run
from shoal.table.hierarchies import Hierarchy, read_hierarchies

COLUMNS = ("../../evil", "/etc/x", "Town", "town", "CON", "age")


@pytest.fixture
def done(tmp_path, monkeypatch) -> Path:
    """The folder of a run with a hierarchy for each of the columns."""
    tree = Hierarchy.from_tree({"low": ["1", "2"], "high": ["3", "4"]})
    pl.DataFrame({name: [str(1 + i % 4) for i in range(40)] for name in COLUMNS}).write_csv(
        tmp_path / "people.csv"
    )
    recipe = Recipe(
        quasi=COLUMNS,
        models=(KAnonymity(2),),
        input="people.csv",
        output="people-released.csv",
        types=dict.fromkeys(COLUMNS, "string"),
        trees=dict.fromkeys(COLUMNS, tree),
    )
    (tmp_path / worker.RECIPE).write_text(recipe.to_toml(), "utf-8")
    monkeypatch.setattr(worker, "end_with_parent", lambda: None)
    monkeypatch.setattr(sys, "argv", ["worker", str(tmp_path)])
    worker.main()
    return tmp_path


def test_hierarchies_of_columns_with_any_names_stay_in_their_folder(done, tmp_path_factory):
    place = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(done / worker.TREES) as pack:
        names = pack.namelist()
        pack.extractall(place)
    assert {Path(name).parent for name in names} == {Path("hierarchies")}
    assert len({name.casefold() for name in names}) == len(COLUMNS)
    assert {f"hierarchies/{name}.csv" for name in ("Town", "age")} < set(names)
    found = read_hierarchies(place / "hierarchies", COLUMNS)
    assert [tree.leaves for tree in found.values()] == [("1", "2", "3", "4")] * len(COLUMNS)


def test_nobody_else_may_read_what_a_run_writes(done):
    assert {path.name for path in done.iterdir()} > {worker.TREES, worker.REPORT, worker.RESULT}
    assert {stat.S_IMODE(path.stat().st_mode) for path in done.iterdir()} == {0o600}


@pytest.fixture
def carry_out(tmp_path, monkeypatch):
    """Run a recipe on a table whose column 'cost' is another in every row."""
    pl.DataFrame({"age": [20 + i % 4 for i in range(40)], "cost": [7 * i for i in range(40)]}).write_csv(
        tmp_path / "people.csv"
    )
    monkeypatch.setattr(worker, "end_with_parent", lambda: None)
    monkeypatch.setattr(sys, "argv", ["worker", str(tmp_path)])

    def carry(**settings) -> Run:
        roles = {"quasi": ("age",), "plain": ("cost",), "models": (KAnonymity(4),)}
        recipe = Recipe(**roles, input="people.csv", output="people-released.csv", **settings)
        (tmp_path / worker.RECIPE).write_text(recipe.to_toml(), "utf-8")
        worker.main()
        run = Run(1, recipe, tmp_path, state="done")
        run.report = json.loads((tmp_path / worker.RESULT).read_text("utf-8"))["report"]
        return run

    return carry


def test_what_is_accepted_afterwards_is_in_recipe_and_report_and_the_release_stays(carry_out):
    run = carry_out()
    before = {path.name: path.read_bytes() for path in run.folder.glob("people-released.*")}
    assert {*before} == {"people-released.csv", "people-released.parquet"}
    assert [finding.is_open for finding in run.findings] == [True]
    run.verify_files()
    assert [finding.is_open for finding in run.findings] == [
        True
    ]  # found in the files as well, and told once
    run.record_decision("unique-rows", "a reason")
    assert [finding.accepted for finding in run.findings] == ["a reason"]
    assert Recipe.from_toml(run.folder / worker.RECIPE).accept == {"unique-rows": "a reason"}
    assert "<b>Accepted:</b> a reason" in (run.folder / worker.REPORT).read_text("utf-8")
    for name in (worker.RECIPE, worker.REPORT):
        assert stat.S_IMODE((run.folder / name).stat().st_mode) == 0o600
    assert {path.name: path.read_bytes() for path in run.folder.glob("people-released.*")} == before


def test_a_strict_run_tells_the_findings_for_which_nothing_is_released(carry_out, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        carry_out(strict=True)
    assert stopped.value.code == 3
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [each["id"] for each in told["findings"]] == ["unique-rows"]
    assert not list(tmp_path.glob("people-released.*"))
    assert carry_out(strict=True, accept={"unique-rows": "a reason"}).findings[0].accepted == "a reason"


def test_converted_downloads_are_judged_as_they_are_written(carry_out, monkeypatch):
    judged = []
    judge = Release.judge
    monkeypatch.setattr(
        Release,
        "judge",
        lambda self, path, layout: judged.append(layout.format) or judge(self, path, layout),
    )
    carry_out()
    assert judged == ["text", "parquet"]
