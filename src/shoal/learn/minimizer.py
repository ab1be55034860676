"""Minimizer: the coarsest data that an estimator still works on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from shoal.codespace.encoding import EncodedColumn, encode_column
from shoal.engines.api import known_columns
from shoal.errors import RecipeError
from shoal.learn.blackbox import BlackBox, KeepsFittedModel
from shoal.learn.generalization import GeneralizedColumn, Published
from shoal.learn.pictures import draw_needed
from shoal.learn.sklearn_io import (
    Columns,
    choose_seed,
    collapse_one_hot,
    column_names,
    one_hot_groups,
    read_data,
    rebuild_data,
)
from shoal.report.pictures import Picture
from shoal.table import ColumnType, Table
from shoal.table.frames import use_safe_name

Ints = NDArray[np.int64]

_GUARD = 4  # one row in so many is held back for the final check
_MOST = 1000  # rows on which steps are compared
_CELLS = 8  # ranges that a column of numbers begins with
_MARGIN = 0.25  # how much nearer to full agreement the search stays than it is asked to
_FREE = 1e-3  # a step that loses nothing is judged as if it lost this


class Minimizer(OneToOneFeatureMixin, TransformerMixin, KeepsFittedModel):  # type: ignore[misc]
    """The coarsest generalisation of each column on which an estimator predicts nearly as before.

    Columns are suppressed and their cells merged, step by step, always where most detail goes for the least
    score, as long as the predictions agree with those on the data as it is to the degree of
    ``target_score``. Every step is judged on rows that its values were not taken from. The result is
    checked on rows that the search never saw.

    Parameters
    ----------
    estimator : fitted estimator, or any other model
        An object with `predict` or `predict_proba`, or a function that takes rows and returns a prediction
        for each. It is asked and never trained, and clones of the minimizer keep it. Where it does not say
        what it is, predictions that are floats are numbers and others are classes.
    target_score : float
        Agreement to keep, relative to the estimator's own predictions: accuracy for classes, R² for numbers.
    keep : list of columns
        Columns to leave alone.
    one_hot, hierarchies, types
        As in `TreeAnonymizer`. Values with a hierarchy are merged to its nodes.
    retrain : bool
        Whether to train the estimator anew on the generalised data, and report that score too; needs ``y``.
    random_state : int, RandomState or None
        Draws the rows that are held back for the final check. `random_state_` is the seed that was used.

    Attributes
    ----------
    generalizations_ : dict
        Of every column, what `transform` does, in plain values: ``how`` (untouched, suppressed, ranges,
        categories), ``values`` that stand for the cells, ``ends`` of ranges, ``groups`` of categories.
    published_ : list of Published
        The same as objects, each with `applied`, which generalises a polars series, and `text`.
    ncp_ : float
        Detail given up, from 0 to 1; a suppressed column gives up all of its own.
    score_ : float
        Agreement on the rows that the search never saw.
    retrained_score_, raw_score_ : float
        With ``retrain``: the score of a new estimator on generalised rows, and of one on rows as they are.

    References
    ----------
    A. Goldsteen et al., "Data minimization for GDPR compliance in machine learning models", AI and Ethics,
    2021.
    """

    def __init__(
        self,
        estimator: Any = None,
        target_score: float = 0.98,
        *,
        keep: Columns = (),
        one_hot: Sequence[Columns] | None = None,
        hierarchies: Any = None,
        types: Mapping[str, ColumnType] | None = None,
        retrain: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.target_score = target_score
        self.keep = keep
        self.one_hot = one_hot
        self.hierarchies = hierarchies
        self.types = types
        self.retrain = retrain
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> Minimizer:  # noqa: N803
        """Find the generalisation; ``y`` is needed for ``retrain`` only."""
        self._check_parameters(y)
        self.random_state_ = choose_seed(self.random_state)
        table = read_data(self, X, reset=True)
        kept = column_names(table, "keep", self.keep)
        free = [name for name in table.names if name not in kept]
        self._groups = one_hot_groups(table, free, self.one_hot)
        whole = collapse_one_hot(table, self._groups)
        names = [name for name in whole.names if name not in kept]
        known = known_columns(names, self.hierarchies, self.types)
        columns = [encode_column(whole.column(name), known[name]) for name in names]
        trial = _MinimizationSearch(self, X, table, columns)
        best = trial.find_coarsest()
        every = np.arange(table.rows)
        # The search took representatives from halves of few rows. In the end all rows choose them,
        # which is steadier; score_ is measured with these.
        self.published_ = [column.publish_cells(column.choose_representatives(every)) for column in best]
        self.generalizations_ = {
            **{each.name: each.to_dict() for each in self.published_},
            **{name: {"how": "untouched"} for name in kept},
        }
        losses = [column.compute_ncp() for column in best] + [0.0] * len(kept)
        self.ncp_ = float(np.mean(losses))
        self.column_ncp_ = dict(zip([*names, *kept], losses, strict=True))
        self.score_ = trial.guard_score(self._replace_columns(table, self.published_))
        if self.retrain:
            self._retrain_estimators(X, table, np.asarray(y), trial.guard)
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The rows as coarse as they may be."""
        check_is_fitted(self, "generalizations_")
        table = read_data(self, X, reset=False)
        return rebuild_data(X, table, self._replace_columns(table, self.published_), None)

    def agreement(self, X: Any) -> float:  # noqa: N803
        """How far predictions on rows as coarse as they may be agree with those on the rows as they are."""
        box = BlackBox(self.estimator)
        before, after = (box.predict(rows) for rows in (X, self.transform(X)))
        return measure_agreement(before, after, box.predicts_numbers(before))

    def describe(self) -> str:
        """What a caller still has to collect, column by column."""
        check_is_fitted(self, "generalizations_")
        width = max(len(each.name) for each in self.published_)
        lines = [f"{each.name:<{width}}  {each.text()}" for each in self.published_]
        return "\n".join(
            [*lines, f"{self.ncp_:.1%} of the detail is not needed; agreement {self.score_:.3f}"]
        )

    def plot(self) -> Picture:
        """A picture of how much of each column is still needed."""
        check_is_fitted(self, "generalizations_")
        return draw_needed(self.column_ncp_)

    def _check_parameters(self, y: ArrayLike | None) -> None:
        if not 0 < self.target_score <= 1:
            raise RecipeError(f"target_score must be above 0 and at most 1, not {self.target_score}")
        if self.retrain and y is None:
            raise RecipeError("retrain needs the labels: give y to fit")
        if self.retrain and not all(hasattr(self.estimator, name) for name in ("fit", "score", "get_params")):
            raise RecipeError("retrain needs an estimator of scikit-learn, which can be trained and scored")

    def _replace_columns(self, table: Table, published: Sequence[Published]) -> dict[str, pl.Series]:
        """The columns that are replaced, one-hot ones as the table has them."""
        whole = collapse_one_hot(table, self._groups)
        columns: dict[str, pl.Series] = {}
        for each in published:
            if each.how != "untouched":
                columns |= self._expand_column(table, each.name, each.applied(whole.column(each.name)))
        return columns

    def _expand_column(self, table: Table, name: str, after: pl.Series) -> dict[str, pl.Series]:
        """A column, or the one-hot columns that it stands for."""
        for group in self._groups:
            if group.name == name:
                hot = {each: (after == each).fill_null(False).cast(pl.Int8) for each in group.columns}
                return {each: series.cast(table.frame.schema[each]) for each, series in hot.items()}
        return {name: after}

    def _retrain_estimators(self, data: Any, table: Table, y: NDArray[Any], guard: Ints) -> None:
        """Scores of two new estimators, on the rows that were held back."""
        rest = np.setdiff1d(np.arange(table.rows), guard)
        less = self._replace_columns(table, self.published_)
        # Both are trained and scored on the same rows, so that only the detail differs.
        for name, columns in (("raw_score_", {}), ("retrained_score_", less)):
            given = [
                rebuild_data(data, table, {n: s.gather(rows) for n, s in columns.items()}, rows)
                for rows in (rest, guard)
            ]
            setattr(self, name, float(clone(self.estimator).fit(given[0], y[rest]).score(given[1], y[guard])))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class _MinimizationSearch:
    """The search: states are lists of generalised columns, judged by what the estimator makes of them."""

    def __init__(self, owner: Minimizer, data: Any, table: Table, columns: Sequence[EncodedColumn]) -> None:
        self.owner, self.data, self.table = owner, data, table
        self.columns = columns
        self.box = BlackBox(owner.estimator)
        self.before = self.box.predict(data)
        self.numeric = self.box.predicts_numbers(self.before)
        # Numbers, or numbers of classes: where first cells are cut, and the order of categories.
        self.guide = (
            self.before.astype(np.float64)
            if self.numeric
            else np.unique(self.before, return_inverse=True)[1].astype(np.int64)
        )
        order = np.random.default_rng(owner.random_state_).permutation(table.rows)
        guards = order.size // _GUARD
        self.guard, rest = np.sort(order[:guards]), order[guards : guards + _MOST]
        if rest.size < 2:
            raise RecipeError(f"{table.rows} rows are too few to minimise on: give at least 3")
        # Every row is judged by values that were taken from the other half.
        self.halves = np.array_split(rest, 2)
        self.judged = np.concatenate(self.halves[::-1])
        judged = rebuild_data(data, table, {}, self.judged)
        self.uses_probabilities = not self.numeric and self._has_matching_probabilities(judged)
        self.predicted, self.sure = self._ask_model(judged)

    def find_coarsest(self) -> list[GeneralizedColumn]:
        """Step by step to the coarsest state whose score holds, also on the rows that were kept back."""
        state = [GeneralizedColumn.from_column(column) for column in self.columns]
        # All states on the way are kept: the rows held back may ask to go some steps back.
        path, lost = [state], 0.0
        # Of many steps the luckiest are taken, so that new rows agree somewhat less than the score says.
        aim = self.owner.target_score + _MARGIN * (1 - self.owner.target_score)
        while steps := list(self._list_steps(state)):
            scores, losses = self._score_steps(state, steps)
            saved = np.array([after.compute_ncp() - state[j].compute_ncp() for j, after in steps])
            # Every step gives up detail, so that the search ends.
            allowed = (scores >= aim) & (saved > 0)
            if not allowed.any():
                break
            # Detail given up per score lost; a step may even gain some by chance.
            worth = np.where(allowed, saved / (np.maximum(losses - lost, 0.0) + _FREE), -np.inf)
            best = int(np.argmax(worth))
            j, after = steps[best]
            state, lost = [*state[:j], after, *state[j + 1 :]], float(losses[best])
            path.append(state)
        # The first state changes nothing and always holds, so there is an answer.
        return next(each for each in reversed(path) if self._keeps_target_score(each))

    def guard_score(self, columns: Mapping[str, pl.Series]) -> float:
        """Agreement on the rows that were kept back."""
        changed = {name: series.gather(self.guard) for name, series in columns.items()}
        after = self.box.predict(rebuild_data(self.data, self.table, changed, self.guard))
        return measure_agreement(self.before[self.guard], after, self.numeric)

    def _keeps_target_score(self, state: list[GeneralizedColumn]) -> bool:
        """Whether a state keeps the score on the rows kept back, to the nearest row."""
        every = np.arange(self.table.rows)
        published = [column.publish_cells(column.choose_representatives(every)) for column in state]
        columns = self.owner._replace_columns(self.table, published)
        # Accuracy moves by whole rows: of few rows a target of 0.98 could only be met by all.
        tolerance = 0.0 if self.numeric else 1 / max(self.guard.size, 1)
        return not columns or self.guard_score(columns) > self.owner.target_score - tolerance

    def _list_steps(self, state: list[GeneralizedColumn]) -> Iterator[tuple[int, GeneralizedColumn]]:
        """What one column could become next."""
        for j, column in enumerate(state):
            for cell_of in _list_coarser_cells(column, self.guide):
                yield j, column.with_cells(cell_of)

    def _score_steps(
        self, state: list[GeneralizedColumn], steps: list[tuple[int, GeneralizedColumn]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Agreement after each step, and how far the estimator was moved, all predicted in one go.

        An estimator that says how sure it is moves before its predictions do: that tells steps apart
        which change no prediction yet.
        """
        now = {name: use_safe_name(self.table.frame[name]).gather(self.judged) for name in self.table.names}
        for column in state:
            now |= self._replace_judged_values(column) if column.touched else {}
        changed = [self._replace_judged_values(after) for _, after in steps]
        # The rows of all steps below each other: one call of predict, whose overhead is larger than
        # its work on a thousand rows.
        columns = {name: pl.concat([each.get(name, old) for each in changed]) for name, old in now.items()}
        many = np.tile(self.judged, len(steps))
        after, sure = self._ask_model(rebuild_data(self.data, self.table, columns, many))
        same = [
            measure_agreement(self.predicted, part, self.numeric)
            for part in np.array_split(after, len(steps))
        ]
        moved = [float(np.abs(part - self.sure).mean()) for part in np.array_split(sure, len(steps))]
        # R² is smooth already; probabilities are not needed there, and do not exist.
        return np.array(same), 1 - np.array(same) if self.numeric else np.array(moved)

    def _has_matching_probabilities(self, judged: Any) -> bool:
        """Whether the likeliest class is what the model predicts, so that one call tells both."""
        found = self.box.predict_probabilities(judged)
        return found is not None and np.array_equal(self.box.name_likeliest(found), self.before[self.judged])

    def _ask_model(self, data: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """[rows] what is predicted, and [rows, classes] how sure the model is, where it says so."""
        if self.uses_probabilities:
            sure = self.box.predict_probabilities(data)
            assert sure is not None
            return self.box.name_likeliest(sure), sure
        after = self.box.predict(data)
        if self.numeric:
            return after, after.astype(np.float64)[:, None]
        # Certain of one class, in the shape of probabilities.
        return after, np.asarray(after[:, None] == np.unique(self.before), np.float64)

    def _replace_judged_values(self, column: GeneralizedColumn) -> dict[str, pl.Series]:
        """A column of the rows that are judged, with values taken from the other half of the rows."""
        code = [
            column.replace_codes(rows, column.choose_representatives(other))
            for other, rows in zip(self.halves, self.halves[::-1], strict=True)
        ]
        after = column.column.domain.values.gather(np.concatenate(code))
        return self.owner._expand_column(self.table, column.name, after)


def measure_agreement(before: NDArray[Any], after: NDArray[Any], numeric: bool) -> float:
    """Accuracy or R², with what was predicted before as the truth."""
    if not numeric:
        return float(np.mean(before == after))
    before, after = before.astype(np.float64), after.astype(np.float64)
    spread = float(((before - before.mean()) ** 2).sum())
    missed = float(((before - after) ** 2).sum())
    # R² is not defined for constant predictions: then they agree or they do not.
    return 1 - missed / spread if spread else float(missed == 0)


def _list_coarser_cells(column: GeneralizedColumn, guide: NDArray[Any]) -> Iterator[Ints]:
    """Cells of the next steps: everything together, a first division, or two neighbours merged."""
    domain = column.column.domain
    if column.touched and column.cells == 1:
        return
    yield np.zeros(domain.size, np.int64)
    if domain.hierarchy is not None:
        # One level up; all nodes of a level are merged at once, so that cells stay nodes.
        levels = [np.unique(nodes, return_inverse=True)[1] for nodes in domain.hierarchy.nodes]
        above = [nodes for nodes in levels if int(nodes.max()) + 1 < column.cells]
        yield from above[:1]
    # Numbers that are still as they were are cut into a few ranges first: to merge a thousand of
    # them in pairs would take as many steps.
    elif not domain.has_ranges or column.touched:
        yield from _merge_neighbours(column, guide)
    elif domain.size > 2:
        yield _choose_first_cells(column.column, guide)


def _merge_neighbours(column: GeneralizedColumn, guide: NDArray[Any]) -> Iterator[Ints]:
    """Every two cells that lie next to each other: on a line, or by what is predicted for them."""
    cells = column.cells
    order = np.arange(cells)
    # The missing value lies on no line, so its cell is not merged with a neighbour.
    first = int(column.column.domain.has_ranges and column.column.domain.missing is not None)
    if not column.column.domain.has_ranges:
        # Categories have no neighbours by themselves. In the order of their mean prediction, those
        # for which the estimator says the same lie side by side.
        of_row = column.cell_of[column.column.codes]
        rows = np.maximum(np.bincount(of_row, minlength=cells), 1)
        order = np.argsort(np.bincount(of_row, guide, cells) / rows, kind="stable")
    for a, b in zip(order[first:-1], order[first + 1 :], strict=True):
        yield np.where(column.cell_of == b, a, column.cell_of)


def _choose_first_cells(column: EncodedColumn, guide: NDArray[Any]) -> Ints:
    """The cells of a column by itself: where a small tree that predicts the predictions would cut it."""
    numeric = guide.dtype.kind == "f"
    # At least 2 % of the rows in each range, so that no cut follows a few predictions.
    tree = (DecisionTreeRegressor if numeric else DecisionTreeClassifier)(
        max_leaf_nodes=_CELLS, min_samples_leaf=max(1, guide.size // 50), random_state=0
    )
    codes = column.codes.astype(np.float64)[:, None]
    cuts = tree.fit(codes, guide).tree_.threshold
    # Leaves have a negative feature and no threshold.
    inner = np.sort(cuts[tree.tree_.feature >= 0])
    if column.domain.missing is not None:
        # Between the missing value, which is code 0, and the first number.
        inner = np.union1d(inner, [0.5])
    if inner.size == 0:
        # The predictions do not depend on this column alone: quarters are as good as any cut.
        inner = np.quantile(codes, [0.25, 0.5, 0.75])
    return np.searchsorted(inner, np.arange(column.domain.size), side="left")
