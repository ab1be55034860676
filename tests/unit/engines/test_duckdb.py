"""Out of core the release is the one of the in-memory engine: the same cells, warnings and figures."""

import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.auto import Auto
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.lattice import Lattice
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.peel import Peel
from shoal.codespace.frequency import CodedRows
from shoal.engines import disk_counting, duckdb
from shoal.engines.memory import run_in_memory
from shoal.engines.packing import CodePacking
from shoal.errors import GoalNotMet, InputError, InternalError, OutputError, RecipeError
from shoal.privacy import DistinctL, EntropyL, KAnonymity, TCloseness
from shoal.recipes.recipe import Recipe
from shoal.table import ReadOptions, streams
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})
RECIPE = Recipe(
    others="keep",
    quasi=("age", "job", "colour", "^since$", "score"),
    models=(KAnonymity(4),),
    sensitive=("illness", "cost"),
    identifier=("name",),
    plain=("row", "note"),
    trees={"job": JOBS},
    reading=ReadOptions(na=("?",)),
    algorithm=Mondrian(cut="nearest"),
    memory="100MB",
    threads=1,
)
GOALS = {
    "k": (KAnonymity(4),),
    "k and l": (KAnonymity(4), DistinctL(2, "illness")),
    "k and t": (KAnonymity(4), TCloseness(0.4, column="illness"), TCloseness(0.4, "ordered", "cost")),
    "entropy": (EntropyL(1.5, "illness"),),
}


def people(rows=3000, seed=0):
    """Rows with every kind of column and of missing value, and cells that need quotes."""
    rng = np.random.default_rng(seed)
    gone = pl.Series(rng.random(rows) < 0.1)
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 3, 31), eager=True)
    return pl.DataFrame(
        {
            "row": np.arange(rows),
            "name": [f"person {i}" for i in range(rows)],
            "age": pl.Series(rng.integers(18, 90, rows)).set(gone, None),
            "job": rng.choice([*JOBS.leaves, "hermit"], rows),
            "note": rng.choice(["007", 'say "no"', "a,b", " padded ", "", "-5", "=1+1", "line\nbreak"], rows),
            "colour": pl.Series(rng.choice(["red", "blue", "grey", "?", "=2"], rows)),
            "^since$": days[rng.integers(0, len(days), rows)],
            "score": pl.Series(rng.choice([0.5, -0.0, 0.0, 1.25, np.nan], rows)).set(gone, None),
            "illness": pl.Series(rng.choice(["flu", "cold", "", "?"], rows)).set(gone, None),
            "cost": rng.choice([1, 5, 10, 50], rows),
        }
    )


@pytest.fixture
def small_batches(monkeypatch):
    """Batches so small that even a small table has several."""
    monkeypatch.setattr(streams, "_BATCH", 1000)


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "people.csv"
    people().with_columns(pl.col("age").cast(pl.String).fill_null("?")).write_csv(path)
    return path


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "people.parquet"
    people().write_parquet(path, row_group_size=700)
    return path


def both(recipe, source, suffix):
    """Releases of the same file by both engines, and the bytes of the files."""
    folder = source.parent
    paths = [folder / f"{engine}{suffix}" for engine in ("memory", "disk")]
    one = run_in_memory(replace(recipe, output=str(paths[0])), source)
    two = duckdb.run_on_disk(replace(recipe, output=str(paths[1])), source)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [source.name, *(path.name for path in paths)]
    )
    return one, two, paths


def assert_equal(one, two, paths):
    if paths[0].suffix == ".parquet":
        expected, found = (pl.read_parquet(path) for path in paths)
        assert found.schema == expected.schema
        assert found.equals(expected)
    else:
        assert paths[1].read_bytes() == paths[0].read_bytes()
    expected, found = one.report.to_dict(), two.report.to_dict()
    note = found["notes"].pop()
    assert note.startswith("rows stayed on disk, within 100MB of memory: the search had ")
    own = ("seconds", "output")
    assert {k: v for k, v in found.items() if k not in own} == {
        k: v for k, v in expected.items() if k not in own
    }


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_the_release_is_that_of_the_table_in_memory(source, suffix, request):
    assert_equal(*both(RECIPE, request.getfixturevalue(source), suffix))


