"""Tables of databases and files of object stores, brought to private files and sent from them.

So that all the rest of Shoal knows nothing but files: what an address names is copied here before it is read,
and a release leaves from a file that was judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import InputError
from shoal.support.addresses import check_address, is_address, names_database
from shoal.support.files import private_folder
from shoal.table.databases import check_target_table, load_table, store_table
from shoal.table.iceberg import load_snapshot, names_iceberg, refuse_target
from shoal.table.stores import check_target_file, load_files, store_file


def load_address(address: str, query: str | None = None) -> Path:
    """Bring what an address names to a private file, which is removed when the process ends.

    Raises
    ------
    InputError
        When it cannot be reached or read.
    """
    check_address(address)
    refuse_query(address, query)
    path = private_folder() / "table.parquet"
    if names_database(address):
        load_table(address, query, path)
    elif names_iceberg(address):
        load_snapshot(address, path)
    else:
        return load_files(address, path.parent)
    return path


def refuse_query(source: object, query: str | None) -> None:
    """Refuse a query of what is no database."""
    if query is not None and not names_database(source):
        what = str(source) if is_address(source) else "the table"
        raise InputError(f"a query is for a database, and {what} is in none: leave the query out")


@contextmanager
def deliver_to(address: str) -> Iterator[Path]:
    """Lend a private file; what was written to it, and judged, goes to the address at the end, whole.

    That it can be written is tried before, since the work between takes long.
    """
    check_address(address)
    if names_iceberg(address):
        raise refuse_target(address)
    if names_database(address):
        check_target_table(address)
        path = private_folder() / "release.parquet"
        yield path
        store_table(path, address)
        return
    path = private_folder() / check_target_file(address)
    yield path
    store_file(path, address)
