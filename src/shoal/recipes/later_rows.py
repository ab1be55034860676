"""Later rows: put into the classes of an earlier release, and verified with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.encoding import encode_column
from shoal.errors import GoalNotMet, InputError, OutputError, RecipeError, quote, unknown
from shoal.privacy import population_of
from shoal.privacy.labels import build_cover_matrix
from shoal.privacy.people import has_repeated_people, read_people
from shoal.recipes.ledger import Ledger, spell_cells
from shoal.recipes.recipe import Recipe
from shoal.recipes.release_rows import (
    describe_release,
    list_original_columns,
    read_rows,
    read_written_rows,
    sort_released_rows,
)
from shoal.recipes.schema import has_own_types, keeps_unchanged_types
from shoal.recipes.settings import Others
from shoal.support.addresses import is_address
from shoal.support.pickling import PartlyPickled
from shoal.support.typed_frames import FrameT
from shoal.table import (
    Column,
    Judge,
    Origin,
    Table,
    check_writable,
    from_strings,
    read_released,
    to_strings,
    write_table,
)
from shoal.table.addresses import deliver_to
from shoal.table.sources import list_files
from shoal.verification.findings import Finding, judge_later_rows, refuse_findings
from shoal.verification.verifier import Verification, find_violating_rows, verify_table, who_fits

if TYPE_CHECKING:
    from shoal.recipes.saved_recoding import SavedRecoding

_EXACT = 1 << 53  # whole floats below are integers, one each
_EXAMPLES = 5  # values that are named where many are new


@dataclass(frozen=True, slots=True, eq=False)
class Applied(PartlyPickled, Generic[FrameT]):
    """Later rows, put into the classes of an earlier release, and verified."""

    frame: FrameT
    """The rows that are released, as the same kind of frame as came in."""
    rows: int
    suppressed_rows: int
    """Rows that no class covers, or that would have broken the goal."""
    uncovered: Mapping[str, tuple[str, ...]]
    """Values by column, some of them, that no released value stands for."""
    broken: int
    """How many rows were suppressed because their classes would not have satisfied the goal."""
    verification: Verification
    """What the verifier found, of the rows together with the earlier release if that was given."""
    judge: Judge = field(repr=False)
    """Reads a file that was written of the rows, and raises an error unless the goal holds for it, too."""
    table: Table = field(repr=False)
    """The later rows as they came."""
    recipe: Recipe = field(repr=False)
    kept: NDArray[np.int64] = field(repr=False)
    """Which of the later rows are released."""
    ledger: Ledger | None = field(default=None, repr=False)
    """What was released before, where a ledger counts it."""

    def add_to_ledger(self, name: str) -> Ledger:
        """The ledger with these rows; save it once they are released, and not before."""
        if self.ledger is None:
            raise RecipeError("these rows were counted without a ledger: give apply one")
        return self.ledger.add(name, read_released(self.frame, self.recipe.reading.for_releases()).frame)

    @property
    def held_back(self) -> FrameT:
        """The later rows as they came that are not released, to be given again with the next ones."""
        waiting = np.setdiff1d(np.arange(self.table.rows), self.kept)
        rows: FrameT = self.table.build_release({}, waiting, ())
        return rows

    def write_held_back(self, path: str | Path) -> None:
        """Write these rows to a file that only its owner can read; an empty one if there are none."""
        check_writable(path, self._list_inputs())
        write_table(self.held_back, path, like=self.table.origin, private=True)

    def _list_inputs(self) -> list[Path]:
        path = self.table.origin.path
        return [] if path is None else list_files(path)

    def write(self, path: str | Path) -> None:
        """Write the rows to a file, whole or not at all; what was written is counted before it is there."""
        if is_address(path):
            with deliver_to(str(path)) as temporary:
                self.write(temporary)
            return
        check_writable(path, self._list_inputs())
        recipe = self.recipe
        write_table(
            self.frame,
            path,
            like=self.table.origin,
            delimiter=recipe.delimiter,
            safe_csv=recipe.safe_csv,
            judge=self.judge,
        )

    def _collect_kept_state(self) -> dict[str, Any]:
        """What is kept when it is pickled or copied: what is released, and nothing of the rows as they came.

        A file of it can no longer be judged then, and so not be written.
        """
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        recipe = replace(self.recipe, trees={}, types={}, orders={})
        hidden = {
            "uncovered": dict.fromkeys(self.uncovered, ()),
            "table": self.table.strip_values(),
            "kept": self.kept[:0],
        }
        return kept | hidden | {"judge": _refuse_to_judge, "recipe": recipe}

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, as plain values."""
        found = self.verification.to_dict()
        return {
            **found,
            # Of the later rows: the verifier counted those of the earlier release as well.
            "rows": self.rows,
            "released_rows": self.rows - self.suppressed_rows,
            "suppressed_rows": self.suppressed_rows,
            "broken_rows": self.broken,
            "verified_rows": found["rows"],
            "uncovered": {name: list(values) for name, values in self.uncovered.items()},
        }


