"""Algorithms and goals side by side: what each loses, what risk is left, how long it takes."""

from shoal.assessment.comparisons.comparison import SCHEMA, Comparison, compare

__all__ = ["SCHEMA", "Comparison", "compare"]
