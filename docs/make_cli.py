"""Write docs/cli.md from the command line itself: ``python docs/make_cli.py``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from shoal.cli import app

PAGE = Path(__file__).with_name("cli.md")

INTRODUCTION = """\
# Command line

<!-- Written by docs/make_cli.py; change src/shoal/recipes/settings.py and src/shoal/cli instead. -->

| exit code | means |
| --- | --- |
| 0 | done; for `verify`, everything holds |
| 1 | a bug in Shoal |
| 2 | bad input or usage; the message says what and where |
| 4 | with `--exit-codes 0.2`, a file cannot be read or written, or changed meanwhile; else that is 2 |
| 3 | the goal is not met (`verify`, a test of `safepub`) or cannot be; `hierarchy check` found problems |
| 130 | interrupted by Ctrl-C |
| 143 | ended by SIGTERM |
| 141 | standard output was closed before all was sent, as `head` does |

With `--json`, standard output is exactly one JSON object. Progress and errors go to standard error.
If the command fails, the object is `{"error": {...}}` with `code`, `message`, `exit_code`, `retry`
and `kind` (`files`, `usage`, `goal` or `internal`):

| `code` | means |
| --- | --- |
| `usage` | an option that does not exist, or a value that it does not take |
| `recipe` | settings that contradict each other or the table |
| `input` | a file or a column that cannot be used |
| `changed` | the input changed while it was read |
| `output` | the release could not be written |
| `plugin` | an extension of another distribution that cannot be used |
| `goal` | the privacy goal is not met; `findings` lists what stands in the way with `--strict` |
| `memory` | not enough memory |
| `interrupted` | Ctrl-C or SIGTERM |
| `internal` | a bug in Shoal |

`retry` is true if the same command may succeed later: the disk was full or busy, memory was short,
the input changed, or somebody interrupted it.

`anonymize` and `run` also tell `shoal` (the `version`, and the number of this `schema`) and
`checksums` (SHA-256 of `input` and `output`, if they are single files; not of the input of
`safepub`). [In operation](howto/operations.md) has the log, and what may change in later versions.
"""


def page() -> str:
    """The text of the page."""
    command = typer.main.get_command(app)
    return "\n".join([INTRODUCTION, *sections(command, "shoal")])


def sections(command: Any, name: str) -> Iterator[str]:
    """One section for the command and one for each command in it."""
    yield f"## {name}\n"
    yield f"{paragraphs(command.help)}\n"
    if rows := [row for parameter in command.params if (row := table_row(parameter))]:
        yield "\n".join(["| option | meaning | default |", "| --- | --- | --- |", *rows]) + "\n"
    for child in getattr(command, "commands", {}).values():
        yield from sections(child, f"{name} {child.name}")


def paragraphs(text: str) -> str:
    """The help, line breaks inside of its paragraphs removed and examples as code."""
    plain = [" ".join(part.split()) for part in text.split("\n\n")]
    return "\n\n".join(re.sub(r"\[bold\](.+?)\[/bold\]", r"`\1`", part) for part in plain)


def table_row(parameter: Any) -> str:
    """One argument or option; nothing where it is hidden."""
    if getattr(parameter, "hidden", False):
        return ""
    names = parameter.opts if parameter.param_type_name == "option" else [parameter.name.upper()]
    value = parameter.metavar if parameter.param_type_name == "option" and not is_flag(parameter) else ""
    shown = ", ".join(f"`{name}`" for name in names) + (f" `{cell(value)}`" if value else "")
    return f"| {shown} | {cell(parameter.help or '')} | {default(parameter)} |"


def is_flag(parameter: Any) -> bool:
    """Whether an option takes no value."""
    return bool(getattr(parameter, "is_flag", False))


def default(parameter: Any) -> str:
    """What holds where nothing is said."""
    if parameter.required:
        return "required"
    return "" if parameter.default is None or is_flag(parameter) else f"`{parameter.default}`"


def cell(text: str) -> str:
    """Text that does not end a cell of a table."""
    return " ".join(text.split()).replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
