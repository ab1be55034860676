import numpy as np
import polars as pl
import pytest

from shoal.codespace.domain import Domain
from shoal.codespace.recoding import Proposal, Recoding
from shoal.errors import InternalError
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge", "lawyer"]})
FRAME = pl.DataFrame(
    {
        "age": [20, 25, 30, 40, None, 40],
        "colour": ["red", "grey", "blue", "red", "red", "blue"],
        "job": ["mason", "smith", "clerk", "judge", "clerk", "smith"],
        "size": ["S", "L", "M", "S", "S", "M"],
    }
)
KNOWN = {"hierarchy": {"job": JOBS}, "order": {"size": ("S", "M", "L")}}


@pytest.fixture
def problem(code):
    return code(FRAME, **KNOWN)


def released(recoding, frame=FRAME, render="label"):
    columns = recoding.render_columns(tuple(frame.dtypes), render)
    return {name: series.to_list() for name, series in columns.items()}


def test_cells_are_as_tight_as_permitted(problem, recode):
    recoding = recode(problem, [0, 0, 1, 1, 2, 2])
    assert recoding.size.tolist() == [2, 2, 2]
    assert released(recoding) == {
        "age": ["[20-25]"] * 2 + ["[30-40]"] * 2 + ["*"] * 2,  # a number and missing have only * in common
        "colour": ["{red, grey}"] * 2 + ["{red, blue}"] * 4,
        "job": ["manual"] * 2 + ["office"] * 2 + ["*"] * 2,
        "size": ["*"] * 2 + ["[S..M]"] * 4,
    }


def test_a_set_holds_the_values_present_and_no_others(code, recode):
    frame = pl.DataFrame({"c": ["a", "a", "a", "b", "b", "c"]})
    recoding = recode(code(frame), [0, 0, 1, 1, 1, 0])
    # By frequency the codes are a, b, c: the first class spans b without having it.
    assert released(recoding, frame)["c"] == ["{a, c}"] * 2 + ["{a, b}"] * 3 + ["{a, c}"]
    (cells,) = recoding.cells
    of_first = cells.of_class[recoding.class_of[0]]
    assert cells.count_covered()[of_first] == 2
    assert cells.compute_widths()[of_first] == 1 / 2
    assert cells.domain.compute_widths(cells.lo, cells.hi)[of_first] == 1.0


def test_given_cells_are_kept_even_where_they_are_wide(problem, recode):
    recoding = recode(
        problem,
        [0, 0, 0, 1, 1, 1],
        [["20..40", "red..grey", "*", "S..M"], ["*", "red", "office", "S"]],
    )
    assert released(recoding) == {
        "age": ["[20-40]"] * 3 + ["*"] * 3,
        "colour": ["*"] * 3 + ["red"] * 3,
        "job": ["*"] * 3 + ["office"] * 3,
        "size": ["[S..M]"] * 3 + ["S"] * 3,
    }


def test_given_cells_that_are_not_permitted_grow_until_they_are(problem):
    table = problem.rows.one_by_one(in_order=True)
    lo, hi = np.zeros((1, 4), int), np.zeros((1, 4), int)
    hi[0] = [1, 1, 2, 1]  # missing..20; red..blue; mason..clerk; S..M
    recoding = Recoding.from_proposal(Proposal(table, np.zeros(6, np.int32), (lo, hi)), problem.domains)
    texts = [column[0] for column in released(recoding).values()]
    assert texts == ["*", "{red, blue}", "*", "[S..M]"]


def test_classes_with_equal_cells_are_one(problem, recode):
    twins = recode(
        problem, [0, 1, 2, 3, 0, 1], [["*", "*", "*", "*"]] * 2 + [["*", "red..blue", "*", "*"]] * 2
    )
    assert sorted(twins.size.tolist()) == [2, 4]
    assert len(set(twins.class_of[[0, 1, 4, 5]])) == 1
    assert len(set(twins.class_of.tolist())) == 2


def test_suppressed_rows_have_no_class(problem, recode):
    recoding = recode(problem, [0, 0, -1, 1, -1, 1])
    assert (recoding.suppressed_rows, recoding.size.tolist()) == (2, [2, 2])
    assert recoding.released_rows().tolist() == [0, 1, 3, 5]
    assert recoding.class_of.tolist() == [0, 0, -1, 1, -1, 1]
    assert released(recoding)["age"] == ["[20-25]", "[20-25]", "40", "40"]
    assert recode(problem, [0] * 6).released_rows() is None


@pytest.mark.parametrize("render", ["label", "interval", "set", "representative"])
def test_everything_can_be_suppressed(problem, recode, render):
    recoding = recode(problem, [-1] * 6)
    assert (recoding.suppressed_rows, recoding.size.size) == (6, 0)
    assert recoding.released_rows().tolist() == []
    assert released(recoding, render=render) == {name: [] for name in FRAME.columns}


def test_rows_that_are_equal_follow_their_weighted_row(code):
    frame = pl.DataFrame({"a": [3, 1, 3, 1, 2], "b": ["x", "y", "x", "y", "x"]})
    problem = code(frame)
    table = problem.table  # (1, y), (2, x), (3, x)
    assert table.weight.tolist() == [2, 1, 2]
    recoding = Recoding.from_proposal(Proposal(table, np.array([0, 1, 1], np.int32)), problem.domains)
    assert recoding.size.tolist() == [2, 3]
    assert released(recoding, frame) == {
        "a": ["[2-3]", "1", "[2-3]", "1", "[2-3]"],
        "b": ["x", "y", "x", "y", "x"],
    }


