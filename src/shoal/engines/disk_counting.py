"""Counting on disk: the distinct values of columns, and the distinct rows of codes, within a memory limit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.frequency import CodedRows, SortedRows
from shoal.engines.coupling import couple_codes
from shoal.engines.disk_levels import DiskRows
from shoal.engines.level_workers import RowLayout
from shoal.engines.levels import check_distributable
from shoal.engines.packing import CodePacking
from shoal.engines.people import PersonCoder
from shoal.engines.prepare import Codes, DistinctValues, RoleCodes
from shoal.errors import InputError, RecipeError
from shoal.privacy import for_columns
from shoal.privacy.people import count_needed_people
from shoal.recipes.recipe import Recipe
from shoal.support.memory import measure_resident_memory, return_free_memory
from shoal.support.parameters import byte_count
from shoal.table import TableStream
from shoal.table.formats import import_optional
from shoal.table.frames import use_safe_name
from shoal.table.rebuild import copy_column

_MERGE = 1 << 16  # values that wait before they are counted together with those before them
_FETCHED = 1 << 17  # counted rows that come from DuckDB at once
_SHARE = 0.5  # of the memory goes to DuckDB at most, which rests while the search works
_LEAST = 128e6  # and at least so many bytes, for it refuses to work with next to nothing
BUFFERS = 200e6
"""Bytes that are left to readers and writers."""
QUERIES = 60e6
"""Bytes that are left to them while only results of queries are read."""
_AT_REST = 75, 8  # bytes that a distinct row of quasi-identifiers takes, and each of these
_ENTRY = 16, 60  # and each of their sensitive values, of one column, or of one of several
_PERSON = 60  # and each person
_COLLECTED = 40  # bytes of a row with its sensitive value, while the rows of a node are brought together
_LEAST_NODE = 1 << 16  # distinct rows that are searched together at least
_KERNELS = 80e6  # bytes that the code of a search takes
_SEARCH = 0.25  # of the memory a search may have in any case


class DiskWorkspace:
    """What is done in a scratch folder."""

    def __init__(self, recipe: Recipe, folder: Path, duckdb: Any) -> None:
        self.recipe, self.folder, self.duckdb = recipe, folder, duckdb
        self.memory = byte_count("memory", str(recipe.memory))
        self.keys = folder / "keys"
        """The packed codes of every row, in the order of the input."""
        self.people = folder / "people"
        """The person of every row, if people are counted."""
        self.order = folder / "order"
        """The person of every released row, in the order of the release."""
        self.entries = 0
        """Distinct rows, sensitive values included: no release has more values in its classes."""
        self.stored: DiskRows | None = None
        """The distinct rows, if the search could not have them in memory."""

    @contextmanager
    def open_database(self, name: str = ":memory:") -> Iterator[Any]:
        """A database that keeps to its share of the memory; closed, it gives it back.

        With a ``name`` its tables are a file in the folder, which takes less memory than those that spill.
        """
        settings = {
            "memory_limit": f"{self.limit_database()}B",
            "temp_directory": str(self.folder / "spill"),
            "threads": self.recipe.threads or os.cpu_count() or 1,
            # Counting needs no order, and keeping one costs memory.
            "preserve_insertion_order": False,
        }
        where = name if name == ":memory:" else str(self.folder / name)
        with self.duckdb.connect(where, config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")  # on a terminal there is one already
            yield connection

    def limit_database(self, others: float = BUFFERS, held: int = 0) -> int:
        """Bytes that a database may have: its share, or what the rest of the process leaves of the memory.

        ``others`` are bytes that the rest of the process is about to take, and ``held`` those that the
        database has already.
        """
        return_free_memory()
        used = (measure_resident_memory() or 0) - held
        left = self.memory - max(used, 0) - others
        return int(min(max(left, _LEAST), self.memory * _SHARE))

    def fit_database(self, connection: Any, others: float = BUFFERS) -> None:
        """Limit a database that is open already anew."""
        limit = self.limit_database(others, _measure_database(connection))
        connection.execute(f"SET memory_limit = '{limit}B'")

    def count_equal_rows(
        self,
        stream: TableStream,
        values: Mapping[str, DistinctValues],
        codes: RoleCodes,
        packing: CodePacking,
        people: PersonCoder | None = None,
    ) -> tuple[CodedRows, NDArray[np.int64] | None]:
        """The distinct rows of codes, sensitive values included, and how many rows there are of each.

        Where ``people`` are counted, also whose each is. If a number of people is all that is asked, rows are
        not told apart by their sensitive values; and of a row that more people have than a class needs, no
        more are told apart than that: any class that has the row has enough of them.
        """
        coders = {
            name: _Coder(values[name].raw, of_value) for name, of_value in codes.collect_codes().items()
        }
        with self.open_database() as connection:
            # The database is closed before the search begins, which then has the memory.
            self._group_rows(connection, stream, coders, packing, people)
            ((entries,),) = connection.execute("SELECT count(*) FROM counted").fetchall()
            self.entries = entries
            if people is not None:
                self._check_people(entries)
                return _fetch_counted_rows(connection, entries, packing, codes.sensitive_sizes)
            words = ", ".join(f"k{i}" for i in range(packing.words))
            query = f"SELECT count(*) FROM (SELECT {words} FROM counted GROUP BY ALL)"
            # Before the rows come out of the database, where they would fill the memory.
            ((distinct,),) = connection.execute(query).fetchall() if self.recipe.sensitive else ((entries,),)
            sizes = codes.sensitive_sizes
            if self._store_rows(connection, distinct, entries, RowLayout(packing, sizes)):
                return couple_codes(self.recipe, values, codes), None
            table = distinct * self._search_bytes(0) + entries * _ENTRY[0]
            self.fit_database(connection, QUERIES + table)
            return _fetch_sorted_rows(connection, distinct, entries, packing, sizes), None

    def _group_rows(
        self,
        connection: Any,
        stream: TableStream,
        coders: Mapping[str, _Coder],
        packing: CodePacking,
        people: PersonCoder | None,
    ) -> None:
        """Make a table of the distinct rows of codes."""
        pyarrow = import_optional("pyarrow", "shoal[scale]")
        words = [f"k{i}" for i in range(packing.words)]
        values = [f"s{i}" for i in range(len(self.recipe.sensitive))]
        kinds = dict.fromkeys(words, pyarrow.uint64()) | dict.fromkeys(values, pyarrow.uint32())
        kinds["p"] = pyarrow.int64()
        with self.keys.open("wb") as keys, self.people.open("wb") as whose:
            batches = (
                pyarrow.record_batch(columns, names=list(kinds))
                for columns in self._encode_batches(stream, coders, packing, keys, people, whose)
            )
            # Read lazily: DuckDB pulls batch after batch, and the table is never in memory.
            reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema(kinds), batches)
            connection.register("rows", reader)
            most = count_needed_people(for_columns(self.recipe.models, self.recipe.sensitive))
            if people is None or most is None:
                connection.execute("CREATE TABLE counted AS SELECT *, count(*) AS n FROM rows GROUP BY ALL")
            else:
                _count_people(connection, words, values, most)

    def _encode_batches(
        self,
        stream: TableStream,
        coders: Mapping[str, _Coder],
        packing: CodePacking,
        keys: IO[bytes],
        people: PersonCoder | None,
        whose: IO[bytes],
    ) -> Iterator[list[NDArray[Any]]]:
        """Packed codes, codes of sensitive values, and people, batch by batch.

        The first go to the file ``keys`` as well, and people, if they are counted, to ``whose``.
        """
        quasi, sensitive = self.recipe.quasi, self.recipe.sensitive
        person = [] if people is None else [str(self.recipe.person)]
        for batch in stream.iterate_batches([*coders, *person]):
            codes = {name: coders[name](batch.get_column(name)) for name in coders}
            words = packing.pack_codes([codes[name] for name in quasi])
            keys.write(np.stack(words, axis=1).data)  # and not by tofile, which keeps a full disk to itself
            number = np.zeros(batch.height, np.int64)
            if people is not None:
                number = people(batch.get_column(*person))
                whose.write(number.data)
            yield [*words, *(codes[name] for name in sensitive), number]

    def _store_rows(self, connection: Any, distinct: int, entries: int, layout: RowLayout) -> bool:
        """Leave the distinct rows on disk if the search could not have them in memory; whether it was so."""
        needed = self._search_bytes(entries / distinct) * distinct
        # The database is closed before the search begins.
        left = self.limit_search(_measure_database(connection))
        if needed <= left:
            return False
        try:
            check_distributable(self.recipe, self._describe_size(entries, needed))
        except RecipeError as error:
            # Other algorithms go on as far as they can: what they need is an estimate.
            if needed <= self.memory:
                return False
            raise InputError(str(error)) from None
        # What is collected for a search of some nodes comes on top of what it needs itself.
        each = self._search_bytes(entries / distinct) + _COLLECTED * entries / distinct
        most = max(int((left - distinct * self._result_bytes()) / each), _LEAST_NODE)
        self.stored = DiskRows(self.folder / "rows", layout, distinct, most)
        self.fit_database(connection)
        keys = ", ".join([*layout.words, *layout.values])
        reader = connection.sql(f"SELECT {keys}, n FROM counted ORDER BY {keys}").to_arrow_reader(_FETCHED)
        self.stored.write_rows(reader, reader.schema)
        return True

    def limit_search(self, free: int) -> float:
        """Bytes that a search may have, if so many of those that are taken will be free by then."""
        return_free_memory()
        used = (measure_resident_memory() or 0) - free
        # A share at least, for what else this process has is not always ours.
        return max(self.memory - _KERNELS - max(used, 0), self.memory * _SEARCH)

    def _search_bytes(self, values: float) -> float:
        """Bytes that a search takes for a distinct row with so many sensitive values, people not counted."""
        each, quasi = _AT_REST
        one = len(self.recipe.sensitive) == 1
        entry = _ENTRY[0] if one else _ENTRY[1] * len(self.recipe.sensitive)
        return each + quasi * len(self.recipe.quasi) + values * entry

    def _result_bytes(self) -> float:
        """Bytes that stay of a distinct row once its class is found: codes, weight and class."""
        return 4 * len(self.recipe.quasi) + 12

    def _check_people(self, entries: int) -> None:
        """Refuse more distinct rows of people than the search can have in memory."""
        values = _ENTRY[1] * len(self.recipe.sensitive)
        needed = entries * (self._search_bytes(0) + values + _PERSON)
        if needed > self.memory:
            raise InputError(
                f"{self._describe_size(entries, needed)}: give more, or round columns that have a value of "
                "their own in nearly every row"
            )

    def _describe_size(self, entries: int, needed: float) -> str:
        return (
            f"the table has {entries:,} distinct rows, for which the search needs about "
            f"{needed / 1e9:.1f} GB, more than the memory of {self.recipe.memory} leaves"
        )


def _measure_database(connection: Any) -> int:
    """Bytes that a database has in memory."""
    query = "SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()"
    ((held,),) = connection.execute(query).fetchall()
    return int(held)


def count_values(stream: TableStream, names: Sequence[str]) -> dict[str, DistinctValues]:
    """The distinct values of some columns."""
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in names}
    start = 0
    for batch in stream.iterate_batches(names):
        row = pl.Series("row", np.arange(start, start + batch.height))
        for name, parts in found.items():
            part = pl.DataFrame([batch.get_column(name).alias("value"), row])
            parts.append(_merge_counts([part.with_columns(count=pl.lit(1, pl.Int64))]))
            # Merged when the new ones outnumber the old: each value is merged a few times only.
            if sum(part.height for part in parts[1:]) > max(_MERGE, parts[0].height):
                found[name][:] = [_merge_counts(parts)]
        start += batch.height
    # By first row, since codes may depend on the order of appearance.
    whole = {name: _merge_counts(parts).sort("row", maintain_order=True) for name, parts in found.items()}
    return {name: _build_distinct(stream, name, every) for name, every in whole.items()}


def _build_distinct(stream: TableStream, name: str, every: pl.DataFrame) -> DistinctValues:
    raw = every["value"].alias(name)
    # The same column again, as the table shows it: with null for what is missing.
    series = stream.make_table(pl.DataFrame([raw])).column(name)
    return DistinctValues(raw, series, every["count"].to_numpy())


def _merge_counts(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Values with their counts and first rows, each once."""
    merged = pl.concat(parts).group_by("value").agg(pl.col("row").min(), pl.col("count").sum())
    # Strings are views, and a few of them would keep the text of a whole batch in memory.
    text = merged.schema["value"] == pl.String
    return merged.with_columns(copy_column(merged["value"])) if text else merged


