"""Delta tables: the current version is read, and not every file of the folder."""

import polars as pl
import pytest

import shoal
from shoal.errors import InputError
from shoal.table import read_table

deltalake = pytest.importorskip("deltalake")
RECIPE = shoal.Recipe(("age",), (shoal.KAnonymity(3),), others="keep")


@pytest.fixture
def folder(tmp_path):
    old = pl.DataFrame({"age": [1, 2, 3], "day": ["a", "a", "a"]})
    new = pl.DataFrame({"age": [21, 24, 28, 30, 33, 39], "day": ["a", "a", "a", "b", "b", "b"]})
    deltalake.write_deltalake(str(tmp_path / "t"), old.to_arrow(), partition_by=["day"])
    deltalake.write_deltalake(str(tmp_path / "t"), new.to_arrow(), mode="overwrite")
    return tmp_path / "t"


def test_rows_of_earlier_versions_are_not_read(folder):
    assert sorted(read_table(folder).frame["age"].to_list()) == [21, 24, 28, 30, 33, 39]
    release = shoal.run(RECIPE, folder)
    assert release.report.rows == 6
    assert sorted(release.frame.columns) == ["age", "day"]


def test_with_a_memory_limit_too(folder, tmp_path):
    out = tmp_path / "out.parquet"
    release = shoal.anonymize(folder, quasi=["age"], k=3, others="keep", memory="500MB", output=out)
    assert release.report.rows == 6


def test_a_damaged_table_is_an_error_of_ours(folder):
    for file in (folder / "_delta_log").iterdir():
        file.write_text("nonsense")
    with pytest.raises(InputError, match="Delta"):
        shoal.run(RECIPE, folder)
