"""Run a part of the tests with the lowest version of every dependency that is permitted.

``python tests/dependencies/oldest.py FOLDER`` makes an environment in FOLDER (kept, to look into) and exits
with the tests' exit code. What is permitted is read from pyproject.toml, with the extras that the tests need.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = ("excel", "learn", "scale", "zstd")
TOOLS = ("pytest>=8", "hypothesis>=6.100", "pandas>=2.2", "pyarrow>=16", "pyyaml>=6")
TESTS = (
    "tests/robustness/corpus",
    "tests/unit/codespace/loss",
    "tests/unit/privacy",
    "tests/unit/table",
    "tests/unit/engines/test_api.py",
    "tests/unit/engines/test_memory.py",
    "tests/cli/test_anonymize.py",
    "tests/cli/test_help.py",
)


def lowest() -> list[str]:
    """Every dependency, pinned to the lowest version that it may have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [*project["dependencies"]]
    for extra in EXTRAS:
        # pyarrow comes with the tools: its old versions do not go with the newest pandas.
        named += [each for each in project["optional-dependencies"][extra] if not each.startswith("pyarrow")]
    return [pinned(each) for each in named]


def pinned(requirement: str) -> str:
    """``name>=1.2`` as ``name==1.2.*``: the first of its line, with what was mended in it since."""
    found = re.fullmatch(r"([\w.-]+)>=([\d.]+)(?:,.*)?", requirement)
    if found is None:
        raise SystemExit(f"'{requirement}' has no lower bound")
    return f"{found[1]}=={found[2]}.*"


def main(folder: Path) -> int:
    """Make the environment and run the tests in it."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    line = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*line, *lowest(), *TOOLS], check=True)
    subprocess.run([*line, "--no-deps", "--editable", ROOT], check=True)
    subprocess.run([python, "-m", "pip", "list", "--format", "freeze"], check=True)
    tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    return subprocess.run(tests, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
