"""People who were asked year after year: every class has k of them, counted by plain Python over the file."""

import csv
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.assessment.attacks import attack_held_out
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

QUASI = ["age", "female", "edlevel", "married", "kids", "outwork", "hhninc"]
PAGES = [
    Path(__file__).parents[2] / "docs" / "howto" / f"{name}.md"
    for name in ("people", "linked-rows", "households")
]
PAGE = " ".join(" ".join(page.read_text("utf-8") for page in PAGES).split())


def read(path):
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def panel(shared_data, tmp_path_factory):
    """The seven columns, incomes to one decimal, and a number for every row, by which a test knows it."""
    path = tmp_path_factory.mktemp("panel") / "panel.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["row", "id", *QUASI])
        writer.writeheader()
        for at, row in enumerate(read(shared_data / "people" / "rwm5yr.csv")):
            known = {name: row[name] for name in QUASI} | {"hhninc": f"{float(row['hhninc']):.1f}"}
            writer.writerow({"row": at, "id": row["id"], **known})
    return path


def count_people(table, release):
    """The number of people in each class and the number of its rows."""
    whose = {row["row"]: row["id"] for row in read(table)}
    classes, rows = defaultdict(set), defaultdict(int)
    for row in read(release):
        cells = tuple(row[name] for name in QUASI)
        classes[cells].add(whose[row["row"]])
        rows[cells] += 1
    return {cells: len(people) for cells, people in classes.items()}, rows


@pytest.mark.slow
@pytest.mark.parametrize(("k", "most"), [(5, 0.0070), (10, 0.0150)])
def test_k_people_in_every_class(panel, tmp_path, k, most):
    release = shoal.anonymize(
        panel, quasi=QUASI, person="id", plain=["row"], k=k, output=tmp_path / "release.csv"
    )
    people, rows = count_people(panel, tmp_path / "release.csv")
    assert min(people.values()) == release.report.smallest_class >= k
    assert (len(people), sum(rows.values())) == (release.report.classes, 19_609)
    assert release.report.people == 6_127
    assert release.report.ncp <= most
    assert f"{100 * release.report.ncp:.2f} %" in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("k", [5, 10])
def test_k_rows_hide_fewer_people(panel, tmp_path, k):
    """What the page says that happens without the role."""
    release = shoal.anonymize(
        panel, quasi=QUASI, identifier=["id"], plain=["row"], k=k, output=tmp_path / "release.csv"
    )
    people, rows = count_people(panel, tmp_path / "release.csv")
    few = sum(rows[cells] for cells, who in people.items() if who < k)
    assert f"| {k} | {100 * few / 19_609:.1f} % | {100 * release.report.ncp:.2f} % |" in PAGE
    found = {finding.id: finding for finding in release.report.findings}["repeated:id"]
    assert (found.severity, found.figure) == ("high", few / 19_609)


@pytest.mark.slow
def test_people_of_the_panel_are_found_by_their_rows(panel):
    """The curve of the page, one and two rows by a plain count."""
    found = shoal.risk(panel, QUASI, identifier=["row"], person="id", largest=1).people_risk
    own, owners = defaultdict(list), defaultdict(set)
    for row in read(panel):
        own[row["id"]].append(tuple(row[name] for name in QUASI))
    for who, rows in own.items():
        for chosen in {*rows, *(tuple(sorted(pair)) for pair in combinations(rows, 2))}:
            owners[chosen].add(who)
    for known, each in ((1, found.curve[0]), (2, found.curve[1])):
        choices = [
            [tuple(sorted(pair)) for pair in combinations(rows, 2)] if known == 2 and len(rows) > 1 else rows
            for rows in own.values()
        ]
        alone = [[len(owners[chosen]) == 1 for chosen in mine] for mine in choices]
        assert each.unique.value == pytest.approx(sum(sum(mine) / len(mine) for mine in alone) / 6_127)
        assert each.ever_unique == sum(map(any, alone)) / 6_127
    for each in found.curve:
        assert f"| {100 * each.unique.value:.1f} % |" in PAGE


@pytest.mark.slow
def test_nobody_of_the_panel_is_found_in_the_release(panel):
    frame = pl.read_csv(panel, infer_schema=False).drop("row")
    check_curves(frame, Recipe(quasi=tuple(QUASI), person="id", models=(shoal.KAnonymity(5),)))


@pytest.mark.exhaustive
def test_nobody_of_the_register_is_found_in_the_release(shared_data):
    labs = pl.read_csv(shared_data / "people" / "nafld_labs.csv.gz", infer_schema=False)
    people = pl.read_csv(shared_data / "people" / "nafld_people.csv", infer_schema=False)
    frame = labs.join(people, on="id").select("id", "age", "male", "days", "test")
    quasi = ("age", "male", "days", "test")
    models = (shoal.KAnonymity(5),)
    check_curves(frame, Recipe(quasi=quasi, person="id", models=models, algorithm=shoal.Mondrian()))


def check_curves(frame, recipe):
    """Before, known rows give people away; after, they are found no oftener than people who are not there."""
    found = attack_held_out(recipe, read_table(frame), 0.2)
    assert found.people == found.control == 1000
    for before, after in zip(found.before, found.after, strict=True):
        assert before.rate.estimate().low > before.control.estimate().high
        assert after.rate.share <= after.control.estimate().high
        assert after.rate.successes == 0
    shares = [(each.rate.share, each.control.share) for each in found.before]
    assert f"| {' | '.join(f'{100 * one:.1f} %, {100 * two:.1f} %' for one, two in shares)} |" in PAGE


