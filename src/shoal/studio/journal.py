"""The journal of a workspace: every decision, who took it and when; undo and redo."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import RecipeError, ShoalError
from shoal.recipes.project import Project
from shoal.recipes.recipe import Recipe
from shoal.recipes.settings import list_form_settings
from shoal.report.dossier import Statement
from shoal.report.prose import capitalize_sentence
from shoal.studio.presets import PRESETS, renew_preset
from shoal.studio.running import Run, State
from shoal.studio.state import ColumnChoice, ComponentSettings, GoalSettings, StudioWorkspace
from shoal.studio.words import describe_asked, describe_setting, name_role
from shoal.support.language import translate as _
from shoal.table.hierarchies import Hierarchy
from shoal.table.hierarchies.toml import from_toml, to_toml

MOST = 500  # decisions that are kept


class DecidedState(NamedTuple):
    """All that a user decides, at one moment."""

    choices: Mapping[str, ColumnChoice]
    trees: Mapping[str, Hierarchy]
    goal: GoalSettings


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody changed, and all that was decided after it."""

    when: str
    who: str
    what: tuple[str, ...]
    state: DecidedState


class Journal:
    """The decisions about the table that is open."""

    def __init__(self, workspace: StudioWorkspace) -> None:
        self.workspace = workspace
        self.who = ""
        """Who decides, as typed."""
        self.name = ""
        """What the project is called, as typed."""
        self.decisions: list[Decision] = []
        """Oldest first."""
        self.position = -1
        """The decision that is in force; those after it were undone."""
        self.statement = Statement()
        """What people state for the dossier."""
        self._opened = workspace.opened
        self._waiting: tuple[Project, list[Decision]] | None = None  # a project that waits for its table

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision to undo."""
        return self.position > 0

    @property
    def can_redo(self) -> bool:
        """Whether a decision was undone."""
        return self.position + 1 < len(self.decisions)

    def note_changes(self) -> None:
        """Remember what was decided since the last time, if anything was."""
        workspace = self.workspace
        if self._opened != workspace.opened:  # another table
            self._opened, self.decisions, self.position = workspace.opened, [], -1
        if not workspace.choices:
            return
        if self._waiting is not None and workspace.waiting is None:
            self._adopt_waiting(*self._waiting)
        if workspace.goal.models:
            renew_preset(workspace)  # what follows from a decision belongs to it
        state = DecidedState(dict(workspace.choices), dict(workspace.trees), workspace.goal)
        if self.position < 0:
            self._append("Shoal", [_("proposed what the columns are")], state)
            return
        before = self.decisions[self.position]
        changes = list(list_changed_decisions(before.state, state))
        if not changes or _is_proposal(before.state, state):
            self.decisions[self.position] = replace(before, state=state)
        else:
            self._append(self.who, changes, state)

    def _append(self, who: str, what: list[str], state: DecidedState) -> None:
        when = datetime.now().astimezone().isoformat(timespec="seconds")
        kept = self.decisions[: self.position + 1]
        self.decisions = [*kept[-MOST:], Decision(when, who, tuple(what), state)]
        self.position = len(self.decisions) - 1

    def move(self, steps: int) -> None:
        """Undo (-1) or redo (1) a decision."""
        target = self.position + steps
        if 0 <= target < len(self.decisions):
            self.position = target
            self._restore_state()

    def _restore_state(self) -> None:
        """Let what was decided at the position hold again, for the columns that there are."""
        workspace = self.workspace
        state = self.decisions[self.position].state
        known = workspace.choices
        workspace.choices = known | {name: each for name, each in state.choices.items() if name in known}
        workspace.trees = {name: tree for name, tree in state.trees.items() if name in known}
        _restore_accepted(workspace, state.goal)
        workspace.goal = state.goal

    # Projects.

    def build_project(self) -> Project:
        """All that was decided and found, to be saved."""
        self.note_changes()
        trees: dict[str, Any] = {}
        return Project(
            self.name,
            _write_recipe(self.workspace),
            [_write_decision(each, trees) for each in self.decisions],
            max(self.position, 0),
            trees,
            [_write_run(run) for run in self.workspace.runs if run.state in ("done", "saved", "failed")],
            self.statement.to_dict(),
        )

    def take_project(self, project: Project, path: Path) -> Recipe | None:
        """Go on with a project, with the table that is open or else with the next; its recipe, if it has one.

        Raises
        ------
        RecipeError
            When it is damaged, or names columns that the table does not have.
        """
        decisions = _read_decisions(project)
        # Names beside the project, as the studio knows files.
        recipe = Recipe.from_text(project.recipe, Path()) if project.recipe else None
        if recipe is not None:
            self.workspace.take_recipe(recipe, path.name)
        self._waiting = project, decisions
        return recipe

    def _adopt_waiting(self, project: Project, decisions: list[Decision]) -> None:
        self._waiting = None
        if decisions and not set(decisions[project.position].state.choices) & set(self.workspace.choices):
            return  # that was another table
        self.name = project.name
        self.statement = Statement.from_dict(project.statement)
        self.workspace.add_saved_runs([_read_run(each, self.workspace.folder) for each in project.runs])
        if decisions:
            self.decisions, self.position = decisions, project.position
            self._restore_state()


def _restore_accepted(workspace: StudioWorkspace, goal: GoalSettings) -> None:
    """Accept in the run that is shown what was accepted then, and nothing else that was decided since."""
    run, now = workspace.find_run(), workspace.goal.accept
    for finding in {*now, *goal.accept} if run is not None else ():
        if run is not None and now.get(finding) != goal.accept.get(finding):
            run.record_decision(finding, goal.accept.get(finding, ""))


def _is_proposal(before: DecidedState, after: DecidedState) -> bool:
    """Whether only the goal came that is proposed to everybody."""
    proposed = GoalSettings().preset
    same = before._replace(goal=after.goal) == after
    return same and not before.goal.models and after.goal.preset == proposed


# What changed, in words.


def list_changed_decisions(before: DecidedState, after: DecidedState) -> Iterator[str]:
    """What is decided otherwise, a line each."""
    for name, new in after.choices.items():
        old = before.choices.get(name)
        if old is None:
            yield _("{name} is {role}", name=name, role=name_role(new.role))
        elif old != new:
            yield from _list_choice_changes(name, old, new)
    for name in dict.fromkeys([*before.trees, *after.trees]):
        if name not in after.trees:
            yield _("{name} has no hierarchy any more", name=name)
        elif before.trees.get(name) != after.trees[name]:
            yield (
                _("the hierarchy of {name} changed", name=name)
                if name in before.trees
                else _("{name} has a hierarchy", name=name)
            )
    yield from _list_goal_changes(before.goal, after.goal)


def _list_choice_changes(name: str, old: ColumnChoice, new: ColumnChoice) -> Iterator[str]:
    if old.role != new.role:
        yield _(
            "{name} is {role}, and was {role2}",
            name=name,
            role=name_role(new.role),
            role2=name_role(old.role),
        )
    if old.type != new.type:
        yield _("{name} is taken as {type}", name=name, type=new.type or _("what its values look like"))
    if old.order != new.order:
        yield _("the order of the values of {name} changed", name=name)
    if old.weight != new.weight:
        yield _("the detail of {name} counts {weight:g} times", name=name, weight=new.weight)
    if old.fold != new.fold:
        yield (
            _("spellings of one value of {name} count as one", name=name)
            if new.fold
            else _("spellings of one value of {name} count as several", name=name)
        )
    if old.separator != new.separator:
        yield _("items of {name} are separated by {separator!r}", name=name, separator=new.separator)


def _list_goal_changes(old: GoalSettings, new: GoalSettings) -> Iterator[str]:
    if old.preset != new.preset and new.preset:
        yield _("the goal is {name}", name=_(PRESETS[new.preset].name))
    if old.models != new.models:
        goal = _(" and ").join(describe_asked(each.name, each.values) for each in new.models)
        yield _("asked for: {goal}", goal=goal or _("nothing"))
    if old.algorithm != new.algorithm:
        yield _("the algorithm is {name}", name=new.algorithm.name)
    if old.suppress != new.suppress:
        yield _("{suppress:g} % of the rows may be left out", suppress=100 * new.suppress)
    if old.strict != new.strict:
        yield _("severe findings are not released") if new.strict else _("severe findings are released")
    for finding in dict.fromkeys([*old.accept, *new.accept]):
        if finding not in new.accept:
            yield _("{finding} is no longer accepted", finding=finding)
        elif old.accept.get(finding) != new.accept[finding]:
            yield _("{finding} is accepted, because {accept}", finding=finding, accept=new.accept[finding])
    yield from _list_form_changes(old, new)


def _list_form_changes(old: GoalSettings, new: GoalSettings) -> Iterator[str]:
    for setting in list_form_settings():
        value = new.form.get(setting.name, setting.default)
        if value != old.form.get(setting.name, setting.default):
            yield capitalize_sentence(describe_setting(setting, value))


# As plain values, for the file of a project.


def _write_recipe(workspace: StudioWorkspace) -> str:
    """The recipe of what is chosen; nothing while it cannot be run."""
    try:
        return workspace.build_recipe().to_toml()
    except RecipeError:
        return ""


def _write_decision(decision: Decision, trees: dict[str, Any]) -> dict[str, Any]:
    named = {}
    for column, tree in decision.state.trees.items():
        plain = to_toml(tree)
        key = sha256(json.dumps(plain).encode()).hexdigest()[:16]
        trees[key] = plain
        named[column] = key
    state = {
        "choices": {name: asdict(each) for name, each in decision.state.choices.items()},
        "trees": named,
        "goal": asdict(decision.state.goal),
    }
    return {"when": decision.when, "who": decision.who, "what": list(decision.what), "state": state}


def _write_run(run: Run) -> dict[str, Any]:
    # What Explore draws is left out: it tells how the values of the table were distributed.
    risk = {key: run.figures[key] for key in ("before", "after") if key in run.figures}
    return {
        "number": run.number,
        "name": run.name,
        "started": run.started.isoformat(timespec="seconds"),
        "seconds": run.seconds,
        "state": run.state,
        "error": run.error,
        "recipe": run.recipe.to_toml(),
        "report": run.report,
        "risk": risk,
    }


def _read_run(plain: Mapping[str, Any], folder: Path) -> Run:
    """A run of a project, which has figures and no files."""
    number = int(plain["number"])
    state: State = "failed" if plain["state"] == "failed" else "saved"
    return Run(
        number,
        Recipe.from_text(plain["recipe"], Path()),
        folder / f"saved-{number}",
        plain["name"],
        datetime.fromisoformat(plain["started"]),
        state,
        error=str(plain.get("error", "")),
        seconds=float(plain.get("seconds", 0)),
        report=dict(plain["report"]),
        figures=dict(plain["risk"]),
    )


def _read_decisions(project: Project) -> list[Decision]:
    """The decisions of a project; its runs are read as well, so that what is damaged is told at once."""
    try:
        Statement.from_dict(project.statement)
        _ = [_read_run(each, Path()) for each in project.runs]
        trees = {key: from_toml(tree, key) for key, tree in project.trees.items()}
        return [
            Decision(each["when"], each["who"], tuple(each["what"]), _read_state(each["state"], trees))
            for each in project.decisions
        ]
    except (KeyError, TypeError, ValueError, ShoalError) as error:
        raise RecipeError(f"the project {project.name} is damaged: {error}") from error


def _read_state(state: Mapping[str, Any], trees: Mapping[str, Hierarchy]) -> DecidedState:
    choices = {
        name: ColumnChoice(**{**each, "order": tuple(each["order"])})
        for name, each in state["choices"].items()
    }
    goal = state["goal"]
    models = tuple(ComponentSettings(**each) for each in goal["models"])
    algorithm = ComponentSettings(**goal["algorithm"])
    form = {name: tuple(v) if isinstance(v, list) else v for name, v in goal["form"].items()}
    if goal["preset"] and goal["preset"] not in PRESETS:
        raise ValueError(f"there is no goal '{goal['preset']}'")
    read = GoalSettings(**{**goal, "models": models, "algorithm": algorithm, "form": form})
    return DecidedState(choices, {name: trees[key] for name, key in state["trees"].items()}, read)
