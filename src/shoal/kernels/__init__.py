"""Compiled loops: arrays in, arrays out, no frames, no objects.

Each is a plain function on arrays, which numba compiles; each lets other threads run. See ``compiled.py``
for where compiled ones come from.
"""
