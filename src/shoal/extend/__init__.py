"""The names that extensions are written with: one module per kind, so that each loads only what it needs."""
