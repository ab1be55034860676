"""How much a search may do, and what it says meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

Progress = Callable[[str, float], None]


@dataclass(eq=False)
class Budget:
    """Counts states, watches the clock and tells the progress."""

    seconds: float | None = None
    iterations: int | None = None
    on_progress: Progress = lambda doing, done: None
    scale: float = 1.0
    """Losses are told as this times a sum of costs."""
    nodes: int = 0
    """States looked at so far."""
    begin: float = field(default_factory=perf_counter)
    _told: float = 0.0

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return perf_counter() - self.begin

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
        """A budget of some of the time that is left; its states count for themselves."""
        seconds = None if self.seconds is None else self.seconds_left * share
        nodes = None if self.iterations is None else self.nodes_left
        return Budget(seconds, nodes, self.on_progress, self.scale)

    def visit(self, nodes: int = 1) -> bool:
        """Count states; False if there are none left."""
        self.nodes += nodes
        return not self.over

    def tell(self, doing: str, best: float | None, bound: float | None, every: float = 0.1) -> None:
        """Say how far the search is, at most every so many seconds."""
        if self.spent - self._told < every:
            return
        self._told = self.spent
        parts = [doing]
        if best is not None:
            parts.append(f"best {best * self.scale:.4f}")
        if bound is not None:
            parts.append(f"bound {bound * self.scale:.4f}")
        if best is not None and bound is not None:
            parts.append(f"gap {gap(best, bound):.1%}")
        if self.nodes:
            parts.append(f"{self.nodes:,} states, {self.nodes / max(self.spent, 1e-9):,.0f} per second")
        self.on_progress(", ".join(parts), self._done(best, bound))

    def _done(self, best: float | None, bound: float | None) -> float:
        shares = [0.0]
        if self.seconds:
            shares.append(self.spent / self.seconds)
        if self.iterations:
            shares.append(self.nodes / self.iterations)
        if best is not None and bound is not None:
            shares.append(1 - gap(best, bound))
        return min(max(shares), 1.0)


def gap(best: float, bound: float) -> float:
    """How far the best may be above the least, as a share of the best."""
    return max(best - bound, 0.0) / max(abs(best), 1e-12)
