"""The engine in memory: the table, its codes and the release are frames and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.algorithms import Progress, silent
from shoal.codespace.encoding import EncodedColumn, encode_column, find_missing_rows
from shoal.codespace.recoding import Proposal, Recoding
from shoal.engines.base import (
    Clock,
    Engine,
    RecodedTable,
    build_recoding,
    carry_out,
    recode_and_verify,
    set_means,
)
from shoal.engines.checks import check_means, check_names, check_people, refuse_unmet_goal
from shoal.engines.inputs import choose_source
from shoal.engines.linked import (
    check_keyed,
    describe_keyed,
    describe_links,
    leave_out_pseudonym,
    name_pseudonym,
    prepare_keyed,
    prepare_links,
    verify_pseudonyms,
)
from shoal.engines.people import describe_missing_ids, describe_people
from shoal.engines.prepare import PreparedTable, encode_roles, prepare_rows, read_known_columns
from shoal.engines.release import Release
from shoal.engines.static_columns import VaryingColumns
from shoal.engines.verify_frame import verify_frame
from shoal.errors import InputError, RecipeError, quote
from shoal.privacy import align_population, for_columns, read_population
from shoal.privacy.groups import GroupRisk, measure_group_risk, number_groups
from shoal.privacy.people import has_repeated_people, number_people, read_people
from shoal.recipes.recipe import Recipe
from shoal.recipes.release_rows import (
    Rows,
    describe_release,
    list_original_columns,
    read_rows,
    sort_released_rows,
)
from shoal.recipes.schema import (
    choose_cell_types,
    find_released_quasi,
    has_own_types,
    list_bounds,
)
from shoal.report import Evidence, Report
from shoal.report.build import measure_column_loss, warn_of_formulas
from shoal.report.weighted import measure_weighted_loss
from shoal.table import (
    Column,
    Table,
    choose_layout,
    count_formula_cells,
    read_released,
    read_weights,
    refuse_nested_columns,
)
from shoal.table.personal import announces_person
from shoal.table.relative import make_relative
from shoal.verification.findings import Finding, judge_release
from shoal.verification.outsider import CellNumbers
from shoal.verification.verifier import Verification, row_classes

NO_SETS = "columns of sets are for shoal.run, shoal.anonymize and shoal.verify only"
NO_EVENTS = "event tables are for shoal.run, shoal.anonymize, shoal.verify, shoal.risk and shoal.attack only"


def run_in_memory(recipe: Recipe, source: object = None, on_progress: Progress = silent) -> Release:
    """Carry out a recipe in memory, on a table or its own input; write the release if it names an output.

    Whatever ``recipe.memory`` says: `shoal.engines.api.run` chooses between this and other engines.
    """
    return carry_out(MemoryEngine(recipe), source, on_progress)


def prepare_table(recipe: Recipe, table: Table) -> PreparedTable:
    """Check the recipe against the table and bring the table into code space."""
    if recipe.sets or recipe.events:
        raise RecipeError(NO_SETS if recipe.sets else NO_EVENTS)
    if recipe.relative is not None:  # dates become days when a table is read, which was done elsewhere
        raise RecipeError("relative is for shoal.run and shoal.anonymize only")
    return MemoryEngine(recipe).prepare(table)


def make_release(recipe: Recipe, table: Table, subject: PreparedTable, proposal: Proposal) -> Release:
    """Recode the table as somebody proposes, and let the verifier decide."""
    return recode_and_verify(MemoryEngine(recipe), table, subject, proposal, Clock())[1]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecodedFrame(RecodedTable):
    """A release in memory."""

    taken: Rows
    """The rows of the table that are released, in the order of the release."""
    other_recodings: tuple[Recoding, ...]
    """What ``others`` were made by."""
    person: Rows | None = None
    """The person of each released row, where people are counted."""
    group: Rows | None = None
    """The group of that person, where groups are counted."""


class MemoryEngine(Engine[Table, PreparedTable, RecodedFrame]):
    """Holds all rows in memory; every algorithm, model and loss works there."""

    takes_sets: ClassVar[bool] = False
    """Whether it protects the items of columns of sets."""

    def check_recipe(self) -> None:
        """Refuse columns of sets, which would be released as they are, and further tables."""
        super().check_recipe()
        if self.recipe.sets and not self.takes_sets:
            raise RecipeError(NO_SETS)
        if self.recipe.events:
            raise RecipeError(NO_EVENTS)

    def read(self, source: object) -> Table:
        """Read the table whole."""
        table = read_rows(self.recipe, choose_source(self.recipe, source))
        if table.rows == 0:
            raise InputError(f"{table.origin} has no rows")
        if table.nested and self.recipe.output is not None:  # before the search, which takes long
            layout = choose_layout(Path(self.recipe.output), table.origin, self.recipe.delimiter)
            refuse_nested_columns({name: each.dtype for name, each in table.nested.items()}, layout)
        return table if self.recipe.relative is None else self._count_days(table)

    def _count_days(self, table: Table) -> Table:
        """The table with days since a person's first row; before all else, so that nothing sees dates."""
        recipe = self.recipe
        check_names(recipe, table)
        person, relative = read_people(table, recipe.person), str(recipe.relative)
        assert person is not None
        return make_relative(table, relative, person, recipe.types.get(relative))

    def prepare(self, table: Table, rows: Rows | None = None) -> PreparedTable:
        """Encode the rows that take part, and the population if a model compares with one.

        Of the table, ``rows`` take part at most; all where they are not said.
        """
        recipe = self.recipe
        if recipe.uses_safepub:  # here the table has been looked at; engines/safepub.py does without
            raise RecipeError(
                "safepub is not for a search among others: it is carried out by shoal.run alone"
            )
        check_names(recipe, table)
        if recipe.weight_column is not None:
            read_weights(table, recipe.weight_column)  # for its errors, before the search
        names = table.names
        known = read_known_columns(recipe, names)
        quasi = {name: known[name] for name in recipe.quasi}
        rows = find_complete_rows(recipe, table, quasi, rows)
        values = {name: _select_rows(table, name, rows) for name in known}
        models = for_columns(recipe.models, recipe.sensitive)
        people = read_population(models, recipe.quasi, recipe.reading, recipe.person)
        if people is not None:
            # Both need the same types, or equal values of the two would get different codes.
            people = align_population(people, {name: values[name] for name in quasi}, quasi)
        codes = encode_roles(recipe, known, values, people=people)
        if not recipe.quasi:  # with sets alone all people look alike, but for their sets
            codes = replace(
                codes, quasi=(encode_column(pl.Series("", [""] * _count(table, rows)), Column("")),)
            )
        check_means(recipe, [column.domain for column in codes.quasi])
        codes = replace(codes, beside=_encode_extra_columns(recipe, table, rows))
        several = people is not None and people.person is not None
        person, group, told = _number_owners(recipe, table, rows, several=several)
        subject = prepare_rows(recipe, names, known, codes, codes.as_rows(), person, group)
        everybody = None if person is None else np.unique(person).size
        varying = None
        if person is not None and recipe.quasi:
            varying = VaryingColumns.from_codes(recipe.quasi, subject.problem.rows.quasi, person)
            told = (*told, *varying.warn())
        told = (*subject.warnings, *told)
        subject = replace(subject, rows=rows, people=people, everybody=everybody, warnings=told)
        subject = replace(subject, varying=varying)
        subject = prepare_keyed(recipe, table, subject) if recipe.keyed else subject
        return prepare_links(recipe, table, subject) if recipe.pseudonym else subject

    def search(self, subject: PreparedTable, on_progress: Progress = silent) -> Proposal:
        """Let the algorithm propose classes: of rows or, where rows are linked, of people and their rows."""
        if subject.linked is None:
            return super().search(subject, on_progress)
        from shoal.algorithms.linked.search import search_linked  # noqa: PLC0415  loads several algorithms

        return search_linked(self.recipe.algorithm, subject.problem, subject.linked, on_progress)

    def recode(self, table: Table, subject: PreparedTable, proposal: Proposal) -> RecodedFrame:
        """Make a frame of the kind that came in, and one of every further solution."""
        recipe = self.recipe
        recoding = build_recoding(recipe, subject, proposal)
        classes = _render_classes(recipe, table, recoding)
        sets = self.render_sets(subject, proposal)
        frame, taken = _build_frame(recipe, table, subject, recoding, classes, sets)
        others = [
            set_means(recipe, Recoding.from_proposal(other, subject.problem.domains))
            for other in proposal.alternatives
        ]
        person, group = (_select_owners(each, subject, taken) for each in (subject.person, subject.group))
        return RecodedFrame(
            table,
            table.rows,
            subject,
            proposal,
            recoding,
            frame,
            tuple(
                _build_frame(recipe, table, subject, other, _render_classes(recipe, table, other))[0]
                for other in others
            ),
            Evidence(
                recipe,
                table,
                recoding,
                frame,
                subject.columns,
                subject.rows,
                person=person,
                person_before=subject.person,
            ),
            warnings=_warn_of_formulas(recipe, frame, classes),
            notes=(
                *(describe_keyed(recipe) if recipe.keyed else ()),
                *_describe_people(recipe, subject, person),
                *describe_groups(recipe, table, subject, frame, taken),
            ),
            taken=taken,
            person=person,
            group=group,
            other_recodings=tuple(others),
        )

    def build_report(self, recoded: RecodedFrame, found: Verification) -> Report:
        """What was done and lost; by survey weights, too, if the recipe names some."""
        report = super().build_report(recoded, found)
        if self.recipe.weight_column is None:
            return report
        weights, rows = read_weights(recoded.table, self.recipe.weight_column), recoded.subject.rows
        weights = weights if rows is None else weights[rows]
        return replace(report, weighted_loss=measure_weighted_loss(self.recipe, recoded.recoding, weights))

    def render_sets(self, subject: PreparedTable, proposal: Proposal) -> Mapping[str, pl.Series]:
        """Further columns of the release, of every row that takes part; `SetsEngine` has some."""
        return {}

    def verify(self, recoded: RecodedFrame) -> Verification:
        """Count the rows of the frame."""
        if self.recipe.keyed:
            check_keyed(self.recipe, read_released(recoded.frame, self.recipe.reading), recoded.table)
        if self.recipe.pseudonym:
            return self._verify_pseudonyms(recoded)
        cells = CellNumbers(read_released(recoded.frame).frame)
        counted = (recoded.person, recoded.group, cells)
        found = verify_frame(self.recipe, recoded.subject, recoded.recoding, recoded.frame, *counted)
        # Every listed solution is handed out, so every one of them is verified like the first.
        for recoding, frame in zip(recoded.other_recodings, recoded.others, strict=True):
            verify_frame(self.recipe, recoded.subject, recoding, frame)
        return replace(found, findings=judge_whole(self.recipe, recoded, cells))

    def _verify_pseudonyms(self, recoded: RecodedFrame) -> Verification:
        """Count, in the frame, the people whom an attacker finds who knows some rows of a person."""
        subject, released = recoded.subject, read_released(recoded.frame, self.recipe.reading)
        owners = (recoded.person, recoded.group)
        found = verify_pseudonyms(self.recipe, released, owners, subject.static, subject.columns)
        refuse_unmet_goal(found)
        return replace(found, findings=judge_whole(self.recipe, recoded))

    def build_release(self, recoded: RecodedFrame, report: Report) -> Release:
        """The release, with the people whose rows it has: a file of it is counted once more."""
        made = super().build_release(recoded, report)
        return replace(made, person=recoded.person, group=recoded.group, static=recoded.subject.static)

    def write(self, recoded: RecodedFrame, release: Release) -> Release:
        """Write the frame to a file, whose bytes are counted once more before it has its name."""
        release.write(str(self.recipe.output))
        if self.recipe.all_solutions:
            release.write_solutions(str(self.recipe.output))
        return release


