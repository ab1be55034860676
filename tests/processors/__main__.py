"""``python -m tests.processors``: the golden, contract and documentation tests on every other processor.

Names of variants choose some, and what follows ``--`` goes to pytest:
``python -m tests.processors plain -- -k lattice``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.processors.variants import Variant, variants

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests/golden", "tests/contract", "tests/docs")


def main(arguments: list[str]) -> int:
    """Run the tests on each; the exit code is 1 if some fail."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:cut], arguments[cut + 1 :]
    every = {variant.name: variant for variant in variants()}
    if strange := [name for name in names if name not in every]:
        print(f"there is no {strange[0]}: take {', '.join(every)}", file=sys.stderr)
        return 2
    failed = [name for name in names or every if not passes(every[name], options)]
    print(f"not the same: {', '.join(failed)}" if failed else "the same everywhere")
    return int(bool(failed))


def passes(variant: Variant, options: list[str]) -> bool:
    """Whether the tests pass on another processor."""
    print(f"{variant.name}: {variant.threads} threads, {variant.settings}", flush=True)
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FOLDERS, *options]
    return subprocess.run(line, cwd=ROOT, env=variant.environment(), check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
