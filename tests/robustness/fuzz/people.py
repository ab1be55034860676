"""The family of cases about people: of three kinds, by turns."""

from __future__ import annotations

from tests.robustness.fuzz import cases, entry_points, event_tables, histories
from tests.robustness.fuzz.cases import Case
from tests.robustness.fuzz.entry_points import Outcome
from tests.robustness.fuzz.event_tables import EventCase
from tests.robustness.fuzz.histories import HistoryCase

PeopleCase = Case | HistoryCase | EventCase


def case_of(seed: int) -> PeopleCase:
    """The case of a seed: ids beside any table, rows that may be linked, or several tables."""
    return (cases.people_case_of, histories.case_of, event_tables.case_of)[seed % 3](seed)


def judge(case: PeopleCase) -> Outcome:
    """Carry a case out, and judge it by its kind."""
    if isinstance(case, HistoryCase):
        return histories.judge(case)
    return event_tables.judge(case) if isinstance(case, EventCase) else entry_points.judge(case)
