"""The role person, as a user types it: people with several rows are counted, and not their rows."""

import csv
import json
import random
from collections import defaultdict

import pytest

import shoal as library
from shoal.errors import OutputError

ROLES = ["-q", "age,ward", "-s", "illness", "--person", "patient_id"]


@pytest.fixture
def visits(write):
    """Forty patients with up to five visits each, one after the other as in a register."""
    rng = random.Random(3)
    lines = ["patient_id,age,ward,illness"]
    for number in range(40):
        age, ward = rng.randrange(20, 90), rng.choice("ABC")
        lines += [
            f"P{number:02},{age + visit // 2},{ward},{rng.choice(['flu', 'cold', 'gout', 'cut'])}"
            for visit in range(rng.choice([1, 2, 3, 5]))
        ]
    return write("visits.csv", "\n".join(lines) + "\n")


def read(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def people_of_classes(release, table):
    """The people of every class, where all cells of a released row are found in the table."""
    classes = defaultdict(set)
    for row in release:
        classes[row["age"], row["ward"]].add(table[row["number"]])
    return classes


def test_every_class_has_k_people(shoal, visits):
    rows = read(visits)
    numbered = [{**row, "number": str(at)} for at, row in enumerate(rows)]
    table = shoal.folder / "numbered.csv"
    with table.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(numbered[0]))
        writer.writeheader()
        writer.writerows(numbered)
    out = shoal.succeeds("anonymize", table, *ROLES, "--plain", "number", "-k", 4, "-o", "release.csv")
    words = " ".join(out.split())
    assert f"people were counted, not rows: the {len(rows)} released rows are of 40 people" in words
    release = read(shoal.folder / "release.csv")
    assert list(release[0]) == ["age", "ward", "illness", "number"]
    whose = {row["number"]: row["patient_id"] for row in numbered}
    classes = people_of_classes(release, whose)
    fewest = min(map(len, classes.values()))
    assert fewest >= 4
    assert f"{len(classes)} classes, the smallest of {fewest} people" in words
    # By rows alone it is another release, in which some class has fewer.
    shoal.succeeds(
        "anonymize", table, *ROLES[:4], "--identifier", "patient_id", "--plain", "number", "-k", 4,
        "-o", "rows.csv", "--quiet",
    )  # fmt: skip
    assert min(map(len, people_of_classes(read(shoal.folder / "rows.csv"), whose).values())) < 4


@pytest.mark.parametrize("algorithm", ["auto", "mondrian"])
def test_the_order_of_the_table_leaves_no_trace(shoal, visits, write, algorithm):
    head, *rows = visits.read_text().splitlines()
    random.Random(1).shuffle(rows)
    mixed = write("mixed.csv", "\n".join([head, *rows]) + "\n")
    for name, table in (("one", visits), ("other", mixed)):
        shoal.succeeds("anonymize", table, *ROLES, "-k", 3, "-a", algorithm, "-o", f"{name}.csv", "--quiet")
    assert (shoal.folder / "one.csv").read_bytes() == (shoal.folder / "other.csv").read_bytes()


def test_all_that_counts_people_says_so(shoal, visits):
    shoal.succeeds(
        "anonymize", visits, *ROLES, "-k", 3, "-l", 2, "-o", "release.csv", "--recipe-out", "recipe.toml",
        "--report", "report.html", "--json",
    )  # fmt: skip
    assert 'person = "patient_id"' in (shoal.folder / "recipe.toml").read_text()
    page = (shoal.folder / "report.html").read_text()
    assert "people in the smallest of" in page
    assert "The rows are of 40 people, and people are counted" in page
    assert "Not in the release at all: patient_id." in page
    shoal.succeeds("run", "recipe.toml", "-o", "again.csv", "--quiet")
    assert (shoal.folder / "again.csv").read_bytes() == (shoal.folder / "release.csv").read_bytes()

    # A stranger has rows only, and is told so; the page's checksum and counts of rows can be checked.
    words = " ".join(shoal.succeeds("verify", "release.csv", "--recipe", "recipe.toml").split())
    assert "'patient_id' is not in the release, so that people cannot be counted: rows were." in words
    found = json.loads(shoal.succeeds("verify", "release.csv", "--report", "report.html", "--json"))
    assert [check["what"] for check in found["report"]["checks"]] == [
        "SHA-256 of the content",
        "rows",
        "classes",
    ]
    assert found["report"]["same"]
    assert "people" not in found


def test_models_that_need_people_are_not_checked_without_them(shoal, visits):
    shoal.succeeds(
        "anonymize", visits, *ROLES, "-k", 3, "-t", 0.4, "-o", "release.csv", "--recipe-out", "r.toml",
        "--quiet",
    )  # fmt: skip
    found = json.loads(shoal.succeeds("verify", "release.csv", "--recipe", "r.toml", "--json"))
    assert [model["name"] for model in found["models"]] == ["k"]
    assert found["notes"][1] == "not checked, because it takes people: t(t=0.4,distance=equal)"


