"""What engines refuse, by what algorithms declare."""

from dataclasses import replace

import pytest

from shoal.algorithms import ALGORITHMS, Algorithm
from shoal.algorithms.auto import Auto
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.genetic import Genetic
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.mingen import MinGen
from shoal.algorithms.mondrian import Mondrian
from shoal.engines.checks import check_counted, check_rendering
from shoal.errors import InternalError, RecipeError
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe

RECIPE = Recipe(("age",), (KAnonymity(2),))
WORDS = ("there", "which it does not", "elsewhere")


def test_the_declarations_of_the_algorithms():
    counted = {name for name, kind in ALGORITHMS.items() if kind.works_on_counted_rows}
    assert counted == {"auto", "hilbert", "lattice", "mondrian", "peel"}
    assert all(issubclass(kind, Algorithm) for kind in ALGORITHMS.values())
    # An instance without a dictionary of its own: nobody can add to what is frozen.
    assert not any(hasattr(kind, "__dict__") and "__dict__" in vars(kind) for kind in ALGORITHMS.values())
    assert {name for name, kind in ALGORITHMS.items() if not kind().needs_all_rows} == {"auto", "mondrian"}
    assert Mondrian(cut="classic").needs_all_rows
    assert Genetic(semantics="matching").is_cell_level
    assert not MinGen().is_cell_level


@pytest.mark.parametrize("algorithm", [Auto(), Hilbert(), Mondrian(), Mondrian(cut="classic")])
def test_what_works_on_counted_rows_passes(algorithm):
    check_counted(replace(RECIPE, algorithm=algorithm), *WORDS)


@pytest.mark.parametrize(
    ("algorithm", "says"),
    [
        (Cluster(sweeps=3), r"^cluster looks at every row by itself, which it does not; there there are "),
        (Mondrian(mode="relaxed"), r"^mondrian\(mode=relaxed\) looks"),
        (Mondrian(mode="relaxed", cut="nearest"), r"^mondrian\(mode=relaxed,cut=nearest\) looks"),
        (MinGen(), r"are auto, hilbert, lattice, mondrian \(strict\) and peel$"),
    ],
)
def test_what_does_not_is_named(algorithm, says):
    with pytest.raises(RecipeError, match=says):
        check_counted(replace(RECIPE, algorithm=algorithm), *WORDS)


def test_cells_of_their_own_are_not_written_as_the_values_of_a_class():
    recipe = replace(RECIPE, algorithm=MinGen(semantics="matching"))
    check_rendering(recipe)
    with pytest.raises(RecipeError, match="semantics=matching takes render 'label' or 'interval', not 'set'"):
        check_rendering(replace(recipe, render="set"))
    check_rendering(replace(RECIPE, render="set"))


def test_how_a_cluster_cuts():
    asked = []
    assert Mondrian(cut="nearest").choose_cut(lambda: asked.append(1) or 1, False) == "nearest"
    assert asked == []  # to count is a job of Spark
    assert Auto().choose_cut(lambda: 10, False) == "greedy"
    assert Auto().choose_cut(lambda: 10**9, False) == "nearest"
    with pytest.raises(InternalError, match="Hilbert has to see all rows"):
        Hilbert().choose_cut(lambda: 10, False)
