"""Classes that fail a model which no search knows go together with their neighbours."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.repair import _pair_neighbours, merge_failing_classes
from shoal.codespace.recoding import Proposal
from shoal.privacy import Counts, KAnonymity, Model


@dataclass(frozen=True, slots=True)
class EvenClasses(Model):
    """Every class has an even number of rows: nothing that a rule could say."""

    known_to_search: ClassVar[bool] = False

    def holds(self, counts: Counts):
        return counts.size % 2 == 0

    def achieved(self, counts: Counts):
        return float(self.holds(counts).all())


@pytest.mark.parametrize(
    ("failing", "numbers"),
    [
        ([True, False, True, False, True], [0, 0, 1, 1, 1]),
        ([False, False, False], [0, 1, 2]),
        ([True, True, True, True], [0, 0, 1, 1]),
        ([False, True, False], [0, 1, 1]),
        ([True], [0]),
    ],
)
def test_pairs_along_an_order(failing, numbers):
    order = np.arange(len(failing))
    assert _pair_neighbours(order, np.array(failing)).tolist() == numbers


def test_the_order_decides_on_neighbours():
    found = _pair_neighbours(np.array([2, 0, 1]), np.array([False, False, True]))
    assert found.tolist() == [0, 1, 0]


def propose(problem, class_of):
    return Proposal(problem.table, np.array(class_of, np.int32), optimal=True, notes=("said",))


def test_classes_are_merged_until_the_model_holds(code):
    problem = replace(code(pl.DataFrame({"age": range(6)})), models=(EvenClasses(),))
    found = merge_failing_classes(propose(problem, [0, 1, 1, 1, 2, 2]), problem)
    assert found.class_of.tolist() == [0, 0, 0, 0, 1, 1]
    assert found.optimal is None  # what was proved is not true of these classes
    assert found.notes[0] == "said"
    assert "merged" in found.notes[1]


def test_what_holds_is_left_alone(code):
    problem = replace(code(pl.DataFrame({"age": range(4)})), models=(EvenClasses(),))
    assert merge_failing_classes(propose(problem, [0, 0, 1, 1]), problem).optimal
    known = replace(code(pl.DataFrame({"age": range(4)})), models=(KAnonymity(2),))
    proposal = propose(known, [0, 1, 2, 3])
    assert merge_failing_classes(proposal, known) is proposal


def test_suppressed_rows_stay_suppressed_and_one_class_is_the_end(code):
    problem = replace(code(pl.DataFrame({"age": range(4)})), models=(EvenClasses(),))
    found = merge_failing_classes(propose(problem, [0, 1, -1, 2]), problem)
    assert found.class_of.tolist() == [0, 0, -1, 0]
