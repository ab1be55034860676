"""The commands search and minimize."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from shoal.cli.arguments import parse_numbers
from shoal.errors import RecipeError


@pytest.fixture
def survey(tmp_path):
    """A table in which the sex is seen in the height, and some of it is missing."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 160)
    height = np.where(sex == "m", 180, 165) + rng.integers(-8, 9, 160)
    rows = [
        f"{i},{18 + i % 50},{height[i]},{rng.choice(['a', 'b', ''])},{rng.choice(['x', 'y', 'z'])},"
        f"{sex[i] if i % 40 else ''},2024-01-{i % 28 + 1:02}"
        for i in range(160)
    ]
    path = tmp_path / "survey.csv"
    path.write_text("id,age,height,town,illness,sex,day\n" + "\n".join(rows) + "\n")
    return path


SEARCH = ["--target", "sex", "-q", "age,height,town", "-s", "illness", "--identifier", "id"]
SEARCH += ["--estimator", "decision-tree", "--splits", "1"]


def test_search_shows_every_pair_and_the_one_to_take(shoal, survey):
    done = shoal("search", survey, *SEARCH, "-k", "4,8", "--l", "2..3")
    assert done.code == 0
    assert "4 rows without a value of 'sex' are left out" in done.err
    assert [line.split()[:2] for line in done.out.splitlines()[1:5]] == [
        ["4", "2"],
        ["4", "3"],
        ["8", "2"],
        ["8", "3"],
    ]
    assert "raw rows" in done.out
    assert "take k = " in done.out


def test_search_compares_what_is_trained_on(shoal, survey):
    both = ("--training", "representatives", "--training", "draws")
    done = shoal("search", survey, *SEARCH, "-k", "4,8", *both)
    assert "k = 8: of the algorithms, tree and " in done.err + done.out
    rows = json.loads(shoal("search", survey, *SEARCH, "-k", "4", *both, "--json", "--quiet").out)["results"]
    assert [row["training"] for row in rows] == ["representatives", "draws"]
    said = shoal.fails(2, "search", survey, *SEARCH, "--training", "rows", "--quiet")
    assert "unknown training 'rows'" in said


def test_search_as_json_and_as_a_page(shoal, survey, tmp_path):
    report = tmp_path / "page.html"
    done = shoal("search", survey, *SEARCH, "-k", "4", "--json", "--quiet", "--report", report)
    found = json.loads(done.out)
    assert (found["score"], len(found["results"]), found["best"]["k"]) == ("accuracy", 1, 4)
    assert found["raw_score"] > 0.6
    page = report.read_text("utf-8")
    assert "<table>" in page
    assert 'src="http' not in page


def test_a_search_without_any_result_ends_with_3(shoal, survey):
    done = shoal("search", survey, *SEARCH, "-k", "10", "--l", "9")
    assert done.code == 3
    assert "has 3 distinct values" in " ".join(done.out.split())


def test_minimize_says_what_is_needed_and_writes_it(shoal, survey, tmp_path):
    out = tmp_path / "less.csv"
    settings = ["--target", "sex", "--identifier", "id", "--estimator", "decision-tree"]
    done = shoal("minimize", survey, *settings, "--target-score", "0.8", "-o", out)
    assert done.code == 0
    assert "the target 0.8 is kept on unseen rows with a confidence of 95%" in " ".join(done.out.split())
    assert "town     not needed" in done.out
    lines = out.read_text().splitlines()
    assert lines[0] == "age,height,town,illness,sex,day"
    assert len(lines) == 161
    assert len({line.split(",")[2] for line in lines[1:]}) == 1
    settings += ["--json", "--keep", "town", "--quiet", "--target-score"]
    found = json.loads(shoal("minimize", survey, *settings, "0.8").out)
    assert found["columns"]["town"]["how"] == "untouched"
    assert 0 < found["ncp"] <= 1
    assert found["guarantee"]["claimed"]
    assert found["unseen_rows"] == found["guarantee"]["rows"] == 22
    # 149 rows without a miss would be needed, and there are 78.
    found = json.loads(shoal("minimize", survey, *settings, "0.98").out)
    assert (found["ncp"], found["guarantee"]["claimed"]) == (0, False)
    assert found["guarantee"]["needed_rows"] == 298


def test_minimize_with_a_fitted_model_costs_and_boxes(shoal, survey, fitted, tmp_path):
    line = ["minimize", survey, "--target", "sex", "--identifier", "id", "--target-score", "0.8", "--quiet"]
    assert "--trust-model" in shoal.fails(2, *line, "--load-model", fitted)
    line += ["--load-model", fitted, "--trust-model"]
    assert "a number for 'height', not 'dear'" in shoal.fails(2, *line, "--cost", "height=dear")
    assert "unknown cells 'cubes'" in shoal.fails(2, *line, "--cells", "cubes")
    line += ["--json"]
    found = json.loads(shoal(*line).out)
    assert found["boxes"] is None
    assert found["guarantee"]["rows"] > 22  # no row trains anything, so that more are guards
    assert json.loads(shoal(*line, "--cost", "height=0").out)["columns"]["height"] == {"how": "untouched"}
    page = tmp_path / "boxes.html"
    found = json.loads(shoal(*line, "--cells", "boxes", "--report", page).out)
    assert found["guarantee"]["claimed"]
    assert [list(box["where"]) for box in found["boxes"]] == [["height"], ["height"]]
    assert "height above" in page.read_text("utf-8")


