"""Nothing travels along: what stands in no released cell is nowhere in the bytes of a release.

Every writer, with every way in which rows or values are hidden. The bytes are those of the file, with what is
compressed inside of it unpacked.
"""

import gzip
import io
import pickle
import re
import struct
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zstandard

import shoal
from shoal.errors import OutputError

ZSTD = b"\x28\xb5\x2f\xfd"
ROWS = 240


def people(rows: int = ROWS, start: int = 0) -> pl.DataFrame:
    """People of whom every row has long values of its own, in every type that can hide something."""
    at = [start + i for i in range(rows)]
    towns = [f"settlement of the county number {i // 4:04d}" for i in at]
    ranks = [f"rank of the order number {i % 12:04d}" for i in range(12)]
    return pl.DataFrame(
        {
            "patient": [f"patient by the name of {i:05d}" for i in at],
            "age": [20 + (i * 7) % 60 for i in at],
            "town": towns,
            "job": pl.Series([f"occupation described as {i % 40:04d}" for i in at], dtype=pl.Categorical),
            "rank": pl.Series([ranks[i % 12] for i in at], dtype=pl.Enum(ranks)),
            "illness": [f"condition under the code {i % 9:04d}" for i in at],
            "remark": [f"remark that was made about {i:05d}" for i in at],
        }
    )


TOWNS = shoal.Hierarchy.from_rows(
    [(f"settlement of the county number {i:04d}", f"region {i // 30}", "*") for i in range(200)]
)
AGES = shoal.Hierarchy.from_rows([(str(i), f"{i // 20 * 20}+", "*") for i in range(120)])
JOBS = shoal.Hierarchy.from_rows(
    [(f"occupation described as {i:04d}", f"job {i % 2}", "*") for i in range(60)]
)
RANKS = shoal.Hierarchy.from_rows(
    [(f"rank of the order number {i:04d}", f"rank {i % 3}", "*") for i in range(12)]
)

ROLES = {"quasi": ["age", "town", "job", "rank"], "sensitive": ["illness"], "identifier": ["patient"]}
WAYS = {
    "suppressed rows": {**ROLES, "plain": ["remark"], "suppress": 0.4, "k": 4, "algorithm": "mondrian"},
    "representative": {
        **ROLES,
        "others": "drop",
        "k": 6,
        "render": "representative",
        "algorithm": "mondrian",
    },
    "lattice": {
        **ROLES,
        "others": "drop",
        "k": 4,
        "suppress": 0.3,
        "algorithm": "lattice",
        "hierarchies": {"age": AGES, "town": TOWNS, "job": JOBS, "rank": RANKS},
    },
    "lattice as representatives": {
        **ROLES,
        "others": "drop",
        "k": 4,
        "suppress": 0.3,
        "render": "representative",
        "algorithm": "lattice",
        "hierarchies": {"age": AGES, "town": TOWNS, "job": JOBS, "rank": RANKS},
    },
    "safepub": {  # ranks stay as they are; a rank of which few people are drawn is hidden
        "quasi": ["age", "town", "job", "rank"],
        "identifier": ["patient"],
        "others": "drop",
        "types": {"age": "integer", "town": "string", "job": "string", "rank": "string"},
        "hierarchies": {"age": AGES, "town": TOWNS, "job": JOBS},
        "models": ["safepub(epsilon=1,delta=0.1)"],
        "algorithm": shoal.SafePubScheme("age=2,town=2,job=2,rank=0"),
    },
}


def release_of(kind: str, way: str):
    """A release of people who came as ``kind`` of frame, in a way that hides some of them."""
    source = people()
    if way == "apply":
        first = shoal.anonymize(source, **ROLES, others="drop", k=6, algorithm="mondrian")
        later = people(60, start=120).with_columns(town=pl.lit("settlement unheard of before, number 777"))
        later = pl.concat([people(80), later.head(20)])
        return first.saved_recoding().apply(
            native(later, kind), earlier=first.frame, suppress=0.9, others="drop"
        )
    return shoal.anonymize(native(source, kind), **WAYS[way])


def native(frame: pl.DataFrame, kind: str):
    if kind == "pandas":
        made = frame.to_pandas()
        made.attrs["collected by"] = "somebody whose name is secret"
        return made
    if kind == "pyarrow":
        return frame.to_arrow().replace_schema_metadata({"collected by": "somebody whose name is secret"})
    return frame


def cells_of(frame) -> str:
    """Everything that stands in a released cell."""
    plain = pl.DataFrame(frame) if not isinstance(frame, pl.DataFrame) else frame
    return "\n".join("\n".join(map(str, plain[name].cast(pl.String).to_list())) for name in plain.columns)


