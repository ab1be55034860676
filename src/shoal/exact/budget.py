"""How much a search may do, and what it says meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shoal.kernels.compiled import working_time
from shoal.progress import Figures, Progress, Stage, silent


@dataclass(eq=False)
class Budget:
    """Counts states, watches the clock and tells the progress."""

    seconds: float | None = None
    iterations: int | None = None
    on_progress: Progress = silent
    scale: float = 1.0
    """Losses are told as this times a sum of costs."""
    whole: Budget | None = None
    """What this is a part of."""
    nodes: int = 0
    """States looked at so far."""
    cuts: int = 0
    """How often something was cut off because nothing below it could be of use."""
    begin: float = field(default_factory=working_time)
    _doing: str = ""
    _told: float = 0.0

    @property
    def spent(self) -> float:
        """Seconds since the beginning, without those in which kernels were compiled."""
        return working_time() - self.begin

    @property
    def seconds_left(self) -> float:
        """Seconds that are left; infinite without a limit."""
        return float("inf") if self.seconds is None else max(self.seconds - self.spent, 0.0)

    @property
    def nodes_left(self) -> int:
        """States that may still be looked at."""
        return (1 << 62) if self.iterations is None else max(self.iterations - self.nodes, 0)

    @property
    def over(self) -> bool:
        """Whether the time or the states have run out."""
        return self.nodes_left == 0 or self.seconds_left == 0.0

    def part(self, share: float) -> Budget:
        """A budget of some of the time that is left; its states are also this one's."""
        seconds = None if self.seconds is None else self.seconds_left * share
        nodes = None if self.iterations is None else self.nodes_left
        return Budget(seconds, nodes, self.on_progress, self.scale, self)

    def visit(self, nodes: int = 1, cuts: int = 0) -> bool:
        """Count states, and what was cut off beside them; False if there are no states left."""
        self.nodes += nodes
        self.cuts += cuts
        if self.whole is not None:
            self.whole.visit(nodes, cuts)
        return not self.over

    def tell(self, doing: str, known: Figures, done: float | None = None, every: float = 0.1) -> None:
        """Say how the search stands, in one stage at most every so many seconds.

        Losses are known as sums of costs.
        """
        if self.whole is not None:
            self.whole.tell(doing, known, done, every)
        elif doing != self._doing or self.spent - self._told >= every:
            self._doing, self._told = doing, self.spent
            share = self._done(known) if done is None else done
            self.on_progress(Stage(doing, self._figures(known)), min(share, 1.0))

    def _figures(self, known: Figures) -> Figures:
        best, mean, bound = (
            None if cost is None else cost * self.scale for cost in (known.best, known.mean, known.bound)
        )
        told = replace(known, best=best, mean=mean, bound=bound)
        if not self.nodes:
            return told
        return replace(told, states=self.nodes, rate=self.nodes / max(self.spent, 1e-9))

    def _done(self, known: Figures) -> float:
        time = self.spent / self.seconds if self.seconds else 0.0
        states = self.nodes / self.iterations if self.iterations else 0.0
        return max(time, states, 0.0 if known.gap is None else 1 - known.gap)
