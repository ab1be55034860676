"""Findings on a release whose rows stay on disk: those of the table in memory, whatever the batches are."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.lattice import Lattice
from shoal.algorithms.mondrian import Mondrian
from shoal.engines import duckdb, witness
from shoal.engines.memory import run_in_memory
from shoal.engines.steps import ColumnSteps, StepCounter, tell_apart
from shoal.engines.witness import WordCounter
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import DistinctL, KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import ReadOptions, streams
from shoal.table.hierarchies import Hierarchy
from shoal.table.samples import write_sample
from shoal.verification.findings import CellCounter
from shoal.verification.findings.order import Steps

RECIPE = Recipe(
    quasi=("age", "sex"),
    sensitive=("illness",),
    identifier=("id",),
    plain=("born", "ward", "note"),
    models=(KAnonymity(150),),
    algorithm=Mondrian(),
    memory="100MB",
    threads=1,
)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(streams, "_BATCH", 300)


def people(rows=2000, seed=4):
    """People with a year of birth beside the age, and spellings of one illness."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, rows)
    return pl.DataFrame(
        {
            "id": rng.permutation(rows),
            "age": age,
            "sex": rng.choice(["f", "m"], rows),
            "illness": rng.choice(["flu", "Flu ", "cold", "gout"], rows),
            "born": 2020 - age - rng.integers(0, 2, rows),
            "ward": pl.Series(rng.choice(["a", "b", "c"], rows)),
            "note": pl.Series(rng.choice(["", "x", "-0.0"], rows)).set(
                pl.Series(rng.random(rows) < 0.2), None
            ),
        }
    )


def both(recipe, frame, folder, suffix=".parquet"):
    """The reports of both engines on the same file; the releases are the same."""
    source = folder / f"people{suffix}"
    frame.write_parquet(source) if suffix == ".parquet" else frame.write_csv(source)
    return compare(recipe, source, folder, suffix)


def compare(recipe, source, folder, suffix):
    one = run_in_memory(replace(recipe, output=str(folder / f"memory{suffix}")), source)
    two = duckdb.run_on_disk(replace(recipe, output=str(folder / f"disk{suffix}")), source)
    if suffix == ".parquet":
        assert pl.read_parquet(folder / "disk.parquet").equals(pl.read_parquet(folder / "memory.parquet"))
    else:
        assert (folder / f"disk{suffix}").read_bytes() == (folder / f"memory{suffix}").read_bytes()
    return one.report, two.report


def assert_same_findings(one, two):
    assert [each.id for each in two.findings] == [each.id for each in one.findings]
    assert two.findings == one.findings


