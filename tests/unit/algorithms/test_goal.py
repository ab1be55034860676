"""The privacy goal as algorithms see it: rules for kernels, verdicts on groups of rows."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms import Problem
from shoal.codespace.encoding import Column, encode_column
from shoal.codespace.frequency import CodedRows
from shoal.privacy import ValueScale, for_columns, parse_model

AGES = [21, 22, 23, 24, 35, 36, 37, 38]
ILLNESS = [0, 0, 1, 1, 0, 2, 0, 1]


def problem(*goals: str) -> Problem:
    age = encode_column(pl.Series(AGES), Column("age"))
    rows = CodedRows((age.codes,), (age.domain.size,), (np.array(ILLNESS, np.uint32),), (3,))
    models = for_columns(map(parse_model, goals), ["illness"])
    scales = {"illness": ValueScale(ordered=True)}
    return Problem((age.domain,), rows, ("illness",), models, "ncp", np.ones(1), scales=scales)


def judged(groups: list[list[int]], *goals: str) -> list[bool]:
    group = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
    row = np.array([row for rows in groups for row in rows])
    return problem(*goals).find_sufficient_groups(group, row, len(groups)).tolist()


def test_groups_may_overlap_and_are_compared_with_the_whole():
    # Whole: 4/8, 3/8, 1/8. Rows 0 and 1: 1, 0, 0, at 1/2. Rows 0 to 3: 1/2, 1/2, 0, at 1/8. All: 0.
    groups = [[0, 1], [0, 1, 2, 3], list(range(8))]
    assert judged(groups, "t(t=0.125)") == [False, True, True]
    assert judged(groups, "t(t=0.12)") == [False, False, True]
    assert judged(groups, "k(k=3)", "t(t=0.5)") == [False, True, True]
    # Gains: 1 for the first value; 1/3 for the second.
    assert judged(groups, "basic-beta(beta=0.4)") == [False, True, True]
    assert judged(groups, "delta-disclosure(delta=5)") == [False, False, True]


def test_a_bound_on_the_whole_asks_something_sufficient_of_each_group():
    assert judged([[0, 1], [0, 1, 2, 3]], "average-risk(risk=0.25)") == [False, True]
    assert judged([[0], [0, 1]], "uniqueness(share=0.9)") == [False, True]


@pytest.mark.parametrize(
    ("goals", "size"),
    [
        (["k(k=5)", "distinct-l(l=3)"], 5),
        (["k(k=2)", "distinct-l(l=3)"], 3),
        (["max-risk(risk=0.3)"], 4),
        (["alpha-k(alpha=0.5,k=3)"], 3),
        (["entropy-l(l=2.5)"], 3),
        (["recursive-cl(c=3,l=2)"], 2),
        (["t(t=0.1)"], 1),
    ],
)
def test_the_least_size_of_a_class(goals, size):
    subject = problem(*goals)
    assert subject.build_rules(subject.table).size == size


def test_rules_know_the_whole():
    subject = problem("t(t=0.1)", "basic-beta(beta=1)")
    rules = subject.build_rules(subject.table)
    assert rules.rows == 8
    assert rules.whole.tolist() == [4, 3, 1]
    assert rules.limit.tolist() == [0.1, 1.0]


def test_rules_for_some_rows_know_the_whole():
    subject = problem("t(t=0.1)")
    some = CodedRows((subject.rows.quasi[0][:2],), subject.rows.sizes, (subject.rows.sensitive[0][:2],), (3,))
    rules = subject.build_rules(some.one_by_one(in_order=True))
    assert rules.entry.size == 3
    assert (rules.rows, rules.whole.tolist()) == (8, [4, 3, 1])


def peopled(*goals) -> Problem:
    """Ages of which the table has some, and of which the population has two each and 40."""
    people = pl.Series([*AGES, *AGES, 40])
    age = encode_column(pl.concat([pl.Series(AGES), people]), Column("age"))
    rows = CodedRows((age.codes[:8],), (age.domain.size,))
    population = CodedRows((age.codes[8:],), (age.domain.size,)).collapse_rows()
    return Problem((age.domain,), rows, (), goals, "ncp", np.ones(1), population=population)


def test_people_who_are_not_in_the_table_weigh_nothing():
    subject = peopled(shoal.KMap(3, "people.csv"))
    table = subject.table_with_population
    assert table.weight.tolist() == [1] * 8 + [0]
    assert table.codes[table.of_row, 0].tolist() == subject.rows.quasi[0].tolist()
    rules = subject.build_rules(table)
    entries = [
        dict(zip(rules.value[at : at + 2].tolist(), rules.times[at : at + 2].tolist(), strict=True))
        for at in rules.entry[:-1]
    ]
    assert entries == [{0: 1, 1: 2}] * 8 + [{0: 0, 1: 1}]


def test_groups_are_fit_by_those_who_equal_their_rows():
    # Two people for each row; 40 is among all, who can be had by suppression.
    groups = np.repeat([0, 1, 2], [1, 2, 8])
    rows = np.array([0, 0, 1, *range(8)])
    assert peopled(shoal.KMap(4, "p.csv")).find_sufficient_groups(groups, rows, 3).tolist() == [
        False,
        True,
        True,
    ]
    assert peopled(shoal.KMap(17, "p.csv")).find_sufficient_groups(groups, rows, 3).tolist() == [
        False,
        False,
        True,
    ]
    presence = shoal.DeltaPresence(0.48, 0.5, "p.csv")
    assert peopled(presence).find_sufficient_groups(groups, rows, 3).tolist() == [True, True, False]


def test_equal_rows_share_those_who_equal_them():
    subject = peopled(shoal.KMap(3, "people.csv"))
    assert subject._count_equal_people(np.array([[0], [0], [0], [1], [8]])).tolist() == [1, 1, 0, 2, 1]


def partitions(rows: list[int]):
    """Every way to divide rows into classes."""
    if not rows:
        yield []
        return
    for rest in partitions(rows[1:]):
        yield [[rows[0]], *rest]
        for at, group in enumerate(rest):
            yield [*rest[:at], [rows[0], *group], *rest[at + 1 :]]


def loss(classes: list[list[int]]) -> float:
    """Normalised certainty penalty."""
    spans = [len(rows) * (AGES[max(rows)] - AGES[min(rows)]) for rows in classes]
    return sum(spans) / (AGES[-1] - AGES[0]) / len(AGES)


def is_close(rows: list[int], t: float) -> bool:
    both = [ILLNESS[row] for row in rows], ILLNESS
    share = [[values.count(value) / len(values) for value in range(3)] for values in both]
    return sum(abs(p - q) for p, q in zip(*share, strict=True)) / 2 <= t


def test_exact_search_judges_groups_by_the_whole():
    people = pl.DataFrame({"age": AGES, "illness": list(map(str, ILLNESS))})
    settings = {"quasi": ["age"], "sensitive": ["illness"], "algorithm": "mingen"}
    found = shoal.anonymize(people, models=["t(t=0.2)"], **settings).report
    assert found.optimal
    allowed = [each for each in partitions(list(range(8))) if all(is_close(rows, 0.2) for rows in each)]
    assert 1 < len(allowed) < 4140
    assert found.ncp == pytest.approx(min(map(loss, allowed)))


def test_exact_search_says_what_its_optimum_is_one_of():
    people = pl.DataFrame({"age": AGES})
    found = shoal.anonymize(
        people, others="keep", quasi=["age"], models=["average-risk(risk=0.5)"], algorithm="mingen"
    )
    assert any("a bound on the whole table" in note for note in found.report.notes)