def test_the_four_renderings(problem, recode):
    recoding = recode(problem, [0, 0, 1, 1, 1, 1])

    def first_of_each(render):
        rows = released(recoding, render=render)
        return [(column[0], column[2]) for column in rows.values()]

    assert first_of_each("label") == [
        ("[20-25]", "*"),
        ("{red, grey}", "{red, blue}"),
        ("manual", "*"),
        ("*", "[S..M]"),
    ]
    assert first_of_each("interval") == [
        ("[20-25]", "*"),
        ("{red, grey}", "{red, blue}"),
        ("[mason..smith]", "*"),
        ("*", "[S..M]"),
    ]
    assert first_of_each("set") == [
        ("{20, 25}", '{"", 30, 40}'),
        ("{red, grey}", "{red, blue}"),
        ("{mason, smith}", "{smith, clerk, judge}"),
        ("{S, L}", "{S, M}"),
    ]
    # The lower median of numbers and of ordered values, the commonest of the others, the first of equals.
    assert first_of_each("representative") == [(20, 30), ("red", "red"), ("mason", "clerk"), ("S", "S")]


def test_representatives_weigh_every_row(code):
    frame = pl.DataFrame({"n": [1, 2, 9, 9, 9], "c": ["x", "y", "y", "z", "z"]})
    problem = code(frame)
    recoding = Recoding.from_proposal(
        Proposal(problem.table, np.zeros(len(problem.table.weight), np.int32)), problem.domains
    )
    representatives = released(recoding, frame, "representative")
    assert representatives == {"n": [9] * 5, "c": ["y"] * 5}  # y and z twice each: the first by name


@pytest.mark.parametrize("render", ["label", "interval", "set", "representative"])
def test_a_column_that_nothing_happened_to_keeps_its_type(code, recode, render):
    frame = pl.DataFrame(
        {
            "number": [1, 1, 2, 2],
            "float": [0.5, 0.5, None, None],
            "day": pl.Series(["2020-01-01"] * 2 + ["2021-01-01"] * 2).str.to_date(),
            "grade": pl.Series(["b", "b", "a", "a"], dtype=pl.Enum(["b", "a"])),
            "flag": [True, True, False, False],
            "text": ["007", "007", None, None],
            "changed": [1, 2, 3, 4],
        }
    )
    columns = recode(code(frame), [0, 0, 1, 1]).render_columns(tuple(frame.dtypes), render)
    for name in frame.columns[:-1]:
        assert columns[name].to_list() == frame[name].to_list()
        assert columns[name].dtype == frame[name].dtype
    assert columns["changed"].dtype == (pl.Int64 if render == "representative" else pl.String)


def test_a_hierarchy_on_a_typed_column_that_nothing_happened_to(code, recode):
    ages = Hierarchy.from_tree({"young": ["1", "2"], "old": ["80"]})
    frame = pl.DataFrame({"age": [80, 80, 2, None]})
    recoding = recode(code(frame, hierarchy={"age": ages}), [0, 0, 1, 2])
    column = recoding.render_columns((pl.Int64(),))["age"]
    assert (column.dtype, column.to_list()) == (pl.Int64, [80, 80, 2, None])


def test_the_mass_of_cells_is_the_sum_over_what_they_cover(code, recode):
    frame = pl.DataFrame({"n": [1, 2, 3, 4, 4], "c": ["a", "a", "a", "b", "c"]})
    recoding = recode(code(frame), [0, 0, 1, 1, 0])
    counts = [recoding.table.count_codes(j, cells.domain.size) for j, cells in enumerate(recoding.cells)]
    per_class = [
        cells.sum_covered(count)[cells.of_class].tolist()
        for cells, count in zip(recoding.cells, counts, strict=True)
    ]
    # n: [1-4] holds all five rows, [3-4] three; c: {a, c} has 3 + 1 of them, {a, b} as many
    assert sorted(zip(*per_class, strict=True)) == [(3, 4), (5, 4)]


def test_a_domain_of_flat_values_in_many_classes(code):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"c": rng.choice(list("abcdefgh"), 2000)})
    problem = code(frame)
    table = problem.rows.one_by_one(in_order=True)
    class_of = rng.integers(0, 300, 2000).astype(np.int32)
    class_of[:300] = np.arange(300)
    recoding = Recoding.from_proposal(Proposal(table, class_of), problem.domains)
    text = released(recoding, frame)["c"]
    domain: Domain = problem.domains[0]
    for number in range(300):
        present = [v for v in domain.labels if v in set(frame["c"].filter(pl.Series(class_of == number)))]
        expected = (
            present[0] if len(present) == 1 else "*" if len(present) == 8 else f"{{{', '.join(present)}}}"
        )
        assert {text[row] for row in np.flatnonzero(class_of == number)} == {expected}


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([0, 0, 2, 2, 2, 2], "no row of class 1"),
        ([1, 1, 1, 1, 1, 1], "no row of class 0"),
        ([0, 0, 0, -2, 0, 0], "the class -2"),
        ([0, 0, 0, 0, 0], "one whole number each"),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "one whole number each"),
    ],
)
def test_classes_that_are_not_numbered_without_gaps_are_refused(problem, classes, message):
    proposal = Proposal(problem.rows.one_by_one(in_order=True), np.array(classes))
    with pytest.raises(InternalError, match=message):
        Recoding.from_proposal(proposal, problem.domains)