ORDERS = {
    "none": lambda frame: frame,
    "by age": lambda frame: frame.sort("age"),
    "by an identifier": lambda frame: frame.sort("id", descending=True),
    "by an identifier in text": lambda frame: frame.with_columns(id=pl.format("P{}", "id")).sort("id"),
    "people side by side": lambda frame: frame.with_columns(id=(pl.int_range(pl.len()) // 4 * 7919) % 500),
    "people repeat": lambda frame: frame.sort("age").with_columns(id=pl.int_range(pl.len()) // 20),
}
EXPECTED = {
    "none": set(),
    "by age": {"row-order:age"},
    "by an identifier": {"row-order:id"},
    "by an identifier in text": {"row-order:id"},
    "people side by side": {"row-order:id"},
    "people repeat": {"row-order:age", "row-order:id", "repeated:id"},
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("order", ORDERS)
def test_findings_are_those_of_the_table_in_memory(order, suffix, tmp_path):
    one, two = both(RECIPE, ORDERS[order](people()), tmp_path, suffix)
    assert_same_findings(one, two)
    found = {each.id for each in two.findings}
    always = {"unique-rows", "determines:born:age", "spelling:illness"}
    assert found == always | EXPECTED[order]


def test_with_suppressed_rows_and_columns_that_are_dropped(tmp_path):
    frame = people().sort("ward")
    recipe = replace(
        RECIPE,
        plain=("born",),
        others="drop",
        suppress=0.2,
        algorithm=Lattice(),
        trees={"age": Hierarchy.from_rows([(str(i), f"{i // 20 * 20}+", "*") for i in range(100)])},
        models=(KAnonymity(40), DistinctL(2, "illness")),
    )
    one, two = both(recipe, frame, tmp_path)
    assert_same_findings(one, two)
    assert "row-order:ward" in {each.id for each in two.findings}


@pytest.mark.slow
def test_the_hospital(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_BATCH", 4000)
    source = tmp_path / "hospital.parquet"
    write_sample("hospital", source, 10_000)
    recipe = replace(
        RECIPE,
        quasi=("age", "sex", "postcode"),
        sensitive=("diagnosis",),
        identifier=("patient_id", "name"),
        plain=("education", "occupation", "marital_status", "admission_date", "cost"),
    )
    assert_same_findings(*compare(recipe, source, tmp_path, ".parquet"))


@pytest.mark.slow
def test_strict_refuses_and_accepting_is_recorded(tmp_path):
    people().write_parquet(tmp_path / "people.parquet")
    recipe = replace(RECIPE, output=str(tmp_path / "r.csv"), strict=True)
    with pytest.raises(GoalNotMet, match=r"unique-rows: .* determines:born:age"):
        duckdb.run_on_disk(recipe, tmp_path / "people.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]
    reasons = {"unique-rows": "agreed", "determines:born:age": "known anyway"}
    report = duckdb.run_on_disk(replace(recipe, accept=reasons), tmp_path / "people.parquet").report
    assert {each.id: each.accepted for each in report.findings if each.severity == "high"} == reasons
    with pytest.raises(RecipeError, match="unknown finding 'unique-row'"):
        duckdb.run_on_disk(replace(recipe, accept={"unique-row": "x"}), tmp_path / "people.parquet")


@pytest.mark.parametrize("fold", [None, (), ("illness",)])
def test_folding_counts_as_in_memory(fold, tmp_path):
    recipe = replace(RECIPE, fold=fold, models=(KAnonymity(5), DistinctL(3, "illness")))
    one, two = both(recipe, people(), tmp_path, ".csv")
    assert_same_findings(one, two)
    assert two.models == one.models


def fine(rows=600):
    """Every type whose values are easily lost on their way through a database."""
    rng = np.random.default_rng(1)
    number = pl.Series(rng.integers(0, 40, rows))
    return pl.DataFrame(
        {
            "id": np.arange(rows),
            "age": rng.integers(20, 80, rows),
            "time": (number + 8 * 3600 * 10**9).cast(pl.Time),
            "stamp": number.cast(pl.Datetime("ns", "Europe/Berlin")),
            "span": number.cast(pl.Duration("ns")),
            "day": number.cast(pl.Int32).cast(pl.Date),
            "sum": (number + 2**62).cast(pl.UInt64) * 2 + 1,
            "price": pl.Series([f"{each}.00000000000000000001" for each in number]).cast(pl.Decimal(38, 20)),
            "zero": pl.Series(rng.choice([0.0, -0.0, 0.1 + 0.2, 0.3, np.nan], rows)),
            "short": pl.Series(rng.choice([0.1, 0.2], rows), dtype=pl.Float32),
            "is": pl.Series(rng.random(rows) < 0.5).set(number == 3, None),
            "rank": pl.Series(rng.choice(["hi", "lo"], rows), dtype=pl.Enum(["hi", "mid", "lo"])),
            "kind": pl.Series(rng.choice(["p", "q"], rows), dtype=pl.Categorical),
            "Kind": number,
            "none": pl.Series([None] * rows),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("row_order", ["keep", "released"])
def test_types_and_orders(row_order, suffix, tmp_path):
    fine().write_parquet(tmp_path / "fine.parquet")
    recipe = replace(
        RECIPE, quasi=("age", "time", "zero"), sensitive=(), plain=(), others="keep", row_order=row_order
    )
    one, two = compare(recipe, tmp_path / "fine.parquet", tmp_path, suffix)
    assert_same_findings(one, two)
    assert ("row-order:id" in {each.id for each in two.findings}) == (row_order == "keep")
    if suffix == ".parquet":
        schemas = [pl.read_parquet_schema(tmp_path / name) for name in ("memory.parquet", "disk.parquet")]
        assert schemas[0] == schemas[1]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_rows_in_the_order_of_what_is_released(suffix, tmp_path):
    recipe = replace(RECIPE, row_order="released")
    one, two = both(recipe, people().sort("id"), tmp_path, suffix)
    assert_same_findings(one, two)
    assert not [each.id for each in two.findings if each.id.startswith("row-order")]


def test_metadata_of_the_file(tmp_path):
    source = tmp_path / "people.parquet"
    people().write_parquet(source, metadata={"collected by": "somebody"})
    recipe = replace(RECIPE, output=str(tmp_path / "r.parquet"))
    assert "left out: the metadata of the file" in duckdb.run_on_disk(recipe, source).report.notes
    assert "collected by" not in pl.read_parquet_metadata(tmp_path / "r.parquet")
    report = duckdb.run_on_disk(replace(recipe, keep_metadata=True), source).report
    assert "kept because that was asked for: the metadata of the file" in report.notes
    assert pl.read_parquet_metadata(tmp_path / "r.parquet")["collected by"] == "somebody"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_one_nanosecond_in_the_written_file_is_seen(suffix, tmp_path, monkeypatch):
    frame = pl.DataFrame({"at": pl.Series([8 * 3600 * 10**9] * 40).cast(pl.Time), "n": [1] * 40})
    frame.write_parquet(tmp_path / "in.parquet")

    def spoiled(batches, path, form):
        whole = pl.concat(list(batches))
        late = (whole["at"].to_physical() + (pl.int_range(0, 40, eager=True) == 7)).cast(pl.Time)
        streams.write_batches([whole.with_columns(at=late)], path, form)

    monkeypatch.setattr(duckdb, "write_batches", spoiled)
    recipe = Recipe(
        quasi=("at",),
        plain=("n",),
        models=(KAnonymity(2),),
        algorithm=Mondrian(),
        memory="100MB",
        render="representative",
        output=str(tmp_path / f"r{suffix}"),
    )
    with pytest.raises(GoalNotMet, match="reached 1"):
        duckdb.run_on_disk(recipe, tmp_path / "in.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("marker", ["NA", "?", '""'])
def test_markers_in_the_written_text_are_told_apart(marker, tmp_path, monkeypatch):
    pl.DataFrame({"town": ["ely", None] * 20, "n": [1] * 40}).write_csv(tmp_path / "in.csv")

    def spoiled(batches, path, form):
        streams.write_batches(batches, path, form)
        path.write_text(path.read_text().replace("\n,1\n", f"\n{marker},1\n", 1))

    monkeypatch.setattr(duckdb, "write_batches", spoiled)
    recipe = replace(
        RECIPE,
        quasi=("town",),
        sensitive=(),
        identifier=(),
        plain=("n",),
        models=(KAnonymity(2),),
        reading=ReadOptions(na=("NA", "?")),
        output=str(tmp_path / "r.csv"),
    )
    with pytest.raises(GoalNotMet, match="reached 1"):
        duckdb.run_on_disk(recipe, tmp_path / "in.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_column_that_was_not_written_is_missed(tmp_path, monkeypatch):
    people().write_parquet(tmp_path / "people.parquet")
    short = lambda batches, path, form: streams.write_batches(  # noqa: E731
        (frame.drop("note") for frame in batches), path, form
    )
    monkeypatch.setattr(duckdb, "write_batches", short)
    for suffix in (".csv", ".parquet"):
        with pytest.raises(shoal.errors.InternalError, match="the release has 6 columns, but 5 were written"):
            duckdb.run_on_disk(
                replace(RECIPE, output=str(tmp_path / f"r{suffix}")), tmp_path / "people.parquet"
            )


def test_words_count_as_cells_do(tmp_path):
    import duckdb

    frame = people(900).with_columns(age=pl.col("age") // 20).drop("id")
    frame.write_parquet(tmp_path / "r.parquet")
    quasi, others = ["age", "sex"], ["illness", "born", "ward", "note"]
    with duckdb.connect(":memory:") as connection:
        from shoal.engines.verifier import DatabaseVerifier
        from shoal.table import Origin

        form = Origin("path", format="parquet")
        DatabaseVerifier(connection, tmp_path / "r.parquet", form, frame.columns, ()).make_words(
            "t", quasi, others
        )
        counter, expected = WordCounter(connection, "t", quasi, others, 100), CellCounter(frame, 100)
        sets = [[name] for name in others] + [[*quasi, name] for name in others] + [others, frame.columns]
        assert counter.count_each(sets) == expected.count_each(sets)
        part = counter.sample_classes(quasi)
        assert 100 <= part.rows < 900
        assert counter.rows == 900
        with pytest.raises(shoal.errors.InternalError, match="together only"):
            counter.count_unique(["age", "ward"])


def test_a_large_table_is_compared_in_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.verification.findings.determination._ROWS", 500)
    monkeypatch.setattr("shoal.verification.findings.determination._FEWEST", 100)
    asked = []
    take = witness._bound
    monkeypatch.setattr(witness, "_bound", lambda *names: asked.append(names[2]) or take(*names))
    people().write_parquet(tmp_path / "people.parquet")
    report = duckdb.run_on_disk(
        replace(RECIPE, output=str(tmp_path / "r.csv")), tmp_path / "people.parquet"
    ).report
    assert asked
    found = {each.id for each in report.findings}
    assert "determines:born:age" in found
    assert "determines:ward:age" not in found


@pytest.mark.parametrize("seed", range(5))
def test_steps_in_batches_are_those_of_all_rows(seed):
    rng = np.random.default_rng(seed)
    whole = pl.Series(rng.integers(0, 4, 60)).set(pl.Series(rng.random(60) < 0.2), None)
    counter = StepCounter()
    for part in np.split(np.arange(60), np.sort(rng.choice(60, 6, replace=False))):
        counter.add_rows(whole.gather(part))
    (expected,) = Steps.from_columns(whole.to_frame())
    found = (counter.up, counter.down, counter.beside, counter.rows)
    assert found == (expected.up, expected.down, expected.beside, expected.rows)


def test_texts_are_numbers_only_if_all_are():
    steps = ColumnSteps()
    steps.add_rows(pl.Series(["9", "10", "11", "NA"]))
    assert (steps.counters["number"].up, steps.counters["number"].down) == (2, 1)
    steps.add_rows(pl.Series(["b12"]))
    assert list(steps.counters) == [""]
    assert (steps.counters[""].up, steps.counters[""].down) == (3, 1)


@pytest.mark.parametrize("name", fine().columns)
def test_cells_are_told_apart_in_full(name):
    series = fine()[name]
    told = tell_apart(series)
    assert told.dtype in (pl.Int64, pl.String)
    assert told.n_unique() == (5 if name == "zero" else series.n_unique())