@pytest.mark.slow
@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("cut", ["nearest", "greedy", "classic"])
@pytest.mark.parametrize("goal", GOALS)
def test_every_cut_and_goal(goal, cut, parquet):
    recipe = replace(RECIPE, models=GOALS[goal], algorithm=Mondrian(cut=cut))
    assert_equal(*both(recipe, parquet, ".parquet"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"render": "set"},
        {"render": "representative"},
        {"render": "interval", "loss": "entropy", "weights": {"age": 3.0}},
        {"safe_csv": True},
        {"delimiter": ";", "category_order": "appearance"},
        {"types": {"age": "string"}, "orders": {"colour": ("red", "blue", "grey", "=2")}},
        {"identifier": ("name", "row", "note"), "plain": (), "sensitive": ()},
    ],
    ids=["set", "representative", "interval", "safe", "delimiter", "types", "quasi only"],
)
def test_settings_mean_the_same(settings, csv):
    assert_equal(*both(replace(RECIPE, **settings), csv, ".csv"))


def test_text_as_it_was_written(tmp_path):
    source = tmp_path / "people.txt"
    frame = people(400).select("age", "job", "note", "illness").with_columns(pl.col("age").fill_null(-1))
    text = frame.write_csv(separator="\t", include_header=False, line_terminator="\r\n")
    source.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")
    recipe = replace(
        RECIPE,
        quasi=("column_1", "column_2"),
        sensitive=("column_4",),
        identifier=(),
        plain=("column_3",),
        trees={"column_2": JOBS},
        reading=ReadOptions(header=False),
    )
    assert_equal(*both(recipe, source, ".csv"))


def test_more_columns_than_one_word_holds(tmp_path):
    rng = np.random.default_rng(1)
    names = [f"q{i}" for i in range(9)]
    frame = pl.DataFrame({name: rng.integers(0, 600, 2000) for name in names})
    frame.write_parquet(tmp_path / "wide.parquet")
    recipe = replace(
        RECIPE, quasi=tuple(names), sensitive=(), identifier=(), plain=(), trees={}, reading=ReadOptions()
    )
    assert CodePacking.from_sizes([600] * 9).words == 2
    assert_equal(*both(recipe, tmp_path / "wide.parquet", ".parquet"))


def test_packed_codes_keep_their_order_and_come_back():
    rng = np.random.default_rng(2)
    sizes = (1 << 31, 1 << 31, 7, 1 << 40, 3)
    codes = np.unique(np.stack([rng.integers(0, size, 500) for size in sizes], axis=1), axis=0)
    packing = CodePacking.from_sizes(sizes)
    words = packing.pack_codes(list(codes.T))
    assert packing.words == len(words) == 2
    assert (np.stack(packing.unpack_codes(words), axis=1) == codes).all()
    shuffled = rng.permutation(len(codes))
    assert (packing.make_finder(codes)([word[shuffled] for word in words]) == shuffled).all()


@pytest.mark.parametrize("algorithm", [Auto(), Hilbert(), Peel()], ids=["auto", "hilbert", "peel"])
def test_other_algorithms_take_counted_rows(algorithm, parquet, tmp_path):
    recipe = replace(
        RECIPE, algorithm=algorithm, models=GOALS["k and l"], output=str(tmp_path / "release.parquet")
    )
    report = duckdb.run_on_disk(recipe, parquet).report
    assert report.smallest_class >= 4
    assert report.released_rows == 3000
    found = shoal.verify(recipe.output, quasi=recipe.quasi, sensitive=recipe.sensitive, models=recipe.models)
    assert found.holds
    assert (found.classes, found.smallest_class) == (report.classes, report.smallest_class)


def test_a_lattice_is_searched_on_counted_rows_as_on_rows(parquet):
    goal = (KAnonymity(8), DistinctL(2, "illness"))
    recipe = replace(RECIPE, models=goal, algorithm=Lattice(), suppress=0.05)
    one, two, paths = both(recipe, parquet, ".parquet")
    assert one.report.suppressed_rows > 0
    assert_equal(one, two, paths)


def test_anonymize_gives_a_lazy_frame_and_a_recoding(parquet, tmp_path):
    release = shoal.anonymize(
        parquet,
        others="keep",
        quasi=["age", "colour"],
        identifier=["name"],
        k=5,
        algorithm="mondrian",
        memory="100MB",
        output=tmp_path / "release.parquet",
    )
    assert isinstance(release.frame, pl.LazyFrame)
    assert release.frame.collect().equals(pl.read_parquet(tmp_path / "release.parquet"))
    release.saved_recoding().save(tmp_path / "classes.json")


