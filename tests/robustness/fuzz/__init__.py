"""Attack on the whole of Shoal: random cases, run through every entry point, judged by a counter of its own.

``cases`` makes a case from one number and ``entry_points`` carries it out. ``checker`` judges what came back,
with the standard library alone. ``people`` has cases of its own, with the judges ``history_judge`` and
``event_tables``. ``__main__`` does so as often as it is asked to. ``readers`` attacks the
readers of files, guided by coverage.
"""
