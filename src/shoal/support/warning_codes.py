"""Warnings with codes: these stay the same, whatever the texts say."""

from __future__ import annotations

from collections.abc import Callable

WARNING_CODES = {
    "W01": "columns without a role that were kept, by a recipe of 0.1",
    "W02": "types of a release that depend on the rows, by a recipe of 0.1",
    "W03": "a goal that protects nobody",
    "W04": "a quasi-identifier with one value",
    "W05": "a quasi-identifier that looks like an identifier",
    "W06": "texts among numbers that count as missing",
    "W07": "text that looks like numbers with a decimal comma",
    "W08": "values that a hierarchy does not have",
    "W09": "a loss that does not look at every column",
    "W10": "cells that a spreadsheet would run",
    "W11": "a key file that is no secret",
    "W12": "rows without the id of a person",
    "W13": "a static column with exceptions",
    "W14": "a column of sets in which no cell has the separator",
    "W15": "a sample by a stated seed, which is not private",
    "W16": "released rows that can be unlike every other one",
    "W17": "what nobody can see of a sample",
    "W18": "values beyond a top or bottom",
}
"""By code: what a warning of that kind warns of."""


class CodedWarning(str):
    """The text of a warning, which has a code."""

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, text: str) -> CodedWarning:
        """A text with one of the codes."""
        if code not in WARNING_CODES:
            raise ValueError(f"there is no warning {code}")
        made = super().__new__(cls, text)
        made.code = code
        return made

    def __reduce__(self) -> tuple[Callable[..., CodedWarning], tuple[str, str]]:
        return CodedWarning, (self.code, str(self))


def find_warning_code(text: str) -> str | None:
    """The code of a warning; None for one that has none."""
    return text.code if isinstance(text, CodedWarning) else None


def name_place(place: str, text: str) -> str:
    """A warning with the name of the table that it is about, and with its code."""
    named = f"{place}: {text}"
    return CodedWarning(text.code, named) if isinstance(text, CodedWarning) else named
