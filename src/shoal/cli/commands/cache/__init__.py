"""The commands for compiled kernels, and what they share."""

from __future__ import annotations


def format_size(kernels: int, size: int) -> str:
    """How many kernels there are, and the room that they take."""
    return f"{kernels} kernels, {size / 1e6:.1f} MB"
