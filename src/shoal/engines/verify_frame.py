"""The verifier for releases in memory: reads the finished frame like any table from outside, and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import Problem
from shoal.codespace.recoding import Recoding
from shoal.engines.checks import refuse_unmet_goal
from shoal.engines.prepare import PreparedTable
from shoal.privacy import for_columns, matching
from shoal.privacy.groups import GroupAnonymity
from shoal.recipes.recipe import Recipe
from shoal.recipes.schema import find_released_quasi
from shoal.table import Table, read_released
from shoal.verification.outsider import CellNumbers
from shoal.verification.verifier import Verdict, Verification, describe_violating_classes, verify_table


def verify_frame(
    recipe: Recipe,
    subject: PreparedTable,
    recoding: Recoding,
    frame: Any,
    person: NDArray[np.int64] | None = None,
    group: NDArray[np.int64] | None = None,
    cells: CellNumbers | None = None,
) -> Verification:
    """Let the verifier decide; nothing goes out that it does not pass.

    ``person`` is the person of each released row, if people are counted, and ``group`` the group of that
    person, if groups are: the frame does not say it. ``cells`` are those of the frame, if they are looked at
    again.
    """
    # Read like any table from outside, with the markers of missing values of the recipe.
    released = read_released(frame, recipe.reading)
    found = verify_table(
        released,
        find_released_quasi(recipe, released.names),
        recipe.sensitive,
        recipe.models,
        subject.columns,
        subject.people,
        person,
        group,
        cells,
    )
    if recipe.algorithm.is_cell_level:
        found = _verify_by_matching(found, subject.problem, recoding)
    refuse_unmet_goal(found, _explain_failures(recipe, subject, released, found, person, group))
    return found


def _explain_failures(
    recipe: Recipe,
    subject: PreparedTable,
    released: Table,
    found: Verification,
    person: NDArray[np.int64] | None,
    group: NDArray[np.int64] | None,
) -> Iterator[str]:
    """For each verdict, which classes stand in its way, if any do."""
    models = for_columns(recipe.models, recipe.sensitive)
    if group is not None:
        models = (*models, GroupAnonymity.from_goal(models))
    for model, verdict in zip(models, found.models, strict=False):  # by matching there is one verdict for all
        quasi = find_released_quasi(recipe, released.names)
        roles = (quasi, recipe.sensitive, model, subject.columns, subject.people, person, group)
        yield "" if verdict.holds else f", because of {describe_violating_classes(released, *roles)}"


def _verify_by_matching(counted: Verification, problem: Problem, recoding: Recoding) -> Verification:
    """The verdict on k by whom each released row could be, for which the original is needed.

    The rows of a class could all be each other, so that classes of k rows are enough.
    """
    # With matching semantics k-anonymity is the only model, possibly named more than once.
    k = max(verdict.asked["k"] for verdict in counted.models)
    reached = counted.smallest_class
    # Matching is decided on intervals; a set of values has no two ends to compare with.
    if not counted.holds and all(cells.members is None for cells in recoding.cells):
        of_row = recoding.class_of[recoding.table.of_row]
        lo = np.stack([cells.lo[cells.of_class[of_row]] for cells in recoding.cells], axis=1)
        hi = np.stack([cells.hi[cells.of_class[of_row]] for cells in recoding.cells], axis=1)
        reached = matching.count_fewest_partners(np.stack(problem.rows.quasi, axis=1), lo, hi, k)
    verdict = Verdict("k", {"k": k, "semantics": "matching"}, reached, reached >= k)
    return replace(counted, holds=verdict.holds, models=(verdict,))
