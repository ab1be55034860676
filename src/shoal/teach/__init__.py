"""The textbook: algorithms that are written to be read, on tables that are small enough to watch.

Every lesson runs an algorithm of `shoal.teach.textbook` and gives back a `Lesson`: figures, tables, and the
steps that the player shows, in a notebook or as a page.

>>> from shoal import teach
>>> run = teach.brute_force(k=2)
>>> run.figures["tables"], run.figures["visited"]
(746496, 59650)
>>> run.steps[0].text
'Row 1: age 37 becomes *.'
"""

from collections.abc import Callable
from typing import NamedTuple

from shoal.teach.lessons.cutting import cut_mondrian, diversify
from shoal.teach.lessons.lesson import Lesson, LessonStep
from shoal.teach.lessons.matching import find_components, match_people
from shoal.teach.lessons.proving import branch_and_bound, find_useful_options, solve_program
from shoal.teach.lessons.searching import brute_force, evolve
from shoal.teach.tables import TeachingTable


class LessonEntry(NamedTuple):
    """A lesson: the function that runs it, what it shows, and its page below docs/teaching."""

    run: Callable[..., Lesson]
    help: str
    page: str


# In the order of the course.
LESSONS = {
    "brute-force": LessonEntry(
        brute_force, "try every table, prune, remember, or draw at random", "brute-force"
    ),
    "evolution": LessonEntry(evolve, "breed tables from the best ones", "evolution"),
    "matching": LessonEntry(match_people, "who could be who: the two meanings of k", "matching"),
    "components": LessonEntry(find_components, "the same by strongly connected components", "components"),
    "dominance": LessonEntry(find_useful_options, "which ways to write a row are useless", "dominance"),
    "bounds": LessonEntry(branch_and_bound, "branch and bound, row by row", "bounds"),
    "program": LessonEntry(solve_program, "classes by a mixed-integer program", "program"),
    "mondrian": LessonEntry(cut_mondrian, "cuts in two dimensions", "cuts"),
    "diversity": LessonEntry(diversify, "l and t for the classes that cuts leave", "diversity"),
}

__all__ = [
    "LESSONS",
    "Lesson",
    "LessonStep",
    "TeachingTable",
    "branch_and_bound",
    "brute_force",
    "cut_mondrian",
    "diversify",
    "evolve",
    "find_components",
    "find_useful_options",
    "match_people",
    "solve_program",
]
