"""The workspace: all that one user has opened, chosen and run.

There is one per studio and it lives on the server, so a page that is reloaded finds everything where it was,
and two tabs look at the same things. Pages change it only from the event loop, one after the other, and draw
themselves anew when another page has changed it (`StudioWorkspace.version`).
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import ALGORITHMS
from shoal.assessment.risks import ProposedColumn
from shoal.assessment.risks.personal import Role
from shoal.assessment.risks.roles import choose_group, choose_person, propose_role
from shoal.errors import InputError, RecipeError, ShoalError, quote
from shoal.privacy import MODELS, Counts, Measures, Model, measure_classes
from shoal.privacy.people import read_people
from shoal.recipes.recipe import Recipe
from shoal.recipes.settings import ROLES, list_form_settings
from shoal.studio.private import make_folder
from shoal.studio.profile import ColumnProfile, profile_column
from shoal.studio.running import TAKEN, Run
from shoal.studio.uploads import LIMIT, Uploads
from shoal.support.parameters import build_entry, byte_count, describe_parameters, name_of
from shoal.table import Column, ColumnType, ReadOptions, Table, read_table
from shoal.table.hierarchies import Hierarchy
from shoal.table.samples import write_sample
from shoal.verification.verifier import count_classes

T = TypeVar("T")

STEPS = ("open", "describe", "goal", "run", "explore", "release")


@dataclass(frozen=True, slots=True, eq=False)
class SourceTable:
    """A table that was opened, and the file it came from."""

    path: Path
    name: str
    """What the user calls the file; a recipe names it so."""
    table: Table
    reading: ReadOptions
    sample: bool = False
    """Whether it is a sample, whose people do not exist."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.table.rows


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """What the user says of a column."""

    role: Role
    type: ColumnType | None = None
    """None leaves it to be inferred."""
    order: tuple[str, ...] = ()
    """The values of an ordered column, in order."""
    weight: float = 1.0
    fold: bool = True
    """Whether spellings of one sensitive value count as one."""


@dataclass(frozen=True, slots=True)
class ComponentSettings:
    """A model or an algorithm by name, with the parameters that were said, as text or values."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def build_model(self) -> Model:
        """The privacy model."""
        made: Model = build_entry("privacy model", MODELS, self.name, self.values)
        return made


@dataclass(frozen=True, slots=True)
class GoalSettings:
    """What must hold, and how it is searched for."""

    preset: str = "careful"
    """The preset that the models came from; empty where the user made their own."""
    models: tuple[ComponentSettings, ...] = ()
    algorithm: ComponentSettings = field(default_factory=lambda: ComponentSettings("auto"))
    suppress: float = 0.0
    strict: bool = False
    """Whether severe findings that nobody accepted keep a release from being made."""
    accept: Mapping[str, str] = field(default_factory=dict)
    """Findings that were accepted, by their id, with the reason."""
    form: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the form of the table of settings has, by name; those not named have their defaults."""

    def change_form(self, **values: Any) -> GoalSettings:
        """The same with other values in the form."""
        return replace(self, form={**self.form, **values})


@dataclass(frozen=True, slots=True, eq=False)
class CurrentMeasures:
    """What the table has as it is, by the columns that were chosen."""

    measures: Measures
    sizes: NDArray[np.integer]
    """Rows per class."""

    def compute_share_below(self, k: int) -> float:
        """Share of the rows that look like fewer than k."""
        return float(self.sizes[self.sizes < k].sum() / max(self.sizes.sum(), 1))


