"""Tree-guided classes: the cells of a decision tree that predicts a target."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.features import Features, Target
from shoal.algorithms.guides import EffectSpace, predict_targets, read_targets
from shoal.algorithms.mondrian import divide_classes
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import check_budget, refine_proposal
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.recoding import Proposal
from shoal.errors import GoalNotMet, RecipeError, unknown
from shoal.support.parameters import check_fields

Ints = NDArray[np.int64]
_SECONDS = 60.0  # the budget of the refinement


@dataclass(frozen=True, slots=True)
class TreeGuided(Algorithm):
    """Classes made for learning: a decision tree is grown that predicts a target, and its leaves are cells.

    Rows in a cell are alike in what matters for the target, so that an estimator trained on the release
    loses less by large classes. Every leaf has as many rows as the goal asks for; one that fails it
    otherwise, for example with too few sensitive values, is merged with the nearest cells beside it.

    References
    ----------
    A. Goldsteen, G. Ezov, R. Shmelkin, M. Moffie, A. Farkash, "Anonymizing machine learning models", DPM
    2021.
    """

    target: str | None = None
    """The column that the tree predicts; the first sensitive column where None. Several are separated by
    commas, and each counts as much as any other."""
    grow: Literal["quasi", "all"] = "quasi"
    """The columns that the tree may cut: the quasi-identifiers, or all but identifiers and the target."""
    failing: Literal["merge", "delete"] = "merge"
    """What becomes of a leaf that does not satisfy the goal; deleted rows count as suppressed."""
    split: bool = True
    """Whether cells are partitioned further while the goal permits, as mondrian does."""
    gain: float = 16.0
    """What a cut of the tree must gain, in rows: how many of a table's rows it explains. Cuts that explain
    less are mostly chance, and are left to the partitioning, which loses less."""
    sweeps: int = 0
    """Sweeps of refinement, see `Refine`: rows move between cells, which loses less and guides less."""
    guide: Literal["labels", "predictions"] = "labels"
    """What the tree predicts: the target as it is, or what gradient boosting predicts for each row, trained
    on other rows, which has less chance in it."""
    distance: Literal["detail", "effect"] = "detail"
    """How cells are partitioned further: so that least detail is lost, as mondrian does, or least of what
    tells the target; then values are near that have nearly the same effect on it."""
    counts_people = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_budget("tree", self.sweeps, _SECONDS)
        if not self.gain >= 0:
            raise RecipeError(f"gain must be 0 or more, not {self.gain}")

    def beside(self, quasi: Sequence[str], sensitive: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
        """The columns that it wants to see besides the quasi-identifiers: the target, and others after it."""
        targets = self.name_targets(names) or tuple(sensitive[:1])
        if not targets:
            raise RecipeError("tree needs a target to predict: name a column with --set target=COLUMN")
        for target in targets:
            if target not in names:
                raise RecipeError(unknown("target", target, [name for name in names if name not in quasi]))
            if target in quasi:
                raise RecipeError(
                    f"the target '{target}' is a quasi-identifier: a tree would predict it by itself"
                )
        others = names if self.grow == "all" else ()
        return (*targets, *(name for name in others if name not in (*targets, *quasi)))

    def name_targets(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns to predict: the one of that name, or several; none where it is not said."""
        if self.target is None or self.target in names:
            return () if self.target is None else (self.target,)
        parts = (part.strip() for part in self.target.split(","))
        return tuple(dict.fromkeys(part for part in parts if part))

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Propose the cells of a tree."""
        return grow_guided_tree(self, problem, on_progress).proposal


@dataclass(frozen=True, slots=True, eq=False)
class GuidedTree:
    """A grown tree and the classes made of it."""

    features: Features
    tree: Any
    """The fitted decision tree of scikit-learn."""
    leaf_of: NDArray[np.int64]
    """[u] the tree's own number for the leaf of each weighted row of the proposal."""
    cells: int
    """How many cells the tree had, after merging and before they were partitioned."""
    targets: int
    """How many columns it predicts."""
    proposal: Proposal


