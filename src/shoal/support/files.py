"""Files that appear whole or not at all, and small ones that are read at once."""

from __future__ import annotations

import atexit
import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from shoal.errors import InputError, OutputError
from shoal.support.addresses import is_address

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_unfinished: set[Path] = set()


_MEGABYTE = 1 << 20
# Waits until this process says that all is well, or is no more, whatever ended it.
_WATCH = """
import pathlib, shutil, sys
if not sys.stdin.read():
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    pathlib.Path(sys.argv[1]).unlink(missing_ok=True)
"""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_LEFT_OVER = re.compile(r"\..+\.[0-9a-f]{8}\.(?:tmp|scratch)")


def read_small(path: Path, megabytes: int) -> bytes:
    """The content of a file of settings or names; one of more than so many megabytes is refused, half-read.

    So that a wrong path, or one that somebody means ill with, costs no more than that.
    """
    with path.open("rb") as stream:
        # One byte more than permitted tells a file that is too large from one that just fits.
        content = stream.read(megabytes * _MEGABYTE + 1)
    if len(content) > megabytes * _MEGABYTE:
        raise InputError(
            f"'{path}' has more than {megabytes} MB, the most that is read: is it the right file?"
        )
    return content


def as_utf8(path: Path, content: bytes) -> str:
    """The text of a UTF-8 file, with or without byte-order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"'{path}', line {line}: not UTF-8; save the file in that encoding") from None


def read_json_format(path: Path, megabytes: int, form: str, name: str, command: str) -> dict[str, Any]:
    """The content of a JSON file whose ``format`` must be ``form``.

    ``name`` is what such a file is called in errors, and ``command`` writes one. An OSError is the caller's.
    """
    try:
        content = json.loads(as_utf8(path, read_small(path, megabytes)))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a {name}: {error}") from error
    if not isinstance(content, dict) or content.get("format") != form:
        raise InputError(f"{path}: not a {name}; '{command}' writes one")
    return content


def as_path(path: object) -> Path:
    """A path that somebody named; raises an InputError for what is none."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a file is named by its path, as 'release.csv', not {path!r}")
    try:
        os.lstat(path)
    except ValueError as error:  # a NUL character, or half of one
        raise InputError(f"{str(path)!r} is no path: {error}") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{str(path)[:40]}... is too long for a path") from error
    return Path(path)


def check_target(path: str | Path) -> None:
    """Raise an OutputError if a file could not be written at ``path``, whatever its content."""
    if is_address(path):
        raise OutputError(f"{path}: only a release is written to an address; name a file for this")
    if found := _find_obstacle(as_path(path)):
        number, text = found
        # By the cause a scheduler is told that this is about files.
        raise OutputError(text) from OSError(number, os.strerror(number))


def _find_obstacle(path: Path) -> tuple[int, str] | None:
    """Why no file could be written at a path, as an error number and a text; None if one could."""
    # realpath stops at a loop, and is then still a link.
    if path.is_symlink() and not path.exists() and Path(os.path.realpath(path)).is_symlink():
        return errno.ELOOP, f"{path} is a link that leads to itself"
    folder = path.resolve().parent
    if not folder.is_dir():
        return errno.ENOENT, f"{path} cannot be written: there is no folder {path.parent}"
    if path.is_dir():
        return errno.EISDIR, f"{path} is a folder; give the path of a file"
    if path.exists() and not path.is_file():
        return errno.EINVAL, f"{path} is not a regular file"
    return _find_absent_right(path, folder)


def _find_absent_right(path: Path, folder: Path) -> tuple[int, str] | None:
    if not os.access(folder, os.W_OK | os.X_OK):
        return errno.EACCES, f"{path} cannot be written: the folder {path.parent} is read-only"
    if path.exists() and not os.access(path, os.W_OK):
        return errno.EACCES, f"{path} cannot be written: permission denied"
    return None


