"""Which of many cases `make test` runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def thin_out(cases: Iterable[Any], every: int) -> list[Any]:
    """Cases of which every n-th is run by `make test`, and the others only by `make test-all`."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if number % every == 0 else pytest.mark.exhaustive,
        )
        for number, case in enumerate(cases)
    ]
