"""What cannot be used is refused: a clear error, the right exit code, nothing written, nothing changed."""

from importlib import import_module

import pytest

GOAL = ("-q", "age", "-k", 2, "-o", "release.csv", "--recipe-out", "recipe.toml")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "table.csv is empty"),
        ("\n\n", "table.csv is empty"),
        ("age,sex\n", "table.csv has a header but no rows"),
        ("age,sex\n1,f\n2,m,x\n3,f\n", "table.csv: line 3 has 3 fields where the header has 2 fields"),
        ("age,sex\n1,f\n\n3,f\n", "table.csv: line 3 is blank where the header has 2 fields"),
        ("age,sex,age\n1,f,2\n", "table.csv: more than one column is called 'age'"),
        ("age,,sex\n1,f,2\n", "table.csv: column 2 has no name"),
        ("sex,Alter\n1,f\n2,m\n", "table.csv: unknown column 'age': there are 'sex', 'Alter'"),
        ("Age,sex\n1,f\n2,m\n", "table.csv: unknown column 'age': did you mean 'Age'?"),
        ("age,sex\n1,f\n2,\0\n", "table.csv: line 3 contains a NUL byte"),
        ('age,sex\n1,"f\n2,m\n', "table.csv: line 2 opens a quote that is never closed"),
        ('age,sex\n1,"f"x\n2,m\n', "table.csv: line 2 has text after a closing quote"),
    ],
    ids=[
        "empty",
        "blank",
        "header only",
        "ragged",
        "blank line",
        "duplicate names",
        "nameless column",
        "unknown column",
        "did you mean",
        "NUL",
        "unclosed quote",
        "text after quote",
    ],
)
def test_a_table_that_cannot_be_used(shoal, write, content, says):
    write("table.csv", content)
    assert says in shoal.fails(2, "anonymize", "table.csv", *GOAL)


def test_no_such_file(shoal):
    assert shoal.fails(2, "anonymize", "nowhere.csv", *GOAL) == "error: nowhere.csv: no such file\n"


def test_a_folder_is_no_table(shoal):
    (shoal.folder / "folder.csv").mkdir()
    assert "is a folder" in shoal.fails(2, "anonymize", "folder.csv", *GOAL)


@pytest.mark.parametrize("name", ["broken.parquet", "broken.arrow", "broken.xlsx", "broken.csv.gz"])
def test_a_damaged_file(shoal, write, name):
    magic = {"parquet": b"PAR1", "arrow": b"ARROW1\0\0", "xlsx": b"PK\x03\x04", "gz": b"\x1f\x8b\x08"}
    write(name, magic[name.rpartition(".")[2]] + b"nothing that belongs there")
    assert name in shoal.fails(2, "anonymize", name, *GOAL)


@pytest.mark.parametrize("k", [0, -5])
def test_k_below_one(shoal, people, k):
    assert f"k must be at least 1, not {k}" in shoal.fails(2, "anonymize", people, "-q", "age", "-k", k)


def test_k_that_is_no_number(shoal, people):
    assert "-k" in shoal.fails(2, "anonymize", people, "-q", "age", "-k", "five")


def test_k_above_the_number_of_rows(shoal, people):
    says = shoal.fails(3, "anonymize", people, "-q", "age", "-k", 13, "-o", "release.csv")
    assert "k = 13, but the table has 12 rows" in says