class _Coder:
    """Gives the values of a column their codes."""

    def __init__(self, raw: pl.Series, of_value: Codes) -> None:
        self.of_value = of_value
        raw = use_safe_name(raw)
        present = raw.is_not_null()
        self._raw, self._code = raw.filter(present), pl.Series(of_value, dtype=pl.UInt32).filter(present)
        # Null is no key of the dictionary, so its code is kept apart.
        missing = of_value[raw.is_null().to_numpy()]
        self._missing = int(missing[0]) if missing.size else None

    def __call__(self, series: pl.Series) -> NDArray[np.uint32]:
        code = use_safe_name(series).replace_strict(
            self._raw, self._code, default=None, return_dtype=pl.UInt32
        )
        if self._missing is not None:
            code = code.fill_null(self._missing)
        if code.has_nulls():
            raise InputError("the table changed while it was read: keep others from writing to it")
        return code.to_numpy()


def _fetch_sorted_rows(
    connection: Any, distinct: int, entries: int, packing: CodePacking, sizes: Sequence[int]
) -> SortedRows:
    """The counted rows out of the database, as a table of the distinct ones with their values."""
    # Allocated once and filled in place, since concatenating parts would need twice the memory. The database
    # sorts: here that would take several times as much as what is kept.
    dtype = np.uint16 if max(packing.sizes) <= 1 << 16 else np.uint32
    codes = np.empty((distinct, len(packing.sizes)), dtype)
    of_row, count = np.empty(entries, np.int32), np.empty(entries, np.int64)
    sensitive = [np.empty(entries, np.uint32) for _ in sizes]
    words, values = [f"k{i}" for i in range(packing.words)], [f"s{i}" for i in range(len(sizes))]
    start, row = 0, -1
    last: list[Any] = [None] * len(words)
    keys = ", ".join([*words, *values])
    query = f"SELECT {keys}, n FROM counted ORDER BY {keys}"
    for batch in connection.sql(query).to_arrow_reader(_FETCHED):
        part = slice(start, start + batch.num_rows)
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        whose = columns[: len(words)]
        new = np.zeros(batch.num_rows, np.bool_)
        for key, before in zip(whose, last, strict=True):
            new[1:] |= key[1:] != key[:-1]
            # A distinct row may go on over the border of two batches.
            new[0] |= before is None or key[0] != before
        of_row[part] = row + np.cumsum(new)
        first = np.flatnonzero(new)
        for j, code in enumerate(packing.unpack_codes([key[first] for key in whose])):
            codes[row + 1 : row + 1 + first.size, j] = code
        for whole, value in zip(sensitive, columns[len(words) : -1], strict=True):
            whole[part] = value
        count[part] = columns[-1]
        start, row, last = part.stop, row + first.size, [key[-1] for key in whose]
    return SortedRows.from_entries(codes, of_row, packing.sizes, tuple(sensitive), tuple(sizes), count)


