"""Models that compare with a population, where people have several rows in the release or the population."""

import csv
import json
import random
from collections import defaultdict

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import PopulationFit
from shoal.privacy.fitting import PopulationRows

# Bonn has three released rows of two people, Kiel two of two.
RELEASE = pl.DataFrame({"id": [1, 1, 2, 2, 3], "town": ["Bonn"] * 3 + ["Kiel"] * 2})
ONE_EACH = pl.DataFrame({"town": ["Bonn"] * 4 + ["Kiel"] * 5})
# The same number of rows, but of three people in Bonn and four in Kiel, two of them in both.
SEVERAL = ONE_EACH.with_columns(id=pl.Series([1, 1, 2, 4, 2, 3, 5, 5, 1]))
ALGORITHMS = ["auto", "mondrian(mode=relaxed)", "lattice", "datafly", "hilbert", "peel", "cluster(seconds=1)"]


def achieved(model, release=RELEASE):
    return shoal.verify(release, quasi=["town"], person="id", models=[model]).models[0].achieved


def test_by_hand():
    assert achieved(shoal.KMap(2, ONE_EACH)) == 4
    assert achieved(shoal.KMap(2, SEVERAL)) == 3
    # 2 of 4 and 2 of 5; then 2 of 3 and 2 of 4.
    assert achieved(shoal.DeltaPresence(0, 1, ONE_EACH)) == {"low": 0.4, "high": 0.5}
    assert achieved(shoal.DeltaPresence(0, 1, SEVERAL)) == {"low": 0.5, "high": 2 / 3}
    # Without the role rows are compared with rows.
    rows = shoal.verify(RELEASE, quasi=["town"], models=[shoal.DeltaPresence(0, 1, SEVERAL)])
    assert rows.models[0].achieved == {"low": 0.4, "high": 0.75}


def test_one_released_row_each_and_several_in_the_population():
    release = RELEASE.unique("id", keep="first", maintain_order=True)
    assert achieved(shoal.DeltaPresence(0, 1, SEVERAL), release) == {"low": 0.25, "high": 2 / 3}
    made = shoal.anonymize(release, quasi=["town"], person="id", models=[shoal.KMap(4, SEVERAL)])
    assert made.frame["town"].unique().to_list() == ["*"]  # of rows, four fit Bonn
    assert made.report.models[0].achieved == 5


def test_of_classes_that_share_people_only_the_largest_is_certain():
    # Two classes of 2 and 1 that the same four people fit: they may be the same ones.
    pairs = np.array([0, 1]), np.array([0, 0])
    population = PopulationRows(np.array([4]))
    apart = PopulationFit.from_pairs(np.array([2, 1]), *pairs, population)
    shared = PopulationFit.from_pairs(np.array([2, 1]), *pairs, population, shared=True)
    assert (apart.least.tolist(), apart.most.tolist()) == ([0.75] * 2, [0.75] * 2)
    assert (shared.least.tolist(), shared.most.tolist()) == ([0.5] * 2, [0.75] * 2)


def test_somebody_with_a_row_outside_is_outside():
    population = PopulationRows.from_rows(np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1]))
    fit = PopulationFit.from_pairs(np.array([1]), np.array([0]), np.array([0]), population)
    assert (fit.population, fit.outside, fit.rows.tolist()) == (2, 2, [1])


