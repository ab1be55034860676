"""Tables of extensions: what ships with Shoal, and what other distributions add to it.

A distribution adds an entry by an entry point in one of the groups ``shoal.algorithms``, ``shoal.models``,
``shoal.losses`` and ``shoal.formats``. To look for entry points takes longer than to start a command, so that
is done only for a name that Shoal itself does not have, and where all names are listed.
"""

from __future__ import annotations

import re
import sys
from collections import UserDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shoal.errors import PluginError, RecipeError, quote

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_NAME = re.compile(r"[\w-]+")  # what `parse_call` reads as a name


class BuiltInClasses(UserDict[str, Any]):
    """Classes by name; one that is given as ``module:Class`` is loaded when first asked for."""

    def __getitem__(self, name: str) -> Any:
        entry = self.data[name]
        if isinstance(entry, str):
            module, _, class_name = entry.partition(":")
            entry = self.data[name] = getattr(import_module(module), class_name)
        return entry

    def find_name(self, kind: type[Any]) -> str | None:
        """The name of a class; no other class is loaded for it."""
        place = f"{kind.__module__}:{kind.__qualname__}"
        return next((name for name, entry in self.data.items() if entry in (kind, place)), None)


class ExtensionTable(Mapping[str, type[Any]]):
    """Classes by name: the built-in ones, then those of plugins, which are loaded when first asked for.

    Parameters
    ----------
    what
        What the entries are, for messages.
    group
        The group of entry points by which other distributions add to the table.
    base
        The class that a plugin must be derived from: it brings the defaults of what a plugin does not say.
    needs
        The methods that a plugin must define itself.
    built_in
        What ships with Shoal: classes, or where they are defined, as ``module:Class``.
    reserved
        Further names that no plugin may take.
    """

    def __init__(
        self,
        what: str,
        group: str,
        base: type[Any],
        needs: Iterable[str],
        built_in: Mapping[str, type[Any] | str],
        reserved: Iterable[str] = (),
    ) -> None:
        self.what, self.group, self.base, self.needs = what, group, base, tuple(needs)
        self.built_in = BuiltInClasses(built_in)
        self._reserved = frozenset(reserved)

    def __getitem__(self, name: str) -> type[Any]:
        # A plugin cannot take a built-in name, so nobody has to look for one here.
        if name in self.built_in:
            return cast("type[Any]", self.built_in[name])
        return self._load_plugin(self.find_plugins()[name])

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self.find_plugins()

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from self.find_plugins()

    def __len__(self) -> int:
        return len(self.built_in) + len(self.find_plugins())

    def find_plugins(self) -> dict[str, EntryPoint]:
        """The entry points of plugins by name; none of them is loaded.

        Raises
        ------
        PluginError
            When a name is taken; it names the distribution.
        """
        found: dict[str, EntryPoint] = {}
        for entry in find_entry_points(self.group):
            if entry.name in self.built_in or entry.name in self._reserved:
                raise PluginError(f"{self._describe(entry)} has the name of a built-in one; {_REMEDY}")
            if entry.name in found:
                other = distribution_of(found[entry.name])
                raise PluginError(f"{self._describe(entry)} is also one of '{other}'; {_REMEDY}")
            if not _NAME.fullmatch(entry.name):
                raise PluginError(f"{self._describe(entry)}: a name has letters, digits, _ and - only")
            found[entry.name] = entry
        return found

    def find_name(self, kind: type[Any]) -> str:
        """The name under which a class stands in the table."""
        if (name := self.built_in.find_name(kind)) is not None:
            return name
        for name, plugin in self.find_plugins().items():
            try:
                if self._load_plugin(plugin) is kind:
                    return name
            # Another plugin that is broken does not concern this one.
            except PluginError:
                continue
        raise RecipeError(
            f"{kind.__name__} is no {self.what} that Shoal knows: give it a name by an entry point in the "
            f"group {self.group}"
        )

    def _load_plugin(self, entry: EntryPoint) -> type[Any]:
        try:
            kind = entry.load()
        except Exception as error:  # a module of somebody else may raise anything
            raise PluginError(
                f"{self._describe(entry)} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        if not (isinstance(kind, type) and is_dataclass(kind) and kind.__dataclass_params__.frozen):  # type: ignore[attr-defined]
            raise PluginError(f"{self._describe(entry)} is no frozen dataclass")
        if self.base not in kind.__mro__:
            base = f"{self.base.__module__}.{self.base.__name__}"
            raise PluginError(f"{self._describe(entry)} is not derived from {base}")
        absent = [name for name in self.needs if getattr(kind, name) is getattr(self.base, name)]
        absent += sorted(getattr(kind, "__abstractmethods__", ()))
        if absent:
            raise PluginError(f"{self._describe(entry)} does not define {quote(absent)}")
        return kind

    def _describe(self, entry: EntryPoint) -> str:
        return f"the {self.what} '{entry.name}' of the distribution '{distribution_of(entry)}'"


_REMEDY = "uninstall the distribution, or have the entry point renamed"


def distribution_of(entry: EntryPoint) -> str:
    """The name of the distribution that brings an entry point."""
    return "unknown" if entry.dist is None else str(entry.dist.name)


@cache
def find_entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, of all installed distributions, in the order of their names."""
    if not _has_plugins():
        return ()
    from importlib.metadata import entry_points  # noqa: PLC0415  slow to load, and mostly of no use

    return tuple(sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)))


@cache
def _has_plugins() -> bool:
    """Whether a distribution on the path has an entry point for Shoal, as far as its files tell.

    To look into these files takes less time than to load the library for entry points. Where a part of the
    path cannot be looked into, an archive for example, the answer is yes.
    """
    try:
        return any(
            b"[shoal." in file.read_bytes()
            for place in map(Path, dict.fromkeys(sys.path))
            if place.exists()
            for folder in place.iterdir()
            if folder.suffix in (".dist-info", ".egg-info")
            if (file := folder / "entry_points.txt").is_file()
        )
    except OSError:
        return True


def forget_plugins() -> None:
    """Look for entry points anew when next asked: after something was installed while the program ran."""
    find_entry_points.cache_clear()
    _has_plugins.cache_clear()
