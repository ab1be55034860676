"""How the values of a sensitive column lie to each other: their order, and the hierarchy above them."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.privacy.counts import ValueScale
from shoal.table import Column, infer_type, ordered_values, parse_values, to_strings
from shoal.table.hierarchies import Hierarchy
from shoal.table.types import LEADING_ZERO, NUMBER

_FAR = 400  # digits before or after the point, of which a float has no more

# What people write where there is no value, in the form that `fold_text` gives it.
_ABSENT = (
    "", "na", "n/a", "n.a.", "#n/a", "<na>", "nan", "nat", "null", "none", "nil", "?", "-", "--", "\u2013",
    "\u2014", ".", "unknown", "unk", "missing", "not available", "not known", "not applicable",
    "not recorded", "not stated", "not specified", "unspecified",
)  # fmt: skip


def fold_text(text: pl.Series) -> pl.Series:
    """Texts without what a reader does not take for a difference; null where they say that nothing is known.

    Case, blanks at the ends, the number of blanks between words, signs that are not seen, the Unicode form,
    and the spelling of a number: 1, 1.0 and +1 are one.
    """
    folded = fold_spelling(text)
    return folded.set(folded.is_in(_ABSENT).fill_null(False), None)


def fold_spelling(text: pl.Series) -> pl.Series:
    """The same, but texts that say that nothing is known stay what they are."""
    folded = text.str.normalize("NFKC").str.to_lowercase().str.replace_all("ß", "ss", literal=True)
    folded = folded.str.replace_all(r"\p{Cf}", "").str.replace_all(r"[\p{Zs}\p{Cc}]+", " ").str.strip_chars()
    return _spell_numbers(folded)


def _spell_numbers(text: pl.Series) -> pl.Series:
    """Numbers among texts in one spelling; codes such as 01 are no numbers."""
    # Whole numbers without a sign are spelt in one way already, and most numbers are such.
    odd = text.str.contains(NUMBER) & text.str.contains(r"[^0-9]") & ~text.str.contains(LEADING_ZERO)
    spelt = text.filter(odd.fill_null(False)).unique(maintain_order=True)
    if spelt.is_empty():
        return text
    return text.replace(spelt, pl.Series([_spell_number(each) for each in spelt], dtype=pl.String))


def _spell_number(text: str) -> str:
    # As many digits as there are: two numbers that differ may not become one.
    number = Decimal(text).normalize(Context(prec=len(text), Emax=MAX_EMAX, Emin=MIN_EMIN))
    if not number:
        return "0"
    near = abs(number.adjusted()) < _FAR  # others would be written with thousands of zeros
    return format(number, "f" if near else "e")


def number_distinct_values(
    distinct: pl.Series, missing: bool, column: Column
) -> tuple[NDArray[np.int64], ValueScale]:
    """Number the distinct values of a sensitive column.

    Numbers, dates and values with a stated order are numbered in that order, and different texts of one
    number are one value; others are numbered by name. Spellings of one value share a number, the first of
    theirs in a stated order, unless ``column.fold`` is false. All that stands for a missing value (null, an
    empty text, a marker) is number 0, if there is any; markers that a stated order has keep their place in it
    where nothing else is missing.

    Parameters
    ----------
    distinct : Series
        Without null.
    missing : bool
        Whether the column has null, too.

    Returns
    -------
    the number of each distinct value, and then that of null; how the values lie to each other
    """
    stated = list(column.order) if column.order else ordered_values(distinct)
    found = infer_type(distinct)
    kind = column.type or ("ordered" if stated else found.type)
    lost = ("", *found.extra_na) if kind in ("integer", "float") else ("",)
    ordered, text = kind not in ("string", "boolean"), to_strings(distinct)
    named = fold_text(text) if column.fold and (kind == "ordered" or not ordered) else text
    present = ~text.is_in(list(lost))
    missing = missing or not present.all()
    if missing or not ordered:
        present &= named.is_not_null()
    values, named = distinct.filter(present), named.filter(present)
    place = parse_values(values, kind, column.name, stated) if ordered else named
    if kind == "ordered":
        place = pl.DataFrame([place.alias("place"), named.alias("named")]).select(
            pl.col("place").min().over("named")
        )["place"]
    rank = place.rank("dense")
    missing = missing or not present.all()
    number = np.zeros(len(distinct) + 1, np.int64)
    # Ranks begin at 1. That leaves 0 for a missing value; where there is none they begin at 0.
    number[np.flatnonzero(present.to_numpy())] = rank.to_numpy() - (not missing)
    amounts = _list_amounts(place, rank, missing) if kind in ("integer", "float") else None
    levels = None if column.hierarchy is None else _nodes_by_level(column.hierarchy, text, number, missing)
    return number, ValueScale(ordered, levels, amounts)


def _list_amounts(place: pl.Series, rank: pl.Series, missing: bool) -> NDArray[np.float64]:
    """The number that each value is, by the value's own number; NaN in place of a missing one."""
    at = rank.to_numpy().astype(np.int64) - (not missing)
    amounts = np.full(max(int(at.max(initial=-1)) + 1, int(missing)), np.nan)
    amounts[at] = place.cast(pl.Float64).to_numpy()
    return amounts


def _nodes_by_level(
    hierarchy: Hierarchy, text: pl.Series, number: NDArray[np.int64], missing: bool
) -> NDArray[np.int32]:
    """The nodes above each value, level by level; what the hierarchy does not have stands below the root."""
    known = set(hierarchy.leaves)
    names: dict[int, str] = {}
    for value, name in zip(number.tolist(), text, strict=False):
        if name in known or value not in names:  # of several spellings the one that the hierarchy has
            names[value] = name
    # The missing value has number 0, and the hierarchy puts it below the root.
    if missing:
        names[0] = ""
    tree = hierarchy.with_values(names.values())
    leaf = {name: at for at, name in enumerate(tree.leaves)}
    return tree.nodes[:-1, [leaf[names[value]] for value in range(len(names))]]
