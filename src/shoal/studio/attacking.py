"""Simulated attacks on a run, in a process of their own: ``python -m shoal.studio.attacking FOLDER ...``.

The page starts an `Attack` and looks at it from time to time; it stays awake, and can break the attack off.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from shoal.errors import ShoalError
from shoal.studio.process import Process
from shoal.studio.worker import RECIPE, Teller, end_with_parent, say

ATTACK_ERRORS = "attack-errors.txt"
PEOPLE = 1000
HELD_BACK = 0.2


@dataclass(eq=False)
class Attack:
    """All attacks on the release of one run."""

    folder: Path
    """Of the run."""
    held_back: float = HELD_BACK
    """Share of the people who are left out of a second release, as control group; 0 attacks the first."""
    people: int = PEOPLE
    """How many of each group are attacked, at most."""
    state: Literal["running", "done", "failed", "cancelled"] = "running"
    doing: str = "starting"
    done: float = 0.0
    error: str = ""
    found: dict[str, Any] = field(default_factory=dict)
    """`Attacks.to_dict`, each attack with its grade, once it is done."""
    _process: Process | None = field(default=None, repr=False)

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._carry_out, daemon=True).start()

    def _carry_out(self) -> None:
        arguments = (str(self.folder), str(self.held_back), str(self.people))
        errors = self.folder / ATTACK_ERRORS
        self._process = Process("shoal.studio.attacking", *arguments, errors=errors)
        if self.state == "cancelled":
            self._process.kill()
        for told in self._process.said():
            self._hear(told)
        code = self._process.exit_code()
        if self.state == "running":
            self.error = self.error or ("" if self.found else f"the attack broke off (exit code {code})")
            self.state = "done" if self.found else "failed"

    def cancel(self) -> None:
        """Break off."""
        if self.state == "running":
            self.state = "cancelled"
            if self._process is not None:
                self._process.kill()

    def _hear(self, told: dict[str, Any]) -> None:
        self.doing, self.done = told.get("doing", self.doing), told.get("done", self.done)
        self.error, self.found = told.get("error", self.error), told.get("found", self.found)


def main() -> None:
    """Attack the run in the folder that is named."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    folder, held_back, people = sys.argv[1:]
    try:
        say(found=attacked(Path(folder), float(held_back), int(people)))
    except ShoalError as error:
        say(error=str(error))
        sys.exit(error.exit_code)


def attacked(folder: Path, held_back: float, people: int) -> dict[str, Any]:
    """Attack the release in a folder, or another one by the same recipe with people held back."""
    from shoal.attack import attack_held_out  # noqa: PLC0415  what is slow to load is loaded by the process
    from shoal.attack.simulation import attack_tables  # noqa: PLC0415
    from shoal.recipe import Recipe  # noqa: PLC0415
    from shoal.run import known_to_all  # noqa: PLC0415
    from shoal.table import read  # noqa: PLC0415

    recipe, tell = Recipe.from_toml(folder / RECIPE), Teller()
    original = read(recipe.input, recipe.reading)
    if held_back:
        found = attack_held_out(recipe, original, held_back, people, recipe.seed, tell)
    else:
        assert recipe.output is not None
        release = read(Path(recipe.output).with_suffix(".parquet"), recipe.reading)
        columns = known_to_all(recipe, original.names, always=True)
        roles = (recipe.quasi, recipe.sensitive)
        found = attack_tables(release, original, None, roles, columns, people, recipe.seed, tell)
    plain = found.to_dict()
    for outcome, each in zip(found.outcomes, plain["attacks"], strict=True):
        each["grade"] = outcome.grade
    return plain


if __name__ == "__main__":
    main()
