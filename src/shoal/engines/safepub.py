"""Differential privacy by sampling: every row is read, generalised and drawn by itself.

Whatever leaves this module is made of the released rows and of what was stated before the table was opened:
the frame, every figure and picture of the report, warnings and errors. The table itself is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import Progress, silent
from shoal.algorithms.private_levels import FULL_DETAIL, LevelledColumn, check_number_of_schemes
from shoal.algorithms.safepub import SafePubScheme, find_sampling_parameters, pays_for_search
from shoal.codespace.domain import ANY, Domain
from shoal.codespace.encoding import EncodedColumn, build_dictionary
from shoal.codespace.frequency import CodedRows, FrequencyTable, Histograms
from shoal.codespace.recoding import ColumnCells, Proposal, Recoding
from shoal.engines.base import Engine, RecodedTable, carry_out
from shoal.engines.checks import check_names, check_use_of_means, check_use_of_one_table
from shoal.engines.inputs import choose_source
from shoal.engines.prepare import PreparedTable, build_problem, read_known_columns
from shoal.engines.release import Release
from shoal.errors import InternalError, RecipeError, quote
from shoal.privacy import KAnonymity, SafePub, safepub
from shoal.recipes.defaults import list_weights
from shoal.recipes.recipe import Recipe, check_private
from shoal.report import Evidence, Report
from shoal.report.build import warn_of_formulas
from shoal.table import Column, ColumnType, RowSource, Table, count_formula_cells, open_rows
from shoal.table.frames import use_safe_name
from shoal.table.hierarchies import Hierarchy
from shoal.table.rowwise import check_row_types, written_text
from shoal.verification.findings import JudgedRelease, judge_release
from shoal.verification.verifier import Verdict, Verification, verify_table


def run_safepub(recipe: Recipe, source: object = None, on_progress: Progress = silent) -> Release:
    """Carry out a recipe whose algorithm is safepub; its output is written if it names one.

    Parameters
    ----------
    source : path, frame or RowSource, optional
        What to draw from; ``recipe.input`` by default.
    """
    return carry_out(SamplingEngine(recipe), source, on_progress)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SamplingPlan(PreparedTable):
    """Rows as what they would be released as, whatever the others are."""

    plans: tuple[ColumnPlan, ...]


class SamplingEngine(Engine[RowSource, SamplingPlan, RecodedTable]):
    """Draws a private sample of rows that are read, generalised and judged each by itself."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        assert isinstance(recipe.algorithm, SafePubScheme)
        self.scheme = recipe.algorithm

    def check_recipe(self) -> None:
        """Refuse a recipe under which more would leave than a private sample."""
        # Before the table is opened: an error after that could tell something about it.
        recipe = self.recipe
        check_use_of_means(recipe)
        check_use_of_one_table(recipe)
        # For its error: the goal must have exactly one model safepub.
        find_sampling_parameters(recipe.models)
        if recipe.sets:
            raise RecipeError(f"safepub takes no columns of sets ({quote(recipe.sets)}): leave them out")
        if recipe.person is not None:
            raise RecipeError(
                "safepub draws rows, and protects a row each, not all rows of a person: keep one row of each "
                "person, and leave out the person"
            )
        if strange := [type(m).__name__ for m in recipe.models if not isinstance(m, SafePub | KAnonymity)]:
            raise RecipeError(f"safepub goes together with k only, not with {quote(strange)}")
        if recipe.render not in ("label", "interval"):
            raise RecipeError(f"safepub takes render 'label' or 'interval', not '{recipe.render}'")
        if recipe.missing == "error":
            raise RecipeError(
                "with safepub missing is 'category' or 'drop': an error would tell that a value is missing"
            )
        if recipe.orders:
            raise RecipeError(f"safepub has no use for the order of {quote(recipe.orders)}: leave it out")
        if recipe.loss != "ncp":
            raise RecipeError(f"safepub searches for nothing, so the loss is 'ncp' and not '{recipe.loss}'")
        if recipe.keep_index or recipe.keep_metadata:
            raise RecipeError(
                "safepub keeps neither an index nor metadata: they would tell more than the sample"
            )
        if recipe.memory is not None or recipe.engine != "local":
            raise RecipeError(
                "safepub takes the table in memory, on this machine: leave memory and engine out"
            )
        if recipe.output is not None:
            check_private(recipe)

    def read(self, source: object) -> RowSource:
        """Open the table, of which no row is looked at yet."""
        return open_rows(choose_source(self.recipe, source), self.recipe.reading)

    def prepare(self, table: RowSource) -> SamplingPlan:
        """Generalise every row to the levels that were stated, or drawn for a part of epsilon."""
        recipe = self.recipe
        known = _read_stated_columns(recipe, table)
        permitted = self._list_permitted_levels(known)
        lowest = _plan_columns(recipe, known, {name: levels[0] for name, levels in permitted.items()})
        cells = DistinctCells.from_frame(
            table.read_columns({plan.name: plan.type for plan in lowest}), lowest, recipe
        )
        plans = lowest
        if pays_for_search(recipe.models):
            columns = _build_levelled_columns(cells, lowest, permitted, list_weights(recipe))
            drawn = self.scheme.draw_levels(columns, recipe.models)
            plans = _plan_columns(recipe, known, dict(zip(recipe.quasi, drawn, strict=True)))
        encoded, coded = _encode_rows(cells, plans)
        return SamplingPlan(build_problem(recipe, encoded, coded, {}), encoded, known, plans=plans)

    def _list_permitted_levels(self, known: Mapping[str, Column]) -> dict[str, range]:
        """The levels on which each quasi-identifier may be released."""
        trees = {name: known[name].hierarchy for name in self.recipe.quasi}
        heights = {name: tree.height if tree else 0 for name, tree in trees.items()}
        searched = pays_for_search(self.recipe.models)
        permitted = self.scheme.check_levels(heights, searched)
        check_number_of_schemes(list(permitted.values()))
        if searched and any(weight < 0 for weight in self.recipe.weights.values()):
            raise RecipeError("where levels are searched privately, weights are 0 or more")
        return {name: permitted[name] for name in self.recipe.quasi}

    def recode(self, table: RowSource, subject: SamplingPlan, proposal: Proposal) -> RecodedTable:
        """Keep the rows that were drawn, and nothing else."""
        recipe, plans = self.recipe, subject.plans
        drawn = _collect_classes(proposal, subject.encoded, subject.problem.rows)
        # From here on only released rows exist: no figure can come from another row.
        released = Table(_order_columns(drawn.expand_rows(), table.names), table.origin, recipe.reading.na)
        frame = table.give_back(released.frame)
        drawn_subject, recoding = _prepare_drawn(recipe, plans, drawn, subject.columns)
        levels = tuple((each.name, each.level, each.tree.height if each.tree else 0) for each in plans)
        return RecodedTable(
            table=released,
            rows=released.rows,
            subject=drawn_subject,
            proposal=Proposal(recoding.table, recoding.class_of, levels=levels),
            recoding=recoding,
            frame=frame,
            # The report may quote rows, so it gets those that are released and no others.
            evidence=Evidence(recipe, released, recoding, frame, subject.columns, None, released_only=True),
            warnings=_warn_of_formulas(recipe, drawn),
        )

    def verify(self, recoded: RecodedTable) -> Verification:
        """Count the sample; by a known seed nothing is private, whatever is counted."""
        recipe, known = self.recipe, recoded.subject.columns
        found = verify_table(recoded.table, recipe.quasi, (), recipe.models, known)
        if not found.holds:
            raise InternalError("a class of a private sample has fewer rows than was made sure of")
        # Of what the release tells by itself, since even a finding may tell no more.
        judged = JudgedRelease(recoded.table.frame, recipe.quasi, (), recipe.models, known, keeps_order=False)
        found = replace(found, findings=judge_release(judged, recipe.accept))
        if self.scheme.seed is None:
            return found
        # Who knows the seed can draw the same sample again.
        return replace(found, holds=False, models=tuple(_deny_privacy(verdict) for verdict in found.models))

    def write(self, recoded: RecodedTable, release: Release) -> Release:
        """Write the sample to a file, whose bytes are counted once more before it has its name."""
        release.write(str(self.recipe.output))
        return release

    def build_report(self, recoded: RecodedTable, found: Verification) -> Report:
        """What was done, told by the released rows alone."""
        report = super().build_report(recoded, found)
        rate, k = find_sampling_parameters(self.recipe.models)
        note = (
            f"each row was drawn with probability {rate:.4g}, and classes of fewer than {k} drawn rows were "
            "dropped; another run draws another sample"
        )
        if pays_for_search(self.recipe.models):
            note += ", and other levels: these were drawn, too"
        seed = self.scheme.seed
        warnings = (*(() if seed is None else (safepub.KNOWN_SEED,)), safepub.WARNING, *recoded.warnings)
        # The size of the table is not covered by the proof, so the report has None for it.
        told: dict[str, Any] = dict.fromkeys(("rows", "dropped_rows", "suppressed_rows"))
        report = replace(report, **told, seed=seed, warnings=warnings, notes=(note,))
        return report if found.rows else _report_empty_release(report)

    def build_release(self, recoded: RecodedTable, report: Report) -> Release:
        """The sample, with what was stated of its columns."""
        return replace(super().build_release(recoded, report), columns=recoded.subject.columns)


