"""The role person, as a user types it: people with several rows are counted, and not their rows."""

import csv
import json
import random
import re
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
    assert re.search(r"# - different in some rows of one value of patient_id, of \d+ with several", text)
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
    asked = ["anonymize", table, "-q", "age", "--person", "who", "--others", "drop", "-k", 5]
    for more in ([], ["--pseudonym", "--key-file", "key"], ["--memory", "1GB", "-o", "disk.csv"]):
        told = " ".join(json.loads(shoal.succeeds(*asked, *more, "--json"))["notes"])
        assert "by 'who' one person has 60 of the 120 rows: if that id stands for nobody" in told
        assert "big" not in told
    # As a marker of nobody, the id is that of many people, and less is lost.
    lost = [json.loads(shoal.succeeds(*asked, *more, "--json"))["ncp"] for more in ([], ["--na", "big"])]
    assert lost[1] < lost[0]


@pytest.mark.parametrize("linked", [["--pseudonym", "--key-file", "key"], []])
def test_a_column_that_changes_for_few_people_is_named_with_how_many(shoal, write, linked):
    rows = [(f"p{who}", "AB"[who % 2], 20 + who % 7 + visit) for who in range(30) for visit in range(2)]
    rows[1] = ("p0", "B", 21)
    table = write("t.csv", "who,ward,age\n" + "".join(f"{w},{a},{n}\n" for w, a, n in rows))
    asked = ["-q", "ward,age", "--person", "who", *linked, "-k", 3, "--json"]
    report = json.loads(shoal.succeeds("anonymize", table, *asked))
    told = "'ward' is the same in all rows of a person, but not for 1 of the 30 people who have several"
    assert any(told in each for each in report["warnings"])
    assert (
        "static columns, the same in all rows of every person: none; others, and for how many of the 30 "
        "people with several rows they change: ward (1), age (30)"
    ) in report["notes"]


def test_a_table_without_any_id_has_a_person_in_every_row(shoal, write):
    table = write("t.csv", "who,age\n" + "".join(f",{20 + at // 3}\n" for at in range(12)))
    report = json.loads(shoal.succeeds("anonymize", table, "-q", "age", "--person", "who", "-k", 3, "--json"))
    assert "'who' is missing in 12 rows: each of them counts as a person of its own" in report["warnings"]
    assert (report["ncp"], report.get("people")) == (0, None)


def test_one_person_alone_cannot_be_hidden(shoal, write):
    table = write("t.csv", "who,age\n" + "p,20\n" * 9)
    said = shoal.fails(3, "anonymize", table, "-q", "age", "--person", "who", "-k", 2)
    assert "k = 2, but the table has one person" in said


REFUSED = {
    "a column that is not there": (["--person", "patients"], "unknown column 'patients'"),
    "k above the number of people": (["-k", "41"], "k = 41, but the table has 40 people; ask for k of 40"),
    "two roles": (["--identifier", "patient_id"], "column 'patient_id' is named both person and identifier"),
    "rows on disk": (
        ["--memory", "1GB", "-a", "cluster", "-o", "out.csv"],
        "cluster looks at every row by itself",
    ),
    "an algorithm for rows": (["-a", "genetic"], "genetic counts rows only: take auto, "),
    "later rows of groups": (
        ["--recoding-out", "r.json", "--group", "ward2"],
        "with a group the goal is about both",
    ),
    "later rows of pseudonyms": (
        ["--recoding-out", "r.json", "--pseudonym", "--key-file", "key"],
        "with a pseudonym the goal is about both",
    ),
    "later days": (
        ["--recoding-out", "r.json", "--relative", "age"],
        "cannot be told from later rows alone",
    ),
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


def test_people_of_later_rows_are_counted(shoal, visits, write):
    """March has other patients, some of whom came often: k of them are in every class that is released."""
    shoal.succeeds(
        "anonymize", visits, *ROLES, "-k", 3, "-o", "release.csv", "--recoding-out", "classes.json"
    )
    assert "P01" not in (shoal.folder / "classes.json").read_text()
    rng = random.Random(8)
    who = [f"Q{rng.choice([0, 0, rng.randrange(25)]):02}" for _ in range(120)]
    lines = [f"{each},{rng.randrange(20, 92)},{rng.choice('ABC')},flu,{at}" for at, each in enumerate(who)]
    march = write("march.csv", "patient_id,age,ward,illness,number\n" + "\n".join(lines) + "\n")
    # an earlier release is of no use here, so that nobody is sent to it
    refused = shoal.fails(3, "apply", "classes.json", march, "-o", "later.csv", "--others", "drop")
    assert "nothing is released: permit more, or anonymize all rows anew" in " ".join(refused.split())
    asked = ["apply", "classes.json", march, "--suppress", 0.9, "-o", "later.csv"]
    found = json.loads(shoal.succeeds(*asked, "--others", "keep", "--json"))
    later = read(shoal.folder / "later.csv")
    assert list(later[0]) == ["age", "ward", "illness", "number"]
    classes = people_of_classes(later, dict(zip(map(str, range(120)), who, strict=True)))
    assert min(map(len, classes.values())) == found["smallest_class"] >= 3
    assert found["people"] == len(set.union(*classes.values()))


def test_later_rows_of_people_stand_alone_and_tell_no_order(shoal, visits):
    shoal.succeeds(
        "anonymize", visits, *ROLES, "-k", 3, "-o", "release.csv", "--recoding-out", "classes.json"
    )
    says = shoal.fails(2, "apply", "classes.json", visits, "--earlier", "release.csv", "-o", "later.csv")
    assert "people of both cannot be counted together" in " ".join(says.split())
    head, *lines = visits.read_text().splitlines()
    random.Random(1).shuffle(lines)
    (shoal.folder / "mixed.csv").write_text("\n".join([head, *lines]) + "\n")
    for name, table in (("one", visits), ("other", "mixed.csv")):
        shoal.succeeds("apply", "classes.json", table, "--suppress", 0.5, "-o", f"{name}.csv", "--quiet")
    assert (shoal.folder / "one.csv").read_bytes() == (shoal.folder / "other.csv").read_bytes()
    nobody = "\n".join(line.partition(",")[2] for line in [head, *lines])
    (shoal.folder / "nobody.csv").write_text(nobody + "\n")
    assert "unknown column 'patient_id'" in shoal.fails(
        2, "apply", "classes.json", "nobody.csv", "-o", "x.csv"
    )


def test_identifiers_are_kept_under_pseudonyms(shoal, write):
    table = write("cases.csv", "case,sample,age\n" + "".join(f"C{i},S{i},{20 + i // 3}\n" for i in range(12)))
    line = ("-q", "age", "--identifier", "case,sample", "--keyed", "case", "--keyed", "sample", "-k", "3")
    told = shoal.succeeds(
        "anonymize", table, *line, "--key-file", "k.key", "-o", "o.csv", "--recipe-out", "r.toml"
    )
    assert "'case', 'sample' has pseudonyms" in " ".join(told.split())
    before = (shoal.folder / "o.csv").read_text()
    assert before.startswith("case,sample,age\np")
    assert "C1" not in before
    shoal.succeeds("run", "r.toml", "--quiet")
    assert (shoal.folder / "o.csv").read_text() == before
    assert "holds" in shoal.succeeds("verify", "o.csv", "-q", "age", "-k", "3")
    assert "not among the identifiers" in shoal.fails(
        2, "anonymize", table, *line[:2], *line[4:], "--others", "drop"
    )
