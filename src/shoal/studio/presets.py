"""Goals in plain words, and the models behind them."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.studio.state import Chosen


@dataclass(frozen=True, slots=True)
class Preset:
    """A goal that can be taken as it is."""

    key: str
    name: str
    words: str
    k: int
    l: int = 1  # noqa: E741
    t: float | None = None
    why: str = ""

    def models(self, sensitive: bool) -> tuple[Chosen, ...]:
        """The models; those about sensitive values only where there are any."""
        made = [Chosen("k", {"k": self.k})]
        if sensitive and self.l > 1:
            made.append(Chosen("distinct-l", {"l": self.l}))
        if sensitive and self.t is not None:
            made.append(Chosen("t", {"t": self.t}))
        return tuple(made)


PRESETS: dict[str, Preset] = {
    each.key: each
    for each in (
        Preset(
            "basic",
            "Basic",
            "Nobody stands alone: everyone looks like at least 2 others.",
            3,
            why="For colleagues who are bound by contract, in a protected place.",
        ),
        Preset(
            "careful",
            "Careful",
            "Everyone hides among at least 5, and no group gives away one sensitive value for all.",
            5,
            2,
            why="The usual smallest group of statistical offices and health registries.",
        ),
        Preset(
            "strict",
            "Strict",
            "Everyone hides among at least 11, with 3 different sensitive values in every group.",
            11,
            3,
            why="What medicines agencies ask of clinical data: a risk of 0.09 at most.",
        ),
        Preset(
            "public",
            "Public",
            "Everyone hides among at least 20, and every group looks much like the whole table.",
            20,
            3,
            0.5,
            why="For the open web, where nobody knows who will try: a risk of 0.05 at most.",
        ),
    )
}
