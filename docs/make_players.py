"""Makes the players of the lessons by the commands on their pages; a test makes and compares them.

Run it after a change that moves a figure: ``python docs/make_players.py``.
"""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from shoal.cli import run_command_line

PAGES = Path(__file__).parent / "teaching"
COMMAND = re.compile(r"^\$ shoal (teach .+ -o )([\w-]+\.html)$", re.MULTILINE)


def main(folder: Path) -> None:
    """Make every player into a folder."""
    for command, name in list_commands():
        with suppress(SystemExit):
            run_command_line([*shlex.split(command), str(folder / name), "--quiet"])


def list_commands() -> list[tuple[str, str]]:
    """Every command that makes a player, without its file, and the file."""
    texts = [page.read_text("utf-8") for page in sorted(PAGES.glob("*.md"))]
    return [(match[1], match[2]) for text in texts for match in COMMAND.finditer(text)]


if __name__ == "__main__":
    (PAGES / "players").mkdir(exist_ok=True)
    main(PAGES / "players" if len(sys.argv) < 2 else Path(sys.argv[1]))
