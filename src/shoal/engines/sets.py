"""The engine for columns of sets: their items are protected beside the other quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import Progress, silent
from shoal.algorithms.linked.goal import SetProblem
from shoal.algorithms.linked.set_items import SetItems
from shoal.algorithms.space import renumber_classes
from shoal.codespace.domain import Domain
from shoal.codespace.encoding import EncodedColumn, encode_column
from shoal.codespace.frequency import CodedRows
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Proposal, Recoding
from shoal.engines.checks import check_sets, refuse_unmet_goal
from shoal.engines.memory import MemoryEngine, RecodedFrame, judge_whole
from shoal.engines.prepare import PreparedTable
from shoal.errors import InputError, RecipeError
from shoal.recipes.defaults import list_set_weights, list_weights
from shoal.recipes.recipe import Recipe
from shoal.report import Report
from shoal.report.figures import SetFigures
from shoal.support.warning_codes import CodedWarning
from shoal.table import Column, Table, read_table, to_strings
from shoal.table.sets import choose_joiner, join_sets, split_sets
from shoal.verification.sets import KnownSets, verify_sets
from shoal.verification.verifier import Verification


class SetsEngine(MemoryEngine):
    """Holds all rows in memory; the cells of some columns are sets."""

    takes_sets: ClassVar[bool] = True

    def check_recipe(self) -> None:
        """Refuse what cannot be combined with columns of sets."""
        super().check_recipe()
        check_sets(self.recipe)

    def prepare(self, table: Table, rows: NDArray[np.int64] | None = None) -> PreparedTable:
        """Encode the other quasi-identifiers as ever, and the items of the sets."""
        recipe, subject = self.recipe, super().prepare(table, rows)
        columns = [_encode_items(name, recipe, table, subject) for name in recipe.sets]
        told = [warning for column in columns for warning in column.warnings]
        static, sets = list_weights(recipe), list_set_weights(recipe)
        items = SetItems.from_columns(
            [column.encoded.domain for column in columns],
            [column.encoded.codes for column in columns],
            [column.row for column in columns],
            sets,
            subject.person if subject.group is None else subject.group,
        )
        problem = SetProblem(
            subject.problem,
            items,
            recipe.known_rows,
            float(np.append(static, sets).cumsum()[-1]),
            bool(recipe.quasi),
        )
        return replace(subject, sets=problem, warnings=(*subject.warnings, *told))

    def search(self, subject: PreparedTable, on_progress: Progress = silent) -> Proposal:
        """Let the algorithm propose classes of people, and find cells for their items."""
        from shoal.algorithms.linked.sets import search_sets  # noqa: PLC0415  loads several algorithms

        assert subject.sets is not None
        return search_sets(self.recipe.algorithm, subject.sets, on_progress)

    def render_sets(self, subject: PreparedTable, proposal: Proposal) -> Mapping[str, pl.Series]:
        """The released sets, of every row that takes part."""
        rows = subject.problem.rows.rows
        return {
            each.name: join_sets(each.texts, each.row, rows, self.recipe.sets[each.name])
            for each in list_released_items(self.recipe, subject, proposal)
        }

    def verify(self, recoded: RecodedFrame) -> Verification:
        """Count, in the frame, the people whom an attacker finds who knows some items of a person."""
        recipe = self.recipe
        released = read_table(recoded.frame, recipe.reading)
        known = KnownSets(recipe.sets, recipe.known_rows)
        found = verify_sets(
            released,
            recipe.quasi,
            recipe.sensitive,
            recipe.models,
            known,
            recoded.subject.columns,
            (recoded.person, recoded.group),
        )
        refuse_unmet_goal(found)
        return replace(found, findings=judge_whole(recipe, recoded))

    def build_report(self, recoded: RecodedFrame, found: Verification) -> Report:
        """The report on the other quasi-identifiers, with what was done and lost in sets."""
        recipe, report = self.recipe, super().build_report(recoded, found)
        released = list(list_released_items(recipe, recoded.subject, recoded.proposal))
        lost = {each.name: each.figures.ncp for each in released}
        columns = {name: report.columns[name] for name in recipe.quasi}
        columns |= {
            each.name: {
                "type": "set",
                "kind": "set",
                "values": each.domain.size,
                "ncp": each.figures.ncp,
            }
            for each in released
        }
        plain = [float(each["ncp"]) for each in columns.values()]
        weights = np.array([float(recipe.weights.get(name, 1.0)) for name in columns])
        asked = float((np.array(plain) * weights).cumsum()[-1]) / (float(weights.cumsum()[-1]) or 1.0)
        by_column = {**(report.loss["columns"] or {}), **lost}
        return replace(
            report,
            ncp=float(np.cumsum(plain)[-1]) / len(plain),
            loss={
                **report.loss,
                "value": asked,
                "columns": {name: by_column[name] for name in columns},
            },
            columns=columns,
            sets={each.name: each.figures for each in released},
            notes=(*report.notes, *describe_sets(recipe, released, recoded.subject.person is not None)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _ItemColumn:
    """The items of one column of sets."""

    encoded: EncodedColumn
    row: NDArray[np.int64]
    """[items] the row of each, among those that take part."""
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedItems:
    """The items of one column of sets, as they are released."""

    name: str
    domain: Domain
    texts: pl.Series
    """Of every item that is not left out."""
    row: NDArray[np.int64]
    """The row of each of them."""
    figures: SetFigures


def _encode_items(name: str, recipe: Recipe, table: Table, subject: PreparedTable) -> _ItemColumn:
    """Take the cells of a column apart and give the items their codes."""
    cells = table.column(name)
    if cells.dtype.is_nested():
        raise InputError(f"column '{name}' is no text: join the items of each cell by a separator")
    cells, separator = (
        to_strings(cells if subject.rows is None else cells.gather(subject.rows)),
        recipe.sets[name],
    )
    items, row = split_sets(cells, separator)
    if len(items) == 0:
        raise InputError(f"column '{name}': no cell has an item, so that there are no sets to protect")
    known = Column(name, "string", None, subject.columns[name].hierarchy)
    encoded = encode_column(items, known)
    _check_node_names(encoded.domain, separator)
    told = list(encoded.warnings)
    if not cells.str.contains(separator, literal=True).any():
        text = f"no cell of '{name}' has the separator '{separator}': every cell was taken for one item"
        told.append(CodedWarning("W14", text))
    return _ItemColumn(encoded, row, tuple(told))


def _check_node_names(domain: Domain, separator: str) -> None:
    """Refuse a hierarchy whose groups would be read as several items."""
    if domain.hierarchy is None:
        return
    for names in domain.hierarchy.names[1:]:
        if split := [name for name in names if separator in name]:
            raise RecipeError(
                f"the hierarchy of '{domain.name}' has the group '{split[0]}', which contains the separator "
                f"'{separator}', so that a reader would take it for several items: rename it"
            )


def list_released_items(
    recipe: Recipe, subject: PreparedTable, proposal: Proposal
) -> Iterator[ReleasedItems]:
    """By column of sets, what its items become."""
    assert subject.sets is not None and proposal.items is not None
    items = subject.sets.items
    column = items.find_column(items.code)
    for j, domain in enumerate(items.domains):
        (here,) = np.nonzero(column == j)
        cell, code = proposal.items[here], items.code[here] - items.first[j]
        kept = cell >= 0
        if not kept.any():
            none = SetFigures(here.size, 0, here.size, 0, 1.0)
            yield ReleasedItems(domain.name, domain, pl.Series([], dtype=pl.String), here[:0], none)
            continue
        table = CodedRows((code.astype(np.uint32),), (domain.size,)).one_by_one(in_order=True)
        recoding = Recoding.from_proposal(Proposal(table, renumber_classes(cell)), (domain,))
        texts, wide = _render_items(recoding, choose_joiner(domain.name, recipe.sets[domain.name]))
        of_item = recoding.class_of[kept]
        lost = LOSSES["ncp"]().measure(recoding, np.ones(1)).value
        figures = SetFigures(
            here.size,
            int(np.count_nonzero(wide[of_item])),
            int(here.size - of_item.size),
            len(texts.gather(of_item).unique(maintain_order=True)),
            float(lost),
        )
        yield ReleasedItems(domain.name, domain, texts.gather(of_item), items.person[here[kept]], figures)


def _render_items(recoding: Recoding, joiner: str) -> tuple[pl.Series, NDArray[np.bool_]]:
    """By class of items, its text, and whether it stands for several values."""
    (cells,) = recoding.cells
    if cells.members is None:
        texts = cells.domain.render_intervals(cells.lo, cells.hi)
    else:
        texts = cells.domain.render_sets(*cells.members, joiner)
    return texts.gather(cells.of_class), (cells.count_covered() > 1)[cells.of_class]


def describe_sets(recipe: Recipe, released: list[ReleasedItems], has_people: bool) -> Iterator[str]:
    """What became of the items, in words; ``has_people`` if people have several rows."""
    for each in released:
        told = each.figures
        yield (
            f"'{each.name}' has {told.items:,} items in sets: {told.generalised:,} were generalised and "
            f"{told.left_out:,} left out ({100 * told.left_out / told.items:.1f} %); an item that a set does "
            "not have may have been left out"
        )
    known = {"1": "any one item", "all": "all items"}.get(recipe.knows, f"any {recipe.knows} items")
    others = "the other quasi-identifiers and " if recipe.quasi else ""
    whose = "a row of a person" if has_people else "a person"
    yield f"somebody who knows {others}{known} of {whose} finds as many people as the goal says"
