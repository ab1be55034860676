"""What an outsider reads in a written release: every cell as its reader will see it.

Nothing is shared with the way a release is made or written. The file is opened anew, its columns are taken
by position, and a cell of a text format is the text that stands there; a typed cell is its value in full
precision. Quasi-identifiers are told apart as finely as any reader could, down to the spelling of a number in
JSON. Sensitive values are read as values, since spellings of one value protect nobody.
"""

from __future__ import annotations

import gzip
import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InternalError
from shoal.table.formats import import_optional
from shoal.table.frames import Origin, use_safe_name
from shoal.table.readers import read_by_extension

# A key and its value in a line of JSON that has no objects or lists inside.
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_VALUE = rf'(?:{_STRING}|[^\s",:{{}}\[\]]+)'
_PAIR = rf"{_STRING}\s*:\s*{_VALUE}"
_PARTS = rf"^(?P<key>{_STRING})\s*:\s*(?P<value>.*)$"

_Source = Path | bytes
_MOST_KEYS = 200
_SHORT = 1 << 14  # rows up to which all columns are numbered at once
_SAMPLE = 4096  # rows by which it is guessed whether most cells of a column differ
# Numbered as texts: -0.0 and 0.0 are equal as floats, but not to a reader.
_NAMED = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)
_LARGEST = 1 << 62  # what the numbers of several columns make together
_DENSE = 1 << 16  # and up to which, with some more per row, what occurs is marked in a list


def read_release(
    path: Path,
    layout: Origin,
    names: Sequence[str],
    quasi: Sequence[str],
    sensitive: Sequence[str],
    *,
    as_spelt: bool = True,
) -> pl.DataFrame:
    """Read the quasi-identifiers and the sensitive columns of a file that was written as a release.

    Parameters
    ----------
    layout
        How it was written: format, compression, delimiter, encoding, line ends, header.
    names
        All columns of the release, in their order.
    as_spelt
        Whether quasi-identifiers in JSON are given as they are spelt, or as values, which can be compared
        with those of another file.

    Raises
    ------
    InternalError
        When the file does not have the columns of the release.
    """
    # By position: writers may change names, to make them safe for spreadsheets.
    place = {name: at for at, name in enumerate(names)}
    wanted = [place[name] for name in (*quasi, *sensitive)]
    with _open_unpacked(path, layout) as source:
        if layout.format == "jsonl":
            spelt = _read_written_lines(source, names, wanted).get_columns()
            kept = len(quasi) if as_spelt else 0
            columns = [*spelt[:kept], *map(decode_json, spelt[kept:])]
        else:
            columns = _read_columns(source, layout, len(names), wanted).get_columns()
    return pl.DataFrame([series.alias(names[at]) for at, series in zip(wanted, columns, strict=True)])


def number_cells(column: pl.Series) -> tuple[NDArray[np.int64], int]:
    """Number the values of a column; give the number of each row, and how many there are; null is the last.

    Values are told apart by all that they hold: a time by its nanoseconds, 0.0 from -0.0.
    """
    if column.dtype.is_float() or column.dtype in _NAMED:
        text = column.cast(pl.String)
        if _seems_diverse(text) and (found := _number_by_hash(text)) is not None:
            return found
        number = text.cast(pl.Categorical(pl.Categories.random())).to_physical()
    else:
        number = column.to_physical().rank("dense")
    null = int(number.max() or 0) + 1  # type: ignore[arg-type]
    return number.fill_null(null).to_numpy().astype(np.int64), null + 1


