from pathlib import Path

import polars as pl
import pytest

from shoal.errors import InputError
from shoal.support.filenames import file_names
from shoal.table.hierarchies import Hierarchy, read_hierarchies, uncovered, write_hierarchy

COLUMNS = ["job", "age", "a=b"]


@pytest.fixture
def folder(tmp_path) -> Path:
    for name, text in {
        "job.csv": "mason;*\n",
        "age.csv": "7;*\n",
        "other.csv": ";;;",
        "read.me": "x",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_folder_gives_what_the_table_has_columns_for(folder):
    found = read_hierarchies(str(folder), COLUMNS)
    assert {column: tree.leaves for column, tree in found.items()} == {"job": ("mason",), "age": ("7",)}


def test_a_folder_without_a_match_says_what_it_has(folder):
    with pytest.raises(
        InputError, match=r"no '<column>\.csv' for any of 'x': it holds 'age\.csv', .*'read\.me'"
    ):
        read_hierarchies(folder, ["x"])
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match="it holds no files"):
        read_hierarchies(folder / "empty", ["x"])


def test_one_file_for_a_named_column(folder):
    assert read_hierarchies(f"job={folder / 'age.csv'}", COLUMNS)["job"].leaves == ("7",)
    assert list(read_hierarchies(f"a=b={folder / 'age.csv'}", ["a", "a=b"])) == ["a=b"]


def test_a_header_is_that_of_the_named_column(folder):
    (folder / "x.csv").write_text("Job;group\nmason;*\n")
    assert read_hierarchies(f"job={folder / 'x.csv'}", COLUMNS)["job"].leaves == ("mason",)


def test_a_path_that_exists_is_no_assignment(folder, monkeypatch):
    monkeypatch.chdir(folder)
    Path("job=x").write_text("age/old: 70\n")
    assert list(read_hierarchies("job=x", COLUMNS)) == ["age"]


def test_a_file_named_after_its_column(folder):
    assert list(read_hierarchies(folder / "age.csv", COLUMNS)) == ["age"]
    with pytest.raises(
        InputError, match=r"which column is '.*other\.csv' for\? Say so, as in 'job=.*other\.csv'"
    ):
        read_hierarchies(folder / "other.csv", COLUMNS)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "no such file or folder 'nowhere'; expected a folder, column=path, "),
        ("jobs=age.csv", r"'jobs=age\.csv': unknown column 'jobs': did you mean 'job'\?"),
        ("job=nowhere.csv", r"no such file 'nowhere\.csv'"),
    ],
)
def test_what_is_not_there(path, message):
    with pytest.raises(InputError, match=message):
        read_hierarchies(path, COLUMNS)


def test_the_adult_hierarchies_cover_the_adult_table(shared_data):
    table = pl.read_csv(shared_data / "adult" / "adult_9col.csv", separator=";", infer_schema=False)
    found = read_hierarchies(shared_data / "adult" / "hierarchies", table.columns)
    assert list(found) == table.columns
    assert {column: uncovered(tree, table[column].to_list()) for column, tree in found.items()} == {
        column: [] for column in table.columns
    }
    # The lattice of these heights has 12,960 vectors.
    heights = {column: tree.height for column, tree in found.items()}
    assert heights == {
        "sex": 1,
        "age": 4,
        "race": 1,
        "marital-status": 2,
        "education": 3,
        "native-country": 2,
        "workclass": 2,
        "occupation": 2,
        "salary-class": 1,
    }
    assert found["age"].leaves == tuple(map(str, range(1, 101)))
    assert found["age"].names[3][:2] == ("0-19", "20-39")


def test_the_small_domains(shared_data):
    table = pl.read_csv(shared_data / "small" / "test2.csv", infer_schema=False)
    found = read_hierarchies(shared_data / "small" / "domains.txt", table.columns)
    assert {column: (tree.height, len(tree.leaves), tree.names[1]) for column, tree in found.items()} == {
        "Education": (2, 6, ("Higher", "Lower")),
        "Job": (2, 7, ("Blue Collar", "White Collar")),
    }
    assert all(uncovered(tree, table[column].to_list()) == [] for column, tree in found.items())
    assert found["Education"].sibling_counts()[1].tolist() == [2] * 6


def test_a_folder_has_the_files_of_columns_with_any_names(tmp_path):
    columns = ["../../evil", "a/b", "Age", "age", "CON", "plain"]
    for column, name in file_names(columns).items():
        write_hierarchy(Hierarchy.from_tree({f"group of {column}": ["x"]}), tmp_path / name)
    found = read_hierarchies(tmp_path, [*columns, "other"])
    assert {column: tree.names[1][0] for column, tree in found.items()} == {
        column: f"group of {column}" for column in columns
    }
    (evil,) = tmp_path.glob("evil-*.csv")
    assert list(read_hierarchies(evil, columns)) == ["../../evil"]
