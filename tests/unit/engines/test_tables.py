"""Tables of people and of events: k people for whatever is known, counted by plain Python in the files."""

import csv
import json
import pickle
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli import app
from shoal.engines.memory import prepare_table, run_in_memory
from shoal.errors import GoalNotMet, InputError, OutputError, RecipeError, ShoalError
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

QUASI = ["age", "sex", "labs.day", "labs.test"]
ASKED = {"person": "id", "quasi": QUASI, "k": 3}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", "a key that is long enough")


def draw_tables(seed, people=40, tables=("labs",), most=4):
    """A table of people, some of whom have events in some tables."""
    rng = np.random.default_rng(seed)
    frames = {
        "people": pl.DataFrame(
            {
                "id": [f"P{who}" for who in range(people)],
                "age": rng.integers(20, 60, people),
                "sex": rng.choice(["f", "m"], people),
            }
        )
    }
    for name in tables:
        person = np.repeat(np.arange(people), rng.integers(0, most + 1, people))
        frames[name] = pl.DataFrame(
            {
                "id": [f"P{who}" for who in person],
                "day": rng.integers(0, 30, person.size),
                "test": rng.choice(["hdl", "ldl", "alt"], person.size),
                "value": rng.choice(["low", "usual", "high"], person.size),
            }
        )
    return frames


def read_csv(path):
    text = Path(path).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter=";" if ";" in text.splitlines()[0] else ","))


def count_fewest(folder, knows, columns=None):
    """The fewest people anybody finds who knows the static columns and some events of a person."""
    columns = columns or {"people": ("age", "sex")}
    people = {row["id"]: tuple(row[c] for c in columns["people"]) for row in read_csv(folder / "people.csv")}
    events = defaultdict(Counter)
    for file in sorted(folder.iterdir()):
        for row in read_csv(file) if file.stem != "people" else ():
            names = columns.get(file.stem, ("day", "test"))
            events[row["id"]][(file.stem, *(row[name] for name in names))] += 1
    assert set(events) <= set(people)
    found = Counter()
    for person, static in people.items():
        own = sorted(events[person].elements())
        if knows == "all":
            choices = {tuple(own)}
        else:
            choices = {c for n in range(min(knows, len(own)) + 1) for c in combinations(own, n)}
        found.update((static, choice) for choice in choices)
    return min(found.values())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("knows", [1, 2, "all"])
def test_whoever_knows_some_events_finds_k_people(tmp_path, seed, knows):
    names = ("labs", "drugs")[: 1 + seed % 2]
    frames = draw_tables(seed, tables=names)
    quasi = ["age", "sex", *(f"{name}.{column}" for name in names for column in ("day", "test"))]
    asked = {"person": "id", "quasi": quasi, "k": 3, "pseudonym": True, "knows": knows, "others": "drop"}
    release = shoal.anonymize(
        frames["people"],
        events={name: frames[name] for name in names},
        suppress=0.5,
        output=tmp_path / "release",
        **asked,
    )
    assert count_fewest(tmp_path / "release", knows) >= 3
    assert count_fewest(tmp_path / "release", knows) == release.report.smallest_class
    found = shoal.verify(tmp_path / "release", person="id", events=list(names), quasi=quasi, k=3, knows=knows)
    assert found.holds
    assert found.smallest_class == release.report.smallest_class
    # one more is not promised, and the count says so
    more = shoal.verify(
        tmp_path / "release",
        person="id",
        events=list(names),
        quasi=quasi,
        k=release.report.smallest_class + 1,
        knows=knows,
    )
    assert not more.holds


def test_without_a_pseudonym_each_file_keeps_the_goal(tmp_path):
    frames = draw_tables(7)
    release = shoal.anonymize(
        frames["people"], events={"labs": frames["labs"]}, others="drop", output=tmp_path / "out", **ASKED
    )
    assert list(release.frames) == ["people", "labs"]
    assert release.frame.columns == ["age", "sex"]
    assert release.frames["labs"].columns == ["day", "test"]
    for table, columns in (("people", ("age", "sex")), ("labs", ("day", "test"))):
        rows = [tuple(row[c] for c in columns) for row in read_csv(tmp_path / "out" / f"{table}.csv")]
        assert rows == sorted(rows)
        assert min(Counter(rows).values()) >= 3
    assert any("cannot be joined" in note for note in release.report.notes)
    asked = [(model.asked["table"], model.holds) for model in release.report.models]
    assert asked == [("people", True), ("labs", True)]
    # an outsider counts rows, for nobody can tell people apart
    found = shoal.verify(tmp_path / "out", recipe=release.recipe)
    assert found.holds and "cannot be joined" in found.notes[0]


