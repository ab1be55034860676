"""Nothing travels along with a release that was made with the rows on disk, or by Spark.

How rows are hidden and how bytes are searched is said in `test_bytes`.
"""

import shutil

import polars as pl
import pytest
from tests.release.test_bytes import WAYS, cells_of, hidden_in, people

import shoal


def parts_of(path) -> bytes:
    """All bytes of a file, or of a folder of files."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    return b"\n".join(each.read_bytes() for each in files)


@pytest.mark.slow
@pytest.mark.parametrize("row_order", ["keep", "released"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("way", [way for way in WAYS if way != "safepub"])  # which takes the table in memory
def test_rows_on_disk(way, suffix, row_order, tmp_path):
    source = tmp_path / "in.parquet"
    people().write_parquet(source, metadata={"collected by": "somebody whose name is secret"})
    output = tmp_path / f"out.{suffix}"
    release = shoal.anonymize(source, **WAYS[way], memory="200MB", output=output, row_order=row_order)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["in.parquet", output.name])
    assert hidden_in(output.read_bytes(), cells_of(release.frame.collect())) == []


def test_categories_that_only_suppressed_rows_had(tmp_path):
    names = [f"category of somebody {i:03d}" for i in range(120)]
    frame = pl.DataFrame(
        {
            "age": [30] * 100 + list(range(40, 60)),
            "kind": pl.Series(names, dtype=pl.Enum(names)),
            "sort": pl.Series(names, dtype=pl.Categorical),
        }
    )
    frame.write_parquet(tmp_path / "in.parquet")
    settings = {"quasi": ["age"], "plain": ["kind", "sort"], "k": 5, "suppress": 0.5, "algorithm": "lattice"}
    ages = shoal.Hierarchy.from_rows([(str(i), "*") for i in range(30, 60)])
    for engine, more in {"memory": {}, "disk": {"memory": "200MB"}}.items():
        output = tmp_path / f"{engine}.parquet"
        shoal.anonymize(tmp_path / "in.parquet", **settings, **more, hierarchies={"age": ages}, output=output)
        released = pl.read_parquet(output)
        assert released.height == 100, engine
        content = output.read_bytes()
        assert not [name for name in names[100:] if name.encode() in content], engine
        assert released.schema["kind"].categories.to_list() == names[:100], engine


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(shutil.which("java") is None, reason="NO JAVA: Spark needs one")
def test_spark(tmp_path):
    pytest.importorskip("pyspark")
    source = tmp_path / "in.parquet"
    people().write_parquet(source, metadata={"collected by": "somebody whose name is secret"})
    output = tmp_path / "out.parquet"
    shoal.anonymize(source, **WAYS["lattice"], engine="spark", master="local[1]", output=output)
    released = pl.read_parquet(output / "*.parquet")
    assert hidden_in(parts_of(output), cells_of(released)) == []
