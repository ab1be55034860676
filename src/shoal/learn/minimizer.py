"""Minimizer: how coarse data may be for an estimator to predict nearly as before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from shoal.codespace.encoding import EncodedColumn, encode_column
from shoal.engines.api import known_columns
from shoal.errors import RecipeError, unknown
from shoal.learn.blackbox import BlackBox, KeepsFittedModel
from shoal.learn.boxes import Boxes, grow_boxes
from shoal.learn.generalization import GeneralizedColumn, Published
from shoal.learn.guarantees import (
    Guarantee,
    GuardPlan,
    check_confidence,
    check_metric,
    judge_candidate,
    measure_agreement,
    plan_guard,
    read_metric,
)
from shoal.learn.pictures import draw_needed
from shoal.learn.sklearn_io import (
    Columns,
    RowStack,
    choose_seed,
    collapse_one_hot,
    column_names,
    one_hot_groups,
    read_data,
    rebuild_data,
    take_rows,
)
from shoal.report.pictures import Picture
from shoal.support.notebooks import follow_progress
from shoal.support.progress import Progress
from shoal.table import ColumnType, Table

Ints = NDArray[np.int64]

_TESTED = 4  # one row in so many scores estimators that were trained anew
_STOP = 3  # one of so many rows that are no guards chooses where to stop
_MOST = 1000  # rows on which steps are compared
_AT_ONCE = 16  # results that are judged by one call of the model
_CELL_KINDS = ("columns", "boxes", "best")
_CELLS = 8  # ranges that a column of numbers begins with
_MARGIN = 0.25  # how much nearer to full agreement the search stays than it is asked to
_FREE = 1e-3  # a step that loses nothing is judged as if it lost this


class Minimizer(OneToOneFeatureMixin, TransformerMixin, KeepsFittedModel):  # type: ignore[misc]
    """Makes columns coarser as long as an estimator predicts nearly as before, and tests that.

    Columns are suppressed and their cells merged, step by step, always where most detail goes for the least
    score. Some rows place the cells and choose the values that stand for them, others say where to stop. The
    rest, the guard set, takes part in nothing. On it the result is tested once: the target is claimed if a
    one-sided confidence bound of the agreement reaches it. Otherwise columns stay as they are, and
    `guarantee_` says why.

    Parameters
    ----------
    estimator : fitted estimator, or any other model
        An object with `predict` or `predict_proba`, or a function that takes rows and returns a prediction
        for each. It is asked and never trained, and clones of the minimizer keep it. Where it does not say
        what it is, predictions that are floats are numbers and others are classes.
    target_score : float
        Agreement to keep, relative to the estimator's own predictions: accuracy for classes, R² for numbers.
        Of several outputs all must agree in a row, or their mean R² counts.
    scoring : str or callable, optional
        Another measure of agreement: the name of a score that compares predictions (``"f1_macro"``), or a
        function of the predictions before and after. It must be 1 where these agree, and is bounded by a
        bootstrap, which is approximate.
    confidence : float or None
        How sure the claim is to be that unseen rows keep the target. It bounds accuracy by Clopper and
        Pearson, and R² by a bootstrap, which is approximate. With None nothing is tested or claimed, and the
        target is one for the rows at hand.
    cells : "columns", "boxes" or "best"
        columns: each column has cells of its own. boxes: cells are of several columns at once, as the leaves
        of a tree that imitates the estimator, and `boxes_` has them; mostly more detail goes, but what is
        needed of a column depends on others. best: what gives up more of both.
    keep : list of columns
        Columns to leave alone.
    costs : mapping
        What it costs to collect a column, relative to others; 1 where not said. The search gives up dear
        columns first. A column that costs 0 stays as it is. One-hot columns cost what their first one does.
    one_hot, hierarchies, types
        As in `TreeAnonymizer`. Values with a hierarchy are merged to its nodes.
    retrain : bool
        Whether to train the estimator anew on the generalised data, and report that score too; needs ``y``.
    random_state : int, RandomState or None
        Draws the parts of the rows. `random_state_` is the seed that was used.

    Attributes
    ----------
    generalizations_ : dict
        Of every column, what `transform` does, in plain values: ``how`` (untouched, suppressed, ranges,
        categories, boxes), ``values`` that stand for the cells, ``ends`` of ranges, ``groups`` of categories.
    boxes_ : list of dict, or None
        The boxes, where cells are of several columns: ``where`` has the parts of columns, and ``values`` what
        every column becomes there.
    published_ : list of Published
        The same as objects, each with `applied`, which generalises a polars series, and `text`.
    ncp_ : float
        Detail given up, from 0 to 1; a suppressed column gives up all of its own.
    score_ : float
        Agreement of the result on the guard set; 1 where columns stay as they are.
    guarantee_ : Guarantee
        Whether the target is claimed (``claimed``), the ``bound`` and the ``rows`` that it rests on; else the
        ``reason``, and ``needed_rows`` where more rows could show the target.
    retrained_score_, raw_score_ : float
        With ``retrain``: the score of a new estimator on generalised rows, and of one on rows as they are.

    References
    ----------
    A. Goldsteen et al., "Data minimization for GDPR compliance in machine learning models", AI and Ethics,
    2021.
    """

    _class_of: Ints | None = None
    """[rows] the class of each, if somebody else measures what is kept on classes that take no part.

    Then rows that would be guards choose where to stop, and all rows of a class are on one side: a result
    that fits the rows of a class need not fit others.
    """

    def __init__(
        self,
        estimator: Any = None,
        target_score: float = 0.98,
        *,
        confidence: float | None = 0.95,
        scoring: Any = None,
        cells: str = "columns",
        keep: Columns = (),
        costs: Mapping[str | int, float] | None = None,
        one_hot: Sequence[Columns] | None = None,
        hierarchies: Any = None,
        types: Mapping[str, ColumnType] | None = None,
        retrain: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.target_score = target_score
        self.confidence = confidence
        self.scoring = scoring
        self.cells = cells
        self.keep = keep
        self.costs = costs
        self.one_hot = one_hot
        self.hierarchies = hierarchies
        self.types = types
        self.retrain = retrain
        self.random_state = random_state

    def fit(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike | None = None,
        on_progress: Progress | None = None,
    ) -> Minimizer:
        """Find the generalisation; ``y`` is needed for ``retrain`` only."""
        self._check_parameters(y)
        self.random_state_ = choose_seed(self.random_state)
        table = read_data(self, X, reset=True)
        if table.rows < 3:
            raise RecipeError(f"{table.rows} rows are too few to minimise on: give at least 3")
        if self.one_hot is not None:
            one_hot_groups(table, (), self.one_hot)  # wrong ones are refused, whichever rows show it
        rows = _GivenRows.from_data(X, table, BlackBox(self.estimator))
        self._metric = read_metric(self.scoring)
        check_metric(self._metric, rows.before)
        by_bootstrap = rows.numeric or self._metric is not None
        plan = plan_guard(table.rows, self.target_score, self.confidence, by_bootstrap)
        order = np.random.default_rng(self.random_state_).permutation(table.rows)
        stopping = min((table.rows - plan.rows) // _STOP, _MOST)
        guard, others = rows.take(order[: plan.rows]), order[plan.rows :]
        stop, search = rows.take(others[:stopping]), rows.take(others[stopping:])
        if self._class_of is not None:
            order, deciding = _keep_classes_whole(order, self._class_of, plan.rows + stopping)
            stop, search = rows.take(order[:deciding]), rows.take(order[deciding:])
        columns = self._encode_columns(search.table)
        best = finest = _Candidate.from_state([GeneralizedColumn.from_column(column) for column in columns])
        # Without rows to test a result on there is no use in a search for one.
        if plan.rows and columns:
            with follow_progress(on_progress) as tell:
                best = self._find_generalization(search, stop, columns, plan.aim, tell)
        self.guarantee_ = self._test_once(guard, best, plan)
        if self.confidence is not None and not self.guarantee_.claimed:
            best = finest  # what was not shown is not done
        self._set_fitted_attributes(best)
        # What changes nothing agrees, also where there are no guards to count.
        self.score_ = 1.0 if best is finest else float(self.guarantee_.score or 0.0)
        if self.retrain:
            self._retrain_estimators(X, table, np.asarray(y), np.sort(order[: table.rows // _TESTED]))
        return self

    def _encode_columns(self, table: Table) -> list[EncodedColumn]:
        """The columns that may be generalised, with one-hot groups as one."""
        kept = column_names(table, "keep", self.keep)
        self._groups = one_hot_groups(table, [n for n in table.names if n not in kept], self.one_hot)
        self._kept = kept
        whole = collapse_one_hot(table, self._groups)
        names = [name for name in whole.names if name not in kept]
        known = known_columns(names, self.hierarchies, self.types)
        return [encode_column(whole.column(name), known[name]) for name in names]

    def _read_costs(self, table: Table, columns: Sequence[EncodedColumn]) -> NDArray[np.float64]:
        """[columns] what each costs; a one-hot group what its first column does."""
        named = dict(
            zip(
                column_names(table, "costs", list(self.costs or ())), (self.costs or {}).values(), strict=True
            )
        )
        for name, cost in named.items():
            if not isinstance(cost, int | float | np.number) or not 0 <= cost < np.inf:
                raise RecipeError(f"costs: '{name}' must cost 0 or more, not {cost!r:.60}")
        first = {group.name: group.columns[0] for group in self._groups}
        names = [column.domain.name for column in columns]
        return np.array([named.get(first.get(name, name), 1.0) for name in names], np.float64)

    def _find_generalization(
        self,
        search: _GivenRows,
        stop: _GivenRows,
        columns: Sequence[EncodedColumn],
        aim: float,
        tell: Progress,
    ) -> _Candidate:
        """Of what was found, the coarsest that keeps the aim on rows which placed no cell."""
        stop_aim = aim
        if self.confidence is None and not stop.numeric and self._metric is None:
            # To the nearest row: of few rows a target of 0.98 could only be met by all.
            stop_aim -= 1 / (stop.size + 1)

        def list_keeping(candidates: Sequence[_Candidate]) -> Iterator[_Candidate]:
            scores = self._measure_candidates(stop, candidates) if stop.size else repeat(1.0)
            return (each for each, score in zip(candidates, scores, strict=False) if score >= stop_aim)

        found = []
        if self.cells != "boxes":
            path = _MinimizationSearch(self, search, columns).find_path(self.target_score, aim, tell)
            # The first state changes nothing and always holds, so there is an answer.
            found.append(next(list_keeping([_Candidate.from_state(state) for state in reversed(path)])))
        if self.cells != "columns":
            found += list_keeping(self._grow_boxes(search, columns))
        costs = self._read_costs(search.table, columns)
        finest = _Candidate.from_state([GeneralizedColumn.from_column(column) for column in columns])
        return max(found, key=lambda each: float(costs @ each.losses), default=finest)

    def _grow_boxes(self, search: _GivenRows, columns: Sequence[EncodedColumn]) -> list[_Candidate]:
        """Cells of several columns, with more and fewer cuts; columns that cost nothing stay as they are."""
        free = self._read_costs(search.table, columns) == 0
        cut = [column for column, is_free in zip(columns, free, strict=True) if not is_free]
        if not cut:
            return []

        def ask(replaced: dict[str, pl.Series], rows: Ints) -> NDArray[Any]:
            given: dict[str, pl.Series] = {}
            for name, series in replaced.items():
                given |= self._expand_column(search.table, name, series)
            return search.box.predict(rebuild_data(search.data, search.table, given, rows), several=True)

        guide = _build_guide(search.before, search.numeric)
        names = [column.domain.name for column in columns]
        made = grow_boxes(cut, guide, search.before, search.numeric, ask)
        return [_Candidate.from_boxes(boxes, names) for boxes in made]

    def _test_once(self, guard: _GivenRows, candidate: _Candidate, plan: GuardPlan) -> Guarantee:
        """What the guard set shows of a result; it is asked about this one alone."""
        if self.confidence is None:
            (score,) = self._measure_candidates(guard, [candidate])
            told = "no confidence was asked for"
            return Guarantee(False, self.target_score, None, guard.size, score, reason=told)
        if not plan.rows:
            return plan.refuse_claim(self.target_score, self.confidence)
        (after,) = self._predict_coarse(guard, [candidate])
        return judge_candidate(
            guard.before,
            after,
            guard.numeric,
            self.target_score,
            self.confidence,
            self.random_state_,
            self._metric,
        )

    def _set_fitted_attributes(self, candidate: _Candidate) -> None:
        self._fitted = candidate
        self.published_ = candidate.published
        self.boxes_ = None if candidate.boxes is None else candidate.boxes.to_list()
        self.generalizations_ = {
            **{each.name: each.to_dict() for each in self.published_},
            **{name: {"how": "untouched"} for name in self._kept},
        }
        losses = [*candidate.losses, *[0.0] * len(self._kept)]
        self.ncp_ = float(np.mean(losses))
        self.column_ncp_ = dict(zip(self.generalizations_, losses, strict=True))

    def _measure_candidates(self, rows: _GivenRows, candidates: Sequence[_Candidate]) -> Iterator[float]:
        """The agreement of each; some are asked about at once, and the others only if anybody wants them."""
        for first in range(0, len(candidates), _AT_ONCE):
            for after in self._predict_coarse(rows, candidates[first : first + _AT_ONCE]):
                yield measure_agreement(rows.before, after, rows.numeric, self._metric)

    def _predict_coarse(self, rows: _GivenRows, candidates: Sequence[_Candidate]) -> list[NDArray[Any]]:
        """What the estimator predicts for rows once they are generalised, in each of several ways."""
        changed = self._replace_columns(rows.table, candidates)
        if not any(changed):
            return [rows.before] * len(candidates)
        stack = RowStack(rows.data, rows.table, np.arange(rows.size)).build({}, changed)
        after = rows.box.predict(stack, several=True)
        # What changes nothing agrees, also with a model that answers by chance.
        parts = np.split(after, len(candidates))
        return [part if columns else rows.before for part, columns in zip(parts, changed, strict=True)]

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The rows as coarse as they may be."""
        check_is_fitted(self, "generalizations_")
        table = read_data(self, X, reset=False)
        (columns,) = self._replace_columns(table, [self._fitted])
        return rebuild_data(X, table, columns, None)

    def agreement(self, X: Any) -> float:  # noqa: N803
        """How far predictions on rows as coarse as they may be agree with those on the rows as they are."""
        box = BlackBox(self.estimator)
        before, after = (box.predict(rows, several=True) for rows in (X, self.transform(X)))
        return measure_agreement(before, after, box.predicts_numbers(before), self._metric)

    def describe(self) -> str:
        """What a caller still has to collect, column by column."""
        check_is_fitted(self, "generalizations_")
        width = max((len(each.name) for each in self.published_), default=0)
        lines = [f"{each.name:<{width}}  {each.text()}" for each in self.published_]
        lines += [f"{name}: {line}" for name, line in self.list_box_lines()]
        lines.append(f"{self.ncp_:.1%} of the detail is not needed; agreement {self.score_:.3f}")
        return "\n".join([*lines, self.guarantee_.text()])

    def list_box_lines(self) -> list[tuple[str, str]]:
        """The name of each box and the rows that are in it; none if cells are those of single columns."""
        check_is_fitted(self, "generalizations_")
        if self._fitted.boxes is None:
            return []
        return [(f"box {at}", line) for at, line in enumerate(self._fitted.boxes.list_lines(), start=1)]

    def plot(self) -> Picture:
        """A picture of how much of each column is still needed."""
        check_is_fitted(self, "generalizations_")
        return draw_needed(self.column_ncp_)

    def _check_parameters(self, y: ArrayLike | None) -> None:
        if not 0 < self.target_score <= 1:
            raise RecipeError(f"target_score must be above 0 and at most 1, not {self.target_score}")
        check_confidence(self.confidence)
        if self.cells not in _CELL_KINDS:
            raise RecipeError(unknown("cells", str(self.cells), _CELL_KINDS))
        if self.retrain and y is None:
            raise RecipeError("retrain needs the labels: give y to fit")
        if self.retrain and not all(hasattr(self.estimator, name) for name in ("fit", "score", "get_params")):
            raise RecipeError("retrain needs an estimator of scikit-learn, which can be trained and scored")

    def _replace_columns(self, table: Table, candidates: Sequence[_Candidate]) -> list[dict[str, pl.Series]]:
        """The columns that each candidate replaces, one-hot ones as the table has them."""
        whole = collapse_one_hot(table, self._groups)
        made: dict[Published, dict[str, pl.Series]] = {}

        def replace_column(each: Published) -> dict[str, pl.Series]:
            if each not in made:  # many candidates have it
                made[each] = self._expand_column(table, each.name, each.applied(whole.column(each.name)))
            return made[each]

        found = []
        for candidate in candidates:
            if candidate.boxes is not None:
                boxed = candidate.boxes.replace_columns(whole).items()
                parts = [self._expand_column(table, name, after) for name, after in boxed]
            else:
                parts = [replace_column(each) for each in candidate.published if each.how != "untouched"]
            found.append({name: series for part in parts for name, series in part.items()})
        return found

    def _expand_column(self, table: Table, name: str, after: pl.Series) -> dict[str, pl.Series]:
        """A column, or the one-hot columns that it stands for."""
        for group in self._groups:
            if group.name == name:
                hot = {each: (after == each).fill_null(False).cast(pl.Int8) for each in group.columns}
                return {each: series.cast(table.frame.schema[each]) for each, series in hot.items()}
        return {name: after}

    def _retrain_estimators(self, data: Any, table: Table, y: NDArray[Any], guard: Ints) -> None:
        """Scores of two new estimators, on rows that did not train them."""
        rest = np.setdiff1d(np.arange(table.rows), guard)
        (less,) = self._replace_columns(table, [self._fitted])
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