def test_events_of_few_people_are_not_alone_in_a_static_class(tmp_path):
    """Whoever knows a row knows its table: static classes are merged until k people have rows of it."""
    frames = draw_tables(3, people=60)
    few = [f"P{who}" for who in range(0, 60, 12)]
    frames["labs"] = frames["labs"].filter(pl.col("id").is_in(few))
    owners = pl.DataFrame({"id": few, "day": 1, "test": "hdl", "value": "low"}).cast(frames["labs"].schema)
    labs = pl.concat([frames["labs"], owners])
    for knows in (1, 2):
        shoal.anonymize(
            frames["people"],
            events={"labs": labs},
            pseudonym=True,
            knows=knows,
            suppress=0.5,
            output=tmp_path / "few",
            others="drop",
            **ASKED,
        )
        assert count_fewest(tmp_path / "few", knows) >= 3
    with pytest.raises(GoalNotMet, match=r"^labs: .*5"):
        shoal.anonymize(
            frames["people"],
            events={"labs": labs},
            pseudonym=True,
            person="id",
            quasi=QUASI,
            k=6,
            others="drop",
        )


@pytest.mark.parametrize("knows", [2, "all"])
def test_rows_that_are_left_out_cost_all_of_their_detail(tmp_path, knows):
    frames = draw_tables(11, people=30, most=5)
    report = shoal.anonymize(
        frames["people"],
        events={"labs": frames["labs"]},
        pseudonym=True,
        knows=knows,
        suppress=1.0,
        others="drop",
        output=tmp_path / "out",
        **ASKED,
    ).report
    labs, people = report.tables["labs"], report.tables["people"]
    written = read_csv(tmp_path / "out" / "labs.csv")
    assert (labs.released_rows, labs.people) == (len(written), len({row["id"] for row in written}))
    assert labs.rows == frames["labs"].height == labs.released_rows + labs.left_out
    lost = frames["labs"]["id"].n_unique() - labs.people
    assert labs.people_left_out == report.people_left_out == lost
    assert people.left_out == 0
    assert labs.ncp >= labs.left_out / labs.rows
    columns = [each["ncp"] for each in report.columns.values()]
    assert report.ncp == pytest.approx(sum(columns) / 4)
    assert people.ncp == pytest.approx(sum(columns[:2]) / 2)
    plain = report.to_dict()
    assert plain["tables"]["labs"]["left_out"] == labs.left_out
    assert json.loads(json.dumps(plain))["people"] == 30


def test_sensitive_values_of_whole_histories(tmp_path):
    frames = draw_tables(5, people=60, most=2)
    asked = {
        **ASKED,
        "models": ["distinct-l(l=2,column=labs.value)"],
        "sensitive": ["labs.value"],
        "pseudonym": True,
    }
    with pytest.raises(RecipeError, match="only if knows is 'all'"):
        shoal.anonymize(frames["people"], events={"labs": frames["labs"]}, **asked)
    shoal.anonymize(
        frames["people"],
        events={"labs": frames["labs"]},
        knows="all",
        suppress=0.3,
        output=tmp_path / "out",
        **asked,
    )
    people = {row["id"]: (row["age"], row["sex"]) for row in read_csv(tmp_path / "out" / "people.csv")}
    rows, values = defaultdict(list), defaultdict(set)
    for row in read_csv(tmp_path / "out" / "labs.csv"):
        rows[row["id"]].append((row["day"], row["test"]))
        values[row["id"]].add(row["value"])
    groups = defaultdict(list)
    for person, static in people.items():
        groups[(static, tuple(sorted(rows[person])))].append(person)
    for group in groups.values():
        assert len(group) >= 3
        if rows[group[0]]:
            found = Counter(value for person in group for value in values[person])
            assert len(found) >= 2
            assert max(found.values()) < len(group)
    again = shoal.verify(
        tmp_path / "out",
        person="id",
        events=["labs"],
        quasi=QUASI,
        sensitive=["labs.value"],
        k=3,
        models=["distinct-l(l=2,column=labs.value)"],
        knows="all",
    )
    assert again.holds