def _read_stated_columns(recipe: Recipe, rows: RowSource) -> dict[str, Column]:
    """What is known of the quasi-identifiers, all of it stated."""
    left_out = recipe.left_out(rows.names)
    # The proof covers generalised values only; a plain column would be outside of it.
    if loose := [name for name in rows.names if name not in (*recipe.quasi, *left_out)]:
        raise RecipeError(
            f"with safepub every released column is a quasi-identifier, but {quote(loose)} is not: make it "
            "one, or leave it out as an identifier"
        )
    check_names(recipe, rows.make_table())
    check_row_types(recipe.types, recipe.quasi, needed=rows.has_types)
    known = read_known_columns(recipe, rows.names)
    for name, column in known.items():
        if column.hierarchy is not None and column.hierarchy.built_from_table:
            raise RecipeError(
                f"the hierarchy of '{name}' was built from a table, and its labels would tell of that table: "
                "safepub takes ready-made ones, as @ages, and those that were written without looking at it"
            )
    return {name: replace(column, type=column.type or "string") for name, column in known.items()}


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPlan:
    """What becomes of the values of one column, whatever they are."""

    name: str
    type: ColumnType
    tree: Hierarchy | None
    level: int
    by_ends: bool
    """Whether nodes are written by their first and last leaf."""

    def label_values(self, text: pl.Series) -> pl.Series:
        """What values are released as; a value that the hierarchy does not have becomes its root."""
        if self.tree is None:
            return text
        root = ANY if self.by_ends else self.tree.root
        # The top level needs no look at the value, so every value, known or not, is the same.
        if self.level == self.tree.height:
            return pl.repeat(root, len(text), dtype=pl.String, eager=True)
        leaves = pl.Series(self.tree.leaves, dtype=pl.String)
        # An unknown value becomes the root without a word: an error would tell that it occurs.
        node = text.replace_strict(leaves, self._name_nodes(), default=root, return_dtype=pl.String)
        return node.set(text.is_null(), None)

    def _name_nodes(self) -> pl.Series:
        """By leaf, what its node is written as."""
        assert self.tree is not None
        leaf = np.arange(len(self.tree.leaves))
        return self._build_domain(False).render_intervals(
            *self.tree.extent(np.full(leaf.size, self.level), leaf), self.by_ends
        )

    def measure_detail(self, labels: pl.Series) -> NDArray[np.float64]:
        """How much detail labels have, from 0 for the root to 1 for a value, and for a missing one."""
        if self.tree is None:
            return np.ones(len(labels))
        if self.level == self.tree.height:
            return np.zeros(len(labels))
        leaf = np.arange(len(self.tree.leaves))
        low, high = self.tree.extent(np.full(leaf.size, self.level), leaf)
        kept = 1 - (high - low) / max(leaf.size - 1, 1)
        # A label that is none of a node is the root.
        known = dict(zip(self._name_nodes(), kept.tolist(), strict=True))
        return np.array([1.0 if label is None else known.get(label, 0.0) for label in labels])

    def _build_domain(self, missing: bool) -> Domain:
        assert self.tree is not None
        leaves = list(self.tree.leaves)
        return Domain.from_hierarchy(
            self.name, self.tree, pl.Series(leaves, dtype=pl.String), leaves, [], missing
        )

    def build_cells(self, released: pl.Series) -> ColumnCells:
        """The cells of classes that are released as these labels, by class."""
        lo, hi, domain = self._encode_flat(released) if self.tree is None else self._encode_nodes(released)
        return ColumnCells(domain, np.arange(lo.size, dtype=np.int32), lo, hi, None)

    def _encode_flat(self, released: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64], Domain]:
        values = released.unique().sort(nulls_last=True)
        missing = len(values) - 1 if values.has_nulls() else None
        code = np.searchsorted(values.drop_nulls().to_numpy(), released.fill_null("").to_numpy())
        # Null is last among the sorted values.
        code = np.where(released.is_null().to_numpy(), len(values) - 1, code).astype(np.int64)
        return code, code, Domain.from_flat_categories(self.name, values, values, missing)

    def _encode_nodes(self, released: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64], Domain]:
        domain = self._build_domain(released.has_nulls())
        assert self.tree is not None
        assert domain.hierarchy is not None
        place = {leaf: at for at, leaf in enumerate(domain.hierarchy.leaves)}
        leaf = np.array([place[name] for name in self.tree.leaves])
        low, high = domain.hierarchy.extent(np.full(leaf.size, self.level), leaf)
        known = dict(zip(self._name_nodes(), zip(low.tolist(), high.tolist(), strict=True), strict=True))
        known[None] = (domain.missing, domain.missing)
        # What is not a node of the level is the root: all codes.
        ends = [known.get(label, (0, domain.size - 1)) for label in released]
        lo, hi = np.array(ends, np.int64).reshape(-1, 2).T
        return lo, hi, domain