def _seems_diverse(text: pl.Series) -> bool:
    """Whether most cells of a long column seem to differ from all others."""
    if len(text) <= _SHORT:
        return False
    sample = text.gather_every(max(len(text) // _SAMPLE, 1))
    return 10 * sample.n_unique() > 9 * len(sample)


def _number_by_hash(text: pl.Series) -> tuple[NDArray[np.int64], int] | None:
    """The same for texts of which many differ: to sort numbers takes less than to keep all texts.

    None where two different texts have one hash; then they must be told apart in another way.
    """
    hashed = text.hash().to_numpy()
    order = np.argsort(hashed)
    ordered = hashed[order]
    begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    example = np.minimum.reduceat(order, np.flatnonzero(begins))  # the first row of each text
    which = np.empty(hashed.size, np.int64)
    which[order] = np.cumsum(begins) - 1
    if not text.gather(example[which]).eq_missing(text).all():
        return None
    is_first = np.zeros(hashed.size, np.bool_)
    is_first[example] = True
    is_first &= text.is_not_null().to_numpy()
    count = int(np.count_nonzero(is_first))
    number = (np.cumsum(is_first) - 1)[example][which]  # in order of appearance
    number[text.is_null().to_numpy()] = count
    return number, count + 1


class CellNumbers:
    """The cells of a frame, numbered as `number_cells` does.

    Those of a short frame are numbered all at once, because to ask polars for each of thousands of columns
    takes longer than to number them. Long columns are numbered when they are asked for.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self._place: dict[str, int] = {}
        self._ranks: NDArray[np.int64] | None = None
        self._kept: dict[str, tuple[NDArray[np.unsignedinteger], int]] = {}
        self._rows: tuple[tuple[str, ...], NDArray[np.uint32]] | None = None

    def number_rows(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Number rows as `number_rows` does, by the cells of some columns."""
        key = tuple(names)
        # Several checks ask for the classes: the last answer is kept.
        if self._rows is None or self._rows[0] != key:
            found = _combine_numbers((self.number_column(name) for name in names), self._frame.height)
            self._rows = key, found.astype(np.uint32)  # of rows there are fewer
        return self._rows[1].astype(np.int64)

    def number_column(self, name: str) -> tuple[NDArray[np.int64], int]:
        """Number the values of a column; null is the last."""
        if self._frame.height > _SHORT:
            return self._number_long_column(name)
        if self._ranks is None:
            self._place = {each: at for at, each in enumerate(self._frame.columns)}
            self._ranks = _rank_cells(self._frame)
        number = self._ranks[:, self._place[name]]
        null = int(number.max(initial=0)) + 1
        return np.where(number == 0, null, number), null + 1

    def _number_long_column(self, name: str) -> tuple[NDArray[np.int64], int]:
        """Number a column once, and keep the numbers in as few bytes as they need."""
        if name not in self._kept:
            number, count = number_cells(use_safe_name(self._frame.get_column(name)))
            self._kept[name] = number.astype(np.min_scalar_type(count)), count
        kept, count = self._kept[name]
        return kept.astype(np.int64), count


def _rank_cells(frame: pl.DataFrame) -> NDArray[np.int64]:
    """[rows, columns] the rank of each cell among the distinct ones of its column, from 1; null is 0."""
    # Under their positions: polars takes a name like '^a$' for a pattern.
    cells = pl.DataFrame([series.alias(str(at)) for at, series in enumerate(frame.get_columns())])
    named = [str(at) for at, kind in enumerate(cells.dtypes) if kind.is_float() or kind in _NAMED]
    ranks = cells.with_columns(pl.col(named).cast(pl.String)).select(
        pl.all().to_physical().rank("dense").fill_null(0).cast(pl.Int64)
    )
    return ranks.to_numpy(order="fortran")


def number_rows(columns: Sequence[pl.Series]) -> NDArray[np.int64]:
    """Number rows so that those with equal cells, and only those, have equal numbers, from 0."""
    return _combine_numbers((number_cells(column) for column in columns), len(columns[0]))


def _combine_numbers(cells: Iterable[tuple[NDArray[np.int64], int]], rows: int) -> NDArray[np.int64]:
    """Number rows by the numbers of their cells in several columns, and how many there are in each."""
    key, size = np.zeros(rows, np.int64), 1
    dense = _DENSE + 16 * rows
    for number, count in cells:
        # Ranks as long as a list of all keys is short: a list is faster than to sort, and ranks stay few.
        if size * count > _LARGEST or size <= dense < size * count:
            key, size = _rank_keys(key, size, dense)
        key *= count
        key += number
        size *= count
    return _rank_keys(key, size, dense)[0]


def _rank_keys(key: NDArray[np.int64], size: int, dense: int) -> tuple[NDArray[np.int64], int]:
    """The rank of each key below ``size`` among those that occur, from 0; and how many occur."""
    if size > dense:
        distinct, rank = np.unique(key, return_inverse=True)
        return rank, distinct.size
    occurs = np.zeros(size, np.bool_)
    occurs[key] = True
    rank = np.cumsum(occurs, dtype=np.uint32)  # of rows there are fewer
    return rank[key].astype(np.int64) - 1, int(rank[-1])


def read_json_cells(path: Path, layout: Origin, names: Sequence[str]) -> pl.DataFrame:
    """The values in a file of JSON lines as they are spelt; null where a line does not have the key."""
    with _open_unpacked(path, layout) as source:
        return _read_json_lines(source, names)


@contextmanager
def _open_unpacked(path: Path, layout: Origin) -> Iterator[_Source]:
    """The file itself, or its content where it is compressed or its text is not UTF-8."""
    is_text = layout.format in ("text", "jsonl", None)
    # polars scans a plain file piece by piece; everything else is read whole.
    if layout.compression is None and not (is_text and layout.encoding != "utf-8"):
        yield path
        return
    with _open_compressed(path, layout) as stream:
        content = stream.read()
    if is_text and layout.encoding != "utf-8":
        content = content.decode(layout.encoding).encode()
    yield content


def _open_compressed(path: Path, layout: Origin) -> IO[bytes]:
    if layout.compression == "gzip":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if layout.compression == "zstd":
        return import_optional("zstandard", "shoal[zstd]").open(path, "rb")  # type: ignore[no-any-return]
    return path.open("rb")


def _read_columns(source: _Source, layout: Origin, count: int, wanted: Sequence[int]) -> pl.DataFrame:
    """Some columns by position, of a file that must have ``count`` of them."""
    return scan_cells(source, layout, count).select(str(at) for at in wanted).collect()


def scan_cells(source: _Source, layout: Origin, count: int) -> pl.LazyFrame:
    """The columns of a file that must have ``count`` of them, called by their positions: 0, 1, ..."""
    cells = _SCANNERS.get(layout.format or "text", _scan_by_extension)(source, layout)
    if (found := len(cells.collect_schema())) != count:
        raise InternalError(f"the release has {count} columns, but {found} were written")
    return cells.rename({name: str(at) for at, name in enumerate(cells.collect_schema())})


def _scan_text(source: _Source, layout: Origin) -> pl.LazyFrame:
    """Delimited text; an empty cell in quotes is not the same as an empty one without."""
    return pl.scan_csv(
        source,
        has_header=layout.header,
        separator=layout.delimiter,
        # "\r\n" needs no case of its own: polars drops the "\r".
        eol_char="\r" if layout.newline == "\r" else "\n",
        infer_schema=False,
        glob=False,
        # Names may repeat those of other columns once they are made safe, so they are not looked at.
        with_column_names=lambda names: [f"column {at}" for at in range(len(names))],
    )


def _scan_arrow(source: _Source, layout: Origin) -> pl.LazyFrame:
    if layout.is_stream:
        return pl.read_ipc_stream(source).lazy()
    return pl.scan_ipc(source, glob=False)


def _scan_excel(source: _Source, layout: Origin) -> pl.LazyFrame:
    book = import_optional("fastexcel", "shoal[excel]").read_excel(source)
    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it warns of columns without values
    # As it stands there: polars would make integers of floats that are whole.
    cells = pl.DataFrame(book.load_sheet(0, schema_sample_rows=None).to_polars())
    if missing := _count_sheet_rows(source) - cells.height:  # rows without values at the end are not read
        cells = pl.concat([cells, pl.DataFrame(schema=cells.schema).clear(missing)])
    return cells.lazy()


def _count_sheet_rows(source: _Source) -> int:
    """The number of rows below the header that a sheet says it has."""
    with zipfile.ZipFile(source if isinstance(source, Path) else BytesIO(source)) as book:
        sheet = book.read("xl/worksheets/sheet1.xml")
    found = re.search(rb'<dimension ref="[A-Z]+[0-9]+(?::[A-Z]+([0-9]+))?"', sheet)
    return int(found[1] or 1) - 1 if found else 0


def _scan_by_extension(source: _Source, layout: Origin) -> pl.LazyFrame:
    """What the reader of a format makes of the file; it shares nothing with its writer but the class."""
    content = source.read_bytes() if isinstance(source, Path) else source
    return read_by_extension(str(layout.format), BytesIO(content), str(layout.path)).lazy()


_SCANNERS: dict[str, Callable[[_Source, Origin], pl.LazyFrame]] = {
    "text": _scan_text,
    "parquet": lambda source, _: pl.scan_parquet(source, glob=False),
    "arrow": _scan_arrow,
    "excel": _scan_excel,
}


def _read_written_lines(source: _Source, names: Sequence[str], wanted: Sequence[int]) -> pl.DataFrame:
    """Some values of lines that should have all keys in their order, as they are spelt."""
    if len(names) > _MOST_KEYS:  # too long for one pattern
        return _read_json_lines(source, [names[at] for at in wanted])
    keys = [re.escape(json.dumps(name, ensure_ascii=False)) for name in names]
    # The writer's layout is only expected; a line of another one is parsed below.
    groups = [f"(?P<c{at}>{_VALUE})" if at in wanted else _VALUE for at in range(len(names))]
    line = ",".join(f"{key}:{group}" for key, group in zip(keys, groups, strict=True))
    lines = pl.scan_lines(source, glob=False).filter(pl.col("line") != "")
    found = lines.select(pl.col("line").str.extract_groups(rf"^\{{{line}\}}$")).unnest("line").collect()
    columns = [found[f"c{at}"] for at in wanted]
    if any(series.has_nulls() for series in columns):  # spelt in another way than expected: look closer
        return _read_json_lines(source, [names[at] for at in wanted])
    return pl.DataFrame([series.alias(str(at)) for at, series in enumerate(columns)])


def _read_json_lines(source: _Source, names: Sequence[str]) -> pl.DataFrame:
    """The value of every key, as it is spelt: 34, 34.0 and 3.4e1 are three; null where the key is absent."""
    lines = pl.scan_lines(source, glob=False).filter(pl.col("line").str.strip_chars() != "")
    pairs = lines.select(pl.col("line").str.extract_all(_PAIR)).with_row_index("row").collect()
    parts = pairs.explode("line").select("row", pl.col("line").str.extract_groups(_PARTS)).unnest("line")
    # Escapes give one key several spellings.
    spelt: dict[str, list[str]] = {}
    for key in parts["key"].drop_nulls().unique(maintain_order=True):
        spelt.setdefault(json.loads(key), []).append(key)
    every_row = pairs.select("row")
    columns = []
    for at, name in enumerate(names):
        found = parts.filter(pl.col("key").is_in(spelt.get(name, []))).group_by("row").agg(pl.col("value"))
        joined = found.with_columns(pl.col("value").list.join(" "))  # of a key that is there twice, both
        columns.append(every_row.join(joined, "row", "left", maintain_order="left")["value"].alias(str(at)))
    return pl.DataFrame(columns)


def decode_json(spelt: pl.Series) -> pl.Series:
    """The text of values that are spelt as in JSON; null for null and for what is absent."""
    distinct = spelt.drop_nulls().unique(maintain_order=True)
    texts = pl.Series([_decode_token(text) for text in distinct], dtype=pl.String)
    return spelt.replace_strict(distinct, texts, return_dtype=pl.String) if len(distinct) else spelt


def _decode_token(text: str) -> str | None:
    try:
        # Numbers stay strings: a float would merge spellings and lose digits.
        value = json.loads(text, parse_float=str, parse_int=str)
    except ValueError:  # a number that JSON does not have, such as inf
        return text
    return value if value is None or isinstance(value, str) else json.dumps(value)
