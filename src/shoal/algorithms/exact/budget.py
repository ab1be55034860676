"""How much a search may do, and what it says meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shoal.kernels.compiled import working_time
from shoal.support.progress import Progress, SearchFigures, Stage, silent


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
    def seconds_spent(self) -> float:
        """Seconds since the beginning, without those in which kernels were compiled."""
        return working_time() - self.begin

    @property
    def seconds_left(self) -> float:
        """Seconds that are left; infinite without a limit."""
        return float("inf") if self.seconds is None else max(self.seconds - self.seconds_spent, 0.0)

    @property
    def nodes_left(self) -> int:
        """States that may still be looked at."""
        # No limit is a number that is never reached and fits the 64 bits of a kernel.
        return (1 << 62) if self.iterations is None else max(self.iterations - self.nodes, 0)

    @property
    def is_over(self) -> bool:
        """Whether the time or the states have run out."""
        return self.nodes_left == 0 or self.seconds_left == 0.0

    def allot_share(self, share: float) -> Budget:
        """A budget of some of the time that is left; its states are also this one's."""
        seconds = None if self.seconds is None else self.seconds_left * share
        nodes = None if self.iterations is None else self.nodes_left
        return Budget(seconds, nodes, self.on_progress, self.scale, self)

    def count_states(self, nodes: int = 1, cuts: int = 0) -> bool:
        """Count states, and what was cut off beside them; False if there are no states left."""
        self.nodes += nodes
        self.cuts += cuts
        if self.whole is not None:
            self.whole.count_states(nodes, cuts)
        return not self.is_over

    def report_progress(
        self, doing: str, known: SearchFigures, done: float | None = None, every: float = 0.1
    ) -> None:
        """Say how the search stands, in one stage at most every so many seconds.

        Losses are known as sums of costs.
        """
        if self.whole is not None:
            self.whole.report_progress(doing, known, done, every)
        # A new stage is always told; inner loops call far more often than anybody can read.
        elif doing != self._doing or self.seconds_spent - self._told >= every:
            self._doing, self._told = doing, self.seconds_spent
            share = self._estimate_progress(known) if done is None else done
            self.on_progress(Stage(doing, self._scale_figures(known)), min(share, 1.0))

    def _scale_figures(self, known: SearchFigures) -> SearchFigures:
        best, mean, bound = (
            None if cost is None else cost * self.scale for cost in (known.best, known.mean, known.bound)
        )
        told = replace(known, best=best, mean=mean, bound=bound)
        if not self.nodes:
            return told
        return replace(told, states=self.nodes, rate=self.nodes / max(self.seconds_spent, 1e-9))

    def _estimate_progress(self, known: SearchFigures) -> float:
        time = self.seconds_spent / self.seconds if self.seconds else 0.0
        states = self.nodes / self.iterations if self.iterations else 0.0
        # The limit that is reached first ends the search, and so does a gap of 0.
        return max(time, states, 0.0 if known.gap is None else 1 - known.gap)
