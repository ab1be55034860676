"""The workspace: all that one user has opened, chosen and run.

There is one per studio and it lives on the server, so a page that is reloaded finds everything where it was,
and two tabs look at the same things. Pages change it only from the event loop, one after the other, and draw
themselves anew when another page has changed it (`Workspace.version`).
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import ALGORITHMS
from shoal.errors import InputError, RecipeError, ShoalError, quote
from shoal.hierarchies import Hierarchy
from shoal.parameters import build, describe, name_of
from shoal.privacy import MODELS, Counts, Measures, Model, measures
from shoal.recipe import ROLES, Missing, Recipe
from shoal.recoding import Render
from shoal.risk import ProposedColumn
from shoal.risk.personal import Role
from shoal.risk.roles import proposed
from shoal.samples import write_sample
from shoal.studio.profile import Profile, profile
from shoal.studio.running import TAKEN, Run
from shoal.table import Column, ColumnType, ReadOptions, Table, read
from shoal.verify import count_classes

T = TypeVar("T")

STEPS = ("open", "describe", "goal", "run", "explore", "release")


@dataclass(frozen=True, slots=True, eq=False)
class Source:
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
class Choice:
    """What the user says of a column."""

    role: Role
    type: ColumnType | None = None
    """None leaves it to be inferred."""
    order: tuple[str, ...] = ()
    """The values of an ordered column, in order."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """A model or an algorithm by name, with the parameters that were said, as text or values."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def model(self) -> Model:
        """The privacy model."""
        made: Model = build("privacy model", MODELS, self.name, self.values)
        return made


@dataclass(frozen=True, slots=True)
class Goal:
    """What must hold, and how it is searched for."""

    preset: str = "careful"
    """The preset that the models came from; empty where the user made their own."""
    models: tuple[Chosen, ...] = ()
    algorithm: Chosen = field(default_factory=lambda: Chosen("auto"))
    loss: str = "ncp"
    suppress: float = 0.0
    missing: Missing = "category"
    render: Render = "label"
    safe_csv: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Now:
    """What the table has as it is, by the columns that were chosen."""

    measures: Measures
    sizes: NDArray[np.integer]
    """Rows per class."""

    def below(self, k: int) -> float:
        """Share of the rows that look like fewer than k."""
        return float(self.sizes[self.sizes < k].sum() / max(self.sizes.sum(), 1))