def test_l_above_the_number_of_values(shoal, people):
    says = shoal.fails(3, "anonymize", people, "-q", "age", "-s", "illness", "--l", 4, "-o", "release.csv")
    assert "l = 4, but the sensitive column 'illness' has 3 distinct values" in says


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("-q", "age"), "no privacy goal"),
        (("-k", 2), "--quasi name,age"),
        (("-q", "agee", "-k", 2), "unknown column 'agee': did you mean 'age'?"),
        (("-q", "age,agee", "-k", 2), "unknown column 'agee': did you mean 'age'?"),
        (("-q", "age", "-s", "ilness", "-k", 2), "did you mean 'illness'?"),
        (("-q", "age", "--identifier", "nam", "-k", 2), "did you mean 'name'?"),
        (("-q", "age", "--plain", "zipp", "-k", 2), "did you mean 'zip'?"),
        (("-q", "age,age", "-k", 2), "column 'age' is named twice"),
        (("-q", "age", "-s", "age", "-k", 2), "column 'age' is named both quasi and sensitive"),
        (("-q", "age", "--l", 2), "needs a sensitive column"),
        (("-q", "age", "-k", 2, "--roles", "q"), "--roles) or by name, not both"),
        (("--roles", "q,z", "-k", 2), "unknown role 'z' in --roles: q quasi, s sensitive, i ignored"),
        (("--roles", "q,q,q,q,q,q", "-k", 2), "--roles has 6 entries, but there are 5 columns"),
        (("-q", "age", "-k", 2, "--types", "i,?"), "unknown type in --types '?'"),
        (("-q", "age", "-k", 2, "--types", "s,s,s,s,s,s"), "--types has 6 entries"),
        (("-q", "age", "-k", 2, "--type", "age"), "--type takes name=value, not 'age'"),
        (("-q", "age", "-k", 2, "--type", "age=integr"), "did you mean 'integer'?"),
        (("-q", "age", "-k", 2, "--type", "agee=int"), "did you mean 'age'?"),
        (("-q", "sex", "-k", 2, "--type", "sex=int"), "column 'sex' has values that are not integers"),
        (("-q", "sex", "-k", 2, "--type", "sex=ordered"), "'sex'"),
        (
            ("-q", "sex", "-k", 2, "--order", "sex=f"),
            "'sex' has values that are not in the stated order: 'm'",
        ),
        (("-q", "age", "-k", 2, "--weights", "1,2"), "--weights has 2 entries, but there are 1"),
        (("-q", "age", "-k", 2, "--weight", "age=big"), "the weight of 'age' must be a number, not 'big'"),
        (("-q", "age", "-k", 2, "-a", "mondrian", "--weight", "age=-1"), "mondrian takes weights from 0 up"),
        (("-q", "age", "-k", 2, "-a", "peel", "--weight", "age=-1"), "peel takes weights from 0 up"),
        (("-q", "age", "-k", 2, "-a", "hilbert", "--weight", "age=-1"), "takes weights from 0 up"),
        (("-q", "age", "-k", 2, "--weight", "age=inf"), "the weight of 'age' must be a finite number"),
        (("-q", "age", "-k", 2, "--weight", "zip=2"), "a weight is given for 'zip'"),
        (("-q", "age", "-k", 2, "--suppress", 1.5), "suppress is a share of the rows, from 0 to 1"),
        (("-q", "age", "-k", 2, "--loss", "npc"), "unknown loss 'npc': did you mean 'ncp'?"),
        (("-q", "age", "-k", 2, "--render", "sets"), "did you mean 'set'?"),
        (("-q", "age", "-k", 2, "--missing", "dropp"), "did you mean 'drop'?"),
        (("-q", "age", "-k", 2, "--category-order", "x"), "'frequency', 'appearance'"),
        (("-q", "age", "-k", 2, "-a", "mondrain"), "did you mean 'mondrian'?"),
        (("-q", "age", "-k", 2, "-a", "mondrian", "--set", "cut=near"), "'near'"),
        (("-q", "age", "-k", 2, "-a", "mondrian", "--set", "cute=nearest"), "did you mean 'cut'?"),
        (("-q", "age", "-k", 2, "--set", "cut=nearest"), "unknown parameter of algorithm auto 'cut'"),
        (("-q", "age", "-m", "kk(k=3)"), "unknown privacy model 'kk'"),
        (("-q", "age", "-m", "k"), "privacy model k needs 'k': write k(k=...)"),
        (("-q", "age", "-m", "k(k=3"), "cannot read 'k(k=3'"),
        (("-q", "age", "-k", 2, "--seed", "-1"), "seed must be 0 or more, not -1"),
        (("-q", "age", "-k", 2, "--threads", "-1"), "threads must be 0 or more, not -1"),
        (("-q", "age", "-k", 2, "--delimiter", "ab"), "the delimiter must be one ASCII character"),
        (("-q", "age", "-k", 2, "--delimiter", ";"), "has one column with the delimiter ';' and 5 with ','"),
        (("-q", "age", "-k", 2, "--encoding", "utf-9"), "unknown encoding 'utf-9'"),
        (("-q", "age", "-k", 2, "--hierarchies", "nowhere"), "no such file or folder 'nowhere'"),
        (("-q", "age", "-k", 2, "--hierarchies", "zap=trees.csv"), "'zap'"),
        (("-q", "age", "-k", 2, "--qausi", "sex"), "--quasi"),
        (("-q", "age", "-k", 2, "--out-delimiter", "ab", "-o", "r.csv"), "the delimiter must be one ASCII"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_settings_that_cannot_be_used(shoal, people, given, says):
    said = shoal.fails(2, "anonymize", people, *given)
    assert says in " ".join(said.split())


def test_a_missing_argument_names_it(shoal):
    assert "INPUT" in shoal.fails(2, "anonymize")


def test_settings_are_refused_before_a_table_is_read(shoal):
    """It may take minutes to read; that the file is not even there shows that nobody looked."""
    says = shoal.fails(2, "anonymize", "nowhere.csv", "-q", "age", "-k", 2, "--loss", "npc")
    assert "unknown loss" in says
    says = shoal.fails(2, "anonymize", "nowhere.csv", "-q", "age", "-k", 2, "-o", "no/such/folder/r.csv")
    assert "there is no folder no/such/folder" in says


def rows(shoal, write, content: str, *goal: object) -> tuple[list[str], str]:
    """Anonymize a table that can be used, if barely; the released lines and what the terminal shows."""
    table = write("table.csv", content)
    shown = shoal.succeeds("anonymize", table, *goal, "-o", "release.csv")
    shoal.succeeds("verify", "release.csv", *goal)
    assert table.read_bytes() == content.encode()
    return (shoal.folder / "release.csv").read_text().splitlines(), " ".join(shown.split())


def test_a_column_without_any_value(shoal, write):
    content = "age,gone\n" + "".join(f"{i % 7},\n" for i in range(30))
    released, shown = rows(shoal, write, content, "-q", "age,gone", "-k", 5)
    assert "column 'gone' has one value only" in shown
    assert all(line.endswith(",") for line in released[1:])


def test_a_table_without_any_value(shoal, write):
    released, _ = rows(shoal, write, "a,b\n,\n,\n,\n", "-q", "a,b", "-k", 3)
    assert released == ["a,b", ",", ",", ","]
    assert "every row has a missing value" in shoal.fails(
        2, "anonymize", "table.csv", "-q", "a,b", "-k", 2, "--missing", "drop"
    )


def test_a_constant_column(shoal, write):
    content = "age,same\n" + "".join(f"{i % 7},x\n" for i in range(30))
    released, shown = rows(shoal, write, content, "-q", "age,same", "-k", 5)
    assert "column 'same' has one value only" in shown
    assert all(line.endswith(",x") for line in released[1:])


def test_nothing_but_a_constant_column(shoal, write):
    released, _ = rows(shoal, write, "same,ill\nx,1\nx,2\n", "-q", "same", "-k", 2)
    assert released == ["same,ill", "x,1", "x,2"]


def test_a_column_with_as_many_values_as_rows(shoal, write):
    content = "age,code\n" + "".join(f"{i % 7},c{i}\n" for i in range(30))
    _, shown = rows(shoal, write, content, "-q", "age,code", "-k", 5)
    assert "column 'code' has a different value in every row: is it an identifier?" in shown


@pytest.mark.exhaustive
def test_300_columns(shoal, write):
    names = [f"c{i}" for i in range(300)]
    lines = [",".join(str((row * (i + 3)) % 5) for i in range(300)) for row in range(40)]
    released, shown = rows(shoal, write, "\n".join([",".join(names), *lines, ""]), "--roles", "q", "-k", 4)
    assert [len(line.split(",")) for line in released] == [300] * 41
    assert "260 that lost less" in shown  # the screen is not flooded


def test_quotes_delimiters_and_newlines_inside_cells(shoal, write):
    cell = '"x, ""y""\nz"'
    content = 'age,"a, ""b""\nc",ill\n' + f"1,{cell},p\n2,{cell},q\n" * 2
    write("table.csv", content)
    shoal.succeeds("anonymize", "table.csv", "-q", "age", "-q", 'a, "b"\nc', "-k", 4, "-o", "release.csv")
    lines = "".join(f"*,{cell},{ill}\n" for ill in "pqpq")
    assert (shoal.folder / "release.csv").read_text() == 'age,"a, ""b""\nc",ill\n' + lines


@pytest.mark.exhaustive
def test_a_cell_of_a_megabyte(shoal, write):
    long = "x" * (1 << 20)
    content = "age,job\n" + f"1,{long}\n2,{long}\n3,clerk\n4,clerk\n"
    released, _ = rows(shoal, write, content, "-q", "age,job", "-k", 2)
    assert released == ["age,job", f"[1-2],{long}", f"[1-2],{long}", "[3-4],clerk", "[3-4],clerk"]


def test_a_line_of_a_megabyte_in_an_error_is_named_by_its_number(shoal, write):
    write("table.csv", "age,job\n1," + "x" * (1 << 20) + ",too many\n")
    said = shoal.fails(2, "anonymize", "table.csv", "-q", "age", "-k", 2)
    assert "line 2 has 3 fields" in said
    assert len(said) < 1000


def test_a_recipe_that_cannot_be_used(shoal, write):
    assert "no.toml: cannot read the recipe" in shoal.fails(2, "run", "no.toml")
    write("bad.toml", "[goal\n")
    assert "bad.toml: not a recipe" in shoal.fails(2, "run", "bad.toml")
    write("odd.toml", "[gaol]\nmodels = ['k(k=2)']\n")
    assert "unknown section 'gaol': did you mean 'goal'?" in shoal.fails(2, "run", "odd.toml")
    write("empty.toml", "[columns]\nquasi = ['a']\n[goal]\nmodels = ['k(k=2)']\n")
    assert "the recipe names no input" in shoal.fails(2, "run", "empty.toml")


def test_a_bug_is_called_a_bug(shoal, people, monkeypatch):
    monkeypatch.setattr(import_module("shoal.verification.verifier"), "count_classes", lambda *_: 1 / 0)
    done = shoal("anonymize", people, "-q", "age", "-k", 2, "-o", "release.csv")
    assert (done.code, done.out) == (1, "")
    assert "this is a bug in Shoal (ZeroDivisionError" in done.err
    assert "Traceback" not in done.err
    assert not (shoal.folder / "release.csv").exists()


def test_debug_shows_where_an_error_came_from(shoal, people):
    done = shoal("anonymize", people, "-q", "age", "-k", 13, "--debug")
    assert done.code == 3
    assert done.err.startswith("Traceback")
    assert "GoalNotMet" in done.err
