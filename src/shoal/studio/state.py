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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import ALGORITHMS
from shoal.assessment.risks import ProposedColumn
from shoal.assessment.risks.roles import GROUP, choose_group, choose_person, propose_role
from shoal.assessment.risks.suggestion import find_equivalent_columns, find_missing_markers
from shoal.engines.checks import check_names
from shoal.errors import InputError, RecipeError, ShoalError, quote
from shoal.privacy import MODELS, Counts, KAnonymity, Measures, Model, measure_classes, move_population
from shoal.privacy.people import read_people
from shoal.recipes.event_tables import name_table, select_columns, select_table, split_column
from shoal.recipes.recipe import Recipe
from shoal.recipes.settings import ROLES, list_form_settings
from shoal.studio.contributions import ColumnContribution, measure_contributions
from shoal.studio.event_tables import EventTable, EventTables, check_owners, load_event_table
from shoal.studio.keys import KEY, SecretKeys
from shoal.studio.private import make_folder
from shoal.studio.profile import ColumnProfile, profile_column
from shoal.studio.running import TAKEN, Run
from shoal.studio.uploads import LIMIT, Uploads
from shoal.studio.words import list_changes
from shoal.studio.worker import RELEASE
from shoal.support.language import current_language
from shoal.support.language import translate as _
from shoal.support.parameters import build_entry, byte_count, describe_parameters, name_of
from shoal.table import Column, ColumnType, ReadOptions, Table, read_table
from shoal.table.formats import detect_format
from shoal.table.hierarchies import Hierarchy
from shoal.table.hierarchies.ready import is_ready
from shoal.table.hierarchies.sources import read_source
from shoal.table.readers import list_sheets
from shoal.table.samples import write_sample
from shoal.table.sets import split_sets
from shoal.verification.verifier import count_classes

if TYPE_CHECKING:
    from shoal.studio.tradeoff import Tradeoff

T = TypeVar("T")

ChosenRole: TypeAlias = Literal["quasi", "set", "sensitive", "identifier", "person", "plain"]
"""Roles of columns: those of a recipe, and those of columns that it names by themselves."""
GROUPED = ("quasi", "set", "sensitive")
"""Roles of columns that may have a hierarchy."""
_WHOLE = "\0whole"  # no column has such a name
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

    role: ChosenRole
    type: ColumnType | None = None
    """None leaves it to be inferred."""
    order: tuple[str, ...] = ()
    """The values of an ordered column, in order."""
    weight: float = 1.0
    fold: bool = True
    """Whether spellings of one sensitive value count as one."""
    separator: str = "|"
    """What separates the items of a column of sets."""


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
    whole: Counts
    """All rows as one class: what a goal can reach at most."""

    def compute_share_below(self, k: int) -> float:
        """Share of the rows that look like fewer than k."""
        return float(self.sizes[self.sizes < k].sum() / max(self.sizes.sum(), 1))


class TableProposal(NamedTuple):
    """What the columns of a table are taken for, and what else is seen in them."""

    columns: dict[str, ProposedColumn]
    equivalent: tuple[tuple[str, str], ...]
    """Columns that always go together."""
    markers: Mapping[str, Sequence[str]]
    """Texts that look like missing values, by column."""


