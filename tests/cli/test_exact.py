"""Exact search and evolution from the command line: what is refused, what is shown, and what is seen live."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

MINGEN = ("-k", 2, "-a", "mingen")
GENETIC = ("-k", 2, "-a", "genetic", "--set", "generations=5")
TREES = "town/north: Aston, Bury\ntown/south: Cowes, Deal\n"


@pytest.fixture
def small(write):
    """Five rows with an integer, a category, a column with a hierarchy, a sensitive and a plain one."""
    write("domains.txt", TREES)
    return write(
        "small.csv",
        "age,sex,town,ill,note\n21,f,Aston,x,1\n35,f,Aston,y,2\n41,m,Cowes,x,3\n52,f,Deal,z,4\n38,m,Cowes,y,5\n",
    )


BY_POSITION = ("small.csv", "--roles", "q,q,q,s,i", "--types", "i,s", "--hierarchies", "domains.txt")


def words(text: str) -> str:
    return " ".join(text.split())


# What cannot be used


@pytest.mark.parametrize("algorithm", ["mingen", "genetic"])
@pytest.mark.parametrize("semantics", ["classes", "matching"])
def test_k_above_the_number_of_rows(shoal, small, algorithm, semantics):
    goal = ("-k", 6, "-a", algorithm, "--set", f"semantics={semantics}", "-o", "release.csv")
    assert "k = 6, but the table has 5 rows" in shoal.fails(3, "anonymize", *BY_POSITION, *goal)


@pytest.mark.parametrize("goal", [MINGEN, GENETIC], ids=["mingen", "genetic"])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--types", "s,i"), "column 'sex' has values that are not integers"),
        (("--weight", "height=2"), "a weight is given for 'height'"),
        (("--weight", "note=2"), "a weight is given for 'note'"),
        (("--weights", "1,1,1,1"), "--weights has 4 entries, but there are 3"),
        (("--loss", "entropy"), "'distortion'"),
        (("--set", "semantics=loose"), "'classes', 'matching'"),
        (("--l", 2, "--set", "semantics=matching"), "semantics=classes"),
        (("--set", "seconds=0"), "seconds must be above 0"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_settings_that_cannot_be_used(shoal, small, goal, given, says):
    assert says in words(shoal.fails(2, "anonymize", *BY_POSITION, *goal, *given, "-o", "release.csv"))


@pytest.mark.parametrize("goal", [MINGEN, GENETIC], ids=["mingen", "genetic"])
def test_a_value_that_its_hierarchy_does_not_have(shoal, write, small, goal):
    write("domains.txt", TREES.replace(", Deal", ""))
    shown = words(shoal.succeeds("anonymize", *BY_POSITION, *goal, "-o", "release.csv"))
    assert "'Deal'" in shown
    assert set(pl.read_csv(shoal.folder / "release.csv")["town"]) <= {"Aston", "Cowes", "north", "Deal", "*"}


def test_ten_thousand_rows_are_refused_with_advice_unless_forced(shoal, write):
    a, b = np.divmod(np.arange(10_000), 100)
    write("table.csv", "a,b\n" + "".join(f"{x},{y}\n" for x, y in zip(a, b, strict=True)))
    says = words(shoal.fails(2, "anonymize", "table.csv", "-q", "a,b", *MINGEN, "-o", "release.csv"))
    assert "up to 200 distinct rows; this one has 10000" in says
    assert "take --algorithm mondrian, or genetic to improve on it, or insist with --set force=true" in says
    forced = ("--set", "force=true", "--set", "seconds=5", "--json")
    found = json.loads(shoal.succeeds("anonymize", "table.csv", "-q", "a,b", *MINGEN, *forced))
    assert found["smallest_class"] >= 2
    assert found["lower_bound"] <= found["loss"]["value"]


# What is shown


def test_roles_and_types_by_position(shoal, small):
    shoal.succeeds("anonymize", *BY_POSITION, *MINGEN, "--loss", "certainty", "-o", "release.csv")
    released = pl.read_csv(shoal.folder / "release.csv", infer_schema=False)
    assert released.columns == ["age", "sex", "town", "ill", "note"]
    assert released["ill"].to_list() == ["x", "y", "x", "z", "y"]
    assert released["note"].to_list() == ["1", "2", "3", "4", "5"]
    assert released["sex"].to_list() == ["f", "f", "m", "f", "m"]
    found = json.loads(shoal.succeeds("anonymize", *BY_POSITION, *MINGEN, "--json"))
    assert [found["columns"][name]["type"] for name in ("age", "sex", "town")] == [
        "integer", "string", "string",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("semantics", ["classes", "matching"])
def test_weights_of_any_sign(shoal, small, semantics):
    goal = (*MINGEN, "--set", f"semantics={semantics}", "--loss", "certainty", "--json", "-o", "release.csv")
    found = json.loads(shoal.succeeds("anonymize", *BY_POSITION, *goal, "--weights", "1,0,-1"))
    assert found["optimal"]
    released = pl.read_csv(shoal.folder / "release.csv", infer_schema=False)
    assert set(released["town"]) == {"*"}  # which is a gain
    heavy = json.loads(shoal.succeeds("anonymize", *BY_POSITION, *goal, "--weight", "sex=20"))
    assert heavy["loss"]["columns"]["sex"] == 0.0


def test_a_star_in_a_hierarchy_is_its_top(shoal, write, small):
    lines = [("Aston", "north"), ("Bury", "north"), ("Cowes", "south"), ("Deal", "south")]
    write("town.csv", "".join(f"{town};{part};*\n" for town, part in lines))
    plain = json.loads(shoal.succeeds("anonymize", *BY_POSITION, *MINGEN, "--json"))
    starred = [*BY_POSITION[:-1], "town=town.csv"]
    found = json.loads(shoal.succeeds("anonymize", *starred, *MINGEN, "--json"))
    assert found["loss"] == plain["loss"]
    assert found["search_space"] == plain["search_space"]


@pytest.mark.slow
def test_the_optimal_tables_and_how_they_were_found(shoal, small):
    goal = (*MINGEN, "--loss", "distortion", "--set", "semantics=matching")
    lines = [words(line) for line in shoal.succeeds("anonymize", *BY_POSITION, *goal).splitlines()]
    found = json.loads(shoal.succeeds("anonymize", *BY_POSITION, *goal, "--json"))
    assert found["solutions"] > 1
    assert f"least loss {found['loss']['value']:.4f}, proved: optimal" in lines
    assert f"optimal tables {found['solutions']}" in lines
    assert any(line.startswith(f"states {found['nodes']} in ") for line in lines)
    assert any(line.startswith("search space ") for line in lines)
    assert any(line.endswith("times fewer states than tables") for line in lines)
    assert any(line.startswith("pruned ") for line in lines)
    titles = [line for line in lines if line.startswith("optimal table ")]
    assert titles[0].startswith(f"optimal table 1 of {found['solutions']} optimal table 2 of")
    assert any("≠" in line for line in lines[lines.index(titles[0]) + 2 :])


def test_a_search_that_was_ended_says_what_it_proved(shoal, small):
    goal = (*MINGEN, "--set", "semantics=matching", "--set", "iterations=2")
    shown = words(shoal.succeeds("anonymize", *BY_POSITION, *goal))
    found = json.loads(shoal.succeeds("anonymize", *BY_POSITION, *goal, "--json"))
    assert not found["optimal"]
    assert f"not proved to be the least; gap up to {100 * found['gap']:.2f} %" in shown
    assert "best table found" in shown


def test_the_curve_of_an_evolution(shoal, people):
    goal = ("people.csv", "-q", "age,sex,zip", "-k", 3, "-a", "genetic", "--set", "generations=8")
    shown = words(shoal.succeeds("anonymize", *goal))
    found = json.loads(shoal.succeeds("anonymize", *goal, "--json"))
    assert len(found["history"]) > 1
    for name, at in (("best", 0), ("mean", 1)):
        first, last = found["history"][0][at], found["history"][-1][at]
        line = shown.partition(f"{name} loss ")[2].split()
        assert (line[0], line[2]) == (f"{first:.4f}", f"{last:.4f}")
        assert len(line[1]) == len(found["history"])


@pytest.mark.exhaustive
def test_quiet_shows_nothing_and_json_nothing_else(process, small):
    done = process("anonymize", *BY_POSITION, *MINGEN, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = process("anonymize", *BY_POSITION, *GENETIC, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["history"]


# What is seen live


@pytest.fixture
def hard(tmp_path):
    """A search on some rows for which no proof is to be had soon."""

    def line(rows: int, k: int) -> tuple[object, ...]:
        rng = np.random.default_rng(1)
        pl.DataFrame({name: rng.integers(0, 12, rows) for name in "abcd"}).write_csv(tmp_path / "hard.csv")
        return ("anonymize", "hard.csv", "-q", "a,b,c,d", "-k", k, "-o", "release.csv")

    return line


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
@pytest.mark.parametrize(
    ("rows", "k", "settings", "seen"),
    [
        pytest.param(
            *(22, 3, ("mingen", "semantics=matching"), ("HiGHS", "best", "bound", "gap")),
            marks=pytest.mark.exhaustive,
        ),
        (40, 4, ("mingen", "semantics=classes"), ("pricing groups", "best", "bound", "gap", "states", "/s")),
        (200, 3, ("genetic", "patience=1000"), ("evolving", "generation", "best", "mean")),
    ],
    ids=["matching", "classes", "genetic"],
)
def test_the_search_is_seen_live_and_can_be_interrupted(tmp_path, hard, rows, k, settings, seen):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    name, setting = settings
    line = [sys.executable, "-m", "shoal", *map(str, hard(rows, k)), "-a", name, "--set", setting]
    process = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while not all(word.encode() in shown for word in seen):
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        while b"left behind" not in shown:
            shown += os.read(ours, 4096)
        assert process.communicate(timeout=60)[0] == b""
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert process.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["hard.csv"]
    # both lines are cleared: that of the bar and that of the figures
    assert b"\r\x1b[2K\x1b[1A\x1b[2K\x1b[?25hinterrupted" in shown


# Every table of least loss, and files and lists of other programs


def test_every_optimal_table_is_shown_listed_and_written(shoal, small):
    goal = (*MINGEN, "--loss", "distortion", "--set", "semantics=matching", "--all-solutions")
    shown = words(shoal.succeeds("anonymize", *BY_POSITION, *goal, "-o", "release.csv"))
    found = json.loads(shoal.succeeds("anonymize", *BY_POSITION, *goal, "--json"))
    count = found["solutions"]
    assert len(found["tables"]) == count > 1
    assert f"optimal table {count} of {count}" in shown
    files = ["release.csv", *(f"release-{number}.csv" for number in range(2, count + 1))]
    written = [pl.read_csv(shoal.folder / name, infer_schema=False).to_dicts() for name in files]
    assert written == found["tables"]
    assert len({str(table) for table in written}) == count
    assert not (shoal.folder / f"release-{count + 1}.csv").exists()


def test_a_search_without_a_proof_has_no_solutions_to_list(shoal, small):
    says = words(shoal.fails(2, "anonymize", *BY_POSITION, "-k", 2, "--all-solutions"))
    assert "only an exact search knows them: take --algorithm mingen" in says
    dash = (*MINGEN, "--all-solutions", "-o", "-")
    assert "--all-solutions writes several files" in words(shoal.fails(2, "anonymize", *BY_POSITION, *dash))


@pytest.mark.parametrize(
    "given", [("--roles", "q,q,q,s,i,q"), ("--types", "i,s,s,s,s,s"), ("--weights", "1,1,1,1")]
)
def test_lists_longer_than_the_table_are_an_error_unless_lenient(shoal, small, given):
    roles = () if given[0] == "--roles" else ("--roles", "q,q,q,s,i")
    options = ("small.csv", *roles, *given, *MINGEN)
    assert "leave out the surplus ones, or say --lenient" in words(shoal.fails(2, "anonymize", *options))
    assert json.loads(shoal.succeeds("anonymize", *options, "--json", "--lenient"))["optimal"]


LINED = "age, job, sex, note\n0, 1, 2\n39, clerk, m, a\n50, cook, m, b\n38, cook, f, c\n53, cook, m, d\n"


def test_numbers_of_columns_in_the_second_line(shoal, write):
    write("lined.csv", LINED)
    goal = ("--quasi", "line:2", "--others", "drop", "-k", 2, "-o", "release.csv", "--recipe-out", "r.toml")
    shoal.succeeds("anonymize", "lined.csv", *goal)
    released = (shoal.folder / "release.csv").read_bytes()
    assert released.startswith(b"age,job,sex\n")
    assert b" clerk" not in released
    assert released.count(b"\n") == 5
    (shoal.folder / "release.csv").unlink()
    shoal.succeeds("run", "r.toml")
    assert (shoal.folder / "release.csv").read_bytes() == released


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (LINED, 3, "line 3 must have the numbers of columns"),
        (LINED, 9, "has 6 lines, and none with the number 9"),
        (LINED.replace("0, 1, 2", "0, 7"), 2, "line 2 names column 7, but the last one is 3"),
    ],
)
def test_a_line_that_has_no_numbers_of_columns(shoal, write, text, line, says):
    write("lined.csv", text)
    assert says in words(
        shoal.fails(2, "anonymize", "lined.csv", "-q", f"line:{line}", "--others", "drop", "-k", 2)
    )


def test_a_line_of_numbers_is_refused_where_it_would_not_be_read(shoal, write):
    write("lined.csv", LINED)
    goal = ("-q", "line:2", "--others", "drop", "-k", 2, "--memory", "1GB", "-o", "release.csv")
    assert "is read whole, in memory" in words(shoal.fails(2, "anonymize", "lined.csv", *goal))


def test_code_numbers_instead_of_values(shoal, small):
    goal = ("-k", 2, "-a", "mingen", "--set", "sets=true", "--render", "code", "-o", "release.csv")
    shoal.succeeds("anonymize", *BY_POSITION, *goal)
    released = pl.read_csv(shoal.folder / "release.csv", infer_schema=False)
    cells = [cell for name in ("age", "sex", "town") for cell in released[name]]
    assert all(set(cell) <= set("0123456789[]-{}, *") for cell in cells)
    shoal.succeeds("anonymize", *BY_POSITION, *goal[:-4], "-o", "values.csv")
    values = pl.read_csv(shoal.folder / "values.csv", infer_schema=False)
    # the same classes, and neither values nor their order of magnitude
    classes = [frame.select("age", "sex", "town").rows() for frame in (released, values)]
    same = [[row == other for other in rows] for rows in classes for row in rows]
    assert same[:5] == same[5:]
    assert "52" not in (shoal.folder / "release.csv").read_text()
