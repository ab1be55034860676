"""Groups of people, by a plain count."""

from collections import defaultdict
from copy import deepcopy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet, OutputError, RecipeError
from shoal.privacy import DistinctL, KAnonymity, find_model_kind, model_text
from shoal.privacy.groups import GroupAnonymity, measure_group_risk, number_groups
from shoal.recipes.recipe import Recipe


def join_by_hand(people, groups):
    """A set of people for everybody, by following shared groups until nothing is added."""
    members = defaultdict(set)
    for who, group in zip(people, groups, strict=True):
        if group:
            members[group].add(who)
    found = {}
    for who in set(people):
        mine, before = {who}, set()
        while mine != before:
            before = mine
            mine = mine.union(*(each for each in members.values() if each & mine))
        found[who] = frozenset(mine)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_people_who_share_a_group_are_of_one(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 40))
    person = rng.integers(0, rng.integers(1, 25), rows)
    groups = [f"h{i}" if rng.random() < 0.8 else "" for i in rng.integers(0, rng.integers(1, 15), rows)]
    number, several = number_groups(person, pl.Series(groups))
    expected = join_by_hand(person.tolist(), groups)
    for i in range(rows):
        for j in range(rows):
            same = expected[int(person[i])] == expected[int(person[j])]
            assert (number[i] == number[j]) == same
    named = defaultdict(set)
    for who, group in zip(person.tolist(), groups, strict=True):
        named[who] |= {group} - {""}
    assert several == sum(len(each) > 1 for each in named.values())


def test_a_long_chain_of_people_who_moved_is_one_group():
    size = 20_000
    person = np.repeat(np.arange(size), 2)
    homes = [f"h{i}" for at in range(size) for i in (at, at + 1)]
    number, several = number_groups(person, pl.Series(homes))
    assert (np.unique(number).size, several) == (1, size)


def test_risk_of_the_others_by_hand():
    # a and b share a home, c and d another, e lives alone
    person = np.array([0, 0, 1, 2, 3, 4])
    group = np.array([0, 0, 0, 1, 1, 2])
    kind = np.array([7, 8, 7, 9, 8, 9])
    found = measure_group_risk(kind, person, group)
    assert (found.groups, found.people) == (3, 4)
    # 7 is of a and b alone; 8 of a and d; 9 of c and e
    assert found.certain == pytest.approx((1 / 2 + 1 + 0 + 0) / 4)
    assert found.guess == pytest.approx(((1 + 1 / 2) / 2 + 1 + 1 / 2 + 1 / 2) / 4)
    assert measure_group_risk(kind, person, np.arange(5)[person]).to_dict() == {
        "groups": 5,
        "people": 0,
        "certain": 0.0,
        "guess": 0.0,
    }


