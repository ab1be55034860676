"""Classes are merged until a population fits them, and tightened where it does anyway."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms import Problem
from shoal.algorithms.population_repair import repair_population_fit
from shoal.codespace.encoding import Column, encode_column
from shoal.codespace.frequency import CodedRows
from shoal.codespace.recoding import Proposal, Recoding

JOBS = shoal.Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})


def problem(table, people, *models):
    both = encode_column(pl.Series([*table, *people]), Column("job", hierarchy=JOBS))
    size = both.domain.size
    rows = CodedRows((both.codes[: len(table)],), (size,))
    population = CodedRows((both.codes[len(table) :],), (size,)).collapse_rows()
    return Problem((both.domain,), rows, (), models, "ncp", np.ones(1), population=population)


def released(subject, class_of, table=None):
    table = subject.table if table is None else table
    found = repair_population_fit(Proposal(table, np.array(class_of, np.int32)), subject)
    recoding = Recoding.from_proposal(found, subject.domains)
    return recoding.render_columns((pl.String(),))["job"].to_list(), found.notes


TABLE = ["mason", "smith", "clerk", "judge"]  # in the order of their codes


def test_what_fits_stays():
    subject = problem(TABLE, TABLE * 3, shoal.KMap(3, "p"))
    assert released(subject, [0, 1, 2, 3]) == (TABLE, ())


def test_a_class_that_too_few_fit_is_merged_with_the_one_beside():
    subject = problem(TABLE, [*TABLE, *TABLE[1:]], shoal.KMap(2, "p"))
    values, notes = released(subject, [0, 1, 2, 3])
    assert values == ["manual", "manual", "clerk", "judge"]
    assert notes == ("classes were merged until the population fits them as asked",)


def test_in_the_end_all_is_suppressed():
    subject = problem(TABLE[:2], [*TABLE[:2], *TABLE[2:] * 4], shoal.KMap(10, "p"))
    assert released(subject, [0, 1])[0] == ["*", "*"]


def test_classes_that_share_people_are_merged_where_too_many_may_be_present():
    # mason and manual overlap in the masons, of whom 2 of 2 might be present; together it is 3 of 6.
    table, people = ["mason", "mason", "smith", "clerk"], ["mason"] * 2 + ["smith"] * 4 + ["clerk"] * 4
    subject = problem(table, people, shoal.DeltaPresence(0, 0.8, "p"))
    rows = subject.rows.one_by_one(in_order=True)
    values, _ = released(subject, [0, 1, 1, 2], rows)
    assert values == ["manual"] * 3 + ["clerk"]
    fine = problem(table, people, shoal.DeltaPresence(0, 1, "p"))
    assert released(fine, [0, 1, 2, 3], rows)[0] == ["mason", "mason", "smith", "clerk"]


@pytest.mark.parametrize(("k", "values"), [(2, ["mason", "clerk"]), (3, ["manual", "clerk"])])
def test_cells_cover_people_outside_the_table_only_if_they_are_needed(k, values):
    subject = problem(["mason", "clerk"], ["mason"] * 2 + ["smith"] * 2 + ["clerk"] * 3, shoal.KMap(k, "p"))
    assert subject.table_with_population.weight.tolist() == [1, 0, 1]
    assert released(subject, [0, 0, 1], subject.table_with_population) == (values, ())
