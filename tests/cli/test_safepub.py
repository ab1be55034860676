"""safepub on the command line: nothing is detected, nothing is told, and a stated seed ends with 3."""

import gzip
import json

import polars as pl
import pytest

from shoal.report.figures import NO_EXCERPT

GOAL = ("-q", "age,sex", "--identifier", "id", "--model", "safepub(epsilon=1,delta=0.001)")
SCHEME = ("--algorithm", "safepub", "--set", "levels=age=2,sex=0", "--hierarchies", "age=@ages")
SETTINGS = (*GOAL, *SCHEME, "--type", "age=integer")
TABLE = "id,age,sex\n" + "".join(f"{i},{20 + i % 40},{'fm'[i % 2]}\n" for i in range(1000))


@pytest.fixture
def table(write):
    return write("table.csv", TABLE)


def rows(path):
    return pl.read_csv(path, infer_schema=False)


def test_a_release_and_all_that_comes_with_it(shoal, table):
    told = shoal.succeeds(
        "anonymize", table, *SETTINGS, "-o", "out.csv", "--report", "page.html", "--recipe-out", "r.toml"
    )
    found = rows(shoal.folder / "out.csv")
    assert f"{found.height:,}" in told
    assert "1,000" not in told
    assert "1000" not in told
    assert set(found["age"]) == {"20-29", "30-39", "40-49", "50-59"}
    assert "holds" in shoal.succeeds("verify", "out.csv", "--report", "page.html")
    assert (shoal.folder / "r.toml").read_text().startswith("# safepub draws another sample in every run")
    before = (shoal.folder / "out.csv").read_bytes()
    sizes = {len(before)}
    for _ in range(4):
        shoal.succeeds("run", "r.toml", "--quiet")
        sizes.add(len((shoal.folder / "out.csv").read_bytes()))
    assert len(sizes) > 1


def test_a_recipe_draws_a_page_too(shoal, table):
    shoal.succeeds("anonymize", table, *SETTINGS, "-o", "out.csv", "--recipe-out", "r.toml", "--quiet")
    shoal.succeeds("run", "r.toml", "--report", "page.html", "--quiet")
    assert "holds" in shoal.succeeds("verify", "out.csv", "--report", "page.html")


def test_by_a_stated_seed_the_exit_code_is_that_of_a_goal_that_is_not_met(shoal, table, files):
    before = files()
    done = shoal("anonymize", table, *SETTINGS, "--set", "seed=0", "--json")
    plain = json.loads(done.out)
    assert done.code == 3
    assert plain["models"][0]["holds"] is False
    assert plain["seed"] == 0
    assert plain["warnings"][0].startswith("not-private: ")
    assert files() == before
    told = shoal("anonymize", table, *SETTINGS, "--set", "seed=0")
    assert told.code == 3
    assert "does not hold" in told.out
    assert "never written" in shoal.fails(
        2, "anonymize", table, *SETTINGS, "--set", "seed=0", "-o", "out.csv"
    )


def test_a_recipe_with_a_stated_seed(shoal, table):
    done = shoal("anonymize", table, *SETTINGS, "--set", "seed=3", "--recipe-out", "r.toml", "--json")
    assert done.code == 3
    again = shoal("run", "r.toml", "--json")
    assert again.code == 3
    assert json.loads(again.out)["released_rows"] == json.loads(done.out)["released_rows"]
    assert "never written" in shoal.fails(2, "run", "r.toml", "-o", "out.csv")


def test_the_seed_of_other_algorithms_is_refused(shoal, table):
    assert "safepub takes no seed" in shoal.fails(2, "anonymize", table, *SETTINGS, "--seed", 20740)
    shoal.succeeds("anonymize", table, *SETTINGS, "--seed", 0, "--quiet")


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.tsv", TABLE.replace(",", "\t").encode()), ("t.csv.gz", gzip.compress(TABLE.encode()))],
)
def test_files_by_their_names(name, content, shoal, write):
    shoal.succeeds("anonymize", write(name, content), *SETTINGS, "-o", "out.csv", "--quiet")
    assert rows(shoal.folder / "out.csv").height > 300


