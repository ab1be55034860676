"""Tables of Apache Iceberg: the current snapshot of a table that a catalogue knows, by pyiceberg.

An address names the catalogue as pyiceberg's own settings do, so that neither its place nor credentials stand
in it: ``iceberg://CATALOG/NAMESPACE.TABLE``.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from shoal.errors import InputError, OutputError
from shoal.support.addresses import hide_secrets
from shoal.table.formats import import_optional

SCHEME = "iceberg"


def names_iceberg(address: str) -> bool:
    """Whether an address names a table of a catalogue."""
    return address.partition(":")[0].lower() == SCHEME


def is_iceberg_folder(path: Path) -> bool:
    """Whether a folder is an Iceberg table, of which not every file is a part."""
    return path.is_dir() and any((path / "metadata").glob("*.metadata.json"))


def refuse_folder(path: Path) -> InputError:
    """That the folder of a table does not say which of its snapshots is the current one."""
    return InputError(
        f"{path} is an Iceberg table, of which a catalogue knows the current state: name it as "
        f"{SCHEME}://CATALOG/NAMESPACE.TABLE, and the catalogue in the settings of pyiceberg"
    )


def refuse_target(address: str) -> OutputError:
    """That such tables are only read."""
    return OutputError(f"{address}: Iceberg tables are only read; write Parquet, and append that")


def load_snapshot(address: str, path: Path) -> None:
    """Write the current snapshot of a table to a Parquet file, a batch at a time."""
    catalog = import_optional("pyiceberg.catalog", "shoal[iceberg]")
    parquet = import_optional("pyarrow.parquet", "shoal[iceberg]")
    parts = urlsplit(address)
    name = unquote(parts.path.strip("/"))
    if not parts.netloc or "." not in name:
        raise InputError(f"{address} names no table: write {SCHEME}://CATALOG/NAMESPACE.TABLE")
    try:
        rows = catalog.load_catalog(parts.netloc).load_table(name).scan().to_arrow_batch_reader()
        with parquet.ParquetWriter(path, rows.schema) as writer:
            for batch in rows:
                writer.write_batch(batch)
    except Exception as error:  # a catalogue is any program, and may raise anything
        if isinstance(error, MemoryError):
            raise
        told = hide_secrets((str(error) or type(error).__name__).splitlines()[0])
        raise InputError(f"{address}: {told}") from error
