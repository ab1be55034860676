"""What engines have in common that count equal rows and search what was counted."""

from __future__ import annotations

from shoal.algorithms import ALGORITHMS, Auto, Hilbert, Lattice, Mondrian, Peel
from shoal.errors import RecipeError
from shoal.parameters import name_of
from shoal.privacy import population_of
from shoal.recipe import Recipe


def check_counted(recipe: Recipe, within: str, why: str, people: str) -> None:
    """Refuse what counted rows do not tell.

    Parameters
    ----------
    within, why, people : str
        For the messages: with which engine, why it does not look at single rows, and where the table has to
        be for a comparison with a population.
    """
    algorithm = recipe.algorithm
    relaxed = isinstance(algorithm, Mondrian) and algorithm.mode == "relaxed"
    if relaxed or not isinstance(algorithm, Auto | Hilbert | Lattice | Mondrian | Peel):
        name = "mondrian(mode=relaxed)" if relaxed else name_of(ALGORITHMS, algorithm)
        raise RecipeError(
            f"{name} looks at every row by itself, {why}; {within} there are auto, hilbert, lattice, "
            "mondrian (strict) and peel"
        )
    if recipe.missing != "category":
        raise RecipeError(f"{within} missing is 'category', not '{recipe.missing}'")
    if population_of(recipe.models) is not None:
        raise RecipeError(f"models that compare with a population need the table {people}")