def test_the_report_has_no_page(parquet, tmp_path):
    report = duckdb.run_on_disk(replace(RECIPE, output=str(tmp_path / "r.parquet")), parquet).report
    with pytest.raises(InputError, match="without its table"):
        report.to_html(tmp_path / "page.html")


def test_a_goal_out_of_reach_leaves_nothing(parquet, tmp_path):
    before = sorted(tmp_path.iterdir())
    with pytest.raises(GoalNotMet, match="cannot be met"):
        duckdb.run_on_disk(
            replace(RECIPE, models=(KAnonymity(4000),), output=str(tmp_path / "r.parquet")), parquet
        )
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_was_written_is_counted_and_not_what_was_meant(suffix, parquet, tmp_path, monkeypatch):
    def spoiled(batches, path, form):
        frames = list(batches)
        frames[0] = frames[0].with_columns(job=frames[0]["job"].clone().scatter(0, "king"))
        streams.write_batches(frames, path, form)

    expected = duckdb.run_on_disk(replace(RECIPE, output=str(tmp_path / f"r{suffix}")), parquet)
    assert expected.report.smallest_class >= 4
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(duckdb, "write_batches", spoiled)
    with pytest.raises(GoalNotMet, match=r"k asked \{'k': 4\}, reached 1"):
        duckdb.run_on_disk(replace(RECIPE, output=str(tmp_path / f"r{suffix}")), parquet)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_rows_that_were_not_written_are_missed(parquet, tmp_path, monkeypatch):
    short = lambda batches, path, form: streams.write_batches([f.head(2990) for f in batches], path, form)  # noqa: E731
    monkeypatch.setattr(duckdb, "write_batches", short)
    with pytest.raises(InternalError, match="2990 rows were written"):
        duckdb.run_on_disk(replace(RECIPE, output=str(tmp_path / "r.parquet")), parquet)


def test_a_sensitive_value_is_counted_in_the_written_file(parquet, tmp_path, monkeypatch):
    def one_illness(batches, path, form):
        streams.write_batches((f.with_columns(illness=pl.lit("flu")) for f in batches), path, form)

    monkeypatch.setattr(duckdb, "write_batches", one_illness)
    recipe = replace(RECIPE, models=GOALS["k and l"], output=str(tmp_path / "r.parquet"))
    with pytest.raises(GoalNotMet, match=r"distinct-l asked .*reached 1"):
        duckdb.run_on_disk(recipe, parquet)


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"output": None}, RecipeError, "name an output"),
        (
            {"algorithm": Cluster()},
            RecipeError,
            r"cluster looks at every row .* auto, hilbert, lattice, mondrian \(strict\)",
        ),
        ({"algorithm": Mondrian("relaxed")}, RecipeError, r"mondrian\(mode=relaxed\) looks at every row"),
        ({"missing": "drop"}, RecipeError, "missing is 'category', not 'drop'"),
        ({"output": "r.xlsx"}, OutputError, "with a memory limit the release is .parquet, .csv or .tsv"),
        ({"output": "r.csv.gz"}, OutputError, "cannot be written in parts"),
        ({"output": "people.parquet"}, OutputError, "is an input of this run"),
        ({"output": "no/r.csv"}, OutputError, "there is no folder"),
        ({"quasi": ("agee",), "trees": {}}, RecipeError, "unknown column 'agee'"),
        ({"memory": "10KB"}, InputError, "memory"),
    ],
)
def test_what_cannot_be_done_is_refused(changes, error, says, parquet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error, match=says):
        duckdb.run_on_disk(replace(RECIPE, **{"output": "r.csv", **changes}), "people.parquet")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("text", ["2", "two GB", "GB", "-1GB", "0GB", "2GiB", ""])
def test_memory_is_a_size(text):
    with pytest.raises(RecipeError, match=f"memory is a number with KB, MB, GB or TB, as 2GB, not '{text}'"):
        replace(RECIPE, memory=text)


def test_a_frame_is_in_memory_already(tmp_path):
    with pytest.raises(RecipeError, match="the table is a file"):
        shoal.anonymize(people(), others="keep", quasi=["age"], k=3, memory="1GB", output=tmp_path / "r.csv")


