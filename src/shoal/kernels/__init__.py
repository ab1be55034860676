"""Compiled loops: arrays in, arrays out, no frames, no objects.

Each is a plain function on arrays, compiled by numba on first use and cached on disk
(``cache=True``); each lets other threads run (``nogil=True``).
"""
