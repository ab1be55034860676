import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.table.hierarchies import Hierarchy, uncovered
from shoal.table.hierarchies.assembly import Listing
from shoal.table.hierarchies.checking import check_hierarchy


def check(rows, values=()):
    return check_hierarchy(Listing.from_lines(rows, "jobs", range(1, len(rows) + 1)), values)


GOOD = [
    ["mason", "building", "manual", "*"],
    ["smith", "metal", "manual", "*"],
    ["clerk", "accounts", "office", "*"],
]


def found(checked):
    return [(problem.kind, problem.message, problem.fix) for problem in checked.problems]


def test_nothing_is_wrong():
    checked = check(GOOD, ["mason", "clerk"])
    assert (checked.problems, checked.fixed, checked.unused) == ((), Hierarchy.from_rows(GOOD), 1)


def test_a_label_in_two_groups_is_divided():
    checked = check([*GOOD, ["baker", "building", "office", "*"], ["tiler", "building", "manual", "*"]])
    assert found(checked) == [
        (
            "not nested",
            "'building' (level 1) is in 'manual', 'office'",
            "call it 'building (office)' where it is in 'office'",
        )
    ]
    assert ("baker", "building (office)", "office", "*") in checked.fixed.to_rows()
    assert ("tiler", "building", "manual", "*") in checked.fixed.to_rows()


def test_what_is_divided_above_divides_what_is_below():
    rows = [["a", "x", "y", "P", "*"], ["b", "x", "y", "P", "*"], ["c", "x", "y", "Q", "*"]]
    assert check(rows).fixed.to_rows()[2] == ("c", "x (y (Q))", "y (Q)", "Q", "*")


def test_a_value_that_stands_there_twice_stays_where_it_was_first():
    checked = check([*GOOD, GOOD[0], ["clerk", "sales", "office", "*"]])
    assert found(checked) == [
        ("duplicate", "line 4: 'mason' stands there again, with the same groups", "keep that of line 1"),
        (
            "duplicate",
            "line 5: 'clerk' stands there again, with other groups: 'office/sales'",
            "keep that of line 3: 'office/accounts'",
        ),
    ]
    assert checked.fixed == Hierarchy.from_rows(GOOD)


def test_several_roots_get_one():
    checked = check([["a", "A"], ["b", "B"]])
    assert found(checked) == [("several roots", "there are 2 roots: 'A', 'B'", "put a root '*' above them")]
    assert checked.fixed.root == "*"
    assert check([["a"], ["b"]]).problems == ()


def test_empty_labels():
    checked = check([["a", " ", "X", "*"], ["b", "B", "X", "*"], ["", "B", "X", "*"]])
    assert found(checked) == [
        ("empty label", "line 1: 'a' has an empty label at level 1", "repeat 'a' from the level below"),
        ("empty label", "line 3: the value is empty", "leave the row out"),
    ]
    assert checked.fixed.to_rows() == [("a", "a", "X", "*"), ("b", "B", "X", "*")]


@pytest.mark.parametrize(
    ("value", "fix", "row"),
    [
        ("Mason", "write it instead of 'mason', in 'manual/building'", ("Mason", "building", "manual", "*")),
        (
            "masson",
            "write it instead of 'mason', in 'manual/building'",
            ("masson", "building", "manual", "*"),
        ),
        ("smit", "write it instead of 'smith', in 'manual/metal'", ("smit", "metal", "manual", "*")),
        ("CLERK ", "put it beside 'clerk', in 'office/accounts'", ("CLERK ", "accounts", "office", "*")),
        ("metal", "put it into the group of that name", ("metal", "metal", "manual", "*")),
        ("manual", "put it into the group of that name", ("manual", "manual", "manual", "*")),
        ("pilot", "put it directly under the root '*'", ("pilot", "pilot", "pilot", "*")),
        ("?", "put it directly under the root '*'", ("?", "?", "?", "*")),
    ],
)
def test_a_value_that_is_no_leaf_finds_its_place(value, fix, row):
    checked = check(GOOD, [value, "clerk"])
    assert found(checked) == [("uncovered", f"the column has '{value}'", fix)]
    assert row in checked.fixed.to_rows()
    assert uncovered(checked.fixed, [value, "clerk"]) == []


def test_two_spellings_of_one_leaf():
    checked = check(GOOD, ["Mason", "MASON"])
    assert [problem.fix.split(",")[0] for problem in checked.problems] == [
        "write it instead of 'mason'",
        "put it beside 'mason'",
    ]
    assert uncovered(checked.fixed, ["Mason", "MASON"]) == []


def test_numbers_that_look_alike_are_not_the_same():
    [problem] = check([["1234", "A", "*"], ["777", "B", "*"]], ["1235", "1234", "777"]).problems
    assert problem.fix == "put it directly under the root '*'"


def test_nothing_to_check():
    with pytest.raises(InputError, match="jobs: there are no values"):
        check([])
    with pytest.raises(InputError, match="jobs: there are no values"):
        check([["", "*"]])


LABEL = st.sampled_from(["a", "b", "c", "A", "B", "x y", "", " ", "*", "1", "2"])


@given(st.lists(st.lists(LABEL, min_size=1, max_size=4), min_size=1, max_size=8), st.lists(LABEL, max_size=4))
def test_whatever_is_wrong_can_be_fixed(rows, values):
    assume(any(row[0].strip() for row in rows))
    checked = check(rows, values)
    assert [value for value in uncovered(checked.fixed, values) if value.strip()] == []
    again = check(checked.fixed.to_rows(), values)
    assert again.problems == ()
    try:
        usable = Hierarchy.from_rows(rows)
    except InputError:
        assert checked.problems
    else:
        if not checked.problems:
            assert checked.fixed == usable