def test_a_table_that_still_has_the_column_is_verified_by_people(shoal, write):
    table = write("t.csv", "who,age\n" + "a,2*\na,2*\nb,2*\nc,3*\nc,3*\nc,3*\n")
    rows = json.loads(shoal.succeeds("verify", table, "-q", "age", "-k", 3, "--json"))
    assert (rows["holds"], rows["smallest_class"]) == (True, 3)
    people = shoal("verify", table, "-q", "age", "-k", 2, "--person", "who", "--json")
    assert people.code == 3
    found = json.loads(people.out)
    assert (found["holds"], found["smallest_class"], found["people"], found["rows"]) == (False, 1, 3, 6)
    words = " ".join(shoal("verify", table, "-q", "age", "-k", 2, "--person", "who").out.split())
    assert "6 rows of 3 people in 2 classes, the smallest of 1 person" in words


def test_risk_and_compare_count_people(shoal, visits):
    rows = json.loads(shoal.succeeds("risk", visits, "-q", "age,ward", "--json"))
    people = json.loads(shoal.succeeds("risk", visits, "-q", "age,ward", "--person", "patient_id", "--json"))
    assert (people["people"], people["rows"]) == (40, rows["rows"])
    counted = defaultdict(set)
    for row in read(visits):
        counted[row["age"], row["ward"]].add(row["patient_id"])
    alone = [key for key, who in counted.items() if len(who) == 1]
    assert people["unique_rows"] == sum((row["age"], row["ward"]) in alone for row in read(visits))
    assert people["unique_rows"] > rows["unique_rows"]
    assert people["measures"]["average_risk"] == len(counted) / sum(map(len, counted.values()))
    words = " ".join(shoal.succeeds("risk", visits, "-q", "age,ward", "--person", "patient_id").split())
    assert f"{rows['rows']} rows of 40 people in {len(counted)} classes, the smallest of 1 person" in words
    found = json.loads(
        shoal.succeeds("compare", visits, *ROLES, "-k", "3,99", "-a", "mondrian", "-a", "genetic", "--json")
    )
    by = {(each["algorithm"], each["k"]): each for each in found["results"]}
    assert by["mondrian", 3]["smallest_class"] >= 3
    assert by["mondrian", 99]["status"] == "out of reach"
    assert by["genetic", 3]["status"] == "refused"


def test_suggest_finds_whose_row_it_is(shoal, visits):
    found = json.loads(shoal.succeeds("suggest", visits, "--json"))
    assert found["person"] == "patient_id"
    why = next(each["why"] for each in found["columns"] if each["name"] == "patient_id")
    assert "it repeats: 40 values in" in why
    shoal.succeeds("suggest", visits, "-o", "recipe.toml", "--quiet")
    text = (shoal.folder / "recipe.toml").read_text()
    assert 'person = "patient_id"  # number of a person, by its name, and it repeats' in text
    assert "# - the same in all rows of each value of patient_id: ward" in text
    out = " ".join(shoal.succeeds("run", "recipe.toml", "-o", "release.csv").split())
    assert "people were counted" in out


def test_an_identifier_that_repeats_is_a_severe_finding_that_says_what_to_do(shoal, visits):
    asked = [
        "-q",
        "age,ward",
        "-s",
        "illness",
        "--identifier",
        "patient_id",
        "-k",
        4,
        "--row-order",
        "released",
    ]
    report = json.loads(shoal.succeeds("anonymize", visits, *asked, "--json"))
    found = next(each for each in report["findings"] if each["id"] == "repeated:patient_id")
    assert found["severity"] == "high"
    assert "name it with --person patient_id instead of --identifier" in found["remedy"]
    shoal.fails(3, "anonymize", visits, *asked, "--strict")
    named = json.loads(shoal.succeeds("anonymize", visits, *ROLES, "-k", 4, "--json"))
    assert not [each for each in named["findings"] if each["id"].startswith("repeated")]


def test_a_missing_id_is_a_person_of_its_own(shoal, write):
    table = write(
        "t.csv", "who,age\n" + "".join(f"{who},{20 + i // 2}\n" for i, who in enumerate("aabb??ccdd"))
    )
    report = json.loads(
        shoal.succeeds("anonymize", table, "-q", "age", "--person", "who", "--na", "?", "-k", 3, "--json")
    )
    assert "'who' is missing in 2 rows: each of them counts as a person of its own" in report["warnings"]
    assert report["people"] == 6


