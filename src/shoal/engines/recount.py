"""The verifier for releases larger than memory: DuckDB groups what is in the written file, and counts.

Like `shoal.verify` it shares nothing with the search: it reads the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.privacy import Counts, Model, Scale, Sensitive, scaled
from shoal.privacy.counts import sums
from shoal.table import Column, Origin, ReadOptions, Table, open_stream
from shoal.table.formats import needs
from shoal.table.frames import unpatterned
from shoal.verify import Verification, judge

_FETCHED = 1 << 17


class Recount:
    """A written release, counted in a database."""

    def __init__(
        self, connection: Any, path: Path, form: Origin, names: Sequence[str], na: tuple[str, ...]
    ) -> None:
        self._connection, self._path, self._form = connection, path, form
        self._names, self._na = list(names), na

    def verify(
        self,
        quasi: Sequence[str],
        sensitive: Sequence[str],
        models: Sequence[Model],
        columns: Mapping[str, Column],
    ) -> Verification:
        """Check the release against models."""
        size: NDArray[np.int64] = np.empty(0, np.int64)
        found = {}
        for name in sensitive or (None,):
            code, scale = self._codes(name, columns)
            classes, values, times = self._counted(quasi, name, code)
            size = sums(classes, times)
            if name is not None:
                found[name] = Sensitive.of_rows(classes, values, scale, times)
        return judge(Counts(size, found), sensitive, models)

    def _counted(
        self, quasi: Sequence[str], sensitive: str | None, code: pl.DataFrame
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Class by class, in one order for any sensitive column: its values and how often each occurs."""
        source = self._source([*quasi, *([] if sensitive is None else [sensitive])])
        kinds = dict(zip(source.columns, map(str, source.types), strict=True))
        # Zero and minus zero are equal numbers, but not equal to somebody who reads them.
        cells = [
            f"{_name(name)}::VARCHAR" if kinds[name] in ("FLOAT", "DOUBLE") else _name(name) for name in quasi
        ]
        keys = ", ".join(f"{cell} AS q{j}" for j, cell in enumerate(cells))
        order = ", ".join(f"q{j}" for j in range(len(cells)))
        value = "NULL" if sensitive is None else _name(sensitive)
        query = f"SELECT {keys}, {value} AS s, count(*) AS n FROM release GROUP BY ALL ORDER BY {order}"
        groups = source.query("release", query)
        frame = pl.concat(list(_numbered(groups, [f"q{j}" for j in range(len(cells))], code)))
        return frame["class"].to_numpy(), frame["code"].to_numpy(), frame["n"].to_numpy()

    def _source(self, names: Sequence[str]) -> Any:
        """The columns of the file; delimited text comes through our own reader, cell by cell as it stands."""
        if self._form.format == "parquet":
            return self._connection.read_parquet(str(self._path))
        pyarrow = needs("pyarrow", "shoal[scale]")
        stream = open_stream(self._path, ReadOptions(self._form.delimiter, header=self._form.header))
        there = [stream.names[self._names.index(name)] for name in names]  # a file may be without names
        kinds = pyarrow.schema([(name, pyarrow.large_string()) for name in names])
        batches = (
            pyarrow.record_batch(
                [each.to_arrow().cast(pyarrow.large_string()) for each in batch], schema=kinds
            )
            for batch in stream.batches(there)
        )
        return self._connection.from_arrow(pyarrow.RecordBatchReader.from_batches(kinds, batches))

    def _codes(self, name: str | None, columns: Mapping[str, Column]) -> tuple[pl.DataFrame, Scale]:
        """The different values of a sensitive column as they stand, and the number of each."""
        if name is None:
            return pl.DataFrame({"s": [None], "code": pl.Series([0], dtype=pl.Int32)}), Scale()
        query = f"SELECT DISTINCT {_name(name)} AS s FROM release"
        raw = pl.DataFrame(self._source([name]).query("release", query).to_arrow_table())["s"]
        code, scale = value_codes(raw, columns[name], self._form, self._na)
        return pl.DataFrame({"s": raw, "code": code}), scale


def value_codes(
    raw: pl.Series, column: Column, form: Origin, na: tuple[str, ...]
) -> tuple[NDArray[np.int32], Scale]:
    """Numbers of the different values of a released sensitive column, as they stand."""
    seen = unpatterned(Table(pl.DataFrame([raw.alias(column.name)]), form, na).column(column.name))
    there = seen.is_not_null()
    number, scale = scaled(seen.filter(there), seen.has_nulls(), column)
    code = np.full(len(raw), number[-1], np.int32)
    code[there.to_numpy()] = number[:-1]
    return code, scale


def _numbered(groups: Any, keys: Sequence[str], code: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Sorted groups with numbers in place of texts, of the class and of the value, a batch at a time."""
    last, number = None, -1
    for batch in groups.to_arrow_reader(_FETCHED):
        frame: Any = pl.from_arrow(batch)
        texts = frame.select(keys)
        joint = texts if last is None else pl.concat([last, texts])
        new = joint.select(pl.any_horizontal(pl.all().ne_missing(pl.all().shift(1)))).to_series().to_numpy()
        new = new[joint.height - texts.height :].copy()
        if last is None:
            new[0] = True
        of_row = number + np.cumsum(new)
        last, number = texts.tail(1), int(of_row[-1])
        value = frame.select("s").join(code, on="s", how="left", nulls_equal=True, maintain_order="left")
        yield pl.DataFrame({"class": of_row.astype(np.int32), "code": value["code"], "n": frame["n"]})


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