def test_unlinked_sensitive_values_are_judged_in_their_own_table():
    frames = draw_tables(5, people=60)
    release = shoal.anonymize(
        frames["people"], events={"labs": frames["labs"]}, sensitive=["labs.value"], l=2, **ASKED
    )
    assert [(model.name, model.asked["table"]) for model in release.report.models] == [
        ("k", "people"),
        ("k", "labs"),
        ("distinct-l", "labs"),
    ]


def write_files(folder, frames, delimiter=";"):
    frames["people"].write_csv(folder / "people.csv")
    frames["labs"].write_csv(folder / "labs.csv", separator=delimiter)
    return folder / "people.csv", folder / "labs.csv"


def test_the_command_the_recipe_and_python_give_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, draw_tables(1))
    options = "--person id --events labs.csv -q age,sex -q labs.day,labs.test --plain labs.value -k 3"
    said = ["anonymize", "people.csv", *options.split(), "--pseudonym", "-o", "out/"]
    told = CliRunner().invoke(app, [*said, "--recipe-out", "recipe.toml", "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["tables"]["labs"]["rows"] == len(read_csv("labs.csv"))
    first = {name: Path("out", name).read_bytes() for name in ("people.csv", "labs.csv")}
    # each file as its input was written
    assert first["labs.csv"].startswith(b"id;day;test;value\n")
    recipe = Recipe.from_toml(tmp_path / "recipe.toml")
    assert "plain" not in recipe.to_dict()["columns"]
    assert recipe == Recipe.from_text(recipe.to_toml(tmp_path), tmp_path / "recipe.toml")
    assert "[[events]]" in Path("recipe.toml").read_text()
    assert recipe.quasi == tuple(QUASI)
    assert CliRunner().invoke(app, ["run", "recipe.toml", "--quiet"]).exit_code == 0
    assert first == {name: Path("out", name).read_bytes() for name in first}
    shoal.anonymize(
        "people.csv",
        events=["labs.csv"],
        plain=["labs.value"],
        pseudonym=True,
        output="python",
        **ASKED,
    )
    assert first == {name: Path("python", name).read_bytes() for name in first}
    checked = CliRunner().invoke(app, ["verify", "out", "--recipe", "recipe.toml"])
    assert checked.exit_code == 0 and "the goal holds" in checked.output
    raw = ["verify", "people.csv", "--events", "labs.csv", *options.split()[4:8], "--person", "id", "-k", "3"]
    assert CliRunner().invoke(app, raw).exit_code == 3


def test_a_folder_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    frames = draw_tables(1)
    release = shoal.anonymize(frames["people"], events={"labs": frames["labs"]}, others="drop", **ASKED)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"notes\.txt"):
        release.write(tmp_path / "other")
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="is a file"):
        release.write(tmp_path / "file")
    release.write(tmp_path / "out")
    before = (tmp_path / "out" / "labs.csv").read_bytes()
    # an error in the last file leaves what was there, and nothing else
    monkeypatch.setattr("shoal.engines.release.read_written_rows", lambda *given, **more: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        release.write(tmp_path / "out")
    assert (tmp_path / "out" / "labs.csv").read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "other", "out"]


def change(frames, table, **columns):
    return {**frames, table: frames[table].with_columns(**columns)}


NOBODY = pl.when(pl.int_range(pl.len()) < 2).then(pl.lit("X9")).otherwise("id")
MISSING = pl.when(pl.int_range(pl.len()) < 2).then(None).otherwise("id")


