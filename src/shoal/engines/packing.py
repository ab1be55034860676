"""Codes of several columns packed into words of 64 bits, and found again among distinct rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = Sequence[NDArray[np.uint64]]

_ROOM = 1 << 62  # what a word holds at most


@dataclass(frozen=True, slots=True)
class CodePacking:
    """Which columns share a word: as many as fit into it, the first column in the highest digits.

    Words of rows compare as the rows of codes do.
    """

    sizes: tuple[int, ...]
    """Number of codes of each column."""
    word_of: tuple[int, ...]
    """Which word each column is in."""

    @classmethod
    def from_sizes(cls, sizes: Sequence[int]) -> CodePacking:
        """Distribute columns with so many codes each."""
        word_of, word, room = [], 0, 1
        for size in sizes:
            # The top bits stay free: Spark keeps words as signed numbers of 64 bits.
            if room * size > _ROOM:
                word, room = word + 1, 1
            room *= size
            word_of.append(word)
        return cls(tuple(sizes), tuple(word_of))

    @property
    def words(self) -> int:
        """Number of words of a row."""
        return self.word_of[-1] + 1

    def pack_codes(self, codes: Sequence[NDArray[np.integer]]) -> list[NDArray[np.uint64]]:
        """The words of rows, given the codes of each column."""
        words = [np.zeros(codes[0].size, np.uint64) for _ in range(self.words)]
        for code, size, word in zip(codes, self.sizes, self.word_of, strict=True):
            words[word] *= np.uint64(size)
            words[word] += code.astype(np.uint64)
        return words

    def unpack_codes(self, words: Words) -> list[NDArray[np.uint64]]:
        """The codes of each column, given the words of rows."""
        rest, codes = list(words), []
        # The last column of a word has the lowest digits, so it comes out first.
        for size, word in zip(reversed(self.sizes), reversed(self.word_of), strict=True):
            codes.append(rest[word] % np.uint64(size))
            rest[word] = rest[word] // np.uint64(size)
        return codes[::-1]

    def make_finder(self, codes: NDArray[np.unsignedinteger]) -> Callable[[Words], NDArray[np.int64]]:
        """A function that finds rows, given by their words, among these distinct ones, which are in order."""
        first, *others = self.pack_codes(list(codes.T))
        # One word is sorted and distinct already; several need ranks to be joined without overflow.
        known = [np.unique(first) if others else first, *map(np.unique, others)]
        steps = []  # word after word: the ranks of what was there so far, together with that of the next
        rank = _find_places(known[0], first) if others else first
        for distinct, word in zip(known[1:], others, strict=True):
            joint = rank * distinct.size + _find_places(distinct, word)
            steps.append(np.unique(joint))
            rank = _find_places(steps[-1], joint)

        def find_rows(words: Words) -> NDArray[np.int64]:
            at = _find_places(known[0], words[0])
            for distinct, pairs, word in zip(known[1:], steps, words[1:], strict=True):
                at = _find_places(pairs, at * distinct.size + _find_places(distinct, word))
            return at

        return find_rows


def _find_places(sorted_values: NDArray[np.integer], wanted: NDArray[np.integer]) -> NDArray[np.int64]:
    """Places of values among sorted ones."""
    order = np.argsort(wanted)  # in order they are found several times faster
    place = np.empty(wanted.size, np.int64)
    place[order] = np.searchsorted(sorted_values, wanted[order])
    return place