@pytest.fixture(scope="module")
def histories(shared_data, tmp_path_factory):
    """The same with the year, and without the numbers of rows."""
    path = tmp_path_factory.mktemp("histories") / "histories.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["id", "year", *QUASI])
        writer.writeheader()
        for row in read(shared_data / "people" / "rwm5yr.csv"):
            known = {name: row[name] for name in ("id", "year", *QUASI)}
            writer.writerow({**known, "hhninc": f"{float(row['hhninc']):.1f}"})
    return path


def count_linked(release, knows):
    """The fewest people who have any choice of rows that somebody has, and the number of people."""
    mine = defaultdict(list)
    for row in read(release):
        mine[row["id"]].append(tuple(row[name] for name in QUASI))
    if knows == "all":
        return min(Counter(tuple(sorted(rows)) for rows in mine.values()).values()), len(mine)
    found = Counter()
    for rows in mine.values():
        for size in range(1, knows + 1):
            found.update({tuple(sorted(choice)) for choice in combinations(rows, size)})
    return min(found.values()), len(mine)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("knows", "most"), [(1, 0.0070), ("all", 0.0800), pytest.param(2, 0.0800, marks=pytest.mark.exhaustive)]
)
def test_linked_rows_of_everybody(histories, tmp_path, knows, most):
    asked = {"quasi": QUASI, "person": "id", "identifier": ["year"], "align": "year", "k": 5}
    linked = {"pseudonym": True, "key_file": tmp_path / "key", "knows": knows}
    release = shoal.anonymize(histories, output=tmp_path / "release.csv", **asked, **linked)
    assert release.report.ncp <= most
    assert (release.report.people, release.report.suppressed_rows) == (6_127, 0)
    fewest, people = count_linked(tmp_path / "release.csv", knows)
    assert fewest == release.report.smallest_class >= 5
    assert people == 6_127
    assert f"{100 * release.report.ncp:.2f} %" in PAGE


@pytest.mark.slow
@pytest.mark.exhaustive
def test_two_rows_give_away_what_one_does_not(histories, tmp_path):
    """What the page says that ``knows = 1`` does not protect from."""
    asked = {"quasi": QUASI, "person": "id", "identifier": ["year"], "align": "year", "k": 5}
    linked = {"pseudonym": True, "key_file": tmp_path / "key", "knows": 1}
    release = shoal.anonymize(histories, output=tmp_path / "release.csv", **asked, **linked)
    mine = defaultdict(list)
    for row in read(tmp_path / "release.csv"):
        mine[row["id"]].append(tuple(row[name] for name in QUASI))
    pairs = [tuple(sorted(pair)) for rows in mine.values() for pair in combinations(rows, 2)]
    people = Counter()
    for rows in mine.values():
        people.update({tuple(sorted(pair)) for pair in combinations(rows, 2)})
    assert f"{100 * sum(people[pair] == 1 for pair in pairs) / len(pairs):.1f} %" in PAGE
    found = {finding.id: finding for finding in release.report.findings}["linked-rows"]
    assert (found.severity, found.figure) == ("high", 1.0)


@pytest.mark.slow
def test_whole_histories_of_those_with_five_rows(histories, tmp_path):
    rows = read(histories)
    five = Counter(row["id"] for row in rows)
    with (tmp_path / "five.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(row for row in rows if five[row["id"]] == 5)
    asked = {"quasi": QUASI, "person": "id", "identifier": ["year"], "align": "year", "k": 5}
    linked = {"pseudonym": True, "key_file": tmp_path / "key", "knows": "all"}
    release = shoal.anonymize(tmp_path / "five.csv", output=tmp_path / "release.csv", **asked, **linked)
    # Widths by the ranges of these people, which are narrower than those of all: so the loss is higher.
    assert release.report.ncp <= 0.0800
    fewest, people = count_linked(tmp_path / "release.csv", "all")
    assert fewest >= 5
    assert people == 1_600
    assert f"{100 * release.report.ncp:.2f} %" in PAGE


@pytest.mark.slow
def test_k_households_in_every_class(panel, tmp_path):
    """Three successive people each: the survey has no households."""
    ids = {who: at for at, who in enumerate(dict.fromkeys(row["id"] for row in read(panel)))}
    frame = pl.read_csv(panel, infer_schema=False)
    home = {row["row"]: str(ids[row["id"]] // 3) for row in read(panel)}
    frame = frame.with_columns(pl.Series("home", [home[each] for each in frame["row"].to_list()]))
    release = shoal.anonymize(
        frame, quasi=QUASI, person="id", group="home", plain=["row"], k=5, output=tmp_path / "release.csv"
    )
    homes = defaultdict(set)
    for row in read(tmp_path / "release.csv"):
        homes[tuple(row[name] for name in QUASI)].add(home[row["row"]])
    assert min(map(len, homes.values())) == release.report.models[-1].achieved == 5
    assert f"k = 5 households cost {100 * release.report.ncp:.2f} %" in PAGE


@pytest.mark.slow
def test_rows_that_stay_together_give_people_away(panel):
    """The release of the page with a pseudonym for everybody: every fifth person is the control group."""
    frame = pl.read_csv(panel, infer_schema=False).drop("row")
    fifth = frame["id"].cast(pl.Int64) % 5 == 0
    inside, outside = frame.filter(~fifth), frame.filter(fifth)
    release = shoal.anonymize(inside, quasi=QUASI, person="id", k=5)
    linked = release.frame.with_columns(id=pl.Series([f"x{each}" for each in release.person.tolist()]))
    found = shoal.attack(linked, inside, control=outside, quasi=QUASI, person="id")
    assert found.after[0].rate.successes == 0
    for each in found.after[1:]:
        assert each.rate.estimate().low > each.control.estimate().high
    two, five = (f"{100 * found.after[at].rate.share:.1f} %" for at in (1, 4))
    assert f"finds {two} of the people by two rows and {five} by five" in PAGE