def _plan_columns(
    recipe: Recipe, known: Mapping[str, Column], level: Mapping[str, int]
) -> tuple[ColumnPlan, ...]:
    by_ends = recipe.render == "interval"
    return tuple(
        ColumnPlan(name, known[name].type or "string", known[name].hierarchy, level[name], by_ends)
        for name in recipe.quasi
    )


@dataclass(frozen=True, slots=True, eq=False)
class DistinctCells:
    """The rows that the recipe keeps, with every distinct value once."""

    text: tuple[pl.Series, ...]
    """By column the distinct values as they are written, and null behind them."""
    number: tuple[NDArray[np.int64], ...]
    """By column [rows] which of them each row has."""

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, plans: Sequence[ColumnPlan], recipe: Recipe) -> DistinctCells:
        """Read every distinct value by itself: the result may not depend on other rows."""
        texts, numbers, lost = [], [], np.zeros(frame.height, np.bool_)
        for plan, series in zip(plans, frame, strict=True):
            distinct, number, _ = build_dictionary(use_safe_name(series))
            text = written_text(pl.concat([distinct, distinct.clear(1)]), plan.type, recipe.reading.na)
            texts.append(text)
            numbers.append(number)
            lost |= text.is_null().to_numpy()[number]
        # A row is dropped for its own cells only, which keeps the sampling of others as it was.
        kept = ~lost if recipe.missing == "drop" else np.ones(frame.height, np.bool_)
        return cls(tuple(texts), tuple(number[kept].astype(np.int64) for number in numbers))