def test_what_is_stated_of_text(shoal, write):
    text = TABLE.replace(",", ";").replace("f\n", "é\n").encode("latin-1")
    stated = ("--delimiter", ";", "--encoding", "latin-1")
    shoal.succeeds("anonymize", write("t.csv", text), *SETTINGS, *stated, "-o", "out.tsv", "--quiet")
    assert "é" in (shoal.folder / "out.tsv").read_text("utf-8")
    # Without it the header is one name, and of no use.
    assert "unknown column 'age'" in shoal.fails(2, "anonymize", "t.csv", *SETTINGS)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--no-header",), "needed in a header"),
        (("--encoding", "utf-16"), "one wrong byte can change"),
        (("--missing", "error"), "missing is 'category' or 'drop'"),
        (("--memory", "1GB", "-o", "out.csv"), "safepub looks at every row by itself"),
        (("--recoding-out", "classes.json"), "those of safepub are not for any"),
        (("--report", "page.html", "--excerpt"), NO_EXCERPT),
        (("--type", "sex=datetime"), "cannot be datetime here"),
    ],
)
def test_what_is_refused(more, says, shoal, table):
    assert says in shoal.fails(2, "anonymize", table, *SETTINGS, *more)


def test_levels_are_searched_for_a_part_of_epsilon(shoal, table):
    goal = ("--model", "safepub(epsilon=1,delta=0.001,search=0.5)")
    names = ("-q", "age,sex", "--identifier", "id", "--type", "age=integer", "--hierarchies", "age=@ages")
    more = ("--algorithm", "safepub", "--set", "levels=age=1..2,sex=0")
    shoal.succeeds("anonymize", table, *names, *goal, *more, "-o", "out.csv", "--recipe-out", "r.toml")
    # Five years are too few for the k of this table, so that nobody would draw them.
    assert set(rows(shoal.folder / "out.csv")["age"]) == {"20-29", "30-39", "40-49", "50-59"}
    assert "holds" in shoal.succeeds("verify", "out.csv", "-q", "age,sex", *goal)
    shoal.succeeds("run", "r.toml", "--quiet")
    assert "state the level" in shoal.fails(2, "anonymize", table, *GOAL, *names[4:], *more[:2])


def test_the_model_alone_is_refused_by_every_engine(shoal, table):
    for more in ((), ("--memory", "1GB", "-o", "out.csv"), ("--algorithm", "mondrian")):
        assert "kept by the algorithm safepub only" in shoal.fails(2, "anonymize", table, *GOAL, *more)


def test_typed_files_need_types(shoal, table):
    pl.read_csv(table).write_parquet(shoal.folder / "t.parquet")
    assert "state the type of 'sex'" in shoal.fails(2, "anonymize", "t.parquet", *SETTINGS)
    shoal.succeeds(
        "anonymize", "t.parquet", *SETTINGS, "--type", "sex=string", "-o", "out.parquet", "--quiet"
    )
    assert set(pl.read_parquet(shoal.folder / "out.parquet").dtypes) == {pl.String}


def test_a_release_without_rows_is_written_and_verified(shoal, write):
    few = write("few.csv", "\n".join(TABLE.splitlines()[:20]))
    told = shoal.succeeds("anonymize", few, *SETTINGS, "-o", "out.csv", "--report", "page.html")
    assert told.startswith("0 rows released in 0 classes")
    assert (shoal.folder / "out.csv").read_text() == "age,sex\n"
    assert "the goal holds; 0 rows" in shoal.succeeds("verify", "out.csv", "--report", "page.html")
    assert "no rows" in shoal.fails(2, "verify", "out.csv", "-q", "age,sex", "-k", 2)
