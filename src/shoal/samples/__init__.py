"""Tables that Shoal makes itself, to try things on: the same rows for the same seed, at any size."""

from shoal.samples.catalog import SAMPLES, sample, sample_hierarchies
from shoal.samples.spec import Sample
from shoal.samples.writing import write_hierarchies, write_sample

__all__ = ["SAMPLES", "Sample", "sample", "sample_hierarchies", "write_hierarchies", "write_sample"]
