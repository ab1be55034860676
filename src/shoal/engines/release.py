"""A verified release: its rows, its report, and how it is written to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Generic

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.recoding import Recoding
from shoal.engines.checks import refuse_unmet_goal
from shoal.engines.inputs import list_inputs
from shoal.engines.linked import check_keyed, verify_pseudonyms
from shoal.engines.prepare import known_to_all
from shoal.errors import GoalNotMet, OutputError, RecipeError, quote
from shoal.privacy import read_population
from shoal.recipes.event_tables import PEOPLE, name_table
from shoal.recipes.recipe import Recipe, check_private
from shoal.recipes.release_rows import read_written_rows
from shoal.recipes.saved_recoding import SavedRecoding
from shoal.recipes.schema import find_released_quasi, read_input_schema, state_types
from shoal.report import Report
from shoal.support.addresses import is_address
from shoal.support.files import whole_folder
from shoal.support.notebooks import draw_grid, draw_note, draw_words
from shoal.support.pickling import PartlyPickled
from shoal.support.typed_frames import FrameT
from shoal.table import (
    Column,
    Origin,
    Table,
    check_writable,
    choose_layout,
    read_released,
    read_table,
    write_table,
)
from shoal.table.addresses import deliver_to
from shoal.verification.sets import KnownSets, verify_sets
from shoal.verification.tables import ReleasedTable, verify_tables
from shoal.verification.verifier import Verification, verify_table

_FIRST = 5  # rows that a notebook shows
NO_OWNERS = (
    "whose row each is did not come along with this release, which was pickled, copied or made on disk, so "
    "that people in another file could not be counted: copy the file that was written"
)


def check_later_rows(recipe: Recipe) -> None:
    """Refuse a recipe whose classes are not for later rows."""
    if recipe.events:
        raise RecipeError("event tables have no classes for later rows: leave out the recoding or the events")
    if recipe.sets:
        raise RecipeError(
            "columns of sets have no classes for later rows: leave out the recoding, or the sets"
        )
    if any(model.is_about_some_columns for model in recipe.models):
        raise RecipeError(
            "a goal about some of the columns makes no classes for later rows: leave out the recoding, or "
            "take k for all columns"
        )
    if recipe.mean:
        raise RecipeError(
            f"{quote(recipe.mean)} is released as the mean of each class, which later rows would change: "
            "leave out the recoding, or mean"
        )
    if recipe.keyed:
        raise RecipeError(
            f"classes for later rows are kept without a key, and {quote(recipe.keyed)} needs one: leave out "
            "the recoding, or keyed"
        )
    for name, given in (("pseudonym", recipe.pseudonym), ("group", recipe.group is not None)):
        if given:
            raise RecipeError(
                f"classes for later rows know nothing of the rows before, and with a {name} the goal is "
                f"about both: leave out the recoding, or the {name}"
            )
    if recipe.relative is not None:
        raise RecipeError(
            "days since the first row of a person cannot be told from later rows alone: leave out the "
            "recoding, or relative"
        )


def name_files(people: Table, events: Mapping[str, str]) -> dict[str, str]:
    """By name of a table, its file in the folder of a release: called as the file that it comes from."""
    origin = people.origin.path
    sources = {PEOPLE if origin is None else name_table(origin): origin or "", **events}
    return {
        name: name + (Path(path).name.removeprefix(name_table(path)) or ".csv")
        for name, path in sources.items()
    }


def name_solution(path: Path, number: int) -> Path:
    """The file of a further table of least loss, beside that of the first."""
    stem, dot, suffixes = path.name.partition(".")
    return path.with_name(f"{stem}-{number}{dot}{suffixes}")


@dataclass(frozen=True, slots=True, eq=False)
class Release(PartlyPickled, Generic[FrameT]):
    """A verified release."""

    frame: FrameT
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
    tables: Mapping[str, Release] = field(default_factory=dict, repr=False)
    """By name the release of each table, where there are event tables; the first is that of the people."""

    def _repr_html_(self) -> str:
        """In notebooks: the report, and the first rows."""
        tables = {"": self} if not self.tables else self.tables
        rows = [_draw_first_rows(name, each.frame) for name, each in tables.items()]
        return self.report._repr_html_() + draw_note("First rows", rows)

    @property
    def frames(self) -> dict[str, Any]:
        """The frame of each table by its name, where there are event tables."""
        return {name: each.frame for name, each in self.tables.items()}

    @property
    def schema(self) -> pl.Schema:
        """The columns of ``frame`` and their types, as polars names them.

        They follow from the recipe and the columns of the table: `Recipe.schema` tells them beforehand. An
        Enum has no categories here, because a release lists those that occur.
        """
        return pl.Schema(state_types(read_input_schema(self.recipe, self.frame)))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The released rows as an Arrow stream, for DuckDB, pyarrow and whoever else reads such streams."""
        frame: Any = self.frame.collect() if isinstance(self.frame, pl.LazyFrame) else self.frame
        if not hasattr(frame, "__arrow_c_stream__"):
            raise RecipeError(f"a {type(frame).__module__} frame gives no Arrow stream: use release.frame")
        return frame.__arrow_c_stream__(requested_schema)

    def saved_recoding(self) -> SavedRecoding:
        """The classes, to be saved to a file, and to put later rows into."""
        if self.recoding is None or self.recipe.algorithm.is_cell_level or self.recipe.uses_safepub:
            raise RecipeError("only a release in classes, without safepub, has a recoding for later rows")
        check_later_rows(self.recipe)
        if self.recipe.render == "code":
            raise RecipeError("code numbers are those of one table: render 'code' has no later rows")
        if self.recipe.render == "bounds":
            raise RecipeError(
                "classes for later rows are written in one column each: take render 'label' and read low and "
                "high with shoal.expand"
            )
        names = self.table.names
        left_out = self.recipe.left_out(names)
        released = [name for name in names if name not in left_out]
        return SavedRecoding.of(self.recipe, self.recoding, self.columns, released)

    def write(self, path: str | Path) -> None:
        """Write the release to a file, whole or not at all; the format follows the suffix.

        What was written is read again and counted before it takes its place. With event tables the release is
        a folder, and each table has a file in it, in the format that it came in.
        """
        if self.tables:
            if is_address(path):
                raise OutputError(f"{path}: a release of several tables is a folder of this machine")
            self._write_folder(Path(path))
            return
        # Before anything is written: a sample with a stated seed must never become a file.
        check_private(self.recipe)
        if is_address(path):
            with deliver_to(str(path)) as temporary:
                self.write(temporary)
            return
        if self.person is None and self.report.people is not None:
            raise OutputError(NO_OWNERS)
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

    def _write_folder(self, path: Path) -> None:
        """Write a file for each table into a folder, which appears when all of them have been judged."""
        if self.recoding is None:
            raise OutputError(NO_OWNERS)
        files = list(name_files(self.table, self.recipe.events).values())
        with whole_folder(path, files, list_inputs(self.recipe, self.table)) as folder:
            for file, each in zip(files, self.tables.values(), strict=True):
                each.write(folder / file)
            if self.recipe.pseudonym:
                self._judge_folder(folder, files)

    def _judge_folder(self, folder: Path, files: Sequence[str]) -> None:
        """Read all files of a folder, join them as an outsider would, and raise if they are not safe."""
        released = []
        for name, file, each in zip(("", *self.recipe.events), files, self.tables.values(), strict=True):
            alone, names = each.recipe, read_table(each.frame, may_be_empty=True).names
            layout = choose_layout(folder / file, each.table.origin, alone.delimiter)
            rows = read_written_rows(alone, folder / file, layout, names, each.report.released_rows)
            released.append(ReleasedTable(name, rows, alone.quasi, alone.sensitive, each.columns))
        recipe = self.recipe
        refuse_unmet_goal(
            verify_tables(released, recipe.models, str(recipe.person), recipe.known_rows, self.group)
        )

    def write_solutions(self, path: str | Path) -> None:
        """Write the further tables of least loss beside the first, each verified as that one is.

        With ``release.csv`` they are ``release-2.csv``, ``release-3.csv`` and so on.
        """
        for number, frame in enumerate(self.solutions[1:], start=2):
            # A table that differs may have other classes, by which its file is judged.
            found = self._count_table(read_released(frame, may_be_empty=True))
            report = replace(self.report, classes=found.classes, smallest_class=found.smallest_class)
            replace(self, frame=frame, report=report).write(name_solution(Path(path), number))

    def judge(self, path: Path, layout: Origin) -> None:
        """Read a file that was written of this release, as an outsider would, and raise if it is not safe."""
        # What leaves are the bytes on disk, so they are judged, and not the frame.
        recipe, names = self.recipe, read_released(self.frame, may_be_empty=True).names
        table = read_written_rows(recipe, path, layout, names, self.report.released_rows)
        columns = self.columns or known_to_all(recipe, names)
        check_keyed(recipe, table, self.table)
        if recipe.sets:
            known = KnownSets(recipe.sets, recipe.known_rows)
            quasi = find_released_quasi(recipe, names)
            roles, owners = (quasi, recipe.sensitive), (self.person, self.group)
            refuse_unmet_goal(verify_sets(table, *roles, recipe.models, known, columns, owners))
            return
        if recipe.pseudonym:
            refuse_unmet_goal(
                verify_pseudonyms(recipe, table, (self.person, self.group), self.static, columns)
            )
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
        people = read_population(recipe.models, recipe.quasi, recipe.reading, recipe.person)
        roles = (find_released_quasi(recipe, table.names), recipe.sensitive)
        return verify_table(table, *roles, recipe.models, columns, people, self.person, self.group)

    def _collect_kept_state(self) -> dict[str, Any]:
        """What is kept when a release is pickled or copied: what is released, and nothing else."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        bare = self.table.strip_values(keep_metadata=self.recipe.keep_metadata)
        return kept | {"table": bare, "recoding": None, "columns": {}, "person": None, "group": None}


def _draw_first_rows(name: str, frame: object) -> str:
    """The first rows of a released frame of any kind; of one that is not in memory, its columns."""
    if hasattr(frame, "sparkSession"):  # rows of a cluster would have to be computed
        heads = list(map(str, frame.columns))  # type: ignore[attr-defined]
        rows: list[tuple[object, ...]] = []
    else:
        head = read_released(frame, may_be_empty=True).frame.head(_FIRST)
        heads, rows = head.columns, head.rows()
    words = draw_words(name) if name else ""
    return words + draw_grid(heads, rows)
