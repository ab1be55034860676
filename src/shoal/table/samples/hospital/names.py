"""Invented people: first and last names put together from syllables, a likeness is chance."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from shoal.table.samples.hospital.curves import Weights


def _split_syllables(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_STEMS = _split_syllables(
    "Al Bel Cor Dar El Fen Gar Hal Il Jor Kel Lor Mar Nor Or Pel Quin Ros Sel Tam Ul Ver Wil Yor Zan "
    "Bran Cal Den Ev Fal Gwen Han Is Jul Kar Lin Mil Ner Od Per"
)
_FEMALE = _split_syllables("a ia ine elle eth ira")
_MALE = _split_syllables("an en o us ric ald")
_LAST_STEMS = _split_syllables(
    "Ash Birk Crow Dale Elm Fair Grim Hart Iver Kest Lang Mor Nether Oak Pell Quill Raven Stan Thorn Under "
    "Vale Wint Yar Ald Brack Cold Dun Eller Frost Gold"
)
_LAST_ENDS = _split_syllables("wick ford ley mere stone combe brook hurst well by")
# As many male ends as female ones, so that both halves of the names are equally long.
FIRST = len(_STEMS) * len(_FEMALE)
LAST = len(_LAST_STEMS) * len(_LAST_ENDS)


@cache
def full_names() -> pl.Series:
    """Every full name, female ones first; the commonest stems come first in each half."""
    last = [stem + end for end in _LAST_ENDS for stem in _LAST_STEMS]
    first = [[stem + end for end in ends for stem in _STEMS] for ends in (_FEMALE, _MALE)]
    return pl.Series([f"{given} {family}" for half in first for given in half for family in last])


def first_weights() -> Weights:
    """Shares of the first names, the same list for each sex: a few are common, most are rare."""
    return np.asarray(1 / (np.arange(FIRST) + 8.0))


def last_weights() -> Weights:
    """Shares of the last names."""
    return np.asarray(1 / (np.arange(LAST) + 15.0))
