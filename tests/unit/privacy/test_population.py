"""k-map and delta-presence: hand-worked, enforced, verified, and what can be wrong with a population."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import GoalNotMet, InputError, RecipeError
from shoal.privacy import Counts, Population, PopulationFit, fitting_pairs, parse_model
from shoal.privacy.fitting import PopulationRows

JOBS = shoal.Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})
# Eight people, four of whom are in the table.
PEOPLE = pl.DataFrame(
    {
        "age": [20, 21, 22, 23, 30, 31, 32, 33],
        "job": ["mason", "mason", "smith", "clerk", "clerk", "judge", "judge", "smith"],
    }
)
TABLE = PEOPLE[[0, 2, 4, 5]]
RELEASE = pl.DataFrame(
    {"age": ["[20-22]", "[20-22]", "[30-33]", "[30-33]"], "job": ["manual", "manual", "office", "office"]}
)


def verdict(model, release=RELEASE, hierarchies=None):
    trees = {"job": JOBS} if hierarchies is None else hierarchies
    return shoal.verify(release, quasi=["age", "job"], models=[model], hierarchies=trees).models[0]


def test_k_map_by_hand():
    # [20-22] manual: 20 mason, 21 mason, 22 smith. [30-33] office: 30 clerk, 31 and 32 judge; 33 is a smith.
    assert verdict(shoal.KMap(3, PEOPLE)).holds
    assert verdict(shoal.KMap(4, PEOPLE)).achieved == 3
    assert not verdict(shoal.KMap(4, PEOPLE)).holds


def test_delta_presence_by_hand():
    # Two of three people in each class; 23 clerk and 33 smith fit no class, so they are known to be absent.
    found = verdict(shoal.DeltaPresence(0, 0.7, PEOPLE))
    assert found.holds
    assert found.achieved == {"low": 0.0, "high": pytest.approx(2 / 3)}
    assert not verdict(shoal.DeltaPresence(0, 0.6, PEOPLE)).holds
    assert not verdict(shoal.DeltaPresence(0.1, 0.7, PEOPLE)).holds
    inside = PEOPLE[[0, 1, 2, 4, 5, 6]]
    assert verdict(shoal.DeltaPresence(0.6, 0.7, inside)).holds
    assert not verdict(shoal.DeltaPresence(0.67, 0.7, inside)).holds


def test_people_who_fit_two_classes_are_judged_together():
    # Classes: mason (1 row) and manual (1 row). Two masons fit both, two smiths the second only. Of the
    # masons up to 2 of 2 are present, and at least the 1 of the first class; of the smiths up to 1 of 2, or
    # none. Each class by itself would make that 1/2 and 1/4.
    people = pl.DataFrame({"job": ["mason", "mason", "smith", "smith"]})
    release = pl.DataFrame({"job": ["mason", "manual"]})
    model = shoal.DeltaPresence(0, 0.9, people)
    found = shoal.verify(release, quasi=["job"], models=[model], hierarchies={"job": JOBS}).models[0]
    assert (found.achieved, found.holds) == ({"low": 0.0, "high": 1.0}, False)
    fitting = PopulationFit.from_pairs(
        np.array([1, 1]), np.array([0, 1, 1]), np.array([0, 0, 1]), PopulationRows(np.array([2, 2]))
    )
    assert fitting.rows.tolist() == [2, 4]
    assert (fitting.least.tolist(), fitting.most.tolist()) == ([0.5, 0.0], [1.0, 1.0])
    assert shoal.verify(
        release, quasi=["job"], models=[shoal.KMap(2, people)], hierarchies={"job": JOBS}
    ).holds


def worlds(sizes, fits):
    """Every way in which released rows can be people, as the set of those present."""
    if not sizes:
        return [frozenset()]
    before = worlds(sizes[:-1], fits)
    if sizes[-1] > 1:
        before = worlds([*sizes[:-1], sizes[-1] - 1], fits)
    return [world | {person} for world in before for person in fits[len(sizes) - 1] - world]


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 2), min_size=1, max_size=3),
    fits=st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=3, max_size=3),
)
def test_nobody_is_more_or_less_likely_present_than_the_bounds_say(sizes, fits):
    """Against all assignments of rows to people, each equally likely."""
    possible = worlds(sizes, fits)
    pairs = [(c, person) for c in range(len(sizes)) for person in sorted(fits[c])]
    class_of, person = np.array(pairs).T
    found = PopulationFit.from_pairs(np.array(sizes), class_of, person, PopulationRows(np.ones(6, np.int64)))
    assert found.rows.tolist() == [len(fits[c]) for c in range(len(sizes))]
    for c, one in pairs if possible else ():
        share = sum(one in world for world in possible) / len(possible)
        assert found.least[c] - 1e-12 <= share <= found.most[c] + 1e-12


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_pairs_are_all_pairs(seed):
    rng = np.random.default_rng(seed)
    covers = [rng.random((3, 4)) < 0.5, rng.random((5, 2)) < 0.6]
    cell = np.stack([rng.integers(0, 3, 7), rng.integers(0, 5, 7)], axis=1)
    value = np.stack([rng.integers(0, 4, 9), rng.integers(0, 2, 9)], axis=1)
    expected = {
        (c, p)
        for c in range(7)
        for p in range(9)
        if all(covers[j][cell[c, j], value[p, j]] for j in range(2))
    }
    assert set(zip(*map(np.ndarray.tolist, fitting_pairs(cell, covers, value)), strict=True)) == expected


def test_what_is_achieved_is_the_border():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = rng.integers(1, 40, 5)
        counts = Counts(
            np.minimum(rng.integers(1, 9, 5), rows),
            {},
            PopulationFit.from_disjoint_classes(rng.integers(1, 9, 5), rows),
        )
        k = max(shoal.KMap(2, PEOPLE).achieved(counts), 2)
        assert shoal.KMap(k, PEOPLE).holds(counts).all() == (rows.min() >= 2)
        assert not shoal.KMap(k + 1, PEOPLE).holds(counts).all()
        reached = shoal.DeltaPresence(0, 1, PEOPLE).achieved(counts)
        if 0 < reached["low"] < reached["high"] < 1:
            assert shoal.DeltaPresence(reached["low"], reached["high"], PEOPLE).holds(counts).all()
            above, below = np.nextafter(reached["low"], 1), np.nextafter(reached["high"], 0)
            assert not shoal.DeltaPresence(above, reached["high"], PEOPLE).holds(counts).all()
            assert not shoal.DeltaPresence(reached["low"], below, PEOPLE).holds(counts).all()


def register(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "town": rng.choice(["Ulm", "Bonn", "Kiel", "Jena"], rows),
            "job": rng.choice(JOBS.leaves, rows),
            "illness": rng.choice(["flu", "cold", "gout"], rows),
        }
    )


QUASI = ["age", "town", "job"]


def naive_fits(release, people):
    """How many people fit each released row, by reading its cells one by one."""
    under = {"manual": {"mason", "smith"}, "office": {"clerk", "judge"}}

    def fits(cell, value):
        if cell in ("*", str(value)):
            return True
        if cell.startswith("["):
            low, high = cell[1:-1].split("-")
            return int(low) <= value <= int(high)
        if cell.startswith("{"):
            return str(value) in cell[1:-1].split(", ")
        return str(value) in under.get(cell, ())

    cells = release.select(pl.col(QUASI).cast(pl.String)).unique().rows()
    return [sum(all(map(fits, cell, person)) for person in people.select(QUASI).rows()) for cell in cells]


@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian(mode=relaxed)", "genetic(generations=3)"])
def test_k_map_is_enforced(algorithm):
    people = register(400)
    table = people.sample(40, seed=1)
    goal = {"quasi": QUASI, "sensitive": ["illness"], "hierarchies": {"job": JOBS}}
    released = shoal.anonymize(table, models=[shoal.KMap(12, people)], algorithm=algorithm, **goal)
    fits = naive_fits(released.frame, people)
    assert min(fits) >= 12
    assert released.report.models[0].achieved == min(fits)


def test_k_map_takes_less_than_k():
    people = register(2000)
    goal = {"quasi": QUASI, "sensitive": ["illness"], "hierarchies": {"job": JOBS}}
    table = people.sample(100, seed=1)
    mapped = shoal.anonymize(table, models=[shoal.KMap(20, people)], **goal)
    alone = shoal.anonymize(table, k=20, **goal)
    assert mapped.report.ncp < alone.report.ncp / 2
    both = shoal.anonymize(table, k=3, l=2, models=[shoal.KMap(20, people)], **goal)
    assert both.report.smallest_class >= 3
    assert all(found.holds for found in both.report.models)


@pytest.mark.parametrize("low", [0.0, 0.02])
def test_delta_presence_is_enforced(low):
    people = register(600)
    table = people.sample(60, seed=2)
    model = shoal.DeltaPresence(low, 0.4, people)
    released = shoal.anonymize(
        table, others="keep", quasi=["age", "town"], plain=["job"], sensitive=["illness"], models=[model]
    )
    assert released.report.classes > 5
    assert released.report.models[0].holds
    with_tree = shoal.anonymize(
        table, others="keep", quasi=QUASI, hierarchies={"job": JOBS}, plain=["illness"], models=[model]
    )
    assert with_tree.report.models[0].holds


def test_values_that_only_the_population_has():
    people = pl.DataFrame({"age": [*range(20, 60)], "town": ["Ulm", "Bonn"] * 20})
    table = people.filter(pl.col("age").is_in([20, 30, 40, 50]) & (pl.col("town") == "Ulm"))
    released = shoal.anonymize(table, others="keep", quasi=["age", "town"], models=[shoal.KMap(5, people)])
    assert released.report.models[0].holds
    assert released.report.classes > 1


def test_the_whole_recipe_with_a_file(tmp_path, shoal_command):
    people = register(200)
    people.write_csv(tmp_path / "people, all.csv", separator=";")
    people.sample(30, seed=0).write_csv(tmp_path / "in.csv")
    population = tmp_path / "people, all.csv"
    text = f'k-map(k=6,population="{population}")'
    common = ["-q", "age,town,job", "-s", "illness"]
    command = ["anonymize", tmp_path / "in.csv", *common, "-m", text, "-o", tmp_path / "out.csv"]
    report = json.loads(shoal_command(*command, "--recipe-out", tmp_path / "r.toml", "--json"))
    assert report["models"][0]["asked"] == {"k": 6, "population": str(population)}
    recipe = shoal.Recipe.from_toml(tmp_path / "r.toml")
    assert recipe.models == (shoal.KMap(6, population),)
    assert 'population=\\"people, all.csv\\"' in (tmp_path / "r.toml").read_text()
    found = json.loads(
        shoal_command("verify", tmp_path / "out.csv", "--recipe", tmp_path / "r.toml", "--json")
    )
    assert found["models"] == report["models"]
    assert json.loads(shoal_command("verify", tmp_path / "out.csv", *common, "-m", text, "--json"))["holds"]


@pytest.fixture
def shoal_command(capsys):
    from shoal.cli import run_command_line

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            run_command_line([str(argument) for argument in arguments])
        assert end.value.code in (0, None)
        return capsys.readouterr().out

    return run


def test_the_population_file_is_not_overwritten(tmp_path):
    register(50).write_csv(tmp_path / "people.csv")
    recipe = shoal.Recipe(
        others="keep",
        quasi=("age",),
        models=(shoal.KMap(3, tmp_path / "people.csv"),),
        output=str(tmp_path / "people.csv"),
    )
    with pytest.raises(shoal.errors.ShoalError, match=r"people\.csv"):
        shoal.run(recipe, register(10))


def test_a_frame_cannot_be_written_into_a_recipe():
    released = shoal.anonymize(
        TABLE, others="keep", quasi=["age"], plain=["job"], models=[shoal.KMap(3, PEOPLE)]
    )
    assert released.report.to_dict()["models"][0]["asked"] == {"k": 3, "population": "a polars frame"}
    with pytest.raises(RecipeError, match="names a population by its path, and this one is a frame"):
        released.recipe.to_toml()


def test_populations_are_equal_by_path_or_by_being_the_same():
    assert Population("a.csv") == Population(Population("a.csv")) != Population("b.csv")
    assert hash(Population("a.csv")) == hash(Population("a.csv"))
    assert Population(PEOPLE) == Population(PEOPLE) != Population(PEOPLE.clone())
    assert Population("a.csv") != "a.csv"
    assert parse_model("k-map(k=3,population=a.csv)") == shoal.KMap(3, "a.csv")


def anonymize(population, table=TABLE, k=3, **more):
    return shoal.anonymize(
        table, others="keep", quasi=["age", "job"], models=[shoal.KMap(k, population)], **more
    )


@pytest.mark.parametrize(
    ("population", "says"),
    [
        ("no-such.csv", "the population cannot be read: .*no-such.csv"),
        (PEOPLE.drop("job"), "the population, the polars frame, lacks 'job'"),
        (PEOPLE.rename({"age": "Age"}), "unknown column 'age': did you mean 'Age'"),
        (
            PEOPLE.with_columns(age=pl.lit("old")),
            "column 'age' has values that are not integers: 'old'",
        ),
        (3, "a table is a path, an open file"),
        (PEOPLE.clear(), "the population cannot be read: .*no rows"),
    ],
)
def test_a_population_that_cannot_be_used(population, says):
    with pytest.raises(InputError, match=says):
        anonymize(population)


def test_text_that_is_not_numbers_as_in_the_table(tmp_path):
    people = PEOPLE.with_columns(pl.col("age").cast(pl.String).replace("23", "young"))
    with pytest.raises(InputError, match="column 'age' has values that are not finite numbers: 'young'"):
        anonymize(people, TABLE.with_columns(pl.col("age").cast(pl.String)))
    # A marker for missing values is none of that, and a file of text does for a typed frame.
    PEOPLE.with_columns(pl.col("age").cast(pl.String).replace("23", "?")).write_csv(tmp_path / "p.csv")
    assert (
        anonymize(tmp_path / "p.csv", TABLE.with_columns(pl.col("age").cast(pl.String)))
        .report.models[0]
        .holds
    )
    PEOPLE.write_csv(tmp_path / "p.csv")
    assert anonymize(tmp_path / "p.csv").report.models[0].holds


def test_goals_out_of_reach():
    with pytest.raises(GoalNotMet, match="k = 9, but the population has 8 people; ask for k of 8 or less"):
        anonymize(PEOPLE, k=9)
    assert anonymize(PEOPLE, k=8).report.classes == 1
    for low, high, says in ((0, 0.4, "high = 0.4"), (0.6, 0.9, "low = 0.6")):
        with pytest.raises(GoalNotMet, match=f"{says}, but the table's 4 rows are 0.5 of the population's 8"):
            shoal.anonymize(
                TABLE, others="keep", quasi=["age", "job"], models=[shoal.DeltaPresence(low, high, PEOPLE)]
            )


def test_one_population_for_all():
    models = [shoal.KMap(3, PEOPLE), shoal.DeltaPresence(0, 0.9, PEOPLE.clone())]
    with pytest.raises(RecipeError, match="compare with one population"):
        shoal.anonymize(TABLE, others="keep", quasi=["age", "job"], models=models)
    with pytest.raises(RecipeError, match="compare with one population"):
        shoal.verify(RELEASE, quasi=["age", "job"], models=models)


def test_a_representative_does_not_tell_whom_it_stands_for():
    for render in ("representative", "set"):
        with pytest.raises(RecipeError, match=f"render is 'label' or 'interval', not '{render}'"):
            anonymize(PEOPLE, render=render)
    for render in ("interval", "label"):
        assert anonymize(PEOPLE, render=render, hierarchies={"job": JOBS}).report.models[0].holds


def test_nodes_need_their_hierarchy():
    with pytest.raises(InputError, match=r"column 'job': cannot tell .* 'manual' stands for"):
        verdict(shoal.KMap(3, PEOPLE), hierarchies={})


def test_rows_that_could_be_nobody():
    release = pl.DataFrame({"age": ["[50-60]"] * 2, "job": ["manual"] * 2})
    assert verdict(shoal.KMap(2, PEOPLE), release).achieved == 0
    found = verdict(shoal.DeltaPresence(0, 1, PEOPLE), release)
    assert not found.holds
    assert found.to_dict()["achieved"] == {"low": 0.0, "high": None}


def test_types_of_other_libraries():
    """A population may be of other types than the table: dates as times, whole numbers as floats."""
    days = pl.Series(["2020-01-01", "2020-02-01", "2020-03-01", "2020-04-01"]).str.to_date()
    sizes = pl.Enum(["S", "M", "L"])
    people = pl.DataFrame({"day": days, "size": pl.Series(list("SMLL"), dtype=sizes), "n": [1, 2, None, 4]})
    as_times = people.with_columns(pl.col("day").cast(pl.Datetime), pl.col("n").cast(pl.Float64))
    as_text = people.with_columns(pl.all().cast(pl.String))
    for table, population in [(people, as_text), (as_times, people), (as_text, as_times), (people, as_times)]:
        released = shoal.anonymize(
            table, others="keep", quasi=people.columns, models=[shoal.KMap(2, population)]
        )
        assert released.report.models[0].holds
    with pytest.raises(InputError, match=r"column 'size' is Enum.* in the table, but here it has 'XL'"):
        other = as_text.with_columns(size=pl.lit("XL"))
        shoal.anonymize(people, others="keep", quasi=people.columns, models=[shoal.KMap(2, other)])
    with pytest.raises(InputError, match=r"column 'n' has values that are not integers: '2\.5'"):
        other = people.with_columns(n=pl.lit(2.5))
        shoal.anonymize(people, others="keep", quasi=people.columns, models=[shoal.KMap(2, other)])