def unpacked(content: bytes) -> bytes:
    """Bytes, followed by whatever is compressed in them."""
    parts = [content]
    if content.startswith(b"\x1f\x8b"):
        parts.append(gzip.decompress(content))
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            parts += [book.read(name) for name in book.namelist()]
    for found in re.finditer(re.escape(ZSTD), content):
        try:
            parts.append(zstandard.ZstdDecompressor().decompressobj().decompress(content[found.start() :]))
        except zstandard.ZstdError:
            continue
    return b"\n".join(parts)


def hidden_in(content: bytes, cells: str) -> list[str]:
    """Original values of more than 3 characters that stand in no released cell, but in the bytes."""
    source = pl.concat([people(), people(60, start=240)])
    values = {str(value) for name in source.columns for value in source[name].cast(pl.String).to_list()}
    values |= {"somebody whose name is secret", "settlement unheard of before, number 777"}
    absent = sorted(value for value in values if len(value) > 3 and value not in cells)
    assert absent and cells, "there is nothing to look for, or nothing was released"
    whole = unpacked(content)
    return [value for value in absent if value.encode() in whole or value.encode("utf-16-le") in whole]


SUFFIXES = [
    "csv",
    "tsv",
    "csv.gz",
    "csv.zst",
    "parquet",
    "arrow",
    "feather",
    "ipc",
    "arrows",
    "jsonl",
    "xlsx",
]
KINDS = ["polars", "pandas", "pyarrow"]


@pytest.fixture(scope="module")
def made():
    """Releases, each made once."""
    known = {}

    def get(kind: str, way: str):
        if (kind, way) not in known:
            known[kind, way] = release_of(kind, way)
        return known[kind, way]

    return get


