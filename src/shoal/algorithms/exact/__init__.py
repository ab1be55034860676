"""Exact search: what a table may become, and proofs that no other choice loses less."""
