"""What DuckDB tells about a release that is larger than memory, for the findings on all of it.

Two tables of the database hold a word of 64 bits for each cell, which is the same for equal cells. That those
of distinct cells are the same happens once in thousands of tables of ten million rows. One table is made of
the file that was written. The other is made as rows are written, and has what only their maker knows: codes
of the original values, and the columns that are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.encoding import EncodedColumn
from shoal.engines.packing import CodePacking, Words
from shoal.engines.steps import ColumnSteps, StepCounter, tell_apart
from shoal.engines.verifier import DatabaseVerifier, hash_cell
from shoal.errors import InternalError
from shoal.table import TableStream
from shoal.verification.findings import SAMPLE_ROWS, OriginalColumn, SampledRows, Steps
from shoal.verification.outsider import number_rows

_SHARE = 4  # times the rows that a sample should have, it may have because its last group is large


class WordCounter:
    """Counts rows by the words of a table, within the memory of its database."""

    def __init__(
        self,
        connection: Any,
        table: str,
        quasi: Sequence[str],
        others: Sequence[str],
        most: int = SAMPLE_ROWS,
        people: bool = False,
    ) -> None:
        self._connection, self._table, self._most, self._people = connection, table, most, people
        self._quasi, self._others = list(quasi), list(others)
        self.rows = _query_number(connection, f"SELECT count(*) FROM {table}")

    def count_unique(self, columns: Sequence[str]) -> int:
        """How many rows no other row equals in ``columns``: all quasi-identifiers or none, and others.

        Or, where people are counted, no row of anybody else.
        """
        words = [f"w{self._others.index(name)}" for name in columns if name in self._others]
        if len(words) < len(columns):
            if not set(self._quasi) <= set(columns):
                raise InternalError("quasi-identifiers are counted together only")
            words.append("class")
        # xor of independent words: any set of columns gets a key without hashing the cells again.
        key = words[0]
        for word in words[1:]:
            key = f"xor({key}, {word})"
        # Rows that equal only rows of the same person bring these together.
        alone = "min(p) = max(p)" if self._people else "count(*) = 1"
        groups = f"SELECT {key} AS key, count(*) AS n FROM {self._table} GROUP BY key HAVING {alone}"
        return _query_number(self._connection, f"SELECT sum(n) FROM ({groups})")

    def count_each(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """The same for several sets of columns."""
        return [self.count_unique(columns) for columns in sets]

    def sample_classes(self, quasi: Sequence[str]) -> WordCounter:
        """Some of the rows, with all the rows that equal them in ``quasi``."""
        if self.rows <= self._most:
            return self
        bound = _bound(self._connection, self._table, "class", self._most)
        part = f"{self._table}_part"
        self._connection.execute(
            f"CREATE OR REPLACE TABLE {part} AS SELECT * FROM {self._table} WHERE class <= {bound}"
        )
        return WordCounter(self._connection, part, quasi, self._others, self._most, self._people)


def _query_number(connection: Any, query: str) -> int:
    ((found,),) = connection.execute(query).fetchall()
    return int(found or 0)


def _bound(connection: Any, table: str, word: str, most: int) -> int:
    """The largest word such that about ``most`` rows have it or a smaller one."""
    groups = connection.execute(
        f"SELECT {word} AS word, count(*) AS n FROM {table} GROUP BY word ORDER BY word LIMIT {most + 1}"
    ).fetchnumpy()
    # Words are hashes, so the smallest ones are a random sample of the groups.
    at = int(np.searchsorted(np.cumsum(groups["n"]), most))
    return int(groups["word"][min(at, groups["word"].size - 1)])


class DiskWitness:
    """What is known of rows while they are written, and of the file afterwards."""

    def __init__(
        self,
        connection: Any,
        stream: TableStream,
        encoded: Sequence[EncodedColumn],
        packing: CodePacking,
        cells: Mapping[str, NDArray[np.int32]],
        others: Sequence[str],
        left_out: Sequence[str],
        keeps_order: bool,
    ) -> None:
        self._connection, self._stream, self._packing = connection, stream, packing
        self._encoded = {each.domain.name: each for each in encoded}
        self._others = list(others)
        self.left_out = list(left_out)
        self._watched = [*others, *left_out]
        self._cell = cells  # by column, the number of the cell of each class
        # Classes of the search that are released alike are one to a reader.
        self._class_of = number_rows([pl.Series(of_class) for of_class in cells.values()]).astype(np.int32)
        self._first = np.unique(self._class_of, return_index=True)[1]
        self._rows = 0
        self._steps = {name: ColumnSteps() for name in left_out}
        self._code_steps = {name: StepCounter() for name in self._encoded}
        self._times = {each.domain.name: np.zeros(each.domain.size, np.int64) for each in encoded}
        self._keeps_order = keeps_order
        self._recount: DatabaseVerifier | None = None
        words = [f"k{i} UBIGINT" for i in range(packing.words)]
        words += [f"w{j} UBIGINT" for j in range(len(self._watched))]
        connection.execute(f"CREATE TABLE known (place BIGINT, class BIGINT, {', '.join(words)})")

    @property
    def columns(self) -> list[str]:
        """Columns of the table that it has to see, apart from the quasi-identifiers."""
        return self._watched

    def add_rows(self, batch: pl.DataFrame, class_of: NDArray[np.integer], key: Words) -> None:
        """Take note of rows that are released, as they were."""
        seen = self._stream.make_table(batch)
        series = [batch.get_column(name) for name in self._others]
        series += [seen.column(name) for name in self.left_out]
        if self._keeps_order:
            self._count_steps(series[len(self._others) :], self._packing.unpack_codes(key))
        cells = {f"c{j}": tell_apart(each) for j, each in enumerate(series)}
        words = {f"k{i}": word for i, word in enumerate(key)}
        place = np.arange(self._rows, self._rows + class_of.size)
        frame = pl.DataFrame({"place": place, "class": self._class_of[class_of], **words, **cells})
        self._rows += class_of.size
        chosen = [*words, *(hash_cell(cell, j) for j, cell in enumerate(cells))]
        self._connection.register("batch", frame.to_arrow())
        self._connection.execute(f"INSERT INTO known SELECT place, class, {', '.join(chosen)} FROM batch")
        self._connection.unregister("batch")

    def _count_steps(self, left_out: Sequence[pl.Series], codes: Sequence[NDArray[np.integer]]) -> None:
        for name, series in zip(self.left_out, left_out, strict=True):
            self._steps[name].add_rows(series)
        for (name, each), code in zip(self._encoded.items(), codes, strict=True):
            place = each.domain.position[code] if each.domain.has_ranges else code.astype(np.float64)
            self._code_steps[name].add_rows(pl.Series(place))
            self._times[name] += np.bincount(code.astype(np.int64), minlength=each.domain.size)

    def read_release(self, recount: DatabaseVerifier, quasi: Sequence[str]) -> None:
        """Take note of what was written."""
        self._recount = recount
        recount.make_words("cells", quasi, self._others)
        self._counter = WordCounter(
            self._connection, "cells", quasi, self._others, people=recount.counts_people
        )

    @property
    def counter(self) -> WordCounter:
        """Counts the rows that were written."""
        return self._counter

    @property
    def people(self) -> int | None:
        """How many people the written rows are of, where people are counted."""
        assert self._recount is not None
        return self._recount.count_people() if self._recount.counts_people else None

    def sample_rows(self, other: str, hidden: Sequence[str], most: int) -> SampledRows | None:
        """About ``most`` rows by the values of a column, in their order."""
        word = f"w{self._others.index(other)}"
        bound = _bound(self._connection, "known", word, most) if self._rows > most else (1 << 64) - 1
        keys = [f"k{i}" for i in range(self._packing.words)]
        # In the order of rows, since DuckDB returns any order otherwise and samples should repeat.
        found = self._connection.execute(
            f"SELECT {word} AS word, class, {', '.join(keys)} FROM known WHERE {word} <= {bound} "
            f"ORDER BY place LIMIT {_SHARE * most}"
        ).fetchnumpy()
        distinct, given = np.unique(found["word"], return_inverse=True)
        if distinct.size < 2:
            return None
        of_class = self._first[found["class"]]
        codes = dict(
            zip(self._encoded, self._packing.unpack_codes([found[key] for key in keys]), strict=True)
        )
        known = {
            name: OriginalColumn(codes[name].astype(np.int64), self._encoded[name].domain.axis)
            for name in hidden
        }
        return SampledRows(
            given, {name: self._cell[name][of_class].astype(np.int64) for name in hidden}, known
        )

    def count_repeated(self, name: str, k: int) -> tuple[int, int]:
        """Rows in classes with fewer than ``k`` distinct values of a column, and its distinct values."""
        word = f"w{self._watched.index(name)}"
        pairs = f"SELECT class, count(*) AS n FROM known GROUP BY class, {word}"
        classes = f"SELECT sum(n) AS n FROM ({pairs}) GROUP BY class HAVING count(*) < {int(k)}"
        few = _query_number(self._connection, f"SELECT sum(n) FROM ({classes})")
        every = f"SELECT {word} FROM known GROUP BY {word}"
        return few, _query_number(self._connection, f"SELECT count(*) FROM ({every})") if few else 0

    def steps_of(self, name: str) -> Steps:
        """How the values of a hidden column change from row to row."""
        if name in self._steps:
            word = f"w{self._watched.index(name)}"
            groups = f"SELECT count(*) AS n FROM known GROUP BY {word}"
            query = f"SELECT sum(n::HUGEINT * n) FROM ({groups})"
            return self._steps[name].build_steps(lambda: float(_query_number(self._connection, query)))
        times = self._times[name].astype(np.float64)
        return self._code_steps[name].build_steps(lambda: float(np.square(times).sum()))

    def list_distinct_values(self, name: str) -> pl.Series:
        """The distinct values of a column, as they were written."""
        assert self._recount is not None
        return self._recount.list_distinct_values(name)