@pytest.mark.slow
@pytest.mark.parametrize("way", [*WAYS, "apply"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files(made, tmp_path, way, suffix):
    for kind in KINDS:
        release = made(kind, way)
        path = tmp_path / f"{kind}.{suffix}"
        release.write(path)
        assert hidden_in(path.read_bytes(), cells_of(release.frame)) == []


@pytest.mark.parametrize("way", [*WAYS, "apply"])
@pytest.mark.parametrize("kind", KINDS)
def test_pickled_frames(made, way, kind):
    frame = made(kind, way).frame
    assert hidden_in(pickle.dumps(frame), cells_of(frame)) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_pickled_releases_and_reports(made, way, kind):
    release = made(kind, way)
    cells = cells_of(release.frame)
    recipe = release.recipe.to_toml()  # hierarchies that a user gave are part of the recipe
    assert hidden_in(pickle.dumps(release.report), cells + recipe) == []
    assert hidden_in(pickle.dumps(release), cells + recipe) == []
    again = pickle.loads(pickle.dumps(release))
    assert again.report.ncp == release.report.ncp
    assert again.report.findings == release.report.findings


@pytest.mark.parametrize("kind", KINDS)
def test_pickled_risks_and_applied_rows(made, tmp_path, kind):
    cloudpickle = pytest.importorskip("cloudpickle")  # which joblib brings
    later = made(kind, "apply")
    risk = shoal.risk(native(people(), kind), quasi=ROLES["quasi"])
    dumps = {"risk": (risk, ""), "later rows": (later, cells_of(later.frame))}
    for found, cells in dumps.values():
        for dump in (pickle.dumps, cloudpickle.dumps):  # which takes what pickle refuses, and all around it
            assert hidden_in(dump(found), cells + "nothing else") == []
        again = pickle.loads(pickle.dumps(found))
        assert again.to_dict().keys() == found.to_dict().keys()
        with pytest.raises(OutputError, match="pickled"):
            again.write(tmp_path / "out.csv")
        assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_user_writes_of_the_frame(made, tmp_path, kind):
    frame = made(kind, "suppressed rows").frame
    polars = (
        frame if kind == "polars" else pl.from_pandas(frame) if kind == "pandas" else pl.from_arrow(frame)
    )
    for name, write in {"a.arrow": polars.write_ipc, "a.parquet": polars.write_parquet}.items():
        write(tmp_path / name)
        assert hidden_in((tmp_path / name).read_bytes(), cells_of(frame)) == []


def test_a_release_that_was_pickled_can_be_written(made, tmp_path):
    release = made("polars", "suppressed rows")
    release.write(tmp_path / "one.csv")
    pickle.loads(pickle.dumps(release)).write(tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_metadata_goes_along_only_if_it_is_asked_for():
    frame = native(people(), "pandas")
    settings = WAYS["suppressed rows"]
    assert shoal.anonymize(frame, **settings).frame.attrs == {}
    asked = shoal.anonymize(frame, **settings, keep_metadata=True)
    assert asked.frame.attrs == frame.attrs
    assert any("kept because that was asked for: the attributes" in note for note in asked.report.notes)
    table = native(people(), "pyarrow")
    assert shoal.anonymize(table, **settings).frame.schema.metadata is None
    kept = shoal.anonymize(table, **settings, keep_metadata=True)
    assert kept.frame.schema.metadata == table.schema.metadata


def test_the_footer_of_a_parquet_file_goes_along_only_if_it_is_asked_for(tmp_path):
    people().write_parquet(
        tmp_path / "in.parquet", metadata={"collected by": "somebody whose name is secret"}
    )
    settings = WAYS["suppressed rows"]
    release = shoal.anonymize(tmp_path / "in.parquet", **settings, output=tmp_path / "out.parquet")
    assert "collected by" not in pl.read_parquet_metadata(tmp_path / "out.parquet")
    assert "left out: the metadata of the file" in release.report.notes
    shoal.anonymize(tmp_path / "in.parquet", **settings, output=tmp_path / "out.parquet", keep_metadata=True)
    assert "collected by" in pl.read_parquet_metadata(tmp_path / "out.parquet")


def test_indexes_of_pandas(made):
    frame = native(people(), "pandas").set_index(["patient", "remark"])
    settings = {**WAYS["suppressed rows"], "identifier": ["patient", "remark"], "plain": []}
    released = shoal.anonymize(frame, **settings).frame
    assert isinstance(released.index, pd.RangeIndex)
    assert hidden_in(pickle.dumps(released), cells_of(released)) == []
    settings = {**settings, "identifier": ["patient"], "plain": ["remark"]}
    kept = shoal.anonymize(frame, **settings, keep_index=True).frame
    assert kept.index.names == ["remark"]
    assert hidden_in(pickle.dumps(kept), cells_of(kept.reset_index())) == []


def test_slices_and_views_of_arrow():
    whole = pa.table(
        {
            "age": pa.array(range(200)),
            "note": pa.array([f"note about somebody {i:04d}" for i in range(200)], pa.string_view()),
        }
    )
    part = whole.slice(10, 40)
    released = shoal.anonymize(part, quasi=["age"], plain=["note"], k=4, algorithm="mondrian").frame
    content = pickle.dumps(released)
    shown = set(released.column("note").to_pylist())
    assert [f"note about somebody {i:04d}" in shown for i in (9, 10, 49, 50)] == [False, True, True, False]
    assert not any(f"note about somebody {i:04d}".encode() in content for i in (0, 9, 50, 199))


def test_values_below_a_null_do_not_travel_along(tmp_path):
    secrets = [f"secret about the person {i:04d}" for i in range(40)]
    numbers = [7_000_000_000_000 + i for i in range(40)]
    hide = np.arange(40) % 2 == 0
    frame = pl.DataFrame({"age": [30, 31] * 20, "note": secrets, "number": numbers})
    frame = frame.with_columns(
        pl.when(pl.Series(hide)).then(None).otherwise(pl.col(name)).alias(name) for name in ("note", "number")
    )
    below = pd.DataFrame(
        {
            "age": [30, 31] * 20,
            "note": pd.Series(secrets).where(~hide),
            "number": pd.arrays.IntegerArray(np.array(numbers), hide),
            "share": pd.arrays.FloatingArray(np.array(numbers, float), hide),
        }
    )
    looked_for = [secrets[i].encode() for i in range(0, 40, 2)]
    looked_for += [struct.pack(kind, numbers[i]) for i in range(0, 40, 2) for kind in "qd"]
    assert [what for what in looked_for if what in pickle.dumps((frame, below))] == looked_for
    frame.write_ipc(tmp_path / "in.arrow")
    for source in (frame, frame.to_arrow(), below, tmp_path / "in.arrow"):
        release = shoal.anonymize(source, quasi=["age"], others="keep", k=4, algorithm="mondrian")
        later = release.saved_recoding().apply(source)
        for made in (release, later):
            made.write(tmp_path / "out.arrow")
            content = pickle.dumps(made.frame) + unpacked((tmp_path / "out.arrow").read_bytes())
            assert [what for what in looked_for if what in content] == []
            assert int(pl.DataFrame(made.frame)["note"].is_null().sum()) == 20
