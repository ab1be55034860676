"""``shoal verify``: what an outsider finds, and the exit code that tells a script."""

import json

import pytest

KEYS = {"findings", "holds", "rows", "classes", "smallest_class", "models"}
RELEASE = "age,sex,ill\n[1-2],f,a\n[1-2],f,b\n[3-9],m,a\n[3-9],m,a\n[3-9],m,a\n"


@pytest.fixture
def release(write):
    return write("release.csv", RELEASE)


def test_a_release_that_holds(shoal, release):
    out = shoal.succeeds("verify", release.name, "-q", "age,sex", "-k", 2)
    assert "release.csv: the goal holds; 5 rows in 2 classes, the smallest of 2" in out
    assert "✓ holds" in out


def test_a_release_that_does_not_hold_is_exit_code_3(shoal, release):
    done = shoal("verify", release.name, "-q", "age,sex", "-s", "ill", "-k", 2, "--l", 2)
    assert (done.code, done.err) == (3, "")
    assert "the goal does not hold" in done.out
    assert "✗ does not hold" in done.out


def test_json(process, release):
    done = process("verify", release, "-q", "age,sex", "-s", "ill", "-k", 2, "--l", 2, "--json")
    assert (done.returncode, done.stderr) == (3, "")
    found = json.loads(done.stdout)
    assert found.keys() == KEYS
    assert (found["holds"], found["rows"], found["classes"], found["smallest_class"]) == (False, 5, 2, 2)
    assert found["models"] == [
        {"name": "k", "asked": {"k": 2}, "achieved": 2, "holds": True},
        {"name": "distinct-l", "asked": {"l": 2, "column": "ill"}, "achieved": 1, "holds": False},
    ]


def test_quiet_leaves_the_exit_code(shoal, release):
    for k, code in ((2, 0), (3, 3)):
        done = shoal("verify", release, "-q", "age,sex", "-k", k, "--quiet")
        assert (done.code, done.out, done.err) == (code, "", "")


def test_roles_by_position(shoal, release):
    assert shoal("verify", release, "--roles", "q,q,s", "-k", 2, "--l", 2).code == 3
    assert shoal("verify", release, "--roles", "q,q,i", "-k", 2).code == 0
    assert (
        shoal("verify", release, "--roles", "q", "-k", 2).code == 3
    )  # the sensitive column makes classes too


def test_by_a_recipe(shoal, people):
    shoal.succeeds(
        *("anonymize", people, "--roles", "x,q,q,q,s", "-k", 3, "--l", 2),
        *("-o", "release.csv", "--recipe-out", "recipe.toml"),
    )
    shoal.succeeds("verify", "release.csv", "--recipe", "recipe.toml")
    done = shoal("verify", "release.csv", "--recipe", "recipe.toml", "-k", 12)
    assert done.code == 3  # a goal that is given as well must hold too
    said = shoal.fails(2, "verify", "release.csv", "--recipe", "recipe.toml", "-q", "age")
    assert "give roles by --recipe or by --quasi" in said
    said = shoal.fails(2, "verify", "release.csv", "--recipe", "nowhere.toml")
    assert "nowhere.toml: cannot read the recipe" in said


def test_a_recipe_says_whether_there_is_a_header(shoal, write):
    write("table.csv", "1,f\n2,f\n8,m\n9,m\n")
    shoal.succeeds(
        *("anonymize", "table.csv", "--no-header", "--roles", "q,i", "-k", 2),
        *("-o", "release.csv", "--recipe-out", "recipe.toml"),
    )
    out = shoal.succeeds("verify", "release.csv", "--recipe", "recipe.toml", "--json")
    assert json.loads(out)["rows"] == 4


def test_somebody_elses_table(shoal, write):
    """Nothing in it must come from Shoal."""
    write("other.tsv", "a\tb\nx\t1\nx\t1\nx\t2\nx\t2\n")
    out = shoal.succeeds("verify", "other.tsv", "-q", "a,b", "-m", "k(k=2)", "--json")
    assert json.loads(out)["classes"] == 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("-q", "agee", "-k", 2), "release.csv: unknown column 'agee': did you mean 'age'?"),
        (("-k", 2), "--quasi age,sex"),
        (("-q", "age"), "no privacy goal"),
        (("-q", "age", "-k", 0), "k must be at least 1"),
        (("-q", "age", "--l", 2), "needs a sensitive column"),
    ],
)
def test_questions_that_cannot_be_asked(shoal, release, given, says):
    assert says in shoal.fails(2, "verify", release.name, *given)
