"""File names for columns: whatever a column is called, its file stays in its folder, on any system."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from itertools import count, islice

_FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"} | {
    f"{device}{digit}" for device in ("com", "lpt") for digit in "0123456789¹²³"
}
"""Names that Windows takes for devices, whatever suffix follows."""
_MOST_BYTES = 200  # of the 255 that file systems permit; a suffix and a mark of a temporary file go beside it
_MOST_LETTERS = 40


def file_names(columns: Iterable[str], suffix: str = ".csv") -> dict[str, str]:
    """Name a file for each column, so that no two share one, even where letter case does not count.

    Examples
    --------
    >>> file_names(["age", "../../evil"])
    {'age': 'age.csv', '../../evil': 'evil-b3eb3634.csv'}
    """
    names = list(dict.fromkeys(columns))
    found: dict[str, str] = {}
    taken: set[str] = set()
    # Ordinary names come first: no other column can take the name that is theirs.
    for column in sorted(names, key=lambda name: not is_ordinary(name)):
        # Names are compared folded: macOS and Windows take A and a for one file.
        stem = next(each for each in file_stems(column) if _fold_name(each) not in taken)
        taken.add(_fold_name(stem))
        found[column] = f"{stem}{suffix}"
    return {column: found[column] for column in names}


def file_stems(column: str) -> Iterator[str]:
    """Names for the file of a column without their suffix, the best first; they never end."""
    if is_ordinary(column):
        yield column
    letters = re.sub(r"[^\w-]+", "_", column)[:_MOST_LETTERS].strip("_-") or "column"
    for number in count():
        # The digest tells apart what looks alike once its characters are replaced.
        yield f"{letters}-{sha256(f'{number} {column}'.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def match_files(stems: Collection[str], columns: Iterable[str]) -> dict[str, str]:
    """Which file is whose, by their names without suffix: for each column that has one, its stem."""
    names = list(columns)
    found = {name: name for name in names if name in stems}
    left = set(stems) - found.keys()
    others = (name for name in names if left and name not in found)
    # Further candidates are used only where two names collide.
    second = {name: next((s for s in islice(file_stems(name), 2) if s in left), None) for name in others}
    return found | {name: stem for name, stem in second.items() if stem is not None}


def is_ordinary(column: str) -> bool:
    """Whether a column's name can be the name of its file as it is."""
    return (
        column.isprintable()  # so it has no line breaks, and no signs that turn the direction of the text
        and column == column.strip()
        and column.strip(".") != ""
        and not column.startswith(".")
        and not column.endswith(".")
        and _FORBIDDEN.search(column) is None
        and column.partition(".")[0].rstrip().casefold() not in _DEVICES
        and len(column.encode()) <= _MOST_BYTES
    )


def _fold_name(name: str) -> str:
    """Equal for names that some file systems take for the same."""
    return unicodedata.normalize("NFKC", name.casefold())
