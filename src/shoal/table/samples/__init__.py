"""Tables that Shoal makes itself, to try things on: the same rows for the same seed, at any size."""

from shoal.table.samples.catalog import SAMPLES, sample, sample_hierarchies
from shoal.table.samples.spec import Sample
from shoal.table.samples.writing import write_hierarchies, write_sample

__all__ = ["SAMPLES", "Sample", "sample", "sample_hierarchies", "write_hierarchies", "write_sample"]
