"""Codes of several columns packed into words of 64 bits, and found again among distinct rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = Sequence[NDArray[np.uint64]]

_ROOM = 1 << 62  # what a word holds at most


@dataclass(frozen=True, slots=True)
class Packing:
    """Which columns share a word: as many as there is room for, the first one in front.

    Words of rows compare as the rows of codes do.
    """

    sizes: tuple[int, ...]
    """Number of codes of each column."""
    word_of: tuple[int, ...]
    """Which word each column is in."""

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Packing:
        """Distribute columns with so many codes each."""
        word_of, word, room = [], 0, 1
        for size in sizes:
            if room * size > _ROOM:
                word, room = word + 1, 1
            room *= size
            word_of.append(word)
        return cls(tuple(sizes), tuple(word_of))

    @property
    def words(self) -> int:
        """Number of words of a row."""
        return self.word_of[-1] + 1

    def pack(self, codes: Sequence[NDArray[np.integer]]) -> list[NDArray[np.uint64]]:
        """The words of rows, given the codes of each column."""
        words = [np.zeros(codes[0].size, np.uint64) for _ in range(self.words)]
        for code, size, word in zip(codes, self.sizes, self.word_of, strict=True):
            words[word] *= np.uint64(size)
            words[word] += code.astype(np.uint64)
        return words

    def unpack(self, words: Words) -> list[NDArray[np.uint64]]:
        """The codes of each column, given the words of rows."""
        rest, codes = list(words), []
        for size, word in zip(reversed(self.sizes), reversed(self.word_of), strict=True):
            codes.append(rest[word] % np.uint64(size))
            rest[word] = rest[word] // np.uint64(size)
        return codes[::-1]

    def places(self, codes: NDArray[np.unsignedinteger]) -> Callable[[Words], NDArray[np.int64]]:
        """A function that finds rows, given by their words, among these distinct ones, which are in order."""
        first, *others = self.pack(list(codes.T))
        known = [np.unique(first) if others else first, *map(np.unique, others)]
        steps = []  # word after word: the ranks of what was there so far, together with that of the next
        rank = _found(known[0], first) if others else first
        for distinct, word in zip(known[1:], others, strict=True):
            joint = rank * distinct.size + _found(distinct, word)
            steps.append(np.unique(joint))
            rank = _found(steps[-1], joint)

        def find(words: Words) -> NDArray[np.int64]:
            at = _found(known[0], words[0])
            for distinct, pairs, word in zip(known[1:], steps, words[1:], strict=True):
                at = _found(pairs, at * distinct.size + _found(distinct, word))
            return at

        return find


def _found(sorted_values: NDArray[np.integer], wanted: NDArray[np.integer]) -> NDArray[np.int64]:
    """Places of values among sorted ones."""
    order = np.argsort(wanted)  # in order they are found several times faster
    place = np.empty(wanted.size, np.int64)
    place[order] = np.searchsorted(sorted_values, wanted[order])
    return place
