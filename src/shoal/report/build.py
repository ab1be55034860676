"""The report of a run: its figures, from what was searched, recoded and verified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from shoal.algorithms import ALGORITHMS
from shoal.codespace.encoding import EncodedColumn
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Proposal, Recoding
from shoal.errors import quote
from shoal.privacy import matching
from shoal.recipes.defaults import choose_category_order, list_weights
from shoal.recipes.recipe import Recipe
from shoal.report.figures import Report
from shoal.support.parameters import describe_parameters, name_of
from shoal.support.warning_codes import CodedWarning
from shoal.table import Table, find_formula_names
from shoal.verification.verifier import Verification


def build_report(
    recipe: Recipe,
    rows: int,
    encoded: Sequence[EncodedColumn],
    proposal: Proposal,
    recoding: Recoding,
    found: Verification,
    counted: Recoding | None = None,
) -> Report:
    """What a run did, and what it lost.

    Parameters
    ----------
    rows : int
        Rows of the table, with those that were dropped before the search.
    counted : Recoding, optional
        What the asked loss is measured on, where ``recoding`` does not have the true sizes of classes.
    """
    # Without weights, so that reports can be compared, whatever loss was searched for.
    plain = LOSSES["ncp"]().measure(recoding, np.ones(len(recipe.quasi)))
    asked = LOSSES[recipe.loss]().measure(counted or recoding, list_weights(recipe))
    return Report(
        rows=rows,
        # Rows with missing values never reach the search; suppressed ones do.
        dropped_rows=rows - recoding.table.rows,
        suppressed_rows=recoding.suppressed_rows,
        released_rows=found.rows,
        classes=found.classes,
        smallest_class=found.smallest_class,
        quasi=recipe.quasi,
        sensitive=recipe.sensitive,
        identifier=recipe.identifier,
        models=found.models,
        algorithm={
            "name": name_of(ALGORITHMS, recipe.algorithm),
            "parameters": describe_parameters(recipe.algorithm),
        },
        loss={"name": recipe.loss, "value": asked.value, "columns": asked.columns},
        ncp=plain.value,
        columns={
            column.domain.name: {
                "type": column.type,
                "kind": column.domain.kind,
                "values": column.domain.size,
                "ncp": (plain.columns or {})[column.domain.name],
            }
            for column in encoded
        },
        seed=recipe.seed,
        nodes=proposal.nodes,
        cuts=proposal.cuts,
        optimal=proposal.optimal,
        lower_bound=_state_bound(proposal, asked.value),
        solutions=proposal.solutions,
        search_space=proposal.search_space,
        search_space_log10=proposal.search_space_log10,
        history=proposal.history,
        curve=proposal.curve,
        tried=proposal.tried,
        levels={name: {"level": level, "highest": top} for name, level, top in proposal.levels},
        states=dict(proposal.states),
        findings=found.findings,
        warnings=(matching.WARNING,) if recipe.algorithm.is_cell_level else (),
        notes=(*_describe_category_order(recipe, encoded), *proposal.notes),
        output=recipe.output,
        people=found.people,
    )


def _state_bound(proposal: Proposal, loss: float) -> float | None:
    """The proved bound: of an optimal release its loss itself, whatever the sums were rounded to."""
    if proposal.optimal or proposal.lower_bound is None:
        return loss if proposal.optimal else None
    return min(proposal.lower_bound, loss)


def measure_column_loss(recoding: Recoding) -> dict[str, float]:
    """By quasi-identifier, the mean width of its released cells: 0 if nothing happened to it, at most 1."""
    lost = LOSSES["ncp"]().measure(recoding, np.ones(len(recoding.cells))).columns
    return {name: float(width) for name, width in (lost or {}).items()}


def _describe_category_order(recipe: Recipe, encoded: Sequence[EncodedColumn]) -> Iterator[str]:
    """Say how flat categories were ordered: it has an influence on which of them are grouped."""
    flat = [column.domain.name for column in encoded if column.domain.kind == "flat"]
    by_frequency = choose_category_order(recipe) == "frequency"
    how = "frequency, the commonest first" if by_frequency else "first appearance"
    if flat:
        yield f"categories of {quote(flat)} were ordered by {how}"


def describe_left_behind(recipe: Recipe, table: Table) -> Iterator[str]:
    """What came with the table besides its columns, and what became of it."""
    if recipe.keep_index and table.origin.kind == "pandas":
        yield "kept because that was asked for: the index"
    for what in table.origin.attached:
        how = "kept because that was asked for" if recipe.keep_metadata else "left out"
        yield f"{how}: {what}"


def warn_of_formulas(cells: Mapping[str, int], names: Sequence[str]) -> tuple[str, ...]:
    """Warn of so many cells per column, and of names of columns, that a spreadsheet would run."""
    parts = [f"{count} in '{name}'" for name, count in cells.items()]
    parts += [f"the name '{name}'" for name in find_formula_names(names)]
    if not parts:
        return ()
    where = ", ".join(parts)
    text = f"cells that a spreadsheet would run as a formula: {where}; --safe-csv neutralises them"
    return (CodedWarning("W10", text),)