@pytest.mark.parametrize(
    ("frames", "more", "told"),
    [
        (change(draw_tables(1), "labs", id=NOBODY), {}, r"2 of \d+ events are of nobody who is known \(2 of"),
        (change(draw_tables(1), "labs", id=MISSING), {}, "0 of people .* and 2 without an id"),
        (change(draw_tables(1), "people", id=NOBODY), {}, "1 people have several rows, .* rows 1 and 2"),
        ({**draw_tables(1), "labs": draw_tables(1)["labs"].drop("id")}, {}, "there is no column 'id'"),
        ({**draw_tables(1), "labs": draw_tables(1)["labs"].clear()}, {}, "no rows"),
        (draw_tables(1), {"quasi": ["age", "labs.days"]}, "days"),
        (draw_tables(1), {"quasi": ["age", "lab.day", "labs.day"]}, "lab.day"),
        (draw_tables(1), {"quasi": ["age", "sex"]}, "'labs' has no quasi-identifiers"),
        (draw_tables(1), {"quasi": ["labs.day"]}, "the table of people has no quasi-identifiers"),
        (draw_tables(1), {"k": 41}, "40"),
        (draw_tables(1), {"memory": "1GB"}, "memory"),
        (draw_tables(1), {"engine": "spark"}, "Spark"),
        (draw_tables(1), {"sets": {"sex": "|"}, "quasi": ["age", "labs.day"]}, "sets"),
        (draw_tables(1), {"group": "sex", "quasi": ["age", "labs.day"], "pseudonym": True}, "of 2 groups"),
        (draw_tables(1), {"loss": "entropy"}, "the loss of several tables is ncp"),
        (draw_tables(1), {"person": None}, "need a person"),
        (change(draw_tables(1), "people", **{"labs.x": pl.lit(1)}), {}, "the column 'labs.x' is named as"),
        (draw_tables(1), {"sensitive": ["labs.value"], "models": ["distinct-l(l=9)"]}, "^labs: "),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(frames, more, told):
    with pytest.raises(ShoalError, match=told):
        shoal.anonymize(
            frames["people"], events={"labs": frames["labs"]}, **{**ASKED, "others": "drop", **more}
        )


def test_each_table_keeps_its_format(tmp_path):
    """And days since the first event, a hierarchy and a weight are for a column of one table."""
    frames = draw_tables(1)
    first = pl.date(2024, 1, 1) + pl.duration(days=pl.col("day"))
    frames["people"].write_parquet(tmp_path / "people.parquet")
    frames["labs"].with_columns(day=first).write_csv(tmp_path / "labs.tsv", separator="\t")
    tree = [("hdl", "fat", "*"), ("ldl", "fat", "*"), ("alt", "liver", "*")]
    release = shoal.anonymize(
        tmp_path / "people.parquet",
        events=[tmp_path / "labs.tsv"],
        hierarchies={"labs.test": tree},
        weights={"labs.test": 2},
        relative="labs.day",
        pseudonym=True,
        others="drop",
        output=tmp_path / "out",
        **ASKED,
    )
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["labs.tsv", "people.parquet"]
    lines = (tmp_path / "out" / "labs.tsv").read_text().splitlines()
    assert lines[0] == "id\tday\ttest"
    assert not any("2024" in line for line in lines)
    assert shoal.verify(tmp_path / "out", recipe=release.recipe).holds
    lost = release.report.loss["columns"]
    assert release.report.loss["value"] == pytest.approx((sum(lost.values()) + lost["labs.test"]) / 5)
    with pytest.raises(OutputError, match="named as a file"):
        shoal.run(replace(release.recipe, output=str(tmp_path / "out.csv")))


def test_events_can_be_aligned(tmp_path):
    frames = draw_tables(1)
    asked = {"events": {"labs": frames["labs"]}, "pseudonym": True, "knows": "all", "suppress": 0.3}
    for column in ("labs.day", "labs.value"):
        release = shoal.anonymize(
            frames["people"], align=column, others="drop", output=tmp_path / "out", **asked, **ASKED
        )
        assert count_fewest(tmp_path / "out", "all") >= 3
    # whose row each is does not travel along
    copy = pickle.loads(pickle.dumps(release))
    assert list(copy.frames) == ["people", "labs"]
    with pytest.raises(OutputError, match="did not come along"):
        copy.write(tmp_path / "copy")


def test_events_of_nobody_can_be_dropped(tmp_path):
    frames = change(change(draw_tables(1), "labs", id=NOBODY), "people", id=MISSING)
    release = shoal.anonymize(
        frames["people"],
        events={"labs": frames["labs"]},
        others="drop",
        missing="drop",
        pseudonym=True,
        **ASKED,
    )
    labs = release.report.tables["labs"]
    gone = frames["labs"].filter(~pl.col("id").is_in(frames["people"]["id"].drop_nulls().implode())).height
    assert gone == labs.dropped_rows > 2
    assert any("events were dropped" in warning for warning in release.report.warnings)
    # people without an id count as one each
    kept = shoal.anonymize(
        change(draw_tables(1), "people", id=pl.when(pl.col("id") == "P99").then(None).otherwise("id"))[
            "people"
        ],
        events={"labs": draw_tables(1)["labs"]},
        others="drop",
        **ASKED,
    )
    assert kept.report.people == 40


def test_tables_with_the_same_name(tmp_path):
    people, labs = write_files(tmp_path, draw_tables(1))
    with pytest.raises(RecipeError, match="two event tables are called 'labs'"):
        shoal.anonymize(people, events=[labs, labs], **ASKED)
    with pytest.raises(RecipeError, match="both called 'people'"):
        shoal.anonymize(people, events={"people": labs}, **ASKED)
    with pytest.raises(RecipeError, match="cannot be told apart"):
        shoal.anonymize(people, events={"labs": labs, "labs.old": labs}, **ASKED)
    renamed = shoal.anonymize(
        people,
        events={"tests": labs},
        person="id",
        k=3,
        quasi=["age", "sex", "tests.day", "tests.test"],
        others="drop",
        output=tmp_path / "out",
    )
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["people.csv", "tests.csv"]
    assert renamed.recipe.events == {"tests": str(labs)}


def test_a_column_with_a_dot(tmp_path):
    frames = draw_tables(2)
    labs = frames["labs"].rename({"day": "day.of.test"})
    people = frames["people"].rename({"age": "age.now"})
    release = shoal.anonymize(
        people,
        events={"labs": labs},
        person="id",
        quasi=["age.now", "sex", "labs.day.of.test"],
        k=3,
        others="drop",
    )
    assert release.frames["labs"].columns == ["day.of.test"]


def test_findings_name_the_table(tmp_path):
    frames = draw_tables(2)
    unique = change(frames, "labs", value=pl.int_range(pl.len()).cast(pl.String))
    asked = {**ASKED, "events": {"labs": unique["labs"]}, "plain": ["labs.value"]}
    report = shoal.anonymize(unique["people"], **asked).report
    found = {finding.id: finding for finding in report.findings}["unique-rows:labs"]
    assert "--identifier labs.value" in found.remedy
    accepted = shoal.anonymize(
        unique["people"], accept={"unique-rows:labs": "it is a number of ours"}, strict=True, **asked
    )
    assert not accepted.report.open_findings
    with pytest.raises(InputError):
        shoal.verify(tmp_path, person="id", events=["labs"], quasi=QUASI, k=3)


def join_by_hand(people, events, quasi):
    """The events of each person with the static columns, from frames."""
    rows = defaultdict(Counter)
    static = {row["id"]: tuple(row[c] for c in ("age", "sex")) for row in people.to_dicts()}
    for name, frame in events.items():
        for row in frame.to_dicts():
            known = tuple(row[column] for column in quasi)
            rows[row["id"]][(name, *static[row["id"]], *known)] += 1
    return rows


@pytest.mark.parametrize("names", [("labs",), ("labs", "drugs")])
def test_risk_joins_people_and_events(names, tmp_path, monkeypatch):
    frames = draw_tables(4, people=50, tables=names)
    events = {name: frames[name] for name in names}
    quasi = ["age", "sex", *(f"{name}.day" for name in names)]
    found = shoal.risk(frames["people"], quasi, person="id", events=events, k=3)
    rows = join_by_hand(frames["people"], events, ("day",))
    holders = Counter(kind for own in rows.values() for kind in own)
    shares = [sum(n for kind, n in own.items() if holders[kind] == 1) / own.total() for own in rows.values()]
    curve = found.people_risk.curve
    assert curve[0].unique.value == pytest.approx(sum(shares) / len(shares))
    same = Counter(tuple(sorted(own.items())) for own in rows.values())
    alone = sum(same[tuple(sorted(own.items()))] == 1 for own in rows.values())
    assert curve[-1].unique.value == pytest.approx(alone / len(rows))
    assert found.rows == sum(frame.height for frame in events.values())
    assert (f"{50 - len(rows)} people have no events" in " ".join(found.warnings)) == (len(rows) < 50)
    with pytest.raises(RecipeError, match="joined by a person"):
        shoal.risk(frames["people"], quasi, events=events)
    monkeypatch.chdir(tmp_path)
    for name, frame in frames.items():
        frame.write_csv(f"{name}.csv")
    told = [f"--events={name}.csv" for name in names]
    said = CliRunner().invoke(
        app, ["risk", "people.csv", *told, "-q", ",".join(quasi), "--person", "id", "--json"]
    )
    assert json.loads(said.stdout)["people_risk"]["people"] == len(rows)


def test_an_attack_on_events(tmp_path, monkeypatch):
    """Whoever knows an event finds nobody in a release against that, and most people in the original."""
    frames, others = draw_tables(8, people=80), draw_tables(9, people=80)
    others = {name: frame.with_columns(id="X" + pl.col("id")) for name, frame in others.items()}
    release = shoal.anonymize(
        frames["people"], events={"labs": frames["labs"]}, pseudonym=True, others="drop", **ASKED
    )
    found = shoal.attack(
        release.frames,
        frames["people"],
        quasi=QUASI,
        person="id",
        events={"labs": frames["labs"]},
        control=others,
    )
    one, two = found.before[0], found.after[0]
    assert one.rate.successes > 0.9 * one.rate.attacks
    assert two.rate.successes == two.linked == 0
    assert found.control == len(set(others["labs"]["id"]))
    unlinked = shoal.anonymize(frames["people"], events={"labs": frames["labs"]}, others="drop", **ASKED)
    with pytest.raises(InputError, match="nobody can join"):
        shoal.attack(
            unlinked.frames, frames["people"], quasi=QUASI, person="id", events={"labs": frames["labs"]}
        )
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, frames)
    (tmp_path / "recipe.toml").write_text(
        '[table]\ninput = "people.csv"\n[columns]\nquasi = ["age", "sex"]\nperson = "id"\nothers = "drop"\n'
        '[goal]\nmodels = ["k(k=3)"]\n[release]\npseudonym = true\n'
        '[[events]]\ninput = "labs.csv"\nquasi = ["day", "test"]\n'
    )
    said = ["attack", "--original", "people.csv", "--recipe", "recipe.toml", "--holdout", "0.3", "--json"]
    told = CliRunner().invoke(app, said)
    assert told.exit_code == 0, told.output
    after = json.loads(told.stdout)["known_rows"][0]["after"]
    assert after["rate"]["successes"] == 0
    release.write("release")
    said = "attack release --original people.csv --events labs.csv --person id -q age,sex,labs.day,labs.test"
    assert CliRunner().invoke(app, said.split()).exit_code == 0


def test_what_has_no_place_for_event_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, draw_tables(1))
    options = "people.csv --person id --events labs.csv -q age,sex,labs.day,labs.test --others drop -k 3"
    for more, told in (
        (["--report", "page.html"], "--report draws one table"),
        (["--recoding-out", "x.json"], "no classes for later rows"),
        (["-o", "-"], "is a folder"),
        (["-o", "."], "has an input of this run in it"),
        (["--memory", "1GB", "-o", "out"], "event tables"),
    ):
        said = CliRunner().invoke(app, ["anonymize", *options.split(), *more])
        assert isinstance(said.exception, ShoalError), more
        assert told in str(said.exception)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["labs.csv", "people.csv"]
    recipe = Recipe(("age", "labs.day"), (KAnonymity(3),), person="id", events={"labs": "labs.csv"})
    # so that nothing that works on one table overlooks the others
    with pytest.raises(RecipeError, match="event tables are for"):
        prepare_table(recipe, read_table("people.csv"))
    with pytest.raises(RecipeError, match="event tables are for"):
        run_in_memory(recipe, "people.csv")


