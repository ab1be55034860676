"""What a recipe means where it does not say something itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.encoding import CategoryOrder
from shoal.recipes.recipe import Recipe


def choose_category_order(recipe: Recipe) -> CategoryOrder:
    """The order of flat categories: what the recipe says, or else what the algorithm is made for."""
    return recipe.category_order or recipe.algorithm.category_order


def list_weights(recipe: Recipe) -> NDArray[np.float64]:
    """How much each quasi-identifier matters: 1 where the recipe does not name it."""
    if not recipe.quasi:  # with sets alone there is one column, the same for all, which matters to nobody
        return np.zeros(1)
    return np.array([float(recipe.weights.get(name, 1.0)) for name in recipe.quasi])


def list_set_weights(recipe: Recipe) -> NDArray[np.float64]:
    """How much each column of sets matters."""
    return np.array([float(recipe.weights.get(name, 1.0)) for name in recipe.sets])
