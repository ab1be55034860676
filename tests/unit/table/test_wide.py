"""Tables of thousands of columns: what is done for each of them does not look at all of them."""

import polars as pl
import pytest
from tests.cases import thin_out

import shoal

WIDE = 400


@pytest.fixture
def counted(monkeypatch):
    """How often a frame made its schema or its list of names anew."""
    counts = {"schema": 0, "columns": 0}
    for name in counts:
        original = getattr(pl.DataFrame, name)

        def get(frame, name=name, original=original):
            counts[name] += frame.width >= WIDE
            return original.fget(frame)

        monkeypatch.setattr(pl.DataFrame, name, property(get, original.fset))
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("others", thin_out(["keep", "drop"], 2))
@pytest.mark.parametrize("missing", thin_out(["category", "drop"], 2))
def test_schemas_are_made_a_few_times_only(counted, tmp_path, others, missing):
    frame = pl.DataFrame({f"c{at}": [at % 7, 1, 2, 3] * 5 for at in range(WIDE)})
    settings = {"quasi": ["c0", "c1"], "others": others, "missing": missing, "k": 2, "algorithm": "mondrian"}
    shoal.anonymize(frame, **settings)
    frame.write_csv(tmp_path / "in.csv")
    shoal.anonymize(tmp_path / "in.csv", **settings, output=tmp_path / "out.csv")
    shoal.verify(frame, quasi=["c0", "c1"], k=2)
    assert max(counted.values()) < WIDE / 4


@pytest.mark.parametrize("others", ["keep", "drop"])
def test_polars_is_asked_about_all_columns_at_once(monkeypatch, tmp_path, others):
    """Every question has a price of its own, so there must be far fewer of them than columns."""
    asked = []
    collect = pl.LazyFrame._collect_eager
    monkeypatch.setattr(
        pl.LazyFrame, "_collect_eager", lambda *args, **named: asked.append(args) or collect(*args, **named)
    )
    texts = {f"c{at}": [f"v{(at * 7 + row * 11) % 13}" for row in range(60)] for at in range(WIDE)}
    frame = pl.DataFrame({"age": [row % 5 for row in range(60)], **texts})
    frame.write_csv(tmp_path / "in.csv")
    settings = {"quasi": ["age"], "others": others, "k": 15, "algorithm": "mondrian"}
    shoal.anonymize(tmp_path / "in.csv", **settings, output=tmp_path / "out.csv")
    assert 0 < len(asked) < WIDE / 2


def test_a_column_that_counts_rows_is_found_among_many():
    mixed = {f"c{at}": [str((at * 7 + row * 11) % 13) for row in range(60)] for at in range(WIDE)}
    frame = pl.DataFrame({"age": [row % 5 for row in range(60)], **mixed})
    counted = frame.with_columns(
        number=pl.Series([str(row) for row in range(60)])
    )  # 10 comes before 9 by name
    found = shoal.anonymize(counted, quasi=["age"], others="drop", k=2, algorithm="mondrian").report.findings
    assert [finding.id for finding in found] == ["row-order:number"]
