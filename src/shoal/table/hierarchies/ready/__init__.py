"""Hierarchies that ship with Shoal, named ``@countries`` and the like: facts nobody should have to type."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from shoal.errors import InputError, unknown
from shoal.table.hierarchies.assembly import ROOT, Listing
from shoal.table.hierarchies.outline import parse_outline

MARK = "@"
BANDS = (5, 10, 20, 40)  # years, each dividing the next, so that bands are nested
OLDEST = 120


@dataclass(frozen=True, slots=True)
class ReadyHierarchy:
    """A hierarchy that ships with Shoal."""

    name: str
    description: str
    file: str | None = None
    """The outline it is read from; none for ages, which are counted."""
    words: int = 1
    """How many words the lines of values have: codes, and then all the rest as one."""
    word: int = 0
    """Which of them is the value."""

    def build_listing(self) -> Listing:
        """Its rows."""
        source = f"{MARK}{self.name}"
        if self.file is None:
            # Ages have no file: in messages each counts as a line.
            return Listing.from_lines(list_age_rows(), source, range(1, OLDEST + 2))
        rows, origin = parse_outline(files(__package__).joinpath(self.file).read_text("utf-8"), source)
        # Codes stand first and have no spaces; the last word is the rest, since names have some.
        return Listing([[row[0].split(" ", self.words - 1)[self.word], *row[1:]] for row in rows], origin)


READY: dict[str, ReadyHierarchy] = {
    each.name: each
    for each in (
        ReadyHierarchy("ages", "0 to 120 years in bands of 5, 10, 20 and 40"),
        ReadyHierarchy(
            "countries", "249 countries by English name, regions (UN M49), continents", "countries.tree", 3, 2
        ),
        ReadyHierarchy("countries-alpha2", "the same by two letters, as FR", "countries.tree", 3, 0),
        ReadyHierarchy("countries-alpha3", "the same by three letters, as FRA", "countries.tree", 3, 1),
        ReadyHierarchy(
            "us-states", "states of the USA by name, census divisions and regions", "us-states.tree", 2, 1
        ),
        ReadyHierarchy("us-states-codes", "the same by two letters, as NY", "us-states.tree", 2, 0),
        ReadyHierarchy("education", "common labels of education, in three levels", "education.tree"),
        ReadyHierarchy(
            "marital-status", "common labels of marital status, in three levels", "marital-status.tree"
        ),
    )
}


def is_ready(source: str | Path) -> bool:
    """Whether a source names one of these; a file of such a name can be given as ``./@name``."""
    return isinstance(source, str) and source.startswith(MARK)


def list_ready(name: str) -> Listing:
    """The rows of a hierarchy that ships with Shoal."""
    if name not in READY:
        raise InputError(unknown("ready-made hierarchy", name, READY))
    return READY[name].build_listing()


def list_age_rows() -> list[list[str]]:
    """Every age with its bands."""
    return [[str(age), *(render_band(age, years) for years in BANDS), ROOT] for age in range(OLDEST + 1)]


def render_band(age: int, years: int) -> str:
    """The band of so many years that an age lies in."""
    low = age // years * years
    return f"{low}-{low + years - 1}" if low < OLDEST else f"{low}+"
