"""Files of object stores and other file systems that fsspec knows: brought here, and sent there whole."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.errors import InputError, OutputError, ShoalError
from shoal.support.addresses import hide_secrets
from shoal.table.formats import import_optional

_CHUNK = 1 << 20


def load_files(address: str, folder: Path) -> Path:
    """Copy a file into a folder; of a pattern or a folder all files, which are one table."""
    with _explain(address, InputError):
        system, path = _find_system(address)
        if has_magic(path) and not _is_web_page(address):
            base = path[: _find_magic(path)].rpartition("/")[0]
            names = [name for name in system.glob(path) if system.isfile(name)]
        elif system.isdir(path):
            base, names = path.rstrip("/"), system.find(path)
        else:
            target = folder / PurePosixPath(path.partition("?")[0] if _is_web_page(address) else path).name
            _copy_from(system, path, target)
            return target
        if not names:
            raise InputError(f"{address} stands for no file") from FileNotFoundError(address)
        parts = folder / "parts"
        for name in names:
            inside = PurePosixPath(name.removeprefix(base).lstrip("/"))
            if not inside.name.startswith((".", "_")) and ".." not in inside.parts:
                target = parts / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                _copy_from(system, name, target)
        return parts


def check_target_file(address: str) -> str:
    """The name of the file that an address ends with; raises an OutputError if it could not be written."""
    with _explain(address, OutputError):
        system, path = _find_system(address)
        name = PurePosixPath(path).name
        if not name or system.isdir(path):
            raise OutputError(f"{address} is a folder; give the address of a file")
        return name


def store_file(path: Path, address: str) -> None:
    """Send a file under another name, read it again, and give it its name if it is the same."""
    with _explain(address, OutputError):
        system, target = _find_system(address)
        parent = target.rpartition("/")[0]
        temporary = f"{parent}/.{PurePosixPath(target).name[:64]}.{os.urandom(4).hex()}.part".lstrip(
            "/" * (not parent)
        )
        try:
            with path.open("rb") as source, system.open(temporary, "wb") as stream:
                shutil.copyfileobj(source, stream, _CHUNK)
            with path.open("rb") as source, system.open(temporary, "rb") as stream:
                same = _hash_stream(source) == _hash_stream(stream)
            if not same:
                raise OutputError(f"{address}: what arrived is not what was sent; nothing was written")
            system.mv(temporary, target)
        except BaseException:
            with suppress(Exception):  # it may not be there, or the store may be gone
                system.rm(temporary)
            raise


def _hash_stream(stream: Any) -> bytes:
    found = hashlib.sha256()
    while chunk := stream.read(_CHUNK):
        found.update(chunk)
    return found.digest()


def _is_web_page(address: str) -> bool:
    """Whether a question mark begins what a server is told, and stands for no letter."""
    return address.lower().startswith(("http://", "https://"))


def _find_magic(path: str) -> int:
    return min(path.index(sign) for sign in "*?[" if sign in path)


def _copy_from(system: Any, path: str, target: Path) -> None:
    with system.open(path, "rb") as source, target.open("xb") as stream:
        shutil.copyfileobj(source, stream, _CHUNK)


def _find_system(address: str) -> tuple[Any, str]:
    fsspec = import_optional("fsspec", "shoal[stores]")
    system, path = fsspec.core.url_to_fs(address, skip_instance_cache=not address.startswith("memory:"))
    return system, str(path)


@contextmanager
def _explain(address: str, kind: type[InputError] | type[OutputError]) -> Iterator[None]:
    """Say in one line what a file system refused."""
    try:
        yield
    except ShoalError as error:
        if kind is OutputError and isinstance(error, InputError):  # what is not installed
            raise OutputError(str(error)) from error
        raise
    except ImportError as error:
        raise kind(f"{address}: {error}") from error
    except FileNotFoundError as error:
        raise kind(f"{address}: no such file") from error
    except ValueError as error:
        raise kind(f"{address} is no address that can be used: {hide_secrets(str(error))}") from error
    except Exception as error:  # the code of somebody else may raise anything
        if isinstance(error, MemoryError):
            raise
        told = hide_secrets((str(error) or type(error).__name__).splitlines()[0])
        raise kind(f"{address}: {told}") from error