class StudioWorkspace:
    """One user's work."""

    def __init__(self, limit: int = byte_count("uploads", LIMIT)) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="shoal-studio-"))
        self.uploads = Uploads(self.folder / "uploads", limit)
        make_folder(self.folder / "runs")
        self.source: SourceTable | None = None
        self.profiles: dict[str, ColumnProfile] = {}
        self.proposals: dict[str, ProposedColumn] = {}
        """What `suggest_roles` takes each column for; empty until the columns are described."""
        self.choices: dict[str, ColumnChoice] = {}
        self.trees: dict[str, Hierarchy] = {}
        """Hierarchies by column."""
        self.others: dict[str, Path] = {}
        """Further tables that were uploaded, such as a population, by the name that a recipe has for them."""
        self.goal = GoalSettings()
        self.unfolded = False
        """Whether the advanced settings are shown."""
        self.runs: list[Run] = []
        self.shown: int | None = None
        """The number of the run that is explored and released."""
        self.looks: dict[str, Any] = {}
        """How the user likes things to be shown, by what a step calls them."""
        self.step = "open"
        self.dark: bool | None = None
        """The theme; None follows the system."""
        self.busy = ""
        """What the user waits for before a table is open."""
        self.failure = ""
        """Why a table could not be opened."""
        self.version = 0
        self.counted = 0
        """How much of what takes long has been done."""
        self._under_way: set[str] = set()  # names of what threads are doing
        self._opened = 0  # tables so far; part of the folder of a run
        # By all that the answer depends on, so that going back to an earlier choice counts
        # nothing.
        self._now: dict[tuple[object, ...], CurrentMeasures | str] = {}
        self._own: dict[str, int] = {}  # changes that each page made itself, by its id

    # What was changed by whom.

    def record_change(self, page: str) -> None:
        """Remember that a page, by its id, has changed something."""
        self.version += 1
        self._own[page] = self._own.get(page, 0) + 1

    def count_foreign_changes(self, page: str) -> int:
        """How many changes other pages have made; a page draws itself anew when this grows."""
        return self.version - self._own.get(page, 0)

    async def run_once(
        self, what: str, work: Callable[[], T], use: Callable[[T], object], quiet: bool = False
    ) -> None:
        """Do something that takes long in a thread; pages draw themselves anew when it is used.

        Nothing is done twice at a time, and nothing is used once another table is open. If it is ``quiet``,
        pages draw only what waits for it (`Page.on_counted`).
        """
        if what in self._under_way:
            return
        # Compared when the work is done: another table may be open by then.
        source = self.source
        self._under_way.add(what)
        try:
            found = await asyncio.to_thread(work)
        except ShoalError as error:
            if self.source is source:  # files of a table that was closed are gone
                self.failure = str(error)
        else:
            if self.source is source:
                use(found)
        finally:
            self._under_way.discard(what)
            self.counted += 1
            if not quiet:
                self.record_change("")

    # Opening.

    def make_sample(self, rows: int | None = None) -> Path:
        """Make the sample."""
        path = self.uploads.reserve_file("hospital.csv")
        write_sample("hospital", path, rows)
        return path

    def load_table(self, path: Path, reading: ReadOptions | None = None, sample: bool = False) -> SourceTable:
        """Read a file; nothing of the workspace changes. May take long, so it has a thread of its own."""
        options = reading or ReadOptions()
        try:
            return SourceTable(path, safe_name(path.name), read_table(path, options), options, sample)
        except InputError as error:  # the folder of an upload is not the user's
            raise InputError(str(error).replace(f"{path.parent}/", "")) from error

    def use_source(self, source: SourceTable) -> None:
        """Begin with another table, or with the same one read in another way; earlier uploads are removed."""
        self._reset_table(source)
        self.uploads.keep_only([source.path])

    def close_table(self) -> None:
        """Close the table, and remove what was uploaded and made for it."""
        self._reset_table(None)
        self.uploads.keep_only([])

    def discard_file(self, path: Path) -> None:
        """Remove a file that could not be opened, unless it is that of the table that is open."""
        if self.source is None or self.source.path != path:
            self.uploads.remove_file(path)

    def _reset_table(self, source: SourceTable | None) -> None:
        """Begin with a table or without one; runs of the table before are given up."""
        self._opened += 1  # runs get new folders
        runs, self.runs = self.runs, []
        for run in runs:
            run.cancel()
        # A process that was killed may take a moment to end, and the page need not wait for that.
        threading.Thread(target=_remove_runs, args=(runs,), daemon=True).start()
        self.source, self.profiles, self.proposals = source, {}, {}
        self.busy = self.failure = ""
        self.choices, self.trees, self._now = {}, {}, {}
        self.goal, self.shown, self.others = GoalSettings(), None, {}

    def add_table(self, path: Path) -> None:
        """Take a further table; an earlier one of its name is removed, unless a run was made with it."""
        earlier = self.others.get(path.name)
        self.others[path.name] = path
        if earlier is not None and not any(earlier in run.tables.values() for run in self.runs):
            self.uploads.remove_file(earlier)

    def name_of_other(self, name: str) -> str:
        """What a further table is called, so that a recipe does not take it for the first."""
        safe = safe_name(name)
        return f"other-{safe}" if self.source is not None and safe == self.source.name else safe

    def profile_columns(self, source: SourceTable) -> dict[str, ColumnProfile]:
        """Look at every column. May take long."""
        return {name: profile_column(source.table, name) for name in source.table.names}

    # Describing.

    def suggest_roles(
        self, source: SourceTable, profiles: Mapping[str, ColumnProfile]
    ) -> dict[str, ProposedColumn]:
        """What each column is taken for, and why. May take long."""
        found = [propose_role(source.table, each.alone) for each in profiles.values()]
        return {each.name: each for each in choose_group(choose_person(found, source.table.rows))}

    def prefill_choices(self, proposals: dict[str, ProposedColumn]) -> None:
        """Choose what is proposed."""
        self.proposals = proposals
        self.choices = {
            name: ColumnChoice(each.role, each.type if each.state_type else None)
            for name, each in proposals.items()
        }

    def change_choice(self, column: str, **what: Any) -> None:
        """Change what is said of a column; a page of another table may still be open, and is not heard."""
        if column not in self.choices:
            return
        self.choices[column] = replace(self.choices[column], **what)
        if self.choices[column].role not in ("quasi", "sensitive"):
            self.trees.pop(column, None)  # a recipe takes hierarchies for these roles only

    def of_role(self, role: str) -> tuple[str, ...]:
        """The columns with a role, in the order of the table."""
        return tuple(name for name, choice in self.choices.items() if choice.role == role)

    def type_of(self, column: str) -> ColumnType:
        """The type that was said, or else found."""
        return self.choices[column].type or self.profiles[column].type

    def build_column(self, name: str) -> Column:
        """What is known of a column beyond its values."""
        choice = self.choices[name]
        na = () if self.source is None else self.source.reading.na
        order = choice.order if choice.type == "ordered" and choice.order else None
        return Column(name, choice.type, order, self.trees.get(name), na, choice.fold)

    def list_folded(self) -> tuple[str, ...] | None:
        """Sensitive columns whose spellings of one value count as one; None if all do."""
        sensitive = self.of_role("sensitive")
        folded = tuple(name for name in sensitive if self.choices[name].fold)
        return None if folded == sensitive else folded

    # The goal.

    def get_current_measures(self) -> CurrentMeasures | str | None:
        """What the table has as it is, by what is chosen, or why that cannot be said; None if not counted."""
        return self._now.get(self._build_cache_key())

    def make_current_counter(self) -> Callable[[], None]:
        """What counts that: it may take long, has a thread, and must not look at what changes meanwhile."""
        # Opening a table replaces `_now`: a late answer goes to the old one, which nobody reads.
        source, question, answers = self.source, self._build_cache_key(), self._now
        quasi, sensitive, whose = self.of_role("quasi"), self.of_role("sensitive"), self.of_role("person")
        known = {name: self.build_column(name) for name in sensitive}

        def count_current() -> None:
            if source is None or not quasi:
                return
            try:
                person = read_people(source.table, next(iter(whose), None))
                counts: Counts = count_classes(source.table, quasi, sensitive, known, person=person)
                answers[question] = CurrentMeasures(measure_classes(counts), counts.size)
            except ShoalError as error:
                answers[question] = str(error)

        return count_current

    def _build_cache_key(self) -> tuple[object, ...]:
        """All that the answer depends on."""
        said = tuple((name, self.choices[name]) for name in self.of_role("sensitive"))
        return self.of_role("quasi"), self.of_role("person"), said

    # Running.

    def build_recipe(self, goal: GoalSettings | None = None) -> Recipe:
        """The recipe of what is chosen, or with another goal; the same that the command line builds.

        Raises
        ------
        RecipeError
            When something is missing or contradicts itself.
        """
        source, goal = self.source, goal or self.goal
        if source is None:
            raise RecipeError("no table is open: choose one first")
        roles = {role: self.of_role(role) for role in ROLES}
        quasi = roles["quasi"]
        kept = (*quasi, *roles["sensitive"])
        if strange := [name for name in self.trees if name not in kept]:
            raise RecipeError(f"a hierarchy is given for {quote(strange)}, which is not generalised")
        return Recipe(
            quasi=quasi,
            sensitive=roles["sensitive"],
            identifier=roles["identifier"],
            plain=roles["plain"],
            person=_choose_person(self.of_role("person")),
            models=tuple(chosen.build_model() for chosen in goal.models),
            input=source.name,
            output=released_name(source.name),
            reading=source.reading,
            types={name: each.type for name, each in self.choices.items() if each.type is not None},
            orders={name: each.order for name, each in self.choices.items() if each.type == "ordered"},
            trees=dict(self.trees),
            algorithm=build_entry("algorithm", ALGORITHMS, goal.algorithm.name, goal.algorithm.values),
            weights={n: self.choices[n].weight for n in quasi if self.choices[n].weight != 1},
            suppress=goal.suppress,
            fold=self.list_folded(),
            strict=goal.strict,
            accept=dict(goal.accept),
            **complete_path(goal.form),
        )

    def start_run(self, goal: GoalSettings | None = None) -> Run:
        """Start a run of what is chosen, or with another goal; it waits for the run before."""
        recipe, source = self.build_recipe(goal), self.source
        assert source is not None
        number = len(self.runs) + 1
        folder = self.folder / "runs" / f"{self._opened}-{number}"
        run = Run(number, recipe, folder, after=self.runs[-1] if self.runs else None)
        run.start({source.name: source.path, **self.others})
        self.runs.append(run)
        return run

    def adopt_settings(self, run: Run) -> None:
        """Choose what a run was made with."""
        recipe = run.recipe
        for name in self.choices:
            role = next((role for role in ROLES if name in getattr(recipe, role)), "plain")
            role = "person" if name == recipe.person else role
            order, weight = recipe.orders.get(name, ()), float(recipe.weights.get(name, 1.0))
            fold = recipe.fold is None or role != "sensitive" or name in recipe.fold
            self.choices[name] = ColumnChoice(role, recipe.types.get(name), tuple(order), weight, fold)  # type: ignore[arg-type]
        self.trees = dict(recipe.trees)
        algorithm = name_of(ALGORITHMS, recipe.algorithm)
        self.goal = GoalSettings(
            preset="",
            models=tuple(
                ComponentSettings(name_of(MODELS, model), _to_form_values(describe_parameters(model)))
                for model in recipe.models
            ),
            algorithm=ComponentSettings(algorithm, describe_parameters(recipe.algorithm)),
            suppress=recipe.suppress,
            strict=recipe.strict,
            accept=dict(recipe.accept),
            form={each.name: getattr(recipe, each.name) for each in list_form_settings()},
        )

    def record_decision(self, run: Run, finding: str, reason: str) -> None:
        """Accept a finding of a run for a reason, or no longer where that is empty; later runs do so, too."""
        run.record_decision(finding, reason)
        others = {name: why for name, why in self.goal.accept.items() if name != finding}
        self.goal = replace(self.goal, accept=others | ({finding: reason} if reason else {}))

    def find_run(self, number: int | None = None) -> Run | None:
        """A run by its number; that which is shown, or else the last that is done."""
        number = self.shown if number is None else number
        found = [run for run in self.runs if run.number == number]
        done = [run for run in self.runs if run.state == "done"]
        return found[0] if found else done[-1] if done else None

    # The end.

    def close(self) -> None:
        """End all runs and remove all files."""
        for run in self.runs:
            run.cancel()  # all of them first, so that they end at the same time
        for run in self.runs:
            run.wait_for_exit()
        shutil.rmtree(self.folder, ignore_errors=True)


