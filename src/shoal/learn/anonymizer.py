"""TreeAnonymizer: anonymization as a step of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from shoal.algorithms.repair import repair_proposal
from shoal.algorithms.tree import TreeGuided, grow_guided_tree
from shoal.codespace.recoding import Recoding
from shoal.engines.api import known_columns
from shoal.engines.memory import make_release, prepare_table
from shoal.engines.release import Release
from shoal.errors import GoalNotMet
from shoal.learn.blackbox import BlackBox, KeepsFittedModel
from shoal.learn.goals import learning_goal
from shoal.learn.routing import Router
from shoal.learn.sklearn_io import (
    Columns,
    OneHotGroup,
    choose_seed,
    collapse_one_hot,
    column_names,
    drop_column,
    expand_one_hot,
    find_person,
    measure_deletion,
    one_hot_groups,
    read_data,
    read_several_labels,
    rebuild_data,
)
from shoal.privacy import Model
from shoal.privacy.people import read_people
from shoal.recipes.recipe import Recipe
from shoal.table import ColumnType, Origin, Table, read_table
from shoal.verification.verifier import verify_table


class TreeAnonymizer(OneToOneFeatureMixin, TransformerMixin, KeepsFittedModel):  # type: ignore[misc]
    """Replaces quasi-identifiers so that the privacy goal holds and an estimator still learns from them.

    Rows are grouped by a decision tree that predicts a target, see `TreeGuided`: the labels ``y``, or what
    ``estimator`` predicts. What `fit_transform` returns has passed the verifier.

    `transform` puts rows into the cells that were found; where refinement (``sweeps``) divided equal rows,
    into one of theirs. Together with the rows of `fit` the goal holds for their size; a few new rows by
    themselves need not be k in a cell, so do not publish them alone.

    A fitted anonymizer holds original values of the quasi-identifiers, and so does its pickle: keep it as
    private as the rows.

    Parameters
    ----------
    k : int
        Least number of rows in a class.
    l : int, optional
        Least number of distinct values of each sensitive column in a class, from 2 to k.
    quasi, sensitive : lists of columns, by name or position
        Quasi-identifiers, by default all but the sensitive ones; sensitive columns, which models look at.
    person : column, by name or position, optional
        Says whose row it is, where people have several: the goal then counts people, and not rows. The column
        is left out of what is released. Rows keep their order, which labels need: sort what you publish.
    models : sequence of models, or of texts such as ``"entropy-l(l=3)"``
        More that must hold.
    estimator : fitted estimator or any other model, optional
        Its predictions on the rows are the target, in place of ``y``. Any model that `Minimizer` takes.
    grow, failing, split, gain, sweeps, guide, distance
        As in `TreeGuided`. With ``failing="delete"`` rows are left out, and the labels of the others are
        ``y[valid_rows_]``. A pipeline of scikit-learn cannot leave labels out: use it with "merge" alone.
    one_hot : list of lists of columns, optional
        One-hot groups; recognised where not said. An empty list for none.
    hierarchies, types : mappings by column
        As in `shoal.anonymize`.
    render : "representative", "label", "interval" or "set"
        A representative is a value of the class, so that columns keep their types; the others are text.
    random_state : int, RandomState or None
        Breaks ties in the tree. `random_state_` is the seed that was used.

    Attributes
    ----------
    cells_ : polars.DataFrame
        Every class: its rows, and what it covers in each quasi-identifier.
    valid_rows_ : bool[n]
        Which rows of `fit` are released; all of them unless ``failing="delete"``.
    deletion_ratio_ : float
        Share of rows that are not; with ``person``, of people of whom no row is released.
    report_ : Report
        What the verifier found, and the loss.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shoal.learn import TreeAnonymizer
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> anonymizer = TreeAnonymizer(k=10)
    >>> released = anonymizer.fit_transform(X, y)
    >>> int(released.value_counts().min()) >= 10
    True
    """

    def __init__(
        self,
        k: int = 5,
        l: int | None = None,  # noqa: E741
        *,
        quasi: Columns | None = None,
        sensitive: Columns | None = None,
        person: str | int | None = None,
        models: Sequence[Model | str] = (),
        estimator: Any = None,
        grow: str = "quasi",
        failing: str = "merge",
        split: bool = True,
        gain: float = 16.0,
        sweeps: int = 0,
        guide: str = "labels",
        distance: str = "detail",
        one_hot: Sequence[Columns] | None = None,
        hierarchies: Any = None,
        types: Mapping[str, ColumnType] | None = None,
        render: str = "representative",
        random_state: Any = 0,
    ) -> None:
        self.k = k
        self.l = l
        self.quasi = quasi
        self.sensitive = sensitive
        self.person = person
        self.models = models
        self.estimator = estimator
        self.grow = grow
        self.failing = failing
        self.split = split
        self.gain = gain
        self.sweeps = sweeps
        self.guide = guide
        self.distance = distance
        self.one_hot = one_hot
        self.hierarchies = hierarchies
        self.types = types
        self.render = render
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> TreeAnonymizer:  # noqa: N803
        """Find the cells; ``y`` may have several columns, and each counts as much as any other.

        Without ``y`` and without an estimator the first sensitive column guides the tree; where there is none
        either, rows are only partitioned.
        """
        self._fit_table(X, y)
        return self

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **params: Any) -> Any:  # noqa: N803
        """Find the cells and return the rows as they are released; deleted ones are left out."""
        released = self._fit_and_release(X, y)
        if y is not None and self.deletion_ratio_ > 0:
            # The next step of a pipeline would only say that two lengths differ.
            warnings.warn(
                f"{np.count_nonzero(~self.valid_rows_)} of {self.valid_rows_.size} rows are left out, so the "
                "labels of the others are y[valid_rows_]. A pipeline cannot leave labels out: use "
                "failing='merge' there",
                UserWarning,
                stacklevel=2,
            )
        return released

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Put rows into the cells; rows of deleted cells are left out."""
        check_is_fitted(self, "report_")
        table = read_data(self, X, reset=False)
        return self._release_rows(X, table, self._router.find_classes(collapse_one_hot(table, self._groups)))

    def _fit_and_release(self, data: Any, y: ArrayLike | None) -> Any:
        table, class_of = self._fit_table(data, y)
        return self._release_rows(data, table, class_of)

    def _fit_table(self, data: Any, y: ArrayLike | None) -> tuple[Table, NDArray[np.int64]]:
        self.random_state_ = choose_seed(self.random_state)
        table = read_data(self, data, reset=True)
        sensitive = column_names(table, "sensitive", self.sensitive)
        self._person = find_person(table, self.person)
        others = [n for n in table.names if n not in (*sensitive, self._person)]
        quasi = column_names(table, "quasi", others if self.quasi is None else self.quasi)
        self._groups = one_hot_groups(table, quasi, self.one_hot)
        subject_table, recipe = self._build_recipe(
            table, quasi, sensitive, self._choose_targets(data, y, table)
        )
        subject = prepare_table(recipe, subject_table)
        assert isinstance(recipe.algorithm, TreeGuided)
        # Not by search(): the tree itself is kept, to find the leaves of later rows.
        guided = grow_guided_tree(recipe.algorithm, subject.problem)
        release = make_release(
            recipe, subject_table, subject, repair_proposal(guided.proposal, subject.problem)
        )
        recoding = release.recoding
        assert recoding is not None
        # The first columns beside the quasi-identifiers are the targets, which no tree looks at.
        seen = [*subject.encoded, *list(subject.problem.beside.values())[guided.targets :]]
        self._router = Router.from_release(guided, recoding, seen)
        self._native = tuple(subject_table.frame.schema[name] for name in recipe.quasi)
        class_of = recoding.class_of[recoding.table.of_row].astype(np.int64)
        self._check_expanded(table, class_of, quasi, recipe)
        self._set_fitted_attributes(release, recoding, class_of)
        self.deletion_ratio_ = measure_deletion(self.valid_rows_, read_people(table, self._person))
        return table, class_of

    def _build_recipe(
        self, table: Table, quasi: tuple[str, ...], sensitive: tuple[str, ...], targets: list[pl.Series]
    ) -> tuple[Table, Recipe]:
        """The table in which one-hot groups are one column, with the target, and what is to be done."""
        whole = collapse_one_hot(table, self._groups)
        inside = {name: group.name for group in self._groups for name in group.columns}
        names = tuple(dict.fromkeys(inside.get(name, name) for name in quasi))
        guide = sensitive[0] if sensitive else None
        if targets:
            # Targets travel as columns of their own and must not hide any of the table.
            mark = ""
            while any(name.startswith(f"target{mark}") for name in whole.names):
                mark += "_"
            added = [each.alias(f"target{mark}{at}") for at, each in enumerate(targets)]
            guide = ",".join(each.name for each in added)
            whole = replace(whole, frame=pl.DataFrame([*whole.frame, *added]))
        known = known_columns((*names, *sensitive), self.hierarchies, self.types)
        recipe = Recipe(
            quasi=names,
            sensitive=sensitive,
            # All other columns: a recipe refuses columns without a role.
            plain=tuple(name for name in whole.names if name not in (*names, *sensitive, self._person)),
            person=self._person,
            models=learning_goal(self.k, self.l, self.models),
            trees={name: column.hierarchy for name, column in known.items() if column.hierarchy is not None},
            types={name: kind for name, kind in (self.types or {}).items() if name in known},
            algorithm=TreeGuided(
                guide,
                self.grow,  # type: ignore[arg-type]
                self.failing,  # type: ignore[arg-type]
                self.split,
                self.gain,
                self.sweeps,
                self.guide,  # type: ignore[arg-type]
                self.distance,  # type: ignore[arg-type]
            ),
            # How many rows are deleted is a result here (deletion_ratio_), not a bound.
            suppress=1.0 if self.failing == "delete" else 0.0,
            render=self.render,  # type: ignore[arg-type]
            seed=self.random_state_,
        )
        return replace(whole, origin=Origin("polars")), recipe

    def _choose_targets(self, data: Any, y: ArrayLike | None, table: Table) -> list[pl.Series]:
        if self.estimator is not None:
            found = BlackBox(self.estimator).predict(data, several=True)
            return [pl.Series(each) for each in found.reshape(len(found), -1).T]
        if y is not None:
            columns = read_several_labels(y)
            check_consistent_length(table.frame, *columns)
            return [
                pl.Series(values.tolist() if values.dtype == object else values, strict=False)
                for values in columns
            ]
        # A constant target gives a tree of one leaf: rows are only partitioned.
        return [] if self.sensitive else [pl.Series(np.zeros(table.rows, np.int8))]

    def _check_expanded(
        self, table: Table, class_of: NDArray[np.int64], quasi: tuple[str, ...], recipe: Recipe
    ) -> None:
        """One-hot columns are written after the verifier has looked, so it looks once more."""
        if not self._groups:
            return
        kept = np.flatnonzero(class_of >= 0)
        frame = table.build_release(self._build_columns(table, class_of[kept]), kept, ())
        person = read_people(read_table(frame), self._person)
        found = verify_table(read_table(frame), quasi, recipe.sensitive, recipe.models, person=person)
        if not found.holds:
            raise GoalNotMet("the goal was not met by the one-hot columns, so nothing is released")

    def _set_fitted_attributes(
        self, release: Release, recoding: Recoding, class_of: NDArray[np.int64]
    ) -> None:
        texts = recoding.render_classes((pl.String(),) * len(recoding.cells), "label")
        size = "rows"
        # A quasi-identifier may be called 'rows' itself.
        while size in texts:
            size += "_"
        self.cells_ = pl.DataFrame({size: recoding.size, **texts})
        self.valid_rows_ = class_of >= 0
        self.report_ = replace(release.report, evidence=None)  # an estimator keeps no training rows

    def _build_columns(self, table: Table, class_of: NDArray[np.int64]) -> dict[str, pl.Series]:
        """What is released for rows of these classes."""
        recoding = self._router.recoding
        values = recoding.render_classes(self._native, self.render)  # type: ignore[arg-type]
        for group in self._groups:
            j = [cells.domain.name for cells in recoding.cells].index(group.name)
            del values[group.name]
            plain = self.render == "representative"
            values |= expand_one_hot(table, group, _find_members(recoding, j, group, plain), plain)
        return {name: of_class.gather(class_of) for name, of_class in values.items()}

    def _release_rows(self, data: Any, table: Table, class_of: NDArray[np.int64]) -> Any:
        kept = np.flatnonzero(class_of >= 0)
        columns = self._build_columns(table, class_of[kept])
        rows = kept if kept.size < class_of.size else None
        released = rebuild_data(data, table, columns, rows, real=self.render == "representative")
        return released if self._person is None else drop_column(released, table, self._person)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns that are released."""
        names: NDArray[Any] = super().get_feature_names_out(input_features)
        if self.person is None:
            return names
        at = self.person if isinstance(self.person, int) else list(names).index(self.person)
        return np.delete(names, at)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _find_members(recoding: Recoding, j: int, group: OneHotGroup, representative: bool) -> NDArray[np.bool_]:
    """[columns, classes] which of a group's columns each class may have as the one that is 1."""
    cells = recoding.cells[j]
    holds = np.zeros((recoding.size.size, cells.domain.size), np.bool_)
    if representative:
        holds[np.arange(recoding.size.size), recoding.choose_representatives(j)] = True
    else:
        # A one-hot group is a flat category, of which every cell is a set.
        assert cells.members is not None
        start, member = cells.members
        inside = np.zeros((cells.count, cells.domain.size), np.bool_)
        inside[np.repeat(np.arange(cells.count), np.diff(start)), member] = True
        holds = inside[cells.of_class]
    at = {label: code for code, label in enumerate(cells.domain.labels.to_list())}
    # A column that is 1 in no row has no code: no class can have it.
    none = np.zeros(recoding.size.size, np.bool_)
    return np.stack([holds[:, at[name]] if name in at else none for name in group.columns])