@dataclass(frozen=True, slots=True, eq=False)
class _GivenRows:
    """Some rows, and what is predicted for them."""

    data: Any
    table: Table
    before: NDArray[Any]
    box: BlackBox
    numeric: bool

    @property
    def size(self) -> int:
        return len(self.before)

    @classmethod
    def from_data(cls, data: Any, table: Table, box: BlackBox) -> _GivenRows:
        before = box.predict(data, several=True)
        return cls(data, table, before, box, box.predicts_numbers(before))

    def take(self, rows: Ints) -> _GivenRows:
        origin = self.table.origin
        if origin.native is not None:
            origin = replace(origin, native=take_rows(origin.native, rows))
        table = replace(self.table, frame=self.table.frame[rows], origin=origin)
        return replace(self, data=take_rows(self.data, rows), table=table, before=self.before[rows])


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A generalisation of rows: of each column by itself, or by boxes of several columns."""

    published: list[Published]
    losses: list[float]
    """[columns] detail given up."""
    boxes: Boxes | None = None

    @classmethod
    def from_state(cls, state: Sequence[GeneralizedColumn]) -> _Candidate:
        """Every column by itself, with stand-ins chosen by all rows that placed its cells."""
        return cls([column.published for column in state], [column.ncp for column in state])

    @classmethod
    def from_boxes(cls, boxes: Boxes, names: Sequence[str]) -> _Candidate:
        """Boxes of some of the columns that are named; the others stay as they are."""
        losses = {each.name: loss for each, loss in zip(boxes.columns, boxes.losses, strict=True)}
        published = [Published(name, "boxes" if name in losses else "untouched") for name in names]
        return cls(published, [losses.get(name, 0.0) for name in names], boxes)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One column made coarser."""

    at: int
    """The number of the column."""
    after: GeneralizedColumn
    columns: Mapping[str, pl.Series]
    """What the judged rows have then, one-hot columns as the table has them."""


