"""Losses by survey weights: how much detail is lost of the people that rows stand for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Recoding
from shoal.recipes.defaults import list_weights
from shoal.recipes.recipe import Recipe


def measure_weighted_loss(recipe: Recipe, recoding: Recoding, weights: NDArray[np.float64]) -> float:
    """The loss of a recipe as if every row were there as often as its survey weight says.

    Parameters
    ----------
    weights : float[rows]
        The weight of each row, in the order of the table.
    """
    return float(LOSSES[recipe.loss]().measure(count_people(recoding, weights), list_weights(recipe)).value)


def count_people(recoding: Recoding, weights: NDArray[np.float64]) -> Recoding:
    """The same recoding of so many people as the weights say, in whole numbers."""
    table = recoding.table
    sums = np.bincount(table.of_row, weights, table.weight.size)
    # What is rounded off of one row goes to the next, so that all of them add up to all weights.
    people = np.diff(np.rint(np.cumsum(sums)), prepend=0).astype(np.int64)
    # Bin 0 collects the suppressed rows and is cut off.
    size = np.rint(np.bincount(recoding.class_of + 1, people, recoding.size.size + 1)).astype(np.int64)[1:]
    return replace(recoding, table=replace(table, weight=people), size=size)
