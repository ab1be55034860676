"""Full-domain search: what may be asked of it, what it releases, and what it tells."""

from dataclasses import replace
from io import StringIO

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import shoal
from shoal.algorithms import lattice, lattice_groups
from shoal.algorithms.datafly import Datafly
from shoal.algorithms.lattice import Lattice
from shoal.algorithms.levels import Ladder, find_coded_range
from shoal.algorithms.samarati import Samarati
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Proposal, Recoding
from shoal.engines.memory import make_release, prepare_table
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.report.terminal import show_report
from shoal.table import read_table
from shoal.table.hierarchies import Hierarchy

TOWNS = Hierarchy.from_tree({"south": {"Bavaria": ["Ulm", "Hof"]}, "west": {"Rhine": ["Bonn", "Trier"]}})
PEOPLE = pl.DataFrame(
    {
        "age": [15, 17, 22, 25, 31, 38, 44, 52, 71, 84] * 4,
        "town": ["Ulm", "Hof", "Bonn", "Trier", "Ulm"] * 8,
        "sex": ["f", "m"] * 20,
    }
)


def run(algorithm="lattice", **settings):
    asked = {"quasi": PEOPLE.columns, "k": 5, "hierarchies": {"town": TOWNS}} | settings
    return shoal.anonymize(PEOPLE, algorithm=algorithm, **asked)


def test_of_levels_that_are_the_same_the_lowest_is_told():
    # Bavaria is all there is of the south, and the Rhine of the west.
    report = run(suppress=0.2, loss="precision").report
    assert report.levels["town"]["level"] in (0, 1, 3)
    assert not [name for name, _ in report.tried if name.split(",")[1] == "2"]
    assert run(Lattice(levels="town=2")).report.levels["town"]["level"] == 2


@pytest.mark.parametrize("algorithm", ["lattice", "datafly", "samarati"])
def test_every_value_of_a_column_goes_to_one_level(algorithm):
    release = run(algorithm, suppress=0.2)
    level = release.report.levels["town"]["level"]
    assert set(release.frame["town"]) <= set(TOWNS.names[level])
    assert release.report.levels["town"]["highest"] == TOWNS.height
    assert release.report.smallest_class >= 5


def test_top_and_bottom_coding():
    release = run(Lattice(levels="age=0", coding="age=20..50"), k=4)
    assert {"[15-17]", "[52-84]"} < set(release.frame["age"])
    assert {"22", "25", "31", "38", "44"} < set(release.frame["age"])
    higher = run(Lattice(levels="age=3", coding="age=..50"), k=4)
    assert set(higher.frame["age"]) == {"[15-44]", "[52-84]"}


def test_coding_of_dates_ordered_values_and_missing_ones():
    days = ["2020-01-01", "2020-01-15", "2020-02-01", None]
    dates = pl.Series(days * 5).str.to_date()
    sizes = pl.Series(["S", "M", "L", "XL"] * 5, dtype=pl.Enum(["S", "M", "L", "XL"]))
    frame = pl.DataFrame({"day": dates, "size": sizes})
    algorithm = Lattice(levels="day=0,size=0", coding="day=2020-02-01..,size=S..M")
    release = shoal.anonymize(frame, others="keep", quasi=["day", "size"], k=2, algorithm=algorithm)
    assert set(release.frame["day"]) == {"[2020-01-01..2020-01-15]", "2020-02-01", None}
    assert set(release.frame["size"]) == {"S", "M", "[L..XL]"}


