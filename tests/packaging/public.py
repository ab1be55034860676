"""The public names with their signatures, as text: ``python tests/packaging/public.py`` writes public.txt.

A change of that file is a change of what scripts and notebooks rely on, and should be meant.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shoal
import shoal.errors
import shoal.extend.algorithms
import shoal.extend.formats
import shoal.extend.losses
import shoal.extend.models
import shoal.learn
import shoal.spark
import shoal.teach
from shoal.studio.opening import studio

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from make_api import annotation, signature

FILE = Path(__file__).with_name("public.txt")
ROOMS = {
    "shoal": shoal,
    "shoal.errors": shoal.errors,
    "shoal.learn": shoal.learn,
    "shoal.spark": shoal.spark,
    "shoal.teach": shoal.teach,
    "shoal.extend.algorithms": shoal.extend.algorithms,
    "shoal.extend.models": shoal.extend.models,
    "shoal.extend.losses": shoal.extend.losses,
    "shoal.extend.formats": shoal.extend.formats,
}


def text() -> str:
    """All public names, one room after another."""
    return "\n\n".join("\n".join(described(room, module)) for room, module in ROOMS.items()) + "\n"


def described(room: str, module: Any) -> Iterator[str]:
    """A room: each public name and, of a class, what it offers."""
    yield f"# {room}"
    for name in sorted(public(module)):
        thing = studio if name == "studio" else getattr(module, name)
        if inspect.isclass(thing):
            yield from members(name, thing)
        else:
            yield f"def {name}{signature(thing)}" if inspect.isroutine(thing) else name


def public(module: Any) -> list[str]:
    """The names of a room; where it does not list them, those that it defines."""
    own = [
        name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__
    ]
    return getattr(module, "__all__", [name for name in own if not name.startswith("_")])


def members(name: str, kind: type) -> Iterator[str]:
    """A class: its bases, how it is made, its fields, methods and properties."""
    bases = ", ".join(base.__name__ for base in kind.__bases__ if base is not object)
    made = dataclasses.is_dataclass(kind) or "__init__" in vars(kind)
    yield f"class {name}{f'({bases})' if bases else ''}{f': {signature(kind)}' if made else ''}"
    for each, thing in sorted(vars(kind).items()):
        if each.startswith("_"):
            continue
        if isinstance(thing, classmethod | staticmethod):
            yield f"    {type(thing).__name__} {each}{signature(thing.__func__)}"
        elif inspect.isfunction(thing):
            yield f"    def {each}{signature(thing)}"
        elif isinstance(thing, property):
            yield f"    {each} -> {annotation(inspect.signature(thing.fget).return_annotation)}"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
