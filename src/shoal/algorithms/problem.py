"""What an algorithm is given, and what it promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.codespace.encoding import CategoryOrder, EncodedColumn
from shoal.codespace.frequency import CodedRows, FrequencyTable, Histograms, rank_rows
from shoal.codespace.recoding import Proposal
from shoal.errors import InternalError, RecipeError
from shoal.kernels.axes import LEVELS, START, TREE, Axes
from shoal.kernels.kinds import GROUP, PEOPLE, PERSON, POPULATION, Rule
from shoal.kernels.rules import Rules, assemble_rules, estimate_usual_counts, set_whole
from shoal.privacy import Counts, Model, PopulationFit, SensitiveCounts, ValueScale
from shoal.privacy.counts import sum_by_place
from shoal.privacy.fitting import PopulationRows
from shoal.privacy.k_map_weights import WEIGHTS, WEIGHTS_SCALE, read_amounts
from shoal.privacy.people import count_people, count_people_by_value, list_counted, number_units
from shoal.support.progress import Progress, silent

__all__ = ["Algorithm", "Problem", "Progress", "silent"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table in code space, the privacy goal and what is minimised."""

    domains: tuple[Domain, ...]
    rows: CodedRows
    sensitive: tuple[str, ...]
    """Names of the sensitive columns of ``rows``."""
    models: tuple[Model, ...]
    loss: str
    """Name of the loss that is minimised."""
    weights: NDArray[np.float64]
    """How much each quasi-identifier matters."""
    suppress: float = 0.0
    """Largest share of rows that may be suppressed."""
    seed: int = 0
    threads: int = field(default=1)
    """How many threads to use; the result does not depend on it."""
    scales: Mapping[str, ValueScale] = field(default_factory=dict)
    """How the values of sensitive columns lie to each other, where that is known."""
    beside: Mapping[str, EncodedColumn] = field(default_factory=dict)
    """Columns other than quasi-identifiers that the algorithm asked to see."""
    population: FrequencyTable | None = None
    """The people that some models compare with, in the same code space."""
    person: NDArray[np.integer] | None = None
    """[rows] the person of each row, where some have several and people are counted; None if rows are."""
    group: NDArray[np.integer] | None = None
    """[rows] the group of each row's person, where groups are counted beside people."""
    population_person: NDArray[np.integer] | None = None
    """[rows of the population] whose row it is, where people of the population have several."""

    @cached_property
    def table(self) -> FrequencyTable:
        """The collapsed rows."""
        return self.rows.collapse_rows()

    @cached_property
    def table_with_population(self) -> FrequencyTable:
        """The collapsed rows and, with weight 0, the people who equal none of them.

        A search that keeps these in its classes, and so in their cells, need not overlook anybody.
        """
        table, people = self.table, self.population
        if people is None:
            return table
        key = self._rank_with_population(table.codes)
        own, others = key[: table.weight.size], key[table.weight.size :]
        extra = np.flatnonzero(~np.isin(others, own))
        # Ranks are lexicographic, as the order of a frequency table has to be.
        order = np.argsort(np.concatenate([own, others[extra]]), kind="stable")
        place = np.empty(order.size, np.int32)
        place[order] = np.arange(order.size, dtype=np.int32)
        codes = np.concatenate([table.codes, people.codes[extra].astype(table.codes.dtype)])
        # Weight 0, no sensitive values: these people widen cells, but count as no rows.
        weight = np.concatenate([table.weight, np.zeros(extra.size, np.int64)])
        entries = np.concatenate([np.diff(table.histograms.start), np.zeros(extra.size, np.int64)])
        start = np.concatenate(([0], np.cumsum(entries[order])))
        histograms = replace(table.histograms, start=start)
        return FrequencyTable(codes[order], weight[order], place[table.of_row], histograms)

    @cached_property
    def table_counts(self) -> Counts:
        """All rows as one class."""
        columns = zip(self.sensitive, self.rows.sensitive, strict=True)
        if self.person is not None:
            every = np.arange(self.person.size)
            return self._count_people(np.zeros_like(every), every, 1, {})
        return Counts(
            np.array([self.rows.rows]),
            {
                name: SensitiveCounts.of_whole(codes, self.scales.get(name), self.rows.count)
                for name, codes in columns
            },
            self._build_fitting(np.array([self.rows.rows]), self.population_size),
        )

    @property
    def is_monotone(self) -> bool:
        """Whether merging two classes that satisfy the goal gives one that does."""
        return all(model.monotone and self._adds_up(model) for model in self.models)

    @property
    def is_lasting(self) -> bool:
        """Whether a class that satisfies the goal still does with any further rows."""
        return all(model.lasting and self._adds_up(model) for model in self.models)

    def _adds_up(self, model: Model) -> bool:
        """Whether what a model counts in two classes adds up: people with rows in both may gain values."""
        return self.person is None or not (model.sensitive or model.compares_people)

    @cached_property
    def has_value_limits(self) -> bool:
        """Whether a class can have too many rows of one sensitive value, so that these are told apart."""
        return bool(estimate_usual_counts(self.build_rules(self.table)).any())

    def refuse_negative_weights(self, name: str) -> None:
        """For a search that takes narrow cells to be better than wide ones, whatever the column."""
        if (self.weights < 0).any():
            raise RecipeError(f"{name} takes weights from 0 up; mingen and genetic take any")

    @property
    def population_size(self) -> NDArray[np.int64]:
        """The number of people in the population, as that of one class."""
        return np.array([0 if self.population is None else self.population_rows.people])

    @cached_property
    def population_rows(self) -> PopulationRows:
        """Whose the different rows of the population are."""
        assert self.population is not None
        return PopulationRows.from_rows(self.population.of_row, self.population_person)

    def _build_fitting(self, size: NDArray[np.integer], people: NDArray[np.int64]) -> PopulationFit | None:
        return None if self.population is None else PopulationFit.from_disjoint_classes(size, people)

    def find_sufficient_groups(
        self, group: NDArray[np.integer], row: NDArray[np.integer], groups: int
    ) -> NDArray[np.bool_]:
        """Which groups of rows satisfy every model as classes, whatever the other classes are.

        Parameters
        ----------
        group, row : int[members]
            Each group with each of its rows; a row may be in any number of groups.
        groups : int
            Number of groups.
        """
        if self.person is not None:
            every = {name: each.reference for name, each in self.table_counts.sensitive.items()}
            people = self._count_people(group, row, groups, every)
            return np.asarray(np.logical_and.reduce([model.suffices(people) for model in self.models]))
        columns = {}
        times = None if self.rows.count is None else self.rows.count[row]
        for name, values in zip(self.sensitive, self.rows.sensitive, strict=True):
            whole = self.table_counts.sensitive[name]
            found = SensitiveCounts.of_rows(group, values[row].astype(np.int64), whole.scale, times)
            # Distributions are compared with the whole table, not with the sum of these groups.
            columns[name] = replace(found, reference=whole.count_in_table())
        size = np.bincount(group, minlength=groups) if times is None else sum_by_place(group, times, groups)
        counts = Counts(
            size, columns, self._build_fitting(size, self._count_people_of_groups(group, row, size))
        )
        return np.asarray(np.logical_and.reduce([model.suffices(counts) for model in self.models]))

    def _count_people(
        self,
        group: NDArray[np.integer],
        row: NDArray[np.integer],
        groups: int,
        whole: Mapping[str, NDArray[np.int64] | None],
    ) -> Counts:
        """Groups of rows as classes, by their people; compared with themselves, or with a ``whole``."""
        assert self.person is not None
        columns = {}
        for name, values in zip(self.sensitive, self.rows.sensitive, strict=True):
            found = count_people_by_value(group, values[row], self.person[row], self.scales.get(name))
            columns[name] = replace(found, reference=whole[name]) if name in whole else found
        size = count_people(group, self.person[row], groups)
        households = None if self.group is None else count_people(group, self.group[row], groups)
        rows = self._count_rows(group, row, groups)
        fitting = self._build_fitting(size, self._count_people_of_groups(group, row, rows))
        return Counts(size, columns, fitting, rows_of=rows, groups=households)

    def _count_rows(
        self, group: NDArray[np.integer], row: NDArray[np.integer], groups: int
    ) -> NDArray[np.int64]:
        """Number of original rows in each group."""
        if self.rows.count is None:
            return np.bincount(group, minlength=groups)
        return sum_by_place(group, self.rows.count[row], groups)

    def count_people_of_release(self, class_of: NDArray[np.integer], classes: int) -> Counts:
        """The classes of a release by their people, given the class of each row, or -1 if it is suppressed.

        Values that are not released are unknown to a reader, and take no place in an order.
        """
        assert self.person is not None
        kept = np.flatnonzero(class_of >= 0)
        columns = {}
        for name, values in zip(self.sensitive, self.rows.sensitive, strict=True):
            present, number = np.unique(values[kept], return_inverse=True)
            scale = self.scales.get(name, ValueScale())
            if scale.levels is not None:
                scale = replace(scale, levels=scale.levels[:, present])
            if scale.amounts is not None:
                scale = replace(scale, amounts=scale.amounts[present])
            columns[name] = count_people_by_value(class_of[kept], number, self.person[kept], scale)
        size = count_people(class_of[kept], self.person[kept], classes)
        households = None if self.group is None else count_people(class_of[kept], self.group[kept], classes)
        rows = self._count_rows(class_of[kept], kept, classes)
        return Counts(size, columns, rows_of=rows, groups=households)

    def build_axes(self) -> Axes:
        """The quasi-identifiers for the kernels."""
        # START and TREE are offsets, so their last column is the end; LEVELS stays 0 for a line.
        shape = np.zeros((3, len(self.domains) + 1), np.int64)
        position, node, node_width = [np.empty(0)], [np.empty(0, np.int32)], [np.empty(0)]
        for j, domain in enumerate(self.domains):
            shape[START, j + 1] = shape[START, j] + domain.size
            shape[TREE, j + 1] = shape[TREE, j]
            position.append(domain.position)
            if domain.hierarchy is not None:
                nodes = domain.hierarchy.nodes
                shape[LEVELS, j] = nodes.shape[0]
                shape[TREE, j + 1] += nodes.size
                node.append(nodes.ravel())
                node_width.append(_node_widths(domain))
        return Axes(
            self.weights, shape, np.concatenate(position), np.concatenate(node), np.concatenate(node_width)
        )

    def build_rules(self, table: FrequencyTable) -> Rules:
        """The privacy goal for the kernels, about all rows or, in ``table``, some of them."""
        rules = [rule for model in self.models if (rule := model.rule(self.table_counts)) is not None]
        size = max([1, *(model.least_size() for model in self.models)])
        if self.person is not None:
            return self._build_rules_of_people(table, size, rules)
        histograms = table.histograms
        columns = dict(zip(self.sensitive, pairwise(histograms.first), strict=True))
        if self.population is not None:
            end = histograms.first[-1]
            # The population is like a further sensitive column of two values: rows, people.
            columns[POPULATION] = (end, end + 2)
            histograms = _with_values(histograms, (table.weight, self._count_equal_people(table.codes)))
        for rule in rules:
            if rule.column.startswith(WEIGHTS):
                end = histograms.first[-1]
                # As with a population: rows, and what their weights add up to.
                columns[rule.column] = (end, end + 2)
                weights = self._sum_weights(rule.column.removeprefix(WEIGHTS), table.histograms)
                histograms = _with_values(histograms, (table.weight, weights))
        entries = (histograms.start, histograms.value, histograms.count)
        # Some rows, too, are compared with the whole table.
        every = self.table.histograms
        whole = np.rint(
            np.bincount(every.value, every.count, max([0, *(last for _, last in columns.values())]))
        ).astype(np.int64)
        return assemble_rules(size, rules, columns, entries)._replace(whole=whole, rows=self.rows.rows)

    def _sum_weights(self, column: str, histograms: Histograms) -> NDArray[np.int64]:
        """[weighted rows] what the survey weights in a column add up to, in thousandths."""
        at = self.sensitive.index(column)
        first, last = histograms.first[at : at + 2]
        own = (histograms.value >= first) & (histograms.value < last)
        amounts = read_amounts(self.scales[column].amounts, column)
        each = np.floor(WEIGHTS_SCALE * amounts).astype(np.int64)[histograms.value[own] - first]
        row = np.repeat(np.arange(histograms.start.size - 1), np.diff(histograms.start))[own]
        return sum_by_place(row, each * histograms.count[own], histograms.start.size - 1)

    def _build_rules_of_people(self, table: FrequencyTable, size: int, rules: list[Rule]) -> Rules:
        """The same where people are counted: a person is like a further sensitive column of one value."""
        assert self.person is not None
        least = max(model.least_people() for model in self.models)
        parts = self._list_unit_columns(table, {rule.column for rule in rules})
        first = np.cumsum([0, *(part.size for part in parts)])
        columns = dict(zip((part.name for part in parts), pairwise(first.tolist()), strict=True))
        # Units of one column follow those of another, so that a number tells the column, too.
        begin = np.cumsum([0, *(_count_numbers(part.unit) for part in parts)])
        value_of = np.repeat(first[:-1], np.diff(begin)).astype(np.int32)
        for part, offset, start in zip(parts, begin, first, strict=False):
            value_of[part.unit + offset] = part.value + start
        unit = np.concatenate([part.unit + offset for part, offset in zip(parts, begin, strict=False)])
        row, unit = list_counted(np.concatenate([part.row for part in parts]), unit)
        entry = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=table.weight.size))))
        # What somebody has in many rows counts once in the whole table, as in a class.
        whole = np.bincount(value_of, minlength=int(first[-1]))
        people = Rule(PEOPLE, PERSON, least)
        entries = (entry, value_of[unit], unit)
        found = assemble_rules(size, [*rules, people], columns, entries, int(begin[-1]))
        return set_whole(found, whole, self.rows.rows)

    def _list_unit_columns(self, table: FrequencyTable, asked: set[str]) -> list[_UnitColumn]:
        """What is counted by units: values that are asked for, the population, groups and, last, people."""
        assert self.person is not None
        row, one = table.of_row, np.int64(0)
        columns = zip(self.sensitive, self.rows.sensitive_sizes, self.rows.sensitive, strict=True)
        found = [
            _UnitColumn(name, size, row, number_units(self.person, values), values)
            for name, size, values in columns
            if name in asked
        ]
        if POPULATION in asked:
            there, whom = self._list_equal_people(table.codes)
            owners = _count_numbers(self.person)
            # Two values: people of the table, and after them those of the population.
            unit = np.concatenate([self.person, owners + whom])
            found.append(_UnitColumn(POPULATION, 2, np.concatenate([row, there]), unit, unit >= owners))
        if self.group is not None:
            found.append(_UnitColumn(GROUP, 1, row, self.group, one))
        # An owner with the one value that all have is the owner.
        return [*found, _UnitColumn(PERSON, 1, row, self.person, one)]

    def _rank_with_population(self, codes: NDArray[np.integer]) -> NDArray[np.int32]:
        """Numbers of rows of codes, and then of the people: equal ones are equal, and in their order."""
        assert self.population is not None
        both = zip(codes.T, self.population.codes.T, strict=True)
        return rank_rows([np.concatenate(columns) for columns in both], self.rows.sizes)

    def match_population(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Which different row of the population each row of codes equals; -1 for none."""
        key = self._rank_with_population(codes)
        place = np.full(_count_numbers(key), -1)
        place[key[len(codes) :]] = np.arange(key.size - len(codes))
        return place[key[: len(codes)]]

    def _list_equal_people(self, codes: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each row of codes with each of the people who equal it; of rows that are equal, each gets its part.

        As `_count_equal_people`, where people are told apart.
        """
        match, (start, person) = self.match_population(codes), self.population_rows.list_people()
        order = np.argsort(match, kind="stable")
        there = np.repeat(np.arange(start.size - 1), np.diff(start))
        begin, end = (np.searchsorted(match[order], there, side) for side in ("left", "right"))
        known = end > begin
        turn = np.arange(person.size) - start[there]
        # People take turns among the rows that they equal.
        row = order[(begin + turn % np.maximum(end - begin, 1))[known]]
        return row, person[known]

    def _count_equal_people(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """How many people equal each row of codes; of rows that are equal, each gets its part of them.

        A class's cells cover its rows, and so at least these people fit it.
        """
        assert self.population is not None
        key = self._rank_with_population(codes)
        own, others = key[: len(codes)], key[len(codes) :]
        # bincount adds weights as floats: rint makes the sums exact whole numbers again.
        people = np.rint(np.bincount(others, self.population.weight, key.max() + 1)).astype(np.int64)[own]
        alike = np.bincount(own)[own]
        order = np.argsort(own, kind="stable")
        turn = np.empty(own.size, np.int64)
        turn[order] = np.arange(own.size) - np.searchsorted(own[order], own[order])
        # Whole shares that add up to all people: the first rows get one more each.
        return people // alike + (turn < people % alike)

    def _count_people_of_groups(
        self, group: NDArray[np.integer], row: NDArray[np.integer], size: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """How many people equal some row of each group; all, if it has all rows: it can be suppressed."""
        if self.population is None:
            return np.empty(0, np.int64)
        table = self.table
        # A distinct row counts its people once in a group, however many of its rows are there.
        pair = np.unique(group.astype(np.int64) * table.weight.size + table.of_row[row])
        match = self.match_population(table.codes)[pair % table.weight.size]
        place = pair // table.weight.size
        people = self.population_rows.count_people(place[match >= 0], match[match >= 0], size.size)
        return np.where(size == self.rows.rows, self.population_size, people)


class _UnitColumn(NamedTuple):
    """A column that is counted by units: a unit is an owner with a value, and counts once in a class."""

    name: str
    size: int
    """Number of values."""
    row: NDArray[np.integer]
    """[entries] the weighted row."""
    unit: NDArray[np.integer]
    value: NDArray[np.integer] | NDArray[np.bool_] | np.int64
    """[entries] the unit, and its value."""


def _with_values(histograms: Histograms, counts: tuple[NDArray[np.int64], ...]) -> Histograms:
    """Histograms with further values, of which every weighted row has the given numbers."""
    rows, more = histograms.start.size - 1, len(counts)
    before = histograms.start[1:] + more * np.arange(rows)  # where the new entries of each row go
    value = np.empty(histograms.value.size + more * rows, np.int32)
    count = np.empty(value.size, np.int64)
    old = np.ones(value.size, np.bool_)
    for at, numbers in enumerate(counts):
        old[before + at] = False
        value[before + at], count[before + at] = histograms.first[-1] + at, numbers
    value[old], count[old] = histograms.value, histograms.count
    first = (*histograms.first, histograms.first[-1] + more)
    return Histograms(first, histograms.start + more * np.arange(rows + 1), value, count)


def _node_widths(domain: Domain) -> NDArray[np.float64]:
    """Width of the node above each leaf, level by level."""
    assert domain.hierarchy is not None
    leaf = np.arange(domain.size)
    extents = [
        domain.hierarchy.extent(np.full(domain.size, level), leaf)
        for level in range(domain.hierarchy.height + 1)
    ]
    return np.concatenate([domain.compute_widths(lo, hi) for lo, hi in extents])


def _count_numbers(numbers: NDArray[np.integer]) -> int:
    """How many numbers there are from 0 to the largest, of whatever type they are."""
    return int(numbers.max()) + 1 if numbers.size else 0


class Algorithm(ABC):
    """A frozen dataclass whose fields are its parameters, and which declares what it can do.

    Engines read these declarations; none asks which algorithm it has. What is declared here is the careful
    answer, so that a new algorithm is refused where nobody has said that it works.
    """

    __slots__ = ()

    works_on_counted_rows: ClassVar[bool] = False
    """Whether it needs no row by itself, but equal rows counted: then the rows can stay on disk or on a
    cluster."""
    counts_people: ClassVar[bool] = False
    """Whether its classes keep a goal about people who have several rows, and not only one about rows."""
    links_people: ClassVar[bool] = False
    """Whether its classes can be those of a release with pseudonyms: of people, and of the rows of some."""
    releases_one_value: ClassVar[bool] = False
    """Whether it releases one value for a class, in the type of the column, however cells are rendered."""
    counted_rows_mode: ClassVar[str] = ""
    """The mode in which it does, for messages, where it has several."""

    @property
    def divides_equal_rows(self) -> bool:
        """Whether, with these parameters, equal rows can go to different classes: counted ones cannot."""
        return False

    @property
    def needs_all_rows(self) -> bool:
        """Whether all distinct rows have to be in one place; if not, `choose_cut` says how to divide them."""
        return True

    @property
    def is_cell_level(self) -> bool:
        """Whether it generalises every cell by itself, so that a released row need not equal any other."""
        return False

    @property
    def category_order(self) -> CategoryOrder:
        """The order of flat categories that it is made for: by frequency, which lowers the loss."""
        return "frequency"

    def beside(self, quasi: Sequence[str], sensitive: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
        """The columns among ``names`` that it wants to see besides the quasi-identifiers."""
        return ()

    def list_every_solution(self) -> Algorithm:
        """The same search, but one that lists every table of least loss; only an exact one has them."""
        raise RecipeError(
            "all_solutions lists the tables of least loss, and only an exact search knows them: take "
            "--algorithm mingen"
        )

    def choose_cut(self, count_rows: Callable[[], int], trees: bool) -> str:
        """How a cluster should cut distinct rows, which are counted if the choice depends on their number.

        Parameters
        ----------
        trees : bool
            Whether columns have hierarchies.
        """
        raise InternalError(f"{type(self).__name__} has to see all rows: nothing can be cut without it")

    @abstractmethod
    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Propose classes; the recoding, the loss and the verdict are not its business."""