@pytest.mark.parametrize("package", ["duckdb", "pyarrow.parquet"])
def test_without_the_packages_it_says_what_to_install(package, parquet, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"needs {package}.*pip install shoal\[scale\]"):
        duckdb.run_on_disk(replace(RECIPE, output=str(tmp_path / "r.csv")), parquet)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "größe\n1\n".encode("latin-1"), "not utf-8 text"),
        ("a.jsonl", b'{"a": 1}\n', "the input is Parquet or delimited text"),
        ("a.parquet", b"PAR1 and no more", "is damaged"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"a,b\n1,2\n3\n", "line 3 has 1 field"),
    ],
)
def test_files_that_cannot_be_read_in_parts(name, content, says, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=says):
        duckdb.run_on_disk(replace(RECIPE, output=str(tmp_path / "r.csv")), tmp_path / name)


@pytest.mark.parametrize(
    ("used", "limit"), [(None, 500e6), (100e6, 500e6), (600e6, 200e6), (790e6, 128e6), (5e9, 128e6)]
)
def test_the_database_has_what_the_search_leaves(used, limit, tmp_path, monkeypatch):
    monkeypatch.setattr(disk_counting, "measure_resident_memory", lambda: used)
    workspace = disk_counting.DiskWorkspace(replace(RECIPE, memory="1GB"), tmp_path, None)
    assert workspace.limit_database() == limit


def test_too_many_different_rows_for_the_memory(parquet, tmp_path, monkeypatch):
    recipe = replace(RECIPE, output=str(tmp_path / "r.csv"))
    duckdb.run_on_disk(recipe, parquet)
    expected = (tmp_path / "r.csv").read_bytes()
    monkeypatch.setattr(disk_counting, "_AT_REST", (10**6, 0))
    # What can be searched level by level is not refused, and the release is the same.
    release = duckdb.run_on_disk(recipe, parquet)
    assert any("searched level by level" in note for note in release.report.notes)
    assert (tmp_path / "r.csv").read_bytes() == expected
    with pytest.raises(
        InputError, match=r"distinct rows, .* needs about .* 100MB leaves, and hilbert has to see them all"
    ):
        duckdb.run_on_disk(replace(recipe, algorithm=Hilbert()), parquet)
    with pytest.raises(RecipeError, match="a bound takes all distinct rows"):
        duckdb.run_on_disk(replace(recipe, bound="seconds=1"), parquet)


@pytest.mark.parametrize("sensitive", [(), ("illness",), ("illness", "cost")], ids=["none", "one", "two"])
@pytest.mark.parametrize("fetched", [1 << 17, 7], ids=["one batch", "many batches"])
def test_counted_rows_are_the_table_that_the_rows_collapse_to(
    sensitive, fetched, parquet, tmp_path, monkeypatch
):
    seen = []
    collapse = disk_counting._fetch_sorted_rows
    monkeypatch.setattr(disk_counting, "_FETCHED", fetched)
    monkeypatch.setattr(
        disk_counting, "_fetch_sorted_rows", lambda *given: seen.append(collapse(*given)) or seen[-1]
    )
    plain = tuple({"illness", "cost"} - set(sensitive))
    recipe = replace(
        RECIPE, quasi=("age", "colour", "^since$"), sensitive=sensitive, plain=plain, trees={}, others="drop"
    )
    recipe = replace(recipe, identifier=(), output=str(tmp_path / "r.csv"))
    duckdb.run_on_disk(recipe, parquet)
    (rows,) = seen
    found, codes = rows.collapse_rows(), rows.table.codes[rows.table.of_row]
    expected = CodedRows(
        tuple(codes.T), rows.sizes, rows.sensitive, rows.sensitive_sizes, rows.count
    ).collapse_rows()
    assert rows.rows == pl.read_parquet(parquet).height
    assert found.codes.shape[0] < rows.rows
    for one, other in ((found, expected), (found.histograms, expected.histograms)):
        for name in ("codes", "weight", "of_row", "first", "start", "value", "count"):
            if hasattr(one, name):
                assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("kind", [OSError, "IOException", "OutOfMemoryException"])
def test_a_database_that_ran_out_of_memory_is_not_a_full_disk(kind, tmp_path):
    module = pytest.importorskip("duckdb")
    error = kind if isinstance(kind, type) else getattr(module, kind)
    with (
        pytest.raises(InputError, match="the memory limit is too small"),
        duckdb._explain_errors(module, tmp_path / "r.csv"),
    ):
        raise error("out of Memory Error: failed to pin block of size 256.0 KiB")
    with (
        pytest.raises(OutputError, match="No space left"),
        duckdb._explain_errors(module, tmp_path / "r.csv"),
    ):
        raise OSError(28, "No space left on device")
