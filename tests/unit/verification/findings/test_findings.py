"""What a release as a whole gives away: every check, on tables small enough to count by hand."""

import random
from collections import Counter, defaultdict
from datetime import date, timedelta
from itertools import combinations
from typing import ClassVar

import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import GoalNotMet, RecipeError
from shoal.verification.findings import CellCounter, JudgedRelease, judge_release


def by_id(release):
    return {finding.id: finding for finding in release.report.findings}


def unique_share(frame: pl.DataFrame) -> float:
    """Counted row by row."""
    rows = [tuple(map(str, row)) for row in frame.iter_rows()]
    times = Counter(rows)
    return sum(times[row] == 1 for row in rows) / len(rows)


def people(rows=400, seed=1):
    draw = random.Random(seed)
    ages = [draw.randrange(20, 80) for _ in range(rows)]
    return pl.DataFrame(
        {
            "id": draw.sample(range(10_000), rows),
            "age": ages,
            "sex": [draw.choice("fm") for _ in range(rows)],
            "illness": [f"illness {draw.randrange(6)}" for _ in range(rows)],
            "born": [2020 - age - draw.randrange(2) for age in ages],
            "cost": [draw.randrange(10**6) for _ in range(rows)],
            "ward": [draw.choice("abcd") for _ in range(rows)],
        }
    )


ROLES = {"quasi": ["age", "sex"], "identifier": ["id"], "k": 10, "algorithm": "mondrian"}


