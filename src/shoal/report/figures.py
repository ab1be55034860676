"""The figures of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, RecipeError
from shoal.support.arithmetic import log10
from shoal.support.pickling import PartlyPickled
from shoal.support.progress import measure_gap
from shoal.support.warning_codes import find_warning_code
from shoal.verification.findings import Finding
from shoal.verification.verifier import Verdict

if TYPE_CHECKING:
    from shoal.report.statistics import Evidence

NO_PAGE = "a page is about quasi-identifiers other than sets, and there are none: take the JSON instead"
NO_EXCERPT = "safepub tells nothing of the table but the release: there are no rows for an excerpt"


@dataclass(frozen=True, slots=True)
class SetFigures:
    """What became of the items of a column of sets."""

    items: int
    """Items of the table, of every person each once."""
    generalised: int
    """Those that were released as a group."""
    left_out: int
    released_values: int
    """Different items and groups in the release."""
    ncp: float
    """The mean width over all items; one that was left out counts 1."""


@dataclass(frozen=True, slots=True)
class TableFigures:
    """What became of one of several tables."""

    rows: int
    dropped_rows: int
    """Rows with missing values, or of nobody who is known, where the recipe said to drop them."""
    left_out: int
    """Rows that were not released to keep the goal; each counts as all of its detail."""
    released_rows: int
    people: int
    """People with rows in the released table."""
    people_left_out: int
    """People all of whose rows in this table were left out."""
    ncp: float
    """Mean loss of its quasi-identifiers, over its rows."""


@dataclass(frozen=True, slots=True)
class Report(PartlyPickled):
    """What a run did and what the verifier found."""

    rows: int | None
    """Rows of the input; None, as the next two, where only the release may be told of (safepub)."""
    dropped_rows: int | None
    """Rows left out because a value was missing and the recipe said to drop them."""
    suppressed_rows: int | None
    released_rows: int
    classes: int
    smallest_class: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    identifier: tuple[str, ...]
    """Columns left out of the release."""
    models: tuple[Verdict, ...]
    algorithm: Mapping[str, Any]
    """Its name and parameters."""
    loss: Mapping[str, Any]
    """The loss that was asked for: its name, value, and value per column where it has one."""
    ncp: float
    """Normalised certainty penalty, from 0 to 1, all columns alike."""
    columns: Mapping[str, Mapping[str, Any]]
    """Per quasi-identifier: type, kind, distinct values, ncp."""
    seed: int | None
    """None where chance came from the operating system, and nobody knows it."""
    nodes: int | None = None
    """States that the search looked at."""
    cuts: int | None = None
    """How often it cut off states unseen because none of them could be of use."""
    optimal: bool | None = None
    """Whether the loss is proved to be the least possible; None where nothing is claimed."""
    lower_bound: float | None = None
    solutions: int | None = None
    """How many tables share the least loss; None if they were not counted."""
    search_space: float | None = None
    """How many tables there were to choose from; None where that is too large for a float."""
    search_space_log10: float | None = None
    history: tuple[tuple[float, float], ...] = ()
    """Best and mean loss after each generation, where the search was an evolution."""
    tried: tuple[tuple[str, float], ...] = ()
    """Ways of searching or level vectors that were compared, by name, and what each of them lost."""
    levels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Per quasi-identifier the level that all its values go to and the highest there is, where all do."""
    states: Mapping[str, int] = field(default_factory=dict)
    """How many level vectors were looked at, ruled out or left open."""
    findings: tuple[Finding, ...] = ()
    """What the release as a whole gives away, the most severe first."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    output: str | None = None
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    """The table and the release, from which `to_html` draws; None once they are let go."""
    people: int | None = None
    """People in the release, where they were counted instead of rows; ``smallest_class`` is then theirs."""
    sets: Mapping[str, SetFigures] = field(default_factory=dict)
    """By column of sets, what became of its items; ``smallest_class`` is then the fewest people whom anybody
    finds who knows as many items as the goal says."""
    people_left_out: int | None = None
    """People none of whose rows are in the release, where people were counted; with event tables, people who
    had events, and none of them is released."""
    tables: Mapping[str, TableFigures] = field(default_factory=dict)
    """By table, where several were released together, the first being that of the people. Other figures are
    about all of them; ``ncp`` is the mean over all columns, each over the rows of its table."""

    curve: tuple[tuple[float, float], ...] = ()
    """Where classes were refined: seconds of the budget that were used up, and the mean width of a cell, from
    0 to 1, at the start and after each sweep."""

    weighted_loss: float | None = None
    """The loss that was asked for, as if every row were there as often as its survey weight says; None where
    no weights were named."""

    def _collect_kept_state(self) -> dict[str, Any]:
        """What is kept when a report is pickled or copied: its figures, not the rows that they are of."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"evidence": None}

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """Findings of high severity that nobody has accepted."""
        return tuple(finding for finding in self.findings if finding.is_open)

    @property
    def released_only(self) -> bool:
        """Whether it tells of the release and of nothing else (safepub)."""
        return self.rows is None

    @property
    def reduction_log10(self) -> float | None:
        """Decimal logarithm of how many times fewer states were looked at than there are tables."""
        if self.search_space_log10 is None or not self.nodes:
            return None
        return self.search_space_log10 - log10(self.nodes)

    @property
    def bound(self) -> float | None:
        """What no release loses less than that keeps the goal; None where nothing was proved."""
        return self.lower_bound

    @property
    def gap(self) -> float | None:
        """How far the loss may be above the least, as a share of it; None without a lower bound."""
        return None if self.lower_bound is None else measure_gap(self.loss["value"], self.lower_bound)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        # Without the evidence: asdict would copy the whole table.
        plain = asdict(replace(self, evidence=None)) | {
            "bound": self.bound,
            "gap": self.gap,
            "reduction_log10": self.reduction_log10,
        }
        # Lists, as JSON has them; asdict keeps tuples.
        for name in ("quasi", "sensitive", "identifier", "warnings", "notes"):
            plain[name] = list(plain[name])
        plain["warning_codes"] = [find_warning_code(text) for text in self.warnings]
        plain["tried"] = [{"name": name, "lost": lost} for name, lost in self.tried]
        plain["models"] = [model.to_dict() for model in self.models]
        plain["findings"] = [finding.to_dict() for finding in self.findings]
        del plain["evidence"]
        if self.people is None:
            del plain["people"]
        for name in ("sets", "tables"):
            if not getattr(self, name):
                del plain[name]
        for name in ("people_left_out", "weighted_loss"):
            if getattr(self, name) is None:
                del plain[name]
        return plain

    def to_html(self, path: str | Path, excerpt: bool = False) -> None:
        """Write the report as one HTML file, which needs nothing from elsewhere.

        Parameters
        ----------
        excerpt : bool
            Show a few rows as they were beside what they became. Identifiers are never shown. With safepub
            nothing of the table is kept to be shown.
        """
        from shoal.report.page import write_page  # noqa: PLC0415  draws, and so needs this class

        if self.evidence is None:
            raise InputError("this report was kept without its table, so that no page can be drawn from it")
        if not self.quasi:
            raise RecipeError(NO_PAGE)
        if excerpt and self.released_only:
            raise RecipeError(NO_EXCERPT)
        write_page(self, self.evidence, Path(path), excerpt)

    def _repr_html_(self) -> str:
        """In notebooks: what was promised, what was found and what it cost."""
        from shoal.report.page import draw_fragment  # noqa: PLC0415

        return draw_fragment(self)
