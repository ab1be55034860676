"""``python -m shoal.cli.hook OPTIONS -- FILES``: ``shoal verify`` of files, for hooks of a repository."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from shoal.cli import run_command_line
from shoal.cli.process import run_to_end


def verify_files(arguments: Sequence[str]) -> int:
    """Verify each file; the exit code is the highest."""
    if "--" not in arguments:
        sys.stderr.write(
            "error: end the options with --, as in args: [--recipe, recipe.toml, --]: files follow\n"
        )
        return 2
    at = len(arguments) - list(reversed(arguments)).index("--") - 1
    options, files = arguments[:at], arguments[at + 1 :]
    worst = 0
    for file in files:
        code, text = run_to_end(run_command_line, ["verify", file, *options])
        if code:
            sys.stderr.write(f"{file}: {text or 'the goal does not hold'}".rstrip() + "\n")
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(verify_files(sys.argv[1:]))
