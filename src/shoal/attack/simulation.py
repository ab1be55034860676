"""Attack a release: all attacks, one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.api import Hierarchies, known_columns
from shoal.attack.kinds import ATTACKS, Attacker
from shoal.attack.outcome import Outcome
from shoal.attack.rates import CONFIDENCE
from shoal.attack.scene import Scene
from shoal.errors import InputError, RecipeError
from shoal.progress import Progress, silent
from shoal.recipe import Recipe
from shoal.run import known_to_all, run
from shoal.table import Column, ColumnType, Origin, ReadOptions, Table, read


@dataclass(frozen=True, slots=True)
class Attacks:
    """What came of all attacks on a release."""

    rows: int
    """Released rows."""
    people: int
    """People of the original who were attacked."""
    control: int
    """People of the control group who were attacked."""
    seed: int
    outcomes: tuple[Outcome, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "rows": self.rows,
            "people": self.people,
            "control": self.control,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "attacks": [outcome.to_dict() for outcome in self.outcomes],
        }


def attack(
    release: object,
    original: object,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    control: object = None,
    hierarchies: Hierarchies = None,
    types: Mapping[str, ColumnType] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    attacks: int = 1000,
    seed: int = 0,
    options: ReadOptions | None = None,
    on_progress: Progress | None = None,
) -> Attacks:
    """Attack a release as somebody would who knows people, and count how often that succeeds.

    Parameters
    ----------
    release, original : path or frame
        The release, and the table that it was made from.
    quasi, sensitive : sequences of column names
        What the attacker knows of people, and is after.
    control : path or frame, optional
        People like those of the original who are not in the release. What succeeds on them as well is no
        leakage, but what the release is for.
    hierarchies, types, orders
        As for `anonymize`; the hierarchies whose nodes were released are needed to read them.
    attacks : int
        How many people of each table are attacked, at most.
    on_progress : callable, optional
        Called with what is being done and how much of it is (0 to 1).
    """
    known = known_columns((*quasi, *sensitive), hierarchies, types, orders)
    options = options or ReadOptions()
    return attack_tables(
        read(release, options),
        read(original, options),
        None if control is None else read(control, options),
        (tuple(quasi), tuple(sensitive)),
        known,
        attacks,
        seed,
        on_progress or silent,
    )


def attack_held_out(
    recipe: Recipe,
    original: Table,
    share: float,
    attacks: int = 1000,
    seed: int = 0,
    on_progress: Progress = silent,
) -> Attacks:
    """Hold a share of the original back as control group, anonymize the rest by a recipe, and attack that."""
    if not 0 < share < 1:
        raise RecipeError(f"the share to hold out lies between 0 and 1, not {share:g}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(original.rows)
    held = round(share * original.rows)
    if not 0 < held < original.rows:
        raise InputError(f"{original.origin}: {original.rows} rows are too few to hold {share:g} of them out")
    origin = replace(original.origin, kind="path", native=None)
    control, rest = (
        replace(original, frame=original.frame[np.sort(part)], origin=origin)
        for part in (order[:held], order[held:])
    )
    made = run(replace(recipe, output=None), rest, on_progress)
    release = Table(read(made.frame).frame, Origin("polars"), original.na)
    columns = known_to_all(recipe, original.names, always=True)
    roles = (recipe.quasi, recipe.sensitive)
    return attack_tables(release, rest, control, roles, columns, attacks, seed, on_progress)


def attack_tables(
    release: Table,
    original: Table,
    control: Table | None,
    roles: tuple[Sequence[str], Sequence[str]],
    columns: Mapping[str, Column],
    attacks: int,
    seed: int,
    on_progress: Progress,
) -> Attacks:
    """Attack tables that have been read; ``roles`` are the quasi-identifiers and the sensitive columns."""
    if attacks < 1:
        raise RecipeError(f"the number of attacks must be 1 or more, not {attacks}")
    rng = np.random.default_rng(seed)
    on_progress("looking people up", 0.0)
    scene = Scene.of(release, original, control, *roles, columns, attacks, rng)
    attacker = Attacker.at(scene, rng)
    outcomes: list[Outcome] = []
    for number, (name, kind) in enumerate(ATTACKS.items()):
        on_progress(name, number / len(ATTACKS))
        outcomes += kind(attacker)
    others = 0 if scene.control is None else scene.control.count
    return Attacks(release.rows, scene.members.count, others, seed, tuple(outcomes))