def _encode_rows(
    cells: DistinctCells, plans: Sequence[ColumnPlan]
) -> tuple[tuple[EncodedColumn, ...], CodedRows]:
    """Every row as what it would be released as."""
    encoded = []
    for plan, text, number in zip(plans, cells.text, cells.number, strict=True):
        labels, code, missing = build_dictionary(plan.label_values(text))
        values = pl.concat([labels, labels.clear(1)]) if missing else labels
        domain = Domain.from_flat_categories(plan.name, values, values, len(labels) if missing else None)
        encoded.append(EncodedColumn(domain, code[number], plan.type))
    sizes = tuple(max(each.domain.size, 1) for each in encoded)
    return tuple(encoded), CodedRows(tuple(each.codes for each in encoded), sizes)


def _build_levelled_columns(
    cells: DistinctCells,
    plans: Sequence[ColumnPlan],
    permitted: Mapping[str, range],
    weights: NDArray[np.float64],
) -> list[LevelledColumn]:
    """Every row on all levels on which it may be released."""
    shares = weights / weights.sum() if weights.sum() else weights
    return [
        _build_levelled_column(plan, permitted[plan.name], text, number, float(share))
        for plan, text, number, share in zip(plans, cells.text, cells.number, shares, strict=True)
    ]


def _build_levelled_column(
    plan: ColumnPlan, levels: range, text: pl.Series, number: NDArray[np.int64], share: float
) -> LevelledColumn:
    code, above, detail = np.zeros(len(text), np.int64), [], []
    # From the top down: a code is a label together with all that it becomes on higher levels, so that each
    # code becomes one code, whatever labels are called.
    for level in reversed(levels):
        here = replace(plan, level=level)
        labels = here.label_values(text)
        label = labels.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        pair, lower = np.unique(label * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
        some = np.empty(pair.size, np.int64)
        some[lower] = np.arange(lower.size)
        above.append(code[some])
        detail.append(np.floor(FULL_DETAIL * share * here.measure_detail(labels)[some]).astype(np.int64))
        code = lower
    # Nothing is above the highest level.
    return LevelledColumn(
        plan.name, levels[0], code[number], tuple(reversed(above[1:])), tuple(reversed(detail))
    )


@dataclass(frozen=True, slots=True, eq=False)
class DrawnClasses:
    """The classes that are released, in the order of their labels."""

    classes: pl.DataFrame
    """By quasi-identifier what each class is released as, in memory of its own."""
    size: NDArray[np.int64]

    def expand_rows(self) -> pl.DataFrame:
        """The released rows. Their places in the table would tell them apart, so they are not kept."""
        return self.classes[np.repeat(np.arange(self.size.size), self.size)]


def _collect_classes(proposal: Proposal, encoded: Sequence[EncodedColumn], coded: CodedRows) -> DrawnClasses:
    kept = np.flatnonzero(proposal.class_of >= 0)
    class_of = proposal.class_of[kept]
    size = np.bincount(class_of)
    some = np.empty(size.size, np.int64)
    some[class_of] = kept
    # Through Python's own texts: polars would keep those of other rows in the same buffers.
    pairs = zip(encoded, coded.quasi, strict=True)
    labels = [each.domain.labels.gather(codes[some]).to_list() for each, codes in pairs]
    classes = pl.DataFrame([pl.Series(str(j), each, pl.String) for j, each in enumerate(labels)])
    # Sorted by label: the order in the table would tell where a row stood.
    order = classes.select(pl.arg_sort_by(classes.columns, maintain_order=True)).to_series()
    classes = classes[order]
    classes.columns = [each.domain.name for each in encoded]
    return DrawnClasses(classes, size[order.to_numpy()].astype(np.int64))


def _order_columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The columns of a release in the order that they have in the table."""
    return pl.DataFrame([frame.get_column(name) for name in names if name in frame.columns])


def _deny_privacy(verdict: Verdict) -> Verdict:
    if verdict.name != "safepub" or not isinstance(verdict.achieved, dict):
        return verdict
    return replace(verdict, achieved={**verdict.achieved, "delta": 1.0}, holds=False)


def _prepare_drawn(
    recipe: Recipe, plans: Sequence[ColumnPlan], drawn: DrawnClasses, known: Mapping[str, Column]
) -> tuple[PreparedTable, Recoding]:
    """The released rows in a code space of their own, which knows of no others."""
    pairs = zip(plans, map(use_safe_name, drawn.classes), strict=True)
    cells = tuple(plan.build_cells(labels) for plan, labels in pairs)
    encoded = tuple(
        EncodedColumn(each.domain, each.lo.astype(np.uint32), plan.type)
        for plan, each in zip(plans, cells, strict=True)
    )
    sizes = tuple(max(each.domain.size, 1) for each in encoded)
    rows = CodedRows(tuple(each.codes for each in encoded), sizes)
    subject = PreparedTable(build_problem(recipe, encoded, rows, {}), encoded, known)
    return subject, _build_recoding(cells, drawn.size)


def _warn_of_formulas(recipe: Recipe, drawn: DrawnClasses) -> tuple[str, ...]:
    if recipe.safe_csv or recipe.output is None:
        return ()
    released = drawn.expand_rows()
    return warn_of_formulas(count_formula_cells(released, released.columns), released.columns)


def _report_empty_release(report: Report) -> Report:
    """Where no class is released, all detail is lost."""
    columns = {name: {**each, "ncp": 1.0} for name, each in report.columns.items()}
    loss = {**report.loss, "value": 1.0, "columns": dict.fromkeys(columns, 1.0)}
    return replace(report, ncp=1.0, columns=columns, loss=loss)


def _build_recoding(cells: tuple[ColumnCells, ...], size: NDArray[np.int64]) -> Recoding:
    """The released classes, each of which stands for the rows that are released of it."""
    classes = np.arange(size.size, dtype=np.int32)
    codes = np.stack([each.lo for each in cells], axis=1).astype(np.uint32)
    none = np.empty(0, np.int64)
    sensitive = Histograms((0,), np.zeros(size.size + 1, np.int64), none.astype(np.int32), none)
    table = FrequencyTable(codes, size, np.repeat(classes, size), sensitive)
    return Recoding(table, classes, size, cells)
