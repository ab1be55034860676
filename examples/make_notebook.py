"""Write a notebook from every example: ``python examples/make_notebook.py``."""

from __future__ import annotations

import json
import re
from pathlib import Path

NAMES = ("later_rows", "learning", "pipeline", "teaching")
SCRIPTS = [Path(__file__).with_name(f"{name}.py") for name in NAMES]


def notebook(script: Path) -> str:
    """The cells of a script, each with its comment as text above it."""
    head, *parts = re.split(r"^# %% ", script.read_text("utf-8"), flags=re.MULTILINE)
    cells = [_cell("markdown", head.strip().strip('"'), 0)]
    for number, part in enumerate(parts, 1):
        title, _, code = part.partition("\n")
        cells += [_cell("markdown", title, 2 * number), _cell("code", code.strip(), 2 * number + 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str, number: int) -> dict[str, object]:
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    lines = text.splitlines(keepends=True)
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines, **code}


if __name__ == "__main__":
    for each in SCRIPTS:
        each.with_suffix(".ipynb").write_text(notebook(each), "utf-8")
