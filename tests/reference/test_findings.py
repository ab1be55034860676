"""What releases give away as a whole, as the page on findings quotes it, counted anew by plain Python.

The releases are those of the page: the roles that `shoal suggest` proposes. Rows keep their order and none is
suppressed, so that row i of the release is row i of the table. Nothing here is imported from the code that
finds.
"""

import csv
import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import shoal

PAGE = " ".join((Path(__file__).parents[2] / "docs" / "findings.md").read_text("utf-8").split())
K = 5


def read(path):
    with Path(path).open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return names, rows


class Counted:
    """A table, its release as `suggest` proposes it, and what can be counted in the two files."""

    def __init__(self, source, folder, **changed):
        proposed = shoal.suggest(source).recipe
        self.recipe = replace(proposed, output=str(folder / "release.csv"), **changed)
        self.report = shoal.run(self.recipe, source).report
        self.before_names, self.before = read(source)
        self.names, self.rows = read(folder / "release.csv")

    def cells(self, columns):
        places = [self.names.index(name) for name in columns]
        return [tuple(row[place] for place in places) for row in self.rows]

    def unique(self, columns):
        """How many rows are the only ones with their cells in some columns."""
        cells = self.cells(columns)
        times = Counter(cells)
        return sum(times[cell] == 1 for cell in cells)

    def original(self, column):
        place = self.before_names.index(column)
        return [row[place] for row in self.before]

    def in_small_company(self, identifier):
        """How many rows are in classes with fewer than k distinct values of an identifier."""
        people, sizes = defaultdict(set), Counter()
        for cells, person in zip(self.cells(self.recipe.quasi), self.original(identifier), strict=True):
            people[cells].add(person)
            sizes[cells] += 1
        return sum(size for cells, size in sizes.items() if len(people[cells]) < K)

    def beside_its_like(self, identifier):
        """How many rows have the same value of an identifier as the row before or after."""
        values = self.original(identifier)
        around = zip([None, *values], values, [*values[1:], None], strict=False)
        return sum(value in (before, after) for before, value, after in around)

    @property
    def findings(self):
        return {finding.id: finding for finding in self.report.findings}


def percent(rows, of):
    share = rows / of
    if share < 0.1:
        return f"{100 * share:.2g} %"
    if 0.995 <= share < 1:
        return f"{min(100 * share, 99.9):.1f} %"
    return f"{100 * share:.0f} %"


def goes_up(values):
    return all(first < second for first, second in pairwise(values))


def check_unique_rows(counted, alone=(), together=()):
    """Compare the finding and the page with counts: all columns, single ones, and each with the others."""
    rows = len(counted.rows)
    finding = counted.findings["unique-rows"]
    unique = counted.unique(counted.names)
    assert (finding.severity, finding.figure) == ("high", unique / rows)
    sayings = [f"{percent(unique, rows)} of the rows are unique in all that is released"]
    sayings += [f"'{name}' alone singles out {percent(counted.unique([name]), rows)}" for name in alone]
    for name in together:
        singled = counted.unique([*counted.recipe.quasi, name])
        sayings.append(f"the quasi-identifiers with '{name}' single out {percent(singled, rows)}")
    assert finding.message == "; ".join(sayings)
    assert f"{finding.message} [unique-rows]" in PAGE
    # No other column singles out as many.
    named = {*alone, *together}
    others = [name for name in counted.names if name not in (*counted.recipe.quasi, *named)]
    least = min(counted.unique([*counted.recipe.quasi, name]) for name in named)
    assert all(counted.unique([*counted.recipe.quasi, name]) <= least for name in others)


def check_repeated(counted, identifier, severity="low"):
    rows, few = len(counted.rows), counted.in_small_company(identifier)
    finding = counted.findings[f"repeated:{identifier}"]
    assert (finding.severity, finding.figure) == (severity, few / rows)
    assert (
        f"'{identifier}' repeats: {percent(few, rows)} of the rows are in classes with fewer than 5" in PAGE
    )