def _count(table: Table, rows: Rows | None) -> int:
    return table.rows if rows is None else rows.size


def _select_rows(table: Table, name: str, rows: Rows | None) -> pl.Series:
    series = table.column(name)
    return series if rows is None else series.gather(rows)


def _number_owners(
    recipe: Recipe, table: Table, rows: Rows | None, *, several: bool = False
) -> tuple[Rows | None, Rows | None, tuple[str, ...]]:
    """The person and the group of each row that takes part, and what is to be told.

    Both are None where everybody has one row and is in a group of their own; unless, in the population that
    the goal compares with, people have ``several``.
    """
    if recipe.person is None:
        return None, None, ()
    person, missing = number_people(_select_rows(table, recipe.person, rows))
    told = [*describe_missing_ids(recipe, missing)]
    group = None
    if recipe.group is not None:
        group, in_several = number_groups(person, _select_rows(table, recipe.group, rows))
        if in_several:
            told.append(
                f"{in_several:,} people are in several groups by '{recipe.group}': all groups of a person "
                "count as one"
            )
    # With one row each, counting people is counting rows, which everything can do.
    if not several and not has_repeated_people(person if group is None else group):
        return None, None, tuple(told)
    check_people(recipe)
    return person, group, tuple(told)


def _select_owners(owner: Rows | None, subject: PreparedTable, taken: Rows) -> Rows | None:
    """The person, or the group, of each released row."""
    return None if owner is None else owner[find_coded_rows(subject, taken)]