def _fetch_counted_rows(
    connection: Any, distinct: int, packing: CodePacking, sizes: Sequence[int]
) -> tuple[CodedRows, NDArray[np.int64]]:
    """The counted rows out of the database, and whose each is."""
    # Allocated once and filled in place: concatenating parts would need twice the memory.
    quasi: list[NDArray[np.unsignedinteger]] = [
        np.empty(distinct, np.uint16 if size <= 1 << 16 else np.uint32) for size in packing.sizes
    ]
    sensitive = [np.empty(distinct, np.uint32) for _ in sizes]
    person, count = np.empty(distinct, np.int64), np.empty(distinct, np.int64)
    start = 0
    for batch in connection.sql("SELECT * FROM counted").to_arrow_reader(_FETCHED):
        part = slice(start, start + batch.num_rows)
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        for whole, codes in zip(quasi, packing.unpack_codes(columns[: packing.words]), strict=True):
            whole[part] = codes
        for whole, codes in zip(sensitive, columns[packing.words : -2], strict=True):
            whole[part] = codes
        person[part], count[part] = columns[-2:]
        start = part.stop
    return CodedRows(tuple(quasi), packing.sizes, tuple(sensitive), tuple(sizes), count), person


def _count_people(connection: Any, words: Sequence[str], values: Sequence[str], most: int) -> None:
    """Count rows by codes and people; what more than ``most`` people have goes to the last of these."""
    keys, some = ", ".join(words), "".join(f"min({name}) AS {name}, " for name in values)
    each = f"SELECT {keys}, {some}p, count(*) AS n FROM rows GROUP BY {keys}, p"
    numbered = f"SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY p) AS place FROM ({each})"
    connection.execute(
        f"CREATE TABLE counted AS SELECT {keys}, {some}min(p) AS p, sum(n)::BIGINT AS n FROM ({numbered}) "
        f"GROUP BY {keys}, least(place, {int(most)})"
    )
