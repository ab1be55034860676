"""What a release as a whole gives away: one file per kind of finding, and the table `CHECKS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shoal.errors import GoalNotMet, RecipeError, unknown
from shoal.verification.findings.base import (
    HIGH,
    Check,
    Finding,
    JudgedRelease,
    OriginalColumn,
    Severity,
)
from shoal.verification.findings.determination import SampledRows, check_determination
from shoal.verification.findings.linked import check_linked_rows
from shoal.verification.findings.order import Steps, check_row_order
from shoal.verification.findings.people import check_repeated_identifiers
from shoal.verification.findings.sets import check_whole_sets
from shoal.verification.findings.spelling import check_spelling
from shoal.verification.findings.uniqueness import (
    SAMPLE_ROWS,
    CellCounter,
    RowCounter,
    check_unique_rows,
    find_unique_rows,
)
from shoal.verification.findings.witness import Witness, find_by_witness

__all__ = [
    "CHECKS",
    "HIGH",
    "SAMPLE_ROWS",
    "CellCounter",
    "Finding",
    "JudgedRelease",
    "OriginalColumn",
    "RowCounter",
    "SampledRows",
    "Severity",
    "Steps",
    "Witness",
    "accept_findings",
    "find_unique_rows",
    "judge_by_witness",
    "judge_later_rows",
    "judge_release",
    "refuse_findings",
]

CHECKS: tuple[Check, ...] = (
    check_unique_rows,
    check_determination,
    check_repeated_identifiers,
    check_linked_rows,
    check_row_order,
    check_spelling,
)

_KINDS = (
    "unique-rows",
    "determines",
    "repeated",
    "linked-rows",
    "row-counts",
    "whole-sets",
    "row-order",
    "spelling",
)
_ORDER: dict[Severity, int] = {"high": 0, "medium": 1, "low": 2}


def judge_release(judged: JudgedRelease, accepted: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """Find what a release gives away, the most severe first."""
    found = list(check_whole_sets(judged)) if judged.frame.height else []
    rest = judged.leave_out_sets()
    if rest.frame.height:
        found += [finding for check in CHECKS for finding in check(rest)]
    return accept_findings(found, accepted or {})


def judge_by_witness(
    judged: JudgedRelease, witness: Witness, accepted: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """The same of a release whose rows are not in memory; the frame of ``judged`` has its columns only."""
    return accept_findings(find_by_witness(judged, witness), accepted or {})


def accept_findings(found: Sequence[Finding], accepted: Mapping[str, str]) -> tuple[Finding, ...]:
    """Findings with the reasons for which somebody accepted them, the most severe first."""
    # A misspelt id would accept nothing and say nothing, so it is an error.
    known = [finding.id for finding in found]
    if strange := [name for name in accepted if name not in known and not _is_kind(name)]:
        raise RecipeError(unknown("finding", strange[0], known))
    reasoned = [replace(finding, accepted=accepted.get(finding.id)) for finding in found]
    return tuple(sorted(reasoned, key=lambda finding: _ORDER[finding.severity]))


def refuse_findings(findings: Sequence[Finding]) -> None:
    """Raise an error if there are severe findings which nobody accepted."""
    if severe := [finding for finding in findings if finding.is_open]:
        told = "; ".join(f"{finding.id}: {finding.message} ({finding.remedy})" for finding in severe)
        error = GoalNotMet(
            f"the privacy goal holds, but there are findings of high severity, so nothing is released: {told}"
            "; mend them, or accept one with --accept ID=REASON"
        )
        # All of them, not only the severe ones: the studio shows the whole list.
        error.findings = tuple(findings)
        raise error


def judge_later_rows(
    later: JudgedRelease, together: JudgedRelease | None, accepted: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """Find what rows give away that join an earlier release, if there is one, ``together`` with it.

    A person who is alone in a class of the later rows has company in the earlier release, whose identifiers
    nobody has: so it is not asked whether they repeat.
    """
    if together is None:
        return judge_release(later, accepted)
    # Order is that of the later rows alone: the two releases are separate files.
    found = [
        *check_unique_rows(together),
        *check_determination(later),
        *check_row_order(later),
        *check_spelling(together),
    ]
    return accept_findings(found, accepted or {})


def _is_kind(name: str) -> bool:
    """Whether some table could have a finding of that name: what was accepted once need not occur again."""
    return name.partition(":")[0] in _KINDS