def test_somebody_with_half_of_all_rows(shoal, write):
    rows = [("big", 20 + i % 40) for i in range(60)] + [(f"p{i}", 20 + i % 40) for i in range(60)]
    table = write("t.csv", "who,age,n\n" + "".join(f"{w},{a},{i}\n" for i, (w, a) in enumerate(rows)))
    shoal.succeeds(
        "anonymize",
        table,
        "-q",
        "age",
        "--person",
        "who",
        "--plain",
        "n",
        "-k",
        5,
        "-o",
        "out.csv",
        "--quiet",
    )
    classes = defaultdict(set)
    for row in read(shoal.folder / "out.csv"):
        classes[row["age"]].add(rows[int(row["n"])][0])
    assert len(classes) > 5
    assert min(map(len, classes.values())) >= 5


REFUSED = {
    "a column that is not there": (["--person", "patients"], "unknown column 'patients'"),
    "k above the number of people": (["-k", "41"], "k = 41, but the table has 40 people; ask for k of 40"),
    "two roles": (["--identifier", "patient_id"], "column 'patient_id' is named both person and identifier"),
    "rows on disk": (
        ["--memory", "1GB", "-a", "cluster", "-o", "out.csv"],
        "cluster looks at every row by itself",
    ),
    "an algorithm for rows": (["-a", "genetic"], "genetic counts rows only: take auto, "),
    "a population": (["-m", "k-map(k=3,population=visits.csv)"], "compare with a population count rows"),
    "later rows": (["--recoding-out", "r.json"], "classes for later rows count rows"),
    "a sample": (
        ["-m", "safepub(epsilon=1,delta=0.001)", "-a", "safepub", "--set", "levels=age=0,ward=0"],
        "safepub draws rows, and protects a row each",
    ),
}


@pytest.mark.parametrize(("more", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused(shoal, visits, more, said):
    asked = [] if "-k" in more or "-m" in more else ["-k", 3]
    found = shoal("anonymize", visits, *ROLES, *asked, *more)
    assert found.code in (2, 3)
    assert said in " ".join(found.err.split())
    assert not (shoal.folder / "out.csv").exists()


def test_an_index_is_not_kept_and_people_do_not_travel(visits, tmp_path):
    import copy

    asked = {"quasi": ["age", "ward"], "sensitive": ["illness"], "person": "patient_id", "k": 3}
    with pytest.raises(library.errors.RecipeError, match="keep_index tells the order of the rows"):
        library.anonymize(visits, **asked, keep_index=True)
    release = library.anonymize(visits, **asked)
    release.write(tmp_path / "out.csv")
    assert "P01" not in (tmp_path / "out.csv").read_text()
    other = copy.copy(release)
    assert other.person is None
    with pytest.raises(OutputError, match="whose row each is did not come along"):
        other.write(tmp_path / "other.csv")


def test_risk_takes_the_person_that_is_suggested(shoal, visits):
    found = json.loads(shoal.succeeds("risk", visits, "--json"))
    assert found["people"] == 40
    assert "; person patient_id" in found["warnings"][0]


def test_risk_draws_the_curve_of_known_rows(shoal, visits):
    words = shoal.succeeds("risk", visits, *ROLES, "-k", 3)
    assert "What known rows of a person tell" in words
    assert "known of a person" in words and "below 3" in words
    for line in ("1 row", "2 rows", "all rows", "static columns", "number of rows", "both of these"):
        assert f"\n  {line} " in words
    assert "static columns: ward, the same in all rows of a person" in words
    assert "people with  people  unique by one row  unique by all rows" in words
    found = json.loads(shoal.succeeds("risk", visits, *ROLES, "-k", 3, "--json"))["people_risk"]
    owners = defaultdict(set)
    for row in read(visits):
        owners[row["age"], row["ward"]].add(row["patient_id"])
    ever = {next(iter(who)) for who in owners.values() if len(who) == 1}
    assert found["known_rows"][0]["ever_unique"] == len(ever) / 40
    refused = shoal.fails(2, "risk", visits, *ROLES, "-k", 1)
    assert "k is at least 2, not 1" in refused


def test_attack_looks_for_people_by_their_rows(shoal, visits):
    shoal.succeeds("anonymize", visits, *ROLES, "-k", 4, "-o", "release.csv", "--recipe-out", "recipe.toml")
    words = shoal.succeeds("attack", "release.csv", "--original", visits, *ROLES)
    assert "release.csv under attack: 40 people of the original, no control group" in words
    assert "5 rows known" in words and "known of a person  original" in words
    plain = json.loads(
        shoal.succeeds("attack", "--original", visits, "--recipe", "recipe.toml", "--holdout", 0.25, "--json")
    )
    assert (plain["people"], plain["control"]) == (30, 10)
    assert [each["after"]["rate"]["successes"] for each in plain["known_rows"]] == [0] * 5
    assert all(each["before"]["rate"]["successes"] > 20 for each in plain["known_rows"][1:])
    # people of the control group are nobody of the original
    refused = shoal.fails(2, "attack", "release.csv", "--original", visits, "--control", visits, *ROLES)
    assert "40 values of 'patient_id' are in the original as well" in refused
