import pytest

from shoal.errors import InputError, RecipeError
from shoal.table.hierarchies import FORMATS, Hierarchy, read_source, save_hierarchy

JOBS = Hierarchy.from_tree(
    {"manual": {"building": ["mason", "a, b", "c;d"]}, "office/IT": ["clerk: 1"], "none": []}
)


@pytest.mark.parametrize("name", ["job.csv", "job.toml", "job.tree", "job.txt"])
def test_the_suffix_names_the_format(tmp_path, name):
    save_hierarchy(JOBS, tmp_path / name)
    assert read_source(tmp_path / name) == JOBS
    assert read_source(tmp_path / name, "job") == JOBS


@pytest.mark.parametrize("format", FORMATS)
def test_the_format_can_be_said(tmp_path, format):
    suffix = {"arx": "csv", "anjana": "csv", "domains": "dom", "toml": "toml", "outline": "tree"}[format]
    path = tmp_path / f"x.{suffix}"
    save_hierarchy(JOBS, path, "work", format)
    assert read_source(path, "work") == JOBS


def test_the_suffix_must_name_one(tmp_path):
    with pytest.raises(InputError, match=r"the suffix names no format; there are \.csv, \.toml"):
        save_hierarchy(JOBS, tmp_path / "job.xlsx")
    with pytest.raises(RecipeError, match="unknown format 'domain': did you mean 'domains'"):
        save_hierarchy(JOBS, tmp_path / "job.csv", format="domain")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "all"]], "no place for the name of the root 'all'"),
        ([["a\nb", "*"]], r"no place for the line break"),
    ],
)
def test_what_a_domains_file_cannot_hold(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        save_hierarchy(Hierarchy.from_rows(rows), tmp_path / "x.txt")


def test_a_file_with_several_columns_needs_the_name_of_one(tmp_path):
    path = tmp_path / "trees.toml"
    path.write_text('age = ["1"]\njob = ["mason"]\n')
    assert read_source(path, "job").leaves == ("mason",)
    with pytest.raises(InputError, match="has hierarchies for 'age', 'job': say which, as in --column age"):
        read_source(path)
    with pytest.raises(InputError, match="unknown column 'jop': did you mean 'job'"):
        read_source(path, "jop")


def test_the_arx_layout_under_another_name_for_one_column(tmp_path):
    (tmp_path / "tree.dat").write_text("mason;manual;*\nclerk;office;*\n")
    assert read_source(tmp_path / "tree.dat", "job").names[1] == ("manual", "office")