def find_coded_rows(subject: PreparedTable, taken: Rows) -> Rows:
    """Where rows of the table are among those that took part, for which alone there are codes."""
    return taken if subject.rows is None else np.searchsorted(subject.rows, taken)


def describe_groups(
    recipe: Recipe, table: Table, subject: PreparedTable, frame: Any, taken: Rows
) -> tuple[str, ...]:
    """What a known row of one member of a group tells about the others, before and after."""
    if subject.person is None or subject.group is None:
        return ()
    rows = np.arange(table.rows) if subject.rows is None else subject.rows
    was = replace(table, frame=table.frame[rows])
    known = (*recipe.quasi, *recipe.sets)  # who knows a row knows its sets
    before = measure_group_risk(row_classes(was, known), subject.person, subject.group)
    released = read_released(frame, recipe.reading)
    known = (*find_released_quasi(recipe, released.names), *recipe.sets)
    person, group = (_select_owners(each, subject, taken) for each in (subject.person, subject.group))
    assert person is not None
    assert group is not None
    after = measure_group_risk(row_classes(released, known), person, group)
    return tell_group_risk(recipe, before, after)


def tell_group_risk(recipe: Recipe, before: GroupRisk, after: GroupRisk) -> tuple[str, ...]:
    """The figures in words."""
    return (
        f"groups were counted by '{recipe.group}', which was left out: {after.groups:,} groups; "
        f"{after.people:,} people have others of their group in the release",
        "whoever knows a row of one of them finds the group, and with it the others, for certain in "
        f"{100 * after.certain:.1f} % of the cases (before: {100 * before.certain:.1f} %), and by guessing "
        f"in {100 * after.guess:.1f} % (before: {100 * before.guess:.1f} %)",
    )


