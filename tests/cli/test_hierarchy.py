"""``shoal hierarchy``: build, show, check, convert, list."""

import json
from itertools import pairwise

import pytest

from shoal.table.hierarchies import read_source

JOBS = "mason;building;manual;*\nsmith;metal;manual;*\nclerk;accounts;office;*\n"
WORKERS = "job,age\nmason,21\nmason,22\nClerk,40\npilot,41\n,50\n"


@pytest.fixture
def jobs(write):
    return write("job.csv", JOBS)


@pytest.fixture
def workers(write):
    return write("workers.csv", WORKERS)


class TestBuild:
    def test_a_file_that_anonymize_takes(self, shoal, people):
        out = shoal.succeeds(
            "hierarchy",
            "build",
            people,
            "age",
            "--method",
            "intervals",
            "--set",
            "widths=10,20",
            "-o",
            "age.csv",
        )
        assert (
            out.splitlines()[0] == "age, by intervals: 11 values, height 3 (nodes on each level: 11, 3, 2, 1)"
        )
        assert "│   ├── 20-29  3" in out
        assert out.endswith("written to age.csv\n")
        assert read_source(shoal.folder / "age.csv").to_rows()[0] == ("21", "20-29", "20-39", "*")
        shoal.succeeds(
            "anonymize", people, "-q", "age", "-k", 3, "--hierarchies", "age.csv", "-o", "r.csv", "--quiet"
        )
        released = (shoal.folder / "r.csv").read_text()
        assert "Ada,20-29," in released

    def test_the_suffix_says_how_it_is_written(self, shoal, people):
        trees = []
        for name in ("zip.csv", "zip.toml", "zip.tree", "zip.txt"):
            assert shoal.succeeds("hierarchy", "build", people, "zip", "-o", name, "--quiet") == ""
            trees.append(read_source(shoal.folder / name, "zip"))
        shoal.succeeds("hierarchy", "build", people, "zip", "-o", "x.csv", "--format", "anjana", "--quiet")
        assert (shoal.folder / "x.csv").read_text().splitlines()[0] == "01001,0100*,*"
        assert trees == [read_source(shoal.folder / "x.csv")] * 4

    def test_without_a_file_nothing_is_written(self, shoal, people, files):
        before = files()
        out = shoal.succeeds(
            "hierarchy",
            "build",
            people,
            "illness",
            "--target",
            "zip",
            "--set",
            "groups=2",
            "--method",
            "learned",
        )
        assert out.startswith("illness, by learned: 3 values")
        assert out.endswith("not written; -o FILE would keep it\n")
        assert files() == before

    def test_json(self, shoal, people):
        found = json.loads(shoal.succeeds("hierarchy", "build", people, "sex", "--json"))
        tree = found.pop("tree")
        assert found == {
            "column": "sex",
            "method": "frequency",
            "parameters": {"below": [0.01, 0.05]},
            "left_out": [],
            "leaves": 2,
            "height": 1,
            "root": "*",
            "levels": [2, 1],
            "output": None,
        }
        assert tree == {
            "name": "*",
            "rows": 12,
            "children": [{"name": "f", "rows": 6}, {"name": "m", "rows": 6}],
        }

    def test_types_orders_and_missing_values_are_said_as_elsewhere(self, shoal, write):
        path = write("t.csv", "size;zip\nS;10115\nM;none\nL;10117\nS;20115\n")
        out = shoal.succeeds("hierarchy", "build", path, "size", "--order", "size=S,M,L")
        assert "├── S..M" in out
        out = shoal.succeeds("hierarchy", "build", path, "zip", "--na", "none", "--delimiter", ";")
        assert "zip, by intervals: 3 values" in out
        out = shoal.succeeds("hierarchy", "build", path, "zip", "--na", "none", "--type", "zip=string")
        assert "zip, by mask: 3 values" in out

    def test_values_left_out_are_named(self, shoal, write):
        path = write("t.csv", "age\n20\n21\n?\n40\n")
        assert "! left out as missing: '?'" in shoal.succeeds("hierarchy", "build", path, "age")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("ages",), "people.csv: unknown column 'ages': did you mean 'age'?"),
            (("age", "--method", "deciles"), "unknown method 'deciles'"),
            (("age", "--method", "intervals", "--set", "widths=a"), "must be a number, not 'a'"),
            (("age", "--method", "intervals", "--set", "widths"), "--set takes name=value, not 'widths'"),
            (("age", "--method", "dates", "--set", "spans=week,month"), "a week does not lie in one month"),
            (("sex", "--method", "intervals"), "intervals need numbers, not 'f', 'm'"),
            (("age", "-o", "age.xlsx"), "the suffix names no format"),
            (("age", "-o", "age.csv", "--format", "xml"), "unknown format 'xml'"),
            (("age", "--format", "toml"), "--format is that of a file"),
            (("age", "-o", "people.csv"), "people.csv is an input of this run"),
            (("age", "-o", "nowhere/age.csv"), "there is no folder nowhere"),
        ],
    )
    def test_bad_requests(self, shoal, people, arguments, message):
        assert message in shoal.fails(2, "hierarchy", "build", "people.csv", *arguments)