class StudioWorkspace:
    """One user's work."""

    hand_over: Callable[[Path], object] | None = None
    """What takes the folder of a run whose release a program waits for; None if none does."""
    language: str | None = None
    """What pages are written in; None until the first browser said what it prefers."""
    tradeoff: Tradeoff | None = None
    """The curve of what the goal costs that was drawn last."""
    curves = 0
    """How many were begun."""

    def __init__(self, limit: int = byte_count("uploads", LIMIT)) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="shoal-studio-"))
        self.uploads = Uploads(self.folder / "uploads", limit)
        make_folder(self.folder / "runs")
        self.keys = SecretKeys(self.folder / "keys")
        self.source: SourceTable | None = None
        self.profiles: dict[str, ColumnProfile] = {}
        self.proposals: dict[str, ProposedColumn] = {}
        """What `suggest_roles` takes each column for; empty until the columns are described."""
        self.equivalent: tuple[tuple[str, str], ...] = ()
        self.markers: Mapping[str, Sequence[str]] = {}
        """What `TableProposal` has beside the columns."""
        self.choices: dict[str, ColumnChoice] = {}
        self.type_problems: dict[str, str] = {}
        """Why the values of a column are not of the type that was said, by column."""
        self.trees: dict[str, Hierarchy] = {}
        """Hierarchies by column."""
        self.others: dict[str, Path] = {}
        """Further tables that were uploaded, such as a population, by the name that a recipe has for them."""
        self.further = EventTables()
        self.waiting: Recipe | None = None
        """A recipe that was uploaded, for columns that are not described yet."""
        self.taken = ""
        """The name of the recipe that was uploaded last."""
        self.left_behind: list[str] = []
        """Files with hierarchies that this recipe names, and the studio does not read by itself."""
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
        self.opened = 0  # tables so far; part of the folder of a run
        self._started = 0  # runs so far, deleted ones too
        # By all that the answer depends on, so that going back to an earlier choice counts
        # nothing.
        self._now: dict[tuple[object, ...], CurrentMeasures | str] = {}
        self._added: dict[tuple[object, ...], Mapping[str, ColumnContribution]] = {}
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

    def make_sample(self, name: str = "hospital", rows: int | None = None) -> Path:
        """Make a sample."""
        path = self.uploads.reserve_file(f"{name}.csv")
        write_sample(name, path, rows)
        return path

    def load_table(self, path: Path, reading: ReadOptions | None = None, sample: bool = False) -> SourceTable:
        """Read a file; nothing of the workspace changes. May take long, so it has a thread of its own."""
        options = reading or (ReadOptions() if self.waiting is None else self.waiting.reading)
        try:
            options = _choose_sheet(path, options) if reading is None else options
            return SourceTable(path, safe_name(path.name), read_table(path, options), options, sample)
        except InputError as error:  # the folder of an upload is not the user's
            raise InputError(str(error).replace(f"{path.parent}/", "")) from error

    def use_source(self, source: SourceTable) -> None:
        """Begin with another table, or with the same one read in another way; earlier uploads are removed."""
        self._reset_table(source)
        self.uploads.keep_only([source.path])

    def close_table(self) -> None:
        """Close the table, and remove what was uploaded and made for it."""
        self.waiting, self.taken = None, ""
        self._reset_table(None)
        self.uploads.keep_only([])

    def discard_file(self, path: Path) -> None:
        """Remove a file that could not be opened, unless it is that of the table that is open."""
        if self.source is None or self.source.path != path:
            self.uploads.remove_file(path)

    def _reset_table(self, source: SourceTable | None) -> None:
        """Begin with a table or without one; runs of the table before are given up."""
        self.stop_curve()
        self.opened += 1  # runs get new folders
        self._started = 0
        runs, self.runs = self.runs, []
        for run in runs:
            run.cancel()
        # A process that was killed may take a moment to end, and the page need not wait for that.
        threading.Thread(target=_remove_runs, args=(runs,), daemon=True).start()
        self.source, self.profiles, self.proposals = source, {}, {}
        self.busy = self.failure = ""
        self.choices, self.trees, self._now, self._added = {}, {}, {}, {}
        self.type_problems, self.left_behind = {}, []
        self.goal, self.shown, self.others = GoalSettings(), None, {}
        for events in (self.events, *self.further.of_runs.values()):
            for each in events.values():
                self.uploads.remove_file(each.path)
        self.further = EventTables()
        self.keys.forget_key()  # or pseudonyms of two tables could be joined without anybody's wish

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

    # Further tables about the same people.

    @property
    def events(self) -> dict[str, EventTable]:
        """Those tables by name."""
        return self.further.tables

    def load_events(self, path: Path) -> EventTable:
        """Read a further table about the same people; nothing of the workspace changes. May take long."""
        person = _choose_person(self.of_role("person"))
        if self.source is None or person is None:
            raise RecipeError("say first, of the table of people, which column says whose row it is")
        source, wanted = self.source, self.further.wanted
        made = load_event_table(path, person, source.table, source.reading, wanted)
        if made.name == name_table(self.source.name):
            raise InputError(f"{made.file} is called like the table of people: rename the file")
        return made

    def add_events(self, made: EventTable) -> None:
        """Take a further table, in place of an earlier one of its name; its roles are those suggested."""
        self.remove_events(made.name)
        self.events[made.name] = made
        self.further.failure = ""
        self.profiles |= made.profiles
        self.proposals |= made.proposals
        self.choices |= {name: _choose_proposed(each) for name, each in made.proposals.items()}
        if self.further.wanted is not None and made.name in self.further.wanted.events:
            self._adopt_events(self.further.wanted, made)

    def remove_events(self, name: str) -> None:
        """Take a further table away; its file stays while a run was made with it."""
        gone = self.events.pop(name, None)
        if gone is None:
            return
        for column in gone.profiles:
            for known in (self.profiles, self.proposals, self.choices, self.trees, self.type_problems):
                known.pop(column, None)
        if not any(gone in each.values() for each in self.further.of_runs.values()):
            self.uploads.remove_file(gone.path)

    def list_missing_events(self) -> list[str]:
        """Event tables that the recipe names that was uploaded, and nobody has brought along yet."""
        wanted = {} if self.further.wanted is None else self.further.wanted.events
        return [Path(path or name).name for name, path in wanted.items() if name not in self.events]

    def is_join(self, column: str) -> bool:
        """Whether a column of an event table is the one that says whose row it is."""
        table, inside = split_column(self.events, column)
        return bool(table) and inside in self.choices and self.choices[inside].role == "person"

    def _adopt_events(self, recipe: Recipe, table: EventTable) -> None:
        """Choose for the columns of an event table what a recipe says of them."""
        named = set(table.profiles) - set(recipe.without_role(list(table.profiles)))
        self.choices |= {name: self._read_choice(recipe, name) for name in table.profiles if name in named}
        self.trees |= {name: tree for name, tree in recipe.trees.items() if name in table.profiles}

    def profile_columns(self, source: SourceTable) -> dict[str, ColumnProfile]:
        """Look at every column. May take long."""
        return {name: profile_column(source.table, name) for name in source.table.names}

    # Describing.

    def suggest_roles(self, source: SourceTable, profiles: Mapping[str, ColumnProfile]) -> TableProposal:
        """What each column is taken for, and why. May take long."""
        table, alone = source.table, [each.alone for each in profiles.values()]
        found = choose_group(choose_person([propose_role(table, each) for each in alone], table.rows))
        return TableProposal(
            {each.name: each for each in found},
            tuple(find_equivalent_columns(table, alone)),
            find_missing_markers(table, found),
        )

    def prefill_choices(self, proposal: TableProposal) -> None:
        """Choose what is proposed."""
        self.proposals = proposals = proposal.columns
        self.equivalent, self.markers = proposal.equivalent, proposal.markers
        self.choices = {name: _choose_proposed(each) for name, each in proposals.items()}
        group = next((each.name for each in proposals.values() if each.kind == GROUP), None)
        if group is not None:
            self.goal = self.goal.change_form(group=group)
        self._adopt_waiting()

    def change_choice(self, column: str, **what: Any) -> None:
        """Change what is said of a column; a page of another table may still be open, and is not heard."""
        if column not in self.choices:
            return
        self.choices[column] = replace(self.choices[column], **what)
        if self.choices[column].role not in GROUPED or "separator" in what:
            self.trees.pop(column, None)  # a recipe takes hierarchies for these roles only
        if self.choices[column].role != "identifier" and self.goal.form.get("group") == column:
            self.goal = self.goal.change_form(group=None)  # what is released cannot be a household

    def of_role(self, role: str) -> tuple[str, ...]:
        """The columns with a role, in the order of the tables."""
        return tuple(
            name for name, choice in self.choices.items() if choice.role == role and not self.is_join(name)
        )

    def list_own(self, role: str) -> tuple[str, ...]:
        """The columns with a role in the table of people, or in the only one."""
        return select_columns(self.events, "", self.of_role(role))

    def type_of(self, column: str) -> ColumnType:
        """The type that was said, or else found."""
        return self.choices[column].type or self.profiles[column].type

    def build_column(self, name: str) -> Column:
        """What is known of a column beyond its values."""
        choice = self.choices[name]
        na = () if self.source is None else self.source.reading.na
        order = choice.order if choice.type == "ordered" and choice.order else None
        return Column(name, choice.type, order, self.trees.get(name), na, choice.fold)

    def list_sets(self) -> dict[str, str]:
        """The columns of sets, with what separates their items."""
        return {name: self.choices[name].separator for name in self.of_role("set")}

    def select_values(self, column: str) -> Table:
        """A table that has the values of a column by its name: the items, if the column is one of sets."""
        assert self.source is not None
        of_events, _ = split_column(self.events, column)
        table = self.events[of_events].rename_columns() if of_events else self.source.table
        if column not in self.of_role("set"):
            return table
        items, _ = split_sets(table.column(column), self.choices[column].separator)
        return read_table(pl.DataFrame({column: items}), may_be_empty=True)

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
        quasi, sensitive, whose = self.list_own("quasi"), self.list_own("sensitive"), self.of_role("person")
        events, missing = tuple(self.events.values()), self.goal.form.get("missing")
        known = {name: self.build_column(name) for name in sensitive}

        def count_current() -> None:
            if source is None or not quasi:
                return
            try:
                if events and whose:
                    told = {} if missing is None else {"missing": missing}
                    recipe = Recipe(quasi=quasi, person=whose[0], models=(KAnonymity(2),), **told)
                    check_owners(recipe, source.table, events)
                person = read_people(source.table, next(iter(whose), None))
                counts: Counts = count_classes(source.table, quasi, sensitive, known, person=person)
                whole = _count_whole(source.table, sensitive, known, person)
                answers[question] = CurrentMeasures(measure_classes(counts), counts.size, whole)
            except ShoalError as error:
                answers[question] = str(error)

        return count_current

    def get_contributions(self) -> Mapping[str, ColumnContribution] | None:
        """What each column of the table of people adds to the risk; None if not counted."""
        return self._added.get((self.list_own("quasi"), self.of_role("person")))

    def make_contribution_counter(self) -> Callable[[], None]:
        """What counts that, in a thread of its own."""
        source, quasi, whose, answers = (
            self.source,
            self.list_own("quasi"),
            self.of_role("person"),
            self._added,
        )

        def count_contributions() -> None:
            if source is not None:
                others = [name for name in source.table.names if name not in (*quasi, *whose)]
                person = read_people(source.table, next(iter(whose), None))
                answers[quasi, whose] = measure_contributions(source.table, quasi, others, person)

        return count_contributions

    def _build_cache_key(self) -> tuple[object, ...]:
        """All that the answer depends on."""
        said = tuple((name, self.choices[name]) for name in self.list_own("sensitive"))
        events = (*self.events.values(), self.goal.form.get("missing")) if self.events else ()
        return self.list_own("quasi"), self.of_role("person"), said, events

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
        sets = self.list_sets()
        kept = (*quasi, *sets, *roles["sensitive"])
        if strange := [name for name in self.trees if name not in kept]:
            raise RecipeError(f"a hierarchy is given for {quote(strange)}, which is not generalised")
        typed = {
            name: each for name, each in self.choices.items() if each.role != "set" and not self.is_join(name)
        }
        return Recipe(
            quasi=quasi,
            sensitive=roles["sensitive"],
            identifier=roles["identifier"],
            plain=roles["plain"],
            person=_choose_person(self.of_role("person")),
            models=tuple(chosen.build_model() for chosen in goal.models),
            input=source.name,
            output=RELEASE if self.events else released_name(source.name),
            events={name: each.file for name, each in self.events.items()},
            reading=source.reading,
            sets=sets,
            types={name: each.type for name, each in typed.items() if each.type is not None},
            orders={name: each.order for name, each in typed.items() if each.type == "ordered"},
            trees=dict(self.trees),
            algorithm=build_entry("algorithm", ALGORITHMS, goal.algorithm.name, goal.algorithm.values),
            weights={n: self.choices[n].weight for n in (*quasi, *sets) if self.choices[n].weight != 1},
            suppress=goal.suppress,
            fold=self.list_folded(),
            strict=goal.strict,
            language=current_language(),
            accept=dict(goal.accept),
            **self._list_form_values(goal),
        )

    def _list_form_values(self, goal: GoalSettings) -> dict[str, Any]:
        """Settings of the form, but for those about people where there is nothing to say about them."""
        person, sets = bool(self.of_role("person")), bool(self.of_role("set"))
        linked = person and bool(goal.form.get("pseudonym"))
        values = {**goal.form, "pseudonym": linked, "key_file": KEY if linked else None}
        if not (linked or sets):
            values["knows"] = "1"
        if not person:
            values |= {"relative": None, "group": None}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def is_linked(self) -> bool:
        """Whether the rows of a person stay together."""
        return bool(self.of_role("person") and self.goal.form.get("pseudonym"))

    @property
    def knows(self) -> str:
        """How many rows or items of a person somebody may know."""
        return str(self.goal.form.get("knows") or "1")

    @property
    def asks_sensitive(self) -> bool:
        """Whether a goal can be about sensitive values."""
        # Who finds one row or item of a person sees all: then there are no groups that could be mixed.
        apart = self.is_linked or bool(self.of_role("set"))
        return bool(self.of_role("sensitive")) and (not apart or self.knows == "all")

    def start_run(self, goal: GoalSettings | None = None) -> Run:
        """Start a run of what is chosen, or with another goal; it waits for the run before.

        A run that was made with the same settings is given back instead: its release has the same bytes.
        """
        recipe, source = self.build_recipe(goal), self.source
        assert source is not None
        self.stop_curve()  # which would compete with the run
        if (same := self._find_equal_run(recipe)) is not None:
            self.shown = same.number
            return same
        self._started += 1
        number = self._started
        folder = self.folder / "runs" / f"{self.opened}-{number}"
        run = Run(number, recipe, folder, after=self.runs[-1] if self.runs else None)
        run.start(self.list_tables(recipe))
        self.runs.append(run)
        self.further.of_runs[number] = dict(self.events)
        self.shown = None  # the last one, once it is done
        return run

    def list_tables(self, recipe: Recipe) -> dict[str, Path]:
        """The files that a recipe names."""
        assert self.source is not None
        key = {KEY: self.keys.make_key()} if recipe.pseudonym else {}
        events = {each.file: each.path for each in self.events.values()}
        return {self.source.name: self.source.path, **self.others, **events, **key}

    def _find_equal_run(self, recipe: Recipe) -> Run | None:
        """A run with the same settings and files that is not over, or done; None if there is none."""
        if recipe.uses_safepub:  # which draws another sample in every run
            return None
        tables = self.list_tables(recipe)
        going = (run for run in self.runs if run.state in ("waiting", "running", "done"))
        return next((run for run in going if run.recipe == recipe and run.tables == tables), None)

    def add_saved_runs(self, runs: Sequence[Run]) -> None:
        """Take runs of a project, in front of those that were made since; numbers go on after both."""
        taken = {run.number for run in self.runs}
        self.runs = [*(run for run in runs if run.number not in taken), *self.runs]
        self._started = max([self._started, *(run.number for run in runs)])

    def repeat_run(self, run: Run) -> Run:
        """Make a saved run again, in its place."""
        self.adopt_settings(run)
        self.runs = [each for each in self.runs if each is not run]
        made = self.start_run()
        made.name = made.name or run.name
        return made

    def delete_run(self, run: Run) -> None:
        """Give a run up, and remove its files."""
        run.cancel()
        self.runs = [each for each in self.runs if each is not run]
        self.shown = None if self.shown == run.number else self.shown
        threading.Thread(target=_remove_runs, args=([run],), daemon=True).start()

    def list_changes_since(self, run: Run) -> list[str]:
        """What is chosen otherwise than in a run, in words; nothing if that cannot be said."""
        try:
            now = self.build_recipe()
        except ShoalError:
            return [_("what is chosen now cannot be run")]
        return list(list_changes(run.recipe, now))

    def take_recipe(self, recipe: Recipe, name: str) -> None:
        """Choose what a recipe file says, for the table that is open, or else for the next.

        Raises
        ------
        RecipeError
            When it names columns that the table does not have.
        """
        self._check_columns(recipe)
        # Files are read only if they were uploaded, and then by their names.
        models = tuple(move_population(model, lambda path: Path(path).name) for model in recipe.models)
        self.waiting = replace(recipe, models=models)
        self.taken = name
        if self.choices:
            self._adopt_waiting()

    def _check_columns(self, recipe: Recipe) -> None:
        if self.source is not None:
            own = select_table(recipe, "") if recipe.events else recipe
            check_names(replace(own, others=recipe.others or "keep"), self.source.table)

    def _adopt_waiting(self) -> None:
        """Choose what the recipe says that waits for a table, if one does."""
        recipe, self.waiting = self.waiting, None
        if recipe is None:
            return
        unnamed = {name: self.choices[name] for name in recipe.without_role(list(self.choices))}
        trees = dict(self.trees)
        self.further.wanted = recipe if recipe.events else None
        self._adopt_recipe(recipe)
        if recipe.others is None:  # they keep what was suggested, so that nothing is released unseen
            self.choices |= unnamed
        self.trees = {name: tree for name, tree in trees.items() if self.choices[name].role in GROUPED}
        for each in recipe.hierarchies:
            column, _, source = each.rpartition("=")
            if is_ready(source) and column in self.choices:
                self.trees[column] = read_source(source, column)
            else:
                self.left_behind.append(each)
        self.trees |= {name: tree for name, tree in recipe.trees.items() if name in self.choices}

    def adopt_settings(self, run: Run) -> None:
        """Choose what a run was made with, and with which tables."""
        # The further tables of a saved run were not saved with it: those that are open are meant.
        usual = dict(self.events) if run.state == "saved" else {}
        wanted = self.further.of_runs.get(run.number, usual)
        for name in [name for name, each in self.events.items() if wanted.get(name) is not each]:
            self.remove_events(name)
        for each in wanted.values():
            if each.name not in self.events:
                self.add_events(each)
        self._adopt_recipe(run.recipe)

    def _adopt_recipe(self, recipe: Recipe) -> None:
        self.choices = {name: self._read_choice(recipe, name) for name in self.choices}
        self.trees = {name: tree for name, tree in recipe.trees.items() if name in self.choices}
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

    def _read_choice(self, recipe: Recipe, name: str) -> ColumnChoice:
        """What a recipe says of a column."""
        role = next((role for role in ROLES if name in getattr(recipe, role)), "plain")
        role = "person" if name == recipe.person else "set" if name in recipe.sets else role
        role = "identifier" if name == recipe.group else role
        order, weight = recipe.orders.get(name, ()), float(recipe.weights.get(name, 1.0))
        fold = recipe.fold is None or role != "sensitive" or name in recipe.fold
        return ColumnChoice(
            role,  # type: ignore[arg-type]
            recipe.types.get(name),
            tuple(order),
            weight,
            fold,
            recipe.sets.get(name, self.choices[name].separator),
        )

    def record_decision(self, run: Run, finding: str, reason: str) -> None:
        """Accept a finding of a run for a reason, or no longer where that is empty; later runs do so, too."""
        run.record_decision(finding, reason)
        others = {name: why for name, why in self.goal.accept.items() if name != finding}
        self.goal = replace(self.goal, accept=others | ({finding: reason} if reason else {}))

    def stop_curve(self) -> None:
        """Count no further losses of the curve that was drawn last."""
        if self.tradeoff is not None:
            self.tradeoff.cancel()
            self.tradeoff = None

    def find_run(self, number: int | None = None) -> Run | None:
        """A run by its number; that which is shown, or else the last that is done."""
        number = self.shown if number is None else number
        found = [run for run in self.runs if run.number == number]
        done = [run for run in self.runs if run.state == "done"]
        return found[0] if found else done[-1] if done else None

    def find_key(self, number: int) -> Path | None:
        """The key of the pseudonyms of a run, or with 0 of the next one; None if it has none."""
        if number == 0:
            return self.keys.make_key() if self.is_linked else None
        run = next((each for each in self.runs if each.number == number), None)
        return None if run is None else run.tables.get(KEY)

    # The end.

    def close(self) -> None:
        """End all runs and remove all files."""
        self.stop_curve()
        for run in self.runs:
            run.cancel()  # all of them first, so that they end at the same time
        for run in self.runs:
            run.wait_for_exit()
        shutil.rmtree(self.folder, ignore_errors=True)


