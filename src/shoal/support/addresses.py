"""Addresses of tables that are no files of this machine, such as ``postgresql://host/clinic#patients``.

Credentials come from the environment, and never stand in an address: recipes, reports and messages name it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from shoal.errors import RecipeError, quote

_ADDRESS = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
_DATABASES = ("sqlite", "duckdb", "postgresql", "postgres")
_SECRET = re.compile(r"pass|secret|token|credential|(^|_)key$", re.IGNORECASE)


class AddressPath(type(Path())):  # type: ignore[misc]
    """An address where a path is expected; a path alone would make one stroke of two."""

    __slots__ = ("_address",)
    _address: str

    def __new__(cls, address: str) -> AddressPath:
        """Keep the text as it is."""
        made: AddressPath = super().__new__(cls, address)
        made._address = address
        return made

    def __init__(self, address: str) -> None:
        if type(Path()).__init__ is not object.__init__:  # paths have one since Python 3.12
            super().__init__(address)

    def __str__(self) -> str:
        return self._address

    def __fspath__(self) -> str:
        return self._address

    def __reduce__(self) -> tuple[type[AddressPath], tuple[str]]:
        return AddressPath, (self._address,)


def is_address(source: object) -> bool:
    """Whether something names a table of a database or a file of an object store, and no file here."""
    return isinstance(source, str | os.PathLike) and _ADDRESS.match(str(source)) is not None


def names_database(source: object) -> bool:
    """Whether something names a table of a database."""
    found = _ADDRESS.match(str(source))
    return isinstance(source, str | os.PathLike) and found is not None and found[1].lower() in _DATABASES


def check_address(address: str) -> None:
    """Refuse an address with a secret in it; the message does not repeat it."""
    parts = urlsplit(address)
    named = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if _SECRET.search(name)]
    if parts.password is not None or named:
        what = f"the parameter {quote(named)}" if named else "a password"
        raise RecipeError(
            f"an address of {parts.scheme} has {what} in it, and recipes and reports name addresses: leave "
            "it out, and give it by the environment, as PGPASSWORD or the variables of the object store"
        )
