"""Small tables of any kind, and what their cells may become."""

import polars as pl
import pytest

import shoal
from shoal import teach
from shoal.errors import InputError
from shoal.table.hierarchies import Hierarchy
from shoal.teach.people import JOBS
from shoal.teach.reading import read_teaching_table

# Groups of the same values as what stands below them: of one job, and of all.
ALONE = Hierarchy.from_tree({"any": {"manual": ["cook", "mason"], "desk": ["clerk"]}})


def labels(small, row: int, column: int) -> list[str]:
    return [option.label for option in small.options[row][column]]


def test_the_ways_to_write_a_number():
    small = read_teaching_table(pl.DataFrame({"age": [21, 25, 30]}))
    assert labels(small, 0, 0) == ["*", "21", "[21-25]"]
    assert labels(small, 1, 0) == ["*", "25", "[21-25]", "[25-30]"]
    losses = {option.label: option.loss / small.unit for option in small.options[1][0]}
    assert losses == {"*": 1, "25": 0, "[21-25]": pytest.approx(4 / 9), "[25-30]": pytest.approx(5 / 9)}


def test_the_ways_to_write_a_value_of_a_tree():
    frame = pl.DataFrame({"job": ["cook", "mason", "clerk", "pilot"]})
    small = read_teaching_table(frame, hierarchies={"job": JOBS})
    assert labels(small, 0, 0) == ["*", "cook", "manual"]
    assert labels(small, 3, 0) == ["*", "pilot"]  # unknown to the tree
    assert labels(read_teaching_table(frame.head(3), hierarchies={"job": ALONE}), 2, 0) == ["*", "clerk"]
    group = small.options[0][0][2]
    assert group.values == {"cook", "mason"}
    assert group.loss / small.unit == 2 / 4  # two groups, four distinct values


def test_dates_missing_values_and_booleans():
    frame = pl.DataFrame({"day": ["2020-01-01", "2020-01-11", None], "is_old": [True, False, True]})
    small = read_teaching_table(frame)
    # The full range is no missing value, so it says more than the suppressed cell.
    assert labels(small, 0, 0) == ["*", "2020-01-01", "[2020-01-01-2020-01-11]"]
    assert labels(read_teaching_table(frame.head(2)), 0, 0) == ["*", "2020-01-01"]
    assert labels(small, 2, 0) == ["*", "?"]
    assert labels(small, 0, 1) == ["*", "true"]
    assert small.numbers[1] is None


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "path"])
def test_any_table(kind, tmp_path):
    frame = pl.DataFrame({"age": [37, 50, 58, 44], "sex": ["f", "m", "f", "m"]})
    given = {
        "pandas": frame.to_pandas,
        "polars": lambda: frame,
        "pyarrow": frame.to_arrow,
        "path": lambda: frame.write_csv(tmp_path / "four.csv") or tmp_path / "four.csv",
    }[kind]()
    assert teach.brute_force(given).figures["tables"] == 9216


def test_domains_in_a_file(tmp_path):
    domains = tmp_path / "domains.txt"
    domains.write_text("job/manual: cook, mason, plumber\njob/office: clerk, judge, teacher\n", "utf-8")
    shipped = teach.brute_force()
    frame = pl.DataFrame(dict(zip(shipped.table.names, zip(*shipped.table.people, strict=True), strict=True)))
    assert teach.brute_force(frame, hierarchies=domains).tables == shipped.tables


def test_what_is_wrong_is_said():
    frame = pl.DataFrame({"age": [1, 2], "sex": ["f", "m"]})
    with pytest.raises(InputError, match="did you mean 'age'"):
        teach.brute_force(frame, quasi=["aeg"])
    with pytest.raises(InputError, match="'town' has a weight"):
        teach.brute_force(frame, weights={"town": 2})
    with pytest.raises(InputError, match="loss of a lesson 'ncp'"):
        teach.brute_force(frame, loss="ncp")
    with pytest.raises(InputError, match="take 1 row at least"):
        teach.brute_force(frame, rows=0)
    with pytest.raises(InputError, match="two columns of numbers or dates"):
        teach.cut_mondrian(frame, 1)
    with pytest.raises(InputError, match="which, with sensitive"):
        teach.diversify(pl.DataFrame({"x": [1, 2, 3, 4], "y": [4, 3, 2, 1]}))
    with pytest.raises(InputError, match="draws 8 at most"):
        teach.match_people(rows=9)
    with pytest.raises(InputError, match="no row 9"):
        teach.find_useful_options(row=9)
    with pytest.raises(InputError, match="a lesson takes 400 at most"):
        teach.solve_program(rows=12, k=3)
    with pytest.raises(InputError, match="10 tables"):
        teach.evolve(population=3)
    with pytest.raises(InputError, match="fitness divides by the loss"):
        teach.evolve(weights={"age": -1})
    with pytest.raises(InputError, match="keep 1 step"):
        teach.brute_force(steps=0)


def test_the_shipped_people_meet_the_product():
    run = teach.brute_force()
    frame = pl.DataFrame(dict(zip(run.table.names, zip(*run.table.people, strict=True), strict=True)))
    report = shoal.anonymize(
        frame.with_columns(pl.col("age").cast(int)),
        quasi=frame.columns,
        k=2,
        loss="certainty",
        hierarchies={"job": JOBS},
        algorithm=shoal.MinGen(semantics="matching"),
    ).report
    assert report.loss["value"] == pytest.approx(run.figures["loss"])
    assert (report.solutions, report.search_space) == (run.figures["solutions"], run.figures["tables"])
