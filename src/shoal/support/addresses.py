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
_SECRET = re.compile(
    r"pass|pwd|secret|token|credential|signature|auth|api_?key|access_?key|^(key|code|sig|sas)$|[_-](key|sig)$",
    re.IGNORECASE,
)
_WEB = ("http", "https")
# Also where a path has made one stroke of two, and where a password has signs that should be spelt out.
_TOLD = re.compile(r"(?<=:/)(/?[^/\s:'\"]*:)[^/\s'\"]+(?=@)")
_PARAMETER = re.compile(r"(?<=[?&;#])([\w.-]+)=([^&;#\s'\"]+)")


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
        # What Python makes of it, as a parent, is no address any more.
        return str(getattr(self, "_address", "")) or super().__str__()

    def __fspath__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[AddressPath], tuple[str]]:
        return AddressPath, (str(self),)


def is_address(source: object) -> bool:
    """Whether something names a table of a database or a file of an object store, and no file here."""
    return isinstance(source, str | os.PathLike) and _ADDRESS.match(str(source)) is not None


def names_database(source: object) -> bool:
    """Whether something names a table of a database."""
    found = _ADDRESS.match(str(source))
    return isinstance(source, str | os.PathLike) and found is not None and found[1].lower() in _DATABASES


def check_address(address: str) -> None:
    """Refuse an address with a secret in it; the message does not repeat it."""
    scheme = address.partition(":")[0].lower()
    try:
        parts = urlsplit(address)
        has_password = parts.password is not None
    except ValueError as error:
        raise RecipeError(f"an address of {scheme} cannot be read: {error}") from error
    pairs = parse_qsl(f"{parts.query}&{parts.fragment}".replace(";", "&"), keep_blank_values=True)
    named = [name for name, _ in pairs if _SECRET.search(name)]
    # On the web a name alone is often a token.
    who = "a password" if has_password else "a user" if scheme in _WEB and parts.username else None
    if named or who:
        raise RecipeError(
            f"an address of {scheme} has {f'the parameter {quote(named)}' if named else who} in it, and "
            "recipes and reports name addresses: leave it out, and give it by the environment, as PGPASSWORD "
            "or the variables of the object store"
        )


def hide_secrets(text: str) -> str:
    """A text for people or a log, without what looks like a secret in an address."""
    if ":/" not in text:
        return text
    without = _TOLD.sub(r"\1***", text)
    return _PARAMETER.sub(lambda found: f"{found[1]}=***" if _SECRET.search(found[1]) else found[0], without)