def _refuse_to_judge(path: Path, layout: Origin) -> None:
    """What becomes of a judge when its rows are pickled."""
    raise OutputError("the rows were pickled without what they are judged by: write them before")


@dataclass(frozen=True, slots=True, eq=False)
class LaterRows:
    """Rows that are to join the classes of a release."""

    saved: SavedRecoding
    recipe: Recipe
    """What was saved, with what the caller asks for instead."""
    table: Table
    """The rows as they came."""
    earlier: Table | None
    """The release that they join, where it is there."""
    left_out: Sequence[str]
    """Columns that are not released."""
    person: NDArray[np.int64] | None = None
    """[rows] whose row each is, where people are counted."""
    ledger: Ledger | None = None
    """What ``earlier`` was made of, where that is a ledger."""

    @classmethod
    def read_source(
        cls, saved: SavedRecoding, recipe: Recipe, source: object, earlier: object, others: Others | None
    ) -> LaterRows:
        """Read the rows, and the earlier release if it is given."""
        if population_of(recipe.models) is not None:
            raise RecipeError("a goal that compares with a population cannot be checked on later rows")
        table = read_rows(recipe, source)
        whose = () if recipe.person is None else (recipe.person,)
        for name in (*recipe.quasi, *recipe.sensitive, *whose):
            if name not in table.names:
                raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
        if whose and earlier is not None:
            raise RecipeError(
                f"people are counted by '{recipe.person}', which the earlier release does not have, so that "
                "people of both cannot be counted together: leave out the earlier release; the later rows "
                "then have to satisfy the goal by themselves"
            )
        left_out = _list_left_out(saved, table, others)
        ledger = earlier if isinstance(earlier, Ledger) else None
        before = None if earlier is None else _read_earlier(earlier, recipe)
        return cls(saved, recipe, table, before, left_out, read_people(table, recipe.person), ledger)

    @property
    def columns(self) -> dict[str, Column]:
        """What is known of the columns that count."""
        return self.recipe.columns(self.recipe.trees)

    def recode_and_verify(self) -> Applied:
        """Recode the rows, and suppress those whose classes violate the goal until it holds."""
        texts, covered = self._recode_rows()
        texts |= self._restore_types(texts)
        rows, uncovered = self.table.rows, self._find_uncovered_values(covered)
        kept = np.flatnonzero(covered)
        missed = rows - kept.size
        # Suppressing a row can break another class, so it is verified again until nothing changes.
        # Every turn removes at least one row, so it ends.
        while True:
            gone = rows - kept.size
            # Checked before the verifier runs: more is suppressed in every turn, never less.
            if gone > self.recipe.suppress * rows or kept.size == 0:
                short = _explain_shortfall(rows, missed, gone, uncovered, self.recipe.suppress)
                joins = self.earlier is None and self.recipe.person is None
                earlier = "give the earlier release, which the rows may join, " if joins else ""
                raise GoalNotMet(f"{short}: permit more, {earlier}or anonymize all rows anew")
            columns = {name: series.gather(kept) for name, series in texts.items()}
            keeps_order = self._keeps_order()
            each = np.arange(kept.size)  # rows that come later are rendered one by one
            columns, kept = sort_released_rows(keeps_order, self.table, columns, each, kept, self.left_out)
            own_types = has_own_types(self.recipe)
            frame = self.table.build_release(columns, kept, self.left_out, own_types=own_types)
            later = read_released(frame, self.recipe.reading)
            found = self._verify_rows(later, kept)
            if found.holds:
                found = replace(found, findings=self._judge_whole(kept, later))
                judge = self._make_judge(later.names, kept)
                told = (frame, rows, gone, uncovered, gone - missed, found, judge)
                return Applied(*told, self.table, self.recipe, kept, self.ledger)
            kept = kept[self._find_good_rows(later, kept)]

    def _keeps_order(self) -> bool:
        """Whether rows keep their order: never where a person has several, for those often stand together."""
        several = self.person is not None and has_repeated_people(self.person)
        return self.recipe.row_order == "keep" and not several

    def _find_people(self, kept: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Whose row each of some is, where people are counted."""
        return None if self.person is None else self.person[kept]

    def _verify_rows(self, later: Table, kept: NDArray[np.int64]) -> Verification:
        """Count what is released of the rows ``kept``, with the earlier release if there is one."""
        recipe, both = self.recipe, self._join_releases(later)
        roles = (recipe.quasi, recipe.sensitive)
        return verify_table(both, *roles, recipe.models, self.columns, person=self._find_people(kept))

    def _find_good_rows(self, later: Table, kept: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the rows are in classes that satisfy the goal."""
        recipe = self.recipe
        both = self._join_releases(later)
        goal = (recipe.quasi, recipe.sensitive, recipe.models, self.columns)
        violating = find_violating_rows(both, *goal, self._find_people(kept))
        # Later rows come last in both; the earlier release cannot be changed any more.
        good = ~violating[-later.rows :]
        if good.all():
            raise GoalNotMet("the earlier release does not satisfy the goal, whatever rows are added")
        return good

    def _recode_rows(self) -> tuple[dict[str, pl.Series], NDArray[np.bool_]]:
        """What is written for every row, and which rows there is something for."""
        saved, table, quasi = self.saved, self.table, self.recipe.quasi
        people = Table(pl.DataFrame([table.column(name) for name in quasi]), Origin("polars"))
        classes = Table(saved.cells, Origin("polars"))
        fits = who_fits(classes, quasi, people, self.columns, every_value_occurs=False)
        # By person, then loss, then number, so that equal losses do not depend on chance.
        order = np.lexsort((fits.class_of, saved.loss[fits.class_of], fits.person))
        best = np.full(fits.people, -1, np.int64)
        # Backwards: of several assignments to one person, the last one stays, the least loss.
        best[fits.person[order][::-1]] = fits.class_of[order][::-1]
        class_of = best[fits.person_of]
        texts = {name: saved.written[name].gather(np.maximum(class_of, 0)) for name in quasi}
        covered = class_of >= 0
        # Representatives of several classes cannot be combined: each stands for its own range.
        if covered.all() or not saved.written.equals(saved.cells):
            return texts, covered
        alone = [fits.find_only_labels(j)[fits.person_of] for j in range(len(quasi))]
        # A new combination of released values is a class like others: the verifier decides.
        composed = ~covered & np.logical_and.reduce([label >= 0 for label in alone])
        for j, name in enumerate(quasi):
            other = fits.labels[j].gather(np.maximum(alone[j], 0))
            texts[name] = pl.select(
                pl.when(pl.Series(composed)).then(other).otherwise(texts[name])
            ).to_series()
        return texts, covered | composed

    def _restore_types(self, texts: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
        """Columns that the release has in another type than text, in that type."""
        schema, recipe = self.table.frame.schema, self.recipe
        if has_own_types(recipe):
            own = {name: schema[name] for name in recipe.quasi if schema[name] != pl.String}
            return {name: from_strings(texts[name], dtype) for name, dtype in own.items()}
        return self._keep_typed_columns() if keeps_unchanged_types(recipe) else {}

    def _keep_typed_columns(self) -> dict[str, pl.Series]:
        """Columns of a type that the release has as they were.

        A typed column stays what it is; a text is written as the release writes it, so that markers of a
        missing value and spellings of a number do not make classes of their own.
        """
        unchanged = {name: self.table.column(name) for name in self.saved.unchanged}
        return {name: series for name, series in unchanged.items() if series.dtype != pl.String}

    def _find_uncovered_values(self, covered: NDArray[np.bool_]) -> dict[str, tuple[str, ...]]:
        """Values, by column, that no released value stands for."""
        rows, known = np.flatnonzero(~covered), self.columns
        found = {}
        for name in self.recipe.quasi if rows.size else ():
            values = self.table.column(name).gather(rows).unique(maintain_order=True)
            released = self.saved.cells[name].unique(maintain_order=True)
            standing = build_cover_matrix(released, values, known[name], every_value_occurs=False)
            if not (stood_for := standing.any(axis=0)).all():
                new = to_strings(values).filter(pl.Series(~stood_for)).fill_null("")
                found[name] = tuple(new.head(_EXAMPLES))
        return found

    def _join_releases(self, later: Table) -> Table:
        """What an outsider sees of the columns that count: every cell as it is written."""
        names = (*self.recipe.quasi, *self.recipe.sensitive)
        parts = [part.frame for part in (self.earlier, later) if part is not None]
        if self.ledger is not None:  # which has cells in its own spelling
            parts[-1] = pl.DataFrame([spell_cells(later.frame[name]) for name in names])
        # An empty text and a missing sensitive value are the same to a reader of delimited text.
        return Table(_stack_cells(parts, names), Origin("path", format="text"), self.recipe.reading.na)

    def _judge_whole(self, kept: NDArray[np.int64], later: Table) -> tuple[Finding, ...]:
        """What all released columns give away, together with the earlier release if that has them all."""
        recipe, table, left_out, known = self.recipe, self.table, self.left_out, self.columns
        encoded = [encode_column(table.column(name).gather(kept), known[name]) for name in recipe.quasi]
        alone = describe_release(
            recipe,
            later.frame,
            known,
            original=list_original_columns(encoded),
            # What was released as it is hides nothing; how much the others hide does not matter here.
            lost={name: float(name not in self.saved.unchanged) for name in recipe.quasi},
            left_out=table.gather_columns(left_out, kept),
            identifiers=[name for name in recipe.identifier if name in left_out],
            person=self._find_people(kept),
            keeps_order=self._keeps_order(),
        )
        together = None
        if self.earlier is not None:
            shared = self.earlier if set(later.names) <= set(self.earlier.names) else None
            # Columns that the earlier release lacks cannot be compared with it.
            parts = [part.frame for part in (shared, later) if part is not None]
            together = replace(alone, frame=_stack_cells(parts, later.names))
        findings = judge_later_rows(alone, together, recipe.accept)
        if recipe.strict:
            refuse_findings(findings)
        return findings

    def _make_judge(self, names: Sequence[str], kept: NDArray[np.int64]) -> Judge:
        """What counts a file of the rows ``kept``, together with the earlier release if there is one."""

        def judge_file(path: Path, layout: Origin) -> None:
            # Beside an earlier release cells count as values: its file may spell them otherwise.
            alone = self.earlier is None
            later = read_written_rows(self.recipe, path, layout, names, kept.size, as_spelt=alone)
            self._verify_rows(later, kept).raise_for_goal()

        return judge_file


def _stack_cells(parts: Sequence[pl.DataFrame], names: Sequence[str]) -> pl.DataFrame:
    """The cells of several releases below each other, as texts."""
    stacked = {name: _align_numbers([part[name] for part in parts]) for name in names}
    return pl.DataFrame([pl.concat(map(to_strings, each)).alias(name) for name, each in stacked.items()])


def _align_numbers(columns: list[pl.Series]) -> list[pl.Series]:
    """Whole numbers as integers if another release has them so: beside missing ones, pandas has floats."""
    if not any(column.dtype.is_integer() for column in columns):
        return columns
    return [
        column.cast(pl.Int64) if column.dtype.is_float() and _is_whole(column) else column
        for column in columns
    ]


def _is_whole(column: pl.Series) -> bool:
    present = column.drop_nulls()
    return bool(((present == present.floor()) & (present.abs() < _EXACT)).all())


def _read_earlier(earlier: Any, recipe: Recipe) -> Table | None:
    """The earlier release, or several of them as one table; None where a ledger has none yet."""
    if isinstance(earlier, Ledger):
        if set(earlier.names) != {*recipe.quasi, *recipe.sensitive}:
            raise RecipeError(
                f"the ledger counts {quote(earlier.names)}, and the classes are of "
                f"{quote((*recipe.quasi, *recipe.sensitive))}: it is that of other releases"
            )
        return earlier.make_table() if earlier.rows else None
    if not isinstance(earlier, list | tuple):
        return read_released(earlier, recipe.reading.for_releases())
    tables = [read_released(each, recipe.reading.for_releases()) for each in earlier]
    if not tables:
        raise RecipeError("earlier is an empty list: give the releases that the rows join, or leave it out")
    first = tables[0]
    for each in tables:
        if absent := [name for name in first.names if name not in each.names]:
            raise InputError(f"{each.origin}: an earlier release without {quote(absent)}")
    # As texts, which is how rows of several releases are compared.
    parts = [pl.DataFrame([to_strings(each.frame[name]) for name in first.names]) for each in tables]
    return replace(first, frame=pl.concat(parts))


def _list_left_out(saved: SavedRecoding, table: Table, others: Others | None) -> list[str]:
    """The columns of later rows that are not released, once all are known to be meant."""
    # A column that nobody judged could give people away, so it is not released by default.
    unreleased = {*saved.recipe.identifier, saved.recipe.person}
    known = {*saved.released, *unreleased}
    new = [name for name in table.names if name not in known]
    if new and others is None:
        raise RecipeError(
            f"{table.origin}: the earlier release does not have {quote(new)}: take them out, or say what "
            "happens to them: --others keep or --others drop"
        )
    return [name for name in table.names if name in unreleased or (name in new and others == "drop")]


def _explain_shortfall(
    rows: int, uncovered: int, gone: int, values: Mapping[str, Sequence[str]], most: float
) -> str:
    reasons = []
    if uncovered:
        new = "; ".join(f"'{name}': {quote(some)}" for name, some in values.items())
        reasons.append(f"no class stands for {uncovered}" + (f" (new in column {new})" if new else ""))
    if gone > uncovered:
        reasons.append(f"{gone - uncovered} are in classes that would not satisfy the goal")
    return (
        f"of {rows} rows {', and '.join(reasons)}; a share of {most:g} may be suppressed, so nothing is "
        "released"
    )
