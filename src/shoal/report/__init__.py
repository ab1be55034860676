"""Reports: what a run did, as figures, and their renderings."""

from shoal.report.figures import Report

__all__ = ["Report"]