def check_size(counted):
    classes = Counter(counted.cells(counted.recipe.quasi))
    assert min(classes.values()) == counted.report.smallest_class >= K
    rows = f"{len(counted.rows):,}"
    assert f"{rows} of {rows} rows released in {len(classes):,} classes, the smallest of 5" in PAGE


def test_the_sample(tmp_path):
    shoal.sample("hospital").write_csv(tmp_path / "hospital.csv")
    counted = Counted(tmp_path / "hospital.csv", tmp_path)
    check_size(counted)
    check_unique_rows(counted, alone=["cost"], together=["diagnosis"])
    check_repeated(counted, "name")
    assert goes_up(counted.original("patient_id"))
    assert counted.findings["row-order:patient_id"].severity == "medium"
    assert set(counted.findings) == {"unique-rows", "row-order:patient_id", "repeated:name"}


@pytest.mark.exhaustive
def test_adult(shared_data, tmp_path):
    counted = Counted(shared_data / "adult" / "adult.csv", tmp_path)
    check_size(counted)
    check_unique_rows(counted, together=["class", "capital_gain"])
    check_repeated(counted, "final_weight")
    assert set(counted.findings) == {"unique-rows", "repeated:final_weight"}
    assert not goes_up([int(weight) for weight in counted.original("final_weight")])
    singled = re.search(r"([\d,]+) people can still be singled out", PAGE)[1]
    assert singled == f"{counted.unique(counted.names):,}"


@pytest.mark.slow
def test_visits_to_the_doctor(shared_data, tmp_path):
    table = shared_data / "people" / "rwm5yr.csv"
    counted = Counted(table, tmp_path, person=None, identifier=("rownames", "id"))
    rows = len(counted.rows)
    check_size(counted)
    check_unique_rows(counted, together=["hhninc", "hospvis", "outwork"])
    check_repeated(counted, "id", "high")
    beside = counted.beside_its_like("id")
    neighbours = counted.findings["row-order:id"]
    assert (neighbours.severity, neighbours.figure) == ("high", beside / rows)
    assert f"{percent(beside, rows)} of the rows stand beside a row with the same 'id'" in PAGE
    assert goes_up([int(number) for number in counted.original("rownames")])
    assert counted.findings["row-order:rownames"].severity == "medium"
    assert set(counted.findings) == {"unique-rows", "row-order:id", "row-order:rownames", "repeated:id"}
    asked = shoal.suggest(table).recipe
    assert asked.person == "id"
    people = shoal.run(replace(asked, output=None), table).report
    assert {finding.id for finding in people.findings} == {"unique-rows"}
    assert f"for {100 * people.ncp:.2f} % of the detail instead of {100 * counted.report.ncp:.2f} %" in PAGE


def test_a_year_of_birth_beside_the_age(tmp_path):
    """The rows of the page's example in which the other column tells what the cell hides."""
    table = shoal.sample("hospital").select("age", "sex", "postcode")
    years = [2024 - (age or 0) for age in table["age"]]
    frame = table.with_columns(birth_year=shoal.sample("hospital")["age"].fill_null(0) * -1 + 2024)
    assert frame["birth_year"].to_list() == years
    release = shoal.anonymize(frame, quasi=["age", "sex", "postcode"], plain=["birth_year"], k=10)
    ages, cells = table["age"].to_list(), release.frame["age"].to_list()
    of_cell, of_year = defaultdict(set), defaultdict(set)
    for age, cell, year in zip(ages, cells, years, strict=True):
        of_cell[cell].add(age)
        of_year[year].add(age)
    hidden = [i for i, cell in enumerate(cells) if len(of_cell[cell]) > 1]
    told = [i for i in hidden if len(of_year[years[i]]) == 1]
    finding = {finding.id: finding for finding in release.report.findings}["determines:birth_year:age"]
    # Anyone who is the only one of their year is in no group, and ages within half of a wide cell count, too.
    assert abs(finding.figure - len(told) / len(hidden)) < 0.02
    share = f"({percent(len(hidden), len(cells))} of all)"
    assert share in finding.message
    assert f"in {percent(finding.figure * len(hidden), len(hidden))} of the rows that hide it {share}" in PAGE