def test_search_by_the_protocol_that_minimises(shoal, survey):
    settings = [*SEARCH, "-k", "4", "--l", "2..3", "--quiet"]
    done = shoal("search", survey, *settings, "--protocol", "minimize", "--agreement", "0.9", "--json")
    assert [each["status"] for each in json.loads(done.out)["results"]] == ["done", "done"]
    assert "it needs protocol='minimize'" in shoal.fails(2, "search", survey, *settings, "--agreement", "0.9")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "six"], "unknown column 'six'"),
        (["--target", "age", "-q", "age"], "the target 'age' is named quasi too"),
        (["--target", "sex", "-k", "0"], "k must be at least 1, not 0"),
        (["--target", "sex", "-k", "9..5"], "ends before it begins"),
        (["--target", "sex", "-k", "few"], "not 'few'"),
        (["--target", "sex", "-k", "3", "--l", "4", "-s", "illness"], "every l is above every k"),
        (["--target", "sex", "-q", "age", "-s", "age"], "both quasi and sensitive"),
        (["--target", "sex", "--estimator", "forest"], "unknown estimator 'forest'"),
        (["--target", "sex", "--report", "page.txt"], "name it with .html"),
        (["--target", "sex", "--scoring", "nice"], "unknown score 'nice'"),
        (["--target", "sex", "-a", "magic"], "unknown algorithm 'magic'"),
    ],
)
def test_search_refuses_in_one_paragraph(shoal, survey, arguments, message):
    assert message in shoal.fails(2, "search", survey, *arguments, "--quiet")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "sex", "--keep", "nope"], "unknown column 'nope'"),
        (["--target", "sex", "--target-score", "2"], "target_score must be above 0 and at most 1, not 2"),
        (["--target", "sex", "--confidence", "95"], "confidence must be between 0 and 1"),
        (["--target", "sex", "--scoring", "roc_auc"], "the score roc_auc needs probabilities"),
        (["--target", "sex", "-o", "survey.csv"], "is an input of this run"),
    ],
)
def test_minimize_refuses_in_one_paragraph(shoal, survey, arguments, message):
    assert message in shoal.fails(2, "minimize", survey, *arguments, "--estimator", "linear", "--quiet")


def test_a_target_of_one_value_teaches_nothing(shoal, write):
    path = write("one.csv", "a,b\n" + "1,x\n" * 20)
    assert "fewer than two distinct values" in shoal.fails(2, "search", path, "--target", "b")


def test_ranges_of_numbers():
    assert parse_numbers("-k", "5,10, 20") == (5, 10, 20)
    assert parse_numbers("-k", "2..5") == (2, 3, 4, 5)
    long = parse_numbers("-k", "5..50")
    assert (long[0], long[-1], len(long)) == (5, 50, 10)
    assert parse_numbers("-k", "2..50", None) == tuple(range(2, 51))
    assert parse_numbers("-k", "2..50:3,7", None) == (2, 10, 50, 7)
    for wrong in (",", "5..", "9..5", "5..50:0", "5..50:x", "2..9999999"):
        with pytest.raises(RecipeError):
            parse_numbers("-k", wrong, None)


def test_a_search_tries_every_number_of_its_ranges(shoal, survey):
    found = json.loads(
        shoal("search", survey, *SEARCH, "-k", "2..14", "--l", "1..3", "--json", "--quiet").out
    )
    pairs = [(row["k"], row["l"]) for row in found["results"]]
    assert pairs == [(k, many) for k in range(2, 15) for many in range(1, 4) if many <= k]
    assert found["skipped"] == {"l is above k": 1}


