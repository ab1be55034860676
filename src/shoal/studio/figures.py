"""What a run has to show, as plain values: counted by the process that made it, drawn by the page.

What `build_figures` returns is stored in ``result.json`` and comes back as ``Run.figures``. All that
`steps/explore.py` draws and that is not in the report is counted here, where table, recoding and
release are in memory.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shoal.engines.release import Release
from shoal.studio.insight import build_explore_figures


def build_figures(release: Release) -> dict[str, Any]:
    """Risks before and after, and what Explore shows."""
    evidence = release.report.evidence
    assert evidence is not None
    return {
        "before": None if evidence.released_only else asdict(evidence.sizes_before.compute_risk()),
        "after": asdict(evidence.sizes_after.compute_risk()),
        "explore": build_explore_figures(release),
    }