@pytest.mark.parametrize("coding", [None, "age=20..50"])
def test_levels_are_nested_and_cover_every_code(coding):
    recipe = Recipe(tuple(PEOPLE.columns), (KAnonymity(2),), trees={"town": TOWNS})
    for domain in prepare_table(recipe, read_table(PEOPLE)).problem.domains:
        ladder = Ladder.from_domain(
            domain, find_coded_range(domain, "20", "50") if coding and domain.kind == "number" else None
        )
        assert (ladder.node[-1] == 0).all()
        for level in range(ladder.top_level + 1):
            lo, hi = ladder.find_node_ends(level)
            assert ((lo <= np.arange(domain.size)) & (np.arange(domain.size) <= hi)).all()
            assert all(len(set(ladder.node[level][a : b + 1])) == 1 for a, b in zip(lo, hi, strict=True))
            if level:
                below = ladder.find_node_ends(level - 1)
                assert ((lo <= below[0]) & (below[1] <= hi)).all()
                assert (ladder.width[level] >= ladder.width[level - 1]).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"levels": "age"}, "cannot read 'age' in levels: write column=from..to"),
        ({"levels": "age=.."}, "cannot read 'age=..'"),
        ({"levels": "age=low"}, "levels of 'age' are whole numbers, not 'low..low'"),
        ({"coding": "=3"}, "cannot read '=3' in coding"),
        ({"seconds": 0.0}, "seconds must be above 0"),
        ({"others": -1}, "others must be 0 or more"),
    ],
)
def test_what_cannot_be_read_is_refused_at_once(settings, said):
    with pytest.raises(RecipeError, match=said):
        Lattice(**settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"levels": "agee=1"}, "unknown quasi-identifier in levels 'agee': did you mean 'age'"),
        ({"levels": "town=2..9"}, "levels of 'town' go from 0 to 3, not 2..9"),
        ({"levels": "town=3..1"}, "levels of 'town' go from 0 to 3, not 3..1"),
        ({"coding": "agee=1..2"}, "unknown quasi-identifier in coding 'agee'"),
        ({"coding": "town=Ulm..Hof"}, "'town' has a hierarchy: make the groups in that"),
        ({"coding": "sex=f..m"}, "'sex' has no order"),
        ({"coding": "age=young..old"}, "coding of 'age' takes numbers, not 'young..old'"),
        ({"coding": "age=26..30"}, "coding leaves no value of 'age' in 26..30"),
        ({"coding": "age=90.."}, "coding leaves no value of 'age'"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(settings, said):
    with pytest.raises(RecipeError, match=said):
        run(Lattice(**settings))


def test_values_of_an_order_are_checked():
    sizes = pl.Series(["S", "M"] * 5, dtype=pl.Enum(["S", "M"]))
    with pytest.raises(RecipeError, match="'size' has no value 'XS', but 'S', 'M'"):
        shoal.anonymize(
            pl.DataFrame({"size": sizes}),
            others="keep",
            quasi=["size"],
            k=2,
            algorithm=Lattice(coding="size=XS.."),
        )


@pytest.mark.parametrize("algorithm", [Lattice, Datafly, Samarati])
def test_levels_that_are_too_low_end_without_a_release(algorithm):
    with pytest.raises(GoalNotMet, match=r"no permitted levels suppress at most 0 of 40 rows .* suppress 40"):
        run(algorithm(levels="age=0,town=0"), k=5)


@pytest.mark.parametrize("name", ["lattice", "datafly", "samarati"])
def test_negative_weights_are_refused(name):
    with pytest.raises(RecipeError, match=f"{name} takes weights from 0 up"):
        run(name, weights={"age": -1})


def test_a_release_of_nothing_is_none():
    recipe = Recipe(tuple(PEOPLE.columns), (KAnonymity(2),), suppress=1.0)
    table = read_table(PEOPLE)
    subject = prepare_table(recipe, table)
    nothing = np.full(subject.problem.table.weight.size, -1, np.int32)
    with pytest.raises(GoalNotMet, match="every row would be suppressed"):
        make_release(recipe, table, subject, Proposal(subject.problem.table, nothing))


def test_a_recipe_keeps_levels_and_coding(tmp_path):
    algorithm = Lattice(levels="age=1..3,sex=0", coding="age=20..70", others=2)
    release = run(algorithm, suppress=0.5)
    (tmp_path / "recipe.toml").write_text(release.recipe.to_toml())
    assert Recipe.from_toml(tmp_path / "recipe.toml").algorithm == algorithm
    by_text = run('lattice(levels="age=1..3,sex=0",coding=age=20..70,others=2)', suppress=0.5)
    assert by_text.frame.equals(release.frame)


def problem(**settings):
    recipe = Recipe(tuple(PEOPLE.columns), (KAnonymity(5),), trees={"town": TOWNS}, suppress=0.1)
    return replace(prepare_table(recipe, read_table(PEOPLE)).problem, **settings)


def test_what_is_kept_of_groups_has_no_influence(monkeypatch):
    for loss in ("ncp", "class-size", "entropy"):
        task = problem(loss=loss)
        plenty = Lattice().search(task)
        monkeypatch.setattr(lattice_groups, "_KEPT", 2)
        little = Lattice().search(task)
        monkeypatch.undo()
        assert (little.levels, little.tried, little.states) == (plenty.levels, plenty.tried, plenty.states)


def test_of_a_huge_lattice_the_part_around_datafly_is_searched(monkeypatch):
    task = problem()
    whole = Lattice().search(task)
    monkeypatch.setattr(lattice, "_MOST", 12)
    part = Lattice().search(task)
    states = dict(part.states)
    assert states["not considered"] >= whole.search_space - 12
    assert part.search_space == whole.search_space == 5 * 4 * 2
    assert part.lower_bound <= whole.lower_bound
    assert any("around those of datafly" in note for note in part.notes)
    greedy, found = (Recoding.from_proposal(each, task.domains) for each in (Datafly().search(task), part))
    least, most = (LOSSES["ncp"]().measure(each, task.weights).value for each in (found, greedy))
    assert whole.lower_bound <= least <= most
    assert part.optimal is False


def test_the_report_tells_levels_states_and_runners_up():
    report = run(suppress=0.2, loss="precision").report
    assert report.optimal
    assert sum(report.states.values()) == report.search_space == 40
    chosen = ",".join(str(column["level"]) for column in report.levels.values())
    losses = [lost for _, lost in report.tried]
    assert report.tried[0] == (chosen, pytest.approx(report.loss["value"]))
    assert losses == sorted(losses)
    plain = report.to_dict()
    assert plain["levels"]["town"] == {"level": report.levels["town"]["level"], "highest": 3}
    assert plain["tried"][0]["name"] == chosen
    text = StringIO()
    show_report(Console(file=text, width=100), report)
    level = f"{report.levels['town']['level']} of 3"
    for piece in ("proved: optimal", "level vectors", "looked at, permitted", level, chosen):
        assert piece in text.getvalue()
