"""How a population fits the classes of a release: who could be a row of which class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class PopulationRows:
    """The different rows of a population, and how many people have each."""

    weight: NDArray[np.int64]
    """[different rows] how often each is there."""
    owners: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    """Where people have several rows: where the people of each different row begin, and these people. If it
    is None, every row is a person of its own."""

    @classmethod
    def from_rows(cls, row_of: NDArray[np.integer], person: NDArray[np.integer] | None) -> PopulationRows:
        """Given which of the different rows each row is, and whose it is if people have several."""
        weight = np.bincount(row_of)
        if person is None:
            return cls(weight)
        width = int(person.max(initial=0)) + 1
        row, owner = np.divmod(np.unique(row_of.astype(np.int64) * width + person), width)
        return cls(weight, (np.searchsorted(row, np.arange(weight.size + 1)), owner))

    @property
    def people(self) -> int:
        """Number of people."""
        return int(self.weight.sum()) if self.owners is None else np.unique(self.owners[1]).size

    def list_people(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the people of each different row begin, and these people."""
        if self.owners is not None:
            return self.owners
        start = np.concatenate(([0], np.cumsum(self.weight)))
        return start, np.arange(start[-1])

    def count_people(
        self, place: NDArray[np.integer], row: NDArray[np.integer], places: int
    ) -> NDArray[np.int64]:
        """How many people have a row at each place, each once, given all pairs of a place and a row."""
        if self.owners is None:
            return np.rint(np.bincount(place, self.weight[row], places)).astype(np.int64)
        start, person = self.owners
        times = start[row + 1] - start[row]
        # The entries of each pair follow each other: from where the people of its row begin.
        entry = np.arange(times.sum()) + np.repeat(start[row] - np.cumsum(times) + times, times)
        width = int(person.max(initial=0)) + 1
        once = np.unique(np.repeat(place, times).astype(np.int64) * width + person[entry])
        return np.bincount(once // width, minlength=places)


@dataclass(frozen=True, slots=True, eq=False)
class PopulationFit:
    """How the people of a population fit classes.

    A population row fits a class if each of its values is among those that the class's released value
    stands for. It may fit several classes, where their cells overlap, or none. A person fits a class by any
    row, and counts once.
    """

    rows: NDArray[np.int64]
    """[classes] how many people of the population fit each class: its rows, if each has one."""
    least: NDArray[np.float64]
    """[classes] least and greatest share of a group of people fitting the class that can be in the release;
    a group are the people with rows that fit the same classes."""
    most: NDArray[np.float64]
    population: int
    """Number of people."""
    outside: int = 0
    """How many of them have a row that fits no class."""

    @classmethod
    def from_disjoint_classes(
        cls, size: NDArray[np.integer], rows: NDArray[np.int64], population: int | None = None
    ) -> PopulationFit:
        """Classes of ``size`` rows that ``rows`` of the population fit, each row one class only."""
        # A class that nobody fits has an infinite share, which no bound allows.
        with np.errstate(divide="ignore"):
            share = size / rows
        return cls(rows, share, share, int(rows.sum()) if population is None else population)

    @classmethod
    def from_pairs(
        cls,
        size: NDArray[np.integer],
        class_of: NDArray[np.integer],
        row: NDArray[np.integer],
        population: PopulationRows,
        *,
        shared: bool = False,
    ) -> PopulationFit:
        """Classes of ``size`` rows, or people, given all pairs of a class and a population row that fits it.

        ``shared`` says that somebody may be in several classes.
        """
        least, most = bound_presence(size, class_of, row, population, shared=shared)
        lowest, highest = np.full(size.size, np.inf), np.full(size.size, -np.inf)
        np.minimum.at(lowest, class_of, least[row])
        np.maximum.at(highest, class_of, most[row])
        fit = population.count_people(class_of, row, size.size)
        highest[fit == 0] = np.inf  # released rows that nobody of the population can be
        outside = np.setdiff1d(np.arange(population.weight.size), row)
        alone = int(population.count_people(np.zeros_like(outside), outside, 1)[0])
        return cls(fit, lowest, highest, population.people, alone)


def bound_presence(
    size: NDArray[np.integer],
    class_of: NDArray[np.integer],
    row: NDArray[np.integer],
    population: PopulationRows,
    *,
    shared: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and greatest share of those who fit the same classes that can be in the release, per row.

    No more of them than there are in these classes, and no fewer than in those that nobody else fits. If
    classes may share people, it is not known how many do: those of the largest such class are certain.
    """
    group = _group_rows(size.size, class_of, row, population.weight.size)
    members = population.count_people(group, np.arange(group.size), int(group.max(initial=-1)) + 1)
    first = np.full(size.size, group.size)
    np.minimum.at(first, class_of, group[row])
    # Classes that one group fits alone: their rows must be of that group.
    only = np.ones(size.size, np.bool_)
    only[class_of[group[row] != first[class_of]]] = False
    # One pair per class and group: rows of a group fit the same classes.
    pair = np.unique(class_of.astype(np.int64) * members.size + group[row])
    in_class, in_group = pair // members.size, pair % members.size
    there = size[in_class].astype(np.float64)
    most = np.bincount(in_group, there, members.size) / members
    own = np.where(only[in_class], there, 0.0)
    certain = np.zeros(members.size)
    (np.maximum if shared else np.add).at(certain, in_group, own)
    return (certain / members)[group], most[group]


def _group_rows(
    classes: int, class_of: NDArray[np.integer], row: NDArray[np.integer], rows: int
) -> NDArray[np.int64]:
    """The group of each different population row: equal for those that fit the same classes."""
    # Rows fit the same classes if the classes' random words add up to the same. That two of these sums of
    # 128 bits agree by chance is not to be expected in the lifetime of the universe.
    word = np.random.default_rng(0).integers(1 << 63, size=(2, classes), dtype=np.int64)
    key = np.zeros((2, rows), np.int64)
    for half in range(2):
        np.add.at(key[half], row, word[half][class_of])
    return np.unique(key, axis=1, return_inverse=True)[1].ravel()


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