@contextmanager
def hold_alone(path: Path) -> Iterator[None]:
    """Keep other processes that ask for it from changing a file until the end.

    Raises
    ------
    OutputError
        When another process holds it; the same may succeed once that is done.
    """
    if fcntl is None:  # Windows
        yield
        return
    lock = path.resolve().with_name(f".{path.name[:64]}.lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it before may have removed the file between these two steps.
        if not lock.exists() or lock.stat().st_ino != os.fstat(handle).st_ino:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    except OSError as error:
        os.close(handle)
        raise OutputError(f"{path}: another process is using it; try again when that is done") from error
    _unfinished.add(lock)
    try:
        yield
    finally:
        _unfinished.discard(lock)
        lock.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def whole_path(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Lend an empty file beside ``path``; what is written to it takes its place at the end, or is removed.

    A link is followed, and an existing file keeps its permissions. Until it takes its place, a file can be
    read by its owner alone: it may turn out not to be what others may see. A ``private`` one, which holds
    values of the original table, stays so.
    """
    check_target(Path(path))
    target = Path(path).resolve()
    # In the same folder: only within one file system a rename is atomic.
    temporary = target.with_name(f".{target.name[:64]}.{os.urandom(4).hex()}.tmp")
    _unfinished.add(temporary)
    lock = None
    try:
        _remove_left_over(target.parent)
        usual = _make_private(_name_new(temporary))
        lock = _claim_path(temporary)
        yield temporary
        if not private:
            temporary.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else usual)
        temporary.replace(target)
    except OutputError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    except Exception as error:
        from polars.exceptions import PolarsError  # noqa: PLC0415  the command line starts without polars

        if not isinstance(error, OSError | PolarsError):
            raise
        raise OutputError(f"{path} cannot be written: {_describe_error(error)}") from error
    finally:
        _remove_claimed(temporary, lock)


@contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """Make a folder beside a file that is to be written, on the same disk; it is removed at the end."""
    target = beside.resolve()
    folder = target.with_name(f".{target.name[:64]}.{os.urandom(4).hex()}.scratch")
    _unfinished.add(folder)
    lock = None
    try:
        _remove_left_over(target.parent)
        _name_new(folder).mkdir(mode=0o700)  # for it holds values of the original table
        lock = _claim_path(folder)
        with remove_if_killed(folder):
            yield folder
    finally:
        _remove_claimed(folder, lock)


@contextmanager
def remove_if_killed(path: Path) -> Iterator[None]:
    """Let another process remove a file or folder, should this one end where it cannot do so itself.

    So it is when the system kills it, for want of memory or because somebody asked. A machine that loses
    its power, or a container that ends with all of its processes, leaves the path behind; the next run that
    writes to the same folder removes it.
    """
    watch = _start_watch(path)
    try:
        yield
    finally:
        if watch is not None:
            watch.communicate(b"done")


def _name_new(path: Path) -> Path:
    """What a path is called before it is claimed; nobody takes that for something left over."""
    return path.with_suffix(".new")


def _claim_path(path: Path) -> int | None:
    """Lock a new file or folder and give it its name: the lock ends with this process, however that ends."""
    new = _name_new(path)
    lock = _lock_path(new)
    new.rename(path)
    return lock


def _remove_claimed(path: Path, lock: int | None) -> None:
    _remove_path(path)
    _remove_path(_name_new(path))  # if it was interrupted in between
    _unfinished.discard(path)
    if lock is not None:
        os.close(lock)


def _lock_path(path: Path) -> int | None:
    """The descriptor that holds a lock on a path; None where another has it, or the system knows none."""
    try:
        import fcntl  # noqa: PLC0415  Windows does not have it
    except ImportError:
        return None
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:  # it is gone meanwhile, or not ours
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody has it, or such a file system cannot be locked: then nothing is removed either
        os.close(lock)
        return None
    return lock


def _remove_left_over(folder: Path) -> None:
    """Remove what earlier processes left in a folder when they ended together with all that watched them."""
    names = []
    # A folder that may be written to need not be one that may be listed.
    with suppress(OSError), os.scandir(folder) as entries:
        for each in entries:
            # Spark has folders of such names as well, which nobody locks: here those are files.
            right = each.is_dir if each.name.endswith("scratch") else each.is_file
            if _LEFT_OVER.fullmatch(each.name) and right(follow_symlinks=False):
                names.append(each.name)
    for path in (folder / name for name in names):
        # What is still written to is locked by whoever does so.
        if (lock := _lock_path(path)) is not None:
            try:
                if os.fstat(lock).st_uid == os.geteuid():  # no lock is had where there is no such number
                    _remove_path(path)
            finally:
                os.close(lock)


def _start_watch(path: Path) -> subprocess.Popen[bytes] | None:
    if not sys.executable or getattr(sys, "frozen", False):  # there is no Python to start
        return None
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WATCH, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # or it would be interrupted together with this one
        )
    except OSError:  # no further process is allowed: then what is killed leaves its files
        return None


def check_folder(
    path: str | Path, files: Iterable[str] | None = None, forbidden: Iterable[Path] = ()
) -> None:
    """Raise an OutputError if a folder of a release could not be written at ``path``.

    One that is there already is replaced, if it has nothing but ``files``: an earlier release, and nothing
    that somebody would miss. Unless these are known, it may have any.
    """
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {Path(path).parent}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path} cannot be written: the folder {Path(path).parent} is read-only")
    if target.exists() and not target.is_dir():
        raise OutputError(f"{path} is a file, and a release of several tables is a folder: name another one")
    if any(target in other.resolve().parents or target == other.resolve() for other in forbidden):
        raise OutputError(f"{path} has an input of this run in it; write the release to another folder")
    there = {each.name for each in target.iterdir()} if target.is_dir() and files is not None else set()
    if others := sorted(there - set(files or ())):
        raise OutputError(
            f"{path} has something else in it, such as '{others[0]}': name a folder that does not exist, or "
            "one that has an earlier release only"
        )


@contextmanager
def whole_folder(path: str | Path, files: Iterable[str], forbidden: Iterable[Path] = ()) -> Iterator[Path]:
    """Lend an empty folder; with all that is written into it, it takes its place at the end, or is removed.

    Nobody else can enter it before. See `check_folder` for what it may replace.
    """
    check_folder(path, files, forbidden)
    target = Path(path).resolve()
    with scratch_folder(target) as scratch:
        made, before = scratch / "release", scratch / "before"
        made.mkdir()
        yield made
        try:
            if target.exists():
                target.replace(before)
            made.replace(target)
        except OSError as error:
            if before.exists() and not target.exists():
                before.replace(target)
            raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def whole_file(path: str | Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Lend a stream to a file that takes the place of ``path`` once all is written and on disk."""
    with whole_path(path, private=private) as temporary, temporary.open("wb") as stream:
        yield stream
        stream.flush()
        # Or a crash after the rename could leave an empty file under the final name.
        os.fsync(stream.fileno())


def _make_private(path: Path) -> int:
    """Make an empty file that only its owner can open; returns the mode that others get here."""
    descriptor = os.open(path, _NEW, 0o666)
    usual = stat.S_IMODE(os.fstat(descriptor).st_mode)
    os.close(descriptor)
    # Made anew: who has opened it by now could go on to read what is written to it later.
    path.unlink()
    os.close(os.open(path, _NEW, 0o600))
    return usual


def private_folder() -> Path:
    """Make a folder that only its owner can enter; it is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-"))
    _unfinished.add(folder)
    atexit.register(_remove_path, folder)
    return folder


def discard_unfinished() -> None:
    """Remove all that is still being written, for a process that ends without unwinding its threads."""
    for temporary in tuple(_unfinished):
        _remove_path(temporary)


def _remove_path(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)  # some thread may still write into it
    else:
        path.unlink(missing_ok=True)


def _describe_error(error: Exception) -> str:
    """What the operating system said; polars passes that on inside of a text of its own."""
    inside = re.search(r"\(os error (\d+)\)", str(error))
    reason = os.strerror(int(inside[1])) if inside else getattr(error, "strerror", None) or str(error)
    return f"{reason[:1].lower()}{reason[1:]}"