def _describe_people(recipe: Recipe, subject: PreparedTable, person: Rows | None) -> tuple[str, ...]:
    """What was done because people have several rows."""
    if person is None:
        return (name_pseudonym(recipe),) if recipe.pseudonym else ()
    rows = np.bincount(person)
    if recipe.pseudonym:
        return tuple(describe_links(recipe, subject, rows[rows > 0]))
    told = describe_people(recipe, person.size, int(np.count_nonzero(rows)), int(rows.max()))
    return told if subject.varying is None else (*told, subject.varying.describe())


def find_complete_rows(
    recipe: Recipe, table: Table, columns: Mapping[str, Column], rows: Rows | None = None
) -> Rows | None:
    """The rows that take part, of some or all, after the recipe's policy on missing values.

    Without the rows that are dropped a column may have another type, under which more is missing.
    """
    # Ends: every turn drops rows, raises an error or finds nothing missing.
    while recipe.missing != "category":
        lost = {
            name: find_missing_rows(_select_rows(table, name, rows), columns.get(name, Column(name)))
            for name in table.names
            if name not in recipe.sets  # an empty cell is an empty set
        }
        lost = {name: mask for name, mask in lost.items() if mask.any()}
        if not lost:
            break
        if recipe.missing == "error":
            # Rows are counted from 1 for people.
            first = next(iter(lost))
            raise InputError(
                f"{table.origin}: values are missing in {quote(lost)}, first in row "
                f"{int(np.argmax(lost[first])) + 1} of '{first}'; take --missing category or drop to go on"
            )
        kept = np.flatnonzero(~np.logical_or.reduce(list(lost.values())))
        if kept.size == 0:
            raise InputError(
                f"{table.origin}: every row has a missing value ({quote(lost)}), so none is left"
            )
        rows = kept if rows is None else rows[kept]
    return rows


