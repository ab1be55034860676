"""Random cases of people with several rows, and whether their judge sees what is wrong."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.robustness.fuzz import event_tables, histories
from tests.robustness.fuzz.cases import Column
from tests.robustness.fuzz.history_judge import Asked, list_problems

KEY = histories.KEY
WHO = ("zq000000001qz", "ZQ000000001QZ ", "zq000000002qz", "zq000000002qz", "zq000000003qz", "zq000000003qz")


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_people_end_with_a_safe_release_or_a_typed_error(random):
    histories.judge(histories.draw(random, 1))


def test_cases_draw_all_that_there_is_about_people():
    drawn = [histories.case_of(seed) for seed in range(300)]
    assert {case.door for case in drawn} == set(histories.DOORS)
    assert {case.algorithm[0] for case in drawn} == set(histories.ALGORITHMS)
    for name in ("pseudonym", "sets", "relative", "group", "align"):
        assert sum(bool(case.options.get(name)) for case in drawn) > 20, name
    assert {case.options.get("knows") for case in drawn} == {None, "1", "2", "3", "all"}
    ids = [next(column.values for column in case.columns if column.name == "who") for case in drawn]
    assert any(None in each for each in ids)
    assert any(2 * max(map(each.count, each)) >= len(each) > 9 for each in ids)


def judge(cells, *, options, role="person", age=("30",) * 6, k=3, extra=(), report=None):
    """What the judge says of a release with a column ``age``; ``cells`` are its lines."""
    columns = [
        Column("who", role, "text", WHO),
        Column("row", "plain", "int", tuple(range(6))),
        Column("age", "quasi", "int", tuple(map(int, age))),
        *extra,
    ]
    asked = Asked(columns, (("k", {"k": k}),), 0.0, "category", {"person": "who", **options})
    told = {"released_rows": 6, "suppressed_rows": 0, "people": 3, "people_left_out": 0, "ncp": 0.1}
    names = [column.name for column in columns if column.role != "group"]
    names = names if options.get("pseudonym") else [name for name in names if name != "who"]
    content = "\n".join([",".join(names), *cells]).encode()
    return list(
        list_problems(asked, content, {**told, "models": [], "smallest_class": 3, **(report or {})}, KEY)
    )


GOOD = ["a,0,*", "a,1,*", "b,2,*", "b,3,*", "c,4,*", "c,5,*"]
LINKED = {"pseudonym": True, "knows": "1"}
PAIRS = ["a,0,30", "a,1,*", "b,2,30", "b,3,*", "c,4,30", "c,5,30"]


def test_a_safe_release_is_found_safe():
    assert judge(GOOD, options=LINKED) == []
    assert judge([line[2:] for line in GOOD], options={}) == []


@pytest.mark.parametrize(
    ("cells", "options", "said"),
    [
        (["a,0,*", "x,1,*", *GOOD[2:]], LINKED, "pseudonyms do not tell people apart"),
        (["a,0,*", "a,1,*", "a,2,*", "a,3,*", *GOOD[4:]], LINKED, "pseudonyms do not tell people apart"),
        (["a,0,30", *GOOD[1:]], LINKED, "the same in all rows of a person, and not in the release"),
        (["a,0,30", "a,1,30", *GOOD[2:]], LINKED, "UNSAFE: 1 people are found"),
        (["a,0,31", "a,1,31", *GOOD[2:]], LINKED, "does not stand for 30"),
        (["a,0,*", "a,0,*", *GOOD[2:]], LINKED, "rows are there twice"),
        (GOOD[:4], LINKED, "2 rows were left out of 6"),
        ([line.replace("a,", "zq000000001qz,") for line in GOOD], LINKED, "an id is in the file"),
        ([line.replace("a,", f"{KEY},") for line in GOOD], LINKED, "the key is in the file"),
        (["0,30", "1,30", "2,[20-30]", "3,[20-30]", "4,[20-30]", "5,[20-30]"], {}, "UNSAFE: 1 people"),
        ([*GOOD[2:], *GOOD[:2]], {**LINKED, "group": "home"}, "UNSAFE: 1 groups are found"),
    ],
)
def test_the_judge_sees_what_is_wrong(cells, options, said):
    extra = [Column("home", "group", "text", ("h",) * 6)] if options.get("group") else []
    assert any(said in each for each in judge(cells, options=options, extra=extra))


@pytest.mark.parametrize(("knows", "fewest"), [("1", 2), ("2", 1), ("all", 1)])
def test_the_judge_counts_every_choice_of_rows(knows, fewest):
    """All three have 30, two have * as well, and one has 30 twice."""
    age = ("30", "31", "30", "31", "30", "30")
    found = judge(PAIRS, options={"pseudonym": True, "knows": knows}, age=age)
    assert f"UNSAFE: {fewest} people are found, and 3 were asked for" in found


@pytest.mark.parametrize(
    ("sets", "knows", "said"),
    [
        (["b", "b", "b", "b", "b", "b"], "1", None),
        (["b", "b", "b", "b", "b", ""], "1", None),
        (["b|c", "b", "b", "b", "b", "b"], "1", "UNSAFE: 1 people"),
        (["b|c", "b", "b|c", "b", "b|c", "b"], "2", None),
        (["b|c", "b", "b|c", "b", "b", "c"], "1", None),
        (["b|c", "b", "b|c", "b", "b", "c"], "2", "UNSAFE: 2 people"),
        (["c|b", "b", "b|c", "b", "b|c", "b"], "1", "is not sorted"),
        (["d", "b", "b", "b", "b", "b"], "1", "stands for nothing"),
        (["{b, c}"] * 6, "all", None),
    ],
)
def test_the_judge_counts_every_choice_of_items(sets, knows, said):
    cells = [f'{at},*,"{each}"' for at, each in enumerate(sets)]
    column = Column("dx", "set", "text", ("b|c", "b| c|b", "c|b", "b|c", "b|c", "b|c"))
    found = judge(cells, options={"sets": {"dx": "|"}, "knows": knows}, extra=[column])
    assert found == [] if said is None else any(said in each for each in found)


def test_the_judge_counts_days_and_compares_the_report():
    options = {**LINKED, "relative": "age"}
    days = ["a,0,0", "a,1,1", "b,2,0", "b,3,1", "c,4,0", "c,5,1"]
    age = ("30", "31", "50", "51", "7", "8")
    assert judge(days, options=options, age=age) == []
    assert any(
        "does not stand for 1" in each for each in judge([*days[:5], "c,5,2"], options=options, age=age)
    )
    assert any(
        "smallest_class 4" in each for each in judge(GOOD, options=LINKED, report={"smallest_class": 4})
    )


# Several tables.


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_event_tables_end_with_a_safe_release_or_a_typed_error(random):
    event_tables.judge(event_tables.draw(random, 1))


def judge_tables(folder, people, labs, knows, smallest=2):
    """What the judge of several tables says of a release of two files."""
    ids = ("zq000000001qz", "zq000000002qz")
    tables = {
        "people": event_tables._make_table(list(ids), {"age": [30, 31]}),
        "labs": event_tables._make_table([*ids, *ids], {"day": [1, 1, 2, 2]}),
    }
    case = event_tables.EventCase(0, tables, (("k", {"k": 2}),), ("auto", {}), knows, 0.0, "category", "text")
    who = "who," if knows else ""
    for name, column, rows in (("people", "age", people), ("labs", "day", labs)):
        (folder / f"{name}.csv").write_text("\n".join([f"{who}{column},row", *rows]) + "\n")
    told = {"people": {"released_rows": len(people)}, "labs": {"released_rows": len(labs)}}
    return list(event_tables.list_problems(case, folder, {"tables": told, "smallest_class": smallest}))


EVENTS = ["a,1,0", "b,1,1", "a,2,2", "b,2,3"]


@pytest.mark.parametrize(
    ("people", "labs", "knows", "said"),
    [
        (["a,*,0", "b,*,1"], EVENTS, "all", None),
        (["a,30,0", "b,*,1"], EVENTS, "1", "UNSAFE: 1 people"),
        (["a,*,0", "b,*,1"], ["a,1,0", "b,*,1", "a,*,2", "b,2,3"], "1", "UNSAFE: 1 people"),
        (["a,*,0", "b,*,1"], ["a,*,0", "b,*,1", "a,*,2", "b,*,3"], "2", None),
        (["a,*,0", "b,*,1"], ["a,*,0", "b,*,1", "a,*,2"], "1", None),
        (["a,*,0", "b,*,1"], ["a,*,0", "b,*,1", "a,*,2"], "2", "UNSAFE: 1 people"),
        (["a,*,0", "c,*,1"], EVENTS, "1", "pseudonyms do not tell people apart"),
        (["a,*,0", "b,*,1"], ["a,3,0", *EVENTS[1:]], "1", "does not stand for 1"),
        (["zq000000001qz,*,0", "b,*,1"], EVENTS, "1", "an id or the key is in people"),
        (["*,0", "*,1"], ["1,0", "1,1", "2,2", "2,3"], None, None),
        (["*,0", "*,1"], ["1,0", "*,1", "2,2", "*,3"], None, "UNSAFE: 1 people"),
    ],
)
def test_the_judge_joins_tables(tmp_path, people, labs, knows, said):
    found = judge_tables(tmp_path, people, labs, knows)
    assert found == [] if said is None else any(said in each for each in found)
