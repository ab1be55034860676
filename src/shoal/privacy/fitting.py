"""How a population fits the classes of a release: who could be a row of which class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class PopulationFit:
    """How the rows of a population fit classes.

    A population row fits a class if each of its values is among those that the class's released value
    stands for. It may fit several classes, where their cells overlap, or none.
    """

    rows: NDArray[np.int64]
    """[classes] how many population rows fit each class."""
    least: NDArray[np.float64]
    """[classes] least and greatest share of a group of population rows fitting the class that can be in the
    release; a group are the rows that fit the same classes."""
    most: NDArray[np.float64]
    population: int
    """Number of population rows."""
    outside: int = 0
    """How many of them fit no class."""

    @classmethod
    def from_disjoint_classes(
        cls, size: NDArray[np.integer], rows: NDArray[np.int64], population: int | None = None
    ) -> PopulationFit:
        """Classes of ``size`` rows that ``rows`` of the population fit, each of them one class only."""
        # A class that nobody fits has an infinite share, which no bound allows.
        with np.errstate(divide="ignore"):
            share = size / rows
        return cls(rows, share, share, int(rows.sum()) if population is None else population)

    @classmethod
    def from_pairs(
        cls,
        size: NDArray[np.integer],
        class_of: NDArray[np.integer],
        person: NDArray[np.integer],
        weight: NDArray[np.int64],
    ) -> PopulationFit:
        """Classes of ``size`` rows, given all pairs of a class and a distinct population row that fits it."""
        least, most = bound_presence(size, class_of, person, weight)
        lowest, highest = np.full(size.size, np.inf), np.full(size.size, -np.inf)
        np.minimum.at(lowest, class_of, least[person])
        np.maximum.at(highest, class_of, most[person])
        fit = np.rint(np.bincount(class_of, weight[person], size.size)).astype(np.int64)
        highest[fit == 0] = np.inf  # released rows that nobody of the population can be
        total = int(weight.sum())
        return cls(fit, lowest, highest, total, total - int(weight[np.unique(person)].sum()))


def bound_presence(
    size: NDArray[np.integer],
    class_of: NDArray[np.integer],
    person: NDArray[np.integer],
    weight: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and greatest share of those who fit the same classes that can be in the release, per person.

    No more of them than there are rows in these classes, and no fewer than in those that nobody else fits.
    """
    group, members = _group_people(size.size, class_of, person, weight)
    first = np.full(size.size, group.size)
    np.minimum.at(first, class_of, group[person])
    # Classes that one group fits alone: their rows must be of that group.
    only = np.ones(size.size, np.bool_)
    only[class_of[group[person] != first[class_of]]] = False
    # One pair per class and group: people of a group fit the same classes.
    pair = np.unique(class_of.astype(np.int64) * members.size + group[person])
    in_class, in_group = pair // members.size, pair % members.size
    rows = size[in_class].astype(np.float64)
    most = np.bincount(in_group, rows, members.size) / members
    least = np.bincount(in_group, np.where(only[in_class], rows, 0.0), members.size) / members
    return least[group], most[group]


def _group_people(
    classes: int, class_of: NDArray[np.integer], person: NDArray[np.integer], weight: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The group of each distinct population row, and the number of population rows in each group."""
    # People fit the same classes if the classes' random words add up to the same. That two of these sums of
    # 128 bits agree by chance is not to be expected in the lifetime of the universe.
    word = np.random.default_rng(0).integers(1 << 63, size=(2, classes), dtype=np.int64)
    key = np.zeros((2, weight.size), np.int64)
    for half in range(2):
        np.add.at(key[half], person, word[half][class_of])
    group = np.unique(key, axis=1, return_inverse=True)[1].ravel()
    return group, np.rint(np.bincount(group, weight)).astype(np.int64)


def fitting_pairs(
    cell: NDArray[np.integer], covers: Sequence[NDArray[np.bool_]], value: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of a class and a distinct population row that fits it.

    Parameters
    ----------
    cell : [classes, columns]
        Which released value each class has.
    covers : per column [released values, population values]
        Whether a released value stands for a value of the population.
    value : [people, columns]
        Which value each distinct population row has.
    """
    # Columns with few released values first: what they rule out need not be looked at again.
    columns = sorted(range(len(covers)), key=lambda j: covers[j].shape[0])
    found = list(_match_columns(np.arange(len(cell)), np.arange(len(value)), columns, cell, covers, value))
    pairs = [np.meshgrid(classes, people, indexing="ij") for classes, people in found]
    nothing = np.empty(0, np.int64)
    return (
        np.concatenate([nothing, *(classes.ravel() for classes, _ in pairs)]),
        np.concatenate([nothing, *(people.ravel() for _, people in pairs)]),
    )


def _match_columns(
    classes: NDArray[np.int64],
    people: NDArray[np.int64],
    columns: Sequence[int],
    cell: NDArray[np.integer],
    covers: Sequence[NDArray[np.bool_]],
    value: NDArray[np.integer],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Classes with equal cells and the people who fit them, column after column."""
    if not columns:
        yield classes, people
        return
    j = columns[0]
    cells, values = cell[classes, j], value[people, j]
    for each in np.unique(cells):
        fit = people[covers[j][each][values]]
        if fit.size:
            yield from _match_columns(classes[cells == each], fit, columns[1:], cell, covers, value)