class _MinimizationSearch:
    """The search: states are lists of generalised columns, judged by what the estimator makes of them."""

    def __init__(self, owner: Minimizer, rows: _GivenRows, columns: Sequence[EncodedColumn]) -> None:
        self.owner, self.data, self.table = owner, rows.data, rows.table
        self.columns, self.box = columns, rows.box
        self.costs = owner._read_costs(rows.table, columns)
        self.before, self.numeric = rows.before, rows.numeric
        self.guide = _build_guide(self.before, self.numeric)
        rest = np.arange(min(rows.size, _MOST))
        # Every row is judged by values that were taken from the other half.
        self.halves = np.array_split(rest, 2)
        self.judged = np.concatenate(self.halves[::-1])
        self.stack = RowStack(self.data, self.table, self.judged)
        # Steps of a column stay the same until the column changes, and so do the values of its rows.
        self.steps_of: dict[int, tuple[GeneralizedColumn, list[_Step]]] = {}
        self.values_of: dict[GeneralizedColumn, Mapping[str, pl.Series]] = {}
        judged = rebuild_data(self.data, self.table, {}, self.judged)
        self.uses_probabilities = not self.numeric and self._has_matching_probabilities(judged)
        self.predicted, self.sure = self._ask_model(judged)

    def find_path(self, target: float, aim: float, tell: Progress) -> list[list[GeneralizedColumn]]:
        """All states on the way to the coarsest one whose score holds, from one that changes nothing."""
        state = [GeneralizedColumn.from_column(column) for column in self.columns]
        path, lost = [state], 0.0
        # Of many steps the luckiest are taken, so that other rows agree somewhat less than the score says.
        aim = max(aim, target + _MARGIN * (1 - target))
        while steps := self._list_steps(state):
            # How much detail is gone: the search ends at the latest when all of it is.
            share = sum(column.ncp for column in state) / len(state)
            tell(f"minimising, {len(path) - 1} steps taken", share)
            scores, losses = self._score_steps(state, steps)
            saved = np.array([self.costs[s.at] * (s.after.ncp - state[s.at].ncp) for s in steps])
            # Every step gives up detail, so that the search ends.
            allowed = (scores >= aim) & (saved > 0)
            if not allowed.any():
                break
            # Detail given up per score lost; a step may even gain some by chance.
            worth = np.where(allowed, saved / (np.maximum(losses - lost, 0.0) + _FREE), -np.inf)
            best = int(np.argmax(worth))
            j, after = steps[best].at, steps[best].after
            state, lost = [*state[:j], after, *state[j + 1 :]], float(losses[best])
            self.values_of[after] = steps[best].columns
            path.append(state)
        return path

    def _list_steps(self, state: list[GeneralizedColumn]) -> list[_Step]:
        """What one column could become next, with the values that the judged rows would have."""
        found = []
        for j, column in enumerate(state):
            before, steps = self.steps_of.get(j, (None, []))
            if before is not column:
                made = [column.with_cells(cells) for cells in _list_coarser_cells(column, self.guide)]
                steps = [_Step(j, after, self._replace_judged_values(after)) for after in made]
                self.steps_of[j] = (column, steps)
            found += steps
        return found

    def _score_steps(
        self, state: list[GeneralizedColumn], steps: list[_Step]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Agreement after each step, and how far the estimator was moved, all predicted in one go.

        An estimator that says how sure it is moves before its predictions do: that tells steps apart
        which change no prediction yet.
        """
        now: dict[str, pl.Series] = {}
        for column in state:
            now |= self.values_of.get(column, {})  # nothing for columns that are as they were
        # The rows of all steps below each other: one call of predict, whose overhead is larger than
        # its work on a thousand rows.
        after, sure = self._ask_model(self.stack.build(now, [step.columns for step in steps]))
        same = np.array(
            [
                measure_agreement(self.predicted, part, self.numeric, self.owner._metric)
                for part in np.split(after, len(steps))
            ]
        )
        if self.numeric:  # R² is smooth already; probabilities are not needed there, and do not exist
            return same, 1 - same
        moved = np.abs(sure.reshape(len(steps), -1) - self.sure.ravel())
        return same, moved.mean(axis=1)

    def _has_matching_probabilities(self, judged: Any) -> bool:
        """Whether the likeliest class is what the model predicts, so that one call tells both."""
        found = self.box.predict_probabilities(judged)
        if found is None or self.before.ndim > 1:
            return False
        return np.array_equal(self.box.name_likeliest(found), self.before[self.judged])

    def _ask_model(self, data: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """[rows] what is predicted, and [rows, classes] how sure the model is, where it says so."""
        if self.uses_probabilities:
            sure = self.box.predict_probabilities(data)
            assert sure is not None
            return self.box.name_likeliest(sure), sure
        after = self.box.predict(data, several=True)
        outputs = after.reshape(len(after), -1).T
        if self.numeric:
            return after, after.astype(np.float64).reshape(len(after), -1)
        # Certain of one class of each output, in the shape of probabilities.
        known = self.before.reshape(len(self.before), -1).T
        certain = [each[:, None] == np.unique(old) for each, old in zip(outputs, known, strict=True)]
        return after, np.hstack(certain).astype(np.float64)

    def _replace_judged_values(self, column: GeneralizedColumn) -> dict[str, pl.Series]:
        """A column of the rows that are judged, with values taken from the other half of the rows."""
        code = [
            column.replace_codes(rows, column.choose_representatives(other))
            for other, rows in zip(self.halves, self.halves[::-1], strict=True)
        ]
        after = column.column.domain.values.gather(np.concatenate(code))
        return self.owner._expand_column(self.table, column.name, after)


def _keep_classes_whole(order: Ints, class_of: Ints, many: int) -> tuple[Ints, int]:
    """An order of rows in which classes are whole, and after how many of them one begins, near ``many``."""
    # Classes in the order of their first rows, which is one of chance.
    names, first = np.unique(class_of[order], return_index=True)
    turn = np.argsort(np.argsort(first, kind="stable"), kind="stable")[
        np.searchsorted(names, class_of[order])
    ]
    ends = np.cumsum(np.bincount(turn))[:-1]
    if ends.size == 0:  # of one class, rows have to do
        return order, many
    return order[np.argsort(turn, kind="stable")], int(ends[np.abs(ends - many).argmin()])


def _build_guide(before: NDArray[Any], numeric: bool) -> NDArray[Any]:
    """Numbers, or numbers of classes: where first cells are cut, and the order of categories."""
    if not numeric:
        # Of several outputs each combination is a class.
        return np.unique(before, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    numbers = before.astype(np.float64).reshape(len(before), -1)
    if numbers.shape[1] == 1:
        return numbers[:, 0]
    spread = numbers.std(axis=0)
    scaled = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    # The direction in which several outputs differ most.
    direction = np.linalg.svd(scaled, full_matrices=False)[2][0]
    return np.asarray(scaled @ direction, np.float64)


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
