"""The help of a command, drawn here: rich would take longer to load than everything else that it needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

_CODES = {"bold": "\x1b[1m", "/bold": "\x1b[0m", "dim": "\x1b[2m", "/dim": "\x1b[0m"}
_MARKS = dict(zip(_CODES, "\x01\x02\x03\x04", strict=True))
_ENDS = (_MARKS["/bold"], _MARKS["/dim"])
_WIDEST, _NAMES = 120, 30  # columns of a terminal: of the help, and of the names in it


def draw_help(command: Any, context: Any) -> str:
    """What ``--help`` prints: usage, what the command does, and its arguments and options in panels."""
    width = min(get_terminal_size().columns, _WIDEST)
    lines = [f" {command.get_usage(context)}", ""]
    for paragraph in (command.help or "").split("\n\n"):
        lines += [*(f" {line}" for line in _wrapped(paragraph, width - 2)), ""]
    for title, rows in _panels(command, context):
        lines += _boxed(title, rows, width)
    if plugins := _list_plugins(command):
        lines += _boxed("Plugins", plugins, width)
    if command.epilog:
        lines += ["", *(f" {line}" for line in _wrapped(command.epilog, width - 2))]
    return "\n".join(["", *map(_styled, lines), ""])


def _panels(command: Any, context: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The panels in the order in which they are first asked for, each with names and texts."""
    shown = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    options = [each for each in shown if each.param_type_name == "option"]
    titles = list(dict.fromkeys(_title(each) for each in options))
    options.sort(key=lambda each: titles.index(_title(each)))
    if arguments:
        yield "Arguments", [_row(each) for each in arguments]
    for title, rows in groupby(options, _title):
        yield title, [_row(each) for each in rows]
    if summaries := getattr(command, "summaries", {}):
        yield "Commands", list(summaries.items())


# What plugins may add to a command, by the option that takes it.
_ADDED = {
    "--algorithm": ("algorithm", "shoal.algorithms"),
    "--model": ("privacy model", "shoal.models"),
    "--loss": ("loss", "shoal.losses"),
    "--output": ("file format", "shoal.formats"),
}


def _list_plugins(command: Any) -> list[tuple[str, str]]:
    """What other distributions add to what a command takes; to all commands for the one that holds them."""
    from shoal.support.extensions import distribution_of, find_entry_points  # noqa: PLC0415 only help asks for it

    taken = {name for each in command.params for name in each.opts}
    return [
        (entry.name, f"{what} of the distribution {distribution_of(entry)}")
        for option, (what, group) in _ADDED.items()
        if option in taken or hasattr(command, "commands")
        for entry in find_entry_points(group)
    ]


def _title(option: Any) -> str:
    return getattr(option, "rich_help_panel", None) or "Options"


def _row(parameter: Any) -> tuple[str, str]:
    """The names of an argument or option with what it takes, and what it means."""
    if parameter.param_type_name == "argument":
        names = parameter.metavar or parameter.name.upper()
    else:
        names = ", ".join((*parameter.opts, *parameter.secondary_opts))
        names += f" {parameter.metavar}" if parameter.metavar else ""
    said = parameter.help or ""
    if parameter.required:
        return names, f"{said} [dim](required)[/dim]"
    default = parameter.default
    silent = default is None or callable(default) or getattr(parameter, "is_flag", False)
    return names, said if silent else f"{said} [dim](default: {default})[/dim]"


def _boxed(title: str, rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Rows of names and texts in a frame."""
    inside = width - 4
    left = min(max(len(names) for names, _ in rows), _NAMES)
    yield f"╭─ {title} {'─' * (width - len(title) - 5)}╮"
    for names, said in rows:
        texts = _wrapped(said, inside - left - 2)
        first = texts.pop(0) if len(names) <= left and texts else ""
        yield _lined(f"{names:<{left}}  {first}", inside)
        for text in texts:
            yield _lined(f"{'':<{left}}  {text}", inside)
    yield f"╰{'─' * (width - 2)}╯"


def _lined(text: str, inside: int) -> str:
    drawn = sum(mark not in _MARKS.values() for mark in text)
    return f"│ {text}{' ' * (inside - drawn)} │"


def _wrapped(text: str, width: int) -> list[str]:
    """A text in lines, with a character in place of each mark; what is open at an end goes on on the next."""
    for mark, character in _MARKS.items():
        text = text.replace(f"[{mark}]", character)
    lines, opened = [], ""
    for line in wrap(text, width, break_on_hyphens=False, break_long_words=False):
        whole = opened + line
        marks = [character for character in whole if character in _MARKS.values()]
        opened = marks[-1] if marks and marks[-1] not in _ENDS else ""
        lines.append(whole + (_MARKS["/bold"] if opened else ""))
    return lines


def _styled(line: str) -> str:
    """A line with bold and dim texts, where somebody looks; without them elsewhere."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ
    for mark, character in _MARKS.items():
        line = line.replace(character, "" if plain else _CODES[mark])
    return line
