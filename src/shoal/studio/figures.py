"""What a run has to show, as plain values: counted by the process that made it, drawn by the page.

`figures` is stored in ``result.json`` and comes back as ``Run.figures``. Whatever `steps/explore.py` draws
and is not in the report is counted here, where table, recoding and release are at hand.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shoal.run import Release
from shoal.studio.insight import explored


def figures(release: Release) -> dict[str, Any]:
    """Risks before and after, and what Explore shows."""
    evidence = release.report.evidence
    assert evidence is not None
    return {
        "before": asdict(evidence.before.risk()),
        "after": asdict(evidence.after.risk()),
        "explore": explored(release),
    }
