import io

import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import shoal
from shoal.errors import InputError, OutputError
from shoal.table import read_table
from shoal.table.sources import list_parts, would_be_part

PEOPLE = pl.DataFrame({"age": [30, 31, 30, 45, 46, 46], "sex": ["f", "m", "f", "m", "f", "m"]})
GOAL = {"quasi": ["age", "sex"], "k": 2, "algorithm": "mondrian"}
RELEASE = shoal.anonymize(PEOPLE, **GOAL).frame


class Stream:
    """Gives nothing but an Arrow stream, as the relations of many databases do."""

    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self.frame.__arrow_c_stream__(requested_schema)


def relation(frame):
    return pytest.importorskip("duckdb").from_arrow(frame.to_arrow())


@pytest.mark.parametrize(
    "make, kind",
    [
        (Stream, pl.DataFrame),
        (relation, pl.DataFrame),
        (lambda frame: frame.to_arrow().to_reader(), pa.Table),
        (lambda frame: frame.to_arrow().combine_chunks().to_batches()[0], pa.Table),
        (lambda frame: pa.dataset.dataset(frame.to_arrow()), pa.Table),
        (lambda frame: pa.dataset.dataset(frame.to_arrow()).scanner(), pa.Table),
        (lambda frame: io.BytesIO(frame.write_csv().encode()), pl.DataFrame),
        (lambda frame: io.StringIO(frame.write_csv()), pl.DataFrame),
    ],
)
def test_whatever_gives_rows_is_a_table(make, kind):
    release = shoal.anonymize(make(PEOPLE), **GOAL)
    assert isinstance(release.frame, kind)
    assert pl.DataFrame(release).cast(pl.String).equals(RELEASE.cast(pl.String))


def test_an_open_file_is_read_as_what_it_is(tmp_path):
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    PEOPLE.write_ndjson(tmp_path / "people.jsonl")
    for path in tmp_path.iterdir():
        with path.open("rb") as file:
            assert read_table(file).frame.equals(PEOPLE)


def test_an_error_in_an_open_file_names_no_other_file():
    with pytest.raises(InputError, match=r"^the file object: line 3 has 3 fields"):
        read_table(io.StringIO("age;sex\n1;f\n2;m;x\n"))


def test_a_stream_that_fails_is_an_error_in_one_paragraph():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise ValueError("the query was cancelled")

    with pytest.raises(InputError, match="the query was cancelled"):
        read_table(Broken())


@pytest.mark.parametrize("make", [Stream, relation, lambda frame: frame.lazy()])
def test_with_a_memory_limit_a_stream_is_copied_to_disk(make, tmp_path):
    output = tmp_path / "release.parquet"
    shoal.anonymize(make(PEOPLE), **GOAL, memory="1GB", output=output)
    assert pl.read_parquet(output).equals(RELEASE)
    assert [path.name for path in tmp_path.iterdir()] == ["release.parquet"]


class TestSeveralFiles:
    @pytest.fixture
    def folder(self, tmp_path):
        folder = tmp_path / "data"
        for day, part in (("1", PEOPLE[:3]), ("2", PEOPLE[3:])):
            (folder / f"day={day}").mkdir(parents=True)
            part.write_parquet(folder / f"day={day}" / "part.parquet")
        (folder / "_SUCCESS").touch()
        (folder / ".hidden").touch()
        return folder

    def test_folders_name_a_column(self, folder):
        whole = read_table(folder)
        assert whole.frame.drop("day").equals(PEOPLE)
        assert whole.frame["day"].to_list() == ["1"] * 3 + ["2"] * 3

    @pytest.mark.parametrize("pattern", ["", "*/*.parquet", "**/part.parquet"])
    def test_a_pattern_and_a_folder_stand_for_the_same_files(self, folder, pattern):
        assert list_parts(folder / pattern) == [folder / f"day={day}" / "part.parquet" for day in "12"]

    def test_the_release_is_the_same_from_disk(self, folder, tmp_path):
        goal = {"quasi": ["age", "sex", "day"], "k": 2, "algorithm": "mondrian"}
        shoal.anonymize(folder, **goal, memory="1GB", output=tmp_path / "disk.parquet")
        shoal.anonymize(folder, **goal, output=tmp_path / "memory.parquet")
        assert pl.read_parquet(tmp_path / "disk.parquet").equals(pl.read_parquet(tmp_path / "memory.parquet"))

    def test_text_keeps_the_form_of_its_first_file(self, tmp_path):
        (tmp_path / "a.csv").write_text("age;sex\n1;f\n1;f\n")
        (tmp_path / "b.csv").write_text("age,sex\n01,f\n01,f\n")
        release = shoal.anonymize(tmp_path / "*.csv", quasi=["age", "sex"], k=2, types={"age": "string"})
        release.write(tmp_path / "release.txt")
        assert (tmp_path / "release.txt").read_text() == "age;sex\n1;f\n1;f\n01;f\n01;f\n"

    @pytest.mark.parametrize(
        "name, frame, message",
        [
            ("b.parquet", PEOPLE.drop("sex"), "'sex' is in one of them only"),
            ("b.parquet", PEOPLE.select("sex", "age"), "in another order"),
            ("b.parquet", PEOPLE.cast({"age": pl.Float64}), "column 'age' has the type Float64"),
            ("b.csv", PEOPLE, "several formats"),
        ],
    )
    def test_files_that_are_not_alike_are_named(self, tmp_path, name, frame, message):
        PEOPLE.write_parquet(tmp_path / "a.parquet")
        frame.write_csv(tmp_path / name) if name.endswith("csv") else frame.write_parquet(tmp_path / name)
        with pytest.raises(InputError, match=message):
            read_table(tmp_path)

    def test_json_lines_are_not_joined(self, tmp_path):
        for name in "ab":
            PEOPLE.write_ndjson(tmp_path / f"{name}.jsonl")
        with pytest.raises(InputError, match="is jsonl, of which several files"):
            read_table(tmp_path)

    @pytest.mark.parametrize("pattern", ["", "*.csv"])
    def test_no_file_is_an_error(self, tmp_path, pattern):
        with pytest.raises(InputError, match=r"stands for no file|is a folder without files"):
            read_table(tmp_path / pattern)

    def test_a_file_with_brackets_in_its_name_is_a_file(self, tmp_path):
        (tmp_path / "a[1].csv").write_text("age\n1\n")
        assert read_table(tmp_path / "a[1].csv").rows == 1

    @pytest.mark.parametrize("pattern, output", [("", "new.parquet"), ("day=*/*.parquet", "day=3/x.parquet")])
    def test_the_release_is_no_part_of_its_input(self, folder, pattern, output):
        (folder / "day=3").mkdir()
        with pytest.raises(OutputError, match="would be a part of"):
            shoal.anonymize(folder / pattern, **GOAL, others="drop", output=folder / output)
        assert not (folder / output).exists()

    def test_a_part_of_the_input_is_never_overwritten(self, folder):
        part = folder / "day=1" / "part.parquet"
        before = part.read_bytes()
        with pytest.raises(OutputError, match="is an input of this run"):
            shoal.anonymize(folder / "*/*.parquet", **GOAL, others="drop", output=part)
        assert part.read_bytes() == before

    def test_a_single_file_has_no_parts(self, folder):
        assert list_parts(folder / "day=1" / "part.parquet") is None
        assert not would_be_part(folder / "day=1" / "part.parquet", folder / "x.parquet")
