"""Goals in plain words, and the models behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shoal.studio.state import ComponentSettings, StudioWorkspace
from shoal.support.language import mark


@dataclass(frozen=True, slots=True)
class GoalPreset:
    """A goal that can be taken as it is."""

    key: str
    name: str
    words: str
    k: int
    l: int = 1  # noqa: E741
    t: float | None = None
    why: str = ""

    def build_models(self, sensitive: bool) -> tuple[ComponentSettings, ...]:
        """The models; those about sensitive values only where there are any."""
        made = [ComponentSettings("k", {"k": self.k})]
        if sensitive and self.l > 1:
            made.append(ComponentSettings("distinct-l", {"l": self.l}))
        if sensitive and self.t is not None:
            made.append(ComponentSettings("t", {"t": self.t}))
        return tuple(made)


# The risks in `why` are 1 / k: the chance to pick the right row in the smallest class.
PRESETS: dict[str, GoalPreset] = {
    each.key: each
    for each in (
        GoalPreset(
            "basic",
            mark("Basic"),
            mark("Nobody stands alone: everyone looks like at least 2 others."),
            3,
            why=mark("For colleagues who are bound by contract, in a protected place."),
        ),
        GoalPreset(
            "careful",
            mark("Careful"),
            mark("Everyone hides among at least 5, and no group gives away one sensitive value for all."),
            5,
            2,
            why=mark("The usual smallest group of statistical offices and health registries."),
        ),
        GoalPreset(
            "strict",
            mark("Strict"),
            mark("Everyone hides among at least 11, with 3 distinct sensitive values in every group."),
            11,
            3,
            why=mark("What medicines agencies ask of clinical data: a risk of 0.09 at most."),
        ),
        GoalPreset(
            "public",
            mark("Public"),
            mark("Everyone hides among at least 20, and every group looks much like the whole table."),
            20,
            3,
            0.5,
            why=mark("For the open web, where nobody knows who will try: a risk of 0.05 at most."),
        ),
    )
}


def apply_preset(workspace: StudioWorkspace, preset: GoalPreset) -> None:
    """Take the models of a preset, as far as the columns have something for them."""
    models = preset.build_models(workspace.asks_sensitive)
    workspace.goal = replace(workspace.goal, preset=preset.key, models=models)


def renew_preset(workspace: StudioWorkspace) -> None:
    """Take the models of the preset that was chosen again, if one was."""
    if workspace.goal.preset:
        apply_preset(workspace, PRESETS[workspace.goal.preset])