class TestShow:
    def test_the_tree(self, shoal, jobs):
        assert shoal.succeeds("hierarchy", "show", "job.csv").splitlines() == [
            "job.csv: 3 values, height 3 (nodes on each level: 3, 3, 2, 1)",
            "*",
            "├── manual",
            "│   ├── building",
            "│   │   └── mason",
            "│   └── metal",
            "│       └── smith",
            "└── office",
            "    └── accounts",
            "        └── clerk",
        ]

    def test_with_the_rows_of_a_table(self, shoal, jobs, workers):
        lines = shoal.succeeds(
            "hierarchy", "show", "job.csv", "--table", "workers.csv", "--depth", 1
        ).splitlines()
        assert lines[1:] == [
            "*  2",
            "├── manual  2  2 values",
            "└── and 1 more",
            "! not in the hierarchy: 'Clerk', 'pilot'",
        ]

    def test_json(self, shoal, jobs, workers):
        found = json.loads(shoal.succeeds("hierarchy", "show", "job.csv", "--table", "workers.csv", "--json"))
        assert found["uncovered"] == {"Clerk": 1, "pilot": 1}
        assert (found["levels"], found["tree"]["rows"]) == ([3, 3, 2, 1], 2)

    def test_a_ready_made_one(self, shoal):
        out = shoal.succeeds("hierarchy", "show", "@countries", "--depth", 1)
        assert "├── Africa  60 values" in out

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("@contries",), "unknown ready-made hierarchy 'contries': did you mean 'countries'?"),
            (("nowhere.csv",), "no such file 'nowhere.csv'"),
            (("@ages", "--depth", 0), "--depth is how many levels are drawn: 1 or more, not 0"),
            (("@ages", "--limit", -1), "--limit is how many children are drawn: 1 or more, not -1"),
            (("@ages", "--table", "workers.csv"), "which column is @ages for? Say --column, of 'job', 'age'"),
            (("@ages", "--table", "workers.csv", "--column", "ag"), "unknown column 'ag'"),
        ],
    )
    def test_bad_requests(self, shoal, workers, arguments, message):
        assert message in shoal.fails(2, "hierarchy", "show", *arguments)


class TestCheck:
    def test_nothing_is_wrong(self, shoal, jobs):
        out = shoal.succeeds("hierarchy", "check", "job.csv")
        assert out == "job.csv: nothing is wrong; 3 values, height 3 (nodes on each level: 3, 3, 2, 1)\n"

    def test_problems_and_their_fixes(self, shoal, jobs, workers):
        done = shoal("hierarchy", "check", "job.csv", "--table", "workers.csv")
        assert (done.code, done.err) == (3, "")
        assert done.out.startswith("job.csv: 2 problems; 4 values")
        assert "the column has 'Clerk'  write it instead of 'clerk', in 'office/accounts'" in done.out
        assert "the column has 'pilot'  put it directly under the root '*'" in done.out
        assert "1 of its values does not occur in the column" in done.out

    def test_a_file_that_cannot_be_used_is_fixed_in_place(self, shoal, write, workers):
        write("job.csv", JOBS + "Clerk;building;office;*\nmason;metal;manual;*\n")
        refused = shoal.fails(2, "anonymize", "workers.csv", "-q", "job", "-k", 2, "--hierarchies", "job.csv")
        assert "line 5: the value 'mason' is in 'metal' (level 1) here" in refused
        done = shoal("hierarchy", "check", "job.csv", "--table", "workers.csv", "--fix", "-o", "job.csv")
        assert done.code == 0
        assert "the fixed hierarchy is written to job.csv" in done.out
        assert read_source(shoal.folder / "job.csv").to_rows() == [
            ("mason", "building", "manual", "*"),
            ("smith", "metal", "manual", "*"),
            ("clerk", "accounts", "office", "*"),
            ("Clerk", "building (office)", "office", "*"),
            ("pilot", "pilot", "pilot", "*"),
        ]
        assert shoal("hierarchy", "check", "job.csv", "--table", "workers.csv").code == 0

    def test_json(self, shoal, jobs, workers):
        done = shoal("hierarchy", "check", "job.csv", "--table", "workers.csv", "--json")
        assert done.code == 3
        found = json.loads(done.out)
        assert found["problems"][1] == {
            "kind": "uncovered",
            "message": "the column has 'pilot'",
            "fix": "put it directly under the root '*'",
        }
        assert (found["leaves"], found["unused"], found["output"]) == (4, 1, None)

    def test_blank_cells_are_missing(self, shoal, jobs, write):
        write("blank.csv", "job,x\nmason,1\n  ,2\n")
        assert shoal("hierarchy", "check", "job.csv", "--table", "blank.csv").code == 0

    def test_quiet(self, shoal, jobs, workers):
        done = shoal("hierarchy", "check", "job.csv", "--table", "workers.csv", "--quiet")
        assert (done.code, done.out, done.err) == (3, "", "")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("job.csv", "--fix"), "--fix and -o FILE go together"),
            (("job.csv", "-o", "x.csv"), "--fix and -o FILE go together"),
            (("job.csv", "--table", "workers.csv", "--fix", "-o", "workers.csv"), "is an input of this run"),
            (("job.toml",), "no such file 'job.toml'"),
        ],
    )
    def test_bad_requests(self, shoal, jobs, workers, arguments, message):
        assert message in shoal.fails(2, "hierarchy", "check", *arguments)