def grow_guided_tree(settings: TreeGuided, problem: Problem, on_progress: Progress = silent) -> GuidedTree:
    """Grow a tree on a problem, with the targets first in ``problem.beside``."""
    problem.refuse_negative_weights("tree")
    on_progress("growing a tree", 0.0)
    many = max(1, len(settings.name_targets(list(problem.beside))))
    targets, others = list(problem.beside.values())[:many], list(problem.beside.values())[many:]
    whole = settings.grow == "all"
    table = problem.rows.one_by_one(in_order=True) if whole else problem.table
    columns = others if whole else []
    target = (
        read_targets(targets)
        if settings.guide == "labels"
        else predict_targets(problem, table, targets, columns)
    )
    features = Features.from_columns(
        [*problem.domains, *(column.domain for column in columns)],
        [*problem.rows.quasi, *(column.codes for column in columns)],
        target,
    )
    seen = features.build_matrix([*table.codes.T, *(column.codes for column in columns)])
    size = problem.build_rules(table).size
    tree = _fit_tree(seen, table, target, size, settings.gain, problem.seed)
    leaf_of = tree.apply(seen)
    cell_of = _LeafMerger(problem, table, leaf_of, tree.tree_).build_cells(settings.failing)
    _check_deleted(problem, table, cell_of)
    notes = (_describe_tree(tree, int(cell_of.max()) + 1),)
    proposal = Proposal(table, cell_of, nodes=tree.tree_.node_count, notes=notes)
    proposal = _divide_cells(settings, problem, proposal, target, on_progress)
    on_progress("growing a tree", 1.0)
    of_piece = np.empty(proposal.table.weight.size, np.int64)
    # Refinement may have split weighted rows: the leaves come over by original rows.
    of_piece[proposal.table.of_row] = leaf_of[table.of_row]
    return GuidedTree(features, tree, of_piece, int(cell_of.max()) + 1, many, proposal)


def _divide_cells(
    settings: TreeGuided, problem: Problem, proposal: Proposal, target: Target, on_progress: Progress
) -> Proposal:
    """The cells partitioned further and refined, as far as the settings say."""
    if settings.distance == "effect" and (settings.split or settings.sweeps > 0):
        space = EffectSpace.from_target(problem, proposal.table, target)
        inside = replace(proposal, table=space.move_table(proposal.table))
        plain = replace(settings, distance="detail")
        return space.restore_proposal(_divide_cells(plain, space.problem, inside, target, on_progress))
    if settings.split:
        found = divide_classes(problem, proposal.table, proposal.class_of, on_progress)
        proposal = replace(proposal, class_of=found)
    if settings.sweeps > 0:
        proposal = refine_proposal(problem, proposal, settings.sweeps, _SECONDS, on_progress)
    return proposal


