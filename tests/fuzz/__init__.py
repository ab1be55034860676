"""Attack on the whole of Shoal: random cases, run through every door, judged by a counter of its own.

``cases`` makes a case from one number, ``doors`` carries it out, ``checker`` judges what came back with the
standard library alone, ``__main__`` does so as often as it is asked to. ``readers`` attacks the readers of
files, guided by coverage.
"""
