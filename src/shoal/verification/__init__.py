"""The judge of a release: it reads what was written and shares no code with the search."""
