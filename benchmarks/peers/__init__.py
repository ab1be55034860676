"""Shoal beside other programs, counted on the files that they release: ``python -m benchmarks.peers``."""