def _encode_extra_columns(recipe: Recipe, table: Table, rows: Rows | None) -> dict[str, EncodedColumn]:
    """Columns that are no quasi-identifiers, but that the algorithm asks to see."""
    hidden = (*recipe.identifier, recipe.person, recipe.group)
    known = [name for name in table.names if name not in hidden]
    types, orders, na = recipe.types, recipe.orders, recipe.reading.na
    return {
        name: encode_column(
            _select_rows(table, name, rows), Column(name, types.get(name), orders.get(name), None, na)
        )
        for name in recipe.algorithm.beside(recipe.quasi, recipe.sensitive, known)
    }


def _list_own_cells(
    recipe: Recipe, table: Table, subject: PreparedTable, sets: Mapping[str, pl.Series]
) -> dict[str, pl.Series]:
    """The columns that are released with a cell of its own for every row of the table."""
    own = {**subject.keyed, **sets}
    if subject.rows is not None:  # sets are of the rows that took part
        nothing = pl.Series([None] * table.rows, dtype=pl.String)
        own |= {name: nothing.scatter(subject.rows, cells) for name, cells in sets.items()}
    if subject.pseudonym is not None:
        own[str(recipe.person)] = subject.pseudonym
    return own


def _show_own_cells(table: Table, own: Mapping[str, pl.Series]) -> Table:
    """The table with what is released in place of what was there, by which rows may be sorted."""
    frame = table.frame.clone()
    for name, cells in own.items():
        # By its place: polars takes a name like '^a$' for a pattern.
        frame.replace_column(table.names.index(name), cells.alias(name))
    return replace(table, frame=frame)


def _render_classes(recipe: Recipe, table: Table, recoding: Recoding) -> dict[str, pl.Series]:
    """The released quasi-identifiers, class by class."""
    names = table.names
    native = [table.frame.to_series(names.index(name)).dtype for name in recipe.quasi]
    classes = recoding.render_classes(choose_cell_types(recipe, native), recipe.render)
    return _render_bounds(recipe, recoding, classes, list_bounds(recipe, table.frame.schema))