@pytest.mark.exhaustive
def test_an_interrupt_shows_what_is_done(survey, tmp_path):
    line = [sys.executable, "-m", "shoal", "search", survey, *SEARCH, "--estimator", "random-forest"]
    line += ["--splits", "40", "-k", "2..40", "--json"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stderr is not None
    process.stderr.readline()  # rows were left out, so the search begins
    try:
        process.wait(4)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert len(json.loads(out)["results"]) == 39


@pytest.fixture
def fitted(survey, tmp_path):
    """A pickled model of the survey, which knows the sex by the height."""
    joblib = pytest.importorskip("joblib")
    pandas = pytest.importorskip("pandas")
    from sklearn.tree import DecisionTreeClassifier

    frame = pandas.read_csv(survey).dropna(subset=["sex"])
    joblib.dump(
        DecisionTreeClassifier(max_depth=2).fit(frame[["height"]], frame["sex"]), tmp_path / "m.joblib"
    )
    (tmp_path / "asks.py").write_text(
        "def sex(rows):\n    return ['m' if h > 172 else 'f' for h in rows.height]\n"
    )
    return tmp_path / "m.joblib"


FITTED = ["--target", "sex", "-q", "age,height,town", "-s", "illness", "--identifier", "id,day"]
FITTED += ["--protocol", "minimize", "--splits", "2"]


def test_search_with_a_fitted_model_writes_everything(shoal, survey, fitted, tmp_path):
    files = [tmp_path / f"results.{kind}" for kind in ("csv", "json", "svg", "html")]
    line = ["search", survey, *FITTED, "--load-model", fitted, "--trust-model", "-k", "4..6", "--l", "1..3"]
    done = shoal(*line, *(each for path in files for each in ("-o", path)), "--sort", "ncp")
    assert done.code == 0
    assert "k, l scored" in done.out
    assert "take k = " in done.out
    assert "it has the best accuracy" in done.out
    table = files[0].read_text().splitlines()
    assert len(table) == 1 + 9
    found = json.loads(files[1].read_text())
    assert [row["ncp"] for row in found["results"]] == sorted(row["ncp"] for row in found["results"])
    for row in found["results"]:
        assert row["status"] == "done"
        assert min(row["smallest_class"], row["scored_smallest_class"]) >= row["k"]
        assert min(row["distinct"], row["scored_distinct"]) >= row["l"]
        assert row["generalizations"]["illness"] == {"how": "untouched"}
    assert files[2].read_text().count("<svg") == 3
    page = files[3].read_text()
    assert "it has the best accuracy" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_pickled_model_waits_to_be_trusted(shoal, survey, fitted):
    said = shoal.fails(2, "search", survey, *FITTED, "--load-model", fitted, "-k", "4")
    assert "loading it runs whatever code" in said
    assert "--trust-model" in said
    assert "name it with --load-model" in shoal.fails(2, "search", survey, *FITTED, "--trust-model")


def test_a_function_of_a_module_is_a_model(shoal, survey, fitted, monkeypatch):
    monkeypatch.chdir(fitted.parent)
    line = ["search", survey, *FITTED, "--load-model", "asks:sex", "-k", "4", "--json", "--quiet"]
    monkeypatch.setattr(sys, "path", list(sys.path))
    found = json.loads(shoal(*line).out)
    assert found["raw_score"] > 0.9
    assert found["results"][0]["status"] == "done"


def test_filters_on_the_command_line(shoal, survey):
    line = ["search", survey, *SEARCH, "-k", "4,8,400", "--l", "2", "--quiet"]
    every = json.loads(shoal(*line, "--json").out)
    assert [row["status"] for row in every["results"]] == ["done", "done", "infeasible"]
    highest = max(row["score"] for row in every["results"][:2])
    good = json.loads(shoal(*line, "--json", "--min-score", highest, "--max-deletion", "0").out)
    assert all(row["score"] >= highest for row in good["results"])
    assert good["configurations"] == 3
    none = shoal("search", survey, *SEARCH, "-k", "4", "--deleted-only")
    assert none.code == 0
    assert "no configuration passes the filters" in none.out
    assert "did you mean 'score'" in shoal.fails(2, *line, "--sort", "skore")
    assert "end in .csv, .json, .svg, .html" in shoal.fails(2, *line, "-o", "results.txt")
    assert "between 0 and 1, not 5" in shoal.fails(2, *line, "--max-deletion", "5")


@pytest.mark.parametrize("command", ["search", "minimize"])
def test_a_function_that_is_no_model_is_named(shoal, survey, command):
    line = [command, survey, "--target", "sex", "--load-model", "os:getcwd", "--quiet"]
    assert "asking the estimator failed: TypeError" in shoal.fails(2, *line)


def test_choices_of_columns_scores_and_a_file_to_continue_from(shoal, survey, tmp_path):
    line = ["search", survey, *SEARCH, "-k", "4", "--or-quasi", "age,illness", "--or-sensitive", "town"]
    line += ["--scoring", "accuracy,f1_macro", "--resume", tmp_path / "done.jsonl"]
    done = shoal(*line)
    assert "2 combinations were skipped: a column is both quasi and sensitive" in done.out
    assert "f1_macro" in done.out
    again = json.loads(shoal(*line, "--json", "--quiet").out)
    assert again["skipped"] == {"a column is both quasi and sensitive": 2}
    assert len((tmp_path / "done.jsonl").read_text().splitlines()) == 1 + 2
    assert "give the first one with --quasi" in shoal.fails(
        2, "search", survey, "--target", "sex", "--or-quasi", "age", "--quiet"
    )


def test_people_on_the_command_line(shoal, write):
    rows = [f"p{i // 3},{20 + i // 3},{'abc'[i % 3]},{'yes' if i // 3 > 20 else 'no'}" for i in range(120)]
    path = write("visits.csv", "who,age,illness,old\n" + "\n".join(rows) + "\n")
    line = ["search", path, "--target", "old", "-q", "age", "-s", "illness", "--person", "who", "-k", "4"]
    done = shoal(*line, "--estimator", "decision-tree", "--splits", "1", "--json", "--quiet")
    (row,) = json.loads(done.out)["results"]
    assert (row["status"], row["deletion_ratio"]) == ("done", 0)
    assert row["smallest_class"] >= 4
