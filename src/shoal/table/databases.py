"""Tables of databases: read in batches, and written in one transaction that is read again before it ends.

The rows of a release come from a file that was judged. The new table must have the same cells, or the
transaction is rolled back: a database that cannot hold a value as it is gets nothing.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import polars as pl

from shoal.errors import InputError, OutputError, ShoalError, quote, unknown
from shoal.support.addresses import check_address
from shoal.support.files import check_target
from shoal.table.formats import import_optional
from shoal.table.frames import to_strings

_BATCH = 1 << 16  # rows that are in memory at once
_EXISTS = "exists"  # the parameter of an address that says what happens to a table that is there
_EXACT = 1 << 53  # whole floats below are integers, one each

Existing = Literal["error", "replace"]


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A database, and a table in it: what an address of one says."""

    address: str
    scheme: str
    target: str
    """What is connected to: a file, or the address without what only Shoal understands."""
    table: str | None
    existing: Existing

    @classmethod
    def parse(cls, address: str) -> DatabaseTable:
        """Read ``sqlite:///FILE#TABLE``, ``duckdb:///FILE#TABLE`` or ``postgresql://USER@HOST/NAME#TABLE``."""
        check_address(address)
        parts = urlsplit(address)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        existing = dict(pairs).get(_EXISTS, "error")
        if existing not in ("error", "replace"):
            raise InputError(f"{address}: {unknown('value of exists', existing, ('error', 'replace'))}")
        rest = urlencode([pair for pair in pairs if pair[0] != _EXISTS])
        table = unquote(parts.fragment) or None
        if parts.scheme in ("sqlite", "duckdb"):
            if parts.netloc or len(parts.path) < 2:
                raise InputError(
                    f"{address} names no file: write {parts.scheme}:///FILE#TABLE, or with four strokes for "
                    "a path from the root"
                )
            return cls(address, parts.scheme, unquote(parts.path[1:]), table, existing)  # type: ignore[arg-type]
        target = urlunsplit(("postgresql", parts.netloc, parts.path, rest, ""))
        return cls(address, "postgresql", target, table, existing)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """The address as messages name it."""
        return self.address.partition("?")[0].partition("#")[0]

    def choose_query(self, query: str | None) -> str:
        """What is read: a query, or the whole table."""
        if (query is None) == (self.table is None):
            both = "not both" if self.table else "one of them"
            raise InputError(
                f"{self.name}: name a table, as {self.name}#TABLE, or give a query with --query; {both}"
            )
        # A semicolon at the end is usual, and would end what the query stands in.
        return f"select * from {quote_table(self.table)}" if self.table else str(query).strip().rstrip(";")