def _build_frame(
    recipe: Recipe,
    table: Table,
    subject: PreparedTable,
    recoding: Recoding,
    classes: Mapping[str, pl.Series],
    sets: Mapping[str, pl.Series] = MappingProxyType({}),
) -> tuple[Any, Rows]:
    """Apply a recoding to the original frame; the rows of the table come along, as they are released."""
    rows, kept = subject.rows, recoding.released_rows()
    # Positions among the rows that took part become positions in the table.
    if kept is not None:
        rows = kept if rows is None else rows[kept]
    rows = np.arange(table.rows) if rows is None else rows
    left_out, class_of = recipe.left_out(table.names), recoding.classes_of_released()
    bounds = list_bounds(recipe, table.frame.schema)
    table = table.split_columns({name: pair for name, (pair, _) in bounds.items()})
    own = _list_own_cells(recipe, table, subject, sets)
    keeps_order, shown = _keeps_order(recipe, subject), _show_own_cells(table, own)
    columns, rows = sort_released_rows(keeps_order, shown, classes, class_of, rows, left_out)
    columns |= {name: cells.gather(rows) for name, cells in own.items()}
    how = {
        "keep_index": recipe.keep_index,
        "keep_metadata": recipe.keep_metadata,
        "own_types": has_own_types(recipe),
    }
    return table.build_release(columns, rows, left_out, **how), rows


def _render_bounds(
    recipe: Recipe,
    recoding: Recoding,
    classes: Mapping[str, pl.Series],
    bounds: Mapping[str, tuple[tuple[str, str], pl.DataType]],
) -> dict[str, pl.Series]:
    """The released quasi-identifiers, class by class, with two columns for each that has bounds."""
    found: dict[str, pl.Series] = {}
    for j, name in enumerate(recipe.quasi):
        if name not in bounds:
            found[name] = classes[name]
            continue
        pair, dtype = bounds[name]
        found |= zip(pair, recoding.render_class_bounds(j, dtype), strict=True)
    return found


def _keeps_order(recipe: Recipe, subject: PreparedTable) -> bool:
    """Whether rows keep their order: never where a person has several, for those often stand together."""
    return recipe.row_order == "keep" and subject.person is None


def judge_whole(
    recipe: Recipe, recoded: RecodedFrame, cells: CellNumbers | None = None
) -> tuple[Finding, ...]:
    """What all released columns give away together; ``cells`` are theirs, if they were numbered before."""
    table, subject, taken = recoded.table, recoded.subject, recoded.taken
    frame, keeps_order = read_released(recoded.frame).frame, _keeps_order(recipe, subject)
    # What was there matters beside the order of the rows, and beside columns that stay as they are.
    quasi = find_released_quasi(recipe, frame.columns)
    watched = subject.encoded if keeps_order or set(frame.columns) > set(quasi) else ()
    # Columns that are not released still tell, if the rows stand in their order, or if they name people.
    hidden = [*recipe.left_out(table.names), *recipe.keyed]
    if not keeps_order:
        hidden = [name for name in hidden if name in recipe.identifier or announces_person(name)]
    judged = describe_release(
        recipe,
        leave_out_pseudonym(recipe, frame),
        subject.columns,
        original=list_original_columns(watched, find_coded_rows(subject, taken)),
        lost=measure_column_loss(recoded.recoding),
        left_out=table.gather_columns(hidden, taken),
        person=recoded.person,
        knows=recipe.knows if recipe.pseudonym or recipe.sets else "",
        sets=recipe.sets,
        keeps_order=keeps_order,
        numbers=cells,
    )
    return judge_release(judged, recipe.accept)


def _warn_of_formulas(recipe: Recipe, frame: Any, classes: Mapping[str, pl.Series]) -> tuple[str, ...]:
    """Warn of cells that a spreadsheet would run."""
    if recipe.safe_csv or recipe.output is None:
        return ()
    released = read_released(frame).frame
    # The cells of classes are few: only where one of them would be run are those of all rows looked at.
    cells = pl.DataFrame([each.alias(name) for name, each in classes.items()])
    harmless = set(classes) - set(count_formula_cells(cells, classes))
    looked_at = [name for name in released.columns if name not in harmless]
    return warn_of_formulas(count_formula_cells(released, looked_at), released.columns)
