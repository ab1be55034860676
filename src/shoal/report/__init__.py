"""Reports: what a run did, as figures, and their renderings."""

from shoal.report.figures import Report
from shoal.report.statistics import Evidence

__all__ = ["Evidence", "Report"]