def _choose_proposed(column: ProposedColumn) -> ColumnChoice:
    """What is chosen for a column until somebody says otherwise."""
    type = column.type if column.state_type else None
    return ColumnChoice(column.role, type, separator=column.separator or "|")


def _choose_sheet(path: Path, options: ReadOptions) -> ReadOptions:
    """Options with the first sheet of a workbook that has rows: its first may say what the others hold."""
    if options.sheet is not None or not path.is_file() or detect_format(path)[0] != "excel":
        return options
    for name in (None, *list_sheets(path)[1:]):
        try:
            read_table(path, replace(options, sheet=name))
        except InputError:
            continue
        return replace(options, sheet=name)
    return options


def _count_whole(
    table: Table, sensitive: Sequence[str], known: Mapping[str, Column], person: NDArray[np.int64] | None
) -> Counts:
    """The whole table as one class."""
    frame = table.frame.select(sensitive).with_columns(pl.lit("").alias(_WHOLE))
    if not sensitive:  # a constant has one row of its own
        frame = pl.DataFrame({_WHOLE: pl.repeat("", table.rows, eager=True)})
    return count_classes(replace(table, frame=frame), (_WHOLE,), sensitive, known, person=person)


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
    suffix = inner.suffix.lower() if inner.suffix.lower() in (".tsv", ".parquet", ".xlsx") else ".csv"
    return f"{inner.stem}-released{suffix}"


def _choose_person(names: tuple[str, ...]) -> str | None:
    """The one column that says whose row it is, if any does."""
    if len(names) > 1:
        raise RecipeError(f"{quote(names)} cannot all say whose row it is: choose one of them")
    return names[0] if names else None
