"""The verifier for releases larger than memory: DuckDB groups what is in the written file, and counts.

Like `shoal.verify` it shares nothing with the search: it reads the file, by a reader that has nothing to do
with the writer. DuckDB reads Parquet itself, and gets delimited text cell by cell from `outsider`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InternalError
from shoal.privacy import Counts, Model, SensitiveCounts, ValueScale, number_distinct_values
from shoal.privacy.counts import sum_by_place
from shoal.table import Column, Origin, Table
from shoal.table.formats import import_optional
from shoal.table.frames import use_safe_name
from shoal.verification.outsider import scan_cells
from shoal.verification.verifier import Verification, judge_counts

_FETCHED = 1 << 17
_BATCH = 1 << 17
_TOGETHER = 32  # columns whose distinct cells are found in one pass


class DatabaseVerifier:
    """A written release, counted in a database."""

    def __init__(
        self,
        connection: Any,
        path: Path,
        form: Origin,
        names: Sequence[str],
        na: tuple[str, ...],
        people: Path | None = None,
    ) -> None:
        """Look at a release, without reading it.

        ``people`` is a file with the person of each of its rows, if people are counted: the release does not
        say it.
        """
        self._connection, self._path, self._form = connection, path, form
        self._names, self._na, self._people = list(names), na, people
        self._has_people = False  # whether the database has them
        self._sizes: list[int] = []  # how many distinct cells the quasi-identifiers have, once it is known

    @property
    def counts_people(self) -> bool:
        """Whether people are counted, and not rows."""
        return self._people is not None

    def verify_release(
        self,
        quasi: Sequence[str],
        sensitive: Sequence[str],
        models: Sequence[Model],
        columns: Mapping[str, Column],
    ) -> Verification:
        """Check the release against models."""
        if self._people is not None:
            return self._verify_people(quasi, sensitive, models, columns)
        size: NDArray[np.int64] = np.empty(0, np.int64)
        found = {}
        # One pass per sensitive column: all together could be as many groups as rows.
        for name in sensitive or (None,):
            code, scale = self._number_values(name, columns)
            # Classes come in the order of their cells, so every pass numbers them alike.
            counted = self._count_values(quasi, name, code, scale)
            size = sum_by_place(counted.class_of, counted.count)
            if name is not None:
                found[name] = counted
        suppressed = self._find_suppressed_class(quasi, models, size)
        return judge_counts(Counts(size, found, suppressed=suppressed), sensitive, models)

    def _verify_people(
        self,
        quasi: Sequence[str],
        sensitive: Sequence[str],
        models: Sequence[Model],
        columns: Mapping[str, Column],
    ) -> Verification:
        """The same where people are counted, as `shoal.privacy.people` defines."""
        every = self._group_people(quasi, None)
        size, rows_of = every["n"].to_numpy(), every["rows"].to_numpy()
        found = {}
        for name in sensitive:
            code, scale = self._number_values(name, columns)
            self._connection.register("codes", code.to_arrow())
            part, whole = self._group_people(quasi, name), self._count_people_of_values(name)
            self._connection.unregister("codes")
            class_of, value, count = (part[each].to_numpy() for each in ("class", "code", "n"))
            found[name] = SensitiveCounts(class_of, value, count, scale, whole)
        suppressed = self._find_suppressed_class(quasi, models, size, rows_of)
        counts = Counts(size, found, rows_of=rows_of, suppressed=suppressed)
        judged = judge_counts(counts, sensitive, models)
        return replace(judged, people=self.count_people())

    def _find_suppressed_class(
        self,
        quasi: Sequence[str],
        models: Sequence[Model],
        size: NDArray[np.int64],
        rows_of: NDArray[np.int64] | None = None,
    ) -> int | None:
        """The class of the rows of `*` alone, by `pick_suppressed_class`, where a model asks for it."""
        if not any(model.averages for model in models):  # it takes a pass over the release
            return None
        source = self._open_columns(quasi)
        hidden = " AND ".join(f"{cell}::VARCHAR = '*'" for cell in self._render_cells(source, quasi))
        each = "" if rows_of is None else "GROUP BY p"
        units = f"SELECT count(*) AS n FROM release WHERE {hidden} {each}"
        query = f"SELECT count(*) AS people, coalesce(sum(n), 0)::BIGINT AS rows FROM ({units})"
        ((people, rows),) = source.query("release", query).fetchall()
        return pick_suppressed_class(size, rows_of, rows if rows_of is None else people, rows)

    def _group_people(self, quasi: Sequence[str], sensitive: str | None) -> pl.DataFrame:
        """How many people each class has, or how many have each value of a sensitive column in it.

        Classes are numbered in the order of their cells, which is one for any sensitive column.
        """
        source = self._open_columns([*quasi, *([] if sensitive is None else [sensitive])])
        keys = [f"q{j}" for j in range(len(quasi))]
        cells = [
            f"{cell} AS {key}" for cell, key in zip(self._render_cells(source, quasi), keys, strict=True)
        ]
        order = ", ".join(f"{key} NULLS FIRST" for key in keys)
        value, codes = "0", ""
        if sensitive is not None:
            # Texts that are one value to a model have one code: somebody who has both has one value.
            value = "codes.code"
            codes = self._join_codes(sensitive)
        # First each unit once, then counted: both steps can spill, which counting what is distinct cannot.
        units = f"SELECT {', '.join(cells)}, {value} AS code, p, count(*) AS rows FROM release {codes}"
        counted = f"{', '.join(keys)}, code, count(*) AS n, sum(rows)::BIGINT AS rows"
        people = f"SELECT {counted} FROM ({units} GROUP BY ALL) GROUP BY ALL"
        number = f"SELECT dense_rank() OVER (ORDER BY {order}) - 1 AS class, code, n, rows FROM ({people})"
        found = source.query("release", f"{number} ORDER BY class, code").to_arrow_table()
        return pl.DataFrame(pl.from_arrow(found))

    def _count_people_of_values(self, name: str) -> NDArray[np.int64]:
        """How many people of the whole release have each value."""
        units = f"SELECT codes.code, p FROM release {self._join_codes(name)} GROUP BY ALL"
        query = f"SELECT code, count(*) AS n FROM ({units}) GROUP BY code"
        found = self._open_columns([name]).query("release", query).fetchnumpy()
        return sum_by_place(found["code"], found["n"])

    def count_people(self) -> int:
        """How many people the released rows are of."""
        query = "SELECT count(*) AS n FROM (SELECT p FROM release GROUP BY p)"
        ((people,),) = self._open_columns(self._names[:1]).query("release", query).fetchall()
        return int(people)

    def _count_values(
        self, quasi: Sequence[str], sensitive: str | None, code: pl.DataFrame, scale: ValueScale
    ) -> SensitiveCounts:
        """Class by class, in one order for any sensitive column: its values and how often each occurs."""
        sizes = self._number_cells(quasi)
        source = self._open_columns([*quasi, *([] if sensitive is None else [sensitive])])
        cells = self._render_cells(source, quasi)
        joins = [f"JOIN d{j} ON d{j}.cell IS NOT DISTINCT FROM {cell}" for j, cell in enumerate(cells)]
        value = "0::INTEGER"
        if sensitive is not None:
            # Texts that are one value to a model have one code, and so are one entry of their class.
            value = "codes.code"
            joins.append(self._join_codes(sensitive))
        words = _pack_numbers(sizes)
        names = [f"k{i}" for i in range(len(words))]
        keys = ", ".join(f"{word} AS {name}" for word, name in zip(words, names, strict=True))
        query = f"SELECT {keys}, {value} AS code, count(*) AS n FROM release {' '.join(joins)} GROUP BY ALL"
        self._connection.register("codes", code.to_arrow())
        # As written: rows find their numbers, and are never what is kept in memory to be found.
        self._connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        groups = source.query("release", f"{query} ORDER BY {', '.join(names)}, code")
        parts = list(_number_groups(groups, len(names)))
        self._connection.execute("RESET disabled_optimizers")
        self._connection.unregister("codes")
        # Column by column, so that there is never a second copy of everything.
        classes, values, times = (np.concatenate([part.pop(0) for part in parts]) for _ in range(3))
        return SensitiveCounts(classes, values, times, scale)

    def _number_cells(self, quasi: Sequence[str]) -> list[int]:
        """Make tables ``d0``, ``d1``, ... with the distinct cells of columns and their numbers; how many.

        Groups of numbers take a fraction of the memory that groups of cells take.
        """
        if not self._sizes:
            for first in range(0, len(quasi), _TOGETHER):
                self._list_cells(first, quasi[first : first + _TOGETHER])
            tables = [self._connection.table(f"d{j}") for j in range(len(quasi))]
            self._sizes = [len(each) for each in tables]
        return self._sizes

    def _list_cells(self, first: int, quasi: Sequence[str]) -> None:
        """Make these tables for some columns, in one pass over the release."""
        source = self._open_columns(quasi)
        names = [f"q{j}" for j in range(len(quasi))]
        cells = zip(self._render_cells(source, quasi), names, strict=True)
        inner = f"SELECT {', '.join(f'{cell} AS {name}' for cell, name in cells)} FROM release"
        sets = ", ".join(f"({name})" for name in names)
        keys = ", ".join(names)
        query = f"SELECT GROUPING({keys}) AS g, {keys} FROM ({inner}) GROUP BY GROUPING SETS ({sets})"
        source.query("release", query).create("distinct_cells")
        for j, name in enumerate(names):
            # GROUPING has a bit for each column that is not grouped by, the first one highest.
            mask = (1 << len(names)) - 1 - (1 << (len(names) - 1 - j))
            self._connection.execute(
                f"CREATE TABLE d{first + j} AS SELECT {name} AS cell, row_number() OVER () - 1 AS c "
                f"FROM distinct_cells WHERE g = {mask}"
            )
        self._connection.execute("DROP TABLE distinct_cells")

    def _join_codes(self, name: str) -> str:
        """SQL: rows of the release with the codes of their sensitive values."""
        return f"JOIN codes ON codes.s IS NOT DISTINCT FROM release.{self._name_column(name)}"

    def _open_columns(self, names: Sequence[str]) -> Any:
        """Some columns of the file, cell by cell as it stands, under names that tell where they stand in it.

        Names may be absent from the file or changed in it, and to a database ``a`` and ``A`` are one name.
        """
        if self._form.format == "parquet":
            source = self._connection.read_parquet(str(self._path))
            if (found := len(source.columns)) != len(self._names):
                raise InternalError(f"the release has {len(self._names)} columns, but {found} were written")
            there = {name: source.columns[self._names.index(name)] for name in names}
            chosen = [f"{_quote_name(there[name])} AS {self._name_column(name)}" for name in names]
            if self._people is None:
                return source.project(", ".join(chosen))
            return self._open_numbered(", ".join(chosen))
        pyarrow = import_optional("pyarrow", "shoal[scale]")
        kinds = [(self._name_column(name), pyarrow.large_string()) for name in names]
        cells = scan_cells(self._path, self._form, len(self._names))
        wanted = cells.select(str(self._names.index(name)) for name in names)
        parts = wanted.collect_batches(chunk_size=_BATCH, maintain_order=True)
        columns: Iterator[list[Any]] = (
            [each.to_arrow().cast(pyarrow.large_string()) for each in batch] for batch in parts
        )
        if self._people is not None:
            kinds, columns = [*kinds, ("p", pyarrow.int64())], _add_people(columns, self._people)
        schema = pyarrow.schema(kinds)
        batches = (pyarrow.record_batch(each, schema=schema) for each in columns)
        return self._connection.from_arrow(pyarrow.RecordBatchReader.from_batches(schema, batches))

    def _open_numbered(self, chosen: str) -> Any:
        """Columns of a Parquet file, each row with its person."""
        assert self._people is not None
        if not self._has_people:
            self._has_people = True
            person = np.memmap(self._people, np.int64, "r")
            self._connection.execute("CREATE TABLE people (place BIGINT, p BIGINT)")
            for first in range(0, person.size, _BATCH):
                part = person[first : first + _BATCH]
                rows = pl.DataFrame({"place": np.arange(first, first + part.size), "p": part})
                self._connection.register("batch", rows.to_arrow())
                self._connection.execute("INSERT INTO people SELECT * FROM batch")
                self._connection.unregister("batch")
        rows = self._connection.read_parquet(str(self._path), file_row_number=True)
        numbered = rows.project(f"{chosen}, file_row_number AS place")
        return numbered.join(self._connection.table("people"), "place")

    def _name_column(self, name: str) -> str:
        return f"x{self._names.index(name)}"

    def _render_cells(self, source: Any, names: Sequence[str]) -> list[str]:
        """Cells as their reader sees them: zero and minus zero are equal numbers, but not to a reader."""
        kinds = dict(zip(source.columns, map(str, source.types), strict=True))
        places = map(self._name_column, names)
        return [f"{at}::VARCHAR" if kinds[at] in ("FLOAT", "DOUBLE") else at for at in places]

    def make_words(self, table: str, quasi: Sequence[str], others: Sequence[str]) -> None:
        """Make a table of words: one of the quasi-identifiers of each row, and one of every other cell."""
        source = self._open_columns([*quasi, *others])
        words = [f"hash(hash({', '.join(self._render_cells(source, quasi))})) AS class"]
        words += [
            f"{hash_cell(cell, j)} AS w{j}" for j, cell in enumerate(self._render_cells(source, others))
        ]
        words += [] if self._people is None else ["p"]
        source.project(", ".join(words)).create(table)

    def list_distinct_values(self, name: str) -> pl.Series:
        """The distinct values of a column, as they stand."""
        query = f"SELECT DISTINCT {self._name_column(name)} AS s FROM release"
        return pl.DataFrame(self._open_columns([name]).query("release", query).to_arrow_table())["s"]

    def _number_values(
        self, name: str | None, columns: Mapping[str, Column]
    ) -> tuple[pl.DataFrame, ValueScale]:
        """The distinct values of a sensitive column as they stand, and the number of each."""
        if name is None:
            return pl.DataFrame({"s": [None], "code": pl.Series([0], dtype=pl.Int32)}), ValueScale()
        raw = self.list_distinct_values(name)
        code, scale = number_sensitive_values(raw, columns[name], self._form, self._na)
        return pl.DataFrame({"s": raw, "code": code}), scale


def number_sensitive_values(
    raw: pl.Series, column: Column, form: Origin, na: tuple[str, ...]
) -> tuple[NDArray[np.int32], ValueScale]:
    """Numbers of the distinct values of a released sensitive column, as they stand."""
    seen = use_safe_name(Table(pl.DataFrame([raw.alias(column.name)]), form, na).column(column.name))
    there = seen.is_not_null()
    number, scale = number_distinct_values(seen.filter(there), seen.has_nulls(), column)
    code = np.full(len(raw), number[-1], np.int32)
    code[there.to_numpy()] = number[:-1]
    return code, scale


def pick_suppressed_class(
    size: NDArray[np.int64], rows_of: NDArray[np.int64] | None, members: int, rows: int
) -> int | None:
    """The class of the rows of `*` alone, if there are several of them and other rows beside.

    ``rows`` is how many such rows there are, and ``members`` how many rows or people. Any class of as many is
    as good: only averages ask for it, to which classes differ in their sizes alone.
    """
    if 1 < rows < int((size if rows_of is None else rows_of).sum()):
        return int(np.flatnonzero(size == members)[0])
    return None


def _pack_numbers(sizes: Sequence[int]) -> list[str]:
    """SQL: the numbers of the cells of a row in as few numbers of 64 bits as hold them."""
    words, room = ["0::BIGINT"], 1
    for j, size in enumerate(sizes):
        if room * size >= 1 << 62:
            words.append("0::BIGINT")
            room = 1
        words[-1] = f"({words[-1]} * {size} + d{j}.c)"
        room *= size
    return words


def _number_groups(groups: Any, keys: int) -> Iterator[list[NDArray[Any]]]:
    """Sorted groups batch by batch: the number of the class, the code of the value, and the count.

    The first ``keys`` columns tell the class.
    """
    last: list[Any] = [None] * keys
    number = -1
    for batch in groups.to_arrow_reader(_FETCHED):
        *words, code, times = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
        new = np.zeros(batch.num_rows, np.bool_)
        for word, before in zip(words, last, strict=True):
            new[1:] |= word[1:] != word[:-1]
            # A class may go on over the border of two batches.
            new[0] |= before is None or word[0] != before
        of_row = number + np.cumsum(new)
        last, number = [word[-1] for word in words], int(of_row[-1])
        # Copies, which keep nothing else of the batch in memory.
        yield [of_row.astype(np.int32), code.astype(np.int32), times.astype(np.int64)]


def _add_people(columns: Iterable[list[Any]], people: Path) -> Iterator[list[Any]]:
    """Columns of rows, batch by batch, and whose each row is by a file that has them in the same order."""
    with people.open("rb") as file:
        for each in columns:
            person = np.fromfile(file, np.int64, len(each[0]))
            if person.size != len(each[0]):
                raise InternalError("the release has more rows than were written")
            yield [*each, person]


def hash_cell(cell: str, number: int) -> str:
    """SQL: the word of a cell; columns differ in their ``number``, so that equal cells have other words."""
    return f"hash(xor(hash({cell}), hash({number})))"


def _quote_name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
