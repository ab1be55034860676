"""Codes of which less and less is shown: postcodes, ICD codes, phone numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.support.parameters import check_fields
from shoal.table.hierarchies.builders.levels import (
    Level,
    build_from_levels,
    find_coarser_levels,
    make_level,
)
from shoal.table.hierarchies.builders.values import Values
from shoal.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class Masking:
    """Characters hidden from one end: 10115, 1011*, 101**, and so on.

    Parameters
    ----------
    keep : tuple of int
        How many characters each level shows, descending; by default every number that joins values.
    side : {"right", "left"}
        Which end is hidden first.
    character : str
        What stands for a hidden character.

    Notes
    -----
    Values of unequal length are aligned at the end that stays: of E11, E11.9 and E11.65 three characters are
    the same, and all three become ``E11***``.
    """

    keep: tuple[int, ...] = ()
    side: Literal["right", "left"] = "right"
    character: str = "*"

    def __post_init__(self) -> None:
        check_fields(self)
        if any(length < 1 for length in self.keep) or any(
            not high > low for high, low in pairwise(self.keep)
        ):
            raise InputError(
                f"keep is how many characters each level shows, descending to 1, not {self.keep}"
            )
        if len(self.character) != 1:
            raise InputError(f"character is one character, not '{self.character}'")

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column of texts."""
        longest = int(values.text.str.len_chars().max())  # type: ignore[arg-type]
        lengths = self.keep or range(longest - 1, 0, -1)
        shown = [self._cut_strings(values.text, length) for length in lengths]
        levels = [
            self._build_level(part, length, longest) for part, length in zip(shown, lengths, strict=True)
        ]
        kept = (
            range(len(levels))
            if self.keep
            else find_coarser_levels([level.group for level in levels], len(values.text))
        )
        return build_from_levels(values.leaves, [levels[at] for at in kept])

    def _cut_strings(self, text: pl.Series, length: int) -> pl.Series:
        return text.str.head(length) if self.side == "right" else text.str.tail(length)

    def _build_level(self, shown: pl.Series, length: int, longest: int) -> Level:
        hidden = self.character * (longest - length)

        def name_group(leaf: int) -> str:
            # What is shorter than that is still shown whole.
            padding = hidden if len(shown[leaf]) == length else ""
            return f"{shown[leaf]}{padding}" if self.side == "right" else f"{padding}{shown[leaf]}"

        return make_level(shown.rank("dense").to_numpy().astype(np.int64), name_group)