def quote_name(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def quote_table(name: str) -> str:
    """The name of a table, which may follow that of its schema and a point."""
    return ".".join(map(quote_name, name.split(".", 1)))


def load_table(address: str, query: str | None, path: Path) -> None:
    """Write a table of a database, or what a query finds, to a Parquet file, a batch at a time."""
    where = DatabaseTable.parse(address)
    chosen = where.choose_query(query)
    pyarrow = import_optional("pyarrow", "shoal[arrow]")
    parquet = import_optional("pyarrow.parquet", "shoal[arrow]")
    with _explain(where, InputError), _connect(where, for_reading=True) as database:
        batches = database.fetch(chosen)
        first = next(batches)
        schema = first.to_arrow(compat_level=pl.CompatLevel.oldest()).schema
        with parquet.ParquetWriter(path, schema) as writer:
            for batch in _chain(first, batches):
                rows = batch.to_arrow(compat_level=pl.CompatLevel.oldest())
                writer.write_table(pyarrow.table(rows).cast(schema))


def check_target_table(address: str) -> None:
    """Raise an error unless a table can be made: connect, and see whether there is one already."""
    where = _parse_target(address)
    with _explain(where, OutputError), _connect(where, for_reading=False) as database:
        _refuse_existing(where, database)


def store_table(path: Path, address: str) -> None:
    """Make a table of a Parquet file in one transaction, which ends well only if it has the same cells.

    Raises
    ------
    OutputError
        When the table could not be made; the database is as it was.
    """
    where = _parse_target(address)
    table = str(where.table)
    import_optional("pyarrow", "shoal[arrow]")
    with (
        _explain(where, OutputError),
        _connect(where, for_reading=False) as database,
        database.change() as keep,
    ):
        _refuse_existing(where, database)
        database.drop(table)
        database.create(table, map(database.prepare, _scan_file(path)))
        again = database.fetch(f"select * from {quote_table(table)}")
        _compare_rows(where, map(database.prepare, _scan_file(path)), again)
        keep()


def _parse_target(address: str) -> DatabaseTable:
    where = DatabaseTable.parse(address)
    if where.table is None:
        raise OutputError(f"{where.name}: say which table, as {where.name}#TABLE")
    return where


def _refuse_existing(where: DatabaseTable, database: Database) -> None:
    if where.existing == "error" and database.has_table(str(where.table)):
        raise OutputError(
            f"{where.name} has a table '{where.table}' already: name another, or say that it is to be "
            f"replaced by {where.name}?exists=replace#{where.table}"
        )


def _scan_file(path: Path) -> Iterator[pl.DataFrame]:
    parquet = import_optional("pyarrow.parquet", "shoal[arrow]")
    with parquet.ParquetFile(path) as file:
        schema = pl.read_parquet_schema(path)
        empty = True
        for batch in file.iter_batches(_BATCH):
            empty = False
            # pyarrow may choose other types than polars; the schema of the file decides.
            yield pl.DataFrame(pl.from_arrow(batch)).cast(dict(schema))  # type: ignore[arg-type]
        if empty:
            yield pl.DataFrame(schema=schema)


def _chain(first: pl.DataFrame, rest: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    yield from rest


def _compare_rows(where: DatabaseTable, sent: Iterable[pl.DataFrame], found: Iterable[pl.DataFrame]) -> None:
    """Raise an OutputError unless a table has the rows that were sent, cell by cell and in their order."""
    left, right = _Rows(sent), _Rows(found)
    while True:
        one = left.take(_BATCH)
        other = right.take(_BATCH)
        if one.columns != other.columns:
            raise _refuse_change(where, f"columns are named {quote(other.columns)}")
        if one.height != other.height:
            raise _refuse_change(where, "rows are missing")
        if not one.height:
            return
        for name in one.columns:
            try:
                same = other[name].cast(one[name].dtype).eq_missing(one[name]).all()
            except pl.exceptions.PolarsError:
                same = False
            if not same:
                raise _refuse_change(
                    where, f"column '{name}' has other values, because its type cannot hold them"
                )


def _refuse_change(where: DatabaseTable, what: str) -> OutputError:
    return OutputError(f"{where.name}: in table '{where.table}' {what}; nothing was written")


class _Rows:
    """Rows from batches of any size."""

    def __init__(self, batches: Iterable[pl.DataFrame]) -> None:
        self._batches = iter(batches)
        self._left = next(self._batches)

    def take(self, rows: int) -> pl.DataFrame:
        """So many rows, or what is left."""
        while self._left.height < rows:
            following = next(self._batches, None)
            if following is None:
                break
            self._left = pl.concat([self._left, following], how="vertical_relaxed")
        taken, self._left = self._left.head(rows), self._left.slice(rows)
        return taken


# Databases


class Database(ABC):
    """A connection; what it has begun is undone unless it is kept."""

    @abstractmethod
    def fetch(self, query: str) -> Iterator[pl.DataFrame]:
        """Yield what a query finds, at least one batch, all of one schema."""

    @abstractmethod
    def has_table(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""

    @abstractmethod
    def drop(self, table: str) -> None:
        """Remove a table, if it is there."""

    @abstractmethod
    def create(self, table: str, batches: Iterator[pl.DataFrame]) -> None:
        """Make a table of at least one batch."""

    @abstractmethod
    def change(self) -> AbstractContextManager[Callable[[], None]]:
        """Begin a transaction; it is undone at the end unless what it lends was called."""

    @abstractmethod
    def prepare(self, batch: pl.DataFrame) -> pl.DataFrame:
        """A batch in the types that the database has."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""


def _to_text(series: pl.Series) -> pl.Series:
    return to_strings(series).alias(series.name)


def _shorten_integers(series: pl.Series) -> pl.Series:
    """Whole numbers as integers of at most 64 bits."""
    try:
        return series.cast(pl.Int64)
    except pl.exceptions.PolarsError:
        raise OutputError(
            f"column '{series.name}' has integers that the database does not have; write a file"
        ) from None


def _convert_columns(batch: pl.DataFrame, convert: Callable[[pl.Series], pl.Series | None]) -> pl.DataFrame:
    found = [convert(series) for series in batch.get_columns()]
    return pl.DataFrame([old if new is None else new for old, new in zip(batch, found, strict=True)])


def _refuse_missing(path: Path) -> InputError:
    """That there is no file of a database, with the cause by which that is about files."""
    error = InputError(f"{path}: no such file")
    error.__cause__ = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return error


class SqliteDatabase(Database):
    """A file of SQLite, by the standard library."""

    def __init__(self, where: DatabaseTable, for_reading: bool) -> None:
        self._path = Path(where.target)
        self._is_new = not self._path.exists()
        if for_reading and self._is_new:
            raise _refuse_missing(self._path)
        if not for_reading:
            check_target(self._path)
        mode = "ro" if for_reading else "rwc"
        name = f"{self._path.absolute().as_uri()}?mode={mode}"
        self._connection = sqlite3.connect(name, uri=True, isolation_level=None)

    def fetch(self, query: str) -> Iterator[pl.DataFrame]:
        """Yield rows; the type of a column follows from the kinds of all its values."""
        # What is no query fails in here: some of it, as "vacuum into", would write from a database that is
        # only read.
        self._connection.execute(f"select 1 from ({query}\n) limit 0")
        cursor = self._connection.execute(query)
        schema = self._find_types(query, [each[0] for each in cursor.description])
        empty = True
        while rows := cursor.fetchmany(_BATCH):
            empty = False
            columns = zip(*rows, strict=True)
            yield _join_columns(
                [_make_column(name, kind, each) for (name, kind), each in zip(schema, columns, strict=True)]
            )
        if empty:
            yield _join_columns([pl.Series(name, [], kind) for name, kind in schema])

    def _find_types(self, query: str, names: Sequence[str]) -> list[tuple[str, Any]]:
        kinds = ("integer", "real", "text", "blob")
        # By names of our own, since SQLite makes others in a subquery where it pleases.
        own = [f"c{at}" for at in range(len(names))]
        asked = ", ".join(
            [f"max(typeof({name}) = '{kind}')" for name in own for kind in kinds]
            + [
                f"max(typeof({name}) = 'integer' and not {name} between -{_EXACT} and {_EXACT})"
                for name in own
            ]
        )
        given = f"with given({', '.join(own)}) as ({query}\n) select {asked} from given"
        row = self._connection.execute(given).fetchone()
        found = []
        for at, name in enumerate(names):
            there = {kind for kind, is_there in zip(kinds, row[4 * at : 4 * at + 4], strict=True) if is_there}
            found.append((name, _choose_type(there, bool(row[4 * len(names) + at]))))
        return found

    def has_table(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name; SQLite takes no notice of case."""
        asked = "select count(*) from sqlite_master where lower(name) = lower(?)"
        return bool(self._connection.execute(asked, (table,)).fetchone()[0])

    def drop(self, table: str) -> None:
        """Remove a table, if it is there."""
        self._connection.execute(f"drop table if exists {quote_name(table)}")

    def create(self, table: str, batches: Iterator[pl.DataFrame]) -> None:
        """Make a table, row by row."""
        first = next(batches)
        types = {pl.Int64: "INTEGER", pl.Float64: "REAL", pl.Binary: "BLOB"}
        columns = [f"{quote_name(n)} {types.get(type(kind), 'TEXT')}" for n, kind in first.schema.items()]
        self._connection.execute(f"create table {quote_name(table)} ({', '.join(columns)})")
        marks = ", ".join("?" * first.width)
        for batch in _chain(first, batches):
            self._connection.executemany(
                f"insert into {quote_name(table)} values ({marks})", batch.iter_rows()
            )

    @contextmanager
    def change(self) -> Iterator[Callable[[], None]]:
        """Hold the lock of the file from the beginning; a file that was made for this goes with it."""
        done: list[bool] = []
        self._connection.execute("begin immediate")
        try:
            yield lambda: done.append(bool(self._connection.execute("commit")))
        finally:
            if not done:
                with suppress(sqlite3.Error):
                    self._connection.execute("rollback")

    def prepare(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Numbers, texts and bytes: SQLite has nothing else; NaN, which it has not, is missing."""

        def convert(series: pl.Series) -> pl.Series | None:
            dtype = series.dtype
            if dtype.is_integer():
                return _shorten_integers(series)
            if dtype == pl.Boolean:
                return series.cast(pl.Int64)
            if dtype.is_float():
                return series.cast(pl.Float64).fill_nan(None)
            return None if dtype in (pl.String, pl.Binary) else _to_text(series)

        return _convert_columns(batch, convert)

    def close(self) -> None:
        """End the connection, and remove a file in which nothing was kept."""
        self._connection.close()
        if self._is_new and self._path.exists() and self._path.stat().st_size == 0:
            self._path.unlink()


def _choose_type(kinds: set[str], has_long: bool) -> Any:
    """The type of a column of SQLite whose values are of these kinds."""
    if kinds == {"integer"}:
        return pl.Int64
    if kinds and kinds <= {"integer", "real"} and not has_long:
        return pl.Float64
    return pl.Binary if kinds == {"blob"} else pl.String


def _join_columns(columns: Sequence[pl.Series]) -> pl.DataFrame:
    """A batch, whose columns must have names of their own."""
    names = [each.name for each in columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"several columns are named {quote(twice)}: name them apart in the query")
    return pl.DataFrame(columns)


def _make_column(name: str, kind: Any, values: Sequence[Any]) -> pl.Series:
    if kind == pl.String:
        texts = [each if each is None or isinstance(each, str) else _spell(each) for each in values]
        return pl.Series(name, texts, pl.String)
    return pl.Series(name, values, kind, strict=kind != pl.Float64)


def _spell(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


class DuckDatabase(Database):
    """A file of DuckDB."""

    def __init__(self, where: DatabaseTable, for_reading: bool) -> None:
        duckdb = import_optional("duckdb", "shoal[scale]")
        self._path = Path(where.target)
        self._is_new = not self._path.exists()
        if for_reading and self._is_new:
            raise _refuse_missing(self._path)
        if not for_reading:
            check_target(self._path)
        self._connection = duckdb.connect(str(self._path), read_only=for_reading)
        self._kept = False

    def fetch(self, query: str) -> Iterator[pl.DataFrame]:
        """Yield rows in the order that they were written in."""
        # Others would write: "copy" makes files, also from a database that is only read.
        if [each.type.name for each in self._connection.extract_statements(query)] != ["SELECT"]:
            raise InputError("this is no query: give one statement that selects rows")
        reader = self._connection.sql(query).to_arrow_reader(_BATCH)
        yield pl.DataFrame(pl.from_arrow(reader.schema.empty_table()))
        for batch in reader:
            yield pl.DataFrame(pl.from_arrow(batch))

    def has_table(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""
        schema, point, name = table.partition(".")
        asked = "select count(*) from information_schema.tables where lower(table_name) = lower(?)"
        found = self._connection.execute(
            asked
            + (" and lower(table_schema) = lower(?)" if point else " and table_schema = current_schema()"),
            [name, schema] if point else [table],
        )
        return bool(found.fetchone()[0])

    def drop(self, table: str) -> None:
        """Remove a table, if it is there."""
        self._connection.execute(f"drop table if exists {quote_table(table)}")

    def create(self, table: str, batches: Iterator[pl.DataFrame]) -> None:
        """Make a table, batch by batch."""
        for at, batch in enumerate(batches):
            self._connection.register("shoal_batch", batch.to_arrow(compat_level=pl.CompatLevel.oldest()))
            begin = (
                f"create table {quote_table(table)} as" if at == 0 else f"insert into {quote_table(table)}"
            )
            self._connection.execute(f"{begin} select * from shoal_batch")
            self._connection.unregister("shoal_batch")

    @contextmanager
    def change(self) -> Iterator[Callable[[], None]]:
        """Begin a transaction."""

        def keep() -> None:
            self._connection.execute("commit")
            self._kept = True

        self._connection.execute("begin transaction")
        try:
            yield keep
        finally:
            if not self._kept:
                with suppress(Exception):  # the connection may be gone, and then so is all that was begun
                    self._connection.execute("rollback")

    def prepare(self, batch: pl.DataFrame) -> pl.DataFrame:
        """What DuckDB has a type for, as it is; categories and lengths of time as texts."""

        def convert(series: pl.Series) -> pl.Series | None:
            return _to_text(series) if series.dtype in (pl.Categorical, pl.Enum, pl.Duration) else None

        return _convert_columns(batch, convert)

    def close(self) -> None:
        """End the connection, and remove a file in which nothing was kept."""
        self._connection.close()
        if self._is_new and not self._kept:
            self._path.unlink(missing_ok=True)


class PostgresDatabase(Database):
    """A server of PostgreSQL, by its ADBC driver: rows travel as Arrow data, and in batches."""

    def __init__(self, where: DatabaseTable, for_reading: bool) -> None:
        dbapi = import_optional("adbc_driver_postgresql.dbapi", "shoal[postgres]")
        import_optional("pyarrow", "shoal[arrow]")
        self._connection = dbapi.connect(where.target)
        self._cursor = self._connection.cursor()
        if for_reading:  # whatever the query says
            self._cursor.execute("set transaction read only")

    def fetch(self, query: str) -> Iterator[pl.DataFrame]:
        """Yield rows; types that polars does not have are brought as the texts that the server writes."""
        schema = self._cursor.adbc_execute_schema(query)
        columns = [
            f"{quote_name(each.name)}::text" if _is_foreign(each) else quote_name(each.name)
            for each in schema
        ]
        named = [f"{each} as {quote_name(of.name)}" for each, of in zip(columns, schema, strict=True)]
        self._cursor.execute(f"select {', '.join(named)} from ({query}\n) as shoal_query")
        reader = self._cursor.fetch_record_batch()
        yield pl.DataFrame(pl.from_arrow(reader.schema.empty_table()))
        for batch in reader:
            yield pl.DataFrame(pl.from_arrow(batch))

    def has_table(self, table: str) -> bool:
        """Whether there is a table, or a view, of that name."""
        self._cursor.execute("select to_regclass($1)::text", (quote_table(table),))
        return self._cursor.fetchone()[0] is not None

    def drop(self, table: str) -> None:
        """Remove a table, if it is there."""
        self._cursor.execute(f"drop table if exists {quote_table(table)}")

    def create(self, table: str, batches: Iterator[pl.DataFrame]) -> None:
        """Make a table; a batch is on its way while the next is read."""
        schema, point, name = table.partition(".")
        place: Mapping[str, Any] = {"db_schema_name": schema} if point else {}
        pyarrow = import_optional("pyarrow", "shoal[arrow]")
        first = next(batches)
        arrow = first.to_arrow(compat_level=pl.CompatLevel.oldest()).schema
        rows = (
            record.cast(arrow)
            for batch in _chain(first, batches)
            for record in batch.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()
        )
        reader = pyarrow.RecordBatchReader.from_batches(arrow, rows)
        self._cursor.adbc_ingest(name if point else table, reader, mode="create", **place)

    @contextmanager
    def change(self) -> Iterator[Callable[[], None]]:
        """The connection is in a transaction already; it ends here."""
        done: list[object] = []
        try:
            yield lambda: done.append(self._connection.commit())
        finally:
            if not done:
                with suppress(Exception):  # the connection may be gone, and then so is all that was begun
                    self._connection.rollback()

    def prepare(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Signed integers, and categories and lengths of time as texts."""

        def convert(series: pl.Series) -> pl.Series | None:
            dtype = series.dtype
            if dtype in (pl.Categorical, pl.Enum, pl.Duration):
                return _to_text(series)
            if dtype.is_unsigned_integer() or dtype in (pl.Int128, pl.Int8):
                return _shorten_integers(series)
            return None

        return _convert_columns(batch, convert)

    def close(self) -> None:
        """End the connection; what was not kept is undone."""
        with suppress(Exception):  # it may be gone
            self._cursor.close()
        with suppress(Exception):
            self._connection.close()


def _is_foreign(of: Any) -> bool:
    """Whether a column of PostgreSQL has a type that Arrow, or polars, has no values for."""
    kind = str(of.type)
    return kind.startswith(("extension", "month_day_nano", "duration")) or b"numeric" in (
        (of.metadata or {}).get(b"ADBC:postgresql:typname", b"")
    )


_DATABASES: dict[str, type[Any]] = {
    "sqlite": SqliteDatabase,
    "duckdb": DuckDatabase,
    "postgresql": PostgresDatabase,
}


@contextmanager
def _connect(where: DatabaseTable, for_reading: bool) -> Iterator[Database]:
    database: Database = _DATABASES[where.scheme](where, for_reading)
    try:
        yield database
    finally:
        database.close()


# Errors

_LOST = re.compile(r"connection|terminat|closed the|could not (translate|receive|send)|timeout|locked", re.I)
_DENIED = re.compile(r"authentication|permission denied|no password|password", re.I)


@dataclass(frozen=True)
class _Failure:
    """What a driver said, in one line."""

    text: str
    state: str | None = field(default=None)

    @classmethod
    def of(cls, error: BaseException) -> _Failure:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        told = lines[0] if lines else type(error).__name__
        for mark in ("FATAL:", "ERROR:"):
            if mark in str(error):
                told = str(error).split(mark, 1)[1].strip().splitlines()[0]
        told = re.sub(r"^[A-Z_]+: (\[libpq\] )?|^[A-Za-z]+ Error: ", "", told)
        return cls(told.strip(), getattr(error, "sqlstate", None))

    def as_os_error(self) -> OSError | None:
        """The error of the system that is like it, by which a scheduler is told whether to try again."""
        if _DENIED.search(self.text) or str(self.state).startswith(("28", "42501")):
            return PermissionError(errno.EACCES, self.text)
        if _LOST.search(self.text) or str(self.state).startswith(("08", "57P", "53")):
            return ConnectionResetError(errno.ECONNRESET, self.text)
        return None


@contextmanager
def _explain(where: DatabaseTable, kind: type[InputError] | type[OutputError]) -> Iterator[None]:
    """Say in one line what a database refused, and by a cause what kind of failure that is."""
    try:
        yield
    except ShoalError:
        raise
    except Exception as error:
        if isinstance(error, MemoryError):
            raise
        failure = _Failure.of(error)
        denied = "; credentials come from the environment: PGUSER and PGPASSWORD, or a file of passwords"
        cause = failure.as_os_error()
        hint = denied if where.scheme == "postgresql" and isinstance(cause, PermissionError) else ""
        done = "" if kind is InputError else "; nothing was written"
        raise kind(f"{where.name}: {failure.text}{hint}{done}") from (cause or error)
