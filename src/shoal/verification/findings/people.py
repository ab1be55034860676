"""Classes that have fewer people than rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from shlex import quote as shell

import numpy as np

from shoal.table.frames import use_safe_name
from shoal.table.personal import announces_person
from shoal.verification.findings.base import HIGH, Finding, JudgedRelease, Severity, format_percent
from shoal.verification.outsider import number_cells

_LOW = 0.01
_MOST = 0.5  # share of the rows that repeat a value, of what is surely no coincidence
_FEWEST = 0.01  # values per row: what has fewer, such as a clinic, names no person


def check_repeated_identifiers(judged: JudgedRelease) -> Iterator[Finding]:
    """Find identifiers that several rows of a class share: these rows may be one person."""
    hidden = judged.left_out
    names = list_identifiers(judged, hidden)
    if not names:
        return iter(())
    # Classes as a reader sees them; they are the same for every identifier.
    class_of = judged.cells.number_rows(judged.quasi)
    size = np.bincount(class_of)

    def count_repeated(name: str) -> tuple[int, int]:
        number, count = number_cells(use_safe_name(hidden[name] if name in hidden else judged.frame[name]))
        # Distinct pairs of class and value, counted by class.
        people = np.bincount(np.unique(class_of * count + number) // count, minlength=size.size)
        few = (people < judged.k) & (people < size)  # a small class of different people repeats nobody
        return int(size[few].sum()), np.unique(number).size

    people = None if judged.person is None else int(np.count_nonzero(np.bincount(judged.person)))
    return find_repeated_identifiers(judged, names, judged.frame.height, count_repeated, people)


def list_identifiers(judged: JudgedRelease, left_out: Iterable[str]) -> list[str]:
    """The identifiers, and where nobody said whose row each is, other columns that by their name may say so.

    Such a column may have no role and be left out, or be released as it is.
    """
    knows_whose = judged.names_person or judged.person is not None
    others = [] if knows_whose else [*left_out, *judged.other_columns]
    silent = {*judged.identifiers, *judged.sensitive, *judged.sets}
    return [*judged.identifiers, *(name for name in others if name not in silent and announces_person(name))]


def find_repeated_identifiers(
    judged: JudgedRelease,
    names: Sequence[str],
    rows: int,
    count: Callable[[str], tuple[int, int]],
    people: int | None = None,
) -> Iterator[Finding]:
    """Find identifiers that repeat within classes of a release of so many ``rows``, and ``people`` if known.

    Parameters
    ----------
    names
        The columns to look at.
    count
        Tells, of an identifier, how many rows are in classes with fewer than k distinct values of it, and
        how many distinct values there are.
    """
    # Where it is known whose row each is, a name that repeats only as its people do tells nothing more.
    most = rows if people is None else people
    for name in names if judged.k > 1 else ():
        few, values = count(name)
        share = few / max(rows, 1)
        if share == 0 or values < _FEWEST * rows:
            continue
        severity = _rate_severity(share, 1 - values / most)
        yield Finding(
            f"repeated:{name}",
            severity,
            f"'{name}' repeats: {format_percent(share)} of the rows are in classes with fewer "
            f"than {judged.k} "
            f"distinct values of it, so that a class may be one person",
            share,
            _write_remedy(name, severity, name in judged.identifiers),
            columns=(name,),
        )


def _rate_severity(share: float, repeating: float) -> Severity:
    """High only where many rows repeat a value: amounts and dates coincide now and then, people recur.

    Where most rows do, k is not what was promised, however few rows are in such classes.
    """
    if (share > HIGH and repeating > HIGH) or repeating > _MOST:
        return "high"
    return "medium" if share > _LOW else "low"


def _write_remedy(name: str, severity: Severity, is_named: bool) -> str:
    """What to do; a column that hardly repeats need not say whose row it is."""
    if severity == "high":
        instead = " instead of --identifier" if is_named else ""
        return (
            f"if '{name}' says whose row it is, name it with --person {shell(name)}{instead}, "
            "so that people are counted and not rows"
        )
    return f"if '{name}' says whose row it is, keep one row of each person before you anonymize"
