"""What a lesson gives back: its steps, its figures, the tables it found; and the player that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log10
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.support.files import whole_file
from shoal.teach.player.page import build_page, embed_page
from shoal.teach.tables import Labels, TeachingTable


@dataclass(frozen=True, slots=True)
class LessonStep:
    """One step: what is done, why, and how the table looks then."""

    kind: str
    """What the player colours by: `change`, `cut by k`, `best`, `unsafe` and others."""
    text: str
    cells: Labels
    figures: Mapping[str, Any] = field(default_factory=dict)
    depth: int | None = None
    """How far down the search tree it is; None for a step that is no node."""
    picture: Any = None
    """What the diagram of this lesson shows at this step."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a lesson found. A notebook shows it as a player.

    Parameters
    ----------
    name : str
        Its name on the command line.
    table : TeachingTable
    steps : tuple of LessonStep
        What the player shows.
    figures : dict
        All counters and results, by name.
    tables : tuple
        The tables that it found, as they are written, row by row.
    """

    name: str
    table: TeachingTable = field(repr=False)
    steps: tuple[LessonStep, ...] = field(repr=False)
    figures: dict[str, Any]
    tables: tuple[Labels, ...] = field(default=(), repr=False)

    def to_dict(self, trace: bool = False) -> dict[str, Any]:
        """Figures and tables for JSON; with ``trace``, the steps as well."""
        found = {
            "lesson": self.name,
            "columns": self.table.names,
            **self.figures,
            "tables_found": self.tables,
        }
        steps = [{"kind": s.kind, "text": s.text, "cells": s.cells, **s.figures} for s in self.steps]
        return {**found, "steps": steps} if trace else found

    def to_html(self, path: str | Path) -> None:
        """Write the player: one page that needs no network."""
        with whole_file(Path(path)) as stream:
            stream.write(build_page(self).encode())

    def _repr_html_(self) -> str:
        return embed_page(self)


class Trace:
    """The steps that are kept: the first so many, and after these only new bests, so many again."""

    def __init__(self, most: int) -> None:
        if most < 1:
            raise InputError(f"keep 1 step at least, not {most}")
        self.steps: list[LessonStep] = []
        self.most = most

    @property
    def is_open(self) -> bool:
        """Whether an ordinary step is still kept."""
        return len(self.steps) < self.most

    def add(self, kind: str, text: str, cells: Labels, **more: Any) -> None:
        """Keep a step, if there is room for it; late ones stand outside of the diagram."""
        if self.is_open:
            self.steps.append(LessonStep(kind, text, cells, **more))
        elif kind == "best" and len(self.steps) < 2 * self.most:
            late = "" if len(self.steps) > self.most else "From here on, only new best tables are shown. "
            self.steps.append(LessonStep(kind, late + text, cells, **{**more, "depth": None}))


def show_loss(loss: float, unit: int = 1) -> str:
    """A loss as people read it: at most four decimals, or four digits where these would be zeros."""
    if loss == float("inf"):
        return "none"
    value = loss / unit
    return f"{value:.4g}" if 0 < abs(value) < 1e-3 else f"{value:.4f}".rstrip("0").rstrip(".")


def show_count(number: int) -> str:
    """How many there are; of more than 30 digits, nobody reads any."""
    if number < 10**30:
        return f"{number:,}"
    exponent = int(log10(number))
    return f"{10 ** (log10(number) - exponent):.1f}·10^{exponent}"


def count_things(number: int, thing: str) -> str:
    """A number of things in words."""
    return f"{show_count(number)} {thing}{'' if number == 1 else 's'}"
