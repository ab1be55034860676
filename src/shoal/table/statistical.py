"""Files of statistics programs: SPSS, Stata and SAS, by pyreadstat.

A value that its file declares missing is missing. A column whose values all have labels is one of these
labels; where only some values have one, as the ends of a scale, the numbers stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, ClassVar

import polars as pl

from shoal.errors import OutputError
from shoal.support.files import private_folder
from shoal.table.formats import import_optional
from shoal.table.frames import to_strings

_EXACT = 1 << 53  # whole floats below are integers, one each
_LONG = 1 << 31  # integers of Stata are below


@dataclass(frozen=True, slots=True)
class StatisticalFile:
    """A format that pyreadstat reads, and some of which it writes."""

    suffix: ClassVar[str]
    reader: ClassVar[str]
    writer: ClassVar[str | None] = None
    time: ClassVar[re.Pattern[bytes] | None] = None
    """What the time of writing is in, which would make the same table other bytes."""

    def read(self, stream: IO[bytes]) -> pl.DataFrame:
        """The cells, with labels in place of the numbers that stand for them."""
        library = import_optional("pyreadstat", "shoal[statistics]")
        path = private_folder() / f"table.{self.suffix}"
        path.write_bytes(stream.read())
        try:
            frame, known = getattr(library, self.reader)(str(path), output_format="polars")
        finally:
            path.unlink()
        labels = known.variable_value_labels
        return pl.DataFrame([_read_column(column, labels.get(column.name, {})) for column in frame])

    def write(self, table: pl.DataFrame, stream: IO[bytes]) -> None:
        """Write a table without labels: released cells are texts of their own."""
        if self.writer is None or self.time is None:
            raise OutputError(f".{self.suffix} files cannot be written; use .sav or .dta")
        library = import_optional("pyreadstat", "shoal[statistics]")
        path = private_folder() / f"table.{self.suffix}"
        plain = pl.DataFrame([_write_column(column, self.suffix) for column in table])
        try:
            getattr(library, self.writer)(plain, str(path))
            content = path.read_bytes()
        except (library.PyreadstatError, library.ReadstatError, ValueError) as error:
            raise OutputError(f"a .{self.suffix} file cannot hold the release: {error}") from error
        finally:
            path.unlink(missing_ok=True)
        head, rest = content[:512], content[512:]
        stream.write(
            self.time.sub(lambda found: found[1] + b"01 Jan 0000:00:00"[: len(found[2])], head) + rest
        )


class SavFile(StatisticalFile):
    """SPSS."""

    suffix, reader, writer = "sav", "read_sav", "write_sav"
    time = re.compile(rb"(\A.{92})(.{17})", re.DOTALL)


class ZsavFile(StatisticalFile):
    """SPSS, compressed."""

    suffix, reader = "zsav", "read_sav"


class PorFile(StatisticalFile):
    """SPSS, portable."""

    suffix, reader = "por", "read_por"


class DtaFile(StatisticalFile):
    """Stata."""

    suffix, reader, writer = "dta", "read_dta", "write_dta"
    time = re.compile(rb"(<timestamp>\x11)(.{17})", re.DOTALL)


class SasFile(StatisticalFile):
    """SAS."""

    suffix, reader = "sas7bdat", "read_sas7bdat"


class TransportFile(StatisticalFile):
    """SAS, for transport."""

    suffix, reader = "xpt", "read_xport"


def _read_column(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    if column.dtype == pl.String:
        # These programs have no other missing text.
        column = column.set(column == "", None)
    if labels:
        values = column.unique(maintain_order=True).drop_nulls().to_list()
        if all(value in labels for value in values):
            texts = [labels[value] for value in values]
            return column.replace_strict(values, texts, return_dtype=pl.String)
    if column.dtype.is_float():
        present = column.drop_nans().drop_nulls()
        if ((present == present.round()) & (present.abs() < _EXACT)).all():
            return column.cast(pl.Int64)
    return column


def _write_column(column: pl.Series, suffix: str) -> pl.Series:
    dtype = column.dtype
    if dtype.is_integer():
        most = _LONG - 101 if suffix == "dta" else _EXACT  # the last hundred of Stata are its missing values
        wide = column.cast(pl.Int128).abs().max()
        if isinstance(wide, int) and wide > most:
            return to_strings(column).alias(column.name)
        return column.cast(pl.Int64)
    if dtype.is_float():
        return column.cast(pl.Float64)
    if dtype in (pl.String, pl.Date) or (isinstance(dtype, pl.Datetime) and dtype.time_zone is None):
        return column
    return to_strings(column).alias(column.name)
