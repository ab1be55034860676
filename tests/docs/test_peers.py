"""The comparison with other programs: its page is what the figures say, and its count is right by hand."""

from pathlib import Path

import polars as pl
import pytest
from benchmarks.peers import counting, page
from benchmarks.peers.__main__ import RESULTS
from benchmarks.peers.measuring import Limits, Results, measure, run, run_limited
from benchmarks.peers.programs import POINTS, PROGRAMS, SHOAL, TILDES
from benchmarks.peers.tables import Table, prepare

import shoal
from shoal.table.samples import write_sample

DOCS = Path(__file__).parents[2] / "docs"
TREE = "a;x;*\nb;x;*\nc;y;*\nd;y;*\n"


@pytest.fixture
def trees(tmp_path):
    folder = tmp_path / "trees"
    folder.mkdir()
    (folder / "job.csv").write_text(TREE, "utf-8")
    return folder


@pytest.fixture
def count(tmp_path, trees):
    def count(table, release, kinds, notation=SHOAL):
        for name, text in (("table", table), ("release", release)):
            (tmp_path / f"{name}.csv").write_text(text, "utf-8")
        return counting.count(tmp_path / "table.csv", tmp_path / "release.csv", kinds, trees, notation)

    return count


def test_the_page_is_what_the_figures_say():
    results = Results(RESULTS)
    assert (DOCS / "peers.md").read_text("utf-8") == page.make_page(results)
    for name, picture in page.make_pictures(results).items():
        assert (DOCS / name).read_text("utf-8") == picture


def test_a_release_with_ranges_sets_and_labels(count):
    kinds = {"age": "number", "town": "category", "job": "tree"}
    table = "age,town,job\n10,p,a\n20,q,b\n30,p,c\n50,r,d\n"
    release = 'age,town,job\n[10-20],"{p, q}",x\n[10-20],"{p, q}",x\n*,*,*\n50,r,d\n'
    found = count(table, release, kinds)
    age, town, job = (0.25 + 0.25 + 1) / 4, (0.5 + 0.5 + 1) / 4, (1 / 3 + 1 / 3 + 1) / 4
    assert found.ncp == pytest.approx((age + town + job) / 3)
    assert (found.rows, found.released, found.smallest, found.classes, found.untrue) == (4, 3, 1, 2, 0)


def test_rows_that_are_left_out_lose_all(count):
    found = count("job\na\nb\nc\nd\n", "job\nx\nx\n", {"job": "tree"})
    assert found.ncp == pytest.approx((1 / 3 + 1 / 3 + 2) / 4)
    assert found.generalised == pytest.approx(found.ncp)
    assert (found.released, found.untrue) == (2, None)


def test_a_cell_that_does_not_cover_the_true_value_is_seen(count):
    table, kinds = "age,job\n10,a\n20,c\n", {"age": "number", "job": "tree"}
    assert count(table, "age,job\n[10-20],x\n[10-20],x\n", kinds).untrue == 1
    assert count(table, "age,job\n[11-20],*\n[11-20],*\n", kinds).untrue == 1


def test_squared_errors_and_negative_numbers(count):
    found = count("x\n-4\n-2\n2\n4\n", "x\n[-4..-2]\n[-4..-2]\n[2..4]\n[2..4]\n", {"x": "number"})
    assert found.ncp == pytest.approx(2 / 8)
    assert found.squared_error == pytest.approx(4 / 40)


def test_values_that_stand_for_a_class_lose_its_range(count):
    found = count(
        "x,y\n0,p\n2,q\n8,p\n10,p\n", "x,y\n0,p\n0,p\n8,p\n8,p\n", {"x": "number", "y": "category"}, POINTS
    )
    assert found.ncp == pytest.approx((2 / 10 + (1 + 0) / 2) / 2)


def test_tildes_of_mondrian_in_c(count):
    found = count("x,y\n0,p\n10,q\n", "x,y\n0~10,q~p\n0~10,q~p\n", {"x": "number", "y": "category"}, TILDES)
    assert (found.ncp, found.smallest, found.untrue) == (1, 2, None)


@pytest.mark.parametrize(
    ("release", "said"),
    [("job\nz\n", "'z' is no label"), ("work\na\n", "no release"), ("job\na\nb\nc\n", "3 rows")],
)
def test_what_cannot_be_counted_is_an_error(count, release, said):
    with pytest.raises(ValueError, match=said):
        count("job\na\nb\n", release, {"job": "tree"})


@pytest.mark.slow
def test_it_counts_what_shoal_reports(tmp_path):
    sample = tmp_path / "sample.csv"
    write_sample("hospital", str(sample), rows=1200)
    quasi = ("age", "sex", "education", "marital_status")
    task = prepare(Table("own", "own", str(sample), quasi), tmp_path / "task")
    release = shoal.anonymize(pl.read_csv(task.csv), quasi=list(quasi), k=4, algorithm="mondrian")
    release.frame.write_csv(tmp_path / "release.csv")
    found = counting.count(task.csv, tmp_path / "release.csv", task.kinds, task.trees, SHOAL)
    assert found.ncp == pytest.approx(release.report.ncp, abs=1e-9)
    assert (found.smallest, found.classes, found.untrue) == (
        release.report.smallest_class,
        release.report.classes,
        0,
    )


@pytest.mark.slow
def test_a_run_fills_the_cells_and_goes_on_where_it_ended(tmp_path, monkeypatch):
    monkeypatch.delenv("ANONYPY_PYTHON", raising=False)
    file = tmp_path / "own.csv"
    file.write_text("age,town\n" + "".join(f"{20 + i % 30},{'pqr'[i % 3]}\n" for i in range(200)), "utf-8")
    table, results = (
        Table("own", "own", str(file), ("age", "town"), ks=(5,)),
        Results(tmp_path / "results.json"),
    )
    said = []
    for _ in range(2):
        run([table], ["shoal-mondrian", "anonypy"], results, Limits(), tmp_path / "work", False, said.append)
        results = Results(tmp_path / "results.json")
    assert [line.split(":")[0] for line in said] == ["own shoal-mondrian 5", "own anonypy 5"]
    cell = results.cells["own shoal-mondrian 5"]
    assert (cell["status"], cell["smallest"] >= 5, cell["untrue"]) == ("done", True, 0)
    assert results.cells["own anonypy 5"]["reason"] == "not here (ANONYPY_PYTHON is not set)"
    assert "| 5 | Shoal, `mondrian` | **" in page.make_page(results)


def test_what_uses_too_much_is_stopped(tmp_path):
    waste = ["python3", "-c", "while True: pass"]
    assert run_limited(waste, Limits(seconds=0.2), tmp_path).stopped == "time"
    hold = ["python3", "-c", "import time; held = bytearray(200_000_000); time.sleep(60)"]
    assert run_limited(hold, Limits(bytes=100_000_000), tmp_path).stopped == "memory"


def test_a_program_that_fails_is_said_to(tmp_path, monkeypatch):
    file = tmp_path / "own.csv"
    file.write_text("age\n1\n2\n", "utf-8")
    task = prepare(Table("own", "own", str(file), ("age",)), tmp_path / "task")
    monkeypatch.setenv("ANONYPY_PYTHON", "false")
    cell = measure(PROGRAMS["anonypy"], task, 2, Limits(), tmp_path)
    assert (cell["status"], cell["reason"]) == ("failed", "exit code 1")
