"""Codes of warnings: they stay the same, whatever the texts say.

A warning is a text. Its code follows from how it begins or what is always in it; a test makes every warning.
"""

from __future__ import annotations

import re

WARNING_CODES = {
    "W01": (r"^\[W01\] ", "columns without a role that were kept, by a recipe of 0.1"),
    "W02": (r"^\[W02\] ", "types of a release that depend on the rows, by a recipe of 0.1"),
    "W03": (r"^with k = 1 ", "a goal that protects nobody"),
    "W04": (r" has one value only$", "a quasi-identifier with one value"),
    "W05": (r"different value in every row", "a quasi-identifier that looks like an identifier"),
    "W06": (r" counted as missing, since the rest are numbers$", "texts among numbers that count as missing"),
    "W07": (r"numbers with a decimal comma", "text that looks like numbers with a decimal comma"),
    "W08": (r"the hierarchy does not have ", "values that a hierarchy does not have"),
    "W09": (r"^loss .* does not look at ", "a loss that does not look at every column"),
    "W10": (r"spreadsheet would run as a formula", "cells that a spreadsheet would run"),
    "W11": (r"can read the key file ", "a key file that is no secret"),
    "W12": (r" is missing in .* counts as a person of its own$", "rows without the id of a person"),
    "W13": (r"is the same in all rows of a person, but not for ", "a static column with exceptions"),
    "W14": (r" has the separator ", "a column of sets in which no cell has the separator"),
    "W15": (r"^not-private: ", "a sample by a stated seed, which is not private"),
    "W16": (r"^semantics=matching: ", "released rows that can be unlike every other one"),
    "W17": (r"^safepub: from a release ", "what nobody can see of a sample"),
    "W18": (r" rows are (below|above) .* released as ", "values beyond a top or bottom"),
}
"""By code: what a warning of that kind has in its text, and what it warns of."""

_PATTERNS = {code: re.compile(pattern, re.DOTALL) for code, (pattern, _) in WARNING_CODES.items()}


def find_warning_code(text: str) -> str | None:
    """The code of a warning; None for one that has none."""
    return next((code for code, pattern in _PATTERNS.items() if pattern.search(text)), None)
