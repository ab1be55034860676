"""t-closeness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import ORDERED, TRANSPORT, Rule
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts, SensitiveCounts, sum_by_place
from shoal.support.parameters import check_fields

Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True, slots=True)
class TCloseness(Model):
    """The distribution of sensitive values in every class is within t of that in the whole release.

    The distance is the earth mover's: how far, on average, rows must be moved from value to value to turn
    one distribution into the other. Protects from learning much from the class that the release as a whole
    does not tell, also where values differ but mean nearly the same. Does not protect what the whole release
    tells, and a rare value may become many times as likely while the distance stays small.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007.
    """

    t: float
    """Largest distance, from 0 to 1."""
    distance: Distance = "equal"
    """How far values lie apart. equal: any two by 1. ordered: by the number of steps between their ranks (not
    the difference of the numbers themselves) over the most there can be; the column has numbers, dates or a
    stated order, and a missing value ranks first. hierarchical: by the level of their common node over the
    hierarchy's height."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.t <= 1:
            raise RecipeError(f"t is a distance, from 0 to 1, not {self.t:g}")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class is within t of the whole."""
        return self.distances(counts) <= self.t

    def achieved(self, counts: Counts) -> float:
        """Largest distance of any class."""
        return float(self.distances(counts).max(initial=0.0))

    def rule(self, whole: Counts) -> Rule:
        """A distance of at most t."""
        values = self._check_scale(whole)
        size = values.count_in_table().size
        if self.distance == "ordered":
            return Rule(ORDERED, str(self.column), self.t, max(size - 1, 1))
        levels = values.scale.levels if self.distance == "hierarchical" else None
        if levels is None:
            # The equal distance is a tree of one level, in which every value is a node of its own.
            levels = np.arange(size)[None]
        return Rule(TRANSPORT, str(self.column), self.t, len(levels), levels=levels)

    def _check_scale(self, counts: Counts) -> SensitiveCounts:
        values = counts.sensitive_column(self.column)
        if self.distance == "ordered" and not values.scale.ordered:
            raise RecipeError(
                f"the ordered distance needs an order, but column '{self.column}' has neither numbers nor "
                "dates: state the order of its values, or take the distance equal"
            )
        if self.distance == "hierarchical" and values.scale.levels is None:
            raise RecipeError(
                f"the hierarchical distance needs a hierarchy for column '{self.column}', and there is none"
            )
        return values

    def distances(self, counts: Counts) -> NDArray[np.float64]:
        """How far each class is from the whole."""
        values, size = self._check_scale(counts), counts.sum_values(self.column)
        if self.distance == "equal":
            return equal_distance(values, size)
        return (ordered_distance if self.distance == "ordered" else tree_distance)(values, size)


def equal_distance(values: SensitiveCounts, size: NDArray[np.integer]) -> NDArray[np.float64]:
    """Distance of each class from the whole, where any two values lie 1 apart."""
    return _sum_differences(values, size) / (2.0 * size * int(values.count_in_table().sum()))


def tree_distance(values: SensitiveCounts, size: NDArray[np.integer]) -> NDArray[np.float64]:
    """Distance of each class from the whole, where two values lie apart by the level of their common node.

    With height H, moving a row between two leaves whose common node has level h crosses h of the H levels
    below the root, on each from one node to another. So the distance is the mean over these levels
    of the equal distance between the nodes. (The paper's sum over nodes comes to the same.)
    """
    levels = values.scale.levels
    assert levels is not None
    work = np.zeros(size.size, np.int64)
    for nodes in levels:
        work += _sum_differences(_group_by_node(values, nodes), size)
    return work / (2.0 * len(levels) * size * int(values.count_in_table().sum()))


def ordered_distance(values: SensitiveCounts, size: NDArray[np.integer]) -> NDArray[np.float64]:
    """Distance of each class from the whole, where values lie apart by the steps between their ranks.

    What has to cross from each value to the next is the difference of the sums so far. In a class, these
    are constant between two values that it has, and one whole stretch is summed at once.
    """
    whole = values.count_in_table()
    rows, last = int(whole.sum()), whole.size
    order = np.lexsort((values.value, values.class_of))
    class_of, value, count = values.class_of[order], values.value[order].astype(np.int64), values.count[order]
    first = np.searchsorted(class_of, np.arange(size.size))
    above = np.cumsum(count)
    so_far = above - (above[first] - count[first])[class_of]
    until = np.append(value[1:], last)
    # The last stretch of each class ends with the last value of the table.
    until[np.append(first[1:], class_of.size) - 1] = last
    crossing = np.cumsum(whole)  # how much of the whole lies up to each value
    summed = np.concatenate(([0], np.cumsum(crossing)))
    # Whole numbers are exact, as long as they fit.
    kind = np.int64 if float(size.max(initial=0)) * rows * last < 2**62 else np.float64
    share, n = so_far * rows, size[class_of].astype(np.int64)
    # Along a stretch the whole's sum so far grows; up to `turn` it is below the class's.
    turn = np.clip(np.searchsorted(crossing, share // n, "right"), value, until)
    stretch = 2 * summed[turn] - summed[value] - summed[until]
    work = share.astype(kind) * (2 * turn - value - until) - n.astype(kind) * stretch
    # Before its first value a class has no rows: what crosses is the table's sum so far.
    before = size.astype(kind) * summed[value[first]]
    total = np.add.reduceat(work, first) + before if size.size else before
    return np.asarray(total / (np.float64(max(last - 1, 1)) * size * rows), np.float64)


def _sum_differences(values: SensitiveCounts, size: NDArray[np.integer]) -> NDArray[np.int64]:
    """Sum over values of abs(c N - q n), of which a value that a class has not contributes q n."""
    whole = values.count_in_table()
    q, rows = whole[values.value], int(whole.sum())
    n = size.astype(np.int64)[values.class_of]
    present = np.abs(values.count * rows - q * n)
    absent = rows - sum_by_place(values.class_of, q, size.size)
    return sum_by_place(values.class_of, present, size.size) + absent * size


def _group_by_node(values: SensitiveCounts, nodes: NDArray[np.integer]) -> SensitiveCounts:
    """The values replaced by nodes above them."""
    width = int(nodes.max(initial=0)) + 1
    key, at = np.unique(values.class_of.astype(np.int64) * width + nodes[values.value], return_inverse=True)
    whole = values.count_in_table()
    reference = sum_by_place(nodes[: whole.size], whole)
    return SensitiveCounts(
        key // width, key % width, sum_by_place(at, values.count, key.size), reference=reference
    )