def draw_tables(seed):
    """People with up to three rows; a third of them is in the table. The population may have one row each."""
    rng = random.Random(seed)
    people = [(i, rng.randint(20, 40), rng.randint(1, 6)) for i in range(rng.randint(20, 50))]
    rows = [(i, age + rng.randint(0, 3), town) for i, age, town in people for _ in range(rng.randint(1, 3))]
    everybody = pl.DataFrame(rows, schema=["id", "age", "town"], orient="row")
    inside = rng.sample(range(len(people)), len(people) // 3)
    table = everybody.filter(pl.col("id").is_in(inside)).with_row_index("number")
    if seed % 2:
        everybody = everybody.unique("id", keep="first", maintain_order=True).drop("id")
    return table, everybody


def covers(cell, value):
    if cell[:1] == "[":
        low, high = cell[1:-1].split("-")
        return int(low) <= value <= int(high)
    return cell in ("*", str(value))


def judge_file(path, table, everybody):
    """Least number of people who fit a class, and least and greatest presence, in plain Python."""
    whose = dict(table.select("number", "id").rows())
    members, fitting = defaultdict(set), defaultdict(set)
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            members[row["age"], row["town"]].add(whose[int(row["number"])])
    people = [(row.get("id", at), row) for at, row in enumerate(everybody.rows(named=True))]
    mapped = [
        len({one for one, row in people if covers(age, row["age"]) and covers(town, row["town"])})
        for age, town in members
    ]
    for one, row in people:
        fits = [cell for cell in members if covers(cell[0], row["age"]) and covers(cell[1], row["town"])]
        fitting[frozenset(fits)].add(one)
    present = []
    for classes, group in fitting.items():
        own = [c for c in classes if not any(c in other for other in fitting if other != classes)]
        certain = max((len(members[c]) for c in own), default=0)
        present += [certain / len(group), sum(len(members[c]) for c in classes) / len(group)]
    return min(mapped), min(present), max(present)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_random_tables_keep_the_goal_in_the_written_file(algorithm, tmp_path):
    for seed in range(6):
        table, everybody = draw_tables(seed)
        asked = {"quasi": ["age", "town"], "plain": ["number"], "person": "id", "algorithm": algorithm}
        for models in (
            [shoal.KMap(6, everybody)],
            [shoal.KMap(3, everybody), shoal.KAnonymity(2)],
            [shoal.DeltaPresence(0, 0.6, everybody)],
            [shoal.DeltaPresence(0.1, 0.8, everybody)],
        ):
            made = shoal.anonymize(table, models=models, types={"town": "integer"}, **asked)
            made.write(tmp_path / "out.csv")
            mapped, low, high = judge_file(tmp_path / "out.csv", table, everybody)
            found = made.report.models[0].achieved
            if isinstance(models[0], shoal.KMap):
                assert found == mapped >= models[0].k
            else:
                assert models[0].low <= low
                assert high <= models[0].high
                assert found["high"] == pytest.approx(high)


@pytest.mark.parametrize("algorithm", ["auto", "mondrian(mode=relaxed)", "lattice", "hilbert"])
def test_with_one_row_each_the_bytes_are_those_without_the_role(algorithm, tmp_path):
    table, everybody = draw_tables(2)
    table, everybody = (each.unique("id", keep="first", maintain_order=True) for each in (table, everybody))
    roles = {"quasi": ["age", "town"], "plain": ["number"], "algorithm": algorithm}
    for name, role in (("people", {"person": "id"}), ("rows", {"identifier": ["id"]})):
        for number, model in enumerate((shoal.KMap(5, everybody), shoal.DeltaPresence(0, 0.6, everybody))):
            made = shoal.anonymize(table, models=[model], **roles, **role)
            made.write(tmp_path / f"{name}{number}.csv")
    for number in range(2):
        one, other = (tmp_path / f"{name}{number}.csv" for name in ("people", "rows"))
        assert one.read_bytes() == other.read_bytes()


def test_values_and_people_are_kept_where_classes_are_merged():
    table, everybody = draw_tables(4)
    table = table.with_columns(illness=pl.Series([f"i{at % 5}" for at in range(table.height)]))
    asked = {"quasi": ["age", "town"], "sensitive": ["illness"], "others": "drop", "person": "id"}
    made = shoal.anonymize(table, k=3, l=3, models=[shoal.KMap(8, everybody)], algorithm="hilbert", **asked)
    assert all(verdict.holds for verdict in made.report.models)
    assert len(made.report.models) == 3


def test_goals_out_of_reach():
    asked = {"quasi": ["town"], "person": "id"}
    with pytest.raises(GoalNotMet, match="k = 6, but the population has 5 people; ask for k of 5 or less"):
        shoal.anonymize(RELEASE, models=[shoal.KMap(6, SEVERAL)], **asked)
    with pytest.raises(GoalNotMet, match=r"the table's 3 people are 0\.6 of the population's 5"):
        shoal.anonymize(RELEASE, models=[shoal.DeltaPresence(0, 0.5, SEVERAL)], **asked)


def test_groups_are_not_compared():
    grouped = RELEASE.with_columns(home=pl.lit("a"))
    goal = {"models": [shoal.KMap(2, ONE_EACH)], "k": 2, "person": "id", "group": "home", "quasi": ["town"]}
    for judge in (shoal.verify, shoal.anonymize):
        with pytest.raises(RecipeError, match="count people, not groups"):
            judge(grouped, **goal)


def test_linked_rows_are_not_compared(tmp_path):
    model, key = shoal.KMap(2, ONE_EACH), tmp_path / "key"
    with pytest.raises(RecipeError, match="leave out the pseudonym"):
        shoal.anonymize(RELEASE, quasi=["town"], person="id", models=[model], pseudonym=True, key_file=key)
    with pytest.raises(RecipeError, match="leave out the pseudonym"):
        shoal.verify(RELEASE, quasi=["town"], person="id", models=[model], knows=1)


def test_risk_counts_people_of_both():
    found = shoal.risk(RELEASE, ["town"], person="id", population=SEVERAL)
    assert (found.journalist.maximum, found.measures.k_map) == (1 / 3, 3)
    assert shoal.risk(RELEASE, ["town"], person="id", population=ONE_EACH).journalist.maximum == 1 / 4
    with pytest.raises(RecipeError, match="a sampling fraction is one of rows"):
        shoal.risk(RELEASE, ["town"], person="id", sampling_fraction=0.1)


def test_an_outsider_can_check_k_map_but_not_presence(tmp_path, capsys):
    from shoal.cli import run_command_line

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            run_command_line([str(argument) for argument in arguments])
        assert end.value.code in (0, None)
        return json.loads(capsys.readouterr().out)

    table, everybody = draw_tables(0)
    table.drop("number").write_csv(tmp_path / "in.csv")
    everybody.write_csv(tmp_path / "all.csv")
    population = f"population={tmp_path / 'all.csv'}"
    goal = ["-m", f"k-map(k=5,{population})", "-m", f"delta-presence(low=0,high=0.9,{population})"]
    files = ["-o", tmp_path / "out.csv", "--recipe-out", tmp_path / "r.toml"]
    made = run("anonymize", tmp_path / "in.csv", "-q", "age,town", "--person", "id", *goal, *files, "--json")
    found = run("verify", tmp_path / "out.csv", "--recipe", tmp_path / "r.toml", "--json")
    assert found["models"] == made["models"][:1]
    assert "not checked, because it takes people: delta-presence" in found["notes"][-1]