class TestUniqueRows:
    def test_a_plain_column_that_singles_out(self):
        release = shoal.anonymize(
            people().drop("born", "ward"), **ROLES, sensitive=["illness"], plain=["cost"], l=2
        )
        found = by_id(release)["unique-rows"]
        assert found.severity == "high"
        assert found.figure == unique_share(release.frame) == 1.0
        assert "'cost' alone singles out 100 %" in found.message
        assert found.remedy == "generalise with --quasi cost, or leave out with --identifier cost"

    def test_two_columns_that_single_out_together(self):
        draw = random.Random(3)
        frame = pl.DataFrame(
            {
                "age": [draw.randrange(20, 80) for _ in range(3000)],
                "x": [draw.randrange(12) for _ in range(3000)],
                "y": [draw.randrange(12) for _ in range(3000)],
                "z": [0] * 3000,
            }
        )
        release = shoal.anonymize(frame, quasi=["age"], plain=["x", "y", "z"], k=150, algorithm="mondrian")
        found = by_id(release)["unique-rows"]
        assert "the quasi-identifiers with 'x' and 'y' single out" in found.message
        assert found.figure == unique_share(release.frame) > 0.05
        assert (
            unique_share(release.frame.select("age", "x")),
            unique_share(release.frame.select("age", "y")),
        ) < (0.05, 0.05)

    def test_a_sensitive_column_that_a_model_protects_is_what_nobody_knows(self):
        frame = people().select("age", "sex", "illness")
        roles = {"quasi": ["age", "sex"], "sensitive": ["illness"], "k": 5, "algorithm": "mondrian"}
        protected = by_id(shoal.anonymize(frame, **roles, l=3))["unique-rows"]
        assert protected.severity == "medium"
        assert protected.figure > 0.05
        assert by_id(shoal.anonymize(frame, **roles))["unique-rows"].severity == "high"

    def test_with_something_left_to_learn_it_is_severe_all_the_same(self):
        frame = people().select("age", "sex", "illness", "ward")
        roles = {"quasi": ["age", "sex"], "k": 5, "algorithm": "mondrian", "l": 2}
        release = shoal.anonymize(frame, **roles, sensitive=["illness", "ward"])
        assert by_id(release)["unique-rows"].severity == "high"

    def test_nothing_is_said_where_no_row_is_unique(self):
        frame = people().select("age", "sex")
        assert shoal.anonymize(frame, quasi=["age", "sex"], k=5, algorithm="mondrian").report.findings == ()

    @pytest.mark.parametrize("most", [50, 10_000])
    def test_the_counter_counts(self, most):
        frame = people(600).with_columns(age=pl.col("age") // 20).drop("id")
        counter = CellCounter(frame, most)
        for size in (1, 2, 3):
            for names in combinations(frame.columns, size):
                assert counter.count_unique(names) == round(unique_share(frame.select(names)) * 600)
        part = counter.sample_classes(["age", "sex"])
        assert part.rows >= min(most, 600)
        assert (part is counter) == (most > 600)

    def test_a_sample_has_whole_classes(self):
        frame = people(600).with_columns(age=pl.col("age") // 20).drop("id")
        part = CellCounter(frame, 50).sample_classes(["age", "sex"])._frame
        whole = frame.group_by("age", "sex").len()
        joined = part.group_by("age", "sex").len("there").join(whole, ["age", "sex"])
        assert (joined["there"] == joined["len"]).all()


class TestDetermination:
    def test_a_year_of_birth_beside_the_age(self):
        release = shoal.anonymize(people().drop("cost", "ward", "illness"), **ROLES, plain=["born"])
        found = by_id(release)["determines:born:age"]
        assert found.severity == "high"
        assert "'born' narrows 'age' down" in found.message

    def test_it_is_found_where_few_cells_hide_something(self):
        ages = [*(20 + i % 60 for i in range(2400)), *(80 + i % 20 for i in range(60))]
        frame = pl.DataFrame({"age": ages, "born": [2020 - age for age in ages]})
        release = shoal.anonymize(frame, quasi=["age"], plain=["born"], k=10, algorithm="mondrian")
        hidden = sum(cell.startswith("[") for cell in release.frame["age"])
        assert 0 < release.report.columns["age"]["ncp"] < 0.01 < hidden / 2460 < 0.05
        found = by_id(release)["determines:born:age"]
        assert (found.severity, found.figure) == ("medium", 1.0)
        assert f"({100 * hidden / 2460:.2g} % of all)" in found.message

    def test_small_groups_lie_close_together_by_chance(self):
        draw = random.Random(6)
        frame = pl.DataFrame(
            {
                "age": [draw.randrange(1000) for _ in range(600)],
                "pair": draw.sample([i // 2 for i in range(600)], 600),
                "trio": draw.sample([i // 3 for i in range(600)], 600),
            }
        )
        release = shoal.anonymize(frame, quasi=["age"], plain=["pair", "trio"], k=300, algorithm="mondrian")
        assert not [name for name in by_id(release) if name.startswith("determines")]

    def test_a_column_that_has_nothing_to_do_with_it(self):
        release = shoal.anonymize(people().drop("cost", "born", "illness"), **ROLES, plain=["ward"])
        assert not [name for name in by_id(release) if name.startswith("determines")]

    def test_a_code_beside_a_category(self):
        draw = random.Random(5)
        towns = [f"town {draw.randrange(30)}" for _ in range(600)]
        frame = pl.DataFrame({"town": towns, "code": [f"{hash_of(town):04d}" for town in towns]})
        release = shoal.anonymize(frame, quasi=["town"], plain=["code"], k=60, algorithm="mondrian")
        found = by_id(release)["determines:code:town"]
        assert (found.severity, found.figure) == ("high", 1.0)

    def test_a_column_that_was_left_as_it_is_hides_nothing(self):
        frame = pl.DataFrame({"age": [30, 40] * 20, "born": [1990, 1980] * 20})
        release = shoal.anonymize(frame, quasi=["age"], plain=["born"], k=5)
        assert not [name for name in by_id(release) if name.startswith("determines")]

    def test_values_that_occur_once_tell_nothing(self):
        release = shoal.anonymize(people().drop("born", "ward", "illness"), **ROLES, plain=["cost"])
        assert not [name for name in by_id(release) if name.startswith("determines")]


def hash_of(town: str) -> int:
    return (int(town.split()[1]) * 7919) % 10_000


class TestOrder:
    @pytest.mark.parametrize("descending", [False, True])
    def test_rows_sorted_by_a_column_that_is_generalised(self, descending):
        frame = people().select("age", "sex", "illness").sort("age", descending=descending)
        roles = {"quasi": ["age", "sex"], "sensitive": ["illness"], "k": 20, "algorithm": "mondrian"}
        found = by_id(shoal.anonymize(frame, **roles))["row-order:age"]
        assert (found.severity, found.figure) == ("high", 1.0)
        assert found.remedy.endswith("--row-order released")
        sorted_release = shoal.anonymize(frame, **roles, row_order="released")
        assert "row-order:age" not in by_id(sorted_release)
        assert sorted_release.frame.rows() == sorted(sorted_release.frame.rows())

    def test_rows_sorted_by_an_identifier(self):
        frame = people().select("id", "age", "sex").sort("id")
        assert by_id(shoal.anonymize(frame, **ROLES))["row-order:id"].severity == "medium"
        names = frame.with_columns(id=pl.format("P{}", pl.col("id").cast(pl.String).str.zfill(6)))
        assert by_id(shoal.anonymize(names, **ROLES))["row-order:id"].severity == "medium"

    def test_rows_of_a_person_side_by_side(self):
        frame = (
            people(300)
            .select("age", "sex")
            .with_columns(id=pl.Series([(i // 3 * 77) % 100 for i in range(300)]))
        )
        found = by_id(shoal.anonymize(frame, **ROLES))["row-order:id"]
        assert (found.severity, found.figure) == ("high", 1.0)

    def test_rows_in_no_order(self):
        release = shoal.anonymize(people().select("id", "age", "sex"), **ROLES)
        assert not [name for name in by_id(release) if name.startswith("row-order")]

    def test_a_column_of_two_values_sorted(self):
        frame = people().select("age", "sex").sort("sex")
        release = shoal.anonymize(frame, quasi=["age", "sex"], k=250, algorithm="mondrian")
        assert release.frame["sex"].n_unique() == 1
        assert "row-order:sex" in by_id(release)


class TestPeople:
    def test_classes_of_fewer_people_than_k(self):
        frame = people(400).select("age", "sex").with_columns(id=pl.Series([i % 40 for i in range(400)]))
        frame = frame.sort("age")
        frame = frame.with_columns(id=pl.int_range(400) // 10)  # ten rows of each person, of about one age
        release = shoal.anonymize(frame, **ROLES, row_order="released")
        classes, rows = defaultdict(set), Counter()
        shown = shoal.anonymize(frame, quasi=["age", "sex"], plain=["id"], k=10, algorithm="mondrian").frame
        for age, sex, person in shown.iter_rows():
            classes[age, sex].add(person)
            rows[age, sex] += 1
        few = sum(rows[key] for key in rows if len(classes[key]) < 10)
        found = by_id(release)["repeated:id"]
        assert found.figure == few / 400 > 0.05
        assert found.severity == "high"

    def test_rows_that_match_k_originals_repeat_nobody(self):
        frame = pl.DataFrame(
            {"age": [21, 35, 41, 52, 38], "sex": ["f", "f", "m", "m", "f"], "id": [1, 2, 3, 4, 5]}
        )
        release = shoal.anonymize(
            frame, quasi=["age", "sex"], identifier=["id"], k=2, algorithm="mingen(semantics=matching)"
        )
        assert min(Counter(release.frame.rows()).values()) == 1
        assert "repeated:id" not in by_id(release)

    def test_values_that_coincide_now_and_then_are_not_severe(self):
        """An amount that was left out: every fourth class has two equal ones, and nobody recurs."""
        amounts = [float(i) for i in range(400)]
        amounts[::40] = amounts[1::40]
        frame = pl.DataFrame({"age": [20 + i // 10 for i in range(400)], "sex": "f", "id": amounts})
        found = by_id(shoal.anonymize(frame, **ROLES, row_order="released"))["repeated:id"]
        assert (found.figure, found.severity) == (0.25, "medium")

    @pytest.mark.parametrize("roles", [{"others": "drop"}, {"others": "keep"}, {"plain": ["patient_id"]}])
    @pytest.mark.parametrize("memory", [None, "1GB"])
    def test_a_column_that_nobody_named_may_say_whose_row_it_is(self, roles, memory, tmp_path):
        names = ["age", "sex", "patient_id"]
        frame = people(400).sort("age").with_columns(patient_id=pl.int_range(400) // 10).select(names)
        frame.write_csv(tmp_path / "t.csv")
        asked = {"quasi": ["age", "sex"], "k": 10, "algorithm": "mondrian", "row_order": "released"}
        more = {"memory": memory, "output": tmp_path / "r.csv"} if memory else {}
        release = shoal.anonymize(tmp_path / "t.csv", **asked, **roles, **more)
        found = by_id(release)["repeated:patient_id"]
        assert found.severity == "high"
        assert "name it with --person patient_id, so that people are counted" in found.remedy
        named = shoal.anonymize(tmp_path / "t.csv", **asked, person="patient_id", **more)
        assert "repeated:patient_id" not in by_id(named)

    def test_other_columns_that_repeat_say_nothing_about_people(self):
        frame = people(400).sort("age").with_columns(hospital_id=pl.int_range(400) // 10)
        release = shoal.anonymize(frame, quasi=["age", "sex"], k=10, algorithm="mondrian", others="drop")
        assert not [name for name in by_id(release) if name.startswith("repeated")]

    def test_missing_ids_of_a_named_person_are_nobody_elses(self):
        frame = people(400).select("id", "age", "sex").sort("age")
        frame = frame.with_columns(
            pl.when(pl.int_range(400) < 100).then(None).otherwise(pl.col("id")).alias("id")
        )
        release = shoal.anonymize(frame, quasi=["age", "sex"], person="id", k=10, algorithm="mondrian")
        assert "repeated:id" not in by_id(release)

    def test_verify_sees_a_column_of_ids(self):
        frame = people(400).sort("age").with_columns(patient_id=pl.int_range(400) // 10)
        release = shoal.anonymize(
            frame.select("age", "sex", "patient_id"), quasi=["age", "sex"], others="keep", k=10
        )
        found = shoal.verify(release.frame, quasi=["age", "sex"], k=10).findings
        assert "repeated:patient_id" in {finding.id for finding in found}

    def test_a_person_per_row(self):
        assert "repeated:id" not in by_id(shoal.anonymize(people().select("id", "age", "sex"), **ROLES))


class TestDecisions:
    frame = people().drop("born", "ward")
    roles: ClassVar = {**ROLES, "sensitive": ["illness"], "plain": ["cost"]}

    def test_strict_releases_nothing(self, tmp_path):
        with pytest.raises(GoalNotMet, match="unique-rows: 100 % of the rows are unique"):
            shoal.anonymize(self.frame, **self.roles, strict=True, output=tmp_path / "r.csv")
        assert list(tmp_path.iterdir()) == []

    def test_what_is_accepted_is_told_and_no_longer_in_the_way(self, tmp_path):
        reason = "only the ministry receives it"
        release = shoal.anonymize(
            self.frame, **self.roles, strict=True, accept={"unique-rows": reason}, output=tmp_path / "r.csv"
        )
        assert by_id(release)["unique-rows"].accepted == reason
        assert release.report.open_findings == ()
        assert release.report.to_dict()["findings"][0]["accepted"] == reason
        assert shoal.Recipe.from_text(release.recipe.to_toml(), tmp_path / "r.toml").accept == {
            "unique-rows": reason
        }

    def test_an_unknown_finding_and_no_reason_are_refused(self):
        with pytest.raises(RecipeError, match="unknown finding 'unique-row': did you mean 'unique-rows'"):
            shoal.anonymize(self.frame, **self.roles, accept={"unique-row": "x"})
        with pytest.raises(RecipeError, match="'unique-rows' is accepted without a reason"):
            shoal.anonymize(self.frame, **self.roles, accept={"unique-rows": " "})

    def test_what_was_accepted_need_not_occur(self):
        release = shoal.anonymize(
            self.frame.drop("cost"), **{**self.roles, "plain": []}, accept={"spelling:illness": "x"}
        )
        assert "spelling:illness" not in by_id(release)

    def test_on_the_command_line(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        self.frame.write_csv("in.csv")
        line = [
            "anonymize",
            "in.csv",
            "-q",
            "age,sex",
            "--identifier",
            "id",
            "-s",
            "illness",
            "--plain",
            "cost",
        ]
        line += ["-k", "10", "-o", "r.csv", "--strict"]
        code, said = run_to_end(run_command_line, line)
        assert code == 3
        assert "unique-rows" in said
        assert not (tmp_path / "r.csv").exists()
        assert run_to_end(run_command_line, [*line, "--accept", "unique-rows=we agreed", "--quiet"]) == (
            0,
            "",
        )
        check = ["verify", "r.csv", "-q", "age,sex", "-s", "illness", "-k", "10", "--quiet"]
        assert run_to_end(run_command_line, check) == (0, "")
        assert run_to_end(run_command_line, [*check, "--strict"]) == (3, "")
        assert run_to_end(run_command_line, [*check, "--strict", "--accept", "unique-rows=we agreed"]) == (
            0,
            "",
        )
        capsys.readouterr()
        assert run_to_end(run_command_line, line[:-1]) == (0, "")
        said = capsys.readouterr().out
        assert "The goal holds, but 100 % of the rows are unique in all that is released" in said

    def test_verify_finds_what_can_be_seen_in_the_release(self):
        release = shoal.anonymize(self.frame, **self.roles)
        found = shoal.verify(release.frame, quasi=["age", "sex"], sensitive=["illness"], k=10)
        assert [finding.id for finding in found.findings] == ["unique-rows"]
        assert found.findings[0] == by_id(release)["unique-rows"]


def test_columns_without_a_role_are_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = people().select("age", "sex", "cost")
    with pytest.raises(RecipeError, match=r"no role was given for 'cost'.*--others keep or --others drop"):
        shoal.anonymize(frame, quasi=["age", "sex"], k=5)
    assert shoal.anonymize(frame, quasi=["age", "sex"], k=5, others="drop").frame.columns == ["age", "sex"]
    assert shoal.anonymize(frame, quasi=["age", "sex"], k=5, others="keep").frame.columns == frame.columns
    frame.write_csv("in.csv")
    code, said = run_to_end(
        run_command_line, ["anonymize", "in.csv", "-q", "age,sex", "-k", "5", "-o", "r.csv"]
    )
    assert (code, "no role was given for 'cost'" in said) == (2, True)
    (tmp_path / "new.toml").write_text(
        '[shoal]\nrecipe = 2\n[table]\ninput = "in.csv"\n'
        '[columns]\nquasi = ["age"]\n[goal]\nmodels = ["k(k=5)"]\n'
    )
    assert run_to_end(run_command_line, ["run", "new.toml"])[0] == 2


def test_a_recipe_of_the_first_edition_keeps_them_and_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().select("age", "cost").write_csv("in.csv")
    (tmp_path / "old.toml").write_text(
        '[table]\ninput = "in.csv"\n[columns]\nquasi = ["age"]\n[goal]\nmodels = ["k(k=5)"]\n'
    )
    release = shoal.run(shoal.Recipe.from_toml("old.toml"))
    assert release.frame.columns == ["age", "cost"]
    assert any(
        warning.startswith("[W01] no role was given for 'cost'") for warning in release.report.warnings
    )


def test_an_empty_release_has_no_findings():
    assert judge_release(JudgedRelease(pl.DataFrame({"a": []}), ["a"], [], [], {})) == ()


def test_values_that_are_no_number_have_one_rank():
    from shoal.verification.findings.order import Steps

    values = pl.DataFrame({"x": [float("nan"), 2.0, None, float("nan"), float("nan"), 1.0]})
    (steps,) = Steps.from_columns(values)
    assert (steps.up, steps.down, steps.beside, steps.squares()) == (1, 3, 2, 12.0)


DAYS = [date(2018, 3, 5) + timedelta(days=11 * at) for at in range(120)]
WRITTEN = {
    "day.month.year": ["%d.%m.%Y", "%d/%m/%Y", "%d-%m-%y", "%d.%m.%Y %H:%M"],
    "month/day/year": ["%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y %I:%M %p"],
}


class TestDatesInTexts:
    """Rows sorted by dates whose texts are not sorted."""

    @pytest.mark.parametrize(
        ("reading", "form"), [(reading, form) for reading, forms in WRITTEN.items() for form in forms]
    )
    @pytest.mark.parametrize("memory", [None, "1GB"])
    def test_rows_sorted_by_a_date(self, tmp_path, reading, form, memory):
        texts = [day.strftime(form) for day in DAYS]
        frame = pl.DataFrame({"age": [at * 7 % 9 for at in range(120)], "visit": texts})
        frame.write_csv(tmp_path / "in.csv")
        settings = {"quasi": ["age"], "identifier": ["visit"], "k": 5, "algorithm": "mondrian"}
        release = shoal.anonymize(tmp_path / "in.csv", **settings, memory=memory, output=tmp_path / "out.csv")
        found = by_id(release)["row-order:visit"]
        assert (found.severity, found.figure) == ("medium", 1.0)
        assert f"(read as {reading})" in found.message

    def test_dates_of_which_one_reading_alone_is_sorted(self):
        # No day is above 12, so that the texts can be read in both ways.
        texts = [f"{day:02}/{month:02}/2020" for month in range(1, 13) for day in range(1, 13)]
        frame = pl.DataFrame({"age": [at * 7 % 9 for at in range(144)], "visit": texts})
        found = by_id(shoal.anonymize(frame, quasi=["age"], identifier=["visit"], k=5))["row-order:visit"]
        assert "(read as day.month.year)" in found.message

    def test_a_text_that_is_no_date_leaves_the_names(self):
        texts = [day.strftime("%d.%m.%Y") for day in DAYS]
        frame = pl.DataFrame(
            {"age": [at * 7 % 9 for at in range(120)], "visit": [*texts[:60], "later", *texts[61:]]}
        )
        assert not by_id(shoal.anonymize(frame, quasi=["age"], identifier=["visit"], k=5))

    def test_markers_of_missing_values_are_no_dates(self):
        texts = ["NA", "?", *(day.strftime("%d.%m.%Y") for day in DAYS)]
        frame = pl.DataFrame({"age": [at * 7 % 9 for at in range(122)], "visit": texts})
        found = by_id(shoal.anonymize(frame, quasi=["age"], identifier=["visit"], k=5))
        assert "row-order:visit" in found

    def test_dates_in_no_order(self):
        texts = random.Random(4).sample([day.strftime("%d.%m.%Y") for day in DAYS], 120)
        frame = pl.DataFrame({"age": [at * 7 % 9 for at in range(120)], "visit": texts})
        assert not by_id(shoal.anonymize(frame, quasi=["age"], identifier=["visit"], k=5))


@pytest.mark.parametrize("memory", [None, "1GB"])
def test_long_numbers_that_are_one_as_floats_are_compared_by_name(tmp_path, memory):
    texts = [str(2**64 + at) for at in range(60)]
    frame = pl.DataFrame({"age": [at % 3 for at in range(60)], "card": texts})
    frame.write_csv(tmp_path / "in.csv")
    roles = {"quasi": ["age"], "identifier": ["card"], "k": 2, "memory": memory}
    release = shoal.anonymize(tmp_path / "in.csv", **roles, output=tmp_path / "out.csv")
    assert "row-order:card" in by_id(release)