def _remove_runs(runs: Sequence[Run]) -> None:
    for run in runs:
        run.wait_for_exit()
        shutil.rmtree(run.folder, ignore_errors=True)


def _to_form_values(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a form shows them."""
    return {key: v if isinstance(v, bool | int | float | str) else str(v) for key, v in parameters.items()}


def safe_name(name: str) -> str:
    """A name of a file that stays in its folder, whatever was sent."""
    # The end of a long name, which has the suffix; file systems take 255 bytes. Without leading
    # dots it is neither hidden nor a folder.
    short = re.sub(r"[\x00-\x1f/\\]", "_", name)[-120:].encode("utf-8", "ignore")[-200:]
    plain = short.decode("utf-8", "ignore").strip().lstrip(".") or "table.csv"
    return f"table-{plain}" if plain in TAKEN else plain  # or it would replace a file of the run


def released_name(name: str) -> str:
    """What the release of a file is called; text, unless the file is typed as well."""
    path = Path(name)
    inner = path.with_suffix("") if path.suffix.lower() in (".gz", ".zst") else path
    suffix = inner.suffix.lower() if inner.suffix.lower() in (".tsv", ".parquet") else ".csv"
    return f"{inner.stem}-released{suffix}"


def complete_path(form: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the form, with the whole path of a key file: a run must not keep it among its own files."""
    path = form.get("key_file")
    return {**form, **({"key_file": str(Path(path).expanduser().absolute())} if path else {})}


def _choose_person(names: tuple[str, ...]) -> str | None:
    """The one column that says whose row it is, if any does."""
    if len(names) > 1:
        raise RecipeError(f"{quote(names)} cannot all say whose row it is: choose one of them")
    return names[0] if names else None