def test_the_verifier_joins_events_with_static_columns():
    """Three people have the event, but only one of them with these static columns."""
    people = pl.DataFrame({"id": list("abcdef"), "age": ["20s"] * 3 + ["30s"] * 3})
    events = pl.DataFrame({"id": list("ade"), "day": [1, 1, 1]})
    asked = {"person": "id", "quasi": ["age", "visits.day"], "knows": 1}
    found = shoal.verify(people, events={"visits": events}, k=3, **asked)
    assert (found.holds, found.smallest_class, found.people) == (False, 1, 6)
    every = pl.DataFrame({"id": list("abcdef"), "day": [1] * 6})
    assert shoal.verify(people, events={"visits": every}, k=3, **asked).holds
    # an event of another table is another event
    apart = {"visits": events.filter(pl.col("id") != "a"), "tests": events.filter(pl.col("id") == "a")}
    asked["quasi"] = ["age", "visits.day", "tests.day"]
    assert shoal.verify(people, events=apart, k=1, **asked).smallest_class == 1


class TestHouseholds:
    """Events have the household of their person; k households are counted in each file."""

    @pytest.mark.parametrize("own", [False, True])  # whether the events name some household, too
    def test_every_class_has_k_households(self, tmp_path, own):
        tables = draw_tables(5, people=60)
        people, labs = (table.with_row_index("row") for table in tables.values())
        homes = {f"P{who}": f"H{who % 17}" for who in range(60) if who % 9}  # the others have none
        people = people.with_columns(home=pl.col("id").replace_strict(homes, default=None))
        labs = labs.with_columns(home=pl.lit("somewhere")) if own else labs
        people.write_csv(tmp_path / "people.csv")
        labs.write_csv(tmp_path / "labs.csv", separator=";")
        asked = {**ASKED, "group": "home", "plain": ["row", "labs.row"], "others": "drop"}
        release = shoal.anonymize(
            tmp_path / "people.csv", events=[tmp_path / "labs.csv"], **asked, output=tmp_path / "release"
        )
        for frame, name, cells in ((people, "people", ("age", "sex")), (labs, "labs", ("day", "test"))):
            classes = defaultdict(set)
            rows = read_csv(tmp_path / "release" / f"{name}.csv")
            assert "home" not in rows[0]
            for row in rows:
                who = frame["id"][int(row["row"])]
                classes[tuple(row[cell] for cell in cells)].add(homes.get(who, who))
            assert min(map(len, classes.values())) >= 3
        verdicts = [(model.name, model.achieved >= 3) for model in release.report.models]
        assert verdicts == 2 * [("k", True), ("groups", True)]
        assert any("labs: groups were counted by 'home'" in note for note in release.report.notes)
        found = shoal.verify(tmp_path / "release", recipe=release.recipe)
        assert found.holds
        assert found.notes[-1] == "not checked, because it takes people: groups(k=3)"

    @pytest.mark.parametrize("knows", [1, 2, "all"])
    def test_joined_rows_lead_to_k_households(self, tmp_path, knows):
        tables = draw_tables(9, people=60, tables=("labs", "stays"), most=2)
        homes = {f"P{who}": f"H{who // 2}" for who in range(60) if who % 9}
        people = tables.pop("people").with_row_index("row")
        people = people.with_columns(home=pl.col("id").replace_strict(homes, default=None))
        roles = {"quasi": [*QUASI, "stays.day", "stays.test"], "plain": ["row"], "others": "drop"}
        asked = {**ASKED, **roles, "group": "home", "suppress": 0.5, "knows": knows}
        release = shoal.anonymize(people, events=tables, **asked, pseudonym=True, output=tmp_path / "release")
        static, home, events = {}, {}, defaultdict(list)
        for file in sorted((tmp_path / "release").iterdir()):
            for row in read_csv(file):
                assert "home" not in row
                if file.stem == "people":
                    static[row["id"]] = (row["age"], row["sex"])
                    who = people["id"][int(row["row"])]
                    home[row["id"]] = homes.get(who, who)
                else:
                    events[row["id"]].append((file.stem, row["day"], row["test"]))
        found = defaultdict(set)
        for who, known in static.items():
            own = sorted(events[who])
            for size in [len(own)] if knows == "all" else range(min(knows, len(own)) + 1):
                for choice in combinations(own, size):
                    found[known, choice].add(home[who])
        assert min(map(len, found.values())) >= 3
        assert [(each.name, each.holds) for each in release.report.models] == [("k", True), ("groups", True)]
        assert any(note.startswith("groups were counted by 'home'") for note in release.report.notes)
        found = shoal.verify(tmp_path / "release", recipe=release.recipe)
        assert found.notes[-1] == "not checked, because it takes people: groups(k=3)"

    def test_fewer_households_than_k(self):
        tables = draw_tables(6)
        people = tables["people"].with_columns(home=pl.lit("one"))
        with pytest.raises(GoalNotMet, match="the table has people of one group"):
            shoal.anonymize(people, events={"labs": tables["labs"]}, **ASKED, group="home", others="drop")

    def test_a_group_that_is_not_there(self):
        tables = draw_tables(6)
        with pytest.raises(ShoalError, match="'home'"):
            shoal.anonymize(
                tables["people"], events={"labs": tables["labs"]}, **ASKED, group="home", others="drop"
            )
