"""Pseudonyms: names for people that only who has the secret key can make again.

A plain hash of an id is no secret, because anybody can hash all ids there are. So the hash is keyed
(HMAC-SHA-256, H. Krawczyk, M. Bellare, R. Canetti, RFC 2104). The key is read when pseudonyms are made, and
nothing keeps it.
"""

from __future__ import annotations

import hmac
import os
import secrets
from base64 import b32encode
from pathlib import Path

import numpy as np
import polars as pl

from shoal.errors import InputError, InternalError, OutputError, RecipeError
from shoal.privacy.people import fold_ids

VARIABLE = "SHOAL_KEY"
"""The environment variable that has the key where no file is named."""
_SHORTEST = 16  # bytes of a key: fewer could be tried one after another
_LONGEST = 1 << 16
_MADE = 32  # bytes of a key that is made here
_LETTERS = 26  # of a pseudonym: 130 bits, so that no two people get the same
_PRIVATE = 0o600


def read_key(path: str | None) -> bytes:
    """The secret key: from a file, which is made if it does not exist, or from the environment.

    White space around it, such as the end of a line, does not count.
    """
    if path is not None:
        return _check_key(_read_key_file(Path(path)), str(path))
    given = os.environ.get(VARIABLE)
    if given is None:
        raise RecipeError(
            f"a pseudonym needs a secret key: name its file with --key-file FILE, which is made if it does "
            f"not exist, or put the key into the environment variable {VARIABLE}"
        )
    return _check_key(given.encode(errors="surrogateescape"), VARIABLE)


def is_readable_by_others(path: str | None) -> bool:
    """Whether more people than its owner may read a key file."""
    return path is not None and os.name == "posix" and bool(Path(path).stat().st_mode & 0o077)


def make_pseudonyms(column: pl.Series, key: bytes) -> pl.Series:
    """The pseudonym of the person of each row: one for all spellings of an id.

    A missing id is nobody else's, so each such row has a pseudonym of its own.
    """
    named = fold_ids(column)
    missing = named.is_null().to_numpy()
    number = np.cumsum(missing) - 1
    # What stands in front keeps the two kinds apart, whatever the ids are.
    known = named.drop_nulls().unique(maintain_order=True)
    by_id = pl.Series([_name_person(key, b"id:" + text.encode()) for text in known], dtype=pl.String)
    alone = [_name_person(key, b"row:%d" % at) for at in number[missing]]
    made = named.replace_strict(known, by_id, return_dtype=pl.String) if len(known) else named
    if alone:
        made = made.scatter(np.flatnonzero(missing), pl.Series(alone, dtype=pl.String))
    if made.n_unique() != len(known) + len(alone):
        raise InternalError("two people have the same pseudonym")
    return made.alias(column.name)


def derive_key(key: bytes, column: str) -> bytes:
    """The key of one of several columns, which tells nothing of those of others."""
    return hmac.digest(key, b"column:" + column.encode(), "sha256")


def are_pseudonyms(column: pl.Series) -> bool:
    """Whether all cells have the form of pseudonyms."""
    form = f"^p[a-z2-7]{{{_LETTERS}}}$"
    return column.dtype == pl.String and bool(column.str.contains(form).fill_null(False).all())


def _name_person(key: bytes, message: bytes) -> str:
    # A letter in front, and no digits that could be read as a number in another spelling.
    return "p" + b32encode(hmac.digest(key, message, "sha256")).decode().lower()[:_LETTERS]


def _read_key_file(path: Path) -> bytes:
    try:
        # Made at once with its mode, and only if nothing is there: nobody else can read it meanwhile.
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    except FileExistsError:
        return _read_given_key(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot make the key file: {error.strerror}") from error
    with os.fdopen(made, "wb") as stream:
        key = secrets.token_hex(_MADE).encode()
        stream.write(key + b"\n")
    return key


def _read_given_key(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_LONGEST + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot read the key file: {error.strerror}") from error


def _check_key(key: bytes, where: str) -> bytes:
    key = key.strip()
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise InputError(
            f"{where}: the key has {len(key)} bytes; it must have {_SHORTEST} at least and {_LONGEST} at "
            "most, so that nobody can guess it and no other file is taken for it"
        )
    return key
