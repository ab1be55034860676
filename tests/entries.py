"""What tests over all algorithms, models and losses take from an entry that has no line in them.

The tables of cases hold what was written out for each entry once more. A new entry needs no line there: it is
tried with its defaults, a model as its page shows it, and what it means is written out in its own test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
UNIT = ROOT / "tests" / "unit"


def list_untested(folder: str, table: Mapping[str, Any], listed: Iterable[str]) -> list[str]:
    """Entries that have neither a line in a table of cases nor a test of their own."""
    return [
        f"tests/unit/{folder}/test_{name.replace('-', '_')}.py"
        for name in table
        if name not in set(listed) and not (UNIT / folder / f"test_{name.replace('-', '_')}.py").exists()
    ]


def read_example(model: str) -> str:
    """The first call of a model on its page, such as ``k(k=5)``."""
    page = (ROOT / "docs" / "models" / f"{model}.md").read_text("utf-8")
    found = re.search(rf"`({model}\([^`]*\))`", page)
    assert found is not None, f"docs/models/{model}.md shows no `{model}(...)`"
    return found[1]
