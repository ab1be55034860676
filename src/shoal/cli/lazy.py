"""Commands that typer builds when they are asked for, with their help as `shoal.cli.help_page` draws it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from shoal.cli import options as o
from shoal.cli.commands import COMMANDS, GROUPS, CommandEntry
from shoal.cli.conversion import convert_plainly
from shoal.cli.help_page import draw_help
from shoal.cli.process import collect_from_now_on


class _HelpLayout:
    """How the help of a command looks, as far as typer leaves that open."""

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:
        # Lines of the source are not lines of the help.
        paragraphs = [" ".join(paragraph.split()) for paragraph in cleandoc(help or "").split("\n\n")]
        super().__init__(*args, help="\n\n".join(paragraphs), **kwargs)  # type: ignore[call-arg]
        convert_plainly(kwargs.get("params") or ())

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, as typer does where rich draws it; it then has nothing left to print."""
        typer.echo(draw_help(self, ctx))

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help, in the last panel."""
        found = super().get_help_option(ctx)  # type: ignore[misc]
        if found is not None:
            found.rich_help_panel, found.metavar, found.help = o.SHOWN, "", "Show this help."
            found.opts.sort(key=ctx.help_option_names.index)  # typer takes them from a set
            convert_plainly([found])  # typer makes it anew
        return found

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line, with INPUT and not {INPUT}."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]


class ShoalCommand(_HelpLayout, TyperCommand):
    """A command."""


class ShoalGroup(_HelpLayout, TyperGroup):
    """The whole command line, or a group of commands in it."""

    def __init__(self, *args: Any, group: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.summaries = {entry.name: entry.help for entry in COMMANDS if entry.group == group}
        if not group:
            self.summaries |= GROUPS
        # typer only reads from it.
        self.commands: Any = _LoadedCommands(group, self.summaries)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, without loading anything."""
        return list(self.summaries)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What can come next; names and their help are enough for that."""
        self.commands = {name: ShoalCommand(name=name, help=text) for name, text in self.summaries.items()}
        return super().shell_complete(ctx, incomplete)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, those that typer adds for completion in the last panel too."""
        every: list[Any] = super().get_params(ctx)
        for each in every:
            if each.name in ("install_completion", "show_completion"):
                each.rich_help_panel, each.metavar = o.SHOWN, ""
        convert_plainly(every)
        return every


class _LoadedCommands(Mapping[str, Any]):
    """The commands of a group by name, each built from its file when it is first asked for."""

    def __init__(self, group: str, summaries: Mapping[str, str]) -> None:
        self._summaries = summaries
        self._entries = {entry.name: entry for entry in COMMANDS if entry.group == group}
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        help = self._summaries[name]
        if name not in self._built:
            entry = self._entries.get(name)
            self._built[name] = _build_group(name, help) if entry is None else _build_command(entry)
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._summaries)

    def __len__(self) -> int:
        return len(self._summaries)


def _build_group(name: str, help: str) -> ShoalGroup:
    return ShoalGroup(name=name, group=name, help=help, no_args_is_help=True, rich_markup_mode="rich")


def _build_command(entry: CommandEntry) -> Any:
    module = import_module(f"shoal.cli.commands.{entry.module}")
    collect_from_now_on()
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(entry.name, cls=ShoalCommand)(getattr(module, entry.module.rpartition(".")[2]))
    return typer.main.get_command(alone)