class Workspace:
    """One user's work."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="shoal-studio-"))
        self.source: Source | None = None
        self.profiles: dict[str, Profile] = {}
        self.proposals: dict[str, ProposedColumn] = {}
        """What `suggest` takes each column for; empty until the columns are described."""
        self.choices: dict[str, Choice] = {}
        self.trees: dict[str, Hierarchy] = {}
        """Hierarchies by column."""
        self.others: dict[str, Path] = {}
        """Further tables that were uploaded, such as a population, by the name that a recipe has for them."""
        self.goal = Goal()
        self.unfolded = False
        """Whether the expert's dials are shown."""
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
        self._under_way: set[str] = set()
        self._opened = 0
        self._now: dict[tuple[object, ...], Now | str] = {}
        self._own: dict[str, int] = {}

    # What was changed by whom.

    def changed(self, page: str) -> None:
        """Remember that a page, by its id, has changed something."""
        self.version += 1
        self._own[page] = self._own.get(page, 0) + 1

    def foreign(self, page: str) -> int:
        """How many changes other pages have made; a page draws itself anew when this grows."""
        return self.version - self._own.get(page, 0)

    async def once(
        self, what: str, work: Callable[[], T], use: Callable[[T], object], quiet: bool = False
    ) -> None:
        """Do something that takes long in a thread; pages draw themselves anew when it is used.

        Nothing is done twice at a time, and nothing is used once another table is open. If it is ``quiet``,
        pages draw only what waits for it (`Page.on_counted`).
        """
        if what in self._under_way:
            return
        source = self.source
        self._under_way.add(what)
        try:
            found = await asyncio.to_thread(work)
        except ShoalError as error:
            self.failure = str(error)
        else:
            if self.source is source:
                use(found)
        finally:
            self._under_way.discard(what)
            self.counted += 1
            if not quiet:
                self.changed("")

    # Opening.

    def place(self, name: str) -> Path:
        """A new place for an uploaded file."""
        self._opened += 1
        folder = self.folder / "uploads" / str(self._opened)
        folder.mkdir(parents=True)
        return folder / safe_name(name)

    def sample(self, rows: int | None = None) -> Path:
        """Make the sample."""
        path = self.place("hospital.csv")
        write_sample("hospital", path, rows)
        return path

    def load(self, path: Path, reading: ReadOptions | None = None, sample: bool = False) -> Source:
        """Read a file; nothing of the workspace changes. May take long, so it has a thread of its own."""
        options = reading or ReadOptions()
        try:
            return Source(path, safe_name(path.name), read(path, options), options, sample)
        except InputError as error:  # the folder of an upload is not the user's
            raise InputError(str(error).replace(f"{path.parent}/", "")) from error

    def take(self, source: Source) -> None:
        """Begin with another table, or with the same one read in another way."""
        self._opened += 1  # runs get new folders
        for run in self.runs:
            run.cancel()
        self.source, self.profiles, self.proposals = source, {}, {}
        self.busy = self.failure = ""
        self.choices, self.trees, self._now = {}, {}, {}
        self.goal, self.runs, self.shown, self.others = Goal(), [], None, {}

    def leave(self) -> None:
        """Close the table."""
        for run in self.runs:
            run.cancel()
        self.source, self.busy, self.failure = None, "", ""

    def count(self, source: Source) -> dict[str, Profile]:
        """Look at every column. May take long."""
        return {name: profile(source.table, name) for name in source.table.names}

    # Describing.

    def suggest(self, source: Source, profiles: Mapping[str, Profile]) -> dict[str, ProposedColumn]:
        """What each column is taken for, and why. May take long."""
        return {name: proposed(source.table, each.alone) for name, each in profiles.items()}

    def prefill(self, proposals: dict[str, ProposedColumn]) -> None:
        """Choose what is proposed."""
        self.proposals = proposals
        self.choices = {
            name: Choice(each.role, each.type if each.state_type else None)
            for name, each in proposals.items()
        }

    def choose(self, column: str, **what: Any) -> None:
        """Change what is said of a column; a page of another table may still be open, and is not heard."""
        if column not in self.choices:
            return
        self.choices[column] = replace(self.choices[column], **what)
        if self.choices[column].role not in ("quasi", "sensitive"):
            self.trees.pop(column, None)

    def of_role(self, role: str) -> tuple[str, ...]:
        """The columns with a role, in the order of the table."""
        return tuple(name for name, choice in self.choices.items() if choice.role == role)

    def type_of(self, column: str) -> ColumnType:
        """The type that was said, or else found."""
        return self.choices[column].type or self.profiles[column].type

    def column(self, name: str) -> Column:
        """What is known of a column beyond its values."""
        choice = self.choices[name]
        na = () if self.source is None else self.source.reading.na
        order = choice.order if choice.type == "ordered" and choice.order else None
        return Column(name, choice.type, order, self.trees.get(name), na)

    # The goal.

    def known_now(self) -> Now | str | None:
        """What the table has as it is, by what is chosen, or why that cannot be said; None if not counted."""
        return self._now.get(self._question())

    def counting_now(self) -> Callable[[], None]:
        """What counts that: it may take long, has a thread, and must not look at what changes meanwhile."""
        source, question, answers = self.source, self._question(), self._now
        quasi, sensitive = self.of_role("quasi"), self.of_role("sensitive")
        known = {name: self.column(name) for name in sensitive}

        def count() -> None:
            if source is None or not quasi:
                return
            try:
                counts: Counts = count_classes(source.table, quasi, sensitive, known)
                answers[question] = Now(measures(counts), counts.size)
            except ShoalError as error:
                answers[question] = str(error)

        return count

    def _question(self) -> tuple[object, ...]:
        """All that the answer depends on."""
        said = tuple((name, self.choices[name]) for name in self.of_role("sensitive"))
        return self.of_role("quasi"), said

    # Running.

    def recipe(self, goal: Goal | None = None) -> Recipe:
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
            models=tuple(chosen.model() for chosen in goal.models),
            input=source.name,
            output=released_name(source.name),
            reading=source.reading,
            missing=goal.missing,
            types={name: each.type for name, each in self.choices.items() if each.type is not None},
            orders={name: each.order for name, each in self.choices.items() if each.type == "ordered"},
            trees=dict(self.trees),
            algorithm=build("algorithm", ALGORITHMS, goal.algorithm.name, goal.algorithm.values),
            loss=goal.loss,
            weights={n: self.choices[n].weight for n in quasi if self.choices[n].weight != 1},
            suppress=goal.suppress,
            render=goal.render,
            safe_csv=goal.safe_csv,
            seed=goal.seed,
        )

    def start(self, goal: Goal | None = None) -> Run:
        """Start a run of what is chosen, or with another goal; it waits for the run before."""
        recipe, source = self.recipe(goal), self.source
        assert source is not None
        number = len(self.runs) + 1
        folder = self.folder / "runs" / f"{self._opened}-{number}"
        run = Run(number, recipe, folder, after=self.runs[-1] if self.runs else None)
        run.start({source.name: source.path, **self.others})
        self.runs.append(run)
        return run

    def adopt(self, run: Run) -> None:
        """Choose what a run was made with."""
        recipe = run.recipe
        for name in self.choices:
            role = next((role for role in ROLES if name in getattr(recipe, role)), "plain")
            order, weight = recipe.orders.get(name, ()), float(recipe.weights.get(name, 1.0))
            self.choices[name] = Choice(role, recipe.types.get(name), tuple(order), weight)  # type: ignore[arg-type]
        self.trees = dict(recipe.trees)
        algorithm = name_of(ALGORITHMS, recipe.algorithm)
        self.goal = Goal(
            preset="",
            models=tuple(Chosen(name_of(MODELS, model), _plain(describe(model))) for model in recipe.models),
            algorithm=Chosen(algorithm, describe(recipe.algorithm)),
            loss=recipe.loss,
            suppress=recipe.suppress,
            missing=recipe.missing,
            render=recipe.render,
            safe_csv=recipe.safe_csv,
            seed=recipe.seed,
        )

    def run(self, number: int | None = None) -> Run | None:
        """A run by its number; that which is shown, or else the last that is done."""
        number = self.shown if number is None else number
        found = [run for run in self.runs if run.number == number]
        done = [run for run in self.runs if run.state == "done"]
        return found[0] if found else done[-1] if done else None

    # The end.

    def close(self) -> None:
        """End all runs and remove all files."""
        for run in self.runs:
            run.cancel()
        for run in self.runs:
            run.gone()
        shutil.rmtree(self.folder, ignore_errors=True)


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a form shows them."""
    return {key: v if isinstance(v, bool | int | float | str) else str(v) for key, v in parameters.items()}


def safe_name(name: str) -> str:
    """A name of a file that stays in its folder, whatever was sent."""
    plain = re.sub(r"[\x00-\x1f/\\]", "_", name).strip().lstrip(".")[-120:] or "table.csv"
    return f"table-{plain}" if plain in TAKEN else plain


def released_name(name: str) -> str:
    """What the release of a file is called; text, unless the file is typed as well."""
    path = Path(name)
    inner = path.with_suffix("") if path.suffix.lower() in (".gz", ".zst") else path
    suffix = inner.suffix.lower() if inner.suffix.lower() in (".tsv", ".parquet") else ".csv"
    return f"{inner.stem}-released{suffix}"