def _fit_tree(
    seen: NDArray[np.float32], table: FrequencyTable, target: Target, size: int, gain: float, seed: int
) -> Any:
    """A decision tree over weighted rows, of which every leaf has at least ``size`` original ones."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: PLC0415  slow to load

    # Half a row of leeway, since the least weight is given as a share.
    share = min(0.5, max(0.0, (size - 0.5) / table.rows))
    settings = {
        "min_weight_fraction_leaf": share,
        # scikit-learn weighs a decrease by the share of rows in the node.
        "min_impurity_decrease": gain * target.measure_impurity() / table.rows,
        "random_state": seed,
    }
    if target.classes:
        # A weighted row has a part for each class of its rows.
        pair = table.of_row.astype(np.int64) * target.classes + target.value.astype(np.int64)
        pairs, times = np.unique(pair, return_counts=True)
        row, label = np.divmod(pairs, target.classes)
        with warnings.catch_warnings():  # of many classes in few rows, which is nothing to be warned of here
            warnings.simplefilter("ignore", UserWarning)
            return DecisionTreeClassifier(**settings).fit(seen[row], label, sample_weight=times)
    # Equal rows reach one leaf anyway, so that their mean is all a tree can use.
    sums = [np.bincount(table.of_row, number, table.weight.size) for number in target.to_numbers().T]
    mean = np.column_stack(sums) / table.weight[:, None]
    mean = mean[:, 0] if mean.shape[1] == 1 else mean
    return DecisionTreeRegressor(**settings).fit(seen, mean, sample_weight=table.weight)


class _LeafMerger:
    """The leaves of a tree on the way to cells that satisfy the goal."""

    def __init__(self, problem: Problem, table: FrequencyTable, leaf_of: Ints, tree: Any) -> None:
        self.problem, self.table, self.tree = problem, table, tree
        self.ids, self.of = np.unique(leaf_of, return_inverse=True)
        of_row = self.of[table.of_row]
        self.order = np.argsort(of_row, kind="stable")
        self.start = np.concatenate(([0], np.cumsum(np.bincount(of_row))))
        codes = table.codes.astype(np.int64)
        self.lo = np.full((self.ids.size, codes.shape[1]), np.iinfo(np.int64).max)
        self.hi = np.full(self.lo.shape, -1)
        np.minimum.at(self.lo, self.of, codes)
        np.maximum.at(self.hi, self.of, codes)

    def build_cells(self, failing: Literal["merge", "delete"]) -> NDArray[np.int32]:
        """[u] cell of every weighted row; -1 where it is deleted."""
        group = np.repeat(np.arange(self.ids.size), np.diff(self.start))
        holds = self.problem.find_sufficient_groups(group, self.order, self.ids.size)
        cell_of = np.full(self.ids.size, -1, np.int32)
        if failing == "delete":
            cell_of[holds] = np.arange(np.count_nonzero(holds))
        else:
            for number, cell in enumerate(self._merge_leaves(holds)):
                cell_of[cell] = number
        return cell_of[self.of]

    def _merge_leaves(self, holds: NDArray[np.bool_]) -> list[list[int]]:
        """Cells as lists of leaves, from the leaves upwards.

        What lies under a node is either a number of cells, or leaves that fail even together.
        """
        number = {int(leaf): i for i, leaf in enumerate(self.ids)}
        left, right = self.tree.children_left, self.tree.children_right
        under: dict[int, tuple[list[list[int]], list[int]]] = {}
        for node in range(self.tree.node_count - 1, -1, -1):  # a node stands before its children
            if left[node] < 0:
                leaf = number[node]
                under[node] = ([[leaf]], []) if holds[leaf] else ([], [leaf])
                continue
            (cells, rest), (more, other) = under.pop(int(left[node])), under.pop(int(right[node]))
            under[node] = (
                self._merge_failing_leaves(cells + more, rest + other)
                if rest or other
                else (cells + more, [])
            )
        cells, rest = under[0]
        return [*cells, rest] if rest else cells  # only where the whole table fails: the verifier will say

    def _merge_failing_leaves(
        self, cells: list[list[int]], rest: list[int]
    ) -> tuple[list[list[int]], list[int]]:
        """Merge failing leaves with one another, then with the cells that cost least, until they hold."""
        while not self._is_sufficient(rest):
            if not cells:
                return [], rest
            rest = rest + cells.pop(self._find_nearest_cell(rest, cells))
        return [*cells, rest], []

    def _is_sufficient(self, leaves: list[int]) -> bool:
        rows = np.concatenate([self.order[self.start[i] : self.start[i + 1]] for i in leaves])
        return bool(self.problem.find_sufficient_groups(np.zeros(rows.size, np.int64), rows, 1)[0])

    def _find_nearest_cell(self, rest: list[int], cells: list[list[int]]) -> int:
        """The cell that loses least by taking in ``rest``."""
        lo = np.array([self.lo[cell].min(axis=0) for cell in cells])
        hi = np.array([self.hi[cell].max(axis=0) for cell in cells])
        rows = np.array([sum(int(self.start[i + 1] - self.start[i]) for i in cell) for cell in cells])
        more = sum(int(self.start[i + 1] - self.start[i]) for i in rest)
        wider = self._measure_width(
            np.minimum(lo, self.lo[rest].min(axis=0)), np.maximum(hi, self.hi[rest].max(axis=0))
        )
        # Loss is width times rows; what `rest` loses now is the same whichever cell takes it.
        return int(np.argmin((rows + more) * wider - rows * self._measure_width(lo, hi)))

    def _measure_width(self, lo: Ints, hi: Ints) -> NDArray[np.float64]:
        widths = [
            weight * domain.compute_widths(*domain.snap(lo[:, j], hi[:, j]))
            for j, (domain, weight) in enumerate(zip(self.problem.domains, self.problem.weights, strict=True))
        ]
        return np.asarray(np.sum(widths, axis=0), np.float64)


def _check_deleted(problem: Problem, table: FrequencyTable, cell_of: NDArray[np.int32]) -> None:
    deleted = int(table.weight[cell_of < 0].sum())
    if deleted > problem.suppress * table.rows:
        raise GoalNotMet(
            f"{deleted} of {table.rows} rows lie in leaves that do not satisfy the goal, more than the share "
            f"of {problem.suppress:g} that may be suppressed; failing=merge keeps them all"
        )
    if deleted == table.rows:
        raise GoalNotMet("no leaf of the tree satisfies the goal, so nothing is left; take failing=merge")


def _describe_tree(tree: Any, cells: int) -> str:
    return f"a tree with {tree.get_n_leaves()} leaves made {cells} cells, guided by the target"
