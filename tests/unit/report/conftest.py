"""Reports to print, and what is printed of them."""

import pytest
from rich.console import Console

from shoal.report import Report
from shoal.verification.verifier import Verdict


def _printed(show, *arguments, width: int = 100) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        show(console, *arguments)
    return [line.rstrip() for line in capture.get().splitlines()]


def _report(**changed) -> Report:
    column = {"type": "integer", "kind": "number", "values": 1200, "ncp": 0.125}
    figures = {
        "rows": 1000,
        "dropped_rows": 0,
        "suppressed_rows": 0,
        "released_rows": 1000,
        "classes": 7,
        "smallest_class": 4,
        "quasi": ("age",),
        "sensitive": (),
        "identifier": (),
        "models": (Verdict("k", {"k": 3}, 4, True),),
        "algorithm": {"name": "mondrian", "parameters": {"cut": "nearest"}},
        "loss": {"name": "ncp", "value": 0.125},
        "ncp": 0.125,
        "columns": {"age": column},
        "seed": 0,
        "seconds": {"read": 0.5, "total": 1.0},
    }
    return Report(**figures | changed)


@pytest.fixture
def printed():
    """The lines that something prints, in a terminal of some width."""
    return _printed


@pytest.fixture
def report():
    """A report with some figures changed."""
    return _report
