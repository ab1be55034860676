"""A verified release: its rows, its report, and how it is written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.recoding import Recoding
from shoal.engines.checks import refuse_unmet_goal
from shoal.engines.inputs import list_inputs
from shoal.engines.linked import verify_pseudonyms
from shoal.engines.prepare import known_to_all
from shoal.errors import GoalNotMet, OutputError, RecipeError
from shoal.privacy import read_population
from shoal.recipes.recipe import Recipe, check_private
from shoal.recipes.release_rows import read_written_rows
from shoal.recipes.saved_recoding import SavedRecoding
from shoal.report import Report
from shoal.support.pickling import PartlyPickled
from shoal.table import Column, Origin, Table, check_writable, read_table, write_table
from shoal.verification.sets import KnownSets, verify_sets
from shoal.verification.verifier import Verification, verify_table

NO_LATER_ROWS = (
    "classes for later rows count rows, and here people are counted: leave out the recoding, or the person"
)
NO_LATER_SETS = "columns of sets have no classes for later rows: leave out the recoding, or the sets"


def name_solution(path: Path, number: int) -> Path:
    """The file of a further table of least loss, beside that of the first."""
    stem, dot, suffixes = path.name.partition(".")
    return path.with_name(f"{stem}-{number}{dot}{suffixes}")


@dataclass(frozen=True, slots=True, eq=False)
class Release(PartlyPickled):
    """A verified release."""

    frame: Any
    """The same kind of frame as came in."""
    report: Report
    recipe: Recipe
    table: Table = field(repr=False)
    """What was anonymized; with safepub what was released, for nothing else is kept."""
    solutions: tuple[Any, ...] = field(default=(), repr=False)
    """All tables of least loss that an exact search listed; the first is ``frame``, and all are verified."""
    recoding: Recoding | None = field(default=None, repr=False)
    """The classes and their cells."""
    columns: Mapping[str, Column] = field(default_factory=dict, repr=False)
    """What is known of the quasi-identifiers and the sensitive columns."""
    person: NDArray[np.int64] | None = field(default=None, repr=False)
    """The person of each row, where people were counted; never written, and not kept when it is pickled."""
    group: NDArray[np.int64] | None = field(default=None, repr=False)
    """The group of each row's person, where groups were counted; kept no more than the person."""

    static: tuple[str, ...] = field(default=(), repr=False)
    """The quasi-identifiers that are the same in all rows of every person, where pseudonyms link rows."""

    def saved_recoding(self) -> SavedRecoding:
        """The classes, to be saved to a file, and to put later rows into."""
        if self.recoding is None or self.recipe.algorithm.is_cell_level or self.recipe.uses_safepub:
            raise RecipeError("only a release in classes, without safepub, has a recoding for later rows")
        if self.recipe.person is not None:
            raise RecipeError(NO_LATER_ROWS)
        if self.recipe.render == "code":
            raise RecipeError("code numbers are those of one table: render 'code' has no later rows")
        if self.recipe.sets:
            raise RecipeError(NO_LATER_SETS)
        names = self.table.names
        left_out = self.recipe.left_out(names)
        released = [name for name in names if name not in left_out]
        return SavedRecoding.of(self.recipe, self.recoding, self.columns, released)

    def write(self, path: str | Path) -> None:
        """Write the release to a file, whole or not at all; the format follows the suffix.

        What was written is read again and counted before it takes its place.
        """
        # Before anything is written: a sample with a stated seed must never become a file.
        check_private(self.recipe)
        if self.person is None and self.report.people is not None:
            raise OutputError(
                "whose row each is did not come along with this release, which was pickled, copied or made "
                "on disk, so that people in another file could not be counted: copy the file that was written"
            )
        check_writable(path, list_inputs(self.recipe, self.table))
        write_table(
            self.frame,
            path,
            like=self.table.origin,
            delimiter=self.recipe.delimiter,
            safe_csv=self.recipe.safe_csv,
            keep_metadata=self.recipe.keep_metadata,
            judge=self.judge,
        )

    def write_solutions(self, path: str | Path) -> None:
        """Write the further tables of least loss beside the first, each verified as that one is.

        With ``release.csv`` they are ``release-2.csv``, ``release-3.csv`` and so on.
        """
        for number, frame in enumerate(self.solutions[1:], start=2):
            # A table that differs may have other classes, by which its file is judged.
            found = self._count_table(read_table(frame, may_be_empty=True))
            report = replace(self.report, classes=found.classes, smallest_class=found.smallest_class)
            replace(self, frame=frame, report=report).write(name_solution(Path(path), number))

    def judge(self, path: Path, layout: Origin) -> None:
        """Read a file that was written of this release, as an outsider would, and raise if it is not safe."""
        # What leaves are the bytes on disk, so they are judged, and not the frame.
        recipe, names = self.recipe, read_table(self.frame, may_be_empty=True).names
        table = read_written_rows(recipe, path, layout, names, self.report.released_rows)
        columns = self.columns or known_to_all(recipe, names)
        if recipe.sets:
            known = KnownSets(recipe.sets, recipe.known_rows)
            refuse_unmet_goal(
                verify_sets(table, recipe.quasi, recipe.sensitive, recipe.models, known, columns)
            )
            return
        if recipe.pseudonym:
            refuse_unmet_goal(verify_pseudonyms(recipe, table, self.person, self.static, columns))
            return
        found = self._count_table(table)
        if not recipe.algorithm.is_cell_level:
            refuse_unmet_goal(found)
        # Whom a row could be was decided on the frame: the file must have the classes of the frame.
        elif (found.classes, found.smallest_class) != (self.report.classes, self.report.smallest_class):
            raise GoalNotMet("the goal was not met: what was written has other classes than the release")

    def _count_table(self, table: Table) -> Verification:
        """What an outsider finds in a table of this release."""
        recipe = self.recipe
        columns = self.columns or known_to_all(recipe, table.names)
        people = read_population(recipe.models, recipe.quasi, recipe.reading)
        return verify_table(
            table, recipe.quasi, recipe.sensitive, recipe.models, columns, people, self.person, self.group
        )

    def _collect_kept_state(self) -> dict[str, Any]:
        """What is kept when a release is pickled or copied: what is released, and nothing else."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        bare = self.table.strip_values(keep_metadata=self.recipe.keep_metadata)
        return kept | {"table": bare, "recoding": None, "columns": {}, "person": None, "group": None}