class TestConvert:
    def test_through_every_format_and_back(self, shoal, jobs):
        names = ["job.csv", "job.toml", "job.tree", "job.txt", "again.csv"]
        for source, target in pairwise(names):
            shoal.succeeds("hierarchy", "convert", source, "-o", target, "--column", "job")
        assert (shoal.folder / "again.csv").read_text() == JOBS

    def test_a_ready_made_one_to_edit(self, shoal):
        assert (
            shoal.succeeds("hierarchy", "convert", "@us-states", "-o", "state.tree") == "wrote state.tree\n"
        )
        assert read_source(shoal.folder / "state.tree") == read_source("@us-states")

    def test_one_of_several(self, shoal, write):
        write("trees.toml", 'age = ["1"]\njob = ["mason"]\n')
        assert "say which, as in --column age" in shoal.fails(
            2, "hierarchy", "convert", "trees.toml", "-o", "x.csv"
        )
        shoal.succeeds("hierarchy", "convert", "trees.toml", "--column", "job", "-o", "x.csv", "--quiet")
        assert (shoal.folder / "x.csv").read_text() == "mason;*\n"


def test_the_list_of_ready_made_ones(shoal):
    lines = shoal.succeeds("hierarchy", "list").splitlines()
    assert "@us-states-codes   the same by two letters, as NY" in lines
    for line in lines:
        assert shoal("hierarchy", "check", line.split()[0]).code == 0


def test_a_ready_made_one_in_a_run_and_its_recipe(shoal, people):
    arguments = ("anonymize", people, "-q", "age", "-k", 3, "--hierarchies", "age=@ages", "-o", "r.csv")
    shoal.succeeds(*arguments, "--recipe-out", "r.toml", "--quiet")
    assert "Ada,20-24," in (shoal.folder / "r.csv").read_text()
    assert '"age=@ages"' in (shoal.folder / "r.toml").read_text()
    first = (shoal.folder / "r.csv").read_bytes()
    shoal.succeeds("run", "r.toml", "--quiet")
    assert (shoal.folder / "r.csv").read_bytes() == first


def test_adult_with_trees_that_nobody_typed(shoal, shared_data):
    adult = shared_data / "adult" / "adult_9col.csv"
    column = ("--table", adult, "--column", "native-country")
    found = json.loads(shoal("hierarchy", "check", "@countries", *column, "--json").out)
    lost = [each["message"] for each in found["problems"] if "under the root" in each["fix"]]
    assert len(found["problems"]) == 13
    assert [message.split("'")[1] for message in lost] == [
        "England",
        "Holand-Netherlands",
        "Outlying-US(Guam-USVI-etc)",
        "Scotland",
        "South",
        "Yugoslavia",
    ]
    shoal.succeeds(
        "hierarchy", "check", "@countries", *column, "--fix", "-o", "native-country.csv", "--quiet"
    )
    shoal.succeeds(
        "hierarchy", "build", adult, "education", "--target", "salary-class", "-o", "e.toml", "--quiet"
    )
    report = json.loads(
        shoal.succeeds(
            *("anonymize", adult, "-q", "age,education,native-country", "-k", 10, "-a", "mondrian", "--json"),
            *("--hierarchies", "age=@ages", "--hierarchies", "e.toml", "--hierarchies", "native-country.csv"),
        )
    )
    assert report["smallest_class"] >= 10
    assert [warning for warning in report["warnings"] if "hierarchy" in warning] == []