def homes(seed, rows=300):
    """Rows of people in homes of up to four; everybody of a home has the same values."""
    rng = np.random.default_rng(seed)
    person = np.sort(rng.integers(0, rows // 2, rows))
    home = person // rng.integers(2, 5)
    return pl.DataFrame(
        {
            "row": np.arange(rows),
            "id": [f"p{i}" for i in person],
            "home": [f"h{i}" if i % 7 else None for i in home],
            "age": 20 + home * 37 % 40,
            "place": home % 11,
            "ill": rng.choice(["u", "v", "w"], rows),
        }
    )


def count_homes(table, release, quasi):
    owner = join_by_hand(table["id"].to_list(), table["home"].to_list())
    whose = dict(zip(table["row"].to_list(), table["id"].to_list(), strict=True))
    people, groups = defaultdict(set), defaultdict(set)
    for row in release.iter_rows(named=True):
        cells = tuple(row[name] for name in quasi)
        people[cells].add(whose[row["row"]])
        groups[cells].add(owner[whose[row["row"]]])
    return people, groups


@pytest.mark.parametrize("algorithm", ["auto", "mondrian"])
def test_every_class_has_k_homes(algorithm, tmp_path):
    table, quasi = homes(3), ["age", "place"]
    settings = {"quasi": quasi, "sensitive": ["ill"], "person": "id", "plain": ["row"], "k": 4, "l": 2}
    without = shoal.anonymize(table, identifier=["home"], algorithm="mondrian", **settings)
    people, groups = count_homes(table, without.frame, quasi)
    assert min(map(len, groups.values())) < 4 <= min(map(len, people.values()))
    output = tmp_path / "out.csv"
    release = shoal.anonymize(table, group="home", algorithm=algorithm, output=output, **settings)
    written = pl.read_csv(output, infer_schema=False).with_columns(pl.col("row").cast(pl.Int64))
    people, groups = count_homes(table, written, quasi)
    verdict = {each.name: each for each in release.report.models}["groups"]
    assert verdict.achieved == min(map(len, groups.values())) >= 4
    assert release.report.smallest_class == min(map(len, people.values()))
    assert "home" not in written.columns
    assert written.height == table.height


def test_the_verifier_counts_homes():
    table = homes(3)
    told = {"quasi": ["place"], "person": "id", "k": 2}
    assert shoal.verify(table, **told).holds
    found = shoal.verify(table, group="home", **told)
    _, groups = count_homes(table, table, ["place"])
    assert found.models[-1].achieved == min(map(len, groups.values()))
    assert found.holds == (found.models[-1].achieved >= 2)
    with pytest.raises(RecipeError, match="name the person as well"):
        shoal.verify(table, quasi=["place"], k=2, group="home")


def test_homes_are_counted_in_the_written_file(tmp_path):
    settings = {"quasi": ["age", "place"], "person": "id", "group": "home", "others": "drop", "k": 4}
    release = shoal.anonymize(homes(3), **settings)
    release.write(tmp_path / "right.csv")
    # were all rows of one home, what was written would not do
    wrong = replace(release, group=np.zeros_like(release.group))
    with pytest.raises(GoalNotMet, match=r"groups asked \{'k': 4\}, reached 1"):
        wrong.write(tmp_path / "wrong.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["right.csv"]


def test_a_search_that_forgets_homes_releases_nothing(monkeypatch):
    monkeypatch.setattr(GroupAnonymity, "rule", lambda self, whole: None)
    monkeypatch.setattr(GroupAnonymity, "suffices", lambda self, counts: np.ones(counts.classes, np.bool_))
    settings = {"quasi": ["age", "place"], "person": "id", "group": "home", "others": "drop", "k": 4}
    with pytest.raises(GoalNotMet, match=r"groups asked .* because of the class of"):
        shoal.anonymize(homes(3), algorithm="mondrian", **settings)


def test_one_row_each_is_counted_by_homes_as_well():
    table = pl.DataFrame({"id": list("abcdef"), "home": list("112233"), "age": [1, 1, 2, 2, 3, 3]})
    settings = {"quasi": ["age"], "person": "id", "k": 2, "algorithm": "mondrian"}
    release = shoal.anonymize(table, group="home", **settings)
    # rows of two people of one home are alike before, and no class of them may stay
    assert release.report.classes == 1
    assert [(each.name, each.achieved) for each in release.report.models] == [("k", 6), ("groups", 3)]
    assert shoal.anonymize(table, identifier=["home"], **settings).report.classes == 3


def test_homes_of_one_person_each_change_nothing():
    table = homes(5).with_columns(home=pl.col("id"))
    settings = {"quasi": ["age", "place"], "person": "id", "others": "drop", "k": 3}
    one, two = (shoal.anonymize(table, **settings, **more) for more in ({}, {"group": "home"}))
    assert one.frame.equals(two.frame)
    one_row_each = table.unique("id", maintain_order=True)
    one, two = (shoal.anonymize(one_row_each, **settings, **more) for more in ({}, {"group": "home"}))
    assert one.frame.equals(two.frame)
    assert two.report.people is None


def test_what_is_told_of_homes():
    table = homes(3)
    twice = table.filter(pl.col("id").is_duplicated() & (pl.col("home") != "h1"))["row"][0]
    moved = pl.when(pl.col("row") == twice).then(pl.lit("h1")).otherwise("home")
    table = table.with_columns(home=moved)
    release = shoal.anonymize(table, quasi=["age", "place"], person="id", group="home", others="drop", k=4)
    told = " ".join((*release.report.notes, *release.report.warnings))
    assert "groups were counted by 'home', which was left out" in told
    assert "for certain in 0.0 % of the cases (before: " in told
    assert "1 people are in several groups by 'home': all groups of a person count as one" in told
    with pytest.raises(OutputError, match="pickled, copied or made on disk"):
        deepcopy(release).write("out.csv")


def test_too_few_homes_are_refused():
    table = pl.DataFrame({"id": list("abcd"), "home": list("1122"), "age": [1, 2, 3, 4]})
    with pytest.raises(GoalNotMet, match="the table has people of 2 groups; ask for k of 2 or less"):
        shoal.anonymize(table, quasi=["age"], person="id", group="home", k=3)


def test_recipes_that_cannot_be():
    goal = {"quasi": ("age",), "models": (KAnonymity(3),)}
    with pytest.raises(RecipeError, match="name the person as well"):
        Recipe(**goal, group="home")
    with pytest.raises(RecipeError, match="both person and group"):
        Recipe(**goal, person="home", group="home")
    with pytest.raises(RecipeError, match="both group and quasi"):
        Recipe(**goal, person="id", group="age")
    with pytest.raises(RecipeError, match="it asks for none: ask for k as well"):
        Recipe(quasi=("age",), sensitive=("ill",), models=(DistinctL(2),), person="id", group="home")
    # left out as identifiers are, so that it may be named as one
    recipe = Recipe(**goal, person="id", group="home", identifier=("home",))
    assert recipe.left_out(["home", "id"]) == ["home", "id"]
    table = homes(3).select("id", "home", "age")
    for more in ({"memory": "1GB", "output": "out.csv"}, {"algorithm": "mingen"}):
        with pytest.raises(RecipeError, match="group"):
            shoal.anonymize(table, quasi=["age"], person="id", group="home", k=3, **more)


def test_the_model_has_a_name_of_its_own():
    model = GroupAnonymity.from_goal((KAnonymity(3), KAnonymity(5)))
    assert model_text(model) == "groups(k=5)"
    assert find_model_kind("groups") is GroupAnonymity
